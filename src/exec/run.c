/* SPDX-License-Identifier: Apache-2.0
 *
 * Batches through a pipe. The thread that feeds starts groups in order, as many as there
 * are sets; groups are finished in the same order, by that thread or by the copier's. So
 * the first failure of a batch is the first in its order, and what comes after it is not
 * copied out. Sequential is a pipe with one set and one piece per group.
 */
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/float_env.h"
#include "base/trace.h"
#include "exec/pipe.h"
#include "field/host.h"

/* Pieces are not cut smaller than this where the device has no memory for larger ones. */
#define FLOOR_ELEMS 1024u

/* A small job of a call hurries, and nobody looks into its pipe. */
static void lock(struct gx_pipe *pipe)
{
    if (pipe->shared)
        pthread_mutex_lock(&pipe->lock);
}

static void unlock(struct gx_pipe *pipe)
{
    if (pipe->shared)
        pthread_mutex_unlock(&pipe->lock);
}

/* ---- the outcome of jobs ---- */

void gx__count_job(struct gx_counters *c, struct gx_work *work, const gx_job *job,
                   const struct gx_outcome *r)
{
    if (r->status != GX_OK) {
        gx__count(&c->jobs_failed, 1);
        return;
    }
    size_t read = 0;
    for (int i = GX_A; i <= (int)gx__op_operands(job->op); i++)
        read += gx__operand_bytes(job, i);
    if (work)
        gx__tally_job(&work->tally[job->op][job->field], job->n, r->total_ns, r->queued_ns);
    gx__count(&c->bytes_read, read);
    gx__count(&c->bytes_written, gx__operand_bytes(job, GX_OUT));
    gx__count(&c->compute_ns, r->compute_ns);
    gx__count(&c->dispatches, r->dispatches);
}

static struct gx_outcome *report_of(struct gx_batch *batch, size_t i)
{
    return batch->reports ? &batch->reports[i] : &batch->spare;
}

/* The report of the next job, where none is wanted: what is counted. */
static void clear_spare(struct gx_batch *batch)
{
    memset(&batch->spare, 0, offsetof(struct gx_outcome, message));
}

/* The first in the order of jobs counts, whoever finds it first. Returns whether it is the
 * first so far; under the lock. */
static bool fail_locked(struct gx_batch *batch, size_t index, gx_status status)
{
    if (index >= batch->failed)
        return false;
    batch->failed = index;
    batch->status = status;
    return true;
}

static void fail_bad(struct gx_pipe *pipe, struct gx_flight *f, const struct gx_piece *p,
                     uint64_t bad)
{
    struct gx_batch *batch = f->batch;
    struct gx_outcome *r = report_of(batch, p->index);
    char operand = gx__stage_find(pipe, f, p, bad);
    lock(pipe);
    if (fail_locked(batch, p->index, GX_ERR_NOT_CANONICAL)) {
        r->bad_index = bad;
        r->bad_operand = operand;
        snprintf(batch->message, sizeof batch->message,
                 "element %llu of operand %c is not below the modulus of %s: reduce it before "
                 "the call",
                 (unsigned long long)bad, operand ? operand : '?',
                 gx_field_get_info(p->job->field)->name);
    }
    unlock(pipe);
}

static void fail_device(struct gx_pipe *pipe, struct gx_batch *batch, size_t index, gx_status s)
{
    struct gx_engine *engine = pipe->engine;
    gx__engine_status(engine, s);
    size_t kept = engine->budget.limit - gx__budget_room(&engine->budget);
    bool budget = s == GX_ERR_OUT_OF_DEVICE_MEMORY && engine->budget.limit != SIZE_MAX;
    lock(pipe);
    if (fail_locked(batch, index, s)) {
        if (budget)
            snprintf(batch->message, sizeof batch->message,
                     "device '%s': %s: of %zu bytes it may use, buffers hold %zu",
                     engine->device.info.name, gx_status_message(s), engine->budget.limit, kept);
        else
            snprintf(batch->message, sizeof batch->message, "device '%s': %s",
                     engine->device.info.name, gx_status_message(s));
    }
    unlock(pipe);
}

