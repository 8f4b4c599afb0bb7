/* SPDX-License-Identifier: Apache-2.0
 *
 * Probes (probe.h). A device must pass them before it is used again after a failure, and now and
 * then while its results stay in buffers, where they are not verified.
 */
#include "route/probe.h"

#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "exec/plan.h"
#include "exec/tables.h"
#include "op/msm.h"
#include "op/params.h"

#define ELEMENT_BYTES (GX_LIMBS_MAX * sizeof(uint64_t))

/* Elements, and points, per probe of the self-test. */
#define SELF_TEST_ELEMS  256u
#define SELF_TEST_POINTS 64u

/* Random elements, canonical because their top limb is below that of the modulus. The first is 0.
 */
static void fill(struct gx_sampler *sampler, gx_field field, void *memory, size_t n)
{
    const struct gx_prime *prime = gx__prime(field);
    size_t limbs = prime ? prime->limbs : 1, bytes = gx__element_bytes(field);
    for (size_t i = 0; i < n; i++) {
        uint64_t element[GX_LIMBS_MAX] = {0};
        for (size_t k = 0; i && k < limbs; k++)
            element[k] = gx__sampler_random(sampler);
        if (prime)
            element[limbs - 1] %= prime->p[limbs - 1];
        memcpy((char *)memory + i * bytes, element, bytes);
    }
}

/* The memory of operand i; that of the results comes first. */
static char *probe_operand(char *memory, size_t n, unsigned i)
{
    return memory + (i + 1) * n * ELEMENT_BYTES;
}

/* A job with random operands. */
static gx_job probe_job(struct gx_sampler *sampler, gx_op op, gx_field field, size_t n,
                        char *memory)
{
    gx_job job = {.op = op, .field = field, .n = n};
    gx_operand *const inputs[] = {&job.a, &job.b, &job.c};
    for (unsigned i = 0; i < GX_OPERANDS - 1 && i < gx__op_operands(op); i++) {
        *inputs[i] = gx_host(probe_operand(memory, n, i));
        fill(sampler, field, probe_operand(memory, n, i), n);
    }
    job.out = gx_host(memory);
    return job;
}

static gx_status run(struct gx_engine *engine, const gx_job *job, struct gx_outcome *report,
                     char *message, size_t message_size)
{
    struct gx_batch batch = {.jobs = job, .count = 1, .reports = report, .uncounted = true};
    *report = (struct gx_outcome){0};
    gx_status s = gx__engine_run(engine, &batch);
    if (s != GX_OK && s != GX_ERR_NOT_CANONICAL) /* the caller sets the message for that */
        snprintf(message, message_size, "%s", batch.message);
    return s;
}

static gx_status differs(char *message, size_t message_size, const gx_job *job, uint64_t index)
{
    snprintf(message, message_size, "%s of %s: element %llu of %zu is wrong or refused",
             gx_op_get_info(job->op)->name, gx_field_get_info(job->field)->name,
             (unsigned long long)index, job->n);
    return GX_ERR_DEVICE;
}

/* params: of the job. */
static gx_status probe(struct gx_engine *engine, struct gx_sampler *sampler, gx_op op,
                       gx_field field, size_t n, const void *params, char *message,
                       size_t message_size)
{
    const gx_allocator *allocator = &engine->instance->config.allocator;
    char *memory = gx__alloc(allocator, GX_OPERANDS * n * ELEMENT_BYTES);
    struct gx_outcome report;
    uint64_t wrong;
    if (!memory) {
        snprintf(message, message_size, "no memory for a probe");
        return GX_ERR_OUT_OF_MEMORY;
    }
    gx_job job = probe_job(sampler, op, field, n, memory);
    job.params = params;
    gx_status s = run(engine, &job, &report, message, message_size);
    if (s == GX_ERR_NOT_CANONICAL) /* all operands are canonical */
        s = differs(message, message_size, &job, report.bad_index);
    else if (s == GX_OK && !gx__results_right(sampler, &job, memory, n, &wrong))
        s = differs(message, message_size, &job, wrong);
    gx__free(allocator, memory);
    return s;
}

gx_status gx__probe(struct gx_engine *engine, struct gx_sampler *sampler, gx_op op, gx_field field,
                    size_t n, char *message, size_t message_size)
{
    return probe(engine, sampler, op, field, n, NULL, message, message_size);
}

gx_status gx__probe_transform(struct gx_engine *engine, struct gx_sampler *sampler,
                              const gx_job *like, char *message, size_t message_size)
{
    gx_ntt_params params = gx__ntt_params(like);
    params.struct_size = sizeof params;
    params.log2_n = params.log2_n < GX_PROBE_LOG2 ? params.log2_n : GX_PROBE_LOG2;
    params.log2_pad = 0;
    params.flags &= ~GX_NTT_COLUMNS;
    return probe(engine, sampler, GX_NTT, like->field, (size_t)1 << params.log2_n, &params, message,
                 message_size);
}

/* One of a domain of its own. */
static gx_status probe_domain(struct gx_engine *engine, struct gx_sampler *sampler, gx_field field,
                              char *message, size_t message_size)
{
    struct gx_domain domain;
    const gx_domain_desc desc = {
        .struct_size = sizeof desc, .field = field, .log2_size = GX_PROBE_LOG2};
    gx_status s = gx__domain_set(&domain, engine->instance, &desc, message, message_size);
    const gx_ntt_params params = {.struct_size = sizeof params,
                                  .domain = &domain,
                                  .log2_n = GX_PROBE_LOG2,
                                  .flags = GX_NTT_COSET};
    const gx_job like = {.op = GX_NTT, .field = field, .params = &params};
    if (s != GX_OK || gx__engine_ready(engine, &like, message, message_size) == GX_ERR_UNSUPPORTED)
        return s;
    s = gx__probe_transform(engine, sampler, &like, message, message_size);
    gx__tables_drop(engine, domain.id);
    return s;
}

