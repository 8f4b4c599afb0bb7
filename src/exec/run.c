/* SPDX-License-Identifier: Apache-2.0
 *
 * Batches through a pipe. The feeding thread starts groups in order, as many as there are sets;
 * groups are finished in the same order, by that thread or by the copier's. So the first failure
 * of a batch is the first in the order of its jobs, and nothing after it is copied out. Sequential
 * mode is a pipe with one set and one piece per group.
 */
#include "base/alloc.h"
#include "base/clock.h"
#include "base/float_env.h"
#include "exec/guard.h"
#include "exec/pipe.h"

/* If the device runs out of memory, pieces are not made smaller than this. */
#define FLOOR_ELEMS 1024u

/* ---- finishing groups ---- */

bool gx__pipe_step(struct gx_pipe *pipe, bool wait)
{
    pthread_mutex_lock(&pipe->lock);
    uint64_t finished = pipe->finished;
    bool some = pipe->head != pipe->tail && (wait || !pipe->finishing);
    if (some && !pipe->finishing) {
        struct gx_inflight *f = gx__pipe_at(pipe, pipe->head);
        struct gx_batch *batch = f->batch;
        pipe->finishing = true;
        pthread_mutex_unlock(&pipe->lock);
        gx__group_finish(pipe, f);
        pthread_mutex_lock(&pipe->lock);
        f->group.count = 0; /* in nobody's way any more; its jobs may be gone with the batch */
        if (!--batch->open && batch->fed) {
            pthread_mutex_unlock(&pipe->lock);
            gx__batch_end(pipe->engine, batch);
            pthread_mutex_lock(&pipe->lock);
        }
        pipe->finishing = false;
        atomic_store_explicit(&pipe->finished, pipe->finished + 1, memory_order_release);
        pipe->head++;
        pthread_cond_broadcast(&pipe->changed);
    } else if (some) { /* another thread is at it; waking up takes 10 us */
        gx__linger_for(&pipe->finished, finished, &pipe->lock);
    }
    while (some && pipe->finished == finished)
        pthread_cond_wait(&pipe->changed, &pipe->lock);
    pthread_mutex_unlock(&pipe->lock);
    return some;
}

/* ---- memory ---- */

static void put_sets(struct gx_pipe *pipe)
{
    struct gx_pool *pool = &pipe->engine->pool;
    for (uint32_t i = 0; i < pipe->sets; i++) {
        struct gx_set *set = &pipe->set[i];
        if (set->up == set->device)
            set->up = set->down = NULL;
        for (size_t k = 0; k < GX_SET_PARTS; k++)
            gx__pool_put(pool, &set->part[k]);
    }
    gx__pool_release(pool, pipe->reserved);
    pipe->sets = 0;
    pipe->reserved = 0;
}

static gx_status get_set(struct gx_pipe *pipe, const struct gx_plan *plan, struct gx_set *set)
{
    bool has_device = pipe->engine->device.facts.mem_kinds & GX_MEM_BIT(GX_MEM_DEVICE);
    bool copies = plan->path == GX_PATH_DEVICE_LOCAL;
    const enum gx_mem_kind kind[GX_SET_PARTS] = {
        GX_MEM_UPLOAD, copies ? GX_MEM_DEVICE : GX_MEM_SHARED, GX_MEM_READBACK,
        has_device ? GX_MEM_DEVICE : GX_MEM_SHARED};
    gx_status s = GX_OK;
    *set = (struct gx_set){0};
    /* without copies, plan->set.up and down are 0 */
    for (size_t i = 0; i < GX_SET_PARTS && s == GX_OK; i++)
        s = gx__pool_get(&pipe->engine->pool, kind[i], plan->set.part[i], &set->part[i]);
    if (!copies)
        set->up = set->down = set->device;
    return s;
}

static bool serves(const struct gx_pipe *pipe, const struct gx_plan *plan)
{
    bool enough = pipe->sets >= plan->sets && pipe->path == plan->path;
    for (size_t i = 0; i < GX_SET_PARTS; i++)
        enough &= gx__bucket(pipe->have.part[i]) >= plan->set.part[i];
    return enough;
}

/* The blocks of the sets are large enough for the plan. False: not with a guard behind it. */
static bool use_more(struct gx_pipe *pipe, const struct gx_plan *plan)
{
    bool guarded = true;
    for (uint32_t i = 0; i < pipe->sets; i++)
        for (size_t k = 0; k < GX_SET_PARTS && guarded; k++)
            guarded = gx__guard_grow(pipe->set[i].part[k], plan->set.part[k]);
    return guarded;
}

/* Finishes all groups and gives back their memory. */
static void give_back(struct gx_pipe *pipe)
{
    while (gx__pipe_step(pipe, true))
        ;
    put_sets(pipe);
    pthread_mutex_lock(&pipe->lock);
    pipe->head = pipe->tail = 0; /* the part of the ring that is in the caches */
    pthread_mutex_unlock(&pipe->lock);
}

