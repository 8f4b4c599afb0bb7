/* SPDX-License-Identifier: Apache-2.0
 *
 * Calls with jobs: gx_run, gx_submit and the calls on tickets, and gx_estimate. All take and check
 * their arguments in the same way.
 */
#include <string.h>

#include "api/context.h"
#include "api/reports.h"
#include "api/resolve.h"
#include "base/log.h"
#include "base/names.h"
#include "exec/plan.h"
#include "exec/queue.h"

/* ---- running ---- */

static gx_status check_opts(const gx_run_params *opts, const char **why)
{
    *why = NULL;
    if (opts->path >= GX_PATHS_ASKED)
        *why = "gx_run_params.path is none of auto, host-visible, device-local";
    if (opts->mode >= GX_MODES)
        *why = "gx_run_params.mode is none of auto, sequential, single-submit, pipelined";
    if (opts->policy >= GX_POLICIES)
        *why = "gx_run_params.policy is none of auto, cpu, gpu, throughput";
    if (opts->reserved)
        *why = "gx_run_params.reserved is not 0";
    return *why ? GX_ERR_INVALID : GX_OK;
}

/* So many tasks are on the stack. */
#define FEW 4u

/* A call of the user, with options in the layout of this version. */
struct request {
    struct gx_call call;
    gx_run_params opts;
    const gx_job *jobs;
    bool routed;
    bool registered; /* some operations are */
    struct gx_task *tasks, few[FEW];
};

static gx_status null_pointer(gx_ctx *ctx, const char *call)
{
    return gx__fail(ctx ? &ctx->instance : NULL, GX_ERR_INVALID, "%s: %s is NULL", call,
                    ctx ? "jobs" : "ctx");
}

/* Sets the members one by one: clearing the whole struct would slow down small jobs. */
static gx_status take_request(gx_ctx *ctx, const gx_job *jobs, size_t njobs,
                              const gx_run_params *opts, struct request *q, struct gx_error *error)
{
    struct gx_call *call = &q->call;
    gx_status s = gx__take_in(&gx__run_params_layout, &q->opts, opts, error);
    if (s != GX_OK)
        return s;
    q->tasks = njobs <= FEW ? q->few
                            : gx__array_get(&ctx->arrays, &ctx->instance.config.allocator, njobs,
                                            sizeof *q->tasks);
    if (!q->tasks)
        return gx__refuse(error, GX_ERR_OUT_OF_MEMORY, "no memory for %zu jobs", njobs);
    q->jobs = jobs;
    q->registered = false;
    call->jobs = q->tasks;
    call->count = njobs;
    call->reports = NULL;
    call->device = q->opts.device;
    call->path = q->opts.path ? q->opts.path : ctx->path;
    call->mode = q->opts.mode ? q->opts.mode : ctx->mode;
    call->policy = q->opts.policy;
    q->routed = gx__is_routed(&ctx->router, call->device, &call->policy);
    call->submit_ns = call->queued_ns = 0;
    call->cancel = NULL;
    call->failed = 0;
    return GX_OK;
}

static void end_request(gx_ctx *ctx, struct request *q)
{
    if (q->tasks != q->few)
        gx__array_put(&ctx->arrays, &ctx->instance.config.allocator, q->tasks);
}

/* Checks options and jobs and resolves these before anything runs, and enters registered
 * operations. On failure call->failed and call->error.text are set. */
static gx_status resolve_call(gx_ctx *ctx, struct request *q)
{
    struct gx_call *call = &q->call;
    const char *why;
    if (check_opts(&q->opts, &why) != GX_OK)
        return gx__refuse(&call->error, GX_ERR_INVALID, "%s", why);
    for (size_t i = 0; i < call->count; i++) {
        bool registered = gx__is_registered_op(q->jobs[i].op);
        bool entered = registered && gx__registered_op_enter(&ctx->instance, q->jobs[i].op);
        gx_status s = GX_ERR_INVALID;
        if (registered && !entered)
            gx__explain(&call->error, "op is %u, which is not registered in this context",
                        q->jobs[i].op);
        else
            s = gx__resolve(&ctx->instance, &q->jobs[i], q->routed, &q->tasks[i], &call->error);
        q->registered |= entered;
        if (s != GX_OK) {
            gx__tasks_leave(q->tasks, i + entered);
            call->failed = i;
            return s;
        }
    }
    return GX_OK;
}

