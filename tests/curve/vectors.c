/* SPDX-License-Identifier: Apache-2.0
 *
 * Sums and multiples of points as EIP-2537 and py_ecc give them, through decoding, checks,
 * arithmetic and encoding: vectors/curve/README.md.
 */
#include <jansson.h>
#include <stdio.h>

#include "curve/form.h"
#include "curve/point.h"
#include "support/harness.h"

enum { BYTES_MAX = 1024, LINE_BYTES = 4096, SCALAR = 32, SCALAR_LIMBS = 4 };

struct point {
    uint64_t xy[2 * GX_COORD_LIMBS];
};

/* Hexadecimal digits up to the end or a comma; returns their number of bytes. */
static size_t from_hex(const char *text, unsigned char *out)
{
    size_t n = 0;
    for (unsigned byte; n < BYTES_MAX && sscanf(text + 2 * n, "%2x", &byte) == 1; n++)
        out[n] = (unsigned char)byte;
    return n;
}

/* Big-endian. */
static void read_scalar(const unsigned char *in, uint64_t *scalar)
{
    memset(scalar, 0, SCALAR);
    for (size_t i = 0; i < SCALAR; i++)
        scalar[(SCALAR - 1 - i) / 8] |= (uint64_t)in[i] << (SCALAR - 1 - i) % 8 * 8;
}

static void multiply(const struct gx_curve_row *curve, struct point *out, const struct point *p,
                     const uint64_t *scalar)
{
    struct gx_xyzz t;
    gx__xyzz_set_affine(curve, &t, p->xy);
    gx__xyzz_mul(curve, &t, &t, scalar, 8 * SCALAR);
    gx__xyzz_to_affine(curve, &t, out->xy);
}

/* ---- EIP-2537 ---- */

struct eip {
    const struct gx_curve_row *curve;
    bool mul; /* point, scalar; else two points */
    size_t point_bytes;
};

static gx_status take_in(const struct eip *e, const unsigned char *in, struct point *p,
                         const char **why)
{
    gx_status s = gx__point_decode(e->curve, GX_POINT_EIP2537, in, NULL, p->xy, why);
    if (s)
        return s;
    return gx__point_check(e->curve, e->mul ? GX_CHECK_SUBGROUP : GX_CHECK_CURVE, p->xy, why);
}

/* As the precompiled contract would. */
static gx_status run_eip(const struct eip *e, const unsigned char *in, unsigned char *out,
                         const char **why)
{
    struct point p, q;
    gx_status s = take_in(e, in, &p, why);
    if (!s && !e->mul)
        s = take_in(e, in + e->point_bytes, &q, why);
    if (s)
        return s;
    if (e->mul) {
        uint64_t scalar[SCALAR_LIMBS];
        read_scalar(in + e->point_bytes, scalar);
        multiply(e->curve, &p, &p, scalar);
    } else {
        struct gx_xyzz sum;
        gx__xyzz_set_affine(e->curve, &sum, p.xy);
        gx__xyzz_add_affine(e->curve, &sum, q.xy);
        gx__xyzz_to_affine(e->curve, &sum, p.xy);
    }
    gx__point_encode(e->curve, GX_POINT_EIP2537, p.xy, out);
    return GX_OK;
}

static void check_error(const char *want, gx_status s, const char *why)
{
    static const struct {
        const char *theirs, *ours;
        gx_status status;
    } errors[] = {
        {"invalid point: not on curve", "it is not on the curve", GX_ERR_INVALID},
        {"invalid fp.Element encoding", "a coordinate is not below the modulus",
         GX_ERR_NOT_CANONICAL},
        {"invalid field element top bytes", "a coordinate has padding bytes that are not 0",
         GX_ERR_INVALID},
        {"g1 point is not in the correct subgroup", "it is not in the subgroup", GX_ERR_INVALID},
        {"g2 point is not in the correct subgroup", "it is not in the subgroup", GX_ERR_INVALID},
    };
    for (size_t i = 0; i < GXT_COUNT(errors); i++)
        if (!strcmp(errors[i].theirs, want)) {
            assert_int_equal(s, errors[i].status);
            assert_string_equal(why, errors[i].ours);
            return;
        }
    fail_msg("an error without a name of ours: %s", want);
}

/* Returns 1 if it was run: inputs of another length cannot be, with this interface. */
static size_t check_case(const struct eip *e, const json_t *one)
{
    unsigned char in[BYTES_MAX], want[BYTES_MAX], got[BYTES_MAX];
    const char *why = NULL, *error = json_string_value(json_object_get(one, "ExpectedError"));
    size_t length = from_hex(json_string_value(json_object_get(one, "Input")), in);
    if (length != e->point_bytes + (e->mul ? SCALAR : e->point_bytes)) {
        assert_string_equal(error, "invalid input length");
        return 0;
    }
    gx_status s = run_eip(e, in, got, &why);
    if (error) {
        check_error(error, s, why);
        return 1;
    }
    assert_int_equal(s, GX_OK);
    assert_int_equal(from_hex(json_string_value(json_object_get(one, "Expected")), want),
                     e->point_bytes);
    assert_memory_equal(got, want, e->point_bytes);
    return 1;
}

