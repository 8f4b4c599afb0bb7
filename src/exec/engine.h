/* SPDX-License-Identifier: Apache-2.0
 *
 * An engine is an open device and the policy around it: how a job becomes copies, dispatches and
 * fences. The same code serves every device.
 */
#ifndef GX_EXEC_ENGINE_H
#define GX_EXEC_ENGINE_H

#include "base/error.h"
#include "base/arrays.h"
#include "base/clock.h"
#include "exec/copier.h"
#include "exec/plan.h"
#include "exec/pool.h"
#include "exec/queue.h"
#include "exec/record.h"
#include "exec/registered_memory.h"
#include "exec/tables.h"
#include "exec/tally.h"
#include "field/field.h"
#include "op/task.h"

struct gx_device_slot;

/* What a device has done, with all engines that it had. */
struct gx_work {
    _Atomic uint64_t jobs, elements, busy_ns;
    struct gx_tallies tallies; /* a split job counts once, on the device that did most of it */
};

struct gx_engine {
    struct gx_device device;
    struct gx_instance *instance;
    atomic_bool lost; /* permanently; the router opens a new one */
    struct gx_pool pool;
    struct gx_records records;
    struct gx_imports imports;
    struct gx_copier copier;
    struct gx_plan_cache plans;
    struct gx_tables tables;
    pthread_mutex_t pipes_lock;
    struct gx_pipe *pipes;   /* idle ones, most recently used first */
    struct gx_arrays arrays; /* host memory of composed jobs */
    struct gx_worker worker;
    /* Jobs under way and live buffers. Opening and closing do not change it, because other threads
     * may do so at the same time. */
    _Atomic size_t users;
    struct gx_device_slot *slot; /* set by the router, as are: */
    bool checked;                /* the router runs batches, because it checks their results */
    struct gx_work *work;        /* where tickets are counted; NULL: nowhere */
    struct gx_engine *next;
};

/* Adds a user. Only for callers that know that the engine stays open: the router, and owners
 * of its buffers. */
static inline struct gx_engine *gx__engine_acquire(struct gx_engine *engine)
{
    atomic_fetch_add(&engine->users, 1);
    return engine;
}

static inline void gx__engine_release(struct gx_engine *engine)
{
    atomic_fetch_sub(&engine->users, 1);
}

/* Every status of the device must pass here: the loss of the device is remembered. */
static inline gx_status gx__engine_status(struct gx_engine *engine, gx_status status)
{
    if (status == GX_ERR_DEVICE_LOST || status == GX_ERR_TIMEOUT)
        atomic_store(&engine->lost, true);
    return status;
}

/* On failure nothing is open and message says what to do. */
gx_status gx__engine_open(struct gx_engine *engine, struct gx_instance *instance,
                          const char *device_name, struct gx_error *error);
/* It must have no users; it need not be open. */
void gx__engine_close(struct gx_engine *engine);

/* Nanoseconds, by the device's clock if it simulates time. */
static inline uint64_t gx__engine_now(struct gx_engine *engine)
{
    const struct gx_device_ops *ops = engine->device.ops;
    return ops->now ? ops->now(&engine->device) : gx__now_ns();
}

/* Whether the engine can run the job: an operation with parameters may have no kernel for its
 * device, a registered one a kernel that cannot be compiled, which is tried here, and one that
 * cannot be split may be too large. On GX_ERR_UNSUPPORTED message says why. */
gx_status gx__engine_has(struct gx_engine *engine, const struct gx_task *job,
                         struct gx_error *error); /* for operations with parameters */
static inline gx_status gx__engine_ready(struct gx_engine *engine, const struct gx_task *job,
                                         struct gx_error *error)
{
    return gx__op_has_params(job->op) ? gx__engine_has(engine, job, error) : GX_OK;
}

/* Waits for work on so many elements; GX_ERR_TIMEOUT if it takes absurdly long. */
gx_status gx__engine_wait(struct gx_engine *engine, struct gx_fence fence, uint64_t elements);

