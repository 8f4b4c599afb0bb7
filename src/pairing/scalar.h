/* SPDX-License-Identifier: Apache-2.0
 *
 * A scalar tier for fields of one size: PAIRING_TIER, of the templates over LIMBS.
 */
#ifndef GX_PAIRING_SCALAR_H
#define GX_PAIRING_SCALAR_H

#include "pairing/miller.h"
#include "pairing/multiply.h"
#include "pairing/power.h"

static void final_power(const struct gx_pairing_row *f, struct gx_fq12 *out,
                        const struct gx_fq12 *in)
{
    struct fq12 *r = (struct fq12 *)out, t;
    easy_part(&t, (const struct fq12 *)in, f);
    *r = t;
    if (f->bn)
        hard_part_bn(r, f);
    else
        hard_part_bls12(r, f);
}

static void mul(const struct gx_pairing_row *f, struct gx_fq12 *r, const struct gx_fq12 *a,
                const struct gx_fq12 *b)
{
    mul12((struct fq12 *)r, (const struct fq12 *)a, (const struct fq12 *)b, f);
}

static void power(const struct gx_pairing_row *f, struct gx_fq12 *out, const struct gx_fq12 *in,
                  const uint64_t *scalar, uint32_t bits)
{
    struct fq12 *r = (struct fq12 *)out;
    const struct fq12 *a = (const struct fq12 *)in;
    set_one12(r, f);
    for (uint32_t i = bits; i-- > 0;) {
        cyclotomic_square(r, r, f);
        if (scalar[i / 64] >> i % 64 & 1)
            mul12(r, r, a, f);
    }
}

#define PAIRING_TIER(which)                                                                        \
    {                                                                                              \
        .tier = (which), .prepare = prepare, .miller = miller, .final = final_power, .mul = mul,   \
        .power = power, .multiply = multiply                                                       \
    }

#endif
