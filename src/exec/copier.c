/* SPDX-License-Identifier: Apache-2.0
 *
 * Tasks lie on the stack of whoever wants them done; slices are handed out under one lock,
 * which at 128 KiB a slice nobody waits for.
 */
#include "exec/copier.h"

#include <signal.h>
#include <string.h>
#include <unistd.h>
#ifdef __SSE2__
#include <emmintrin.h>
#endif

#include "base/clock.h"
#include "exec/pipe.h"

struct gx_copy_task {
    struct gx_copy_task *next;
    const struct gx_host_region *regions;
    size_t count;
    size_t region, offset; /* the next slice */
    _Atomic size_t under_way;
};

/* A thread that has nothing to do looks out for more this long before it sleeps: waking up
 * costs as much as a copy of a megabyte. */
#define SPIN_NS 100000u

void gx__copier_init(struct gx_copier *copier, uint32_t threads)
{
    threads = threads < GX_COPY_THREADS_MAX ? threads : GX_COPY_THREADS_MAX;
    *copier = (struct gx_copier){.threads = threads,
                                 .spins = sysconf(_SC_NPROCESSORS_ONLN) > (long)threads};
    pthread_mutex_init(&copier->lock, NULL);
    pthread_cond_init(&copier->work, NULL);
    pthread_cond_init(&copier->done, NULL);
    pthread_cond_init(&copier->watch, NULL);
}

void gx__copier_close(struct gx_copier *copier)
{
    pthread_mutex_lock(&copier->lock);
    copier->stop = true;
    pthread_cond_broadcast(&copier->work);
    pthread_cond_broadcast(&copier->watch);
    pthread_mutex_unlock(&copier->lock);
    for (uint32_t i = 0; i < copier->started; i++)
        pthread_join(copier->thread[i], NULL);
    pthread_cond_destroy(&copier->watch);
    pthread_cond_destroy(&copier->done);
    pthread_cond_destroy(&copier->work);
    pthread_mutex_destroy(&copier->lock);
}

/* ---- slices ---- */

/* Past the caches: staging memory is read by the device next, and results of this size do
 * not fit them. It spares memory the reading of what is overwritten. */
static void copy_past_caches(void *to, const void *from, size_t size)
{
#ifdef __SSE2__
    enum { LINE = 64 };
    char *d = to;
    const char *s = from;
    size_t head = -(uintptr_t)d % LINE;
    head = head < size ? head : size;
    memcpy(d, s, head);
    for (d += head, s += head, size -= head; size >= LINE; d += LINE, s += LINE, size -= LINE)
        for (size_t i = 0; i < LINE; i += sizeof(__m128i))
            _mm_stream_si128((__m128i *)(void *)(d + i),
                             _mm_loadu_si128((const __m128i *)(const void *)(s + i)));
    memcpy(d, s, size);
    _mm_sfence(); /* before anyone is told */
#else
    memcpy(to, from, size);
#endif
}

/* Below this a copy past the caches is slower than one through them. */
#define PAST_CACHES_BYTES 16384u

static void copy_region(void *to, const void *from, size_t size)
{
    if (size < PAST_CACHES_BYTES)
        memcpy(to, from, size);
    else
        copy_past_caches(to, from, size);
}

/* Copies `bytes` from byte `offset` of region `i` on, across regions. */
static void copy_range(const struct gx_host_region *regions, size_t i, size_t offset, size_t bytes)
{
    while (bytes) {
        const struct gx_host_region *r = &regions[i];
        size_t left = r->size - offset, n = left < bytes ? left : bytes;
        copy_region((char *)r->to + offset, (const char *)r->from + offset, n);
        bytes -= n;
        offset += n;
        if (offset == r->size) {
            i++;
            offset = 0;
        }
    }
}

/* Takes a slice off a task, and the task off the list with its last; under the lock. Returns
 * its bytes. */
static size_t take(struct gx_copier *copier, struct gx_copy_task *task)
{
    size_t bytes = 0;
    while (task->region < task->count && bytes < GX_COPY_SLICE) {
        size_t left = task->regions[task->region].size - task->offset;
        size_t n = left < GX_COPY_SLICE - bytes ? left : GX_COPY_SLICE - bytes;
        bytes += n;
        task->offset += n;
        if (n == left) {
            task->region++;
            task->offset = 0;
        }
    }
    if (task->region == task->count) {
        struct gx_copy_task **at = &copier->tasks;
        while (*at != task)
            at = &(*at)->next;
        *at = task->next;
    }
    task->under_way++;
    return bytes;
}

