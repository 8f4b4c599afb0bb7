/* SPDX-License-Identifier: Apache-2.0
 *
 * Makers of operands and jobs. They cannot fail: what is wrong is refused when the job runs, with a
 * message that names the parameter.
 */
#include "gpuexec.h"

#include "api/resolve.h"
#include "op/domain.h"
#include "op/op.h"
#include "op/points.h"

gx_operand gx_host(const void *elements)
{
    return (gx_operand){.host = (void *)(uintptr_t)elements}; /* jobs never write an input */
}

gx_operand gx_host_broadcast(const void *element)
{
    return (gx_operand){.host = (void *)(uintptr_t)element, .broadcast = 1};
}

gx_operand gx_dev(gx_buf *buf, size_t offset)
{
    return (gx_operand){.buf = buf, .offset = offset};
}

gx_operand gx_dev_broadcast(gx_buf *buf, size_t offset)
{
    return (gx_operand){.buf = buf, .offset = offset, .broadcast = 1};
}

/* SIZE_MAX, which no job may have, if memory cannot hold so many. */
static size_t elements(size_t batch, size_t each)
{
    return each && batch > SIZE_MAX / each ? SIZE_MAX : batch * each;
}

gx_job gx_ntt(const gx_ntt_params *params, size_t batch, gx_operand a, gx_operand out)
{
    gx_job job = {.op = GX_NTT, .field = GX_BLS12_381_FR, .a = a, .out = out, .params = params};
    if (params && params->domain)
        job.field = params->domain->prime->field;
    if (params)
        job.n = params->log2_n < 64 ? elements(batch, (size_t)1 << params->log2_n) : SIZE_MAX;
    return job;
}

gx_job gx_poly(gx_op op, gx_field field, size_t n, const gx_poly_params *params, gx_operand a,
               gx_operand b, gx_operand out)
{
    return (gx_job){.op = op, .field = field, .n = n, .a = a, .b = b, .out = out, .params = params};
}

gx_job gx_msm(const gx_msm_params *params, size_t batch, gx_operand scalars, gx_operand out)
{
    gx_job job = {
        .op = GX_MSM, .field = GX_BLS12_381_FR, .a = scalars, .out = out, .params = params};
    if (params && params->points)
        job.field = params->points->curve->info.scalar_field;
    if (params)
        job.n = elements(batch, params->count);
    return job;
}

gx_job gx_call(gx_op op, size_t n, const gx_op_params *params, gx_operand a, gx_operand b,
               gx_operand c, gx_operand out)
{
    return (gx_job){.op = op, .n = n, .a = a, .b = b, .c = c, .out = out, .params = params};
}

size_t gx_operand_bytes(const gx_job *job, char operand)
{
    static const char names[GX_OPERANDS] = {
        [GX_OUT] = 'o', [GX_A] = 'a', [GX_B] = 'b', [GX_C] = 'c'};
    struct gx_task task;
    if (!job || !gx_op_exists(job->op, job->field) ||
        job->n > SIZE_MAX / 2 / gx__op_element(job->op, job->field, GX_A) ||
        job->n > SIZE_MAX / 2 / GX_OP_ELEMENT_BYTES)
        return 0;
    gx__resolve_sizes(job, &task);
    for (int i = 0; i < GX_OPERANDS; i++)
        if (names[i] == operand)
            return gx__operand_bytes(&task, i);
    return 0;
}
