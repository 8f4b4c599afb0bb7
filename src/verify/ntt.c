/* SPDX-License-Identifier: Apache-2.0
 *
 * See verify/parts.h. A transform is not computed again. On one side of it are the coefficients of
 * a polynomial P of degree below n, on the other its values v[k] at z[k] = shift * root^k; both
 * give P(r) at a random r. Two such polynomials have the same value at fewer than n of all p
 * points, so what is wrong anywhere is found, but for a chance of n / p.
 *
 * From the values, with t = r / z[k]:
 *   n P(r) = sum of v[k] (t^n - 1) / (t - 1) = sum of v[k] (1 + t) (1 + t^2) (1 + t^4) ...
 * For k + n/2, t has the other sign and its powers are the same: both are folded into one value,
 * v[k] + v[k + n/2] + t (v[k] - v[k + n/2]), and so on for n/2 values and t^2. A few levels are
 * folded, and the rest of the product, (t^n - 1) / (t^16 - 1), is divided by.
 */
#include "verify/parts.h"

#include <pthread.h>
#include <string.h>

#include "base/threads.h"
#include "field/ntt.h"
#include "field/scalar.h"
#include "field/sum.h"
#include "op/domain.h"

/* A block is 2^LOG2_ROWS rows of LANES neighbours. A transform that fits in one block is one, in
 * rows of a single element. */
#define LOG2_BLOCK  8u
#define BLOCK       (1u << LOG2_BLOCK)
#define LOG2_ROWS   4u
#define LANES       (BLOCK >> LOG2_ROWS)
#define PART_BLOCKS 8u /* that one thread takes at a time */
#define PART_LANES  (PART_BLOCKS * LANES)
/* Larger transforms are verified by several threads. */
#define LOG2_ALONE 12u

/* The coefficients, or the values, of the transforms of a job. Element k of one, in natural order,
 * is in the block that starts with `first` at row i and lane l: k = first + i * stride + l. */
struct side {
    const char *elements;       /* in a, or the results */
    size_t step, transform;     /* bytes from one to the next */
    uint32_t log2;              /* elements of a transform; values after them are 0 */
    uint32_t log2_rows, lanes;  /* of a block */
    uint32_t rows_in, lanes_in; /* that there are elements for */
    bool reversed, divides;     /* divides: folding blocks leaves something to do */
    uint64_t stride, blocks;
    uint64_t row[BLOCK], lane[LANES];                      /* their positions in a transform */
    uint64_t base[GX_LIMBS_MAX], block_base[GX_LIMBS_MAX]; /* see set_weights */
    uint64_t weight[BLOCK * GX_NTT_LIMBS];
};

struct check {
    const struct gx_task *job;
    const struct gx_prime *prime;
    struct gx_host_table table;
    struct gx_instance *instance; /* whose threads look at one transform; NULL: none */
    bool inverse;
    uint64_t stride; /* of columns, in the results; else 0 */
    struct side coefficients, values;
    uint64_t n[GX_LIMBS_MAX], rest[GX_LIMBS_MAX]; /* t^n - 1, or 1 if blocks are all */
    uint64_t batch, seed;
    uint64_t count; /* transforms, one in each of as many equal stretches */
    _Atomic uint64_t wrong;
};

static void call(const struct check *c, enum gx_host_kernel kernel, struct gx_host_args args)
{
    c->table.fn[c->prime->field][kernel](c->prime, &args);
}

/* ---- blocks ---- */

static uint64_t position_of(const struct side *side, uint64_t k)
{
    return side->reversed ? gx__bit_reverse(k, side->log2) : k;
}

