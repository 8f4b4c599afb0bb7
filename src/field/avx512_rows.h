/* SPDX-License-Identifier: Apache-2.0
 *
 * Part of the AVX-512 tier (avx512.c): addition and subtraction of 8 elements as they are in memory
 * ("rows", see avx512_layout.h), without transposition. Carries pass from limb to limb within a row
 * and from row to row. Almost always a carry moves up one limb and no further: to go on, it would
 * have to meet a limb that is all ones (adding) or zero (subtracting). So the quick versions move
 * each carry up once and report if one might have gone on; then the exact version redoes the block.
 */
#ifndef GX_FIELD_AVX512_ROWS_H
#define GX_FIELD_AVX512_ROWS_H

#include "field/avx512_layout.h"

struct rows {
    vec p[3];   /* p repeated: rows of both 4 and 6 limbs repeat after three */
    vec top[3]; /* 6 limbs: for each limb of a row, the position of its element's top limb, in that
                   row (0 .. 7) or the next (8 .. 15) */
};

#define ROW(k)  (8 * (k))                                  /* first bit of row k */
#define TOPS(L) ((L) == 4 ? 0x88888888u : 0x820820820820u) /* bits of the top limbs */

static void rows_init(struct rows *f, const struct gx_prime *prime)
{
    uint64_t p[24], top[24];
    for (unsigned i = 0; i < 24; i++) {
        p[i] = prime->p[i % prime->limbs];
        top[i] = i - i % 6 + 5 - i / 8 * 8;
    }
    for (unsigned k = 0; k < 3; k++) {
        f->p[k] = _mm512_loadu_si512(p + 8 * k);
        f->top[k] = _mm512_loadu_si512(top + 8 * k);
    }
}

/* ---- quick ---------------------------------------------------------------------- */

/* Bit 63: the carry out of sum = a + b, and the borrow out of difference = a - b. */
#define CARRY(a, b, sum)         _mm512_ternarylogic_epi64(a, b, sum, 0xd4)
#define BORROW(a, b, difference) _mm512_ternarylogic_epi64(a, b, difference, 0x8e)
#define SELECT(mask, x, y)       _mm512_ternarylogic_epi64(mask, x, y, 0xca)

/* Turns bit 63 of each limb of row k into 0 or 1 in the limb above it; that of a top limb is
 * dropped. `below` is what row k - 1 passed up. */
INLINE vec move_up(const int L, const int k, vec bits, vec *below)
{
    vec ones = _mm512_maskz_srli_epi64((__mmask8)(~(uint64_t)TOPS(L) >> ROW(k)), bits, 63);
    vec up = _mm512_alignr_epi64(ones, *below, 7);
    *below = ones;
    return up;
}

/* All ones in those limbs of row k whose element has bit 63 of its top limb set in bits. */
INLINE vec spread_top(const int L, const int k, const vec *bits, const struct rows *f)
{
    if (L == 4)
        return _mm512_srai_epi64(_mm512_permutex_epi64(bits[k], 0xff), 63);
    const int next = k % 3 == 2 ? k : k + 1; /* every third row ends with an element */
    return _mm512_srai_epi64(_mm512_permutex2var_epi64(bits[k], f->top[k % 3], bits[next]), 63);
}

/* No limb of a sum is all ones and none of a difference is zero, before carries are added. */
INLINE bool sure(const int L, const vec *sums, const vec *differences)
{
    vec largest = sums[0], least = differences[0];
    UNROLL for (int k = 1; k < L; k++)
    {
        largest = _mm512_max_epu64(largest, sums[k]);
        least = _mm512_min_epu64(least, differences[k]);
    }
    return !(_mm512_cmpeq_epu64_mask(largest, splat(UINT64_MAX)) |
             _mm512_testn_epi64_mask(least, least));
}

/* s = a + b, then s - p if that is not negative. False: s may be wrong. */
INLINE bool add_rows(const int L, vec *s, const vec *a, const vec *b, const struct rows *f)
{
    vec sum[GX_LIMBS_MAX], difference[GX_LIMBS_MAX], negative[GX_LIMBS_MAX];
    vec below = _mm512_setzero_si512();
    UNROLL for (int k = 0; k < L; k++)
    {
        sum[k] = _mm512_add_epi64(a[k], b[k]);
        s[k] = _mm512_add_epi64(sum[k], move_up(L, k, CARRY(a[k], b[k], sum[k]), &below));
    }
    below = _mm512_setzero_si512();
    vec less[GX_LIMBS_MAX];
    UNROLL for (int k = 0; k < L; k++)
    {
        difference[k] = _mm512_sub_epi64(s[k], f->p[k % 3]);
        negative[k] = BORROW(s[k], f->p[k % 3], difference[k]);
        less[k] = _mm512_sub_epi64(difference[k], move_up(L, k, negative[k], &below));
    }
    UNROLL for (int k = 0; k < L; k++) s[k] = SELECT(spread_top(L, k, negative, f), s[k], less[k]);
    return sure(L, sum, difference);
}

