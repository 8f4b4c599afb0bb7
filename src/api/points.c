/* SPDX-License-Identifier: Apache-2.0
 *
 * Points of curves: gx_points.
 */
#include "op/points.h"

#include <string.h>

#include "api/context.h"
#include "base/alloc.h"
#include "base/log.h"
#include "curve/form.h"
#include "exec/buffer.h"
#include "op/domain.h"
#include "op/msm.h"

static gx_status fail(gx_ctx *ctx, gx_status s, const char *call, const char *message)
{
    return gx__fail(ctx ? &ctx->instance : NULL, s, "%s: %s", call, message);
}

/* ---- creating ---- */

static bool is_xy(gx_point_form form)
{
    return form == GX_POINT_XY_MONT || form == GX_POINT_XY_PLAIN;
}

/* Bytes from the first point to the end of the last; 0 for none. */
static size_t span_of(const gx_points_params *desc)
{
    size_t one =
        desc->flag_offset ? desc->flag_offset + 1 : gx_point_bytes(desc->curve, desc->form);
    return desc->count ? (desc->count - 1) * desc->stride + one : 0;
}

static const char *check_memory(const gx_points_params *desc)
{
    const gx_buf *buf = desc->buf;
    if (desc->points && buf)
        return "there are both points in host memory and a buffer";
    if (!buf && desc->offset)
        return "host memory takes no offset";
    if (desc->count && !desc->points && !buf)
        return "points and buf are NULL";
    if (buf && (desc->offset > buf->size || span_of(desc) > buf->size - desc->offset))
        return "the points run past the end of the buffer";
    return NULL;
}

/* Sets the stride if it is 0. NULL: the description is right. */
static const char *check_desc(const gx_ctx *ctx, gx_points_params *desc)
{
    if (!gx_curve_get_info(desc->curve))
        return "curve is not a curve";
    if (!desc->form)
        return "form is 0: name one";
    size_t bytes = gx_point_bytes(desc->curve, desc->form);
    if (!bytes)
        return "the curve has no such form";
    desc->stride = desc->stride ? desc->stride : bytes;
    if (desc->stride < bytes)
        return "stride is less than the size of a point";
    if (desc->flag_offset && !is_xy(desc->form))
        return "flag_offset is for the XY forms only: set it to 0";
    if (desc->flag_offset && (desc->flag_offset < bytes || desc->flag_offset >= desc->stride))
        return "flag_offset is not between the end of a point and the stride";
    if (desc->check > GX_CHECK_NONE)
        return "check is none of curve, subgroup and none";
    if (desc->reserved)
        return "reserved is not 0";
    if (desc->count > SIZE_MAX / 2 / desc->stride ||
        desc->count > SIZE_MAX / 2 / gx_curve_get_info(desc->curve)->affine_bytes)
        return "count is more than memory can hold";
    if (desc->buf && desc->buf->engine->instance != &ctx->instance)
        return "the buffer belongs to another context";
    return check_memory(desc);
}

/* Points in a buffer are read into *memory first. */
static gx_status find_source(gx_ctx *ctx, const gx_points_params *desc,
                             struct gx_points_source *source, char **memory, struct gx_error *error)
{
    *source = (struct gx_points_source){.form = desc->form,
                                        .check = desc->check,
                                        .points = desc->points,
                                        .stride = desc->stride,
                                        .flag_offset = desc->flag_offset};
    if (!desc->buf || !desc->count)
        return GX_OK;
    *memory = gx__alloc(&ctx->instance.config.allocator, span_of(desc));
    gx__explain(error, "no memory");
    if (!*memory)
        return GX_ERR_OUT_OF_MEMORY;
    source->points = *memory;
    return gx__read_buffer(desc->buf, desc->offset, *memory, span_of(desc), error);
}

static void free_points(gx_ctx *ctx, struct gx_points *points)
{
    if (points)
        gx__free(&ctx->instance.config.allocator, points->xy);
    gx__free(&ctx->instance.config.allocator, points);
}

