/* SPDX-License-Identifier: Apache-2.0
 *
 * One job on one device, as planned: in rounds, each one submit. In a round host
 * operands that the device cannot use where they are go through staging memory, whose
 * inputs lie side by side so that they are one copy. Inputs are checked by the kernel
 * that reads them; only where it would overwrite them are they checked in a pass before.
 */
#include "exec/engine.h"

#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/float_env.h"
#include "exec/buffer.h"
#include "exec/plan.h"
#include "field/host.h"

#define NO_BAD      UINT32_MAX
#define SLOTS_BYTES (GX_DISPATCHES_PER_SUBMIT * (size_t)GX_SLOT_ALIGN)

enum { STAMP_START, STAMP_UPLOADED, STAMP_COMPUTED, STAMP_DONE, STAMPS };

struct job_run {
    struct gx_engine *engine;
    const gx_job *job;
    gx_report *report;
    size_t element_bytes;
    struct gx_plan plan;
    struct gx_mem imported[GX_OPERANDS]; /* size 0 where not */
    struct gx_mem up;                    /* staging: the host writes it ... */
    struct gx_mem device;                /* ... kernels work on it (size 0: on up) ... */
    struct gx_mem down;                  /* ... and the host reads it (size 0: from up) */
    struct gx_mem scratch, slots;
};

/* ---- memory ---- */

static gx_status import_operands(struct job_run *run)
{
    struct gx_device *device = &run->engine->device;
    for (int i = 0; i < GX_OPERANDS; i++) {
        const gx_operand *o = gx__operand(run->job, i);
        if (!run->plan.used[i] || run->plan.staged[i] || o->buf)
            continue;
        size_t n = o->broadcast ? 1 : run->job->n;
        gx_status s =
            device->ops->mem_import(device, o->host, n * run->element_bytes, &run->imported[i]);
        if (s != GX_OK)
            return s;
    }
    return GX_OK;
}

static gx_status get_staging(struct job_run *run)
{
    struct gx_pool *pool = &run->engine->pool;
    const struct gx_plan *plan = &run->plan;
    if (!plan->all_bytes)
        return GX_OK;
    if (plan->path == GX_PATH_HOST_VISIBLE)
        return gx__pool_get(pool, GX_MEM_SHARED, plan->all_bytes, &run->up);
    gx_status s = gx__pool_get(pool, GX_MEM_DEVICE, plan->all_bytes, &run->device);
    if (s == GX_OK && plan->in_bytes)
        s = gx__pool_get(pool, GX_MEM_UPLOAD, plan->in_bytes, &run->up);
    if (s == GX_OK && plan->staged[GX_OUT])
        s = gx__pool_get(pool, GX_MEM_READBACK, plan->bytes[GX_OUT], &run->down);
    return s;
}

static void release(struct job_run *run)
{
    struct gx_device *device = &run->engine->device;
    struct gx_mem *const pooled[] = {&run->up, &run->device, &run->down, &run->scratch,
                                     &run->slots};
    for (int i = 0; i < GX_OPERANDS; i++)
        if (run->imported[i].size)
            device->ops->mem_free(device, &run->imported[i]);
    for (size_t i = 0; i < sizeof pooled / sizeof *pooled; i++)
        gx__pool_put(&run->engine->pool, pooled[i]);
}

/* ---- host copies ---- */

/* Elements first .. first + n of the host inputs into staging memory. */
static gx_status copy_in(struct job_run *run, uint64_t first, uint64_t n)
{
    struct gx_device *device = &run->engine->device;
    void *staging;
    if (!run->plan.in_bytes)
        return GX_OK;
    gx_status s = device->ops->map(device, &run->up, &staging);
    if (s != GX_OK)
        return s;
    uint64_t start = gx__now_ns();
    for (int i = GX_A; i < GX_OPERANDS; i++) {
        const gx_operand *o = gx__operand(run->job, i);
        if (!run->plan.staged[i])
            continue;
        size_t from = o->broadcast ? 0 : (size_t)first, count = o->broadcast ? 1 : (size_t)n;
        memcpy((char *)staging + run->plan.offset[i],
               (const char *)o->host + from * run->element_bytes, count * run->element_bytes);
    }
    run->report->host_in_ns += gx__now_ns() - start;
    device->ops->unmap(device, &run->up);
    return GX_OK;
}

