/* SPDX-License-Identifier: Apache-2.0
 *
 * See transform.h. The copies are GX_OP_COPY, which the engine cuts into pieces and overlaps like
 * any elementwise job.
 */
#include "exec/transform.h"

#include <stdio.h>

#include "exec/buffer.h"
#include "op/params.h"

/* Smaller ones gain less than two more submits cost. */
#define LEAST_BYTES ((size_t)8 << 20)
#define COPY_BYTES  16u /* of an element of GX_OP_COPY */

bool gx__transform_wanted(const struct gx_engine *engine, const gx_job *job)
{
    return job->op == GX_NTT && gx__job_unit(job) == job->n && !job->a.buf && !job->out.buf &&
           gx__operand_bytes(job, GX_OUT) >= LEAST_BYTES &&
           engine->device.facts.mem_kinds & GX_MEM_BIT(GX_MEM_DEVICE);
}

static gx_status run(struct gx_engine *engine, const struct gx_batch *caller, const gx_job *job,
                     struct gx_outcome *outcome, char *message, size_t message_size)
{
    struct gx_batch batch = {.jobs = job,
                             .count = 1,
                             .reports = outcome,
                             .path = caller->path,
                             .uncounted = true,
                             .single = true,
                             .held = true};
    gx_status s = gx__pipe_run(engine, &batch);
    snprintf(message, message_size, "%s", batch.message);
    return s;
}

/* Buffers for a and out: one if they have the same size. */
static gx_status create(struct gx_engine *engine, const gx_job *job, gx_buf *buf[2])
{
    size_t a = gx__operand_bytes(job, GX_A), out = gx__operand_bytes(job, GX_OUT);
    gx_status s = gx__buf_create(engine, out, 0, &buf[1]);
    if (s == GX_OK && a != out)
        s = gx__buf_create(engine, a, 0, &buf[0]);
    return s;
}

gx_status gx__transform_run(struct gx_engine *engine, const struct gx_batch *batch,
                            const gx_job *job, struct gx_outcome *outcome, char *message,
                            size_t message_size)
{
    gx_buf *buf[2] = {NULL, NULL};
    struct gx_outcome part[3] = {{0}};
    gx__tables_hold(engine);
    gx_status s = create(engine, job, buf);
    gx_buf *a = buf[0] ? buf[0] : buf[1];
    gx_job in = {.op = GX_OP_COPY, .n = gx__operand_bytes(job, GX_A) / COPY_BYTES, .a = job->a},
           middle = *job,
           back = {.op = GX_OP_COPY, .n = gx__operand_bytes(job, GX_OUT) / COPY_BYTES};
    in.out = middle.a = gx_dev(a, 0);
    middle.out = back.a = gx_dev(buf[1], 0);
    back.out = job->out;
    if (s == GX_OK)
        s = run(engine, batch, &in, &part[0], message, message_size);
    if (s == GX_OK)
        s = run(engine, batch, &middle, &part[1], message, message_size);
    if (s == GX_OK)
        s = run(engine, batch, &back, &part[2], message, message_size);
    outcome->bad_index = part[1].bad_index;
    outcome->bad_operand = part[1].bad_operand;
    for (int i = 0; i < 3; i++)
        gx__outcome_add(outcome, &part[i]);
    outcome->path = part[0].path;
    gx_buf_destroy(&buf[0]);
    gx_buf_destroy(&buf[1]);
    gx__tables_let_go(engine);
    return s;
}
