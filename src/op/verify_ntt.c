/* SPDX-License-Identifier: Apache-2.0
 *
 * See verify_ntt.h. A transform is not computed again: the values of a polynomial at all roots of
 * unity add up to n times its constant coefficient, so the outputs of a forward transform add up to
 * n * a[0], and those of an inverse one, each times shift^i over a coset, to a[0]. Any one wrong
 * output changes that. A random output is computed again from all inputs, which finds what goes
 * wrong in many.
 */
#include "op/verify_ntt.h"

#include <pthread.h>
#include <string.h>

#include "base/alloc.h"
#include "base/log.h"
#include "base/threads.h"
#include "field/ntt.h"
#include "field/scalar.h"
#include "field/sum.h"
#include "op/params.h"

#define BLOCK      64u
#define PART_ELEMS 4096u /* that one thread evaluates at a time */
/* Outputs that are computed again where all should be, but there is no memory for them. */
#define OUTPUTS_INSTEAD 4
/* Elements of as many small transforms as are computed again together. */
#define AGAIN_ELEMS ((uint64_t)1 << 16)

/* ---- evaluating ---- */

/* The elements of one transform, in a or in out. */
struct view {
    const struct gx_prime *prime;
    const char *first;
    size_t step; /* bytes from one to the next */
    uint32_t log2;
    bool reversed;
};

/* The value of the polynomial with these coefficients at z: a block of coefficients times z^0, z^1,
 * ... at once, by the portable kernels, and Horner's rule from block to block. */
struct evaluation {
    struct view view;
    const uint64_t *z; /* NULL: 1 */
    struct gx_host_table table;
    uint64_t power[BLOCK * GX_LIMBS_MAX], block_power[GX_LIMBS_MAX]; /* z^0, ...; z^BLOCK */
    uint64_t reversed[BLOCK]; /* of 0, 1, ... below the view's size */
    pthread_mutex_t lock;
    uint64_t sum[GX_LIMBS_MAX];
    uint64_t bad; /* least position of an element that is not below p; UINT64_MAX: none */
};

static const void *element_at(const struct view *view, uint64_t position)
{
    return view->first + (size_t)position * view->step;
}

/* The position of coefficient first + i; first is a multiple of BLOCK. */
static uint64_t position_of(const struct evaluation *e, uint64_t first_reversed, uint64_t first,
                            size_t i)
{
    return e->view.reversed ? first_reversed | e->reversed[i] : first + i;
}

/* Coefficients first .. first + n, n <= BLOCK, times z^0, z^1, ..., added up. */
static void add_block(const struct evaluation *e, uint64_t first, size_t n, uint64_t *sum,
                      uint64_t *bad)
{
    const struct gx_prime *prime = e->view.prime;
    const size_t limbs = prime->limbs;
    const gx_host_fn *kernels = e->table.fn[prime->field];
    uint64_t elements[BLOCK * GX_LIMBS_MAX], terms[BLOCK * GX_LIMBS_MAX];
    uint64_t reversed = e->view.reversed ? gx__bit_reverse(first, e->view.log2) : 0;
    for (size_t i = 0; i < n; i++)
        memcpy(elements + i * limbs, element_at(&e->view, position_of(e, reversed, first, i)),
               limbs * sizeof *elements);
    size_t wrong = gx__first_bad(prime, elements, n, false);
    if (wrong != GX_NONE_BAD && position_of(e, reversed, first, wrong) < *bad)
        *bad = position_of(e, reversed, first, wrong);
    struct gx_host_args product = {.a = elements, .b = e->power, .out = terms, .n = n};
    if (e->z)
        kernels[GX_HOST_MUL](prime, &product);
    struct gx_host_args all = {.a = e->z ? terms : elements, .out = sum, .n = n};
    kernels[GX_HOST_SUM](prime, &all);
}

static void evaluate_part(void *user, size_t part, uint32_t worker)
{
    struct evaluation *e = user;
    const struct gx_prime *prime = e->view.prime;
    uint64_t n = (uint64_t)1 << e->view.log2, from = (uint64_t)part * PART_ELEMS;
    uint64_t end = from + PART_ELEMS < n ? from + PART_ELEMS : n, bad = UINT64_MAX;
    uint64_t sum[GX_LIMBS_MAX] = {0}, some[GX_LIMBS_MAX];
    (void)worker;
    for (uint64_t at = end, count; at > from; at -= count) { /* all are whole, or there is one */
        count = at - from < BLOCK ? at - from : BLOCK;
        add_block(e, at - count, (size_t)count, some, &bad);
        if (e->z)
            gx__mul_one(prime, sum, sum, e->block_power);
        gx__add_one(prime, sum, some);
    }
    if (e->z && from) {
        gx__pow_one(prime, some, e->z, from);
        gx__mul_one(prime, sum, sum, some);
    }
    pthread_mutex_lock(&e->lock);
    gx__add_one(prime, e->sum, sum);
    e->bad = bad < e->bad ? bad : e->bad;
    pthread_mutex_unlock(&e->lock);
}

