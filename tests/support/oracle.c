/* SPDX-License-Identifier: Apache-2.0
 *
 * See oracle.h. Slow and simple: every operation is one or two GMP calls on integers
 * taken modulo p.
 */
#include "support/oracle.h"

#include <math.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#define LIMBS_MAX 6
#define EDGES_MAX 48

/* ---- fields ---------------------------------------------------------------------- */

struct list {
    size_t count;
    uint64_t element[EDGES_MAX][LIMBS_MAX];
};

struct prime {
    gx_field field;
    size_t limbs;
    const char *hex;
    mpz_t p, r, r_inverse; /* R = 2^(64 * limbs) */
    struct list edges, bads;
};

/* BLS12-381: draft-irtf-cfrg-pairing-friendly-curves, 4.2.1. BN254: EIP-196. */
static struct prime primes[] = {
    {.field = GX_BLS12_381_FQ,
     .limbs = 6,
     .hex = "1a0111ea397fe69a4b1ba7b6434bacd764774b84f38512bf6730d2a0f6b0f6241eabfffeb153ffffb9feff"
            "ffffffaaab"},
    {.field = GX_BLS12_381_FR,
     .limbs = 4,
     .hex = "73eda753299d7d483339d80809a1d80553bda402fffe5bfeffffffff00000001"},
    {.field = GX_BN254_FQ,
     .limbs = 4,
     .hex = "30644e72e131a029b85045b68181585d97816a916871ca8d3c208c16d87cfd47"},
    {.field = GX_BN254_FR,
     .limbs = 4,
     .hex = "30644e72e131a029b85045b68181585d2833e84879b9709143e1f593f0000001"},
};

static pthread_once_t once = PTHREAD_ONCE_INIT;
static void set_up(void);

static struct prime *find(gx_field field)
{
    pthread_once(&once, set_up);
    for (size_t i = 0; i < sizeof primes / sizeof *primes; i++)
        if (primes[i].field == field)
            return &primes[i];
    return NULL;
}

size_t oracle_element_bytes(gx_field field)
{
    const struct prime *f = find(field);
    return f ? 8 * f->limbs : 4;
}

const char *oracle_modulus_hex(gx_field field)
{
    const struct prime *f = find(field);
    return f ? f->hex : NULL;
}

void oracle_modulus(mpz_t z, gx_field field)
{
    mpz_set(z, find(field)->p);
}

void oracle_import(mpz_t z, const void *limbs64, size_t limbs)
{
    mpz_import(z, limbs, -1, 8, -1, 0, limbs64);
}

void oracle_export(void *limbs64, size_t limbs, const mpz_t z)
{
    memset(limbs64, 0, 8 * limbs);
    mpz_export(limbs64, NULL, -1, 8, -1, 0, z);
}

int oracle_is_canonical(gx_field field, const void *element)
{
    const struct prime *f = find(field);
    if (!f)
        return 1;
    mpz_t z;
    mpz_init(z);
    oracle_import(z, element, f->limbs);
    int below = mpz_cmp(z, f->p) < 0;
    mpz_clear(z);
    return below;
}

/* ---- lists of elements ------------------------------------------------------------ */

static void put(struct list *list, size_t limbs, const mpz_t z)
{
    if (list->count == EDGES_MAX)
        abort();
    oracle_export(list->element[list->count++], limbs, z);
}

/* Adds z to edges or bads, and drops what does not fit in an element. */
static void file(struct prime *f, const mpz_t z)
{
    if (mpz_sgn(z) < 0 || mpz_sizeinbase(z, 2) > 64 * f->limbs)
        return;
    put(mpz_cmp(z, f->p) < 0 ? &f->edges : &f->bads, f->limbs, z);
}

/* z + offset for small offsets around z. */
static void file_around(struct prime *f, const mpz_t z, long from, long to)
{
    mpz_t t;
    mpz_init(t);
    for (long offset = from; offset <= to; offset++) {
        mpz_set_si(t, offset);
        mpz_add(t, t, z);
        file(f, t);
    }
    mpz_clear(t);
}

