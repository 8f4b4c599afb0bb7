/* SPDX-License-Identifier: Apache-2.0
 *
 * The internal interface of the router. A workspace holds everything the router needs for one call;
 * a shard is one share of a round as one device runs it. Workspaces are reused, so that steady work
 * does not allocate.
 */
#ifndef GX_ROUTE_WORKSPACE_H
#define GX_ROUTE_WORKSPACE_H

#include "base/error.h"
#include "route/partition.h"
#include "route/route.h"

/* A candidate of the current round, at the same index as in gx_question.candidates. */
struct gx_candidate_engine {
    struct gx_device_slot *slot;
    struct gx_engine *engine;     /* acquired */
    bool out;                     /* failed in this round */
    gx_status status;             /* why */
    uint64_t share_ns, meant;     /* planned share: predicted time, elements */
    uint64_t actual_ns, elements; /* work completed */
};

struct gx_shard {
    struct gx_workspace *ws;
    const struct gx_call *call;
    struct gx_candidate_engine *meant_for, *candidate; /* as planned; after failover, another */
    const struct gx_task *round;
    struct gx_share share;
    struct gx_task *jobs;       /* share.jobs of them */
    struct gx_outcome *reports; /* share.jobs of them */
    size_t next;                /* jobs before this one are complete: verified, or refused */
    char *spare;                /* temporary memory for in-place results; NULL: none */
    /* Partial results of jobs with one, of which the first and the last of a share can be a part.
     */
    uint64_t part[2][2 * GX_COORD_LIMBS];
    bool together;    /* other shards run at the same time */
    bool failed_over; /* runs on another device than planned */
    double predicted_ns;
    gx_status status;
    struct gx_error error;
    bool done; /* protected by the router's lock */
};

enum gx_room_for {
    GX_ROOM_PARTS,
    GX_ROOM_JOBS,
    GX_ROOM_ROUND,
    GX_ROOM_REPORTS,
    GX_ROOM_EXTENTS,
    GX_ROOM_SPARE,  /* results in place */
    GX_ROOM_COPIES, /* contents of device buffers */
    GX_ROOMS
};

/* Memory that grows. */
struct gx_room {
    void *memory;
    size_t bytes;
};

struct gx_workspace {
    struct gx_router *router;
    struct gx_engine *only; /* the one that must run all: named, or with all buffers. NULL: any */
    pthread_cond_t changed; /* a shard is done */
    size_t choices;         /* the first candidates, which the decision was between */
    size_t candidates;      /* with "cpu" added as the last resort */
    struct gx_candidate_engine candidate[GX_CANDIDATES_MAX + 1];
    struct gx_candidate_cost cost[GX_CANDIDATES_MAX];
    struct gx_question question;
    struct gx_decision decision;
    struct gx_error error; /* the first failure that another device made up for */
    size_t shards;
    struct gx_shard shard[GX_CANDIDATES_MAX];
    size_t part_count;
    struct gx_part *parts; /* these are in rooms */
    struct gx_task *jobs, *round;
    struct gx_outcome *reports;
    struct gx_extent *extents;
    char *spare, *copies;
    struct gx_room room[GX_ROOMS];
};

/* ---- workspace.c ---- */

/* An idle workspace or a new one; NULL: out of memory. */
struct gx_workspace *gx__workspace_take(struct gx_router *router);
void gx__workspace_give(struct gx_workspace *ws);
void gx__workspaces_free(struct gx_router *router);

/* Room for `count` items of `bytes` each; growing loses the contents. NULL: out of memory. */
void *gx__workspace_room(struct gx_workspace *ws, enum gx_room_for what, size_t count,
                         size_t bytes);

/* Has another thread run the shard. False: no thread is available, and the caller must run it. */
bool gx__shard_send(struct gx_workspace *ws, struct gx_shard *shard);
void gx__shard_await(struct gx_workspace *ws, const struct gx_shard *shard);
void gx__helpers_end(struct gx_router *router);

/* ---- shard.c ---- */

/* These functions need the default floating-point environment. */

/* Runs the jobs from `next` on, verifies the results, copies in-place results to their outputs, and
 * updates the model. status is GX_OK if each job is done or was rightly refused. */
void gx__shard_run(struct gx_shard *shard);
/* Sets `jobs` to what the device gets, with in-place results redirected to `spare`. False: they
 * need `spare`, and there is none. */
bool gx__shard_make_jobs(struct gx_shard *shard);
/* Joins partial results to those of the shards before this one. */
void gx__shard_join(const struct gx_shard *shard);
/* Bytes of `spare` needed on a device other than "cpu". */
size_t gx__shard_spare(struct gx_shard *shard);

/* ---- learn.c ---- */

/* The kind of a job. host: on "cpu", where residency and path make no difference. */
struct gx_kind gx__kind_of(const struct gx_instance *instance, const struct gx_task *job,
                           gx_path path, bool host);
/* Learns from jobs that took `ns` on a device. together: other shards ran at the same time. Needs
 * the default floating-point environment. */
void gx__learn(struct gx_instance *instance, struct gx_device_slot *slot,
               const struct gx_task *jobs, size_t count, gx_path path, uint64_t ns, bool together);
/* Adds one measurement: the time of a shard in thousandths of the time it takes alone. False, and
 * not added, if contention cannot explain it. */
