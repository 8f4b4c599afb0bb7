/* SPDX-License-Identifier: Apache-2.0
 *
 * Additions of affine points of the AVX-512 tier: eight at a time, in the lanes of vectors. A
 * stored point is x, y, each of D elements (of the base field, D = 1, or its quadratic extension, D
 * = 2), an element being a line of 8 words: N = 5 or 8 limbs of 52 bits of the number times M =
 * 2^(52 N), clean but for the highest, which is signed. Stored elements are not reduced: they are
 * "loose", in
 * (-2^-12 p, (1 + 2^-12) p). Infinity has the least number as the highest limb of x.
 *
 * An addition is 5 products and a square: the inverse of the denominator costs three. Whether a
 * denominator is 0 shows in the product of all. Then, or if there is infinity among the points, a
 * careful version does the batch again, which looks at each pair.
 */
#include "curve/msm_tier.h"

#if defined(__x86_64__)

#include <string.h>

#include "curve/coord.h"
#include "field/avx512_mont.h"
#include "field/scalar.h"

#define NOINLINE static __attribute__((noinline))
#define LINE     64 /* bytes of a stored element */
#define DEGREES  2
#define VECS     (DEGREES * GX_LIMBS52_MAX) /* of a coordinate */
#define CHAINS   2

#define POINT_BYTES(D) (2 * (size_t)(D)*LINE)
#define AHEAD          16 /* pairs between prefetching x and reading it */

struct msm {
    struct mont mont;
    const struct gx_curve_row *curve;
    vec p_2[GX_LIMBS52_MAX], p_3[GX_LIMBS52_MAX], p_6[GX_LIMBS52_MAX]; /* 2p, 3p, 6p */
    vec multiple[GX_LIMBS52_MAX];                                      /* lane q: q p */
    vec top_inverse;                /* 2^52 / (highest limb of p, rounded up) */
    vec one[GX_LIMBS52_MAX];        /* M mod p */
    uint64_t shift_2[GX_LIMBS_MAX]; /* (M / R)^2 in Montgomery form */
};

/* ---- elements ---------------------------------------------------------------------
 *
 * Factors are dirty limbs of numbers from 0 to 7p; products are below 1.5 p, as p < M / 32 and, for
 * D = 2, p < M / 64. */

/* From signed limbs to dirty ones, the highest clean. */
INLINE void carry_signed(const int L, vec *x)
{
    const int N = LIMBS52(L);
    UNROLL for (int j = 0; j < N - 1; j++) x[j + 1] =
        _mm512_add_epi64(x[j + 1], _mm512_srai_epi64(x[j], 52));
}

/* From signed limbs of a number in [p / 2, 7.9 p) to a loose one. The quotient is that of the
 * highest limbs: at most one too low, and too high only by rounding. */
INLINE void loosen(const int L, vec *x, const struct msm *f)
{
    const int N = LIMBS52(L);
    vec top = _mm512_add_epi64(x[N - 1], _mm512_srai_epi64(x[N - 2], 52));
    vec q = mul_high(_mm512_setzero_si512(), top, f->top_inverse);
    UNROLL for (int j = 0; j < N; j++) x[j] =
        _mm512_sub_epi64(x[j], _mm512_permutexvar_epi64(q, f->multiple[j]));
    carry_signed(L, x);
    clean_limbs(L, x);
}

/* From a loose number to the one below p. */
INLINE void reduce(const int L, vec *x, const struct msm *f)
{
    const int N = LIMBS52(L);
    UNROLL for (int j = 0; j < N; j++) x[j] = _mm512_add_epi64(x[j], f->mont.p[j]);
    for (int i = 0; i < 2; i++) {
        subtract_p(L, x, &f->mont);
        clean_limbs(L, x);
    }
}

/* t = a b + c d. */
INLINE void mul_two(const int L, vec *t, const vec *a, const vec *b, const vec *c, const vec *d,
                    const struct mont *f)
{
    const int N = LIMBS52(L);
    vec w[2 * GX_LIMBS52_MAX];
    UNROLL for (int j = 0; j < 2 * N; j++) w[j] = _mm512_setzero_si512();
    UNROLL for (int i = 0; i < N; i++)
    {
        mul_limb(N, w + i, a, b[i]);
        mul_limb(N, w + i, c, d[i]);
        reduce_limb(N, i, w + i, f);
    }
    UNROLL for (int j = 0; j < N; j++) t[j] = w[N + j];
}

/* ---- coordinates ------------------------------------------------------------------ */

INLINE void copy_limbs(const int n, vec *to, const vec *from)
{
    UNROLL for (int j = 0; j < n; j++) to[j] = from[j];
}

