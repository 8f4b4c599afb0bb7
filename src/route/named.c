/* SPDX-License-Identifier: Apache-2.0
 *
 * Jobs that leave no choice: their device is named, or has their buffers. Their batches are timed
 * and learned from here. If results stay in buffers of a device, it must pass a probe now and then.
 */
#include <string.h>

#include "base/clock.h"
#include "base/float_env.h"
#include "base/log.h"
#include "exec/buffer.h"
#include "exec/pipe.h"
#include "op/traits.h"
#include "route/health.h"
#include "route/workspace.h"

/* Of calls with less work than this (gx__task_work), only one in TIMED_EVERY is timed. */
#define TIMED_WORK  4096u
#define TIMED_EVERY 64u
/* A probe is due after so many times gx_config.sample_every elements were computed into buffers. */
#define PROBE_EACH 1024u

/* ---- results of a call ---- */

void gx__not_run(struct gx_router *router, struct gx_call *call, size_t first, gx_status why)
{
    gx__count(&router->slots.instance->counters.jobs_failed, call->count - first);
    for (size_t i = first; call->reports && i < call->count; i++)
        gx__outcome_not_run(&call->reports[i], why);
}

/* The message of the call says why. */
static void fail_job(struct gx_call *call, size_t job, gx_status status)
{
    call->failed = job;
    if (!call->reports)
        return;
    call->reports[job].status = status;
    call->reports[job].error = call->error;
}

void gx__fail_before(struct gx_router *router, struct gx_call *call, size_t first, size_t job,
                     gx_status status)
{
    bool cancelled = status == GX_ERR_CANCELLED;
    gx__not_run(router, call, first, cancelled ? GX_ERR_CANCELLED : GX_ERR_NOT_RUN);
    call->failed = job;
    if (cancelled)
        return;
    fail_job(call, job, status);
    if (call->reports)
        call->reports[job].queued_ns = call->queued_ns;
}

gx_status gx__take_result(struct gx_call *call, const struct gx_batch *batch, size_t first)
{
    if (batch->status != GX_OK) {
        call->failed = first + batch->failed;
        call->error = batch->error;
    }
    return batch->status;
}

void gx__report_one(const struct gx_engine *engine, const struct gx_task *job, gx_path path,
                    struct gx_outcome *r)
{
    const struct gx_device_slot *slot = engine->slot;
    struct gx_considered *c = &r->candidate[0];
    *c = (struct gx_considered){0};
    struct gx_prediction p;
    struct gx_float_env caller;
    if (!r->reason) /* not run */
        return;
    r->candidates = 1;
    memcpy(c->device, slot->name, sizeof c->device);
    c->status = r->status;
    c->elements = r->status == GX_OK ? job->n : 0;
    c->actual_ns = r->total_ns;
    struct gx_kind kind = gx__kind_of(engine->instance, job, path, slot->host);
    gx__float_env_default(&caller);
    if (gx__model_predict(atomic_load(&slot->model), &kind, (double)job->n, &p))
        c->share_ns = c->predicted_ns = (uint64_t)p.ns;
    gx__float_env_restore(&caller);
}

void gx__report_alone(const struct gx_engine *engine, struct gx_call *call, size_t first,
                      size_t count)
{
    for (size_t i = first; call->reports && i < first + count; i++)
        gx__report_one(engine, &call->jobs[i], call->path, &call->reports[i]);
}

/* ---- a batch ---- */

static uint64_t elements_of(const struct gx_task *jobs, size_t count)
{
    uint64_t elements = 0;
    for (size_t i = 0; i < count; i++)
        elements += jobs[i].n;
    return elements;
}

/* In whole numbers: the floating-point environment is the caller's. */
static bool is_long(const struct gx_batch *batch)
{
    uint64_t work = 0;
    for (size_t i = 0; i < batch->count && work < TIMED_WORK; i++) {
        const struct gx_task *job = &batch->jobs[i];
        uint64_t enough = TIMED_WORK * (uint64_t)job->passes;
        uint64_t n = job->n < enough ? job->n : enough;
        work += n * (job->products ? job->products : 1) / job->passes;
    }
    return work >= TIMED_WORK;
}

