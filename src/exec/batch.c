/* SPDX-License-Identifier: Apache-2.0
 *
 * See batch.h. A caller that shares a batch with other threads holds its lock.
 */
#include "exec/batch.h"

#include <string.h>

#include "base/clock.h"
#include "field/host.h"

/* ---- beginning ---- */

void gx__batch_trace(struct gx_engine *engine, const struct gx_batch *batch, enum gx_stage stage,
                     size_t first, size_t count, uint64_t elements, size_t bytes,
                     struct gx_times time)
{
    struct gx_span span = {.device = engine->device.info.name,
                           .stage = stage,
                           .job = batch->traced + first,
                           .jobs = count,
                           .op = batch->jobs[first].op,
                           .field = batch->jobs[first].field,
                           .elements = elements,
                           .bytes = bytes,
                           .start_ns = time.start_ns,
                           .end_ns = time.end_ns};
    gx__trace_span(engine->instance, &span);
}

static void trace_queued(struct gx_engine *engine, const struct gx_batch *batch)
{
    uint64_t elements = 0;
    size_t bytes = 0;
    for (size_t i = 0; i < batch->count; i++) {
        elements += batch->jobs[i].n;
        bytes += gx__operand_bytes(&batch->jobs[i], GX_A);
    }
    gx__batch_trace(engine, batch, GX_STAGE_QUEUED, 0, batch->count, elements, bytes,
                    (struct gx_times){batch->submit_ns, gx__now_ns()});
}

/* The outcome of a job that nobody wants a report of; some of it is counted. */
static void clear_spare(struct gx_batch *batch)
{
    memset(&batch->spare, 0, offsetof(struct gx_outcome, error));
}

void gx__batch_begin(struct gx_engine *engine, struct gx_batch *batch)
{
    bool tracing = gx__tracing(engine->instance) && !batch->plan;
    batch->uncounted |= batch->plan != NULL;
    batch->status = GX_OK;
    batch->failed = GX_NO_JOB;
    batch->error.text[0] = 0;
    batch->timed = (batch->reports && !batch->untimed) || tracing;
    batch->traced = tracing ? gx__trace_jobs(engine->instance, batch->count) : 0;
    if (tracing && batch->submit_ns && batch->count)
        trace_queued(engine, batch);
    if (!batch->reports)
        clear_spare(batch);
}

gx_status gx__job_kernel(struct gx_engine *engine, const struct gx_task *job, bool check,
                         struct gx_kernel *kernel)
{
    struct gx_task inner;
    if (!engine->device.ops->run && gx__task_inner(job, &inner))
        job = &inner;
    struct gx_kernel_key key = {
        .op = job->op, .field = job->field, .broadcast = job->broadcast >> GX_A, .check = check};
    if (gx__op_has_params(job->op))
        gx__task_key(job, key.param);
    return engine->device.ops->kernel(&engine->device, &key, kernel);
}

static const char *missing_kernel(gx_device_kind kind)
{
    return kind == GX_DEVICE_VULKAN   ? "SPIR-V (gx_kernel_params.spirv)"
           : kind == GX_DEVICE_WEBGPU ? "WGSL (gx_kernel_params.wgsl)"
           : kind == GX_DEVICE_CUDA   ? "PTX (gx_kernel_params.ptx)"
                                      : "C function (gx_kernel_params.fn)";
}

gx_status gx__engine_has(struct gx_engine *engine, const struct gx_task *job,
                         struct gx_error *error)
{
    struct gx_device *device = &engine->device;
    const char *name = gx_op_get_info(job->op)->name, *why = NULL;
    bool registered = gx__is_registered_op(job->op);
    struct gx_kernel kernel;
    gx_status s = gx__engine_status(engine, gx__job_kernel(engine, job, false, &kernel));
    if (registered && device->ops->refusal)
        why = device->ops->refusal(device, job->op);
    if (s == GX_ERR_UNSUPPORTED && why)
        gx__explain(error, "'%s' on '%s': %s", name, device->info.name, why);
    else if (s == GX_ERR_UNSUPPORTED && registered)
        gx__explain(error, "'%s' cannot run on '%s': it was registered without %s", name,
                    device->info.name, missing_kernel(device->info.kind));
    else if (s == GX_ERR_UNSUPPORTED)
        gx__explain(error, "'%s' has no kernel for '%s'", name, device->info.name);
    uint64_t limit = device->facts.dispatch_bytes;
    if (s != GX_OK || !limit || job->shape != GX_SHAPE_WHOLE)
        return s;
    for (int i = 0; i < GX_OPERANDS; i++) {
        size_t bytes = gx__operand_bytes(job, i);
        if (bytes <= limit)
            continue;
        return gx__refuse(error, GX_ERR_UNSUPPORTED,
                          "'%s' on '%s': an operand has %zu bytes; it must be whole, and a "
                          "kernel there sees up to %llu",
                          name, device->info.name, bytes, (unsigned long long)limit);
    }
    if (job->n > UINT32_MAX) { /* broadcast operands take no memory */
        return gx__refuse(error, GX_ERR_UNSUPPORTED,
                          "'%s' on '%s': n is %zu; a kernel there has up to %u elements", name,
                          device->info.name, job->n, UINT32_MAX);
    }
    return GX_OK;
}

/* ---- failing ---- */

/* Whether it is the first so far. */
static bool fail(struct gx_batch *batch, size_t i, gx_status status)
{
    if (i >= batch->failed)
        return false;
    batch->failed = i;
    batch->status = status;
    return true;
}

