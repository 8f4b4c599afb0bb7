/* SPDX-License-Identifier: Apache-2.0
 *
 * Encodings of points against those of GMP; every way in which one can be malformed; square roots;
 * and the subgroup check against multiplication by the order.
 */
#include "curve/coord.h"
#include "curve/form.h"
#include "curve/point.h"
#include "pairing/pairing.h"
#include "support/harness.h"
#include "support/oracle_curve.h"

enum { POINTS = 12, ROUNDS = 60, EIP_ELEMENT = 64, EIP_PADDING = 16 };

static uint64_t seed = 2537;

struct point {
    uint64_t xy[2 * GX_COORD_LIMBS];
};

static const gx_point_form forms[] = {GX_POINT_XY_MONT,    GX_POINT_XY_PLAIN,
                                      GX_POINT_COMPRESSED, GX_POINT_UNCOMPRESSED,
                                      GX_POINT_EIP2537,    GX_POINT_JACOBIAN_MONT};

static void assert_decodes(gx_curve curve, gx_point_form form, const void *in,
                           const struct point *want)
{
    struct point got;
    const char *why = "";
    assert_int_equal(gx__point_decode(gx__curve(curve), form, in, NULL, got.xy, &why), GX_OK);
    assert_string_equal(why, "");
    assert_memory_equal(got.xy, want->xy, oracle_affine_bytes(curve));
}

static void assert_refused(gx_curve curve, gx_point_form form, const void *in, gx_status want,
                           const char *reason)
{
    struct point got;
    const char *why = "";
    assert_int_equal(gx__point_decode(gx__curve(curve), form, in, NULL, got.xy, &why), want);
    assert_string_equal(why, reason);
}

/* A random multiple of the generator; 0: infinity, 1: the generator. */
static void some_point(gx_curve curve, size_t which, struct point *p)
{
    mpz_t z;
    mpz_init_set_ui(z, which);
    if (which > 1)
        mpz_set_ui(z, gxt_next(&seed));
    oracle_point_mul(curve, p->xy, gx_curve_get_info(curve)->generator, z);
    mpz_clear(z);
}

/* At an odd address, nothing written beyond. */
static void check_form(gx_curve curve, gx_point_form form, const struct point *p)
{
    unsigned char want[ORACLE_FORM_BYTES], buffer[ORACLE_FORM_BYTES + 2];
    const size_t size = gx_point_bytes(curve, form);
    if (!size)
        return;
    oracle_point_encode(curve, form, want, p->xy);
    memset(buffer, 0xa5, sizeof buffer);
    gx__point_encode(gx__curve(curve), form, p->xy, buffer + 1);
    assert_memory_equal(buffer + 1, want, size);
    assert_int_equal(buffer[0], 0xa5);
    assert_int_equal(buffer[size + 1], 0xa5);
    assert_decodes(curve, form, buffer + 1, p);
}

static void every_form(void **state)
{
    (void)state;
    for (gx_curve c = 1; c < GX_CURVE_END; c++)
        for (size_t i = 0; i < POINTS; i++) {
            struct point p;
            some_point(c, i, &p);
            for (size_t f = 0; f < GXT_COUNT(forms); f++)
                check_form(c, forms[f], &p);
            oracle_point_neg(c, p.xy, p.xy);
            for (size_t f = 0; f < GXT_COUNT(forms); f++)
                check_form(c, forms[f], &p);
        }
}

/* Z other than 1, and any X, Y with Z = 0. */
static void jacobian(void **state)
{
    (void)state;
    for (gx_curve c = 1; c < GX_CURVE_END; c++) {
        const struct gx_curve_row *curve = gx__curve(c);
        struct point p, infinity = {{0}};
        uint64_t xyz[3 * GX_COORD_LIMBS], factor[GX_COORD_LIMBS];
        const uint32_t n = curve->limbs;
        some_point(c, 2, &p);
        uint64_t *z = xyz + (size_t)2 * n;
        gxt_fill(&seed, curve->info.base_field, z, curve->degree);
        gx__coord_sqr(curve, factor, z);
        gx__coord_mul(curve, xyz, p.xy, factor);
        gx__coord_mul(curve, factor, factor, z);
        gx__coord_mul(curve, xyz + n, p.xy + n, factor);
        assert_decodes(c, GX_POINT_JACOBIAN_MONT, xyz, &p);
        memset(z, 0, n * sizeof *z);
        assert_decodes(c, GX_POINT_JACOBIAN_MONT, xyz, &infinity);
    }
}