static gx_status copy_out(struct job_run *run, uint64_t first, uint64_t n)
{
    struct gx_device *device = &run->engine->device;
    struct gx_mem *from = run->down.size ? &run->down : &run->up;
    size_t offset = run->down.size ? 0 : run->plan.offset[GX_OUT];
    void *staging;
    if (!run->plan.staged[GX_OUT])
        return GX_OK;
    gx_status s = device->ops->map(device, from, &staging);
    if (s != GX_OK)
        return s;
    uint64_t start = gx__now_ns();
    memcpy((char *)run->job->out.host + first * run->element_bytes, (char *)staging + offset,
           (size_t)n * run->element_bytes);
    run->report->host_out_ns += gx__now_ns() - start;
    device->ops->unmap(device, from);
    return GX_OK;
}

/* ---- slots for bad indices ---- */

/* The slots of the dispatches over elements round .. end: slot i is for the one that begins
 * at element round + i * step. */
static uint32_t *slot_of(void *slots, uint64_t i)
{
    return (uint32_t *)(void *)((char *)slots + i * GX_SLOT_ALIGN);
}

static gx_status clear_slots(struct job_run *run, uint64_t round, uint64_t end)
{
    struct gx_device *device = &run->engine->device;
    void *slots;
    gx_status s = device->ops->map(device, &run->slots, &slots);
    if (s != GX_OK)
        return s;
    for (uint64_t i = 0; round + i * run->plan.step < end; i++)
        *slot_of(slots, i) = NO_BAD;
    device->ops->unmap(device, &run->slots);
    return GX_OK;
}

/* *bad is the element that the first slot in use tells of. */
static gx_status read_slots(struct job_run *run, uint64_t round, uint64_t end, uint64_t *bad)
{
    struct gx_device *device = &run->engine->device;
    void *slots;
    gx_status s = device->ops->map(device, &run->slots, &slots);
    if (s != GX_OK)
        return s;
    for (uint64_t i = 0; round + i * run->plan.step < end && *bad == UINT64_MAX; i++)
        if (*slot_of(slots, i) != NO_BAD)
            *bad = round + i * run->plan.step + *slot_of(slots, i);
    device->ops->unmap(device, &run->slots);
    return GX_OK;
}

/* ---- recording ---- */

/* Where element `first` of operand i lies for a kernel, in the round that began at
 * element `round`. */
static struct gx_binding bind(const struct job_run *run, int i, uint64_t round, uint64_t first)
{
    const gx_operand *o = gx__operand(run->job, i);
    const struct gx_plan *plan = &run->plan;
    if (plan->staged[i]) {
        size_t skip = o->broadcast ? 0 : (size_t)(first - round) * run->element_bytes;
        return (struct gx_binding){run->device.size ? &run->device : &run->up,
                                   plan->offset[i] + skip};
    }
    size_t skip = o->broadcast ? 0 : (size_t)first * run->element_bytes;
    if (o->buf)
        return (struct gx_binding){&o->buf->mem, o->offset + skip};
    return (struct gx_binding){&run->imported[i], skip};
}

/* A kernel over elements `round` .. `end`, which are one round. */
struct work {
    struct gx_kernel kernel;
    int operand[GX_OPERANDS]; /* which operand of the job is bound where, or -1 */
    bool moves;               /* staged operands are uploaded before, results after */
};

static void record_dispatches(struct job_run *run, struct gx_cmd *cmd, const struct work *work,
                              uint64_t round, uint64_t end)
{
    const struct gx_device_ops *ops = run->engine->device.ops;
    size_t slot = 0;
    for (uint64_t first = round; first < end; first += run->plan.step, slot++) {
        struct gx_dispatch d = {.kernel = work->kernel};
        d.n = end - first < run->plan.step ? end - first : run->plan.step;
        for (int k = 0; k < GX_OPERANDS; k++)
            if (work->operand[k] >= 0)
                d.bind[k] = bind(run, work->operand[k], round, first);
        if (work->kernel.key.check)
            d.bind[GX_BIND_BAD] = (struct gx_binding){&run->slots, slot * GX_SLOT_ALIGN};
        if (run->scratch.size)
            d.bind[GX_BIND_SCRATCH].mem = &run->scratch;
        if (slot && run->scratch.size) /* the dispatch before used it too */
            ops->barrier(cmd, GX_BARRIER_KERNEL_TO_KERNEL);
        ops->dispatch(cmd, &d);
        run->report->dispatches++;
    }
}

static void stamp(struct job_run *run, struct gx_cmd *cmd, uint32_t slot)
{
    if (run->engine->device.facts.timestamps)
        run->engine->device.ops->stamp(cmd, slot);
}

