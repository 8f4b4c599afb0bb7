/* SPDX-License-Identifier: Apache-2.0
 *
 * Pairings on the host: e(P, Q) for P in G1 and Q in G2, and products of them, of which only the
 * Miller loop is repeated for each pair. Pure functions of their arguments, of any thread. VARIABLE
 * TIME: points are public.
 *
 * e is the reduced optimal ate pairing to a power that makes the last step cheap and is no multiple
 * of the order: 3 for BLS12-381, 2x (6x^2 + 3x + 1) for BN254, as in arkworks and gnark-crypto.
 */
#ifndef GX_PAIRING_PAIRING_H
#define GX_PAIRING_PAIRING_H

#include <stddef.h>

#include "curve/point.h"
#include "field/host.h"

/* An element of Fq12: packed coefficients in Fq2, in Montgomery form, of 1, w^2, w^4, w, w^3, w^5;
 * w^6 = xi, which is 1 + u for BLS12-381 and 9 + u for BN254. */
struct gx_fq12 {
    uint64_t c[12 * GX_LIMBS_MAX];
};

/* The lines of a Miller loop, for a point of G2 that is used again and again: a third of the work
 * for a pair. */
#define GX_LINES_MAX 96
struct gx_lines {
    bool infinity;
    uint64_t line[GX_LINES_MAX][3 * GX_COORD_LIMBS];
};

/* Affine points, (0, 0) is infinity. p is in G1; q is on the curve of G2. */
struct gx_pair {
    const uint64_t *p, *q;
    const struct gx_lines *lines; /* or NULL: then of q */
};

/* A pair of curves, and the tier. */
struct gx_pairing;

/* By the curve of G1 or of G2, with the best tier in mask that this CPU supports; portable is
 * always included. NULL: there is no such curve. */
const struct gx_pairing *gx__pairing(gx_curve curve, unsigned mask);
const struct gx_curve_row *gx__pairing_g1(const struct gx_pairing *e);
const struct gx_curve_row *gx__pairing_g2(const struct gx_pairing *e);
enum gx_tier gx__pairing_tier_of(const struct gx_pairing *e);

/* False: q, a point of the curve, is not in the subgroup. */
bool gx__lines_prepare(const struct gx_pairing *e, struct gx_lines *lines, const uint64_t *q);

#define GX_ALL_GOOD SIZE_MAX

/* r = the product of the pairs before gx__final_power; 1 if there are none, or all have infinity.
 * Parts of a product, of several threads, say, may be multiplied. GX_ALL_GOOD, or a pair whose q is
 * not in the subgroup; r is then unspecified. */
size_t gx__miller_loop(const struct gx_pairing *e, struct gx_fq12 *r, const struct gx_pair *pairs,
                       size_t n);
/* r may be a. */
void gx__final_power(const struct gx_pairing *e, struct gx_fq12 *r, const struct gx_fq12 *a);

/* r may be a or b. */
void gx__fq12_mul(const struct gx_pairing *e, struct gx_fq12 *r, const struct gx_fq12 *a,
                  const struct gx_fq12 *b);
bool gx__fq12_equal(const struct gx_pairing *e, const struct gx_fq12 *a, const struct gx_fq12 *b);
void gx__fq12_set_one(const struct gx_pairing *e, struct gx_fq12 *r);
/* a to a plain scalar of `bits` bits, lowest limb first; a is a pairing. r is not a. */
void gx__pairing_power(const struct gx_pairing *e, struct gx_fq12 *r, const struct gx_fq12 *a,
                       const uint64_t *scalar, uint32_t bits);

/* As gx__point_check of G1 does for GX_CHECK_SUBGROUP, and out = scalar * xy as gx__xyzz_mul does,
 * in the tier. */
gx_status gx__pairing_check_p(const struct gx_pairing *e, const uint64_t *xy, const char **why);
void gx__pairing_multiply(const struct gx_pairing *e, struct gx_xyzz *out, const uint64_t *xy,
                          const uint64_t *scalar, uint32_t bits);

/* Whether the product of the pairs, of any affine coordinates below the modulus, is 1. Fails with
 * GX_ERR_INVALID, *bad and *why, "it is ...", if a point is not on its curve or not in its
 * subgroup. */
gx_status gx__pairing_check(const struct gx_pairing *e, const struct gx_pair *pairs, size_t n,
                            bool *is_one, size_t *bad, const char **why);

#endif