/* log2_n: of the polynomial, or of the domain of the values. */
static void set_blocks(struct side *side, uint32_t log2_n)
{
    uint64_t in = (uint64_t)1 << side->log2;
    side->divides = log2_n > LOG2_BLOCK;
    side->log2_rows = side->divides ? LOG2_ROWS : log2_n;
    side->lanes = side->divides ? LANES : 1;
    side->stride = (uint64_t)1 << (log2_n - side->log2_rows);
    side->rows_in = in > side->stride ? (uint32_t)(in / side->stride) : 1;
    side->lanes_in = in < side->lanes ? (uint32_t)in : side->lanes;
    side->blocks = in < side->lanes ? 1 : (in < side->stride ? in : side->stride) / side->lanes;
    for (uint32_t i = 0; i < side->rows_in; i++)
        side->row[i] = position_of(side, i * side->stride);
    for (uint32_t l = 0; l < side->lanes_in; l++)
        side->lane[l] = position_of(side, l);
}

/* The first `rows` rows of weights: `start` times base^k, for the block that starts with k = 0. For
 * others they are multiplied by base^first, and block_base leads from one to the next. */
static void set_weights(const struct check *c, struct side *side, const uint64_t *start,
                        uint32_t rows)
{
    uint64_t row_base[GX_LIMBS_MAX], row[GX_LIMBS_MAX];
    uint64_t *w = side->weight;
    gx__pow_one(c->prime, side->block_base, side->base, side->lanes);
    gx__pow_one(c->prime, row_base, side->base, side->stride);
    memcpy(row, start, GX_NTT_LIMBS * sizeof *row);
    for (uint32_t i = 0; i < rows; i++) {
        memcpy(w, row, GX_NTT_LIMBS * sizeof *w);
        for (uint32_t l = 1; l < side->lanes; l++, w += GX_NTT_LIMBS)
            gx__mul_one(c->prime, w + GX_NTT_LIMBS, w, side->base);
        w += GX_NTT_LIMBS;
        gx__mul_one(c->prime, row, row, row_base);
    }
}

/* Loads the block that starts with `first`. *bad: the least position of an element that is not
 * below p. */
static void load_block(const struct check *c, const struct side *side, const char *elements,
                       uint64_t first, uint64_t *x, uint64_t *bad)
{
    const size_t bytes = GX_NTT_LIMBS * sizeof *x, n = (size_t)side->lanes << side->log2_rows;
    const uint64_t start = position_of(side, first);
    if ((size_t)side->rows_in * side->lanes_in < n)
        memset(x, 0, n * bytes);
    for (uint32_t i = 0; i < side->rows_in; i++)
        for (uint32_t l = 0; l < side->lanes_in; l++) {
            uint64_t position = start | side->row[i] | side->lane[l];
            memcpy((char *)x + (i * side->lanes + l) * bytes,
                   elements + (size_t)position * side->step, bytes);
        }
    size_t wrong = gx__first_bad(c->prime, x, n, false);
    if (wrong == GX_NONE_BAD)
        return;
    uint64_t at = start | side->row[wrong / side->lanes] | side->lane[wrong % side->lanes];
    *bad = at < *bad ? at : *bad;
}

/* ---- one transform ---- */

/* What the parts of a transform add up to. */
struct sums {
    const struct check *check;
    uint64_t transform;
    pthread_mutex_t lock;
    struct sum {
        uint64_t sum[GX_LIMBS_MAX];
        uint64_t bad; /* as of load_block; UINT64_MAX: none */
    } coefficients, values;
};

/* x = the sum of the block's coefficients times r^k. */
static void add_up(const struct check *c, uint64_t *x, uint64_t *sum)
{
    const struct side *side = &c->coefficients;
    size_t n = (size_t)side->lanes << side->log2_rows;
    call(c, GX_HOST_MUL, (struct gx_host_args){.out = x, .a = x, .b = side->weight, .n = n});
    call(c, GX_HOST_SUM, (struct gx_host_args){.out = sum, .a = x, .n = n});
}

static void add_coefficients(const struct check *c, const char *elements, uint64_t from,
                             uint64_t to, struct sum *result)
{
    const struct side *side = &c->coefficients;
    uint64_t x[BLOCK * GX_NTT_LIMBS], power[GX_LIMBS_MAX], some[GX_LIMBS_MAX];
    gx__pow_one(c->prime, power, side->base, from * side->lanes);
    for (uint64_t block = from; block < to; block++) {
        load_block(c, side, elements, block * side->lanes, x, &result->bad);
        add_up(c, x, some);
        gx__mul_one(c->prime, some, some, power);
        gx__add_one(c->prime, result->sum, some);
        gx__mul_one(c->prime, power, power, side->block_base);
    }
}