/* The limbs above k as in p, limb k as in p plus `offset`, those below k all zeros and all ones:
 * for quick tests that check only some limbs. */
static void file_like_p(struct prime *f, size_t k, long offset)
{
    mpz_t high, t;
    mpz_inits(high, t, NULL);
    mpz_set_si(t, offset);
    mpz_fdiv_q_2exp(high, f->p, 64 * k);
    mpz_add(high, high, t);
    mpz_mul_2exp(t, high, 64 * k);
    file(f, t);
    mpz_add_ui(high, high, 1);
    mpz_mul_2exp(t, high, 64 * k);
    mpz_sub_ui(t, t, 1);
    file(f, t);
    mpz_clears(high, t, NULL);
}

static void list_elements(struct prime *f)
{
    mpz_t t;
    mpz_init(t);
    file_around(f, t, 0, 2); /* 0, 1, 2 */
    file_around(f, f->p, -2, 1);
    file(f, f->r);
    mpz_mul(t, f->r, f->r);
    mpz_mod(t, t, f->p);
    file(f, t); /* R^2 */
    mpz_fdiv_q_2exp(t, f->p, 1);
    file_around(f, t, 0, 1); /* p / 2 and the next */
    for (size_t k = 1; k < f->limbs; k++) {
        mpz_set_ui(t, 0);
        mpz_setbit(t, 64 * k);
        file_around(f, t, -1, 0); /* a carry into limb k, and out of k - 1 */
        file_like_p(f, k, 0);
    }
    file_like_p(f, f->limbs - 1, -1);
    file_like_p(f, f->limbs - 1, 1);
    mpz_set_ui(t, 0);
    mpz_setbit(t, 64 * f->limbs);
    file_around(f, t, -1, -1); /* all ones */
    mpz_clear(t);
}

static void set_up(void)
{
    for (size_t i = 0; i < sizeof primes / sizeof *primes; i++) {
        struct prime *f = &primes[i];
        mpz_inits(f->p, f->r, f->r_inverse, NULL);
        mpz_set_str(f->p, f->hex, 16);
        mpz_setbit(f->r, 64 * f->limbs);
        mpz_mod(f->r, f->r, f->p);
        mpz_invert(f->r_inverse, f->r, f->p);
        list_elements(f);
    }
}

static const uint32_t u32_edges[] = {0, 1, 2, 0xffff, 0x10000, 0x7fffffff, 0x80000000, 0xffffffff};

static const uint32_t f32_edges[] = {
    0x00000000, 0x80000000, 0x3f800000, 0xbf800000, /* 0, -0, 1, -1 */
    0x7f800000, 0xff800000,                         /* infinities */
    0x7fc00000, 0xffc00001, 0x7f800001, 0xffbfffff, /* NaNs: quiet, quiet, signalling twice */
    0x00000001, 0x807fffff, 0x00800000, 0x80800001, /* subnormal, subnormal, normal, normal */
    0x7f7fffff, 0xff7fffff, 0x3f800001, 0x33800000, /* largest, 1 + ulp, half an ulp of 1 */
};

#define COUNT(array) (sizeof(array) / sizeof *(array))

size_t oracle_edges(gx_field field)
{
    const struct prime *f = find(field);
    return f ? f->edges.count : field == GX_U32 ? COUNT(u32_edges) : COUNT(f32_edges);
}

void oracle_edge(gx_field field, size_t which, void *out)
{
    const struct prime *f = find(field);
    which %= oracle_edges(field);
    if (f)
        memcpy(out, f->edges.element[which], 8 * f->limbs);
    else
        memcpy(out, field == GX_U32 ? &u32_edges[which] : &f32_edges[which], 4);
}

size_t oracle_bads(gx_field field)
{
    return find(field)->bads.count;
}

