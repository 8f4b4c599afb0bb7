/* SPDX-License-Identifier: Apache-2.0
 *
 * Runs a batch. On a device that works on host memory, each job runs here, on the calling thread
 * and on its operands in place: nothing is planned, staged or in flight. Other devices use a pipe
 * (run.c).
 */
#include <stdio.h>

#include "base/clock.h"
#include "exec/batch.h"
#include "exec/buffer.h"
#include "exec/guard.h"
#include "exec/pipe.h"
#include "op/msm.h"

/* If memory is short, a sum is of no fewer points at a time than this. */
#define PIECE_POINTS 16u
/* A sum with a table of multiples is in no more pieces, because each piece has all its buckets. */
#define MULTIPLES_PIECES 4u

/* A batch under way. */
struct direct {
    struct gx_engine *engine;
    struct gx_batch *batch;
    struct gx_mem *scratch; /* reused by the following jobs, as is: */
    struct gx_table *table;
    uint64_t now_ns;
    bool begun; /* some of the current job's results are written */
};

/* ---- scratch ---- */

static void put_scratch(struct direct *d)
{
    if (!d->scratch)
        return;
    size_t held = gx__pool_size(d->scratch);
    gx__pool_put(&d->engine->pool, &d->scratch);
    gx__pool_release(&d->engine->pool, held);
}

static gx_status get_scratch(struct direct *d, size_t bytes)
{
    size_t held = gx__bucket(bytes);
    if (d->scratch && gx__pool_size(d->scratch) >= bytes) {
        gx__guard_check(&d->engine->device, d->scratch);
        gx__guard_set(&d->engine->device, d->scratch, bytes);
        return GX_OK;
    }
    put_scratch(d);
    gx_status s = gx__pool_reserve(&d->engine->pool, held);
    if (s != GX_OK)
        return s;
    s = gx__pool_get(&d->engine->pool, GX_MEM_SHARED, bytes, &d->scratch);
    if (s != GX_OK)
        gx__pool_release(&d->engine->pool, held);
    return s;
}

/* ---- a job ---- */

static char *memory_of(const struct gx_place *o)
{
    return o->buf ? (char *)o->buf->mem.host + o->offset : (char *)o->host;
}

static uint64_t dispatches_of(const struct gx_engine *engine, const struct gx_task *job, uint64_t n)
{
    uint64_t most = gx__dispatch_most(&engine->device.facts, job);
    return n && most ? (n + most - 1) / most : 1;
}

/* For reports: counted as if dispatches were submitted in groups. */
static uint32_t groups_of(uint64_t dispatches)
{
    return (uint32_t)((dispatches + GX_GROUP_DISPATCHES - 1) / GX_GROUP_DISPATCHES);
}

static void let_go(struct direct *d)
{
    put_scratch(d);
    gx__table_put(d->engine, d->table);
    d->table = NULL;
}

static gx_status get_table(struct direct *d, struct gx_host_call *call)
{
    let_go(d); /* a caller that waits must hold no reservation */
    gx_status s = gx__table_get(d->engine, &call->kernel, &d->table);
    call->table = s == GX_OK ? d->table->buf->mem.host : NULL;
    return s;
}

/* Whether there can be memory for a table of multiples, and for what the sum needs with it. */
static bool multiples_fit(struct direct *d, const struct gx_host_call *call, uint64_t n)
{
    struct gx_device *device = &d->engine->device;
    struct gx_kernel kernel = call->kernel;
    uint32_t *param = kernel.key.param;
    size_t table = device->ops->table(device, &kernel, NULL), limit = d->engine->pool.limit;
    if (!table || table > limit)
        return false;
    uint64_t piece = gx__param64(param + GX_PARAM_MSM_COUNT) / MULTIPLES_PIECES;
    param[GX_PARAM_TABLE] = 1;
    param[GX_PARAM_MSM_PIECE] = (uint32_t)(piece < GX_MSM_PIECE ? piece : GX_MSM_PIECE);
    return gx__bucket(device->ops->scratch(device, &kernel, n)) <= limit - table;
}

