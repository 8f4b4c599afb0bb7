/* SPDX-License-Identifier: Apache-2.0
 *
 * See point.h. The formulas are dbl-2008-s-1 and add-2008-s of the Explicit-Formulas Database, for
 * curves with a = 0.
 */
#include "curve/point.h"

#include <string.h>

#include "curve/coord.h"

void gx__xyzz_set_infinity(struct gx_xyzz *p)
{
    memset(p, 0, sizeof *p);
}

bool gx__xyzz_is_infinity(const struct gx_curve_row *curve, const struct gx_xyzz *p)
{
    return gx__coord_is_zero(curve, p->zz);
}

bool gx__affine_is_infinity(const struct gx_curve_row *curve, const uint64_t *xy)
{
    return gx__coord_is_zero(curve, xy) && gx__coord_is_zero(curve, xy + curve->limbs);
}

void gx__xyzz_set_affine(const struct gx_curve_row *curve, struct gx_xyzz *p, const uint64_t *xy)
{
    gx__xyzz_set_infinity(p);
    if (gx__affine_is_infinity(curve, xy))
        return;
    memcpy(p->x, xy, curve->limbs * sizeof *xy);
    memcpy(p->y, xy + curve->limbs, curve->limbs * sizeof *xy);
    gx__coord_set_one(curve, p->zz);
    gx__coord_set_one(curve, p->zzz);
}

void gx__xyzz_neg(const struct gx_curve_row *curve, struct gx_xyzz *p)
{
    gx__coord_neg(curve, p->y, p->y);
}

/* Infinity stays infinity, as does a point of order 2: zz becomes 0. */
void gx__xyzz_double(const struct gx_curve_row *curve, struct gx_xyzz *p)
{
    uint64_t u[GX_COORD_LIMBS], v[GX_COORD_LIMBS], w[GX_COORD_LIMBS], s[GX_COORD_LIMBS],
        m[GX_COORD_LIMBS];
    gx__coord_add(curve, u, p->y, p->y);
    gx__coord_sqr(curve, v, u);
    gx__coord_mul(curve, w, u, v);
    gx__coord_mul(curve, s, p->x, v);
    gx__coord_sqr(curve, u, p->x);
    gx__coord_add(curve, m, u, u);
    gx__coord_add(curve, m, m, u);
    gx__coord_sqr(curve, p->x, m);
    gx__coord_sub(curve, p->x, p->x, s);
    gx__coord_sub(curve, p->x, p->x, s);
    gx__coord_sub(curve, s, s, p->x);
    gx__coord_mul(curve, s, s, m);
    gx__coord_mul(curve, p->y, p->y, w);
    gx__coord_sub(curve, p->y, s, p->y);
    gx__coord_mul(curve, p->zz, p->zz, v);
    gx__coord_mul(curve, p->zzz, p->zzz, w);
}

/* The rest of an addition, given U1 (in p->x), S1 (in p->y), P = U2 - U1, R = S2 - S1 and, in p->zz
 * and p->zzz, the products of those of both operands. */
static void finish_add(const struct gx_curve_row *curve, struct gx_xyzz *p, const uint64_t *dx,
                       const uint64_t *dy)
{
    uint64_t square[GX_COORD_LIMBS], cube[GX_COORD_LIMBS], q[GX_COORD_LIMBS];
    gx__coord_sqr(curve, square, dx);
    gx__coord_mul(curve, cube, dx, square);
    gx__coord_mul(curve, q, p->x, square);
    gx__coord_sqr(curve, p->x, dy);
    gx__coord_sub(curve, p->x, p->x, cube);
    gx__coord_sub(curve, p->x, p->x, q);
    gx__coord_sub(curve, p->x, p->x, q);
    gx__coord_sub(curve, q, q, p->x);
    gx__coord_mul(curve, q, q, dy);
    gx__coord_mul(curve, p->y, p->y, cube);
    gx__coord_sub(curve, p->y, q, p->y);
    gx__coord_mul(curve, p->zz, p->zz, square);
    gx__coord_mul(curve, p->zzz, p->zzz, cube);
}

/* Points with the same x: p = 2p if they are equal (dy is 0), else infinity. */
static void add_same_x(const struct gx_curve_row *curve, struct gx_xyzz *p, const uint64_t *dy)
{
    if (gx__coord_is_zero(curve, dy))
        gx__xyzz_double(curve, p);
    else
        gx__xyzz_set_infinity(p);
}

