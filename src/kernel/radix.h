/* SPDX-License-Identifier: Apache-2.0
 *
 * The limbs in which mul64.glsl and wgsl/mul_columns.wgsl multiply: the fewest whose columns of
 * 64-bit sums need no clean-up half-way.
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

/* False where products of the field could overflow. */
bool gx__radix(const struct gx_prime *prime, struct gx_radix *radix);

#endif
