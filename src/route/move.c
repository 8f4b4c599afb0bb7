/* SPDX-License-Identifier: Apache-2.0
 *
 * Jobs whose buffers are on a device, done where it is faster: their operands are read into
 * memory of the desk, the jobs are a wave of host memory like any other, and the results are
 * written back. Nothing on the device changes before they are there and were compared.
 */
#include <stdio.h>
#include <string.h>

#include "base/log.h"
#include "exec/buffer.h"
#include "exec/pipe.h"
#include "route/desk.h"
#include "route/health.h"

/* A move has to promise this much: copies are known less well than kernels. */
#define MOVE_MARGIN 1.05
/* What is larger than this is faster where it is than it can be read. */
#define MOVE_BYTES ((size_t)4 << 20)
#define ALIGN      ((size_t)64)
/* Until a place has been read from or written to, a copy is taken to begin like an empty submit,
 * if that was measured; bytes per ns where these were not. Who hopes too much finds out. */
#define COPY_NS   15000u
#define COPY_RATE 1.0
/* One part in so many of it is learned with each copy; and of what it is beyond that guess,
 * forgotten with each job that stayed at home for it. */
#define LEARN  16u
#define FORGET 256u

static bool is_away(const gx_operand *o)
{
    return o->buf && !o->buf->engine->place->host;
}

/* What a job replaces it also writes to the same memory of the desk. */
static bool is_replaced(const gx_job *job, int which)
{
    const gx_operand *o = gx__operand(job, which), *out = &job->out;
    return which != GX_OUT && o->buf == out->buf && o->offset == out->offset && !o->broadcast;
}

static size_t room_for(const gx_job *job, int which)
{
    if (!is_away(gx__operand(job, which)) || is_replaced(job, which))
        return 0;
    return (gx__operand_bytes(job, which) + ALIGN - 1) / ALIGN * ALIGN;
}

bool gx__is_mixed(const gx_job *job)
{
    const struct gx_engine *home = NULL;
    for (int i = 0; i <= (int)gx__op_operands(job->op); i++) {
        const gx_operand *o = gx__operand(job, i);
        if (is_away(o) && home && o->buf->engine != home)
            return true;
        home = is_away(o) ? o->buf->engine : home;
    }
    return false;
}

/* ---- what copies take ---- */

/* Those that the host writes itself begin at once. */
static bool is_open(const gx_buf *buf, size_t bytes, bool out)
{
    return !out && gx__buf_is_open(buf, bytes);
}

static double copy_time(const struct gx_engine *engine, size_t bytes, bool out)
{
    const struct gx_mem_speed *s =
        &engine->device.facts.speed[out ? GX_MEM_READBACK : GX_MEM_UPLOAD];
    double by_host = out ? s->host_read : s->host_write, by_device = out ? s->copy_out : s->copy_in;
    return (double)bytes / (by_host > 0 ? by_host : COPY_RATE) +
           (double)bytes / (by_device > 0 ? by_device : COPY_RATE);
}

/* What it takes to begin one. */
static uint64_t guess(const struct gx_engine *engine)
{
    return engine->device.facts.submit_ns ? engine->device.facts.submit_ns : COPY_NS;
}

static uint64_t begin_ns(const struct gx_engine *engine)
{
    uint64_t ns = atomic_load_explicit(&engine->place->copy_ns, memory_order_relaxed);
    return ns ? ns : guess(engine);
}

static void set_begin(const struct gx_engine *engine, uint64_t ns)
{
    atomic_store_explicit(&engine->place->copy_ns, ns, memory_order_relaxed);
}

static double predict_copy(const gx_buf *buf, size_t bytes, bool out, bool least)
{
    const struct gx_engine *engine = buf->engine;
    if (is_open(buf, bytes, out))
        return (double)bytes / engine->device.facts.speed[GX_MEM_DEVICE].host_write;
    return (double)(least ? guess(engine) : begin_ns(engine)) + copy_time(engine, bytes, out);
}

/* A step towards it, however far away it is: one that had to wait, or for which memory was got,
 * says little. That ends where as many take longer as take less. */
static void learn_copy(const struct gx_engine *engine, size_t bytes, bool out, uint64_t ns)
{
    uint64_t before = begin_ns(engine), step = before / LEARN + 1;
    bool longer = (double)ns - copy_time(engine, bytes, out) > (double)before;
    set_begin(engine, longer ? before + step : before > step ? before - step : 1);
}

/* `least`: as far as it is hoped that they take no more. */
static double predict_copies(const gx_job *jobs, size_t count, bool least)
{
    double ns = 0;
    for (size_t j = 0; j < count; j++)
        for (int i = 0; i <= (int)gx__op_operands(jobs[j].op); i++) {
            const gx_operand *o = gx__operand(&jobs[j], i);
            if (is_away(o))
                ns += predict_copy(o->buf, gx__operand_bytes(&jobs[j], i), i != GX_OUT, least);
        }
    return ns;
}