INLINE void mul_extension(const int L, vec *t, const vec *a, const vec *b, const struct msm *f)
{
    const int N = LIMBS52(L);
    vec minus[GX_LIMBS52_MAX], real[GX_LIMBS52_MAX], imaginary[GX_LIMBS52_MAX];
    copy_limbs(N, minus, a + N);
    clean_limbs(L, minus);
    UNROLL for (int j = 0; j < N; j++) minus[j] = _mm512_sub_epi64(f->p_6[j], minus[j]);
    carry_signed(L, minus);
    mul_two(L, real, a, b, minus, b + N, &f->mont);
    mul_two(L, imaginary, a, b + N, a + N, b, &f->mont);
    carry_limbs(L, real);
    carry_limbs(L, imaginary);
    copy_limbs(N, t, real);
    copy_limbs(N, t + N, imaginary);
}

/* Functions of their own, where inlining gains nothing and makes for much code. */
#define DEFINE_MUL(L)                                                                              \
    NOINLINE void mul_##L##_1(vec *t, const vec *a, const vec *b, const struct msm *f)             \
    {                                                                                              \
        mont_mul(L, t, a, b, &f->mont);                                                            \
        carry_limbs(L, t);                                                                         \
    }                                                                                              \
    NOINLINE void mul_##L##_2(vec *t, const vec *a, const vec *b, const struct msm *f)             \
    {                                                                                              \
        mul_extension(L, t, a, b, f);                                                              \
    }
DEFINE_MUL(6)
DEFINE_MUL(4)

/* t = a b, dirty limbs. The imaginary part of a is below 6p. */
INLINE void mul_called(const int L, const int D, vec *t, const vec *a, const vec *b,
                       const struct msm *f)
{
    if (L == 6)
        (D == 1 ? mul_6_1 : mul_6_2)(t, a, b, f);
    else
        (D == 1 ? mul_4_1 : mul_4_2)(t, a, b, f);
}

INLINE void mul(const int L, const int D, vec *t, const vec *a, const vec *b, const struct msm *f)
{
    if (D == 2) {
        mul_called(L, D, t, a, b, f);
    } else {
        mont_mul(L, t, a, b, &f->mont);
        carry_limbs(L, t);
    }
}

/* t = a^2 as sums; a below 2p, clean for D = 2. */
INLINE void sqr(const int L, const int D, vec *t, const vec *a, const struct msm *f)
{
    const int N = LIMBS52(L);
    if (D == 1) {
        vec w[2 * GX_LIMBS52_MAX];
        mont_sqr_begin(L, w, a);
        mont_sqr_end(L, t, w, &f->mont);
    } else {
        vec sum[GX_LIMBS52_MAX], difference[GX_LIMBS52_MAX], twice[GX_LIMBS52_MAX];
        UNROLL for (int j = 0; j < N; j++)
        {
            sum[j] = _mm512_add_epi64(a[j], a[N + j]);
            difference[j] = _mm512_add_epi64(_mm512_sub_epi64(a[j], a[N + j]), f->p_2[j]);
            twice[j] = _mm512_add_epi64(a[j], a[j]);
        }
        carry_limbs(L, sum);
        carry_signed(L, difference);
        carry_limbs(L, twice);
        mont_mul(L, t + N, twice, a + N, &f->mont);
        mont_mul(L, t, sum, difference, &f->mont);
    }
}

INLINE void clean(const int L, const int D, vec *x)
{
    UNROLL for (int i = 0; i < D; i++) clean_limbs(L, x + i * LIMBS52(L));
}

INLINE void carry(const int L, const int D, vec *x)
{
    UNROLL for (int i = 0; i < D; i++) carry_signed(L, x + i * LIMBS52(L));
}

INLINE void loosen_all(const int L, const int D, vec *x, const struct msm *f)
{
    UNROLL for (int i = 0; i < D; i++) loosen(L, x + i * LIMBS52(L), f);
}

INLINE void reduce_all(const int L, const int D, vec *x, const struct msm *f)
{
    UNROLL for (int i = 0; i < D; i++) reduce(L, x + i * LIMBS52(L), f);
}

/* t = a - b + add for each element, signed limbs. */
INLINE void sub(const int L, const int D, vec *t, const vec *a, const vec *b, const vec *add)
{
    const int N = LIMBS52(L);
    UNROLL for (int j = 0; j < D * N; j++) t[j] =
        _mm512_add_epi64(_mm512_sub_epi64(a[j], b[j]), add[j % N]);
}

INLINE void select_limbs(const int n, vec *x, __mmask8 lanes, const vec *other)
{
    UNROLL for (int j = 0; j < n; j++) x[j] = _mm512_mask_mov_epi64(x[j], lanes, other[j]);
}