bool gx__batch_goes_on(struct gx_batch *batch, size_t next)
{
    if (batch->cancel && atomic_load(batch->cancel) && fail(batch, next, GX_ERR_CANCELLED))
        gx__explain(&batch->error, "%s", gx_status_message(GX_ERR_CANCELLED));
    return batch->failed == GX_NO_JOB;
}

void gx__batch_fail_device(struct gx_engine *engine, struct gx_batch *batch, size_t i, gx_status s)
{
    const char *name = engine->device.info.name;
    size_t limit = engine->pool.limit;
    gx__engine_status(engine, s);
    if (!fail(batch, i, s))
        return;
    if (s == GX_ERR_OUT_OF_DEVICE_MEMORY && limit != SIZE_MAX)
        gx__explain(&batch->error, "device '%s': %s: of %zu bytes it may use, buffers hold %zu",
                    name, gx_status_message(s), limit, limit - gx__pool_room(&engine->pool));
    else
        gx__explain(&batch->error, "device '%s': %s", name, gx_status_message(s));
}

void gx__batch_fail_element(struct gx_batch *batch, size_t i, uint64_t bad, char operand)
{
    struct gx_outcome *r = gx__batch_report(batch, i);
    if (!fail(batch, i, gx__refusal_status(&batch->jobs[i], operand)))
        return;
    r->bad_index = bad;
    r->bad_operand = operand;
    gx__refusal_message(&batch->error, &batch->jobs[i], bad, operand);
}

gx_status gx__look_again(const struct gx_task *job, bool parted, gx_look_fn look, void *user,
                         uint64_t *bad, char *operand)
{
    uint64_t some[GX_LOOK_ELEMS * GX_LIMBS_MAX];
    const size_t each = job->element[GX_A];
    gx_status s = GX_OK;
    for (uint64_t at = 0, n; parted && at < *bad && s == GX_OK; at += n) {
        n = *bad - at < GX_LOOK_ELEMS ? *bad - at : GX_LOOK_ELEMS;
        s = look(user, &job->a, (size_t)at * each, (size_t)n * each, some);
        size_t found =
            s == GX_OK ? gx__first_bad(gx__prime(job->field), some, (size_t)n, false) : GX_NONE_BAD;
        *bad = found != GX_NONE_BAD ? at + found : *bad;
    }
    *operand = 0;
    for (int i = GX_A; i <= job->operands && !*operand && s == GX_OK; i++) {
        size_t skip;
        if (!gx__operand_find(job, i, *bad, &skip))
            continue;
        s = look(user, &job->operand[i], skip, job->element[i], some);
        if (s == GX_OK && gx__element_bad(job, i, some))
            *operand = (char)('a' + i - GX_A);
    }
    return s;
}

/* ---- ending ---- */

void gx__count_job(struct gx_counters *c, struct gx_work *work, const struct gx_task *job,
                   const struct gx_outcome *r)
{
    if (r->status != GX_OK) {
        gx__count(&c->jobs_failed, 1);
        return;
    }
    size_t read = 0;
    for (int i = GX_A; i <= job->operands; i++)
        read += gx__operand_bytes(job, i);
    if (work)
        gx__tally_job(gx__tally_of(&work->tallies, job->op, job->field), job->n, r->total_ns,
                      r->queued_ns);
    gx__count(&c->bytes_read, read);
    gx__count(&c->bytes_written, gx__operand_bytes(job, GX_OUT));
    gx__count(&c->compute_ns, r->compute_ns);
    gx__count(&c->dispatches, r->dispatches);
    if (r->record_ns + r->submit_ns) { /* not a host device */
        gx__count(&c->record_ns, r->record_ns);
        gx__count(&c->submit_ns, r->submit_ns);
    }
}

void gx__batch_job_done(struct gx_engine *engine, struct gx_batch *batch, size_t i,
                        struct gx_times time)
{
    const struct gx_task *job = &batch->jobs[i];
    struct gx_outcome *r = gx__batch_report(batch, i);
    size_t bytes = 0;
    if (time.end_ns && gx__batch_traced(engine, batch)) {
        for (int k = 0; k < GX_OPERANDS; k++)
            bytes += gx__operand_bytes(job, k);
        gx__batch_trace(engine, batch, GX_STAGE_JOB, i, 1, job->n, bytes, time);
    }
    memcpy(r->device, engine->device.info.name, sizeof r->device);
    r->status = GX_OK;
    r->queued_ns = batch->queued_ns;
    if (!batch->uncounted)
        gx__count_job(&engine->instance->counters, engine->work, job, r);
    if (!batch->reports && i + 1 < batch->count)
        clear_spare(batch);
}

static void not_done(struct gx_engine *engine, struct gx_batch *batch, size_t i)
{
    struct gx_outcome *r = gx__batch_report(batch, i);
    bool cancelled = batch->status == GX_ERR_CANCELLED;
    if (i > batch->failed || cancelled) {
        gx__outcome_not_run(r, cancelled ? GX_ERR_CANCELLED : GX_ERR_NOT_RUN);
    } else {
        memcpy(r->device, engine->device.info.name, sizeof r->device);
        r->error = batch->error;
        r->status = batch->status;
        r->queued_ns = batch->queued_ns;
    }
    if (!batch->uncounted)
        gx__count(&engine->instance->counters.jobs_failed, 1);
}

void gx__batch_end(struct gx_engine *engine, struct gx_batch *batch)
{
    for (size_t i = 0; i < batch->count; i++) {
        if (i == batch->failed || (i > batch->failed && !batch->one_report))
            not_done(engine, batch, i);
        else if (i < batch->failed && batch->jobs[i].empty)
            gx__batch_job_done(engine, batch, i, (struct gx_times){0});
    }
    if (batch->done)
        batch->done(batch);
}