/* One that the device would profit from; there need not be memory for it. */
static void get_multiples(struct direct *d, const struct gx_task *job, struct gx_host_call *call)
{
    let_go(d);
    call->table = NULL;
    if (!multiples_fit(d, call, job->n) ||
        gx__table_of_multiples(d->engine, job->msm.points, &call->kernel, &d->table) != GX_OK)
        return;
    call->table = d->table->buf->mem.host;
    call->kernel.key.param[GX_PARAM_TABLE] = 1;
}

/* Less scratch for a sum: fewer points at a time, and in the end without multiples. False: there is
 * no less. */
static bool take_less(struct direct *d, struct gx_host_call *call)
{
    uint32_t *param = call->kernel.key.param, *piece = &param[GX_PARAM_MSM_PIECE];
    uint64_t count = gx__param64(param + GX_PARAM_MSM_COUNT);
    uint64_t least = call->table ? count / MULTIPLES_PIECES : PIECE_POINTS;
    if (!*piece) {
        *piece = (uint32_t)(count < GX_MSM_PIECE ? count : GX_MSM_PIECE);
        return count;
    }
    if (*piece / 2 >= least) {
        *piece /= 2;
        return true;
    }
    if (!call->table)
        return false;
    let_go(d);
    call->table = NULL;
    param[GX_PARAM_TABLE] = *piece = 0;
    return true;
}

/* As much as there is room for. */
static size_t sum_scratch(struct direct *d, struct gx_host_call *call, uint64_t n)
{
    struct gx_device *device = &d->engine->device;
    for (;;) {
        size_t bytes = device->ops->scratch(device, &call->kernel, n);
        if (gx__bucket(bytes) <= gx__pool_room(&d->engine->pool) ||
            (!gx__tables_drop_idle(d->engine) && !take_less(d, call)))
            return bytes;
    }
}

/* Fewer units at a time where there is no memory for the scratch of *most elements. */
static size_t piece_scratch(struct direct *d, const struct gx_task *job,
                            const struct gx_host_call *call, uint64_t *most)
{
    struct gx_device *device = &d->engine->device;
    uint64_t unit = job->unit;
    *most = job->n && job->n < *most ? job->n : *most;
    for (;; *most = *most / unit / 2 * unit) {
        size_t bytes = gx__dispatch_scratch(device, &call->kernel, job->n, *most);
        if (!bytes || *most < 2 * unit || gx__bucket(bytes) <= gx__pool_room(&d->engine->pool))
            return bytes;
    }
}

/* Gets the kernel and its scratch. only: if not 0, the operand to check. *most: elements of a
 * dispatch, which may become fewer. */
static gx_status prepare(struct direct *d, const struct gx_task *job, int only, bool check,
                         struct gx_host_call *call, uint64_t *most)
{
    const enum gx_task_table table = only ? GX_NO_TABLE : (enum gx_task_table)job->table;
    gx_status s = gx__job_kernel(d->engine, job, only, check, &call->kernel);
    if (s == GX_OK && table == GX_TABLE_OF_ROOTS)
        s = get_table(d, call);
    if (s != GX_OK)
        return s;
    if (table == GX_TABLE_OF_MULTIPLES)
        get_multiples(d, job, call);
    size_t bytes = table == GX_TABLE_OF_MULTIPLES ? sum_scratch(d, call, job->n)
                                                  : piece_scratch(d, job, call, most);
    call->scratch = NULL;
    if (!bytes)
        return GX_OK;
    s = get_scratch(d, bytes);
    if (s == GX_OK)
        call->scratch = d->scratch->host;
    return s;
}

/* The operands from element `first` on: of a, where that is checked, its own. */
static void bind(const struct gx_task *job, int only, uint64_t first, struct gx_host_call *call)
{
    int operands = job->operands;
    for (int i = 0; i < GX_OPERANDS; i++) {
        int from = !only ? i : i == GX_A ? only : GX_OPERANDS;
        char *at = from > operands ? NULL : memory_of(&job->operand[from]);
        size_t skip = !at    ? 0
                      : only ? (size_t)first * job->element[from]
                             : gx__operand_offset(job, from, first);
        call->operand[i] = at ? at + skip : NULL;
    }
}