static void finish_job(struct gx_engine *engine, struct gx_batch *batch, size_t i)
{
    struct gx_outcome *r = report_of(batch, i);
    memcpy(r->device, engine->device.info.name, sizeof r->device);
    r->status = GX_OK;
    r->queued_ns = batch->queued_ns;
    if (!batch->uncounted)
        gx__count_job(&engine->instance->counters, engine->work, &batch->jobs[i], r);
    if (!batch->reports && i + 1 < batch->count)
        clear_spare(batch);
}

/* Jobs that have nothing to do, the one that failed, and those after it, which had no group or
 * none that counts. */
static void finish_batch(struct gx_engine *engine, struct gx_batch *batch)
{
    for (size_t i = 0; i < batch->count; i++) {
        struct gx_outcome *r = report_of(batch, i);
        if (i < batch->failed && !gx__job_is_empty(&batch->jobs[i]))
            continue;
        if (i < batch->failed) {
            finish_job(engine, batch, i);
            continue;
        }
        if (i > batch->failed || batch->status == GX_ERR_CANCELLED) {
            gx__outcome_not_run(r, batch->status == GX_ERR_CANCELLED ? GX_ERR_CANCELLED
                                                                     : GX_ERR_NOT_RUN);
        } else {
            memcpy(r->device, engine->device.info.name, sizeof r->device);
            memcpy(r->message, batch->message, sizeof r->message);
            r->status = batch->status;
            r->queued_ns = batch->queued_ns;
        }
        if (!batch->uncounted)
            gx__count(&engine->instance->counters.jobs_failed, 1);
    }
    if (batch->done)
        batch->done(batch);
}

/* ---- finishing a group ---- */

/* In whole numbers: a job on the caller's thread leaves no trace in its floating-point state. */
struct share {
    uint64_t part, all;
};

static void add_share(uint64_t *to, uint64_t ns, struct share share)
{
    *to +=
        share.part == share.all ? ns : (uint64_t)((unsigned __int128)ns * share.part / share.all);
}

/* A piece's part of what its group took. */
static void report_piece(const struct gx_flight *f, size_t k, struct share share)
{
    const struct gx_piece *p = &f->group.pieces[k];
    struct gx_outcome *r = report_of(f->batch, p->index);
    bool staged = false;
    for (int i = 0; i < GX_OPERANDS; i++)
        staged |= p->place[i] >= GX_PLACE_STAGED;
    if (!r->groups)
        f->batch->job_start = f->start_ns;
    r->path = staged ? f->path : GX_PATH_DIRECT;
    r->mode = f->mode;
    r->groups++;
    r->dispatches += gx__piece_dispatches(p);
    if (!k) {
        r->submits += (uint32_t)f->commands;
        r->command_hits += f->hits;
        r->threads = f->threads > r->threads ? f->threads : r->threads;
    }
    add_share(&r->host_in_ns, f->host_in_ns, share);
    add_share(&r->device_ns, f->device_ns, share);
    add_share(&r->host_out_ns, f->host_out_ns, share);
    add_share(&r->upload_ns, f->stage_ns[GX_QUEUE_UPLOAD], share);
    add_share(&r->compute_ns, f->stage_ns[GX_QUEUE_COMPUTE], share);
    add_share(&r->download_ns, f->stage_ns[GX_QUEUE_DOWNLOAD], share);
    r->total_ns = f->end_ns - f->batch->job_start;
}

static void trace_job(struct gx_engine *engine, const struct gx_flight *f, const struct gx_piece *p)
{
    size_t bytes = 0;
    if (!f->batch->timed || !gx__tracing(engine->instance))
        return;
    for (int i = 0; i <= p->operands; i++)
        bytes += gx__operand_bytes(p->job, i);
    gx__trace_span(engine->instance, &(struct gx_span){.device = engine->device.info.name,
                                                       .stage = GX_STAGE_JOB,
                                                       .job = f->batch->traced + p->index,
                                                       .op = p->job->op,
                                                       .field = p->job->field,
                                                       .elements = p->job->n,
                                                       .bytes = bytes,
                                                       .start_ns = f->batch->job_start,
                                                       .end_ns = f->end_ns});
}

/* How much of its group's time is a piece's. */
static uint64_t weight(const struct gx_piece *p)
{
    return p->n * gx__element_bytes(p->job->field);
}

