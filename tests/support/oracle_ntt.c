/* SPDX-License-Identifier: Apache-2.0
 *
 * See oracle_ntt.h. Transforms are linear, so that the factor of Montgomery form goes through them:
 * elements stay as they are, and roots and shifts are plain integers.
 */
#include "support/oracle_ntt.h"

#include <stdlib.h>
#include <string.h>

enum { LIMBS = 4, ELEMENT = 32 };

/* arkworks and gnark-crypto: generators 7 and 5 to the power of (p - 1) / 2^two_adicity. */
static const struct roots {
    gx_field field;
    uint32_t two_adicity, generator;
    const char *hex;
} table[] = {
    {GX_BLS12_381_FR, 32, 7, "16a2a19edfe81f20d09b681922c813b4b63683508c2280b93829971f439f0d2b"},
    {GX_BN254_FR, 28, 5, "2a3c09f0a58a7e8500e0a7eb8ef62abc402d111e41112ed49bd61b6e725b19f0"},
};

static const struct roots *find(gx_field field)
{
    for (size_t i = 0; i < sizeof table / sizeof *table; i++)
        if (table[i].field == field)
            return &table[i];
    return NULL;
}

/* ---- numbers ---- */

static void to_montgomery(mpz_t z, const mpz_t p, size_t limbs)
{
    mpz_mul_2exp(z, z, 64 * (mp_bitcnt_t)limbs);
    mpz_mod(z, z, p);
}

static void from_montgomery(mpz_t z, const mpz_t p, size_t limbs)
{
    mpz_t r;
    mpz_init_set_ui(r, 0);
    mpz_setbit(r, 64 * (mp_bitcnt_t)limbs);
    mpz_invert(r, r, p);
    mpz_mul(z, z, r);
    mpz_mod(z, z, p);
    mpz_clear(r);
}

static void put_number(gx_field field, const mpz_t z, void *element)
{
    size_t limbs = oracle_element_bytes(field) / 8;
    mpz_t p, t;
    mpz_inits(p, t, NULL);
    oracle_modulus(p, field);
    mpz_set(t, z);
    to_montgomery(t, p, limbs);
    oracle_export(element, limbs, t);
    mpz_clears(p, t, NULL);
}

static void get_number(gx_field field, mpz_t z, const void *element)
{
    size_t limbs = oracle_element_bytes(field) / 8;
    mpz_t p;
    mpz_init(p);
    oracle_modulus(p, field);
    oracle_import(z, element, limbs);
    from_montgomery(z, p, limbs);
    mpz_clear(p);
}

void oracle_from_hex(gx_field field, const char *hex, void *element)
{
    mpz_t z;
    mpz_init_set_str(z, hex, 16);
    put_number(field, z, element);
    mpz_clear(z);
}

void oracle_small(gx_field field, uint64_t number, void *element)
{
    mpz_t z;
    mpz_init_set_ui(z, number);
    put_number(field, z, element);
    mpz_clear(z);
}

void oracle_power(gx_field field, const void *element, uint64_t exponent, void *out)
{
    mpz_t z, p;
    mpz_inits(z, p, NULL);
    oracle_modulus(p, field);
    get_number(field, z, element);
    mpz_powm_ui(z, z, exponent, p);
    put_number(field, z, out);
    mpz_clears(z, p, NULL);
}

uint32_t oracle_two_adicity(gx_field field)
{
    const struct roots *r = find(field);
    return r ? r->two_adicity : 0;
}

void oracle_root(gx_field field, uint32_t log2_n, void *element)
{
    unsigned char whole[ELEMENT];
    oracle_from_hex(field, find(field)->hex, whole);
    oracle_power(field, whole, (uint64_t)1 << (find(field)->two_adicity - log2_n), element);
}

size_t oracle_reverse(size_t i, uint32_t bits)
{
    size_t r = 0;
    for (uint32_t b = 0; b < bits; b++)
        r |= (i >> b & 1) << (bits - 1 - b);
    return r;
}

/* ---- places ---- */

size_t oracle_ntt_in(const struct oracle_ntt *t)
{
    return t->batch << (t->log2_n - t->log2_pad);
}

size_t oracle_ntt_out(const struct oracle_ntt *t)
{
    return t->batch << t->log2_n;
}

