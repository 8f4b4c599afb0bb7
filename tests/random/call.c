/* SPDX-License-Identifier: Apache-2.0
 *
 * Calls: their memory and jobs are made, they run or are submitted, waited for and cancelled, and
 * judge.c says whether they were right.
 */
#include <sched.h>
#include <stdlib.h>
#include <string.h>

#include "random/run.h"

union params {
    gx_ntt_params ntt;
    gx_poly_params poly;
    gx_msm_params msm;
};

/* ---- jobs ---- */

/* The device of a buffer: that of the call, or one of the list. */
static const char *buffer_device(const struct rnd_live *live, const struct rnd_operand *operand)
{
    const struct rnd_open *open = live->open;
    if (live->call->device[0])
        return live->call->device;
    if (!operand->device || !open->ndevices)
        return NULL;
    return open->device[(operand->device - 1) % open->ndevices];
}

static gx_status make_areas(struct rnd_live *live)
{
    const struct rnd_call *call = live->call;
    for (unsigned j = 0; j < call->njobs; j++)
        for (unsigned i = 0; i < RND_OPERANDS; i++) {
            const struct rnd_operand *operand = &call->job[j].operand[i];
            if (operand->memory == MEM_SAME || (i < 3 && i >= rnd_operand_count(&call->job[j])))
                continue;
            struct rnd_area *area = &live->area[live->nareas++];
            *area = (struct rnd_area){.job = j, .operand = i};
            gx_status status =
                rnd_area_make(area, live->open->ctx, call, buffer_device(live, operand));
            if (status != GX_OK)
                return status;
        }
    return GX_OK;
}

/* 0 if the job cannot run, for a reason that was expected. */
static int make_params(struct rnd_live *live, unsigned j, union params *params, gx_job *job)
{
    const struct rnd_job *spec = &live->call->job[j];
    memset(params, 0, sizeof *params);
    job->params = params;
    if (spec->op == GX_NTT) {
        gx_domain *domain = rnd_domain(live->open, spec);
        params->ntt = (gx_ntt_params){.struct_size = sizeof params->ntt,
                                      .domain = domain,
                                      .log2_n = (uint32_t)spec->log2_n,
                                      .log2_pad = (uint32_t)spec->log2_pad,
                                      .flags = (uint32_t)spec->ntt_flags};
        return domain != NULL;
    }
    if (spec->op == GX_MSM) {
        gx_points *points = rnd_points(live->open, live->call, spec, &live->points[j]);
        params->msm = (gx_msm_params){.struct_size = sizeof params->msm,
                                      .points = points,
                                      .first = spec->first,
                                      .count = spec->count,
                                      .scalar_form = (gx_scalar_form)spec->scalar_form,
                                      .scalar_bits = (uint32_t)spec->scalar_bits,
                                      .result_form = (gx_point_form)spec->result_form};
        return points != NULL;
    }
    job->params = NULL;
    if (spec->op == RND_REGISTERED || gx_op_get_info((gx_op)spec->op)->params != 2)
        return 1;
    job->params = params;
    params->poly = (gx_poly_params){.struct_size = sizeof params->poly,
                                    .count = spec->count,
                                    .flags = spec->reversed ? GX_POLY_REVERSED : 0};
    return 1;
}

static int make_job(struct rnd_live *live, unsigned j, union params *params, gx_job *job)
{
    const struct rnd_job *spec = &live->call->job[j];
    gx_operand *operands[] = {&job->a, &job->b, &job->c, &job->out};
    int registered = spec->op == RND_REGISTERED;
    *job = (gx_job){.op = registered ? live->open->registered : (gx_op)spec->op,
                    .field = registered ? 0 : (gx_field)spec->field,
                    .n = spec->n,
                    .flags = spec->trusted ? GX_JOB_UNCHECKED : 0};
    for (unsigned i = 0; i < RND_OPERANDS; i++) {
        size_t offset;
        if (i < 3 && i >= rnd_operand_count(spec))
            continue;
        const struct rnd_area *area = rnd_live_area(live, j, i, &offset);
        *operands[i] = rnd_area_operand(area, offset, spec->operand[i].broadcast);
    }
    if (!make_params(live, j, params, job))
        return 0;
    for (unsigned i = 0; i < RND_OPERANDS; i++)
        if (gx_operand_bytes(job, "abco"[i]) != rnd_bytes(spec, i))
            rnd_fail(FAIL_STATUS, "gx_operand_bytes of operand %u of job %u: %zu, expected %zu", i,
                     j, gx_operand_bytes(job, "abco"[i]), rnd_bytes(spec, i));
    return 1;
}

/* ---- cancelling ---- */

static void *cancel_soon(void *argument)
{
    struct rnd_live *live = argument;
    for (size_t i = (size_t)live->call % 64; i > 0; i--)
        sched_yield();
    gx_cancel(live->ticket);
    return NULL;
}

static void begin_cancel(struct rnd_live *live)
{
    switch (live->call->cancel) {
    case CANCEL_AT_ONCE:
        gx_cancel(live->ticket);
        break;
    case CANCEL_ALL:
        gx_cancel_all(live->open->ctx);
        break;
    case CANCEL_OTHER_THREAD:
        live->has_canceller = pthread_create(&live->canceller, NULL, cancel_soon, live) == 0;
        break;
    default:
        break;
    }
}

/* ---- waiting ---- */

static void on_done(void *user, gx_ticket *ticket)
{
    struct rnd_live *live = user;
    if (gx_poll(ticket) == GX_PENDING)
        rnd_fail(FAIL_STATUS, "a ticket is pending when it is done");
    atomic_fetch_add(&live->notified, 1);
}

