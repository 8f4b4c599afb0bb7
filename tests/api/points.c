/* SPDX-License-Identifier: Apache-2.0
 *
 * Points of curves: every form in, every form out; strides, flags and buffers; which points are
 * refused, and which of several; allocations that fail.
 */
#include <stdio.h>

#include "support/harness.h"
#include "support/heap.h"
#include "support/oracle_curve.h"

enum { N = 300, FORMS = 6, CURVES = 4, POINT_MAX = 288, GUARD = 0x5c };

static gx_ctx *ctx;
static unsigned char affine[CURVES + 1][N * ORACLE_POINT_BYTES]; /* (i / 3) * G, some negative */
static unsigned char bytes[N * POINT_MAX], more[N * POINT_MAX + 1];

static void fill_points(gx_curve curve)
{
    const void *g = gx_curve_get_info(curve)->generator;
    size_t each = oracle_affine_bytes(curve);
    for (size_t i = 3; i < N; i++) {
        unsigned char *at = affine[curve] + i * each;
        oracle_point_add(curve, at, at - 3 * each, g);
        if (i % 3 == 1 && i > 20)
            oracle_point_neg(curve, at, at - each);
    }
}

static int prepare(void **state)
{
    (void)state;
    gxt_clear_environment();
    ctx = gxt_open(NULL);
    for (gx_curve c = 1; c <= CURVES; c++)
        fill_points(c);
    return 0;
}

static int finish(void **state)
{
    (void)state;
    gx_close(&ctx);
    return 0;
}

static gx_points_params desc_of(gx_curve curve, gx_point_form form, const void *from)
{
    return (gx_points_params){.struct_size = sizeof(gx_points_params),
                              .curve = curve,
                              .form = form,
                              .points = from,
                              .count = N};
}

static gx_points *create(const gx_points_params *desc)
{
    gx_points *made = NULL;
    uint64_t bad = 7;
    if (gx_points_create(ctx, desc, &made, &bad) != GX_OK)
        fail_msg("%s", gx_last_message());
    assert_int_equal(bad, UINT64_MAX);
    assert_int_equal(gx_points_count(made), desc->count);
    return made;
}

/* The points are those of `affine`. */
static void expect(gx_points **made, gx_curve curve)
{
    assert_int_equal(gx_points_read(*made, 0, N, GX_POINT_XY_MONT, more), GX_OK);
    assert_memory_equal(more, affine[curve], N * oracle_affine_bytes(curve));
    gx_points_destroy(made);
    assert_null(*made);
}

/* ---- forms and memory ---- */

static void every_form(void **state)
{
    (void)state;
    for (gx_curve c = 1; c <= CURVES; c++) {
        gx_points_params desc = desc_of(c, GX_POINT_XY_MONT, affine[c]);
        gx_points *made = create(&desc);
        for (gx_point_form form = 1; form <= FORMS; form++) {
            size_t each = gx_point_bytes(c, form);
            if (!each)
                continue;
            memset(bytes, GUARD, sizeof bytes);
            assert_int_equal(gx_points_read(made, 5, 7, form, bytes), GX_OK);
            assert_int_equal(bytes[7 * each], GUARD);
            assert_int_equal(gx_points_read(made, 0, N, form, more), GX_OK);
            assert_memory_equal(bytes, more + 5 * each, 7 * each);
            desc = desc_of(c, form, more + 1); /* not aligned */
            memmove(more + 1, more, N * each);
            desc.check = GX_CHECK_SUBGROUP;
            gx_points *again = create(&desc);
            expect(&again, c);
        }
        gx_points_destroy(&made);
    }
}

static void refuse(const gx_points_params *desc, gx_status status, uint64_t index, const char *why)
{
    gx_points *made = (gx_points *)(uintptr_t)desc;
    uint64_t bad = 7;
    gx_status s = gx_points_create(ctx, desc, &made, &bad);
    if (s != status || !strstr(gx_last_message(), why))
        fail_msg("%s: %s: '%s'", why, gx_status_name(s), gx_last_message());
    assert_null(made);
    assert_int_equal(bad, index);
}

