/* SPDX-License-Identifier: Apache-2.0
 *
 * What the tiers implement for sums of points (sums.c): many independent additions of affine points
 * at a time, which share an inversion. Points are in a form of the tier; sums and points at
 * infinity can be anywhere among them.
 */
#ifndef GX_CURVE_MSM_TIER_H
#define GX_CURVE_MSM_TIER_H

#include "curve/msm.h"

/* A term is the number of a point, and how to take it. */
#define GX_TERM_NEGATIVE 0x80000000u
#define GX_TERM_SUM      0x40000000u /* one of `sums`, not of `points` */
#define GX_TERM_INDEX    0x3fffffffu

#define GX_MSM_BATCH 1024u /* additions with one inversion */

struct gx_msm_pair {
    uint32_t a, b; /* terms */
    uint32_t out;  /* number of the sum; may be that of a or b */
};

struct gx_msm_adds {
    const struct gx_curve_row *curve;
    const void *points;
    void *sums;
    const struct gx_msm_pair *pairs; /* none has the result of another as a term */
    uint32_t count;                  /* 1 .. GX_MSM_BATCH */
    const uint32_t *next;            /* terms that follow, to be prefetched */
    uint32_t next_count;             /* may be 0 */
    void *scratch;                   /* adds_scratch() bytes, aligned to 64 */
};

struct gx_msm_host {
    enum gx_tier tier;
    size_t (*point_bytes)(const struct gx_curve_row *curve);
    size_t (*adds_scratch)(const struct gx_curve_row *curve);
    void (*add)(const struct gx_msm_adds *adds);
    /* from and to packed affine points */
    void (*load)(const struct gx_curve_row *curve, void *points, const uint64_t *xy, size_t n);
    void (*store)(const struct gx_curve_row *curve, uint64_t *xy, const void *points, size_t n);
    void (*copy)(const struct gx_curve_row *curve, void *to, const void *from, bool negate);
};

extern const struct gx_msm_host gx__msm_portable, gx__msm_adx, gx__msm_avx512;

#endif
