/* SPDX-License-Identifier: Apache-2.0
 *
 * The host threads of a context: one crew, of as many as there are cores with the caller,
 * for all that is worth spreading, so that computing and copying share the cores instead
 * of fighting for them. Whoever has work takes part in it; idle threads help.
 *
 * Any number of threads may call at once, and a part may call again. A crew of zeroes is
 * one that has not been needed yet.
 */
#ifndef GX_BASE_CREW_H
#define GX_BASE_CREW_H

#include <pthread.h>
#include <stdalign.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct gx_instance;

/* `worker` is below `workers` of gx__crew_run, and no other thread that is at the same call
 * at the same time has it. */
typedef void (*gx_crew_fn)(void *arg, size_t part, uint32_t worker);

enum {
    GX_CREW_TASKS = 32,    /* at once; a caller beyond works alone */
    GX_CREW_HELPERS = 255, /* beside the caller */
    GX_CREW_LINE = 64      /* what is written often has a cache line of its own */
};

/* A place for the work of one call. `seats` holds how many helpers may still join, how many
 * are in, and whether the caller sleeps; who is in may read the rest, which changes only
 * while nobody is. */
struct gx_crew_task {
    alignas(GX_CREW_LINE) _Atomic uint64_t seats;
    _Atomic uint32_t over; /* changes when the last one leaves a caller that sleeps */
    gx_crew_fn fn;
    void *arg;
    size_t parts;
    uint32_t workers;
    uint32_t kind;
    alignas(GX_CREW_LINE) _Atomic size_t next; /* part to be taken */
};

enum gx_crew_kind {
    GX_CREW_COMPUTE,
    GX_CREW_COPY, /* first: a device waits for it, or somebody for what the device did */
    GX_CREW_KINDS
};

struct gx_crew {
    alignas(GX_CREW_LINE) _Atomic uint32_t wanted[GX_CREW_KINDS]; /* bit i: task[i] wants hands */
    _Atomic bool stop;
    alignas(GX_CREW_LINE) _Atomic uint32_t used; /* bit i: task[i] is somebody's */
    _Atomic uint32_t looking, asleep;            /* idle threads */
    _Atomic uint32_t bell;                       /* changes when sleepers are woken */
    _Atomic uint32_t state, started;
    _Atomic uint32_t lent; /* cores that others keep busy, see gx__crew_lend */
    _Atomic bool spins;    /* every thread can have a core */
    pthread_t thread[GX_CREW_HELPERS];
    struct gx_crew_task task[GX_CREW_TASKS];
};

/* Calls fn(arg, part, worker) for the parts 0 .. parts - 1, in no order, on this thread and
 * up to workers - 1 others, and returns when all are done. Starts the threads when they are
 * first needed; where none can be had, this thread does all. Allocates nothing. */
void gx__crew_run(struct gx_instance *instance, enum gx_crew_kind kind, uint32_t workers,
                  size_t parts, gx_crew_fn fn, void *arg);

/* A thread that is not of the crew keeps a core busy from now on, or no longer: calls that
 * begin meanwhile are content with a helper less, where there are several. */
void gx__crew_lend(struct gx_instance *instance, bool begin);

/* Ends the threads. Nothing is under way, and nothing follows but gx__crew_run anew. */
void gx__crew_end(struct gx_instance *instance);

/* Cores that this process may use. */
uint32_t gx__cores(void);

/* A thread of the library's own, to which no signals of the process go. */
bool gx__thread_start(pthread_t *thread, void *(*run)(void *), void *user);

/* Waiting without sleeping, for a bounded time: begin with zeroes, and look again as long as
 * gx__linger says yes. Others get the core now and then. */
struct gx_linger {
    uint64_t until;
    uint32_t turns;
};
bool gx__linger(struct gx_linger *linger);

#endif
