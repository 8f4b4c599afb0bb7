/* SPDX-License-Identifier: Apache-2.0
 *
 * See params.h. Each message says what is wrong, where, and what to do.
 */
#include "api/params.h"

#include <string.h>

#include "base/abi.h"
#include "base/log.h"
#include "op/domain.h"
#include "op/msm.h"

#define NTT_FLAGS                                                                                  \
    (GX_NTT_INVERSE | GX_NTT_COSET | GX_NTT_REVERSED_IN | GX_NTT_REVERSED_OUT | GX_NTT_COLUMNS)
/* Of a point in any form. */
#define POINT_BYTES_MAX 512u
/* Workgroups in one dimension: every device has these. */
#define GROUPS_MAX 65535u

/* ---- transforms ---- */

static void set_ntt(struct gx_task *task, const gx_ntt_params *params)
{
    struct gx_ntt_args *ntt = &task->ntt;
    *ntt = (struct gx_ntt_args){.domain = params->domain,
                                .log2_n = params->log2_n,
                                .log2_pad = params->log2_pad,
                                .flags = params->flags & NTT_FLAGS};
    if (params->flags & GX_NTT_COLUMNS)
        ntt->stride[GX_OUT] = ntt->stride[GX_A] = gx__ntt_batch(task);
}

static gx_status check_domain(const struct gx_instance *instance, const gx_job *job,
                              const gx_ntt_params *params, struct gx_error *error)
{
    const struct gx_domain *domain = params->domain;
    if (!domain)
        return gx__refuse(error, GX_ERR_INVALID,
                          "gx_ntt_params.domain is NULL: make one with gx_domain_create");
    if (domain->instance != instance)
        return gx__refuse(error, GX_ERR_INVALID,
                          "gx_ntt_params.domain belongs to another context: create it in this one");
    if (domain->prime->field != job->field)
        return gx__refuse(error, GX_ERR_INVALID, "gx_ntt_params.domain is of %s, the job of %s",
                          gx_field_get_info(domain->prime->field)->name,
                          gx_field_get_info(job->field)->name);
    if (params->log2_n > domain->log2_size)
        return gx__refuse(error, GX_ERR_INVALID,
                          "log2_n is %u: the domain has transforms up to 2^%u", params->log2_n,
                          domain->log2_size);
    return GX_OK;
}

static gx_status check_ntt(const struct gx_instance *instance, const gx_job *job,
                           const gx_ntt_params *params, struct gx_error *error)
{
    gx_status s = check_domain(instance, job, params, error);
    if (s != GX_OK)
        return s;
    if (params->flags & ~NTT_FLAGS)
        return gx__refuse(error, GX_ERR_INVALID, "gx_ntt_params.flags 0x%x has unknown bits",
                          params->flags);
    if (params->reserved)
        return gx__refuse(error, GX_ERR_INVALID, "gx_ntt_params.reserved is %u: set it to 0",
                          params->reserved);
    if (params->log2_pad > params->log2_n)
        return gx__refuse(error, GX_ERR_INVALID, "log2_pad is %u, more than log2_n, which is %u",
                          params->log2_pad, params->log2_n);
    if (job->n & (((uint64_t)1 << params->log2_n) - 1))
        return gx__refuse(error, GX_ERR_INVALID,
                          "n is %zu, not a multiple of the size of a transform, 2^%u", job->n,
                          params->log2_n);
    if (job->a.broadcast)
        return gx__refuse(error, GX_ERR_INVALID, "ntt takes no broadcast operand");
    return GX_OK;
}

static gx_status take_ntt(const struct gx_instance *instance, const gx_job *job,
                          struct gx_task *task, struct gx_error *error)
{
    gx_ntt_params params = {0};
    if (!job->params && instance)
        return gx__refuse(error, GX_ERR_INVALID, "params is NULL: ntt needs gx_ntt_params");
    gx_status s = gx__take_in(&gx__ntt_params_layout, &params, job->params, error);
    if (s == GX_OK && instance)
        s = check_ntt(instance, job, &params, error);
    if (s == GX_OK)
        set_ntt(task, &params);
    return s;
}

/* ---- sums of points ---- */

