/* SPDX-License-Identifier: Apache-2.0
 *
 * Part of the AVX-512 tier (avx512.c): 1/b and a/b by Montgomery's trick. A batch is processed 16
 * elements at a time; each lane of two vectors is a separate chain. The forward pass stores the
 * products of all elements so far in scratch; the backward pass starts with the inverse of the last
 * product and divides out one element after the other. Rotations of the lanes combine the 16
 * products into one, and split its inverse into 16 again.
 */
#ifndef GX_FIELD_AVX512_INVERT_H
#define GX_FIELD_AVX512_INVERT_H

#include <string.h>

#include "field/avx512_mont.h"

#define CHAINS          2
#define STRIDE          (CHAINS * BLOCK) /* elements per step */
#define STRIDE_BYTES(L) (STRIDE * 8 * (size_t)(L))

/* One batch of an operand. A broadcast element, or an incomplete last stride, is read from `block`;
 * the latter is padded with ones, which change no product. */
struct batch {
    const uint8_t *from;
    size_t step;       /* bytes per stride, 0 if broadcast */
    size_t from_block; /* strides from this one on are in block */
    uint8_t block[STRIDE * 8 * GX_LIMBS_MAX];
};

static void batch_open(struct batch *s, const struct gx_prime *prime, const void *operand,
                       bool broadcast, size_t start, size_t n)
{
    size_t bytes = prime->limbs * 8;
    s->from = (const uint8_t *)operand + (broadcast ? 0 : start * bytes);
    s->step = broadcast ? 0 : STRIDE * bytes;
    s->from_block = broadcast ? 0 : n / STRIDE;
    size_t left = broadcast ? 0 : n % STRIDE;
    memcpy(s->block, s->from + s->from_block * s->step, left * bytes);
    for (size_t i = left; i < STRIDE; i++)
        memcpy(s->block + i * bytes, broadcast ? operand : prime->one, bytes);
}

INLINE const uint8_t *batch_at(const struct batch *s, size_t stride)
{
    return stride >= s->from_block ? s->block : s->from + stride * s->step;
}

struct inverter {
    struct mont mont;
    const struct gx_prime *prime;
    const uint8_t *ahead[3]; /* see prefetch_batch(); NULL: none */
    vec one[GX_LIMBS_MAX];   /* planes */
    vec top;                 /* the largest top limbs read, per lane */
};

/* Reads 8 elements into planes, replacing zeros with ones; returns the lanes with zeros. */
INLINE __mmask8 load_nonzero(const int L, vec *x, const uint8_t *from, struct inverter *v)
{
    load_planes(L, x, from);
    v->top = _mm512_max_epu64(v->top, x[L - 1]);
    vec any = x[0];
    UNROLL for (int j = 1; j < L; j++) any = _mm512_or_si512(any, x[j]);
    __mmask8 zero = _mm512_testn_epi64_mask(any, any);
    if (__builtin_expect(zero != 0, 0)) {
        UNROLL for (int j = 0; j < L; j++) x[j] = _mm512_mask_mov_epi64(x[j], zero, v->one[j]);
    }
    return zero;
}

/* Out of cache: the forward pass prefetches what the backward pass will touch, which would
 * otherwise be late because it goes backwards, and its own input a few strides ahead. Prefetches
 * never fault. */
INLINE void prefetch_batch(const int L, size_t stride, const struct inverter *v)
{
    for (int k = 0; k < 3; k++) {
        uintptr_t at = (uintptr_t)v->ahead[k] + stride * STRIDE_BYTES(L);
        for (size_t i = 0; i < STRIDE_BYTES(L) && v->ahead[k]; i += 64)
            _mm_prefetch((const char *)(at + i), _MM_HINT_T1);
    }
}

/* product[c] *= all elements of the batch in chain c; stores its value before each of them in
 * scratch. product < 2p before and after: the elements are shifted, F x with x < p. */
INLINE void batch_up(const int L, vec product[CHAINS][GX_LIMBS52_MAX], vec *scratch,
                     const struct batch *b, size_t strides, struct inverter *v)
{
    const int N = LIMBS52(L);
    for (size_t i = 0; i < strides; i++) {
        const uint8_t *from = batch_at(b, i);
        prefetch_batch(L, i, v);
        for (int c = 0; c < CHAINS; c++) {
            vec x[GX_LIMBS_MAX], t[GX_LIMBS52_MAX];
            load_nonzero(L, x, from + c * STRIDE_BYTES(L) / CHAINS, v);
            split(L, SHIFT_FULL, t, x);
            UNROLL for (int j = 0; j < N; j++) scratch[(i * CHAINS + c) * N + j] = product[c][j];
            mont_mul(L, product[c], t, product[c], &v->mont);
            carry_limbs(L, product[c]);
        }
    }
}

