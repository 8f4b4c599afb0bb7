/* SPDX-License-Identifier: Apache-2.0
 *
 * Comparison with the reference device (check.h).
 */
#include "check.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "cli.h"
#include "clock.h"
#include "jobs.h"

/* Large enough for a device to use all its threads and non-temporal stores. */
enum { LARGE_ELEMENTS = 1 << 18, SAMPLE_MAX = 256 };

/* From 1 to 3 operands; there is no room for more here. */
static unsigned operand_count(gx_op op)
{
    unsigned n = gx_op_get_info(op)->operands;
    return n < 1 ? 1 : n > 3 ? 3 : n;
}

bool check_data_make(check_data *d, gx_field field, size_t n, uint64_t seed)
{
    size_t bytes = gx_field_get_info(field)->element_bytes, total;
    *d = (check_data){.field = field, .n = n, .seed = seed, .repeats = 1};
    if (n < LARGE_ELEMENTS)
        d->repeats = (LARGE_ELEMENTS + n - 1) / n;
    if (__builtin_mul_overflow(n * d->repeats, bytes, &total))
        return false;
    d->expected = data_alloc(n * bytes);
    d->got = data_alloc(total);
    if (!d->expected || !d->got)
        return false;
    for (unsigned k = 0; k < 3; k++) {
        d->operand[k] = data_alloc(total);
        if (!d->operand[k])
            return false;
        data_mixed(field, d->operand[k], n, seed, k);
        for (size_t r = 1; r < d->repeats; r++)
            memcpy(d->operand[k] + r * n * bytes, d->operand[k], n * bytes);
    }
    return true;
}

void check_data_free(check_data *d)
{
    for (unsigned k = 0; k < 3; k++)
        data_free(d->operand[k]);
    data_free(d->expected);
    data_free(d->got);
    *d = (check_data){0};
}

/* ---- jobs over check_data --------------------------------------------------------- */

typedef struct variant {
    unsigned broadcast; /* bit i: operand i */
    bool in_place;
    size_t repeats;
} variant;

static gx_operand *job_operand(gx_job *job, unsigned k)
{
    return k == 0 ? &job->a : k == 1 ? &job->b : &job->c;
}

/* The broadcast element is the last one: random, and the same in every repetition. */
static gx_job make_job(gx_op op, const check_data *d, const variant *v, void *out)
{
    size_t bytes = gx_field_get_info(d->field)->element_bytes;
    gx_job job = {.op = op, .field = d->field, .n = d->n * v->repeats, .out = gx_host(out)};
    for (unsigned k = 0; k < operand_count(op); k++) {
        const unsigned char *p = d->operand[k];
        *job_operand(&job, k) =
            v->broadcast >> k & 1 ? gx_host_broadcast(p + (d->n - 1) * bytes) : gx_host(p);
    }
    return job;
}

/* Copies the first operand that is not broadcast to the output. */
static void make_in_place(gx_job *job, const variant *v, size_t bytes)
{
    unsigned k = 0;
    while (v->broadcast >> k & 1)
        k++;
    gx_operand *o = job_operand(job, k);
    if (!o->host)
        return;
    memcpy(job->out.host, o->host, job->n * bytes);
    o->host = job->out.host;
}

/* Stores a difference, in result `index` of the job. */
static void differs(check_result *result, const gx_job *job, uint64_t index, size_t bytes,
                    const unsigned char *expected, const unsigned char *got)
{
    gx_operand operands[3] = {job->a, job->b, job->c};
    result->differs = true;
    result->op = job->op;
    result->field = job->field;
    result->index = index;
    result->n = job->n;
    result->bytes = bytes;
    memcpy(result->expected, expected, bytes);
    memcpy(result->got, got, bytes);
    /* with parameters, results do not come from the elements with their index */
    result->operands = gx_op_get_info(job->op)->params ? 0 : operand_count(job->op);
    for (unsigned k = 0; k < result->operands && operands[k].host; k++) {
        size_t at = operands[k].broadcast ? 0 : index;
        memcpy(result->operand[k], (const unsigned char *)operands[k].host + at * bytes, bytes);
        if (operands[k].broadcast)
            result->broadcast |= 1u << k;
    }
}

bool check_compare(check_result *result, const gx_job *job, uint64_t first, size_t count,
                   size_t bytes, const unsigned char *expected, const unsigned char *got)
{
    size_t i = 0;
    if (!memcmp(got, expected, count * bytes))
        return true;
    while (!memcmp(got + i * bytes, expected + i * bytes, bytes))
        i++;
    differs(result, job, first + i, bytes, expected + i * bytes, got + i * bytes);
    return false;
}

