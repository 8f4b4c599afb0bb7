/* SPDX-License-Identifier: Apache-2.0
 *
 * Batches on one device whose results the caller wants verified (gx_config.sample_every). They run
 * in steps of independent jobs, and operands that results replace are copied before a step, so that
 * everything needed for verification is there afterwards. With sample_every 1, operands and results
 * in buffers are read too; otherwise the device is probed for those.
 */
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "base/log.h"
#include "exec/buffer.h"
#include "exec/pipe.h"
#include "op/verify.h"
#include "route/health.h"
#include "route/workspace.h"

/* Maximum bytes of copies per step, unless a single job needs more. */
#define STEP_BYTES ((size_t)64 << 20)
#define ALIGN      ((size_t)64)

struct check {
    struct gx_router *router;
    struct gx_engine *engine;
    struct gx_workspace *ws;
    struct gx_batch *batch; /* the caller's */
    const gx_job *jobs;     /* of the current step */
    size_t count;
    struct gx_outcome *reports; /* of these jobs, in the workspace */
    size_t first;               /* index of the first of them in the batch */
    struct gx_sampler sampler;
    uint64_t every;
};

static bool has_buffers(const gx_job *job)
{
    for (int i = 0; i < GX_OPERANDS; i++)
        if (gx__in_device_buffer(gx__operand(job, i)))
            return true;
    return false;
}

static size_t room_for(const gx_job *job, int which)
{
    return (gx__operand_bytes(job, which) + ALIGN - 1) / ALIGN * ALIGN;
}

/* Whether results of the job are verified. Without sample_every 1, jobs with device buffers are
 * not. */
static bool is_verified(const struct check *c, const gx_job *job)
{
    return c->every == 1 || !has_buffers(job);
}

/* How many elements of a job are verified. */
static uint64_t sample_of(const struct check *c, size_t j)
{
    size_t n = c->jobs[j].n;
    return c->every > 1 ? c->reports[j].sampled : n ? n : 1; /* 1: an empty reduction */
}

/* ---- before the step ---- */

/* Approximate bytes of copies that a job needs. */
static size_t copied_bytes(const gx_job *job)
{
    size_t bytes = 0;
    if (!has_buffers(job))
        return gx__job_in_place(job) ? room_for(job, GX_OUT) : 0;
    for (int i = 0; i < GX_OPERANDS; i++)
        bytes += room_for(job, i);
    return bytes;
}

/* Finds the next step, from c->first on. Jobs that are not verified need not be independent. */
static void find_step(struct check *c, const struct gx_rounds *rounds)
{
    const gx_job *jobs = c->jobs = c->batch->jobs + c->first;
    bool seen = is_verified(c, jobs);
    size_t most = seen ? gx__rounds_next(rounds, c->first) : c->batch->count - c->first;
    size_t bytes = copied_bytes(jobs);
    for (c->count = 1; c->count < most && is_verified(c, &jobs[c->count]) == seen; c->count++) {
        bytes += copied_bytes(&jobs[c->count]);
        if (seen && bytes > STEP_BYTES)
            break;
    }
}

static void draw_samples(struct check *c)
{
    bool trusted = gx__health_trusted(c->engine->slot);
    for (size_t j = 0; j < c->count; j++) {
        struct gx_outcome *r = &c->reports[j];
        *r = (struct gx_outcome){
            .reason = c->batch->reports ? c->batch->reports[c->first + j].reason : GX_REASON_NONE};
        if (!is_verified(c, &c->jobs[j]))
            continue;
        uint64_t count = gx__sample_size(&c->sampler, &c->jobs[j], c->every, trusted);
        r->sampled = count < UINT32_MAX ? (uint32_t)count : UINT32_MAX;
    }
}

/* Copies the operand that the result replaces. */
static void save_replaced(gx_job *job, char *spare)
{
    gx_operand *const inputs[] = {&job->a, &job->b, &job->c};
    memcpy(spare, job->out.host, gx__operand_bytes(job, GX_OUT));
    for (unsigned i = 0; i < GX_OPERANDS - 1 && i < gx__op_operands(job->op); i++)
        if (inputs[i]->host == job->out.host)
            inputs[i]->host = spare;
}

/* Lays the jobs out in host memory, in workspace->round, and copies operands that the step may
 * replace. workspace->spare begins with room for one result to be read from its buffer. */
