/* SPDX-License-Identifier: Apache-2.0
 *
 * What modes really took: for batches of one shape and each way to run them, how far the
 * estimate of cost.c is off. An estimate does not know everything about a machine, that host and
 * GPU share their cores for one; who measures need not know. Every batch that had a choice of modes
 * teaches, whoever chose the mode, unless another such batch was under way on its engine.
 */
#ifndef GX_EXEC_MODES_H
#define GX_EXEC_MODES_H

#include <pthread.h>

#include "exec/plan.h"

/* Shapes that are remembered; the one that was not seen for longest makes room. */
#define GX_SHAPES 64u
/* Batches of a shape and way whose median counts, from so many on. */
#define GX_MODE_SAMPLES 15u
#define GX_MODE_ENOUGH  3u

struct gx_seen {
    uint32_t ratio[GX_MODE_SAMPLES]; /* taken over estimated, GX_RATIO_ONE is 1 */
    uint32_t median;                 /* 0: not enough of them */
    uint32_t next, count;
    uint64_t turn; /* when it was last tried or measured */
};
#define GX_RATIO_ONE 65536u

struct gx_shape {
    uint64_t key;                               /* 0: free */
    uint64_t used;                              /* when, by `started` */
    uint64_t turns;                             /* batches */
    enum gx_way settled[GX_MODE_PIPELINED + 1]; /* by what was asked for */
    enum gx_way last;                           /* run, whyever */
    enum gx_way trial;                          /* under way, for so many more: */
    uint32_t left;
    struct gx_seen way[GX_WAYS];
};

struct gx_modes {
    pthread_mutex_t lock; /* of all below; held for a microsecond */
    uint64_t started;     /* batches */
    size_t running;
    struct gx_shape shape[GX_SHAPES];
};

/* What one batch may teach; zeroed: nothing, and it is not under way. */
struct gx_lesson {
    bool open;
    bool counts; /* so far */
    enum gx_way way;
    uint64_t shape, number, estimate_ns, start_ns;
};

void gx__modes_init(struct gx_modes *modes);
void gx__modes_close(struct gx_modes *modes);

/* What tells batches apart, in steps of half a power of two; 0: nothing can be learned. */
uint64_t gx__shape_of(const gx_job *jobs, size_t count, const struct gx_asked *asked);

/* Changes nothing. */
void gx__modes_known(struct gx_modes *modes, uint64_t shape, gx_mode asked, struct gx_known *known);

/* A batch that was planned starts. Each start has one end, in integers only, so that it leaves no
 * trace in the caller's floating-point state; `whole`: nothing failed or was cancelled. */
void gx__modes_start(struct gx_modes *modes, uint64_t shape, const struct gx_plan *plan,
                     uint64_t now_ns, struct gx_lesson *lesson);
/* A trial that was planned cannot start, for want of memory: it is not tried again soon. */
void gx__modes_give_up(struct gx_modes *modes, uint64_t shape, const struct gx_plan *plan);
void gx__modes_end(struct gx_modes *modes, struct gx_lesson *lesson, uint64_t now_ns, bool whole);

#endif
