/* SPDX-License-Identifier: Apache-2.0
 *
 * Merges the results of the shards of a round into the reports of its jobs.
 */
#include <string.h>

#include "route/workspace.h"

/* The elements of job j that are in the shard; false: none. */
static bool find_part(const struct gx_shard *shard, size_t j, struct gx_range *range)
{
    if (j < shard->share.job || j - shard->share.job >= shard->share.jobs)
        return false;
    *range = gx__share_range(shard->round, &shard->share, j - shard->share.job);
    return true;
}

/* ---- candidates ---- */

static struct gx_considered *add_candidate(struct gx_outcome *r, const struct gx_workspace *ws,
                                           size_t i, uint64_t n)
{
    const struct gx_candidate_engine *e = &ws->candidate[i];
    struct gx_considered *c = &r->candidate[r->candidates++];
    *c = (struct gx_considered){0};
    memcpy(c->device, e->slot->name, sizeof c->device);
    c->status = e->status;
    if (i < ws->choices)
        c->predicted_ns = gx__share_ns((uint64_t)ws->decision.ns[i], n, ws->question.elements);
    return c;
}

void gx__report_candidates(const struct gx_workspace *ws, size_t j, uint64_t n,
                           struct gx_outcome *r)
{
    for (size_t i = 0; i < ws->candidates && i < GX_CANDIDATES_MAX; i++) {
        const struct gx_candidate_engine *candidate = &ws->candidate[i];
        struct gx_considered *c = add_candidate(r, ws, i, n);
        uint64_t meant = 0;
        for (size_t k = 0; k < ws->shards; k++) {
            const struct gx_shard *shard = &ws->shard[k];
            struct gx_range range;
            if (!find_part(shard, j, &range))
                continue;
            if (shard->candidate == candidate && j - shard->share.job < shard->next)
                c->elements += range.n;
            if (shard->meant_for == candidate)
                meant += range.n;
        }
        c->share_ns = meant ? gx__share_ns(candidate->share_ns, meant, candidate->meant) : 0;
        c->actual_ns =
            c->elements ? gx__share_ns(candidate->actual_ns, c->elements, candidate->elements) : 0;
    }
}

/* ---- one job ---- */

/* Parts run at the same time. Path and mode are those of the largest. */
static void add_part(struct gx_outcome *r, const struct gx_outcome *part)
{
    const uint64_t longest = part->total_ns > r->total_ns ? part->total_ns : r->total_ns;
    const gx_path path = r->path;
    const gx_mode mode = r->mode;
    gx__outcome_add(r, part);
    r->path = path;
    r->mode = mode;
    r->total_ns = longest;
    r->sampled += part->sampled;
}

/* The first refused element of all parts is reported. */
static void refuse(struct gx_outcome *r, const struct gx_outcome *part,
                   const struct gx_range *range, const struct gx_task *job)
{
    int which = GX_A + (part->bad_operand - 'a');
    uint64_t first = range->first;
    if (which >= GX_A && which < GX_OPERANDS && job->resized >> which & 1)
        first = gx__operand_offset(job, which, first) / job->element[which];
    uint64_t bad = first + part->bad_index;
    if (gx__outcome_refused(r) && r->bad_index <= bad)
        return;
    r->status = part->status;
    r->bad_index = bad;
    r->bad_operand = part->bad_operand;
    gx__refusal_message(&r->error, job, bad, part->bad_operand);
}

static void not_written(struct gx_outcome *r, const struct gx_shard *shard,
                        const struct gx_range *range, size_t job)
{
    unsigned long long from = range->first, to = from + range->n;
    if (r->status == GX_OK) {
        r->status = shard->status;
        gx__explain(&r->error, "%.100s; not written:", shard->error.text);
    }
    gx__explain_more(&r->error, " job %zu from %llu to %llu", job, from, to);
}

/* Merges the parts of job j of the round, which is number `job` of the call. wanted: fill the
 * candidates too. Returns the device with the largest part. */