/* 1 in some lanes. */
INLINE void select_one(const int L, const int D, vec *x, __mmask8 lanes, const struct msm *f)
{
    const int N = LIMBS52(L);
    select_limbs(N, x, lanes, f->one);
    UNROLL for (int j = N; j < D * N; j++) x[j] =
        _mm512_mask_mov_epi64(x[j], lanes, _mm512_setzero_si512());
}

/* ---- memory ---------------------------------------------------------------------------- */

#define INFINITY_LIMB INT64_MIN

enum coordinate { X, Y };

/* Eight pairs: where their points are, lane by lane. */
struct eight {
    uint8_t *a[BLOCK], *b[BLOCK], *out[BLOCK];
    __mmask8 negative_a, negative_b;
};

INLINE uint8_t *address(const struct gx_msm_adds *adds, uint32_t term, size_t bytes)
{
    uintptr_t base = (uintptr_t)(term & GX_TERM_SUM ? adds->sums : adds->points);
    return (uint8_t *)(base + (term & GX_TERM_INDEX) * bytes);
}

/* The last eight repeat the last pair. */
INLINE void find_eight(const int D, struct eight *e, const struct gx_msm_adds *adds, uint32_t from)
{
    e->negative_a = e->negative_b = 0;
    UNROLL for (uint32_t l = 0; l < BLOCK; l++)
    {
        uint32_t i = from + l < adds->count ? from + l : adds->count - 1;
        const struct gx_msm_pair *pair = &adds->pairs[i];
        e->a[l] = address(adds, pair->a, POINT_BYTES(D));
        e->b[l] = address(adds, pair->b, POINT_BYTES(D));
        e->out[l] = address(adds, pair->out | GX_TERM_SUM, POINT_BYTES(D));
        e->negative_a |= (__mmask8)(pair->a >> 31 << l);
        e->negative_b |= (__mmask8)(pair->b >> 31 << l);
    }
}

INLINE void prefetch(const int D, const struct gx_msm_adds *adds, uint32_t from,
                     enum coordinate which)
{
    for (uint32_t i = from; i < from + BLOCK && i < adds->count; i++) {
        const uint8_t *a = address(adds, adds->pairs[i].a, POINT_BYTES(D));
        const uint8_t *b = address(adds, adds->pairs[i].b, POINT_BYTES(D));
        UNROLL for (int k = 0; k < D; k++)
        {
            _mm_prefetch((const char *)a + ((int)which * D + k) * LINE, _MM_HINT_T0);
            _mm_prefetch((const char *)b + ((int)which * D + k) * LINE, _MM_HINT_T0);
        }
    }
}

/* rows_to_planes4 permutes lanes so. */
static const uint8_t lane_of[BLOCK] = {0, 2, 1, 3, 4, 6, 5, 7};

INLINE __m256i load_half(const uint8_t *from)
{
    return _mm256_load_si256((const __m256i *)(const void *)from);
}

/* The elements at at[lane] + offset. */
INLINE void load_element(const int L, vec *x, uint8_t *const *at, size_t offset)
{
    UNROLL for (int h = 0; h < 2; h++)
    {
        vec rows[4], planes[4];
        UNROLL for (int k = 0; k < 4; k++) rows[k] = _mm512_inserti64x4(
            _mm512_castsi256_si512(load_half(at[lane_of[2 * k]] + offset + 32 * h)),
            load_half(at[lane_of[2 * k + 1]] + offset + 32 * h), 1);
        rows_to_planes4(planes, rows);
        UNROLL for (int j = 0; j < 4; j++)
        {
            if (4 * h + j < LIMBS52(L))
                x[4 * h + j] = planes[j];
        }
    }
}

INLINE void store_element(const int L, uint8_t *const *at, size_t offset, const vec *x)
{
    UNROLL for (int h = 0; h < 2; h++)
    {
        vec rows[4], planes[4];
        UNROLL for (int j = 0; j < 4; j++) planes[j] =
            4 * h + j < LIMBS52(L) ? x[4 * h + j] : _mm512_setzero_si512();
        planes_to_rows4(rows, planes);
        UNROLL for (int k = 0; k < 4; k++)
        {
            _mm256_store_si256((__m256i *)(void *)(at[lane_of[2 * k]] + offset + 32 * h),
                               _mm512_castsi512_si256(rows[k]));
            _mm256_store_si256((__m256i *)(void *)(at[lane_of[2 * k + 1]] + offset + 32 * h),
                               _mm512_extracti64x4_epi64(rows[k], 1));
        }
    }
}

INLINE void load_coord(const int L, const int D, vec *x, uint8_t *const *at, enum coordinate which)
{
    UNROLL for (int i = 0; i < D; i++)
        load_element(L, x + i * LIMBS52(L), at, (size_t)((int)which * D + i) * LINE);
}