static void flag_of_the_caller(void **state)
{
    (void)state;
    const struct gx_curve_row *curve = gx__curve(GX_BN254_G1);
    const bool flag[] = {false, true};
    static const struct point zero;
    struct point p;
    const char *why;
    assert_int_equal(
        gx__point_decode(curve, GX_POINT_XY_MONT, curve->generator, &flag[0], p.xy, &why), GX_OK);
    assert_memory_equal(p.xy, curve->generator, curve->info.affine_bytes);
    assert_int_equal(
        gx__point_decode(curve, GX_POINT_XY_MONT, curve->generator, &flag[1], p.xy, &why), GX_OK);
    assert_memory_equal(p.xy, zero.xy, curve->info.affine_bytes);
}

/* ---- what is refused ---- */

/* Every element of every coordinate, set to the modulus and to all ones. */
static void limbs_not_below_the_modulus(void **state)
{
    (void)state;
    static const gx_point_form limbed[] = {GX_POINT_XY_MONT, GX_POINT_XY_PLAIN,
                                           GX_POINT_JACOBIAN_MONT};
    for (gx_curve c = 1; c < GX_CURVE_END; c++)
        for (size_t f = 0; f < GXT_COUNT(limbed); f++) {
            const gx_field field = oracle_base_field(c);
            const size_t bytes = oracle_element_bytes(field), size = gx_point_bytes(c, limbed[f]);
            for (size_t at = 0; at < size; at += bytes) {
                unsigned char in[ORACLE_FORM_BYTES] = {0};
                const char *reason = "a coordinate is not below the modulus";
                gxt_put_modulus(field, in + at);
                assert_refused(c, limbed[f], in, GX_ERR_NOT_CANONICAL, reason);
                memset(in + at, 0xff, bytes);
                assert_refused(c, limbed[f], in, GX_ERR_NOT_CANONICAL, reason);
            }
        }
}

/* Encodings of the generator with one element replaced by the modulus. */
static void bytes_not_below_the_modulus(void **state)
{
    (void)state;
    mpz_t p;
    mpz_init(p);
    oracle_modulus(p, GX_BLS12_381_FQ);
    for (gx_curve c = GX_BLS12_381_G1; c <= GX_BLS12_381_G2; c++)
        for (gx_point_form f = GX_POINT_COMPRESSED; f <= GX_POINT_EIP2537; f++) {
            const size_t step = f == GX_POINT_EIP2537 ? EIP_ELEMENT : 48;
            for (size_t at = 0; at < gx_point_bytes(c, f); at += step) {
                unsigned char in[ORACLE_FORM_BYTES];
                gx__point_encode(gx__curve(c), f, gx__curve(c)->generator, in);
                unsigned char flags = in[0] & 0xe0;
                oracle_big_endian(in + at, step, p);
                in[0] |= flags;
                assert_refused(c, f, in, GX_ERR_NOT_CANONICAL,
                               "a coordinate is not below the modulus");
                memset(in + at + step - 48, 0xff, 48);
                if (!at)
                    in[0] = f == GX_POINT_EIP2537 ? 0 : (unsigned char)(0x1f | flags);
                assert_refused(c, f, in, GX_ERR_NOT_CANONICAL,
                               "a coordinate is not below the modulus");
            }
        }
    mpz_clear(p);
}

