/* SPDX-License-Identifier: Apache-2.0
 *
 * See oracle_poly.h.
 */
#include "support/oracle_poly.h"

#include <stdlib.h>
#include <string.h>

#include "support/oracle_ntt.h"

struct machine { /* what the operations below share */
    const struct oracle_poly *job;
    unsigned char *out;
    const unsigned char *a, *b;
    size_t element, limbs;
    mpz_t p, one, r_inverse; /* one: in Montgomery form, which is R */
};

static void get(const struct machine *m, mpz_t z, const unsigned char *from, size_t i)
{
    oracle_import(z, from + i * m->element, m->limbs);
}

static void put(const struct machine *m, size_t i, const mpz_t z)
{
    oracle_export(m->out + i * m->element, m->limbs, z);
}

/* z = z * plain, which is not in Montgomery form. */
static void times(const struct machine *m, mpz_t z, const mpz_t plain)
{
    mpz_mul(z, z, plain);
    mpz_mod(z, z, m->p);
}

static void get_plain(const struct machine *m, mpz_t z, const unsigned char *from, size_t i)
{
    get(m, z, from, i);
    times(m, z, m->r_inverse);
}

static void prefixes(const struct machine *m)
{
    mpz_t sum, x;
    mpz_inits(sum, x, NULL);
    if (m->job->op == GX_PREFIX_PRODUCT)
        mpz_set(sum, m->one);
    for (size_t i = 0; i < m->job->n; i++) {
        if (m->job->op == GX_PREFIX_PRODUCT) {
            get_plain(m, x, m->a, i);
            times(m, sum, x);
        } else {
            get(m, x, m->a, i);
            mpz_add(sum, sum, x);
            mpz_mod(sum, sum, m->p);
        }
        put(m, i, sum);
    }
    mpz_clears(sum, x, NULL);
}

/* Powers are cosets without a second element. */
static void all_powers(const struct machine *m)
{
    size_t count = m->job->op == GX_COSETS ? (size_t)m->job->count : m->job->n;
    mpz_t start, x, y, z;
    mpz_inits(start, x, y, z, NULL);
    get_plain(m, x, m->a, 0);
    if (m->job->op == GX_COSETS)
        get_plain(m, y, m->b, 0);
    mpz_set(start, m->one);
    for (size_t i = 0; i < m->job->n; i++) {
        if (i && i % count == 0)
            times(m, start, y);
        if (i % count == 0)
            mpz_set(z, start);
        put(m, i, z);
        times(m, z, x);
    }
    mpz_clears(start, x, y, z, NULL);
}

static uint32_t log2_of(size_t n)
{
    uint32_t bits = 0;
    while (n >> bits > 1)
        bits++;
    return bits;
}

/* Horner's rule; its steps are the quotient. */
static void horner(const struct machine *m)
{
    uint32_t bits = log2_of(m->job->n);
    mpz_t sum, x, c;
    mpz_inits(sum, x, c, NULL);
    get_plain(m, x, m->b, 0);
    for (size_t i = m->job->n; i-- > 0;) {
        if (m->job->op == GX_DIVIDE_LINEAR)
            put(m, i, sum);
        get(m, c, m->a, m->job->flags & GX_POLY_REVERSED ? oracle_reverse(i, bits) : i);
        times(m, sum, x);
        mpz_add(sum, sum, c);
        mpz_mod(sum, sum, m->p);
    }
    if (m->job->op == GX_EVALUATE)
        put(m, 0, sum);
    mpz_clears(sum, x, c, NULL);
}

/* The place in a of what goes to out[i]. */
static size_t source_of(const struct machine *m, size_t i, uint32_t bits)
{
    size_t n = m->job->n, count = (size_t)m->job->count;
    uint32_t index;
    switch (m->job->op) {
    case GX_BIT_REVERSE:
        return oracle_reverse(i, bits);
    case GX_GATHER:
        memcpy(&index, m->b + i * sizeof index, sizeof index);
        return index;
    case GX_ROTATE:
        return (i + (size_t)(m->job->count % n)) % n;
    case GX_INTERLEAVE:
        return i % count * (n / count) + i / count;
    case GX_DEINTERLEAVE:
        return i % (n / count) * count + i / (n / count);
    default:
        abort();
    }
}

static void move(const struct machine *m)
{
    uint32_t bits = log2_of(m->job->n);
    for (size_t i = 0; i < m->job->n; i++)
        memcpy(m->out + i * m->element, m->a + source_of(m, i, bits) * m->element, m->element);
}

void oracle_poly(const struct oracle_poly *p, void *out, const void *a, const void *b)
{
    struct machine m = {.job = p, .out = out, .a = a, .b = b};
    m.element = oracle_element_bytes(p->field);
    m.limbs = m.element / 8;
    mpz_inits(m.p, m.one, m.r_inverse, NULL);
    oracle_modulus(m.p, p->field);
    mpz_setbit(m.one, 64 * (mp_bitcnt_t)m.limbs);
    mpz_mod(m.one, m.one, m.p);
    mpz_invert(m.r_inverse, m.one, m.p);
    switch (p->op) {
    case GX_PREFIX_SUM:
    case GX_PREFIX_PRODUCT:
        prefixes(&m);
        break;
    case GX_POWERS:
    case GX_COSETS:
        all_powers(&m);
        break;
    case GX_EVALUATE:
    case GX_DIVIDE_LINEAR:
        horner(&m);
        break;
    default:
        move(&m);
    }
    mpz_clears(m.p, m.one, m.r_inverse, NULL);
}
