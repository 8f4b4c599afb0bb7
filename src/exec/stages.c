/* SPDX-License-Identifier: Apache-2.0
 *
 * The stages of a group: the host copies operands into staging memory, the device copies, computes
 * and copies back, the host checks the bad words and copies results out. Staged inputs and bad
 * words are adjacent, so they are one copy, and so are bad words and staged results.
 */
#include <string.h>

#include "base/clock.h"
#include "exec/buffer.h"
#include "exec/guard.h"
#include "exec/pipe.h"
#include "field/host.h"

/* The address of operand i of the piece in the caller's memory. */
static char *host_of(const struct gx_piece *p, int i)
{
    return (char *)p->job->operand[i].host + gx__piece_offset(p, i);
}

/* A copy of operand i to staging memory, or of results from there. */
static struct gx_host_region host_region(const struct gx_piece *p, int i, char *staging, bool out)
{
    const struct gx_rows r = gx__piece_rows(p, i);
    char *host = host_of(p, i);
    return (struct gx_host_region){.to = out ? host : staging,
                                   .from = out ? staging : host,
                                   .size = r.bytes,
                                   .rows = r.rows,
                                   .to_row = out ? r.stride : r.bytes,
                                   .from_row = out ? r.bytes : r.stride};
}

/* Upload and readback memory hold only their part of the group. */
static size_t up_shift(const struct gx_inflight *f)
{
    return f->path == GX_PATH_DEVICE_LOCAL ? f->group.in : 0;
}

static size_t down_shift(const struct gx_inflight *f)
{
    return f->path == GX_PATH_DEVICE_LOCAL ? f->group.bad_words : 0;
}

/* ---- what took how long ---- */

/* A stage of a group, in the trace. */
static void trace(struct gx_pipe *pipe, const struct gx_inflight *f, enum gx_stage stage,
                  size_t bytes, struct gx_times time)
{
    size_t first = f->group.pieces[0].index, last = f->group.pieces[f->group.count - 1].index;
    if (gx__batch_traced(pipe->engine, f->batch))
        gx__batch_trace(pipe->engine, f->batch, stage, first, last - first + 1, f->group.elements,
                        bytes, time);
}

/* A stage on the device, by queue. */
static void trace_device(struct gx_pipe *pipe, const struct gx_inflight *f, enum gx_queue queue,
                         struct gx_times time)
{
    const struct gx_group *g = &f->group;
    if (queue == GX_QUEUE_UPLOAD)
        trace(pipe, f, GX_STAGE_UPLOAD, g->out, time);
    else if (queue == GX_QUEUE_DOWNLOAD)
        trace(pipe, f, GX_STAGE_DOWNLOAD, g->bytes - g->bad_words, time);
    else
        trace(pipe, f, GX_STAGE_COMPUTE, g->bytes, time);
}

/* ---- host-in ---- */

static size_t list_inputs(struct gx_pipe *pipe, const struct gx_inflight *f, char *staging)
{
    size_t count = 0;
    for (size_t k = 0; k < f->group.count; k++) {
        const struct gx_piece *p = &f->group.pieces[k];
        for (int i = GX_A; i < GX_OPERANDS; i++)
            if (p->access[i] == GX_OPERAND_STAGED)
                pipe->in[count++] = host_region(p, i, staging + p->offset[i] - up_shift(f), false);
    }
    return count;
}

