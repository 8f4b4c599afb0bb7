/* SPDX-License-Identifier: Apache-2.0
 *
 * One row per prime field, and the constants derived from it. CONTRIBUTING.md says how to add one.
 */
#include "field/field.h"

#include <string.h>

#if defined(__BYTE_ORDER__) && __BYTE_ORDER__ != __ORDER_LITTLE_ENDIAN__
#error "elements are little-endian in memory and the kernels read them as machine words"

#endif

static struct gx_prime primes[] = {
    {.field = GX_BLS12_381_FQ,
     .limbs = 6,
     .p = {0xb9feffffffffaaab, 0x1eabfffeb153ffff, 0x6730d2a0f6b0f624, 0x64774b84f38512bf,
           0x4b1ba7b6434bacd7, 0x1a0111ea397fe69a}},
    {.field = GX_BLS12_381_FR,
     .limbs = 4,
     .p = {0xffffffff00000001, 0x53bda402fffe5bfe, 0x3339d80809a1d805, 0x73eda753299d7d48},
     .two_adicity = 32,
     .generator = 7},
    {.field = GX_BN254_FQ,
     .limbs = 4,
     .p = {0x3c208c16d87cfd47, 0x97816a916871ca8d, 0xb85045b68181585d, 0x30644e72e131a029}},
    {.field = GX_BN254_FR,
     .limbs = 4,
     .p = {0x43e1f593f0000001, 0x2833e84879b97091, 0xb85045b68181585d, 0x30644e72e131a029},
     .two_adicity = 28,
     .generator = 5},
};

_Static_assert(sizeof primes / sizeof *primes == GX_FIELD_END - 1 - 2,
               "one row for each field of GX__FIELD_LIST but u32 and f32");

const struct gx_prime *gx__primes[GX_FIELD_END];
uint8_t gx__element_sizes[GX_FIELD_END] = {[GX_U32] = 4, [GX_F32] = 4};

/* x = 2x mod p, x < p; the top bit of p is clear, so 2x needs no further limb. */
static void double_mod(const struct gx_prime *f, uint64_t *x)
{
    uint64_t twice[GX_LIMBS_MAX], less[GX_LIMBS_MAX];
    uint64_t carry = 0, borrow = 0;
    for (uint32_t i = 0; i < f->limbs; i++) {
        twice[i] = x[i] << 1 | carry;
        carry = x[i] >> 63;
        uint64_t d = twice[i] - f->p[i];
        less[i] = d - borrow;
        borrow = (twice[i] < f->p[i]) | (d < borrow);
    }
    memcpy(x, borrow ? twice : less, f->limbs * sizeof *x);
}

/* -1/p mod 2^64: Newton's iteration doubles the correct low bits, and x = p is right
 * to 3 bits for odd p, so five rounds give 96. */
static uint64_t neg_inverse64(uint64_t p)
{
    uint64_t x = p;
    for (int i = 0; i < 5; i++)
        x *= 2 - p * x;
    return 0 - x;
}

static void split52(const struct gx_prime *f, uint64_t *limbs52)
{
    for (uint32_t k = 0; k < f->limbs52; k++) {
        uint32_t word = 52 * k / 64, shift = 52 * k % 64;
        uint64_t v = word < f->limbs ? f->p[word] >> shift : 0;
        if (shift > 12 && word + 1 < f->limbs)
            v |= f->p[word + 1] << (64 - shift);
        limbs52[k] = v & (((uint64_t)1 << 52) - 1);
    }
}

static void derive(struct gx_prime *f)
{
    f->limbs52 = 64 * f->limbs / 52 + 1;
    split52(f, f->p52);
    f->ninv64 = neg_inverse64(f->p[0]);
    f->ninv52 = f->ninv64 & (((uint64_t)1 << 52) - 1);

    uint64_t x[GX_LIMBS_MAX] = {1};
    for (uint32_t i = 0; i < 64 * f->limbs; i++)
        double_mod(f, x);
    memcpy(f->one, x, sizeof x);
    for (uint32_t i = 0; i < 64 * f->limbs; i++)
        double_mod(f, x);
    memcpy(f->r2, x, sizeof x);
}

/* Runs when the library is loaded, before other constructors, so that looking up a field is a plain
 * load; every call does it many times. */
__attribute__((constructor(101))) static void derive_all(void)
{
    for (size_t i = 0; i < sizeof primes / sizeof *primes; i++) {
        derive(&primes[i]);
        gx__primes[primes[i].field] = &primes[i];
        gx__element_sizes[primes[i].field] = (uint8_t)(primes[i].limbs * sizeof(uint64_t));
    }
}
