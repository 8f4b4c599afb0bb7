/* SPDX-License-Identifier: Apache-2.0
 *
 * The six-step way, in two passes over the bus. With N = N1 * N2, i = r * N2 + c and
 * k = k1 + N1 * k2,
 *
 *   X[k] = sum over c of root^(c * k1) * root^(N1 * c * k2) * (sum over r of x[i] * root^(N2 * r *
 *   k1))
 *
 * so the first pass transforms columns of N1 elements, the host multiplies by root^(c * k1), and
 * the second pass transforms rows of N2. A shift goes the same way: shift^i = (shift^N2)^r *
 * shift^c, of which the first factor is a coset of the small transforms and the second joins the
 * twiddles; likewise shift^-k at the end of an inverse one. The small transforms are ordinary jobs
 * in host memory, which the engine cuts and overlaps as it does any others.
 */
#include "exec/large.h"

#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "exec/buffer.h"
#include "field/host.h"
#include "field/ntt.h"
#include "field/scalar.h"
#include "op/params.h"

#define ELEMENT_LIMBS GX_NTT_LIMBS
#define ELEMENT_BYTES (ELEMENT_LIMBS * sizeof(uint64_t))

/* Elements that a pass takes at a time, and columns that are multiplied together. */
#define BLOCK_ELEMS ((uint64_t)1 << 22)
#define COLUMNS     64u
#define CHECK_ELEMS ((uint64_t)1 << 16)

struct element {
    uint64_t limb[ELEMENT_LIMBS];
};

struct large {
    struct gx_engine *engine;
    const gx_job *job;
    gx_ntt_params params;
    struct gx_outcome *outcome;
    char *message;
    size_t message_size;
    const struct gx_prime *prime;
    gx_host_fn mul;
    uint32_t log2[2];           /* of N1 and N2 */
    struct gx_domain domain[2]; /* of the two passes, in a coset */
    const char *in;             /* of the job, in host memory, of any alignment */
    char *out;
    struct element *middle;     /* [k1][c], of one transform */
    struct element *block;      /* columns one after the other */
    struct element root, shift; /* of the twiddles: inverses in an inverse transform */
    uint64_t columns;           /* in the block */
    uint64_t first;             /* column or row of the block */
    uint64_t transform;
    _Atomic uint64_t bad;
};

bool gx__large_possible(const gx_job *job)
{
    return job->op == GX_NTT && gx__ntt_params(job).log2_n >= 2;
}

static gx_status fail(const struct large *l, gx_status s, const char *why)
{
    snprintf(l->message, l->message_size, "device '%s': %s", l->engine->device.info.name, why);
    return s;
}

static void spread(const struct large *l, size_t parts, gx_threads_fn fn)
{
    struct gx_instance *instance = l->engine->instance;
    uint32_t threads = instance->config.threads ? instance->config.threads : gx__cores();
    gx__threads_run(instance, GX_THREADS_COMPUTE, threads, parts, fn, (void *)(uintptr_t)l);
}

static uint64_t least(uint64_t a, uint64_t b)
{
    return a < b ? a : b;
}

/* ---- places ---- */

/* Of element i of the current transform, among those of an operand with 2^log2 each. */
static uint64_t place(const struct large *l, uint64_t i, uint32_t log2, uint32_t reversed)
{
    uint64_t at = l->params.flags & reversed ? gx__bit_reverse(i, log2) : i;
    return l->params.flags & GX_NTT_COLUMNS ? at * gx__ntt_batch(l->job, &l->params) + l->transform
                                            : (l->transform << log2) + at;
}

/* ---- the first pass ---- */

/* A row of x, to the columns of the block. */
static void gather_row(void *user, size_t r, uint32_t worker)
{
    const struct large *l = user;
    uint32_t log2_in = l->params.log2_n - l->params.log2_pad;
    (void)worker;
    for (uint64_t c = 0; c < l->columns; c++) {
        struct element *to = &l->block[(c << l->log2[0]) + r];
        uint64_t i = ((uint64_t)r << l->log2[1]) + l->first + c;
        if (i >> log2_in)
            memset(to, 0, sizeof *to);
        else
            memcpy(to, l->in + place(l, i, log2_in, GX_NTT_REVERSED_IN) * ELEMENT_BYTES,
                   sizeof *to);
    }
}

