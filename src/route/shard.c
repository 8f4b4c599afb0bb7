/* SPDX-License-Identifier: Apache-2.0
 *
 * One share of a round on one device: run, results compared, brought where they belong. What
 * would replace operands goes to memory of the workspace first, so that whatever the device does,
 * the operands are there to do it again elsewhere.
 */
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "exec/pipe.h"
#include "op/verify.h"
#include "route/workspace.h"
#include "route/health.h"

/* What a sample of fewer elements takes is mostly what it takes to begin. */
#define SAMPLE_TIMED 64u
#define SAMPLE_FADE  16u

/* The ith job as it is meant: with its own out. */
static gx_job meant(const struct gx_shard *e, size_t i)
{
    struct gx_range range = gx__share_range(e->round, &e->share, i);
    return gx__sub_job(&e->round[range.job], range.first, range.n);
}

/* The ith job is a part of a reduction. */
static bool is_part(const struct gx_shard *e, size_t i)
{
    struct gx_range range = gx__share_range(e->round, &e->share, i);
    const gx_job *whole = &e->round[range.job];
    return gx__op_shape(whole->op) == GX_SHAPE_REDUCTION && range.n != whole->n;
}

/* Memory of its own for every such result, at the alignment of caches. */
static size_t spare_bytes(const gx_job *job)
{
    return gx__job_in_place(job) ? (gx__operand_bytes(job, GX_OUT) + 63) / 64 * 64 : 0;
}

size_t gx__shard_spare(const struct gx_shard *e)
{
    size_t bytes = 0;
    for (size_t i = 0; i < e->share.jobs; i++) {
        gx_job job = meant(e, i);
        bytes += spare_bytes(&job);
    }
    return bytes;
}

/* Results go to their own memory, or on a device that may fail, to spare. */
bool gx__shard_aim(struct gx_shard *e)
{
    char *spare = e->spare;
    for (size_t i = 0; i < e->share.jobs; i++) {
        e->jobs[i] = meant(e, i);
        if (is_part(e, i))
            e->jobs[i].out = gx_host(e->part[i != 0]);
        size_t bytes = e->candidate->slot->host ? 0 : spare_bytes(&e->jobs[i]);
        if (!bytes)
            continue;
        if (!spare)
            return false;
        e->jobs[i].out.host = spare;
        spare += bytes;
    }
    return true;
}

static void be_fine(struct gx_shard *e)
{
    e->status = GX_OK;
    e->message[0] = 0;
}

static void fail(struct gx_shard *e, gx_status status, const char *message)
{
    e->status = status;
    snprintf(e->message, sizeof e->message, "%s", message);
}

/* ---- looking at results ---- */

static void lied(struct gx_shard *e, uint64_t index, const char *what)
{
    char message[sizeof e->message];
    snprintf(message, sizeof message, "device '%s': %s at element %llu", e->candidate->slot->name,
             what, (unsigned long long)index);
    gx__health_gave_wrong_result(&e->router->slots, e->candidate->slot, e->candidate->engine);
    fail(e, GX_ERR_DEVICE, message);
}

/* One sample, and what an element of it takes: half from now and half from before. */
static bool look(struct gx_shard *e, struct gx_sampler *sampler, size_t i, uint64_t count,
                 uint64_t *wrong)
{
    struct gx_device_slot *slot = e->candidate->slot;
    gx_job job = meant(e, i);
    if (count < SAMPLE_TIMED)
        return gx__results_right(sampler, &job, e->jobs[i].out.host, count, wrong);
    uint64_t start = gx__now_ns();
    bool right = gx__results_right(sampler, &job, e->jobs[i].out.host, count, wrong);
    uint64_t ps = (gx__now_ns() - start) * 1000 / count + 1, before = atomic_load(&slot->sample_ps);
    atomic_store(&slot->sample_ps, before ? (before + ps) / 2 : ps);
    return right;
}

static void fade(_Atomic uint64_t *ps)
{
    uint64_t before = atomic_load(ps);
    atomic_store(ps, before - before / SAMPLE_FADE);
}

/* Jobs from `from` to `to` are done, by what the device says, and all took ns. How many
 * elements are looked at is bounded where that is left to us, and the device is known: then
 * there are fewer of each job, not none of the last. */
static bool compare(struct gx_shard *e, size_t from, size_t to, uint64_t ns)
{
    struct gx_device_slot *slot = e->candidate->slot;
    struct gx_instance *instance = e->router->slots.instance;
    uint64_t every = gx__sample_every(instance), left = UINT64_MAX;
    struct gx_sampler sampler = {.seed = gx__now_ns(), .instance = instance};
    bool trusted = gx__health_trusted(slot), right = true;
    uint64_t before = e->sampled, elements = 0;
    if (trusted && !instance->config.sample_every)
        left = gx__sample_most(ns, atomic_load(&slot->sample_ps));
    for (size_t i = from; i < to; i++)
        elements += e->jobs[i].n;
    if (elements / every > left) {
        every = elements / left + 1;
        if (left < SAMPLE_TIMED) /* too few to be timed: what one slow look said must pass */
            fade(&slot->sample_ps);
    }
    sampler.rest = sampler.seed / 64 % every; /* not the same jobs of a batch every time */
    for (size_t i = from; i < to && right; i++) {
        uint64_t wrong, count = gx__sample_size(&sampler, &e->jobs[i], every, trusted);
        if (!count)
            continue;
        right = look(e, &sampler, i, count, &wrong);
        e->reports[i].sampled = count < UINT32_MAX ? (uint32_t)count : UINT32_MAX;
        e->sampled += count;
        if (!right)
            lied(e, wrong, "a wrong result");
    }
    gx__count(&instance->counters.sampled, e->sampled - before);
    return right;
}

