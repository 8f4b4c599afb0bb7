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
#define AHEAD          3 /* eights between prefetching x and reading it */

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

/* The same in three parts, for other work to be placed between them: the CPU does not look ahead
 * far enough to do it beside a whole product. w[2 N] is what is under way. In the extension, part 0
 * is all. */
INLINE void mul_part(const int L, const int D, const int part, vec *t, vec *w, const vec *a,
                     const vec *b, const struct msm *f)
{
    const int N = LIMBS52(L), middle = (MUL_BEGINS + N) / 2;
    if (D == 2) {
        if (part == 0)
            mul_called(L, D, t, a, b, f);
    } else if (part == 0) {
        mont_mul_begin(L, w, a, b, NULL, &f->mont);
    } else if (part == 1) {
        mont_mul_limbs(L, MUL_BEGINS, middle, w, a, b, &f->mont);
    } else {
        mont_mul_limbs(L, middle, N, w, a, b, &f->mont);
        copy_limbs(N, t, w + N);
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

INLINE uint32_t eights_of(const struct gx_msm_adds *adds)
{
    return (adds->count + BLOCK - 1) / BLOCK;
}

/* Where the points of eight terms are. From memory: otherwise the compiler takes the addresses out
 * of the vector one by one. */
INLINE void find_points(const int D, uint8_t **at, __m256i terms, const struct gx_msm_adds *adds)
{
    const vec index =
        _mm512_cvtepu32_epi64(_mm256_and_si256(terms, _mm256_set1_epi32((int)GX_TERM_INDEX)));
    const __mmask8 sums = _mm256_test_epi32_mask(terms, _mm256_set1_epi32((int)GX_TERM_SUM));
    const vec base =
        _mm512_mask_mov_epi64(splat((uintptr_t)adds->points), sums, splat((uintptr_t)adds->sums));
    const vec offset = _mm512_mul_epu32(index, splat(POINT_BYTES(D)));
    _mm512_storeu_si512(at, _mm512_add_epi64(base, offset));
    __asm__("" : "+m"(*(uint8_t * (*)[BLOCK]) at));
}

/* Of eight pairs: their words that are `first`, `first` + 3 and so on. */
INLINE __m256i pick_terms(vec low, vec high, int first)
{
    const vec at = _mm512_setr_epi32(0, 3, 6, 9, 12, 15, 18, 21, 0, 0, 0, 0, 0, 0, 0, 0);
    return _mm512_castsi512_si256(
        _mm512_permutex2var_epi32(low, _mm512_add_epi32(at, _mm512_set1_epi32(first)), high));
}

/* The last eight repeat the last pair. */
INLINE void find_eight(const int D, struct eight *e, const struct gx_msm_adds *adds, uint32_t from)
{
    const uint32_t n = adds->count - from;
    const struct gx_msm_pair *pairs = adds->pairs + from;
    struct gx_msm_pair last[BLOCK];
    if (n < BLOCK) {
        for (uint32_t l = 0; l < BLOCK; l++)
            last[l] = pairs[l < n ? l : n - 1];
        pairs = last;
    }
    const __m256i end = _mm256_loadu_si256((const __m256i *)(const void *)pairs + 2);
    const vec low = _mm512_loadu_si512(pairs), high = _mm512_castsi256_si512(end);
    const __m256i a = pick_terms(low, high, 0), b = pick_terms(low, high, 1);
    const __m256i sum = _mm256_set1_epi32((int)GX_TERM_SUM);
    find_points(D, e->a, a, adds);
    find_points(D, e->b, b, adds);
    find_points(D, e->out, _mm256_or_si256(pick_terms(low, high, 2), sum), adds);
    e->negative_a = _mm256_movepi32_mask(a);
    e->negative_b = _mm256_movepi32_mask(b);
}

INLINE void prefetch(const int D, const struct eight *e, enum coordinate which)
{
    UNROLL for (int l = 0; l < BLOCK; l++)
    {
        UNROLL for (int k = 0; k < D; k++)
        {
            _mm_prefetch((const char *)e->a[l] + ((int)which * D + k) * LINE, _MM_HINT_T0);
            _mm_prefetch((const char *)e->b[l] + ((int)which * D + k) * LINE, _MM_HINT_T0);
        }
    }
}

/* Fetches x for the next batch, beside eight g, into the second cache: the way up is too short to
 * wait for as many points. */
INLINE void prefetch_next(const int D, const struct gx_msm_adds *adds, uint32_t g)
{
    const uint32_t from = (eights_of(adds) - 1 - g) * 2 * BLOCK;
    uint8_t *at[BLOCK];
    for (uint32_t i = from; i < from + 2 * BLOCK && i + BLOCK <= adds->next_count; i += BLOCK) {
        const __m256i *terms = (const __m256i *)(const void *)(adds->next + i);
        find_points(D, at, _mm256_loadu_si256(terms), adds);
        UNROLL for (int l = 0; l < BLOCK; l++)
        {
            UNROLL for (int k = 0; k < D; k++)
                _mm_prefetch((const char *)at[l] + k * LINE, _MM_HINT_T1);
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

INLINE struct kept kept_at(const int L, const int D, const struct gx_msm_adds *adds, uint32_t g)
{
    const int n = D * LIMBS52(L);
    vec *at = (vec *)adds->scratch + (size_t)g * 3 * n;
    return (struct kept){at, at + n, at + 2 * n};
}

/* Set by the first pass. */
INLINE struct eight *eight_at(const int L, const int D, const struct gx_msm_adds *adds, uint32_t g)
{
    return (struct eight *)(void *)kept_at(L, D, adds, GX_MSM_BATCH / BLOCK).before + g;
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

INLINE void keep_denominator(const int L, const int D, struct kept k, vec *d)
{
    carry(L, D, d);
    clean(L, D, d);
    copy_limbs(D * LIMBS52(L), k.denominator, d);
}

/* An addition, where l is the slope: x3 = l^2 - x1 - x2 and y3 = l (x1 - x3) - y1. */

/* l^2, as sums. */
INLINE void square_slope(const int L, const int D, vec *square, vec *l, const struct msm *f)
{
    if (D == 2)
        clean(L, D, l);
    sqr(L, D, square, l, f);
}

/* From the square to x3, and d = x1 - x3. */
INLINE void finish_x(const int L, const int D, vec *x3, vec *d, const vec *x1, const vec *x2,
                     const struct msm *f)
{
    const int N = LIMBS52(L);
    UNROLL for (int j = 0; j < D * N; j++)
    {
        vec both = _mm512_add_epi64(x1[j], x2[j]);
        x3[j] = _mm512_add_epi64(_mm512_sub_epi64(x3[j], both), f->p_3[j % N]);
    }
    loosen_all(L, D, x3, f);
    sub(L, D, d, x1, x3, f->p_2);
    carry(L, D, d);
}

/* From l (x1 - x3) to y3. */
INLINE void finish_y(const int L, const int D, vec *y3, const vec *y1, const struct msm *f)
{
    clean(L, D, y3);
    sub(L, D, y3, y3, y1, f->p_2);
    loosen_all(L, D, y3, f);
}

/* What the first pass does with eight pairs beside a product, in as many parts. */
struct loading {
    vec x1[VECS], x2[VECS];
    vec least; /* of the highest limbs of all x: shows infinity */
};

INLINE void load_x(const int L, const int D, const int part, struct loading *to,
                   const struct gx_msm_adds *adds, uint32_t g, const struct msm *f)
{
    const int N = LIMBS52(L);
    const struct eight *e = eight_at(L, D, adds, g);
    const struct kept k = kept_at(L, D, adds, g);
    if (part == 0) {
        load_coord(L, D, to->x1, e->a, X);
    } else if (part == 1) {
        load_coord(L, D, to->x2, e->b, X);
    } else {
        vec d[VECS], least = _mm512_min_epi64(to->x1[N - 1], to->x2[N - 1]);
        to->least = _mm512_min_epi64(to->least, least);
        copy_limbs(D * N, k.x, to->x1);
        sub(L, D, d, to->x2, to->x1, f->p_2);
        keep_denominator(L, D, k, d);
    }
}

/* False: there is infinity in the batch. */
INLINE bool pass_up(const int L, const int D, const struct gx_msm_adds *adds,
                    vec product[CHAINS][VECS], const struct msm *f)
{
    const uint32_t eights = eights_of(adds);
    struct loading loading = {.least = _mm512_setzero_si512()};
    for (uint32_t i = 0; i < eights + AHEAD; i++) {
        if (i < eights) {
            find_eight(D, eight_at(L, D, adds, i), adds, i * BLOCK);
            prefetch(D, eight_at(L, D, adds, i), X);
        }
        if (i == 0) {
            load_x(L, D, 0, &loading, adds, 0, f);
            load_x(L, D, 1, &loading, adds, 0, f);
            load_x(L, D, 2, &loading, adds, 0, f);
        }
        if (i < AHEAD)
            continue;
        const uint32_t g = i - AHEAD, next = g + 1 < eights ? g + 1 : g;
        const struct kept k = kept_at(L, D, adds, g);
        vec w[2 * GX_LIMBS52_MAX], *chain = product[g % CHAINS];
        copy_limbs(D * LIMBS52(L), k.before, chain);
        mul_part(L, D, 0, chain, w, k.denominator, chain, f);
        load_x(L, D, 0, &loading, adds, next, f);
        mul_part(L, D, 1, chain, w, k.denominator, chain, f);
        load_x(L, D, 1, &loading, adds, next, f);
        mul_part(L, D, 2, chain, w, k.denominator, chain, f);
        load_x(L, D, 2, &loading, adds, next, f);
    }
    return _mm512_cmpeq_epi64_mask(loading.least, splat((uint64_t)INFINITY_LIMB)) == 0;
}

/* Of eight pairs, with their signs: y of the first points, and the numerators. */
struct heights {
    vec y1[VECS], numerator[VECS];
};

INLINE void load_y(const int L, const int D, const int part, struct heights *h,
                   const struct eight *e, const struct msm *f)
{
    if (part == 0) {
        load_coord(L, D, h->y1, e->a, Y);
        negate(L, D, h->y1, e->negative_a);
    } else if (part == 1) {
        load_coord(L, D, h->numerator, e->b, Y);
        negate(L, D, h->numerator, e->negative_b);
    } else {
        sub(L, D, h->numerator, h->numerator, h->y1, f->p_3);
        carry(L, D, h->numerator);
    }
}

/* y of an eight is loaded, and t, the inverse of its denominator, computed beside the eight before
 * it: no product waits for the one just before it. */
INLINE void pass_down(const int L, const int D, const struct gx_msm_adds *adds,
                      vec inverse[CHAINS][VECS], const struct msm *f)
{
    const int N = LIMBS52(L);
    uint32_t g = eights_of(adds) - 1;
    struct heights heights[2];
    vec t[VECS];
    mul(L, D, t, inverse[g % CHAINS], kept_at(L, D, adds, g).before, f);
    load_y(L, D, 0, &heights[g % 2], eight_at(L, D, adds, g), f);
    load_y(L, D, 1, &heights[g % 2], eight_at(L, D, adds, g), f);
    load_y(L, D, 2, &heights[g % 2], eight_at(L, D, adds, g), f);
    for (;; g--) {
        const uint32_t next = g ? g - 1 : 0; /* in vain after the last */
        const struct eight *e = eight_at(L, D, adds, g), *e_next = eight_at(L, D, adds, next);
        const struct kept k = kept_at(L, D, adds, g), k_next = kept_at(L, D, adds, next);
        struct heights *h = &heights[g % 2], *h_next = &heights[1 - g % 2];
        vec *chain = inverse[g % CHAINS], *chain_next = inverse[next % CHAINS];
        vec l[VECS], x2[VECS], x3[VECS], y3[VECS], d[VECS], w[2 * GX_LIMBS52_MAX];
        if (g > 1)
            prefetch(D, eight_at(L, D, adds, g - 2), Y);
        prefetch_next(D, adds, g);
        mul(L, D, l, h->numerator, t, f);
        mul_part(L, D, 0, chain, w, k.denominator, chain, f);
        load_y(L, D, 0, h_next, e_next, f);
        mul_part(L, D, 1, chain, w, k.denominator, chain, f);
        load_y(L, D, 1, h_next, e_next, f);
        mul_part(L, D, 2, chain, w, k.denominator, chain, f);
        load_y(L, D, 2, h_next, e_next, f);
        square_slope(L, D, x3, l, f);
        mul_part(L, D, 0, t, w, chain_next, k_next.before, f);
        UNROLL for (int j = 0; j < D * N; j++) x2[j] =
            _mm512_sub_epi64(_mm512_add_epi64(k.x[j], k.denominator[j]), f->p_2[j % N]);
        finish_x(L, D, x3, d, k.x, x2, f);
        mul_part(L, D, 1, t, w, chain_next, k_next.before, f);
        mul_part(L, D, 2, t, w, chain_next, k_next.before, f);
        mul_part(L, D, 0, y3, w, l, d, f);
        store_coord(L, D, e->out, X, x3);
        mul_part(L, D, 1, y3, w, l, d, f);
        mul_part(L, D, 2, y3, w, l, d, f);
        finish_y(L, D, y3, h->y1, f);
        store_coord(L, D, e->out, Y, y3);
        if (g == 0)
            return;
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
    for (uint32_t g = 0; g < eights_of(adds); g++) {
        const struct kept kept = kept_at(L, D, adds, g);
        struct careful k;
        vec d[VECS], twice[VECS];
        look(L, D, &k, eight_at(L, D, adds, g), f);
        sub(L, D, d, k.x2, k.x1, f->p_2);
        UNROLL for (int j = 0; j < n; j++) twice[j] = _mm512_add_epi64(k.y1[j], k.y1[j]);
        select_limbs(n, d, k.equal, twice);
        select_one(L, D, d, k.infinite_1 | k.infinite_2 | k.opposite, f);
        keep_denominator(L, D, kept, d);
        copy_limbs(n, kept.before, product[g % CHAINS]);
        mul(L, D, product[g % CHAINS], d, product[g % CHAINS], f);
    }
}

INLINE void careful_down(const int L, const int D, const struct gx_msm_adds *adds,
                         vec inverse[CHAINS][VECS], const struct msm *f)
{
    const int N = LIMBS52(L), n = D * N;
    for (uint32_t g = eights_of(adds); g-- > 0;) {
        const struct eight *e = eight_at(L, D, adds, g);
        const struct kept kept = kept_at(L, D, adds, g);
        struct careful k;
        vec numerator[VECS], square[VECS], l[VECS], d[VECS], x3[VECS], y3[VECS];
        look(L, D, &k, e, f);
        sub(L, D, numerator, k.y2, k.y1, f->p_2);
        sqr(L, D, square, k.x1, f);
        UNROLL for (int j = 0; j < n; j++) square[j] =
            _mm512_add_epi64(_mm512_add_epi64(square[j], square[j]), square[j]);
        select_limbs(n, numerator, k.equal, square);
        carry(L, D, numerator);
        mul(L, D, l, inverse[g % CHAINS], kept.before, f);
        mul(L, D, inverse[g % CHAINS], kept.denominator, inverse[g % CHAINS], f);
        mul(L, D, l, numerator, l, f);
        square_slope(L, D, x3, l, f);
        finish_x(L, D, x3, d, k.x1, k.x2, f);
        mul(L, D, y3, l, d, f);
        finish_y(L, D, y3, k.y1, f);
        select_limbs(n, x3, k.infinite_1, k.x2);
        select_limbs(n, y3, k.infinite_1, k.y2);
        select_limbs(n, x3, k.infinite_2, k.x1);
        select_limbs(n, y3, k.infinite_2, k.y1);
        x3[N - 1] = _mm512_mask_mov_epi64(x3[N - 1], k.opposite | (k.infinite_1 & k.infinite_2),
                                          splat((uint64_t)INFINITY_LIMB));
        store_coord(L, D, e->out, X, x3);
        store_coord(L, D, e->out, Y, y3);
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
    size_t kept = 3 * (size_t)curve->degree * curve->base->limbs52 * sizeof(vec);
    return GX_MSM_BATCH / BLOCK * (kept + sizeof(struct eight));
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
