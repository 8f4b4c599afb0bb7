/* SPDX-License-Identifier: Apache-2.0
 *
 * A program from a seed. Small sizes and edges are the most likely, everything is possible; legal.c
 * makes it one that the header allows.
 */
#include <string.h>

#include "random/program.h"

uint64_t rnd_next(uint64_t *state)
{
    uint64_t z = *state += 0x9e3779b97f4a7c15u;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
}

uint64_t rnd_below(uint64_t *state, uint64_t limit)
{
    return limit ? rnd_next(state) % limit : 0;
}

/* True once in so many times. */
static int once_in(uint64_t *state, uint64_t times)
{
    return rnd_below(state, times) == 0;
}

#define ONE_OF(state, array) ((array)[rnd_below(state, sizeof(array) / sizeof *(array))])

static uint64_t near_power(uint64_t *state, uint64_t bits)
{
    uint64_t size = ((uint64_t)1 << rnd_below(state, bits + 1)) + rnd_below(state, 3);
    return size - 1;
}

static uint64_t choose_size(uint64_t *state, const struct rnd_context *context)
{
    static const uint64_t primes[] = {3, 7, 31, 61, 127, 251, 509, 1021, 2039, 4093};
    uint64_t piece = context->dispatch_elems ? context->dispatch_elems : context->chunk_elems;
    if (context->device_memory && once_in(state, 3)) /* more than the smaller budgets hold */
        return rnd_below(state, 16384);
    switch (rnd_below(state, 20)) {
    case 0:
        return rnd_below(state, 4);
    case 1:
    case 2:
        return near_power(state, 12);
    case 3:
        return ONE_OF(state, primes);
    case 4:
    case 5:
    case 6:
        if (piece)
            return piece * rnd_below(state, 9) + rnd_below(state, 5);
        return rnd_below(state, 600);
    case 7:
    case 8:
        return rnd_below(state, 3000);
    case 9:
        return rnd_below(state, 12000);
    case 10:
        return once_in(state, 4) ? rnd_below(state, 40000) : rnd_below(state, 300);
    default:
        return 1 + rnd_below(state, 80);
    }
}

/* ---- devices ---- */

static void choose_device(uint64_t *state, const struct rnd_options *options, char name[48]);

static void choose_fault(uint64_t *state, const struct rnd_options *options, char name[48])
{
    static const char *const what[] = {"fail", "oom", "lose", "hang", "corrupt", "zero"};
    static const uint64_t calls[] = {1, 2, 3, 5, 8, 12, 20, 40, 100, 1000000};
    char inner[48];
    do
        choose_device(state, options, inner);
    while (strncmp(inner, "fault", 5) == 0);
    uint64_t at = ONE_OF(state, calls) + rnd_below(state, 4);
    rnd_set_name(name, "fault:%s@%u:%s", ONE_OF(state, what), (unsigned)at, inner);
}

static void choose_sim(uint64_t *state, char name[48])
{
    static const char *const machines[] = {"desktop",       "laptop-integrated", "server-h200",
                                           "gpu-of-four#1", "gpu-of-four#2",     "cpu-2-cores"};
    rnd_set_name(name, "sim:%s", ONE_OF(state, machines));
}

static void choose_device(uint64_t *state, const struct rnd_options *options, char name[48])
{
    const char *device = options->devices[rnd_below(state, options->ndevices)];
    if (strcmp(device, "fault") == 0)
        choose_fault(state, options, name);
    else if (strcmp(device, "sim") == 0)
        choose_sim(state, name);
    else if (strcmp(device, "auto") == 0)
        strcpy(name, "cpu");
    else
        rnd_set_name(name, "%s", device);
}

static void choose_list(uint64_t *state, const struct rnd_options *options, struct rnd_context *to)
{
    char name[48];
    for (size_t i = 0; i < options->ndevices; i++)
        if (strcmp(options->devices[i], "auto") == 0 && once_in(state, 10))
            return;
    for (uint64_t left = once_in(state, 2) ? 1 : 2 + rnd_below(state, 3); left > 0; left--) {
        choose_device(state, options, name);
        if (strstr(to->device, name))
            continue;
        if (to->device[0])
            strcat(to->device, ",");
        strcat(to->device, name);
    }
}

/* ---- jobs ---- */

static void choose_operand(uint64_t *state, struct rnd_operand *operand)
{
    static const uint64_t memory[] = {MEM_HOST,   MEM_HOST,   MEM_HOST,   MEM_REGISTERED,
                                      MEM_PARTLY, MEM_BUFFER, MEM_BUFFER, MEM_MAPPABLE};
    static const uint64_t values[] = {VAL_ZERO,   VAL_ONE,    VAL_SMALL,  VAL_EDGES, VAL_EDGES,
                                      VAL_RANDOM, VAL_RANDOM, VAL_RANDOM, VAL_SPARSE};
    operand->memory = ONE_OF(state, memory);
    operand->offset = once_in(state, 2) ? rnd_below(state, 65) : 0;
    operand->tight = rnd_below(state, 2);
    operand->broadcast = once_in(state, 8);
    operand->values = ONE_OF(state, values);
    operand->seed = rnd_below(state, 1000000);
    operand->bad = once_in(state, 60) ? 1 + rnd_below(state, 4000) : 0;
    operand->device = rnd_below(state, 4);
}