void gx__xyzz_add(const struct gx_curve_row *curve, struct gx_xyzz *p, const struct gx_xyzz *q)
{
    if (gx__xyzz_is_infinity(curve, q))
        return;
    if (gx__xyzz_is_infinity(curve, p)) {
        *p = *q;
        return;
    }
    uint64_t u1[GX_COORD_LIMBS], s1[GX_COORD_LIMBS], dx[GX_COORD_LIMBS], dy[GX_COORD_LIMBS];
    gx__coord_mul(curve, u1, p->x, q->zz);
    gx__coord_mul(curve, s1, p->y, q->zzz);
    gx__coord_mul(curve, dx, q->x, p->zz);
    gx__coord_mul(curve, dy, q->y, p->zzz);
    gx__coord_sub(curve, dx, dx, u1);
    gx__coord_sub(curve, dy, dy, s1);
    if (gx__coord_is_zero(curve, dx)) {
        add_same_x(curve, p, dy);
        return;
    }
    memcpy(p->x, u1, sizeof u1);
    memcpy(p->y, s1, sizeof s1);
    gx__coord_mul(curve, p->zz, p->zz, q->zz);
    gx__coord_mul(curve, p->zzz, p->zzz, q->zzz);
    finish_add(curve, p, dx, dy);
}

void gx__xyzz_add_affine(const struct gx_curve_row *curve, struct gx_xyzz *p, const uint64_t *xy)
{
    if (gx__affine_is_infinity(curve, xy))
        return;
    if (gx__xyzz_is_infinity(curve, p)) {
        gx__xyzz_set_affine(curve, p, xy);
        return;
    }
    uint64_t dx[GX_COORD_LIMBS], dy[GX_COORD_LIMBS];
    gx__coord_mul(curve, dx, xy, p->zz);
    gx__coord_mul(curve, dy, xy + curve->limbs, p->zzz);
    gx__coord_sub(curve, dx, dx, p->x);
    gx__coord_sub(curve, dy, dy, p->y);
    if (gx__coord_is_zero(curve, dx))
        add_same_x(curve, p, dy);
    else
        finish_add(curve, p, dx, dy);
}

void gx__xyzz_mul(const struct gx_curve_row *curve, struct gx_xyzz *out, const struct gx_xyzz *p,
                  const uint64_t *scalar, uint32_t bits)
{
    struct gx_xyzz sum;
    gx__xyzz_set_infinity(&sum);
    for (uint32_t i = bits; i-- > 0;) {
        gx__xyzz_double(curve, &sum);
        if (scalar[i / 64] >> i % 64 & 1)
            gx__xyzz_add(curve, &sum, p);
    }
    *out = sum;
}

/* Given 1 / ZZZ. With z = ZZZ / ZZ, ZZ = z^2. */
static void affine_with(const struct gx_curve_row *curve, const struct gx_xyzz *p,
                        const uint64_t *inverse, uint64_t *xy)
{
    uint64_t factor[GX_COORD_LIMBS];
    gx__coord_mul(curve, factor, p->zz, inverse);
    gx__coord_sqr(curve, factor, factor);
    gx__coord_mul(curve, xy, p->x, factor);
    gx__coord_mul(curve, xy + curve->limbs, p->y, inverse);
}

void gx__xyzz_to_affine(const struct gx_curve_row *curve, const struct gx_xyzz *p, uint64_t *xy)
{
    gx__xyzz_batch_to_affine(curve, p, 1, xy);
}

/* The place of x holds the product of the ZZZ before it until x is known. */
void gx__xyzz_batch_to_affine(const struct gx_curve_row *curve, const struct gx_xyzz *p, size_t n,
                              uint64_t *xy)
{
    const size_t words = (size_t)2 * curve->limbs, bytes = curve->limbs * sizeof *xy;
    uint64_t chain[GX_COORD_LIMBS], inverse[GX_COORD_LIMBS];
    gx__coord_set_one(curve, chain);
    for (size_t i = 0; i < n; i++) {
        memcpy(xy + i * words, chain, bytes);
        if (!gx__xyzz_is_infinity(curve, &p[i]))
            gx__coord_mul(curve, chain, chain, p[i].zzz);
    }
    gx__coord_invert(curve, chain, chain);
    for (size_t i = n; i-- > 0;) {
        if (gx__xyzz_is_infinity(curve, &p[i])) {
            memset(xy + i * words, 0, 2 * bytes);
            continue;
        }
        gx__coord_mul(curve, inverse, chain, xy + i * words);
        gx__coord_mul(curve, chain, chain, p[i].zzz);
        affine_with(curve, &p[i], inverse, xy + i * words);
    }
}
