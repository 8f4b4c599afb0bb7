/* SPDX-License-Identifier: Apache-2.0
 *
 * Converts columns to an element. Runs once per kernel call, so it is written for clarity.
 */
#include "field/sum.h"

#include <string.h>

typedef unsigned __int128 u128;

/* x - p in *less; returns 1 if x < p. */
static uint64_t minus_p(const struct gx_prime *prime, const uint64_t *x, uint64_t *less)
{
    uint64_t borrow = 0;
    for (uint32_t i = 0; i < prime->limbs; i++) {
        u128 difference = (u128)x[i] - prime->p[i] - borrow;
        less[i] = (uint64_t)difference;
        borrow = (uint64_t)(difference >> 64) & 1;
    }
    return borrow;
}

/* Any x with as many limbs as p: only few multiples of p are below R. */
static void reduce(const struct gx_prime *prime, uint64_t *x)
{
    uint64_t less[GX_LIMBS_MAX];
    while (!minus_p(prime, x, less))
        memcpy(x, less, prime->limbs * sizeof *x);
}

/* x += y; both below p, whose top bit is clear. */
static void add(const struct gx_prime *prime, uint64_t *x, const uint64_t *y)
{
    uint64_t carry = 0;
    for (uint32_t i = 0; i < prime->limbs; i++) {
        u128 sum = (u128)x[i] + y[i] + carry;
        x[i] = (uint64_t)sum;
        carry = (uint64_t)(sum >> 64);
    }
    reduce(prime, x);
}

/* x += times * R, by doubling: R mod p is the element 1. */
static void add_times_r(const struct gx_prime *prime, uint64_t *x, uint64_t times)
{
    uint64_t r[GX_LIMBS_MAX] = {0};
    if (!times)
        return;
    for (int bit = 63 - __builtin_clzll(times); bit >= 0; bit--) {
        add(prime, r, r);
        if (times >> bit & 1)
            add(prime, r, prime->one);
    }
    add(prime, x, r);
}

void gx__columns_reduce(const struct gx_prime *prime, const struct gx_columns *columns, void *out)
{
    uint64_t x[GX_LIMBS_MAX];
    u128 carry = 0; /* below 2^34 between limbs */
    for (uint32_t i = 0; i < prime->limbs; i++) {
        u128 limb = carry + columns->low[i] + ((u128)columns->high[i] << 32);
        x[i] = (uint64_t)limb;
        carry = limb >> 64;
    }
    reduce(prime, x);
    add_times_r(prime, x, (uint64_t)carry);
    memcpy(out, x, prime->limbs * sizeof *x); /* of any alignment */
}

void gx__columns_times(const struct gx_prime *prime, const struct gx_host_args *args,
                       struct gx_columns *columns)
{
    for (uint32_t i = 0; i < prime->limbs; i++) {
        uint64_t limb;
        memcpy(&limb, (const unsigned char *)args->a + i * sizeof limb, sizeof limb);
        columns->low[i] = (uint32_t)limb * (uint64_t)args->n;
        columns->high[i] = (limb >> 32) * (uint64_t)args->n;
    }
}

void gx__add_one(const struct gx_prime *prime, void *sum, const void *part)
{
    uint64_t x[GX_LIMBS_MAX], y[GX_LIMBS_MAX];
    size_t bytes = prime->limbs * sizeof *x;
    memcpy(x, sum, bytes);
    memcpy(y, part, bytes);
    add(prime, x, y);
    memcpy(sum, x, bytes);
}
