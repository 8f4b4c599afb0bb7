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
TEMPLATE void fe_add(unsigned limbs, uint64_t *r, const void *a, const void *b,
                     const struct gx_prime *prime);
TEMPLATE void fe_sub(unsigned limbs, uint64_t *r, const void *a, const void *b,
                     const struct gx_prime *prime);
TEMPLATE void fe_mul(unsigned limbs, uint64_t *r, const void *a, const void *b,
                     const struct gx_prime *prime);
TEMPLATE void fe_sqr(unsigned limbs, uint64_t *r, const void *a, const struct gx_prime *prime);

/* Limb by limb: copying the element in wider pieces would stall on stores of single limbs that have
 * not reached the cache. */
TEMPLATE uint64_t load_limb(const void *element, unsigned i)
{
    uint64_t limb;
    memcpy(&limb, (const unsigned char *)element + i * sizeof limb, sizeof limb);
    return limb;
}

TEMPLATE void load_limbs(unsigned limbs, uint64_t *r, const void *element)
{
    for (unsigned i = 0; i < limbs; i++)
        r[i] = load_limb(element, i);
}

TEMPLATE void store_limbs(unsigned limbs, void *element, const uint64_t *a)
{
    for (unsigned i = 0; i < limbs; i++)
        memcpy((unsigned char *)element + i * sizeof *a, &a[i], sizeof *a);
}

#endif
