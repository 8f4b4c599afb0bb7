/* SPDX-License-Identifier: Apache-2.0
 *
 * Checks of the operations with parameters: transforms and operations on polynomials (check.h).
 */
#include "check.h"

#include <string.h>

#include "jobs.h"

enum { SMALL_LOG2 = 5, BATCH = 3, REFERENCE_EVALUATES = 4096 };

typedef struct checking {
    gx_ctx *ctx;
    const gx_job *job; /* completed */
    size_t bytes;      /* of an element */
    check_result *result;
} checking;

static unsigned char *at(const gx_operand *o, size_t bytes, size_t i)
{
    return (unsigned char *)o->host + i * bytes;
}

/* Results of the device under test are trusted: wrong ones are to be shown, not refused. */
static gx_status run_on(const checking *c, const char *device, gx_job job)
{
    job.flags = GX_JOB_UNCHECKED;
    return job.n ? job_run(c->ctx, device, &job, &c->result->report) : GX_OK;
}

/* An elementwise operation of n elements on the CPU, to `out`. */
static gx_status compute(const checking *c, gx_op op, size_t n, gx_operand a, gx_operand b,
                         void *out)
{
    return run_on(
        c, "cpu",
        (gx_job){.op = op, .field = c->job->field, .n = n, .a = a, .b = b, .out = gx_host(out)});
}

static gx_status set_one(const checking *c, unsigned char *element)
{
    memset(element, 0, c->bytes);
    element[0] = 1;
    return compute(c, GX_TO_MONT, 1, gx_host(element), (gx_operand){0}, element);
}

static void compare(check_result *result, const gx_job *job, const unsigned char *expected)
{
    size_t bytes = gx_field_get_info(job->field)->element_bytes;
    size_t count = gx_operand_bytes(job, 'o') / bytes;
    if (check_compare(result, job, 0, count, bytes, expected, job->out.host))
        result->compared += job->n;
}

/* ---- permutations ---- */

static size_t reversed(size_t i, unsigned bits)
{
    size_t r = 0;
    for (unsigned b = 0; b < bits; b++)
        r |= (i >> b & 1) << (bits - 1 - b);
    return r;
}

/* The element of a that out[i] is. */
static size_t source_of(const gx_job *job, size_t i)
{
    size_t n = job->n, count = job->params ? ((const gx_poly_params *)job->params)->count : 1;
    switch (job->op) {
    case GX_BIT_REVERSE:
        return reversed(i, log2_of(n));
    case GX_GATHER:
        return ((const uint32_t *)job->b.host)[i];
    case GX_ROTATE:
        return (i + count) % n;
    case GX_INTERLEAVE:
        return i % count * (n / count) + i / count;
    default: /* GX_DEINTERLEAVE */
        return i % (n / count) * count + i / (n / count);
    }
}

/* ---- elements from their neighbours ---- */

/* Sets expected[0] to 1 and each further element to the one before it times a: powers. Of cosets,
 * each copy begins with the beginning of the one before times b. */
static gx_status expect_powers(const checking *c, unsigned char *expected)
{
    const gx_job *job = c->job;
    size_t copy =
        job->op == GX_COSETS ? (size_t)((const gx_poly_params *)job->params)->count : job->n;
    gx_status s = set_one(c, expected);
    if (s == GX_OK)
        s = compute(c, GX_MUL, job->n - 1, job->out, gx_host_broadcast(job->a.host),
                    expected + c->bytes);
    for (size_t i = copy; s == GX_OK && i < job->n; i += copy)
        s = compute(c, GX_MUL, 1, gx_host(at(&job->out, c->bytes, i - copy)), job->b,
                    expected + i * c->bytes);
    return s;
}

static gx_status expect_quotient(const checking *c, unsigned char *expected)
{
    const gx_job *job = c->job;
    memset(expected + (job->n - 1) * c->bytes, 0, c->bytes);
    return run_on(c, "cpu",
                  (gx_job){.op = GX_MUL_ADD,
                           .field = job->field,
                           .n = job->n - 1,
                           .a = gx_host(at(&job->out, c->bytes, 1)),
                           .b = gx_host_broadcast(job->b.host),
                           .c = gx_host(at(&job->a, c->bytes, 1)),
                           .out = gx_host(expected)});
}

static gx_status expect_prefix(const checking *c, gx_op join, unsigned char *expected)
{
    const gx_job *job = c->job;
    memcpy(expected, job->a.host, c->bytes);
    return compute(c, join, job->n - 1, job->out, gx_host(at(&job->a, c->bytes, 1)),
                   expected + c->bytes);
}

static gx_status expect_value(const checking *c, unsigned char *powers)
{
    const gx_job *job = c->job;
    gx_status s = compute(c, GX_POWERS, job->n, job->b, (gx_operand){0}, powers);
    return s == GX_OK
               ? compute(c, GX_DOT, job->n, job->a, gx_host(powers), powers + job->n * c->bytes)
               : s;
}

