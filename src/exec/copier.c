/* SPDX-License-Identifier: Apache-2.0
 *
 * The thread pool hands out slices. They span regions; each thread remembers its position, because
 * the slices that it gets are in ascending order.
 */
#include "exec/copier.h"

#include <string.h>

#include "base/stream_copy.h"
#include "exec/pipe.h"

void gx__copier_init(struct gx_copier *copier, struct gx_instance *instance, uint32_t threads,
                     bool drops)
{
    threads = threads < GX_COPY_THREADS_MAX ? threads : GX_COPY_THREADS_MAX;
    *copier = (struct gx_copier){
        .instance = instance, .threads = threads, .drops = drops && gx__drops_lines()};
    pthread_mutex_init(&copier->lock, NULL);
    pthread_cond_init(&copier->watch, NULL);
    pthread_cond_init(&copier->done, NULL);
}

void gx__copier_close(struct gx_copier *copier)
{
    pthread_mutex_lock(&copier->lock);
    copier->stop = true;
    pthread_cond_signal(&copier->watch);
    pthread_mutex_unlock(&copier->lock);
    if (copier->started)
        pthread_join(copier->watcher, NULL);
    pthread_cond_destroy(&copier->done);
    pthread_cond_destroy(&copier->watch);
    pthread_mutex_destroy(&copier->lock);
}

/* ---- slices ---- */

struct task {
    const struct gx_host_region *regions;
    size_t count;
    struct {
        size_t region, start; /* its index, and the bytes before it */
    } at[GX_COPY_THREADS_MAX];
};

static size_t bytes_of(const struct gx_host_region *r)
{
    return r->size * gx__rows(r->rows);
}

/* Bytes from .. to of a region, counted through its rows. */
static void copy_part(const struct gx_host_region *r, size_t from, size_t to)
{
    while (from < to) {
        size_t row = from / r->size, skip = from % r->size, n = r->size - skip;
        n = n < to - from ? n : to - from;
        gx__stream_copy((char *)r->to + row * r->to_row + skip,
                        (const char *)r->from + row * r->from_row + skip, n);
        from += n;
    }
}

static void copy_slice(void *user, size_t slice, uint32_t worker)
{
    struct task *task = user;
    size_t from = slice * GX_COPY_SLICE, end = from + GX_COPY_SLICE;
    size_t region = task->at[worker].region, start = task->at[worker].start;
    while (region < task->count && start + bytes_of(&task->regions[region]) <= from)
        start += bytes_of(&task->regions[region++]);
    task->at[worker].region = region;
    task->at[worker].start = start;
    for (; region < task->count && start < end; start += bytes_of(&task->regions[region++])) {
        size_t bytes = bytes_of(&task->regions[region]);
        copy_part(&task->regions[region], from > start ? from - start : 0,
                  bytes < end - start ? bytes : end - start);
    }
}

static void copy_alone(const struct gx_host_region *r)
{
    for (size_t row = 0; row < gx__rows(r->rows); row++)
        memcpy((char *)r->to + row * r->to_row, (const char *)r->from + row * r->from_row, r->size);
}

void gx__copy(struct gx_copier *copier, const struct gx_host_region *regions, size_t count)
{
    size_t bytes = 0;
    for (size_t i = 0; i < count; i++)
        bytes += bytes_of(&regions[i]);
    if (bytes < 2 * GX_COPY_SLICE || copier->threads < 2) {
        for (size_t i = 0; i < count; i++)
            copy_alone(&regions[i]);
        return;
    }
    struct task task = {.regions = regions, .count = count};
    size_t slices = (bytes + GX_COPY_SLICE - 1) / GX_COPY_SLICE;
    gx__threads_run(copier->instance, GX_THREADS_COPY, copier->threads, slices, copy_slice, &task);
}

/* ---- caches ---- */

struct drop {
    struct gx_device *device;
    struct gx_fence until;
    const char *memory;
    size_t bytes;
};

static void drop_slice(void *user, size_t slice, uint32_t worker)
{
    const struct drop *d = user;
    size_t from = slice * GX_COPY_SLICE, left = d->bytes - from;
    (void)worker;
    if (!d->device->ops->reached(d->device, d->until))
        gx__drop_lines(d->memory + from, left < GX_COPY_SLICE ? left : GX_COPY_SLICE);
}

void gx__copier_drop(struct gx_copier *copier, struct gx_device *device, struct gx_fence until,
                     const void *memory, size_t bytes)
{
    struct drop drop = {device, until, memory, bytes};
    size_t slices = (bytes + GX_COPY_SLICE - 1) / GX_COPY_SLICE;
    if (copier->drops && bytes >= GX_COPY_DROP_BYTES)
        gx__threads_run(copier->instance, GX_THREADS_COPY, copier->threads, slices, drop_slice,
                        &drop);
}

/* ---- watching pipes ---- */

static void *watch(void *user)
{
    struct gx_copier *copier = user;
    pthread_mutex_lock(&copier->lock);
    while (!copier->stop) {
        if (!copier->watched)
            gx__linger_for(&copier->posted, atomic_load(&copier->posted), &copier->lock);
        struct gx_pipe *pipe = copier->watched;
        if (!pipe && !copier->stop)
            pthread_cond_wait(&copier->watch, &copier->lock);
        if (!pipe)
            continue;
        copier->watched = pipe->next_watched;
        copier->looked_at = pipe;
        pipe->watched = false;
        pthread_mutex_unlock(&copier->lock);
        if (gx__pipe_step(pipe, false))
            gx__copier_watch(copier, pipe);
        pthread_mutex_lock(&copier->lock);
        copier->looked_at = NULL;
        pthread_cond_broadcast(&copier->done);
    }
    pthread_mutex_unlock(&copier->lock);
    return NULL;
}

void gx__copier_watch(struct gx_copier *copier, struct gx_pipe *pipe)
{
    pthread_mutex_lock(&copier->lock);
    if (copier->threads > 1 && !copier->started)
        copier->started = gx__thread_start(&copier->watcher, watch, copier);
    if (!pipe->watched && copier->started) {
        struct gx_pipe **at = &copier->watched; /* the end of the list */
        while (*at)
            at = &(*at)->next_watched;
        *at = pipe;
        pipe->next_watched = NULL;
        pipe->watched = true;
        atomic_fetch_add(&copier->posted, 1);
        pthread_cond_signal(&copier->watch);
    }
    pthread_mutex_unlock(&copier->lock);
}

void gx__copier_unwatch(struct gx_copier *copier, struct gx_pipe *pipe)
{
    struct gx_linger linger = {0};
    bool lingers = true;
    pthread_mutex_lock(&copier->lock);
    while (copier->looked_at == pipe && lingers) { /* usually for a microsecond */
        pthread_mutex_unlock(&copier->lock);
        lingers = gx__linger(&linger);
        pthread_mutex_lock(&copier->lock);
    }
    while (copier->looked_at == pipe)
        pthread_cond_wait(&copier->done, &copier->lock);
    for (struct gx_pipe **at = &copier->watched; pipe->watched; at = &(*at)->next_watched) {
        if (*at != pipe)
            continue;
        *at = pipe->next_watched;
        pipe->watched = false;
        break;
    }
    pthread_mutex_unlock(&copier->lock);
}
