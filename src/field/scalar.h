/* SPDX-License-Identifier: Apache-2.0
 *
 * Single elements on the host, in portable C: for constants, seeds of tables and checks, where
 * speed does not count. Elements are in Montgomery form, below p; out may be an operand.
 */
#ifndef GX_FIELD_SCALAR_H
#define GX_FIELD_SCALAR_H

#include "field/field.h"

void gx__mul_one(const struct gx_prime *prime, uint64_t *out, const uint64_t *a, const uint64_t *b);
/* a + b, a - b; gx__add_one of sum.h adds in place. */
void gx__sum_one(const struct gx_prime *prime, uint64_t *out, const uint64_t *a, const uint64_t *b);
void gx__sub_one(const struct gx_prime *prime, uint64_t *out, const uint64_t *a, const uint64_t *b);
void gx__pow_one(const struct gx_prime *prime, uint64_t *out, const uint64_t *base,
                 uint64_t exponent);
/* The Montgomery form of a small integer. */
void gx__int_one(const struct gx_prime *prime, uint64_t *out, uint64_t value);
bool gx__is_zero_one(const struct gx_prime *prime, const uint64_t *a);
bool gx__equal_one(const struct gx_prime *prime, const uint64_t *a, const uint64_t *b);

/* The low `bits` bits of i, reversed; bits <= 63. */
static inline uint64_t gx__bit_reverse(uint64_t i, uint32_t bits)
{
    uint64_t r = 0;
    for (uint32_t k = 0; k < bits; k++)
        r |= (i >> k & 1) << (bits - 1 - k);
    return r;
}

#endif
