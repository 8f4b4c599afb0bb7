/* SPDX-License-Identifier: Apache-2.0
 *
 * See domain.h.
 */
#include "op/domain.h"

#include <string.h>

#include "field/host.h"
#include "field/scalar.h"

/* generator^((p - 1) / 2^two_adicity) */
static void default_root(const struct gx_prime *prime, uint64_t *root)
{
    uint64_t exponent[GX_LIMBS_MAX], g[GX_LIMBS_MAX];
    memcpy(exponent, prime->p, sizeof exponent); /* shifting drops the 1 */
    for (uint32_t k = 0; k < prime->two_adicity; k++)
        for (uint32_t i = 0; i < prime->limbs; i++)
            exponent[i] =
                exponent[i] >> 1 | (i + 1 < prime->limbs ? exponent[i + 1] << 63 : (uint64_t)0);
    gx__int_one(prime, g, prime->generator);
    memcpy(root, prime->one, sizeof prime->one);
    for (uint32_t i = 64 * prime->limbs; i-- > 0;) {
        gx__mul_one(prime, root, root, root);
        if (exponent[i / 64] >> i % 64 & 1)
            gx__mul_one(prime, root, root, g);
    }
}

static void square_times(const struct gx_prime *prime, uint64_t *x, uint32_t times)
{
    while (times-- > 0)
        gx__mul_one(prime, x, x, x);
}

/* The order of x is 2^log2: x^(2^(log2 - 1)) = -1, or x = 1. */
static bool has_order(const struct gx_prime *prime, const uint64_t *x, uint32_t log2)
{
    uint64_t power[GX_LIMBS_MAX];
    memcpy(power, x, sizeof power);
    square_times(prime, power, log2);
    bool divides = gx__equal_one(prime, power, prime->one);
    memcpy(power, x, sizeof power);
    square_times(prime, power, log2 ? log2 - 1 : 0);
    return divides && (!log2 || !gx__equal_one(prime, power, prime->one));
}

static bool take_element(const struct gx_prime *prime, uint64_t *to, const void *from)
{
    memset(to, 0, GX_LIMBS_MAX * sizeof *to);
    memcpy(to, from, prime->limbs * sizeof *to);
    return gx__first_bad(prime, to, 1, false) == GX_NONE_BAD;
}

static gx_status set_root(struct gx_domain *d, const void *root, struct gx_error *error)
{
    if (!root) {
        default_root(d->prime, d->root);
        square_times(d->prime, d->root, d->prime->two_adicity - d->log2_size);
        return GX_OK;
    }
    if (!take_element(d->prime, d->root, root))
        return gx__refuse(error, GX_ERR_NOT_CANONICAL, "root is not below the modulus");
    if (!has_order(d->prime, d->root, d->log2_size))
        return gx__refuse(error, GX_ERR_INVALID,
                          "root does not have order 2^%u: it must generate all of the domain, in "
                          "Montgomery form",
                          d->log2_size);
    return GX_OK;
}

static gx_status set_shift(struct gx_domain *d, const void *shift, struct gx_error *error)
{
    if (!shift)
        gx__int_one(d->prime, d->shift, d->prime->generator);
    else if (!take_element(d->prime, d->shift, shift))
        return gx__refuse(error, GX_ERR_NOT_CANONICAL, "shift is not below the modulus");
    if (gx__is_zero_one(d->prime, d->shift))
        return gx__refuse(error, GX_ERR_INVALID, "shift is 0: a coset needs an invertible one");
    gx__invert_one(d->prime, d->inverse_shift, d->shift);
    return GX_OK;
}

uint64_t gx__table_id(void)
{
    static _Atomic uint64_t ids;
    return atomic_fetch_add(&ids, 1) + 1;
}

gx_status gx__domain_set(struct gx_domain *domain, struct gx_instance *instance,
                         const struct gx_prime *prime, uint32_t log2_size, const void *root,
                         const void *shift, struct gx_error *error)
{
    *domain = (struct gx_domain){
        .instance = instance, .id = gx__table_id(), .prime = prime, .log2_size = log2_size};
    gx_status s = set_root(domain, root, error);
    return s == GX_OK ? set_shift(domain, shift, error) : s;
}

void gx__domain_root(const struct gx_domain *domain, uint32_t log2_n, uint64_t *root)
{
    uint64_t power[GX_LIMBS_MAX];
    memcpy(power, domain->root, sizeof power);
    square_times(domain->prime, power, domain->log2_size - log2_n);
    memcpy(root, power, domain->prime->limbs * sizeof *root);
}

/* Doubling: entries with bit j set are those without it, times g_j. */
void gx__domain_twiddles(const struct gx_domain *domain, uint32_t shift, uint64_t count,
                         uint64_t *entries)
{
    const struct gx_prime *prime = domain->prime;
    uint64_t g[GX_LIMBS_MAX];
    memcpy(entries, prime->one, prime->limbs * sizeof *entries);
    for (uint32_t j = 0; (uint64_t)1 << j < count; j++) {
        uint64_t half = (uint64_t)1 << j;
        gx__domain_root(domain, j + shift + 2, g);
        for (uint64_t i = 0; i < half && half + i < count; i++)
            gx__mul_one(prime, entries + (half + i) * prime->limbs, entries + i * prime->limbs, g);
    }
}

void gx__powers_of(const struct gx_prime *prime, const uint64_t *base, uint64_t count,
                   uint64_t *entries)
{
    if (count)
        memcpy(entries, prime->one, prime->limbs * sizeof *entries);
    for (uint64_t i = 1; i < count; i++)
        gx__mul_one(prime, entries + i * prime->limbs, entries + (i - 1) * prime->limbs, base);
}
