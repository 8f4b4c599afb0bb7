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

/* Frees everything that is idle. */
void gx__pool_trim(struct gx_pool *pool);

/* The same; everything must have been given back. */
void gx__pool_close(struct gx_pool *pool);

#endif
