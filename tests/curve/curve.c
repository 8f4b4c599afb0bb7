/* SPDX-License-Identifier: Apache-2.0
 *
 * The table of curves, coordinates and points, against GMP (oracle_curve.h).
 *
 * usage: curve [--bench]    prints the time of each operation instead
 */
#include <stdio.h>
#include <time.h>

#include "curve/coord.h"
#include "curve/curve.h"
#include "curve/form.h"
#include "curve/point.h"
#include "support/harness.h"
#include "support/oracle_curve.h"

enum { ROUNDS = 200, POINTS = 9, SCALAR_LIMBS = 5 };

static uint64_t seed = 18;

/* ---- the table ---- */

static void check_curve(gx_curve curve, const char *name, gx_field base, gx_field scalar,
                        uint32_t degree, uint32_t bytes)
{
    const gx_curve_info *info = gx_curve_get_info(curve);
    assert_non_null(info);
    assert_string_equal(info->name, name);
    assert_int_equal(gx_curve_by_name(name), curve);
    assert_int_equal(info->base_field, base);
    assert_int_equal(info->scalar_field, scalar);
    assert_int_equal(info->degree, degree);
    assert_int_equal(info->affine_bytes, bytes);
    assert_true(oracle_point_on_curve(curve, info->generator));
    assert_int_equal(oracle_affine_bytes(curve), bytes);
}

static void table(void **state)
{
    (void)state;
    check_curve(1, "bls12-381-g1", GX_BLS12_381_FQ, GX_BLS12_381_FR, 1, 96);
    check_curve(2, "bls12-381-g2", GX_BLS12_381_FQ, GX_BLS12_381_FR, 2, 192);
    check_curve(3, "bn254-g1", GX_BN254_FQ, GX_BN254_FR, 1, 64);
    check_curve(4, "bn254-g2", GX_BN254_FQ, GX_BN254_FR, 2, 128);
    const gx_curve none[] = {0, GX_CURVE_END, 1000, UINT32_MAX};
    for (size_t i = 0; i < GXT_COUNT(none); i++) {
        assert_null(gx_curve_get_info(none[i]));
        assert_int_equal(gx_point_bytes(none[i], GX_POINT_XY_MONT), 0);
    }
    const char *names[] = {NULL, "", "bn254", "BN254-G1", "bn254-g1 ", "bn254-g3"};
    for (size_t i = 0; i < GXT_COUNT(names); i++)
        assert_int_equal(gx_curve_by_name(names[i]), 0);
}

/* The bound of additions of points in the scalar tiers (src/curve/msm_scalar.h): 5p < R. */
static void room_above_the_modulus(void **state)
{
    (void)state;
    for (gx_curve c = 1; c < GX_CURVE_END; c++) {
        const struct gx_prime *base = gx__curve(c)->base;
        assert_true(base->p[base->limbs - 1] < UINT64_MAX / 5);
    }
}

static void sizes_of_forms(void **state)
{
    (void)state;
    static const size_t want[GX_CURVE_END][8] = {{0},
                                                 {0, 96, 96, 48, 96, 128, 144},
                                                 {0, 192, 192, 96, 192, 256, 288},
                                                 {0, 64, 64, 0, 0, 0, 96},
                                                 {0, 128, 128, 0, 0, 0, 192}};
    for (gx_curve c = 0; c < GX_CURVE_END; c++) {
        for (gx_point_form f = 0; f < 8; f++)
            assert_int_equal(gx_point_bytes(c, f), want[c][f]);
        assert_int_equal(gx_point_bytes(c, UINT32_MAX), 0);
    }
}

/* ---- coordinates ---- */

/* Random and edge elements. */
static void fill_coordinate(const struct gx_curve_row *curve, uint64_t *out, size_t round)
{
    gx_field field = curve->info.base_field;
    for (uint32_t i = 0; i < curve->degree; i++) {
        gxt_fill(&seed, field, out + (size_t)i * curve->base->limbs, 1);
        size_t edges = oracle_edges(field);
        if (gxt_next(&seed) % 2)
            oracle_edge(field, (round + i * 3) % edges, out + (size_t)i * curve->base->limbs);
    }
}

static void assert_coordinate(const struct gx_curve_row *curve, const uint64_t *got,
                              const struct oracle_pair *want)
{
    uint64_t expected[GX_COORD_LIMBS];
    oracle_pair_write(curve->curve, expected, want);
    assert_memory_equal(got, expected, curve->limbs * sizeof *got);
}