static gx_status check_points(const struct gx_instance *instance, const gx_job *job,
                              const gx_msm_params *params, struct gx_error *error)
{
    const struct gx_points *points = params->points;
    if (!points)
        return gx__refuse(error, GX_ERR_INVALID,
                          "gx_msm_params.points is NULL: make some with gx_points_create");
    if (points->instance != instance)
        return gx__refuse(
            error, GX_ERR_INVALID,
            "gx_msm_params.points belong to another context: create them in this one");
    if (points->curve->info.scalar_field != job->field)
        return gx__refuse(error, GX_ERR_INVALID, "field is %s, but the scalars of %s are in %s",
                          gx_field_get_info(job->field)->name, points->curve->info.name,
                          gx_field_get_info(points->curve->info.scalar_field)->name);
    if (params->first > points->count || params->count > points->count - params->first)
        return gx__refuse(error, GX_ERR_INVALID,
                          "first is %zu and count is %zu, but there are %zu points", params->first,
                          params->count, points->count);
    return GX_OK;
}

static gx_status check_forms(const gx_msm_params *params, struct gx_error *error)
{
    const gx_curve_info *info = &params->points->curve->info;
    if (!params->result_form)
        return gx__refuse(error, GX_ERR_INVALID, "gx_msm_params.result_form is 0: name one");
    if (!gx_point_bytes(params->points->curve->curve, params->result_form))
        return gx__refuse(error, GX_ERR_INVALID,
                          "gx_msm_params.result_form is %u (%s): %s has no such form",
                          params->result_form, gx_point_form_name(params->result_form), info->name);
    if (params->scalar_form > GX_SCALAR_MONT)
        return gx__refuse(error, GX_ERR_INVALID, "gx_msm_params.scalar_form is %u, which is none",
                          params->scalar_form);
    if (params->scalar_bits > GX_SCALAR_BITS)
        return gx__refuse(error, GX_ERR_INVALID,
                          "gx_msm_params.scalar_bits is %u: scalars have up to %u",
                          params->scalar_bits, (unsigned)GX_SCALAR_BITS);
    if (params->scalar_bits && params->scalar_form == GX_SCALAR_MONT)
        return gx__refuse(error, GX_ERR_INVALID,
                          "gx_msm_params.scalar_bits is %u: it is for plain scalars, set it to 0",
                          params->scalar_bits);
    if (params->reserved)
        return gx__refuse(error, GX_ERR_INVALID, "gx_msm_params.reserved is %u: set it to 0",
                          params->reserved);
    return GX_OK;
}

static gx_status check_msm(const struct gx_instance *instance, const gx_job *job,
                           const gx_msm_params *params, struct gx_error *error)
{
    gx_status s = check_points(instance, job, params, error);
    if (s == GX_OK)
        s = check_forms(params, error);
    if (s != GX_OK)
        return s;
    if (params->count ? job->n % params->count : job->n)
        return gx__refuse(error, GX_ERR_INVALID, "n is %zu, not a multiple of count, which is %zu",
                          job->n, params->count);
    if (job->n > SIZE_MAX / 2 / POINT_BYTES_MAX)
        return gx__refuse(error, GX_ERR_INVALID, "n is %zu, more than memory can hold", job->n);
    if (job->a.broadcast)
        return gx__refuse(error, GX_ERR_INVALID, "msm takes no broadcast operand");
    return GX_OK;
}

static gx_status take_msm(const struct gx_instance *instance, const gx_job *job,
                          struct gx_task *task, struct gx_error *error)
{
    gx_msm_params params = {0};
    if (!job->params && instance)
        return gx__refuse(error, GX_ERR_INVALID, "params is NULL: msm needs gx_msm_params");
    gx_status s = gx__take_in(&gx__msm_params_layout, &params, job->params, error);
    if (s == GX_OK && instance)
        s = check_msm(instance, job, &params, error);
    if (s == GX_OK)
        task->msm = (struct gx_msm_args){
            .points = params.points,
            .first = params.first,
            .count = params.count,
            .scalar_form = params.scalar_form,
            .result_form = params.result_form,
            .bits = gx__msm_bits(params.points, params.scalar_form, params.scalar_bits)};
    return s;
}

/* ---- polynomials ---- */

static bool is_power_of_two(uint64_t n)
{
    return n && !(n & (n - 1));
}

/* Operations that divide n into `count` parts, or into parts of `count` elements. */
static bool divides(gx_op op)
{
    return op == GX_COSETS || op == GX_INTERLEAVE || op == GX_DEINTERLEAVE;
}