/* *ready: when the device may read, if it simulates host copies. */
static gx_status host_in(struct gx_pipe *pipe, struct gx_inflight *f, struct gx_fence *ready)
{
    struct gx_device *device = &pipe->engine->device;
    char *staging;
    if (f->group.out == f->group.in)
        return GX_OK;
    gx_status s = device->ops->map(device, f->set->up, (void **)&staging);
    if (s != GX_OK)
        return s;
    size_t count = list_inputs(pipe, f, staging);
    struct gx_times time = {f->start_ns, f->start_ns};
    for (size_t at = f->group.bad_words; at < f->group.out; at += GX_BIND_ALIGN)
        memcpy(staging + at - up_shift(f), &(uint32_t){GX_NO_BAD}, sizeof(uint32_t));
    if (count && device->ops->host_copy)
        s = device->ops->host_copy(device, GX_QUEUE_HOST_IN, pipe->in, count, NULL, 0, ready,
                                   &time);
    else if (count)
        gx__copy(&pipe->engine->copier, pipe->in, count);
    device->ops->unmap(device, f->set->up);
    if (count && !device->ops->host_copy)
        f->device_start_ns = time.end_ns = gx__engine_now(pipe->engine);
    f->host_in_ns = time.end_ns - time.start_ns;
    if (s == GX_OK && count)
        trace(pipe, f, GX_STAGE_HOST_IN, f->group.bad_words - f->group.in, time);
    return s;
}

/* ---- recording: copies ---- */

static void add_copy(struct gx_record *record, struct gx_binding from, struct gx_binding to,
                     size_t size)
{
    if (size)
        gx__record_add(record, GX_STEP_COPY)->region =
            (struct gx_region){.from = from, .to = to, .size = size};
}

/* Of operand i of the piece, from where the caller has it to the memory of the group, or of results
 * from there. */
static void add_rows(struct gx_record *record, const struct gx_inflight *f,
                     const struct gx_piece *p, int i, struct gx_binding caller, bool out)
{
    const struct gx_rows r = gx__piece_rows(p, i);
    const struct gx_binding here = {f->set->device, p->offset[i]};
    gx__record_add(record, GX_STEP_COPY)->region =
        (struct gx_region){.from = out ? here : caller,
                           .to = out ? caller : here,
                           .size = r.bytes,
                           .rows = r.rows,
                           .from_row = out ? r.bytes : r.stride,
                           .to_row = out ? r.stride : r.bytes};
}

static void add_barrier(struct gx_record *record, enum gx_barrier barrier)
{
    gx__record_add(record, GX_STEP_BARRIER)->barrier = barrier;
}

/* Copies of registered inputs, or of registered outputs. */
static gx_status add_registered(struct gx_pipe *pipe, const struct gx_inflight *f, bool outputs)
{
    for (size_t k = 0; k < f->group.count; k++) {
        const struct gx_piece *p = &f->group.pieces[k];
        for (int i = outputs ? GX_OUT : GX_A; i < (outputs ? GX_A : GX_OPERANDS); i++) {
            struct gx_binding host;
            if (p->access[i] != GX_OPERAND_REGISTERED)
                continue;
            if (!gx__import_find(&pipe->engine->imports, host_of(p, i), gx__piece_span(p, i),
                                 &host))
                return GX_ERR_INVALID; /* unregistered during the call, which is not allowed */
            add_rows(&pipe->record, f, p, i, host, outputs);
        }
    }
    return GX_OK;
}

static gx_status add_upload(struct gx_pipe *pipe, const struct gx_inflight *f)
{
    const struct gx_group *g = &f->group;
    add_copy(&pipe->record, (struct gx_binding){f->set->up, 0},
             (struct gx_binding){f->set->device, g->in}, g->out - g->in);
    gx_status s = add_registered(pipe, f, false);
    add_barrier(&pipe->record, GX_BARRIER_COPY_TO_KERNEL);
    return s;
}

static gx_status add_download(struct gx_pipe *pipe, const struct gx_inflight *f)
{
    const struct gx_group *g = &f->group;
    add_barrier(&pipe->record, GX_BARRIER_KERNEL_TO_COPY);
    add_copy(&pipe->record, (struct gx_binding){f->set->device, g->bad_words},
             (struct gx_binding){f->set->down, 0}, g->end - g->bad_words);
    return add_registered(pipe, f, true);
}

/* ---- recording: kernels ---- */

/* Where a kernel finds element p->first + at of operand i. */
static struct gx_binding bind(const struct gx_inflight *f, const struct gx_piece *p, int i,
                              uint64_t at)
{
    const struct gx_place *o = &p->job->operand[i];
    size_t skip = gx__operand_offset(p->job, i, at);
    if (p->access[i] != GX_OPERAND_DIRECT)
        return (struct gx_binding){f->set->device, p->offset[i] + skip};
    return (struct gx_binding){&o->buf->mem, o->offset + skip + gx__piece_offset(p, i)};
}

