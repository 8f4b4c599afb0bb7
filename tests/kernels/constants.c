/* SPDX-License-Identifier: Apache-2.0
 *
 * The constants behind every kernel: the moduli compared with the published strings, and everything
 * derived from them with GMP.
 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <string.h>

#include "field/field.h"
#include "kernel/radix.h"
#include "support/oracle.h"

static void assert_limbs(const uint64_t *limbs, uint32_t count, const mpz_t expected)
{
    mpz_t z;
    mpz_init(z);
    oracle_import(z, limbs, count);
    assert_int_equal(mpz_cmp(z, expected), 0);
    mpz_clear(z);
    for (uint32_t i = count; i < GX_LIMBS_MAX; i++)
        assert_int_equal(limbs[i], 0);
}

/* -1/p mod 2^bits */
static uint64_t negative_inverse(const mpz_t p, unsigned bits)
{
    uint64_t v;
    mpz_t z, base;
    mpz_inits(z, base, NULL);
    mpz_setbit(base, bits);
    assert_true(mpz_invert(z, p, base));
    mpz_sub(z, base, z);
    oracle_export(&v, 1, z);
    mpz_clears(z, base, NULL);
    return v;
}

static void check_row(const struct gx_prime *f)
{
    mpz_t p, z;
    mpz_inits(p, z, NULL);
    oracle_modulus(p, f->field);
    assert_limbs(f->p, f->limbs, p);
    assert_int_equal(f->limbs, (mpz_sizeinbase(p, 2) + 63) / 64);
    assert_true(f->limbs == 4 || f->limbs == 6);
    assert_int_equal(f->p[f->limbs - 1] >> 63, 0);
    assert_true(mpz_probab_prime_p(p, 40) > 0);

    mpz_setbit(z, 64 * f->limbs);
    mpz_mod(z, z, p);
    assert_limbs(f->one, f->limbs, z);
    mpz_mul(z, z, z);
    mpz_mod(z, z, p);
    assert_limbs(f->r2, f->limbs, z);
    assert_true(f->ninv64 == negative_inverse(p, 64));
    mpz_clears(p, z, NULL);
}

static void check_row52(const struct gx_prime *f)
{
    mpz_t p, z;
    mpz_inits(p, z, NULL);
    oracle_modulus(p, f->field);
    assert_true(f->limbs52 <= GX_LIMBS52_MAX);
    assert_true(52 * f->limbs52 > 64 * f->limbs);        /* holds one spare bit ... */
    assert_true(52 * (f->limbs52 - 1) <= 64 * f->limbs); /* ... and is the least that does */
    for (uint32_t i = GX_LIMBS52_MAX; i-- > 0;) {
        assert_int_equal(f->p52[i] >> 52, 0);
        mpz_t limb;
        mpz_init(limb);
        oracle_import(limb, &f->p52[i], 1);
        mpz_mul_2exp(z, z, 52);
        mpz_add(z, z, limb);
        mpz_clear(limb);
        if (i >= f->limbs52)
            assert_int_equal(f->p52[i], 0);
    }
    assert_int_equal(mpz_cmp(z, p), 0);
    assert_true(f->ninv52 == negative_inverse(p, 52));
    mpz_clears(p, z, NULL);
}

static void test_rows(void **state)
{
    (void)state;
#define GX_X(symbol, value, name)                                                                  \
    if (gx__prime(symbol))                                                                         \
        check_row(gx__prime(symbol));
    GX__FIELD_LIST(GX_X)
#undef GX_X
}

static void test_rows52(void **state)
{
    (void)state;
#define GX_X(symbol, value, name)                                                                  \
    if (gx__prime(symbol))                                                                         \
        check_row52(gx__prime(symbol));
    GX__FIELD_LIST(GX_X)
#undef GX_X
}

static void limbs_to(mpz_t z, const struct gx_radix *radix, const uint32_t *limb)
{
    mpz_set_ui(z, 0);
    for (uint32_t k = radix->limbs; k-- > 0;) {
        mpz_mul_2exp(z, z, radix->bits);
        mpz_add_ui(z, z, limb[k]);
    }
}

/* The limbs of the modulus are those of p, and those of the fold 2^-bits mod p. */
static void check_radix(const struct gx_prime *f)
{
    struct gx_radix radix;
    mpz_t p, z;
    mpz_inits(p, z, NULL);
    oracle_import(p, f->p, f->limbs);
    assert_true(gx__radix(f, &radix));
    limbs_to(z, &radix, radix.modulus);
    assert_int_equal(mpz_cmp(z, p), 0);
    limbs_to(z, &radix, radix.fold);
    mpz_mul_2exp(z, z, radix.bits);
    mpz_sub_ui(z, z, 1);
    assert_true(mpz_divisible_p(z, p));
    mpz_clears(p, z, NULL);
}

static void test_radix(void **state)
{
    (void)state;
#define GX_X(symbol, value, name)                                                                  \
    if (gx__prime(symbol))                                                                         \
        check_radix(gx__prime(symbol));
    GX__FIELD_LIST(GX_X)
#undef GX_X
    /* 2^193 + 3: far below R, with more candidates for the fold than anyone can try. */
    struct gx_prime small = {.limbs = 4, .p = {3, 0, 0, 2}, .ninv64 = 0x5555555555555555};
    check_radix(&small);
    struct gx_prime large = {.limbs = 4, .p = {3, 0, 0, 0x76ull << 56}, .ninv64 = small.ninv64};
    struct gx_radix radix;
    assert_false(gx__radix_small(&large)); /* 0.461 R */
    assert_false(gx__radix(&large, &radix));
}

/* Every field of the public list is a row or one of the two without a modulus, and the values are
 * consecutive from 1 to the end. */
static void test_list(void **state)
{
    (void)state;
    unsigned next = 1;
#define GX_X(symbol, value, name)                                                                  \
    assert_int_equal(symbol, next++);                                                              \
    assert_int_equal(gx__element_bytes(symbol), oracle_element_bytes(symbol));                     \
    if (symbol == GX_U32 || symbol == GX_F32) {                                                    \
        assert_null(gx__prime(symbol));                                                            \
        assert_null(oracle_modulus_hex(symbol));                                                   \
    } else {                                                                                       \
        assert_non_null(gx__prime(symbol));                                                        \
        assert_int_equal(gx__prime(symbol)->field, symbol);                                        \
        assert_non_null(oracle_modulus_hex(symbol));                                               \
    }
    GX__FIELD_LIST(GX_X)
#undef GX_X
    assert_int_equal(next, GX_FIELD_END);
    assert_null(gx__prime((gx_field)0));
    assert_null(gx__prime((gx_field)GX_FIELD_END));
    assert_int_equal(gx__element_bytes((gx_field)0), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_list),
        cmocka_unit_test(test_rows),
        cmocka_unit_test(test_rows52),
        cmocka_unit_test(test_radix),
    };
    return cmocka_run_group_tests_name("constants", tests, NULL, NULL);
}
