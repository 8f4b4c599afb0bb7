/* SPDX-License-Identifier: Apache-2.0
 *
 * What the shares of a wave did becomes the reports of its jobs.
 */
#include <stdio.h>
#include <string.h>

#include "route/desk.h"

/* The part of job j that is in the errand; n is 0 where there is none. */
static struct gx_range part_of(const struct gx_errand *e, size_t j)
{
    if (j < e->share.job || j - e->share.job >= e->share.jobs)
        return (struct gx_range){.job = j};
    return gx__share_range(e->wave, &e->share, j - e->share.job);
}

static bool has(const struct gx_errand *e, size_t j)
{
    return j >= e->share.job && j - e->share.job < e->share.jobs;
}

static uint64_t scaled(uint64_t ns, uint64_t part, uint64_t all)
{
    return all ? (uint64_t)((unsigned __int128)ns * part / all) : ns;
}

/* ---- who was considered ---- */

static gx_candidate *candidate(struct gx_outcome *r, const struct gx_desk *desk, size_t i,
                               uint64_t n)
{
    const struct gx_entrant *e = &desk->entrant[i];
    gx_candidate *c = &r->candidate[r->candidates++];
    *c = (gx_candidate){0};
    memcpy(c->device, e->place->name, sizeof c->device);
    c->status = e->status;
    if (i < desk->rivals)
        c->predicted_ns = scaled((uint64_t)desk->decision.ns[i], n, desk->question.elements);
    return c;
}

void gx__report_candidates(const struct gx_desk *desk, size_t j, uint64_t n, struct gx_outcome *r)
{
    for (size_t i = 0; i < desk->entrants && i < GX_CANDIDATES_MAX; i++) {
        const struct gx_entrant *entrant = &desk->entrant[i];
        gx_candidate *c = candidate(r, desk, i, n);
        uint64_t meant = 0;
        for (size_t k = 0; k < desk->errands; k++) {
            const struct gx_errand *e = &desk->errand[k];
            if (!has(e, j))
                continue;
            struct gx_range range = part_of(e, j);
            if (e->entrant == entrant && j - e->share.job < e->next)
                c->elements += range.n;
            if (e->meant_for == entrant)
                meant += range.n;
        }
        c->share_ns = meant ? scaled(entrant->share_ns, meant, entrant->meant) : 0;
        c->actual_ns = c->elements ? scaled(entrant->actual_ns, c->elements, entrant->elements) : 0;
    }
}

/* ---- one job ---- */

static void add_part(struct gx_outcome *r, const struct gx_outcome *part)
{
    r->threads = part->threads > r->threads ? part->threads : r->threads;
    r->total_ns = part->total_ns > r->total_ns ? part->total_ns : r->total_ns;
    r->dispatches += part->dispatches;
    r->groups += part->groups;
    r->submits += part->submits;
    r->command_hits += part->command_hits;
    r->host_in_ns += part->host_in_ns;
    r->device_ns += part->device_ns;
    r->host_out_ns += part->host_out_ns;
    r->upload_ns += part->upload_ns;
    r->compute_ns += part->compute_ns;
    r->download_ns += part->download_ns;
    r->sampled += part->sampled;
}

/* The first bad element of all parts counts. */
static void refuse(struct gx_outcome *r, const struct gx_outcome *part,
                   const struct gx_range *range, gx_field field)
{
    uint64_t bad = range->first + part->bad_index;
    if (r->status == GX_ERR_NOT_CANONICAL && r->bad_index <= bad)
        return;
    r->status = GX_ERR_NOT_CANONICAL;
    r->bad_index = bad;
    r->bad_operand = part->bad_operand;
    snprintf(r->message, sizeof r->message,
             "element %llu of operand %c is not below the modulus of %s: reduce it before the call",
             (unsigned long long)bad, part->bad_operand ? part->bad_operand : '?',
             gx_field_get_info(field)->name);
}

static void not_written(struct gx_outcome *r, const struct gx_errand *e,
                        const struct gx_range *range, size_t job)
{
    size_t length = strlen(r->message);
    unsigned long long from = range->first, to = from + range->n;
    if (r->status == GX_OK) {
        r->status = e->status;
        length =
            (size_t)snprintf(r->message, sizeof r->message, "%.100s; not written:", e->message);
    }
    snprintf(r->message + length, sizeof r->message - length, " job %zu from %llu to %llu", job,
             from, to);
}

/* Everything of job j of the wave, which is number `job` of the call; who was considered only
 * where someone wants to know. Returns the device that had most of it. */
