/* SPDX-License-Identifier: Apache-2.0
 *
 * The memory that an engine takes from its device. Memory is reserved before it is allocated, and a
 * reservation waits for its turn while others hold too much: two calls never fail together if each
 * alone would fit. Work borrows blocks of power-of-two sizes, which stay ready afterwards, so that
 * steady work allocates nothing. What is handed out never moves. Any thread.
 */
#ifndef GX_EXEC_POOL_H
#define GX_EXEC_POOL_H

#include <pthread.h>

#include "device/device.h"

/* Idle blocks of one kind; the least recently used goes first. */
#define GX_POOL_IDLE_MAX 16

struct gx_records;

struct gx_pool {
    struct gx_device *device;
    struct gx_records *records; /* which forget a block before it is freed */
    struct gx_counters *counters;
    size_t limit;        /* SIZE_MAX: none */
    _Atomic size_t kept; /* reserved by buffers: until they are destroyed */
    pthread_mutex_t lock;
    pthread_cond_t freed;
    uint64_t next_turn, serving; /* of reservations: first come, first served */
    size_t reserved;             /* by those under way, and `kept` */
    size_t held;                 /* allocated, used or idle */
    size_t count[GX_MEM_KINDS];
    struct gx_mem *idle[GX_MEM_KINDS][GX_POOL_IDLE_MAX]; /* least recently used first */
};

/* limit: bytes; 0: none. */
void gx__pool_init(struct gx_pool *pool, struct gx_device *device, size_t limit,
                   struct gx_records *records);
/* Everything has been given back. */
void gx__pool_close(struct gx_pool *pool);

/* What there is for work: all but what buffers keep; SIZE_MAX: no limit. */
size_t gx__pool_room(struct gx_pool *pool);
/* Waits until `bytes` are free; a caller that waits must hold no reservation. Fails with
 * GX_ERR_OUT_OF_DEVICE_MEMORY if waiting would not help. */
gx_status gx__pool_reserve(struct gx_pool *pool, size_t bytes);
void gx__pool_release(struct gx_pool *pool, size_t bytes);
/* Whether a reservation is waiting, so that a caller that can release memory should do so. */
bool gx__pool_waited_for(struct gx_pool *pool);

/* A block of gx__bucket(bytes) (plan.h) that were reserved, with undefined contents; *mem is NULL
 * if bytes is 0. Only `bytes` of it may be used: what follows may be guarded (guard.h). Fails only
 * if the device has less than it said, even without idle blocks. */
gx_status gx__pool_get(struct gx_pool *pool, enum gx_mem_kind kind, size_t bytes,
                       struct gx_mem **mem);
/* The size of a block. */
size_t gx__pool_size(const struct gx_mem *mem);
/* Gives it back and clears *mem; NULL is fine. */
void gx__pool_put(struct gx_pool *pool, struct gx_mem **mem);

/* Memory of exactly that size for a buffer, which reserves it until it is freed. */
gx_status gx__pool_alloc(struct gx_pool *pool, enum gx_mem_kind kind, size_t bytes,
                         struct gx_mem *mem);
void gx__pool_free(struct gx_pool *pool, struct gx_mem *mem, size_t bytes);

#endif