/* The call no longer uses its registered operations. */
static void leave_ops(const struct request *q)
{
    if (q->registered)
        gx__tasks_leave(q->tasks, q->call.count);
}

/* The call fails because of one job, before any job has run. */
static gx_status fail_call(gx_ctx *ctx, struct gx_call *call, gx_status status)
{
    gx__fail(&ctx->instance, status, "job %zu: %s", call->failed, call->error.text);
    gx__fail_before(&ctx->router, call, 0, call->failed, status);
    return status;
}

/* The call fails because of its options or memory: the first report says why. */
static gx_status refuse_call(gx_ctx *ctx, size_t njobs, const struct gx_reports *reports,
                             gx_status status, const struct gx_error *error)
{
    struct gx_outcome outcome;
    for (size_t i = 0; reports->first && i < njobs; i++) {
        gx__outcome_not_run(&outcome, i ? GX_ERR_NOT_RUN : status);
        if (!i)
            outcome.error = *error;
        gx__reports_give(reports, i, &outcome);
    }
    gx__count(&ctx->instance.counters.jobs_failed, njobs);
    return gx__fail(&ctx->instance, status, "gx_run: %s", error->text);
}

static void give_reports(gx_ctx *ctx, const struct gx_reports *to, const struct gx_call *call,
                         const struct gx_outcome *one)
{
    for (size_t i = 0; call->reports && i < call->count; i++)
        gx__reports_give(to, i, &call->reports[i]);
    if (call->reports && call->reports != one)
        gx__array_put(&ctx->arrays, &ctx->instance.config.allocator, call->reports);
}

gx_status gx_run(gx_ctx *ctx, const gx_job *jobs, size_t njobs, const gx_run_params *opts,
                 gx_report *reports)
{
    struct request q;
    struct gx_reports to;
    struct gx_outcome one;
    struct gx_error error;
    if (!ctx || (!jobs && njobs))
        return null_pointer(ctx, "gx_run");
    gx_status s = gx__reports_check(&to, reports, njobs, &error);
    if (s != GX_OK)
        return gx__fail(&ctx->instance, s, "gx_run: %s", error.text);
    s = take_request(ctx, jobs, njobs, opts, &q, &error);
    if (s != GX_OK)
        return refuse_call(ctx, njobs, &to, s, &error);
    if (to.first)
        q.call.reports = njobs <= 1 ? &one
                                    : gx__array_get(&ctx->arrays, &ctx->instance.config.allocator,
                                                    njobs, sizeof one);
    if (to.first && !q.call.reports) {
        end_request(ctx, &q);
        s = gx__refuse(&error, GX_ERR_OUT_OF_MEMORY, "no memory for reports");
        return refuse_call(ctx, njobs, &to, s, &error);
    }
    s = resolve_call(ctx, &q);
    if (s != GX_OK) {
        fail_call(ctx, &q.call, s);
    } else {
        s = q.routed ? gx__router_run(&ctx->router, &q.call) : gx__run_named(&ctx->router, &q.call);
        leave_ops(&q);
        if (s != GX_OK)
            gx__fail(&ctx->instance, s, "job %zu: %s", q.call.failed, q.call.error.text);
    }
    give_reports(ctx, &to, &q.call, &one);
    end_request(ctx, &q);
    return s;
}

/* ---- asynchronous work ---- */

/* The operations of the tasks are the ticket's from then on. */
static gx_status submit(gx_ctx *ctx, struct request *q, gx_ticket **out)
{
    gx_ticket *ticket = gx__ticket_get(ctx->instance.queue, q->tasks, q->call.count);
    gx__explain(&q->call.error, "no memory or no thread for asynchronous work");
    gx_status s =
        ticket ? gx__route_ticket(&ctx->router, &q->call, q->routed, ticket) : GX_ERR_OUT_OF_MEMORY;
    if (s == GX_OK)
        s = gx__ticket_submit(ticket, &q->call);
    if (s == GX_OK)
        *out = ticket;
    else if (ticket)
        gx__ticket_drop(ticket);
    return s;
}

