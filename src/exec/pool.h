/* SPDX-License-Identifier: Apache-2.0
 *
 * Memory that jobs borrow from a device and give back: pieces of power-of-two sizes stay
 * ready, so that steady work allocates nothing. What is handed out never moves.
 */
#ifndef GX_EXEC_POOL_H
#define GX_EXEC_POOL_H

#include "exec/budget.h"

/* Idle pieces of one kind; the least recently used goes first. */
#define GX_POOL_IDLE_MAX 16

struct gx_pool {
    struct gx_device *device;
    struct gx_budget *budget;
    struct gx_counters *counters;
    /* Called before a piece is freed: nothing may name it any more. */
    void (*forget)(void *user, const struct gx_mem *mem);
    void *user;
    pthread_mutex_t lock;
    size_t count[GX_MEM_KINDS];
    struct gx_mem *idle[GX_MEM_KINDS][GX_POOL_IDLE_MAX]; /* least recently used first */
};

void gx__pool_init(struct gx_pool *pool, struct gx_device *device, struct gx_budget *budget,
                   struct gx_counters *counters);

/* Memory of gx__bucket(bytes) (plan.h), contents of no meaning, *mem NULL where bytes is 0. The
 * caller has reserved it. Where there is none, all idle pieces are freed and it is tried
 * once more. Any thread. */
gx_status gx__pool_get(struct gx_pool *pool, enum gx_mem_kind kind, size_t bytes,
                       struct gx_mem **mem);

/* Gives it back and clears *mem; NULL is fine. */
void gx__pool_put(struct gx_pool *pool, struct gx_mem **mem);

/* Memory of that size that is no piece of the pool but in its way: idle pieces make room for
 * it, as for one of the pool's. The caller has reserved it, and ends it with mem_free and
 * gx__budget_give. Any thread. */
gx_status gx__pool_alloc(struct gx_pool *pool, enum gx_mem_kind kind, size_t bytes,
                         struct gx_mem *mem);

/* Frees everything that is idle; everything must have been given back. */
void gx__pool_close(struct gx_pool *pool);

#endif
