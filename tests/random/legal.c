/* SPDX-License-Identifier: Apache-2.0
 *
 * What the header allows: the sizes of operands, and a program without what is forbidden or would
 * take too long. Generator, parser and shrinking all pass through here.
 */
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "random/program.h"

enum { A, B, C, OUT };

static int is_elementwise(const struct rnd_job *job)
{
    return job->op <= GX_FROM_MONT || job->op == RND_REGISTERED;
}

static int is_reduction(const struct rnd_job *job)
{
    return job->op == GX_SUM || job->op == GX_DOT;
}

static int is_g2(uint64_t curve)
{
    return curve == GX_BLS12_381_G2 || curve == GX_BN254_G2;
}

static int is_bls(uint64_t curve)
{
    return curve == GX_BLS12_381_G1 || curve == GX_BLS12_381_G2;
}

void rnd_set_name(char name[48], const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    int length = vsnprintf(name, 48, format, arguments);
    va_end(arguments);
    if (length >= 0 && length < 48)
        return;
    fprintf(stderr, "test-random: the name of a device is too long: '%s...'\n", name);
    exit(2);
}

size_t rnd_split(const char *list, char names[RND_LIST][48])
{
    size_t count = 0;
    while (*list && count < RND_LIST) {
        size_t length = strcspn(list, ",");
        rnd_set_name(names[count], "%.*s", (int)length, list);
        count += length > 0;
        list += length + (list[length] == ',');
    }
    return count;
}

/* ---- sizes ---- */

size_t rnd_point_bytes(uint64_t curve, uint64_t form)
{
    size_t element = is_bls(curve) ? 48 : 32, degree = is_g2(curve) ? 2 : 1;
    switch (form) {
    case GX_POINT_XY_MONT:
    case GX_POINT_XY_PLAIN:
        return 2 * degree * element;
    case GX_POINT_JACOBIAN_MONT:
        return 3 * degree * element;
    case GX_POINT_COMPRESSED:
        return is_bls(curve) ? degree * element : 0;
    case GX_POINT_UNCOMPRESSED:
        return is_bls(curve) ? 2 * degree * element : 0;
    case GX_POINT_EIP2537:
        return is_bls(curve) ? 2 * degree * 64 : 0;
    default:
        return 0;
    }
}

unsigned rnd_operand_count(const struct rnd_job *job)
{
    switch (job->op) {
    case GX_ADD:
    case GX_SUB:
    case GX_MUL:
    case GX_DIV:
    case GX_DOT:
    case GX_COSETS:
    case GX_EVALUATE:
    case GX_DIVIDE_LINEAR:
    case GX_GATHER:
    case RND_REGISTERED:
        return 2;
    case GX_MUL_ADD:
        return 3;
    default:
        return 1;
    }
}

int rnd_is_one(const struct rnd_job *job, unsigned operand)
{
    switch (job->op) {
    case GX_SUM:
    case GX_DOT:
        return operand == OUT;
    case GX_POWERS:
        return operand == A;
    case GX_COSETS:
        return operand == A || operand == B;
    case GX_EVALUATE:
        return operand == B || operand == OUT;
    case GX_DIVIDE_LINEAR:
        return operand == B;
    default:
        return 0;
    }
}

size_t rnd_batch(const struct rnd_job *job)
{
    if (job->op == GX_NTT)
        return job->n >> job->log2_n;
    return job->count ? job->n / job->count : 1;
}

size_t rnd_elements(const struct rnd_job *job, unsigned operand)
{
    if (operand != OUT && operand >= rnd_operand_count(job))
        return 0;
    if (operand != OUT && job->n == 0) /* whatever it would be */
        return 0;
    if (rnd_is_one(job, operand) || (operand != OUT && job->operand[operand].broadcast))
        return 1;
    if (job->op == GX_NTT && operand == A)
        return job->n >> job->log2_pad;
    if (job->op == GX_GATHER && operand == A)
        return job->count;
    if (job->op == GX_MSM && operand == OUT)
        return rnd_batch(job);
    return job->n;
}

size_t rnd_element_bytes(const struct rnd_job *job, unsigned operand)
{
    if (job->op == GX_GATHER && operand == B)
        return 4;
    if (job->op == GX_MSM && operand == OUT)
        return rnd_point_bytes(job->points.curve, job->result_form);
    return job->field >= GX_U32 ? 4 : job->field == GX_BLS12_381_FQ ? 48 : 32;
}

