/* SPDX-License-Identifier: Apache-2.0
 *
 * Jobs in the background: tickets to wait for, to be told of and to cancel.
 */
#ifndef GPUEXEC_ASYNC_H
#define GPUEXEC_ASYNC_H

#include "core.h"

#ifdef __cplusplus
extern "C" {
#endif

/* ---- asynchronous work --------------------------------------------------- */

/* A set of submitted jobs: as gx_run, but executed by threads of the library. */
typedef struct gx_ticket gx_ticket;

/* Validates the jobs as gx_run does, finds their devices, queues them and returns. On success the
 * caller owns *ticket and releases it with gx_ticket_destroy, before or after gx_close; on failure
 * *ticket is NULL and nothing runs. Jobs and all parameters are copied; operand memory,
 * buffers and domains are borrowed until the ticket is done. The jobs of one ticket run as if one
 * after the other. Different tickets overlap and finish in any order: if a job uses the output of a
 * job in another ticket, wait for that ticket before submitting. Tickets of a device begin in
 * the order in which they were submitted. Any thread; blocks while a device is opened and while the
 * queue is full (gx_config.queue_jobs; a ticket with more jobs than that waits until the queue is
 * empty), in first-come, first-served order; does not allocate once warm. */
GX_API gx_status gx_submit(gx_ctx *ctx, const gx_job *jobs, size_t njobs,
                           const gx_run_params *params, gx_ticket **ticket);

/* GX_PENDING, or what gx_run would have returned. Any thread; does not block. */
GX_API gx_status gx_poll(gx_ticket *ticket);

/* Waits until the ticket is done or the timeout expires (0: do not wait; UINT64_MAX: wait
 * forever), then returns the same as gx_poll. If the ticket is done, fills reports (one per job,
 * as for gx_run, or NULL). May be called repeatedly and by several threads at once. */
GX_API gx_status gx_wait(gx_ticket *ticket, uint64_t timeout_ns, gx_report *reports);

/* Waits for the first of several tickets to finish, returns the same as gx_poll for that ticket
 * and stores its position in *index. On timeout returns GX_PENDING and sets *index to `count`.
 * NULL tickets are skipped, but at least one must not be NULL, and all must belong to one
 * context. Any thread, several per ticket; does not allocate. */
GX_API gx_status gx_wait_any(gx_ticket *const *tickets, size_t count, uint64_t timeout_ns,
                             size_t *index);

/* Called once, when a ticket is done. It may call gx_poll, gx_wait with timeout 0, gx_submit on a
 * context whose queue is not full, write to a descriptor or post a semaphore. It must not block,
 * free its ticket or close the context. */
typedef void (*gx_done_fn)(void *user, gx_ticket *ticket);

/* For event loops: arranges for `done` to be called when the ticket is done, from a library
 * thread or from the thread that cancels the ticket. If the ticket is already done, `done` is
 * called before gx_notify returns. Once per ticket. gx_ticket_destroy waits for the callback. To
 * wake poll() or epoll, have it write to an eventfd, and call gx_wait with timeout 0 in the loop:
 * examples/events.c. Any thread; does not block, unless `done` does. */
GX_API gx_status gx_notify(gx_ticket *ticket, gx_done_fn done, void *user);

/* Cancels the ticket: jobs that have not started get GX_ERR_CANCELLED, running jobs are completed,
 * and then the ticket is done. Does nothing for NULL and for a ticket that is done. Any thread;
 * does not block. */
GX_API void gx_cancel(gx_ticket *ticket);

/* gx_cancel for all tickets of the context that are pending now. Any thread; does not block. */
GX_API void gx_cancel_all(gx_ctx *ctx);

/* Frees the ticket and clears the caller's pointer; NULL and a pointer to NULL are allowed. Waits
 * until the ticket is done and no thread is inside gx_wait. No other call on it may follow. */
GX_API void gx_ticket_destroy(gx_ticket **ticket);

#ifdef __cplusplus
}
#endif

#endif
