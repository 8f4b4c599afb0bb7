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

static void fail_device(struct gx_pipe *pipe, struct gx_batch *batch, size_t index, gx_status s)
{
    lock(pipe);
    gx__batch_fail_device(pipe->engine, batch, index, s);
    unlock(pipe);
}

static void fail_element(struct gx_pipe *pipe, struct gx_flight *f, const struct gx_piece *p,
                         uint64_t bad)
{
    char operand = gx__stage_find(pipe, f, p, bad);
    lock(pipe);
    gx__batch_fail_element(f->batch, p->index, bad, operand);
    unlock(pipe);
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
    struct gx_outcome *r = gx__batch_report(f->batch, p->index);
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
    }
    add_share(&r->host_in_ns, f->host_in_ns, share);
    add_share(&r->device_ns, f->device_ns, share);
    add_share(&r->host_out_ns, f->host_out_ns, share);
    add_share(&r->upload_ns, f->stage_ns[GX_QUEUE_UPLOAD], share);
    add_share(&r->compute_ns, f->stage_ns[GX_QUEUE_COMPUTE], share);
    add_share(&r->download_ns, f->stage_ns[GX_QUEUE_DOWNLOAD], share);
    r->total_ns = f->end_ns - f->batch->job_start;
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
        if (p->last && !p->only)
            gx__batch_job_done(pipe->engine, f->batch, p->index,
                               (struct gx_times){f->batch->job_start, f->end_ns});
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
        fail_element(pipe, f, &f->group.pieces[found], bad);
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
        gx__batch_end(pipe->engine, batch);
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
    *set = (struct gx_set){0};
    gx_status s =
        gx__pool_get(pool, copies ? GX_MEM_DEVICE : GX_MEM_SHARED, bytes->device, &set->device);
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
    gx_status s = gx__job_kernel(engine, job, 0, check, &kernel);
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

gx_status gx__pipe_plan(struct gx_engine *engine, struct gx_batch *batch, uint64_t chunk_elems,
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
    bool on = next->first ? batch->failed == GX_NO_JOB : gx__batch_goes_on(batch, next->index);
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
    fail_element(pipe, f, piece, pipe->bad);
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

void gx__pipe_feed(struct gx_pipe *pipe, struct gx_batch *batch)
{
    struct gx_asked asked;
    struct gx_plan plan;
    fenv_t caller;
    gx__batch_begin(pipe->engine, batch);
    batch->open = 0;
    batch->fed = false;
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
        gx__batch_end(pipe->engine, batch);
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

gx_status gx__pipe_open(struct gx_engine *engine, struct gx_pipe **pipe)
{
    gx_status s = take_pipe(engine, pipe);
    if (s == GX_OK)
        (*pipe)->shared = true;
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

gx_status gx__pipe_run(struct gx_engine *engine, struct gx_batch *batch)
{
    struct gx_pipe *pipe;
    gx_status s = take_pipe(engine, &pipe);
    if (s != GX_OK) {
        gx__batch_begin(engine, batch);
        gx__batch_fail_device(engine, batch, 0, s);
        gx__batch_end(engine, batch);
        return s;
    }
    gx__pipe_feed(pipe, batch);
    gx__pipe_close(pipe);
    return batch->status;
}
