/* SPDX-License-Identifier: Apache-2.0
 *
 * Runs a shard: one share of a round on one device. Results in place go to memory of the workspace
 * first and are copied to their outputs after verification, so that the operands are intact if
 * another device has to repeat the share.
 */
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "exec/pipe.h"
#include "op/msm.h"
#include "op/verify_ntt.h"
#include "route/health.h"
#include "route/workspace.h"

/* Smaller samples are not timed: their time is mostly overhead. */
#define SAMPLE_TIMED 64u
#define SAMPLE_DECAY 16u
/* Transforms are looked at in each of the first jobs of a device, then in all small ones until it
 * is trusted, and in others for at most one part in UNTRUSTED_COST of the time of the jobs. */
#define FIRST_TRANSFORMS 4u
#define UNTRUSTED_COST   4u
/* The first sums of points of a device are computed again if the host needs at most so long. */
#define FIRST_SUMS    2u
#define FIRST_SUMS_PS 1000000000000u

/* Whether the ith job is part of a reduction, or of a GX_MSM with one result, that is split between
 * shards. */
static bool is_part(const struct gx_shard *shard, size_t i)
{
    struct gx_range range = gx__share_range(shard->round, &shard->share, i);
    const gx_job *whole = &shard->round[range.job];
    enum gx_op_shape shape = gx__op_shape(whole->op);
    bool one = shape == GX_SHAPE_REDUCTION || (shape == GX_SHAPE_MSM && gx__job_unit(whole) == 1);
    return one && range.n != whole->n;
}

/* The part of the ith job that belongs to the share, with the caller's output. */
static gx_job share_job(struct gx_shard *shard, size_t i)
{
    struct gx_range range = gx__share_range(shard->round, &shard->share, i);
    gx_job job = gx__sub_job(&shard->round[range.job], range.first, range.n);
    if (job.op == GX_MSM && is_part(shard, i))
        gx__msm_part(&job, range.first, &shard->part_params[i != 0]);
    return job;
}

/* Rounded up to a multiple of the cache line. */
static size_t spare_bytes(const gx_job *job)
{
    return gx__job_in_place(job) ? (gx__operand_bytes(job, GX_OUT) + 63) / 64 * 64 : 0;
}

size_t gx__shard_spare(struct gx_shard *shard)
{
    size_t bytes = 0;
    for (size_t i = 0; i < shard->share.jobs; i++) {
        gx_job job = share_job(shard, i);
        bytes += spare_bytes(&job);
    }
    return bytes;
}

bool gx__shard_aim(struct gx_shard *shard)
{
    char *spare = shard->spare;
    for (size_t i = 0; i < shard->share.jobs; i++) {
        shard->jobs[i] = share_job(shard, i);
        if (is_part(shard, i))
            shard->jobs[i].out = gx_host(shard->part[i != 0]);
        size_t bytes = shard->candidate->slot->host ? 0 : spare_bytes(&shard->jobs[i]);
        if (!bytes)
            continue;
        if (!spare)
            return false;
        shard->jobs[i].out.host = spare;
        spare += bytes;
    }
    return true;
}

static void clear_status(struct gx_shard *shard)
{
    shard->status = GX_OK;
    shard->message[0] = 0;
}

static void fail(struct gx_shard *shard, gx_status status, const char *message)
{
    shard->status = status;
    snprintf(shard->message, sizeof shard->message, "%s", message);
}

/* ---- verifying ---- */

static void fail_wrong(struct gx_shard *shard, uint64_t index, const char *what)
{
    char message[sizeof shard->message];
    snprintf(message, sizeof message, "device '%s': %s at element %llu",
             shard->candidate->slot->name, what, (unsigned long long)index);
    gx__health_gave_wrong_result(&shard->ws->router->slots, shard->candidate->slot,
                                 shard->candidate->engine);
    fail(shard, GX_ERR_DEVICE, message);
}

/* Verifies a sample of the ith job and updates the average time per element. */
static bool compare_sample(struct gx_shard *shard, struct gx_sampler *sampler, size_t i,
                           uint64_t count, uint64_t *wrong)
{
    struct gx_device_slot *slot = shard->candidate->slot;
    gx_job job = share_job(shard, i);
    _Atomic uint64_t *average = job.op == GX_MSM ? &slot->msm_ps : &slot->sample_ps;
    if (count < SAMPLE_TIMED)
        return gx__results_right(sampler, &job, shard->jobs[i].out.host, count, wrong);
    uint64_t start = gx__now_ns();
    bool right = gx__results_right(sampler, &job, shard->jobs[i].out.host, count, wrong);
    uint64_t ps = (gx__now_ns() - start) * 1000 / count + 1, before = atomic_load(average);
    atomic_store(average, before ? (before + ps) / 2 : ps);
    if (job.op == GX_MSM)
        atomic_fetch_add(&slot->msm_looks, 1);
    return right;
}

