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
#include "verify/verify.h"
#include "route/health.h"
#include "route/workspace.h"

/* Smaller samples are not timed: their time is mostly overhead. */
#define SAMPLE_TIMED 64u
#define SAMPLE_DECAY 16u
/* Whole units, as transforms, are looked at in each of the first jobs of a device, then in all
 * small ones until it is trusted, and in others for at most one part in UNTRUSTED_COST of the time
 * of the jobs. */
#define FIRST_UNITS    4u
#define UNTRUSTED_COST 4u
/* The first jobs of a device that only computing them again can verify are, if the host needs at
 * most so long. */
#define FIRST_AGAIN    2u
#define FIRST_AGAIN_PS 1000000000000u

/* Whether the ith job is part of one with a single result that is split between shards. */
static bool is_part(const struct gx_shard *shard, size_t i)
{
    struct gx_range range = gx__share_range(shard->round, &shard->share, i);
    const struct gx_task *whole = &shard->round[range.job];
    return range.n != whole->n && gx__task_is_joined(whole);
}

/* The part of the ith job that belongs to the share, with the caller's output. */
static void share_job(const struct gx_shard *shard, size_t i, struct gx_task *job)
{
    struct gx_range range = gx__share_range(shard->round, &shard->share, i);
    gx__task_part(&shard->round[range.job], range.first, range.n, job);
}

/* Rounded up to a multiple of the cache line. */
static size_t spare_bytes(const struct gx_task *job)
{
    return gx__task_in_place(job) ? (gx__operand_bytes(job, GX_OUT) + 63) / 64 * 64 : 0;
}

size_t gx__shard_spare(struct gx_shard *shard)
{
    size_t bytes = 0;
    for (size_t i = 0; i < shard->share.jobs; i++) {
        struct gx_task job;
        share_job(shard, i, &job);
        bytes += spare_bytes(&job);
    }
    return bytes;
}

bool gx__shard_make_jobs(struct gx_shard *shard)
{
    char *spare = shard->spare;
    for (size_t i = 0; i < shard->share.jobs; i++) {
        struct gx_task *job = &shard->jobs[i];
        share_job(shard, i, job);
        if (is_part(shard, i))
            job->out = gx__at_host(shard->part[i != 0]);
        size_t bytes = shard->candidate->slot->host ? 0 : spare_bytes(job);
        if (!bytes)
            continue;
        if (!spare)
            return false;
        job->out.host = spare;
        gx__task_pack(job);
        spare += bytes;
    }
    return true;
}

static void clear_status(struct gx_shard *shard)
{
    shard->status = GX_OK;
    shard->error.text[0] = 0;
}

/* ---- verifying ---- */

static void fail_wrong(struct gx_shard *shard, uint64_t index, const char *what)
{
    shard->status = gx__refuse(&shard->error, GX_ERR_DEVICE, "device '%s': %s at element %llu",
                               shard->candidate->slot->name, what, (unsigned long long)index);
    gx__health_gave_wrong_result(&shard->ws->router->slots, shard->candidate->slot,
                                 shard->candidate->engine);
}

/* Verifies a sample of the ith job and updates the average time per element. */
static bool compare_sample(struct gx_shard *shard, struct gx_sampler *sampler, size_t i,
                           uint64_t count, uint64_t *wrong)
{
    struct gx_device_slot *slot = shard->candidate->slot;
    const struct gx_task *job = &shard->jobs[i]; /* with intact operands */
    bool again = gx__sampling(job->op) == GX_SAMPLES_JOBS;
    _Atomic uint64_t *average = again ? &slot->again_ps : &slot->sample_ps;
    if (count < SAMPLE_TIMED)
        return gx__results_right(sampler, job, shard->jobs[i].out.host, count, wrong);
    uint64_t start = gx__now_ns();
    bool right = gx__results_right(sampler, job, shard->jobs[i].out.host, count, wrong);
    uint64_t ps = (gx__now_ns() - start) * 1000 / count + 1, before = atomic_load(average);
    atomic_store(average, before ? (before + ps) / 2 : ps);
    if (again)
        atomic_fetch_add(&slot->again_jobs, 1);
    return right;
}