bool gx__contention_learn(struct gx_contention *contention, double thousandths);
/* Contention alone prevented a split. After enough of these in a row, the factor is dropped, so
 * that the next split is tried and measured. */
void gx__contention_missed(struct gx_contention *contention);
void gx__contention_forget(struct gx_contention *contention);
/* The CPU-only limit: jobs like this one of up to so many elements run on "cpu" without a
 * decision. */
uint32_t gx__cpu_only_limit(struct gx_router *router, struct gx_device_slot *host,
                            const struct gx_task *job);
/* The approximate time of these jobs on "cpu". */
uint64_t gx__host_ns(const struct gx_instance *instance, const struct gx_device_slot *host,
                     const struct gx_task *jobs, size_t count);
extern const struct gx_predictor gx__predictor;

/* ---- round_run.c ---- */

/* Enters the engines of the candidates, predicts each one's time for these jobs, which are one
 * round, and decides. explore: an unmeasured candidate may be tried, and the decision counts. On
 * success gx__round_leave must follow; on failure the call's message says why. */
gx_status gx__round_decide(struct gx_workspace *ws, struct gx_call *call,
                           const struct gx_task *jobs, size_t count, bool explore);
void gx__round_leave(struct gx_workspace *ws);
/* Makes a shard of each portion of the decision. GX_ERR_OUT_OF_MEMORY. */
gx_status gx__round_make_shards(struct gx_workspace *ws, const struct gx_call *call,
                                const struct gx_task *jobs, size_t count);
/* Runs jobs first .. first + count of the call, which are one round. *reported of them have their
 * reports and are counted. On failure call->failed and call->error.text are set. */
gx_status gx__round_run(struct gx_workspace *ws, struct gx_call *call, size_t first, size_t count,
                        size_t *reported);

/* ---- named.c ---- */

/* Marks and counts the jobs of the call from `first` on as not run. */
void gx__not_run(struct gx_router *router, struct gx_call *call, size_t first, gx_status why);
/* Copies the result of a batch that begins at job `first` to the call. */
gx_status gx__take_result(struct gx_call *call, const struct gx_batch *batch, size_t first);
/* Fills the candidates of a job that had only one, and of all jobs first .. first + count. */
void gx__report_one(const struct gx_engine *engine, const struct gx_task *job, gx_path path,
                    struct gx_outcome *outcome);
void gx__report_alone(const struct gx_engine *engine, struct gx_call *call, size_t first,
                      size_t count);

/* In a buffer of a device other than "cpu". */
bool gx__in_device_buffer(const struct gx_place *operand);
/* The engine of the first such buffer of the job; NULL: the job is not resident. */
struct gx_engine *gx__resident_engine(const struct gx_task *job);
/* The same, buffers of "cpu" included. */
struct gx_engine *gx__buffer_engine(const struct gx_task *job);
/* The jobs from `first` on that run on the same engine, because it is named or has their buffers.
 * Clears their reports and sets the reason. On success the caller is a user of *engine; on failure
 * the call's message says why. */
gx_status gx__next_segment(struct gx_router *router, struct gx_call *call, size_t first,
                           struct gx_engine **engine, size_t *count, gx_reason *first_reason);
/* Resident jobs, which were not named, have run on their device: reports it, and its failure. */
void gx__end_resident(struct gx_workspace *ws, struct gx_call *call, size_t first, size_t count,
                      gx_status status);
/* Runs resident jobs of one device without verifying them; probes the device when due. As
 * gx__round_run. */
gx_status gx__run_resident(struct gx_workspace *ws, struct gx_call *call, size_t first,
                           size_t count, size_t *reported);

/* ---- via_host.c ---- */

/* The job has buffers on more than one device other than "cpu", or on one that has no kernel for
 * it. */
bool gx__must_go_via_host(const struct gx_task *job);
/* Replaces buffers of "cpu" by the host memory they are, and with `all` those of other devices by
 * memory of the workspace, to which no operand is copied yet. *out is workspace->round, or `jobs`
 * if there is nothing to replace. On failure message says why. */
gx_status gx__lay_out(struct gx_workspace *ws, const struct gx_task *jobs, size_t count, bool all,
                      const struct gx_task **out, struct gx_error *error);
/* Whether a job with buffers on one device finishes sooner elsewhere, copies included: then it runs
 * like that, too. Few do: inversions of a few elements, which take a GPU many passes. */
bool gx__pays_via_host(struct gx_workspace *ws, const struct gx_call *call, size_t index);
/* Runs one job of the call laid out in host memory. As gx__round_run. */
gx_status gx__run_via_host(struct gx_workspace *ws, struct gx_call *call, size_t index,
                           size_t *reported);

/* ---- report.c ---- */

/* Merges the results of the shards into the reports of jobs first .. first + count of the call, and
 * counts the jobs. Returns the first failure, which the call then has too. */
gx_status gx__report_round(const struct gx_workspace *ws, struct gx_call *call, size_t first,
                           size_t count, uint64_t elapsed_ns);
/* Fills the candidates of job j of the round, which has n elements. */
void gx__report_candidates(const struct gx_workspace *ws, size_t j, uint64_t n,
                           struct gx_outcome *outcome);
/* Counts the time of a successful round, measured from the decision, and the best prediction. */
void gx__report_regret(const struct gx_workspace *ws, uint64_t ns);

#endif