static void decay(_Atomic uint64_t *ps)
{
    uint64_t before = atomic_load(ps);
    atomic_store(ps, before - before / SAMPLE_DECAY);
}

/* One in how many transforms to look at: as many as the time allows, because a sample is at least
 * one, and most jobs are one. */
static uint64_t transforms_every(const struct gx_device_slot *slot, uint64_t ns, uint64_t elements,
                                 bool trusted)
{
    uint64_t ps = atomic_load(&slot->sample_ps), cost = trusted ? GX_TRUST_COST : UNTRUSTED_COST;
    uint64_t left = ps ? gx__sample_most(ns, ps * cost / GX_TRUST_COST + 1) : GX_TRANSFORM_ELEMS;
    return left < elements ? elements / left + 1 : 1;
}

/* Whether the device has done so many jobs that transforms of this one are looked at only if their
 * turn comes. */
static bool transforms_trusted(const struct gx_device_slot *slot, const gx_job *job)
{
    return atomic_load(&slot->condition.good) >= FIRST_TRANSFORMS && job->n > GX_WHOLE_ELEMS;
}

/* One in how many of such sums of points to compute again: the first ones if that is quick, then as
 * many as the time allows. */
static uint64_t sums_every(const struct gx_device_slot *slot, uint64_t ns, uint64_t elements,
                           bool trusted)
{
    uint64_t ps = atomic_load(&slot->msm_ps);
    ps = ps ? ps : gx__op_rows[GX_MSM].ns * (uint64_t)1000 / gx__cores();
    if (atomic_load(&slot->msm_looks) < FIRST_SUMS && elements < FIRST_SUMS_PS / ps)
        return 1;
    uint64_t left =
        gx__sample_most(ns, ps * (trusted ? GX_TRUST_COST : UNTRUSTED_COST) / GX_TRUST_COST + 1);
    return left < elements ? elements / left + 2 : 2;
}

/* Verifies samples of jobs from .. to, which the device reports as done and which took ns together,
 * and returns the first that is wrong, or `to`.
 * On a trusted device, unless the caller has set sample_every, the time for this is limited by
 * taking smaller samples of all jobs. */
static size_t compare(struct gx_shard *shard, size_t from, size_t to, uint64_t ns)
{
    struct gx_device_slot *slot = shard->candidate->slot;
    struct gx_instance *instance = shard->ws->router->slots.instance;
    uint64_t every = gx__sample_every(instance), left = UINT64_MAX;
    struct gx_sampler sampler = {.seed = gx__now_ns(), .instance = instance};
    bool trusted = gx__health_trusted(slot), limited = !instance->config.sample_every;
    uint64_t before = shard->sampled, elements = 0;
    if (trusted && limited)
        left = gx__sample_most(ns, atomic_load(&slot->sample_ps));
    for (size_t i = from; i < to; i++)
        elements += shard->jobs[i].n;
    uint64_t often = limited ? transforms_every(slot, ns, elements, trusted) : every;
    if (elements / every > left) {
        every = elements / left + 1;
        if (left < SAMPLE_TIMED) /* too few to be timed, so one slow measurement must decay */
            decay(&slot->sample_ps);
    }
    sampler.rest = sampler.seed / 64 % every; /* so that samples are of other jobs each time */
    size_t right = from;
    for (; right < to; right++) {
        const gx_job *job = &shard->jobs[right];
        bool transform = gx__op_verifier(job->op) == GX_VERIFY_TRANSFORM;
        bool enough = trusted || (transform && limited && transforms_trusted(slot, job));
        uint64_t one_in = transform ? often : every;
        if (job->op == GX_MSM && limited)
            one_in = sums_every(slot, ns, job->n, trusted);
        uint64_t wrong, count = gx__sample_size(&sampler, job, one_in, enough);
        if (!count)
            continue;
        bool same = compare_sample(shard, &sampler, right, count, &wrong);
        shard->reports[right].sampled = count < UINT32_MAX ? (uint32_t)count : UINT32_MAX;
        shard->sampled += count;
        if (same)
            continue;
        fail_wrong(shard, wrong, "a wrong result");
        break;
    }
    gx__count(&instance->counters.sampled, shard->sampled - before);
    return right;
}

static bool is_refusal_right(struct gx_shard *shard, size_t i)
{
    const struct gx_outcome *r = &shard->reports[i];
    gx_job job = share_job(shard, i);
    if (gx__refusal_right(&job, r->bad_index, r->bad_operand))
        return true;
    fail_wrong(shard, r->bad_index, "refused a valid operand");
    return false;
}

static void copy_results(struct gx_shard *shard, size_t from, size_t to)
{
    for (size_t i = from; i < to && shard->spare; i++) {
        gx_job job = share_job(shard, i);
        if (job.out.host != shard->jobs[i].out.host && !is_part(shard, i))
            memcpy(job.out.host, shard->jobs[i].out.host, gx__operand_bytes(&job, GX_OUT));
    }
}