size_t rnd_bytes(const struct rnd_job *job, unsigned operand)
{
    return rnd_elements(job, operand) * rnd_element_bytes(job, operand);
}

struct rnd_place rnd_place(const struct rnd_call *call, unsigned job, unsigned operand)
{
    struct rnd_place place = {job, operand, 0};
    const struct rnd_operand *at;
    while ((at = &call->job[place.job].operand[place.operand])->memory == MEM_SAME) {
        place.offset += at->offset;
        place.job = (unsigned)at->job;
        place.operand = (unsigned)at->of;
    }
    return place;
}

/* ---- one job ---- */

static void at_most(uint64_t *value, uint64_t limit)
{
    if (*value > limit)
        *value = limit;
}

static void below(uint64_t *value, uint64_t limit)
{
    if (*value >= limit)
        *value %= limit;
}

static uint64_t power_of_two(uint64_t n)
{
    uint64_t power = 1;
    while (2 * power <= n)
        power *= 2;
    return power;
}

static void fix_ntt(struct rnd_job *job)
{
    at_most(&job->log2_n, 12);
    at_most(&job->log2_pad, job->log2_n);
    at_most(&job->domain, 8);
    below(&job->root, DOM_ONE);
    below(&job->shift, DOM_END);
    job->ntt_flags &= 31;
    at_most(&job->n, 16384);
    job->n = job->n >> job->log2_n << job->log2_n;
}

/* The largest divisor of n that is not above the count. */
static void make_divisor(struct rnd_job *job)
{
    at_most(&job->count, job->n);
    if (job->count == 0)
        job->count = 1;
    while (job->n % job->count)
        job->count--;
}

static void fix_poly(struct rnd_job *job)
{
    if (job->op == GX_BIT_REVERSE || (job->op == GX_EVALUATE && job->reversed))
        job->n = power_of_two(job->n);
    if (job->op == GX_EVALUATE && job->n == 0)
        job->n = 1;
    if (job->op == GX_COSETS || job->op == GX_INTERLEAVE || job->op == GX_DEINTERLEAVE)
        make_divisor(job);
    if (job->op == GX_GATHER) {
        at_most(&job->count, 40000);
        if (job->count == 0 && job->n > 0)
            job->count = 1;
    }
    if (job->op != GX_EVALUATE)
        job->reversed = 0;
}

static void fix_points(struct rnd_points_spec *points)
{
    points->curve = points->curve ? (points->curve - 1) % GX_BN254_G2 + 1 : 1;
    at_most(&points->count, is_g2(points->curve) ? 600 : 2000);
    below(&points->form, GX_POINT_JACOBIAN_MONT + 1);
    if (!rnd_point_bytes(points->curve, points->form))
        points->form = GX_POINT_XY_MONT;
    below(&points->read, GX_POINT_JACOBIAN_MONT + 1);
    if (!rnd_point_bytes(points->curve, points->read))
        points->read = 0;
    at_most(&points->check, GX_CHECK_NONE);
    at_most(&points->gap, 64);
    below(&points->values, VAL_END);
    below(&points->bad, BAD_END);
    points->flag = points->flag && !points->bad && points->form <= GX_POINT_XY_PLAIN;
    if (points->count == 0)
        points->bad = 0;
    if (points->bad)
        below(&points->bad_index, points->count);
    else
        points->bad_index = 0;
    if (points->bad == BAD_OFF_CURVE && points->form == GX_POINT_COMPRESSED)
        points->bad = BAD_ENCODING;
    if (points->bad == BAD_ENCODING &&
        (points->form < GX_POINT_COMPRESSED || points->form > GX_POINT_EIP2537))
        points->bad = BAD_NOT_CANONICAL;
    if (points->bad == BAD_OFF_CURVE)
        points->check = GX_CHECK_CURVE;
    points->outside = points->outside != 0;
    points->buffer = points->buffer != 0;
}

static void fix_msm(struct rnd_job *job)
{
    struct rnd_points_spec *points = &job->points;
    fix_points(points);
    job->field = is_bls(points->curve) ? GX_BLS12_381_FR : GX_BN254_FR;
    at_most(&job->first, points->count);
    at_most(&job->count, points->count - job->first);
    at_most(&job->n, is_g2(points->curve) ? 2000 : 6000);
    uint64_t batch = job->count ? job->n / job->count : 0;
    at_most(&batch, is_g2(points->curve) ? 5 : 20);
    job->n = job->count * (batch ? batch : 1);
    below(&job->scalar_form, 2);
    at_most(&job->scalar_bits, 256);
    if (job->scalar_form == GX_SCALAR_MONT)
        job->scalar_bits = 0;
    below(&job->result_form, GX_POINT_JACOBIAN_MONT + 1);
    if (!rnd_point_bytes(points->curve, job->result_form))
        job->result_form = GX_POINT_XY_MONT;
}

