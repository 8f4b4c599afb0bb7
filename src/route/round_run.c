/* SPDX-License-Identifier: Apache-2.0
 *
 * Runs a round: enters the candidates, decides, makes the shards, runs them at the same time, and
 * fails over to another device if one fails.
 */
#include <string.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/threads.h"
#include "exec/buffer.h"
#include "exec/pipe.h"
#include "route/health.h"
#include "route/workspace.h"

/* The cost of copying in-place results, in bytes per ns. Beyond FRESH_BYTES the memory for them is
 * not kept (workspace.c), and must be allocated too. */
#define COPY_RATE   8.0
#define FRESH_RATE  2.0
#define FRESH_BYTES ((uint64_t)64 << 20)

/* ---- candidates ---- */

static void add_candidate(struct gx_workspace *ws, struct gx_engine *engine)
{
    ws->candidate[ws->candidates++] =
        (struct gx_candidate_engine){.slot = engine->slot, .engine = engine};
}

void gx__round_leave(struct gx_workspace *ws)
{
    for (size_t i = 0; i < ws->candidates; i++)
        gx__engine_release(ws->candidate[i].engine);
    ws->candidates = ws->choices = 0;
}

/* Adds "cpu", even if it is not in the list of candidates. */
static gx_status enter_host(struct gx_workspace *ws, const struct gx_task *jobs, size_t count,
                            struct gx_error *error)
{
    struct gx_engine *engine;
    gx_status s = gx__slot_open(&ws->router->slots, GX_HOST_DEVICE, &engine, error);
    if (s != GX_OK)
        return s;
    if (gx__have_kernels(engine, jobs, count, error)) {
        add_candidate(ws, engine);
        return GX_OK;
    }
    gx__engine_release(engine);
    return GX_ERR_UNSUPPORTED;
}

static bool allowed(gx_policy policy, const struct gx_device_slot *slot)
{
    return policy == GX_POLICY_CPU ? slot->host : policy == GX_POLICY_GPU ? !slot->host : true;
}

/* Whether the round has a job for which no GPU is chosen, unless the caller wants one. */
static bool is_for_host(const struct gx_task *jobs, size_t count)
{
    size_t i = 0;
    while (i < count && !jobs[i].for_host)
        i++;
    return i < count;
}

static gx_status enter_all(struct gx_workspace *ws, struct gx_call *call,
                           const struct gx_task *jobs, size_t count)
{
    gx_status unsupported = GX_OK;
    struct gx_router *router = ws->router;
    ws->candidates = ws->choices = 0;
    if (ws->only) {
        add_candidate(ws, gx__engine_acquire(ws->only));
        ws->choices = 1;
        return GX_OK;
    }
    gx_status s = gx__router_candidates(router, &call->error);
    if (s != GX_OK)
        return s;
    call->error.text[0] = 0;
    bool for_host = call->policy != GX_POLICY_GPU && is_for_host(jobs, count);
    for (size_t i = 0; i < router->candidates; i++) {
        struct gx_engine *engine;
        struct gx_device_slot *slot = router->candidate[i];
        if (!allowed(call->policy, slot) || (for_host && !slot->host))
            continue;
        s = gx__router_enter(router, slot, jobs, count, call->policy == GX_POLICY_GPU, &engine,
                             &call->error);
        if (s == GX_OK)
            add_candidate(ws, engine);
        unsupported = s == GX_ERR_UNSUPPORTED ? s : unsupported;
    }
    if (!ws->candidates && call->policy == GX_POLICY_GPU) {
        if (!call->error.text[0])
            gx__router_no_gpu(&call->error);
        return unsupported != GX_OK ? unsupported : GX_ERR_NO_DEVICE;
    }
    s = ws->candidates ? GX_OK : enter_host(ws, jobs, count, &call->error);
    ws->choices = ws->candidates;
    return s;
}

/* ---- deciding ---- */

