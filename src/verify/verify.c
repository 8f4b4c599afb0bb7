/* SPDX-License-Identifier: Apache-2.0
 *
 * Samples are gathered into blocks that the portable kernels compute at once; inverses and
 * quotients are not recomputed but multiplied back. A sample is spread over the whole job: the job
 * is divided into equal stretches, and each contributes an element at a random place, or in large
 * samples a run of neighbours, because each new place is a cache miss.
 */
#include "verify/verify.h"

#include <pthread.h>
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/float_env.h"
#include "base/log.h"
#include "base/threads.h"
#include "field/sum.h"
#include "verify/parts.h"

#define BLOCK         64u
#define RUN           16u  /* neighbours compared together, */
#define RUNS_FROM     64u  /* in samples of at least this many */
#define PART_ELEMS    256u /* of a large sample, which one thread compares */
#define ELEMENT_BYTES (GX_LIMBS_MAX * sizeof(uint64_t))

#define GOLDEN 0x9e3779b97f4a7c15u

/* splitmix64: any seed is as good as any other, and any number of its sequence can be had
 * without those before. */
static uint64_t mix(uint64_t z)
{
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
    z = (z ^ z >> 27) * 0x94d049bb133111ebu;
    return z ^ z >> 31;
}

uint64_t gx__sampler_random(struct gx_sampler *sampler)
{
    return mix(sampler->seed += GOLDEN);
}

enum gx_sampling gx__sampling(gx_op op)
{
    switch (gx__op_verifier(op)) {
    case GX_VERIFY_TRANSFORM:
        return GX_SAMPLES_UNITS;
    case GX_VERIFY_MSM:
        return GX_SAMPLES_JOBS;
    default:
        return GX_SAMPLES_ELEMENTS;
    }
}

uint64_t gx__sample_size(struct gx_sampler *sampler, const struct gx_task *job, uint64_t every,
                         bool trusted)
{
    uint64_t n = job->n;
    if (gx__op_verifier(job->op) == GX_VERIFY_NOT || job->empty)
        return 0;
    if (gx__op_verifier(job->op) == GX_VERIFY_TRANSFORM)
        return gx__transforms_sample(sampler, job, every, trusted);
    if (gx__op_verifier(job->op) == GX_VERIFY_MSM)
        return gx__msm_sample(sampler, job, every, trusted);
    if (gx__op_verifier(job->op) == GX_VERIFY_WHOLE || job->op == GX_EVALUATE) {
        bool look = gx__sampler_random(sampler) % every == 0 || (!trusted && n <= GX_WHOLE_ELEMS);
        return look ? (n ? n : 1) : 0;
    }
    uint64_t all = sampler->rest + n, count = all / every;
    sampler->rest = all % every;
    if (!trusted && count < GX_SAMPLE_MIN)
        count = GX_SAMPLE_MIN;
    return count < n ? count : n;
}

uint64_t gx__sample_most(uint64_t ns, uint64_t element_ps)
{
    uint64_t affordable = ns < UINT64_MAX / 1000 ? ns * 1000 / GX_TRUST_COST : UINT64_MAX / 2;
    return element_ps ? GX_SAMPLE_FREE + affordable / element_ps : UINT64_MAX;
}

/* ---- computing again ---- */

/* The operands of some elements of a job, what the device made of them, and what we do. */
struct block {
    const struct gx_task *job;
    const void *results; /* NULL: none to compare with */
    size_t element;      /* bytes */
    struct gx_host_table table;
    size_t count;
    uint64_t index[BLOCK];
    uint64_t operand[3][BLOCK * GX_LIMBS_MAX], claimed[BLOCK * GX_LIMBS_MAX];
    uint64_t result[BLOCK * GX_LIMBS_MAX];
    _Alignas(64) unsigned char scratch[BLOCK * GX_INV_SCRATCH_PER_ELEMENT];
};

static void block_start(struct block *block, const struct gx_task *job, const void *results)
{
    block->job = job;
    block->results = results;
    block->element = gx__element_bytes(job->field);
    block->count = 0;
    block->table = (struct gx_host_table){0}; /* not gx__host_table: asking the CPU what it is
                                                 takes longer than all of this */
    gx__host_fill_portable(&block->table);
}

static void gather(const struct block *block, void *to, const void *from, uint64_t first, size_t n)
{
    memcpy((char *)to + block->count * block->element, (const char *)from + first * block->element,
           n * block->element);
}

/* n elements from `first` on, for which there is room. */
static void block_add(struct block *block, uint64_t first, size_t n)
{
    for (int i = GX_A; i <= block->job->operands; i++) {
        if (!(block->job->broadcast >> i & 1))
            gather(block, block->operand[i - GX_A], block->job->operand[i].host, first, n);
    }
    if (block->results)
        gather(block, block->claimed, block->results, first, n);
    for (size_t i = 0; i < n; i++)
        block->index[block->count++] = first + i;
}

