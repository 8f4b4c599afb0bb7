/* SPDX-License-Identifier: Apache-2.0
 *
 * Laws of pairings in every tier: bilinearity, products of any number of pairs, infinity, and
 * points that are refused. Their values are compared with others' in vectors.c.
 */
#include "curve/form.h"
#include "curve/point.h"
#include "pairing/pairing.h"
#include "support/harness.h"
#include "support/oracle_curve.h"

enum { PAIRS_MAX = 40, SCALAR_LIMBS = 4, SCALAR_BITS = 256, ROUNDS = 3 };

static const gx_curve curves[] = {GX_BLS12_381_G1, GX_BN254_G1};
static const unsigned masks[] = {1u << GX_TIER_PORTABLE, 1u << GX_TIER_ADX};

static uint64_t seed = 381;

struct point {
    uint64_t xy[2 * GX_COORD_LIMBS];
};

/* Runs a test for each pair of curves in each tier. */
static void for_each(void (*test)(const struct gx_pairing *e))
{
    for (size_t c = 0; c < GXT_COUNT(curves); c++)
        for (size_t m = 0; m < GXT_COUNT(masks); m++)
            test(gx__pairing(curves[c], masks[m]));
}

static void multiply(const struct gx_curve_row *curve, struct point *out, const uint64_t *xy,
                     const mpz_t scalar)
{
    uint64_t limbs[2 * GX_COORD_LIMBS] = {0};
    struct gx_xyzz t;
    oracle_export(limbs, GXT_COUNT(limbs), scalar);
    gx__xyzz_set_affine(curve, &t, xy);
    gx__xyzz_mul(curve, &t, &t, limbs, (uint32_t)mpz_sizeinbase(scalar, 2));
    gx__xyzz_to_affine(curve, &t, out->xy);
}

static void get_order(const struct gx_pairing *e, mpz_t order)
{
    oracle_modulus(order, gx__pairing_g1(e)->info.scalar_field);
}

static void random_scalar(const struct gx_pairing *e, mpz_t out)
{
    uint64_t limbs[SCALAR_LIMBS];
    mpz_t order;
    mpz_init(order);
    get_order(e, order);
    gxt_bytes(&seed, limbs, sizeof limbs);
    oracle_import(out, limbs, SCALAR_LIMBS);
    mpz_mod(out, out, order);
    mpz_clear(order);
}

static void pairing(const struct gx_pairing *e, struct gx_fq12 *out, const struct point *p,
                    const struct point *q)
{
    struct gx_pair pair = {p->xy, q->xy, NULL};
    assert_int_equal(gx__miller_loop(e, out, &pair, 1), GX_ALL_GOOD);
    gx__final_power(e, out, out);
}

static bool is_one(const struct gx_pairing *e, const struct gx_fq12 *value)
{
    struct gx_fq12 one;
    gx__fq12_set_one(e, &one);
    return gx__fq12_equal(e, value, &one);
}

/* ---- bilinearity ---- */

/* e(sG, tH) = e(stG, H) = e(G, stH) = e(G, H)^(st), which is not 1 but its power by the order is.
 */
static void check_bilinear(const struct gx_pairing *e)
{
    const struct gx_curve_row *g1 = gx__pairing_g1(e), *g2 = gx__pairing_g2(e);
    struct point p, q, g, h;
    struct gx_fq12 a, b, base;
    uint64_t limbs[SCALAR_LIMBS];
    mpz_t s, t, order;
    mpz_inits(s, t, order, NULL);
    memcpy(g.xy, g1->generator, sizeof g.xy);
    memcpy(h.xy, g2->generator, sizeof h.xy);
    pairing(e, &base, &g, &h);
    assert_false(is_one(e, &base));
    get_order(e, order);
    oracle_export(limbs, SCALAR_LIMBS, order);
    gx__pairing_power(e, &a, &base, limbs, SCALAR_BITS);
    assert_true(is_one(e, &a));
    for (int i = 0; i < ROUNDS; i++) {
        random_scalar(e, s);
        random_scalar(e, t);
        multiply(g1, &p, g.xy, s);
        multiply(g2, &q, h.xy, t);
        pairing(e, &a, &p, &q);
        mpz_mul(s, s, t);
        mpz_mod(s, s, order);
        oracle_export(limbs, SCALAR_LIMBS, s);
        gx__pairing_power(e, &b, &base, limbs, SCALAR_BITS);
        assert_true(gx__fq12_equal(e, &a, &b));
        multiply(g1, &p, g.xy, s);
        pairing(e, &b, &p, &h);
        assert_true(gx__fq12_equal(e, &a, &b));
        multiply(g2, &q, h.xy, s);
        pairing(e, &b, &g, &q);
        assert_true(gx__fq12_equal(e, &a, &b));
    }
    mpz_clears(s, t, order, NULL);
}

static void bilinear(void **state)
{
    (void)state;
    for_each(check_bilinear);
}

/* ---- products ---- */