/* Folds x to one row. t: the weights of the block, to the power of the number of rows folded so
 * far. */
static void fold(const struct check *c, uint64_t *x, uint64_t *t)
{
    const struct side *side = &c->values;
    uint64_t difference[BLOCK / 2 * GX_NTT_LIMBS];
    for (size_t n = (size_t)side->lanes << side->log2_rows; n > side->lanes; n /= 2) {
        size_t half = n / 2, next = half > side->lanes ? half / 2 : half;
        struct gx_host_args pair = {.a = x, .b = x + half * GX_NTT_LIMBS, .n = half};
        pair.out = difference;
        call(c, GX_HOST_SUB, pair);
        pair.out = x;
        call(c, GX_HOST_ADD, pair);
        call(c, GX_HOST_MUL_ADD,
             (struct gx_host_args){.out = x, .a = difference, .b = t, .c = x, .n = half});
        call(c, GX_HOST_SQR, (struct gx_host_args){.out = t, .a = t, .n = next});
    }
}

/* sum = the folded values, over t - 1 if that is left to do. */
static void add_folded(const struct check *c, uint64_t *x, uint64_t *t, size_t n, uint64_t *sum)
{
    _Alignas(64) unsigned char scratch[PART_LANES * GX_INV_SCRATCH_PER_ELEMENT];
    if (c->values.divides) {
        call(c, GX_HOST_SUB,
             (struct gx_host_args){
                 .out = t, .a = t, .b = c->prime->one, .n = n, .broadcast = GX_BROADCAST_B});
        call(c, GX_HOST_DIV,
             (struct gx_host_args){.out = x, .a = x, .b = t, .n = n, .scratch = scratch});
    }
    call(c, GX_HOST_SUM, (struct gx_host_args){.out = sum, .a = x, .n = n});
}

static void add_values(const struct check *c, const char *elements, uint64_t from, uint64_t to,
                       struct sum *result)
{
    const struct side *side = &c->values;
    const size_t lanes = side->lanes, rows = (size_t)1 << side->log2_rows;
    uint64_t x[BLOCK * GX_NTT_LIMBS], t[BLOCK / 2 * GX_NTT_LIMBS], power[GX_LIMBS_MAX];
    uint64_t folded[2][PART_LANES * GX_NTT_LIMBS];
    gx__pow_one(c->prime, power, side->base, from * lanes);
    for (uint64_t block = from; block < to; block++) {
        size_t done = (size_t)(block - from) * lanes * GX_NTT_LIMBS;
        load_block(c, side, elements, block * lanes, x, &result->bad);
        call(c, GX_HOST_MUL,
             (struct gx_host_args){.out = t,
                                   .a = side->weight,
                                   .b = power,
                                   .n = rows > 1 ? rows / 2 * lanes : 1,
                                   .broadcast = GX_BROADCAST_B});
        fold(c, x, t);
        memcpy(folded[0] + done, x, lanes * GX_NTT_LIMBS * sizeof *x);
        memcpy(folded[1] + done, t, lanes * GX_NTT_LIMBS * sizeof *t);
        gx__mul_one(c->prime, power, power, side->block_base);
    }
    add_folded(c, folded[0], folded[1], (size_t)(to - from) * lanes, result->sum);
}

static size_t parts_of(const struct side *side)
{
    return (size_t)((side->blocks + PART_BLOCKS - 1) / PART_BLOCKS);
}