/* Jobs stay at home, so that nothing more is learned. Where that is for what copies were found to
 * take, it is forgotten, slowly. */
static void doubt_copies(const struct gx_engine *engine, const gx_job *jobs, size_t count,
                         double rest_ns, double home_ns)
{
    uint64_t ns = begin_ns(engine), least = guess(engine);
    if (ns > least && (predict_copies(jobs, count, true) + rest_ns) * MOVE_MARGIN < home_ns)
        set_begin(engine, ns - (ns - least + FORGET - 1) / FORGET);
}

/* ---- whether it pays ---- */

/* What they would take where they are; 0: not known, or not one number. */
static double predict_home(struct gx_router *router, const struct gx_place *home,
                           const gx_job *jobs, size_t count, gx_path path)
{
    const struct gx_instance *instance = router->places.instance;
    const struct gx_model *model = atomic_load(&home->model);
    struct gx_kind kind = gx__kind_of(instance, jobs, path, false);
    struct gx_prediction p;
    double n = 0;
    for (size_t j = 0; j < count; j++) {
        struct gx_kind k = gx__kind_of(instance, &jobs[j], path, false);
        if (k.op != kind.op || k.field != kind.field || k.residency != kind.residency)
            return 0;
        n += (double)jobs[j].n;
    }
    if (!gx__predictor.predict(model, &kind, n, &p))
        return 0;
    return p.ns + (double)(count - 1) * gx__predictor.next_ns(model);
}

/* One that the host has mapped cannot be copied. */
static bool can_be_copied(const gx_job *jobs, size_t count)
{
    size_t bytes = 0;
    for (size_t j = 0; j < count; j++)
        for (int i = 0; i <= (int)gx__op_operands(jobs[j].op); i++) {
            const gx_operand *o = gx__operand(&jobs[j], i);
            bytes += room_for(&jobs[j], i);
            if (bytes > MOVE_BYTES || (is_away(o) && o->buf->mapped))
                return false;
        }
    return true;
}

gx_status gx__move_lay_out(struct gx_router *router, struct gx_desk *desk, const gx_job *jobs,
                           size_t count)
{
    const gx_job *plain;
    size_t bytes = 0, at = 0;
    for (size_t j = 0; j < count; j++)
        for (int i = 0; i <= (int)gx__op_operands(jobs[j].op); i++)
            bytes += room_for(&jobs[j], i);
    gx_status s = gx__wave_plain(router, desk, jobs, count, &plain);
    if (s != GX_OK)
        return s;
    if (!gx__desk_room(router, &desk->moved, &desk->moved_room, bytes, 1) ||
        (plain == jobs &&
         !gx__desk_room(router, &desk->wave, &desk->wave_room, count, sizeof *desk->wave)))
        return GX_ERR_OUT_OF_MEMORY;
    if (plain == jobs)
        memcpy(desk->wave, jobs, count * sizeof *jobs);
    for (size_t j = 0; j < count; j++) {
        gx_job *job = &desk->wave[j];
        gx_operand *const operands[] = {&job->out, &job->a, &job->b, &job->c};
        for (int i = 0; i <= (int)gx__op_operands(job->op); i++) {
            if (!is_away(gx__operand(&jobs[j], i)))
                continue;
            operands[i]->host =
                is_replaced(&jobs[j], i) ? job->out.host : (void *)(desk->moved + at);
            operands[i]->buf = NULL;
            operands[i]->offset = 0;
            at += room_for(&jobs[j], i);
        }
    }
    return GX_OK;
}

/* What is under way at home is waited for by copies as well, and so does not count. */
bool gx__move_pays(struct gx_router *router, struct gx_desk *desk, const struct gx_call *call,
                   size_t first, size_t count, struct gx_engine *home, struct gx_move *move)
{
    const gx_job *jobs = call->jobs + first;
    char message[GX_MESSAGE_BYTES];
    *move = (struct gx_move){.home = home->place};
    bool as_asked = call->mode || call->path > GX_PATH_AUTO; /* of the device that has them */
    if (count > GX_MOVED_JOBS || as_asked || atomic_load(&home->lost) ||
        !can_be_copied(jobs, count))
        return false;
    move->home_ns = predict_home(router, home->place, jobs, count, call->path);
    move->copies_ns = predict_copies(jobs, count, false);
    if (move->home_ns <= 0)
        return false;
    if (move->copies_ns * MOVE_MARGIN >= move->home_ns) {
        doubt_copies(home, jobs, count, 0, move->home_ns);
        return false;
    }
    if (gx__move_lay_out(router, desk, jobs, count) != GX_OK)
        return false;
    if (gx__wave_decide(router, desk, call->policy, call->path, desk->wave, count, false, message,
                        sizeof message) != GX_OK)
        return false;
    double there = desk->decision.best_ns;
    gx__wave_leave(desk);
    bool pays = there > 0 && (move->copies_ns + there) * MOVE_MARGIN < move->home_ns;
    if (!pays && there > 0)
        doubt_copies(home, jobs, count, there, move->home_ns);
    return pays;
}

