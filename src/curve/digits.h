/* SPDX-License-Identifier: Apache-2.0
 *
 * Scalars as W signed digits of c bits, from -2^(c-1) to 2^(c-1). Half of 2^c, the bias, is added
 * to every digit but the highest, so that none is negative: a single addition to the scalar.
 */
#ifndef GX_CURVE_DIGITS_H
#define GX_CURVE_DIGITS_H

#include "curve/msm.h"

struct gx_digits {
    uint32_t bits;                        /* of the scalar */
    uint32_t c, count;                    /* W */
    uint64_t biases[GX_SCALAR_LIMBS + 1]; /* all of them, in their places */
};

/* A scalar with the biases, and a limb of zeros. */
typedef uint64_t gx_biased[GX_SCALAR_LIMBS + 2];

static inline uint32_t gx__digit_count(uint32_t bits, uint32_t c)
{
    return (bits + c) / c; /* one bit more, for the last carry */
}

static inline uint32_t gx__digit_bias(const struct gx_digits *d, uint32_t which)
{
    return which + 1 < d->count ? 1u << (d->c - 1) : 0;
}

static inline void gx__digits_init(struct gx_digits *d, uint32_t bits, uint32_t c)
{
    *d = (struct gx_digits){.bits = bits, .c = c, .count = gx__digit_count(bits, c)};
    for (uint32_t w = 0; w + 1 < d->count; w++) {
        uint32_t bit = w * c + c - 1;
        d->biases[bit / 64] |= (uint64_t)1 << bit % 64;
    }
}

static inline void gx__digits_bias(const struct gx_digits *d, gx_biased s, const uint64_t *scalar)
{
    uint64_t carry = 0;
    for (uint32_t i = 0; i <= GX_SCALAR_LIMBS; i++) {
        uint32_t left = 64 * i < d->bits ? d->bits - 64 * i : 0;
        uint64_t limb = left ? scalar[i] : 0;
        if (left && left < 64)
            limb &= ((uint64_t)1 << left) - 1;
        limb += carry;
        carry = limb < carry;
        s[i] = limb + d->biases[i];
        carry += s[i] < limb;
    }
    s[GX_SCALAR_LIMBS + 1] = 0;
}

/* A digit, plus its bias. */
static inline uint32_t gx__digit(const struct gx_digits *d, const gx_biased s, uint32_t which)
{
    uint32_t bit = which * d->c;
    uint64_t low = s[bit / 64] >> bit % 64;
    uint64_t high = s[bit / 64 + 1] << 1 << (63 - bit % 64);
    return (uint32_t)((low | high) & (((uint64_t)1 << d->c) - 1));
}

#endif
