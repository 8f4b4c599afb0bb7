/* SPDX-License-Identifier: Apache-2.0
 *
 * Samples are gathered into blocks that the portable kernels compute at once, so that a
 * sample of inverses costs one inversion a block. The elements of a job to be looked at are
 * spread over all of it, one at random in each of as many equal parts.
 */
#include "route/trust.h"

#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/float_env.h"
#include "exec/plan.h"
#include "field/host.h"

#define BLOCK         64u
#define ELEMENT_BYTES (GX_LIMBS_MAX * sizeof(uint64_t))

/* Elements of each job of the self-test. */
#define SELF_TEST_ELEMS 256u

/* splitmix64: any seed is as good as any other. */
static uint64_t next_random(struct gx_sampler *sampler)
{
    uint64_t z = sampler->seed += 0x9e3779b97f4a7c15u;
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
    z = (z ^ z >> 27) * 0x94d049bb133111ebu;
    return z ^ z >> 31;
}

uint64_t gx__sample_size(struct gx_sampler *sampler, uint64_t n, uint64_t every, bool trusted)
{
    uint64_t all = sampler->rest + n, count = all / every;
    sampler->rest = all % every;
    if (!trusted && count < GX_SAMPLE_MIN)
        count = GX_SAMPLE_MIN;
    return count < n ? count : n;
}

/* ---- computing again ---- */

/* The operands of some elements of a job, and what comes of them. */
struct block {
    const gx_job *job;
    size_t element; /* bytes */
    struct gx_host_table table;
    size_t count;
    uint64_t index[BLOCK];
    uint64_t operand[3][BLOCK * GX_LIMBS_MAX], result[BLOCK * GX_LIMBS_MAX];
    _Alignas(64) unsigned char scratch[BLOCK * GX_INV_SCRATCH_PER_ELEMENT];
};

static void block_start(struct block *block, const gx_job *job)
{
    block->job = job;
    block->element = gx__element_bytes(job->field);
    block->count = 0;
    block->table = (struct gx_host_table){0}; /* not gx__host_table: asking the CPU what it is
                                                 takes longer than all of this */
    gx__host_fill_portable(&block->table);
}

static void block_add(struct block *block, uint64_t index)
{
    for (int i = GX_A; i <= (int)gx_op_get_info(block->job->op)->operands; i++) {
        const gx_operand *o = gx__operand(block->job, i);
        if (!o->broadcast)
            memcpy((char *)block->operand[i - GX_A] + block->count * block->element,
                   (const char *)o->host + index * block->element, block->element);
    }
    block->index[block->count++] = index;
}

/* The operands of the job where they are broadcast or not gathered, else the gathered ones. */
static struct gx_host_args arguments(const gx_job *job, struct block *block)
{
    struct gx_host_args args = {.n = (size_t)job->n};
    const void **at[] = {&args.a, &args.b, &args.c};
    for (unsigned i = 0; i < gx_op_get_info(job->op)->operands; i++) {
        const gx_operand *o = gx__operand(job, GX_A + (int)i);
        *at[i] = o->broadcast || !block ? o->host : block->operand[i];
        args.broadcast |= o->broadcast ? 1u << i : 0;
    }
    return args;
}

static void compute(struct block *block)
{
    const gx_job *job = block->job;
    const struct gx_prime *prime = gx__prime(job->field);
    struct gx_host_args args = arguments(job, block);
    fenv_t caller;
    args.n = block->count;
    args.out = block->result;
    args.scratch = block->scratch;
    gx__host_lower(job->op, prime, &args);
    gx__float_env_default(&caller); /* f32: results may not depend on the caller's rounding */
    block->table.fn[job->field][gx__host_kernel(job->op)](prime, &args);
    gx__float_env_restore(&caller);
}

/* The first of the block that differs; its count where none does. */
static size_t first_wrong(struct block *block, const void *results)
{
    compute(block);
    for (size_t i = 0; i < block->count; i++)
        if (memcmp((char *)block->result + i * block->element,
                   (const char *)results + block->index[i] * block->element, block->element))
            return i;
    return block->count;
}

/* A result of operands that were said to be below the modulus, and are not, means nothing. */
static bool excused(const gx_job *job)
{
    const struct gx_prime *prime = gx__prime(job->field);
    if (!prime || !(job->flags & GX_JOB_TRUSTED))
        return false;
    struct gx_host_args args = arguments(job, NULL);
    unsigned operands = (1u << gx_op_get_info(job->op)->operands) - 1;
    return gx__first_bad_args(prime, &args, operands, 0, job->n) != GX_NONE_BAD;
}

