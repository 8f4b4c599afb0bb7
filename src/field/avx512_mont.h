/* SPDX-License-Identifier: Apache-2.0
 *
 * Part of the AVX-512 tier (avx512.c): Montgomery multiplication of 8 elements at a
 * time by IFMA, in N = 5 or 8 limbs of 52 bits, factor M = 2^(52 N).
 *
 * What the multiplier gives: madd52lo/hi add the low/high 52 bits of the 104-bit
 * product of the low 52 bits of two lanes to a third, of 64 bits. Sums of up to 4096
 * such terms need no carry; here no accumulator takes more than 4 (N + 1) = 36 of
 * them, plus a carry below 2^12, and stays below 2^58. Such limbs, not carried yet, are
 * called "sums" below; their value is what they add up to.
 */
#ifndef GX_FIELD_AVX512_MONT_H
#define GX_FIELD_AVX512_MONT_H

#include "field/avx512_layout.h"

/* p < 2^(64 L - 1) (1 - 2^-40), which is all that the bounds below require of p. With F = 2^FULL
 * (see split()) it means F p < (1 - 2^-40) M / 2. For the top limb alone: */
INLINE bool mont_usable(const struct gx_prime *prime)
{
    return prime->p[prime->limbs - 1] < ((uint64_t)1 << 63) - ((uint64_t)1 << 23);
}

struct mont {
    vec p[GX_LIMBS52_MAX];
    vec q[GX_LIMBS52_MAX]; /* Q = (p ninv + 1) / 2^52: below p, as ninv < 2^52 */
    vec ninv;              /* -1/p mod 2^52 */
};

__extension__ typedef unsigned __int128 uint128;

static void mont_init(struct mont *m, const struct gx_prime *prime)
{
    uint32_t n = prime->limbs52;
    uint128 sum = (uint128)prime->p52[0] * prime->ninv52 + 1;
    for (uint32_t j = 1; j <= n; j++) {
        sum >>= 52; /* below 2^53, so that sums stay below 2^105 */
        if (j < n)
            sum += (uint128)prime->p52[j] * prime->ninv52;
        m->q[j - 1] = splat((uint64_t)sum & LIMB52_MASK);
        m->p[j - 1] = splat(prime->p52[j - 1]);
    }
    m->ninv = splat(prime->ninv52);
}

INLINE vec mul_low(vec sum, vec a, vec b)
{
    return _mm512_madd52lo_epu64(sum, a, b);
}

INLINE vec mul_high(vec sum, vec a, vec b)
{
    return _mm512_madd52hi_epu64(sum, a, b);
}

/* t[0 .. n] += a b for limbs a[0 .. n - 1] and one limb b. */
INLINE void mul_limb(const int n, vec *t, const vec *a, vec b)
{
    UNROLL for (int j = 0; j < n; j++) t[j] = mul_low(t[j], a[j], b);
    UNROLL for (int j = 0; j < n; j++) t[j + 1] = mul_high(t[j + 1], a[j], b);
}

/* Reduction divides by 2^52, modulo p, N times. Two kinds of step, each of which takes
 * t[0 .. N] and leaves its result in t[1 .. N + 1]:
 *
 * fold: t = 2^52 h + l becomes h + l Q, which is t / 2^52 because Q is 2^-52 mod p. No
 *   multiplication comes before the one by Q, which makes the chain from step to step
 *   short; but the result may be as large as t / 2^52 + 2^52 p.
 * step: t becomes (t + m p) / 2^52 < t / 2^52 + p, with m = l ninv mod 2^52. Adding
 *   the low limb of m p leaves zeros in limb 0, whose carry is therefore its old value
 *   divided by 2^52, rounded up: no need to multiply for it.
 *
 * N - 2 folds and then two steps turn T (the product) into less than
 *   T / M + (2^52 p) / 2^104 + p / 2^52 + p = T / M + p (1 + 2^-51). */
INLINE void reduce_fold(const int N, vec *t, const struct mont *f)
{
    t[1] = _mm512_add_epi64(t[1], RIGHT(t[0], 52));
    mul_limb(N, t + 1, f->q, t[0]);
}

INLINE void reduce_step(const int N, vec *t, const struct mont *f)
{
    vec m = mul_low(_mm512_setzero_si512(), t[0], f->ninv);
    vec carry = RIGHT(_mm512_add_epi64(t[0], splat(LIMB52_MASK)), 52);
    t[1] = _mm512_add_epi64(t[1], carry);
    UNROLL for (int j = 1; j < N; j++) t[j] = mul_low(t[j], f->p[j], m);
    UNROLL for (int j = 0; j < N; j++) t[j + 1] = mul_high(t[j + 1], f->p[j], m);
}

INLINE void reduce_limb(const int N, const int i, vec *t, const struct mont *f)
{
    if (i < N - 2)
        reduce_fold(N, t, f);
    else
        reduce_step(N, t, f);
}

