/* SPDX-License-Identifier: Apache-2.0
 *
 * Transforms (oracle.h): the sum of the definition if there are few elements, otherwise the
 * textbook's recursion into even and odd ones.
 */
#include <stdlib.h>

#include "random/oracle.h"

static void fail_unless(int condition)
{
    if (!condition)
        abort();
}

/* ---- domains ---- */

static void default_root(uint64_t field, unsigned log2, mpz_t root)
{
    static const char bls[] = "16a2a19edfe81f20d09b681922c813b4b63683508c2280b93829971f439f0d2b";
    static const char bn[] = "2a3c09f0a58a7e8500e0a7eb8ef62abc402d111e41112ed49bd61b6e725b19f0";
    const struct rnd_prime *f = rnd_prime(field);
    mpz_set_str(root, field == GX_BLS12_381_FR ? bls : bn, 16);
    for (unsigned s = field == GX_BLS12_381_FR ? 32 : 28; s > log2; s--)
        mpz_powm_ui(root, root, 2, f->p);
}

void rnd_oracle_domain(const struct rnd_job *job, mpz_t root, mpz_t shift)
{
    const struct rnd_prime *f = rnd_prime(job->field);
    uint64_t state = job->domain_seed;
    default_root(job->field, (unsigned)(job->log2_n + job->domain), root);
    if (job->root == DOM_POWER) /* an odd one has the same order */
        mpz_powm_ui(root, root, (rnd_next(&state) >> 32) | 1, f->p);
    switch (job->shift) {
    case DOM_DEFAULT:
        mpz_set_ui(shift, job->field == GX_BLS12_381_FR ? 7 : 5);
        break;
    case DOM_POWER:
        mpz_set_ui(shift, 3);
        mpz_powm_ui(shift, shift, rnd_next(&state) | 1, f->p);
        break;
    case DOM_ONE:
        mpz_set_ui(shift, 1);
        break;
    default:
        mpz_sub_ui(shift, f->p, 1);
    }
}

/* ---- one transform ---- */

/* out[k] = sum of in[i * step] * w^(i * k) */
static void by_definition(mpz_t *out, mpz_t *in, size_t step, size_t n, const mpz_t w,
                          const mpz_t p)
{
    mpz_t x, term;
    mpz_inits(x, term, NULL);
    for (size_t k = 0; k < n; k++) {
        mpz_set_ui(x, 0);
        for (size_t i = 0; i < n; i++) {
            mpz_powm_ui(term, w, i * k, p);
            mpz_addmul(x, term, in[i * step]);
        }
        mpz_mod(out[k], x, p);
    }
    mpz_clears(x, term, NULL);
}

static void transform(mpz_t *out, mpz_t *in, size_t step, size_t n, const mpz_t w, const mpz_t p)
{
    if (n <= 4) {
        by_definition(out, in, step, n, w, p);
        return;
    }
    mpz_t square, power, odd;
    mpz_inits(square, power, odd, NULL);
    mpz_powm_ui(square, w, 2, p);
    transform(out, in, 2 * step, n / 2, square, p);
    transform(out + n / 2, in + step, 2 * step, n / 2, square, p);
    mpz_set_ui(power, 1);
    for (size_t k = 0; k < n / 2; k++) {
        mpz_mul(odd, out[n / 2 + k], power);
        mpz_sub(out[n / 2 + k], out[k], odd);
        mpz_mod(out[n / 2 + k], out[n / 2 + k], p);
        mpz_add(out[k], out[k], odd);
        mpz_mod(out[k], out[k], p);
        mpz_mul(power, power, w);
        mpz_mod(power, power, p);
    }
    mpz_clears(square, power, odd, NULL);
}

/* x[i] *= start * ratio^i */
static void scale(mpz_t *x, size_t n, const mpz_t start, const mpz_t ratio, const mpz_t p)
{
    mpz_t power;
    mpz_init_set(power, start);
    for (size_t i = 0; i < n; i++) {
        mpz_mul(x[i], x[i], power);
        mpz_mod(x[i], x[i], p);
        mpz_mul(power, power, ratio);
        mpz_mod(power, power, p);
    }
    mpz_clear(power);
}

static void one(const struct rnd_job *job, mpz_t *x, mpz_t *y, const mpz_t root, const mpz_t shift)
{
    const struct rnd_prime *f = rnd_prime(job->field);
    size_t n = (size_t)1 << job->log2_n;
    int inverse = (job->ntt_flags & GX_NTT_INVERSE) != 0;
    int coset = (job->ntt_flags & GX_NTT_COSET) != 0;
    mpz_t w, u, factor;
    mpz_inits(w, u, factor, NULL);
    mpz_set(w, root);
    mpz_set(u, shift);
    mpz_set_ui(factor, 1);
    if (coset && !inverse)
        scale(x, n, factor, u, f->p);
    if (inverse)
        fail_unless(mpz_invert(w, w, f->p));
    transform(y, x, 1, n, w, f->p);
    if (inverse) {
        mpz_set_ui(factor, n);
        fail_unless(mpz_invert(factor, factor, f->p));
        if (coset)
            fail_unless(mpz_invert(u, u, f->p));
        else
            mpz_set_ui(u, 1);
        scale(y, n, factor, u, f->p);
    }
    mpz_clears(w, u, factor, NULL);
}

/* ---- a job ---- */

static size_t reversed(size_t i, uint64_t bits)
{
    size_t r = 0;
    for (; bits > 0; bits--, i >>= 1)
        r = 2 * r + i % 2;
    return r;
}

/* Element i of transform t, with so many bits. */
static size_t place(const struct rnd_job *job, size_t t, size_t i, uint64_t bits, uint64_t order)
{
    size_t at = job->ntt_flags & order ? reversed(i, bits) : i;
    return job->ntt_flags & GX_NTT_COLUMNS ? at * rnd_batch(job) + t : (t << bits) + at;
}

void rnd_oracle_ntt(const struct rnd_job *job, const unsigned char *a, unsigned char *out)
{
    const struct rnd_prime *f = rnd_prime(job->field);
    size_t n = (size_t)1 << job->log2_n;
    uint64_t given = job->log2_n - job->log2_pad;
    mpz_t *x = rnd_integers(n), *y = rnd_integers(n), root, shift;
    mpz_inits(root, shift, NULL);
    rnd_oracle_domain(job, root, shift);
    for (uint64_t i = 0; i < job->domain; i++)
        mpz_powm_ui(root, root, 2, f->p);
    for (size_t t = 0; t < rnd_batch(job); t++) {
        for (size_t i = 0; i < n; i++)
            if (i >> given)
                mpz_set_ui(x[i], 0);
            else
                rnd_get_mont(x[i], f, a + f->bytes * place(job, t, i, given, GX_NTT_REVERSED_IN));
        one(job, x, y, root, shift);
        for (size_t i = 0; i < n; i++)
            rnd_put_mont(out + f->bytes * place(job, t, i, job->log2_n, GX_NTT_REVERSED_OUT), f,
                         y[i]);
    }
    mpz_clears(root, shift, NULL);
    rnd_integers_free(x, n);
    rnd_integers_free(y, n);
}
