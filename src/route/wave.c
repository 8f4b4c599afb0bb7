/* SPDX-License-Identifier: Apache-2.0
 *
 * A wave: jobs that may run at the same time, so that they can be shared out. Who is to do
 * it is decided, the shares run at once, and what one could not do is done by another.
 */
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "base/crew.h"
#include "base/log.h"
#include "exec/buffer.h"
#include "exec/pipe.h"
#include "route/desk.h"
#include "route/health.h"
#include "route/store.h"

/* A part is of one operation, field and residency: there can be no more. */
#define PARTS_MAX ((size_t)GX_KIND_OPS * GX_KIND_FIELDS * GX_KIND_RESIDENCIES)

/* What keeping operands safe costs, in bytes per ns: a copy, and where the memory for it is
 * not kept, getting that too. */
#define COPY_RATE   8.0
#define FRESH_RATE  2.0
#define FRESH_BYTES ((uint64_t)64 << 20)

/* ---- who is there ---- */

static void enter_one(struct gx_desk *desk, struct gx_place *place, struct gx_engine *engine)
{
    desk->entrant[desk->entrants++] = (struct gx_entrant){.place = place, .engine = engine};
}

void gx__wave_leave(struct gx_desk *desk)
{
    for (size_t i = 0; i < desk->entrants; i++)
        gx__engine_release(desk->entrant[i].engine);
    desk->entrants = desk->rivals = 0;
}

/* "cpu", whether it is to choose or not. */
static gx_status enter_host(struct gx_router *router, struct gx_desk *desk, char *message,
                            size_t message_size)
{
    struct gx_engine *engine;
    gx_status s = gx__place_open(&router->places, GX_HOST_DEVICE, &engine, message, message_size);
    if (s == GX_OK)
        enter_one(desk, engine->place, engine);
    return s;
}

static bool allowed(gx_policy policy, const struct gx_place *place)
{
    return policy == GX_POLICY_CPU ? place->host : policy == GX_POLICY_GPU ? !place->host : true;
}

static gx_status enter_all(struct gx_router *router, struct gx_desk *desk, gx_policy policy,
                           char *message, size_t message_size)
{
    struct gx_place *const *candidates;
    size_t count;
    gx_status s = gx__router_candidates(router, &candidates, &count, message, message_size);
    desk->entrants = desk->rivals = 0;
    if (s != GX_OK)
        return s;
    message[0] = 0;
    for (size_t i = 0; i < count; i++) {
        struct gx_engine *engine;
        struct gx_place *place = candidates[i];
        if (!allowed(policy, place) || !gx__health_usable(place))
            continue;
        if (gx__health_enter(&router->places, place, &engine, message, message_size) == GX_OK)
            enter_one(desk, place, engine);
    }
    if (!desk->entrants && policy == GX_POLICY_GPU) {
        if (!message[0])
            gx__router_no_gpu(message, message_size);
        return GX_ERR_NO_DEVICE;
    }
    if (!desk->entrants)
        s = enter_host(router, desk, message, message_size);
    desk->rivals = desk->entrants;
    return s;
}

/* ---- the question ---- */

static void add_part(struct gx_desk *desk, const struct gx_kind *kind, uint64_t n)
{
    struct gx_part *part = desk->parts, *end = part + desk->part_count;
    while (part < end && (part->kind.op != kind->op || part->kind.field != kind->field ||
                          part->kind.residency != kind->residency))
        part++;
    if (part == end) {
        desk->part_count++;
        *part = (struct gx_part){.kind = *kind};
    }
    part->elements += (double)n;
}