/* Element i, in natural order, of one of the transforms of 2^bits elements. */
static size_t place_of(const struct oracle_ntt *t, uint32_t reversed, uint32_t bits, size_t which,
                       size_t i)
{
    if (t->flags & reversed)
        i = oracle_reverse(i, bits);
    return t->flags & GX_NTT_COLUMNS ? i * t->batch + which : (which << bits) + i;
}

/* ---- one transform ---- */

struct numbers {
    mpz_t p;
    mpz_t root;   /* of order n: of the inverse, for an inverse transform */
    mpz_t shift;  /* of coefficients: its inverse likewise; 1 without a coset */
    mpz_t factor; /* of every output: 1, or 1/n */
};

static void numbers_make(struct numbers *w, const struct oracle_ntt *t)
{
    unsigned char root[ELEMENT];
    mpz_inits(w->p, w->root, w->shift, w->factor, NULL);
    oracle_modulus(w->p, t->field);
    if (t->root)
        oracle_power(t->field, t->root, (uint64_t)1 << (t->log2_root - t->log2_n), root);
    else
        oracle_root(t->field, t->log2_n, root);
    get_number(t->field, w->root, root);
    mpz_set_ui(w->shift, t->flags & GX_NTT_COSET ? find(t->field)->generator : 1);
    if (t->shift && t->flags & GX_NTT_COSET)
        get_number(t->field, w->shift, t->shift);
    mpz_set_ui(w->factor, 1);
    if (t->flags & GX_NTT_INVERSE) {
        mpz_invert(w->root, w->root, w->p);
        mpz_invert(w->shift, w->shift, w->p);
        mpz_set_ui(w->factor, (unsigned long)1 << t->log2_n);
        mpz_invert(w->factor, w->factor, w->p);
    }
}

static void numbers_clear(struct numbers *w)
{
    mpz_clears(w->p, w->root, w->shift, w->factor, NULL);
}

static mpz_t *vector(size_t n)
{
    mpz_t *v = malloc(n * sizeof *v);
    if (!v)
        abort();
    for (size_t i = 0; i < n; i++)
        mpz_init2(v[i], 64 * LIMBS * 2 + 64);
    return v;
}

static void vector_free(mpz_t *v, size_t n)
{
    for (size_t i = 0; i < n; i++)
        mpz_clear(v[i]);
    free(v);
}

/* v[i] = start * base^i */
static void powers(mpz_t *v, size_t n, const mpz_t start, const mpz_t base, const mpz_t p)
{
    mpz_set(v[0], start);
    for (size_t i = 1; i < n; i++) {
        mpz_mul(v[i], v[i - 1], base);
        mpz_mod(v[i], v[i], p);
    }
}

/* The sums, as they are written, of the first `given` elements. power[i]: of the root. */
static void by_sums(mpz_t *out, mpz_t *in, size_t n, size_t given, mpz_t *power, const mpz_t p)
{
    for (size_t k = 0; k < n; k++) {
        mpz_set_ui(out[k], 0);
        for (size_t i = 0; i < given; i++)
            mpz_addmul(out[k], in[i], power[i * k % n]);
        mpz_mod(out[k], out[k], p);
    }
}

/* The transforms of the even and of the odd elements, and what follows from them. */
static void by_halves(mpz_t *out, mpz_t *in, size_t n, size_t step, mpz_t *power, const mpz_t p)
{
    size_t half = n / 2;
    if (n == 1) {
        mpz_set(out[0], in[0]);
        return;
    }
    by_halves(out, in, half, 2 * step, power, p);
    by_halves(out + half, in + step, half, 2 * step, power, p);
    mpz_t t;
    mpz_init(t);
    for (size_t k = 0; k < half; k++) {
        mpz_mul(t, out[half + k], power[k * step]);
        mpz_mod(t, t, p);
        mpz_sub(out[half + k], out[k], t);
        mpz_add(out[k], out[k], t);
        if (mpz_cmp(out[k], p) >= 0)
            mpz_sub(out[k], out[k], p);
        if (mpz_sgn(out[half + k]) < 0)
            mpz_add(out[half + k], out[half + k], p);
    }
    mpz_clear(t);
}