/* Inputs are one piece of memory on both sides, so they are one region for each. */
static void record_upload(struct job_run *run, struct gx_cmd *cmd, uint64_t n)
{
    struct gx_region regions[GX_OPERANDS];
    size_t count = 0;
    for (int i = GX_A; i < GX_OPERANDS; i++) {
        if (!run->plan.staged[i])
            continue;
        size_t offset = run->plan.offset[i];
        uint64_t elements = gx__operand(run->job, i)->broadcast ? 1 : n;
        regions[count++] = (struct gx_region){
            {&run->up, offset}, {&run->device, offset}, (size_t)elements * run->element_bytes};
    }
    if (!count)
        return;
    run->engine->device.ops->copy(cmd, regions, count);
    run->engine->device.ops->barrier(cmd, GX_BARRIER_COPY_TO_KERNEL);
}

static void record_download(struct job_run *run, struct gx_cmd *cmd, uint64_t n)
{
    const struct gx_device_ops *ops = run->engine->device.ops;
    struct gx_region region = {
        {&run->device, run->plan.offset[GX_OUT]}, {&run->down, 0}, (size_t)n * run->element_bytes};
    ops->barrier(cmd, GX_BARRIER_KERNEL_TO_COPY);
    ops->copy(cmd, &region, 1);
}

static void record_round(struct job_run *run, struct gx_cmd *cmd, const struct work *work,
                         uint64_t round, uint64_t end)
{
    stamp(run, cmd, STAMP_START);
    if (work->moves && run->device.size)
        record_upload(run, cmd, end - round);
    stamp(run, cmd, STAMP_UPLOADED);
    record_dispatches(run, cmd, work, round, end);
    stamp(run, cmd, STAMP_COMPUTED);
    if (work->moves && run->down.size)
        record_download(run, cmd, end - round);
    run->engine->device.ops->barrier(cmd, GX_BARRIER_TO_HOST);
    stamp(run, cmd, STAMP_DONE);
}

/* ---- running ---- */

static gx_status read_stamps(struct job_run *run, struct gx_cmd *cmd, uint64_t device_ns)
{
    struct gx_device *device = &run->engine->device;
    uint64_t ns[STAMPS];
    if (!device->facts.timestamps) {
        run->report->compute_ns += device_ns;
        return GX_OK;
    }
    gx_status s = device->ops->stamps(cmd, ns, STAMPS);
    if (s != GX_OK)
        return s;
    /* Two stamps with no copy between them still differ: no copy, no time. */
    bool uploads = run->device.size && run->up.size;
    run->report->upload_ns += uploads ? ns[STAMP_UPLOADED] - ns[STAMP_START] : 0;
    run->report->compute_ns += ns[STAMP_COMPUTED] - ns[STAMP_UPLOADED];
    run->report->download_ns += run->down.size ? ns[STAMP_DONE] - ns[STAMP_COMPUTED] : 0;
    return GX_OK;
}

static gx_status submit_and_wait(struct job_run *run, struct gx_cmd *cmd, uint64_t elements)
{
    struct gx_device *device = &run->engine->device;
    struct gx_point done;
    uint64_t start = gx__now_ns();
    gx_status s = device->ops->submit(cmd, NULL, 0, &done);
    if (s == GX_OK)
        s = gx__engine_wait(run->engine, done, elements);
    uint64_t device_ns = gx__now_ns() - start;
    run->report->submits++;
    run->report->device_ns += device_ns;
    return s == GX_OK ? read_stamps(run, cmd, device_ns) : s;
}

/* One submit; *bad is the first bad element in it, or UINT64_MAX. */
static gx_status run_round(struct job_run *run, const struct work *work, uint64_t round,
                           uint64_t end, uint64_t *bad)
{
    struct gx_device *device = &run->engine->device;
    bool check = work->kernel.key.check;
    struct gx_cmd *cmd;
    gx_status s = GX_OK;
    if (work->moves)
        s = copy_in(run, round, end - round);
    if (s == GX_OK && check)
        s = clear_slots(run, round, end);
    if (s == GX_OK)
        s = device->ops->begin(device, GX_QUEUE_COMPUTE, &cmd);
    if (s != GX_OK)
        return s;
    record_round(run, cmd, work, round, end);
    s = submit_and_wait(run, cmd, end - round);
    device->ops->recycle(cmd);
    if (s == GX_OK && check)
        s = read_slots(run, round, end, bad);
    if (s == GX_OK && *bad == UINT64_MAX && work->moves)
        s = copy_out(run, round, end - round);
    return s;
}