gx_status gx_submit(gx_ctx *ctx, const gx_job *jobs, size_t njobs, const gx_run_params *opts,
                    gx_ticket **out)
{
    struct request q;
    struct gx_error error;
    if (!out)
        return gx__fail(NULL, GX_ERR_INVALID, "gx_submit: ticket is NULL");
    *out = NULL;
    if (!ctx || (!jobs && njobs))
        return null_pointer(ctx, "gx_submit");
    gx_status s = take_request(ctx, jobs, njobs, opts, &q, &error);
    if (s != GX_OK)
        return gx__fail(&ctx->instance, s, "gx_submit: %s", error.text);
    s = resolve_call(ctx, &q);
    if (s == GX_OK) {
        s = submit(ctx, &q, out);
        if (s != GX_OK)
            leave_ops(&q);
    }
    if (s != GX_OK)
        fail_call(ctx, &q.call, s);
    end_request(ctx, &q);
    return s;
}

/* Returns the status of a ticket. If a job failed, gx_last_message has the message of the first. */
static gx_status set_ticket_error(const gx_ticket *ticket, gx_status s)
{
    struct gx_error error;
    if (s < 0) {
        gx__ticket_message(ticket, &error);
        gx__fail(NULL, s, "%s", error.text); /* not logged again */
    }
    return s;
}

gx_status gx_poll(gx_ticket *ticket)
{
    return ticket ? set_ticket_error(ticket, gx__ticket_poll(ticket))
                  : gx__fail(NULL, GX_ERR_INVALID, "gx_poll: ticket is NULL");
}

static void give_report(void *to, size_t i, const struct gx_outcome *outcome)
{
    gx__reports_give(to, i, outcome);
}

gx_status gx_wait(gx_ticket *ticket, uint64_t timeout_ns, gx_report *reports)
{
    struct gx_reports to;
    struct gx_error error;
    if (!ticket)
        return gx__fail(NULL, GX_ERR_INVALID, "gx_wait: ticket is NULL");
    gx_status s = gx__reports_check(&to, reports, gx__ticket_count(ticket), &error);
    if (s != GX_OK)
        return gx__fail(NULL, s, "gx_wait: %s", error.text);
    return set_ticket_error(
        ticket, gx__ticket_wait(ticket, timeout_ns, to.first ? give_report : NULL, &to));
}

gx_status gx_wait_any(gx_ticket *const *tickets, size_t count, uint64_t timeout_ns, size_t *index)
{
    struct gx_backlog *queue = NULL;
    if (!index || (!tickets && count))
        return gx__fail(NULL, GX_ERR_INVALID, "gx_wait_any: tickets and index must not be NULL");
    *index = count;
    for (size_t i = 0; i < count; i++) {
        if (!tickets[i])
            continue;
        if (queue && queue != gx__ticket_queue(tickets[i]))
            return gx__fail(
                NULL, GX_ERR_INVALID,
                "gx_wait_any: ticket %zu belongs to another context than those before it", i);
        queue = gx__ticket_queue(tickets[i]);
    }
    if (!queue)
        return gx__fail(NULL, GX_ERR_INVALID, "gx_wait_any: there is no ticket to wait for");
    gx_status s = gx__ticket_wait_any(queue, tickets, count, timeout_ns, index);
    return s == GX_PENDING ? s : set_ticket_error(tickets[*index], s);
}

gx_status gx_notify(gx_ticket *ticket, gx_done_fn done, void *user)
{
    if (!ticket || !done)
        return gx__fail(NULL, GX_ERR_INVALID, "gx_notify: ticket and done must not be NULL");
    return gx__ticket_notify(ticket, done, user)
               ? GX_OK
               : gx__fail(NULL, GX_ERR_INVALID, "gx_notify: the ticket has a function already");
}