/* Sums of the first points of a job, as small ones. */
gx_status gx__probe_msm(struct gx_engine *engine, struct gx_sampler *sampler, const gx_job *like,
                        char *message, size_t message_size)
{
    gx_msm_params params = gx__msm_params(like);
    params.struct_size = sizeof params;
    params.count = params.count < GX_PROBE_POINTS ? params.count : GX_PROBE_POINTS;
    params.scalar_form = GX_SCALAR_MONT; /* random ones */
    params.scalar_bits = 0;
    return params.count < GX_PROBE_POINTS_MIN ? GX_OK
                                              : probe(engine, sampler, GX_MSM, like->field,
                                                      params.count, &params, message, message_size);
}

/* Multiples of the generator by random numbers. */
static gx_status make_points(struct gx_engine *engine, struct gx_sampler *sampler,
                             struct gx_points *points)
{
    uint64_t scalars[SELF_TEST_POINTS * GX_SCALAR_LIMBS];
    for (size_t i = 0; i < SELF_TEST_POINTS * GX_SCALAR_LIMBS; i++)
        scalars[i] = gx__sampler_random(sampler);
    const gx_multiply_desc desc = {.curve = points->curve->curve,
                                   .form = GX_POINT_XY_MONT,
                                   .scalar_form = GX_SCALAR_PLAIN,
                                   .scalars = scalars,
                                   .count = SELF_TEST_POINTS,
                                   .out = points->xy};
    return gx__points_multiply(engine->instance, &desc, points->curve->generator);
}

/* A sum of points of its own; of a curve that the device does not have, none. */
static gx_status probe_curve(struct gx_engine *engine, struct gx_sampler *sampler,
                             const struct gx_curve_row *curve, char *message, size_t message_size)
{
    uint64_t xy[SELF_TEST_POINTS * 2 * GX_COORD_LIMBS];
    struct gx_points points = {.instance = engine->instance,
                               .id = gx__table_id(),
                               .curve = curve,
                               .count = SELF_TEST_POINTS,
                               .xy = xy};
    const gx_msm_params params = {.struct_size = sizeof params,
                                  .points = &points,
                                  .count = SELF_TEST_POINTS,
                                  .result_form = GX_POINT_XY_MONT};
    const gx_job like = {
        .op = GX_MSM, .field = curve->info.scalar_field, .n = SELF_TEST_POINTS, .params = &params};
    if (gx__engine_ready(engine, &like, message, message_size) == GX_ERR_UNSUPPORTED)
        return GX_OK;
    if (make_points(engine, sampler, &points) != GX_OK) {
        snprintf(message, message_size, "no memory for a probe");
        return GX_ERR_OUT_OF_MEMORY;
    }
    gx_status s = gx__probe_msm(engine, sampler, &like, message, message_size);
    gx__tables_drop(engine, points.id);
    return s;
}

/* The device must find an element that is not canonical, and its index. */
static gx_status probe_check(struct gx_engine *engine, struct gx_sampler *sampler, gx_field field,
                             char *message, size_t message_size)
{
    enum { N = 64, BAD = 37 };
    uint64_t memory[GX_OPERANDS * N * GX_LIMBS_MAX];
    struct gx_outcome report;
    gx_job job = probe_job(sampler, GX_MUL, field, N, (char *)memory);
    memcpy(probe_operand((char *)memory, N, 1) + BAD * gx__element_bytes(field),
           gx__prime(field)->p, gx__element_bytes(field));
    gx_status s = run(engine, &job, &report, message, message_size);
    if (s == GX_ERR_NOT_CANONICAL && report.bad_index == BAD && report.bad_operand == 'b')
        return GX_OK;
    if (s != GX_OK && s != GX_ERR_NOT_CANONICAL)
        return s;
    snprintf(message, message_size, "%s: an element that is not canonical was not found",
             gx_field_get_info(field)->name);
    return GX_ERR_DEVICE;
}

gx_status gx__self_test(struct gx_engine *engine, char *message, size_t message_size)
{
    static const gx_field fields[] = {GX_BLS12_381_FQ, GX_BN254_FR};
    static const gx_op ops[] = {GX_ADD, GX_MUL, GX_INV};
    struct gx_sampler sampler = {.seed = 1};
    gx_status s = GX_OK;
    for (size_t f = 0; f < sizeof fields / sizeof *fields && s == GX_OK; f++) {
        for (size_t o = 0; o < sizeof ops / sizeof *ops && s == GX_OK; o++)
            s = gx__probe(engine, &sampler, ops[o], fields[f], SELF_TEST_ELEMS, message,
                          message_size);
        if (s == GX_OK && gx_op_exists(GX_NTT, fields[f]))
            s = probe_domain(engine, &sampler, fields[f], message, message_size);
        if (s == GX_OK)
            s = probe_check(engine, &sampler, fields[f], message, message_size);
    }
    uint32_t curves = atomic_load(&engine->instance->curves);
    for (gx_curve c = 1; c < GX_CURVE_END && s == GX_OK; c++)
        if (curves >> c & 1) /* compiling kernels of others would take seconds */
            s = probe_curve(engine, &sampler, gx__curve(c), message, message_size);
    return s;
}