INLINE void store_coord(const int L, const int D, uint8_t *const *at, enum coordinate which,
                        const vec *x)
{
    UNROLL for (int i = 0; i < D; i++)
        store_element(L, at, (size_t)((int)which * D + i) * LINE, x + i * LIMBS52(L));
}

INLINE void negate(const int L, const int D, vec *y, __mmask8 lanes)
{
    const int n = D * LIMBS52(L);
    UNROLL for (int j = 0; j < n; j++) y[j] =
        _mm512_mask_sub_epi64(y[j], lanes, _mm512_setzero_si512(), y[j]);
}

/* ---- the inverses of a batch ------------------------------------------------------------
 *
 * Each lane of two vectors is a chain: what comes before a denominator is the product of those
 * before it in the chain. */

/* What the first pass keeps for the second; only of D N vectors each. */
struct kept {
    vec *before, *denominator, *x;
};

INLINE struct kept kept_at(const int L, const int D, const struct gx_msm_adds *adds, uint32_t eight)
{
    const int n = D * LIMBS52(L);
    vec *at = (vec *)adds->scratch + (size_t)eight * 3 * n;
    return (struct kept){at, at + n, at + 2 * n};
}

/* Inverse of x, which is the same in all lanes. False: it is 0. */
INLINE bool invert_same(const int L, const int D, vec *x, const struct msm *f)
{
    uint64_t words[GX_COORD_LIMBS];
    const int N = LIMBS52(L);
    clean(L, D, x);
    for (int i = 0; i < D; i++) {
        vec planes[GX_LIMBS_MAX];
        subtract_p(L, x + i * N, &f->mont);
        join(L, planes, x + i * N);
        for (int j = 0; j < L; j++)
            words[i * L + j] = (uint64_t)_mm_cvtsi128_si64(_mm512_castsi512_si128(planes[j]));
    }
    if (gx__coord_is_zero(f->curve, words))
        return false;
    gx__coord_invert(f->curve, words, words);
    for (int i = 0; i < D; i++) {
        vec planes[GX_LIMBS_MAX];
        gx__mul_one(f->curve->base, words + i * L, words + i * L, f->shift_2); /* to M^2 / x */
        for (int j = 0; j < L; j++)
            planes[j] = splat(words[i * L + j]);
        split(L, SHIFT_NONE, x + i * N, planes);
    }
    return true;
}

/* From the products of the chains to their inverses. Up: three times multiply the lanes by the
 * rotated lanes, until all are equal. Down: the inverse of one factor is the inverse of the product
 * times the other factor. */
INLINE bool invert_chains(const int L, const int D, vec product[CHAINS][VECS], const struct msm *f)
{
    const int n = D * LIMBS52(L);
    vec all[VECS], other[4][VECS];
    const vec lanes = _mm512_set_epi64(7, 6, 5, 4, 3, 2, 1, 0);
    copy_limbs(n, all, product[0]);
    copy_limbs(n, other[0], product[1]);
    for (unsigned k = 0; k < 4; k++) {
        vec rotated = _mm512_add_epi64(lanes, splat(8u >> k));
        for (int j = 0; j < n && k > 0; j++)
            other[k][j] = _mm512_permutexvar_epi64(rotated, all[j]);
        mul_called(L, D, all, all, other[k], f);
    }
    if (!invert_same(L, D, all, f))
        return false;
    for (int k = 3; k > 0; k--)
        mul_called(L, D, all, all, other[k], f);
    for (int c = 0; c < CHAINS; c++)
        mul_called(L, D, other[c], all, product[1 - c], f);
    copy_limbs(n, product[0], other[0]);
    copy_limbs(n, product[1], other[1]);
    return true;
}

/* ---- additions --------------------------------------------------------------------------- */

/* Puts a denominator of eight pairs into its chain. */
INLINE void put_denominator(const int L, const int D, struct kept k, vec *product, vec *d,
                            const struct msm *f)
{
    const int n = D * LIMBS52(L);
    carry(L, D, d);
    clean(L, D, d);
    copy_limbs(n, k.denominator, d);
    copy_limbs(n, k.before, product);
    mul(L, D, product, d, product, f);
}

/* From the inverse of a product to that of its last denominator and of what came before. */
INLINE void take_inverse(const int L, const int D, vec *t, struct kept k, vec *inverse,
                         const struct msm *f)
{
    mul(L, D, t, inverse, k.before, f);
    mul(L, D, inverse, k.denominator, inverse, f);
}

