/* SPDX-License-Identifier: Apache-2.0
 *
 * Sums of affine points: many lists of terms at a time, each list added up as a tree. All additions
 * of a level of the trees are independent, so that they share inversions however long the lists
 * are.
 */
#ifndef GX_CURVE_SUMS_H
#define GX_CURVE_SUMS_H

#include "curve/msm_tier.h"

/* The memory of one worker, and the lists that it adds up. */
struct gx_sums {
    const struct gx_msm_host *host;
    const struct gx_curve_row *curve;
    const void *points; /* that terms refer to */
    uint32_t capacity;  /* terms */

    uint32_t lists;
    uint32_t *name;   /* of each list, the caller's */
    uint32_t *length; /* of each list, not 0 */
    uint32_t *terms;  /* list after list; set by gx__sums_open, replaceable */

    /* internal */
    struct gx_msm_pair *pairs;
    void *sums, *scratch;
};

size_t gx__sums_bytes(const struct gx_msm_host *host, const struct gx_curve_row *curve,
                      size_t capacity);
/* Empty, in gx__sums_bytes of memory aligned to 64. */
void gx__sums_open(struct gx_sums *s, const struct gx_msm_host *host,
                   const struct gx_curve_row *curve, size_t capacity, void *memory);

/* Leaves lists of one term each, in the same order. The terms are lost. */
void gx__sums_add(struct gx_sums *s);
/* The point that list i was left with, with its sign. */
void gx__sums_get(const struct gx_sums *s, uint32_t i, void *point);

/* Ends the list of the terms from `start` to `end`, unless it is empty. */
static inline void gx__sums_end(struct gx_sums *s, uint32_t name, uint32_t start, uint32_t end)
{
    if (start == end)
        return;
    s->name[s->lists] = name;
    s->length[s->lists++] = end - start;
}

#endif
