/* SPDX-License-Identifier: Apache-2.0
 *
 * Elements in the portable tier: 64-bit C with unsigned __int128, for every CPU.
 */
#ifndef GX_FIELD_PORTABLE_ELEMENT_H
#define GX_FIELD_PORTABLE_ELEMENT_H

#include "field/element.h"

typedef unsigned __int128 u128;

/* a + b + carry and a - b - carry; carry is 0 or 1 in and out. Compilers map these builtins to the
 * carry flag, which they do not do for 128-bit arithmetic. */
TEMPLATE uint64_t add_carry(uint64_t a, uint64_t b, uint64_t *carry)
{
    uint64_t sum;
    bool first = __builtin_add_overflow(a, b, &sum);
    *carry = first | __builtin_add_overflow(sum, *carry, &sum);
    return sum;
}

TEMPLATE uint64_t sub_borrow(uint64_t a, uint64_t b, uint64_t *borrow)
{
    uint64_t difference;
    bool first = __builtin_sub_overflow(a, b, &difference);
    *borrow = first | __builtin_sub_overflow(difference, *borrow, &difference);
    return difference;
}

/* Without a branch. */
TEMPLATE void fe_reduce(unsigned limbs, uint64_t *r, const void *a, const uint64_t *m)
{
    uint64_t t[GX_LIMBS_MAX], less[GX_LIMBS_MAX];
    uint64_t borrow = 0;
    load_limbs(limbs, t, a);
    for (unsigned i = 0; i < limbs; i++)
        less[i] = sub_borrow(t[i], m[i], &borrow);
    uint64_t keep = 0 - borrow;
    for (unsigned i = 0; i < limbs; i++)
        r[i] = (t[i] & keep) | (less[i] & ~keep);
}

TEMPLATE void fe_add_raw(unsigned limbs, uint64_t *r, const void *a, const void *b)
{
    uint64_t sum[GX_LIMBS_MAX];
    uint64_t carry = 0;
    for (unsigned i = 0; i < limbs; i++)
        sum[i] = add_carry(load_limb(a, i), load_limb(b, i), &carry);
    store_limbs(limbs, r, sum);
}

TEMPLATE void fe_sub_raw(unsigned limbs, uint64_t *r, const void *a, const void *b)
{
    uint64_t difference[GX_LIMBS_MAX];
    uint64_t borrow = 0;
    for (unsigned i = 0; i < limbs; i++)
        difference[i] = sub_borrow(load_limb(a, i), load_limb(b, i), &borrow);
    store_limbs(limbs, r, difference);
}

/* a - b, plus p if that borrowed; a, b < p, out < p. */
TEMPLATE void fe_sub(unsigned limbs, uint64_t *r, const void *a, const void *b,
                     const struct gx_prime *prime)
{
    uint64_t difference[GX_LIMBS_MAX];
    uint64_t borrow = 0, carry = 0;
    for (unsigned i = 0; i < limbs; i++)
        difference[i] = sub_borrow(load_limb(a, i), load_limb(b, i), &borrow);
    uint64_t add = 0 - borrow;
    for (unsigned i = 0; i < limbs; i++)
        r[i] = add_carry(difference[i], prime->p[i] & add, &carry);
}

/* Montgomery product a * b / R, CIOS. The invariant is t < a + p at the end of every round: (t + a
 * * b[i] + m * p) / 2^64 < (a + p) * 2^64 / 2^64. So t fits in `limbs` limbs between rounds and one
 * more inside. */
TEMPLATE void fe_mul_raw(unsigned limbs, uint64_t *r, const void *a, const void *b,
                         const struct gx_prime *prime)
{
    uint64_t x[GX_LIMBS_MAX], y[GX_LIMBS_MAX], t[GX_LIMBS_MAX] = {0};
    load_limbs(limbs, x, a);
    load_limbs(limbs, y, b);
    for (unsigned i = 0; i < limbs; i++) {
        u128 product = (u128)x[0] * y[i] + t[0];
        uint64_t m = (uint64_t)product * prime->ninv64;
        u128 multiple = (u128)m * prime->p[0] + (uint64_t)product;
        for (unsigned j = 1; j < limbs; j++) {
            product = (u128)x[j] * y[i] + t[j] + (uint64_t)(product >> 64);
            multiple = (u128)m * prime->p[j] + (uint64_t)product + (uint64_t)(multiple >> 64);
            t[j - 1] = (uint64_t)multiple;
        }
        t[limbs - 1] = (uint64_t)(product >> 64) + (uint64_t)(multiple >> 64);
    }
    store_limbs(limbs, r, t);
}

/* The invariant is t < a0 + a1 + p. */
TEMPLATE void fe_mul_two_raw(unsigned limbs, uint64_t *r, const void *a, const void *b,
                             const struct gx_prime *prime)
{
    uint64_t x[2 * GX_LIMBS_MAX], y[2 * GX_LIMBS_MAX], t[GX_LIMBS_MAX] = {0};
    load_limbs(limbs, x, a);
    load_limbs(limbs, x + limbs, (const uint64_t *)a + limbs);
    load_limbs(limbs, y, b);
    load_limbs(limbs, y + limbs, (const uint64_t *)b + limbs);
    for (unsigned i = 0; i < limbs; i++) {
        u128 first = (u128)x[0] * y[i] + t[0];
        u128 second = (u128)x[limbs] * y[limbs + i] + (uint64_t)first;
        uint64_t m = (uint64_t)second * prime->ninv64;
        u128 multiple = (u128)m * prime->p[0] + (uint64_t)second;
        for (unsigned j = 1; j < limbs; j++) {
            first = (u128)x[j] * y[i] + t[j] + (uint64_t)(first >> 64);
            second = (u128)x[limbs + j] * y[limbs + i] + (uint64_t)first + (uint64_t)(second >> 64);
            multiple = (u128)m * prime->p[j] + (uint64_t)second + (uint64_t)(multiple >> 64);
            t[j - 1] = (uint64_t)multiple;
        }
        t[limbs - 1] =
            (uint64_t)(first >> 64) + (uint64_t)(second >> 64) + (uint64_t)(multiple >> 64);
    }
    store_limbs(limbs, r, t);
}

#endif