/* The first `count` pieces are done. */
static void report_pieces(struct gx_pipe *pipe, struct gx_flight *f, size_t count)
{
    struct share share = {0, 0};
    for (size_t k = 0; k < f->group.count; k++)
        share.all += weight(&f->group.pieces[k]);
    for (size_t k = 0; k < count; k++) {
        const struct gx_piece *p = &f->group.pieces[k];
        share.part = weight(p);
        report_piece(f, k, share);
        if (p->last && !p->only) {
            trace_job(pipe->engine, f, p);
            finish_job(pipe->engine, f->batch, p->index);
        }
    }
}

/* Pieces whose job may still succeed: those before the one that failed. */
static size_t wanted(struct gx_pipe *pipe, const struct gx_flight *f)
{
    size_t count = 0;
    lock(pipe);
    while (count < f->group.count && f->group.pieces[count].index < f->batch->failed)
        count++;
    unlock(pipe);
    return count;
}

static void finish_group(struct gx_pipe *pipe, struct gx_flight *f)
{
    const struct gx_piece *first = &f->group.pieces[0];
    size_t found = f->group.count;
    uint64_t bad = 0;
    gx_status s = gx__stage_wait(pipe, f);
    if (s == GX_OK)
        s = gx__stage_check(pipe, f, &found, &bad);
    if (s == GX_OK && found < f->group.count && first->only) {
        pipe->bad = bad < pipe->bad ? bad : pipe->bad;
        found = f->group.count;
    } else if (s == GX_OK && found < f->group.count && found < wanted(pipe, f)) {
        fail_bad(pipe, f, &f->group.pieces[found], bad);
    }
    size_t count = wanted(pipe, f);
    if (s == GX_OK)
        s = gx__stage_out(pipe, f, count);
    if (s == GX_OK)
        report_pieces(pipe, f, count);
    else
        fail_device(pipe, f->batch, first->index, s);
}

static struct gx_flight *flight_at(struct gx_pipe *pipe, uint64_t number)
{
    return &pipe->flight[number % (GX_SETS_MAX + 1)];
}

/* Under the lock, which it gives up meanwhile; there is a group and nobody is at it. */
static void finish_head(struct gx_pipe *pipe)
{
    struct gx_flight *f = flight_at(pipe, pipe->head);
    struct gx_batch *batch = f->batch;
    pipe->finishing = true;
    unlock(pipe);
    finish_group(pipe, f);
    lock(pipe);
    f->group.count = 0; /* in nobody's way any more; its jobs may be gone when the batch is done */
    if (!--batch->open && batch->fed) {
        unlock(pipe);
        finish_batch(pipe->engine, batch);
        lock(pipe);
    }
    pipe->finishing = false;
    atomic_store_explicit(&pipe->finished, pipe->finished + 1, memory_order_release);
    pipe->head++;
    if (pipe->shared)
        pthread_cond_broadcast(&pipe->changed);
}

bool gx__pipe_try_step(struct gx_pipe *pipe)
{
    lock(pipe);
    bool some = pipe->head != pipe->tail && !pipe->finishing;
    if (some)
        finish_head(pipe);
    unlock(pipe);
    return some;
}

/* Under the lock, which it gives up meanwhile: until another thread has finished a group or it is
 * time to sleep. To be woken takes 10 us. Not inlined: a small job never comes here. */
__attribute__((noinline)) static void look_out(struct gx_pipe *pipe, uint64_t finished)
{
    struct gx_linger linger = {0};
    unlock(pipe);
    while (atomic_load(&pipe->finished) == finished && gx__linger(&linger))
        ;
    lock(pipe);
}

bool gx__pipe_step(struct gx_pipe *pipe)
{
    lock(pipe);
    uint64_t finished = pipe->finished;
    bool some = pipe->head != pipe->tail;
    if (some && !pipe->finishing)
        finish_head(pipe);
    else if (some)
        look_out(pipe, finished);
    while (some && pipe->finished == finished)
        pthread_cond_wait(&pipe->changed, &pipe->lock);
    unlock(pipe);
    return some;
}

static void finish_all(struct gx_pipe *pipe)
{
    while (gx__pipe_step(pipe))
        ;
}

/* ---- memory ---- */