/* Columns of a buffer, before the kernel or after it. */
static void add_columns(struct gx_pipe *pipe, const struct gx_inflight *f, const struct gx_piece *p,
                        int i)
{
    const struct gx_place *o = &p->job->operand[i];
    if (p->access[i] != GX_OPERAND_COPIED)
        return;
    add_barrier(&pipe->record, GX_BARRIER_KERNEL_TO_COPY);
    add_rows(&pipe->record, f, p, i,
             (struct gx_binding){&o->buf->mem, o->offset + gx__piece_offset(p, i)}, i == GX_OUT);
    add_barrier(&pipe->record, GX_BARRIER_COPY_TO_KERNEL);
}

/* The dispatch adds to the result of an earlier one. */
static bool accumulates(const struct gx_piece *p, uint64_t at)
{
    return gx__piece_reduces(p) && (at || (p->first && p->access[GX_OUT] == GX_OPERAND_DIRECT));
}

static void add_dispatch(struct gx_pipe *pipe, const struct gx_inflight *f,
                         const struct gx_piece *p, const struct gx_kernel *kernel, bool scratch,
                         uint64_t at)
{
    struct gx_dispatch *d = &gx__record_add(&pipe->record, GX_STEP_DISPATCH)->dispatch;
    d->kernel = *kernel; /* which has no padding: records are compared byte by byte */
    d->kernel.key.accumulate = accumulates(p, at);
    d->n = p->n - at < p->step ? p->n - at : p->step;
    if (p->unit) /* the rows of the piece are neighbours */
        for (int i = GX_PARAM_STRIDE_A; i <= GX_PARAM_STRIDE_OUT; i += 2)
            gx__put64(d->kernel.key.param + i, p->n / p->unit);
    for (int i = 0; i < GX_OPERANDS; i++)
        if (p->access[i] != GX_OPERAND_NONE)
            d->bind[i] = bind(f, p, i, at);
    if (p->check)
        d->bind[GX_BIND_BAD] = (struct gx_binding){
            f->set->device,
            f->group.bad_words + (p->bad_word + (size_t)(at / p->step)) * GX_BIND_ALIGN};
    if (scratch)
        d->bind[GX_BIND_SCRATCH].mem = f->set->scratch;
    for (size_t i = 0; i < GX_SET_PARTS; i++)
        gx__guard_note(f->set->part[i], kernel, d->n);
    if (p->job->table == GX_TABLE_OF_ROOTS)
        d->bind[GX_BIND_TABLE].mem = &pipe->resolved[p->index].table->buf->mem;
}

static bool buffers_meet(const struct gx_piece *x, int i, const struct gx_piece *y, int k)
{
    const struct gx_place *a = &x->job->operand[i], *b = &y->job->operand[k];
    size_t a_bytes = gx__piece_span(x, i), b_bytes = gx__piece_span(y, k);
    if (x->access[i] == GX_OPERAND_NONE || y->access[k] == GX_OPERAND_NONE || !a->buf ||
        a->buf != b->buf)
        return false;
    size_t at = a->offset + gx__piece_offset(x, i), bt = b->offset + gx__piece_offset(y, k);
    return at < bt + b_bytes && bt < at + a_bytes;
}

/* Whether the later piece accesses what the earlier one wrote, or writes what it read. */
static bool depends(const struct gx_piece *earlier, const struct gx_piece *later)
{
    for (int i = 0; i < GX_OPERANDS; i++)
        if (buffers_meet(earlier, GX_OUT, later, i) || buffers_meet(earlier, i, later, GX_OUT))
            return true;
    return false;
}

static bool uses_buffers(const struct gx_group *g)
{
    for (size_t k = 0; k < g->count; k++)
        for (int i = 0; i < GX_OPERANDS; i++)
            if (g->pieces[k].access[i] != GX_OPERAND_NONE && g->pieces[k].job->operand[i].buf)
                return true;
    return false;
}