static gx_status save_operands(struct check *c)
{
    struct gx_workspace *ws = c->ws;
    size_t result = 0, kept = 0;
    char message[GX_MESSAGE_BYTES];
    uint64_t ns = 0; /* nobody asks */
    if (!is_verified(c, c->jobs))
        return GX_OK;
    gx_status s = gx__lay_out(ws, c->jobs, c->count);
    for (size_t j = 0; s == GX_OK && j < c->count; j++) {
        size_t bytes = sample_of(c, j) ? room_for(&c->jobs[j], GX_OUT) : 0;
        if (gx__in_device_buffer(&c->jobs[j].out))
            result = bytes > result ? bytes : result;
        else if (gx__job_in_place(&c->jobs[j]))
            kept += bytes;
    }
    if (s == GX_OK && !gx__workspace_reserve(ws, &ws->spare, &ws->spare_room, result + kept, 1))
        s = GX_ERR_OUT_OF_MEMORY;
    for (size_t j = 0, at = result; s == GX_OK && j < c->count; j++) {
        const gx_job *job = &c->jobs[j];
        if (!sample_of(c, j))
            continue;
        s = gx__read_operands(c->router, job, &ws->round[j], &ns, message, sizeof message);
        if (gx__in_device_buffer(&job->out) || !gx__job_in_place(job))
            continue;
        save_replaced(&ws->round[j], ws->spare + at);
        at += room_for(job, GX_OUT);
    }
    return s;
}

/* ---- after it ---- */

__attribute__((format(printf, 4, 5))) static void fail(struct check *c, size_t j, gx_status status,
                                                       const char *format, ...)
{
    va_list args;
    struct gx_outcome *r = &c->reports[j];
    r->status = status;
    va_start(args, format);
    vsnprintf(r->message, sizeof r->message, format, args);
    va_end(args);
}

/* False: the result is wrong. */
static bool compare(struct check *c, size_t j)
{
    const gx_job *job = &c->jobs[j];
    uint64_t wrong, count = sample_of(c, j);
    if (!count) /* the job may not be laid out */
        return true;
    const gx_job *laid = &c->ws->round[j];
    const void *results = laid->out.host;
    if (gx__in_device_buffer(&job->out)) {
        results = c->ws->spare;
        gx_status s = gx_buf_read(job->out.buf, job->out.offset, c->ws->spare,
                                  gx__operand_bytes(job, GX_OUT));
        if (s != GX_OK) {
            fail(c, j, s, "device '%s': the result cannot be read to verify it: %s",
                 c->engine->slot->name, gx_status_message(s));
            return true;
        }
    }
    gx__count(&c->router->slots.instance->counters.sampled, count);
    if (gx__results_right(&c->sampler, laid, results, count, &wrong))
        return true;
    fail(c, j, GX_ERR_DEVICE, "device '%s': a wrong result at element %llu of %zu",
         c->engine->slot->name, (unsigned long long)wrong,
         gx__operand_bytes(job, GX_OUT) / gx__operand_element(job, GX_OUT));
    return false;
}

/* False: the device refused a canonical operand. */
static bool is_refusal_right(struct check *c, size_t j)
{
    struct gx_outcome *r = &c->reports[j];
    if (r->status != GX_ERR_NOT_CANONICAL || !r->bad_operand || !is_verified(c, &c->jobs[j]) ||
        gx__refusal_right(&c->ws->round[j], r->bad_index, r->bad_operand))
        return true;
    fail(c, j, GX_ERR_DEVICE, "device '%s': refused a canonical operand at element %llu",
         c->engine->slot->name, (unsigned long long)r->bad_index);
    return false;
}

/* Verifies the first `done` jobs, which the device reports as done. If one is wrong, only those of
 * the others count of which every element was verified. */
static void judge(struct check *c, size_t done)
{
    bool right = done == c->count || is_refusal_right(c, done);
    for (size_t j = 0; j < done; j++)
        right &= compare(c, j);
    if (right) {
        gx__health_worked(c->engine->slot, done);
        return;
    }
    gx__health_gave_wrong_result(&c->router->slots, c->engine->slot, c->engine);
    for (size_t j = 0; j < done; j++)
        if (c->reports[j].status == GX_OK && sample_of(c, j) < c->jobs[j].n)
            fail(c, j, GX_ERR_DEVICE, "device '%s' gave a wrong result in the same call",
                 c->engine->slot->name);
}

