/* SPDX-License-Identifier: Apache-2.0
 *
 * One job on one device: host operands are imported, the range is cut into dispatches
 * the device can take, and the inputs are checked by the kernel that reads them. Only
 * a job that works in place is checked before, in a pass of its own: its kernel would
 * overwrite what it has to leave alone if an element turns out bad.
 */
#include "exec/engine.h"

#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "field/host.h"

/* Dispatches of one submit, each with its own slot for a bad index. */
#define DISPATCHES_PER_SUBMIT 64u

#define NO_BAD UINT32_MAX

enum { OUT, A, B, C, OPERANDS };

struct job_run {
    struct gx_engine *engine;
    const gx_job *job;
    gx_report *report;
    size_t element_bytes;
    struct gx_mem operand[OPERANDS]; /* imported; size 0 where there is none */
    struct gx_mem scratch, slots;
};

gx_status gx__engine_open(struct gx_engine *engine, struct gx_instance *instance,
                          const char *device_name, char *message, size_t message_size)
{
    *engine = (struct gx_engine){.instance = instance};
    gx_status s = gx__device_open(instance, device_name, &engine->device, message, message_size);
    if (s == GX_OK)
        gx__pool_init(&engine->pool, &engine->device, &instance->counters);
    return s;
}

void gx__engine_close(struct gx_engine *engine)
{
    gx__pool_close(&engine->pool);
    gx__device_close(&engine->device);
}

static const gx_operand *operand(const gx_job *job, int which)
{
    return which == OUT ? &job->out : which == A ? &job->a : which == B ? &job->b : &job->c;
}

static gx_status import_operands(struct job_run *run)
{
    struct gx_device *device = &run->engine->device;
    int last = (int)gx_op_get_info(run->job->op)->operands;
    if (!device->facts.import)
        return GX_ERR_UNSUPPORTED;
    for (int i = OUT; i <= last; i++) {
        const gx_operand *o = operand(run->job, i);
        size_t n = o->broadcast ? 1 : run->job->n;
        gx_status s =
            device->ops->mem_import(device, o->host, n * run->element_bytes, &run->operand[i]);
        if (s != GX_OK)
            return s;
    }
    return GX_OK;
}

static void release(struct job_run *run)
{
    struct gx_device *device = &run->engine->device;
    for (int i = OUT; i < OPERANDS; i++)
        if (run->operand[i].size)
            device->ops->mem_free(device, &run->operand[i]);
    gx__pool_put(&run->engine->pool, &run->scratch);
    gx__pool_put(&run->engine->pool, &run->slots);
}

static gx_status clear_slots(struct job_run *run)
{
    struct gx_device *device = &run->engine->device;
    void *host;
    gx_status s = device->ops->map(device, &run->slots, &host);
    if (s != GX_OK)
        return s;
    memset(host, 0xff, DISPATCHES_PER_SUBMIT * sizeof(uint32_t));
    device->ops->unmap(device, &run->slots);
    return GX_OK;
}

/* *bad is the element that the first slot in use tells of; slot i is for the dispatch
 * that began at element first + i * step. */
static gx_status read_slots(struct job_run *run, uint64_t first, uint64_t step, uint64_t *bad)
{
    struct gx_device *device = &run->engine->device;
    void *host;
    gx_status s = device->ops->map(device, &run->slots, &host);
    if (s != GX_OK)
        return s;
    const uint32_t *slots = host;
    for (uint64_t i = 0; i < DISPATCHES_PER_SUBMIT && *bad == UINT64_MAX; i++)
        if (slots[i] != NO_BAD)
            *bad = first + i * step + slots[i];
    device->ops->unmap(device, &run->slots);
    return GX_OK;
}

/* Records up to DISPATCHES_PER_SUBMIT dispatches from element `first` on, each of at
 * most `step`. Returns the element after the last. */
static uint64_t record(struct job_run *run, struct gx_cmd *cmd, struct gx_dispatch *d,
                       const struct gx_mem *const mems[OPERANDS], uint64_t n, uint64_t first,
                       uint64_t step)
{
    static const unsigned broadcast_bit[OPERANDS] = {0, GX_BROADCAST_A, GX_BROADCAST_B,
                                                     GX_BROADCAST_C};
    const struct gx_device_ops *ops = run->engine->device.ops;
    for (size_t slot = 0; slot < DISPATCHES_PER_SUBMIT && first < n; slot++) {
        d->n = n - first < step ? n - first : step;
        for (int i = OUT; i < OPERANDS; i++) {
            bool whole = !(d->kernel.key.broadcast & broadcast_bit[i]);
            d->bind[i] = (struct gx_binding){mems[i], whole ? first * run->element_bytes : 0};
        }
        if (d->kernel.key.check)
            d->bind[GX_BIND_BAD] = (struct gx_binding){&run->slots, slot * sizeof(uint32_t)};
        if (slot && run->scratch.size) /* the dispatch before used it too */
            ops->barrier(cmd, GX_BARRIER_KERNEL_TO_KERNEL);
        ops->dispatch(cmd, d);
        run->report->dispatches++;
        first += d->n;
    }
    ops->barrier(cmd, GX_BARRIER_TO_HOST);
    return first;
}

static gx_status submit_and_wait(struct job_run *run, struct gx_cmd *cmd)
{
    struct gx_device *device = &run->engine->device;
    struct gx_point done;
    uint64_t start = gx__now_ns();
    gx_status s = device->ops->submit(cmd, NULL, 0, &done);
    if (s == GX_OK)
        s = device->ops->wait(device, done, GX_WAIT_FOREVER);
    run->report->compute_ns += gx__now_ns() - start;
    return s;
}

