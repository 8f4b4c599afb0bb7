/* SPDX-License-Identifier: Apache-2.0
 *
 * Arrays that a call needs, kept for the next call, so that steady work allocates nothing.
 */
#ifndef GX_BASE_ARRAYS_H
#define GX_BASE_ARRAYS_H

#include <pthread.h>

#include "gpuexec.h"

struct gx_array;

struct gx_arrays {
    pthread_mutex_t lock;
    struct gx_array *idle;
};

void gx__arrays_init(struct gx_arrays *arrays);
/* All have been given back. */
void gx__arrays_close(struct gx_arrays *arrays, const gx_allocator *allocator);

/* Memory for `count` items of `bytes` each, with any contents; NULL: there is none. */
void *gx__array_get(struct gx_arrays *arrays, const gx_allocator *allocator, size_t count,
                    size_t bytes);
/* Gives it back; NULL is fine. */
void gx__array_put(struct gx_arrays *arrays, const gx_allocator *allocator, void *memory);

#endif