static void learn_from(struct gx_engine *engine, const struct gx_batch *batch, uint64_t ns)
{
    struct gx_float_env caller;
    gx__float_env_default(&caller);
    gx__learn(engine->instance, engine->slot, batch->jobs, batch->count, batch->path, ns, false);
    gx__float_env_restore(&caller);
}

/* The approximate time of a batch, as if all jobs were of the kind of the first; 0: small, or not
 * known. */
static uint64_t predict_batch(struct gx_engine *engine, const struct gx_batch *batch,
                              uint64_t elements)
{
    struct gx_device_slot *slot = engine->slot;
    struct gx_prediction p = {0};
    struct gx_float_env caller;
    if (!is_long(batch))
        return 0;
    struct gx_kind kind = gx__kind_of(engine->instance, batch->jobs, batch->path, slot->host);
    gx__float_env_default(&caller);
    gx__model_predict(atomic_load(&slot->model), &kind, (double)elements, &p);
    uint64_t ns = (uint64_t)p.ns;
    gx__float_env_restore(&caller);
    return ns;
}

/* Whether a kind is new. Its first runs are timed even if small, so that the model allocates its
 * memory early. */
static bool is_new(struct gx_engine *engine, const struct gx_batch *batch)
{
    if (!batch->count)
        return false;
    struct gx_kind kind = gx__kind_of(engine->instance, batch->jobs, GX_PATH_AUTO, true);
    const struct gx_kind_stats *kind_stats = gx__kind_stats(engine->slot, &kind);
    return !kind_stats ||
           atomic_load_explicit(&kind_stats->runs, memory_order_relaxed) < GX_FIRST_RUNS;
}

uint64_t gx__run_on_engine(struct gx_engine *engine, struct gx_batch *batch)
{
    struct gx_device_slot *slot = engine->slot;
    uint64_t elements = elements_of(batch->jobs, batch->count);
    uint64_t number =
        atomic_fetch_add_explicit(&slot->work.jobs, batch->count, memory_order_relaxed);
    bool timed = !slot->host || is_long(batch) || number % TIMED_EVERY < batch->count ||
                 is_new(engine, batch);
    if (!timed) {
        gx__compose_run(engine, batch);
        gx__count(&slot->work.elements, elements);
        return 0;
    }
    bool alone = atomic_fetch_add(&slot->active, 1) == 0;
    uint64_t expected = predict_batch(engine, batch, elements);
    atomic_fetch_add(&slot->waiting_ns, expected);
    uint64_t start = gx__engine_now(engine);
    gx__compose_run(engine, batch);
    uint64_t ns = gx__engine_now(engine) - start;
    atomic_fetch_sub(&slot->waiting_ns, expected);
    alone &= atomic_fetch_sub(&slot->active, 1) == 1;
    gx__count(&slot->work.elements, elements);
    gx__count(&slot->work.busy_ns, ns);
    if (alone && batch->status == GX_OK && !batch->mode)
        learn_from(engine, batch, ns);
    return ns;
}

/* ---- which device ---- */

bool gx__in_device_buffer(const struct gx_place *o)
{
    return o->buf && !o->buf->engine->slot->host;
}

struct gx_engine *gx__resident_engine(const struct gx_task *job)
{
    for (int i = 0; i < GX_OPERANDS; i++)
        if (gx__in_device_buffer(&job->operand[i]))
            return job->operand[i].buf->engine;
    return NULL;
}

struct gx_engine *gx__buffer_engine(const struct gx_task *job)
{
    for (int i = 0; i < GX_OPERANDS; i++)
        if (job->operand[i].buf)
            return job->operand[i].buf->engine;
    return NULL;
}

/* The engine of a job whose device is named or has all its buffers, and the reason. On success the
 * caller is a user of *engine; on failure message says why. */