static void multiply_each(mpz_t *v, size_t n, mpz_t *by, const mpz_t p)
{
    for (size_t i = 0; i < n; i++) {
        mpz_mul(v[i], v[i], by[i]);
        mpz_mod(v[i], v[i], p);
    }
}

static void one_transform(const struct oracle_ntt *t, const struct numbers *w, size_t which,
                          int naive, unsigned char *out, const unsigned char *a)
{
    size_t n = (size_t)1 << t->log2_n, given = n >> t->log2_pad;
    mpz_t *in = vector(n), *result = vector(n), *power = vector(n), one;
    mpz_init_set_ui(one, 1);
    for (size_t i = 0; i < given; i++) {
        size_t at = place_of(t, GX_NTT_REVERSED_IN, t->log2_n - t->log2_pad, which, i);
        oracle_import(in[i], a + at * ELEMENT, LIMBS);
    }
    powers(power, n, one, w->shift, w->p);
    if (!(t->flags & GX_NTT_INVERSE))
        multiply_each(in, n, power, w->p);
    powers(power, n, one, w->root, w->p);
    if (naive)
        by_sums(result, in, n, given, power, w->p);
    else
        by_halves(result, in, n, 1, power, w->p);
    if (t->flags & GX_NTT_INVERSE) {
        powers(power, n, w->factor, w->shift, w->p);
        multiply_each(result, n, power, w->p);
    }
    for (size_t k = 0; k < n; k++) {
        size_t at = place_of(t, GX_NTT_REVERSED_OUT, t->log2_n, which, k);
        oracle_export(out + at * ELEMENT, LIMBS, result[k]);
    }
    mpz_clear(one);
    vector_free(in, n);
    vector_free(result, n);
    vector_free(power, n);
}

static void transforms(const struct oracle_ntt *t, int naive, void *out, const void *a)
{
    struct numbers w;
    numbers_make(&w, t);
    for (size_t which = 0; which < t->batch; which++)
        one_transform(t, &w, which, naive, out, a);
    numbers_clear(&w);
}

void oracle_ntt(const struct oracle_ntt *t, void *out, const void *a)
{
    transforms(t, t->batch == 1 && t->log2_n <= ORACLE_NAIVE, out, a);
}

void oracle_ntt_by_halves(const struct oracle_ntt *t, void *out, const void *a)
{
    transforms(t, 0, out, a);
}

/* ---- one output ---- */

/* Which transform and which of its outputs is at this place. */
static void find_place(const struct oracle_ntt *t, size_t place, size_t *which, size_t *k)
{
    if (t->flags & GX_NTT_COLUMNS) {
        *which = place % t->batch;
        *k = place / t->batch;
    } else {
        *which = place >> t->log2_n;
        *k = place & (((size_t)1 << t->log2_n) - 1);
    }
    if (t->flags & GX_NTT_REVERSED_OUT)
        *k = oracle_reverse(*k, t->log2_n);
}

void oracle_ntt_at(const struct oracle_ntt *t, size_t place, void *element, const void *a)
{
    size_t which, k, given = (size_t)1 << (t->log2_n - t->log2_pad);
    const unsigned char *from = a;
    struct numbers w;
    mpz_t x, c, sum;
    find_place(t, place, &which, &k);
    numbers_make(&w, t);
    mpz_inits(x, c, sum, NULL);
    mpz_powm_ui(x, w.root, k, w.p);
    if (!(t->flags & GX_NTT_INVERSE)) {
        mpz_mul(x, x, w.shift);
        mpz_mod(x, x, w.p);
    }
    for (size_t i = given; i-- > 0;) {
        size_t at = place_of(t, GX_NTT_REVERSED_IN, t->log2_n - t->log2_pad, which, i);
        oracle_import(c, from + at * ELEMENT, LIMBS);
        mpz_mul(sum, sum, x);
        mpz_add(sum, sum, c);
        mpz_mod(sum, sum, w.p);
    }
    if (t->flags & GX_NTT_INVERSE) {
        mpz_powm_ui(x, w.shift, k, w.p);
        mpz_mul(x, x, w.factor);
        mpz_mul(sum, sum, x);
        mpz_mod(sum, sum, w.p);
    }
    oracle_export(element, LIMBS, sum);
    mpz_clears(x, c, sum, NULL);
    numbers_clear(&w);
}