static void add_part(struct gx_workspace *ws, const struct gx_kind *kind, uint64_t n)
{
    struct gx_part *part = ws->parts, *end = part + ws->part_count;
    while (part < end && !gx__kinds_match(&part->kind, kind))
        part++;
    if (part == end) {
        ws->part_count++;
        *part = (struct gx_part){.kind = *kind};
    }
    part->elements += (double)n;
}

static void add_parts(struct gx_workspace *ws, const struct gx_task *jobs, size_t count,
                      gx_path path, uint64_t *replaced)
{
    struct gx_question *q = &ws->question;
    ws->part_count = 0;
    *replaced = 0;
    for (size_t i = 0; i < count; i++) {
        struct gx_kind kind = gx__kind_of(ws->router->slots.instance, &jobs[i], path, false);
        add_part(ws, &kind, jobs[i].n);
        q->elements += jobs[i].n;
        q->work += gx__task_work(&jobs[i]);
        q->whole |= gx__job_is_whole(&jobs[i]);
        uint64_t unit = jobs[i].unit;
        q->unit = unit > q->unit ? unit : q->unit;
        if (gx__task_in_place(&jobs[i]))
            *replaced += gx__operand_bytes(&jobs[i], GX_OUT);
    }
    q->parts = ws->parts;
    q->part_count = ws->part_count;
}

static const struct gx_part *largest_part(const struct gx_workspace *ws)
{
    const struct gx_part *most = ws->parts;
    for (size_t i = 1; i < ws->part_count; i++)
        if (ws->parts[i].elements > most->elements)
            most = &ws->parts[i];
    return most;
}

/* By the kind of the round, not of the candidate: the residency on a GPU determines how much the
 * copies for it slow down "cpu". NULL: nothing is known. */
static struct gx_contention *contention_of(const struct gx_workspace *ws, size_t candidate)
{
    const struct gx_part *most = largest_part(ws);
    struct gx_kind_stats *stats = gx__kind_stats(ws->candidate[candidate].slot, &most->kind);
    return stats ? &stats->contention : NULL;
}

/* Of all devices that are the same GPU. */
static uint64_t waiting_of(const struct gx_workspace *ws, const struct gx_device_slot *slot)
{
    const struct gx_router *router = ws->router;
    uint64_t ns = atomic_load(&slot->waiting_ns);
    if (ws->only || !slot->chip) /* the candidates may not be listed yet */
        return ns;
    for (size_t i = 0; i < router->candidates; i++)
        for (const struct gx_device_slot *at = router->candidate[i]; at; at = at->other)
            if (at != slot && at->chip == slot->chip)
                ns += atomic_load(&at->waiting_ns);
    return ns;
}

static void add_cost(struct gx_workspace *ws, size_t i, uint64_t replaced)
{
    const struct gx_candidate_engine *e = &ws->candidate[i];
    struct gx_candidate_cost *candidate = &ws->cost[i];
    *candidate = (struct gx_candidate_cost){.model = atomic_load(&e->slot->model),
                                            .cpu = e->slot->host,
                                            .chip = ws->only ? 0 : e->slot->chip,
                                            .waiting_ns = waiting_of(ws, e->slot)};
    if (e->slot->host)
        candidate->as[GX_DEVICE_MEMORY] = GX_HOST_MEMORY;
    if (e->slot->host || !e->engine->device.facts.import_align)
        candidate->as[GX_REGISTERED_MEMORY] = GX_HOST_MEMORY;
    if (!e->slot->host)
        candidate->extra_ns = (double)replaced / (replaced > FRESH_BYTES ? FRESH_RATE : COPY_RATE);
    const struct gx_contention *contention = contention_of(ws, i);
    if (contention)
        candidate->contention =
            atomic_load_explicit(&contention->factor, memory_order_relaxed) / 1000.0;
}

/* After many splits that contention prevented, it is measured again. */
static void note_held_back(struct gx_workspace *ws)
{
    for (size_t i = 0; i < ws->choices && ws->decision.held_back; i++)
        if (contention_of(ws, i))
            gx__contention_missed(contention_of(ws, i));
}

