/* SPDX-License-Identifier: Apache-2.0
 *
 * Reservations and their queue, and short lists of idle blocks by kind, in the order of their last
 * use. A block serves requests of exactly its size, so that what is reserved is what is held.
 */
#include "exec/pool.h"

#include <string.h>

#include "base/alloc.h"
#include "exec/guard.h"
#include "exec/plan.h"
#include "exec/record.h"

void gx__pool_init(struct gx_pool *pool, struct gx_device *device, size_t limit,
                   struct gx_records *records)
{
    *pool = (struct gx_pool){.device = device,
                             .records = records,
                             .counters = &device->instance->counters,
                             .limit = limit ? limit : SIZE_MAX};
    pthread_mutex_init(&pool->lock, NULL);
    pthread_cond_init(&pool->freed, NULL);
}

/* ---- reservations ---- */

size_t gx__pool_room(struct gx_pool *pool)
{
    return pool->limit == SIZE_MAX
               ? SIZE_MAX
               : pool->limit - atomic_load_explicit(&pool->kept, memory_order_relaxed);
}

/* Under the lock. */
static void wake(struct gx_pool *pool)
{
    if (pool->serving != pool->next_turn)
        pthread_cond_broadcast(&pool->freed);
}

/* keep: for a buffer. */
static gx_status reserve(struct gx_pool *pool, size_t bytes, bool keep)
{
    if (!bytes || pool->limit == SIZE_MAX)
        return GX_OK;
    pthread_mutex_lock(&pool->lock);
    uint64_t turn = pool->next_turn++;
    bool fits = true;
    while (pool->serving != turn || pool->limit - pool->reserved < bytes) {
        fits = bytes <= pool->limit - pool->kept;
        if (pool->serving == turn && !fits)
            break;
        pthread_cond_wait(&pool->freed, &pool->lock);
    }
    if (fits) {
        pool->reserved += bytes;
        pool->kept += keep ? bytes : 0;
    }
    pool->serving++;
    wake(pool); /* the next in line may fit too */
    pthread_mutex_unlock(&pool->lock);
    return fits ? GX_OK : GX_ERR_OUT_OF_DEVICE_MEMORY;
}

gx_status gx__pool_reserve(struct gx_pool *pool, size_t bytes)
{
    return reserve(pool, bytes, false);
}

static void release(struct gx_pool *pool, size_t bytes, bool keep)
{
    if (!bytes || pool->limit == SIZE_MAX)
        return;
    pthread_mutex_lock(&pool->lock);
    pool->reserved -= bytes;
    pool->kept -= keep ? bytes : 0;
    wake(pool);
    pthread_mutex_unlock(&pool->lock);
}

void gx__pool_release(struct gx_pool *pool, size_t bytes)
{
    release(pool, bytes, false);
}

bool gx__pool_waited_for(struct gx_pool *pool)
{
    if (pool->limit == SIZE_MAX)
        return false;
    pthread_mutex_lock(&pool->lock);
    bool waited = pool->serving != pool->next_turn;
    pthread_mutex_unlock(&pool->lock);
    return waited;
}

size_t gx__pool_size(const struct gx_mem *mem)
{
    return mem->size - GX_GUARD_BYTES;
}

/* ---- memory of the device; under the lock ---- */

static void hold(struct gx_pool *pool, size_t bytes)
{
    pool->held += bytes;
    gx__count(&pool->counters->device_bytes, bytes);
    uint64_t peak = atomic_load_explicit(&pool->counters->device_bytes_peak, memory_order_relaxed);
    while (peak < pool->held &&
           !atomic_compare_exchange_weak(&pool->counters->device_bytes_peak, &peak, pool->held))
        ;
}

static void let_go(struct gx_pool *pool, size_t bytes)
{
    pool->held -= bytes;
    gx__count(&pool->counters->device_bytes, (uint64_t)0 - bytes);
}

static void free_memory(struct gx_pool *pool, struct gx_mem *mem)
{
    gx__records_forget(pool->records, mem);
    pool->device->ops->mem_free(pool->device, mem);
}

static struct gx_mem *take(struct gx_pool *pool, enum gx_mem_kind kind, size_t i)
{
    struct gx_mem **idle = pool->idle[kind], *mem = idle[i];
    pool->count[kind]--;
    memmove(&idle[i], &idle[i + 1], (pool->count[kind] - i) * sizeof *idle);
    return mem;
}

static void free_block(struct gx_pool *pool, struct gx_mem *mem)
{
    size_t size = gx__pool_size(mem);
    free_memory(pool, mem);
    let_go(pool, size);
    gx__free(&pool->device->instance->config.allocator, mem);
    gx__count(&pool->counters->pool_bytes, (uint64_t)0 - size);
}

