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