static void check_sum(const struct gx_curve_row *curve, const uint64_t *a, const uint64_t *b)
{
    uint64_t got[GX_COORD_LIMBS], want[GX_COORD_LIMBS];
    gx_field field = curve->info.base_field;
    gx__coord_add(curve, got, a, b);
    oracle_run(GX_ADD, field, curve->degree, want, a, b, NULL, 0);
    assert_true(gx__coord_equal(curve, got, want));
    gx__coord_sub(curve, got, a, b);
    oracle_run(GX_SUB, field, curve->degree, want, a, b, NULL, 0);
    assert_true(gx__coord_equal(curve, got, want));
    gx__coord_neg(curve, got, a);
    oracle_run(GX_NEG, field, curve->degree, want, a, NULL, NULL, 0);
    assert_true(gx__coord_equal(curve, got, want));
}

static void check_product(const struct gx_curve_row *curve, const uint64_t *a, const uint64_t *b)
{
    struct oracle_pair x, y, z;
    uint64_t got[GX_COORD_LIMBS];
    oracle_pair_init(&x);
    oracle_pair_init(&y);
    oracle_pair_init(&z);
    oracle_pair_read(curve->curve, &x, a);
    oracle_pair_read(curve->curve, &y, b);
    oracle_pair_mul(curve->curve, &z, &x, &y);
    gx__coord_mul(curve, got, a, b);
    assert_coordinate(curve, got, &z);
    memcpy(got, a, sizeof got);
    gx__coord_mul(curve, got, got, b);
    assert_coordinate(curve, got, &z);
    oracle_pair_mul(curve->curve, &z, &x, &x);
    gx__coord_sqr(curve, got, a);
    assert_coordinate(curve, got, &z);
    assert_int_equal(oracle_pair_invert(curve->curve, &z, &x), !gx__coord_is_zero(curve, a));
    if (!gx__coord_is_zero(curve, a)) {
        gx__coord_invert(curve, got, a);
        assert_coordinate(curve, got, &z);
    }
    oracle_pair_clear(&x);
    oracle_pair_clear(&y);
    oracle_pair_clear(&z);
}

static void coordinates(void **state)
{
    (void)state;
    for (gx_curve c = 1; c < GX_CURVE_END; c++)
        for (size_t i = 0; i < ROUNDS; i++) {
            uint64_t a[GX_COORD_LIMBS], b[GX_COORD_LIMBS];
            fill_coordinate(gx__curve(c), a, i);
            fill_coordinate(gx__curve(c), b, i / 3);
            check_sum(gx__curve(c), a, b);
            check_product(gx__curve(c), a, b);
        }
}

/* ---- points ---- */

static void assert_point(const struct gx_curve_row *curve, const struct gx_xyzz *p,
                         const void *want)
{
    uint64_t xy[2 * GX_COORD_LIMBS];
    gx__xyzz_to_affine(curve, p, xy);
    assert_memory_equal(xy, want, curve->info.affine_bytes);
}

/* Infinity, G, -G, 2G and others, some with ZZ other than 1. */
static void some_points(const struct gx_curve_row *curve, struct gx_xyzz *p,
                        uint64_t xy[POINTS][2 * GX_COORD_LIMBS])
{
    gx__xyzz_set_infinity(&p[0]);
    memset(xy[0], 0, sizeof xy[0]);
    for (size_t i = 1; i < POINTS; i++) {
        if (i % 4 == 3) { /* the opposite of the one before */
            p[i] = p[i - 1];
            gx__xyzz_neg(curve, &p[i]);
            oracle_point_neg(curve->curve, xy[i], xy[i - 1]);
            continue;
        }
        p[i] = p[i - 1];
        gx__xyzz_add_affine(curve, &p[i], curve->generator);
        oracle_point_add(curve->curve, xy[i], xy[i - 1], curve->generator);
    }
}

static void check_pair(const struct gx_curve_row *curve, const struct gx_xyzz *p,
                       const struct gx_xyzz *q, const uint64_t *p_xy, const uint64_t *q_xy)
{
    uint64_t want[2 * GX_COORD_LIMBS];
    oracle_point_add(curve->curve, want, p_xy, q_xy);
    struct gx_xyzz sum = *p;
    gx__xyzz_add(curve, &sum, q);
    assert_point(curve, &sum, want);
    sum = *p;
    gx__xyzz_add_affine(curve, &sum, q_xy);
    assert_point(curve, &sum, want);
    gx__xyzz_set_affine(curve, &sum, p_xy);
    gx__xyzz_add_affine(curve, &sum, q_xy);
    assert_point(curve, &sum, want);
}

static void check_doubles(const struct gx_curve_row *curve, const struct gx_xyzz *p,
                          const uint64_t *xy)
{
    uint64_t want[2 * GX_COORD_LIMBS];
    oracle_point_add(curve->curve, want, xy, xy);
    struct gx_xyzz twice = *p;
    gx__xyzz_double(curve, &twice);
    assert_point(curve, &twice, want);
    twice = *p;
    gx__xyzz_add(curve, &twice, &twice);
    assert_point(curve, &twice, want);
}