/* The points are in memory of their own; on failure, half made, they are freed by the caller. */
static gx_status make(gx_ctx *ctx, const gx_points_params *desc, struct gx_points **points,
                      uint64_t *bad, struct gx_error *error)
{
    const gx_allocator *allocator = &ctx->instance.config.allocator;
    struct gx_points_source source;
    char *memory = NULL;
    struct gx_points *made = *points = gx__alloc(allocator, sizeof *made);
    gx__explain(error, "no memory");
    if (!made)
        return GX_ERR_OUT_OF_MEMORY;
    *made = (struct gx_points){.instance = &ctx->instance,
                               .id = gx__table_id(),
                               .curve = gx__curve(desc->curve),
                               .count = desc->count,
                               .in_subgroup = desc->check == GX_CHECK_SUBGROUP,
                               .table_bytes = desc->table_bytes};
    if (!desc->count)
        return GX_OK;
    made->xy = gx__alloc(allocator, desc->count * made->curve->info.affine_bytes);
    if (!made->xy)
        return GX_ERR_OUT_OF_MEMORY;
    gx_status s = find_source(ctx, desc, &source, &memory, error);
    if (s == GX_OK)
        s = gx__points_take(made, &source, bad, error);
    gx__free(allocator, memory);
    return s;
}

gx_status gx_points_create(gx_ctx *ctx, const gx_points_params *caller, gx_points **points,
                           uint64_t *bad_index)
{
    static const char call[] = "gx_points_create";
    struct gx_error error = {""};
    uint64_t bad = UINT64_MAX;
    gx_points_params desc;
    if (bad_index)
        *bad_index = bad;
    if (!points)
        return fail(ctx, GX_ERR_INVALID, call, "points is NULL");
    *points = NULL;
    if (!ctx || !caller)
        return fail(ctx, GX_ERR_INVALID, call, "ctx and params must not be NULL");
    gx_status s = gx__take_in(&gx__points_params_layout, &desc, caller, &error);
    if (s != GX_OK)
        return fail(ctx, s, call, error.text);
    const char *why = check_desc(ctx, &desc);
    if (why)
        return fail(ctx, GX_ERR_INVALID, call, why);
    s = make(ctx, &desc, points, &bad, &error);
    if (s == GX_OK) {
        atomic_fetch_or(&ctx->instance.curves, 1u << desc.curve);
        return s;
    }
    free_points(ctx, *points);
    *points = NULL;
    if (bad_index)
        *bad_index = bad;
    return fail(ctx, s, call, error.text);
}

void gx_points_destroy(gx_points **points)
{
    if (!points || !*points)
        return;
    gx_ctx *ctx = (gx_ctx *)((char *)(*points)->instance - offsetof(gx_ctx, instance));
    gx__slots_drop_tables(&ctx->router.slots, (*points)->id);
    free_points(ctx, *points);
    *points = NULL;
}

/* ---- reading ---- */

size_t gx_points_count(const gx_points *points)
{
    return points ? points->count : 0;
}

gx_status gx_points_read(const gx_points *points, size_t first, size_t count, gx_point_form form,
                         void *out)
{
    if (!points)
        return gx__fail(NULL, GX_ERR_INVALID, "gx_points_read: points is NULL");
    if (first > points->count || count > points->count - first)
        return gx__fail(points->instance, GX_ERR_INVALID,
                        "gx_points_read: first is %zu and count is %zu, but there are %zu points",
                        first, count, points->count);
    if (!gx_point_bytes(points->curve->curve, form))
        return gx__fail(points->instance, GX_ERR_INVALID,
                        "gx_points_read: form is %u, which %s does not have", form,
                        points->curve->info.name);
    if (count && !out)
        return gx__fail(points->instance, GX_ERR_INVALID, "gx_points_read: out is NULL");
    gx__points_give(points, first, count, form, out);
    return GX_OK;
}
