/* SPDX-License-Identifier: Apache-2.0
 *
 * See coord.h. Elements of the extension are c0 + c1 * u with u^2 = -1.
 */
#include "curve/coord.h"

#include <string.h>

#include "field/host.h"
#include "field/scalar.h"

void gx__coord_add(const struct gx_curve_row *curve, uint64_t *out, const uint64_t *a,
                   const uint64_t *b)
{
    const struct gx_prime *q = curve->base;
    for (uint32_t i = 0; i < curve->limbs; i += q->limbs)
        gx__sum_one(q, out + i, a + i, b + i);
}

void gx__coord_sub(const struct gx_curve_row *curve, uint64_t *out, const uint64_t *a,
                   const uint64_t *b)
{
    const struct gx_prime *q = curve->base;
    for (uint32_t i = 0; i < curve->limbs; i += q->limbs)
        gx__sub_one(q, out + i, a + i, b + i);
}

void gx__coord_neg(const struct gx_curve_row *curve, uint64_t *out, const uint64_t *a)
{
    static const uint64_t zero[GX_COORD_LIMBS];
    gx__coord_sub(curve, out, zero, a);
}

/* Karatsuba: c0 = a0 b0 - a1 b1, c1 = (a0 + a1)(b0 + b1) - a0 b0 - a1 b1. */
static void extension_mul(const struct gx_prime *q, uint64_t *out, const uint64_t *a,
                          const uint64_t *b)
{
    uint64_t low[GX_LIMBS_MAX], high[GX_LIMBS_MAX], sum_a[GX_LIMBS_MAX], sum_b[GX_LIMBS_MAX];
    const uint32_t n = q->limbs;
    gx__sum_one(q, sum_a, a, a + n);
    gx__sum_one(q, sum_b, b, b + n);
    gx__mul_one(q, low, a, b);
    gx__mul_one(q, high, a + n, b + n);
    gx__mul_one(q, sum_a, sum_a, sum_b);
    gx__sub_one(q, sum_a, sum_a, low);
    gx__sub_one(q, out + n, sum_a, high);
    gx__sub_one(q, out, low, high);
}

/* c0 = (a0 + a1)(a0 - a1), c1 = 2 a0 a1. */
static void extension_sqr(const struct gx_prime *q, uint64_t *out, const uint64_t *a)
{
    uint64_t sum[GX_LIMBS_MAX], difference[GX_LIMBS_MAX], product[GX_LIMBS_MAX];
    const uint32_t n = q->limbs;
    gx__sum_one(q, sum, a, a + n);
    gx__sub_one(q, difference, a, a + n);
    gx__mul_one(q, product, a, a + n);
    gx__mul_one(q, out, sum, difference);
    gx__sum_one(q, out + n, product, product);
}

void gx__coord_mul(const struct gx_curve_row *curve, uint64_t *out, const uint64_t *a,
                   const uint64_t *b)
{
    if (curve->degree == 1)
        gx__mul_one(curve->base, out, a, b);
    else
        extension_mul(curve->base, out, a, b);
}

void gx__coord_sqr(const struct gx_curve_row *curve, uint64_t *out, const uint64_t *a)
{
    if (curve->degree == 1)
        gx__mul_one(curve->base, out, a, a);
    else
        extension_sqr(curve->base, out, a);
}

/* 1 / (a0 + a1 u) = (a0 - a1 u) / (a0^2 + a1^2). */
void gx__coord_invert(const struct gx_curve_row *curve, uint64_t *out, const uint64_t *a)
{
    const struct gx_prime *q = curve->base;
    if (curve->degree == 1) {
        gx__invert_one(q, out, a);
        return;
    }
    static const uint64_t zero[GX_LIMBS_MAX];
    uint64_t norm[GX_LIMBS_MAX], square[GX_LIMBS_MAX];
    const uint32_t n = q->limbs;
    gx__mul_one(q, norm, a, a);
    gx__mul_one(q, square, a + n, a + n);
    gx__sum_one(q, norm, norm, square);
    gx__invert_one(q, norm, norm);
    gx__mul_one(q, out, a, norm);
    gx__mul_one(q, out + n, a + n, norm);
    gx__sub_one(q, out + n, zero, out + n);
}

/* Bits at .. at + 3 of q / 4; at is a multiple of 4. */
static unsigned quarter_bits(const struct gx_prime *q, uint32_t at)
{
    uint32_t limb = (at + 2) / 64, shift = (at + 2) % 64; /* which is never 0 */
    uint64_t next = limb + 1 < q->limbs ? q->p[limb + 1] : 0;
    return (q->p[limb] >> shift | next << (64 - shift)) % 16;
}