static void put_sets(struct gx_pipe *pipe)
{
    struct gx_pool *pool = &pipe->engine->pool;
    for (uint32_t i = 0; i < pipe->sets; i++) {
        struct gx_set *set = &pipe->set[i];
        if (set->up == set->device)
            set->up = set->down = NULL;
        if (pipe->engine->device.facts.import)
            set->device = NULL; /* the pipe's own */
        gx__pool_put(pool, &set->up);
        gx__pool_put(pool, &set->device);
        gx__pool_put(pool, &set->down);
        gx__pool_put(pool, &set->scratch);
    }
    gx__budget_release(&pipe->engine->budget, pipe->reserved, false);
    pipe->sets = 0;
    pipe->reserved = 0;
}

static gx_status get_set(struct gx_pipe *pipe, const struct gx_plan *plan, struct gx_set *set)
{
    struct gx_device *device = &pipe->engine->device;
    struct gx_pool *pool = &pipe->engine->pool;
    const struct gx_set_bytes *bytes = &plan->set;
    bool has_device = device->facts.mem_kinds & GX_MEM_BIT(GX_MEM_DEVICE);
    bool copies = plan->path == GX_PATH_DEVICE_LOCAL;
    gx_status s = GX_OK;
    *set = (struct gx_set){0};
    if (device->facts.import)
        set->device = &pipe->own;
    else
        s = gx__pool_get(pool, copies ? GX_MEM_DEVICE : GX_MEM_SHARED, bytes->device, &set->device);
    if (s == GX_OK && copies)
        s = gx__pool_get(pool, GX_MEM_UPLOAD, bytes->up, &set->up);
    if (s == GX_OK && copies)
        s = gx__pool_get(pool, GX_MEM_READBACK, bytes->down, &set->down);
    if (!copies)
        set->up = set->down = set->device;
    if (s == GX_OK)
        s = gx__pool_get(pool, has_device ? GX_MEM_DEVICE : GX_MEM_SHARED, bytes->scratch,
                         &set->scratch);
    return s;
}

static bool serves(const struct gx_pipe *pipe, const struct gx_plan *plan)
{
    const struct gx_set_bytes *have = &pipe->have, *want = &plan->set;
    return pipe->sets >= plan->sets && pipe->path == plan->path && have->up >= want->up &&
           have->device >= want->device && have->down >= want->down &&
           have->scratch >= want->scratch;
}

/* Sets for the plan; on failure the pipe has none. */
static gx_status get_sets(struct gx_pipe *pipe, const struct gx_plan *plan)
{
    if (serves(pipe, plan))
        return GX_OK;
    gx__pipe_drain(pipe);
    gx_status s = gx__budget_reserve(&pipe->engine->budget, plan->memory, false);
    if (s != GX_OK)
        return s;
    pipe->reserved = plan->memory;
    pipe->path = plan->path;
    pipe->have = plan->set;
    while (pipe->sets < plan->sets && s == GX_OK)
        s = get_set(pipe, plan, &pipe->set[pipe->sets++]);
    if (s != GX_OK)
        put_sets(pipe);
    return s;
}

/* ---- planning ---- */

static bool is_registered(void *user, const void *host, size_t bytes)
{
    struct gx_engine *engine = user;
    struct gx_binding binding;
    return gx__import_find(&engine->imports, host, bytes, &binding);
}

static gx_status scratch_of(void *user, const gx_job *job, bool check, uint64_t n, size_t *bytes)
{
    struct gx_engine *engine = user;
    struct gx_kernel kernel;
    gx_status s = gx__piece_kernel(engine, job, 0, check, &kernel);
    *bytes = s == GX_OK ? engine->device.ops->scratch(&engine->device, &kernel, n) : 0;
    return s;
}

/* group: as in gx_asked. */
static gx_status plan_batch(struct gx_engine *engine, struct gx_batch *batch, uint64_t chunk_elems,
                            struct gx_group *group, struct gx_asked *asked, struct gx_plan *plan)
{
    size_t room = gx__budget_room(&engine->budget);
    *asked = (struct gx_asked){.path = batch->path,
                               .mode = batch->mode,
                               .chunk_elems = chunk_elems,
                               .sets = batch->sets,
                               .stream = batch->stream,
                               .memory = room == SIZE_MAX ? 0
                                         : room           ? room
                                                          : 1,
                               .copy_threads = engine->device.facts.copy_threads
                                                   ? engine->device.facts.copy_threads
                                                   : engine->copier.threads,
                               .group = group,
                               .user = engine,
                               .registered = is_registered,
                               .scratch = scratch_of};
    return gx__plan_batch(batch->jobs, batch->count, &engine->device.facts, asked, plan);
}