static gx_status find_engine(struct gx_router *router, const struct gx_task *job,
                             const char *device, struct gx_engine **engine, gx_reason *reason,
                             struct gx_error *error)
{
    struct gx_engine *home = gx__buffer_engine(job);
    const char *name = device ? device : router->slots.instance->config.device;
    *reason = home && !device ? GX_REASON_RESIDENT : GX_REASON_ASKED;
    gx_status s = GX_OK;
    if (home && !device)
        *engine = gx__engine_acquire(home);
    else
        s = gx__slot_open(&router->slots, name, engine, error);
    if (s != GX_OK)
        return s;
    if (!home || *engine == home) {
        if (gx__have_kernels(*engine, job, 1, error))
            return GX_OK;
        gx__engine_release(*engine);
        return GX_ERR_UNSUPPORTED;
    }
    gx__engine_release(*engine);
    if (atomic_load(&home->lost)) { /* the device has just been reopened under the same name */
        return gx__refuse(error, GX_ERR_DEVICE_LOST, "device '%s': %s", home->device.info.name,
                          gx_status_message(GX_ERR_DEVICE_LOST));
    }
    return gx__refuse(error, GX_ERR_INVALID, "asked to run on '%s', but its buffers are on '%s'",
                      device, home->device.info.name);
}

gx_status gx__next_segment(struct gx_router *router, struct gx_call *call, size_t first,
                           struct gx_engine **engine, size_t *count, gx_reason *first_reason)
{
    struct gx_engine *next;
    struct gx_error error;
    gx_status s =
        find_engine(router, &call->jobs[first], call->device, engine, first_reason, &call->error);
    *count = 1;
    if (s == GX_OK && call->reports)
        gx__outcome_clear(&call->reports[first], *first_reason);
    for (size_t i = first + 1; s == GX_OK && i < call->count; i++, ++*count) {
        gx_reason reason;
        if (find_engine(router, &call->jobs[i], call->device, &next, &reason, &error) != GX_OK)
            break;
        gx__engine_release(next); /* the use by the first job keeps it open */
        if (next != *engine)
            break;
        if (call->reports)
            gx__outcome_clear(&call->reports[i], reason);
    }
    return s;
}

gx_status gx__run_named(struct gx_router *router, struct gx_call *call)
{
    struct gx_batch batch;
    struct gx_engine *engine;
    gx_reason reason;
    call->error.text[0] = 0;
    for (size_t i = 0, n; i < call->count; i += n) {
        gx_status s = gx__next_segment(router, call, i, &engine, &n, &reason);
        if (s != GX_OK) {
            gx__fail_before(router, call, i, i, s);
            return s;
        }
        gx__batch_set(&batch, call, call->jobs + i, i, n);
        if (engine->checked)
            gx__run_verified(router, engine, &batch);
        else
            gx__run_on_engine(engine, &batch);
        gx__engine_release(engine);
        s = gx__take_result(call, &batch, i);
        if (s != GX_OK) {
            gx__not_run(router, call, i + n, GX_ERR_NOT_RUN);
            return s;
        }
    }
    return GX_OK;
}

/* ---- results that stay in buffers ---- */

/* Counts elements that were computed into buffers in ns, and says whether a probe is due: there are
 * enough since the last probe (*all), and a probe takes little time compared with theirs. */
static bool probe_is_due(struct gx_device_slot *slot, uint64_t every, uint64_t elements,
                         uint64_t ns, uint64_t *all)
{
    uint64_t limit = every < UINT64_MAX / PROBE_EACH ? every * PROBE_EACH : UINT64_MAX;
    uint64_t all_ns = atomic_fetch_add(&slot->unprobed_ns, ns) + ns;
    *all = atomic_fetch_add(&slot->unprobed, elements) + elements;
    return *all >= limit && all_ns / GX_TRUST_COST >= atomic_load(&slot->probe_ns);
}

/* Counts jobs whose results stay in buffers of the engine, and probes it when due. GX_ERR_DEVICE if
 * the probe fails; message says what that means for the results. */
static gx_status probe_when_due(struct gx_router *router, struct gx_engine *engine,
                                const struct gx_task *jobs, size_t count, uint64_t ns,
                                struct gx_error *error)
{
    struct gx_device_slot *slot = engine->slot;
    uint64_t all, every = gx__sample_every(router->slots.instance);
    if (!count || !probe_is_due(slot, every, elements_of(jobs, count), ns, &all))
        return GX_OK;
    struct gx_error why = {""};
    uint64_t start = gx__engine_now(engine);
    struct gx_sampler sampler = {.seed = gx__now_ns()};
    const struct gx_task *job = &jobs[sampler.seed / 64 % count]; /* at random */
    atomic_store(&slot->unprobed, 0);
    atomic_store(&slot->unprobed_ns, 0);
    gx__count(&router->slots.instance->counters.sampled, GX_PROBE_ELEMS);
    gx_status s = gx__probe_like(engine, &sampler, job, &why);
    atomic_store(&slot->probe_ns, gx__engine_now(engine) - start);
    if (s == GX_OK)
        gx__health_worked(slot, 1);
    if (s != GX_ERR_DEVICE) /* other failures will show in the next call */
        return GX_OK;
    gx__health_gave_wrong_result(&router->slots, slot, engine);
    return gx__refuse(error, GX_ERR_DEVICE,
                      "the last %llu elements computed into buffers of '%s' may be wrong: %.60s",
                      (unsigned long long)all, slot->name, why.text);
}