/* Kernels of one command may overlap unless a barrier is between them. */
static gx_status add_kernels(struct gx_pipe *pipe, struct gx_inflight *f)
{
    struct gx_device *device = &pipe->engine->device;
    size_t since = 0; /* the first piece since the last barrier */
    bool scratch = false, buffers = uses_buffers(&f->group), alone = f->group.dispatches == 1;
    if (buffers) /* earlier commands may have written them */
        add_barrier(&pipe->record, GX_BARRIER_KERNEL_TO_KERNEL);
    for (size_t k = 0; k < f->group.count; k++) {
        const struct gx_piece *p = &f->group.pieces[k];
        struct gx_kernel kernel = pipe->resolved[p->index].kernel;
        if (p->job == &pipe->check || p->check != kernel.key.check) { /* or the job after that */
            gx_status s = gx__job_kernel(pipe->engine, p->job, p->check, &kernel);
            if (s != GX_OK)
                return s;
            kernel.key.param[GX_PARAM_LOG2_TABLE] =
                pipe->resolved[p->index].kernel.key.param[GX_PARAM_LOG2_TABLE];
        }
        /* working it out takes some us, and a dispatch that is alone waits for no other */
        bool needs =
            f->set->scratch && (alone || gx__dispatch_scratch(device, &kernel, p->n, p->step));
        bool waits = needs && scratch;
        for (size_t e = since; e < k && buffers; e++)
            waits |= depends(&f->group.pieces[e], p);
        uint64_t at = 0;
        add_columns(pipe, f, p, GX_A);
        do {
            if (waits || (at && (needs || gx__piece_reduces(p)))) {
                add_barrier(&pipe->record, GX_BARRIER_KERNEL_TO_KERNEL);
                since = k;
            }
            waits = false;
            add_dispatch(pipe, f, p, &kernel, needs, at);
            at += p->step;
        } while (at < p->n);
        add_columns(pipe, f, p, GX_OUT);
        scratch |= needs;
    }
    return GX_OK;
}

/* ---- recording: commands ---- */

/* A stage of the command begins; GX_QUEUE_HOST_OUT: the command ends. */
static void add_stamp(struct gx_pipe *pipe, struct gx_inflight *f, enum gx_queue stage)
{
    uint32_t *count = &f->stamps[f->commands];
    if (!f->stamped)
        return;
    f->stage[f->commands][*count] = stage;
    gx__record_add(&pipe->record, GX_STEP_STAMP)->stamp = (*count)++;
}

/* Gets the command of the record and submits it. */
static gx_status submit_command(struct gx_pipe *pipe, struct gx_inflight *f, struct gx_fence *after)
{
    struct gx_engine *engine = pipe->engine;
    bool hit = false;
    const uint64_t start = f->device_start_ns + f->record_ns + f->submit_ns;
    gx_status s = gx__ready_get(&engine->records, &pipe->record, &f->ready[f->commands], &hit);
    if (s != GX_OK)
        return s;
    f->hits += hit;
    const uint64_t recorded = gx__engine_now(engine);
    s = engine->device.ops->submit(f->ready[f->commands++]->cmd, after, after->value ? 1 : 0,
                                   &f->done);
    if (s != GX_OK)
        return s;
    *after = f->done;
    const uint64_t end = gx__engine_now(engine);
    f->record_ns += recorded - start;
    f->submit_ns += end - recorded;
    trace(pipe, f, GX_STAGE_RECORD, 0, (struct gx_times){start, recorded});
    trace(pipe, f, GX_STAGE_SUBMIT, 0, (struct gx_times){recorded, end});
    return GX_OK;
}