static void decay(_Atomic uint64_t *ps)
{
    uint64_t before = atomic_load(ps);
    atomic_store(ps, before - before / SAMPLE_DECAY);
}

/* One in how many units to look at: as many as the time allows, because a sample is at least one,
 * and most jobs are one. */
static uint64_t units_every(const struct gx_device_slot *slot, uint64_t ns, uint64_t elements,
                            bool trusted)
{
    uint64_t ps = atomic_load(&slot->sample_ps), cost = trusted ? GX_TRUST_COST : UNTRUSTED_COST;
    uint64_t left = ps ? gx__sample_most(ns, ps * cost / GX_TRUST_COST + 1) : GX_UNIT_ELEMS;
    return left < elements ? elements / left + 1 : 1;
}

/* Whether the device has done so many jobs that units of this one are looked at only if their turn
 * comes. */
static bool units_trusted(const struct gx_device_slot *slot, const struct gx_task *job)
{
    return atomic_load(&slot->condition.good) >= FIRST_UNITS && job->n > GX_WHOLE_ELEMS;
}

/* One in how many of such jobs to compute again: the first ones if that is quick, then as many as
 * the time allows. */
static uint64_t again_every(const struct gx_device_slot *slot, uint64_t ns,
                            const struct gx_task *job, bool trusted)
{
    uint64_t ps = atomic_load(&slot->again_ps);
    ps = ps ? ps : gx__op_rows[job->op].ns * (uint64_t)1000 / gx__cores();
    if (atomic_load(&slot->again_jobs) < FIRST_AGAIN && job->n < FIRST_AGAIN_PS / ps)
        return 1;
    uint64_t left =
        gx__sample_most(ns, ps * (trusted ? GX_TRUST_COST : UNTRUSTED_COST) / GX_TRUST_COST + 1);
    return left < job->n ? job->n / left + 2 : 2;
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
    uint64_t sampled = 0, elements = 0;
    if (trusted && limited)
        left = gx__sample_most(ns, atomic_load(&slot->sample_ps));
    for (size_t i = from; i < to; i++)
        elements += shard->jobs[i].n;
    uint64_t often = limited ? units_every(slot, ns, elements, trusted) : every;
    if (elements / every > left) {
        every = elements / left + 1;
        if (left < SAMPLE_TIMED) /* too few to be timed, so one slow measurement must decay */
            decay(&slot->sample_ps);
    }
    sampler.rest = sampler.seed / 64 % every; /* so that samples are of other jobs each time */
    size_t right = from;
    for (; right < to; right++) {
        const struct gx_task *job = &shard->jobs[right];
        enum gx_sampling by = gx__sampling(job->op);
        bool units = by == GX_SAMPLES_UNITS;
        bool enough = trusted || (units && limited && units_trusted(slot, job));
        uint64_t one_in = units ? often : every;
        if (by == GX_SAMPLES_JOBS && limited)
            one_in = again_every(slot, ns, job, trusted);
        uint64_t wrong, count = gx__sample_size(&sampler, job, one_in, enough);
        if (!count)
            continue;
        bool same = compare_sample(shard, &sampler, right, count, &wrong);
        shard->reports[right].sampled = count < UINT32_MAX ? (uint32_t)count : UINT32_MAX;
        sampled += count;
        if (same)
            continue;
        fail_wrong(shard, wrong, "a wrong result");
        break;
    }
    gx__count(&instance->counters.sampled, sampled);
    return right;
}

static bool is_refusal_right(struct gx_shard *shard, size_t i)
{
    const struct gx_outcome *r = &shard->reports[i];
    if (gx__refusal_right(&shard->jobs[i], r->bad_index, r->bad_operand))
        return true;
    fail_wrong(shard, r->bad_index, "refused a valid operand");
    return false;
}