static void count_decision(const struct gx_workspace *ws)
{
    struct gx_counters *c = &ws->router->slots.instance->counters;
    gx_reason reason = ws->decision.reason;
    gx__count(&c->decisions, 1);
    if (reason == GX_REASON_DEFAULT)
        gx__count(&c->decisions_default, 1);
    if (reason == GX_REASON_SPLIT)
        gx__count(&c->decisions_split, 1);
    if (reason == GX_REASON_EXPLORED)
        gx__count(&c->decisions_explored, 1);
}

gx_status gx__round_decide(struct gx_workspace *ws, struct gx_call *call,
                           const struct gx_task *jobs, size_t count, bool explore)
{
    uint64_t replaced;
    ws->parts = gx__workspace_room(ws, GX_ROOM_PARTS, count, sizeof *ws->parts);
    if (!ws->parts)
        return gx__refuse(&call->error, GX_ERR_OUT_OF_MEMORY, "no memory to choose a device");
    gx_status s = enter_all(ws, call, jobs, count);
    if (s != GX_OK)
        return s;
    call->error.text[0] = 0;
    ws->question = (struct gx_question){.predictor = &gx__predictor,
                                        .policy = call->policy,
                                        .jobs = count,
                                        .candidates = ws->cost,
                                        .count = ws->choices,
                                        .exploring = explore ? &ws->router->exploring : NULL};
    add_parts(ws, jobs, count, call->path, &replaced);
    for (size_t i = 0; i < ws->choices; i++)
        add_cost(ws, i, replaced);
    gx__decide(&ws->question, &ws->decision);
    if (explore && !ws->only) {
        note_held_back(ws);
        count_decision(ws);
    }
    return GX_OK;
}

/* ---- making shards ---- */

/* Gives shards on devices other than "cpu" memory for in-place results. Without memory these shards
 * fail over to "cpu". */
static void assign_spare(struct gx_workspace *ws)
{
    size_t bytes = 0, at = 0;
    for (size_t i = 0; i < ws->shards; i++)
        if (!ws->shard[i].candidate->slot->host)
            bytes += gx__shard_spare(&ws->shard[i]);
    ws->spare = bytes ? gx__workspace_room(ws, GX_ROOM_SPARE, bytes, 1) : NULL;
    if (!ws->spare)
        return;
    for (size_t i = 0; i < ws->shards; i++) {
        struct gx_shard *shard = &ws->shard[i];
        size_t own = shard->candidate->slot->host ? 0 : gx__shard_spare(shard);
        shard->spare = own ? ws->spare + at : NULL;
        at += own;
    }
}

gx_status gx__round_make_shards(struct gx_workspace *ws, const struct gx_call *call,
                                const struct gx_task *jobs, size_t count)
{
    const struct gx_decision *d = &ws->decision;
    double fractions[GX_CANDIDATES_MAX];
    struct gx_share shares[GX_CANDIDATES_MAX];
    size_t room = count + d->portions, at = 0;
    ws->jobs = gx__workspace_room(ws, GX_ROOM_JOBS, room, sizeof *ws->jobs);
    ws->reports = gx__workspace_room(ws, GX_ROOM_REPORTS, room, sizeof *ws->reports);
    if (!ws->jobs || !ws->reports)
        return GX_ERR_OUT_OF_MEMORY;
    for (size_t i = 0; i < d->portions; i++)
        fractions[i] = d->portion[i].fraction;
    gx__round_cut(jobs, count, fractions, d->portions, shares);
    ws->shards = 0;
    for (size_t i = 0; i < d->portions; i++) {
        if (!shares[i].jobs)
            continue;
        ws->shard[ws->shards++] =
            (struct gx_shard){.ws = ws,
                              .call = call,
                              .meant_for = &ws->candidate[d->portion[i].candidate],
                              .candidate = &ws->candidate[d->portion[i].candidate],
                              .round = jobs,
                              .share = shares[i],
                              .jobs = ws->jobs + at,
                              .reports = ws->reports + at,
                              .predicted_ns = d->portion[i].ns};
        at += shares[i].jobs;
        ws->candidate[d->portion[i].candidate].meant = shares[i].elements;
        ws->candidate[d->portion[i].candidate].share_ns = (uint64_t)d->portion[i].ns;
    }
    for (size_t i = 0; i < ws->shards; i++)
        ws->shard[i].together = ws->shards > 1;
    assign_spare(ws);
    return GX_OK;
}