/* Compares `got` with `expected`, which is repeated as often as necessary. */
static void compare(check_result *result, const gx_job *job, const check_data *d, size_t repeats)
{
    size_t bytes = gx_field_get_info(d->field)->element_bytes;
    if (gx_op_get_info(job->op)->reduces) { /* one result for all elements */
        check_compare(result, job, 0, 1, bytes, d->expected, d->got);
        result->compared += job->n;
        return;
    }
    for (size_t r = 0, n = d->n; r < repeats; r++)
        if (!check_compare(result, job, r * n, n, bytes, d->expected, d->got + r * n * bytes))
            return;
    result->compared += d->n * repeats;
}

static gx_status check_variant(gx_ctx *ctx, const char *device, gx_op op, const check_data *d,
                               const variant *v, check_result *result)
{
    size_t bytes = gx_field_get_info(d->field)->element_bytes;
    gx_job job = make_job(op, d, v, d->got), original = job;
    if (v->in_place)
        make_in_place(&job, v, bytes);
    else
        memset(d->got, 0xa5, job.n * bytes);
    gx_status s = job_run(ctx, device, &job, &result->report);
    if (s != GX_OK)
        return s;
    result->in_place = v->in_place;
    compare(result, &original, d, v->repeats);
    return GX_OK;
}

/* The reference result of the job. For a reduction over repeated operands, the result of one
 * repetition, added up as often as they repeat. */
static gx_status expect(gx_ctx *ctx, gx_op op, const check_data *d, const variant *v,
                        check_result *result)
{
    variant once = {.broadcast = v->broadcast, .repeats = 1};
    gx_job job = make_job(op, d, &once, d->expected);
    gx_status s = job_run(ctx, "ref", &job, &result->report);
    if (s != GX_OK || !gx_op_get_info(op)->reduces || v->repeats == 1)
        return s;
    unsigned char one[ELEMENT_BYTES_MAX];
    memcpy(one, d->expected, gx_field_get_info(d->field)->element_bytes);
    gx_job times = {.op = GX_SUM,
                    .field = d->field,
                    .n = v->repeats,
                    .a = gx_host_broadcast(one),
                    .out = gx_host(d->expected)};
    return job_run(ctx, "ref", &times, &result->report);
}

gx_status check_op(gx_ctx *ctx, const char *device, gx_op op, const check_data *d,
                   check_result *result)
{
    unsigned operands = operand_count(op);
    if (op == GX_MSM)
        return check_msm_op(ctx, device, d, result);
    if (gx_op_get_info(op)->params)
        return check_whole_op(ctx, device, op, d, result);
    *result = (check_result){0};

    /* no broadcast, then each operand in turn */
    for (unsigned form = 0; form <= (operands > 1 ? operands : 0); form++) {
        variant plain = {.broadcast = form ? 1u << (form - 1) : 0, .repeats = 1};
        variant in_place = plain, large = plain;
        in_place.in_place = true;
        large.repeats = d->repeats;
        bool reduces = gx_op_get_info(op)->reduces;
        gx_status s = expect(ctx, op, d, &plain, result);
        if (s == GX_OK)
            s = check_variant(ctx, device, op, d, &plain, result);
        if (check_goes_on(s, result))
            s = reduces ? expect(ctx, op, d, &large, result)
                        : check_variant(ctx, device, op, d, &in_place, result);
        if (check_goes_on(s, result))
            s = check_variant(ctx, device, op, d, &large, result);
        if (!check_goes_on(s, result))
            return s;
    }
    return GX_OK;
}

/* ---- a sample of a job that has run -------------------------------------------------- */

/* The reference is slow at this many products, so the CPU computes them; this is not a test of its
 * products. */
enum { REFERENCE_PRODUCTS = 1 << 16 };

/* A reduction cannot be sampled, so the reference computes all of it. If there are many products,
 * it only adds them up. */
static gx_status check_reduction(gx_ctx *ctx, const gx_job *job, check_result *result)
{
    size_t bytes = gx_field_get_info(job->field)->element_bytes;
    unsigned char expected[ELEMENT_BYTES_MAX], *terms = NULL;
    gx_job again = *job;
    gx_status s = GX_OK;
    if (job->op == GX_DOT && job->n > REFERENCE_PRODUCTS) {
        terms = data_alloc(job->n * bytes);
        if (!terms)
            return GX_ERR_OUT_OF_MEMORY;
        gx_job mul = {.op = GX_MUL, .field = job->field, .n = job->n, .a = job->a, .b = job->b};
        mul.out = gx_host(terms);
        again = (gx_job){.op = GX_SUM, .field = job->field, .n = job->n, .a = mul.out};
        s = job_run(ctx, "cpu", &mul, &result->report);
    }
    again.out = gx_host(expected);
    if (s == GX_OK)
        s = job_run(ctx, "ref", &again, &result->report);
    if (s == GX_OK)
        check_compare(result, job, 0, 1, bytes, expected, job->out.host);
    result->compared = job->n;
    data_free(terms);
    return s;
}

