/* SPDX-License-Identifier: Apache-2.0
 *
 * Functions derived from the rows of op.h.
 */
#include "op/op.h"

#include <string.h>

#include "base/log.h"
#include "field/sum.h"
#include "op/msm.h"
#include "op/params.h"

#define X(symbol, value, ...)                                                                      \
    _Static_assert((int)(symbol) == (value) && (value) > 0 && (value) < GX_OP_END,                 \
                   #symbol " is another value in gpuexec.h, or leaves a gap");
GX__OP_LIST(X)
#undef X

const struct gx_op_row gx__op_rows[GX_OP_END] = {
#define X(symbol, value, name, operands, words, shape, family, products, ns, host, verifier,       \
          result)                                                                                  \
    [symbol] = {{name, result, operands,                                                           \
                 GX_SHAPE_##shape == GX_SHAPE_REDUCTION || (symbol) == GX_EVALUATE,                \
                 (symbol) < GX_NTT    ? 0                                                          \
                 : (symbol) == GX_NTT ? 1                                                          \
                 : (symbol) == GX_MSM ? 4                                                          \
                                      : 2,                                                         \
                 0},                                                                               \
                words,                                                                             \
                GX_SHAPE_##shape,                                                                  \
                GX_SHADER_##family,                                                                \
                products,                                                                          \
                ns,                                                                                \
                GX_HOST_##host,                                                                    \
                GX_VERIFY_##verifier},
    GX__OP_LIST(X)
#undef X
};

#define ONE(op)                                                                                    \
    ((op) == GX_POWERS                                 ? 1u << GX_A                                \
     : (op) == GX_COSETS                               ? 1u << GX_A | 1u << GX_B                   \
     : (op) == GX_EVALUATE || (op) == GX_DIVIDE_LINEAR ? 1u << GX_B                                \
                                                       : 0u)
#define RESIZED(op)                                                                                \
    ((op) == GX_NTT || (op) == GX_GATHER ? 1u << GX_A : (op) == GX_MSM ? 1u << GX_OUT : 0u)

struct gx_op_facts gx__op_facts[GX_OP_FACTS] = {
#define X(symbol, value, name, operands, words, shape, ...)                                        \
    [symbol] = {GX_SHAPE_##shape,                                                                  \
                operands,                                                                          \
                GX_SHAPE_##shape == GX_SHAPE_REDUCTION || (symbol) == GX_EVALUATE,                 \
                ONE(symbol),                                                                       \
                RESIZED(symbol),                                                                   \
                {0}},
    GX__OP_LIST(X)
#undef X
        [GX_OP_END] = {GX_SHAPE_ELEMENTWISE, 1, 0, 0, 0, {16, 16, 0, 0}}, /* GX_OP_COPY */
    [GX_OP_END + 1] = {GX_SHAPE_WHOLE, 2, 1, 0, 0, {0}},                  /* GX_OP_MSM_SUMS */
};

const gx_op_info *gx_op_get_info(gx_op op)
{
    const struct gx_own_op *own = gx__own(op);
    return op && op < GX_OP_END ? &gx__op_rows[op].info : own ? &own->info : NULL;
}

gx_op gx_op_by_name(const char *name)
{
    for (gx_op op = 1; name && op < GX_OP_END; op++)
        if (!strcmp(gx__op_rows[op].info.name, name))
            return op;
    return 0;
}

int gx_op_exists(gx_op op, gx_field field)
{
    if (gx__is_own(op))
        return gx__own(op) && !field;
    if (!gx_op_get_info(op) || !gx_field_get_info(field))
        return 0;
    if (op == GX_NTT)
        return gx_field_get_info(field)->two_adicity > 0;
    if (op == GX_MSM)
        return gx__is_scalar_field(field);
    return gx__prime(field) || gx__op_rows[op].on_words;
}

enum gx_shader_family gx__op_family(gx_op op, gx_field field)
{
    if (op == GX_OP_COPY)
        return GX_SHADER_COPY;
    if (op == GX_OP_ROOF)
        return GX_SHADER_ROOF;
    if (op == GX_OP_NTT_TABLE)
        return GX_SHADER_NTT_TABLE;
    if (op == GX_OP_MSM_SUMS)
        return GX_SHADER_MSM_ADD;
    if (gx__is_own(op))
        return GX_SHADER_OWN;
    if (!gx__prime(field)) /* one module handles them all */
        return GX_SHADER_WORDS;
    return op == GX_OP_CHECK ? GX_SHADER_LINEAR : gx__op_rows[op].family;
}

enum gx_verifier gx__op_verifier(gx_op op)
{
    const struct gx_own_op *own = gx__own(op);
    if (!own)
        return gx__op_rows[op].verifier;
    return !own->desc.fn                        ? GX_VERIFY_NOT
           : gx__op_shape(op) == GX_SHAPE_WHOLE ? GX_VERIFY_WHOLE
                                                : GX_VERIFY_RECOMPUTE;
}

/* ---- operands ---- */

static bool same_place(const gx_operand *a, const gx_operand *b)
{
    return a->host == b->host && a->buf == b->buf && a->offset == b->offset;
}

bool gx__job_in_place(const gx_job *job)
{
    for (int i = GX_A; i <= (int)gx__op_operands(job->op); i++)
        if (same_place(gx__operand(job, i), &job->out))
            return true;
    return false;
}

bool gx__element_bad(const gx_job *job, int which, const void *element)
{
    uint32_t index;
    if (job->op == GX_MSM && gx__msm_params(job).scalar_form == GX_SCALAR_PLAIN)
        return false;
    if (job->op != GX_GATHER || which != GX_B)
        return gx__first_bad(gx__prime(job->field), element, 1, false) != GX_NONE_BAD;
    memcpy(&index, element, sizeof index);
    return index >= gx__resized(job, GX_A, job->n);
}

static void advance(gx_operand *o, size_t bytes)
{
    if (o->buf)
        o->offset += bytes;
    else if (o->host)
        o->host = (char *)o->host + bytes;
}

gx_job gx__sub_job(const gx_job *job, uint64_t first, uint64_t n)
{
    gx_job sub = *job;
    gx_operand *const operands[GX_OPERANDS] = {&sub.out, &sub.a, &sub.b, &sub.c};
    if (n == job->n) /* most are whole */
        return sub;
    for (int i = 0; i < GX_OPERANDS; i++)
        advance(operands[i], gx__operand_offset(job, i, first));
    sub.n = (size_t)n;
    return sub;
}

void gx__op_join(const gx_job *job, void *result, const void *part)
{
    if (job->op == GX_MSM) {
        gx__msm_join(job, result, part);
        return;
    }
    gx__add_one(gx__prime(job->field), result, part);
}

/* ---- work ---- */

/* Approximate number of passes on a GPU that share the products of a job. */
static unsigned passes_of(const gx_job *job)
{
    return job->op == GX_NTT   ? gx__transform_passes(job)
           : job->op == GX_MSM ? gx__msm_passes(job)
                               : 1;
}

double gx__job_work(const gx_job *job)
{
    unsigned products = gx__job_products(job);
    return (double)job->n * (products ? products : 1) / passes_of(job);
}

/* ---- parameters ---- */

static void own_params(const gx_job *job, uint32_t *param)
{
    const struct gx_own_op *own = gx__own(job->op);
    gx_op_params params;
    char message[GX_MESSAGE_BYTES];
    if (!own || !gx__own_params(own, job, &params, message, sizeof message))
        return; /* the latter was checked with the job */
    if (own->desc.params_bytes)
        memcpy(param, params.data, own->desc.params_bytes);
    memcpy(param + GX_PARAM_GROUPS, params.groups, sizeof params.groups);
}

void gx__op_params(const gx_job *job, uint32_t param[GX_PARAMS])
{
    memset(param, 0, GX_PARAMS * sizeof *param);
    if (job->op == GX_NTT)
        gx__ntt_key(job, param);
    else if (job->op == GX_MSM || job->op == GX_OP_MSM_SUMS)
        gx__msm_key(job, param);
    else if (gx__is_own(job->op))
        own_params(job, param);
    else if (gx__op_has_params(job->op))
        gx__poly_key(job, param);
}