/* Up to three commands, each after the one before. */
static gx_status submit_group(struct gx_pipe *pipe, struct gx_inflight *f, uint32_t queues,
                              struct gx_fence after)
{
    static const enum gx_queue order[] = {GX_QUEUE_UPLOAD, GX_QUEUE_COMPUTE, GX_QUEUE_DOWNLOAD};
    const struct gx_group *g = &f->group;
    const bool copies = f->path == GX_PATH_DEVICE_LOCAL;
    const bool has[] = {copies && g->out, true, copies && g->bytes > g->bad_words};
    const bool ends[] = {queues & GX_QUEUE_BIT(GX_QUEUE_UPLOAD),
                         queues & GX_QUEUE_BIT(GX_QUEUE_DOWNLOAD), true}; /* a command */
    struct gx_record *record = &pipe->record;
    gx_status s = GX_OK;
    record->count = f->stamps[0] = 0;
    for (int i = 0; i < GX_COMMANDS; i++) {
        if (has[i]) {
            add_stamp(pipe, f, order[i]);
            s = order[i] == GX_QUEUE_UPLOAD    ? add_upload(pipe, f)
                : order[i] == GX_QUEUE_COMPUTE ? add_kernels(pipe, f)
                                               : add_download(pipe, f);
        }
        if (s != GX_OK)
            return s;
        if (!ends[i])
            continue;
        /* buffers too, because the host may map them */
        if (order[i] == GX_QUEUE_DOWNLOAD || (order[i] == GX_QUEUE_COMPUTE && uses_buffers(g)))
            add_barrier(record, GX_BARRIER_TO_HOST);
        add_stamp(pipe, f, GX_QUEUE_HOST_OUT);
        record->queue = queues & GX_QUEUE_BIT(order[i]) ? order[i] : GX_QUEUE_COMPUTE;
        s = submit_command(pipe, f, &after);
        if (s != GX_OK)
            return s;
        record->count = 0;
        if (i + 1 < GX_COMMANDS)
            f->stamps[f->commands] = 0;
    }
    return GX_OK;
}

/* ---- start and wait ---- */

/* keep: its commands may be submitted again. */
static void let_go(struct gx_pipe *pipe, struct gx_inflight *f, bool keep)
{
    for (size_t c = 0; c < f->commands; c++)
        gx__ready_put(&pipe->engine->records, f->ready[c], keep);
    f->commands = 0;
}

/* Whether its results should be copied out by another thread while others are copied in. */
static bool wants_watching(const struct gx_pipe *pipe, const struct gx_inflight *f, uint32_t sets)
{
    return sets > 1 && f->group.end - f->group.out >= GX_COPY_SLICE &&
           !pipe->engine->device.ops->host_copy;
}

static void fail(struct gx_pipe *pipe, struct gx_inflight *f, gx_status s)
{
    pthread_mutex_lock(&pipe->lock);
    gx__batch_fail_device(pipe->engine, f->batch, f->group.pieces[0].index, s);
    pthread_mutex_unlock(&pipe->lock);
}

bool gx__group_start(struct gx_pipe *pipe, struct gx_batch *batch)
{
    const struct gx_plan *plan = &pipe->plan;
    struct gx_inflight *f = gx__pipe_at(pipe, pipe->tail);
    struct gx_fence ready = {0};
    f->batch = batch;
    f->set = &pipe->set[pipe->tail % pipe->sets];
    f->path = plan->path;
    f->mode = plan->mode;
    /* stamps cost 2 of the 20 us of a small job */
    f->stamped = pipe->engine->device.facts.timestamps && batch->timed;
    f->commands = f->hits = 0;
    f->host_in_ns = f->record_ns = f->submit_ns = f->host_out_ns = f->device_ns = 0;
    memset(f->stage_ns, 0, sizeof f->stage_ns);
    f->done = (struct gx_fence){0};
    f->device_start_ns = f->start_ns = gx__engine_now(pipe->engine);
    gx_status s = host_in(pipe, f, &ready);
    if (s == GX_OK)
        s = submit_group(pipe, f, gx__group_queues(&f->group, plan->copy_queues), ready);
    if (s != GX_OK) {
        if (f->done.value)
            gx__engine_wait(pipe->engine, f->done, f->group.elements);
        let_go(pipe, f, false);
        fail(pipe, f, s);
        return false;
    }
    pthread_mutex_lock(&pipe->lock);
    pipe->tail++;
    batch->open++;
    pthread_mutex_unlock(&pipe->lock);
    if (wants_watching(pipe, f, plan->sets))
        gx__copier_watch(&pipe->engine->copier, pipe);
    return true;
}