/* Parameters that the operation does not have are 0. */
static void clear_unused(struct rnd_job *job)
{
    static const struct rnd_points_spec no_points;
    int count = job->op == GX_COSETS || job->op == GX_GATHER || job->op == GX_ROTATE ||
                job->op == GX_INTERLEAVE || job->op == GX_DEINTERLEAVE || job->op == GX_MSM;
    if (!count)
        job->count = 0;
    if (job->op != GX_MSM) {
        job->points = no_points;
        job->first = job->scalar_form = job->scalar_bits = job->result_form = 0;
    }
    if (job->op != GX_NTT)
        job->log2_n = job->log2_pad = job->ntt_flags = job->domain = job->root = job->shift =
            job->domain_seed = 0;
}

static void fix_parameters(struct rnd_job *job)
{
    if (job->op == 0 || job->op > RND_REGISTERED)
        job->op = GX_ADD;
    if (job->op == RND_REGISTERED)
        job->field = GX_U32;
    else if (!gx_op_exists((gx_op)job->op, (gx_field)job->field))
        job->field = GX_BLS12_381_FR;
    clear_unused(job);
    at_most(&job->n, job->op == GX_INV || job->op == GX_DIV ? 10000 : 40000);
    if (job->op == GX_NTT)
        fix_ntt(job);
    else if (job->op == GX_MSM)
        fix_msm(job);
    else
        fix_poly(job);
}

/* ---- operands ---- */

static void fix_memory(struct rnd_operand *operand)
{
    if (operand->memory == MEM_BUFFER || operand->memory == MEM_MAPPABLE ||
        operand->memory == MEM_SAME)
        operand->offset &= ~(uint64_t)15;
    else
        operand->device = 0;
    at_most(&operand->offset, operand->memory == MEM_SAME ? 4096 : 256);
    if (operand->memory != MEM_SAME)
        operand->job = operand->of = 0;
}

static void make_own(struct rnd_operand *operand)
{
    operand->memory = MEM_HOST;
    operand->offset = operand->job = operand->of = 0;
}

/* An earlier operand that exists. */
static void fix_same(struct rnd_call *call, unsigned j, unsigned i)
{
    struct rnd_operand *operand = &call->job[j].operand[i];
    uint64_t job = operand->job, of = operand->of;
    if (operand->memory != MEM_SAME)
        return;
    int exists = of < RND_OPERANDS && job <= j && (job < j || of < i) &&
                 (of == OUT || of < rnd_operand_count(&call->job[job < j ? job : j]));
    if (!exists)
        make_own(operand);
}

static void fix_operand(struct rnd_call *call, unsigned j, unsigned i)
{
    static const struct rnd_operand none;
    struct rnd_job *job = &call->job[j];
    struct rnd_operand *operand = &job->operand[i];
    if (i != OUT && i >= rnd_operand_count(job)) {
        *operand = none;
        return;
    }
    below(&operand->memory, MEM_END);
    below(&operand->values, VAL_END);
    operand->tight = operand->tight != 0;
    operand->broadcast = operand->broadcast != 0;
    if (i == OUT || (!is_elementwise(job) && !is_reduction(job) && !rnd_is_one(job, i)))
        operand->broadcast = 0;
    if (i == OUT || (job->op == GX_MSM && job->scalar_form == GX_SCALAR_PLAIN) ||
        !rnd_elements(job, i) || (job->field >= GX_U32))
        operand->bad = 0;
    if (operand->bad)
        operand->bad = (operand->bad - 1) % rnd_elements(job, i) + 1;
    fix_memory(operand);
    fix_same(call, j, i);
    if (operand->memory == MEM_SAME)
        operand->values = operand->seed = operand->bad = operand->tight = operand->device = 0;
}

/* out is an operand, or overlaps none. */
static int may_share(const struct rnd_call *call, unsigned j, unsigned i)
{
    const struct rnd_job *job = &call->job[j];
    struct rnd_place in = rnd_place(call, j, i), out = rnd_place(call, j, OUT);
    size_t in_bytes = rnd_bytes(job, i), out_bytes = rnd_bytes(job, OUT);
    if (in.job != out.job || in.operand != out.operand || in.offset + in_bytes <= out.offset ||
        out.offset + out_bytes <= in.offset)
        return 1;
    if (!is_elementwise(job) && (job->op != GX_NTT || job->log2_pad))
        return 0;
    if (job->op == GX_NTT && in_bytes != out_bytes)
        return 0;
    return in.offset == out.offset && (!job->operand[i].broadcast || job->n == 1);
}