/* Probes the device when due. A failed probe is reported as the failure of the last job. */
static void prove(struct check *c, uint64_t ns)
{
    size_t last = c->count - 1;
    char message[GX_MESSAGE_BYTES];
    if (c->reports[last].status != GX_OK || is_verified(c, c->jobs))
        return;
    gx_status s = gx__prove(c->router, c->engine, c->jobs, c->count, ns, message, sizeof message);
    if (s != GX_OK)
        fail(c, last, s, "%s", message);
}

/* ---- steps ---- */

/* Merges the results of the step into the batch. */
static void report_step(struct check *c)
{
    struct gx_batch *batch = c->batch;
    for (size_t j = 0; j < c->count; j++) {
        struct gx_outcome *r = &c->reports[j];
        gx__count_job(&c->engine->instance->counters, c->engine->work, &c->jobs[j], r);
        if (batch->status == GX_OK && r->status != GX_OK) {
            batch->status = r->status;
            batch->failed = c->first + j;
            memcpy(batch->message, r->message, sizeof batch->message);
        }
        if (batch->reports)
            batch->reports[c->first + j] = *r;
    }
    c->first += c->count;
}

/* The step cannot begin. */
static void fail_step(struct check *c, gx_status status)
{
    for (size_t j = 1; j < c->count; j++)
        gx__outcome_not_run(&c->reports[j], GX_ERR_NOT_RUN);
    fail(c, 0, status, "device '%s': operands cannot be copied to verify results: %s",
         c->engine->slot->name, gx_status_message(status));
}

static void step(struct check *c)
{
    struct gx_batch part = *c->batch;
    draw_samples(c);
    gx_status s = save_operands(c);
    if (s != GX_OK) {
        fail_step(c, s);
        report_step(c);
        return;
    }
    part.jobs = c->jobs;
    part.count = c->count;
    part.reports = c->reports;
    part.uncounted = true;
    part.done = NULL;
    part.failed = 0;
    uint64_t ns = gx__run_on_engine(c->engine, &part);
    judge(c, part.status == GX_OK ? c->count : part.failed);
    prove(c, ns);
    report_step(c);
}

/* Marks the jobs from c->first on as not run. */
static void skip_rest(struct check *c, gx_status status)
{
    struct gx_batch *batch = c->batch;
    bool cancelled = status == GX_ERR_CANCELLED;
    gx__count(&c->engine->instance->counters.jobs_failed, batch->count - c->first);
    for (size_t i = c->first; batch->reports && i < batch->count; i++)
        gx__outcome_not_run(&batch->reports[i], cancelled ? GX_ERR_CANCELLED : GX_ERR_NOT_RUN);
    if (batch->status != GX_OK)
        return;
    batch->status = status;
    batch->failed = c->first;
    snprintf(batch->message, sizeof batch->message, "%s", gx_status_message(status));
    if (batch->reports && !cancelled) {
        batch->reports[c->first].status = status;
        memcpy(batch->reports[c->first].message, batch->message, sizeof batch->message);
    }
}

static bool is_cancelled(const struct gx_batch *batch)
{
    return batch->cancel && atomic_load(batch->cancel);
}

void gx__check_run(struct gx_router *router, struct gx_engine *engine, struct gx_batch *batch)
{
    struct gx_rounds rounds;
    struct check c = {.router = router,
                      .engine = engine,
                      .ws = gx__workspace_take(router),
                      .batch = batch,
                      .sampler = {.seed = gx__now_ns(), .instance = engine->instance},
                      .every = gx__sample_every(engine->instance)};
    c.sampler.rest = c.sampler.seed / 64 % c.every;
    batch->status = GX_OK;
    batch->failed = GX_NO_JOB;
    gx_status s =
        c.ws ? gx__find_rounds(c.ws, batch->jobs, batch->count, &rounds) : GX_ERR_OUT_OF_MEMORY;
    if (s == GX_OK && !gx__workspace_reserve(c.ws, &c.ws->reports, &c.ws->report_room, batch->count,
                                             sizeof *c.ws->reports))
        s = GX_ERR_OUT_OF_MEMORY;
    c.reports = c.ws ? c.ws->reports : NULL;
    while (s == GX_OK && c.first < batch->count && batch->status == GX_OK) {
        if (is_cancelled(batch)) {
            s = GX_ERR_CANCELLED;
            break;
        }
        find_step(&c, &rounds);
        step(&c);
    }
    if (c.first < batch->count)
        skip_rest(&c, s == GX_OK ? batch->status : s);
    if (c.ws)
        gx__workspace_give(c.ws);
}