static void prepare(struct evaluation *e)
{
    const struct gx_prime *prime = e->view.prime;
    uint32_t log2 = e->view.log2;
    gx__host_fill_portable(&e->table);
    for (uint64_t i = 0; e->view.reversed && i < BLOCK && i >> log2 == 0; i++)
        e->reversed[i] = gx__bit_reverse(i, log2);
    if (!e->z)
        return;
    gx__powers_of(prime, e->z, BLOCK, e->power);
    gx__mul_one(prime, e->block_power, e->power + (size_t)(BLOCK - 1) * prime->limbs, e->z);
}

/* instance: whose threads help; NULL: none. */
static void evaluate(struct evaluation *e, struct gx_instance *instance)
{
    size_t parts = (size_t)((((uint64_t)1 << e->view.log2) + PART_ELEMS - 1) / PART_ELEMS);
    prepare(e);
    pthread_mutex_init(&e->lock, NULL);
    e->bad = UINT64_MAX;
    if (instance && parts > 1)
        gx__threads_run(instance, GX_THREADS_COMPUTE, (uint32_t)parts, parts, evaluate_part, e);
    else
        for (size_t part = 0; part < parts; part++)
            evaluate_part(e, part, 0);
    pthread_mutex_destroy(&e->lock);
}

/* ---- one transform ---- */

struct transforms {
    const gx_job *job;
    const char *results;
    gx_ntt_params params;
    const struct gx_prime *prime;
    uint64_t batch, seed;
    struct gx_instance *instance; /* of evaluate */
    unsigned outputs;             /* that are computed again */
    bool inverse, coset, columns;
};

/* Transform t in a, or in the results. */
static struct view view_of(const struct transforms *c, uint64_t t, bool in)
{
    size_t bytes = gx__element_bytes(c->job->field);
    uint32_t log2 = c->params.log2_n - (in ? c->params.log2_pad : 0);
    const char *all = in ? (const char *)c->job->a.host : c->results;
    return (struct view){.prime = c->prime,
                         .first = all + (size_t)(c->columns ? t : t << log2) * bytes,
                         .step = c->columns ? (size_t)c->batch * bytes : bytes,
                         .log2 = log2,
                         .reversed =
                             c->params.flags & (in ? GX_NTT_REVERSED_IN : GX_NTT_REVERSED_OUT)};
}

/* The index in the job of a position of transform t. */
static uint64_t index_of(const struct transforms *c, uint64_t t, uint64_t position)
{
    return c->columns ? position * c->batch + t : (t << c->params.log2_n) + position;
}

/* Whether the outputs add up. On failure *wrong is where one is not canonical, or the first. */
static bool adds_up(const struct transforms *c, uint64_t t, uint64_t *wrong)
{
    const struct view in = view_of(c, t, true);
    struct evaluation out = {.view = view_of(c, t, false)};
    uint64_t want[GX_LIMBS_MAX], n[GX_LIMBS_MAX];
    if (c->inverse && c->coset)
        out.z = c->params.domain->shift;
    evaluate(&out, c->instance);
    *wrong = index_of(c, t, out.bad == UINT64_MAX ? 0 : out.bad);
    memcpy(want, element_at(&in, 0), c->prime->limbs * sizeof *want);
    if (!c->inverse) {
        gx__int_one(c->prime, n, (uint64_t)1 << c->params.log2_n);
        gx__mul_one(c->prime, want, want, n);
    }
    return out.bad == UINT64_MAX && gx__equal_one(c->prime, out.sum, want);
}

/* x = output k; false: an input should have been refused. */
static bool compute_output(const struct transforms *c, uint64_t t, uint64_t k, uint64_t *x)
{
    const struct gx_domain *domain = c->params.domain;
    uint32_t log2_n = c->params.log2_n;
    uint64_t root[GX_LIMBS_MAX], z[GX_LIMBS_MAX], n[GX_LIMBS_MAX];
    uint64_t power = c->inverse ? ((uint64_t)1 << log2_n) - k : k;
    gx__domain_root(domain, log2_n, root);
    gx__pow_one(c->prime, z, root, power);
    if (c->coset && !c->inverse)
        gx__mul_one(c->prime, z, z, domain->shift);
    struct evaluation in = {.view = view_of(c, t, true), .z = z};
    evaluate(&in, c->instance);
    memcpy(x, in.sum, sizeof in.sum);
    if (c->inverse) {
        gx__int_one(c->prime, n, (uint64_t)1 << log2_n);
        gx__invert_one(c->prime, n, n);
        gx__mul_one(c->prime, x, x, n);
    }
    if (c->inverse && c->coset) {
        gx__pow_one(c->prime, z, domain->inverse_shift, k);
        gx__mul_one(c->prime, x, x, z);
    }
    return in.bad == UINT64_MAX || c->job->flags & GX_JOB_TRUSTED;
}