static bool refused_rightly(struct gx_shard *e, size_t i)
{
    const struct gx_outcome *r = &e->reports[i];
    gx_job job = meant(e, i);
    if (gx__refusal_right(&job, r->bad_index, r->bad_operand))
        return true;
    lied(e, r->bad_index, "it refused a canonical operand");
    return false;
}

static void bring_home(struct gx_shard *e, size_t from, size_t to)
{
    for (size_t i = from; i < to && e->spare; i++) {
        gx_job job = meant(e, i);
        if (job.out.host != e->jobs[i].out.host && !is_part(e, i))
            memcpy(job.out.host, e->jobs[i].out.host, gx__operand_bytes(&job, GX_OUT));
    }
}

void gx__shard_join(const struct gx_shard *e)
{
    for (size_t i = 0; i < e->next; i++) {
        struct gx_range range = gx__share_range(e->round, &e->share, i);
        gx_job job = e->round[range.job];
        if (!is_part(e, i) || e->reports[i].status != GX_OK)
            continue;
        if (range.first)
            gx__op_join(&job, job.out.host, e->part[i != 0]);
        else
            memcpy(job.out.host, e->part[i != 0], gx__operand_bytes(&job, GX_OUT));
    }
}

/* ---- running ---- */

static void run_batch(struct gx_shard *e, struct gx_batch *batch, uint64_t *ns)
{
    struct gx_engine *engine = e->candidate->engine;
    struct gx_outcome *reports = e->reports + e->next;
    size_t count = e->share.jobs - e->next;
    memset(reports, 0, count * sizeof *reports);
    gx__batch_set(batch, e->call, e->jobs + e->next, 0, count);
    batch->reports = reports;
    batch->queued_ns = 0;
    batch->uncounted = true;
    batch->untimed = !e->call->reports;
    batch->cancel = e->together ? NULL : e->call->cancel;
    uint64_t start = gx__engine_now(engine);
    gx__engine_run(engine, batch);
    *ns = gx__engine_now(engine) - start;
}

/* The jobs before `end` are done and right. */
static void take_in(struct gx_shard *e, size_t end, uint64_t ns)
{
    struct gx_device_slot *slot = e->candidate->slot;
    uint64_t elements = 0, some = 0;
    bring_home(e, e->next, end);
    for (size_t i = e->next; i < end; i++) {
        elements += e->jobs[i].n;
        some += e->jobs[i].n != 0;
    }
    if (some)
        gx__health_worked(slot, some);
    gx__count(&slot->work.jobs, end - e->next);
    gx__count(&slot->work.elements, elements);
    gx__count(&slot->work.busy_ns, ns);
    e->candidate->elements += elements;
    e->candidate->actual_ns += ns;
    e->next = end;
}

/* One batch, from `next` on. False where the device is at fault, or all has to end. */
static bool go(struct gx_shard *e, bool alone)
{
    struct gx_batch batch;
    struct gx_device_slot *slot = e->candidate->slot;
    uint64_t ns;
    size_t first = e->next;
    run_batch(e, &batch, &ns);
    size_t end = batch.status == GX_OK ? e->share.jobs : first + batch.failed;
    if (batch.status != GX_OK)
        fail(e, batch.status, batch.message);
    if (gx__health_is_failure(batch.status) && !slot->host)
        gx__health_failed(&e->router->slots, slot, e->candidate->engine, batch.status);
    if (!slot->host && !compare(e, first, end, ns))
        return false; /* none of them counts */
    if (!slot->host && batch.status == GX_OK && atomic_load(&e->candidate->engine->lost)) {
        fail(e, GX_ERR_DEVICE, "another call has found that the device gives wrong results");
        return false;
    }
    if (batch.status == GX_ERR_NOT_CANONICAL && !slot->host && !refused_rightly(e, end))
        return false;
    take_in(e, end, ns);
    alone &= atomic_load(&slot->active) == 1;
    if (batch.status == GX_OK && alone && !e->spare && !e->call->mode && !e->failed_over)
        gx__learn(e->router->slots.instance, slot, batch.jobs, batch.count, e->call->path, ns,
                  e->together);
    if (batch.status == GX_ERR_NOT_CANONICAL) {
        be_fine(e);
        e->next = end + 1; /* the report has it */
    }
    return batch.status == GX_OK || batch.status == GX_ERR_NOT_CANONICAL;
}

/* A job that is refused stops the others only where these are not half done elsewhere. */
static bool goes_on(const struct gx_shard *e)
{
    bool refused = e->next && e->reports[e->next - 1].status == GX_ERR_NOT_CANONICAL;
    return e->next < e->share.jobs && (e->together || !refused);
}

void gx__shard_run(struct gx_shard *e)
{
    struct gx_device_slot *slot = e->candidate->slot;
    be_fine(e);
    if (!gx__shard_aim(e)) {
        fail(e, GX_ERR_OUT_OF_MEMORY,
             "no memory to keep operands safe from a device that may fail");
        return;
    }
    bool alone = atomic_fetch_add(&slot->active, 1) == 0;
    while (goes_on(e) && go(e, alone))
        ;
    atomic_fetch_sub(&slot->active, 1);
}