/* ---- running ---- */

/* The shard that the caller's thread runs: the one on "cpu", or else the largest. */
static struct gx_shard *callers_shard(struct gx_workspace *ws)
{
    struct gx_shard *own = ws->shard;
    for (size_t i = 0; i < ws->shards; i++) {
        struct gx_shard *shard = &ws->shard[i];
        if (shard->candidate->slot->host)
            return shard;
        if (shard->share.elements > own->share.elements)
            own = shard;
    }
    return own;
}

/* A thread that drives a GPU needs a core of its own, so the thread pool uses one less for each. */
static void run_shards(struct gx_workspace *ws)
{
    struct gx_shard *own = callers_shard(ws);
    struct gx_instance *instance = ws->router->slots.instance;
    bool sent[GX_CANDIDATES_MAX] = {false};
    for (size_t i = 0; i < ws->shards; i++) {
        sent[i] = &ws->shard[i] != own && gx__shard_send(ws, &ws->shard[i]);
        if (sent[i])
            gx__threads_lend(instance, true);
    }
    if (ws->shards)
        gx__shard_run(own);
    for (size_t i = 0; i < ws->shards; i++) {
        if (sent[i]) {
            gx__shard_await(ws, &ws->shard[i]);
            gx__threads_lend(instance, false);
        } else if (&ws->shard[i] != own) {
            gx__shard_run(&ws->shard[i]);
        }
    }
}

/* ---- failing over ---- */

/* A device that hangs may recover and write to registered memory later, over the result of another
 * device. */
static bool may_be_written_later(const struct gx_shard *shard)
{
    for (size_t i = shard->next; i < shard->share.jobs; i++) {
        const struct gx_task *job = &shard->jobs[i];
        size_t bytes = gx__operand_bytes(job, GX_OUT);
        if (bytes && job->out.host &&
            gx__host_registered(shard->ws->router->slots.instance->registered, job->out.host,
                                bytes))
            return true;
    }
    return false;
}

static bool can_fail_over(const struct gx_shard *shard)
{
    if (shard->status == GX_ERR_TIMEOUT && may_be_written_later(shard))
        return false;
    return gx__health_is_failure(shard->status) || shard->status == GX_ERR_UNSUPPORTED;
}

/* The fastest of the remaining candidates; "cpu" if no times are known. */
static struct gx_candidate_engine *next_best(struct gx_workspace *ws)
{
    struct gx_candidate_engine *best = NULL;
    double best_ns = 0;
    for (size_t i = 0; i < ws->candidates; i++) {
        struct gx_candidate_engine *e = &ws->candidate[i];
        double ns = i < ws->choices ? ws->decision.ns[i] : 0;
        bool better =
            !best || (ns > 0 ? !(best_ns > 0) || ns < best_ns : !(best_ns > 0) && e->slot->host);
        if (e->out || !better || atomic_load(&e->engine->lost))
            continue;
        best = e;
        best_ns = ns;
    }
    return best;
}

/* "cpu", even if it was not a candidate. NULL: it has failed too, or the policy forbids it. */
static struct gx_candidate_engine *last_resort(struct gx_workspace *ws,
                                               const struct gx_shard *shard)
{
    struct gx_error error;
    for (size_t i = 0; i < ws->candidates; i++)
        if (ws->candidate[i].slot->host)
            return NULL;
    if (ws->only || shard->call->policy == GX_POLICY_GPU ||
        enter_host(ws, shard->jobs, shard->share.jobs, &error) != GX_OK)
        return NULL;
    return &ws->candidate[ws->candidates - 1];
}