static bool transform_right(const struct transforms *c, uint64_t t, uint64_t *wrong)
{
    const struct view out = view_of(c, t, false);
    struct gx_sampler random = {.seed = c->seed + t};
    if (!adds_up(c, t, wrong))
        return false;
    for (unsigned i = 0; i < c->outputs; i++) {
        uint64_t k = gx__sampler_random(&random) & (((uint64_t)1 << out.log2) - 1);
        uint64_t position = out.reversed ? gx__bit_reverse(k, out.log2) : k;
        uint64_t x[GX_LIMBS_MAX];
        *wrong = index_of(c, t, position);
        if (!compute_output(c, t, k, x) ||
            memcmp(x, element_at(&out, position), c->prime->limbs * sizeof *x))
            return false;
    }
    return true;
}

/* ---- several ---- */

struct look {
    struct transforms c;
    uint64_t count; /* of them, one in each of as many equal stretches */
    _Atomic uint64_t wrong;
};

static uint64_t nth(const struct look *look, uint64_t i)
{
    struct gx_sampler random = {.seed = look->c.seed ^ i << 32};
    uint64_t from = (uint64_t)((unsigned __int128)look->c.batch * i / look->count);
    uint64_t end = (uint64_t)((unsigned __int128)look->c.batch * (i + 1) / look->count);
    return from + gx__sampler_random(&random) % (end - from);
}

static void look_at(void *user, size_t i, uint32_t worker)
{
    struct look *look = user;
    uint64_t wrong, least = atomic_load(&look->wrong);
    (void)worker;
    if (transform_right(&look->c, nth(look, i), &wrong))
        return;
    while (wrong < least && !atomic_compare_exchange_weak(&look->wrong, &least, wrong))
        ;
}

/* Large ones one after the other, with all threads for each; of small ones each thread takes some.
 */
static bool some_right(struct look *look, struct gx_instance *instance, uint64_t *wrong)
{
    bool large = look->c.params.log2_n > 12;
    look->c.instance = large ? instance : NULL;
    if (instance && !large)
        gx__threads_run(instance, GX_THREADS_COMPUTE, (uint32_t)look->count, look->count, look_at,
                        look);
    else
        for (uint64_t i = 0; i < look->count; i++)
            look_at(look, i, 0);
    *wrong = look->wrong;
    return look->wrong == UINT64_MAX;
}

/* ---- all of them again ---- */

/* By the portable tier, a few at a time. */
struct again {
    const struct gx_ntt_host *host;
    struct gx_ntt_call call;
    uint64_t each; /* elements at a time */
    size_t phase;
    void *table;
};

static void run_chunk(void *user, size_t chunk, uint32_t worker)
{
    const struct again *again = user;
    gx__ntt_chunk(again->host, &again->call, again->phase, chunk, worker);
}

static void run_again(struct again *again, struct gx_instance *instance)
{
    size_t phases = gx__ntt_phases(again->host, &again->call);
    for (again->phase = 0; again->phase < phases; again->phase++)
        gx__threads_run(instance, GX_THREADS_COMPUTE, again->call.workers,
                        gx__ntt_chunks(again->host, &again->call, again->phase), run_chunk, again);
}

static size_t scratch_of(struct again *again, uint64_t n)
{
    again->call.batch = (size_t)(n >> again->call.log2_n);
    return gx__ntt_scratch(again->host, &again->call);
}

/* The memory for it; false: there is not enough. */
static bool again_begin(struct again *again, const struct transforms *c)
{
    const gx_allocator *allocator = &c->params.domain->instance->config.allocator;
    uint64_t unit = gx__job_unit(c->job), root[GX_LIMBS_MAX];
    uint64_t several = unit < AGAIN_ELEMS ? AGAIN_ELEMS / unit * unit : unit;
    *again = (struct again){.host = gx__ntt_host(0),
                            .call = {.prime = c->prime,
                                     .log2_n = c->params.log2_n,
                                     .log2_pad = c->params.log2_pad,
                                     .flags = c->params.flags,
                                     .workers = gx__cores()},
                            .each = several < c->job->n ? several : c->job->n};
    size_t scratch = scratch_of(again, again->each), last = scratch_of(again, c->job->n % several);
    again->table = gx__alloc(allocator, gx__ntt_table_bytes(again->host, c->params.log2_n));
    again->call.out = gx__alloc(allocator, (size_t)again->each * gx__element_bytes(c->job->field));
    again->call.scratch = gx__alloc(allocator, last > scratch ? last : scratch);
    if (!again->table || !again->call.out || !again->call.scratch)
        return false;
    gx__domain_root(c->params.domain, c->params.log2_n, root);
    gx__ntt_table_fill(again->host, c->prime, c->params.log2_n, root, c->params.domain->shift,
                       again->table);
    again->call.table = again->table;
    return true;
}

