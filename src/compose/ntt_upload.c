/* SPDX-License-Identifier: Apache-2.0
 *
 * A transform between two copies. The copies are GX_OP_COPY, which the engine cuts into pieces and
 * overlaps like any elementwise task.
 */
#include "compose/composition.h"

/* Smaller ones gain less than two more submits cost. */
#define LEAST_BYTES ((size_t)8 << 20)
#define COPY_BYTES  16u /* of an element of GX_OP_COPY */

/* Where a and the result are: one place if they have the same size. */
enum { RESULT, INPUT };

/* One transform, or columns so long that pieces would have few: their rows would be slow to copy.
 */
static bool is_one_piece(const struct gx_task *job)
{
    uint64_t out = gx__operand_matrix(job, GX_OUT).stride, a = gx__operand_matrix(job, GX_A).stride;
    uint64_t columns = job->n / job->unit;
    if (out && (out != columns || a != columns)) /* a part of other columns: in pieces */
        return false;
    return columns == 1 || (out && job->unit > GX_CHUNK_ELEMS / GX_PIECE_COLUMNS);
}

bool gx__upload_wanted(const struct gx_engine *engine, const struct gx_task *job)
{
    return job->op == GX_NTT && !job->a.buf && !job->out.buf &&
           gx__operand_bytes(job, GX_OUT) >= LEAST_BYTES && is_one_piece(job) &&
           engine->device.facts.mem_kinds & GX_MEM_BIT(GX_MEM_DEVICE);
}

static struct gx_place input(const struct gx_composition *c)
{
    return c->temporary[c->temporary[INPUT].bytes ? INPUT : RESULT].at;
}

static size_t copy(const struct gx_composition *c, struct gx_place from, struct gx_place to,
                   int which, struct gx_task *task)
{
    *task = (struct gx_task){
        .op = GX_OP_COPY, .n = gx__operand_bytes(c->job, which) / COPY_BYTES, .a = from, .out = to};
    gx__task_complete(task);
    return 1;
}

static size_t copy_in(struct gx_composition *c, struct gx_task *task)
{
    return copy(c, c->job->a, input(c), GX_A, task);
}

static size_t transform(struct gx_composition *c, struct gx_task *task)
{
    *task = *c->job;
    task->a = input(c);
    task->out = c->temporary[RESULT].at;
    return 1;
}

static size_t copy_out(struct gx_composition *c, struct gx_task *task)
{
    return copy(c, c->temporary[RESULT].at, c->job->out, GX_OUT, task);
}

static gx_status lower(struct gx_composition *c)
{
    size_t a = gx__operand_bytes(c->job, GX_A), out = gx__operand_bytes(c->job, GX_OUT);
    c->temporary[RESULT] = (struct gx_temporary){.bytes = out, .device = true};
    c->temporary[INPUT] = (struct gx_temporary){.bytes = a == out ? 0 : a, .device = true};
    c->step[0] = (struct gx_part_step){.times = 1, .tasks = copy_in};
    c->step[1] = (struct gx_part_step){.times = 1, .tasks = transform};
    c->step[2] = (struct gx_part_step){.times = 1, .tasks = copy_out, .writes = true};
    c->steps = 3;
    return GX_OK;
}

gx_status gx__compose_upload(struct gx_composition *c)
{
    c->held = true;
    if (!c->caller->plan)
        gx__tables_hold(c->engine);
    gx_status s = gx__composition_run(c, lower, NULL);
    if (!c->caller->plan)
        gx__tables_let_go(c->engine);
    return s;
}