/* d = a - b, then d + p if that was negative. False: d may be wrong. */
INLINE bool sub_rows(const int L, vec *d, const vec *a, const vec *b, const struct rows *f)
{
    vec sum[GX_LIMBS_MAX], difference[GX_LIMBS_MAX], negative[GX_LIMBS_MAX];
    vec below = _mm512_setzero_si512();
    UNROLL for (int k = 0; k < L; k++)
    {
        difference[k] = _mm512_sub_epi64(a[k], b[k]);
        negative[k] = BORROW(a[k], b[k], difference[k]);
        d[k] = _mm512_sub_epi64(difference[k], move_up(L, k, negative[k], &below));
    }
    below = _mm512_setzero_si512();
    UNROLL for (int k = 0; k < L; k++)
    {
        vec p = _mm512_and_si512(f->p[k % 3], spread_top(L, k, negative, f));
        sum[k] = _mm512_add_epi64(d[k], p);
        d[k] = _mm512_add_epi64(sum[k], move_up(L, k, CARRY(d[k], p, sum[k]), &below));
    }
    return sure(L, sum, difference);
}

/* ---- exact -----------------------------------------------------------------------
 *
 * A comparison of a row gives a bit per limb, and the bits of a whole block fit in one
 * word, element after element. A limb sends a carry on if it made one (made) or if one
 * comes in and it is all ones (passes); both together never happen. So the carries run
 * through all elements as those of one integer addition. None leaves an element with
 * inputs below p: p has its top bit clear. */

INLINE uint64_t incoming(uint64_t made, uint64_t passes)
{
    return (passes + 2 * made) ^ passes;
}

/* From bits at top limbs to bits at all limbs of those elements. */
INLINE uint64_t whole_elements(const int L, uint64_t tops)
{
    return (tops << 1) - (tops >> (L - 1));
}

INLINE uint64_t less_than(vec x, vec y, int k)
{
    return (uint64_t)_mm512_cmplt_epu64_mask(x, y) << ROW(k);
}

INLINE uint64_t equal(vec x, vec y, int k)
{
    return (uint64_t)_mm512_cmpeq_epu64_mask(x, y) << ROW(k);
}

/* s = a + b, then s - p if that is not negative. */
INLINE void add_rows_exactly(const int L, vec *s, const vec *a, const vec *b, const struct rows *f)
{
    const uint64_t tops = TOPS(L);
    const vec ones = splat(UINT64_MAX);
    uint64_t made = 0, passes = 0, less = 0, same = 0;
    UNROLL for (int k = 0; k < L; k++)
    {
        s[k] = _mm512_add_epi64(a[k], b[k]);
        made |= less_than(s[k], a[k], k);
        passes |= equal(s[k], ones, k);
    }
    uint64_t carry = incoming(made, passes);
    UNROLL for (int k = 0; k < L; k++)
    {
        s[k] = _mm512_mask_sub_epi64(s[k], (__mmask8)(carry >> ROW(k)), s[k], ones);
        less |= less_than(s[k], f->p[k % 3], k);
        same |= equal(s[k], f->p[k % 3], k);
    }
    uint64_t borrow = incoming(less & ~tops, same & ~tops);
    uint64_t subtract = ~whole_elements(L, (less | (same & borrow)) & tops);
    borrow &= subtract;
    UNROLL for (int k = 0; k < L; k++)
    {
        s[k] = _mm512_mask_sub_epi64(s[k], (__mmask8)(subtract >> ROW(k)), s[k], f->p[k % 3]);
        s[k] = _mm512_mask_add_epi64(s[k], (__mmask8)(borrow >> ROW(k)), s[k], ones);
    }
}

/* d = a - b, then d + p if that was negative. */
INLINE void sub_rows_exactly(const int L, vec *d, const vec *a, const vec *b, const struct rows *f)
{
    const uint64_t tops = TOPS(L);
    const vec ones = splat(UINT64_MAX);
    uint64_t made = 0, passes = 0, less = 0, same = 0;
    UNROLL for (int k = 0; k < L; k++)
    {
        d[k] = _mm512_sub_epi64(a[k], b[k]);
        less |= less_than(a[k], b[k], k);
        same |= equal(a[k], b[k], k);
    }
    uint64_t borrow = incoming(less & ~tops, same & ~tops);
    uint64_t negative = whole_elements(L, (less | (same & borrow)) & tops);
    UNROLL for (int k = 0; k < L; k++)
    {
        vec x = _mm512_mask_add_epi64(d[k], (__mmask8)(borrow >> ROW(k)), d[k], ones);
        d[k] = _mm512_mask_add_epi64(x, (__mmask8)(negative >> ROW(k)), x, f->p[k % 3]);
        made |= less_than(d[k], x, k);
        passes |= equal(d[k], ones, k);
    }
    uint64_t carry = incoming(made & ~tops, passes & negative & ~tops);
    UNROLL for (int k = 0; k < L; k++) d[k] =
        _mm512_mask_sub_epi64(d[k], (__mmask8)(carry >> ROW(k)), d[k], ones);
}

INLINE void operate_exactly(const int L, bool subtract, vec *r, const uint8_t *from_a,
                            const uint8_t *from_b, const struct rows *f)
{
    vec a[GX_LIMBS_MAX], b[GX_LIMBS_MAX];
    load_rows(L, a, from_a);
    load_rows(L, b, from_b);
    if (subtract)
        sub_rows_exactly(L, r, a, b, f);
    else
        add_rows_exactly(L, r, a, b, f);
}

/* Reads the operands again, so that the quick version need not keep them. */
static __attribute__((noinline, cold)) void
exact_rows(int L, bool subtract, vec *r, const uint8_t *a, const uint8_t *b, const struct rows *f)
{
    if (L == 4)
        operate_exactly(4, subtract, r, a, b, f);
    else
        operate_exactly(6, subtract, r, a, b, f);
}

#endif