static gx_status check_elements(const checking *c)
{
    const gx_job *job = c->job;
    gx_status s = GX_OK;
    unsigned char *expected = data_alloc((job->n + 1) * c->bytes), *from = expected;
    if (!expected)
        return c->result->report.status = GX_ERR_OUT_OF_MEMORY;
    switch (job->op) {
    case GX_PREFIX_SUM:
    case GX_PREFIX_PRODUCT:
        s = expect_prefix(c, job->op == GX_PREFIX_SUM ? GX_ADD : GX_MUL, expected);
        break;
    case GX_POWERS:
    case GX_COSETS:
        s = expect_powers(c, expected);
        break;
    case GX_EVALUATE:
        s = expect_value(c, expected);
        from = expected + job->n * c->bytes;
        break;
    case GX_DIVIDE_LINEAR:
        s = expect_quotient(c, expected);
        break;
    default:
        for (size_t i = 0; i < job->n; i++)
            memcpy(expected + i * c->bytes, at(&job->a, c->bytes, source_of(job, i)), c->bytes);
    }
    if (s == GX_OK)
        compare(c->result, job, from);
    data_free(expected);
    return s;
}

/* ---- transforms ---- */

/* root^k */
static gx_status set_power(const checking *c, const gx_ntt_params *params, size_t k,
                           unsigned char *power)
{
    unsigned char root[ELEMENT_BYTES_MAX];
    gx_status s = gx_domain_root(params->domain, params->log2_n, root);
    if (s == GX_OK)
        s = set_one(c, power);
    for (unsigned bit = params->log2_n; s == GX_OK && bit-- > 0;) {
        s = compute(c, GX_SQR, 1, gx_host(power), (gx_operand){0}, power);
        if (s == GX_OK && k >> bit & 1)
            s = compute(c, GX_MUL, 1, gx_host(power), gx_host(root), power);
    }
    return s;
}

/* Output k of the transform that begins at `first`. */
static gx_status check_output(const checking *c, const gx_ntt_params *params, size_t first,
                              size_t k)
{
    unsigned char point[ELEMENT_BYTES_MAX], expected[ELEMENT_BYTES_MAX];
    size_t n = (size_t)1 << params->log2_n;
    size_t place = first + (params->flags & GX_NTT_REVERSED_OUT ? reversed(k, params->log2_n) : k);
    const unsigned char *got = at(&c->job->out, c->bytes, place);
    gx_status s = set_power(c, params, k, point);
    if (s == GX_OK)
        s = run_on(c, n <= REFERENCE_EVALUATES ? "ref" : "cpu",
                   gx_poly(GX_EVALUATE, c->job->field, n, NULL,
                           gx_host(at(&c->job->a, c->bytes, first)), gx_host(point),
                           gx_host(expected)));
    if (check_goes_on(s, c->result))
        check_compare(c->result, c->job, place, 1, c->bytes, expected, got);
    return s;
}

/* The outputs of a transform add up to n times its first input. */
static gx_status check_sum(const checking *c, size_t first, size_t n)
{
    unsigned char expected[ELEMENT_BYTES_MAX], got[ELEMENT_BYTES_MAX];
    gx_job sum = {.op = GX_SUM, .field = c->job->field, .n = n};
    sum.a = gx_host_broadcast(at(&c->job->a, c->bytes, first));
    sum.out = gx_host(expected);
    gx_status s = run_on(c, "ref", sum);
    sum.a = gx_host(at(&c->job->out, c->bytes, first));
    sum.out = gx_host(got);
    if (s == GX_OK)
        s = run_on(c, "ref", sum);
    if (check_goes_on(s, c->result))
        check_compare(c->result, c->job, first, 1, c->bytes, expected, got);
    return s;
}

/* Forward transforms in rows, with natural input; of a batch the first and the last. */
static gx_status check_transforms(const checking *c)
{
    const gx_ntt_params *params = c->job->params;
    size_t n = (size_t)1 << params->log2_n, last = c->job->n - n;
    gx_status s = GX_OK;
    for (size_t first = 0; s == GX_OK && first <= last; first += last ? last : n) {
        s = check_output(c, params, first, n / 3);
        if (s == GX_OK)
            s = check_output(c, params, first, n - 1);
        if (s == GX_OK)
            s = check_sum(c, first, n);
    }
    c->result->compared += c->result->differs ? 0 : c->job->n;
    return s;
}

gx_status check_whole(gx_ctx *ctx, const gx_job *job, check_result *result)
{
    const checking c = {.ctx = ctx,
                        .job = job,
                        .bytes = gx_field_get_info(job->field)->element_bytes,
                        .result = result};
    return job->op == GX_NTT ? check_transforms(&c) : check_elements(&c);
}

