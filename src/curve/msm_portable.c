/* SPDX-License-Identifier: Apache-2.0
 *
 * Additions of affine points of the portable tier: one at a time, on packed points, with one
 * inversion for a batch.
 */
#include <string.h>

#include "curve/coord.h"
#include "curve/msm_tier.h"

/* What the first pass keeps for the second. */
struct kept {
    uint64_t before[GX_COORD_LIMBS], denominator[GX_COORD_LIMBS];
};

enum sum { CHORD, TANGENT, FIRST, SECOND, NOTHING }; /* the line, or what the sum is */

struct points {
    uint64_t a[2 * GX_COORD_LIMBS], b[2 * GX_COORD_LIMBS];
};

static uint64_t *address(const struct gx_msm_adds *adds, uint32_t term)
{
    uintptr_t base = (uintptr_t)(term & GX_TERM_SUM ? adds->sums : adds->points);
    size_t words = 2 * (size_t)adds->curve->limbs;
    return (uint64_t *)base + (term & GX_TERM_INDEX) * words;
}

static void get(const struct gx_msm_adds *adds, uint64_t *xy, uint32_t term)
{
    const struct gx_curve_row *curve = adds->curve;
    memcpy(xy, address(adds, term), 2 * curve->limbs * sizeof *xy);
    if (term & GX_TERM_NEGATIVE)
        gx__coord_neg(curve, xy + curve->limbs, xy + curve->limbs);
}

static enum sum look(const struct gx_msm_adds *adds, struct points *p,
                     const struct gx_msm_pair *pair)
{
    const struct gx_curve_row *curve = adds->curve;
    const uint32_t y = curve->limbs;
    get(adds, p->a, pair->a);
    get(adds, p->b, pair->b);
    if (gx__affine_is_infinity(curve, p->a))
        return SECOND;
    if (gx__affine_is_infinity(curve, p->b))
        return FIRST;
    if (!gx__coord_equal(curve, p->a, p->b))
        return CHORD;
    bool same = gx__coord_equal(curve, p->a + y, p->b + y);
    return same && !gx__coord_is_zero(curve, p->a + y) ? TANGENT : NOTHING;
}

static void set_denominator(const struct gx_curve_row *curve, uint64_t *d, enum sum sum,
                            const struct points *p)
{
    if (sum == CHORD)
        gx__coord_sub(curve, d, p->b, p->a);
    else if (sum == TANGENT)
        gx__coord_add(curve, d, p->a + curve->limbs, p->a + curve->limbs);
    else
        gx__coord_set_one(curve, d);
}

/* The slope of the line through both points. */
static void set_slope(const struct gx_curve_row *curve, uint64_t *slope, enum sum sum,
                      const struct points *p, const uint64_t *inverse)
{
    uint64_t square[GX_COORD_LIMBS];
    if (sum == TANGENT) {
        gx__coord_sqr(curve, square, p->a);
        gx__coord_add(curve, slope, square, square);
        gx__coord_add(curve, slope, slope, square);
    } else {
        gx__coord_sub(curve, slope, p->b + curve->limbs, p->a + curve->limbs);
    }
    gx__coord_mul(curve, slope, slope, inverse);
}

static void put_sum(const struct gx_curve_row *curve, uint64_t *out, enum sum sum,
                    const struct points *p, const uint64_t *inverse)
{
    const uint32_t limbs = curve->limbs;
    const size_t bytes = 2 * limbs * sizeof *out;
    uint64_t slope[GX_COORD_LIMBS], x[GX_COORD_LIMBS], y[GX_COORD_LIMBS];
    if (sum == NOTHING) {
        memset(out, 0, bytes);
        return;
    }
    if (sum == FIRST || sum == SECOND) {
        memcpy(out, sum == FIRST ? p->a : p->b, bytes);
        return;
    }
    set_slope(curve, slope, sum, p, inverse);
    gx__coord_sqr(curve, x, slope);
    gx__coord_sub(curve, x, x, p->a);
    gx__coord_sub(curve, x, x, p->b);
    gx__coord_sub(curve, y, p->a, x);
    gx__coord_mul(curve, y, y, slope);
    gx__coord_sub(curve, y, y, p->a + limbs);
    memcpy(out, x, limbs * sizeof *out);
    memcpy(out + limbs, y, limbs * sizeof *out);
}

static void add(const struct gx_msm_adds *adds)
{
    const struct gx_curve_row *curve = adds->curve;
    struct kept *kept = adds->scratch;
    struct points p;
    uint64_t all[GX_COORD_LIMBS], inverse[GX_COORD_LIMBS];
    gx__coord_set_one(curve, all);
    for (uint32_t i = 0; i < adds->count; i++) {
        enum sum sum = look(adds, &p, &adds->pairs[i]);
        set_denominator(curve, kept[i].denominator, sum, &p);
        memcpy(kept[i].before, all, sizeof all);
        gx__coord_mul(curve, all, all, kept[i].denominator);
    }
    gx__coord_invert(curve, all, all);
    for (uint32_t i = adds->count; i-- > 0;) {
        enum sum sum = look(adds, &p, &adds->pairs[i]);
        gx__coord_mul(curve, inverse, all, kept[i].before);
        gx__coord_mul(curve, all, all, kept[i].denominator);
        put_sum(curve, address(adds, adds->pairs[i].out | GX_TERM_SUM), sum, &p, inverse);
    }
}

static size_t point_bytes(const struct gx_curve_row *curve)
{
    return 2 * curve->limbs * sizeof(uint64_t);
}

static size_t adds_scratch(const struct gx_curve_row *curve)
{
    (void)curve;
    return GX_MSM_BATCH * sizeof(struct kept);
}

static void load(const struct gx_curve_row *curve, void *points, const uint64_t *xy, size_t n)
{
    memcpy(points, xy, n * point_bytes(curve));
}

static void store(const struct gx_curve_row *curve, uint64_t *xy, const void *points, size_t n)
{
    memcpy(xy, points, n * point_bytes(curve));
}

static void copy(const struct gx_curve_row *curve, void *to, const void *from, bool negate)
{
    uint64_t *y = (uint64_t *)to + curve->limbs;
    memcpy(to, from, point_bytes(curve));
    if (negate)
        gx__coord_neg(curve, y, y);
}

const struct gx_msm_host gx__msm_portable = {.tier = GX_TIER_PORTABLE,
                                             .point_bytes = point_bytes,
                                             .adds_scratch = adds_scratch,
                                             .add = add,
                                             .load = load,
                                             .store = store,
                                             .copy = copy};