/* All eight combinations of the flags, with the bytes of the generator. */
static void flags_of_points(void **state)
{
    (void)state;
    for (gx_curve c = GX_BLS12_381_G1; c <= GX_BLS12_381_G2; c++)
        for (unsigned flags = 0; flags < 0x100; flags += 0x20) {
            unsigned char in[ORACLE_FORM_BYTES];
            struct point p, opposite;
            memcpy(p.xy, gx__curve(c)->generator, sizeof p.xy);
            oracle_point_neg(c, opposite.xy, p.xy);
            gx__point_encode(gx__curve(c), GX_POINT_COMPRESSED, p.xy, in);
            bool same = (in[0] & 0xe0) == flags;
            in[0] = (unsigned char)((in[0] & 0x1f) | flags);
            if (!(flags & 0x80))
                assert_refused(c, GX_POINT_COMPRESSED, in, GX_ERR_INVALID,
                               "the flag of compressed points is missing");
            else if (flags & 0x40)
                assert_refused(c, GX_POINT_COMPRESSED, in, GX_ERR_INVALID,
                               "infinity has other bits set");
            else /* the other sign is the opposite point */
                assert_decodes(c, GX_POINT_COMPRESSED, in, same ? &p : &opposite);

            gx__point_encode(gx__curve(c), GX_POINT_UNCOMPRESSED, p.xy, in);
            in[0] |= (unsigned char)flags;
            if (flags & 0x80)
                assert_refused(c, GX_POINT_UNCOMPRESSED, in, GX_ERR_INVALID,
                               "the flag of compressed points is set");
            else if (flags & 0x40)
                assert_refused(c, GX_POINT_UNCOMPRESSED, in, GX_ERR_INVALID,
                               "infinity has other bits set");
            else if (flags & 0x20)
                assert_refused(c, GX_POINT_UNCOMPRESSED, in, GX_ERR_INVALID,
                               "the flag of the larger y is set beside y");
            else
                assert_decodes(c, GX_POINT_UNCOMPRESSED, in, &p);
        }
}

/* Infinity with one more bit, at every place. */
static void infinity_with_other_bits(void **state)
{
    (void)state;
    for (gx_curve c = GX_BLS12_381_G1; c <= GX_BLS12_381_G2; c++)
        for (gx_point_form f = GX_POINT_COMPRESSED; f <= GX_POINT_UNCOMPRESSED; f++) {
            const unsigned char flags = f == GX_POINT_COMPRESSED ? 0xc0 : 0x40;
            for (size_t bit = 2; bit < 8 * gx_point_bytes(c, f); bit++) {
                unsigned char in[ORACLE_FORM_BYTES] = {flags};
                in[bit / 8] |= (unsigned char)(0x80 >> bit % 8);
                assert_refused(c, f, in, GX_ERR_INVALID, "infinity has other bits set");
            }
            unsigned char zeros[ORACLE_FORM_BYTES] = {0};
            assert_refused(c, f, zeros, GX_ERR_INVALID,
                           f == GX_POINT_COMPRESSED ? "the flag of compressed points is missing"
                                                    : "the flag of infinity is missing");
        }
}

/* (0, 0, z) is not on the curve; it must not pass for infinity. */
static void jacobian_zeros(void **state)
{
    (void)state;
    for (gx_curve c = 1; c < GX_CURVE_END; c++) {
        uint64_t xyz[3 * GX_COORD_LIMBS] = {0};
        gx__coord_set_one(gx__curve(c), xyz + 2 * (size_t)gx__curve(c)->limbs);
        assert_refused(c, GX_POINT_JACOBIAN_MONT, xyz, GX_ERR_INVALID, "it is not on the curve");
    }
}

static void eip_padding(void **state)
{
    (void)state;
    for (gx_curve c = GX_BLS12_381_G1; c <= GX_BLS12_381_G2; c++)
        for (size_t i = 0; i < gx_point_bytes(c, GX_POINT_EIP2537); i++) {
            if (i % EIP_ELEMENT >= EIP_PADDING)
                continue;
            unsigned char in[ORACLE_FORM_BYTES];
            gx__point_encode(gx__curve(c), GX_POINT_EIP2537, gx__curve(c)->generator, in);
            in[i] = 1;
            assert_refused(c, GX_POINT_EIP2537, in, GX_ERR_INVALID,
                           "a coordinate has padding bytes that are not 0");
        }
}

/* Any x: no point has it, which is so for about half of them, or the decoded point is on the curve
 * and has the y of the flag. */