static struct gx_place *merge(const struct gx_desk *desk, size_t j, size_t job, bool wanted,
                              struct gx_outcome *r)
{
    struct gx_place *place = NULL;
    uint64_t most = 0;
    bool stopped = false;
    const gx_job *meant = &desk->errand[0].wave[j];
    gx__outcome_clear(r, desk->decision.reason);
    for (size_t k = 0; k < desk->errands; k++) {
        const struct gx_errand *e = &desk->errand[k];
        if (!has(e, j))
            continue;
        size_t i = j - e->share.job;
        struct gx_range range = part_of(e, j);
        const struct gx_outcome *part = &e->reports[i];
        if (e->failed_over)
            r->reason = GX_REASON_FALLBACK;
        if (!place || range.n > most) {
            most = range.n;
            place = e->entrant->place;
            memcpy(r->device, place->name, sizeof r->device);
            r->path = part->path;
            r->mode = part->mode;
        }
        add_part(r, part);
        if (i < e->next && part->status == GX_ERR_NOT_CANONICAL)
            refuse(r, part, &range, meant->field);
        else if (i >= e->next && (i > e->next || e->status == GX_OK))
            stopped = true;
        else if (i >= e->next)
            not_written(r, e, &range, job);
    }
    if (r->status == GX_OK && stopped)
        r->status = GX_ERR_NOT_RUN;
    if (r->status == GX_OK && r->reason == GX_REASON_FALLBACK)
        memcpy(r->message, desk->message, sizeof r->message);
    if (wanted)
        gx__report_candidates(desk, j, meant->n, r);
    return place;
}

/* Buffers of "cpu" may be anybody's host memory, but stayed with it. */
static bool at_home(const gx_job *job, const struct gx_desk *desk)
{
    bool buffers = job->out.buf || job->a.buf || job->b.buf || job->c.buf;
    return buffers && desk->errands == 1 && desk->errand[0].entrant->place->host &&
           !desk->errand[0].failed_over;
}

static bool cancelled(const struct gx_desk *desk)
{
    for (size_t k = 0; k < desk->errands; k++)
        if (desk->errand[k].status == GX_ERR_CANCELLED)
            return true;
    return false;
}

/* ---- regret ---- */

/* With what is under way there, as it was when it was decided. */
static double with_waiting(const struct gx_desk *desk, size_t rival, double ns)
{
    return ns + (double)desk->rival[rival].waiting_ns;
}

/* The least that was predicted: for one candidate, or for the split; 0: for none. */
static double least_predicted(const struct gx_desk *desk)
{
    const struct gx_decision *d = &desk->decision;
    double least = 0, split = 0;
    for (size_t i = 0; i < desk->rivals; i++) {
        double ns = with_waiting(desk, i, d->ns[i]);
        if (d->ns[i] > 0 && (ns < least || !(least > 0)))
            least = ns;
    }
    for (size_t i = 0; i < d->portions; i++) {
        double ns = with_waiting(desk, d->portion[i].rival, d->portion[i].ns);
        split = ns > split ? ns : split;
    }
    return d->reason == GX_REASON_SPLIT && split < least ? split : least;
}

/* The policy is no part of it: that of latency judges by what slower calls take, which says
 * nothing about this one. */
void gx__report_regret(struct gx_router *router, const struct gx_desk *desk, uint64_t ns)
{
    struct gx_counters *counters = &router->places.instance->counters;
    double least = desk->rivals > 1 ? least_predicted(desk) : 0;
    if (!(least > 0))
        return;
    gx__count(&counters->decisions_predicted, 1);
    gx__count(&counters->routed_ns, ns);
    gx__count(&counters->routed_best_ns, (uint64_t)least);
}

/* ---- all of them ---- */

gx_status gx__report_wave(struct gx_router *router, const struct gx_desk *desk,
                          struct gx_call *call, size_t first, size_t count, uint64_t elapsed_ns)
{
    struct gx_counters *counters = &router->places.instance->counters;
    gx_status s = GX_OK;
    struct gx_outcome own;
    for (size_t j = 0; j < count; j++) {
        struct gx_outcome *r = call->reports ? &call->reports[first + j] : &own;
        struct gx_place *place = merge(desk, j, first + j, call->reports != NULL, r);
        r->queued_ns = call->queued_ns;
        if (at_home(&call->jobs[first + j], desk))
            r->reason = GX_REASON_RESIDENT;
        if (count == 1 && r->status == GX_OK)
            r->total_ns = elapsed_ns;
        if (cancelled(desk) && (r->status == GX_ERR_NOT_RUN || r->status == GX_ERR_CANCELLED))
            gx__outcome_not_run(r, GX_ERR_CANCELLED);
        else if (r->status == GX_ERR_NOT_RUN)
            gx__outcome_not_run(r, GX_ERR_NOT_RUN);
        gx__count_job(counters, place ? &place->work : NULL, &call->jobs[first + j], r);
        if (s != GX_OK || r->status == GX_OK)
            continue;
        s = r->status;
        call->failed = first + j;
        memcpy(call->message, r->message, sizeof call->message);
    }
    return s;
}