void gx__shard_join(const struct gx_shard *shard)
{
    for (size_t i = 0; i < shard->next; i++) {
        struct gx_range range = gx__share_range(shard->round, &shard->share, i);
        gx_job job = shard->round[range.job];
        if (!is_part(shard, i) || shard->reports[i].status != GX_OK)
            continue;
        if (range.first)
            gx__op_join(&job, job.out.host, shard->part[i != 0]);
        else if (job.op == GX_MSM)
            gx__msm_begin(&job, job.out.host, shard->part[i != 0]);
        else
            memcpy(job.out.host, shard->part[i != 0], gx__operand_bytes(&job, GX_OUT));
    }
}

/* ---- running ---- */

/* Makes a batch of the jobs from `next` on. */
static void set_batch(const struct gx_shard *shard, struct gx_batch *batch)
{
    struct gx_outcome *reports = shard->reports + shard->next;
    size_t count = shard->share.jobs - shard->next;
    memset(reports, 0, count * sizeof *reports);
    gx__batch_set(batch, shard->call, shard->jobs + shard->next, 0, count);
    batch->reports = reports;
    batch->queued_ns = 0;
    batch->uncounted = true;
    batch->untimed = !shard->call->reports;
    batch->cancel = shard->together ? NULL : shard->call->cancel;
}

/* The jobs before `end` are done and verified: copies their results and counts them. */
static void finish_jobs(struct gx_shard *shard, size_t end, uint64_t ns)
{
    struct gx_device_slot *slot = shard->candidate->slot;
    uint64_t elements = 0, some = 0;
    copy_results(shard, shard->next, end);
    for (size_t i = shard->next; i < end; i++) {
        elements += shard->jobs[i].n;
        some += shard->jobs[i].n != 0;
    }
    if (some)
        gx__health_worked(slot, some);
    gx__count(&slot->work.jobs, end - shard->next);
    gx__count(&slot->work.elements, elements);
    gx__count(&slot->work.busy_ns, ns);
    shard->candidate->elements += elements;
    shard->candidate->actual_ns += ns;
    shard->next = end;
}

/* Runs the jobs from `next` on as one batch. False: the device failed, or the round must stop. */
static bool run_batch(struct gx_shard *shard, bool alone)
{
    struct gx_batch batch;
    struct gx_device_slot *slot = shard->candidate->slot;
    struct gx_engine *engine = shard->candidate->engine;
    size_t first = shard->next;
    set_batch(shard, &batch);
    uint64_t start = gx__engine_now(engine);
    gx__engine_run(engine, &batch);
    uint64_t ns = gx__engine_now(engine) - start;
    size_t end = batch.status == GX_OK ? shard->share.jobs : first + batch.failed;
    if (batch.status != GX_OK)
        fail(shard, batch.status, batch.message);
    if (gx__health_is_failure(batch.status) && !slot->host && !shard->ws->only)
        gx__health_failed(&shard->ws->router->slots, slot, engine, batch.status);
    size_t right = slot->host ? end : compare(shard, first, end, ns);
    if (right < end) { /* the others count only if all of their elements were verified */
        size_t sure = first;
        while (sure < right && gx__op_verifier(shard->jobs[sure].op) != GX_VERIFY_NOT)
            sure++;
        if (gx__sample_every(engine->instance) == 1)
            finish_jobs(shard, sure, ns);
        return false;
    }
    if (!slot->host && batch.status == GX_OK && atomic_load(&engine->lost)) {
        fail(shard, GX_ERR_DEVICE, "another call has found that the device gives wrong results");
        return false;
    }
    bool refused = batch.status != GX_OK && gx__outcome_refused(&shard->reports[end]);
    if (refused && !slot->host && !is_refusal_right(shard, end))
        return false;
    finish_jobs(shard, end, ns);
    alone &= atomic_load(&slot->active) == 1;
    if (batch.status == GX_OK && alone && !shard->spare && !shard->call->mode &&
        !shard->failed_over)
        gx__learn(shard->ws->router->slots.instance, slot, batch.jobs, batch.count,
                  shard->call->path, ns, shard->together);
    if (refused) {
        clear_status(shard);
        shard->next = end + 1; /* its report has the status */
    }
    return batch.status == GX_OK || refused;
}

/* A refused job stops the jobs after it, unless other shards may already have done parts of them.
 */
static bool has_more(const struct gx_shard *shard)
{
    bool refused = shard->next && gx__outcome_refused(&shard->reports[shard->next - 1]);
    return shard->next < shard->share.jobs && (shard->together || !refused);
}

void gx__shard_run(struct gx_shard *shard)
{
    struct gx_device_slot *slot = shard->candidate->slot;
    clear_status(shard);
    if (!gx__shard_aim(shard)) {
        fail(shard, GX_ERR_OUT_OF_MEMORY, "no memory for the in-place results of a device");
        return;
    }
    bool alone = atomic_fetch_add(&slot->active, 1) == 0;
    while (has_more(shard) && run_batch(shard, alone))
        ;
    atomic_fetch_sub(&slot->active, 1);
}