/* x3 = l^2 - x1 - x2 and y3 = l (x1 - x3) - y1, where l = numerator * inverse. */
INLINE void finish_eight(const int L, const int D, vec *x3, vec *y3, const vec *numerator,
                         const vec *inverse, const vec *x1, const vec *x2, const vec *y1,
                         const struct msm *f)
{
    const int N = LIMBS52(L);
    vec l[VECS], e[VECS];
    mul(L, D, l, numerator, inverse, f);
    if (D == 2)
        clean(L, D, l);
    sqr(L, D, x3, l, f);
    UNROLL for (int j = 0; j < D * N; j++)
    {
        vec both = _mm512_add_epi64(x1[j], x2[j]);
        x3[j] = _mm512_add_epi64(_mm512_sub_epi64(x3[j], both), f->p_3[j % N]);
    }
    loosen_all(L, D, x3, f);
    sub(L, D, e, x1, x3, f->p_2);
    carry(L, D, e);
    mul(L, D, y3, l, e, f);
    clean(L, D, y3);
    sub(L, D, y3, y3, y1, f->p_2);
    loosen_all(L, D, y3, f);
}

/* The first pass over a batch. False: there is infinity in it. */
INLINE bool pass_up(const int L, const int D, const struct gx_msm_adds *adds,
                    vec product[CHAINS][VECS], const struct msm *f)
{
    const int N = LIMBS52(L), n = D * N;
    vec least = _mm512_setzero_si512();
    for (uint32_t i = 0; i < adds->count; i += BLOCK) {
        struct eight e;
        vec x1[VECS], x2[VECS], d[VECS];
        struct kept k = kept_at(L, D, adds, i / BLOCK);
        prefetch(D, adds, i + AHEAD, X);
        prefetch(D, adds, i, Y); /* for the way down */
        find_eight(D, &e, adds, i);
        load_coord(L, D, x1, e.a, X);
        load_coord(L, D, x2, e.b, X);
        least = _mm512_min_epi64(least, _mm512_min_epi64(x1[N - 1], x2[N - 1]));
        copy_limbs(n, k.x, x1);
        sub(L, D, d, x2, x1, f->p_2);
        put_denominator(L, D, k, product[i / BLOCK % CHAINS], d, f);
    }
    return _mm512_cmpeq_epi64_mask(least, splat((uint64_t)INFINITY_LIMB)) == 0;
}

INLINE void pass_down(const int L, const int D, const struct gx_msm_adds *adds,
                      vec inverse[CHAINS][VECS], const struct msm *f)
{
    const int N = LIMBS52(L);
    for (uint32_t g = (adds->count + BLOCK - 1) / BLOCK; g-- > 0;) {
        struct eight e;
        vec t[VECS], x1[VECS], x2[VECS], y1[VECS], y2[VECS], x3[VECS], y3[VECS];
        struct kept k = kept_at(L, D, adds, g);
        find_eight(D, &e, adds, g * BLOCK);
        if (g > 0)
            prefetch(D, adds, (g - 1) * BLOCK, Y);
        take_inverse(L, D, t, k, inverse[g % CHAINS], f);
        load_coord(L, D, y1, e.a, Y);
        load_coord(L, D, y2, e.b, Y);
        negate(L, D, y1, e.negative_a);
        negate(L, D, y2, e.negative_b);
        sub(L, D, y2, y2, y1, f->p_3);
        carry(L, D, y2);
        UNROLL for (int j = 0; j < D * N; j++)
        {
            x1[j] = k.x[j];
            x2[j] = _mm512_sub_epi64(_mm512_add_epi64(x1[j], k.denominator[j]), f->p_2[j % N]);
        }
        finish_eight(L, D, x3, y3, y2, t, x1, x2, y1, f);
        store_coord(L, D, e.out, X, x3);
        store_coord(L, D, e.out, Y, y3);
    }
}

/* ---- pairs with infinity, equal and opposite points ----------------------------------------- */

/* Eight pairs, with their signs applied; 1 in place of infinity. */
struct careful {
    vec x1[VECS], y1[VECS], x2[VECS], y2[VECS];
    __mmask8 infinite_1, infinite_2, equal, opposite;
};

INLINE __mmask8 infinite_lanes(const int L, uint8_t *const *at)
{
    __mmask8 lanes = 0;
    for (int l = 0; l < BLOCK; l++) {
        int64_t limb;
        memcpy(&limb, at[l] + 8 * (LIMBS52(L) - 1), sizeof limb);
        lanes |= (__mmask8)((limb == INFINITY_LIMB) << l);
    }
    return lanes;
}

