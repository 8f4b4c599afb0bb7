/* SPDX-License-Identifier: Apache-2.0
 *
 * Asynchronous work: tickets, the queue of a context that bounds them, and the workers of
 * an engine that feed them into one pipe. What gx_run does never comes by here.
 */
#ifndef GX_EXEC_QUEUE_H
#define GX_EXEC_QUEUE_H

#include <pthread.h>
#include <stdbool.h>

#include "base/instance.h"
#include "exec/outcome.h"

/* Jobs of tickets that are not done, where nothing else is asked for. */
#define GX_QUEUE_JOBS ((uint64_t)4096)
/* One thread waits for the device while another prepares what comes next. */
#define GX_WORKER_THREADS 2u

/* Threads that see to tickets whose devices are chosen when their turn comes. */
#define GX_ROUTER_THREADS 4u

struct gx_batch;
struct gx_engine;
struct gx_pipe;
struct gx_backlog; /* of a context; lives on while there are tickets */
struct gx_ticket;

/* Of an engine; started by its first ticket. All under the lock of the queue. */
struct gx_worker {
    pthread_t thread[GX_WORKER_THREADS];
    uint32_t started;
    pthread_cond_t work;
    struct gx_pipe *pipe;
    struct gx_ticket *lanes; /* the oldest ticket of each submitter, whose turn is next first */
    uint64_t fed;            /* tickets, since the start */
    bool feeding, finishing; /* one of the threads is at it */
    bool full;               /* there may be groups in flight */
    bool holds;              /* the pipe may have memory */
    bool stop;
};

/* Jobs of one call. */
struct gx_call {
    const gx_job *jobs; /* valid, until it is over */
    size_t count;
    struct gx_outcome *reports; /* one per job; NULL: not wanted */
    const char *device;         /* that the call names; NULL: none */
    gx_path path;
    gx_mode mode;
    gx_policy policy;
    uint64_t submit_ns;  /* since when it was waiting; 0: it was not ... */
    uint64_t queued_ns;  /* ... and for how long */
    atomic_bool *cancel; /* NULL: cannot be */
    size_t failed;       /* what came of it: the first job that failed ... */
    char message[160];   /* ... and why */
};
/* Runs it, writes and counts what came of every job, and returns the first failure. */
typedef gx_status (*gx_route_fn)(void *user, struct gx_call *call);
/* Runs a batch on its engine; what came of it is in the batch. */
typedef void (*gx_run_on_fn)(void *user, struct gx_engine *engine, struct gx_batch *batch);

void gx__worker_init(struct gx_worker *worker);
/* No ticket of the engine is pending. */
void gx__worker_close(struct gx_engine *engine);

/* The queue must outlive the engines of the instance; NULL: no memory. `route` runs tickets
 * whose jobs have no engine, `there` jobs of those that are `checked`. */
struct gx_backlog *gx__queue_open(struct gx_instance *instance, gx_route_fn route,
                                  gx_run_on_fn there, void *user);
/* Returns when no ticket is pending. */
void gx__queue_drain(struct gx_backlog *queue);
void gx__queue_cancel(struct gx_backlog *queue);
/* The engines are closed; tickets may follow later. */
void gx__queue_close(struct gx_backlog *queue);

/* A ticket for so many jobs, which are copied, to be given to gx__ticket_submit or
 * gx__ticket_drop; NULL: no memory. */
struct gx_ticket *gx__ticket_get(struct gx_backlog *queue, const gx_job *jobs, size_t count);
void gx__ticket_drop(struct gx_ticket *ticket);

/* Where job i runs and why. The engine was acquired for it, and is the ticket's now. */
void gx__ticket_route(struct gx_ticket *ticket, size_t i, struct gx_engine *engine,
                      gx_reason reason);

/* Either all jobs are routed, or none, and policy says how they will be. Blocks while the queue is
 * full; afterwards the ticket is pending or done. On failure it is as it was. */
gx_status gx__ticket_submit(struct gx_ticket *ticket, gx_path path, gx_mode mode, gx_policy policy);

/* GX_PENDING or the final status. No blocking. */
gx_status gx__ticket_poll(const struct gx_ticket *ticket);
/* The reports are written where the ticket is done. */
gx_status gx__ticket_wait(struct gx_ticket *ticket, uint64_t timeout_ns,
                          const struct gx_reports *reports);
size_t gx__ticket_count(const struct gx_ticket *ticket);
/* Of one that is done and failed: why the first job that failed did. */
void gx__ticket_message(const struct gx_ticket *ticket, char *message, size_t size);
/* The same for the first that is done of several of one queue, NULL or not; *index says which, and
 * is `count` where none is. */
gx_status gx__ticket_wait_any(struct gx_backlog *queue, struct gx_ticket *const *tickets,
                              size_t count, uint64_t timeout_ns, size_t *index);
struct gx_backlog *gx__ticket_queue(const struct gx_ticket *ticket);
/* False where there is a function to be called already. */
bool gx__ticket_notify(struct gx_ticket *ticket, gx_done_fn done, void *user);
void gx__ticket_cancel(struct gx_ticket *ticket);
/* Waits where it is pending. */
void gx__ticket_free(struct gx_ticket *ticket);

#endif