/* The operands of the job where they are broadcast or not gathered, else the gathered ones. */
static struct gx_host_args arguments(const struct gx_task *job, struct block *block)
{
    struct gx_host_args args = {.n = job->n, .broadcast = job->broadcast >> GX_A};
    const void **at[] = {&args.a, &args.b, &args.c};
    for (unsigned i = 0; i < GX_OPERANDS - 1 && i < job->operands; i++) {
        bool one = args.broadcast >> i & 1;
        *at[i] = one || !block ? job->operand[GX_A + i].host : block->operand[i];
    }
    return args;
}

static void call_kernel(struct block *block, enum gx_host_kernel kernel, struct gx_host_args *args)
{
    struct gx_float_env caller;
    args->n = block->count;
    args->out = block->result;
    args->scratch = block->scratch;
    gx__float_env_default(&caller); /* f32: results may not depend on the caller's rounding */
    block->table.fn[block->job->field][kernel](gx__prime(block->job->field), args);
    gx__float_env_restore(&caller);
}

static const char *element_of(const struct block *block, const void *elements, size_t i)
{
    return (const char *)elements + i * block->element;
}

/* The first of the block that differs; its count where none does. */
static size_t first_different(struct block *block)
{
    const struct gx_task *job = block->job;
    struct gx_host_args args = arguments(job, block);
    gx__host_lower(job->op, gx__prime(job->field), &args);
    call_kernel(block, gx__op_rows[job->op].host, &args);
    for (size_t i = 0; i < block->count; i++)
        if (memcmp(element_of(block, block->result, i), element_of(block, block->claimed, i),
                   block->element))
            return i;
    return block->count;
}

/* A quotient is right where it is canonical, and times the divisor is what was divided; by 0
 * it is 0. This is much cheaper than dividing. */
static size_t first_no_quotient(struct block *block)
{
    static const uint64_t zero[GX_LIMBS_MAX];
    const struct gx_prime *prime = gx__prime(block->job->field);
    struct gx_host_args of = arguments(block->job, block);
    bool inverse = block->job->op == GX_INV;
    const void *divisor = inverse ? of.a : of.b, *divided = inverse ? prime->one : of.a;
    bool one_divisor = of.broadcast & (inverse ? GX_BROADCAST_A : GX_BROADCAST_B);
    bool one_divided = inverse || of.broadcast & GX_BROADCAST_A;
    struct gx_host_args product = {
        .a = divisor, .b = block->claimed, .broadcast = one_divisor ? GX_BROADCAST_A : 0};
    call_kernel(block, GX_HOST_MUL, &product);
    size_t end = gx__first_bad(prime, block->claimed, block->count, false);
    end = end == GX_NONE_BAD ? block->count : end;
    for (size_t i = 0; i < end; i++) {
        bool by_zero =
            !memcmp(element_of(block, divisor, one_divisor ? 0 : i), zero, block->element);
        const char *is = element_of(block, by_zero ? block->claimed : block->result, i);
        const char *want =
            by_zero ? (const char *)zero : element_of(block, divided, one_divided ? 0 : i);
        if (memcmp(is, want, block->element))
            return i;
    }
    return end;
}

/* The first of n elements with an operand that is not canonical; n where there is none. */
static size_t first_bad(const struct gx_task *job, const struct gx_host_args *args, size_t n)
{
    const struct gx_prime *prime = gx__prime(job->field);
    unsigned operands = (1u << job->operands) - 1;
    size_t bad = prime ? gx__first_bad_args(prime, args, operands, 0, n) : GX_NONE_BAD;
    return bad == GX_NONE_BAD ? n : bad;
}

/* The first of the block with an operand that the device had to refuse; its count where there is
 * none. */
static size_t first_unrefused(struct block *block)
{
    struct gx_host_args args = arguments(block->job, block);
    return block->job->trusted ? block->count : first_bad(block->job, &args, block->count);
}

static size_t first_wrong(struct block *block)
{
    bool quotient = gx__op_verifier(block->job->op) == GX_VERIFY_MULTIPLY;
    size_t unrefused = first_unrefused(block);
    size_t wrong = quotient ? first_no_quotient(block) : first_different(block);
    return unrefused < wrong ? unrefused : wrong;
}

static bool has_bad(const struct gx_task *job)
{
    struct gx_host_args args = arguments(job, NULL);
    return first_bad(job, &args, job->n) < job->n;
}

/* A sample of a job: `count` elements in `runs` runs, and a run in each of as many stretches
 * of the job; some of the runs are a part. */