struct product {
    struct point p[PAIRS_MAX], q[PAIRS_MAX];
    struct gx_lines lines[2]; /* of the first ones */
    struct gx_pair pairs[PAIRS_MAX];
};

/* Random multiples s_i G and t_i H; the last pair has -sum s_i t_i and H, so that the product is
 * 1. */
static void make_product(const struct gx_pairing *e, struct product *all, size_t n)
{
    const struct gx_curve_row *g1 = gx__pairing_g1(e), *g2 = gx__pairing_g2(e);
    mpz_t s, t, sum, order;
    mpz_inits(s, t, sum, order, NULL);
    get_order(e, order);
    for (size_t i = 0; i < n; i++) {
        random_scalar(e, s);
        random_scalar(e, t);
        if (i + 1 == n) {
            mpz_neg(s, sum);
            mpz_mod(s, s, order);
            mpz_set_ui(t, 1);
        }
        mpz_addmul(sum, s, t);
        multiply(g1, &all->p[i], g1->generator, s);
        multiply(g2, &all->q[i], g2->generator, t);
        all->pairs[i] = (struct gx_pair){all->p[i].xy, all->q[i].xy, NULL};
    }
    mpz_clears(s, t, sum, order, NULL);
}

static void assert_product(const struct gx_pairing *e, const struct gx_pair *pairs, size_t n,
                           bool want)
{
    bool got = !want;
    size_t bad;
    const char *why;
    assert_int_equal(gx__pairing_check(e, pairs, n, &got, &bad, &why), GX_OK);
    assert_int_equal(got, want);
}

static void check_products(const struct gx_pairing *e)
{
    static const size_t sizes[] = {0, 1, 2, 3, 8, 16, 17, 33, PAIRS_MAX};
    static struct product all;
    const struct gx_curve_row *g1 = gx__pairing_g1(e);
    for (size_t k = 0; k < GXT_COUNT(sizes); k++) {
        const size_t n = sizes[k];
        make_product(e, &all, n);
        assert_product(e, all.pairs, n, true);
        for (size_t i = 0; i < n && i < GXT_COUNT(all.lines); i++) {
            assert_true(gx__lines_prepare(e, &all.lines[i], all.q[i].xy));
            all.pairs[i] = (struct gx_pair){all.p[i].xy, NULL, &all.lines[i]};
        }
        assert_product(e, all.pairs, n, true);
        if (n < 2)
            continue;
        struct point last = all.p[n - 1];
        oracle_point_neg(g1->curve, all.p[n - 1].xy, last.xy);
        assert_product(e, all.pairs, n, false);
        assert_product(e, all.pairs, n - 1, false);
    }
}

static void products(void **state)
{
    (void)state;
    for_each(check_products);
}

/* A product in parts is that of the whole. */
static void check_parts(const struct gx_pairing *e)
{
    static struct product all;
    struct gx_fq12 a, b;
    make_product(e, &all, PAIRS_MAX);
    for (size_t cut = 0; cut <= PAIRS_MAX; cut += PAIRS_MAX / 4) {
        assert_int_equal(gx__miller_loop(e, &a, all.pairs, cut), GX_ALL_GOOD);
        assert_int_equal(gx__miller_loop(e, &b, all.pairs + cut, PAIRS_MAX - cut), GX_ALL_GOOD);
        gx__fq12_mul(e, &a, &a, &b);
        gx__final_power(e, &b, &a);
        assert_true(is_one(e, &b));
    }
}

static void parts(void **state)
{
    (void)state;
    for_each(check_parts);
}

/* ---- infinity ---- */

/* On either side, prepared or not, it makes a factor of 1, wherever it is. */
static void check_infinity(const struct gx_pairing *e)
{
    static struct product all;
    static const uint64_t infinity[2 * GX_COORD_LIMBS];
    struct gx_lines lines;
    assert_true(gx__lines_prepare(e, &lines, infinity));
    make_product(e, &all, 3);
    const struct gx_pair none[] = {{infinity, all.q[0].xy, NULL},
                                   {all.p[0].xy, infinity, NULL},
                                   {infinity, infinity, NULL},
                                   {all.p[0].xy, NULL, &lines},
                                   {infinity, NULL, &lines}};
    for (size_t i = 0; i < GXT_COUNT(none); i++) {
        assert_product(e, &none[i], 1, true);
        for (size_t at = 0; at <= 3; at++) {
            struct gx_pair pairs[4];
            for (size_t k = 0; k < 4; k++)
                pairs[k] = k == at ? none[i] : all.pairs[k - (k > at)];
            assert_product(e, pairs, 4, true);
            pairs[at == 0] = none[0]; /* in place of a pair that counts */
            assert_product(e, pairs, 4, false);
        }
    }
    assert_product(e, none, GXT_COUNT(none), true);
}

static void with_infinity(void **state)
{
    (void)state;
    for_each(check_infinity);
}

/* ---- what is refused ---- */