bool gx__results_right(struct gx_sampler *sampler, const gx_job *job, const void *results,
                       uint64_t count, uint64_t *wrong)
{
    struct block block;
    if (!count)
        return true;
    uint64_t part = job->n / count, longer = job->n % count, from = 0;
    block_start(&block, job);
    for (uint64_t i = 0; i < count; i++) {
        uint64_t n = part + (i < longer);
        block_add(&block, from + next_random(sampler) % n);
        from += n;
        if (block.count < BLOCK && i + 1 < count)
            continue;
        size_t at = first_wrong(&block, results);
        if (at < block.count) {
            *wrong = block.index[at];
            return excused(job);
        }
        block.count = 0;
    }
    return true;
}

bool gx__refusal_right(const gx_job *job, uint64_t index, char operand)
{
    const struct gx_prime *prime = gx__prime(job->field);
    int which = GX_A + (operand - 'a');
    if (!prime || index >= job->n || which < GX_A || which > (int)gx_op_get_info(job->op)->operands)
        return false;
    const gx_operand *o = gx__operand(job, which);
    const char *element = (const char *)o->host;
    element += o->broadcast ? 0 : index * gx__element_bytes(job->field);
    return gx__first_bad(prime, element, 1, false) == 0;
}

/* ---- probes ---- */

/* Random elements that are canonical, as their top limb is below that of the modulus; the
 * first one is 0. */
static void fill(struct gx_sampler *sampler, gx_field field, void *memory, size_t n)
{
    const struct gx_prime *prime = gx__prime(field);
    size_t limbs = prime ? prime->limbs : 1, bytes = gx__element_bytes(field);
    for (size_t i = 0; i < n; i++) {
        uint64_t element[GX_LIMBS_MAX] = {0};
        for (size_t k = 0; i && k < limbs; k++)
            element[k] = next_random(sampler);
        if (prime)
            element[limbs - 1] %= prime->p[limbs - 1];
        memcpy((char *)memory + i * bytes, element, bytes);
    }
}

/* A job over memory of its own. */
static gx_job probe_job(struct gx_sampler *sampler, gx_op op, gx_field field, size_t n,
                        char *memory)
{
    gx_job job = {.op = op, .field = field, .n = n};
    gx_operand *const inputs[] = {&job.a, &job.b, &job.c};
    for (unsigned i = 0; i < gx_op_get_info(op)->operands; i++) {
        *inputs[i] = gx_host(memory + (i + 1) * n * ELEMENT_BYTES);
        fill(sampler, field, inputs[i]->host, n);
    }
    job.out = gx_host(memory);
    return job;
}

static gx_status run(struct gx_engine *engine, const gx_job *job, gx_report *report, char *message,
                     size_t message_size)
{
    struct gx_batch batch = {.jobs = job, .count = 1, .reports = report, .uncounted = true};
    *report = (gx_report){0};
    gx_status s = gx__engine_run(engine, &batch);
    if (s != GX_OK && s != GX_ERR_NOT_CANONICAL) /* which is for the caller to judge */
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

gx_status gx__probe(struct gx_engine *engine, struct gx_sampler *sampler, gx_op op, gx_field field,
                    size_t n, char *message, size_t message_size)
{
    const gx_allocator *allocator = &engine->instance->config.allocator;
    char *memory = gx__alloc(allocator, GX_OPERANDS * n * ELEMENT_BYTES);
    gx_report report;
    uint64_t wrong;
    if (!memory) {
        snprintf(message, message_size, "no memory for a probe");
        return GX_ERR_OUT_OF_MEMORY;
    }
    gx_job job = probe_job(sampler, op, field, n, memory);
    gx_status s = run(engine, &job, &report, message, message_size);
    if (s == GX_ERR_NOT_CANONICAL) /* it is not so */
        s = differs(message, message_size, &job, report.bad_index);
    else if (s == GX_OK && !gx__results_right(sampler, &job, memory, n, &wrong))
        s = differs(message, message_size, &job, wrong);
    gx__free(allocator, memory);
    return s;
}

/* An element that is not canonical has to be found where it is. */
static gx_status probe_check(struct gx_engine *engine, struct gx_sampler *sampler, gx_field field,
                             char *message, size_t message_size)
{
    enum { N = 64, BAD = 37 };
    uint64_t memory[GX_OPERANDS * N * GX_LIMBS_MAX];
    gx_report report;
    gx_job job = probe_job(sampler, GX_MUL, field, N, (char *)memory);
    memcpy((char *)job.b.host + BAD * gx__element_bytes(field), gx__prime(field)->p,
           gx__element_bytes(field));
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
        if (s == GX_OK)
            s = probe_check(engine, &sampler, fields[f], message, message_size);
    }
    return s;
}
