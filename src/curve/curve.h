/* SPDX-License-Identifier: Apache-2.0
 *
 * The curves: one row of parameters each (curve.c). Host code and GPU kernels take every number
 * from here or from the fields. In memory an affine point is x, y, packed, in Montgomery form, and
 * (0, 0) is infinity, which is on none of the curves: the layout of GX_POINT_XY_MONT.
 */
#ifndef GX_CURVE_CURVE_H
#define GX_CURVE_CURVE_H

#include "field/field.h"

/* X(symbol, value, name): the values are those of gpuexec.h. */
#define GX__CURVE_LIST(X)                                                                          \
    X(GX_BLS12_381_G1, 1, "bls12-381-g1")                                                          \
    X(GX_BLS12_381_G2, 2, "bls12-381-g2")                                                          \
    X(GX_BN254_G1, 3, "bn254-g1")                                                                  \
    X(GX_BN254_G2, 4, "bn254-g2")

#define GX__ONE_CURVE(...) +1
enum { GX_CURVE_END = 1 GX__CURVE_LIST(GX__ONE_CURVE) };

#define GX_COORD_LIMBS (2 * GX_LIMBS_MAX) /* 64-bit limbs of a coordinate, at most */

/* An endomorphism of the curve, (x, y) to (x_factor * x', y_factor * y'), where ' is the conjugate
 * in the quadratic extension (x' = x in the base field). A point is in the subgroup if and only if
 * this is `multiple` times the point. */
struct gx_endomorphism {
    uint32_t bits;        /* of the multiple; 0: every point of the curve is in the subgroup */
    uint64_t multiple[2]; /* plain, lowest limb first */
    uint64_t x_factor[GX_COORD_LIMBS], y_factor[GX_COORD_LIMBS];
};

/* Elements are in Montgomery form, packed: c0 and c1 of the quadratic extension have base->limbs
 * limbs each. */
struct gx_curve_row {
    gx_curve_info info;
    gx_curve curve;
    const struct gx_prime *base, *scalar;
    uint32_t degree;                        /* 1 or 2 */
    uint32_t limbs;                         /* 64-bit limbs of a coordinate */
    uint64_t b[GX_COORD_LIMBS];             /* y^2 = x^3 + b */
    uint64_t generator[2 * GX_COORD_LIMBS]; /* x, y */
    struct gx_endomorphism endomorphism;
    bool zcash; /* has the encodings of zcash and EIP-2537 */
};

#define GX_EIP2537_ELEMENT 64 /* bytes of an element of the base field there */

/* NULL for an unknown value. */
const struct gx_curve_row *gx__curve(gx_curve curve);

#endif