/* One stride of the backward pass. inverse[c] is F / (product up to here), below F p before and
 * after: F p F p / M + p (1 + 2^-51) < F p. Multiplied by the product before this element, below
 * 2p, it gives the result, below 2p; multiplied by the element, F x, its own next value. */
INLINE void batch_down_stride(const int L, const int divide, uint8_t *out, const uint8_t *a,
                              const uint8_t *b, vec inverse[CHAINS][GX_LIMBS52_MAX],
                              const vec *scratch, struct inverter *v)
{
    const int N = LIMBS52(L);
    for (int c = 0; c < CHAINS; c++) {
        const size_t at = c * STRIDE_BYTES(L) / CHAINS;
        vec x[GX_LIMBS_MAX], t[GX_LIMBS52_MAX], r[GX_LIMBS52_MAX];
        __mmask8 zero = load_nonzero(L, x, b + at, v);
        mont_mul(L, r, inverse[c], scratch + c * N, &v->mont);
        split(L, SHIFT_FULL, t, x);
        mont_mul(L, inverse[c], t, inverse[c], &v->mont);
        carry_limbs(L, inverse[c]);
        if (divide) {
            load_planes(L, x, a + at);
            v->top = _mm512_max_epu64(v->top, x[L - 1]);
            split(L, SHIFT_FULL, t, x);
            carry_limbs(L, r);
            mont_mul(L, r, t, r, &v->mont);
        }
        subtract_p(L, r, &v->mont);
        join(L, x, r);
        UNROLL for (int j = 0; j < L; j++) x[j] = _mm512_maskz_mov_epi64((__mmask8)~zero, x[j]);
        vec rows[GX_LIMBS_MAX];
        planes_to_rows(L, rows, x);
        store_rows(L, out + at, rows);
    }
}

INLINE void batch_down(const int L, const int divide, uint8_t *out, size_t n, const struct batch *a,
                       const struct batch *b, vec inverse[CHAINS][GX_LIMBS52_MAX],
                       const vec *scratch, struct inverter *v)
{
    uint8_t block[STRIDE_BYTES(GX_LIMBS_MAX)];
    for (size_t i = (n + STRIDE - 1) / STRIDE; i-- > 0;) {
        bool whole = i < n / STRIDE;
        uint8_t *to = whole ? out + i * STRIDE_BYTES(L) : block;
        batch_down_stride(L, divide, to, divide ? batch_at(a, i) : NULL, batch_at(b, i), inverse,
                          scratch + i * CHAINS * LIMBS52(L), v);
        if (!whole)
            memcpy(out + i * STRIDE_BYTES(L), block, n % STRIDE * 8 * L);
    }
}

/* r = x y in standard form; all are sums, below 2p. */
INLINE void multiply(const int L, vec *r, const vec *x, const vec *y, const struct mont *f)
{
    vec planes[GX_LIMBS_MAX], s[GX_LIMBS52_MAX], t[GX_LIMBS52_MAX];
    memcpy(s, x, LIMBS52(L) * sizeof *s);
    memcpy(t, y, LIMBS52(L) * sizeof *t);
    carry_limbs(L, s);
    subtract_p(L, t, f);
    join(L, planes, t);
    split(L, SHIFT_FULL, t, planes);
    mont_mul(L, r, s, t, f);
}

/* Inverse of x, which is the same in all lanes; sums. Unchecked elements not below p can make it 0
 * or not below p, which must not reach the scalar code. */
INLINE void invert_same(const int L, vec *x, const struct inverter *v)
{
    vec planes[GX_LIMBS_MAX];
    uint64_t scalar[GX_LIMBS_MAX], any = 0;
    subtract_p(L, x, &v->mont);
    join(L, planes, x);
    for (int j = 0; j < L; j++)
        any |= scalar[j] = (uint64_t)_mm_cvtsi128_si64(_mm512_castsi512_si128(planes[j]));
    if (any != 0 && gx__first_bad(v->prime, scalar, 1, false) == GX_NONE_BAD)
        gx__invert_one(v->prime, scalar, scalar);
    for (int j = 0; j < L; j++)
        planes[j] = splat(scalar[j]);
    split(L, SHIFT_NONE, x, planes);
    clean_limbs(L, x);
}