static gx_status read_stamps(struct gx_pipe *pipe, struct gx_inflight *f)
{
    struct gx_device *device = &pipe->engine->device;
    if (!f->stamped) {
        f->stage_ns[GX_QUEUE_COMPUTE] = f->device_ns;
        trace_device(pipe, f, GX_QUEUE_COMPUTE,
                     (struct gx_times){f->device_start_ns, f->device_start_ns + f->device_ns});
        return GX_OK;
    }
    for (size_t c = 0; c < f->commands; c++) {
        uint64_t ns[GX_STAMPS];
        gx_status s = device->ops->stamps(f->ready[c]->cmd, ns, f->stamps[c]);
        if (s != GX_OK)
            return s;
        for (uint32_t i = 0; i + 1 < f->stamps[c]; i++) {
            f->stage_ns[f->stage[c][i]] += ns[i + 1] - ns[i];
            trace_device(pipe, f, f->stage[c][i], (struct gx_times){ns[i], ns[i + 1]});
        }
    }
    return GX_OK;
}

/* ---- the results ---- */

/* In the job, of element `index` of the dispatch that begins at `at`. */
static uint64_t index_of(const struct gx_piece *p, uint64_t at, uint32_t index)
{
    uint64_t columns = p->unit ? p->n / p->unit : 0, first = p->first + at;
    if (p->unit)
        return p->first / p->unit + index / columns * p->job->ntt.stride[GX_A] + index % columns;
    if (p->job->resized)
        first = gx__operand_offset(p->job, GX_A, first) / p->job->element[GX_A];
    return first + index;
}

/* *found: the first piece with an element that is not below the modulus, and *bad which;
 * or group.count. */
static void check(const struct gx_inflight *f, const char *results, size_t *found, uint64_t *bad)
{
    const char *bad_words = results + f->group.bad_words - down_shift(f);
    *found = f->group.count;
    for (size_t k = 0; k < f->group.count && *found == f->group.count; k++) {
        const struct gx_piece *p = &f->group.pieces[k];
        for (uint64_t at = 0; at < p->n && p->check; at += p->step) {
            uint32_t index;
            memcpy(&index, bad_words + (p->bad_word + (size_t)(at / p->step)) * GX_BIND_ALIGN,
                   sizeof index);
            if (index == GX_NO_BAD)
                continue;
            *found = k;
            *bad = index_of(p, at, index);
            break;
        }
    }
}

/* Its result is added to that of the job's earlier pieces, which is there: groups finish in order,
 * and within a group the first piece is copied before others are added. */
static bool is_joined(const struct gx_piece *p)
{
    return gx__piece_reduces(p) && p->first;
}

