/* SPDX-License-Identifier: Apache-2.0
 *
 * Domains of transforms: a root of unity and a shift. Tables of roots belong to devices
 * (exec/tables.h); a domain only has what they are made from.
 */
#ifndef GX_OP_DOMAIN_H
#define GX_OP_DOMAIN_H

#include "base/error.h"
#include "base/instance.h"
#include "field/field.h"

/* A number for the tables of a handle, a domain or points; never the same twice. */
uint64_t gx__table_id(void);

struct gx_domain {
    struct gx_instance *instance;
    uint64_t id; /* never used again in this process, unlike addresses */
    const struct gx_prime *prime;
    uint32_t log2_size;
    /* in Montgomery form: */
    uint64_t root[GX_LIMBS_MAX]; /* of order 2^log2_size */
    uint64_t shift[GX_LIMBS_MAX], inverse_shift[GX_LIMBS_MAX];
};

/* Fills *domain; root and shift as in gx_domain_params, and log2_size is at most the prime's
 * two_adicity. GX_ERR_INVALID or GX_ERR_NOT_CANONICAL and a message if one of them is wrong. */
gx_status gx__domain_set(struct gx_domain *domain, struct gx_instance *instance,
                         const struct gx_prime *prime, uint32_t log2_size, const void *root,
                         const void *shift, struct gx_error *error);

/* The root of order 2^log2_n, log2_n <= log2_size. */
void gx__domain_root(const struct gx_domain *domain, uint32_t log2_n, uint64_t *root);

/* The table that transforms use: W[b] is the product of g_j over the set bits j of b, where g_j has
 * order 2^(j + 2). It does not depend on the size of the transform, which reads W[0 .. n/2).
 * Sets count entries of prime->limbs limbs: W[i << shift]. */
void gx__domain_twiddles(const struct gx_domain *domain, uint32_t shift, uint64_t count,
                         uint64_t *entries);

/* base^0, base^1, ...; count entries of prime->limbs limbs. */
void gx__powers_of(const struct gx_prime *prime, const uint64_t *base, uint64_t count,
                   uint64_t *entries);

#endif