static gx_status check_count(const gx_job *job, uint64_t count, struct gx_error *error)
{
    const char *name = gx_op_get_info(job->op)->name;
    if (divides(job->op) && (!count || job->n % count))
        return gx__refuse(error, GX_ERR_INVALID,
                          "gx_poly_params.count is %llu: %s needs a divisor of n, which is %zu",
                          (unsigned long long)count, name, job->n);
    if (job->op == GX_GATHER && (count > UINT32_MAX || (!count && job->n)))
        return gx__refuse(error, GX_ERR_INVALID,
                          "gx_poly_params.count is %llu: gather needs the number of elements of a, "
                          "from 1 to 2^32 - 1",
                          (unsigned long long)count);
    if (count && !divides(job->op) && job->op != GX_GATHER && job->op != GX_ROTATE)
        return gx__refuse(error, GX_ERR_INVALID,
                          "gx_poly_params.count is %llu: %s takes none, set it to 0",
                          (unsigned long long)count, name);
    return GX_OK;
}

static gx_status check_poly(const gx_job *job, const gx_poly_params *params, struct gx_error *error)
{
    const gx_operand *const operand[GX_OPERANDS] = {&job->out, &job->a, &job->b, &job->c};
    const char *name = gx_op_get_info(job->op)->name;
    bool reversed = params->flags & GX_POLY_REVERSED;
    if (params->flags & ~GX_POLY_REVERSED || (reversed && job->op != GX_EVALUATE))
        return gx__refuse(error, GX_ERR_INVALID,
                          "gx_poly_params.flags 0x%x has bits that %s does not know", params->flags,
                          name);
    if (params->reserved)
        return gx__refuse(error, GX_ERR_INVALID, "gx_poly_params.reserved is %u: set it to 0",
                          params->reserved);
    if ((reversed || job->op == GX_BIT_REVERSE) && job->n && !is_power_of_two(job->n))
        return gx__refuse(error, GX_ERR_INVALID,
                          "n is %zu: a bit-reversed order needs a power of two", job->n);
    if (job->op == GX_EVALUATE && !job->n)
        return gx__refuse(error, GX_ERR_INVALID,
                          "n is 0: a polynomial has at least one coefficient");
    for (int i = GX_A; i <= (int)gx__op_operands(job->op); i++)
        if (operand[i]->broadcast && !(gx__facts_of(job->op)->one >> i & 1))
            return gx__refuse(error, GX_ERR_INVALID, "%s takes no broadcast operand there", name);
    return check_count(job, params->count, error);
}

static gx_status take_poly(const struct gx_instance *instance, const gx_job *job,
                           struct gx_task *task, struct gx_error *error)
{
    gx_poly_params params;
    gx_status s = gx__take_in(&gx__poly_params_layout, &params, job->params, error);
    if (s == GX_OK && instance)
        s = check_poly(job, &params, error);
    if (s == GX_OK)
        task->poly = (struct gx_poly_args){.count = params.count, .flags = params.flags};
    return s;
}

/* ---- registered operations ---- */

static gx_status take_registered(const gx_job *job, struct gx_task *task, struct gx_error *error)
{
    const struct gx_registered_op *registered = gx__registered_op(job->op);
    struct gx_registered_args *args = &task->registered;
    gx_op_params params;
    gx_status s = gx__take_in(&gx__op_params_layout, &params, job->params, error);
    if (s != GX_OK)
        return s;
    if (params.reserved)
        return gx__refuse(error, GX_ERR_INVALID, "gx_op_params.reserved is %u: set it to 0",
                          params.reserved);
    if (!params.data != !registered->desc.params_bytes)
        return gx__refuse(
            error, GX_ERR_INVALID, "%s has %u bytes of parameters, and gx_op_params.data is %s",
            registered->name, registered->desc.params_bytes, params.data ? "set" : "NULL");
    memset(args, 0, sizeof *args);
    if (params.data)
        memcpy(args->data, params.data, registered->desc.params_bytes);
    for (int i = 0; i < 3; i++) {
        if (params.groups[i] && !(registered->desc.flags & GX_OP_WHOLE))
            return gx__refuse(error, GX_ERR_INVALID, "gx_op_params.groups is only for GX_OP_WHOLE");
        if (params.groups[i] > GROUPS_MAX)
            return gx__refuse(error, GX_ERR_INVALID,
                              "gx_op_params.groups has %u: up to %u are possible", params.groups[i],
                              GROUPS_MAX);
        args->groups[i] = params.groups[i] ? params.groups[i] : 1;
    }
    return GX_OK;
}

/* ---- all ---- */

gx_status gx__params_take(const struct gx_instance *instance, const gx_job *job,
                          struct gx_task *task, struct gx_error *error)
{
    if (gx__is_registered_op(job->op))
        return take_registered(job, task, error);
    if (job->op == GX_NTT)
        return take_ntt(instance, job, task, error);
    if (job->op == GX_MSM)
        return take_msm(instance, job, task, error);
    return take_poly(instance, job, task, error);
}