struct look {
    const struct gx_task *job;
    const void *results;
    /* Elements at .. at + n; some may be left in the block. */
    void (*compare)(struct look *look, struct block *block, uint64_t at, uint64_t n);
    uint64_t seed, count, runs, parts;
    _Atomic uint64_t wrong; /* the least index that was found; the job's n: none */
};

/* Where the ith of `among` begins, when n elements are dealt out evenly, more to the first. */
static uint64_t share_start(uint64_t n, uint64_t among, uint64_t i)
{
    return n / among * i + (i < n % among ? i : n % among);
}

static uint64_t share_size(uint64_t n, uint64_t among, uint64_t i)
{
    return n / among + (i < n % among);
}

static void finish_block(struct look *look, struct block *block)
{
    size_t at = first_wrong(block);
    if (at < block->count)
        gx__threads_found(&look->wrong, block->index[at]);
    block->count = 0;
}

/* The place of the ith run, which has so many elements. */
static uint64_t run_start(const struct look *look, uint64_t i, uint64_t n)
{
    uint64_t room = share_size(look->job->n, look->runs, i) - n + 1;
    return share_start(look->job->n, look->runs, i) + mix(look->seed + i * GOLDEN) % room;
}

static void compare_gathered(struct look *look, struct block *block, uint64_t at, uint64_t n)
{
    if (block->count + n > BLOCK)
        finish_block(look, block);
    block_add(block, at, (size_t)n);
}

/* Parts share nothing but what they found, so several threads may compare them at once. */
static void look_at_part(void *user, size_t part, uint32_t worker)
{
    struct look *look = user;
    struct block block;
    (void)worker;
    uint64_t run = share_start(look->runs, look->parts, part);
    uint64_t end = run + share_size(look->runs, look->parts, part);
    block.count = 0;
    if (look->compare == compare_gathered)
        block_start(&block, look->job, look->results);
    for (; run < end; run++) {
        uint64_t n = share_size(look->count, look->runs, run);
        look->compare(look, &block, run_start(look, run, n), n);
    }
    if (block.count)
        finish_block(look, &block);
}

/* ---- registered operations: by their C function, on the operands in place ---- */

/* Computes elements from .. from + n to `out`. */
static void run_registered(const struct gx_task *job, uint64_t from, size_t n, void *out)
{
    const struct gx_registered_op *registered = gx__registered_op(job->op);
    void *operand[GX_OPERANDS] = {out};
    for (int i = GX_A; i <= job->operands; i++)
        operand[i] = (char *)job->operand[i].host + gx__operand_offset(job, i, from);
    gx__registered_op_run(registered, operand, job->broadcast >> GX_A, job->registered.data, 0, n);
}

static void compare_registered(struct look *look, struct block *block, uint64_t at, uint64_t n)
{
    size_t element = look->job->element[GX_OUT], most = GX_OP_ELEMENT_BYTES / element;
    _Alignas(16) unsigned char result[GX_OP_ELEMENT_BYTES];
    (void)block;
    for (size_t some; n; at += some, n -= some) {
        const unsigned char *claimed = (const unsigned char *)look->results + at * element;
        some = n < most ? (size_t)n : most;
        run_registered(look->job, at, some, result);
        for (size_t i = 0; i < some; i++)
            if (memcmp(result + i * element, claimed + i * element, element))
                gx__threads_found(&look->wrong, at + i);
    }
}

/* One that cannot be computed in parts. Without memory to compute it in, it is not compared. */
static bool registered_right(const struct gx_task *job, const void *results,
                             struct gx_instance *instance, uint64_t *wrong)
{
    size_t bytes = gx__operand_bytes(job, GX_OUT), element = job->element[GX_OUT];
    unsigned char *again = gx__alloc(&instance->config.allocator, bytes);
    if (!again) {
        gx__log(instance, GX_LOG_WARNING,
                "a result of '%s' is not compared: no memory for %zu bytes",
                gx__registered_op(job->op)->name, bytes);
        return true;
    }
    run_registered(job, 0, job->n, again);
    while (*wrong < bytes / element &&
           !memcmp(again + *wrong * element, (const unsigned char *)results + *wrong * element,
                   element))
        ++*wrong;
    gx__free(&instance->config.allocator, again);
    return *wrong == bytes / element;
}

/* ---- operations on polynomials ---- */

static void compare_poly(struct look *look, struct block *block, uint64_t at, uint64_t n)
{
    uint64_t wrong = gx__poly_wrong(look->job, look->results, at, n);
    (void)block;
    if (wrong < at + n)
        gx__threads_found(&look->wrong, wrong);
}

/* ---- reductions: all of it again ---- */