static void multiply(const struct large *l, struct element *out, const struct element *a,
                     const struct element *b, size_t n)
{
    l->mul(l->prime, &(struct gx_host_args){.out = out, .a = a, .b = b, .n = n});
}

static struct element power(const struct large *l, const struct element *base, uint64_t exponent)
{
    struct element r;
    gx__pow_one(l->prime, r.limb, base->limb, exponent);
    return r;
}

/* Rows that one thread multiplies. */
static uint64_t rows_each(const struct large *l)
{
    uint64_t rows = ((uint64_t)1 << l->log2[0]) / (4 * gx__cores());
    return rows ? rows : 1;
}

/* Some rows of the result of the block, times the twiddles, to the middle. */
static void scatter_rows(void *user, size_t part, uint32_t worker)
{
    const struct large *l = user;
    bool inverse = l->params.flags & GX_NTT_INVERSE, coset = l->params.flags & GX_NTT_COSET;
    uint64_t each = rows_each(l), from = part * each,
             to = least(from + each, (uint64_t)1 << l->log2[0]);
    struct element twiddle[COLUMNS], step[COLUMNS], row[COLUMNS];
    (void)worker;
    for (uint64_t c0 = 0; c0 < l->columns; c0 += COLUMNS) {
        size_t n = (size_t)least(COLUMNS, l->columns - c0);
        for (size_t c = 0; c < n; c++) {
            step[c] = power(l, &l->root, l->first + c0 + c);
            twiddle[c] = power(l, &step[c], from);
            struct element s = power(l, &l->shift, inverse ? from : l->first + c0 + c);
            if (coset)
                multiply(l, &twiddle[c], &twiddle[c], &s, 1);
            if (coset && inverse)
                multiply(l, &step[c], &step[c], &l->shift, 1);
        }
        for (uint64_t k1 = from; k1 < to; k1++) {
            for (size_t c = 0; c < n; c++)
                row[c] = l->block[((c0 + c) << l->log2[0]) + k1];
            multiply(l, &l->middle[(k1 << l->log2[1]) + l->first + c0], row, twiddle, n);
            multiply(l, twiddle, twiddle, step, n);
        }
    }
}

/* ---- the second pass ---- */

static void store_row(void *user, size_t row, uint32_t worker)
{
    const struct large *l = user;
    uint64_t k1 = l->first + row;
    const struct element *from = l->middle + (k1 << l->log2[1]);
    (void)worker;
    for (uint64_t k2 = 0; k2 >> l->log2[1] == 0; k2++)
        memcpy(l->out + place(l, k1 + (k2 << l->log2[0]), l->params.log2_n, GX_NTT_REVERSED_OUT) *
                            ELEMENT_BYTES,
               &from[k2], sizeof *from);
}

/* ---- small transforms ---- */

/* Transforms of pass 0 or 1, in place. */
static gx_status run_small(struct large *l, int pass, struct element *elements, uint64_t batch)
{
    bool inverse = l->params.flags & GX_NTT_INVERSE, coset = l->params.flags & GX_NTT_COSET;
    bool shifts = coset && inverse == (pass == 1);
    gx_ntt_params params = {.struct_size = sizeof params,
                            .domain = shifts ? &l->domain[pass] : l->params.domain,
                            .log2_n = l->log2[pass],
                            .flags = (inverse ? GX_NTT_INVERSE : 0) | (shifts ? GX_NTT_COSET : 0)};
    gx_job job = {.op = GX_NTT,
                  .field = l->job->field,
                  .n = (size_t)batch << params.log2_n,
                  .a = gx_host(elements),
                  .out = gx_host(elements),
                  .flags = GX_JOB_TRUSTED,
                  .params = &params};
    struct gx_outcome outcome = {0};
    struct gx_batch small = {.jobs = &job, .count = 1, .reports = &outcome, .uncounted = true};
    gx_status s = gx__engine_run(l->engine, &small);
    if (s != GX_OK)
        snprintf(l->message, l->message_size, "%s", small.message);
    gx__outcome_add(l->outcome, &outcome);
    return s;
}

