/* SPDX-License-Identifier: Apache-2.0
 *
 * A job as a list of steps with temporaries. A way to compose a job lowers it to such a list;
 * gx__composition_run runs the list or plans it, and lowers the job again for less memory where
 * that is short.
 */
#ifndef GX_COMPOSE_COMPOSITION_H
#define GX_COMPOSE_COMPOSITION_H

#include "base/error.h"
#include "base/threads.h"
#include "exec/buffer.h"

struct gx_composition;

/* One step: work of the host, tasks for the device, work of the host, `times` times; the
 * composition's `time` counts them. Each part may be missing. */
struct gx_part_step {
    size_t times;
    void (*before)(struct gx_composition *c);
    size_t together; /* most tasks at once */
    /* Sets the tasks, which run as one batch, and returns how many there are. */
    size_t (*tasks)(struct gx_composition *c, struct gx_task *tasks);
    gx_status (*after)(struct gx_composition *c);
    bool writes; /* its tasks write the results of the job */
};

/* Memory that steps share; freed however they end. */
struct gx_temporary {
    size_t bytes;            /* 0: there is none */
    bool device;             /* on the device, or else of the host */
    bool kept;               /* of the device, ready for the next job */
    struct gx_place at;      /* set while steps run */
    struct gx_table *memory; /* that is kept */
};

#define GX_COMPOSITION_STEPS       4
#define GX_COMPOSITION_TEMPORARIES 4

struct gx_composition {
    struct gx_engine *engine;
    struct gx_pipe *pipe; /* of its tasks; NULL on a device that works on host memory */
    const struct gx_task *job;
    const struct gx_batch *caller;
    struct gx_outcome *outcome; /* of the job: what its tasks took is added up */
    struct gx_error error;      /* why it failed; may be empty */

    /* Set by the way: */
    void *user;
    bool held;   /* the job holds tables or buffers (gx__tables_hold) */
    bool nested; /* its tasks may be composed in turn */
    gx_path path;
    gx_mode mode;
    /* ... and by its lowering, anew each time: */
    size_t rounds; /* how often all steps are done; `round` of them are */
    size_t steps;
    struct gx_part_step step[GX_COMPOSITION_STEPS];
    struct gx_temporary temporary[GX_COMPOSITION_TEMPORARIES];

    /* The runner's: */
    struct gx_task *tasks, task; /* of a step */
    struct gx_plan plan;         /* of the steps, if they are planned, not run: caller->plan */
    size_t round, time;          /* of the step that is done */
    int lacking;                 /* the temporary for which there was no memory; -1: none */
    bool wrote; /* some results of the job are there, which may have replaced operands */
};

/* Lowers and runs; on failure nothing was written, unless the device failed. A lowering sets steps
 * and temporaries. `less` makes it take less memory than the last time; false: there is no less;
 * NULL: it never can. */
gx_status gx__composition_run(struct gx_composition *c,
                              gx_status (*lower)(struct gx_composition *c),
                              bool (*less)(struct gx_composition *c));

/* Runs tasks as one batch, or adds the plan of so many times that. */
gx_status gx__composition_tasks(struct gx_composition *c, const struct gx_task *tasks, size_t count,
                                uint64_t times);

/* Whether the job can be done again from its start: its operands are as they were. */
bool gx__composition_repeatable(const struct gx_composition *c);

static inline uint64_t gx__least(uint64_t a, uint64_t b)
{
    return a < b ? a : b;
}

/* What stands for memory in a plan. */
#define GX_PLANNED ((uintptr_t)4096)

/* ---- the ways ---- */

/* GX_MSM on a device with commands: as GX_OP_MSM_SUMS of some of the points at a time. */
gx_status gx__compose_msm(struct gx_composition *c);

/* The table of points that sums use: the points, and after each its multiples, which the device
 * makes, as many as points->table_bytes and the memory of the device allow; until gx__table_put.
 * May wait for memory: the caller must hold no reservation. */
gx_status gx__table_with_multiples(struct gx_engine *engine, struct gx_pipe *pipe,
                                   const struct gx_points *points, struct gx_table **table);

/* One large transform in host memory: it cannot be cut, so its copies would not overlap each other.
 * Instead they are tasks of their own, between the caller's memory and a temporary. */
bool gx__upload_wanted(const struct gx_engine *engine, const struct gx_task *job);
gx_status gx__compose_upload(struct gx_composition *c);

/* Transforms that do not fit the memory of a device, or one of its dispatches. */
bool gx__six_step_possible(const struct gx_task *job);
gx_status gx__compose_six_step(struct gx_composition *c);

#endif