gx_status gx__engine_plan(struct gx_engine *engine, struct gx_batch *batch, uint64_t chunk_elems,
                          struct gx_asked *asked, struct gx_plan *plan)
{
    return plan_batch(engine, batch, chunk_elems, NULL, asked, plan);
}

/* Plans, and gets the memory; where the device has less than was thought, in smaller
 * pieces. */
static gx_status prepare(struct gx_pipe *pipe, struct gx_batch *batch, struct gx_asked *asked,
                         struct gx_plan *plan)
{
    struct gx_engine *engine = pipe->engine;
    uint64_t chunk = engine->instance->config.stream_chunk_elems;
    for (;;) {
        gx_status s =
            plan_batch(engine, batch, chunk, &flight_at(pipe, pipe->tail)->group, asked, plan);
        if (s != GX_OK)
            return s;
        s = get_sets(pipe, plan);
        bool too_large = s == GX_ERR_OUT_OF_MEMORY || s == GX_ERR_OUT_OF_DEVICE_MEMORY;
        if (!too_large || plan->piece <= FLOOR_ELEMS)
            return s;
        chunk = plan->piece / 2;
    }
}

/* ---- feeding ---- */

static bool conflicts(const struct gx_group *earlier, const struct gx_group *later)
{
    for (size_t e = 0; e < earlier->count; e++)
        for (size_t k = 0; k < later->count; k++)
            if (gx__plan_conflict(&earlier->pieces[e], &later->pieces[k], false))
                return true;
    return false;
}

/* Until a set is free and nothing in flight is in the way of the group. */
static void make_way(struct gx_pipe *pipe, const struct gx_group *group, uint32_t sets)
{
    uint64_t until = group->drain ? pipe->tail : 0;
    lock(pipe);
    uint64_t head = pipe->head, tail = pipe->tail;
    if (tail - head >= sets)
        until = until > tail - sets + 1 ? until : tail - sets + 1;
    for (uint64_t i = tail; i-- > head && i >= until;)
        if (conflicts(&flight_at(pipe, i)->group, group))
            until = i + 1;
    unlock(pipe);
    while (head < until) {
        gx__pipe_step(pipe);
        lock(pipe); /* others finish groups too */
        head = pipe->head;
        unlock(pipe);
    }
}

static bool goes_on(struct gx_pipe *pipe, struct gx_batch *batch, const struct gx_piece *next)
{
    lock(pipe);
    if (batch->cancel && !next->first && atomic_load(batch->cancel) &&
        fail_locked(batch, next->index, GX_ERR_CANCELLED))
        snprintf(batch->message, sizeof batch->message, "%s", gx_status_message(GX_ERR_CANCELLED));
    bool on = batch->failed == GX_NO_JOB;
    unlock(pipe);
    return on;
}

/* Copies out of it are worth a thread of their own while others are copied in. */
static bool wants_watching(const struct gx_pipe *pipe, const struct gx_flight *f, uint32_t sets)
{
    return sets > 1 && f->group.end - f->group.out >= GX_COPY_SLICE &&
           !pipe->engine->device.ops->host_copy;
}

/* The group that was planned at the tail. False where it could not be started. */
static bool start_group(struct gx_pipe *pipe, struct gx_batch *batch, const struct gx_plan *plan)
{
    struct gx_flight *f = flight_at(pipe, pipe->tail);
    f->batch = batch;
    f->set = &pipe->set[pipe->tail % pipe->sets];
    gx_status s = gx__stage_start(pipe, f, plan);
    if (s != GX_OK) {
        fail_device(pipe, batch, f->group.pieces[0].index, s);
        return false;
    }
    lock(pipe);
    pipe->tail++;
    batch->open++;
    unlock(pipe);
    if (wants_watching(pipe, f, plan->sets)) {
        if (!pipe->shared) /* else someone may be reading it */
            pipe->shared = true;
        gx__copier_watch(&pipe->engine->copier, pipe);
    }
    return true;
}

/* The pass before a job that overwrites its operands: each is only looked at, one in host
 * memory by the host. Nothing else is in flight. False where the job cannot go on. */