/* From the products of all chains to inverse = F / product, below F p, for each lane. Up: three
 * times multiply the lanes by the rotated lanes, until all are equal. Down: the inverse of one
 * factor is the inverse of the product times the other factor. */
INLINE void invert_lanes(const int L, vec inverse[CHAINS][GX_LIMBS52_MAX],
                         vec product[CHAINS][GX_LIMBS52_MAX], const struct inverter *v)
{
    const int N = LIMBS52(L);
    vec all[GX_LIMBS52_MAX], other[4][GX_LIMBS52_MAX];
    vec lanes = _mm512_set_epi64(7, 6, 5, 4, 3, 2, 1, 0);
    clean_limbs(L, product[0]);
    clean_limbs(L, product[1]);
    memcpy(all, product[0], sizeof all);
    memcpy(other[0], product[1], sizeof all);
    for (int k = 0; k < 4; k++) {
        vec rotated = _mm512_add_epi64(lanes, splat(8u >> k));
        for (int j = 0; j < N && k > 0; j++)
            other[k][j] = _mm512_permutexvar_epi64(rotated, all[j]);
        multiply(L, all, all, other[k], &v->mont);
    }
    invert_same(L, all, v);
    for (int k = 3; k > 0; k--)
        multiply(L, all, all, other[k], &v->mont);
    for (int c = 0; c < CHAINS; c++) {
        vec planes[GX_LIMBS_MAX];
        multiply(L, inverse[c], all, product[1 - c], &v->mont);
        subtract_p(L, inverse[c], &v->mont);
        join(L, planes, inverse[c]);
        split(L, SHIFT_FULL, inverse[c], planes);
    }
}

/* One batch: b is inverted, which in args is the last operand; a, if present, is divided by it. */
INLINE void invert_batch(const int L, const int divide, const struct gx_host_args *args,
                         size_t start, size_t n, struct inverter *v)
{
    struct batch a, b;
    const void *divisor = divide ? args->b : args->a;
    unsigned bit = divide ? GX_BROADCAST_B : GX_BROADCAST_A;
    batch_open(&b, v->prime, divisor, args->broadcast & bit, start, n);
    if (divide)
        batch_open(&a, v->prime, args->a, args->broadcast & GX_BROADCAST_A, start, n);

    vec product[CHAINS][GX_LIMBS52_MAX], inverse[CHAINS][GX_LIMBS52_MAX];
    for (int c = 0; c < CHAINS; c++)
        split(L, SHIFT_NONE, product[c], v->one);
    uint8_t *out = (uint8_t *)args->out + start * 8 * L;
    v->ahead[0] = args->stream && b.step ? b.from + 8 * STRIDE_BYTES(L) : NULL;
    v->ahead[1] = args->stream && divide && a.step ? a.from : NULL;
    v->ahead[2] = args->stream ? out : NULL;
    batch_up(L, product, args->scratch, &b, (n + STRIDE - 1) / STRIDE, v);
    invert_lanes(L, inverse, product, v);
    batch_down(L, divide, out, n, &a, &b, inverse, args->scratch, v);
}

INLINE size_t invert_all(const int L, const int divide, const struct gx_prime *prime,
                         const struct gx_host_args *args, bool check)
{
    const unsigned operands = divide ? GX_BROADCAST_A | GX_BROADCAST_B : GX_BROADCAST_A;
    const vec top = splat(prime->p[L - 1]);
    struct inverter v;
    mont_init(&v.mont, prime);
    v.prime = prime;
    for (int j = 0; j < L; j++)
        v.one[j] = splat(prime->one[j]);
    for (size_t i = 0, n; i < args->n; i += n) {
        n = args->n - i < GX_INV_BATCH ? args->n - i : GX_INV_BATCH;
        v.top = _mm512_setzero_si512();
        invert_batch(L, divide, args, i, n, &v);
        if (!check || _mm512_cmpge_epu64_mask(v.top, top) == 0)
            continue;
        size_t bad = gx__first_bad_args(prime, args, operands, i, i + n);
        if (bad != GX_NONE_BAD)
            return bad;
    }
    return GX_NONE_BAD;
}

#endif