/* One kernel over all n elements. Stops at the round that found a bad one. */
static gx_status run_work(struct job_run *run, struct work *work, const struct gx_kernel_key *key,
                          uint64_t n, uint64_t *bad)
{
    struct gx_device *device = &run->engine->device;
    gx_status s = device->ops->kernel(device, key, &work->kernel);
    if (s != GX_OK)
        return s;
    uint64_t step = run->plan.step < n ? run->plan.step : n;
    size_t scratch = device->ops->scratch(device, &work->kernel, step);
    if (scratch) {
        enum gx_mem_kind kind =
            device->facts.mem_kinds & GX_MEM_BIT(GX_MEM_DEVICE) ? GX_MEM_DEVICE : GX_MEM_SHARED;
        s = gx__pool_get(&run->engine->pool, kind, scratch, &run->scratch);
        if (s != GX_OK)
            return s;
    }
    uint32_t workers = device->ops->workers(device, &work->kernel, step);
    if (workers > run->report->threads)
        run->report->threads = workers;
    *bad = UINT64_MAX;
    for (uint64_t round = 0, end; round < n && *bad == UINT64_MAX && s == GX_OK; round = end) {
        end = n - round < run->plan.round ? n : round + run->plan.round;
        s = run_round(run, work, round, end, bad);
    }
    return s;
}

/* The pass before a job whose output replaces an operand: every operand is only looked
 * at, where it is; a staged one by the host, which has it at hand. */
static gx_status check_operand(struct job_run *run, int i, uint64_t *bad)
{
    const gx_operand *o = gx__operand(run->job, i);
    uint64_t n = o->broadcast ? 1 : run->job->n;
    if (run->plan.staged[i]) {
        size_t first = gx__first_bad(gx__prime(run->job->field), o->host, (size_t)n, false);
        *bad = first == GX_NONE_BAD ? UINT64_MAX : first;
        return GX_OK;
    }
    struct gx_kernel_key key = {.op = GX_OP_CHECK, .field = run->job->field, .check = true};
    struct work work = {.operand = {-1, i, -1, -1}};
    return run_work(run, &work, &key, n, bad);
}

static gx_status check_operands(struct job_run *run, uint64_t *bad)
{
    *bad = UINT64_MAX;
    for (int i = GX_A; i < GX_OPERANDS; i++) {
        uint64_t found;
        if (!run->plan.used[i])
            continue;
        gx_status s = check_operand(run, i, &found);
        if (s != GX_OK)
            return s;
        *bad = found < *bad ? found : *bad;
    }
    return GX_OK;
}

static gx_status run_operation(struct job_run *run, uint64_t *bad)
{
    const gx_job *job = run->job;
    struct work work = {.operand = {-1, -1, -1, -1}, .moves = true};
    struct gx_kernel_key key = {.op = job->op, .field = job->field, .check = run->plan.check};
    for (int i = 0; i < GX_OPERANDS; i++)
        if (run->plan.used[i])
            work.operand[i] = i;
    key.broadcast = (job->a.broadcast ? GX_BROADCAST_A : 0u) |
                    (job->b.broadcast ? GX_BROADCAST_B : 0u) |
                    (job->c.broadcast ? GX_BROADCAST_C : 0u);
    gx_status s;
    if (run->plan.check) {
        s = gx__pool_get(&run->engine->pool, GX_MEM_SHARED, SLOTS_BYTES, &run->slots);
        if (s != GX_OK)
            return s;
    }
    if (run->plan.check_first) {
        s = check_operands(run, bad);
        if (s != GX_OK || *bad != UINT64_MAX)
            return s;
        key.check = false;
    }
    return run_work(run, &work, &key, job->n, bad);
}

/* ---- reporting ---- */

/* Which operand has the bad element, by looking again; 0 where a copy fails. */
static char find_bad_operand(struct job_run *run, uint64_t index)
{
    const struct gx_prime *prime = gx__prime(run->job->field);
    for (int i = GX_A; i < GX_OPERANDS; i++) {
        if (!run->plan.used[i])
            continue;
        const gx_operand *o = gx__operand(run->job, i);
        size_t skip = o->broadcast ? 0 : (size_t)index * run->element_bytes;
        uint64_t element[GX_LIMBS_MAX];
        if (!o->buf)
            memcpy(element, (const char *)o->host + skip, run->element_bytes);
        else if (gx_buf_read(o->buf, o->offset + skip, element, run->element_bytes) != GX_OK)
            return 0;
        if (gx__first_bad(prime, element, 1, false) != GX_NONE_BAD)
            return (char)('a' + i - GX_A);
    }
    return 0;
}

static gx_status report_bad(struct job_run *run, uint64_t index)
{
    gx_report *r = run->report;
    r->bad_index = index;
    r->bad_operand = find_bad_operand(run, index);
    snprintf(r->message, sizeof r->message,
             "element %llu of operand %c is not below the modulus of %s: reduce it before the call",
             (unsigned long long)index, r->bad_operand ? r->bad_operand : '?',
             gx_field_get_info(run->job->field)->name);
    return GX_ERR_NOT_CANONICAL;
}

