/* SPDX-License-Identifier: Apache-2.0
 *
 * A short list of idle pieces in the order of their last use. Sizes are powers of
 * two, so that jobs of nearly equal size share them.
 */
#include "exec/pool.h"

#include <string.h>

#define SMALLEST_BYTES 4096u

void gx__pool_init(struct gx_pool *pool, struct gx_device *device, struct gx_counters *counters)
{
    *pool = (struct gx_pool){.device = device, .counters = counters};
    pthread_mutex_init(&pool->lock, NULL);
}

static size_t bucket(size_t bytes)
{
    size_t size = SMALLEST_BYTES;
    while (size < bytes && size <= SIZE_MAX / 2)
        size *= 2;
    return size < bytes ? bytes : size;
}

/* Takes entry i out of the list, keeping the order of the others. */
static struct gx_mem take(struct gx_pool *pool, size_t i)
{
    struct gx_mem mem = pool->idle[i];
    pool->count--;
    memmove(&pool->idle[i], &pool->idle[i + 1], (pool->count - i) * sizeof mem);
    return mem;
}

/* The smallest idle piece that will do, or count. */
static size_t best_fit(const struct gx_pool *pool, enum gx_mem_kind kind, size_t bytes)
{
    size_t best = pool->count;
    for (size_t i = 0; i < pool->count; i++)
        if (pool->idle[i].kind == kind && pool->idle[i].size >= bytes &&
            (best == pool->count || pool->idle[i].size < pool->idle[best].size))
            best = i;
    return best;
}

gx_status gx__pool_get(struct gx_pool *pool, enum gx_mem_kind kind, size_t bytes,
                       struct gx_mem *mem)
{
    pthread_mutex_lock(&pool->lock);
    size_t i = best_fit(pool, kind, bytes);
    bool found = i < pool->count;
    if (found)
        *mem = take(pool, i);
    pthread_mutex_unlock(&pool->lock);
    gx__count(found ? &pool->counters->pool_hits : &pool->counters->pool_misses, 1);
    return found ? GX_OK : pool->device->ops->mem_alloc(pool->device, kind, bucket(bytes), mem);
}

void gx__pool_put(struct gx_pool *pool, struct gx_mem *mem)
{
    if (!mem->size)
        return;
    struct gx_mem oldest = {0};
    pthread_mutex_lock(&pool->lock);
    if (pool->count == GX_POOL_IDLE_MAX)
        oldest = take(pool, 0);
    pool->idle[pool->count++] = *mem;
    pthread_mutex_unlock(&pool->lock);
    if (oldest.size)
        pool->device->ops->mem_free(pool->device, &oldest);
    *mem = (struct gx_mem){0};
}

void gx__pool_close(struct gx_pool *pool)
{
    for (size_t i = 0; i < pool->count; i++)
        pool->device->ops->mem_free(pool->device, &pool->idle[i]);
    pool->count = 0;
    pthread_mutex_destroy(&pool->lock);
}