/* The parts of the coefficients, then those of the values. */
static void add_part(void *user, size_t part, uint32_t worker)
{
    struct sums *sums = user;
    const struct check *c = sums->check;
    size_t before = parts_of(&c->coefficients);
    bool values = part >= before;
    const struct side *side = values ? &c->values : &c->coefficients;
    struct sum *all = values ? &sums->values : &sums->coefficients, some = {.bad = UINT64_MAX};
    const char *elements = side->elements + (size_t)sums->transform * side->transform;
    uint64_t from = (uint64_t)(values ? part - before : part) * PART_BLOCKS;
    uint64_t to = side->blocks - from < PART_BLOCKS ? side->blocks : from + PART_BLOCKS;
    (void)worker;
    (values ? add_values : add_coefficients)(c, elements, from, to, &some);
    pthread_mutex_lock(&sums->lock);
    gx__add_one(c->prime, all->sum, some.sum);
    all->bad = some.bad < all->bad ? some.bad : all->bad;
    pthread_mutex_unlock(&sums->lock);
}

static void add_parts(struct sums *sums)
{
    const struct check *c = sums->check;
    size_t parts = parts_of(&c->coefficients) + parts_of(&c->values);
    pthread_mutex_init(&sums->lock, NULL);
    gx__threads_spread(c->instance, parts, add_part, sums);
    pthread_mutex_destroy(&sums->lock);
}

/* The index in the job of a position of transform t. */
static uint64_t index_of(const struct check *c, uint64_t t, uint64_t position)
{
    return c->stride ? position * c->stride + t : (t << c->job->ntt.log2_n) + position;
}

/* On failure *wrong is where an output is not below p, or the first. */
static bool transform_right(const struct check *c, uint64_t t, uint64_t *wrong)
{
    struct sums sums = {
        .check = c, .transform = t, .coefficients.bad = UINT64_MAX, .values.bad = UINT64_MAX};
    add_parts(&sums);
    uint64_t in = c->inverse ? sums.values.bad : sums.coefficients.bad;
    uint64_t out = c->inverse ? sums.coefficients.bad : sums.values.bad;
    *wrong = index_of(c, t, out == UINT64_MAX ? 0 : out);
    gx__mul_one(c->prime, sums.coefficients.sum, sums.coefficients.sum, c->n);
    gx__mul_one(c->prime, sums.values.sum, sums.values.sum, c->rest);
    bool refused = in != UINT64_MAX && !c->job->trusted;
    return out == UINT64_MAX && !refused &&
           gx__equal_one(c->prime, sums.coefficients.sum, sums.values.sum);
}

/* ---- several ---- */

static uint64_t nth(const struct check *c, uint64_t i)
{
    struct gx_sampler random = {.seed = c->seed ^ i << 32};
    uint64_t from = (uint64_t)((unsigned __int128)c->batch * i / c->count);
    uint64_t end = (uint64_t)((unsigned __int128)c->batch * (i + 1) / c->count);
    return from + gx__sampler_random(&random) % (end - from);
}

static void look_at(void *user, size_t i, uint32_t worker)
{
    struct check *c = user;
    uint64_t wrong;
    (void)worker;
    if (!transform_right(c, nth(c, i), &wrong))
        gx__threads_found(&c->wrong, wrong);
}

/* Large transforms one after the other, with all threads for each; small ones side by side. */
static bool all_right(struct check *c, struct gx_instance *instance)
{
    bool large = c->job->ntt.log2_n > LOG2_ALONE;
    c->instance = large ? instance : NULL;
    gx__threads_spread(large ? NULL : instance, (size_t)c->count, look_at, c);
    return c->wrong == UINT64_MAX;
}

/* ---- a job ---- */

/* What is in a, or in the results. */
static void set_side(const struct check *c, struct side *side, const void *elements, bool in)
{
    const size_t bytes = gx__element_bytes(c->job->field);
    const size_t stride = (size_t)gx__operand_matrix(c->job, in ? GX_A : GX_OUT).stride;
    side->elements = elements;
    side->log2 = c->job->ntt.log2_n - (in ? c->job->ntt.log2_pad : 0);
    side->step = stride ? stride * bytes : bytes;
    side->transform = stride ? bytes : bytes << side->log2;
    side->reversed = c->job->ntt.flags & (in ? GX_NTT_REVERSED_IN : GX_NTT_REVERSED_OUT);
}

