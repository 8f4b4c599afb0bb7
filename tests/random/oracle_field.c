/* SPDX-License-Identifier: Apache-2.0
 *
 * Elements, and the operations on them (oracle.h).
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "random/oracle.h"

static struct rnd_prime primes[GX_F32 + 1];

static void make_prime(gx_field field, size_t bytes, const char *modulus)
{
    struct rnd_prime *f = &primes[field];
    f->bytes = bytes;
    mpz_init_set_str(f->p, modulus, 16);
    mpz_inits(f->r, f->r_inverse, NULL);
    mpz_ui_pow_ui(f->r, 2, 8 * bytes);
    mpz_mod(f->r, f->r, f->p);
    mpz_invert(f->r_inverse, f->r, f->p);
}

void rnd_oracle_init_fields(void);
void rnd_oracle_init_fields(void)
{
    make_prime(GX_BLS12_381_FQ, 48,
               "1a0111ea397fe69a4b1ba7b6434bacd764774b84f38512bf6730d2a0f6b0f624"
               "1eabfffeb153ffffb9feffffffffaaab");
    make_prime(GX_BLS12_381_FR, 32,
               "73eda753299d7d483339d80809a1d80553bda402fffe5bfeffffffff00000001");
    make_prime(GX_BN254_FQ, 32, "30644e72e131a029b85045b68181585d97816a916871ca8d3c208c16d87cfd47");
    make_prime(GX_BN254_FR, 32, "30644e72e131a029b85045b68181585d2833e84879b9709143e1f593f0000001");
}

const struct rnd_prime *rnd_prime(uint64_t field)
{
    return field <= GX_F32 && primes[field].bytes ? &primes[field] : NULL;
}

void rnd_get(mpz_t x, const void *memory, size_t bytes)
{
    mpz_import(x, bytes, -1, 1, -1, 0, memory);
}

void rnd_put(void *memory, size_t bytes, const mpz_t x)
{
    size_t written = 0;
    memset(memory, 0, bytes);
    mpz_export(memory, &written, -1, 1, -1, 0, x);
}

void rnd_get_mont(mpz_t x, const struct rnd_prime *f, const void *memory)
{
    rnd_get(x, memory, f->bytes);
    mpz_mul(x, x, f->r_inverse);
    mpz_mod(x, x, f->p);
}

void rnd_put_mont(void *memory, const struct rnd_prime *f, const mpz_t x)
{
    mpz_t y;
    mpz_init(y);
    mpz_mul(y, x, f->r);
    mpz_mod(y, y, f->p);
    rnd_put(memory, f->bytes, y);
    mpz_clear(y);
}

mpz_t *rnd_integers(size_t n)
{
    mpz_t *x = calloc(n ? n : 1, sizeof *x);
    if (!x)
        abort();
    for (size_t i = 0; i < n; i++)
        mpz_init(x[i]);
    return x;
}

void rnd_integers_free(mpz_t *x, size_t n)
{
    for (size_t i = 0; i < n; i++)
        mpz_clear(x[i]);
    free(x);
}

/* ---- rejected inputs ---- */

static void reject(struct rnd_rejection *first, gx_status status, uint64_t index, unsigned operand)
{
    if (first->status == GX_OK || index < first->index)
        *first = (struct rnd_rejection){status, index, 1u << operand};
    else if (index == first->index)
        first->operands |= 1u << operand;
}

static void check_elements(struct rnd_rejection *first, const struct rnd_prime *f,
                           const unsigned char *memory, size_t n, unsigned operand)
{
    mpz_t x;
    mpz_init(x);
    for (size_t i = 0; i < n; i++) {
        rnd_get(x, memory + i * f->bytes, f->bytes);
        if (mpz_cmp(x, f->p) >= 0) {
            reject(first, GX_ERR_NOT_CANONICAL, i, operand);
            break;
        }
    }
    mpz_clear(x);
}

static void check_indices(struct rnd_rejection *first, const struct rnd_job *job,
                          const unsigned char *memory)
{
    for (size_t i = 0; i < job->n; i++) {
        uint32_t index;
        memcpy(&index, memory + 4 * i, sizeof index);
        if (index >= job->count) {
            reject(first, GX_ERR_INVALID, i, 1);
            return;
        }
    }
}

struct rnd_rejection rnd_oracle_reject(const struct rnd_job *job, unsigned char *const in[3])
{
    const struct rnd_prime *f = rnd_prime(job->field);
    struct rnd_rejection first = {GX_OK, 0, 0};
    if (!f || job->trusted || (job->op == GX_MSM && job->scalar_form == GX_SCALAR_PLAIN))
        return first;
    for (unsigned i = 0; i < rnd_operand_count(job); i++)
        if (job->op == GX_GATHER && i == 1)
            check_indices(&first, job, in[i]);
        else
            check_elements(&first, f, in[i], rnd_elements(job, i), i);
    return first;
}