static gx_status run_transform(struct large *l)
{
    uint64_t n1 = (uint64_t)1 << l->log2[0], n2 = (uint64_t)1 << l->log2[1];
    uint64_t most = BLOCK_ELEMS >> l->log2[0], rows = BLOCK_ELEMS >> l->log2[1];
    gx_status s = GX_OK;
    most = most ? most : 1;
    rows = rows ? rows : 1;
    for (l->first = 0; l->first < n2 && s == GX_OK; l->first += l->columns) {
        l->columns = least(most, n2 - l->first);
        spread(l, n1, gather_row);
        s = run_small(l, 0, l->block, l->columns);
        if (s == GX_OK)
            spread(l, (size_t)((n1 + rows_each(l) - 1) / rows_each(l)), scatter_rows);
    }
    for (l->first = 0; l->first < n1 && s == GX_OK; l->first += rows) {
        uint64_t some = least(rows, n1 - l->first);
        s = run_small(l, 1, l->middle + (l->first << l->log2[1]), some);
    }
    if (s != GX_OK)
        return s;
    l->first = 0;
    spread(l, n1, store_row);
    return GX_OK;
}

/* ---- the job ---- */

static void check_part(void *user, size_t part, uint32_t worker)
{
    struct large *l = user;
    uint64_t from = part * CHECK_ELEMS, n = gx__operand_bytes(l->job, GX_A) / ELEMENT_BYTES - from;
    (void)worker;
    size_t bad =
        gx__first_bad(l->prime, l->in + from * ELEMENT_BYTES, (size_t)least(n, CHECK_ELEMS), false);
    uint64_t index = bad == GX_NONE_BAD ? UINT64_MAX : from + bad, known = atomic_load(&l->bad);
    while (index < known && !atomic_compare_exchange_weak(&l->bad, &known, index))
        ;
}

static gx_status check_input(struct large *l)
{
    uint64_t n = gx__operand_bytes(l->job, GX_A) / ELEMENT_BYTES;
    if (l->job->flags & GX_JOB_TRUSTED)
        return GX_OK;
    atomic_store(&l->bad, UINT64_MAX);
    spread(l, (size_t)((n + CHECK_ELEMS - 1) / CHECK_ELEMS), check_part);
    if (l->bad == UINT64_MAX)
        return GX_OK;
    l->outcome->bad_index = l->bad;
    l->outcome->bad_operand = 'a';
    gx__refusal_message(l->message, l->message_size, l->job, l->bad, 'a');
    return GX_ERR_NOT_CANONICAL;
}

/* The domains of the two passes, if there is a shift: the same roots, and shift^N2 or shift^N1. */
static gx_status set_domains(struct large *l)
{
    const struct gx_domain *d = l->params.domain;
    uint64_t root[GX_LIMBS_MAX] = {0}, shift[GX_LIMBS_MAX] = {0};
    gx_status s = GX_OK;
    for (int pass = 0; pass < 2 && s == GX_OK; pass++) {
        gx__domain_root(d, l->log2[pass], root);
        gx__pow_one(d->prime, shift, d->shift, (uint64_t)1 << l->log2[1 - pass]);
        s = gx__domain_set(&l->domain[pass], d->instance,
                           &(gx_domain_desc){.struct_size = sizeof(gx_domain_desc),
                                             .field = l->job->field,
                                             .log2_size = l->log2[pass],
                                             .root = root,
                                             .shift = shift},
                           l->message, l->message_size);
    }
    return s;
}

