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
 * twiddles; likewise shift^-k at the end of an inverse one. The small transforms are tasks in host
 * memory, which the engine cuts and overlaps as it does any others.
 */
#include "compose/composition.h"

#include <string.h>

#include "base/threads.h"
#include "field/host.h"
#include "field/ntt.h"
#include "field/scalar.h"

#define ELEMENT_LIMBS GX_NTT_LIMBS
#define ELEMENT_BYTES (ELEMENT_LIMBS * sizeof(uint64_t))

/* Elements that a pass takes at a time, and columns that are multiplied together. */
#define BLOCK_ELEMS ((uint64_t)1 << 22)
#define COLUMNS     64u
#define CHECK_ELEMS ((uint64_t)1 << 16)

struct element {
    uint64_t limb[ELEMENT_LIMBS];
};

/* Temporaries: [k1][c] of one transform; columns of a block, one after the other; and copies of
 * what lies in buffers. */
enum { MIDDLE, BLOCK, INPUT, OUTPUT };

struct six_step {
    struct gx_composition *c;
    const struct gx_task *job;
    const struct gx_prime *prime;
    gx_host_fn mul;
    uint32_t log2[2];           /* of N1 and N2 */
    struct gx_domain domain[2]; /* of the two passes, in a coset */
    const char *in;             /* of the job, in host memory, of any alignment */
    char *out;
    uint64_t stride_in, stride_out; /* of columns; else 0 */
    struct element *middle, *block;
    struct element root, shift; /* of the twiddles: inverses in an inverse transform */
    uint64_t each_columns;      /* of a block, and rows of N2 at a time */
    uint64_t each_rows;
    uint64_t first, columns; /* of the block */
    _Atomic uint64_t bad;
};

bool gx__six_step_possible(const struct gx_task *job)
{
    return job->op == GX_NTT && job->ntt.log2_n >= 2;
}

static void spread(const struct six_step *l, size_t parts, gx_threads_fn fn)
{
    gx__threads_spread(l->c->engine->instance, parts, fn, (void *)(uintptr_t)l);
}

/* ---- places ---- */

/* Of element i of the current transform, among those of an operand with 2^log2 each or in columns,
 * `stride` from row to row. */
static uint64_t place(const struct six_step *l, uint64_t i, uint32_t log2, uint32_t reversed,
                      uint64_t stride)
{
    uint64_t at = l->job->ntt.flags & reversed ? gx__bit_reverse(i, log2) : i;
    return stride ? at * stride + l->c->round : (l->c->round << log2) + at;
}

/* ---- the first pass ---- */

/* A row of x, to the columns of the block. */
static void gather_row(void *user, size_t r, uint32_t worker)
{
    const struct six_step *l = user;
    uint32_t log2_in = l->job->ntt.log2_n - l->job->ntt.log2_pad;
    (void)worker;
    for (uint64_t c = 0; c < l->columns; c++) {
        struct element *to = &l->block[(c << l->log2[0]) + r];
        uint64_t i = ((uint64_t)r << l->log2[1]) + l->first + c;
        if (i >> log2_in)
            memset(to, 0, sizeof *to);
        else
            memcpy(to,
                   l->in + place(l, i, log2_in, GX_NTT_REVERSED_IN, l->stride_in) * ELEMENT_BYTES,
                   sizeof *to);
    }
}

static void multiply(const struct six_step *l, struct element *out, const struct element *a,
                     const struct element *b, size_t n)
{
    l->mul(l->prime, &(struct gx_host_args){.out = out, .a = a, .b = b, .n = n});
}

static struct element power(const struct six_step *l, const struct element *base, uint64_t exponent)
{
    struct element r;
    gx__pow_one(l->prime, r.limb, base->limb, exponent);
    return r;
}

/* Rows that one thread multiplies. */
static uint64_t rows_each(const struct six_step *l)
{
    uint64_t rows = ((uint64_t)1 << l->log2[0]) / (4 * gx__cores());
    return rows ? rows : 1;
}