/* ---- u32 and f32 ---- */

static uint32_t word_op(uint64_t op, uint32_t a, uint32_t b)
{
    switch (op) {
    case GX_ADD:
        return a + b;
    case GX_SUB:
        return a - b;
    case GX_MUL:
        return a * b;
    default: /* RND_REGISTERED */
        return 5 * a + (b ^ a / 128);
    }
}

static uint32_t float_op(uint64_t op, uint32_t a, uint32_t b)
{
    float x, y, z;
    uint32_t bits;
    memcpy(&x, &a, sizeof x);
    memcpy(&y, &b, sizeof y);
    z = op == GX_ADD ? x + y : op == GX_SUB ? x - y : x * y;
    memcpy(&bits, &z, sizeof bits);
    return isnan(z) ? 0x7fc00000u : bits;
}

static void words(const struct rnd_job *job, unsigned char *const in[3], unsigned char *out)
{
    for (size_t i = 0; i < job->n; i++) {
        uint32_t a, b, c;
        memcpy(&a, in[0] + 4 * (job->operand[0].broadcast ? 0 : i), 4);
        memcpy(&b, in[1] + 4 * (job->operand[1].broadcast ? 0 : i), 4);
        c = job->field == GX_U32 ? word_op(job->op, a, b) : float_op(job->op, a, b);
        memcpy(out + 4 * i, &c, 4);
    }
}

/* ---- one result for each element ---- */

static void invert(mpz_t x, const mpz_t a, const mpz_t p)
{
    if (!mpz_invert(x, a, p))
        mpz_set_ui(x, 0);
}

static void element_op(uint64_t op, const struct rnd_prime *f, mpz_t x, mpz_t v[3])
{
    switch (op) {
    case GX_ADD:
        mpz_add(x, v[0], v[1]);
        break;
    case GX_SUB:
        mpz_sub(x, v[0], v[1]);
        break;
    case GX_MUL:
        mpz_mul(x, v[0], v[1]);
        break;
    case GX_NEG:
        mpz_neg(x, v[0]);
        break;
    case GX_SQR:
        mpz_mul(x, v[0], v[0]);
        break;
    case GX_INV:
        invert(x, v[0], f->p);
        break;
    case GX_DIV:
        invert(x, v[1], f->p);
        mpz_mul(x, x, v[0]);
        break;
    case GX_MUL_ADD:
        mpz_mul(x, v[0], v[1]);
        mpz_add(x, x, v[2]);
        break;
    /* The element in memory is a = v * R as an integer. */
    case GX_TO_MONT:
        mpz_mul(x, v[0], f->r);
        break;
    case GX_FROM_MONT:
        mpz_mul(x, v[0], f->r_inverse);
        break;
    default:
        abort();
    }
    mpz_mod(x, x, f->p);
}

static void elementwise(const struct rnd_job *job, const struct rnd_prime *f,
                        unsigned char *const in[3], unsigned char *out)
{
    mpz_t v[3], x;
    mpz_inits(v[0], v[1], v[2], x, NULL);
    for (size_t i = 0; i < job->n; i++) {
        for (unsigned k = 0; k < rnd_operand_count(job); k++)
            rnd_get_mont(v[k], f, in[k] + f->bytes * (job->operand[k].broadcast ? 0 : i));
        element_op(job->op, f, x, v);
        rnd_put_mont(out + f->bytes * i, f, x);
    }
    mpz_clears(v[0], v[1], v[2], x, NULL);
}

/* ---- reductions and polynomials ---- */

static size_t reversed(size_t i, size_t n)
{
    size_t r = 0;
    for (; n > 1; n >>= 1, i >>= 1)
        r = 2 * r + i % 2;
    return r;
}

static void reduction(const struct rnd_job *job, const struct rnd_prime *f,
                      unsigned char *const in[3], unsigned char *out)
{
    mpz_t a, b, x;
    mpz_inits(a, b, x, NULL);
    for (size_t i = 0; i < job->n; i++) {
        rnd_get_mont(a, f, in[0] + f->bytes * (job->operand[0].broadcast ? 0 : i));
        if (job->op == GX_DOT) {
            rnd_get_mont(b, f, in[1] + f->bytes * (job->operand[1].broadcast ? 0 : i));
            mpz_mul(a, a, b);
        }
        mpz_add(x, x, a);
    }
    mpz_mod(x, x, f->p);
    rnd_put_mont(out, f, x);
    mpz_clears(a, b, x, NULL);
}