static void set_twiddles(struct large *l)
{
    const struct gx_domain *d = l->params.domain;
    uint64_t root[GX_LIMBS_MAX] = {0};
    bool inverse = l->params.flags & GX_NTT_INVERSE;
    gx__domain_root(d, l->params.log2_n, root);
    if (inverse)
        gx__invert_one(d->prime, root, root);
    memcpy(l->root.limb, root, sizeof l->root);
    memcpy(l->shift.limb, inverse ? d->inverse_shift : d->shift, sizeof l->shift);
}

static gx_status run_all(struct large *l)
{
    gx_status s = check_input(l);
    if (s == GX_OK && l->params.flags & GX_NTT_COSET)
        s = set_domains(l);
    set_twiddles(l);
    uint64_t batch = gx__ntt_batch(l->job, &l->params);
    for (l->transform = 0; l->transform < batch && s == GX_OK; l->transform++)
        s = run_transform(l);
    for (int pass = 0; pass < 2 && l->domain[0].id; pass++)
        gx__tables_drop(l->engine, l->domain[pass].id);
    return s;
}

/* Host memory of the job: the middle, a block, and copies of what lies in buffers. Each transform
 * is read before any of its result is written, so in place works. */
static uint64_t block_elems(const struct large *l)
{
    uint64_t one = (uint64_t)1 << l->log2[0];
    return one > BLOCK_ELEMS ? one : least(BLOCK_ELEMS, (uint64_t)1 << l->params.log2_n);
}

static gx_status run_in(struct large *l, struct element *memory)
{
    const gx_operand *a = &l->job->a, *out = &l->job->out;
    size_t a_bytes = gx__operand_bytes(l->job, GX_A), out_bytes = gx__operand_bytes(l->job, GX_OUT);
    l->middle = memory;
    l->block = memory + ((uint64_t)1 << l->params.log2_n);
    char *copy = (char *)(l->block + block_elems(l));
    l->in = a->buf ? copy : a->host;
    copy += a->buf ? a_bytes : 0;
    l->out = out->buf ? copy : out->host;
    gx_status s =
        a->buf ? gx_buf_read(a->buf, a->offset, (char *)(uintptr_t)l->in, a_bytes) : GX_OK;
    if (s != GX_OK)
        return fail(l, s, gx_last_message());
    s = run_all(l);
    if (s != GX_OK || !out->buf)
        return s;
    s = gx_buf_write(out->buf, out->offset, l->out, out_bytes);
    return s == GX_OK ? s : fail(l, s, gx_last_message());
}

gx_status gx__large_run(struct gx_engine *engine, const gx_job *job, struct gx_outcome *outcome,
                        char *message, size_t message_size)
{
    const gx_allocator *allocator = &engine->instance->config.allocator;
    struct gx_host_table table;
    struct large l = {.engine = engine,
                      .job = job,
                      .params = gx__ntt_params(job),
                      .outcome = outcome,
                      .message = message,
                      .message_size = message_size,
                      .prime = gx__prime(job->field)};
    gx__host_table(&table, ~0u);
    l.mul = table.fn[job->field][GX_HOST_MUL];
    l.log2[0] = l.params.log2_n / 2;
    l.log2[1] = l.params.log2_n - l.log2[0];
    size_t bytes = (size_t)(block_elems(&l) + ((uint64_t)1 << l.params.log2_n)) * ELEMENT_BYTES;
    bytes += job->a.buf ? gx__operand_bytes(job, GX_A) : 0;
    bytes += job->out.buf ? gx__operand_bytes(job, GX_OUT) : 0;
    struct element *memory = gx__alloc(allocator, bytes);
    if (!memory)
        return fail(&l, GX_ERR_OUT_OF_MEMORY, "no host memory for a transform in pieces");
    uint64_t start = gx__engine_now(engine);
    gx_status s = run_in(&l, memory);
    outcome->total_ns = gx__engine_now(engine) - start;
    gx__free(allocator, memory);
    return s;
}