/* A random element, below p because its top limb is. */
static void draw(const struct check *c, struct gx_sampler *sampler, uint64_t *r)
{
    for (size_t k = 0; k < GX_NTT_LIMBS; k++)
        r[k] = gx__sampler_random(sampler);
    r[GX_NTT_LIMBS - 1] %= c->prime->p[GX_NTT_LIMBS - 1];
}

/* Coefficients are weighted by powers of r, values by t = r / z. */
static void set_point(struct check *c, const uint64_t *r)
{
    const struct gx_domain *domain = c->job->ntt.domain;
    struct side *coefficients = &c->coefficients, *values = &c->values;
    uint32_t log2_n = c->job->ntt.log2_n;
    uint64_t t[GX_LIMBS_MAX];
    set_blocks(coefficients, coefficients->log2);
    memcpy(coefficients->base, r, GX_NTT_LIMBS * sizeof *r);
    set_weights(c, coefficients, c->prime->one, 1u << coefficients->log2_rows);
    memcpy(t, r, sizeof t);
    if (c->job->ntt.flags & GX_NTT_COSET)
        gx__mul_one(c->prime, t, r, domain->inverse_shift);
    set_blocks(values, log2_n);
    gx__domain_root(domain, log2_n, values->base);
    gx__invert_one(c->prime, values->base, values->base);
    set_weights(c, values, t, values->log2_rows ? 1u << (values->log2_rows - 1) : 1);
    gx__int_one(c->prime, c->n, (uint64_t)1 << log2_n);
    memcpy(c->rest, c->prime->one, sizeof c->rest);
    if (!values->divides)
        return;
    gx__pow_one(c->prime, c->rest, t, (uint64_t)1 << log2_n);
    call(c, GX_HOST_SUB,
         (struct gx_host_args){.out = c->rest, .a = c->rest, .b = c->prime->one, .n = 1});
}

static bool inputs_bad(const struct check *c)
{
    const struct gx_matrix m = gx__operand_matrix(c->job, GX_A);
    size_t bytes = gx__element_bytes(c->job->field);
    size_t n = gx__operand_bytes(c->job, GX_A) / bytes / (size_t)m.rows;
    for (size_t row = 0; row < m.rows; row++)
        if (gx__first_bad(c->prime, (const char *)c->job->a.host + row * (size_t)m.stride * bytes,
                          n, false) != GX_NONE_BAD)
            return true;
    return false;
}

uint64_t gx__transforms_sample(struct gx_sampler *sampler, const struct gx_task *job,
                               uint64_t every, bool trusted)
{
    const uint32_t log2_n = job->ntt.log2_n;
    uint64_t batch = gx__ntt_batch(job), fit = GX_UNIT_ELEMS >> log2_n;
    uint64_t count = batch / every + (gx__sampler_random(sampler) % every < batch % every);
    fit = fit < 1 ? 1 : fit < batch ? fit : batch;
    return (trusted || count > fit ? count : fit) << log2_n;
}

bool gx__transforms_right(struct gx_sampler *sampler, const struct gx_task *job,
                          const void *results, uint64_t count, uint64_t *wrong)
{
    struct check c = {.job = job,
                      .prime = gx__prime(job->field),
                      .seed = gx__sampler_random(sampler),
                      .wrong = UINT64_MAX};
    uint64_t r[GX_LIMBS_MAX] = {0};
    gx__host_fill_portable(&c.table);
    c.batch = gx__ntt_batch(job);
    c.inverse = job->ntt.flags & GX_NTT_INVERSE;
    c.stride = gx__operand_matrix(job, GX_OUT).stride;
    c.count = count >> job->ntt.log2_n ? count >> job->ntt.log2_n : 1;
    c.count = c.count < c.batch ? c.count : c.batch;
    set_side(&c, c.inverse ? &c.values : &c.coefficients, job->a.host, true);
    set_side(&c, c.inverse ? &c.coefficients : &c.values, results, false);
    draw(&c, sampler, r);
    set_point(&c, r);
    bool right = all_right(&c, sampler->instance);
    *wrong = c.wrong;
    return right || (job->trusted && inputs_bad(&c));
}