static void add_parts(struct gx_router *router, struct gx_desk *desk, const gx_job *jobs,
                      size_t count, gx_path path, uint64_t *replaced)
{
    struct gx_question *q = &desk->question;
    desk->part_count = 0;
    *replaced = 0;
    for (size_t i = 0; i < count; i++) {
        struct gx_kind kind = gx__kind_of(router->places.instance, &jobs[i], path, false);
        add_part(desk, &kind, jobs[i].n);
        q->elements += jobs[i].n;
        q->whole |= gx__job_is_whole(&jobs[i]);
        if (gx__job_in_place(&jobs[i]))
            *replaced += gx__operand_bytes(&jobs[i], GX_OUT);
    }
    q->parts = desk->parts;
    q->part_count = desk->part_count;
}

static const struct gx_part *largest_part(const struct gx_desk *desk)
{
    const struct gx_part *most = desk->parts;
    for (size_t i = 1; i < desk->part_count; i++)
        if (desk->parts[i].elements > most->elements)
            most = &desk->parts[i];
    return most;
}

/* By the memory of the wave: that of a GPU's share says who has to copy. */
static struct gx_beside *beside_of(const struct gx_desk *desk, size_t rival)
{
    const struct gx_part *most = largest_part(desk);
    return &gx__habit(desk->entrant[rival].place, &most->kind)->beside;
}

static void add_rival(struct gx_desk *desk, size_t i, uint64_t replaced)
{
    const struct gx_entrant *e = &desk->entrant[i];
    struct gx_rival *rival = &desk->rival[i];
    *rival = (struct gx_rival){.model = atomic_load(&e->place->model),
                               .cpu = e->place->host,
                               .waiting_ns = atomic_load(&e->place->waiting_ns)};
    if (e->place->host)
        rival->as[GX_DEVICE_MEMORY] = GX_HOST_MEMORY;
    if (e->place->host || !e->engine->device.facts.import_align)
        rival->as[GX_REGISTERED_MEMORY] = GX_HOST_MEMORY;
    if (!e->place->host)
        rival->extra_ns = (double)replaced / (replaced > FRESH_BYTES ? FRESH_RATE : COPY_RATE);
    rival->beside =
        atomic_load_explicit(&beside_of(desk, i)->factor, memory_order_relaxed) / 1000.0;
}

/* What shares take beside others is measured again when it has often spoken against a split. */
static void note_held_back(struct gx_desk *desk)
{
    for (size_t i = 0; i < desk->rivals && desk->decision.held_back; i++)
        gx__beside_missed(beside_of(desk, i));
}

static void count_decision(struct gx_router *router, gx_reason reason)
{
    struct gx_counters *c = &router->places.instance->counters;
    gx__count(&c->decisions, 1);
    if (reason == GX_REASON_DEFAULT)
        gx__count(&c->decisions_default, 1);
    if (reason == GX_REASON_SPLIT)
        gx__count(&c->decisions_split, 1);
    if (reason == GX_REASON_EXPLORED)
        gx__count(&c->decisions_explored, 1);
}

gx_status gx__wave_decide(struct gx_router *router, struct gx_desk *desk, gx_policy policy,
                          gx_path path, const gx_job *jobs, size_t count, bool explore,
                          char *message, size_t message_size)
{
    uint64_t replaced;
    if (!gx__desk_room(router, &desk->parts, &desk->part_room, PARTS_MAX, sizeof *desk->parts)) {
        snprintf(message, message_size, "no memory to choose a device");
        return GX_ERR_OUT_OF_MEMORY;
    }
    gx_status s = enter_all(router, desk, policy, message, message_size);
    if (s != GX_OK)
        return s;
    message[0] = 0;
    desk->question = (struct gx_question){.predictor = &gx__predictor,
                                          .policy = policy,
                                          .jobs = count,
                                          .rivals = desk->rival,
                                          .count = desk->rivals,
                                          .exploring = explore ? &router->exploring : NULL};
    add_parts(router, desk, jobs, count, path, &replaced);
    for (size_t i = 0; i < desk->rivals; i++)
        add_rival(desk, i, replaced);
    gx__decide(&desk->question, &desk->decision);
    if (explore) {
        note_held_back(desk);
        count_decision(router, desk->decision.reason);
    }
    return GX_OK;
}

