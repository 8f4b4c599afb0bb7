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

#endif