void oracle_bad(gx_field field, size_t which, void *out)
{
    const struct prime *f = find(field);
    memcpy(out, f->bads.element[which % f->bads.count], 8 * f->limbs);
}

/* splitmix64 (Steele, Lea, Flood 2014) */
uint64_t oracle_random(struct oracle_rng *rng)
{
    uint64_t z = rng->state += 0x9e3779b97f4a7c15;
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9;
    z = (z ^ z >> 27) * 0x94d049bb133111eb;
    return z ^ z >> 31;
}

/* Draws until the number is below p, which takes at most 10 draws on average. */
static void random_element(const struct prime *f, struct oracle_rng *rng, unsigned char *out)
{
    uint64_t v[LIMBS_MAX];
    do {
        for (size_t k = 0; k < f->limbs; k++)
            v[k] = oracle_random(rng);
    } while (!oracle_is_canonical(f->field, v));
    memcpy(out, v, 8 * f->limbs);
}

void oracle_fill_random(gx_field field, struct oracle_rng *rng, void *out, size_t n)
{
    const struct prime *f = find(field);
    unsigned char *at = out;
    for (size_t i = 0; i < n; i++) {
        uint32_t word = (uint32_t)oracle_random(rng);
        if (f)
            random_element(f, rng, at + i * 8 * f->limbs);
        else
            memcpy(at + 4 * i, &word, 4);
    }
}

void oracle_fill(gx_field field, struct oracle_rng *rng, void *out, size_t n)
{
    size_t bytes = oracle_element_bytes(field);
    unsigned char *at = out;
    for (size_t i = 0; i < n; i++) {
        uint64_t dice = oracle_random(rng);
        if (dice % 4 == 0)
            oracle_edge(field, (size_t)(dice >> 8), at + i * bytes);
        else
            oracle_fill_random(field, rng, at + i * bytes, 1);
    }
}

/* ---- operations -------------------------------------------------------------------- */

/* z = 1/z for plain integers modulo p, and 0 where z is 0. */
static void invert_or_zero(const struct prime *f, mpz_t z)
{
    if (!mpz_invert(z, z, f->p))
        mpz_set_ui(z, 0);
}

/* x = op(x, y, z) as public operation in Montgomery form, not yet reduced modulo p. */
static void apply(const struct prime *f, gx_op op, mpz_t x, mpz_t y, const mpz_t z)
{
    switch (op) {
    case GX_ADD:
        mpz_add(x, x, y);
        break;
    case GX_SUB:
        mpz_sub(x, x, y);
        break;
    case GX_NEG:
        mpz_neg(x, x);
        break;
    case GX_MUL:
        mpz_mul(x, x, y);
        mpz_mul(x, x, f->r_inverse);
        break;
    case GX_SQR:
        mpz_mul(x, x, x);
        mpz_mul(x, x, f->r_inverse);
        break;
    case GX_MUL_ADD:
        mpz_mul(x, x, y);
        mpz_mul(x, x, f->r_inverse);
        mpz_add(x, x, z);
        break;
    case GX_INV: /* (x / R)^-1 * R */
        invert_or_zero(f, x);
        mpz_mul(x, x, f->r);
        mpz_mul(x, x, f->r);
        break;
    case GX_DIV: /* (x / R) / (y / R) * R */
        invert_or_zero(f, y);
        mpz_mul(x, x, y);
        mpz_mul(x, x, f->r);
        break;
    case GX_TO_MONT:
        mpz_mul(x, x, f->r);
        break;
    case GX_FROM_MONT:
        mpz_mul(x, x, f->r_inverse);
        break;
    default:
        abort();
    }
}

static void prime_element(const struct prime *f, gx_op op, void *out, const void *const *in)
{
    mpz_t x[3];
    for (int k = 0; k < 3; k++) {
        mpz_init(x[k]);
        if (in[k])
            oracle_import(x[k], in[k], f->limbs);
    }
    apply(f, op, x[0], x[1], x[2]);
    mpz_mod(x[0], x[0], f->p);
    oracle_export(out, f->limbs, x[0]);
    for (int k = 0; k < 3; k++)
        mpz_clear(x[k]);
}

