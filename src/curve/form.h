/* SPDX-License-Identifier: Apache-2.0
 *
 * Points from and to their encodings (gx_point_form), and checks, one at a time. Inside the library
 * a point is xy: x, y packed, Montgomery form, infinity (0, 0).
 */
#ifndef GX_CURVE_FORM_H
#define GX_CURVE_FORM_H

#include "curve/point.h"

/* Reads gx_point_bytes bytes of any alignment; the curve has the form. If `infinity` is not NULL,
 * the form is an XY one, and the caller's own flag says whether the point is infinity, whatever its
 * coordinates are.
 * Fails with GX_ERR_NOT_CANONICAL if a coordinate is not below the modulus, GX_ERR_INVALID if the
 * encoding is malformed or x has no y; *why is then a static text, "a coordinate is ...". Does not
 * check that the point is on the curve, but for what would become infinity. */
gx_status gx__point_decode(const struct gx_curve_row *curve, gx_point_form form, const void *in,
                           const bool *infinity, uint64_t *xy, const char **why);

/* The opposite; xy is below the modulus. */
void gx__point_encode(const struct gx_curve_row *curve, gx_point_form form, const uint64_t *xy,
                      void *out);

/* GX_ERR_INVALID and *why if the point does not pass. Infinity always does. */
gx_status gx__point_check(const struct gx_curve_row *curve, gx_point_check check,
                          const uint64_t *xy, const char **why);

/* Whether p is the image of a point that is not infinity under the endomorphism of the curve, which
 * has one: for those that have the multiple by other means. */
bool gx__point_is_image(const struct gx_curve_row *curve, const uint64_t *xy,
                        const struct gx_xyzz *p);

#endif