static struct gx_device_slot *merge(const struct gx_workspace *ws, size_t j, size_t job,
                                    bool wanted, struct gx_outcome *r)
{
    struct gx_device_slot *slot = NULL;
    uint64_t most = 0;
    bool stopped = false;
    const struct gx_task *meant = &ws->shard[0].round[j];
    gx__outcome_clear(r, ws->only ? r->reason : ws->decision.reason);
    for (size_t k = 0; k < ws->shards; k++) {
        const struct gx_shard *shard = &ws->shard[k];
        struct gx_range range;
        if (!find_part(shard, j, &range))
            continue;
        size_t i = j - shard->share.job;
        const struct gx_outcome *part = &shard->reports[i];
        if (shard->failed_over)
            r->reason = GX_REASON_FALLBACK;
        if (!slot || range.n > most) {
            most = range.n;
            slot = shard->candidate->slot;
            memcpy(r->device, slot->name, sizeof r->device);
            r->path = part->path;
            r->mode = part->mode;
        }
        add_part(r, part);
        if (i < shard->next && gx__outcome_refused(part))
            refuse(r, part, &range, meant);
        else if (i >= shard->next && (i > shard->next || shard->status == GX_OK))
            stopped = true;
        else if (i >= shard->next)
            not_written(r, shard, &range, job);
    }
    if (r->status == GX_OK && stopped)
        r->status = GX_ERR_NOT_RUN;
    if (r->status == GX_OK && r->reason == GX_REASON_FALLBACK)
        r->error = ws->error;
    if (wanted)
        gx__report_candidates(ws, j, meant->n, r);
    return slot;
}

/* Whether a job with buffers of "cpu", which may run on any device, ran on "cpu". */
static bool stayed_on_cpu(const struct gx_task *job, const struct gx_workspace *ws)
{
    return gx__buffer_engine(job) && ws->shards == 1 && ws->shard[0].candidate->slot->host &&
           !ws->shard[0].failed_over;
}

static bool cancelled(const struct gx_workspace *ws)
{
    for (size_t k = 0; k < ws->shards; k++)
        if (ws->shard[k].status == GX_ERR_CANCELLED)
            return true;
    return false;
}

/* ---- regret ---- */

void gx__report_regret(const struct gx_workspace *ws, uint64_t ns)
{
    struct gx_counters *counters = &ws->router->slots.instance->counters;
    if (ws->choices < 2 || !(ws->decision.best_ns > 0))
        return;
    gx__count(&counters->decisions_predicted, 1);
    gx__count(&counters->routed_ns, ns);
    gx__count(&counters->routed_best_ns, (uint64_t)ws->decision.best_ns);
}

/* ---- all jobs ---- */

gx_status gx__report_round(const struct gx_workspace *ws, struct gx_call *call, size_t first,
                           size_t count, uint64_t elapsed_ns)
{
    struct gx_counters *counters = &ws->router->slots.instance->counters;
    gx_status s = GX_OK;
    struct gx_outcome own = {.reason = GX_REASON_NONE};
    for (size_t j = 0; j < count; j++) {
        struct gx_outcome *r = call->reports ? &call->reports[first + j] : &own;
        struct gx_device_slot *slot = merge(ws, j, first + j, call->reports && !ws->only, r);
        r->queued_ns = call->queued_ns;
        if (stayed_on_cpu(&call->jobs[first + j], ws))
            r->reason = GX_REASON_RESIDENT;
        if (count == 1 && r->status == GX_OK && !ws->only)
            r->total_ns = elapsed_ns;
        if (cancelled(ws) && (r->status == GX_ERR_NOT_RUN || r->status == GX_ERR_CANCELLED))
            gx__outcome_not_run(r, GX_ERR_CANCELLED);
        else if (r->status == GX_ERR_NOT_RUN)
            gx__outcome_not_run(r, GX_ERR_NOT_RUN);
        gx__count_job(counters, slot ? &slot->work : NULL, &call->jobs[first + j], r);
        if (s != GX_OK || r->status == GX_OK)
            continue;
        s = r->status;
        call->failed = first + j;
        call->error = r->error;
    }
    return s;
}
