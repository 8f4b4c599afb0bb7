/* SPDX-License-Identifier: Apache-2.0
 *
 * Runs a batch. On a device that works on host memory, each job runs here, on the calling thread
 * and on its operands in place: nothing is planned, staged or in flight. Other devices use a pipe
 * (run.c).
 */
#include <string.h>

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

/* A batch under way, one pass over a job at a time. */
struct direct {
    struct gx_engine *engine;
    struct gx_batch *batch;
    struct gx_mem *scratch; /* reused by the following jobs, as is: */
    struct gx_table *table;
    uint64_t now_ns;
    size_t i;    /* of the job */
    bool before; /* operands are checked in passes before, because the job overwrites them */
    int only;    /* the operand that the pass checks; 0: it does the job */
    gx_status status;
    uint64_t bad; /* the first bad element of the job so far */
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

/* Counted for reports as if dispatches of so many elements were submitted in groups. */
struct counts {
    uint32_t dispatches, groups;
};

static struct counts counts_of(uint64_t n, uint64_t most)
{
    uint64_t dispatches = n && most ? (n + most - 1) / most : 1;
    return (struct counts){(uint32_t)dispatches, (uint32_t)((dispatches + GX_GROUP_DISPATCHES - 1) /
                                                            GX_GROUP_DISPATCHES)};
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
    least = least ? least : 1;
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

/* What the kernel needs besides operands. *most: elements of a dispatch, which may become fewer. */
static gx_status get_memory(struct direct *d, const struct gx_task *job, struct gx_host_call *call,
                            uint64_t *most)
{
    gx_status s = GX_OK;
    if (job->table == GX_TABLE_OF_ROOTS)
        s = get_table(d, call);
    else if (job->table == GX_TABLE_OF_MULTIPLES)
        get_multiples(d, job, call);
    if (s != GX_OK)
        return s;
    size_t bytes = job->table == GX_TABLE_OF_MULTIPLES ? sum_scratch(d, call, job->n)
                                                       : piece_scratch(d, job, call, most);
    s = bytes ? get_scratch(d, bytes) : GX_OK;
    call->scratch = bytes && s == GX_OK ? d->scratch->host : NULL;
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

/* The pass is done. */
static void report_pass(struct direct *d, uint64_t n, uint64_t most, uint32_t threads)
{
    struct gx_batch *batch = d->batch;
    struct gx_outcome *r = gx__batch_report(batch, d->i);
    const struct counts counts = counts_of(n, most);
    uint64_t start = d->now_ns;
    d->now_ns = gx__now_ns();
    r->path = GX_PATH_DIRECT;
    r->mode = GX_MODE_SEQUENTIAL;
    r->groups += counts.groups;
    r->submits += counts.groups;
    r->dispatches += counts.dispatches;
    r->threads = threads > r->threads ? threads : r->threads;
    r->device_ns += d->now_ns - start;
    r->compute_ns = r->total_ns = r->device_ns;
    if (gx__batch_traced(d->engine, batch))
        gx__batch_trace(d->engine, batch, GX_STAGE_COMPUTE, d->i, 1, n,
                        gx__operand_length(&batch->jobs[d->i], GX_A, n),
                        (struct gx_times){start, d->now_ns});
}

static gx_status check_kernel(struct gx_engine *engine, gx_field field, struct gx_kernel *kernel)
{
    const struct gx_task check = {.op = GX_OP_CHECK, .field = field};
    return gx__job_kernel(engine, &check, true, kernel);
}

/* False: there is too little memory, and it holds none. The kernel of a small job is 8 calls below
 * the caller's; no more is between. */
static bool run_pass(struct direct *d)
{
    struct gx_device *device = &d->engine->device;
    const struct gx_task *job = &d->batch->jobs[d->i];
    const int only = d->only;
    struct gx_host_call call;
    uint64_t n = only && gx__operand_is_one(job, only) ? 1 : job->n, at = 0, found = UINT64_MAX;
    uint64_t most = gx__dispatch_most(&device->facts, job);
    gx_status s = only ? check_kernel(d->engine, job->field, &call.kernel)
                       : gx__job_kernel(d->engine, job, job->check && !d->before, &call.kernel);
    call.scratch = NULL;
    if (s == GX_OK && !only && (job->table || gx__dispatch_scratch(device, &call.kernel, n, most)))
        s = get_memory(d, job, &call, &most);
    for (; s == GX_OK && found == UINT64_MAX && (at < n || !at); at += most) {
        bind(job, only, at, &call);
        call.n = n - at < most ? n - at : most;
        gx__guard_note(d->scratch, &call.kernel, call.n);
        s = device->ops->run(device, &call);
        if (s != GX_OK)
            break;
        if (call.bad != GX_NONE_BAD)
            found = only ? at + call.bad : gx__bad_index(job, at, call.bad);
        call.kernel.key.accumulate = job->shape == GX_SHAPE_REDUCTION;
    }
    d->status = s;
    if (s == GX_ERR_OUT_OF_DEVICE_MEMORY && (!at || only)) {
        let_go(d);
        return false;
    }
    d->bad = found < d->bad ? found : d->bad;
    if (s == GX_OK && (only || found == UINT64_MAX))
        report_pass(d, n, most, call.threads);
    return true;
}

static bool has_pass(const struct direct *d)
{
    return d->status == GX_OK && !d->batch->plan &&
           (d->only > 0 || (!d->only && d->bad == UINT64_MAX));
}

/* Other jobs wait for memory for their tables, and so does this one. */
static bool queues(struct direct *d)
{
    bool wanted =
        d->batch->jobs[d->i].table == GX_TABLE_OF_ROOTS && gx__tables_wanted(&d->engine->tables);
    if (wanted)
        let_go(d);
    return wanted;
}

/* gx_look_fn */
static gx_status look(void *user, const struct gx_place *o, size_t skip, size_t bytes,
                      void *elements)
{
    (void)user;
    memcpy(elements, memory_of(o) + skip, bytes);
    return GX_OK;
}

static void refuse(struct direct *d)
{
    const struct gx_task *job = &d->batch->jobs[d->i];
    char operand;
    gx__look_again(job, gx__operand_matrix(job, GX_A).stride, look, NULL, &d->bad, &operand);
    gx__batch_fail_element(d->batch, d->i, d->bad, operand);
}

/* Adds what running the job would take to the plan of the batch. */
static gx_status plan_job(struct gx_engine *engine, struct gx_batch *batch,
                          const struct gx_task *job)
{
    struct gx_device *device = &engine->device;
    struct gx_plan *plan = batch->plan;
    struct gx_kernel kernel;
    uint64_t most = gx__dispatch_most(&device->facts, job);
    gx_status s = gx__job_kernel(engine, job, false, &kernel);
    if (s != GX_OK)
        return s;
    const struct counts counts = counts_of(job->n, most);
    size_t scratch = gx__bucket(gx__dispatch_scratch(device, &kernel, job->n, most));
    plan->memory = scratch > plan->memory ? scratch : plan->memory;
    plan->dispatches += counts.dispatches;
    plan->groups += counts.groups;
    plan->submits += counts.groups;
    return GX_OK;
}

static void begin(struct gx_engine *engine, struct gx_batch *batch)
{
    uint64_t chunk = engine->instance->config.stream_chunk_elems;
    gx__batch_begin(engine, batch);
    if (batch->plan)
        *batch->plan = (struct gx_plan){.path = GX_PATH_DIRECT,
                                        .mode = GX_MODE_SEQUENTIAL,
                                        .sets = 1,
                                        .chunk = chunk ? chunk : GX_CHUNK_ELEMS};
}

gx_status gx__direct_run(struct gx_engine *engine, struct gx_batch *batch)
{
    struct direct d = {.engine = engine, .batch = batch, .i = batch->next};
    if (!d.i)
        begin(engine, batch);
    d.now_ns = gx__now_ns();
    for (; d.i < batch->count && batch->failed == GX_NO_JOB; d.i++) {
        const struct gx_task *job = &batch->jobs[d.i];
        const uint64_t start = d.now_ns;
        bool enough = true;
        if (job->empty || !gx__batch_goes_on(batch, d.i))
            continue;
        d.status = batch->plan ? plan_job(engine, batch, job) : GX_OK;
        d.bad = UINT64_MAX;
        d.before = job->check && gx__task_in_place(job);
        d.only = d.before ? job->operands : 0;
        for (; enough && has_pass(&d); d.only--) {
            struct gx_turn turn = {.engine = engine, .tried = !queues(&d)};
            enough = turn.tried && run_pass(&d);
            while (!enough && gx__turn_next(&turn))
                enough = run_pass(&d);
            if (turn.has)
                gx__turn_end(&turn);
        }
        if (!enough && batch->attempt) {
            batch->next = d.i;
            return GX_PENDING;
        }
        if (d.status != GX_OK)
            gx__batch_fail_device(engine, batch, d.i, d.status);
        else if (d.bad != UINT64_MAX)
            refuse(&d);
        else
            gx__batch_job_done(engine, batch, d.i, (struct gx_times){start, d.now_ns});
    }
    let_go(&d);
    gx_status s = batch->status;
    gx__batch_end(engine, batch);
    return s;
}