void gx_cancel(gx_ticket *ticket)
{
    if (ticket)
        gx__ticket_cancel(ticket);
}

void gx_cancel_all(gx_ctx *ctx)
{
    if (ctx)
        gx__queue_cancel(ctx->instance.queue);
}

void gx_ticket_destroy(gx_ticket **ticket)
{
    if (!ticket || !*ticket)
        return;
    gx__ticket_free(*ticket);
    *ticket = NULL;
}

/* ---- planning without running ---- */

/* predicted_ns: from the model; 0: use the prediction of the plan. */
static void add_plan(gx_estimate_info *info, const struct gx_plan *plan, uint64_t predicted_ns)
{
    info->groups += plan->groups;
    info->submits += plan->submits;
    info->dispatches += plan->dispatches;
    info->bytes_up += plan->bytes_up;
    info->bytes_down += plan->bytes_down;
    info->bytes_staged += plan->bytes_staged;
    info->memory_bytes = plan->memory > info->memory_bytes ? plan->memory : info->memory_bytes;
    info->predicted_ns += predicted_ns ? predicted_ns : (uint64_t)plan->predicted[plan->mode];
}

static void describe(gx_estimate_info *info, const struct gx_engine *engine, gx_reason reason,
                     const struct gx_plan *plan)
{
    memcpy(info->device, engine->device.info.name, sizeof info->device);
    info->reason = reason;
    info->path = plan->path;
    info->mode = plan->mode;
    info->sets = plan->sets;
    info->chunk_elems = plan->chunk;
}

static gx_status estimate(gx_ctx *ctx, struct request *q, gx_estimate_info *info,
                          struct gx_outcome *considered)
{
    struct gx_proposal p;
    gx_status s = resolve_call(ctx, q);
    if (s != GX_OK)
        return fail_call(ctx, &q->call, s);
    for (size_t i = 0; i < q->call.count && s == GX_OK; i += p.count) {
        s = gx__router_propose(&ctx->router, &q->call, i, q->routed, &p);
        if (s == GX_OK) {
            struct gx_plan plan = {.count = 0};
            p.batch.plan = &plan;
            s = gx__compose_run(p.engine, &p.batch);
            if (s == GX_OK && !i) {
                describe(info, p.engine, p.reason, &plan);
                *considered = p.considered;
            }
            if (s == GX_OK)
                add_plan(info, &plan, p.predicted_ns);
            gx__router_unpropose(&p);
            q->call.error = p.batch.error;
        }
        if (s != GX_OK)
            gx__fail(&ctx->instance, s, "job %zu: %s", i, q->call.error.text);
    }
    leave_ops(q);
    return s;
}

gx_status gx_estimate(gx_ctx *ctx, const gx_job *jobs, size_t njobs, const gx_run_params *opts,
                      gx_estimate_info *info)
{
    struct request q;
    struct gx_outcome considered;
    gx_estimate_info own = {0};
    size_t size;
    struct gx_error error;
    if (!ctx || (!jobs && njobs))
        return null_pointer(ctx, "gx_estimate");
    if (!info)
        return gx__fail(&ctx->instance, GX_ERR_INVALID, "gx_estimate: info is NULL");
    gx_status s = gx__check_out(&gx__estimate_layout, info, 1, &size, &error);
    if (s == GX_OK)
        s = gx__candidates_check(info->candidate, info->candidate_room, &error);
    if (s == GX_OK)
        s = take_request(ctx, jobs, njobs, opts, &q, &error);
    if (s != GX_OK)
        return gx__fail(&ctx->instance, s, "gx_estimate: %s", error.text);
    considered.candidates = 0;
    s = estimate(ctx, &q, &own, &considered);
    end_request(ctx, &q);
    own.candidates = considered.candidates;
    gx__candidates_give(info->candidate, info->candidate_room, considered.candidate,
                        considered.candidates);
    gx__give_out(&gx__estimate_layout, info, size, offsetof(gx_estimate_info, candidates), &own);
    return s;
}
