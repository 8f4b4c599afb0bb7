/* SPDX-License-Identifier: Apache-2.0
 *
 * See jobs.h.
 */
#include "jobs.h"

enum { PARTS = 4 };

/* Of the multiples that points are. */
#define MULTIPLES_SEED 0x706f696e7473u

unsigned log2_of(size_t n)
{
    return 63 - (unsigned)__builtin_clzll(n);
}

size_t job_size(gx_op op, gx_field field, size_t n)
{
    if (!n || (op != GX_NTT && op != GX_BIT_REVERSE))
        return n;
    unsigned bits = log2_of(n), most = gx_field_get_info(field)->two_adicity;
    return (size_t)1 << (op == GX_NTT && bits > most ? most : bits);
}

/* Entries are spread over all of the smaller ones, and a prefix of any length is valid. */
static void make_indices(uint32_t *indices, size_t n)
{
    for (size_t i = 0; i < n; i++)
        indices[i] = (uint32_t)(i * 2654435761u % (i + 1));
}

gx_curve job_curve(gx_field field, gx_curve after)
{
    gx_curve curve = after + 1;
    while (gx_curve_get_info(curve) && gx_curve_get_info(curve)->scalar_field != field)
        curve++;
    return gx_curve_get_info(curve) ? curve : 0;
}

void job_multiples(gx_field field, void *scalars, size_t n)
{
    data_random(field, scalars, n, MULTIPLES_SEED);
}

gx_status job_run(gx_ctx *ctx, const char *device, const gx_job *job, gx_report *report)
{
    const gx_run_params params = {.device = device};
    return gx_run(ctx, job, 1, &params, report);
}

gx_status job_multiply(gx_ctx *ctx, gx_curve curve, const void *scalars, size_t n,
                       gx_point_form form, void *out)
{
    const gx_points_params desc = {.struct_size = sizeof desc,
                                   .curve = curve,
                                   .form = GX_POINT_XY_MONT,
                                   .points = gx_curve_get_info(curve)->generator,
                                   .count = 1};
    gx_msm_params params = {.struct_size = sizeof params, .count = 1, .result_form = form};
    gx_points *generator = NULL;
    gx_status s = gx_points_create(ctx, &desc, &generator, NULL);
    params.points = generator;
    const gx_job job = gx_msm(&params, n, gx_host(scalars), gx_host(out));
    if (s == GX_OK)
        s = job_run(ctx, "cpu", &job, NULL);
    gx_points_destroy(&generator);
    return s;
}

gx_status job_write_points(gx_ctx *ctx, gx_curve curve, void *xy, size_t first, size_t n)
{
    const gx_curve_info *info = gx_curve_get_info(curve);
    size_t bytes = gx_field_get_info(info->scalar_field)->element_bytes;
    unsigned char *scalars = data_alloc(n * bytes);
    if (!scalars)
        return GX_ERR_OUT_OF_MEMORY;
    job_multiples(info->scalar_field, scalars, n);
    gx_status s = job_multiply(ctx, curve, scalars + first * bytes, n - first, GX_POINT_XY_MONT,
                               (unsigned char *)xy + first * info->affine_bytes);
    data_free(scalars);
    return s;
}

gx_points *job_points(gx_ctx *ctx, gx_curve curve, size_t n)
{
    unsigned char *xy = data_alloc(n * gx_curve_get_info(curve)->affine_bytes);
    const gx_points_params desc = {.struct_size = sizeof desc,
                                   .curve = curve,
                                   .form = GX_POINT_XY_MONT,
                                   .points = xy,
                                   .count = n,
                                   .check = GX_CHECK_NONE};
    gx_points *points = NULL;
    if (xy && job_write_points(ctx, curve, xy, 0, n) == GX_OK)
        gx_points_create(ctx, &desc, &points, NULL);
    data_free(xy);
    return points;
}

static void set_count(gx_job *job, job_params *params)
{
    size_t parts = job->n % PARTS ? 1 : PARTS;
    uint64_t count = job->op == GX_COSETS                                     ? job->n / parts
                     : job->op == GX_GATHER                                   ? job->n
                     : job->op == GX_ROTATE                                   ? job->n / 3
                     : job->op == GX_INTERLEAVE || job->op == GX_DEINTERLEAVE ? parts
                                                                              : 0;
    params->poly = (gx_poly_params){.struct_size = sizeof params->poly, .count = count};
    job->params = count ? &params->poly : NULL;
}

static uint32_t modulus_bits(gx_field field)
{
    const gx_field_info *info = gx_field_get_info(field);
    return 64 * info->limbs - (uint32_t)__builtin_clzll(info->modulus[info->limbs - 1]);
}