static void put_tables(struct gx_pipe *pipe)
{
    while (pipe->tables)
        gx__table_put(pipe->engine, pipe->table[--pipe->tables]);
}

/* Gets the sets for the plan; on failure the pipe has none. */
static gx_status get_sets(struct gx_pipe *pipe, const struct gx_plan *plan)
{
    if (serves(pipe, plan) && use_more(pipe, plan))
        return GX_OK;
    give_back(pipe);
    gx_status s = gx__pool_reserve(&pipe->engine->pool, plan->memory);
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

static gx_status make_room(struct gx_pipe *pipe, size_t count)
{
    const gx_allocator *allocator = &pipe->engine->instance->config.allocator;
    if (count <= pipe->resolved_room)
        return GX_OK;
    if (count > SIZE_MAX / 2 / sizeof *pipe->resolved)
        return GX_ERR_OUT_OF_MEMORY;
    struct gx_resolved *more = gx__alloc(allocator, count * sizeof *more);
    if (!more)
        return GX_ERR_OUT_OF_MEMORY;
    if (pipe->resolved != pipe->some)
        gx__free(allocator, pipe->resolved);
    pipe->resolved = more;
    pipe->resolved_room = count;
    return GX_OK;
}

static uint32_t registered(struct gx_engine *engine, const struct gx_task *job)
{
    uint32_t bits = 0;
    struct gx_binding binding;
    for (int i = 0; i <= job->operands; i++) {
        const struct gx_place *o = &job->operand[i];
        if (!o->buf &&
            gx__import_find(&engine->imports, o->host, gx__operand_bytes(job, i), &binding))
            bits |= 1u << i;
    }
    return bits;
}

/* Gets the table of a transform, which the pipe keeps until it is drained. If it must be made,
 * nothing may be in flight: that would hold memory. */
static gx_status get_table(struct gx_pipe *pipe, struct gx_resolved *resolved)
{
    gx_status s = GX_OK;
    for (uint32_t i = 0; i < pipe->tables; i++) {
        resolved->table = pipe->table[i];
        if (gx__table_serves(resolved->table, &resolved->kernel))
            return GX_OK;
    }
    if (pipe->tables == GX_PIPE_TABLES)
        return GX_ERR_OUT_OF_DEVICE_MEMORY;
    resolved->table = gx__table_find(pipe->engine, &resolved->kernel);
    if (!resolved->table) {
        give_back(pipe);
        s = gx__table_get(pipe->engine, &resolved->kernel, &resolved->table);
    }
    if (s == GX_OK)
        pipe->table[pipe->tables++] = resolved->table;
    return s;
}

static gx_status resolve(struct gx_pipe *pipe)
{
    const struct gx_batch *batch = pipe->batch;
    gx_status s = make_room(pipe, batch->count);
    for (size_t i = 0; i < batch->count && s == GX_OK; i++) {
        const struct gx_task *job = &batch->jobs[i];
        bool check = job->check && !(job->out.buf && gx__task_in_place(job));
        if (job->empty)
            continue;
        pipe->resolved[i].registered = registered(pipe->engine, job);
        s = gx__job_kernel(pipe->engine, job, check, &pipe->resolved[i].kernel);
        if (s == GX_OK && job->table == GX_TABLE_OF_ROOTS && !batch->plan)
            s = get_table(pipe, &pipe->resolved[i]);
    }
    return s;
}

static size_t most_memory(struct gx_engine *engine)
{
    size_t room = gx__pool_room(&engine->pool);
    return room == SIZE_MAX ? 0 : room ? room : 1;
}

/* Resolves the jobs, plans them and gets the memory; with smaller pieces if the device has less
 * than expected. If there is too little, the pipe holds none. */
static gx_status get_ready(struct gx_pipe *pipe)
{
    struct gx_engine *engine = pipe->engine;
    const struct gx_batch *batch = pipe->batch;
    const struct gx_device_facts *facts = &engine->device.facts;
    const struct gx_plan *plan = &pipe->plan;
    gx_status s = resolve(pipe);
    pipe->asked = (struct gx_plan_request){
        .path = batch->path,
        .mode = batch->mode,
        .chunk_elems = engine->instance->config.stream_chunk_elems,
        .sets = batch->sets,
        .stream = batch->stream,
        .copy_threads = facts->copy_threads ? facts->copy_threads : engine->copier.threads,
        .resolved = pipe->resolved,
        .device = &engine->device};
    for (uint64_t before = UINT64_MAX; s == GX_OK; before = plan->piece) {
        pipe->asked.memory = most_memory(engine);
        s = gx__plan_cache_get(&engine->plans, batch->jobs, batch->count, facts, &pipe->asked,
                               &pipe->plan);
        if (s != GX_OK || batch->plan)
            break;
        s = get_sets(pipe, plan);
        if (!gx__out_of_memory(s) || plan->piece <= FLOOR_ELEMS || plan->piece >= before)
            break; /* the last: a job that cannot be cut */
        pipe->asked.chunk_elems = plan->piece / 2;
        s = GX_OK;
    }
    if (gx__out_of_memory(s))
        gx__pipe_drain(pipe);
    return s;
}

static bool needs_table(const struct gx_batch *batch)
{
    for (size_t i = 0; i < batch->count; i++)
        if (batch->jobs[i].table == GX_TABLE_OF_ROOTS)
            return true;
    return false;
}

/* If there is no memory because of tables and of what other jobs hold, waits for them. */
static gx_status prepare(struct gx_pipe *pipe, const struct gx_batch *batch)
{
    struct gx_engine *engine = pipe->engine;
    bool waits = !batch->held && !batch->plan;
    bool queues = waits && needs_table(batch) && gx__tables_wanted(&engine->tables);
    struct gx_turn turn = {.engine = engine, .tried = !queues};
    pipe->batch = batch;
    if (queues)
        gx__pipe_drain(pipe);
    gx_status s = queues ? GX_ERR_OUT_OF_DEVICE_MEMORY : get_ready(pipe);
    while (waits && gx__out_of_memory(s) && gx__turn_next(&turn))
        s = get_ready(pipe);
    if (turn.has)
        gx__turn_end(&turn);
    if (batch->held && gx__out_of_memory(s) && gx__tables_drop_idle(engine))
        s = get_ready(pipe);
    return s;
}

/* ---- feeding ---- */

/* How many groups have to be finished before this one starts: a set must be free, and nothing in
 * flight may be in its way. */
static uint64_t finished_before(struct gx_pipe *pipe, const struct gx_group *group, uint32_t sets)
{
    uint64_t until = group->drain ? pipe->tail : 0;
    pthread_mutex_lock(&pipe->lock);
    uint64_t head = pipe->head, tail = pipe->tail;
    if (tail - head >= sets)
        until = until > tail - sets + 1 ? until : tail - sets + 1;
    for (uint64_t i = tail; i-- > head && i >= until;)
        if (gx__group_waits(group, &gx__pipe_at(pipe, i)->group))
            until = i + 1;
    pthread_mutex_unlock(&pipe->lock);
    return until;
}

/* Other threads finish groups too. */
static bool has_finished(struct gx_pipe *pipe, uint64_t count)
{
    pthread_mutex_lock(&pipe->lock);
    bool has = pipe->head >= count;
    pthread_mutex_unlock(&pipe->lock);
    return has;
}

static bool goes_on(struct gx_pipe *pipe, struct gx_batch *batch, const struct gx_piece *next)
{
    pthread_mutex_lock(&pipe->lock);
    bool on = next->first ? batch->failed == GX_NO_JOB : gx__batch_goes_on(batch, next->index);
    pthread_mutex_unlock(&pipe->lock);
    return on;
}

/* The passes before a job that overwrites its operands. */
struct checking {
    struct gx_piece piece; /* the first one of the job */
    int operand;
    uint64_t bad;        /* what was found before this operand */
    struct gx_plan pass; /* of this operand; no jobs: not planned yet */
    struct gx_cursor next;
};

/* Plans at the tail what checks the next part of the operands: buffers are checked on the device,
 * host memory is here. False: there is no more. */
static bool next_check(struct gx_pipe *pipe, struct checking *c)
{
    const struct gx_task *job = c->piece.job;
    struct gx_group *group = &gx__pipe_at(pipe, pipe->tail)->group;
    for (; c->operand <= job->operands; c->operand++, c->pass.jobs = NULL) {
        const struct gx_place *o = &job->operand[c->operand];
        if (!o->buf) {
            size_t n = gx__operand_is_one(job, c->operand) ? 1 : job->n;
            size_t bad = gx__first_bad(gx__prime(job->field), o->host, n, false);
            pipe->bad = bad != GX_NONE_BAD && bad < pipe->bad ? bad : pipe->bad;
            continue;
        }
        if (!c->pass.jobs) {
            gx__plan_check(&pipe->plan, job, c->operand, &pipe->check, &c->pass);
            c->next = (struct gx_cursor){0};
            c->bad = pipe->bad;
        }
        if (pipe->bad == c->bad && gx__plan_next(&c->pass, &c->next, group)) {
            group->pieces[0].index = c->piece.index;
            group->pieces[0].last = false; /* of the job */
            return true;
        }
    }
    return false;
}

/* Whether the passes have found no bad element. Nothing is in flight. */
static bool is_accepted(struct gx_pipe *pipe, struct gx_batch *batch, const struct gx_piece *piece)
{
    struct gx_inflight *f = gx__pipe_at(pipe, pipe->tail);
    if (pipe->bad == UINT64_MAX)
        return true;
    f->batch = batch;
    f->set = &pipe->set[0];
    gx__group_refuse(pipe, f, piece, pipe->bad);
    return false;
}

static void end_feeding(struct gx_pipe *pipe, struct gx_batch *batch)
{
    pthread_mutex_lock(&pipe->lock);
    batch->fed = true;
    bool done = !batch->open;
    pthread_mutex_unlock(&pipe->lock);
    if (done)
        gx__batch_end(pipe->engine, batch);
}

bool gx__pipe_feed(struct gx_pipe *pipe, struct gx_batch *batch)
{
    const struct gx_plan *plan = &pipe->plan;
    struct gx_float_env caller;
    gx__batch_begin(pipe->engine, batch);
    batch->open = 0;
    batch->fed = false;
    gx__float_env_default(&caller);
    gx_status s = prepare(pipe, batch);
    bool left = gx__out_of_memory(s) && batch->attempt;
    if (s != GX_OK && !left)
        gx__batch_fail_device(pipe->engine, batch, 0, s);
    else if (!left && batch->plan)
        gx__plan_add(batch->plan, plan, 1);
    struct gx_cursor cursor = {0}, next = {0};
    for (bool on = s == GX_OK && !batch->plan; on; cursor = next) {
        struct gx_group *group = &gx__pipe_at(pipe, pipe->tail)->group;
        if (!gx__plan_next(plan, &next, group))
            break;
        uint64_t until = finished_before(pipe, group, plan->sets);
        while (!has_finished(pipe, until))
            gx__pipe_step(pipe, true);
        on = goes_on(pipe, batch, &group->pieces[0]);
        if (on && group->drain) {
            struct checking c = {.piece = group->pieces[0], .operand = GX_A};
            pipe->bad = UINT64_MAX;
            while (on && next_check(pipe, &c)) {
                on = gx__group_start(pipe, batch);
                while (gx__pipe_step(pipe, true))
                    ;
                on = on && goes_on(pipe, batch, &c.piece);
            }
            on = on && is_accepted(pipe, batch, &c.piece);
            next = cursor; /* the passes were planned in the same place */
            if (on)
                gx__plan_next(plan, &next, &gx__pipe_at(pipe, pipe->tail)->group);
        }
        on = on && gx__group_start(pipe, batch);
    }
    if (!left)
        end_feeding(pipe, batch);
    gx__float_env_restore(&caller);
    return !left;
}

void gx__pipe_drain(struct gx_pipe *pipe)
{
    give_back(pipe);
    put_tables(pipe);
}

/* ---- pipes ---- */

gx_status gx__pipe_open(struct gx_engine *engine, struct gx_pipe **out)
{
    pthread_mutex_lock(&engine->pipes_lock);
    struct gx_pipe *pipe = engine->pipes; /* the most recently used one */
    if (pipe)
        engine->pipes = pipe->next;
    pthread_mutex_unlock(&engine->pipes_lock);
    if (!pipe) {
        pipe = gx__alloc(&engine->instance->config.allocator, sizeof *pipe);
        if (!pipe)
            return GX_ERR_OUT_OF_MEMORY;
        pipe->engine = engine;
        pipe->resolved = pipe->some;
        pipe->resolved_room = GX_PLAN_JOBS;
        pipe->record.steps = pipe->steps;
        pipe->record.room = GX_STEPS_MAX;
        pthread_mutex_init(&pipe->lock, NULL);
        pthread_cond_init(&pipe->changed, NULL);
    }
    *out = pipe;
    return GX_OK;
}

void gx__pipe_close(struct gx_pipe *pipe)
{
    if (!pipe)
        return;
    struct gx_engine *engine = pipe->engine;
    gx__pipe_drain(pipe);
    gx__copier_unwatch(&engine->copier, pipe);
    pthread_mutex_lock(&engine->pipes_lock);
    pipe->next = engine->pipes;
    engine->pipes = pipe;
    pthread_mutex_unlock(&engine->pipes_lock);
}

void gx__pipes_free(struct gx_engine *engine)
{
    const gx_allocator *allocator = &engine->instance->config.allocator;
    for (struct gx_pipe *pipe = engine->pipes, *next; pipe; pipe = next) {
        next = pipe->next;
        pthread_cond_destroy(&pipe->changed);
        pthread_mutex_destroy(&pipe->lock);
        if (pipe->resolved != pipe->some)
            gx__free(allocator, pipe->resolved);
        gx__free(allocator, pipe);
    }
    engine->pipes = NULL;
}
