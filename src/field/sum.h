/* SPDX-License-Identifier: Apache-2.0
 *
 * Sums of many elements, shared by the tiers: limbs are added in halves, without carries between
 * limbs, and only the totals are reduced modulo p.
 */
#ifndef GX_FIELD_SUM_H
#define GX_FIELD_SUM_H

#include "field/host.h"

/* The sum of limb i over all elements is low[i] + 2^32 * high[i]. The halves of 2^32 limbs fit. */
struct gx_columns {
    uint64_t low[GX_LIMBS_MAX], high[GX_LIMBS_MAX];
};

/* *out = the columns' value modulo p, for any values in them. */
void gx__columns_reduce(const struct gx_prime *prime, const struct gx_columns *columns, void *out);

/* The sum of args->n copies of one element. */
void gx__columns_times(const struct gx_prime *prime, const struct gx_host_args *args,
                       struct gx_columns *columns);

/* *sum += *part, one element each, below p; of any alignment. */
void gx__add_one(const struct gx_prime *prime, void *sum, const void *part);

#endif