/* A product comes in two parts, for other work to be placed between them (see
 * product_group() in avx512.c); w[2 N] is what is under way.
 *
 * a b / M + c as sums, from dirty limbs, but c (or NULL) clean. With c = 0, below 2p where the
 * factors are F x and y with x < p and y < 2p or the other way round: F x y / M < (1 - 2^-40) p.
 * Product and reduction are interleaved, so that few accumulators live at a time. */
#define MUL_BEGINS 2 /* limbs of b in the first part */

INLINE void mont_mul_limbs(const int L, const int from, const int to, vec *w, const vec *a,
                           const vec *b, const struct mont *f)
{
    const int N = LIMBS52(L);
    UNROLL for (int i = from; i < to; i++)
    {
        if (i + 1 < N)
            mul_limb(N, w + i + 1, a, b[i + 1]);
        reduce_limb(N, i, w + i, f);
    }
}

INLINE void mont_mul_begin(const int L, vec *w, const vec *a, const vec *b, const vec *c,
                           const struct mont *f)
{
    const int N = LIMBS52(L);
    UNROLL for (int j = 0; j < N; j++)
    {
        w[j] = _mm512_setzero_si512();
        w[N + j] = c ? c[j] : _mm512_setzero_si512();
    }
    mul_limb(N, w, a, b[0]);
    mont_mul_limbs(L, 0, MUL_BEGINS, w, a, b, f);
}

INLINE void mont_mul_end(const int L, vec *t, vec *w, const vec *a, const vec *b,
                         const struct mont *f)
{
    const int N = LIMBS52(L);
    mont_mul_limbs(L, MUL_BEGINS, N, w, a, b, f);
    UNROLL for (int j = 0; j < N; j++) t[j] = w[N + j];
}

INLINE void mont_mul(const int L, vec *t, const vec *a, const vec *b, const struct mont *f)
{
    vec w[2 * GX_LIMBS52_MAX];
    mont_mul_begin(L, w, a, b, NULL, f);
    mont_mul_end(L, t, w, a, b, f);
}

/* a^2 / M likewise. Products of different limbs are computed once and doubled; accumulators do not
 * get larger than if each were added twice. */
INLINE void mont_sqr_begin(const int L, vec *w, const vec *a)
{
    const int N = LIMBS52(L);
    UNROLL for (int j = 0; j < 2 * N; j++) w[j] = _mm512_setzero_si512();
    UNROLL for (int i = 0; i < N - 1; i++) mul_limb(N - 1 - i, w + 2 * i + 1, a + i + 1, a[i]);
    UNROLL for (int j = 1; j < 2 * N - 1; j++) w[j] = _mm512_add_epi64(w[j], w[j]);
    UNROLL for (int i = 0; i < N; i++)
    {
        w[2 * i] = mul_low(w[2 * i], a[i], a[i]);
        w[2 * i + 1] = mul_high(w[2 * i + 1], a[i], a[i]);
    }
}

INLINE void mont_sqr_end(const int L, vec *t, vec *w, const struct mont *f)
{
    const int N = LIMBS52(L);
    UNROLL for (int i = 0; i < N; i++) reduce_limb(N, i, w + i, f);
    UNROLL for (int j = 0; j < N; j++) t[j] = w[N + j];
}

/* From sums to dirty limbs, the highest clean. */
INLINE void carry_limbs(const int L, vec *t)
{
    const int N = LIMBS52(L);
    UNROLL for (int j = 0; j < N - 1; j++) t[j + 1] = _mm512_add_epi64(t[j + 1], RIGHT(t[j], 52));
}

/* From dirty limbs to sums. */
INLINE void clean_limbs(const int L, vec *t)
{
    const int N = LIMBS52(L);
    UNROLL for (int j = 0; j < N - 1; j++) t[j] = _mm512_and_si512(t[j], splat(LIMB52_MASK));
}

/* t - p if that is not negative, otherwise t. In: sums. Out: dirty limbs, the highest clean; below
 * p if t was below 2p. */
INLINE void subtract_p(const int L, vec *t, const struct mont *f)
{
    const int N = LIMBS52(L);
    vec less[GX_LIMBS52_MAX];
    UNROLL for (int j = 0; j < N; j++) less[j] = _mm512_sub_epi64(t[j], f->p[j]);
    UNROLL for (int j = 0; j < N - 1; j++)
    {
        less[j + 1] = _mm512_add_epi64(less[j + 1], _mm512_srai_epi64(less[j], 52));
        t[j + 1] = _mm512_add_epi64(t[j + 1], RIGHT(t[j], 52));
    }
    __mmask8 negative = _mm512_movepi64_mask(less[N - 1]);
    UNROLL for (int j = 0; j < N; j++) t[j] = _mm512_mask_mov_epi64(less[j], negative, t[j]);
}

#endif
