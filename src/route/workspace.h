/* SPDX-License-Identifier: Apache-2.0
 *
 * What the files of the router share: a workspace is the memory of one call that is being routed,
 * an shard is one share of it on its way. Desks are kept, so that nothing is allocated once
 * warm.
 */
#ifndef GX_ROUTE_WORKSPACE_H
#define GX_ROUTE_WORKSPACE_H

#include "route/route.h"
#include "route/rounds.h"

/* A device that is considered, by number: as in gx_question.candidates. */
struct gx_candidate_engine {
    struct gx_device_slot *slot;
    struct gx_engine *engine;     /* acquired */
    bool out;                     /* it failed in this call, */
    gx_status status;             /* and why */
    uint64_t share_ns, meant;     /* its share of the round: predicted, and elements */
    uint64_t actual_ns, elements; /* what it did */
};

struct gx_shard {
    struct gx_router *router;
    const struct gx_call *call;
    struct gx_candidate_engine *meant_for, *candidate; /* who was to do it, and who does */
    const gx_job *round;
    struct gx_share share;
    gx_job *jobs;               /* share.jobs of them */
    struct gx_outcome *reports; /* likewise */
    size_t next;                /* those before are done, and right or refused */
    char *spare; /* room for results that would replace operands; NULL: none needed */
    /* Results of reductions that are shared with other shards: only the first and the last job
     * of a share can be. */
    uint64_t part[2][GX_LIMBS_MAX];
    bool together;    /* with others, at the same time */
    bool failed_over; /* not done by whom it was meant for */
    double predicted_ns;
    gx_status status;
    char message[160];
    uint64_t sampled;
    bool done; /* under the lock of the router */
};

struct gx_workspace {
    struct gx_workspace *next;
    pthread_cond_t changed; /* an shard is done */
    size_t choices;         /* the first candidates, who were there to choose from */
    size_t candidates;      /* and who had to come in after */
    struct gx_candidate_engine candidate[GX_CANDIDATES_MAX + 1]; /* "cpu" may come in at the end */
    struct gx_candidate_cost cost[GX_CANDIDATES_MAX];
    struct gx_question question;
    struct gx_decision decision;
    char message[160]; /* what went wrong first, and was got over */
    size_t shards;
    struct gx_shard shard[GX_CANDIDATES_MAX];
    size_t part_count, part_room;
    struct gx_part *parts;
    size_t job_room, report_room, round_room, spare_room, lent_room, copies_room;
    gx_job *jobs, *round;
    struct gx_outcome *reports;
    char *spare, *lent;
    char *copies; /* copies of what is in buffers of devices */
};

/* ---- workspace.c ---- */

/* NULL: no memory. */
struct gx_workspace *gx__workspace_take(struct gx_router *router);
void gx__workspace_give(struct gx_router *router, struct gx_workspace *ws);
void gx__workspaces_free(struct gx_router *router);

/* Room for so many of `bytes` each, in *memory, which has room for *room now; contents are
 * lost. False: no memory, and there is none. */
bool gx__workspace_reserve(struct gx_router *router, void *memory, size_t *room, size_t count,
                           size_t bytes);

/* Has another thread run the shard. False: none can be had, and nothing has happened. */
bool gx__shard_send(struct gx_router *router, struct gx_workspace *ws, struct gx_shard *shard);
/* Waits until it is done. */
void gx__shard_await(struct gx_router *router, struct gx_workspace *ws,
                     const struct gx_shard *shard);
void gx__helpers_end(struct gx_router *router);

/* ---- shard.c ---- */

/* All of these compute with floats: the caller has set its own state aside. */

/* Runs its jobs from `next` on, looks at the results, brings them where they belong, and
 * learns from it. status is GX_OK where all are done, or refused for what is in them. */
void gx__shard_run(struct gx_shard *shard);
/* Its jobs as the device would get them. False where there is no `spare` for them. */
bool gx__shard_aim(struct gx_shard *shard);
/* Joins the results of its parts of reductions to those of the shards before it. */
void gx__shard_join(const struct gx_shard *shard);
/* Bytes of `spare` it would need. */
size_t gx__shard_spare(const struct gx_shard *shard);

/* ---- learn.c ---- */

struct gx_kind gx__kind_of(const struct gx_instance *instance, const gx_job *job, gx_path path,
                           bool host);
/* Jobs on a device took so long, together with other shares of the same round or not. The
 * floating-point state is ours. */
void gx__learn(struct gx_instance *instance, struct gx_device_slot *slot, const gx_job *jobs,
               size_t count, gx_path path, uint64_t ns, bool together);
/* A share took so many thousandths of what it takes alone. False where that is beyond what
 * others can do to it, and it is not taken in. */
bool gx__contention_learn(struct gx_contention *contention, double thousandths);
/* It spoke against a split that was worth trying otherwise: when that has happened often
 * enough, most of it is forgotten, and the next one is tried. */
void gx__contention_missed(struct gx_contention *contention);
void gx__contention_forget(struct gx_contention *contention);
/* Elements that are for "cpu", without a decision. */
uint32_t gx__cpu_only_limit(struct gx_router *router, struct gx_device_slot *host,
                            const gx_job *job);
extern const struct gx_predictor gx__predictor;

/* ---- round.c ---- */

/* Who is there to choose from for these jobs, which are one round, what each would take, and
 * the decision. The engines are entered until gx__round_leave. On failure message says why, and
 * none is. */
gx_status gx__round_decide(struct gx_router *router, struct gx_workspace *ws, gx_policy policy,
                           gx_path path, const gx_job *jobs, size_t count, bool explore,
                           char *message, size_t message_size);