/* ---- moving ---- */

/* One operand to or from its memory of the desk. */
static gx_status copy(const gx_operand *o, void *memory, size_t bytes, bool out, uint64_t *ns)
{
    struct gx_engine *engine = o->buf->engine;
    uint64_t start = gx__engine_now(engine);
    gx_status s = out ? gx_buf_read(o->buf, o->offset, memory, bytes)
                      : gx_buf_write(o->buf, o->offset, memory, bytes);
    uint64_t took = gx__engine_now(engine) - start;
    *ns += took;
    if (s == GX_OK && !is_open(o->buf, bytes, out))
        learn_copy(engine, bytes, out, took);
    return s;
}

static void say(struct gx_router *router, const struct gx_operand *o, gx_status s, char *message,
                size_t size)
{
    struct gx_engine *engine = o->buf->engine;
    snprintf(message, size, "a buffer of '%s' cannot be copied: %s", engine->place->name,
             gx_status_message(s));
    if (gx__health_is_failure(s))
        gx__health_failed(&router->places, engine->place, engine, s);
}

gx_status gx__move_in(struct gx_router *router, struct gx_desk *desk, struct gx_call *call,
                      size_t first, size_t count, struct gx_move *move)
{
    for (size_t j = 0; j < count; j++) {
        const gx_job *job = &call->jobs[first + j];
        move->ns[j] = 0;
        for (int i = GX_A; i <= (int)gx__op_operands(job->op); i++) {
            const gx_operand *o = gx__operand(job, i);
            if (!is_away(o) || !job->n)
                continue;
            gx_status s = copy(o, gx__operand(&desk->wave[j], i)->host, gx__operand_bytes(job, i),
                               true, &move->ns[j]);
            if (s == GX_OK)
                continue;
            say(router, o, s, call->message, sizeof call->message);
            return s;
        }
    }
    return GX_OK;
}

/* The report of a job that was done elsewhere: with its copies, and with what it would have
 * taken at home. */
static void complete(const struct gx_move *move, uint64_t ns, struct gx_outcome *r)
{
    if (r->reason == GX_REASON_ONLY)
        r->reason = GX_REASON_FASTEST;
    r->total_ns += ns;
    for (size_t i = 0; move->home && i < r->candidates; i++)
        if (!strcmp(r->candidate[i].device, move->home->name) && !r->candidate[i].elements)
            r->candidate[i].predicted_ns = (uint64_t)move->home_ns;
}

/* The result of one job to where it belongs. */
static gx_status bring_back(struct gx_router *router, const gx_job *job, const gx_job *done,
                            uint64_t *ns, struct gx_outcome *r)
{
    if (!is_away(&job->out) || !job->n)
        return GX_OK;
    gx_status s = copy(&job->out, done->out.host, gx__operand_bytes(job, GX_OUT), false, ns);
    if (s == GX_OK)
        return s;
    r->status = s;
    say(router, &job->out, s, r->message, sizeof r->message);
    gx__count(&router->places.instance->counters.jobs_failed, 1);
    return s;
}

gx_status gx__move_run(struct gx_router *router, struct gx_desk *desk, struct gx_call *call,
                       size_t first, size_t count, struct gx_move *move, size_t *reported)
{
    struct gx_outcome own[GX_MOVED_JOBS], *reports = call->reports ? call->reports + first : own;
    struct gx_call there = *call;
    there.jobs = desk->wave;
    there.count = count;
    there.reports = reports;
    gx_status s = gx__wave_run(router, desk, &there, 0, count, reported);
    if (s != GX_OK) {
        call->failed = first + there.failed;
        memcpy(call->message, there.message, sizeof call->message);
    }
    for (size_t j = 0; j < *reported; j++) {
        struct gx_outcome *r = &reports[j];
        if (r->status != GX_OK)
            continue;
        gx_status back =
            bring_back(router, &call->jobs[first + j], &desk->wave[j], &move->ns[j], r);
        complete(move, move->ns[j], r);
        if (back == GX_OK || s != GX_OK)
            continue;
        s = back;
        call->failed = first + j;
        memcpy(call->message, r->message, sizeof call->message);
    }
    return s;
}