/* ---- carving ---- */

/* Memory for results that would replace operands. Without it, "cpu" has to do these. */
static void give_spare(struct gx_router *router, struct gx_desk *desk)
{
    size_t bytes = 0, at = 0;
    for (size_t i = 0; i < desk->errands; i++)
        if (!desk->errand[i].entrant->place->host)
            bytes += gx__errand_spare(&desk->errand[i]);
    if (!bytes || !gx__desk_room(router, &desk->spare, &desk->spare_room, bytes, 1))
        return;
    for (size_t i = 0; i < desk->errands; i++) {
        struct gx_errand *e = &desk->errand[i];
        size_t own = e->entrant->place->host ? 0 : gx__errand_spare(e);
        e->spare = own ? desk->spare + at : NULL;
        at += own;
    }
}

gx_status gx__wave_carve(struct gx_router *router, struct gx_desk *desk, const struct gx_call *call,
                         const gx_job *jobs, size_t count)
{
    const struct gx_decision *d = &desk->decision;
    double fractions[GX_CANDIDATES_MAX];
    struct gx_share shares[GX_CANDIDATES_MAX];
    size_t room = count + d->portions, at = 0;
    if (!gx__desk_room(router, &desk->jobs, &desk->job_room, room, sizeof *desk->jobs) ||
        !gx__desk_room(router, &desk->reports, &desk->report_room, room, sizeof *desk->reports))
        return GX_ERR_OUT_OF_MEMORY;
    for (size_t i = 0; i < d->portions; i++)
        fractions[i] = d->portion[i].fraction;
    gx__wave_cut(jobs, count, fractions, d->portions, shares);
    desk->errands = 0;
    for (size_t i = 0; i < d->portions; i++) {
        if (!shares[i].jobs)
            continue;
        desk->errand[desk->errands++] =
            (struct gx_errand){.router = router,
                               .call = call,
                               .meant_for = &desk->entrant[d->portion[i].rival],
                               .entrant = &desk->entrant[d->portion[i].rival],
                               .wave = jobs,
                               .share = shares[i],
                               .jobs = desk->jobs + at,
                               .reports = desk->reports + at,
                               .predicted_ns = d->portion[i].ns};
        at += shares[i].jobs;
        desk->entrant[d->portion[i].rival].meant = shares[i].elements;
        desk->entrant[d->portion[i].rival].share_ns = (uint64_t)d->portion[i].ns;
    }
    for (size_t i = 0; i < desk->errands; i++)
        desk->errand[i].together = desk->errands > 1;
    give_spare(router, desk);
    return GX_OK;
}

gx_status gx__wave_plain(struct gx_router *router, struct gx_desk *desk, const gx_job *jobs,
                         size_t count, const gx_job **out)
{
    bool any = false;
    for (size_t i = 0; i < count && !any; i++)
        for (int k = 0; k < GX_OPERANDS; k++)
            any |=
                gx__operand(&jobs[i], k)->buf && gx__operand(&jobs[i], k)->buf->engine->place->host;
    *out = jobs;
    if (!any)
        return GX_OK;
    if (!gx__desk_room(router, &desk->wave, &desk->wave_room, count, sizeof *desk->wave))
        return GX_ERR_OUT_OF_MEMORY;
    memcpy(desk->wave, jobs, count * sizeof *jobs);
    *out = desk->wave;
    for (size_t i = 0; i < count; i++) {
        gx_operand *const operands[] = {&desk->wave[i].out, &desk->wave[i].a, &desk->wave[i].b,
                                        &desk->wave[i].c};
        for (int k = 0; k < GX_OPERANDS; k++) {
            struct gx_buf *buf = operands[k]->buf;
            void *memory;
            if (!buf || !buf->engine->place->host)
                continue;
            gx_status s = buf->engine->device.ops->map(&buf->engine->device, &buf->mem, &memory);
            if (s != GX_OK)
                return s;
            operands[k]->host = (char *)memory + operands[k]->offset;
            operands[k]->buf = NULL;
            operands[k]->offset = 0;
        }
    }
    return GX_OK;
}

