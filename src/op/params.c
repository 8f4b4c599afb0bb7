/* SPDX-License-Identifier: Apache-2.0
 *
 * See params.h.
 */
#include "op/params.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/abi.h"
#include "base/log.h"
#include "op/msm.h"

#define NTT_FLAGS                                                                                  \
    (GX_NTT_INVERSE | GX_NTT_COSET | GX_NTT_REVERSED_IN | GX_NTT_REVERSED_OUT | GX_NTT_COLUMNS)

struct refusal {
    char *message;
    size_t size;
};

GX_PRINTF(2, 3) static gx_status refuse(const struct refusal *to, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    vsnprintf(to->message, to->size, format, args);
    va_end(args);
    return GX_ERR_INVALID;
}

/* ---- reading ---- */

gx_ntt_params gx__ntt_params(const gx_job *job)
{
    gx_ntt_params params;
    char message[GX_MESSAGE_BYTES];
    if (gx__take_in(&gx__ntt_params_layout, &params, job->params, message, sizeof message) != GX_OK)
        params = (gx_ntt_params){0};
    return params;
}

gx_poly_params gx__poly_params(const gx_job *job)
{
    gx_poly_params params;
    char message[GX_MESSAGE_BYTES];
    if (gx__take_in(&gx__poly_params_layout, &params, job->params, message, sizeof message) !=
        GX_OK)
        params = (gx_poly_params){0};
    return params;
}

void gx__params_copy(gx_job *job, struct gx_params_copy *to)
{
    static const struct gx_layout *const layouts[] = {
        /* by gx_op_info.params */
        NULL, &gx__ntt_params_layout, &gx__poly_params_layout, &gx__op_params_layout,
        &gx__msm_params_layout};
    const struct gx_own_op *own = gx__own(job->op);
    char message[GX_MESSAGE_BYTES];
    if (!job->params || gx__take_in(layouts[gx_op_get_info(job->op)->params], &to->params,
                                    job->params, message, sizeof message) != GX_OK)
        return;
    if (own && own->desc.params_bytes) {
        memcpy(to->data, to->params.own.data, own->desc.params_bytes);
        to->params.own.data = to->data;
    }
    job->params = &to->params;
}

uint64_t gx__resized(const gx_job *job, int which, uint64_t n)
{
    (void)which; /* out of the first, a of the others */
    if (job->op == GX_MSM) {
        uint64_t count = gx__msm_params(job).count;
        return count ? n / count : 1;
    }
    return job->op == GX_NTT ? n >> (gx__ntt_params(job).log2_pad & 63)
                             : gx__poly_params(job).count;
}

uint64_t gx__transform_unit(const gx_job *job)
{
    const gx_ntt_params params = gx__ntt_params(job);
    return params.flags & GX_NTT_COLUMNS ? job->n : (uint64_t)1 << (params.log2_n & 63);
}

uint64_t gx__params_word(const gx_job *job)
{
    if (gx__is_own(job->op))
        return 0;
    if (job->op == GX_MSM)
        return gx__msm_params(job).count;
    if (job->op == GX_OP_MSM_SUMS) {
        const struct gx_msm_sums *sums = job->params;
        uint32_t low = sums->curve | sums->bits << 8 | sums->doublings << 17;
        uint32_t high = sums->window | sums->group << 8 | sums->parts << 16 | sums->rows << 24;
        return low | (uint64_t)high << 32;
    }
    if (job->op != GX_NTT)
        return gx__poly_params(job).count;
    const gx_ntt_params params = gx__ntt_params(job);
    return params.log2_n | params.log2_pad << 8 | params.flags << 16;
}

/* Half a product in each level. */
unsigned gx__transform_products(const gx_job *job)
{
    return (gx__ntt_params(job).log2_n + 1) / 2;
}

static void put64(uint32_t *param, uint64_t value)
{
    param[0] = (uint32_t)value;
    param[1] = (uint32_t)(value >> 32);
}

void gx__ntt_key(const gx_job *job, uint32_t *param)
{
    const gx_ntt_params params = gx__ntt_params(job);
    param[GX_PARAM_LOG2_N] = params.log2_n;
    param[GX_PARAM_LOG2_PAD] = params.log2_pad;
    param[GX_PARAM_NTT_FLAGS] = params.flags;
    param[GX_PARAM_LOG2_TABLE] = params.log2_n;
    put64(param + GX_PARAM_DOMAIN, (uintptr_t)params.domain);
    put64(param + GX_PARAM_DOMAIN_ID, params.domain ? params.domain->id : 0);
}

void gx__poly_key(const gx_job *job, uint32_t *param)
{
    const gx_poly_params params = gx__poly_params(job);
    put64(param + GX_PARAM_COUNT, params.count);
    param[GX_PARAM_POLY_FLAGS] = params.flags;
}

/* ---- checking ---- */

