/* SPDX-License-Identifier: Apache-2.0
 *
 * The adx tier: scalar x86-64 with mulx, adcx and adox, one element at a time (adx_element.h); the
 * loops are shared with portable.c (scalar_loops.h).
 */
#include "field/host.h"

#if defined(__x86_64__)

#include "field/adx_element.h"
#include "field/ntt_scalar.h"
#include "field/scalar_loops.h"

/* Measured on Zen 4: gcc 12's portable add and sub take twice as long as these; clang 14's are as
 * fast or faster (sub of 4 limbs: 1.4 times). */
#if defined(__clang__)
#define ADD_SUB_PAYS false
#else
#define ADD_SUB_PAYS true
#endif

void gx__host_fill_adx(struct gx_host_table *table)
{
    fill_tier(table, GX_TIER_ADX, ADD_SUB_PAYS);
}

const struct gx_ntt_host gx__ntt_adx = NTT_SCALAR_HOST(GX_TIER_ADX);

#else

void gx__host_fill_adx(struct gx_host_table *table)
{
    (void)table;
}

#endif