/* Copies the results of the first `pieces` to the caller's memory. */
static gx_status host_out(struct gx_pipe *pipe, struct gx_inflight *f, char *results, size_t pieces)
{
    struct gx_device *device = &pipe->engine->device;
    size_t count = 0;
    gx_status s = GX_OK;
    struct gx_fence done;
    if (f->group.end == f->group.out || !pieces)
        return GX_OK;
    struct gx_times time = {0};
    if (f->batch->timed)
        time.start_ns = gx__engine_now(pipe->engine); /* other groups were finished in between */
    for (size_t k = 0; k < pieces; k++) {
        const struct gx_piece *p = &f->group.pieces[k];
        if (p->access[GX_OUT] == GX_OPERAND_STAGED && !is_joined(p))
            pipe->out[count++] =
                host_region(p, GX_OUT, results + p->offset[GX_OUT] - down_shift(f), true);
    }
    if (!count || !device->ops->host_copy) {
        gx__copy(&pipe->engine->copier, pipe->out, count);
    } else {
        s = device->ops->host_copy(device, GX_QUEUE_HOST_OUT, pipe->out, count, &f->done, 1, &done,
                                   &time);
        if (s == GX_OK) /* the results are there, even if the device is lost now */
            gx__engine_wait(pipe->engine, done, f->group.elements);
    }
    for (size_t k = 0; k < pieces && s == GX_OK; k++) {
        const struct gx_piece *p = &f->group.pieces[k];
        if (p->access[GX_OUT] == GX_OPERAND_STAGED && is_joined(p))
            gx__task_join(p->job, host_of(p, GX_OUT), results + p->offset[GX_OUT] - down_shift(f));
    }
    f->end_ns = gx__engine_now(pipe->engine);
    if (!device->ops->host_copy)
        time.end_ns = f->end_ns;
    f->host_out_ns = count ? time.end_ns - time.start_ns : 0;
    if (s == GX_OK && count)
        trace(pipe, f, GX_STAGE_HOST_OUT, f->group.end - f->group.out, time);
    return s;
}

/* ---- looking again ---- */

struct looking {
    struct gx_pipe *pipe;
    struct gx_inflight *f;
};

/* gx_look_fn. Reads buffers through the memory of the group, whose results are not needed. */
static gx_status look(void *user, const struct gx_place *o, size_t skip, size_t bytes,
                      void *elements)
{
    const struct looking *l = user;
    struct gx_device *device = &l->pipe->engine->device;
    struct gx_mem *memory = l->f->set->down;
    void *from = o->buf ? NULL : (char *)o->host + skip;
    gx_status s = GX_OK;
    if (o->buf)
        s = gx__device_copy(l->pipe->engine, (struct gx_binding){&o->buf->mem, o->offset + skip},
                            (struct gx_binding){memory, 0}, bytes, l->f->group.elements);
    if (o->buf && s == GX_OK)
        s = device->ops->map(device, memory, &from);
    if (s != GX_OK)
        return s;
    memcpy(elements, from, bytes);
    if (o->buf)
        device->ops->unmap(device, memory);
    return GX_OK;
}

void gx__group_refuse(struct gx_pipe *pipe, struct gx_inflight *f, const struct gx_piece *piece,
                      uint64_t bad)
{
    char operand;
    gx_status s = gx__look_again(piece->job, piece->unit && piece->n < piece->job->n, look,
                                 &(struct looking){pipe, f}, &bad, &operand);
    pthread_mutex_lock(&pipe->lock);
    if (s == GX_OK)
        gx__batch_fail_element(f->batch, piece->index, bad, operand);
    else /* without that, even the status of the job is not known */
        gx__batch_fail_device(pipe->engine, f->batch, piece->index, s);
    pthread_mutex_unlock(&pipe->lock);
}

/* ---- finishing ---- */

static void report_piece(const struct gx_inflight *f, size_t k, uint64_t part, uint64_t all)
{
    const struct gx_piece *p = &f->group.pieces[k];
    struct gx_outcome *r = gx__batch_report(f->batch, p->index);
    bool staged = false;
    for (int i = 0; i < GX_OPERANDS; i++)
        staged |= p->access[i] >= GX_OPERAND_STAGED;
    if (!f->batch->job_groups++)
        f->batch->job_start = f->start_ns;
    r->path = staged ? f->path : GX_PATH_DIRECT;
    r->mode = f->mode;
    r->groups++;
    r->dispatches += gx__piece_dispatches(p);
    r->submits += k ? 0 : (uint32_t)f->commands;
    r->command_hits += k ? 0 : f->hits;
    r->host_in_ns += gx__share_ns(f->host_in_ns, part, all);
    r->record_ns += gx__share_ns(f->record_ns, part, all);
    r->submit_ns += gx__share_ns(f->submit_ns, part, all);
    r->device_ns += gx__share_ns(f->device_ns, part, all);
    r->host_out_ns += gx__share_ns(f->host_out_ns, part, all);
    r->upload_ns += gx__share_ns(f->stage_ns[GX_QUEUE_UPLOAD], part, all);
    r->compute_ns += gx__share_ns(f->stage_ns[GX_QUEUE_COMPUTE], part, all);
    r->download_ns += gx__share_ns(f->stage_ns[GX_QUEUE_DOWNLOAD], part, all);
    r->total_ns = f->end_ns - f->batch->job_start;
}