static void compressed_x(void **state)
{
    (void)state;
    unsigned without = 0;
    for (gx_curve c = GX_BLS12_381_G1; c <= GX_BLS12_381_G2; c++)
        for (unsigned i = 0; i < ROUNDS; i++) {
            unsigned char in[ORACLE_FORM_BYTES] = {0}, again[ORACLE_FORM_BYTES];
            const size_t size = gx_point_bytes(c, GX_POINT_COMPRESSED);
            struct point p;
            const char *why;
            in[size - 1] = (unsigned char)i;
            in[0] = i % 2 ? 0x80 : 0xa0;
            gx_status s = gx__point_decode(gx__curve(c), GX_POINT_COMPRESSED, in, NULL, p.xy, &why);
            if (s) {
                assert_int_equal(s, GX_ERR_INVALID);
                assert_string_equal(why, "no point of the curve has this x");
                without++;
                continue;
            }
            assert_true(oracle_point_on_curve(c, p.xy));
            oracle_point_encode(c, GX_POINT_COMPRESSED, again, p.xy);
            assert_memory_equal(in, again, size);
        }
    assert_in_range(without, ROUNDS / 2, 3 * ROUNDS / 2);
}

/* ---- square roots ---- */

static bool has_root(gx_curve curve, const uint64_t *a)
{
    struct oracle_pair x;
    mpz_t p, norm;
    mpz_inits(p, norm, NULL);
    oracle_pair_init(&x);
    oracle_pair_read(curve, &x, a);
    oracle_modulus(p, oracle_base_field(curve));
    mpz_set(norm, x.c[0]);
    if (oracle_degree(curve) == 2) {
        mpz_mul(norm, x.c[0], x.c[0]);
        mpz_addmul(norm, x.c[1], x.c[1]);
    }
    bool has = mpz_legendre(norm, p) >= 0;
    mpz_clears(p, norm, NULL);
    oracle_pair_clear(&x);
    return has;
}

/* Random elements, with c0, c1 or both 0 or an edge. */
static void square_roots(void **state)
{
    (void)state;
    unsigned roots = 0;
    for (gx_curve c = 1; c < GX_CURVE_END; c++)
        for (unsigned i = 0; i < ROUNDS; i++) {
            const struct gx_curve_row *curve = gx__curve(c);
            uint64_t a[GX_COORD_LIMBS], r[GX_COORD_LIMBS];
            gxt_fill(&seed, curve->info.base_field, a, curve->degree);
            for (uint32_t k = 0; k < curve->degree; k++)
                if (i >> k & 1)
                    oracle_edge(curve->info.base_field, i >> 2, a + (size_t)k * curve->base->limbs);
            bool has = gx__coord_sqrt(curve, r, a);
            assert_int_equal(has, has_root(c, a));
            roots += has;
            if (!has)
                continue;
            gx__coord_sqr(curve, r, r);
            assert_true(gx__coord_equal(curve, r, a));
        }
    assert_in_range(roots, ROUNDS, 3 * ROUNDS);
}

/* ---- checks ---- */

static void not_on_the_curve(void **state)
{
    (void)state;
    for (gx_curve c = 1; c < GX_CURVE_END; c++) {
        const struct gx_curve_row *curve = gx__curve(c);
        struct point p;
        const char *why = "";
        memcpy(p.xy, curve->generator, sizeof p.xy);
        for (gx_point_check check = GX_CHECK_CURVE; check <= GX_CHECK_NONE; check++)
            assert_int_equal(gx__point_check(curve, check, p.xy, &why), GX_OK);
        gx__coord_add(curve, p.xy, p.xy, p.xy);
        assert_int_equal(gx__point_check(curve, GX_CHECK_NONE, p.xy, &why), GX_OK);
        assert_string_equal(why, "");
        for (gx_point_check check = GX_CHECK_CURVE; check <= GX_CHECK_SUBGROUP; check++) {
            assert_int_equal(gx__point_check(curve, check, p.xy, &why), GX_ERR_INVALID);
            assert_string_equal(why, "it is not on the curve");
        }
        memset(p.xy, 0, sizeof p.xy);
        for (gx_point_check check = GX_CHECK_CURVE; check <= GX_CHECK_NONE; check++)
            assert_int_equal(gx__point_check(curve, check, p.xy, &why), GX_OK);
    }
}

/* What pairings find out by themselves: for G1 with another multiplication, for G2 on the way. */
static void check_pairings(gx_curve c, const struct point *p, bool in)
{
    static struct gx_lines lines;
    for (enum gx_tier t = 0; t < GX_TIERS; t++) {
        const struct gx_pairing *e = gx__pairing(c, 1u << t);
        const char *why;
        if (gx__curve(c)->degree == 1)
            assert_int_equal(gx__pairing_check_p(e, p->xy, &why), in ? GX_OK : GX_ERR_INVALID);
        else
            assert_int_equal(gx__lines_prepare(e, &lines, p->xy), in);
    }
}