/* Of a job without columns: one row. */
static void copy_result(const struct gx_task *job, const char *result)
{
    const struct gx_matrix m = gx__operand_matrix(job, GX_OUT);
    size_t bytes = gx__operand_bytes(job, GX_OUT) / (size_t)m.rows;
    size_t stride = (size_t)m.stride * job->element[GX_OUT];
    for (size_t row = 0; row < m.rows; row++)
        memcpy((char *)job->out.host + row * stride, result + row * bytes, bytes);
}

static void copy_results(struct gx_shard *shard, size_t from, size_t to)
{
    for (size_t i = from; i < to && shard->spare; i++) {
        struct gx_task job;
        share_job(shard, i, &job);
        if (job.out.host != shard->jobs[i].out.host && !is_part(shard, i))
            copy_result(&job, shard->jobs[i].out.host);
    }
}

void gx__shard_join(const struct gx_shard *shard)
{
    for (size_t i = 0; i < shard->next; i++) {
        struct gx_range range = gx__share_range(shard->round, &shard->share, i);
        const struct gx_task *job = &shard->round[range.job];
        if (is_part(shard, i) && shard->reports[i].status == GX_OK)
            (range.first ? gx__task_join : gx__task_begin)(job, job->out.host, shard->part[i != 0]);
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
    /* what has begun, here or on a device that failed, is done */
    batch->cancel = shard->together || shard->failed_over ? NULL : shard->call->cancel;
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

/* Takes the results of a batch of the jobs from `next` on. False: the device failed, or the round
 * must stop. */
static bool take_batch(struct gx_shard *shard, const struct gx_batch *batch, uint64_t ns,
                       bool alone)
{
    struct gx_device_slot *slot = shard->candidate->slot;
    struct gx_engine *engine = shard->candidate->engine;
    const size_t first = shard->next;
    size_t end = batch->status == GX_OK ? shard->share.jobs : first + batch->failed;
    if (batch->status != GX_OK) {
        shard->status = batch->status;
        shard->error = batch->error;
    }
    if (gx__health_is_failure(batch->status) && !slot->host && !shard->ws->only)
        gx__health_failed(&shard->ws->router->slots, slot, engine, batch->status);
    size_t right = slot->host ? end : compare(shard, first, end, ns);
    if (right < end) { /* the others count only if all of their elements were verified */
        size_t sure = first;
        while (sure < right && gx__op_verifier(shard->jobs[sure].op) != GX_VERIFY_NOT)
            sure++;
        if (gx__sample_every(engine->instance) == 1)
            finish_jobs(shard, sure, ns);
        return false;
    }
    if (!slot->host && batch->status == GX_OK && atomic_load(&engine->lost)) {
        shard->status = gx__refuse(&shard->error, GX_ERR_DEVICE,
                                   "another call has found that the device gives wrong results");
        return false;
    }
    bool refused = batch->status != GX_OK && gx__outcome_refused(&shard->reports[end]);
    if (refused && !slot->host && !is_refusal_right(shard, end))
        return false;
    finish_jobs(shard, end, ns);
    alone &= atomic_load(&slot->active) == 1;
    if (batch->status == GX_OK && alone && !shard->spare && !shard->call->mode &&
        !shard->failed_over)
        gx__learn(shard->ws->router->slots.instance, slot, batch->jobs, batch->count,
                  shard->call->path, ns, shard->together);
    if (refused) {
        clear_status(shard);
        shard->next = end + 1; /* its report has the status */
    }
    return batch->status == GX_OK || refused;
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
    struct gx_engine *engine = shard->candidate->engine;
    struct gx_batch batch;
    clear_status(shard);
    if (!gx__shard_make_jobs(shard)) {
        shard->status = gx__refuse(&shard->error, GX_ERR_OUT_OF_MEMORY,
                                   "no memory for the in-place results of a device");
        return;
    }
    bool alone = atomic_fetch_add(&slot->active, 1) == 0;
    for (bool on = true; on && has_more(shard);) {
        set_batch(shard, &batch);
        uint64_t start = gx__engine_now(engine);
        gx__compose_run(engine, &batch);
        on = take_batch(shard, &batch, gx__engine_now(engine) - start, alone);
    }
    atomic_fetch_sub(&slot->active, 1);
}