static uint64_t weight(const struct gx_piece *p)
{
    return p->n * p->job->element[GX_OUT];
}

/* The first `count` pieces are done. */
static void report_pieces(struct gx_pipe *pipe, struct gx_inflight *f, size_t count)
{
    uint64_t all = 0;
    for (size_t k = 0; k < f->group.count; k++)
        all += weight(&f->group.pieces[k]);
    for (size_t k = 0; k < count; k++) {
        const struct gx_piece *p = &f->group.pieces[k];
        report_piece(f, k, weight(p), all);
        if (!p->last)
            continue;
        f->batch->job_groups = 0;
        gx__batch_job_done(pipe->engine, f->batch, p->index,
                           (struct gx_times){f->batch->job_start, f->end_ns});
    }
}

/* Pieces whose job may still succeed: those before the one that failed. */
static size_t wanted(struct gx_pipe *pipe, const struct gx_inflight *f)
{
    size_t count = 0;
    pthread_mutex_lock(&pipe->lock);
    while (count < f->group.count && f->group.pieces[count].index < f->batch->failed)
        count++;
    pthread_mutex_unlock(&pipe->lock);
    return count;
}

/* The first piece in the group of the job that piece k is of. */
static size_t first_of_job(const struct gx_inflight *f, size_t k)
{
    while (k && f->group.pieces[k - 1].index == f->group.pieces[k].index)
        k--;
    return k;
}

/* While the device works: cores have read the memory of the results after the group before. In a
 * pipeline there is more of it than fits their caches, and cores have no time to spare. */
static void drop_results(struct gx_pipe *pipe, struct gx_inflight *f)
{
    if (f->mode != GX_MODE_PIPELINED && f->group.end > f->group.out && f->set->down->host)
        gx__copier_drop(&pipe->engine->copier, &pipe->engine->device, f->done,
                        (const char *)f->set->down->host + f->group.out - down_shift(f),
                        f->group.end - f->group.out);
}

void gx__group_finish(struct gx_pipe *pipe, struct gx_inflight *f)
{
    struct gx_device *device = &pipe->engine->device;
    size_t found = f->group.count;
    uint64_t bad = 0;
    char *results = NULL; /* and bad words before them, if the host reads any */
    drop_results(pipe, f);
    gx_status s = gx__engine_wait(pipe->engine, f->done, f->group.elements);
    f->end_ns = gx__engine_now(pipe->engine);
    f->device_ns = f->end_ns - f->device_start_ns;
    uint32_t submits = (uint32_t)f->commands;
    if (s == GX_OK)
        s = read_stamps(pipe, f);
    let_go(pipe, f, s == GX_OK);
    f->commands = submits; /* for the report */
    if (s == GX_OK && f->group.end > f->group.bad_words)
        s = device->ops->map(device, f->set->down, (void **)&results);
    if (s == GX_OK && results)
        check(f, results, &found, &bad);
    const bool before = f->group.pieces[0].job == &pipe->check;
    if (s == GX_OK && found < f->group.count && before)
        pipe->bad = bad < pipe->bad ? bad : pipe->bad;
    size_t count = wanted(pipe, f);
    bool refused = s == GX_OK && found < count && !before;
    if (refused)
        count = first_of_job(f, found);
    if (s == GX_OK)
        s = host_out(pipe, f, results, count);
    if (results)
        device->ops->unmap(device, f->set->down);
    if (s == GX_OK)
        report_pieces(pipe, f, count);
    else
        fail(pipe, f, s);
    /* After the results of the jobs before it, whose memory is used to look for the element. */
    if (s == GX_OK && refused)
        gx__group_refuse(pipe, f, &f->group.pieces[found], bad);
}