static void fail_over(struct gx_workspace *ws, struct gx_shard *shard)
{
    while (can_fail_over(shard)) {
        struct gx_candidate_engine *failed = shard->candidate, *other;
        failed->out = true;
        failed->status = shard->status;
        other = next_best(ws);
        if (!other)
            other = last_resort(ws, shard);
        if (!other)
            return;
        gx__count(&ws->router->slots.instance->counters.fallbacks, 1);
        if (!ws->error.text[0])
            ws->error = shard->error;
        shard->failed_over = true;
        shard->candidate = other;
        if (!shard->spare && ws->shards == 1) /* it was meant for "cpu", which needs none */
            assign_spare(ws);
        gx__shard_run(shard);
    }
}

/* ---- running a round ---- */

/* Adds the predicted times to the waiting time of the devices, or subtracts them. */
static void count_waiting(struct gx_workspace *ws, bool begin)
{
    for (size_t i = 0; i < ws->decision.portions; i++) {
        const struct gx_portion *portion = &ws->decision.portion[i];
        const struct gx_candidate_engine *e = &ws->candidate[portion->candidate];
        uint64_t ns = (uint64_t)portion->ns;
        atomic_fetch_add(&e->slot->waiting_ns, begin ? ns : (uint64_t)0 - ns);
    }
}

/* The time of the round: that of the longest shard if a device has a clock of its own. */
static uint64_t round_ns(const struct gx_workspace *ws, uint64_t elapsed)
{
    uint64_t longest = 0;
    bool modelled = false;
    for (size_t i = 0; i < ws->candidates; i++) {
        modelled |= ws->candidate[i].engine->device.ops->now && ws->candidate[i].actual_ns;
        longest = ws->candidate[i].actual_ns > longest ? ws->candidate[i].actual_ns : longest;
    }
    return modelled ? longest : elapsed;
}

/* Undoes a decision that cannot be carried out. */
static gx_status abandon(struct gx_workspace *ws, struct gx_call *call, gx_status status)
{
    if (ws->decision.reason == GX_REASON_EXPLORED)
        gx__explored(&ws->router->exploring, 0, ws->decision.best_ns);
    gx__round_leave(ws);
    gx__explain(&call->error, "%s", "no memory to split the jobs");
    return status;
}

static gx_status prepare(struct gx_workspace *ws, struct gx_call *call, size_t first, size_t count)
{
    const struct gx_task *jobs;
    gx_status s = gx__lay_out(ws, call->jobs + first, count, false, &jobs, &call->error);
    if (s == GX_OK)
        s = gx__round_decide(ws, call, jobs, count, true);
    if (s != GX_OK)
        return s;
    s = gx__round_make_shards(ws, call, jobs, count);
    return s == GX_OK ? GX_OK : abandon(ws, call, s);
}

gx_status gx__round_run(struct gx_workspace *ws, struct gx_call *call, size_t first, size_t count,
                        size_t *reported)
{
    uint64_t start = gx__now_ns();
    gx_status s = prepare(ws, call, first, count);
    *reported = 0;
    if (s != GX_OK)
        return s;
    uint64_t decided = gx__now_ns(); /* regret does not include opening devices */
    ws->error.text[0] = 0;
    count_waiting(ws, true);
    run_shards(ws);
    count_waiting(ws, false);
    for (size_t i = 0; i < ws->shards; i++)
        fail_over(ws, &ws->shard[i]);
    for (size_t i = 0; i < ws->shards; i++)
        gx__shard_join(&ws->shard[i]);
    uint64_t end = gx__now_ns(), ns = round_ns(ws, end - start);
    if (!ws->only)
        gx__routed(&ws->router->exploring, ns);
    if (ws->decision.reason == GX_REASON_EXPLORED)
        gx__explored(&ws->router->exploring, ns, ws->decision.best_ns);
    s = gx__report_round(ws, call, first, count, ns);
    if (s == GX_OK)
        gx__report_regret(ws, round_ns(ws, end - decided));
    *reported = count;
    gx__round_leave(ws);
    return s;
}