/* Runs one kernel over elements 0 .. n of mems; *bad is the first bad element, or
 * UINT64_MAX. Stops at the submit that found one. */
static gx_status run_kernel(struct job_run *run, const struct gx_kernel_key *key,
                            const struct gx_mem *const mems[OPERANDS], uint64_t n, uint64_t *bad)
{
    struct gx_device *device = &run->engine->device;
    struct gx_dispatch d = {.n = 0};
    gx_status s = device->ops->kernel(device, key, &d.kernel);
    if (s != GX_OK)
        return s;
    uint64_t step = device->facts.dispatch_elems < n ? device->facts.dispatch_elems : n;
    size_t scratch = device->ops->scratch(device, &d.kernel, step);
    if (scratch) {
        s = gx__pool_get(&run->engine->pool, GX_MEM_SHARED, scratch, &run->scratch);
        if (s != GX_OK)
            return s;
        d.bind[GX_BIND_SCRATCH].mem = &run->scratch;
    }
    uint32_t workers = device->ops->workers(device, &d.kernel, step);
    if (workers > run->report->threads)
        run->report->threads = workers;
    *bad = UINT64_MAX;
    for (uint64_t first = 0, next; first < n && *bad == UINT64_MAX && s == GX_OK; first = next) {
        struct gx_cmd *cmd;
        if (key->check && (s = clear_slots(run)) != GX_OK)
            return s;
        if ((s = device->ops->begin(device, GX_QUEUE_COMPUTE, &cmd)) != GX_OK)
            return s;
        next = record(run, cmd, &d, mems, n, first, step);
        s = submit_and_wait(run, cmd);
        device->ops->recycle(cmd);
        if (s == GX_OK && key->check)
            s = read_slots(run, first, step, bad);
    }
    return s;
}

/* The pass before a job in place: every operand is only looked at. */
static gx_status check_operands(struct job_run *run, uint64_t *bad)
{
    *bad = UINT64_MAX;
    for (int i = A; i < OPERANDS; i++) {
        if (!run->operand[i].size)
            continue;
        struct gx_kernel_key key = {.op = GX_OP_CHECK, .field = run->job->field, .check = true};
        const struct gx_mem *mems[OPERANDS] = {[A] = &run->operand[i]};
        uint64_t n = operand(run->job, i)->broadcast ? 1 : run->job->n, found;
        gx_status s = run_kernel(run, &key, mems, n, &found);
        if (s != GX_OK)
            return s;
        *bad = found < *bad ? found : *bad;
    }
    return GX_OK;
}

static bool in_place(const gx_job *job)
{
    return job->out.host == job->a.host || job->out.host == job->b.host ||
           job->out.host == job->c.host;
}

/* Runs the job's kernels; *bad as in run_kernel. */
static gx_status run_operation(struct job_run *run, uint64_t *bad)
{
    const gx_job *job = run->job;
    const struct gx_mem *mems[OPERANDS] = {NULL};
    for (int i = OUT; i < OPERANDS; i++)
        mems[i] = run->operand[i].size ? &run->operand[i] : NULL;
    struct gx_kernel_key key = {.op = job->op,
                                .field = job->field,
                                .broadcast = (job->a.broadcast ? GX_BROADCAST_A : 0u) |
                                             (job->b.broadcast ? GX_BROADCAST_B : 0u) |
                                             (job->c.broadcast ? GX_BROADCAST_C : 0u),
                                .check = !(job->flags & GX_JOB_TRUSTED) && gx__prime(job->field)};

    gx_status s;
    if (key.check) {
        s = gx__pool_get(&run->engine->pool, GX_MEM_SHARED,
                         DISPATCHES_PER_SUBMIT * sizeof(uint32_t), &run->slots);
        if (s != GX_OK)
            return s;
    }
    if (key.check && in_place(job)) {
        s = check_operands(run, bad);
        if (s != GX_OK || *bad != UINT64_MAX)
            return s;
        key.check = false;
    }
    return run_kernel(run, &key, mems, job->n, bad);
}

/* Says which operand has the bad element, by looking again. */
static gx_status report_bad(struct job_run *run, uint64_t index)
{
    const gx_job *job = run->job;
    gx_report *r = run->report;
    r->bad_index = index;
    for (int i = A; i < OPERANDS && !r->bad_operand; i++) {
        if (!run->operand[i].size)
            continue;
        const gx_operand *o = operand(job, i);
        const char *element =
            (const char *)o->host + (o->broadcast ? 0 : index) * run->element_bytes;
        if (gx__first_bad(gx__prime(job->field), element, 1, false) != GX_NONE_BAD)
            r->bad_operand = (char)('a' + i - A);
    }
    snprintf(r->message, sizeof r->message,
             "element %llu of operand %c is not below the modulus of %s: reduce it before the call",
             (unsigned long long)index, r->bad_operand ? r->bad_operand : '?',
             gx_field_get_info(job->field)->name);
    return GX_ERR_NOT_CANONICAL;
}

gx_status gx__engine_run(struct gx_engine *engine, const gx_job *job, gx_report *report)
{
    struct job_run run = {.engine = engine,
                          .job = job,
                          .report = report,
                          .element_bytes = gx__element_bytes(job->field)};
    uint64_t bad = UINT64_MAX;
    memcpy(report->device, engine->device.info.name, sizeof report->device);
    gx_status s = job->n ? import_operands(&run) : GX_OK;
    if (s == GX_OK && job->n)
        s = run_operation(&run, &bad);
    if (s == GX_OK && bad != UINT64_MAX)
        s = report_bad(&run, bad);
    else if (s != GX_OK)
        snprintf(report->message, sizeof report->message, "device '%s': %s",
                 engine->device.info.name, gx_status_message(s));
    release(&run);
    return s;
}