static bool check_before(struct gx_pipe *pipe, struct gx_batch *batch, const struct gx_plan *plan,
                         const struct gx_piece *piece)
{
    struct gx_flight *f = flight_at(pipe, pipe->tail);
    pipe->bad = UINT64_MAX;
    for (int i = GX_A; i <= piece->operands; i++) {
        const gx_operand *o = gx__operand(piece->job, i);
        if (piece->place[i] != GX_PLACE_DIRECT) {
            size_t bad =
                gx__first_bad(gx__prime(piece->job->field), o->host,
                              gx__operand_is_one(piece->job, i) ? 1 : piece->job->n, false);
            pipe->bad = bad != GX_NONE_BAD && bad < pipe->bad ? bad : pipe->bad;
            continue;
        }
        uint64_t before = pipe->bad;
        for (uint64_t first = 0, n; pipe->bad == before; first += n) {
            f = flight_at(pipe, pipe->tail);
            n = gx__plan_check(plan, piece, i, first, &f->group);
            if (!n)
                break;
            if (!start_group(pipe, batch, plan))
                return false;
            finish_all(pipe);
            if (!goes_on(pipe, batch, piece))
                return false;
        }
    }
    if (pipe->bad == UINT64_MAX)
        return true;
    f->batch = batch;
    f->set = &pipe->set[0];
    fail_bad(pipe, f, piece, pipe->bad);
    return false;
}

static void start_groups(struct gx_pipe *pipe, struct gx_batch *batch, const struct gx_plan *plan)
{
    struct gx_cursor cursor = {0}, next = {0};
    /* planning has left it where it belongs, unless the pipe was drained since */
    bool there = plan->count == 1 && plan->groups == 1 &&
                 plan->asked->group == &flight_at(pipe, pipe->tail)->group;
    for (;;) {
        struct gx_group *group = &flight_at(pipe, pipe->tail)->group;
        if (there)
            next.job = plan->count;
        else if (!gx__plan_next(plan, &next, group))
            return;
        there = false;
        make_way(pipe, group, plan->sets);
        if (!goes_on(pipe, batch, &group->pieces[0]))
            return;
        if (group->drain) {
            struct gx_piece first = group->pieces[0];
            if (!check_before(pipe, batch, plan, &first))
                return;
            next = cursor; /* the pass was planned in the same place */
            gx__plan_next(plan, &next, &flight_at(pipe, pipe->tail)->group);
        }
        if (!start_group(pipe, batch, plan))
            return;
        cursor = next;
    }
}

/* Numbers for its jobs, and how long they waited. */
static void trace_batch(struct gx_engine *engine, struct gx_batch *batch)
{
    batch->traced = 0;
    batch->timed = (batch->reports && !batch->untimed) || gx__tracing(engine->instance);
    if (!gx__tracing(engine->instance))
        return;
    batch->traced = gx__trace_jobs(engine->instance, batch->count);
    if (!batch->submit_ns || !batch->count)
        return;
    struct gx_span span = {.device = engine->device.info.name,
                           .stage = GX_STAGE_QUEUED,
                           .job = batch->traced,
                           .jobs = batch->count,
                           .op = batch->jobs[0].op,
                           .field = batch->jobs[0].field,
                           .start_ns = batch->submit_ns,
                           .end_ns = gx__now_ns()};
    for (size_t i = 0; i < batch->count; i++) {
        span.elements += batch->jobs[i].n;
        span.bytes += gx__operand_bytes(&batch->jobs[i], GX_A);
    }
    gx__trace_span(engine->instance, &span);
}

void gx__pipe_feed(struct gx_pipe *pipe, struct gx_batch *batch)
{
    struct gx_asked asked;
    struct gx_plan plan;
    fenv_t caller;
    bool host = pipe->engine->device.facts.import; /* no driver */
    batch->status = GX_OK;
    batch->failed = GX_NO_JOB;
    batch->message[0] = 0;
    batch->open = 0;
    batch->fed = false;
    trace_batch(pipe->engine, batch);
    if (!batch->reports)
        clear_spare(batch);
    if (!host)
        gx__float_env_default(&caller);
    gx_status s = prepare(pipe, batch, &asked, &plan);
    if (s == GX_OK)
        start_groups(pipe, batch, &plan);
    else
        fail_device(pipe, batch, 0, s);
    lock(pipe);
    batch->fed = true;
    bool done = !batch->open;
    unlock(pipe);
    if (done)
        finish_batch(pipe->engine, batch);
    if (!host)
        gx__float_env_restore(&caller);
}

