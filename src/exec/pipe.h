/* SPDX-License-Identifier: Apache-2.0
 *
 * The inside of a pipe: a ring of groups in flight, each with a set of memory. What the
 * files of it share: run.c (batches and their order), stages.c (what happens to one
 * group), copier.c (who helps).
 */
#ifndef GX_EXEC_PIPE_H
#define GX_EXEC_PIPE_H

#include "exec/batch.h"
#include "exec/plan.h"

#define GX_NO_BAD UINT32_MAX

enum { GX_COMMANDS = 3 }; /* of a group: upload, kernels, download */

/* Steps of one command at most: a copy for each registered operand and one for the staged
 * ones, a barrier before each dispatch, and what is around them. */
#define GX_STEPS_MAX (GX_GROUP_DISPATCHES * (GX_OPERANDS + 2) + 16)

/* On the host-visible path `up` and `down` are `device`, and not owned. */
struct gx_set {
    struct gx_mem *up, *device, *down, *scratch;
};

struct gx_flight {
    struct gx_group group;
    struct gx_batch *batch;
    struct gx_set *set;
    gx_path path;
    gx_mode mode;
    bool stamped; /* its commands take times */
    size_t commands;
    struct gx_ready *ready[GX_COMMANDS];
    uint32_t stamps[GX_COMMANDS];
    enum gx_queue stage[GX_COMMANDS][GX_STAMPS]; /* between stamp i and the next */
    struct gx_point done;                        /* value 0: nothing was submitted */
    uint32_t hits;
    uint64_t start_ns, submit_ns, end_ns, device_ns;
    uint64_t host_in_ns, host_out_ns, stage_ns[GX_COMMANDS]; /* by enum gx_queue */
};

struct gx_pipe {
    struct gx_engine *engine;
    struct gx_pipe *next; /* idle ones of the engine */

    struct gx_pipe *next_watched; /* the copier's, under its lock */
    bool watched;

    bool shared; /* a thread beside the one that feeds may look into it */
    pthread_mutex_t lock;
    pthread_cond_t changed;
    uint64_t head, tail;       /* groups finished and started, under the lock */
    _Atomic uint64_t finished; /* groups ever: head begins anew, and who waits must not be taken
                                  in; set under the lock */
    bool finishing;            /* someone has the group at head */

    /* The feeding thread's: */
    struct gx_set set[GX_SETS_MAX];
    uint32_t sets;
    gx_path path;
    struct gx_set_bytes have;
    size_t reserved;
    struct gx_record record; /* with room for any command */
    struct gx_host_region in[GX_GROUP_DISPATCHES * GX_OPERANDS];

    /* Of whoever finishes: */
    struct gx_host_region out[GX_GROUP_DISPATCHES];
    uint64_t bad; /* what a pass before a job has found */

    struct gx_flight flight[GX_SETS_MAX + 1]; /* one more, to plan the next group in */
    struct gx_step steps[GX_STEPS_MAX];
};

/* Nanoseconds, by the device's clock where it models one. */
uint64_t gx__engine_now(struct gx_engine *engine);

/* Finishes the oldest group unless someone is at it; false where there was nothing to do. */
bool gx__pipe_try_step(struct gx_pipe *pipe);

/* ---- stages.c ---- */

/* Host operands into staging memory, commands recorded or found, all submitted. On failure
 * nothing is under way and nothing is held. */
gx_status gx__stage_start(struct gx_pipe *pipe, struct gx_flight *flight,
                          const struct gx_plan *plan);
/* Waits for it and reads its times; gives back what it held but the set. */
gx_status gx__stage_wait(struct gx_pipe *pipe, struct gx_flight *flight);
/* *found: the first piece with an element that is not below the modulus, and *bad which;
 * or group.count. */
gx_status gx__stage_check(struct gx_pipe *pipe, struct gx_flight *flight, size_t *found,
                          uint64_t *bad);
/* The results of the first `count` pieces to where they belong. */
gx_status gx__stage_out(struct gx_pipe *pipe, struct gx_flight *flight, size_t count);
/* Which operand of the piece has the bad element; 0: none any more, or it cannot be read. */
char gx__stage_find(struct gx_pipe *pipe, struct gx_flight *flight, const struct gx_piece *piece,
                    uint64_t index);

/* ---- run.c, for direct.c ---- */

/* gx__engine_run and gx__engine_plan on a device that has commands. */
gx_status gx__pipe_run(struct gx_engine *engine, struct gx_batch *batch);
gx_status gx__pipe_plan(struct gx_engine *engine, struct gx_batch *batch, uint64_t chunk_elems,
                        struct gx_asked *asked, struct gx_plan *plan);

#endif
