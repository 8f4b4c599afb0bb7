/* SPDX-License-Identifier: Apache-2.0
 *
 * Multi-scalar multiplications as EIP-2537 and py_ecc give them, through handles of points and
 * jobs, on every device: vectors/curve/README.md.
 *
 * usage: msm-vectors [webgpu]    the WebGPU devices alone, else all others
 */
#include <jansson.h>
#include <stdio.h>

#include "conformance/msm_targets.h"

enum { LINE_BYTES = 4096, PATH_BYTES = 4096, LINES_MAX = 100, SLOW_STEP = 7 };

/* On another machine they are elsewhere. */
static const char *vectors(void)
{
    const char *given = getenv("GX_TEST_VECTORS");
    return given ? given : GXT_VECTORS;
}

static int open_all(void **state)
{
    (void)state;
    msm_open_targets(
        &(struct msm_curves){.over_vulkan = MSM_CURVE(GX_BLS12_381_G1) | MSM_CURVE(GX_BLS12_381_G2),
                             .over_gl = MSM_CURVE(GX_BLS12_381_G1),
                             .emulated = MSM_CURVE(GX_BN254_G2)});
    return 0;
}

/* Hexadecimal digits up to the end or a comma; returns their number of bytes. */
static size_t from_hex(const char *text, unsigned char *out, size_t room)
{
    size_t n = 0;
    for (unsigned byte; n < room && sscanf(text + 2 * n, "%2x", &byte) == 1; n++)
        out[n] = (unsigned char)byte;
    return n;
}

static void reverse(unsigned char *out, const unsigned char *in, size_t bytes)
{
    for (size_t i = 0; i < bytes; i++)
        out[i] = in[bytes - 1 - i];
}

/* ---- EIP-2537 ---- */

/* Pairs of a point and a scalar, highest byte first. */
struct eip {
    gx_curve curve;
    const char *name;
    unsigned char *in, *scalars;
    size_t point, count;
    unsigned char want[ORACLE_FORM_BYTES];
    const char *error;
};

static json_t *load(const char *name)
{
    char path[PATH_BYTES], command[PATH_BYTES + 16];
    json_error_t error;
    snprintf(path, sizeof path, "%s/%s", vectors(), name);
    size_t length = strlen(path);
    if (strcmp(path + length - 3, ".gz") != 0) {
        json_t *all = json_load_file(path, 0, &error);
        assert_non_null(all);
        return all;
    }
    snprintf(command, sizeof command, "gzip -dc '%s'", path);
    FILE *pipe = popen(command, "r");
    assert_non_null(pipe);
    json_t *all = json_loadf(pipe, 0, &error);
    assert_int_equal(pclose(pipe), 0);
    assert_non_null(all);
    return all;
}

/* False if its length is none of whole pairs: there is no such handle. */
static int read_case(const json_t *one, gx_curve curve, struct eip *e)
{
    const char *text = json_string_value(json_object_get(one, "Input"));
    size_t bytes = strlen(text) / 2;
    *e = (struct eip){.curve = curve, .point = gx_point_bytes(curve, GX_POINT_EIP2537)};
    e->name = json_string_value(json_object_get(one, "Name"));
    e->error = json_string_value(json_object_get(one, "ExpectedError"));
    size_t each = e->point + KNOWN_SCALAR;
    if (!bytes || bytes % each) {
        assert_string_equal(e->error, "invalid input length");
        return 0;
    }
    e->count = bytes / each;
    e->in = gxt_alloc(bytes);
    e->scalars = gxt_alloc(e->count * KNOWN_SCALAR);
    assert_int_equal(from_hex(text, e->in, bytes), bytes);
    for (size_t i = 0; i < e->count; i++)
        reverse(e->scalars + i * KNOWN_SCALAR, e->in + i * each + e->point, KNOWN_SCALAR);
    if (!e->error)
        assert_int_equal(
            from_hex(json_string_value(json_object_get(one, "Expected")), e->want, sizeof e->want),
            e->point);
    return 1;
}

static void free_case(struct eip *e)
{
    free(e->in);
    free(e->scalars);
}

static gx_points_params describe(const struct eip *e)
{
    return (gx_points_params){.struct_size = sizeof(gx_points_params),
                              .curve = e->curve,
                              .form = GX_POINT_EIP2537,
                              .points = e->in,
                              .count = e->count,
                              .stride = e->point + KNOWN_SCALAR,
                              .check = GX_CHECK_SUBGROUP};
}

