/* SPDX-License-Identifier: Apache-2.0
 *
 * The thread pool of a context: with the caller as many threads as cores, for all work worth
 * spreading, so that computing and copying share the cores instead of competing for them. The
 * calling thread takes part in its own work; idle threads help. Any number of threads may call at
 * once, and parts may make nested calls. A zeroed pool has not been needed yet.
 */
#ifndef GX_BASE_THREADS_H
#define GX_BASE_THREADS_H

#include <pthread.h>
#include <stdalign.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/os.h"

struct gx_instance;

/* `worker` is less than `workers` of gx__threads_run; no other thread in the same call has the same
 * number at the same time. */
typedef void (*gx_threads_fn)(void *arg, size_t part, uint32_t worker);

enum {
    GX_THREADS_TASKS = 32,    /* concurrent tasks; further callers work alone */
    GX_THREADS_HELPERS = 255, /* besides the caller */
    GX_THREADS_LINE = 64      /* frequently written members get their own cache line */
};

/* The work of one call; a context has some of these, used again and again. `seats` holds how many
 * helpers may still join, how many are inside, and whether the caller sleeps. Helpers inside may
 * read the rest, which changes only when there are none. */
struct gx_threads_task {
    alignas(GX_THREADS_LINE) _Atomic uint64_t seats;
    _Atomic uint32_t over; /* changes when the last helper leaves and the caller sleeps */
    gx_threads_fn fn;
    void *arg;
    size_t parts;
    uint32_t workers;
    uint32_t kind;
    alignas(GX_THREADS_LINE) _Atomic size_t next; /* next part to be taken */
};

enum gx_threads_kind {
    GX_THREADS_COMPUTE,
    GX_THREADS_COPY, /* priority: a device waits for this, or someone waits for its results */
    GX_THREADS_KINDS
};

struct gx_threads {
    alignas(GX_THREADS_LINE) _Atomic uint32_t
        wanted[GX_THREADS_KINDS]; /* bit i: task[i] wants helpers */
    _Atomic bool stop;
    alignas(GX_THREADS_LINE) _Atomic uint32_t used; /* bit i: task[i] is in use */
    _Atomic uint32_t looking, asleep;               /* idle threads */
    _Atomic uint32_t bell;                          /* changes when sleepers are woken */
    _Atomic uint32_t state, started;
    _Atomic uint32_t lent; /* cores kept busy by other threads, see gx__threads_lend */
    _Atomic bool spins;    /* every thread can have a core */
    pthread_t thread[GX_THREADS_HELPERS];
    struct gx_threads_task task[GX_THREADS_TASKS];
};

/* The bit of a task in `wanted` and `used`. */
static inline uint32_t gx__threads_bit(const struct gx_threads *threads,
                                       const struct gx_threads_task *task)
{
    return (uint32_t)1 << (task - threads->task);
}

/* Calls fn(arg, part, worker) for the parts 0 .. parts - 1, in any order, on this thread and up to
 * workers - 1 others, and returns when all are done. Starts threads when they are first needed; if
 * none can be started, or the instance is NULL, this thread does everything. Does not allocate. */
void gx__threads_run(struct gx_instance *instance, enum gx_threads_kind kind, uint32_t workers,
                     size_t parts, gx_threads_fn fn, void *arg);
/* The same for computing, on all threads of the context. */
void gx__threads_spread(struct gx_instance *instance, size_t parts, gx_threads_fn fn, void *arg);

/* For parts that look for the first index of something: *least becomes `index` if that is less. */
static inline void gx__threads_found(_Atomic uint64_t *least, uint64_t index)
{
    uint64_t known = atomic_load(least);
    while (index < known && !atomic_compare_exchange_weak(least, &known, index))
        ;
}

/* A thread outside the pool keeps a core busy from now on, or no longer: calls that begin meanwhile
 * use one helper less, if they have several. */
void gx__threads_lend(struct gx_instance *instance, bool begin);

/* Stops the threads. No call may be in progress; gx__threads_run may follow and starts them again.
 */
void gx__threads_end(struct gx_instance *instance);

/* Waiting without sleeping, for a bounded time: start with zeroes, and check again as long as
 * gx__linger returns true. Yields the core now and then. */
struct gx_linger {
    uint64_t until;
    uint32_t turns;
};
bool gx__linger(struct gx_linger *linger);
/* Releases the lock and waits so until the number is another one, or it is time to sleep. */
void gx__linger_for(const _Atomic uint64_t *number, uint64_t seen, pthread_mutex_t *lock);

#endif
