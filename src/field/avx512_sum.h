/* SPDX-License-Identifier: Apache-2.0
 *
 * Part of the AVX-512 tier (avx512.c): the sum of many elements. Rows of 8 limbs are added as they
 * are in memory, in 32-bit halves; after three rows the limb positions repeat, both for 4 and for 6
 * limbs per element.
 */
#ifndef GX_FIELD_AVX512_SUM_H
#define GX_FIELD_AVX512_SUM_H

#include "field/avx512_rows.h"
#include "field/sum.h"

enum { SUM_ROWS = 3, SUM_LIMBS = 8 * SUM_ROWS, SUM_AHEAD = 4096 };

struct sums {
    vec low[SUM_ROWS], high[SUM_ROWS];
    vec top;          /* of p, in every limb */
    unsigned suspect; /* not 0: some element's top limb is not below p's */
};

INLINE void sum_row(const int L, const int k, struct sums *s, vec limbs)
{
    const __mmask8 tops = (__mmask8)((uint64_t)TOPS(L) >> ROW(k));
    s->low[k] = _mm512_add_epi64(s->low[k], _mm512_and_si512(limbs, splat(UINT32_MAX)));
    s->high[k] = _mm512_add_epi64(s->high[k], _mm512_srli_epi64(limbs, 32));
    s->suspect |= _mm512_mask_cmpge_epu64_mask(tops, limbs, s->top);
}

/* The last, incomplete rows. */
INLINE void sum_tail(const int L, struct sums *s, const unsigned char *at, size_t limbs)
{
    UNROLL for (int k = 0; k < SUM_ROWS; k++)
    {
        size_t here = limbs > 8 * (size_t)k ? limbs - 8 * (size_t)k : 0;
        __mmask8 some = (__mmask8)(here >= 8 ? 0xff : (1u << here) - 1);
        sum_row(L, k, s, _mm512_maskz_loadu_epi64(some, at + 64 * k));
    }
}

static void sum_collect(const int L, const struct sums *s, struct gx_columns *columns)
{
    uint64_t low[SUM_LIMBS], high[SUM_LIMBS];
    for (int k = 0; k < SUM_ROWS; k++) {
        _mm512_storeu_si512(low + 8 * k, s->low[k]);
        _mm512_storeu_si512(high + 8 * k, s->high[k]);
    }
    memset(columns, 0, sizeof *columns);
    for (int i = 0; i < SUM_LIMBS; i++) {
        columns->low[i % L] += low[i];
        columns->high[i % L] += high[i];
    }
}

INLINE size_t sum_kernel(const int L, const struct gx_prime *prime, const struct gx_host_args *args)
{
    struct sums s = {.top = splat(prime->p[L - 1])};
    struct gx_columns columns;
    const unsigned char *at = args->a;
    bool one = args->broadcast & GX_BROADCAST_A;
    size_t limbs = one ? (size_t)L : args->n * (size_t)L;
    for (; limbs >= SUM_LIMBS; limbs -= SUM_LIMBS, at += 8 * SUM_LIMBS)
        UNROLL for (int k = 0; k < SUM_ROWS; k++)
        {
            if (args->stream)
                _mm_prefetch((const char *)at + 64 * k + SUM_AHEAD, _MM_HINT_T0);
            sum_row(L, k, &s, _mm512_loadu_si512(at + 64 * k));
        }
    sum_tail(L, &s, at, limbs);
    sum_collect(L, &s, &columns);
    if (one)
        gx__columns_times(prime, args, &columns);
    if (args->check && s.suspect) {
        size_t bad = gx__first_bad_args(prime, args, GX_BROADCAST_A, 0, args->n);
        if (bad != GX_NONE_BAD)
            return bad;
    }
    gx__columns_reduce(prime, &columns, args->out);
    return GX_NONE_BAD;
}

static size_t sum4(const struct gx_prime *prime, const struct gx_host_args *args)
{
    return sum_kernel(4, prime, args);
}

static size_t sum6(const struct gx_prime *prime, const struct gx_host_args *args)
{
    return sum_kernel(6, prime, args);
}

#endif