void job_set_params(gx_job *job, const job_arrays *d, job_params *params)
{
    if (job->op == GX_NTT) {
        params->ntt = (gx_ntt_params){
            .struct_size = sizeof params->ntt, .domain = d->domain, .log2_n = log2_of(job->n)};
        job->params = &params->ntt;
    } else if (job->op == GX_MSM) {
        params->msm = (gx_msm_params){.struct_size = sizeof params->msm,
                                      .points = d->points,
                                      .count = job->n,
                                      .scalar_bits = modulus_bits(job->field),
                                      .result_form = GX_POINT_XY_MONT};
        job->params = &params->msm;
    } else {
        set_count(job, params);
    }
}

static bool is_wanted(uint32_t ops, gx_op op, gx_field field)
{
    return ops >> op & 1 && gx_op_exists(op, field);
}

bool job_extras_make(job_arrays *d, gx_ctx *ctx, uint32_t ops, size_t n)
{
    if (is_wanted(ops, GX_GATHER, d->field)) {
        d->indices = data_alloc(n * sizeof *d->indices);
        if (!d->indices)
            return false;
        make_indices(d->indices, n);
    }
    const gx_domain_params desc = {.struct_size = sizeof desc,
                                   .field = d->field,
                                   .log2_size = log2_of(job_size(GX_NTT, d->field, n))};
    if (is_wanted(ops, GX_NTT, d->field) && gx_domain_create(ctx, &desc, &d->domain) != GX_OK)
        return false;
    if (is_wanted(ops, GX_MSM, d->field))
        d->points = job_points(ctx, job_curve(d->field, 0), n);
    return !is_wanted(ops, GX_MSM, d->field) || d->points;
}

bool job_arrays_make(job_arrays *d, gx_ctx *ctx, gx_field field, uint32_t ops, size_t n,
                     uint64_t seed)
{
    size_t bytes = n * gx_field_get_info(field)->element_bytes;
    unsigned operands = 0;
    *d = (job_arrays){.field = field};
    for (gx_op o = 1; gx_op_get_info(o); o++)
        if (is_wanted(ops, o, field) && gx_op_get_info(o)->operands > operands)
            operands = gx_op_get_info(o)->operands;
    for (unsigned k = 0; k < operands; k++) {
        d->operand[k] = data_alloc(bytes);
        if (!d->operand[k])
            return false;
        data_random(field, d->operand[k], n, seed + k);
    }
    d->result = data_alloc(bytes + POINT_BYTES_MAX);
    return d->result && job_extras_make(d, ctx, ops, n);
}

void job_arrays_free(job_arrays *d)
{
    for (unsigned k = 0; k < 3; k++)
        data_free(d->operand[k]);
    data_free(d->result);
    data_free(d->indices);
    gx_domain_destroy(&d->domain);
    gx_points_destroy(&d->points);
    *d = (job_arrays){0};
}

gx_job job_make(const job_arrays *d, gx_op op, size_t n, job_params *params)
{
    const gx_op_info *info = gx_op_get_info(op);
    gx_job job = {.op = op, .field = d->field, .n = job_size(op, d->field, n)};
    job.a = gx_host(d->operand[0]);
    if (info->operands > 1)
        job.b = gx_host(op == GX_GATHER ? (const void *)d->indices : d->operand[1]);
    if (info->operands > 2)
        job.c = gx_host(d->operand[2]);
    job.out = gx_host(d->result);
    if (info->params)
        job_set_params(&job, d, params);
    return job;
}

gx_status job_buffers_make(job_buffers *r, gx_ctx *ctx, const char *device, const gx_job *host,
                           gx_job *job)
{
    const gx_operand from[3] = {host->a, host->b, host->c};
    gx_operand *const to[3] = {&job->a, &job->b, &job->c};
    *r = (job_buffers){0};
    gx_status status = gx_buf_create(ctx, device, gx_operand_bytes(host, 'o'), 0, &r->result);
    *job = *host;
    for (unsigned k = 0; k < 3 && status == GX_OK; k++) {
        size_t bytes = gx_operand_bytes(host, (char)('a' + k));
        if (!bytes)
            continue;
        status = gx_buf_create(ctx, device, bytes, 0, &r->operand[k]);
        if (status == GX_OK)
            status = gx_buf_write(r->operand[k], 0, from[k].host, bytes);
        *to[k] = gx_dev(r->operand[k], 0);
    }
    job->out = gx_dev(r->result, 0);
    return status;
}

void job_buffers_free(job_buffers *r)
{
    for (unsigned k = 0; k < 3; k++)
        gx_buf_destroy(&r->operand[k]);
    gx_buf_destroy(&r->result);
}