/* Whether it is in the subgroup, by the definition. */
static bool check_member(gx_curve c, const struct point *p)
{
    static const struct point zero;
    struct point multiple;
    const char *why;
    mpz_t r;
    mpz_init(r);
    oracle_modulus(r, oracle_scalar_field(c));
    oracle_point_mul(c, multiple.xy, p->xy, r);
    mpz_clear(r);
    bool in = !memcmp(multiple.xy, zero.xy, oracle_affine_bytes(c));
    assert_int_equal(gx__point_check(gx__curve(c), GX_CHECK_SUBGROUP, p->xy, &why),
                     in ? GX_OK : GX_ERR_INVALID);
    check_pairings(c, p, in);
    return in;
}

/* The order of the whole curve: r times the published cofactor. */
static void order_of_curve(gx_curve c, mpz_t n)
{
    mpz_t r;
    mpz_init(r);
    oracle_modulus(r, oracle_scalar_field(c));
    if (c == GX_BLS12_381_G1)
        mpz_set_str(n, "396c8c005555e1568c00aaab0000aaab", 16);
    else if (c == GX_BLS12_381_G2)
        mpz_set_str(
            n,
            "5d543a95414e7f1091d50792876a202cd91de4547085abaa68a205b2e5a7ddfa628f1cb4d9e82ef"
            "21537e293a6691ae1616ec6e786f0c70cf1c38e31c7238e5",
            16);
    else if (c == GX_BN254_G2) { /* 2q - r */
        oracle_modulus(n, GX_BN254_FQ);
        mpz_mul_ui(n, n, 2);
        mpz_sub(n, n, r);
    } else {
        mpz_set_ui(n, 1);
    }
    mpz_mul(n, n, r);
    mpz_clear(r);
}

/* Of each curve, a random point; its part outside the subgroup; its part of each small prime;
 * and each of them plus a point of the subgroup. */
static void subgroup(void **state)
{
    (void)state;
    static const unsigned long primes[] = {1, 3, 11, 13, 23, 2713, 10069, 10177, 11953, 859267};
    mpz_t n, m;
    mpz_inits(n, m, NULL);
    for (gx_curve c = 1; c < GX_CURVE_END; c++) {
        struct point whole, p, q;
        unsigned outside = 0;
        gxt_any_point(&seed, c, whole.xy);
        assert_true(oracle_point_on_curve(c, whole.xy));
        order_of_curve(c, n);
        oracle_point_mul(c, p.xy, whole.xy, n);
        assert_true(gx__affine_is_infinity(gx__curve(c), p.xy));
        outside += !check_member(c, &whole);
        for (size_t i = 0; i < GXT_COUNT(primes); i++) {
            oracle_modulus(m, oracle_scalar_field(c));
            if (primes[i] > 1) { /* else what is left has this prime alone */
                mpz_t prime;
                mpz_init_set_ui(prime, primes[i]);
                mpz_remove(m, n, prime);
                mpz_clear(prime);
            }
            oracle_point_mul(c, p.xy, whole.xy, m);
            outside += !check_member(c, &p);
            some_point(c, 2, &q);
            assert_true(check_member(c, &q));
            oracle_point_add(c, q.xy, q.xy, p.xy);
            outside += !check_member(c, &q);
        }
        assert_in_range(outside, c == GX_BN254_G1 ? 0 : 5, c == GX_BN254_G1 ? 0 : 21);
    }
    mpz_clears(n, m, NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_form),
        cmocka_unit_test(jacobian),
        cmocka_unit_test(flag_of_the_caller),
        cmocka_unit_test(limbs_not_below_the_modulus),
        cmocka_unit_test(bytes_not_below_the_modulus),
        cmocka_unit_test(flags_of_points),
        cmocka_unit_test(infinity_with_other_bits),
        cmocka_unit_test(jacobian_zeros),
        cmocka_unit_test(eip_padding),
        cmocka_unit_test(compressed_x),
        cmocka_unit_test(square_roots),
        cmocka_unit_test(not_on_the_curve),
        cmocka_unit_test(subgroup),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