INLINE void load_careful(const int L, const int D, vec *x, vec *y, uint8_t *const *at,
                         __mmask8 infinite, __mmask8 negative, const struct msm *f)
{
    const vec zero[VECS] = {0};
    load_coord(L, D, x, at, X);
    load_coord(L, D, y, at, Y);
    select_one(L, D, x, infinite, f);
    select_one(L, D, y, infinite, f);
    negate(L, D, y, negative);
    sub(L, D, y, y, zero, f->p_2);
    loosen_all(L, D, y, f);
    reduce_all(L, D, x, f);
    reduce_all(L, D, y, f);
}

INLINE __mmask8 same(const int L, const int D, const vec *x, const vec *y)
{
    const int n = D * LIMBS52(L);
    vec any = _mm512_setzero_si512();
    UNROLL for (int j = 0; j < n; j++) any = _mm512_or_si512(any, _mm512_xor_si512(x[j], y[j]));
    return _mm512_testn_epi64_mask(any, any);
}

INLINE void look(const int L, const int D, struct careful *k, const struct eight *e,
                 const struct msm *f)
{
    const vec zero[VECS] = {0};
    k->infinite_1 = infinite_lanes(L, e->a);
    k->infinite_2 = infinite_lanes(L, e->b);
    load_careful(L, D, k->x1, k->y1, e->a, k->infinite_1, e->negative_a, f);
    load_careful(L, D, k->x2, k->y2, e->b, k->infinite_2, e->negative_b, f);
    __mmask8 finite = (__mmask8) ~(k->infinite_1 | k->infinite_2);
    __mmask8 same_x = finite & same(L, D, k->x1, k->x2);
    k->equal = same_x & same(L, D, k->y1, k->y2) & (__mmask8)~same(L, D, k->y1, zero);
    k->opposite = same_x & (__mmask8)~k->equal;
}

INLINE void careful_up(const int L, const int D, const struct gx_msm_adds *adds,
                       vec product[CHAINS][VECS], const struct msm *f)
{
    const int n = D * LIMBS52(L);
    for (uint32_t i = 0; i < adds->count; i += BLOCK) {
        struct eight e;
        struct careful k;
        vec d[VECS], twice[VECS];
        find_eight(D, &e, adds, i);
        look(L, D, &k, &e, f);
        sub(L, D, d, k.x2, k.x1, f->p_2);
        UNROLL for (int j = 0; j < n; j++) twice[j] = _mm512_add_epi64(k.y1[j], k.y1[j]);
        select_limbs(n, d, k.equal, twice);
        select_one(L, D, d, k.infinite_1 | k.infinite_2 | k.opposite, f);
        put_denominator(L, D, kept_at(L, D, adds, i / BLOCK), product[i / BLOCK % CHAINS], d, f);
    }
}

INLINE void careful_down(const int L, const int D, const struct gx_msm_adds *adds,
                         vec inverse[CHAINS][VECS], const struct msm *f)
{
    const int N = LIMBS52(L), n = D * N;
    for (uint32_t g = (adds->count + BLOCK - 1) / BLOCK; g-- > 0;) {
        struct eight e;
        struct careful k;
        vec t[VECS], numerator[VECS], square[VECS], x3[VECS], y3[VECS];
        find_eight(D, &e, adds, g * BLOCK);
        look(L, D, &k, &e, f);
        take_inverse(L, D, t, kept_at(L, D, adds, g), inverse[g % CHAINS], f);
        sub(L, D, numerator, k.y2, k.y1, f->p_2);
        sqr(L, D, square, k.x1, f);
        UNROLL for (int j = 0; j < n; j++) square[j] =
            _mm512_add_epi64(_mm512_add_epi64(square[j], square[j]), square[j]);
        select_limbs(n, numerator, k.equal, square);
        carry(L, D, numerator);
        finish_eight(L, D, x3, y3, numerator, t, k.x1, k.x2, k.y1, f);
        select_limbs(n, x3, k.infinite_1, k.x2);
        select_limbs(n, y3, k.infinite_1, k.y2);
        select_limbs(n, x3, k.infinite_2, k.x1);
        select_limbs(n, y3, k.infinite_2, k.y1);
        x3[N - 1] = _mm512_mask_mov_epi64(x3[N - 1], k.opposite | (k.infinite_1 & k.infinite_2),
                                          splat((uint64_t)INFINITY_LIMB));
        store_coord(L, D, e.out, X, x3);
        store_coord(L, D, e.out, Y, y3);
    }
}

/* ---- the tier ------------------------------------------------------------------------------ */

static void splat_limbs(int L, vec *to, const uint64_t *words)
{
    vec planes[GX_LIMBS_MAX];
    for (int j = 0; j < L; j++)
        planes[j] = splat(words[j]);
    if (L == 4)
        split4(SHIFT_NONE, to, planes);
    else
        split6(SHIFT_NONE, to, planes);
    for (int j = 0; j < LIMBS52(L); j++)
        to[j] = _mm512_and_si512(to[j], splat(LIMB52_MASK));
}