static void wait_first(struct rnd_live *live)
{
    size_t index = 7;
    gx_ticket *const tickets[] = {NULL, live->ticket};
    switch (live->call->wait) {
    case WAIT_POLL:
        while (gx_poll(live->ticket) == GX_PENDING)
            sched_yield();
        break;
    case WAIT_SHORT:
        while (gx_wait(live->ticket, 1000, NULL) == GX_PENDING)
            continue;
        break;
    case WAIT_ANY:
        gx_wait_any(tickets, 2, UINT64_MAX, &index);
        if (index != 1)
            rnd_fail(FAIL_STATUS, "gx_wait_any: index %zu", index);
        break;
    default:
        break;
    }
}

static void wait_for(struct rnd_live *live)
{
    if (live->call->cancel == CANCEL_LATER)
        gx_cancel(live->ticket);
    live->has_status = live->call->wait != WAIT_FREE;
    live->has_reports = live->has_status && !live->call->no_reports;
    if (live->has_status) {
        wait_first(live);
        live->status = gx_wait(live->ticket, UINT64_MAX, live->has_reports ? live->report : NULL);
        if (gx_poll(live->ticket) != live->status)
            rnd_fail(FAIL_STATUS, "gx_poll: %s after gx_wait: %s",
                     gx_status_name(gx_poll(live->ticket)), gx_status_name(live->status));
    }
    if (live->has_canceller)
        pthread_join(live->canceller, NULL);
    gx_ticket_destroy(&live->ticket);
    if (live->call->wait == WAIT_NOTIFY && atomic_load(&live->notified) != 1)
        rnd_fail(FAIL_STATUS, "notified %d times", atomic_load(&live->notified));
}

/* ---- calls ---- */

static gx_run_params options_of(const struct rnd_call *call)
{
    return (gx_run_params){.struct_size = sizeof(gx_run_params),
                           .device = call->device[0] ? call->device : NULL,
                           .path = (gx_path)call->path,
                           .mode = (gx_mode)call->mode,
                           .policy = (gx_policy)call->policy};
}

static void estimate(struct rnd_live *live, const gx_job *jobs, const gx_run_params *opts)
{
    gx_estimate_info info = {.struct_size = sizeof info};
    gx_status status = gx_estimate(live->open->ctx, jobs, live->call->njobs, opts, &info);
    if (!rnd_may_return(live->open, live->call, status) && !rnd_is_faulty(live->open->spec->device))
        rnd_fail(FAIL_STATUS, "gx_estimate: %s: %s", gx_status_name(status), gx_last_message());
}

static void submit(struct rnd_live *live, gx_job *jobs, size_t size, const gx_run_params *opts)
{
    gx_ctx *ctx = live->open->ctx;
    live->status = gx_submit(ctx, jobs, live->call->njobs, opts, &live->ticket);
    memset(jobs, 0xdd, size); /* they were copied, and their parameters */
    if (live->status != GX_OK) {
        if (live->ticket)
            rnd_fail(FAIL_STATUS, "a ticket although gx_submit failed");
        live->has_status = 1;
        return;
    }
    if (live->call->wait == WAIT_NOTIFY && gx_notify(live->ticket, on_done, live) != GX_OK)
        rnd_fail(FAIL_STATUS, "gx_notify: %s", gx_last_message());
    begin_cancel(live);
}

static void start(struct rnd_live *live)
{
    const struct rnd_call *call = live->call;
    struct {
        gx_job jobs[RND_JOBS];
        union params params[RND_JOBS];
    } work;
    gx_run_params opts = options_of(call);
    for (unsigned j = 0; j < call->njobs; j++) {
        live->report[j] = (gx_report){.struct_size = sizeof(gx_report)};
        if (!make_job(live, j, &work.params[j], &work.jobs[j]))
            return;
    }
    if (call->estimate)
        estimate(live, work.jobs, &opts);
    live->open->board->jobs += call->njobs;
    live->open->board->calls++;
    if (call->how == HOW_TICKET) {
        submit(live, work.jobs, sizeof work, &opts);
        return;
    }
    live->has_reports = !call->no_reports;
    live->has_status = 1;
    live->status = gx_run(live->open->ctx, work.jobs, call->njobs, &opts,
                          live->has_reports ? live->report : NULL);
}

static struct rnd_live *begin(struct rnd_open *open, const struct rnd_call *call)
{
    struct rnd_live *live = calloc(1, sizeof *live);
    if (!live)
        abort();
    live->open = open;
    live->call = call;
    gx_status status = make_areas(live);
    if (status == GX_OK)
        start(live);
    else if (!rnd_may_return(open, call, status))
        rnd_fail(FAIL_STATUS, "making operands: %s: %s", gx_status_name(status), gx_last_message());
    return live;
}

static void finish(struct rnd_live *live)
{
    int ran = live->ticket || live->has_status;
    if (live->ticket)
        wait_for(live);
    if (ran)
        rnd_judge(live);
    for (unsigned i = 0; i < live->nareas; i++)
        rnd_area_free(&live->area[i], live->open->ctx);
    free(live);
}

void rnd_run_calls(struct rnd_open *open, uint64_t thread)
{
    struct rnd_live *pending[RND_CALLS];
    unsigned count = 0;
    for (unsigned i = 0; i < open->spec->ncalls; i++) {
        const struct rnd_call *call = &open->spec->call[i];
        if (call->thread != thread)
            continue;
        struct rnd_live *live = begin(open, call);
        if (live->ticket && call->wait != WAIT_FOREVER)
            pending[count++] = live;
        else
            finish(live);
    }
    for (unsigned i = 0; i < count; i++)
        finish(pending[i]);
}