/* Some rows of the result of the block, times the twiddles, to the middle. */
static void scatter_rows(void *user, size_t part, uint32_t worker)
{
    const struct six_step *l = user;
    bool inverse = l->job->ntt.flags & GX_NTT_INVERSE, coset = l->job->ntt.flags & GX_NTT_COSET;
    uint64_t each = rows_each(l), from = part * each,
             to = gx__least(from + each, (uint64_t)1 << l->log2[0]);
    struct element twiddle[COLUMNS], step[COLUMNS], row[COLUMNS];
    (void)worker;
    for (uint64_t c0 = 0; c0 < l->columns; c0 += COLUMNS) {
        size_t n = (size_t)gx__least(COLUMNS, l->columns - c0);
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
    const struct six_step *l = user;
    uint64_t k1 = l->first + row;
    const struct element *from = l->middle + (k1 << l->log2[1]);
    (void)worker;
    for (uint64_t k2 = 0; k2 >> l->log2[1] == 0; k2++)
        memcpy(l->out + place(l, k1 + (k2 << l->log2[0]), l->job->ntt.log2_n, GX_NTT_REVERSED_OUT,
                              l->stride_out) *
                            ELEMENT_BYTES,
               &from[k2], sizeof *from);
}

/* ---- small transforms ---- */

/* Transforms of pass 0 or 1, in place. */
static size_t small_task(const struct six_step *l, int pass, struct gx_place elements,
                         uint64_t batch, struct gx_task *task)
{
    bool inverse = l->job->ntt.flags & GX_NTT_INVERSE, coset = l->job->ntt.flags & GX_NTT_COSET;
    bool shifts = coset && inverse == (pass == 1);
    *task = (struct gx_task){
        .op = GX_NTT,
        .field = l->job->field,
        .n = (size_t)batch << l->log2[pass],
        .a = elements,
        .out = elements,
        .trusted = true,
        .ntt = {.domain = shifts ? &l->domain[pass] : l->job->ntt.domain,
                .log2_n = l->log2[pass],
                .flags = (inverse ? GX_NTT_INVERSE : 0) | (shifts ? GX_NTT_COSET : 0)}};
    gx__task_complete(task);
    return 1;
}

static void set_block(struct six_step *l, size_t i)
{
    l->first = i * l->each_columns;
    l->columns = gx__least(l->each_columns, ((uint64_t)1 << l->log2[1]) - l->first);
}

static void gather(struct gx_composition *c)
{
    struct six_step *l = c->user;
    set_block(l, c->time);
    spread(l, (size_t)1 << l->log2[0], gather_row);
}

static size_t transform_columns(struct gx_composition *c, struct gx_task *task)
{
    struct six_step *l = c->user;
    set_block(l, c->time);
    return small_task(l, 0, c->temporary[BLOCK].at, l->columns, task);
}

static gx_status scatter(struct gx_composition *c)
{
    const struct six_step *l = c->user;
    uint64_t each = rows_each(l), n1 = (uint64_t)1 << l->log2[0];
    spread(l, (size_t)((n1 + each - 1) / each), scatter_rows);
    return GX_OK;
}

static size_t transform_rows(struct gx_composition *c, struct gx_task *task)
{
    const struct six_step *l = c->user;
    uint64_t first = c->time * l->each_rows, n1 = (uint64_t)1 << l->log2[0];
    struct gx_place at = c->temporary[MIDDLE].at;
    at.host = (char *)at.host + ((size_t)first << l->log2[1]) * ELEMENT_BYTES;
    return small_task(l, 1, at, gx__least(l->each_rows, n1 - first), task);
}

/* ---- the job ---- */

static void check_part(void *user, size_t part, uint32_t worker)
{
    struct six_step *l = user;
    uint64_t from = part * CHECK_ELEMS,
             n = gx__operand_span(l->job, GX_A, l->job->n) / ELEMENT_BYTES - from;
    (void)worker;
    size_t bad = gx__first_bad(l->prime, l->in + from * ELEMENT_BYTES,
                               (size_t)gx__least(n, CHECK_ELEMS), false);
    if (bad != GX_NONE_BAD)
        gx__threads_found(&l->bad, from + bad);
}

static gx_status check_input(struct six_step *l)
{
    uint64_t n = gx__operand_span(l->job, GX_A, l->job->n) / ELEMENT_BYTES;
    if (l->job->trusted)
        return GX_OK;
    atomic_store(&l->bad, UINT64_MAX);
    spread(l, (size_t)((n + CHECK_ELEMS - 1) / CHECK_ELEMS), check_part);
    if (l->bad == UINT64_MAX)
        return GX_OK;
    l->c->outcome->bad_index = l->bad;
    l->c->outcome->bad_operand = 'a';
    return GX_ERR_NOT_CANONICAL;
}

/* The domains of the two passes, if there is a shift: the same roots, and shift^N2 or shift^N1. */
static gx_status set_domains(struct six_step *l)
{
    const struct gx_domain *d = l->job->ntt.domain;
    uint64_t root[GX_LIMBS_MAX] = {0}, shift[GX_LIMBS_MAX] = {0};
    gx_status s = GX_OK;
    for (int pass = 0; pass < 2 && s == GX_OK; pass++) {
        gx__domain_root(d, l->log2[pass], root);
        gx__pow_one(d->prime, shift, d->shift, (uint64_t)1 << l->log2[1 - pass]);
        s = gx__domain_set(&l->domain[pass], d->instance, d->prime, l->log2[pass], root, shift,
                           &l->c->error);
    }
    return s;
}

static void set_twiddles(struct six_step *l)
{
    const struct gx_domain *d = l->job->ntt.domain;
    uint64_t root[GX_LIMBS_MAX] = {0};
    bool inverse = l->job->ntt.flags & GX_NTT_INVERSE;
    gx__domain_root(d, l->job->ntt.log2_n, root);
    if (inverse)
        gx__invert_one(d->prime, root, root);
    memcpy(l->root.limb, root, sizeof l->root);
    memcpy(l->shift.limb, inverse ? d->inverse_shift : d->shift, sizeof l->shift);
}

/* Before the first transform. Each is read before any of its result is written, so in place works.
 */
static gx_status fetch(struct gx_composition *c)
{
    struct six_step *l = c->user;
    const struct gx_place *a = &l->job->a;
    struct gx_temporary *t = c->temporary;
    if (c->round)
        return GX_OK;
    l->middle = t[MIDDLE].at.host;
    l->block = t[BLOCK].at.host;
    l->in = a->buf ? t[INPUT].at.host : a->host;
    l->out = l->job->out.buf ? t[OUTPUT].at.host : l->job->out.host;
    gx_status s =
        a->buf ? gx__buf_read(a->buf, a->offset, t[INPUT].at.host, t[INPUT].bytes) : GX_OK;
    return s == GX_OK ? check_input(l) : s;
}

static gx_status store(struct gx_composition *c)
{
    struct six_step *l = c->user;
    const struct gx_place *out = &l->job->out;
    l->first = 0;
    spread(l, (size_t)1 << l->log2[0], store_row);
    if (!out->buf || c->round + 1 < c->rounds)
        return GX_OK;
    return gx__buf_write(out->buf, out->offset, l->out, c->temporary[OUTPUT].bytes);
}

/* At most `most` of them at once, but one at least. */
static uint64_t together(uint64_t most, uint64_t all)
{
    return most < 1 ? 1 : gx__least(most, all);
}

static gx_status lower(struct gx_composition *c)
{
    struct six_step *l = c->user;
    const struct gx_task *job = l->job;
    const uint64_t n1 = (uint64_t)1 << l->log2[0], n2 = (uint64_t)1 << l->log2[1];
    l->each_columns = together(BLOCK_ELEMS >> l->log2[0], n2);
    l->each_rows = together(BLOCK_ELEMS >> l->log2[1], n1);
    c->temporary[MIDDLE].bytes = (size_t)(n1 * n2) * ELEMENT_BYTES;
    c->temporary[BLOCK].bytes = (size_t)(n1 * l->each_columns) * ELEMENT_BYTES;
    c->temporary[INPUT].bytes = job->a.buf ? gx__operand_bytes(job, GX_A) : 0;
    c->temporary[OUTPUT].bytes = job->out.buf ? gx__operand_bytes(job, GX_OUT) : 0;
    c->rounds = (size_t)gx__ntt_batch(job);
    c->step[0] = (struct gx_part_step){.times = 1, .after = fetch};
    c->step[1] = (struct gx_part_step){.times = (n2 + l->each_columns - 1) / l->each_columns,
                                       .before = gather,
                                       .tasks = transform_columns,
                                       .after = scatter};
    c->step[2] = (struct gx_part_step){.times = (n1 + l->each_rows - 1) / l->each_rows,
                                       .tasks = transform_rows};
    c->step[3] = (struct gx_part_step){.times = 1, .after = store};
    c->steps = 4;
    return GX_OK;
}

gx_status gx__compose_six_step(struct gx_composition *c)
{
    struct gx_host_table table;
    struct six_step l = {.c = c, .job = c->job, .prime = gx__prime(c->job->field)};
    gx__host_table(&table, ~0u);
    l.mul = table.fn[c->job->field][GX_HOST_MUL];
    l.stride_in = gx__operand_matrix(c->job, GX_A).stride;
    l.stride_out = gx__operand_matrix(c->job, GX_OUT).stride;
    l.log2[0] = c->job->ntt.log2_n / 2;
    l.log2[1] = c->job->ntt.log2_n - l.log2[0];
    c->user = &l;
    c->nested = true;
    c->path = GX_PATH_AUTO;
    c->mode = GX_MODE_AUTO;
    gx_status s = c->job->ntt.flags & GX_NTT_COSET ? set_domains(&l) : GX_OK;
    set_twiddles(&l);
    if (s == GX_OK)
        s = gx__composition_run(c, lower, NULL);
    for (int pass = 0; pass < 2 && l.domain[0].id; pass++)
        gx__tables_drop(c->engine, l.domain[pass].id);
    if (c->lacking >= 0)
        gx__explain(&c->error, "device '%s': no host memory for a transform in pieces",
                    c->engine->device.info.name);
    return s;
}