static void run_case(const struct target *t, const struct eip *e)
{
    unsigned char out[ORACLE_FORM_BYTES];
    gx_points *points = NULL;
    gx_points_params desc = describe(e);
    uint64_t bad = 0;
    gx_status s = gx_points_create(t->ctx, &desc, &points, &bad);
    if (s != GX_OK)
        fail_msg("%s: point %llu: %s", e->name, (unsigned long long)bad, gx_last_message());
    assert_int_equal(gx_points_count(points), e->count);
    gx_msm_params p = {.struct_size = sizeof p,
                       .points = points,
                       .count = e->count,
                       .result_form = GX_POINT_EIP2537};
    gx_job job = known_job(e->curve, &p, 1, e->scalars, out);
    s = gxt_run(t->ctx, &job, t->device, NULL);
    if (s != GX_OK || memcmp(out, e->want, e->point) != 0) {
        tell_target(t, e->name);
        fail_msg("%s", s == GX_OK ? "wrong result" : gx_last_message());
    }
    gx_points_destroy(&points);
}

static const struct {
    const char *theirs, *ours;
    gx_status status;
} errors[] = {
    {"invalid point: not on curve", "not on the curve", GX_ERR_INVALID},
    {"invalid fp.Element encoding", "not below the modulus", GX_ERR_NOT_CANONICAL},
    {"invalid field element top bytes", "padding", GX_ERR_INVALID},
    {"g1 point is not in the correct subgroup", "not in the subgroup", GX_ERR_INVALID},
    {"g2 point is not in the correct subgroup", "not in the subgroup", GX_ERR_INVALID},
};

static void refuse(gx_ctx *ctx, const struct eip *e, const gx_points_params *desc)
{
    size_t i = 0;
    while (i < GXT_COUNT(errors) && strcmp(errors[i].theirs, e->error) != 0)
        i++;
    if (i == GXT_COUNT(errors))
        fail_msg("an error without a name of ours: %s", e->error);
    gx_points *points = (gx_points *)(uintptr_t)e;
    uint64_t bad = 99;
    gx_status s = gx_points_create(ctx, desc, &points, &bad);
    if (s != errors[i].status || !strstr(gx_last_message(), errors[i].ours) ||
        !strstr(gx_last_message(), "point 0"))
        fail_msg("%s: %s: %s", e->name, gx_status_name(s), gx_last_message());
    assert_null(points);
    assert_int_equal(bad, 0); /* of all of these the first is bad */
}

/* From host memory and from a buffer of the device. */
static void refuse_case(const struct target *t, const struct eip *e)
{
    gx_points_params desc = describe(e);
    gx_buf *buf = NULL;
    size_t bytes = e->count * desc.stride, before = 32;
    refuse(t->ctx, e, &desc);
    assert_int_equal(gx_buf_create(t->ctx, t->device, bytes + before, 0, &buf), GX_OK);
    assert_int_equal(gx_buf_write(buf, before, e->in, bytes), GX_OK);
    desc.points = NULL;
    desc.buf = buf;
    desc.offset = before;
    refuse(t->ctx, e, &desc);
    gx_buf_destroy(&buf);
}

/* Slow devices take some of the many cases, the same number of points apart. */
static size_t run_file(const char *name, gx_curve curve)
{
    json_t *all = load(name);
    size_t ran = 0, count = json_array_size(all);
    for (size_t i = 0; i < count; i++) {
        struct eip e;
        if (!read_case(json_array_get(all, i), curve, &e))
            continue;
        for (size_t k = 0; k < target_count; k++)
            if (e.error)
                refuse_case(&targets[k], &e);
            else if (msm_has(&targets[k], curve) &&
                     (!targets[k].slow || (!gxt_small() && count < 20) || i % SLOW_STEP == 0))
                run_case(&targets[k], &e);
        free_case(&e);
        ran++;
    }
    json_decref(all);
    return ran;
}

/* Sums in G2 are py_ecc's. */
static void eip_2537(void **state)
{
    (void)state;
    assert_int_equal(run_file("msm_G1_bls.json.gz", GX_BLS12_381_G1), 163);
    assert_int_equal(run_file("sums_G2.json.gz", GX_BLS12_381_G2), 35);
    assert_int_equal(run_file("mul_G1_bls.json", GX_BLS12_381_G1), 11);
    assert_int_equal(run_file("mul_G2_bls.json", GX_BLS12_381_G2), 11);
    assert_int_equal(run_file("fail-msm_G1_bls.json", GX_BLS12_381_G1), 5);
    assert_int_equal(run_file("fail-msm_G2_bls.json", GX_BLS12_381_G2), 5);
    assert_int_equal(run_file("fail-mul_G1_bls.json", GX_BLS12_381_G1), 5);
    assert_int_equal(run_file("fail-mul_G2_bls.json", GX_BLS12_381_G2), 5);
}