/* Frees the least recently used block of a kind; false: none is idle. */
static bool free_one(struct gx_pool *pool)
{
    for (enum gx_mem_kind kind = 0; kind < GX_MEM_KINDS; kind++) {
        if (pool->count[kind]) {
            free_block(pool, take(pool, kind, 0));
            return true;
        }
    }
    return false;
}

static gx_status get_memory(struct gx_pool *pool, enum gx_mem_kind kind, size_t size,
                            struct gx_mem *mem)
{
    while (size > pool->limit - pool->held)
        if (!free_one(pool))
            return GX_ERR_OUT_OF_DEVICE_MEMORY;
    hold(pool, size);
    gx_status s = pool->device->ops->mem_alloc(pool->device, kind, size + GX_GUARD_BYTES, mem);
    if (gx__out_of_memory(s)) {
        while (free_one(pool))
            ;
        s = pool->device->ops->mem_alloc(pool->device, kind, size + GX_GUARD_BYTES, mem);
    }
    if (s != GX_OK)
        let_go(pool, size);
    return s;
}

/* ---- blocks ---- */

static struct gx_mem *find(struct gx_pool *pool, enum gx_mem_kind kind, size_t size)
{
    for (size_t i = pool->count[kind]; i-- > 0;) /* the warmest one */
        if (gx__pool_size(pool->idle[kind][i]) == size)
            return take(pool, kind, i);
    return NULL;
}

static gx_status new_block(struct gx_pool *pool, enum gx_mem_kind kind, size_t size,
                           struct gx_mem **out)
{
    const gx_allocator *allocator = &pool->device->instance->config.allocator;
    struct gx_mem *mem = gx__alloc(allocator, sizeof *mem);
    if (!mem)
        return GX_ERR_OUT_OF_MEMORY;
    gx_status s = get_memory(pool, kind, size, mem);
    if (s != GX_OK) {
        gx__free(allocator, mem);
        return s;
    }
    gx__count(&pool->counters->pool_bytes, size);
    *out = mem;
    return GX_OK;
}

gx_status gx__pool_get(struct gx_pool *pool, enum gx_mem_kind kind, size_t bytes,
                       struct gx_mem **mem)
{
    size_t size = gx__bucket(bytes);
    gx_status s = GX_OK;
    *mem = NULL;
    if (!size)
        return GX_OK;
    size_t bucket = (size_t)(__builtin_ctzll(size) - __builtin_ctzll(gx__bucket(1)));
    pthread_mutex_lock(&pool->lock);
    *mem = find(pool, kind, size);
    gx__count(*mem ? &pool->counters->pool_hits : &pool->counters->pool_misses, 1);
    gx__count(&pool->counters->buckets[bucket < GX_BUCKETS ? bucket : GX_BUCKETS - 1], 1);
    if (!*mem)
        s = new_block(pool, kind, size, mem);
    pthread_mutex_unlock(&pool->lock);
    if (*mem)
        gx__guard_set(pool->device, *mem, bytes);
    return s;
}

void gx__pool_put(struct gx_pool *pool, struct gx_mem **mem)
{
    if (!*mem)
        return;
    enum gx_mem_kind kind = (*mem)->kind;
    gx__guard_check(pool->device, *mem);
    pthread_mutex_lock(&pool->lock);
    if (pool->count[kind] == GX_POOL_IDLE_MAX)
        free_block(pool, take(pool, kind, 0));
    pool->idle[kind][pool->count[kind]++] = *mem;
    pthread_mutex_unlock(&pool->lock);
    *mem = NULL;
}

/* ---- buffers ---- */

gx_status gx__pool_alloc(struct gx_pool *pool, enum gx_mem_kind kind, size_t bytes,
                         struct gx_mem *mem)
{
    gx_status s = reserve(pool, bytes, true);
    if (s != GX_OK)
        return s;
    pthread_mutex_lock(&pool->lock);
    s = get_memory(pool, kind, bytes, mem);
    pthread_mutex_unlock(&pool->lock);
    if (s == GX_OK)
        gx__guard_set(pool->device, mem, bytes);
    else
        release(pool, bytes, true);
    return s;
}

void gx__pool_free(struct gx_pool *pool, struct gx_mem *mem, size_t bytes)
{
    gx__guard_check(pool->device, mem);
    free_memory(pool, mem);
    pthread_mutex_lock(&pool->lock);
    let_go(pool, bytes);
    pthread_mutex_unlock(&pool->lock);
    release(pool, bytes, true);
}

void gx__pool_close(struct gx_pool *pool)
{
    while (free_one(pool))
        ;
    pthread_cond_destroy(&pool->freed);
    pthread_mutex_destroy(&pool->lock);
}
