/* SPDX-License-Identifier: Apache-2.0
 *
 * Asynchronous work: tickets, the bounded queue of a context, and the worker threads of an engine
 * that feed tickets into a pipe. gx_run does not use any of this.
 */
#ifndef GX_EXEC_QUEUE_H
#define GX_EXEC_QUEUE_H

#include <pthread.h>
#include <stdbool.h>

#include "base/error.h"
#include "base/instance.h"
#include "exec/outcome.h"

/* Default limit of jobs in unfinished tickets. */
#define GX_QUEUE_JOBS ((uint64_t)4096)
/* One thread waits for the device while the other prepares the next ticket. */
#define GX_WORKER_THREADS 2u

/* Threads for tickets whose devices are chosen when their turn comes. */
#define GX_ROUTER_THREADS 4u

struct gx_batch;
struct gx_engine;
struct gx_pipe;
struct gx_backlog; /* of a context; stays while there are tickets */
struct gx_ticket;

/* Of an engine; started by its first ticket. All under the lock of the queue. */
struct gx_worker {
    pthread_t thread[GX_WORKER_THREADS];
    uint32_t started;
    pthread_cond_t work;
    struct gx_pipe *pipe;
    struct gx_ticket *waiting, **waiting_end; /* tickets, the oldest first */
    uint64_t fed;                             /* tickets, since the start */
    bool feeding, finishing;                  /* a thread does so */
    bool full;                                /* there may be groups in flight */
    bool holds;                               /* the pipe may have memory */
    bool stop;
};

/* Jobs of one call. */
struct gx_call {
    const struct gx_task *jobs; /* valid until the call is done */
    size_t count;
    struct gx_outcome *reports; /* one per job; NULL: not wanted */
    const char *device;         /* that the call names; NULL: none */
    gx_path path;
    gx_mode mode;
    gx_policy policy;
    uint64_t submit_ns;    /* when it was submitted; 0: it did not wait */
    uint64_t queued_ns;    /* how long it waited */
    atomic_bool *cancel;   /* NULL: cannot be */
    size_t failed;         /* out: the first job that failed */
    struct gx_error error; /* out: why it failed */
};
/* Runs the call, reports and counts every job, and returns the first failure. */
typedef gx_status (*gx_route_fn)(void *user, struct gx_call *call);
/* Runs a batch on an engine; the outcome is in the batch. */
typedef void (*gx_run_on_fn)(void *user, struct gx_engine *engine, struct gx_batch *batch);
/* Runs a batch through the pipe of a worker, and returns when all is started; pipe NULL: when all
 * is done. */
typedef void (*gx_feed_fn)(struct gx_engine *engine, struct gx_pipe *pipe, struct gx_batch *batch);

void gx__worker_init(struct gx_worker *worker);
/* No ticket of the engine is pending. */
void gx__worker_close(struct gx_engine *engine);

/* The queue must outlive the engines of the instance; NULL: no memory. `route` runs tickets
 * whose jobs have no engine, `there` those on engines that are `checked`, `feed` the others. */
struct gx_backlog *gx__queue_open(struct gx_instance *instance, gx_route_fn route,
                                  gx_run_on_fn there, void *user, gx_feed_fn feed);
/* Returns when no ticket is pending. */
void gx__queue_drain(struct gx_backlog *queue);
void gx__queue_cancel(struct gx_backlog *queue);
/* The engines are closed; tickets may be freed later. */
void gx__queue_close(struct gx_backlog *queue);

/* A ticket for so many checked jobs, which are copied with their parameters, to be given to
 * gx__ticket_submit or gx__ticket_drop; NULL: no memory. */
struct gx_ticket *gx__ticket_get(struct gx_backlog *queue, const struct gx_task *jobs,
                                 size_t count);
void gx__ticket_drop(struct gx_ticket *ticket);

/* Sets where job i runs and why. Takes over the caller's use of the engine. */
void gx__ticket_route(struct gx_ticket *ticket, size_t i, struct gx_engine *engine,
                      gx_reason reason);

/* With path, mode and policy of the call. Either all jobs are routed, or none, and then the policy
 * applies. Blocks while the queue is full; afterwards the ticket is pending or done. On failure it
 * is unchanged. */
gx_status gx__ticket_submit(struct gx_ticket *ticket, const struct gx_call *call);

/* GX_PENDING or the final status. No blocking. */
gx_status gx__ticket_poll(const struct gx_ticket *ticket);
/* Calls `give`, if it is not NULL, with the outcome of each job if the ticket is done. */
typedef void (*gx_outcome_fn)(void *user, size_t i, const struct gx_outcome *outcome);
gx_status gx__ticket_wait(struct gx_ticket *ticket, uint64_t timeout_ns, gx_outcome_fn give,
                          void *user);
size_t gx__ticket_count(const struct gx_ticket *ticket);
/* Why the first failed job of a failed ticket failed. */
void gx__ticket_message(const struct gx_ticket *ticket, struct gx_error *error);
/* Waits for any of several tickets of one queue, of which some may be NULL; *index is the first
 * that is done, or `count`. */
gx_status gx__ticket_wait_any(struct gx_backlog *queue, struct gx_ticket *const *tickets,
                              size_t count, uint64_t timeout_ns, size_t *index);
struct gx_backlog *gx__ticket_queue(const struct gx_ticket *ticket);
/* False if the ticket already has a function. */
bool gx__ticket_notify(struct gx_ticket *ticket, gx_done_fn done, void *user);
void gx__ticket_cancel(struct gx_ticket *ticket);
/* Waits while it is pending. */
void gx__ticket_free(struct gx_ticket *ticket);

#endif
