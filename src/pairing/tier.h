/* SPDX-License-Identifier: Apache-2.0
 *
 * What the tiers implement for pairings (tower.h, miller.h, power.h), and the parameters that they
 * take: one row for each pair of curves (pairing.c).
 */
#ifndef GX_PAIRING_TIER_H
#define GX_PAIRING_TIER_H

#include "curve/point.h"
#include "field/host.h"
#include "pairing/pairing.h"

#define GX_SIGNED_DIGITS_MAX 80

/* -1, 0 or 1, of value sum digit[i] 2^i; the last one is 1. */
struct gx_signed_digits {
    uint32_t count;
    int8_t digit[GX_SIGNED_DIGITS_MAX];
};

/* What a line of a Miller loop is for: it doubles the point of G2 that the loop has got to, or adds
 * to it Q, -Q or an image of Q under the endomorphism. */
enum gx_line_kind {
    GX_LINE_DOUBLE, /* after squaring the product so far */
    GX_LINE_ADD,
    GX_LINE_SUBTRACT,
    GX_LINE_ADD_MAPPED,
    GX_LINE_SUBTRACT_MAPPED_TWICE
};

/* The curve over Fq2 is y^2 = x^3 + b xi, an M-twist, for BLS12-381, and y^2 = x^3 + b / xi, a
 * D-twist, for BN254. */
struct gx_pairing_row {
    gx_curve curve; /* of G1; that of G2 is the next */
    bool bn;        /* a curve of Barreto and Naehrig, xi = 9 + u; else of the BLS12 family with a
                     * negative parameter, xi = 1 + u */
    uint64_t x;     /* the absolute value of the curve's parameter */

    /* derived */
    const struct gx_curve_row *g1, *g2;
    const struct gx_prime *base;
    struct gx_signed_digits power; /* x */
    uint32_t lines;
    enum gx_line_kind line[GX_LINES_MAX];    /* in order */
    uint64_t frobenius[6][2 * GX_LIMBS_MAX]; /* xi^(i (q - 1) / 6), packed */
};

struct gx_pairing_tier {
    enum gx_tier tier;
    bool (*prepare)(const struct gx_pairing_row *row, struct gx_lines *lines, const uint64_t *q);
    /* Of at most GX_MILLER_PAIRS pairs without infinity. Returns n, or the first pair whose q is
     * not in the subgroup. */
    size_t (*miller)(const struct gx_pairing_row *row, struct gx_fq12 *r,
                     const struct gx_pair *pairs, size_t n);
    void (*final)(const struct gx_pairing_row *row, struct gx_fq12 *r, const struct gx_fq12 *a);
    void (*mul)(const struct gx_pairing_row *row, struct gx_fq12 *r, const struct gx_fq12 *a,
                const struct gx_fq12 *b);
    void (*power)(const struct gx_pairing_row *row, struct gx_fq12 *r, const struct gx_fq12 *a,
                  const uint64_t *scalar, uint32_t bits);
    void (*multiply)(const struct gx_pairing_row *row, struct gx_xyzz *out, const uint64_t *xy,
                     const uint64_t *scalar, uint32_t bits);
};

#define GX_MILLER_PAIRS 16

extern const struct gx_pairing_tier gx__pairing_portable_4, gx__pairing_portable_6;
extern const struct gx_pairing_tier gx__pairing_adx_4, gx__pairing_adx_6;

#endif
