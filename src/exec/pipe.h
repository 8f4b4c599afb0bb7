/* SPDX-License-Identifier: Apache-2.0
 *
 * A pipe: a ring of groups in flight, each with a set of memory. For the files that implement it:
 * run.c (batches and their order), stages.c (the stages of one group) and copier.c (host copies).
 */
#ifndef GX_EXEC_PIPE_H
#define GX_EXEC_PIPE_H

#include "exec/batch.h"

#define GX_NO_BAD UINT32_MAX

enum { GX_COMMANDS = 3 }; /* of a group: upload, kernels, download */

/* Steps of one command at most: a copy for each registered operand and one for the staged
 * ones, a barrier before each dispatch or three around each copy of columns, and what is around
 * them. */
#define GX_STEPS_MAX (GX_GROUP_DISPATCHES * (GX_OPERANDS + 4) + 16)

/* On the host-visible path `up` and `down` are `device`, and not owned. */
struct gx_set {
    union {
        struct {
            struct gx_mem *up, *device, *down, *scratch;
        };
        struct gx_mem *part[GX_SET_PARTS];
    };
};

/* A group in flight. */
struct gx_inflight {
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
    struct gx_fence done;                        /* value 0: nothing was submitted */
    uint32_t hits;
    uint64_t start_ns, device_start_ns, end_ns, device_ns;
    uint64_t host_in_ns, record_ns, submit_ns, host_out_ns;
    uint64_t stage_ns[GX_COMMANDS]; /* by enum gx_queue */
};

/* Tables that a pipe keeps for the jobs in flight. */
#define GX_PIPE_TABLES 4u

struct gx_pipe {
    struct gx_engine *engine;
    struct gx_pipe *next; /* idle ones of the engine */

    struct gx_pipe *next_watched; /* the copier's, under its lock */
    bool watched;

    pthread_mutex_t lock;
    pthread_cond_t changed;
    uint64_t head, tail;       /* groups finished and started, under the lock */
    _Atomic uint64_t finished; /* groups ever: head starts over; set under the lock */
    bool finishing;            /* a thread has the group at head */

    /* The feeding thread's: */
    const struct gx_batch *batch; /* that it prepares, and how: */
    struct gx_plan_request asked;
    struct gx_plan plan;
    struct gx_set set[GX_SETS_MAX];
    uint32_t sets;
    gx_path path;
    struct gx_set_bytes have;
    size_t reserved;
    struct gx_table *table[GX_PIPE_TABLES];
    uint32_t tables;
    struct gx_resolved *resolved; /* of the jobs that are fed: `some` until they are more */
    size_t resolved_room;
    struct gx_resolved some[GX_PLAN_JOBS];
    struct gx_record record; /* with room for any command */
    struct gx_host_region in[GX_GROUP_DISPATCHES * GX_OPERANDS];

    /* Of whoever finishes: */
    struct gx_host_region out[GX_GROUP_DISPATCHES];
    uint64_t bad; /* what a pass before a job has found: of */
    struct gx_task check;

    struct gx_inflight inflight[GX_SETS_MAX + 1]; /* one more, to plan the next group in */
    struct gx_step steps[GX_STEPS_MAX];
};

static inline struct gx_inflight *gx__pipe_at(struct gx_pipe *pipe, uint64_t number)
{
    return &pipe->inflight[number % (GX_SETS_MAX + 1)];
}

/* ---- stages.c ---- */

/* The group that was planned at the tail: host operands into staging memory, commands recorded or
 * found, all submitted. False where that failed, and then nothing of it is under way. */
bool gx__group_start(struct gx_pipe *pipe, struct gx_batch *batch);
/* Waits for a group, checks what it found, and copies and reports its results. */
void gx__group_finish(struct gx_pipe *pipe, struct gx_inflight *f);
/* The job of the piece is refused. The set of the group is free for looking at the element. */
void gx__group_refuse(struct gx_pipe *pipe, struct gx_inflight *f, const struct gx_piece *piece,
                      uint64_t bad);

#endif