void gx__report_not_run(gx_report *r, gx_status why)
{
    *r = (gx_report){.status = why};
    snprintf(r->message, sizeof r->message, "%s", gx_status_message(why));
}

void gx__count_job(struct gx_counters *c, const gx_job *job, const gx_report *r)
{
    if (r->status != GX_OK) {
        gx__count(&c->jobs_failed, 1);
        return;
    }
    size_t bytes = gx__element_bytes(job->field);
    size_t read = 0;
    for (int i = GX_A; i < GX_OPERANDS && i <= (int)gx_op_get_info(job->op)->operands; i++)
        read += (gx__operand(job, i)->broadcast && job->n ? 1 : job->n) * bytes;
    gx__count(&c->jobs_done, 1);
    gx__count(&c->elements, job->n);
    gx__count(&c->bytes_read, read);
    gx__count(&c->bytes_written, job->n * bytes);
    gx__count(&c->compute_ns, r->compute_ns);
    gx__count(&c->dispatches, r->dispatches);
}

static gx_status run_job(struct gx_engine *engine, const gx_job *job, gx_path path,
                         gx_report *report)
{
    struct job_run run = {.engine = engine,
                          .job = job,
                          .report = report,
                          .element_bytes = gx__element_bytes(job->field)};
    uint64_t bad = UINT64_MAX;
    memcpy(report->device, engine->device.info.name, sizeof report->device);
    if (!job->n)
        return GX_OK;
    gx__plan(job, &engine->device.facts, path, &run.plan);
    report->path = run.plan.path;
    gx_status s = import_operands(&run);
    if (s == GX_OK)
        s = get_staging(&run);
    if (s == GX_OK)
        s = run_operation(&run, &bad);
    if (s == GX_OK && bad != UINT64_MAX)
        s = report_bad(&run, bad);
    else if (s != GX_OK)
        snprintf(report->message, sizeof report->message, "device '%s': %s",
                 engine->device.info.name, gx_status_message(s));
    release(&run);
    return gx__engine_status(engine, s);
}

/* ---- batches ---- */

static void run_batch(struct gx_engine *engine, struct gx_batch *batch)
{
    gx_report spare;
    batch->status = GX_OK;
    for (size_t i = 0; i < batch->count; i++) {
        gx_report *r = batch->reports ? &batch->reports[i] : &spare;
        if (!batch->reports)
            spare = (gx_report){0};
        uint64_t start = gx__now_ns();
        if (batch->status == GX_OK) {
            r->status = run_job(engine, &batch->jobs[i], batch->path, r);
            r->mode = GX_MODE_SEQUENTIAL;
            batch->status = r->status;
            batch->failed = i;
            memcpy(batch->message, r->message, sizeof batch->message);
        } else {
            gx__report_not_run(r, GX_ERR_NOT_RUN);
        }
        r->total_ns = gx__now_ns() - start;
        gx__count_job(&engine->instance->counters, &batch->jobs[i], r);
    }
    if (batch->done)
        batch->done(batch);
}

struct gx_pipe {
    struct gx_engine *engine;
};

gx_status gx__pipe_open(struct gx_engine *engine, struct gx_pipe **out)
{
    struct gx_pipe *pipe = gx__alloc(&engine->instance->config.allocator, sizeof *pipe);
    if (!pipe)
        return GX_ERR_OUT_OF_MEMORY;
    pipe->engine = engine;
    *out = pipe;
    return GX_OK;
}

void gx__pipe_feed(struct gx_pipe *pipe, struct gx_batch *batch)
{
    fenv_t caller;
    gx__float_env_default(&caller);
    run_batch(pipe->engine, batch);
    gx__float_env_restore(&caller);
}

bool gx__pipe_step(struct gx_pipe *pipe)
{
    (void)pipe;
    return false;
}

void gx__pipe_drain(struct gx_pipe *pipe)
{
    (void)pipe;
}

void gx__pipe_close(struct gx_pipe *pipe)
{
    if (pipe)
        gx__free(&pipe->engine->instance->config.allocator, pipe);
}

gx_status gx__engine_run(struct gx_engine *engine, struct gx_batch *batch)
{
    fenv_t caller;
    if (engine->device.facts
            .import) { /* a host device has no driver, and small jobs to hurry for */
        run_batch(engine, batch);
        return batch->status;
    }
    gx__float_env_default(&caller);
    run_batch(engine, batch);
    gx__float_env_restore(&caller);
    return batch->status;
}
