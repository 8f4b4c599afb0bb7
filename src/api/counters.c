/* SPDX-License-Identifier: Apache-2.0
 *
 * See counters.h.
 */
#include "api/counters.h"

#include <string.h>

#include "base/log.h"

/* A counter of struct gx_counters at this offset, or one that is summed up. */
struct counter {
    gx_counter_info info;
    size_t offset;
    bool summed;
};

#define SUM(name, help) {{#name, help, 0, 0}, 0, true},
#define COUNTER(name, gauge, help)                                                                 \
    {{#name, help, gauge, 0}, offsetof(struct gx_counters, name), false},
#define BUCKET(i, bytes)                                                                           \
    {{"pool_blocks_" #bytes,                                                                       \
      "blocks of so many bytes that the pools gave out; the last: so many or more", 0, 0},         \
     offsetof(struct gx_counters, buckets) + (i) * sizeof(uint64_t),                               \
     false},
static const struct counter counters[] = {GX__COUNTER_LIST(SUM, COUNTER) GX__BUCKET_LIST(BUCKET)};

enum { COUNTERS = sizeof counters / sizeof *counters };

const gx_counter_info *gx_counter_get_info(uint32_t index)
{
    return index < COUNTERS ? &counters[index].info : NULL;
}

static void sum_up(gx_ctx *ctx, uint64_t *jobs, uint64_t *elements)
{
    const struct gx_router *router = &ctx->router;
    size_t slots = atomic_load(&router->slots.count);
    *jobs = *elements = 0;
    for (size_t i = 0; i < slots; i++) {
        uint64_t some, some_elements;
        gx__tallies_sum(&router->slots.slot[i]->work.tallies, &some, &some_elements);
        *jobs += some;
        *elements += some_elements;
    }
}

static uint64_t value_of(gx_ctx *ctx, const struct counter *c)
{
    uint64_t jobs, elements;
    if (!c->summed)
        return *(const _Atomic uint64_t *)((const char *)&ctx->instance.counters + c->offset);
    sum_up(ctx, &jobs, &elements);
    return strcmp(c->info.name, "elements") ? jobs : elements;
}

gx_status gx_counter(gx_ctx *ctx, const char *name, uint64_t *value)
{
    if (value)
        *value = 0;
    if (!ctx || !name || !value)
        return gx__fail(NULL, GX_ERR_INVALID, "gx_counter: ctx, name and value must not be NULL");
    for (size_t i = 0; i < COUNTERS; i++)
        if (!strcmp(counters[i].info.name, name)) {
            *value = value_of(ctx, &counters[i]);
            return GX_OK;
        }
    return gx__fail(NULL, GX_ERR_INVALID, "gx_counter: there is no counter '%.48s'", name);
}

void gx__stats(gx_ctx *ctx, struct gx_statistics *stats)
{
    const struct gx_counters *c = &ctx->instance.counters;
#define NOTHING(name, help)
#define COPY(name, gauge, help) stats->name = c->name;
    GX__COUNTER_LIST(NOTHING, COPY)
    for (size_t i = 0; i < GX_BUCKETS; i++)
        stats->buckets[i] = c->buckets[i];
    sum_up(ctx, &stats->jobs_done, &stats->elements);
}