static void msm_init(struct msm *f, const struct gx_curve_row *curve)
{
    const struct gx_prime *prime = curve->base;
    const uint32_t n = prime->limbs52;
    uint64_t shift[GX_LIMBS_MAX], carries[BLOCK] = {0};
    mont_init(&f->mont, prime);
    f->curve = curve;
    for (uint32_t j = 0; j < n; j++) {
        uint64_t lanes[BLOCK];
        for (uint32_t q = 0; q < BLOCK; q++) {
            lanes[q] = carries[q] + q * prime->p52[j];
            carries[q] = j + 1 < n ? lanes[q] >> 52 : 0;
            lanes[q] = j + 1 < n ? lanes[q] & LIMB52_MASK : lanes[q];
        }
        f->multiple[j] = _mm512_loadu_si512(lanes);
        f->p_2[j] = splat(2 * prime->p52[j]);
        f->p_3[j] = splat(3 * prime->p52[j]);
        f->p_6[j] = splat(6 * prime->p52[j]);
    }
    f->top_inverse = splat(((uint64_t)1 << 52) / (prime->p52[n - 1] + 1));
    gx__int_one(prime, shift, prime->limbs == 4 ? 1u << 4 : (uint64_t)1 << 32);
    splat_limbs((int)prime->limbs, f->one, shift);
    gx__mul_one(prime, shift, shift, shift);
    memcpy(f->shift_2, shift, sizeof shift);
}

INLINE void set_products(const int L, const int D, vec product[CHAINS][VECS], const struct msm *f)
{
    for (int c = 0; c < CHAINS; c++)
        select_one(L, D, product[c], 0xff, f);
}

INLINE void add_careful(const int L, const int D, const struct gx_msm_adds *adds,
                        const struct msm *f)
{
    vec product[CHAINS][VECS] = {0};
    set_products(L, D, product, f);
    careful_up(L, D, adds, product, f);
    invert_chains(L, D, product, f);
    careful_down(L, D, adds, product, f);
}

/* False: to be done with care. */
INLINE bool add_quick(const int L, const int D, const struct gx_msm_adds *adds, const struct msm *f)
{
    vec product[CHAINS][VECS] = {0};
    set_products(L, D, product, f);
    if (!pass_up(L, D, adds, product, f) || !invert_chains(L, D, product, f))
        return false;
    pass_down(L, D, adds, product, f);
    return true;
}

/* Elements of eight packed points, `at` words into them, to loose limbs. */
INLINE void load_packed(const int L, vec *x, const uint64_t *words, vec index, const struct msm *f)
{
    const int N = LIMBS52(L);
    vec planes[GX_LIMBS_MAX], limbs[GX_LIMBS52_MAX], factor[GX_LIMBS52_MAX];
    UNROLL for (int j = 0; j < L; j++) planes[j] = _mm512_i64gather_epi64(index, words + j, 8);
    split(L, SHIFT_NONE, limbs, planes);
    splat_limbs(L, factor, f->shift_2);
    mont_mul(L, x, limbs, factor, &f->mont);
    UNROLL for (int j = 0; j < N; j++) x[j] = _mm512_add_epi64(x[j], f->mont.p[j]);
    loosen(L, x, f);
}

INLINE void load_points(const int L, const int D, uint8_t *points, const uint64_t *xy, size_t n,
                        const struct msm *f)
{
    const int N = LIMBS52(L), words = 2 * D * L;
    for (size_t i = 0; i < n; i += BLOCK) {
        uint64_t index[BLOCK];
        uint8_t *to[BLOCK];
        __mmask8 infinite = 0;
        for (size_t l = 0; l < BLOCK; l++) {
            size_t from = i + l < n ? i + l : n - 1;
            index[l] = from * (size_t)words;
            to[l] = points + from * POINT_BYTES(D);
            infinite |= (__mmask8)(gx__affine_is_infinity(f->curve, xy + index[l]) << l);
        }
        for (int k = 0; k < 2 * D; k++) {
            vec x[GX_LIMBS52_MAX];
            load_packed(L, x, xy + k * L, _mm512_loadu_si512(index), f);
            if (k == 0)
                x[N - 1] =
                    _mm512_mask_mov_epi64(x[N - 1], infinite, splat((uint64_t)INFINITY_LIMB));
            store_element(L, to, (size_t)k * LINE, x);
        }
    }
}

