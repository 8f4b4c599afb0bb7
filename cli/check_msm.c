/* SPDX-License-Identifier: Apache-2.0
 *
 * Checks of multi-scalar multiplications (check.h).
 */
#include <string.h>

#include "check.h"
#include "jobs.h"

/* Points of a job that the reference computes, which takes a millisecond for each, and of a large
 * one, unless more are asked for. */
enum { SMALL_POINTS = 16, LARGE_POINTS = 4096, BATCH_MAX = 3, SCALAR_BYTES = 32, FEW_BITS = 70 };

typedef struct checking {
    gx_ctx *ctx;
    const char *device;
    const check_data *data;
    gx_curve curve;
    check_result *result;
} checking;

static size_t batch_of(const gx_job *job)
{
    const gx_msm_params *params = job->params;
    return params->count ? job->n / params->count : 1;
}

static void compare(check_result *result, gx_curve curve, const gx_job *job,
                    const unsigned char *expected)
{
    size_t batch = batch_of(job), bytes = gx_operand_bytes(job, 'o') / batch;
    if (check_compare(result, job, 0, batch, bytes, expected, job->out.host)) {
        result->compared += job->n;
        return;
    }
    result->curve = gx_curve_get_info(curve)->name;
    result->n = batch;
}

/* ---- by the multiples ---- */

/* The sum of products of the scalars and the multiples, plain: the product in Montgomery form of
 * plain numbers lacks a factor R. */
static gx_status add_up(const checking *c, const gx_job *job, const unsigned char *multiples,
                        unsigned char sum[SCALAR_BYTES])
{
    gx_job step = {.op = GX_DOT,
                   .field = job->field,
                   .n = job->n,
                   .a = job->a,
                   .b = gx_host(multiples),
                   .out = gx_host(sum)};
    gx_status s = job_run(c->ctx, "cpu", &step, &c->result->report);
    step = (gx_job){.op = GX_TO_MONT, .field = job->field, .n = 1, .a = step.out, .out = step.out};
    return s == GX_OK ? job_run(c->ctx, "cpu", &step, &c->result->report) : s;
}

/* One sum of the first of job_points, with plain scalars below the modulus. */
static gx_status compare_sum(const checking *c, const gx_job *job)
{
    const gx_msm_params *params = job->params;
    unsigned char sum[SCALAR_BYTES], expected[POINT_BYTES_MAX];
    unsigned char *multiples = data_alloc(job->n * SCALAR_BYTES);
    gx_status s = multiples ? GX_OK : GX_ERR_OUT_OF_MEMORY;
    if (s == GX_OK) {
        job_multiples(job->field, multiples, job->n);
        s = add_up(c, job, multiples, sum);
    }
    if (s == GX_OK)
        s = job_multiply(c->ctx, c->curve, sum, 1, params->result_form, expected);
    if (s == GX_OK)
        compare(c->result, c->curve, job, expected);
    else
        c->result->report.status = s;
    data_free(multiples);
    return s;
}

gx_status check_msm(gx_ctx *ctx, gx_curve curve, const gx_job *job, check_result *result)
{
    const checking c = {.ctx = ctx, .curve = curve, .result = result};
    return compare_sum(&c, job);
}

/* ---- all shapes ---- */

static gx_status run_device(const checking *c, const gx_job *job)
{
    memset(job->out.host, 0xa5, gx_operand_bytes(job, 'o'));
    return job_run(c->ctx, c->device, job, &c->result->report);
}

static gx_status check_small(const checking *c, const gx_job *job)
{
    unsigned char expected[BATCH_MAX * POINT_BYTES_MAX] = {0};
    gx_job reference = *job;
    reference.out = gx_host(expected);
    gx_status s = job_run(c->ctx, "ref", &reference, &c->result->report);
    if (s == GX_OK)
        s = run_device(c, job);
    if (s == GX_OK)
        compare(c->result, c->curve, job, expected);
    return s;
}

/* Every form of results, with both forms of scalars, several sums, few bits, and no points. */
static gx_status check_forms(const checking *c, const gx_points *points)
{
    size_t count = gx_points_count(points);
    gx_status s = GX_OK;
    for (gx_point_form form = 1; check_goes_on(s, c->result) && form <= GX_POINT_JACOBIAN_MONT;
         form++) {
        size_t batch = form % BATCH_MAX + 1;
        gx_msm_params params = {.struct_size = sizeof params,
                                .points = points,
                                .count = form == GX_POINT_XY_PLAIN ? 0 : count,
                                .scalar_form = form % 2 ? GX_SCALAR_MONT : GX_SCALAR_PLAIN,
                                .scalar_bits = form == GX_POINT_JACOBIAN_MONT ? FEW_BITS : 0,
                                .result_form = form};
        if (batch * count > c->data->n * c->data->repeats)
            batch = 1;
        if (!gx_point_bytes(c->curve, form))
            continue;
        const gx_job job =
            gx_msm(&params, batch, gx_host(c->data->operand[0]), gx_host(c->data->got));
        s = check_small(c, &job);
    }
    return s;
}

/* The points are multiples by edge values too: infinity, and several that are equal or opposite. */
static gx_status check_small_jobs(const checking *c)
{
    size_t count = c->data->n < SMALL_POINTS ? c->data->n : SMALL_POINTS;
    unsigned char scalars[SMALL_POINTS * SCALAR_BYTES], made[SMALL_POINTS * POINT_BYTES_MAX];
    const gx_points_params desc = {.struct_size = sizeof desc,
                                   .curve = c->curve,
                                   .form = GX_POINT_XY_MONT,
                                   .points = made,
                                   .count = count};
    gx_points *points = NULL;
    data_mixed(c->data->field, scalars, count, c->data->seed, 2);
    gx_status s = job_multiply(c->ctx, c->curve, scalars, count, GX_POINT_XY_MONT, made);
    if (s == GX_OK)
        s = gx_points_create(c->ctx, &desc, &points, NULL);
    if (s != GX_OK)
        c->result->report.status = s;
    else
        s = check_forms(c, points);
    gx_points_destroy(&points);
    return s;
}

static gx_status check_large_job(const checking *c)
{
    size_t most = c->data->n * c->data->repeats, n = c->data->n;
    n = n > LARGE_POINTS ? n : most < LARGE_POINTS ? most : LARGE_POINTS;
    job_arrays arrays = {.field = c->data->field,
                         .operand = {c->data->operand[0]},
                         .result = c->data->got,
                         .points = job_points(c->ctx, c->curve, n)};
    job_params params;
    const gx_job job = job_make(&arrays, GX_MSM, n, &params);
    if (!arrays.points)
        return c->result->report.status = GX_ERR_OUT_OF_MEMORY;
    gx_status s = run_device(c, &job);
    if (s == GX_OK)
        s = compare_sum(c, &job);
    gx_points_destroy(&arrays.points);
    return s;
}

gx_status check_msm_op(gx_ctx *ctx, const char *device, const check_data *d, check_result *result)
{
    checking c = {.ctx = ctx, .device = device, .data = d, .result = result};
    gx_status s = GX_OK;
    *result = (check_result){0};
    for (c.curve = job_curve(d->field, 0); c.curve && check_goes_on(s, result);
         c.curve = job_curve(d->field, c.curve)) {
        s = check_small_jobs(&c);
        if (check_goes_on(s, result))
            s = check_large_job(&c);
    }
    return s;
}