/* The first bad element of the operand, where a dispatch from element `first` on has found one.
 * Other dispatches have the other columns of a matrix: those before are looked at again. */
static size_t first_bad(const struct gx_task *job, int only, uint64_t first, size_t bad)
{
    if (only)
        return (size_t)first + bad;
    bad = (size_t)gx__bad_index(job, first, bad);
    size_t before = !gx__operand_matrix(job, GX_A).stride
                        ? GX_NONE_BAD
                        : gx__first_bad(gx__prime(job->field), memory_of(&job->a), bad, false);
    return before < bad ? before : bad;
}

/* A pass over the job is done. */
static void report_pass(struct direct *d, size_t i, uint64_t n, uint64_t dispatches,
                        uint32_t threads)
{
    struct gx_batch *batch = d->batch;
    struct gx_outcome *r = gx__batch_report(batch, i);
    uint64_t start = d->now_ns;
    d->now_ns = gx__now_ns();
    r->path = GX_PATH_DIRECT;
    r->mode = GX_MODE_SEQUENTIAL;
    r->groups += groups_of(dispatches);
    r->submits += groups_of(dispatches);
    r->dispatches += (uint32_t)dispatches;
    r->threads = threads > r->threads ? threads : r->threads;
    r->device_ns += d->now_ns - start;
    r->compute_ns = r->total_ns = r->device_ns;
    if (gx__batch_traced(d->engine, batch))
        gx__batch_trace(d->engine, batch, GX_STAGE_COMPUTE, i, 1, n,
                        gx__operand_length(&batch->jobs[i], GX_A, n),
                        (struct gx_times){start, d->now_ns});
}

/* The first operand with a bad element at that index; 0: it has changed since. */
static char find_operand(const struct gx_task *job, size_t index)
{
    for (int i = GX_A; i <= job->operands; i++) {
        size_t skip;
        if (gx__operand_find(job, i, index, &skip) &&
            gx__element_bad(job, i, memory_of(&job->operand[i]) + skip))
            return (char)('a' + i - GX_A);
    }
    return 0;
}

/* If a job overwrites its operands, they are checked in separate passes first, because it cannot be
 * undone. */
static gx_status run_job(struct direct *d, size_t i, size_t *bad)
{
    const struct gx_task *job = &d->batch->jobs[i];
    struct gx_device *device = &d->engine->device;
    bool check = job->check;
    bool before = check && gx__task_in_place(job);
    struct gx_host_call call;
    for (int only = before ? job->operands : 0; only >= 0; only--) {
        uint64_t n = only && gx__operand_is_one(job, only) ? 1 : job->n, at = 0;
        uint64_t most = gx__dispatch_most(&device->facts, job);
        gx_status s = prepare(d, job, only, only || (check && !before), &call, &most);
        size_t found = GX_NONE_BAD;
        while (s == GX_OK && found == GX_NONE_BAD && (at < n || !at)) {
            bind(job, only, at, &call);
            call.n = n - at < most ? n - at : most;
            gx__guard_note(d->scratch, &call.kernel, call.n);
            s = device->ops->run(device, &call);
            d->begun |= s == GX_OK && !only;
            if (s == GX_OK && call.bad != GX_NONE_BAD)
                found = first_bad(job, only, at, call.bad);
            call.kernel.key.accumulate = job->shape == GX_SHAPE_REDUCTION;
            at += most;
        }
        if (s != GX_OK)
            return s;
        *bad = found < *bad ? found : *bad;
        if (only || found == GX_NONE_BAD)
            report_pass(d, i, n, n ? (n + most - 1) / most : 1, call.threads);
        if (only == GX_A && *bad != GX_NONE_BAD)
            break;
    }
    return GX_OK;
}

/* There was no memory to begin the job with. */
static bool lacked_memory(const struct direct *d, gx_status s)
{
    return s == GX_ERR_OUT_OF_DEVICE_MEMORY && !d->begun;
}

