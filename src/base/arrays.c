/* SPDX-License-Identifier: Apache-2.0
 *
 * See arrays.h. There are as many arrays as calls were under way at once, so the list is short.
 */
#include "base/arrays.h"

#include <stdint.h>

#include "base/alloc.h"

/* Larger ones are not kept. */
#define KEPT_MAX ((size_t)4 << 20)

struct gx_array {
    struct gx_array *next;
    size_t bytes;
    _Alignas(max_align_t) char memory[];
};

void gx__arrays_init(struct gx_arrays *arrays)
{
    arrays->idle = NULL;
    pthread_mutex_init(&arrays->lock, NULL);
}

void gx__arrays_close(struct gx_arrays *arrays, const gx_allocator *allocator)
{
    for (struct gx_array *a = arrays->idle, *next; a; a = next) {
        next = a->next;
        gx__free(allocator, a);
    }
    pthread_mutex_destroy(&arrays->lock);
}

void *gx__array_get(struct gx_arrays *arrays, const gx_allocator *allocator, size_t count,
                    size_t bytes)
{
    if (count > SIZE_MAX / 2 / bytes)
        return NULL;
    bytes *= count;
    pthread_mutex_lock(&arrays->lock);
    struct gx_array **at = &arrays->idle;
    while (*at && (*at)->bytes < bytes && (*at)->next)
        at = &(*at)->next;
    struct gx_array *array = *at;
    if (array)
        *at = array->next;
    pthread_mutex_unlock(&arrays->lock);
    if (array && array->bytes >= bytes)
        return array->memory;
    gx__free(allocator, array); /* too small: a larger one takes its place */
    array = gx__alloc(allocator, sizeof *array + bytes);
    if (!array)
        return NULL;
    array->bytes = bytes;
    return array->memory;
}

void gx__array_put(struct gx_arrays *arrays, const gx_allocator *allocator, void *memory)
{
    if (!memory)
        return;
    struct gx_array *array =
        (struct gx_array *)((char *)memory - offsetof(struct gx_array, memory));
    if (array->bytes > KEPT_MAX) {
        gx__free(allocator, array);
        return;
    }
    pthread_mutex_lock(&arrays->lock);
    array->next = arrays->idle;
    arrays->idle = array;
    pthread_mutex_unlock(&arrays->lock);
}
