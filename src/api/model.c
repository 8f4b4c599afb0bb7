/* SPDX-License-Identifier: Apache-2.0
 *
 * The router's model as text. Its rows are internal: what they say changes with the router.
 */
#include <inttypes.h>

#include "api/context.h"
#include "api/writer.h"
#include "base/alloc.h"
#include "base/log.h"
#include "base/names.h"

/* count as in gx_devices */
static void list_rows(struct gx_router *router, struct gx_model_row *rows, size_t *count)
{
    size_t room = rows ? *count : 0, slots = atomic_load(&router->slots.count);
    *count = 0;
    for (size_t i = 0; i < slots; i++) {
        struct gx_model *model = atomic_load(&router->slots.slot[i]->model);
        if (model)
            gx__model_rows(model, rows, room, count);
    }
}

/* Opens all candidates, because opening a device reads its saved model. */
static gx_status open_candidates(gx_ctx *ctx)
{
    struct gx_router *router = &ctx->router;
    struct gx_engine *engine;
    struct gx_error error;
    gx_status s = gx__router_candidates(router, &error);
    if (s != GX_OK)
        return gx__fail(&ctx->instance, s, "%s", error.text);
    for (size_t i = 0; i < router->candidates; i++)
        if (gx__slot_open(&router->slots, router->candidate[i]->name, &engine, &error) == GX_OK)
            gx__engine_release(engine);
    return GX_OK;
}

gx_status gx__model(gx_ctx *ctx, struct gx_model_row *rows, size_t *count)
{
    gx_status s = open_candidates(ctx);
    list_rows(&ctx->router, rows, count);
    return s;
}

static void put_name(struct gx_writer *w, const char *key, const char *name)
{
    gx__put(w, ",\"%s\":\"", key);
    gx__put_escaped(w, name);
    gx__put(w, "\"");
}

static void put_number(struct gx_writer *w, const char *key, uint64_t number)
{
    gx__put(w, ",\"%s\":%" PRIu64, key, number);
}

static void put_row(struct gx_writer *w, const struct gx_model_row *row)
{
    const gx_op_info *op = gx_op_get_info(row->op);
    const gx_field_info *field = gx_field_get_info(row->field);
    gx__put(w, "{\"device\":\"");
    gx__put_escaped(w, row->device);
    gx__put(w, "\"");
    put_name(w, "op", op ? op->name : "");
    put_name(w, "field", field ? field->name : "");
    put_name(w, "memory", gx__residency_name(row->residency));
    put_name(w, "path", gx_path_name(row->path));
    put_number(w, "n", row->n);
    put_number(w, "ns", row->ns);
    put_number(w, "slow_ns", row->slow_ns);
    put_number(w, "samples", row->samples);
    put_number(w, "age_s", row->age_s);
    if (row->op == GX_NTT)
        put_number(w, "permutes", row->permutes);
    if (row->op == GX_NTT || (row->op == GX_MSM && row->log2_n))
        put_number(w, "log2_n", row->log2_n);
    if (row->op == GX_MSM) {
        put_name(w, "curve", row->curve ? gx_curve_get_info(row->curve)->name : "");
        put_number(w, "scalar_bits", row->scalar_bits);
    }
    gx__put(w, "}");
}

gx_status gx_model_json(gx_ctx *ctx, char *text, size_t *size)
{
    if (!ctx || !size)
        return gx__fail(NULL, GX_ERR_INVALID, "gx_model_json: ctx and size must not be NULL");
    const gx_allocator *allocator = &ctx->instance.config.allocator;
    size_t count = 0;
    gx_status s = gx__model(ctx, NULL, &count);
    if (s != GX_OK)
        return s;
    struct gx_model_row *rows = gx__alloc(allocator, (count + 1) * sizeof *rows);
    if (!rows)
        return gx__fail(&ctx->instance, GX_ERR_OUT_OF_MEMORY, "gx_model_json: no memory");
    size_t room = count;
    list_rows(&ctx->router, rows, &count); /* it may have grown */
    struct gx_writer w = {.text = text, .room = text ? *size : 0};
    gx__put(&w, "[");
    for (size_t i = 0; i < count && i < room; i++) {
        gx__put(&w, i ? ",\n" : "\n");
        put_row(&w, &rows[i]);
    }
    gx__put(&w, "\n]\n");
    gx__put_end(&w, size);
    gx__free(allocator, rows);
    return GX_OK;
}
