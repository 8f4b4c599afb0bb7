/* SPDX-License-Identifier: Apache-2.0
 *
 * Calls that list what a context knows (devices, their statistics, metrics), and gx_calibrate.
 */
#include <string.h>

#include "api/counters.h"
#include "base/alloc.h"
#include "base/float_env.h"
#include "base/log.h"
#include "op/traits.h"
#include "route/calibrate.h"
#include "route/health.h"

/* ---- over all device slots ---- */

void gx__device_stats(struct gx_router *router, gx_device_statistics *stats, size_t *count)
{
    size_t room = stats ? *count : 0, slots = atomic_load(&router->slots.count);
    for (size_t i = 0; i < slots && i < room; i++) {
        const struct gx_device_slot *slot = router->slots.slot[i];
        gx_health health = atomic_load(&slot->condition.state);
        bool open = atomic_load(&slot->engine) != NULL;
        stats[i] = (gx_device_statistics){.health = !health && open ? GX_HEALTH_GOOD : health,
                                          .retry_ns = gx__health_retry_ns(slot),
                                          .jobs = slot->work.jobs,
                                          .elements = slot->work.elements,
                                          .busy_ns = slot->work.busy_ns,
                                          .waiting_ns = slot->waiting_ns,
                                          .failures = slot->failures,
                                          .mismatches = slot->mismatches,
                                          .readmissions = slot->readmissions};
        memcpy(stats[i].device, slot->name, sizeof stats[i].device);
    }
    *count = slots;
}

/* ---- lists ---- */

/* More than any list has; limits the memory for a caller that claims more room. */
#define LIST_MAX ((size_t)1 << 20)

/* Writes a list in the library's own structs: at most *count of them to `own` (NULL: none), and
 * sets *count to how many there are. */
typedef gx_status (*list_fn)(gx_ctx *ctx, void *own, size_t *count);

/* Writes a list in the caller's structs. */
static gx_status list_out(gx_ctx *ctx, const struct gx_layout *layout, const char *call,
                          list_fn list, void *to, size_t *count)
{
    struct gx_error error;
    size_t size = 0, room = count && to ? *count : 0;
    if (!ctx || !count)
        return gx__fail(NULL, GX_ERR_INVALID, "%s: ctx and count must not be NULL", call);
    if (room && gx__check_out(layout, to, room, &size, &error) != GX_OK)
        return gx__fail(&ctx->instance, GX_ERR_INVALID, "%s: %s", call, error.text);
    room = room < LIST_MAX ? room : LIST_MAX;
    const gx_allocator *allocator = &ctx->instance.config.allocator;
    char *own = room ? gx__alloc(allocator, room * layout->size) : NULL;
    if (room && !own)
        return gx__fail(&ctx->instance, GX_ERR_OUT_OF_MEMORY, "%s: no memory for the list", call);
    *count = room;
    gx_status s = list(ctx, own, count);
    for (size_t i = 0; i < room && i < *count && s == GX_OK; i++)
        gx__give_out(layout, (char *)to + i * size, size, sizeof(size_t), own + i * layout->size);
    gx__free(allocator, own);
    return s;
}

static gx_status list_devices(gx_ctx *ctx, void *own, size_t *count)
{
    struct gx_float_env caller;
    gx__float_env_default(&caller);
    struct gx_error error;
    gx_status s = gx__device_enumerate(&ctx->instance, own, count);
    if (s == GX_OK) /* now they cost nothing more to look for; a failure will show again */
        gx__router_candidates(&ctx->router, &error);
    gx__float_env_restore(&caller);
    return s == GX_OK
               ? s
               : gx__fail(&ctx->instance, s, "devices cannot be listed: %s", gx_status_message(s));
}

gx_status gx_devices(gx_ctx *ctx, gx_device_info *infos, size_t *count)
{
    return list_out(ctx, &gx__device_info_layout, "gx_devices", list_devices, infos, count);
}

static gx_status list_stats(gx_ctx *ctx, void *own, size_t *count)
{
    struct gx_error error;
    gx__router_candidates(&ctx->router, &error);
    gx__device_stats(&ctx->router, own, count);
    return GX_OK;
}

gx_status gx_device_stats(gx_ctx *ctx, gx_device_statistics *stats, size_t *count)
{
    return list_out(ctx, &gx__device_statistics_layout, "gx_device_stats", list_stats, stats,
                    count);
}

static gx_status check_calibration(const gx_calibrate_params *c, struct gx_error *error)
{
    if ((c->op_count && !c->ops) || (c->field_count && !c->fields))
        return gx__refuse(error, GX_ERR_INVALID, "%s is NULL, but its count is not 0",
                          c->op_count && !c->ops ? "ops" : "fields");
    for (size_t i = 0; i < c->op_count; i++)
        if (!gx_op_get_info(c->ops[i]) || !gx__op_measurable(c->ops[i]))
            return gx__refuse(
                error, GX_ERR_INVALID, "ops[%zu] is %u, which is not an operation%s", i, c->ops[i],
                gx__op_has_params(c->ops[i])
                    ? " without parameters, nor ntt or msm: others are measured as they run"
                    : "");
    for (size_t i = 0; i < c->field_count; i++)
        if (!gx_field_get_info(c->fields[i]))
            return gx__refuse(error, GX_ERR_INVALID, "fields[%zu] is %u, which is not a field", i,
                              c->fields[i]);
    return GX_OK;
}

gx_status gx_metrics_prometheus(gx_ctx *ctx, char *text, size_t *size)
{
    struct gx_error error;
    if (!ctx || !size)
        return gx__fail(NULL, GX_ERR_INVALID,
                        "gx_metrics_prometheus: ctx and size must not be NULL");
    struct gx_statistics stats;
    gx__router_candidates(&ctx->router, &error); /* as in gx_device_stats */
    gx__stats(ctx, &stats);
    gx__metrics_text(&ctx->router, &stats, text, size);
    return GX_OK;
}

static gx_status take_calibration(const gx_calibrate_params *caller, struct gx_calibration *c,
                                  struct gx_error *error)
{
    gx_calibrate_params own;
    gx_status s = gx__take_in(&gx__calibrate_params_layout, &own, caller, error);
    if (s == GX_OK)
        s = check_calibration(&own, error);
    *c = (struct gx_calibration){.ops = own.ops,
                                 .op_count = own.op_count,
                                 .fields = own.fields,
                                 .field_count = own.field_count,
                                 .max_elems = own.max_elems,
                                 .limit_ns = own.limit_ns,
                                 .progress = own.progress,
                                 .user = own.user};
    return s;
}

gx_status gx_calibrate(gx_ctx *ctx, const gx_calibrate_params *params)
{
    struct gx_calibration settings;
    struct gx_error error = {""};
    if (!ctx)
        return gx__fail(NULL, GX_ERR_INVALID, "gx_calibrate: ctx is NULL");
    gx_status s = take_calibration(params, &settings, &error);
    if (s != GX_OK)
        return gx__fail(&ctx->instance, s, "gx_calibrate: %s", error.text);
    s = gx__router_calibrate(&ctx->router, &settings, &error);
    if (s == GX_ERR_CANCELLED)
        return gx__fail(NULL, s, "gx_calibrate: stopped by the progress function");
    return s == GX_OK ? s
                      : gx__fail(&ctx->instance, s, "%s",
                                 error.text[0] ? error.text : gx_status_message(s));
}