/* ---- running ---- */

/* The host's share is the caller's, who has its threads; else the largest. */
static struct gx_errand *callers_own(struct gx_desk *desk)
{
    struct gx_errand *own = desk->errand;
    for (size_t i = 0; i < desk->errands; i++) {
        struct gx_errand *e = &desk->errand[i];
        if (e->entrant->place->host)
            return e;
        if (e->share.elements > own->share.elements)
            own = e;
    }
    return own;
}

/* Who drives a GPU needs a core, all the time: computing on that too would hold both up. */
static void run_errands(struct gx_router *router, struct gx_desk *desk)
{
    struct gx_errand *own = callers_own(desk);
    struct gx_instance *instance = router->places.instance;
    bool sent[GX_CANDIDATES_MAX] = {false};
    for (size_t i = 0; i < desk->errands; i++) {
        sent[i] = &desk->errand[i] != own && gx__desk_send(router, desk, &desk->errand[i]);
        if (sent[i])
            gx__crew_lend(instance, true);
    }
    if (desk->errands)
        gx__errand_run(own);
    for (size_t i = 0; i < desk->errands; i++) {
        if (sent[i]) {
            gx__desk_await(router, desk, &desk->errand[i]);
            gx__crew_lend(instance, false);
        } else if (&desk->errand[i] != own) {
            gx__errand_run(&desk->errand[i]);
        }
    }
}

/* ---- when one fails ---- */

/* A device that hangs may wake up and write to registered memory: no result there could be
 * relied on. */
static bool may_be_written_later(const struct gx_errand *e)
{
    for (size_t i = e->next; i < e->share.jobs; i++) {
        const gx_job *job = &e->jobs[i];
        size_t bytes = gx__operand_bytes(job, GX_OUT);
        if (bytes && job->out.host &&
            gx__host_registered(e->router->places.instance->hosts, job->out.host, bytes))
            return true;
    }
    return false;
}

static bool can_be_done_by_others(const struct gx_errand *e)
{
    if (e->status == GX_ERR_TIMEOUT && may_be_written_later(e))
        return false;
    return gx__health_is_failure(e->status) || e->status == GX_ERR_UNSUPPORTED;
}

/* The fastest of those left; where times are not known, "cpu" before others. */
static struct gx_entrant *next_best(struct gx_desk *desk)
{
    struct gx_entrant *best = NULL;
    double best_ns = 0;
    for (size_t i = 0; i < desk->entrants; i++) {
        struct gx_entrant *e = &desk->entrant[i];
        double ns = i < desk->rivals ? desk->decision.ns[i] : 0;
        bool better =
            !best || (ns > 0 ? !(best_ns > 0) || ns < best_ns : !(best_ns > 0) && e->place->host);
        if (e->out || !better || atomic_load(&e->engine->lost))
            continue;
        best = e;
        best_ns = ns;
    }
    return best;
}

/* "cpu" was not to choose, but is better than none. */
static struct gx_entrant *last_resort(struct gx_router *router, struct gx_desk *desk,
                                      gx_policy policy)
{
    char message[GX_MESSAGE_BYTES];
    for (size_t i = 0; i < desk->entrants; i++)
        if (desk->entrant[i].place->host)
            return NULL;
    if (policy == GX_POLICY_GPU || enter_host(router, desk, message, sizeof message) != GX_OK)
        return NULL;
    return &desk->entrant[desk->entrants - 1];
}

