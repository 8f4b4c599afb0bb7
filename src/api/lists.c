/* SPDX-License-Identifier: Apache-2.0
 *
 * Calls that list what a context knows (devices, statistics, metrics, the model), and gx_calibrate.
 */
#include <stdio.h>
#include <string.h>

#include "api/context.h"
#include "base/alloc.h"
#include "base/float_env.h"
#include "base/log.h"
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

static void sum_up(const struct gx_router *router, uint64_t *jobs, uint64_t *elements)
{
    size_t slots = atomic_load(&router->slots.count);
    *jobs = *elements = 0;
    for (size_t i = 0; i < slots; i++)
        for (size_t pair = 0; pair < GX_OP_PAIRS; pair++) {
            const struct gx_tally *t = &router->slots.slot[i]->work.tally[pair];
            *jobs += gx__histogram_count(&t->took);
            *elements += t->elements;
        }
}

static void list_rows(struct gx_router *router, gx_model_row *rows, size_t *count)
{
    size_t room = rows ? *count : 0, slots = atomic_load(&router->slots.count);
    *count = 0;
    for (size_t i = 0; i < slots; i++) {
        struct gx_model *model = atomic_load(&router->slots.slot[i]->model);
        if (model)
            gx__model_rows(model, rows, room, count);
    }
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
    char message[GX_MESSAGE_BYTES];
    size_t size = 0, room = count && to ? *count : 0;
    if (!ctx || !count)
        return gx__fail(NULL, GX_ERR_INVALID, "%s: ctx and count must not be NULL", call);
    if (room && gx__check_out(layout, to, room, &size, message, sizeof message) != GX_OK)
        return gx__fail(&ctx->instance, GX_ERR_INVALID, "%s: %s", call, message);
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
    gx_status s = gx__device_enumerate(&ctx->instance, own, count);
    gx__float_env_restore(&caller);
    return s == GX_OK
               ? s
               : gx__fail(&ctx->instance, s, "devices cannot be listed: %s", gx_status_message(s));
}

gx_status gx_devices(gx_ctx *ctx, gx_device_info *infos, size_t *count)
{
    return list_out(ctx, &gx__device_info_layout, "gx_devices", list_devices, infos, count);
}

gx_status gx_stats(gx_ctx *ctx, gx_statistics *out)
{
    char message[GX_MESSAGE_BYTES];
    size_t size;
    if (!ctx || !out)
        return gx__fail(NULL, GX_ERR_INVALID, "gx_stats: ctx and out must not be NULL");
    if (gx__check_out(&gx__statistics_layout, out, 1, &size, message, sizeof message) != GX_OK)
        return gx__fail(&ctx->instance, GX_ERR_INVALID, "gx_stats: %s", message);
    const struct gx_counters *c = &ctx->instance.counters;
    gx_statistics own = {.jobs_failed = c->jobs_failed,
                         .bytes_read = c->bytes_read,
                         .bytes_written = c->bytes_written,
                         .compute_ns = c->compute_ns,
                         .dispatches = c->dispatches,
                         .pool_hits = c->pool_hits,
                         .pool_misses = c->pool_misses,
                         .pool_bytes = c->pool_bytes,
                         .device_bytes = c->device_bytes,
                         .device_bytes_peak = c->device_bytes_peak,
                         .command_hits = c->command_hits,
                         .command_misses = c->command_misses,
                         .tickets_submitted = c->tickets_submitted,
                         .tickets_done = c->tickets_done,
                         .tickets_cancelled = c->tickets_cancelled,
                         .jobs_waiting = c->jobs_waiting,
                         .validation_messages = c->validation_messages,
                         .decisions = c->decisions,
                         .decisions_default = c->decisions_default,
                         .decisions_split = c->decisions_split,
                         .decisions_explored = c->decisions_explored,
                         .routed_ns = c->routed_ns,
                         .routed_best_ns = c->routed_best_ns,
                         .sampled = c->sampled,
                         .mismatches = c->mismatches,
                         .fallbacks = c->fallbacks,
                         .decisions_predicted = c->decisions_predicted,
                         .record_ns = c->record_ns,
                         .submit_ns = c->submit_ns};
    for (size_t i = 0; i < GX_BUCKETS; i++)
        own.buckets[i] = c->buckets[i];
    sum_up(&ctx->router, &own.jobs_done, &own.elements);
    gx__give_out(&gx__statistics_layout, out, size, sizeof out->struct_size, &own);
    return GX_OK;
}