static void start_over(struct direct *d, size_t i, size_t *bad)
{
    struct gx_outcome *r = gx__batch_report(d->batch, i);
    gx__outcome_clear(r, r->reason);
    *bad = GX_NONE_BAD;
}

/* If there is no memory because of tables and of what other jobs hold, waits for them. */
static gx_status run_in_turn(struct direct *d, size_t i, size_t *bad)
{
    bool queues =
        d->batch->jobs[i].table == GX_TABLE_OF_ROOTS && gx__tables_wanted(&d->engine->tables);
    d->begun = false;
    gx_status s = queues ? GX_ERR_OUT_OF_DEVICE_MEMORY : run_job(d, i, bad);
    if (!lacked_memory(d, s))
        return s;
    let_go(d);
    gx__tables_begin_turn(d->engine);
    if (queues)
        s = run_job(d, i, bad);
    for (bool last = false; lacked_memory(d, s) && !last;) {
        let_go(d);
        if (!gx__tables_make_room(d->engine, &last))
            break;
        start_over(d, i, bad);
        s = run_job(d, i, bad);
    }
    gx__tables_end_turn(d->engine);
    return s;
}

gx_status gx__direct_run(struct gx_engine *engine, struct gx_batch *batch)
{
    struct direct d = {.engine = engine, .batch = batch};
    size_t i = batch->next;
    if (!i)
        gx__batch_begin(engine, batch);
    d.now_ns = gx__now_ns();
    for (; i < batch->count && batch->failed == GX_NO_JOB; i++) {
        uint64_t start = d.now_ns;
        size_t bad = GX_NONE_BAD;
        if (batch->jobs[i].empty || !gx__batch_goes_on(batch, i))
            continue;
        gx_status s = run_in_turn(&d, i, &bad);
        if (lacked_memory(&d, s) && batch->attempt) {
            let_go(&d);
            batch->next = i;
            return GX_PENDING;
        }
        if (s != GX_OK)
            gx__batch_fail_device(engine, batch, i, s);
        else if (bad != GX_NONE_BAD)
            gx__batch_fail_element(batch, i, bad, find_operand(&batch->jobs[i], bad));
        else
            gx__batch_job_done(engine, batch, i, (struct gx_times){start, d.now_ns});
    }
    let_go(&d);
    gx_status s = batch->status;
    gx__batch_end(engine, batch);
    return s;
}

/* ---- planning ---- */

/* The plan of a batch on a device that works on host memory. */
static gx_status plan_direct(struct gx_engine *engine, const struct gx_batch *batch,
                             struct gx_plan *plan)
{
    struct gx_device *device = &engine->device;
    for (size_t i = 0; i < batch->count; i++) {
        const struct gx_task *job = &batch->jobs[i];
        uint64_t most = gx__dispatch_most(&device->facts, job),
                 dispatches = dispatches_of(engine, job, job->n);
        struct gx_kernel kernel;
        if (job->empty)
            continue;
        gx_status s = gx__job_kernel(engine, job, 0, false, &kernel);
        if (s != GX_OK)
            return s;
        size_t scratch = gx__bucket(gx__dispatch_scratch(device, &kernel, job->n, most));
        plan->memory = scratch > plan->memory ? scratch : plan->memory;
        plan->dispatches += dispatches;
        plan->groups += groups_of(dispatches);
    }
    plan->submits = plan->groups;
    return GX_OK;
}

gx_status gx__engine_plan(struct gx_engine *engine, struct gx_batch *batch, uint64_t chunk_elems,
                          struct gx_plan_request *asked, struct gx_plan *plan)
{
    if (!engine->device.ops->run)
        return gx__pipe_plan(engine, batch, chunk_elems, asked, plan);
    *plan = (struct gx_plan){.path = GX_PATH_DIRECT,
                             .mode = GX_MODE_SEQUENTIAL,
                             .sets = 1,
                             .chunk = chunk_elems ? chunk_elems : GX_CHUNK_ELEMS};
    return plan_direct(engine, batch, plan);
}