static void fix_overlap(struct rnd_call *call, unsigned j)
{
    for (unsigned i = 0; i < rnd_operand_count(&call->job[j]); i++)
        if (!may_share(call, j, i))
            make_own(&call->job[j].operand[OUT]);
}

/* ---- calls and contexts ---- */

static int is_device(const char *name)
{
    return *name && !strchr(name, ',');
}

int rnd_names_gpu(const char *devices)
{
    return strstr(devices, "vulkan") || strstr(devices, "webgpu") || strstr(devices, "cuda");
}

int rnd_names_liar(const char *devices)
{
    return strstr(devices, "corrupt") || strstr(devices, "zero");
}

/* Only the host has the function. */
static void limit_registered(const struct rnd_context *context, const struct rnd_call *call,
                             struct rnd_job *job)
{
    if (job->op == RND_REGISTERED &&
        (!context->device[0] || rnd_names_gpu(context->device) || rnd_names_gpu(call->device)))
        job->op = GX_ADD;
}

/* Work on GPUs, and in software drivers, must not consist of thousands of dispatches. */
static void limit_pieces(const struct rnd_context *context, struct rnd_job *job)
{
    uint64_t piece = context->dispatch_elems;
    if (context->chunk_elems && (!piece || context->chunk_elems < piece))
        piece = context->chunk_elems;
    int cpu = context->device[0] && !rnd_names_gpu(context->device);
    if (piece)
        at_most(&job->n, piece * (cpu ? 3000 : 60));
}

/* The reference device takes a thousand times as long. */
static void limit_reference(const struct rnd_context *context, const struct rnd_call *call,
                            struct rnd_job *job)
{
    if (!strstr(context->device, "ref") && !strstr(call->device, "ref"))
        return;
    at_most(&job->n, job->op == GX_MSM ? 40 : 700);
    at_most(&job->count, job->op == GX_MSM ? 40 : UINT64_MAX);
    at_most(&job->log2_n, 8);
}

static void fix_call(const struct rnd_context *context, struct rnd_call *call)
{
    at_most(&call->njobs, RND_JOBS);
    below(&call->how, HOW_END);
    below(&call->wait, WAIT_END);
    below(&call->cancel, CANCEL_END);
    below(&call->thread, 4);
    below(&call->path, GX_PATH_DIRECT);
    below(&call->mode, GX_MODE_PIPELINED + 1);
    below(&call->policy, GX_POLICY_THROUGHPUT + 1);
    call->estimate = call->estimate != 0;
    call->no_reports = call->no_reports != 0;
    if (call->how == HOW_RUN)
        call->wait = call->cancel = 0;
    if (!is_device(call->device))
        call->device[0] = 0;
    for (unsigned j = 0; j < call->njobs; j++) {
        limit_registered(context, call, &call->job[j]);
        fix_parameters(&call->job[j]);
        limit_pieces(context, &call->job[j]);
        limit_reference(context, call, &call->job[j]);
        fix_parameters(&call->job[j]);
        for (unsigned i = 0; i < RND_OPERANDS; i++)
            fix_operand(call, j, i);
        fix_overlap(call, j);
    }
}

static void fix_context(struct rnd_context *context)
{
    at_most(&context->ncalls, RND_CALLS);
    below(&context->policy, GX_POLICY_THROUGHPUT + 1);
    below(&context->path, GX_PATH_DIRECT);
    below(&context->mode, GX_MODE_PIPELINED + 1);
    at_most(&context->threads, 8);
    if (context->fail_alloc)
        context->counted = 1;
    context->counted = context->counted != 0;
    /* A device that lies is found only by those who look. */
    if (rnd_names_liar(context->device))
        context->sample_every = 1;
    for (unsigned i = 0; i < context->ncalls; i++) {
        if (rnd_names_liar(context->call[i].device))
            context->sample_every = 1;
        fix_call(context, &context->call[i]);
    }
}

void rnd_legalise(struct rnd_program *program)
{
    at_most(&program->ncontexts, RND_CONTEXTS);
    for (unsigned i = 0; i < program->ncontexts; i++)
        fix_context(&program->context[i]);
}