/* ---- py_ecc ---- */

/* Products of one curve, most of points outside the subgroup. */
struct products {
    size_t count;
    unsigned char points[LINES_MAX * ORACLE_POINT_BYTES], scalars[LINES_MAX * KNOWN_SCALAR],
        results[LINES_MAX * ORACLE_POINT_BYTES];
};

/* "c0" or "c0,c1" as plain integers, highest digit first; "-": 0. */
static void read_coordinate(gx_curve curve, const char *text, unsigned char *out)
{
    size_t bytes = oracle_element_bytes(oracle_base_field(curve));
    struct oracle_pair z;
    oracle_pair_init(&z);
    for (uint32_t i = 0; *text != '-' && i < oracle_degree(curve); i++, text += 2 * bytes + 1) {
        unsigned char big[ORACLE_POINT_BYTES], little[ORACLE_POINT_BYTES];
        assert_int_equal(from_hex(text, big, bytes), bytes);
        reverse(little, big, bytes);
        oracle_import(z.c[i], little, bytes / 8);
    }
    oracle_pair_write(curve, out, &z);
    oracle_pair_clear(&z);
}

static void read_products(gx_curve curve, struct products *all)
{
    char line[LINE_BYTES], name[32], x[256], y[256], digits[128], to_x[256], to_y[256];
    size_t bytes = oracle_affine_bytes(curve);
    char path[PATH_BYTES];
    snprintf(path, sizeof path, "%s/multiples.txt", vectors());
    FILE *f = fopen(path, "r");
    assert_non_null(f);
    all->count = 0;
    while (fgets(line, sizeof line, f)) {
        unsigned char big[KNOWN_SCALAR];
        size_t i = all->count;
        assert_int_equal(
            sscanf(line, "%31s %*s %255s %255s %127s %255s %255s", name, x, y, digits, to_x, to_y),
            6);
        if (gx_curve_by_name(name) != curve)
            continue;
        assert_true(i < LINES_MAX);
        read_coordinate(curve, x, all->points + i * bytes);
        read_coordinate(curve, y, all->points + i * bytes + bytes / 2);
        read_coordinate(curve, to_x, all->results + i * bytes);
        read_coordinate(curve, to_y, all->results + i * bytes + bytes / 2);
        assert_int_equal(from_hex(digits, big, sizeof big), KNOWN_SCALAR);
        reverse(all->scalars + i * KNOWN_SCALAR, big, KNOWN_SCALAR);
        all->count++;
    }
    fclose(f);
}

/* Each alone, as one batch where the scalars of a point follow each other, and all in one sum. */
static void check_products(const struct target *t, gx_curve curve, const struct products *all)
{
    unsigned char sum[ORACLE_POINT_BYTES] = {0};
    size_t bytes = oracle_affine_bytes(curve);
    gx_points *points = NULL;
    gx_points_params desc = {.struct_size = sizeof desc,
                             .curve = curve,
                             .form = GX_POINT_XY_MONT,
                             .points = all->points,
                             .count = all->count};
    assert_int_equal(gx_points_create(t->ctx, &desc, &points, NULL), GX_OK);
    for (size_t i = 0; i < all->count; i++) {
        gx_msm_params p = {.struct_size = sizeof p,
                           .points = points,
                           .first = i,
                           .count = 1,
                           .result_form = GX_POINT_XY_MONT};
        if (!t->slow || i % SLOW_STEP == 0)
            msm_check(t, curve, &p, 1, all->scalars + i * KNOWN_SCALAR, all->results + i * bytes,
                      "py_ecc, one");
        oracle_point_add(curve, sum, sum, all->results + i * bytes);
        p.first = 0;
        p.count = i + 1;
        if (i % SLOW_STEP == 4 || i + 1 == all->count)
            msm_check(t, curve, &p, 1, all->scalars, sum, "py_ecc, sum");
    }
    gx_points_destroy(&points);
}

static void py_ecc(void **state)
{
    (void)state;
    static struct products all;
    static const size_t lines[MSM_CURVES + 1] = {0, 54, 54, 18, 54};
    for (gx_curve c = 1; c <= MSM_CURVES; c++) {
        read_products(c, &all);
        assert_int_equal(all.count, lines[c]);
        for (size_t i = 0; i < target_count; i++)
            if (msm_has(&targets[i], c))
                check_products(&targets[i], c, &all);
    }
}

int main(int argc, char **argv)
{
    choose_targets(argc, argv);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(eip_2537),
        cmocka_unit_test(py_ecc),
        cmocka_unit_test(msm_close_targets),
    };
    return cmocka_run_group_tests_name("msm-vectors", tests, open_all, NULL);
}