static uint32_t u32_element(gx_op op, uint32_t a, uint32_t b)
{
    uint64_t r = op == GX_ADD ? (uint64_t)a + b : op == GX_SUB ? (uint64_t)a - b : (uint64_t)a * b;
    return (uint32_t)r;
}

/* In double precision and rounded once: the product of two floats is exact there, and
 * for sums the double's 53 bits are more than the 2 * 24 + 2 that make rounding twice
 * the same as rounding once. */
static uint32_t f32_element(gx_op op, uint32_t a, uint32_t b)
{
    float x, y;
    memcpy(&x, &a, 4);
    memcpy(&y, &b, 4);
    double wide = op == GX_ADD ? (double)x + y : op == GX_SUB ? (double)x - y : (double)x * y;
    float r = (float)wide;
    uint32_t bits = 0x7fc00000;
    if (!isnan(wide))
        memcpy(&bits, &r, 4);
    return bits;
}

static void word_element(gx_field field, gx_op op, void *out, const void *const *in)
{
    uint32_t a, b;
    if (op != GX_ADD && op != GX_SUB && op != GX_MUL)
        abort();
    memcpy(&a, in[0], 4);
    memcpy(&b, in[1], 4);
    uint32_t r = field == GX_U32 ? u32_element(op, a, b) : f32_element(op, a, b);
    memcpy(out, &r, 4);
}

static unsigned operand_count(gx_op op)
{
    switch (op) {
    case GX_NEG:
    case GX_SQR:
    case GX_INV:
    case GX_TO_MONT:
    case GX_FROM_MONT:
    case GX_SUM:
        return 1;
    case GX_ADD:
    case GX_SUB:
    case GX_MUL:
    case GX_DIV:
    case GX_DOT:
        return 2;
    case GX_MUL_ADD:
        return 3;
    default:
        break;
    }
    abort();
}

int oracle_reduces(gx_op op)
{
    return op == GX_SUM || op == GX_DOT;
}

/* All as plain integers, reduced once at the end. */
static void reduction(const struct prime *f, gx_op op, size_t n, void *out, const void *a,
                      const void *b, unsigned broadcast)
{
    size_t bytes = 8 * f->limbs;
    mpz_t sum, x, y;
    mpz_inits(sum, x, y, NULL);
    for (size_t i = 0; i < n; i++) {
        oracle_import(x, (const unsigned char *)a + (broadcast & ORACLE_A ? 0 : i * bytes),
                      f->limbs);
        if (op == GX_DOT) {
            oracle_import(y, (const unsigned char *)b + (broadcast & ORACLE_B ? 0 : i * bytes),
                          f->limbs);
            mpz_mul(x, x, y);
        }
        mpz_add(sum, sum, x);
    }
    if (op == GX_DOT)
        mpz_mul(sum, sum, f->r_inverse);
    mpz_mod(sum, sum, f->p);
    oracle_export(out, f->limbs, sum);
    mpz_clears(sum, x, y, NULL);
}

void oracle_run(gx_op op, gx_field field, size_t n, void *out, const void *a, const void *b,
                const void *c, unsigned broadcast)
{
    const struct prime *f = find(field);
    const unsigned char *base[3] = {a, b, c};
    size_t bytes = oracle_element_bytes(field);
    unsigned operands = operand_count(op);
    if (oracle_reduces(op)) {
        reduction(f, op, n, out, a, b, broadcast);
        return;
    }
    for (size_t i = 0; i < n; i++) {
        const void *in[3] = {NULL, NULL, NULL};
        for (unsigned k = 0; k < operands; k++)
            in[k] = base[k] + (broadcast & 1u << k ? 0 : i * bytes);
        if (f)
            prime_element(f, op, (unsigned char *)out + i * bytes, in);
        else
            word_element(field, op, (unsigned char *)out + i * bytes, in);
    }
}
