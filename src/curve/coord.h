/* SPDX-License-Identifier: Apache-2.0
 *
 * Coordinates of points: elements of the base field of a curve or of its quadratic extension, one
 * at a time, in portable C. In Montgomery form, below the modulus, `limbs` limbs of the curve; out
 * may be an operand.
 */
#ifndef GX_CURVE_COORD_H
#define GX_CURVE_COORD_H

#include "curve/curve.h"

void gx__coord_add(const struct gx_curve_row *curve, uint64_t *out, const uint64_t *a,
                   const uint64_t *b);
void gx__coord_sub(const struct gx_curve_row *curve, uint64_t *out, const uint64_t *a,
                   const uint64_t *b);
void gx__coord_neg(const struct gx_curve_row *curve, uint64_t *out, const uint64_t *a);
void gx__coord_mul(const struct gx_curve_row *curve, uint64_t *out, const uint64_t *a,
                   const uint64_t *b);
void gx__coord_sqr(const struct gx_curve_row *curve, uint64_t *out, const uint64_t *a);
/* a is not 0. */
void gx__coord_invert(const struct gx_curve_row *curve, uint64_t *out, const uint64_t *a);
/* out = a square root of a, or false: there is none. The modulus is 3 mod 4. */
bool gx__coord_sqrt(const struct gx_curve_row *curve, uint64_t *out, const uint64_t *a);
void gx__coord_set_one(const struct gx_curve_row *curve, uint64_t *out);
bool gx__coord_is_zero(const struct gx_curve_row *curve, const uint64_t *a);
bool gx__coord_equal(const struct gx_curve_row *curve, const uint64_t *a, const uint64_t *b);

#endif