/* The jobs of one call on one engine: valid, in order, with buffers of this engine only. */
struct gx_batch {
    const struct gx_task *jobs; /* valid until done */
    size_t count;
    struct gx_outcome *reports; /* one per job, zeroed except for the reason; NULL: not wanted */
    struct gx_plan *plan;       /* not NULL: nothing runs, and this becomes the plan of it, if it is
                                   {0} before */
    gx_path path;
    gx_mode mode;
    uint32_t sets;   /* least groups in flight, because other batches may follow; 0: as planned */
    bool stream;     /* other batches are in flight or about to follow */
    bool uncounted;  /* its jobs are parts of others and do not count in the counters */
    bool attempt;    /* if there is no memory for a job, it is left to the caller: GX_PENDING */
    bool one_report; /* there is one for all jobs, in which they are added up */
    bool held;       /* the caller holds buffers for it (gx__tables_hold) */
    bool untimed;    /* the times in the reports are not needed, which saves some us */
    uint64_t submit_ns;              /* when it was submitted; 0: it did not wait */
    uint64_t queued_ns;              /* how long it waited */
    atomic_bool *cancel;             /* checked before each job starts; NULL: cannot be cancelled */
    void (*done)(struct gx_batch *); /* called once, from any thread, when nothing of it is
                                        under way; may be NULL */
    gx_status status;                /* the first failure, set before done */
    size_t failed;                   /* the first job that failed; GX_NO_JOB: none */

    /* Set by run.c and direct.c, under the lock of a pipe: */
    size_t next;     /* GX_PENDING: the job that is left to the caller; a batch on host memory goes
                        on with it */
    uint64_t traced; /* number of its first job in the trace */
    bool timed;      /* times are needed for reports or the trace */
    size_t open;     /* groups in flight */
    bool fed;        /* all are started */
    /* Set by the thread that finishes groups: */
    uint64_t job_start; /* of the current job ... */
    size_t job_groups;  /* ... and how many groups of it are finished */

    struct gx_error error;   /* out: why it failed */
    struct gx_outcome spare; /* of the current job if no reports are wanted */
};

/* A batch of `count` jobs that are those of the call from `first` on, or stand for them. Clears no
 * more than it must, because every call does this. */
static inline void gx__batch_set(struct gx_batch *batch, const struct gx_call *call,
                                 const struct gx_task *jobs, size_t first, size_t count)
{
    memset(batch, 0, offsetof(struct gx_batch, error));
    batch->jobs = jobs;
    batch->count = count;
    batch->reports = call->reports ? call->reports + first : NULL;
    batch->path = call->path;
    batch->mode = call->mode;
    batch->submit_ns = call->submit_ns;
    batch->queued_ns = call->queued_ns;
    batch->cancel = call->cancel;
}

/* Adds to the counters behind gx_counter and gx_metrics_prometheus; a failed job only counts as
 * failed. work: of the device that did it; may be NULL. */
void gx__count_job(struct gx_counters *c, struct gx_work *work, const struct gx_task *job,
                   const struct gx_outcome *r);

/* Runs a batch, as it is, on a device that works on host memory, and returns its status.
 * GX_PENDING: it is an attempt that has failed for lack of memory: the batch has begun, but nothing
 * of the job batch->next or of those after it; gx__batch_end must follow. Any thread. */
gx_status gx__direct_run(struct gx_engine *engine, struct gx_batch *batch);

/* On other devices a pipe takes batches one after the other and lets them overlap. One thread at a
 * time uses it. */
struct gx_pipe;
gx_status gx__pipe_open(struct gx_engine *engine, struct gx_pipe **pipe);
/* Returns when all groups of the batch are started; `done` may be called before that. False: an
 * attempt has failed, as GX_PENDING, with nothing of the batch done. */
bool gx__pipe_feed(struct gx_pipe *pipe, struct gx_batch *batch);
/* Finishes the oldest group in flight; false where there is none. Where another thread is at it:
 * waits for that, or returns false. */
bool gx__pipe_step(struct gx_pipe *pipe, bool wait);
/* Finishes all, and gives back the memory of the pipe. */
void gx__pipe_drain(struct gx_pipe *pipe);
void gx__pipe_close(struct gx_pipe *pipe); /* drains; NULL is fine */
/* All that were closed; the engine ends. */
void gx__pipes_free(struct gx_engine *engine);

#endif