gx_status check_sample(gx_ctx *ctx, const gx_job *job, check_result *result)
{
    size_t bytes = gx_field_get_info(job->field)->element_bytes;
    size_t count = job->n < SAMPLE_MAX ? job->n : SAMPLE_MAX;
    unsigned char gathered[3][SAMPLE_MAX * ELEMENT_BYTES_MAX];
    unsigned char expected[SAMPLE_MAX * ELEMENT_BYTES_MAX];
    size_t at[SAMPLE_MAX];
    gx_job whole = *job;
    gx_job sample = {.op = job->op, .field = job->field, .n = count, .out = gx_host(expected)};

    *result = (check_result){0};
    if (job->op == GX_MSM)
        return check_msm(ctx, job_curve(job->field, 0), job, result);
    if (gx_op_get_info(job->op)->params)
        return check_whole(ctx, job, result);
    if (gx_op_get_info(job->op)->reduces)
        return check_reduction(ctx, job, result);
    for (size_t i = 0; i < count; i++) /* including the first and the last */
        at[i] = count > 1 ? (size_t)((double)(job->n - 1) * (double)i / (double)(count - 1)) : 0;
    for (unsigned k = 0; k < operand_count(job->op); k++) {
        const unsigned char *p = job_operand(&whole, k)->host;
        for (size_t i = 0; i < count; i++)
            memcpy(gathered[k] + i * bytes, p + at[i] * bytes, bytes);
        *job_operand(&sample, k) = gx_host(gathered[k]);
    }
    gx_status s = job_run(ctx, "ref", &sample, &result->report);
    const unsigned char *got = job->out.host;
    for (size_t i = 0; i < count && check_goes_on(s, result); i++)
        check_compare(result, job, at[i], 1, bytes, expected + i * bytes, got + at[i] * bytes);
    result->compared = count;
    return s;
}

gx_status check_run(gx_ctx *ctx, const char *device, const gx_job *job, const gx_job *host,
                    check_result *result, double *ns)
{
    size_t bytes = gx_operand_bytes(job, 'o');
    gx_status s = GX_OK;
    *result = (check_result){0};
    /* A device that writes nothing must not pass because of the previous job's results. */
    memset(host->out.host, 0xa5, bytes);
    if (job->out.buf)
        s = gx_buf_write(job->out.buf, job->out.offset, host->out.host, bytes);
    uint64_t start = now_ns();
    if (s == GX_OK)
        s = job_run(ctx, device, job, &result->report);
    if (ns)
        *ns = (double)(now_ns() - start);
    if (s == GX_OK && job->out.buf)
        s = gx_buf_read(job->out.buf, job->out.offset, host->out.host, bytes);
    if (s != GX_OK) {
        result->report.status = s;
        return s;
    }
    return check_sample(ctx, host, result);
}

/* ---- showing ------------------------------------------------------------------------ */

/* As a number, most significant digit first; elements are little-endian. */
static void print_hex(const char *label, const unsigned char *element, size_t bytes)
{
    fprintf(stderr, "  %-9s 0x", label);
    for (size_t i = bytes; i-- > 0;)
        fprintf(stderr, "%02x", element[i]);
    fputc('\n', stderr);
}

void check_print(const char *device, const check_result *r)
{
    static const char *const names[] = {"a", "b", "c"};
    const gx_field_info *field = gx_field_get_info(r->field);
    const gx_op_info *op = gx_op_get_info(r->op);

    cli_error("%s %s on %s differs from ref", field->name, op->name, device);
    fprintf(stderr, "  %-9s %" PRIu64 " of %" PRIu64, r->curve ? "result" : "element", r->index,
            r->n);
    if (r->curve)
        fprintf(stderr, ", points of %s", r->curve);
    for (unsigned k = 0; k < 3 && k < r->operands; k++)
        if (r->broadcast >> k & 1)
            fprintf(stderr, ", %s broadcast", names[k]);
    fputs(r->in_place ? ", in place\n" : "\n", stderr);
    for (unsigned k = 0; k < 3 && k < r->operands; k++)
        print_hex(names[k], r->operand[k], field->element_bytes);
    print_hex("expected", r->expected, r->bytes);
    print_hex("got", r->got, r->bytes);
}

int check_cell(gx_ctx *ctx, const char *device, const gx_job *job, const gx_job *host)
{
    check_result r = {0};
    if (check_run(ctx, device, job, host, &r, NULL) != GX_OK)
        return cli_job_failed(&r.report);
    if (!r.differs)
        return EXIT_DONE;
    check_print(device, &r);
    return EXIT_DIFFERS;
}
