/* SPDX-License-Identifier: Apache-2.0
 *
 * Probes (health.h). A device must pass them before it is used again after a failure, and now and
 * then while its results stay in buffers, where they are not verified.
 */
#include "route/health.h"

#include <string.h>

#include "base/alloc.h"
#include "base/float_env.h"
#include "base/log.h"
#include "compose/compose.h"
#include "exec/plan.h"
#include "exec/tables.h"
#include "op/traits.h"

#define ELEMENT_BYTES (GX_LIMBS_MAX * sizeof(uint64_t))

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

/* Gives a task, which has its operation, field, n and parameters, random operands. */
static void set_operands(struct gx_sampler *sampler, char *memory, struct gx_task *job)
{
    gx__task_complete(job);
    for (unsigned i = 0; i < job->operands; i++) {
        job->operand[GX_A + i] = gx__at_host(probe_operand(memory, job->n, i));
        fill(sampler, job->field, probe_operand(memory, job->n, i), job->n);
    }
    job->out = gx__at_host(memory);
}

static gx_status run(struct gx_engine *engine, const struct gx_task *job, struct gx_outcome *report,
                     struct gx_error *error)
{
    struct gx_batch batch = {.jobs = job, .count = 1, .reports = report, .uncounted = true};
    *report = (struct gx_outcome){0};
    gx_status s = gx__compose_run(engine, &batch);
    if (s != GX_OK && s != GX_ERR_NOT_CANONICAL) /* the caller sets the message for that */
        *error = batch.error;
    return s;
}

static gx_status differs(struct gx_error *error, const struct gx_task *job, uint64_t index)
{
    return gx__refuse(error, GX_ERR_DEVICE, "%s of %s: element %llu of %zu is wrong or refused",
                      gx_op_get_info(job->op)->name, gx_field_get_info(job->field)->name,
                      (unsigned long long)index, job->n);
}

/* like: with the operation, field, n and parameters. */
static gx_status probe(struct gx_engine *engine, struct gx_sampler *sampler,
                       const struct gx_task *like, struct gx_error *error)
{
    const gx_allocator *allocator = &engine->instance->config.allocator;
    char *memory = gx__alloc(allocator, GX_OPERANDS * like->n * ELEMENT_BYTES);
    struct gx_task job = *like;
    struct gx_outcome report;
    uint64_t wrong;
    if (!memory)
        return gx__refuse(error, GX_ERR_OUT_OF_MEMORY, "no memory for a probe");
    set_operands(sampler, memory, &job);
    gx_status s = run(engine, &job, &report, error);
    if (s == GX_ERR_NOT_CANONICAL) /* all operands are canonical */
        s = differs(error, &job, report.bad_index);
    else if (s == GX_OK && !gx__results_right(sampler, &job, memory, job.n, &wrong))
        s = differs(error, &job, wrong);
    gx__free(allocator, memory);
    return s;
}

gx_status gx__probe_like(struct gx_engine *engine, struct gx_sampler *sampler,
                         const struct gx_task *like, struct gx_error *error)
{
    struct gx_task job;
    gx__op_traits(like->op)->probe(like, &job);
    return job.n ? probe(engine, sampler, &job, error) : GX_OK;
}

/* ---- self-test ---- */

/* A device may lack what needs a domain or points. */
static bool lacks(struct gx_engine *engine, const struct gx_task *job)
{
    struct gx_error error;
    return gx__op_has_params(job->op) &&
           gx__engine_ready(engine, job, &error) == GX_ERR_UNSUPPORTED;
}

static gx_status test_class(struct gx_engine *engine, struct gx_sampler *sampler, gx_op op,
                            gx_field field, uint32_t size_class, uint64_t n, struct gx_error *error)
{
    struct gx_fixture fixture = {.instance = engine->instance, .test = true};
    struct gx_task job;
    gx_status s = gx__fixture_set(&fixture, op, field, size_class, n, &job, error);
    if (s == GX_OK && !lacks(engine, &job))
        s = probe(engine, sampler, &job, error);
    if (fixture.id)
        gx__tables_drop(engine, fixture.id);
    gx__fixture_free(&fixture);
    return s;
}

/* The device must find an element that is not canonical, and its index. */
static gx_status probe_check(struct gx_engine *engine, struct gx_sampler *sampler, gx_field field,
                             struct gx_error *error)
{
    enum { N = 64, BAD = 37 };
    uint64_t memory[GX_OPERANDS * N * GX_LIMBS_MAX];
    struct gx_outcome report;
    struct gx_task job = {.op = gx__plain_op, .field = field, .n = N};
    set_operands(sampler, (char *)memory, &job);
    memcpy(probe_operand((char *)memory, N, 1) + BAD * gx__element_bytes(field),
           gx__prime(field)->p, gx__element_bytes(field));
    gx_status s = run(engine, &job, &report, error);
    if (s == GX_ERR_NOT_CANONICAL && report.bad_index == BAD && report.bad_operand == 'b')
        return GX_OK;
    if (s != GX_OK && s != GX_ERR_NOT_CANONICAL)
        return s;
    return gx__refuse(error, GX_ERR_DEVICE, "%s: an element that is not canonical was not found",
                      gx_field_get_info(field)->name);
}

/* All size classes of an operation that a self-test needs. */
static gx_status test_op(struct gx_engine *engine, struct gx_sampler *sampler, gx_op op,
                         gx_field field, struct gx_error *error)
{
    uint64_t n;
    uint32_t size_class;
    gx_status s = GX_OK;
    for (uint32_t i = 0; s == GX_OK; i++) {
        n = gx__op_traits(op)->tested(engine->instance, field, i, &size_class);
        if (!n)
            break;
        s = test_class(engine, sampler, op, field, size_class, n, error);
    }
    return s;
}

gx_status gx__self_test(struct gx_engine *engine, struct gx_error *error)
{
    struct gx_sampler sampler = {.seed = 1};
    struct gx_float_env caller;
    gx_status s = GX_OK;
    uint32_t none;
    gx__float_env_default(&caller);
    for (gx_field field = 1; field < GX_FIELD_END && s == GX_OK; field++) {
        for (size_t i = 0; i < gx__standard_op_count && s == GX_OK; i++)
            s = test_op(engine, &sampler, gx__standard_ops[i], field, error);
        if (s == GX_OK && gx__op_traits(gx__plain_op)->tested(engine->instance, field, 0, &none))
            s = probe_check(engine, &sampler, field, error);
    }
    gx__float_env_restore(&caller);
    return s;
}