static void assert_refused(const struct gx_pairing *e, const struct gx_pair *pairs, size_t n,
                           size_t where, const char *reason)
{
    bool got = true;
    size_t bad = n;
    const char *why = "";
    assert_int_equal(gx__pairing_check(e, pairs, n, &got, &bad, &why), GX_ERR_INVALID);
    assert_int_equal(bad, where);
    assert_string_equal(why, reason);
    assert_false(got);
}

/* With a bad p or q in each place of many pairs, and beside infinity. */
static void check_refused(const struct gx_pairing *e, const uint64_t *p, const uint64_t *q,
                          const char *reason)
{
    static struct product all;
    static const uint64_t infinity[2 * GX_COORD_LIMBS];
    enum { PLACES = 18 };
    make_product(e, &all, PLACES);
    for (size_t i = 0; i < PLACES; i++) {
        const struct gx_pair good = all.pairs[i];
        const struct gx_pair with[] = {{p ? p : good.p, q ? q : good.q, NULL},
                                       {p ? p : infinity, q ? q : infinity, NULL}};
        for (size_t k = 0; k < GXT_COUNT(with); k++) {
            all.pairs[i] = with[k];
            assert_refused(e, all.pairs, PLACES, i, reason);
        }
        all.pairs[i] = good;
    }
}

static void check_off_curve(const struct gx_pairing *e)
{
    const struct gx_curve_row *sides[] = {gx__pairing_g1(e), gx__pairing_g2(e)};
    for (int side = 0; side < 2; side++) {
        struct point off;
        memcpy(off.xy, sides[side]->generator, sizeof off.xy);
        off.xy[sides[side]->limbs] ^= 1; /* another y */
        check_refused(e, side ? NULL : off.xy, side ? off.xy : NULL, "it is not on the curve");
    }
}

static void off_curve(void **state)
{
    (void)state;
    for_each(check_off_curve);
}

/* A random point of the whole curve is hardly ever in the subgroup. All kinds of such points are
 * checked in curve/forms.c. */
static void check_outside(const struct gx_pairing *e)
{
    const struct gx_curve_row *sides[] = {gx__pairing_g1(e), gx__pairing_g2(e)};
    for (int side = 0; side < 2; side++) {
        struct point out;
        if (sides[side]->curve == GX_BN254_G1) /* has no other points */
            continue;
        gxt_any_point(&seed, sides[side]->curve, out.xy);
        check_refused(e, side ? NULL : out.xy, side ? out.xy : NULL, "it is not in the subgroup");
    }
}

static void outside(void **state)
{
    (void)state;
    for_each(check_outside);
}

/* ---- multiples ---- */

/* Around the order a sum meets equal and opposite points. */
static void check_multiples(const struct gx_pairing *e)
{
    const struct gx_curve_row *g1 = gx__pairing_g1(e);
    static const uint64_t infinity[2 * GX_COORD_LIMBS];
    mpz_t scalar;
    mpz_init(scalar);
    for (unsigned long i = 0; i < 12; i++) {
        uint64_t limbs[SCALAR_LIMBS];
        struct point want, got;
        struct gx_xyzz t;
        get_order(e, scalar);
        if (i < 4)
            mpz_set_ui(scalar, i);
        else if (i < 9)
            mpz_add_ui(scalar, scalar, i - 4);
        else
            random_scalar(e, scalar);
        oracle_export(limbs, SCALAR_LIMBS, scalar);
        oracle_point_mul(g1->curve, want.xy, g1->generator, scalar);
        gx__pairing_multiply(e, &t, g1->generator, limbs, SCALAR_BITS);
        gx__xyzz_to_affine(g1, &t, got.xy);
        assert_memory_equal(got.xy, want.xy, g1->info.affine_bytes);
        gx__pairing_multiply(e, &t, infinity, limbs, SCALAR_BITS);
        assert_true(gx__xyzz_is_infinity(g1, &t));
    }
    mpz_clear(scalar);
}

static void multiples(void **state)
{
    (void)state;
    for_each(check_multiples);
}

/* ---- which --------------------------------------------------------------------------------- */

static void choice(void **state)
{
    (void)state;
    const bool adx = gx__host_tiers() & 1u << GX_TIER_ADX;
    for (size_t c = 0; c < GXT_COUNT(curves); c++) {
        const struct gx_pairing *e = gx__pairing(curves[c], 0);
        assert_int_equal(gx__pairing_tier_of(e), GX_TIER_PORTABLE);
        assert_int_equal(gx__pairing_g1(e)->curve, curves[c]);
        assert_ptr_equal(e, gx__pairing(gx__pairing_g2(e)->curve, 0));
        assert_int_equal(gx__pairing_tier_of(gx__pairing(curves[c], ~0u)),
                         adx ? GX_TIER_ADX : GX_TIER_PORTABLE);
    }
    assert_null(gx__pairing(0, ~0u));
    assert_null(gx__pairing(GX_CURVE_END, ~0u));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(bilinear),      cmocka_unit_test(products),  cmocka_unit_test(parts),
        cmocka_unit_test(with_infinity), cmocka_unit_test(off_curve), cmocka_unit_test(outside),
        cmocka_unit_test(multiples),     cmocka_unit_test(choice),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
