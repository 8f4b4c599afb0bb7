/* SPDX-License-Identifier: Apache-2.0
 *
 * Operations on polynomials over arrays in host memory, made of the kernels of a tier: blocks of
 * products and sums in place of one element after the other. Each function does a part on one
 * thread; device/cpu/poly.c spreads them. Elements have any alignment.
 */
#ifndef GX_FIELD_POLY_H
#define GX_FIELD_POLY_H

#include "field/host.h"

/* From GX_PREFIX_SUM to GX_DEINTERLEAVE. */
struct gx_poly {
    gx_op op;
    const struct gx_prime *prime;
    const gx_host_fn *fn; /* of a tier, by enum gx_host_kernel */
    uint64_t n;
    uint64_t count; /* gx_poly_params */
    bool reversed;  /* GX_POLY_REVERSED */
    bool check;     /* look for elements not below p, and indices out of range */
    void *out;
    const void *a, *b;
};

static inline size_t gx__poly_bytes(const struct gx_poly *poly)
{
    return poly->prime->limbs * sizeof(uint64_t);
}

/* Elements of a. */
static inline uint64_t gx__poly_a(const struct gx_poly *poly)
{
    return poly->op == GX_POWERS || poly->op == GX_COSETS ? 1
           : poly->op == GX_GATHER                        ? poly->count
                                                          : poly->n;
}

/* Where a permutation takes element i of out from; of gather, the index as it is. */
uint64_t gx__poly_source(const struct gx_poly *poly, uint64_t i);

/* The functions below that read operands return the smallest i for which element i of an operand is
 * bad, or GX_NONE_BAD; results are then unspecified. */

/* ---- evaluation ---- */

/* A point, and what rows of `width` coefficients are combined with. */
#define GX_POLY_WIDTH 256u /* most */
struct gx_poly_point {
    bool reversed;
    uint64_t n, width, rows;
    uint64_t step[GX_LIMBS_MAX];                   /* what a row has more than the next one */
    uint64_t weight[GX_POLY_WIDTH * GX_LIMBS_MAX]; /* of the columns */
};

/* Of a polynomial with n coefficients. b is canonical, or results mean nothing. */
void gx__poly_point(const struct gx_poly *poly, uint64_t n, bool reversed, const void *b,
                    struct gx_poly_point *point);

/* *result = the part of rows from .. to, from < to, of the coefficients at a, which are point->n.
 * scratch: GX_POLY_WIDTH elements. */
size_t gx__poly_rows(const struct gx_poly *poly, const struct gx_poly_point *point, const void *a,
                     uint64_t from, uint64_t to, void *scratch, uint64_t *result);

/* ---- scans: prefix-sum, prefix-product, divide-linear ----
 *
 * In the order of the scan, in which divide-linear begins at the highest coefficient. */

/* Elements that are scanned at once, as runs side by side. */
#define GX_POLY_RUNS  64u
#define GX_POLY_RUN   63u /* odd, so that neighbours in all runs fall into different cache sets */
#define GX_POLY_BLOCK (GX_POLY_RUNS * GX_POLY_RUN)

struct gx_poly_scan {
    struct gx_poly_point point;                 /* the following are for divide-linear */
    uint64_t power[GX_POLY_RUN * GX_LIMBS_MAX]; /* b^1, b^2, ... */
};

/* parts: elements of a part of gx__poly_total; 0: it is not called. */
void gx__poly_scan_begin(const struct gx_poly *poly, uint64_t part, struct gx_poly_scan *scan);

/* What elements from .. to contribute to those after them; at most `part`. scratch: GX_POLY_WIDTH
 * elements. */
size_t gx__poly_total(const struct gx_poly *poly, const struct gx_poly_scan *scan, uint64_t from,
                      uint64_t to, void *scratch, uint64_t *total);

/* What there is before the first element, and after so many with that total. */
void gx__poly_carry_start(const struct gx_poly *poly, uint64_t *carry);
void gx__poly_carry(const struct gx_poly *poly, uint64_t *carry, const uint64_t *total,
                    uint64_t elements);

/* Elements of scratch of the following, and of gx__poly_total, for scans of n elements or fewer. */
size_t gx__poly_scan_scratch(uint64_t n);

/* Scans from .. to with *carry, which is changed. check: if total has not. */
size_t gx__poly_scan(const struct gx_poly *poly, const struct gx_poly_scan *scan, uint64_t from,
                     uint64_t to, bool check, uint64_t *carry, void *scratch);

/* ---- others ---- */

/* powers, cosets: elements from .. to of out. */
void gx__poly_powers(const struct gx_poly *poly, uint64_t from, uint64_t to);

/* Permutations: elements from .. to of out, and the check of as large a part of a. bit-reverse:
 * multiples of GX_POLY_TILE, or all. */
#define GX_POLY_TILE 64u
size_t gx__poly_permute(const struct gx_poly *poly, uint64_t from, uint64_t to);

/* The operands that are one element. */
size_t gx__poly_check_one(const struct gx_poly *poly);

/* ---- the reference ---- */

/* All of it by plain loops; fn is that of gx__host_reference. */
size_t gx__poly_reference(const struct gx_poly *poly);

#endif
