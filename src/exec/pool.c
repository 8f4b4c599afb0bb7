/* SPDX-License-Identifier: Apache-2.0
 *
 * Short lists of idle pieces, by kind, in the order of their last use. A piece serves
 * requests of exactly its size, so that what is reserved is what is held.
 */
#include "exec/pool.h"

#include <string.h>

#include "base/alloc.h"
#include "exec/plan.h"

void gx__pool_init(struct gx_pool *pool, struct gx_device *device, struct gx_budget *budget,
                   struct gx_counters *counters)
{
    *pool = (struct gx_pool){.device = device, .budget = budget, .counters = counters};
    pthread_mutex_init(&pool->lock, NULL);
}

static const gx_allocator *allocator(const struct gx_pool *pool)
{
    return &pool->device->instance->config.allocator;
}

static void count_get(struct gx_pool *pool, size_t size, bool hit)
{
    size_t bucket = (size_t)(__builtin_ctzll(size) - __builtin_ctzll(gx__bucket(1)));
    gx__count(hit ? &pool->counters->pool_hits : &pool->counters->pool_misses, 1);
    gx__count(&pool->counters->buckets[bucket < GX_BUCKETS ? bucket : GX_BUCKETS - 1], 1);
}

/* ---- idle pieces, under the lock ---- */

static struct gx_mem *take(struct gx_pool *pool, enum gx_mem_kind kind, size_t i)
{
    struct gx_mem **idle = pool->idle[kind], *mem = idle[i];
    pool->count[kind]--;
    memmove(&idle[i], &idle[i + 1], (pool->count[kind] - i) * sizeof *idle);
    return mem;
}

static void free_piece(struct gx_pool *pool, struct gx_mem *mem)
{
    size_t size = mem->size;
    if (pool->forget)
        pool->forget(pool->user, mem);
    pool->device->ops->mem_free(pool->device, mem);
    gx__free(allocator(pool), mem);
    gx__budget_give(pool->budget, size);
    gx__count(&pool->counters->pool_bytes, (uint64_t)0 - size);
}

/* Frees the piece of a kind that was not used for longest; false: none is idle. */
static bool free_one(struct gx_pool *pool)
{
    for (enum gx_mem_kind kind = 0; kind < GX_MEM_KINDS; kind++) {
        if (pool->count[kind]) {
            free_piece(pool, take(pool, kind, 0));
            return true;
        }
    }
    return false;
}

static void free_idle(struct gx_pool *pool)
{
    while (free_one(pool))
        ;
}

static struct gx_mem *find(struct gx_pool *pool, enum gx_mem_kind kind, size_t size)
{
    for (size_t i = pool->count[kind]; i-- > 0;) /* the warmest one */
        if (pool->idle[kind][i]->size == size)
            return take(pool, kind, i);
    return NULL;
}

/* ---- new memory, under the lock ---- */

static gx_status get_memory(struct gx_pool *pool, enum gx_mem_kind kind, size_t size,
                            struct gx_mem *mem)
{
    while (!gx__budget_take(pool->budget, size))
        if (!free_one(pool))
            return GX_ERR_OUT_OF_DEVICE_MEMORY;
    gx_status s = pool->device->ops->mem_alloc(pool->device, kind, size, mem);
    if (s == GX_ERR_OUT_OF_MEMORY || s == GX_ERR_OUT_OF_DEVICE_MEMORY) {
        free_idle(pool);
        s = pool->device->ops->mem_alloc(pool->device, kind, size, mem);
    }
    if (s != GX_OK)
        gx__budget_give(pool->budget, size);
    return s;
}

static gx_status new_piece(struct gx_pool *pool, enum gx_mem_kind kind, size_t size,
                           struct gx_mem **out)
{
    struct gx_mem *mem = gx__alloc(allocator(pool), sizeof *mem);
    if (!mem)
        return GX_ERR_OUT_OF_MEMORY;
    gx_status s = get_memory(pool, kind, size, mem);
    if (s != GX_OK) {
        gx__free(allocator(pool), mem);
        return s;
    }
    gx__count(&pool->counters->pool_bytes, size);
    *out = mem;
    return GX_OK;
}

/* ---- the interface ---- */

gx_status gx__pool_get(struct gx_pool *pool, enum gx_mem_kind kind, size_t bytes,
                       struct gx_mem **mem)
{
    size_t size = gx__bucket(bytes);
    *mem = NULL;
    if (!size)
        return GX_OK;
    gx_status s = GX_OK;
    pthread_mutex_lock(&pool->lock);
    *mem = find(pool, kind, size);
    count_get(pool, size, *mem != NULL);
    if (!*mem)
        s = new_piece(pool, kind, size, mem);
    pthread_mutex_unlock(&pool->lock);
    return s;
}

void gx__pool_put(struct gx_pool *pool, struct gx_mem **mem)
{
    if (!*mem)
        return;
    enum gx_mem_kind kind = (*mem)->kind;
    pthread_mutex_lock(&pool->lock);
    if (pool->count[kind] == GX_POOL_IDLE_MAX)
        free_piece(pool, take(pool, kind, 0));
    pool->idle[kind][pool->count[kind]++] = *mem;
    pthread_mutex_unlock(&pool->lock);
    *mem = NULL;
}

gx_status gx__pool_alloc(struct gx_pool *pool, enum gx_mem_kind kind, size_t bytes,
                         struct gx_mem *mem)
{
    pthread_mutex_lock(&pool->lock);
    gx_status s = get_memory(pool, kind, bytes, mem);
    pthread_mutex_unlock(&pool->lock);
    return s;
}

void gx__pool_close(struct gx_pool *pool)
{
    free_idle(pool);
    pthread_mutex_destroy(&pool->lock);
}