#define WHOLE_PART 4096u /* elements that one thread takes at a time */

struct whole {
    const struct gx_task *job;
    pthread_mutex_t lock;
    uint64_t sum[GX_LIMBS_MAX];
};

/* What a block of elements adds up to. */
static void block_sum(struct block *block, uint64_t *sum)
{
    const struct gx_task *job = block->job;
    struct gx_host_args args = arguments(job, block);
    if (gx__op_rows[job->op].host != GX_HOST_SUM) {
        call_kernel(block, gx__op_rows[job->op].host, &args);
        args = (struct gx_host_args){.a = block->result};
    }
    args.n = block->count;
    args.out = sum;
    block->table.fn[job->field][GX_HOST_SUM](gx__prime(job->field), &args);
}

static void sum_of_part(void *user, size_t part, uint32_t worker)
{
    struct whole *whole = user;
    const struct gx_task *job = whole->job;
    const struct gx_prime *prime = gx__prime(job->field);
    struct block block;
    uint64_t sum[GX_LIMBS_MAX] = {0}, some[GX_LIMBS_MAX];
    (void)worker;
    block_start(&block, job, NULL);
    uint64_t first = part * WHOLE_PART,
             end = first + WHOLE_PART < job->n ? first + WHOLE_PART : job->n;
    for (; first < end; first += block.count) {
        block.count = 0;
        block_add(&block, first, end - first < BLOCK ? (size_t)(end - first) : BLOCK);
        block_sum(&block, some);
        gx__add_one(prime, sum, some);
    }
    pthread_mutex_lock(&whole->lock);
    gx__add_one(prime, whole->sum, sum);
    pthread_mutex_unlock(&whole->lock);
}

static bool reduction_right(const struct gx_task *job, const void *result,
                            struct gx_instance *instance)
{
    struct whole whole = {.job = job};
    size_t parts = (job->n + WHOLE_PART - 1) / WHOLE_PART;
    pthread_mutex_init(&whole.lock, NULL);
    gx__threads_spread(instance, parts, sum_of_part, &whole);
    pthread_mutex_destroy(&whole.lock);
    return !memcmp(whole.sum, result, gx__element_bytes(job->field));
}

/* A sample. The ends of a polynomial are always in it: only there a scan is compared with something
 * else than itself. */
static bool sample_right(struct gx_sampler *sampler, const struct gx_task *job, const void *results,
                         uint64_t count, uint64_t *wrong)
{
    bool poly = gx__op_verifier(job->op) == GX_VERIFY_POLY;
    struct look look = {.job = job,
                        .results = results,
                        .compare = gx__is_registered_op(job->op) ? compare_registered
                                   : poly                        ? compare_poly
                                                                 : compare_gathered,
                        .seed = gx__sampler_random(sampler),
                        .count = count,
                        .runs = count < RUNS_FROM ? count : (count + RUN - 1) / RUN,
                        .parts = count < 2 * PART_ELEMS ? 1 : count / PART_ELEMS,
                        .wrong = job->n};
    if (poly) {
        compare_poly(&look, NULL, 0, 1);
        compare_poly(&look, NULL, job->n - 1, 1);
    }
    gx__threads_spread(sampler->instance, look.parts, look_at_part, &look);
    *wrong = look.wrong;
    return look.wrong == job->n || (job->trusted && (poly ? gx__poly_bad(job) : has_bad(job)));
}

bool gx__results_right(struct gx_sampler *sampler, const struct gx_task *job, const void *results,
                       uint64_t count, uint64_t *wrong)
{
    *wrong = 0;
    if (!count)
        return true;
    switch (gx__op_verifier(job->op)) {
    case GX_VERIFY_TRANSFORM:
        return gx__transforms_right(sampler, job, results, count, wrong);
    case GX_VERIFY_MSM:
        return gx__msm_right(sampler, job, results, count, wrong);
    case GX_VERIFY_WHOLE:
        if (gx__is_registered_op(job->op))
            return registered_right(job, results, sampler->instance, wrong);
        return (job->trusted || !has_bad(job)) &&
               (reduction_right(job, results, sampler->instance) || (job->trusted && has_bad(job)));
    default:
        if (job->op == GX_EVALUATE)
            return gx__evaluate_right(job, results, sampler->instance);
        return sample_right(sampler, job, results, count, wrong);
    }
}

bool gx__refusal_right(const struct gx_task *job, uint64_t index, char operand)
{
    int which = GX_A + (operand - 'a');
    size_t skip;
    if (!gx__prime(job->field) || which < GX_A || which > job->operands ||
        !gx__operand_find(job, which, index, &skip))
        return false;
    return gx__element_bad(job, which, (const char *)job->operand[which].host + skip);
}