static void again_end(struct again *again, const struct transforms *c)
{
    const gx_allocator *allocator = &c->params.domain->instance->config.allocator;
    gx__free(allocator, again->call.scratch);
    gx__free(allocator, again->call.out);
    gx__free(allocator, again->table);
}

/* Elements from .. from + n. *wrong: the first that differs. */
static bool portion_right(struct again *again, const struct transforms *c, uint64_t from,
                          uint64_t n, uint64_t *wrong)
{
    size_t bytes = gx__element_bytes(c->job->field);
    const char *claimed = c->results + (size_t)from * bytes, *right = again->call.out;
    const gx_job some = gx__sub_job(c->job, from, n);
    uint64_t i = 0;
    again->call.in = some.a.host;
    again->call.batch = (size_t)(n >> again->call.log2_n);
    run_again(again, c->params.domain->instance);
    while (i < n && !memcmp(claimed + (size_t)i * bytes, right + (size_t)i * bytes, bytes))
        i++;
    *wrong = from + i;
    return i == n;
}

static bool all_right(struct again *again, const struct transforms *c, uint64_t *wrong)
{
    bool right = true;
    for (uint64_t from = 0, n; right && from < c->job->n; from += n) {
        n = again->each < c->job->n - from ? again->each : c->job->n - from;
        right = portion_right(again, c, from, n, wrong);
    }
    return right;
}

/* ---- samples ---- */

static bool inputs_bad(const struct transforms *c)
{
    size_t n = gx__operand_bytes(c->job, GX_A) / gx__element_bytes(c->job->field);
    return gx__first_bad(c->prime, c->job->a.host, n, false) != GX_NONE_BAD;
}

uint64_t gx__transforms_sample(struct gx_sampler *sampler, const gx_job *job, uint64_t every,
                               bool trusted)
{
    const gx_ntt_params params = gx__ntt_params(job);
    uint64_t batch = gx__ntt_batch(job, &params), fit = GX_TRANSFORM_ELEMS >> params.log2_n;
    uint64_t count = batch / every + (gx__sampler_random(sampler) % every < batch % every);
    sampler->exact = every == 1 || (!trusted && job->n <= GX_WHOLE_ELEMS);
    fit = fit < 1 ? 1 : fit < batch ? fit : batch;
    return (trusted || count > fit ? count : fit) << params.log2_n;
}

bool gx__transforms_right(struct gx_sampler *sampler, const gx_job *job, const void *results,
                          uint64_t count, uint64_t *wrong)
{
    struct look look = {.c = {.job = job,
                              .results = results,
                              .params = gx__ntt_params(job),
                              .prime = gx__prime(job->field),
                              .seed = gx__sampler_random(sampler),
                              .outputs = 1},
                        .wrong = UINT64_MAX};
    struct transforms *c = &look.c;
    struct again again;
    c->batch = gx__ntt_batch(job, &c->params);
    c->inverse = c->params.flags & GX_NTT_INVERSE;
    c->coset = c->params.flags & GX_NTT_COSET;
    c->columns = c->params.flags & GX_NTT_COLUMNS;
    look.count = count >> c->params.log2_n ? count >> c->params.log2_n : 1;
    look.count = look.count < c->batch ? look.count : c->batch;
    bool trusted = job->flags & GX_JOB_TRUSTED, right;
    if (!sampler->exact) {
        right = some_right(&look, sampler->instance, wrong);
    } else if (again_begin(&again, c)) {
        *wrong = 0;
        right = (trusted || !inputs_bad(c)) && all_right(&again, c, wrong);
        again_end(&again, c);
    } else {
        again_end(&again, c);
        gx__log(c->params.domain->instance, GX_LOG_WARNING,
                "transforms are checked, but not computed again: no memory");
        c->outputs = OUTPUTS_INSTEAD;
        look.count = c->batch;
        right = some_right(&look, sampler->instance, wrong);
    }
    return right || (trusted && inputs_bad(c));
}
