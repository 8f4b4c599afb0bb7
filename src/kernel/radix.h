/* SPDX-License-Identifier: Apache-2.0
 *
 * The limbs used for products in mul64.glsl and wgsl/mul_columns.wgsl: the fewest whose 64-bit
 * column sums need no intermediate carry.
 */
#ifndef GX_KERNEL_RADIX_H
#define GX_KERNEL_RADIX_H

#include "field/field.h"

#define GX_RADIX_LIMBS_MAX 13

struct gx_radix {
    uint32_t bits, limbs, shift; /* shift: 2^(bits * limbs) / R, as a power of two */
    uint32_t modulus[GX_RADIX_LIMBS_MAX];
    uint32_t fold[GX_RADIX_LIMBS_MAX]; /* see reduce() in mul64.glsl */
};

/* Whether p is below 0.46 R, which gx__radix needs. */
bool gx__radix_small(const struct gx_prime *prime);

/* False if products of the field could overflow. */
bool gx__radix(const struct gx_prime *prime, struct gx_radix *radix);

/* p = 1 - 2^32 + 2^(2 bits) * ...: its two low limbs need no multiplication. */
static inline bool gx__radix_sparse(const struct gx_radix *radix)
{
    return radix->modulus[0] == 1 &&
           radix->modulus[1] == ((uint64_t)1 << radix->bits) - ((uint64_t)1 << (32 - radix->bits));
}

/* 2^52 times what a 1 in the top limb is in multiples of p, of 9 limbs of 29 bits (lazy64.glsl);
 * 0 for other limbs. */
static inline uint32_t gx__radix_quotient(const struct gx_prime *prime)
{
    const uint32_t below = 8 * 29 - 3 * 64; /* bits of the top 64 that are below it */
    return prime->limbs == 4 ? (uint32_t)(((unsigned __int128)1 << (52 + below)) / prime->p[3]) : 0;
}

#endif
