/* SPDX-License-Identifier: Apache-2.0
 *
 * gx_points: points of a curve, kept on the host as GX_POINT_XY_MONT. Devices keep copies of their
 * own (exec/tables.h).
 */
#ifndef GX_OP_POINTS_H
#define GX_OP_POINTS_H

#include "base/error.h"
#include "base/instance.h"
#include "curve/msm.h"

struct gx_points {
    struct gx_instance *instance;
    uint64_t id; /* of its tables: gx__table_id */
    const struct gx_curve_row *curve;
    size_t count;
    bool in_subgroup; /* known to be: they were checked */
    uint64_t table_bytes;
    uint64_t *xy; /* x, y of each, packed; NULL if there are none */
};

static inline const uint64_t *gx__points_at(const struct gx_points *points, size_t i)
{
    return points->xy ? points->xy + i * 2 * points->curve->limbs : NULL;
}

/* Whether there is a curve with these scalars. */
bool gx__is_scalar_field(gx_field field);

/* How many threads work on points at the same time. */
uint32_t gx__points_threads(const struct gx_instance *instance);

/* The caller's points, in host memory. */
struct gx_points_source {
    gx_point_form form;
    gx_point_check check;
    const char *points;
    size_t stride, flag_offset; /* as in gx_points_params; the stride is not 0 */
};

/* Decodes and checks `count` points into points->xy, with the threads of its instance. On failure
 * *bad is the index of the first bad one, and message says what is wrong with it. */
gx_status gx__points_take(struct gx_points *points, const struct gx_points_source *from,
                          uint64_t *bad, struct gx_error *error);

/* Encodes points first .. first + count, one after the other. */
void gx__points_give(const struct gx_points *points, size_t first, size_t count, gx_point_form form,
                     void *out);

/* Multiples of one point by many scalars, at least one: sums of one point each. */
struct gx_point_multiples {
    const struct gx_msm_host *host; /* the tier */
    const struct gx_curve_row *curve;
    const uint64_t *base; /* GX_POINT_XY_MONT */
    const void *scalars;  /* of any alignment; those in Montgomery form are below the modulus */
    gx_scalar_form scalar_form;
    gx_point_form form; /* of the results */
    size_t count;
    uint32_t bits;    /* of the scalars that count */
    uint32_t workers; /* at least 1 */
    void *out;        /* the results, one after the other */
};

/* Scratch, aligned to 64, does not depend on scalars, base, forms and out. */
size_t gx__point_multiples_scratch(const struct gx_point_multiples *of);
void gx__point_multiples(struct gx_instance *instance, const struct gx_point_multiples *of,
                         void *scratch);

#endif