/* ---- all shapes of an operation ---- */

typedef struct shapes {
    checking c;
    const char *device;
    job_arrays arrays; /* of the check_data */
    unsigned char *expected;
    size_t n, most; /* elements of a small job, and of a large one */
} shapes;

/* The whole result against that of the reference. */
static gx_status check_small(shapes *x, const gx_job *job)
{
    gx_job reference = *job;
    reference.out = gx_host(x->expected);
    gx_status s = run_on(&x->c, "ref", reference);
    if (s == GX_OK) {
        memset(job->out.host, 0xa5, gx_operand_bytes(job, 'o'));
        s = job_run(x->c.ctx, x->device, job, &x->c.result->report);
    }
    if (s == GX_OK)
        compare(x->c.result, job, x->expected);
    return s;
}

/* Every direction, order and coset, in rows with padding and without, and in columns. */
static gx_status check_small_transforms(shapes *x)
{
    static const struct {
        uint32_t flags, pad, batch;
    } layouts[] = {
        {0, 0, 1}, {0, 2, BATCH}, {GX_NTT_COLUMNS, 0, BATCH}, {GX_NTT_COLUMNS, 1, BATCH}};
    job_params params;
    gx_status s = GX_OK;
    size_t n = x->n < (1u << SMALL_LOG2) ? x->n : 1u << SMALL_LOG2;
    gx_job job = job_make(&x->arrays, GX_NTT, n, &params);
    unsigned log2_n = params.ntt.log2_n;
    for (size_t i = 0; i < sizeof layouts / sizeof *layouts; i++)
        for (uint32_t flags = 0; check_goes_on(s, x->c.result) && flags < GX_NTT_COLUMNS; flags++) {
            params.ntt.flags = flags | layouts[i].flags;
            params.ntt.log2_pad = layouts[i].pad < log2_n ? layouts[i].pad : log2_n;
            job.n = (size_t)layouts[i].batch << log2_n;
            s = check_small(x, &job);
        }
    return s;
}

static gx_status check_small_jobs(shapes *x, gx_op op)
{
    const size_t sizes[] = {1, x->n};
    job_params params;
    gx_status s = GX_OK;
    if (op == GX_NTT)
        return check_small_transforms(x);
    for (size_t i = 0; check_goes_on(s, x->c.result) && i < 2; i++) {
        gx_job job = job_make(&x->arrays, op, sizes[i], &params);
        s = check_small(x, &job);
    }
    if (op == GX_EVALUATE && check_goes_on(s, x->c.result)) {
        size_t n = (size_t)1 << log2_of(x->n);
        gx_job job = job_make(&x->arrays, op, n, &params);
        params.poly.flags = GX_POLY_REVERSED;
        job.params = &params.poly;
        s = check_small(x, &job);
    }
    return s;
}

/* There, and for a transform back, in place. */
static gx_status check_large_job(shapes *x, gx_op op)
{
    job_params params;
    gx_job job = job_make(&x->arrays, op, x->most, &params), back = job;
    gx_status s = job_run(x->c.ctx, x->device, &job, &x->c.result->report);
    if (s == GX_OK)
        s = check_whole(x->c.ctx, &job, x->c.result);
    if (op != GX_NTT || !check_goes_on(s, x->c.result))
        return s;
    back.a = back.out;
    params.ntt.flags = GX_NTT_INVERSE;
    s = job_run(x->c.ctx, x->device, &back, &x->c.result->report);
    if (s == GX_OK)
        compare(x->c.result, &back, job.a.host);
    return s;
}

static bool shapes_make(shapes *x, const check_data *d, gx_op op)
{
    size_t bytes = gx_field_get_info(d->field)->element_bytes;
    x->n = d->n;
    x->most = d->n * d->repeats;
    x->arrays = (job_arrays){.field = d->field, .result = d->got};
    memcpy(x->arrays.operand, d->operand, sizeof x->arrays.operand);
    x->expected = data_alloc((d->n + ((size_t)BATCH << SMALL_LOG2)) * bytes);
    return x->expected && job_extras_make(&x->arrays, x->c.ctx, 1u << op, x->most);
}

gx_status check_whole_op(gx_ctx *ctx, const char *device, gx_op op, const check_data *d,
                         check_result *result)
{
    shapes x = {
        .c = {.ctx = ctx, .bytes = gx_field_get_info(d->field)->element_bytes, .result = result},
        .device = device};
    *result = (check_result){0};
    gx_status s = GX_ERR_OUT_OF_MEMORY;
    if (shapes_make(&x, d, op))
        s = check_small_jobs(&x, op);
    else
        result->report.status = s;
    if (check_goes_on(s, result))
        s = check_large_job(&x, op);
    data_free(x.expected);
    data_free(x.arrays.indices);
    gx_domain_destroy(&x.arrays.domain);
    return s;
}