/* Any operand of an earlier job of the same field, or of this one. */
static void choose_same(uint64_t *state, const struct rnd_call *call, unsigned j, unsigned i)
{
    struct rnd_operand *operand = (struct rnd_operand *)&call->job[j].operand[i];
    uint64_t other = rnd_below(state, j + 1);
    if (call->job[other].field != call->job[j].field || call->job[other].op == GX_MSM ||
        call->job[other].op == GX_GATHER)
        return;
    operand->memory = MEM_SAME;
    operand->job = other;
    operand->of = other < j && once_in(state, 2) ? 3 : rnd_below(state, 4);
    operand->offset = once_in(state, 4) ? 16 * rnd_below(state, 64) : 0;
}

static void choose_points(uint64_t *state, struct rnd_points_spec *points)
{
    points->curve = 1 + rnd_below(state, GX_BN254_G2);
    points->count = once_in(state, 8)   ? rnd_below(state, 2000)
                    : once_in(state, 4) ? rnd_below(state, 5)
                                        : rnd_below(state, 120);
    points->form = 1 + rnd_below(state, GX_POINT_JACOBIAN_MONT);
    points->check = rnd_below(state, 3);
    points->gap = once_in(state, 4) ? rnd_below(state, 40) : 0;
    points->flag = once_in(state, 5);
    points->table_bytes = once_in(state, 3) ? (uint64_t)1 << (10 + rnd_below(state, 14)) : 0;
    points->values = rnd_below(state, VAL_END);
    points->seed = rnd_below(state, 1000000);
    points->outside = points->check != GX_CHECK_SUBGROUP ? once_in(state, 3) : once_in(state, 20);
    points->bad = once_in(state, 16) ? 1 + rnd_below(state, BAD_END - 1) : 0;
    points->bad_index = rnd_below(state, 100);
    points->buffer = once_in(state, 6);
    points->offset = 4 * rnd_below(state, 16);
    points->read = once_in(state, 3) ? 1 + rnd_below(state, GX_POINT_JACOBIAN_MONT) : 0;
}

static void choose_msm(uint64_t *state, struct rnd_job *job)
{
    static const uint64_t bits[] = {0, 0, 256, 255, 128, 64, 63, 33, 32, 16, 8, 2, 1};
    choose_points(state, &job->points);
    job->first = once_in(state, 3) ? rnd_below(state, job->points.count + 1) : 0;
    job->count = once_in(state, 3) ? rnd_below(state, job->points.count + 1) : job->points.count;
    job->n = job->count * (once_in(state, 3) ? 1 + rnd_below(state, 12) : 1);
    if (once_in(state, 6)) { /* multiples of one point */
        job->count = 1;
        job->n = rnd_below(state, 60);
    }
    job->scalar_form = rnd_below(state, 2);
    job->scalar_bits = once_in(state, 8) ? rnd_below(state, 257) : ONE_OF(state, bits);
    job->result_form = 1 + rnd_below(state, GX_POINT_JACOBIAN_MONT);
}

static void choose_ntt(uint64_t *state, const struct rnd_context *context, struct rnd_job *job)
{
    job->log2_n = once_in(state, 4) ? rnd_below(state, 13) : rnd_below(state, 9);
    uint64_t piece = context->dispatch_elems >> job->log2_n;
    if (piece && once_in(state, 2)) /* the last piece is short */
        job->n = (piece * rnd_below(state, 4) + rnd_below(state, piece < 10 ? piece : 10))
                 << job->log2_n;
    else
        job->n += (uint64_t)rnd_below(state, 40) << job->log2_n;
    job->log2_pad = once_in(state, 4) ? rnd_below(state, job->log2_n + 1) : 0;
    job->ntt_flags = rnd_below(state, 32);
    job->domain = once_in(state, 4) ? rnd_below(state, 8) : 0;
    job->root = once_in(state, 4);
    job->shift = once_in(state, 2) ? rnd_below(state, DOM_END) : 0;
    job->domain_seed = rnd_below(state, 1000);
}

static void choose_job(uint64_t *state, const struct rnd_context *context, struct rnd_call *call,
                       unsigned j)
{
    struct rnd_job *job = &call->job[j];
    uint64_t kind = rnd_below(state, 10);
    job->op = kind < 3 ? GX_NTT : kind < 5 ? GX_MSM : 1 + rnd_below(state, GX_INTERLEAVE + 1);
    job->field = j > 0 && once_in(state, 2) ? call->job[j - 1].field : 1 + rnd_below(state, GX_F32);
    if (job->op < GX_NTT && once_in(state, 16))
        job->op = RND_REGISTERED;
    else if (!gx_op_exists((gx_op)job->op, (gx_field)job->field))
        job->field = once_in(state, 2) ? GX_BLS12_381_FR : GX_BN254_FR;
    job->n = choose_size(state, context);
    job->trusted = once_in(state, 6);
    job->count = once_in(state, 20) ? rnd_next(state) : choose_size(state, context);
    job->reversed = rnd_below(state, 2);
    if (job->op == GX_NTT)
        choose_ntt(state, context, job);
    if (job->op == GX_MSM)
        choose_msm(state, job);
    if (job->op == GX_MSM && j > 0 && call->job[j - 1].op == GX_MSM)
        job->points = call->job[j - 1].points;
    for (unsigned i = 0; i < RND_OPERANDS; i++) {
        choose_operand(state, &job->operand[i]);
        if (once_in(state, 4))
            choose_same(state, call, j, i);
    }
}