static gx_status check_domain(const struct gx_instance *instance, const gx_job *job,
                              const gx_ntt_params *params, const struct refusal *to)
{
    const struct gx_domain *domain = params->domain;
    if (!domain)
        return refuse(to, "gx_ntt_params.domain is NULL: make one with gx_domain_create");
    if (domain->instance != instance)
        return refuse(to, "gx_ntt_params.domain belongs to another context: create it in this one");
    if (domain->prime->field != job->field)
        return refuse(to, "gx_ntt_params.domain is of %s, the job of %s",
                      gx_field_get_info(domain->prime->field)->name,
                      gx_field_get_info(job->field)->name);
    if (params->log2_n > domain->log2_size)
        return refuse(to, "log2_n is %u: the domain has transforms up to 2^%u", params->log2_n,
                      domain->log2_size);
    return GX_OK;
}

static gx_status check_ntt(const struct gx_instance *instance, const gx_job *job,
                           const struct refusal *to)
{
    gx_ntt_params params;
    if (!job->params)
        return refuse(to, "params is NULL: ntt needs gx_ntt_params");
    gx_status s = gx__take_in(&gx__ntt_params_layout, &params, job->params, to->message, to->size);
    if (s == GX_OK)
        s = check_domain(instance, job, &params, to);
    if (s != GX_OK)
        return s;
    if (params.flags & ~NTT_FLAGS)
        return refuse(to, "gx_ntt_params.flags 0x%x has unknown bits", params.flags);
    if (params.reserved)
        return refuse(to, "gx_ntt_params.reserved is %u: set it to 0", params.reserved);
    if (params.log2_pad > params.log2_n)
        return refuse(to, "log2_pad is %u, more than log2_n, which is %u", params.log2_pad,
                      params.log2_n);
    if (job->n & (((uint64_t)1 << params.log2_n) - 1))
        return refuse(to, "n is %zu, not a multiple of the size of a transform, 2^%u", job->n,
                      params.log2_n);
    if (job->a.broadcast)
        return refuse(to, "ntt takes no broadcast operand");
    return GX_OK;
}

static bool is_power_of_two(uint64_t n)
{
    return n && !(n & (n - 1));
}

/* Operations that divide n into `count` parts, or into parts of `count` elements. */
static bool divides(gx_op op)
{
    return op == GX_COSETS || op == GX_INTERLEAVE || op == GX_DEINTERLEAVE;
}

static gx_status check_count(const gx_job *job, uint64_t count, const struct refusal *to)
{
    const char *name = gx_op_get_info(job->op)->name;
    if (divides(job->op) && (!count || job->n % count))
        return refuse(to, "gx_poly_params.count is %llu: %s needs a divisor of n, which is %zu",
                      (unsigned long long)count, name, job->n);
    if (job->op == GX_GATHER && (count > UINT32_MAX || (!count && job->n)))
        return refuse(to,
                      "gx_poly_params.count is %llu: gather needs the number of elements of a, "
                      "from 1 to 2^32 - 1",
                      (unsigned long long)count);
    if (count && !divides(job->op) && job->op != GX_GATHER && job->op != GX_ROTATE)
        return refuse(to, "gx_poly_params.count is %llu: %s takes none, set it to 0",
                      (unsigned long long)count, name);
    return GX_OK;
}

static gx_status check_poly(const gx_job *job, const struct refusal *to)
{
    gx_poly_params params;
    const char *name = gx_op_get_info(job->op)->name;
    gx_status s = gx__take_in(&gx__poly_params_layout, &params, job->params, to->message, to->size);
    if (s != GX_OK)
        return s;
    bool reversed = params.flags & GX_POLY_REVERSED;
    if (params.flags & ~GX_POLY_REVERSED || (reversed && job->op != GX_EVALUATE))
        return refuse(to, "gx_poly_params.flags 0x%x has bits that %s does not know", params.flags,
                      name);
    if (params.reserved)
        return refuse(to, "gx_poly_params.reserved is %u: set it to 0", params.reserved);
    if ((reversed || job->op == GX_BIT_REVERSE) && job->n && !is_power_of_two(job->n))
        return refuse(to, "n is %zu: a bit-reversed order needs a power of two", job->n);
    if (job->op == GX_EVALUATE && !job->n)
        return refuse(to, "n is 0: a polynomial has at least one coefficient");
    for (int i = GX_A; i <= (int)gx__op_operands(job->op); i++)
        if (gx__operand(job, i)->broadcast && !(gx__facts_of(job->op)->one >> i & 1))
            return refuse(to, "%s takes no broadcast operand there", name);
    return check_count(job, params.count, to);
}

gx_status gx__params_check(const struct gx_instance *instance, const gx_job *job, char *message,
                           size_t message_size)
{
    const struct refusal to = {message, message_size};
    if (job->op == GX_MSM)
        return gx__msm_check(instance, job, message, message_size);
    return job->op == GX_NTT ? check_ntt(instance, job, &to) : check_poly(job, &to);
}
