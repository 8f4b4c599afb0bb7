/* SPDX-License-Identifier: Apache-2.0
 *
 * Memory that jobs borrow from a device and give back: the last few pieces stay
 * ready, so that steady work allocates nothing.
 */
#ifndef GX_EXEC_POOL_H
#define GX_EXEC_POOL_H

#include <pthread.h>

#include "device/device.h"

/* A job holds two pieces at most: enough for 16 jobs under way at once. */
#define GX_POOL_IDLE_MAX 32

struct gx_pool {
    struct gx_device *device;
    struct gx_counters *counters;
    pthread_mutex_t lock;
    size_t count;
    struct gx_mem idle[GX_POOL_IDLE_MAX]; /* least recently used first */
};

void gx__pool_init(struct gx_pool *pool, struct gx_device *device, struct gx_counters *counters);

/* Memory of at least `bytes`, contents of no meaning. Any thread. */
gx_status gx__pool_get(struct gx_pool *pool, enum gx_mem_kind kind, size_t bytes,
                       struct gx_mem *mem);

/* Gives it back and clears *mem; zeroed memory that was never got is fine. */
void gx__pool_put(struct gx_pool *pool, struct gx_mem *mem);

/* Frees what is idle; everything must have been given back. */
void gx__pool_close(struct gx_pool *pool);

#endif