static void prefix(const struct rnd_job *job, const struct rnd_prime *f, const unsigned char *in,
                   unsigned char *out)
{
    mpz_t a, x;
    mpz_inits(a, x, NULL);
    mpz_set_ui(x, job->op == GX_PREFIX_PRODUCT);
    for (size_t i = 0; i < job->n; i++) {
        rnd_get_mont(a, f, in + f->bytes * i);
        if (job->op == GX_PREFIX_SUM)
            mpz_add(x, x, a);
        else
            mpz_mul(x, x, a);
        mpz_mod(x, x, f->p);
        rnd_put_mont(out + f->bytes * i, f, x);
    }
    mpz_clears(a, x, NULL);
}

/* a^i * b^c; for GX_POWERS all of it is one part. */
static void powers(const struct rnd_job *job, const struct rnd_prime *f, unsigned char *const in[3],
                   unsigned char *out)
{
    size_t part = job->op == GX_POWERS ? job->n : job->count;
    mpz_t a, b, x, start;
    mpz_inits(a, b, x, start, NULL);
    if (job->n)
        rnd_get_mont(a, f, in[0]);
    if (job->n && job->op == GX_COSETS)
        rnd_get_mont(b, f, in[1]);
    mpz_set_ui(start, 1);
    for (size_t i = 0; i < job->n; i++) {
        if (i % part == 0) {
            if (i) {
                mpz_mul(start, start, b);
                mpz_mod(start, start, f->p);
            }
            mpz_set(x, start);
        }
        rnd_put_mont(out + f->bytes * i, f, x);
        mpz_mul(x, x, a);
        mpz_mod(x, x, f->p);
    }
    mpz_clears(a, b, x, start, NULL);
}

/* Horner's rule; the quotient by X - b is what it passes through. */
static void horner(const struct rnd_job *job, const struct rnd_prime *f, unsigned char *const in[3],
                   unsigned char *out)
{
    mpz_t a, b, x;
    mpz_inits(a, b, x, NULL);
    if (job->n)
        rnd_get_mont(b, f, in[1]);
    for (size_t i = job->n; i-- > 0;) {
        if (job->op == GX_DIVIDE_LINEAR)
            rnd_put_mont(out + f->bytes * i, f, x);
        rnd_get_mont(a, f, in[0] + f->bytes * (job->reversed ? reversed(i, job->n) : i));
        mpz_mul(x, x, b);
        mpz_add(x, x, a);
        mpz_mod(x, x, f->p);
    }
    if (job->op == GX_EVALUATE)
        rnd_put_mont(out, f, x);
    mpz_clears(a, b, x, NULL);
}

/* Where element i of the result comes from. */
static size_t source(const struct rnd_job *job, const unsigned char *b, size_t i)
{
    size_t n = job->n, count = job->count;
    uint32_t index;
    switch (job->op) {
    case GX_BIT_REVERSE:
        return reversed(i, n);
    case GX_GATHER:
        memcpy(&index, b + 4 * i, sizeof index);
        return index;
    case GX_ROTATE:
        return (i + count % n) % n;
    case GX_INTERLEAVE:
        return i % count * (n / count) + i / count;
    case GX_DEINTERLEAVE:
        return i % (n / count) * count + i / (n / count);
    default:
        abort();
    }
}

static void permutation(const struct rnd_job *job, const struct rnd_prime *f,
                        unsigned char *const in[3], unsigned char *out)
{
    for (size_t i = 0; i < job->n; i++)
        memcpy(out + f->bytes * i, in[0] + f->bytes * source(job, in[1], i), f->bytes);
}

void rnd_oracle_elements(const struct rnd_job *job, unsigned char *const in[3], unsigned char *out)
{
    const struct rnd_prime *f = rnd_prime(job->field);
    if (!f)
        words(job, in, out);
    else if (job->op <= GX_FROM_MONT)
        elementwise(job, f, in, out);
    else if (job->op <= GX_DOT)
        reduction(job, f, in, out);
    else if (job->op == GX_PREFIX_SUM || job->op == GX_PREFIX_PRODUCT)
        prefix(job, f, in[0], out);
    else if (job->op == GX_POWERS || job->op == GX_COSETS)
        powers(job, f, in, out);
    else if (job->op == GX_EVALUATE || job->op == GX_DIVIDE_LINEAR)
        horner(job, f, in, out);
    else
        permutation(job, f, in, out);
}