/* ---- the model ---- */

/* Opens all candidates, because opening a device reads its saved model. */
static gx_status open_candidates(gx_ctx *ctx)
{
    struct gx_router *router = &ctx->router;
    struct gx_engine *engine;
    char message[GX_MESSAGE_BYTES];
    gx_status s = gx__router_candidates(router, message, sizeof message);
    if (s != GX_OK)
        return gx__fail(&ctx->instance, s, "%s", message);
    for (size_t i = 0; i < router->candidates; i++)
        if (gx__slot_open(&router->slots, router->candidate[i]->name, &engine, message,
                          sizeof message) == GX_OK)
            gx__engine_release(engine);
    return GX_OK;
}

static gx_status list_model(gx_ctx *ctx, void *own, size_t *count)
{
    gx_status s = open_candidates(ctx);
    list_rows(&ctx->router, own, count);
    return s;
}

gx_status gx_model(gx_ctx *ctx, gx_model_row *rows, size_t *count)
{
    return list_out(ctx, &gx__model_row_layout, "gx_model", list_model, rows, count);
}

static gx_status list_stats(gx_ctx *ctx, void *own, size_t *count)
{
    char message[GX_MESSAGE_BYTES];
    gx__router_candidates(&ctx->router, message, sizeof message);
    gx__device_stats(&ctx->router, own, count);
    return GX_OK;
}

gx_status gx_device_stats(gx_ctx *ctx, gx_device_statistics *stats, size_t *count)
{
    return list_out(ctx, &gx__device_statistics_layout, "gx_device_stats", list_stats, stats,
                    count);
}

static gx_status check_calibration(const gx_calibration *c, char *message, size_t size)
{
    if ((c->op_count && !c->ops) || (c->field_count && !c->fields)) {
        snprintf(message, size, "%s is NULL, but its count is not 0",
                 c->op_count && !c->ops ? "ops" : "fields");
        return GX_ERR_INVALID;
    }
    for (size_t i = 0; i < c->op_count; i++)
        if (!gx_op_get_info(c->ops[i]) ||
            (gx__op_has_params(c->ops[i]) && c->ops[i] != GX_NTT && c->ops[i] != GX_MSM)) {
            snprintf(message, size, "ops[%zu] is %u, which is not an operation%s", i, c->ops[i],
                     gx__op_has_params(c->ops[i])
                         ? " without parameters, nor ntt or msm: others are measured as they run"
                         : "");
            return GX_ERR_INVALID;
        }
    for (size_t i = 0; i < c->field_count; i++)
        if (!gx_field_get_info(c->fields[i])) {
            snprintf(message, size, "fields[%zu] is %u, which is not a field", i, c->fields[i]);
            return GX_ERR_INVALID;
        }
    return GX_OK;
}

gx_status gx_metrics_prometheus(gx_ctx *ctx, char *text, size_t *size)
{
    size_t count = 0;
    if (!ctx || !size)
        return gx__fail(NULL, GX_ERR_INVALID,
                        "gx_metrics_prometheus: ctx and size must not be NULL");
    gx_statistics stats = {.struct_size = sizeof stats};
    gx_status s = gx_device_stats(ctx, NULL, &count); /* finds the candidates */
    gx_stats(ctx, &stats);
    if (s == GX_OK)
        gx__metrics_text(&ctx->router, &stats, text, size);
    return s;
}

gx_status gx_calibrate(gx_ctx *ctx, const gx_calibration *settings)
{
    gx_calibration own;
    char message[GX_MESSAGE_BYTES] = "";
    if (!ctx)
        return gx__fail(NULL, GX_ERR_INVALID, "gx_calibrate: ctx is NULL");
    gx_status s = gx__take_in(&gx__calibration_layout, &own, settings, message, sizeof message);
    if (s == GX_OK)
        s = check_calibration(&own, message, sizeof message);
    if (s != GX_OK)
        return gx__fail(&ctx->instance, s, "gx_calibrate: %s", message);
    s = gx__router_calibrate(&ctx->router, &own, message, sizeof message);
    if (s == GX_ERR_CANCELLED)
        return gx__fail(NULL, s, "gx_calibrate: stopped by the progress function");
    return s == GX_OK
               ? s
               : gx__fail(&ctx->instance, s, "%s", message[0] ? message : gx_status_message(s));
}