/* x, y, a flag: arkworks up to 0.5. */
static void strides_and_flags(void **state)
{
    (void)state;
    for (gx_curve c = 1; c <= CURVES; c++) {
        size_t each = oracle_affine_bytes(c);
        gx_points_params desc = desc_of(c, GX_POINT_XY_MONT, bytes);
        desc.stride = each + 8;
        memset(bytes, GUARD, sizeof bytes);
        for (size_t i = 0; i < N; i++)
            memcpy(bytes + i * desc.stride, affine[c] + i * each, each);
        gx_points *made = create(&desc);
        expect(&made, c);
        desc.flag_offset = each + 3;
        for (size_t i = 0; i < N; i++) { /* infinity has any coordinates */
            bytes[i * desc.stride + desc.flag_offset] = i < 3;
            if (i < 3)
                memcpy(bytes + i * desc.stride, affine[c] + 9 * each, each);
        }
        made = create(&desc);
        expect(&made, c);
        memset(bytes + 5 * desc.stride, 0, each); /* not infinity, says the flag */
        refuse(&desc, GX_ERR_INVALID, 5, "not on the curve");
    }
}

static void from_buffers(void **state)
{
    (void)state;
    gx_buf *buf = NULL;
    size_t size = N * 96;
    gx_points_params desc = desc_of(GX_BLS12_381_G1, GX_POINT_XY_MONT, NULL);
    assert_int_equal(gx_buf_create(ctx, "cpu", size + 48, 0, &buf), GX_OK);
    assert_int_equal(gx_buf_write(buf, 48, affine[GX_BLS12_381_G1], size), GX_OK);
    desc.buf = buf;
    desc.offset = 48;
    gx_points *made = create(&desc);
    expect(&made, GX_BLS12_381_G1);
    desc.offset = 49;
    assert_int_equal(gx_points_create(ctx, &desc, &made, NULL), GX_ERR_INVALID);
    gx_buf_destroy(&buf);
}

static void none(void **state)
{
    (void)state;
    gx_points_params desc = desc_of(GX_BN254_G1, GX_POINT_XY_PLAIN, NULL);
    desc.count = 0;
    gx_points *made = create(&desc);
    assert_int_equal(gx_points_read(made, 0, 0, GX_POINT_XY_MONT, NULL), GX_OK);
    assert_int_equal(gx_points_read(made, 0, 1, GX_POINT_XY_MONT, bytes), GX_ERR_INVALID);
    gx_points_destroy(&made);
    gx_points_destroy(&made);
    gx_points_destroy(NULL);
    assert_int_equal(gx_points_count(NULL), 0);
}

/* ---- refusals ---- */

/* Of several bad points the first one counts, whoever finds one first. */
static void bad_points(void **state)
{
    (void)state;
    for (gx_curve c = 1; c <= CURVES; c++) {
        size_t each = oracle_affine_bytes(c);
        gx_points_params desc = desc_of(c, GX_POINT_XY_MONT, bytes);
        memcpy(bytes, affine[c], N * each);
        for (size_t i = N; i-- > 30; i -= 30)
            bytes[i * each] ^= 1;
        bytes[29 * each + 3] ^= 4;
        refuse(&desc, GX_ERR_INVALID, 29, "point 29");
        gxt_put_modulus(oracle_base_field(c), bytes + 11 * each);
        refuse(&desc, GX_ERR_NOT_CANONICAL, 11, "point 11");
        desc.count = 11;
        gx_points *made = create(&desc);
        gx_points_destroy(&made);
        desc = desc_of(c, GX_POINT_XY_MONT, bytes);
        memcpy(bytes, affine[c], N * each);
        bytes[200 * each + 3] ^= 4;
        desc.check = GX_CHECK_NONE;
        made = create(&desc);
        gx_points_destroy(&made);
    }
}

/* x = 4 on BLS12-381 G1, times nothing: on the curve, not in the subgroup. */
static void outside_the_subgroup(void **state)
{
    (void)state;
    memset(bytes, 0, 48);
    bytes[0] = 0x80;
    bytes[47] = 4;
    gx_points_params desc = desc_of(GX_BLS12_381_G1, GX_POINT_COMPRESSED, bytes);
    desc.count = 1;
    gx_points *made = create(&desc);
    gx_points_destroy(&made);
    desc.check = GX_CHECK_SUBGROUP;
    refuse(&desc, GX_ERR_INVALID, 0, "subgroup");
}