static void repair(struct gx_router *router, struct gx_desk *desk, struct gx_errand *e)
{
    while (can_be_done_by_others(e)) {
        struct gx_entrant *failed = e->entrant, *other;
        failed->out = true;
        failed->status = e->status;
        other = next_best(desk);
        if (!other)
            other = last_resort(router, desk, e->call->policy);
        if (!other)
            return;
        gx__count(&router->places.instance->counters.fallbacks, 1);
        if (!desk->message[0])
            memcpy(desk->message, e->message, sizeof desk->message);
        e->failed_over = true;
        e->entrant = other;
        gx__errand_run(e);
    }
}

/* ---- the whole of it ---- */

static void place(struct gx_desk *desk, bool begin)
{
    for (size_t i = 0; i < desk->decision.portions; i++) {
        const struct gx_portion *portion = &desk->decision.portion[i];
        const struct gx_entrant *e = &desk->entrant[portion->rival];
        uint64_t ns = (uint64_t)portion->ns;
        atomic_fetch_add(&e->place->waiting_ns, begin ? ns : (uint64_t)0 - ns);
    }
}

/* What it took, by the longest of its shares where one models time. */
static uint64_t took(const struct gx_desk *desk, uint64_t elapsed)
{
    uint64_t longest = 0;
    bool modelled = false;
    for (size_t i = 0; i < desk->entrants; i++) {
        modelled |= desk->entrant[i].engine->device.ops->now && desk->entrant[i].actual_ns;
        longest = desk->entrant[i].actual_ns > longest ? desk->entrant[i].actual_ns : longest;
    }
    return modelled ? longest : elapsed;
}

/* Whatever was decided does not happen. */
static gx_status call_off(struct gx_router *router, struct gx_desk *desk, struct gx_call *call,
                          gx_status status)
{
    if (desk->decision.reason == GX_REASON_EXPLORED)
        gx__explored(&router->exploring, 0, desk->decision.best_ns);
    gx__wave_leave(desk);
    snprintf(call->message, sizeof call->message, "%s", "no memory to share out the jobs");
    return status;
}

static gx_status prepare(struct gx_router *router, struct gx_desk *desk, struct gx_call *call,
                         size_t first, size_t count)
{
    const gx_job *jobs;
    gx_status s = gx__wave_plain(router, desk, call->jobs + first, count, &jobs);
    if (s != GX_OK) {
        snprintf(call->message, sizeof call->message, "%s", gx_status_message(s));
        return s;
    }
    s = gx__wave_decide(router, desk, call->policy, call->path, jobs, count, true, call->message,
                        sizeof call->message);
    if (s != GX_OK)
        return s;
    s = gx__wave_carve(router, desk, call, jobs, count);
    return s == GX_OK ? GX_OK : call_off(router, desk, call, s);
}

gx_status gx__wave_run(struct gx_router *router, struct gx_desk *desk, struct gx_call *call,
                       size_t first, size_t count, size_t *reported)
{
    uint64_t start = gx__now_ns();
    gx_status s = prepare(router, desk, call, first, count);
    *reported = 0;
    if (s != GX_OK)
        return s;
    uint64_t decided = gx__now_ns(); /* devices are open by now, which is not of this wave */
    desk->message[0] = 0;
    place(desk, true);
    run_errands(router, desk);
    place(desk, false);
    for (size_t i = 0; i < desk->errands; i++)
        repair(router, desk, &desk->errand[i]);
    for (size_t i = 0; i < desk->errands; i++)
        gx__errand_join(&desk->errand[i]);
    uint64_t end = gx__now_ns(), ns = took(desk, end - start);
    gx__routed(&router->exploring, ns);
    if (desk->decision.reason == GX_REASON_EXPLORED)
        gx__explored(&router->exploring, ns, desk->decision.best_ns);
    s = gx__report_wave(router, desk, call, first, count, ns);
    if (s == GX_OK)
        gx__report_regret(router, desk, took(desk, end - decided));
    *reported = count;
    gx__wave_leave(desk);
    return s;
}