/* Operands all of one kind are the rule for many callers. */
static void make_uniform(uint64_t *state, struct rnd_call *call)
{
    static const uint64_t memory[] = {MEM_HOST, MEM_HOST, MEM_REGISTERED, MEM_BUFFER};
    uint64_t kind = ONE_OF(state, memory), device = rnd_below(state, 4);
    for (unsigned j = 0; j < call->njobs; j++)
        for (unsigned i = 0; i < RND_OPERANDS; i++)
            if (call->job[j].operand[i].memory != MEM_SAME) {
                call->job[j].operand[i].memory = kind;
                call->job[j].operand[i].device = device;
            }
}

/* ---- calls and contexts ---- */

static void choose_call(uint64_t *state, const struct rnd_options *options,
                        const struct rnd_context *context, struct rnd_call *call)
{
    char names[RND_LIST][48];
    size_t count = rnd_split(context->device, names);
    call->how = rnd_below(state, 2);
    int named = options->named || (!options->routed && once_in(state, 2));
    if (named && count && !once_in(state, 6))
        rnd_set_name(call->device, "%s", names[rnd_below(state, count)]);
    else if (named)
        choose_device(state, options, call->device);
    call->path = once_in(state, 3) ? rnd_below(state, 3) : 0;
    call->mode = once_in(state, 3) ? rnd_below(state, 4) : 0;
    call->policy = once_in(state, 3) ? rnd_below(state, 4) : 0;
    call->thread = once_in(state, 3) ? rnd_below(state, 4) : 0;
    call->wait = rnd_below(state, WAIT_END);
    call->cancel = once_in(state, 5) ? rnd_below(state, CANCEL_END) : 0;
    call->estimate = once_in(state, 8);
    call->no_reports = once_in(state, 10);
    call->njobs = once_in(state, 3) ? 1 + rnd_below(state, RND_JOBS) : 1;
    for (unsigned j = 0; j < call->njobs; j++)
        choose_job(state, context, call, j);
    if (once_in(state, 2))
        make_uniform(state, call);
}

static void choose_cpumask(uint64_t *state, struct rnd_context *context)
{
    uint32_t tiers = 0;
    while (gx_tier_name(tiers))
        tiers++;
    if (once_in(state, 3))
        return;
    snprintf(context->cpumask, sizeof context->cpumask, "%s",
             gx_tier_name((uint32_t)rnd_below(state, tiers)));
}

static uint64_t choose_limit(uint64_t *state)
{
    switch (rnd_below(state, 6)) {
    case 0:
        return 1 + rnd_below(state, 70);
    case 1:
        return 1 + near_power(state, 12);
    case 2:
    case 3:
        return 1 + rnd_below(state, 5000);
    default:
        return 0;
    }
}

static void choose_context(uint64_t *state, const struct rnd_options *options,
                           struct rnd_context *context)
{
    static const uint64_t samples[] = {0, 0, 1, 1, 2, 7, 1000};
    choose_list(state, options, context);
    choose_cpumask(state, context);
    context->policy = once_in(state, 2) ? rnd_below(state, 4) : 0;
    context->path = once_in(state, 2) ? rnd_below(state, 3) : 0;
    context->mode = once_in(state, 2) ? rnd_below(state, 4) : 0;
    context->sample_every = ONE_OF(state, samples);
    context->threads = rnd_below(state, 5);
    context->dispatch_elems = choose_limit(state);
    context->chunk_elems = once_in(state, 2) ? choose_limit(state) : 0;
    context->device_memory = once_in(state, 4) ? (uint64_t)65536 << rnd_below(state, 10) : 0;
    context->queue_jobs = once_in(state, 3) ? 1 + rnd_below(state, 8) : 0;
    context->counted = rnd_below(state, 2);
    context->fail_alloc = once_in(state, 20) ? 1 + rnd_below(state, 200) : 0;
    context->ncalls = 1 + rnd_below(state, RND_CALLS);
    for (unsigned i = 0; i < context->ncalls; i++)
        choose_call(state, options, context, &context->call[i]);
}

void rnd_generate(uint64_t seed, const struct rnd_options *options, struct rnd_program *program)
{
    uint64_t state = seed;
    state = rnd_next(&state); /* next to each other, seeds would give the same numbers later */
    memset(program, 0, sizeof *program);
    program->ncontexts = once_in(&state, 5) ? 2 : 1;
    for (unsigned i = 0; i < program->ncontexts; i++)
        choose_context(&state, options, &program->context[i]);
    rnd_legalise(program);
}