/* out = a^((q + 1) / 4), four bits at a time: as q is 3 mod 4, a root of a or of -a. The exponent
 * is q / 4, rounded down, and 1. */
static void root(const struct gx_prime *q, uint64_t *out, const uint64_t *a)
{
    uint64_t power[16][GX_LIMBS_MAX], r[GX_LIMBS_MAX];
    memcpy(power[0], q->one, sizeof power[0]);
    for (int i = 1; i < 16; i++)
        gx__mul_one(q, power[i], power[i - 1], a);
    memcpy(r, q->one, sizeof r);
    for (uint32_t at = 64 * q->limbs; at > 0; at -= 4) {
        for (int i = 0; i < 4; i++)
            gx__mul_one(q, r, r, r);
        gx__mul_one(q, r, r, power[quarter_bits(q, at - 4)]);
    }
    gx__mul_one(q, out, r, a);
}

static bool is_square_of(const struct gx_prime *q, const uint64_t *root, const uint64_t *a)
{
    uint64_t square[GX_LIMBS_MAX];
    gx__mul_one(q, square, root, root);
    return gx__equal_one(q, square, a);
}

/* a / 2: a or a + q is even, and fits as the top bit of q is clear. */
static void halve(const struct gx_prime *q, uint64_t *a)
{
    uint64_t carry = 0, odd = 0 - (a[0] & 1);
    for (uint32_t i = 0; i < q->limbs; i++) {
        uint64_t sum, addend = q->p[i] & odd;
        bool first = __builtin_add_overflow(a[i], addend, &sum);
        carry = first | __builtin_add_overflow(sum, carry, &a[i]);
    }
    for (uint32_t i = 0; i < q->limbs; i++)
        a[i] = a[i] >> 1 | (i + 1 < q->limbs ? a[i + 1] << 63 : 0);
}

/* With s^2 = a0^2 + a1^2, t = (a0 + s) / 2 and c the root of t or of -t: if c^2 = t, c + d u is a
 * root of a, else d + c u, where d = a1 / 2c. t is 0 only if a1 is, and s = -a0. */
static bool extension_sqrt(const struct gx_prime *q, uint64_t *out, const uint64_t *a)
{
    uint64_t norm[GX_LIMBS_MAX], s[GX_LIMBS_MAX], t[GX_LIMBS_MAX], c[GX_LIMBS_MAX], d[GX_LIMBS_MAX];
    const uint32_t n = q->limbs;
    gx__mul_one(q, norm, a, a);
    gx__mul_one(q, t, a + n, a + n);
    gx__sum_one(q, norm, norm, t);
    root(q, s, norm);
    if (!is_square_of(q, s, norm))
        return false;
    gx__sum_one(q, t, a, s);
    if (gx__is_zero_one(q, t))
        gx__sub_one(q, t, a, s);
    halve(q, t);
    root(q, c, t);
    memset(d, 0, sizeof d);
    if (!gx__is_zero_one(q, a + n)) {
        gx__sum_one(q, d, c, c);
        gx__invert_one(q, d, d);
        gx__mul_one(q, d, d, a + n);
    }
    bool in_order = is_square_of(q, c, t);
    memcpy(out, in_order ? c : d, n * sizeof *out);
    memcpy(out + n, in_order ? d : c, n * sizeof *out);
    return true;
}

bool gx__coord_sqrt(const struct gx_curve_row *curve, uint64_t *out, const uint64_t *a)
{
    if (curve->degree == 2)
        return extension_sqrt(curve->base, out, a);
    uint64_t r[GX_LIMBS_MAX];
    root(curve->base, r, a);
    if (!is_square_of(curve->base, r, a))
        return false;
    memcpy(out, r, curve->limbs * sizeof *out);
    return true;
}

void gx__coord_set_one(const struct gx_curve_row *curve, uint64_t *out)
{
    memset(out, 0, curve->limbs * sizeof *out);
    memcpy(out, curve->base->one, curve->base->limbs * sizeof *out);
}

bool gx__coord_is_zero(const struct gx_curve_row *curve, const uint64_t *a)
{
    uint64_t any = 0;
    for (uint32_t i = 0; i < curve->limbs; i++)
        any |= a[i];
    return !any;
}

bool gx__coord_equal(const struct gx_curve_row *curve, const uint64_t *a, const uint64_t *b)
{
    return !memcmp(a, b, curve->limbs * sizeof *a);
}