/* All pairs: infinity on either side, equal and opposite points. */
static void additions(void **state)
{
    (void)state;
    for (gx_curve c = 1; c < GX_CURVE_END; c++) {
        const struct gx_curve_row *curve = gx__curve(c);
        struct gx_xyzz p[POINTS];
        uint64_t xy[POINTS][2 * GX_COORD_LIMBS];
        some_points(curve, p, xy);
        for (size_t i = 0; i < POINTS; i++) {
            assert_point(curve, &p[i], xy[i]);
            check_doubles(curve, &p[i], xy[i]);
            for (size_t j = 0; j < POINTS; j++)
                check_pair(curve, &p[i], &p[j], xy[i], xy[j]);
        }
    }
}

static void batches(void **state)
{
    (void)state;
    for (gx_curve c = 1; c < GX_CURVE_END; c++) {
        const struct gx_curve_row *curve = gx__curve(c);
        const size_t words = (size_t)2 * curve->limbs;
        struct gx_xyzz p[POINTS];
        uint64_t xy[POINTS][2 * GX_COORD_LIMBS], got[POINTS * 2 * GX_COORD_LIMBS];
        some_points(curve, p, xy);
        gx__xyzz_set_infinity(&p[POINTS - 1]);
        memset(xy[POINTS - 1], 0, sizeof xy[0]);
        gx__xyzz_batch_to_affine(curve, p, 0, got);
        gx__xyzz_batch_to_affine(curve, p, POINTS, got);
        for (size_t i = 0; i < POINTS; i++)
            assert_memory_equal(got + i * words, xy[i], words * sizeof *got);
    }
}

static void multiples(void **state)
{
    (void)state;
    mpz_t z;
    mpz_init(z);
    for (gx_curve c = 1; c < GX_CURVE_END; c++) {
        const struct gx_curve_row *curve = gx__curve(c);
        struct gx_xyzz generator, p;
        gx__xyzz_set_affine(curve, &generator, curve->generator);
        for (int i = 0; i < 6; i++) {
            uint64_t scalar[SCALAR_LIMBS] = {0}, want[2 * GX_COORD_LIMBS];
            for (int k = 0; k < i && k < SCALAR_LIMBS; k++)
                scalar[k] = gxt_next(&seed);
            oracle_import(z, scalar, SCALAR_LIMBS);
            oracle_point_mul(c, want, curve->generator, z);
            gx__xyzz_mul(curve, &p, &generator, scalar, 64 * SCALAR_LIMBS);
            assert_point(curve, &p, want);
        }
        gx__xyzz_mul(curve, &p, &generator, curve->scalar->p, 64 * curve->scalar->limbs);
        assert_true(gx__xyzz_is_infinity(curve, &p));
    }
    mpz_clear(z);
}

/* ---- times ---- */

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

static void bench(const struct gx_curve_row *curve)
{
    enum { MANY = 1000000, SOME = 1000, FEW = 100 };
    uint64_t a[GX_COORD_LIMBS];
    struct gx_xyzz p, q;
    fill_coordinate(curve, a, 0);
    double start = now();
    for (int i = 0; i < MANY; i++)
        gx__coord_mul(curve, a, a, curve->generator);
    double product = (now() - start) / MANY;
    gx__xyzz_set_affine(curve, &p, curve->generator);
    gx__xyzz_double(curve, &p);
    start = now();
    for (int i = 0; i < SOME; i++)
        gx__xyzz_add_affine(curve, &p, curve->generator);
    double sum = (now() - start) / SOME;
    start = now();
    for (int i = 0; i < FEW; i++)
        gx__xyzz_mul(curve, &q, &p, curve->scalar->p, 64 * curve->scalar->limbs);
    double multiple = (now() - start) / FEW;
    start = now();
    for (int i = 0; i < FEW; i++)
        gx__coord_sqrt(curve, a, curve->b);
    double root = (now() - start) / FEW;
    const char *why;
    start = now();
    for (int i = 0; i < FEW; i++)
        gx__point_check(curve, GX_CHECK_SUBGROUP, curve->generator, &why);
    double check = (now() - start) / FEW;
    printf("%-14s mul %.1f ns, mixed addition %.0f ns, multiple %.0f us, sqrt %.1f us, subgroup "
           "check %.1f us\n",
           curve->info.name, product, sum, multiple / 1e3, root / 1e3, check / 1e3);
}

int main(int argc, char **argv)
{
    if (argc > 1 && !strcmp(argv[1], "--bench")) {
        for (gx_curve c = 1; c < GX_CURVE_END; c++)
            bench(gx__curve(c));
        return 0;
    }
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(table),          cmocka_unit_test(room_above_the_modulus),
        cmocka_unit_test(sizes_of_forms), cmocka_unit_test(coordinates),
        cmocka_unit_test(additions),      cmocka_unit_test(batches),
        cmocka_unit_test(multiples),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