/* Copies a slice, giving up the lock meanwhile. */
static void copy_slice(struct gx_copier *copier, struct gx_copy_task *task)
{
    size_t region = task->region, offset = task->offset, bytes = take(copier, task);
    pthread_mutex_unlock(&copier->lock);
    copy_range(task->regions, region, offset, bytes);
    pthread_mutex_lock(&copier->lock);
    if (!--task->under_way && task->region == task->count)
        pthread_cond_broadcast(&copier->done);
}

/* ---- threads ---- */

/* Under the lock, which it gives up meanwhile: until something was posted or it is time to
 * sleep. */
static void look_out(struct gx_copier *copier)
{
    uint64_t seen = atomic_load(&copier->posted), until = gx__now_ns() + SPIN_NS;
    if (!copier->spins)
        return;
    pthread_mutex_unlock(&copier->lock);
    while (atomic_load(&copier->posted) == seen && gx__now_ns() < until)
        gx__pause();
    pthread_mutex_lock(&copier->lock);
}

static void wait_for_others(struct gx_copier *copier, struct gx_copy_task *task)
{
    uint64_t until = gx__now_ns() + SPIN_NS;
    pthread_mutex_unlock(&copier->lock);
    while (copier->spins && atomic_load(&task->under_way) && gx__now_ns() < until)
        gx__pause();
    pthread_mutex_lock(&copier->lock);
    while (atomic_load(&task->under_way))
        pthread_cond_wait(&copier->done, &copier->lock);
}

static void *help(void *user)
{
    struct gx_copier *copier = user;
    pthread_mutex_lock(&copier->lock);
    while (!copier->stop) {
        if (!copier->tasks)
            look_out(copier);
        if (copier->tasks)
            copy_slice(copier, copier->tasks);
        else if (!copier->stop)
            pthread_cond_wait(&copier->work, &copier->lock);
    }
    pthread_mutex_unlock(&copier->lock);
    return NULL;
}

static void *watch(void *user)
{
    struct gx_copier *copier = user;
    pthread_mutex_lock(&copier->lock);
    while (!copier->stop) {
        if (!copier->watched)
            look_out(copier);
        struct gx_pipe *pipe = copier->watched;
        if (!pipe && !copier->stop)
            pthread_cond_wait(&copier->watch, &copier->lock);
        if (!pipe)
            continue;
        copier->watched = pipe->next_watched;
        copier->looked_at = pipe;
        pipe->watched = false;
        pthread_mutex_unlock(&copier->lock);
        if (gx__pipe_try_step(pipe))
            gx__copier_watch(copier, pipe);
        pthread_mutex_lock(&copier->lock);
        copier->looked_at = NULL;
        pthread_cond_broadcast(&copier->done);
    }
    pthread_mutex_unlock(&copier->lock);
    return NULL;
}

/* The first is the one that watches. Where a thread cannot be had, there are fewer. Under
 * the lock. */
static void start(struct gx_copier *copier)
{
    sigset_t all, before; /* the process' signals are not for us */
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    while (copier->started < copier->threads &&
           !pthread_create(&copier->thread[copier->started], NULL, copier->started ? help : watch,
                           copier))
        copier->started++;
    copier->threads = copier->started;
    pthread_sigmask(SIG_SETMASK, &before, NULL);
}

/* ---- the interface ---- */

void gx__copy(struct gx_copier *copier, const struct gx_host_region *regions, size_t count)
{
    size_t bytes = 0;
    for (size_t i = 0; i < count; i++)
        bytes += regions[i].size;
    if (bytes < 2 * GX_COPY_SLICE || copier->threads < 2) {
        for (size_t i = 0; i < count; i++)
            memcpy(regions[i].to, regions[i].from, regions[i].size);
        return;
    }
    struct gx_copy_task task = {.regions = regions, .count = count};
    pthread_mutex_lock(&copier->lock);
    if (copier->started < copier->threads)
        start(copier);
    task.next = copier->tasks;
    copier->tasks = &task;
    atomic_fetch_add(&copier->posted, 1);
    pthread_cond_broadcast(&copier->work);
    while (task.region < count)
        copy_slice(copier, &task);
    wait_for_others(copier, &task);
    pthread_mutex_unlock(&copier->lock);
}

void gx__copier_watch(struct gx_copier *copier, struct gx_pipe *pipe)
{
    pthread_mutex_lock(&copier->lock);
    if (copier->threads > 1 && copier->started < copier->threads)
        start(copier);
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
    pthread_mutex_lock(&copier->lock);
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
