/* SPDX-License-Identifier: Apache-2.0
 *
 * One element at a time, as templates over a constant limb count: what the scalar tiers share, and
 * the functions that each defines for its kernels (adx_element.h, portable_element.h). A file
 * includes those of one tier.
 */
#ifndef GX_FIELD_ELEMENT_H
#define GX_FIELD_ELEMENT_H

#include <string.h>

#include "field/field.h"

#define TEMPLATE static inline __attribute__((always_inline))

/* Element functions of the tier. Operands may have any alignment; r may be one of them. */
TEMPLATE void fe_sub(unsigned limbs, uint64_t *r, const void *a, const void *b,
                     const struct gx_prime *prime);

/* Without a last reduction, for the functions below and for formulas that bound their terms
 * themselves. */

/* a + b and a - b modulo R. */
TEMPLATE void fe_add_raw(unsigned limbs, uint64_t *r, const void *a, const void *b);
TEMPLATE void fe_sub_raw(unsigned limbs, uint64_t *r, const void *a, const void *b);
/* a - m if a >= m, else a. */
TEMPLATE void fe_reduce(unsigned limbs, uint64_t *r, const void *a, const uint64_t *m);
/* a * b / R modulo p, for a + p < R: below p + a b / R. */
TEMPLATE void fe_mul_raw(unsigned limbs, uint64_t *r, const void *a, const void *b,
                         const struct gx_prime *prime);
/* (a0 b0 + a1 b1) / R modulo p, for a0 + a1 + p < R: below p plus that. a1 follows a0 in memory,
 * and b1 follows b0. */
TEMPLATE void fe_mul_two_raw(unsigned limbs, uint64_t *r, const void *a, const void *b,
                             const struct gx_prime *prime);

/* Limb by limb: copying the element in wider pieces would stall on stores of single limbs that have
 * not reached the cache. */
TEMPLATE uint64_t load_limb(const void *element, unsigned i)
{
    uint64_t limb;
    memcpy(&limb, (const unsigned char *)element + i * sizeof limb, sizeof limb);
    return limb;
}

TEMPLATE void store_limb(void *element, unsigned i, uint64_t limb)
{
    memcpy((unsigned char *)element + i * sizeof limb, &limb, sizeof limb);
}

/* Of one element. Not loops: by the time that gcc unrolls them it has decided that the limbs are an
 * array in memory. */
TEMPLATE void load_limbs(unsigned limbs, uint64_t *r, const void *element)
{
    r[0] = load_limb(element, 0);
    r[1] = load_limb(element, 1);
    r[2] = load_limb(element, 2);
    r[3] = load_limb(element, 3);
    if (limbs == 6) {
        r[4] = load_limb(element, 4);
        r[5] = load_limb(element, 5);
    }
}

TEMPLATE void store_limbs(unsigned limbs, void *element, const uint64_t *a)
{
    store_limb(element, 0, a[0]);
    store_limb(element, 1, a[1]);
    store_limb(element, 2, a[2]);
    store_limb(element, 3, a[3]);
    if (limbs == 6) {
        store_limb(element, 4, a[4]);
        store_limb(element, 5, a[5]);
    }
}

/* a, b < p, so the sum is below 2p, which fits: the top bit of p is clear. */
TEMPLATE void fe_add(unsigned limbs, uint64_t *r, const void *a, const void *b,
                     const struct gx_prime *prime)
{
    uint64_t t[GX_LIMBS_MAX];
    fe_add_raw(limbs, t, a, b);
    fe_reduce(limbs, r, t, prime->p);
}

/* a * b / R; a, b < p, out < p. */
TEMPLATE void fe_mul(unsigned limbs, uint64_t *r, const void *a, const void *b,
                     const struct gx_prime *prime)
{
    uint64_t t[GX_LIMBS_MAX];
    fe_mul_raw(limbs, t, a, b, prime);
    fe_reduce(limbs, r, t, prime->p);
}

/* No separate squaring: it would save 15 of 78 multiplications (6 limbs), 6 of 36 (4). */
TEMPLATE void fe_sqr(unsigned limbs, uint64_t *r, const void *a, const struct gx_prime *prime)
{
    fe_mul(limbs, r, a, a, prime);
}

#endif