static void check_file(const char *name, gx_curve curve, bool mul, size_t cases)
{
    char path[LINE_BYTES];
    json_error_t error;
    snprintf(path, sizeof path, "%s/%s_bls.json", GXT_VECTORS, name);
    json_t *all = json_load_file(path, 0, &error);
    assert_non_null(all);
    struct eip e = {gx__curve(curve), mul, gx_point_bytes(curve, GX_POINT_EIP2537)};
    size_t ran = 0;
    for (size_t i = 0; i < json_array_size(all); i++)
        ran += check_case(&e, json_array_get(all, i));
    assert_int_equal(ran, cases);
    json_decref(all);
}

static void eip_2537(void **state)
{
    (void)state;
    check_file("add_G1", GX_BLS12_381_G1, false, 9);
    check_file("add_G2", GX_BLS12_381_G2, false, 9);
    check_file("mul_G1", GX_BLS12_381_G1, true, 11);
    check_file("mul_G2", GX_BLS12_381_G2, true, 11);
    check_file("fail-add_G1", GX_BLS12_381_G1, false, 4);
    check_file("fail-add_G2", GX_BLS12_381_G2, false, 4);
    check_file("fail-mul_G1", GX_BLS12_381_G1, true, 5);
    check_file("fail-mul_G2", GX_BLS12_381_G2, true, 5);
}

/* ---- py_ecc ---- */

/* "c0" or "c0,c1" as plain integers, lowest limb first. */
static void read_coordinate(const struct gx_curve_row *curve, const char *text, unsigned char *out)
{
    const size_t bytes = curve->base->limbs * sizeof(uint64_t);
    for (uint32_t i = 0; i < curve->degree; i++, text += 2 * bytes + 1) {
        unsigned char big_endian[BYTES_MAX];
        assert_int_equal(from_hex(text, big_endian), bytes);
        for (size_t k = 0; k < bytes; k++)
            out[i * bytes + k] = big_endian[bytes - 1 - k];
    }
}

static void read_point(const struct gx_curve_row *curve, const char *x, const char *y,
                       struct point *p)
{
    unsigned char plain[2 * GX_COORD_LIMBS * sizeof(uint64_t)] = {0};
    const char *why;
    if (*x != '-') {
        read_coordinate(curve, x, plain);
        read_coordinate(curve, y, plain + curve->limbs * sizeof(uint64_t));
    }
    assert_int_equal(gx__point_decode(curve, GX_POINT_XY_PLAIN, plain, NULL, p->xy, &why), GX_OK);
    assert_int_equal(gx__point_check(curve, GX_CHECK_CURVE, p->xy, &why), GX_OK);
}

static void check_compressed(const struct gx_curve_row *curve, const char *text,
                             const struct point *p)
{
    unsigned char want[BYTES_MAX], got[BYTES_MAX];
    struct point q;
    const char *why;
    const size_t bytes = gx_point_bytes(curve->curve, GX_POINT_COMPRESSED);
    assert_int_equal(from_hex(text, want), bytes);
    if (!bytes)
        return;
    gx__point_encode(curve, GX_POINT_COMPRESSED, p->xy, got);
    assert_memory_equal(got, want, bytes);
    assert_int_equal(gx__point_decode(curve, GX_POINT_COMPRESSED, got, NULL, q.xy, &why), GX_OK);
    assert_memory_equal(q.xy, p->xy, curve->info.affine_bytes);
}

static gx_curve check_line(const char *line)
{
    char name[32], where[8], x[256], y[256], digits[128], to_x[256], to_y[256], compressed[256];
    assert_int_equal(sscanf(line, "%31s %7s %255s %255s %127s %255s %255s %255s", name, where, x, y,
                            digits, to_x, to_y, compressed),
                     8);
    const struct gx_curve_row *curve = gx__curve(gx_curve_by_name(name));
    unsigned char bytes[BYTES_MAX];
    uint64_t scalar[SCALAR_LIMBS];
    struct point p, want, got;
    const char *why = "";
    read_point(curve, x, y, &p);
    read_point(curve, to_x, to_y, &want);
    assert_int_equal(gx__point_check(curve, GX_CHECK_SUBGROUP, p.xy, &why),
                     strcmp(where, "in") ? GX_ERR_INVALID : GX_OK);
    assert_string_equal(why, strcmp(where, "in") ? "it is not in the subgroup" : "");
    assert_int_equal(from_hex(digits, bytes), SCALAR);
    read_scalar(bytes, scalar);
    multiply(curve, &got, &p, scalar);
    assert_memory_equal(got.xy, want.xy, curve->info.affine_bytes);
    check_compressed(curve, compressed, &want);
    return curve->curve;
}

static void py_ecc(void **state)
{
    (void)state;
    char line[LINE_BYTES];
    unsigned lines[GX_CURVE_END] = {0};
    FILE *f = fopen(GXT_VECTORS "/multiples.txt", "r");
    assert_non_null(f);
    while (fgets(line, sizeof line, f))
        lines[check_line(line)]++;
    fclose(f);
    assert_int_equal(lines[GX_BLS12_381_G1], 54);
    assert_int_equal(lines[GX_BLS12_381_G2], 54);
    assert_int_equal(lines[GX_BN254_G1], 18);
    assert_int_equal(lines[GX_BN254_G2], 54);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(eip_2537),
        cmocka_unit_test(py_ecc),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