void gx__pipe_drain(struct gx_pipe *pipe)
{
    finish_all(pipe);
    put_sets(pipe);
    lock(pipe);
    pipe->head = pipe->tail = 0; /* the place in the ring that is warm */
    unlock(pipe);
}

/* ---- pipes ---- */

static gx_status new_pipe(struct gx_engine *engine, struct gx_pipe **out)
{
    struct gx_pipe *pipe = gx__alloc(&engine->instance->config.allocator, sizeof *pipe);
    if (!pipe)
        return GX_ERR_OUT_OF_MEMORY;
    pipe->engine = engine;
    pipe->record.steps = pipe->steps;
    pipe->record.room = GX_STEPS_MAX;
    gx_status s = GX_OK;
    if (engine->device.facts.import)
        s = engine->device.ops->mem_import(&engine->device, pipe->slots, sizeof pipe->slots,
                                           &pipe->own);
    if (s != GX_OK) {
        gx__free(&engine->instance->config.allocator, pipe);
        return s;
    }
    pthread_mutex_init(&pipe->lock, NULL);
    pthread_cond_init(&pipe->changed, NULL);
    *out = pipe;
    return GX_OK;
}

static void shelve(struct gx_pipe *pipe)
{
    struct gx_engine *engine = pipe->engine;
    pthread_mutex_lock(&engine->pipes_lock);
    pipe->next = engine->pipes;
    engine->pipes = pipe;
    pthread_mutex_unlock(&engine->pipes_lock);
}

void gx__pipes_free(struct gx_engine *engine)
{
    struct gx_pipe *warm = atomic_exchange(&engine->warm, NULL);
    if (warm)
        shelve(warm);
    for (struct gx_pipe *pipe = engine->pipes, *next; pipe; pipe = next) {
        next = pipe->next;
        if (pipe->own.size)
            engine->device.ops->mem_free(&engine->device, &pipe->own);
        pthread_cond_destroy(&pipe->changed);
        pthread_mutex_destroy(&pipe->lock);
        gx__free(&engine->instance->config.allocator, pipe);
    }
    engine->pipes = NULL;
}

static gx_status take_pipe(struct gx_engine *engine, struct gx_pipe **pipe)
{
    *pipe = atomic_exchange(&engine->warm, NULL);
    if (*pipe)
        return GX_OK;
    pthread_mutex_lock(&engine->pipes_lock);
    *pipe = engine->pipes;
    if (*pipe)
        engine->pipes = (*pipe)->next;
    pthread_mutex_unlock(&engine->pipes_lock);
    return *pipe ? GX_OK : new_pipe(engine, pipe);
}

/* A host device has no threads beside the one that feeds. */
gx_status gx__pipe_open(struct gx_engine *engine, struct gx_pipe **pipe)
{
    gx_status s = take_pipe(engine, pipe);
    if (s == GX_OK)
        (*pipe)->shared = !engine->device.facts.import;
    return s;
}

void gx__pipe_close(struct gx_pipe *pipe)
{
    if (!pipe)
        return;
    struct gx_engine *engine = pipe->engine;
    gx__pipe_drain(pipe);
    if (pipe->shared)
        gx__copier_unwatch(&engine->copier, pipe);
    pipe->shared = false;
    struct gx_pipe *before = atomic_exchange(&engine->warm, pipe);
    if (before)
        shelve(before);
}

gx_status gx__engine_run(struct gx_engine *engine, struct gx_batch *batch)
{
    struct gx_pipe *pipe;
    gx_status s = take_pipe(engine, &pipe);
    if (s != GX_OK) {
        batch->status = gx__engine_status(engine, s);
        batch->failed = 0;
        snprintf(batch->message, sizeof batch->message, "device '%s': %s", engine->device.info.name,
                 gx_status_message(s));
        finish_batch(engine, batch);
        return s;
    }
    gx__pipe_feed(pipe, batch);
    gx__pipe_close(pipe);
    return batch->status;
}
