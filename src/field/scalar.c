/* SPDX-License-Identifier: Apache-2.0
 *
 * See scalar.h. Product, sum and difference are in portable.c.
 */
#include "field/scalar.h"

#include <string.h>

void gx__pow_one(const struct gx_prime *prime, uint64_t *out, const uint64_t *base,
                 uint64_t exponent)
{
    uint64_t square[GX_LIMBS_MAX], power[GX_LIMBS_MAX];
    memcpy(square, base, prime->limbs * sizeof *base);
    memcpy(power, prime->one, sizeof power);
    for (; exponent; exponent >>= 1) {
        if (exponent & 1)
            gx__mul_one(prime, power, power, square);
        gx__mul_one(prime, square, square, square);
    }
    memcpy(out, power, prime->limbs * sizeof *out);
}

void gx__int_one(const struct gx_prime *prime, uint64_t *out, uint64_t value)
{
    uint64_t plain[GX_LIMBS_MAX] = {value};
    gx__mul_one(prime, out, plain, prime->r2);
}

bool gx__is_zero_one(const struct gx_prime *prime, const uint64_t *a)
{
    static const uint64_t zero[GX_LIMBS_MAX];
    return gx__equal_one(prime, a, zero);
}

bool gx__equal_one(const struct gx_prime *prime, const uint64_t *a, const uint64_t *b)
{
    return !memcmp(a, b, prime->limbs * sizeof *a);
}