void gx__end_resident(struct gx_workspace *ws, struct gx_call *call, size_t first, size_t count,
                      gx_status status)
{
    struct gx_engine *engine = gx__resident_engine(&call->jobs[first]);
    gx__report_alone(engine, call, first, count);
    if (gx__health_is_failure(status))
        gx__health_failed(&ws->router->slots, engine->slot, engine, status);
}

gx_status gx__run_resident(struct gx_workspace *ws, struct gx_call *call, size_t first,
                           size_t count, size_t *reported)
{
    struct gx_router *router = ws->router;
    struct gx_batch batch;
    const struct gx_task *jobs;
    gx_status s = gx__lay_out(ws, call->jobs + first, count, false, &jobs, &call->error);
    *reported = s == GX_OK ? count : 0;
    if (s != GX_OK)
        return s;
    struct gx_engine *engine = gx__engine_acquire(gx__resident_engine(&call->jobs[first]));
    for (size_t i = first; call->reports && !ws->only && i < first + count; i++)
        gx__outcome_clear(&call->reports[i], GX_REASON_RESIDENT);
    gx__batch_set(&batch, call, jobs, first, count);
    uint64_t ns = gx__run_on_engine(engine, &batch);
    s = gx__take_result(call, &batch, first);
    if (!ws->only)
        gx__end_resident(ws, call, first, count, s);
    if (s == GX_OK) {
        s = probe_when_due(router, engine, jobs, count, ns, &call->error);
        if (s != GX_OK)
            fail_job(call, first + count - 1, s); /* the last one says so */
    }
    gx__engine_release(engine);
    return s;
}

/* ---- tickets ---- */

/* Whether each job has all its buffers on one device, and so runs there in the same stream as other
 * tickets. */
static bool all_resident(const struct gx_call *call)
{
    for (size_t i = 0; i < call->count; i++) {
        const struct gx_engine *home = gx__buffer_engine(&call->jobs[i]);
        for (int k = 0; k < GX_OPERANDS; k++) {
            const gx_buf *buf = call->jobs[i].operand[k].buf;
            if (!home || (buf && buf->engine != home))
                return false;
        }
        if (gx__must_go_via_host(&call->jobs[i]))
            return false;
    }
    return call->count;
}

/* probe_when_due with the predicted time, because the job has not run yet. */
static gx_status probe_expected(struct gx_router *router, struct gx_engine *engine,
                                const struct gx_task *job, struct gx_error *error)
{
    struct gx_batch batch = {.jobs = job, .count = 1};
    uint64_t ns = predict_batch(engine, &batch, job->n);
    return probe_when_due(router, engine, job, 1, ns ? ns : job->n, error);
}

gx_status gx__route_ticket(struct gx_router *router, struct gx_call *call, bool routed,
                           struct gx_ticket *ticket)
{
    if (routed && !all_resident(call))
        return GX_OK;
    for (size_t i = 0; i < call->count; i++) {
        struct gx_engine *engine;
        gx_reason reason;
        struct gx_error error = {""};
        gx_status s = find_engine(router, &call->jobs[i], call->device, &engine, &reason, &error);
        if (s == GX_OK && routed && !engine->slot->host && !engine->checked) {
            s = probe_expected(router, engine, &call->jobs[i], &error);
            if (s != GX_OK)
                gx__engine_release(engine);
        }
        if (s != GX_OK) {
            call->failed = i;
            call->error = error;
            return s;
        }
        gx__ticket_route(ticket, i, engine, reason);
    }
    return GX_OK;
}