/* Loose limbs to elements of eight packed points; 0 in some lanes. */
INLINE void store_packed(const int L, uint64_t *words, vec index, vec *x, __mmask8 zero,
                         const struct msm *f)
{
    vec one[GX_LIMBS52_MAX], planes[GX_LIMBS_MAX];
    reduce(L, x, f);
    splat_limbs(L, one, f->curve->base->one);
    mont_mul(L, x, x, one, &f->mont);
    subtract_p(L, x, &f->mont);
    join(L, planes, x);
    UNROLL for (int j = 0; j < L; j++)
    {
        planes[j] = _mm512_maskz_mov_epi64((__mmask8)~zero, planes[j]);
        _mm512_i64scatter_epi64(words + j, index, planes[j], 8);
    }
}

INLINE void store_points(const int L, const int D, uint64_t *xy, uint8_t *points, size_t n,
                         const struct msm *f)
{
    const int words = 2 * D * L;
    for (size_t i = 0; i < n; i += BLOCK) {
        uint64_t index[BLOCK];
        uint8_t *from[BLOCK];
        for (size_t l = 0; l < BLOCK; l++) {
            size_t at = i + l < n ? i + l : n - 1;
            index[l] = at * (size_t)words;
            from[l] = points + at * POINT_BYTES(D);
        }
        __mmask8 infinite = infinite_lanes(L, from);
        for (int k = 0; k < 2 * D; k++) {
            vec x[GX_LIMBS52_MAX];
            load_element(L, x, from, (size_t)k * LINE);
            select_one(L, 1, x, infinite, f);
            store_packed(L, xy + k * L, _mm512_loadu_si512(index), x, infinite, f);
        }
    }
}

static size_t point_bytes(const struct gx_curve_row *curve)
{
    return POINT_BYTES(curve->degree);
}

static size_t adds_scratch(const struct gx_curve_row *curve)
{
    return (size_t)GX_MSM_BATCH / BLOCK * 3 * curve->degree * curve->base->limbs52 * sizeof(vec);
}

#define DEFINE_ADD(L, D)                                                                           \
    NOINLINE void add_careful_##L##_##D(const struct gx_msm_adds *adds, const struct msm *f)       \
    {                                                                                              \
        add_careful(L, D, adds, f);                                                                \
    }                                                                                              \
    NOINLINE void add_##L##_##D(const struct gx_msm_adds *adds, const struct msm *f)               \
    {                                                                                              \
        if (!add_quick(L, D, adds, f))                                                             \
            add_careful_##L##_##D(adds, f);                                                        \
    }
DEFINE_ADD(6, 1)
DEFINE_ADD(6, 2)
DEFINE_ADD(4, 1)
DEFINE_ADD(4, 2)

static void add(const struct gx_msm_adds *adds)
{
    struct msm f;
    msm_init(&f, adds->curve);
    if (adds->curve->base->limbs == 6)
        (adds->curve->degree == 1 ? add_6_1 : add_6_2)(adds, &f);
    else
        (adds->curve->degree == 1 ? add_4_1 : add_4_2)(adds, &f);
}

static void load(const struct gx_curve_row *curve, void *points, const uint64_t *xy, size_t n)
{
    struct msm f;
    msm_init(&f, curve);
    if (curve->base->limbs == 6)
        load_points(6, (int)curve->degree, points, xy, n, &f);
    else
        load_points(4, (int)curve->degree, points, xy, n, &f);
}

static void store(const struct gx_curve_row *curve, uint64_t *xy, const void *points, size_t n)
{
    struct msm f;
    msm_init(&f, curve);
    if (curve->base->limbs == 6)
        store_points(6, (int)curve->degree, xy, (uint8_t *)(uintptr_t)points, n, &f);
    else
        store_points(4, (int)curve->degree, xy, (uint8_t *)(uintptr_t)points, n, &f);
}

/* -y as p - y: limbs are signed, and carried here. */
static void copy(const struct gx_curve_row *curve, void *to, const void *from, bool opposite)
{
    memcpy(to, from, POINT_BYTES(curve->degree));
    if (!opposite)
        return;
    for (uint32_t k = curve->degree; k < 2 * curve->degree; k++) {
        int64_t *y = (int64_t *)to + (size_t)k * (LINE / 8), carried = 0;
        for (uint32_t j = 0; j < curve->base->limbs52; j++) {
            bool top = j + 1 == curve->base->limbs52;
            int64_t limb = (int64_t)curve->base->p52[j] - y[j] + carried;
            y[j] = top ? limb : limb & (int64_t)LIMB52_MASK;
            carried = limb >> 52;
        }
    }
}

const struct gx_msm_host gx__msm_avx512 = {.tier = GX_TIER_AVX512,
                                           .point_bytes = point_bytes,
                                           .adds_scratch = adds_scratch,
                                           .add = add,
                                           .load = load,
                                           .store = store,
                                           .copy = copy};

#endif