static void bad_descriptions(void **state)
{
    (void)state;
    const gx_points_params good = desc_of(GX_BN254_G1, GX_POINT_XY_MONT, affine[GX_BN254_G1]);
    gx_points_params d = good;
    gx_points *made = NULL;
    d.curve = 5;
    refuse(&d, GX_ERR_INVALID, UINT64_MAX, "curve");
    d = good;
    d.form = 0;
    refuse(&d, GX_ERR_INVALID, UINT64_MAX, "form is 0");
    d.form = GX_POINT_EIP2537;
    refuse(&d, GX_ERR_INVALID, UINT64_MAX, "no such form");
    d = good;
    d.points = NULL;
    refuse(&d, GX_ERR_INVALID, UINT64_MAX, "NULL");
    d = good;
    d.stride = 63;
    refuse(&d, GX_ERR_INVALID, UINT64_MAX, "stride");
    d = good;
    d.flag_offset = 64;
    refuse(&d, GX_ERR_INVALID, UINT64_MAX, "flag_offset");
    d = good;
    d.check = 3;
    refuse(&d, GX_ERR_INVALID, UINT64_MAX, "check");
    d = good;
    d.reserved = 1;
    refuse(&d, GX_ERR_INVALID, UINT64_MAX, "reserved");
    d = good;
    d.count = SIZE_MAX / 64;
    refuse(&d, GX_ERR_INVALID, UINT64_MAX, "memory");
    d = good;
    d.offset = 8;
    refuse(&d, GX_ERR_INVALID, UINT64_MAX, "offset");
    assert_int_equal(gx_points_create(NULL, &good, &made, NULL), GX_ERR_INVALID);
    assert_int_equal(gx_points_create(ctx, NULL, &made, NULL), GX_ERR_INVALID);
    assert_int_equal(gx_points_create(ctx, &good, NULL, NULL), GX_ERR_INVALID);
    made = create(&good);
    assert_int_equal(gx_points_read(made, 0, 1, GX_POINT_EIP2537, bytes), GX_ERR_INVALID);
    assert_int_equal(gx_points_read(made, N, 1, GX_POINT_XY_MONT, bytes), GX_ERR_INVALID);
    assert_int_equal(gx_points_read(made, 0, 1, GX_POINT_XY_MONT, NULL), GX_ERR_INVALID);
    assert_int_equal(gx_points_read(NULL, 0, 1, GX_POINT_XY_MONT, bytes), GX_ERR_INVALID);
    gx_points_destroy(&made);
}

/* ---- memory that runs out ---- */

static gx_status use_points(gx_ctx *in)
{
    static const uint64_t scalars[N * 4] = {5};
    gx_points *made = NULL;
    gx_buf *buf = NULL;
    gx_points_params desc = desc_of(GX_BN254_G1, GX_POINT_XY_MONT, NULL);
    gx_status s = gx_buf_create(in, "cpu", N * 64, 0, &buf);
    if (s == GX_OK)
        s = gx_buf_write(buf, 0, affine[GX_BN254_G1], N * 64);
    desc.buf = buf;
    if (s == GX_OK)
        s = gx_points_create(in, &desc, &made, NULL);
    assert_true(s == GX_OK || !made);
    if (s == GX_OK) {
        gx_msm_params p = {
            .struct_size = sizeof p, .points = made, .count = N, .result_form = GX_POINT_XY_MONT};
        gx_job job = {.op = GX_MSM,
                      .field = GX_BN254_FR,
                      .n = N,
                      .a = gx_host(scalars),
                      .out = gx_host(more),
                      .params = &p};
        s = gxt_run(in, &job, "cpu", NULL);
    }
    if (s == GX_OK)
        s = gxt_multiply(in, GX_BN254_G1, NULL, scalars, N, more);
    gx_points_destroy(&made);
    gx_buf_destroy(&buf);
    return s;
}

static void allocations_fail(void **state)
{
    (void)state;
    struct gxt_heap heap;
    gxt_heap_start(&heap);
    gx_config config = {.allocator = gxt_heap_allocator(&heap)};
    gx_ctx *own = gxt_open(&config);
    gx_status s = GX_ERR_OUT_OF_MEMORY;
    uint64_t at = 1;
    for (; s != GX_OK && at < 200; at++) {
        gxt_heap_fail(&heap, at, 0);
        s = use_points(own);
        gxt_heap_heal(&heap);
        assert_true(s == GX_OK || s == GX_ERR_OUT_OF_MEMORY || s == GX_ERR_OUT_OF_DEVICE_MEMORY);
    }
    assert_int_equal(s, GX_OK);
    assert_true(at > 4);
    gx_close(&own);
    gxt_heap_end(&heap);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_form),       cmocka_unit_test(strides_and_flags),
        cmocka_unit_test(from_buffers),     cmocka_unit_test(none),
        cmocka_unit_test(bad_points),       cmocka_unit_test(outside_the_subgroup),
        cmocka_unit_test(bad_descriptions), cmocka_unit_test(allocations_fail),
    };
    return cmocka_run_group_tests_name("points", tests, prepare, finish);
}
