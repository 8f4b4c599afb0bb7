/* SPDX-License-Identifier: Apache-2.0
 *
 * Points with coordinates X, Y, ZZ, ZZZ for x = X / ZZ, y = Y / ZZZ, where ZZ^3 = ZZZ^2 (XYZZ), one
 * at a time: for references, tables and the ends of larger sums. Every operation takes any points
 * of the curve: infinity, equal and opposite ones. An affine point is x, y packed, and (0, 0) is
 * infinity. As arrays of words, points in XYZZ are X, Y, ZZ, ZZZ packed: 4 * limbs words.
 */
#ifndef GX_CURVE_POINT_H
#define GX_CURVE_POINT_H

#include "curve/curve.h"

/* Infinity: zz is 0. */
struct gx_xyzz {
    uint64_t x[GX_COORD_LIMBS], y[GX_COORD_LIMBS], zz[GX_COORD_LIMBS], zzz[GX_COORD_LIMBS];
};

void gx__xyzz_set_infinity(struct gx_xyzz *p);
void gx__xyzz_set_affine(const struct gx_curve_row *curve, struct gx_xyzz *p, const uint64_t *xy);
bool gx__xyzz_is_infinity(const struct gx_curve_row *curve, const struct gx_xyzz *p);
bool gx__affine_is_infinity(const struct gx_curve_row *curve, const uint64_t *xy);

/* p += q, which may be p; p += xy; p *= 2; p = -p. */
void gx__xyzz_add(const struct gx_curve_row *curve, struct gx_xyzz *p, const struct gx_xyzz *q);
void gx__xyzz_add_affine(const struct gx_curve_row *curve, struct gx_xyzz *p, const uint64_t *xy);
void gx__xyzz_double(const struct gx_curve_row *curve, struct gx_xyzz *p);
void gx__xyzz_neg(const struct gx_curve_row *curve, struct gx_xyzz *p);

/* out = scalar * p, by doubling and adding; the scalar is plain, of `bits` bits, lowest limb first.
 * out may be p. */
void gx__xyzz_mul(const struct gx_curve_row *curve, struct gx_xyzz *out, const struct gx_xyzz *p,
                  const uint64_t *scalar, uint32_t bits);

void gx__xyzz_to_affine(const struct gx_curve_row *curve, const struct gx_xyzz *p, uint64_t *xy);
/* n points with one inversion. */
void gx__xyzz_batch_to_affine(const struct gx_curve_row *curve, const struct gx_xyzz *p, size_t n,
                              uint64_t *xy);

#endif