void gx__round_leave(struct gx_workspace *ws);
/* One shard for each portion. GX_ERR_OUT_OF_MEMORY. */
gx_status gx__round_carve(struct gx_router *router, struct gx_workspace *ws,
                          const struct gx_call *call, const gx_job *jobs, size_t count);
/* Runs jobs first .. first + count of the call, which are one round. *reported of them have
 * reports then and are counted; of a failure the call knows. */
gx_status gx__round_run(struct gx_router *router, struct gx_workspace *ws, struct gx_call *call,
                        size_t first, size_t count, size_t *reported);
/* Operands in buffers of "cpu" as the host memory they are; *out is `jobs` where there are
 * none. GX_ERR_OUT_OF_MEMORY. */
gx_status gx__round_plain(struct gx_router *router, struct gx_workspace *ws, const gx_job *jobs,
                          size_t count, const gx_job **out);

/* ---- named.c ---- */

/* Jobs of the call from `first` on do not run. */
void gx__not_run(struct gx_router *router, struct gx_call *call, size_t first, gx_status why);
/* Nor do these, as `job` failed before it was begun: the call's message says why. */
void gx__fail_before(struct gx_router *router, struct gx_call *call, size_t job, gx_status status);
/* What came of a batch of the call that begins at job `first`. */
gx_status gx__take_result(struct gx_call *call, const struct gx_batch *batch, size_t first);
/* Of a job that only one device was considered for. */
void gx__report_one(const struct gx_device_slot *slot, const struct gx_kind *kind, uint64_t n,
                    struct gx_outcome *outcome);

/* It lies in a buffer of a device other than "cpu". */
bool gx__in_device_buffer(const gx_operand *operand);
/* The engine of the first such buffer of a job; NULL: it has none. */
struct gx_engine *gx__resident_engine(const gx_job *job);
/* Where a job runs that a device is named for, or that has all its buffers on one, and why. On
 * success the caller is a user of *engine; on failure message says why. */
gx_status gx__find_engine(struct gx_router *router, const gx_job *job, const char *device,
                          struct gx_engine **engine, gx_reason *reason, char *message, size_t size);
/* The jobs from `first` on that run on one engine: the one that is named, or has their buffers.
 * Their reports are cleared but for the reason. On success the caller is a user of it; on failure
 * the call's message says why. */
gx_status gx__next_segment(struct gx_router *router, struct gx_call *call, size_t first,
                           struct gx_engine **engine, size_t *count, gx_reason *first_reason);
/* Runs jobs whose buffers are all on one device. As gx__round_run. */
gx_status gx__run_resident(struct gx_router *router, struct gx_workspace *ws, struct gx_call *call,
                           size_t first, size_t count, size_t *reported);

/* Runs a batch on an engine, without looking at its results. Returns what it took; 0: nobody
 * looked at the clock. */
uint64_t gx__run_on_engine(struct gx_engine *engine, struct gx_batch *batch);
/* So many jobs more, that took ns, have their results in buffers of the engine: it has to prove
 * itself where that is due. GX_ERR_DEVICE where it cannot, and message says what that means. */
gx_status gx__prove(struct gx_router *router, struct gx_engine *engine, const gx_job *jobs,
                    size_t count, uint64_t ns, char *message, size_t message_size);
/* ---- route.c ---- */

/* The rounds of these jobs, with memory of the workspace. GX_ERR_OUT_OF_MEMORY. */
gx_status gx__find_rounds(struct gx_router *router, struct gx_workspace *ws, const gx_job *jobs,
                          size_t count, struct gx_rounds *rounds);

/* ---- check.c ---- */

/* gx__run_on_engine in steps, with results compared as gx_config.sample_every says: those in host
 * memory, and where all of them are to be, those in buffers too. A result that differs is
 * GX_ERR_DEVICE, and the device is what gx__health_gave_wrong_result makes of it. What came of the
 * batch is as if it had been run at once, and its jobs are counted. */
void gx__check_run(struct gx_router *router, struct gx_engine *engine, struct gx_batch *batch);

/* ---- mixed.c ---- */

/* Its buffers are on more than one such device. */
bool gx__is_mixed(const gx_job *job);
/* The jobs as they are in host memory, into workspace->round; nothing is copied yet.
 * GX_ERR_OUT_OF_MEMORY. */
gx_status gx__lay_out(struct gx_router *router, struct gx_workspace *ws, const gx_job *jobs,
                      size_t count);
/* Reads the operands of a job that is laid out. On failure message says why. */
gx_status gx__read_operands(struct gx_router *router, const gx_job *job, const gx_job *laid_out,
                            char *message, size_t size);
/* Runs one job of the call with buffers on several devices. As gx__round_run. */
gx_status gx__run_mixed(struct gx_router *router, struct gx_workspace *ws, struct gx_call *call,
                        size_t index, size_t *reported);

/* ---- report.c ---- */

/* What the shards did, into the reports of the jobs first .. first + count of the call and
 * the counters. Returns the first failure, of which the call knows then. */
gx_status gx__report_round(struct gx_router *router, const struct gx_workspace *ws,
                           struct gx_call *call, size_t first, size_t count, uint64_t elapsed_ns);
/* Who was considered for job j of the round, of n elements, and what came of it. */
void gx__report_candidates(const struct gx_workspace *ws, size_t j, uint64_t n,
                           struct gx_outcome *outcome);
/* Counts what the round, which went well, took from the decision on, and what was predicted. */
void gx__report_regret(struct gx_router *router, const struct gx_workspace *ws, uint64_t ns);

#endif
