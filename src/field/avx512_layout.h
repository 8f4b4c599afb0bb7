/* SPDX-License-Identifier: Apache-2.0
 *
 * Part of the AVX-512 tier (avx512.c): the forms a block of 8 elements takes in
 * registers, and the moves between them. L is the number of 64-bit limbs (4 or 6), a
 * constant wherever these are inlined.
 *   rows   L vectors, as in memory: element after element, lowest limb first
 *   planes L vectors, vector j holding limb j of all 8 elements
 *   limbs  5 (L = 4) or 8 (L = 6) vectors, planes of 52 bits. Bits 52 and up are
 *          "dirty" where said so: the multiplier ignores them in its factors.
 */
#ifndef GX_FIELD_AVX512_LAYOUT_H
#define GX_FIELD_AVX512_LAYOUT_H

#include <immintrin.h>
#include <stdint.h>

/* Everything is inlined, so that L is a constant, and loops over limbs are unrolled, so that their
 * arrays live in registers. Not under a sanitizer, which adds checks to every access: compiling
 * would take minutes. */
#if defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(undefined_behavior_sanitizer) ||             \
    __has_feature(thread_sanitizer) || __has_feature(memory_sanitizer)
#define SANITIZED
#endif
#elif defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define SANITIZED
#endif

#if defined(SANITIZED)
#define INLINE static __attribute__((noinline, unused))
#define UNROLL
#elif defined(__clang__)
#define INLINE static inline __attribute__((always_inline))
#define UNROLL _Pragma("clang loop unroll(full)")
#else
#define INLINE static inline __attribute__((always_inline))
#define UNROLL _Pragma("GCC unroll 16")
#endif

#define BLOCK       8 /* elements */
#define LIMBS52(L)  ((L) == 4 ? 5 : 8)
#define LIMB52_MASK (((uint64_t)1 << 52) - 1)

typedef __m512i vec;

INLINE vec splat(uint64_t x)
{
    return _mm512_set1_epi64((long long)x);
}

/* The empty statement makes the compiler load only once. Otherwise it would repeat the load at each
 * use, and loads that cross a line, as most do at arbitrary alignment, are not free. */
INLINE void load_rows(const int L, vec *rows, const uint8_t *from)
{
    UNROLL for (int k = 0; k < L; k++)
    {
        rows[k] = _mm512_loadu_si512(from + 64 * k);
        __asm__("" : "+v"(rows[k]));
    }
}

INLINE void store_rows(const int L, uint8_t *to, const vec *rows)
{
    UNROLL for (int k = 0; k < L; k++) _mm512_storeu_si512(to + 64 * k, rows[k]);
}

/* ---- rows <-> planes ------------------------------------------------------
 *
 * Both directions move 16-byte chunks first and then limbs within pairs of them.
 * The elements land in the lanes in an order that suits the shuffles, 0 2 1 3 4 6 5 7;
 * arithmetic is lane by lane, so it is only ever undone. */

/* Lanes of 128 bits: a[i0], a[i1], b[i2], b[i3]. */
#define CHUNKS(a, b, i0, i1, i2, i3)                                                               \
    _mm512_shuffle_i64x2(a, b, (i0) | (i1) << 2 | (i2) << 4 | (i3) << 6)

/* Lanes of 128 bits: 0 .. 3 from the first table of permutex2var, 4 .. 7 from the second. */
#define CHUNK_INDEX(i0, i1, i2, i3)                                                                \
    _mm512_set_epi64(2 * (i3) + 1, 2 * (i3), 2 * (i2) + 1, 2 * (i2), 2 * (i1) + 1, 2 * (i1),       \
                     2 * (i0) + 1, 2 * (i0))

/* a, with 128-bit lane i taken from b. */
#define CHUNK_BLEND(a, i, b) _mm512_mask_mov_epi64(a, (__mmask8)(3 << 2 * (i)), b)

INLINE void rows_to_planes4(vec *x, const vec *r)
{
    vec low01 = _mm512_unpacklo_epi64(r[0], r[1]), high01 = _mm512_unpackhi_epi64(r[0], r[1]);
    vec low23 = _mm512_unpacklo_epi64(r[2], r[3]), high23 = _mm512_unpackhi_epi64(r[2], r[3]);
    x[0] = CHUNKS(low01, low23, 0, 2, 0, 2);
    x[1] = CHUNKS(high01, high23, 0, 2, 0, 2);
    x[2] = CHUNKS(low01, low23, 1, 3, 1, 3);
    x[3] = CHUNKS(high01, high23, 1, 3, 1, 3);
}

INLINE void planes_to_rows4(vec *r, const vec *x)
{
    vec even01 = _mm512_unpacklo_epi64(x[0], x[1]), odd01 = _mm512_unpackhi_epi64(x[0], x[1]);
    vec even23 = _mm512_unpacklo_epi64(x[2], x[3]), odd23 = _mm512_unpackhi_epi64(x[2], x[3]);
    r[0] = _mm512_permutex2var_epi64(even01, CHUNK_INDEX(0, 4, 1, 5), even23);
    r[1] = _mm512_permutex2var_epi64(odd01, CHUNK_INDEX(0, 4, 1, 5), odd23);
    r[2] = _mm512_permutex2var_epi64(even01, CHUNK_INDEX(2, 6, 3, 7), even23);
    r[3] = _mm512_permutex2var_epi64(odd01, CHUNK_INDEX(2, 6, 3, 7), odd23);
}

/* An element is three chunks; three rows hold four elements:
 *   r[0] = e0.0 e0.1 e0.2 e1.0   r[1] = e1.1 e1.2 e2.0 e2.1   r[2] = e2.2 e3.0 e3.1 e3.2 */
INLINE void rows_to_planes6(vec *x, const vec *r)
{
    vec even[3], odd[3]; /* chunk j of elements 0 1 4 5 and 2 3 6 7 */
    even[0] = CHUNKS(r[0], r[3], 0, 3, 0, 3);
    even[1] = CHUNKS(CHUNK_BLEND(r[0], 0, r[1]), CHUNK_BLEND(r[3], 0, r[4]), 1, 0, 1, 0);
    even[2] = CHUNKS(CHUNK_BLEND(r[0], 1, r[1]), CHUNK_BLEND(r[3], 1, r[4]), 2, 1, 2, 1);
    odd[0] = CHUNKS(CHUNK_BLEND(r[1], 1, r[2]), CHUNK_BLEND(r[4], 1, r[5]), 2, 1, 2, 1);
    odd[1] = CHUNKS(CHUNK_BLEND(r[1], 2, r[2]), CHUNK_BLEND(r[4], 2, r[5]), 3, 2, 3, 2);
    odd[2] = CHUNKS(r[2], r[5], 0, 3, 0, 3);
    UNROLL for (int j = 0; j < 3; j++)
    {
        x[2 * j] = _mm512_unpacklo_epi64(even[j], odd[j]);
        x[2 * j + 1] = _mm512_unpackhi_epi64(even[j], odd[j]);
    }
}

INLINE void planes_to_rows6(vec *r, const vec *x)
{
    vec even[3], odd[3];
    UNROLL for (int j = 0; j < 3; j++)
    {
        even[j] = _mm512_unpacklo_epi64(x[2 * j], x[2 * j + 1]);
        odd[j] = _mm512_unpackhi_epi64(x[2 * j], x[2 * j + 1]);
    }
    vec t = _mm512_permutex2var_epi64(even[0], CHUNK_INDEX(0, 4, 0, 1), even[1]);
    r[0] = _mm512_mask_shuffle_i64x2(t, 0x30, even[2], even[2], 0x00);
    t = _mm512_permutex2var_epi64(even[1], CHUNK_INDEX(1, 5, 1, 5), even[2]);
    r[1] = _mm512_mask_permutex2var_epi64(odd[0], 0xff, CHUNK_INDEX(0, 4, 0, 4), odd[1]);
    r[1] = _mm512_mask_mov_epi64(r[1], 0x0f, t);
    t = _mm512_permutex2var_epi64(odd[2], CHUNK_INDEX(0, 5, 0, 1), odd[0]);
    r[2] = _mm512_mask_shuffle_i64x2(t, 0x30, odd[1], odd[1], 0x10);
    t = _mm512_permutex2var_epi64(even[0], CHUNK_INDEX(2, 6, 2, 3), even[1]);
    r[3] = _mm512_mask_shuffle_i64x2(t, 0x30, even[2], even[2], 0x20);
    t = _mm512_permutex2var_epi64(even[1], CHUNK_INDEX(3, 7, 3, 7), even[2]);
    r[4] = _mm512_mask_permutex2var_epi64(odd[0], 0xff, CHUNK_INDEX(2, 6, 2, 6), odd[1]);
    r[4] = _mm512_mask_mov_epi64(r[4], 0x0f, t);
    t = _mm512_permutex2var_epi64(odd[2], CHUNK_INDEX(2, 7, 2, 3), odd[0]);
    r[5] = _mm512_mask_shuffle_i64x2(t, 0x30, odd[1], odd[1], 0x30);
}

INLINE void load_planes(const int L, vec *planes, const uint8_t *from)
{
    vec rows[GX_LIMBS_MAX];
    load_rows(L, rows, from);
    if (L == 4)
        rows_to_planes4(planes, rows);
    else
        rows_to_planes6(planes, rows);
}

INLINE void planes_to_rows(const int L, vec *rows, const vec *planes)
{
    if (L == 4)
        planes_to_rows4(rows, planes);
    else
        planes_to_rows6(rows, planes);
}

/* ---- planes <-> limbs -----------------------------------------------------
 *
 * split() cuts x << shift into dirty limbs: limb k is bits 52k - shift and up of x.
 * Shifts are 0, FULL and HALF, where 2^FULL is the quotient of the radix-2^52
 * Montgomery factor and the standard one: 2^260 / 2^256 and 2^416 / 2^384. A product
 * whose factors are shifted by FULL bits in all then comes out in standard form. */
enum shift { SHIFT_NONE, SHIFT_HALF, SHIFT_FULL };

#define LEFT(x, bits)        _mm512_slli_epi64(x, bits)
#define RIGHT(x, bits)       _mm512_srli_epi64(x, bits)
#define FUNNEL(lo, hi, bits) _mm512_shrdi_epi64(lo, hi, bits) /* low word of hi:lo >> bits */

INLINE void split4(const enum shift shift, vec *t, const vec *x)
{
    if (shift == SHIFT_NONE) {
        t[0] = x[0];
        t[1] = FUNNEL(x[0], x[1], 52);
        t[2] = FUNNEL(x[1], x[2], 40);
        t[3] = FUNNEL(x[2], x[3], 28);
        t[4] = RIGHT(x[3], 16);
    } else if (shift == SHIFT_HALF) { /* 2 bits */
        t[0] = LEFT(x[0], 2);
        t[1] = FUNNEL(x[0], x[1], 50);
        t[2] = FUNNEL(x[1], x[2], 38);
        t[3] = FUNNEL(x[2], x[3], 26);
        t[4] = RIGHT(x[3], 14);
    } else { /* 4 bits */
        t[0] = LEFT(x[0], 4);
        t[1] = FUNNEL(x[0], x[1], 48);
        t[2] = FUNNEL(x[1], x[2], 36);
        t[3] = FUNNEL(x[2], x[3], 24);
        t[4] = RIGHT(x[3], 12);
    }
}

INLINE void split6(const enum shift shift, vec *t, const vec *x)
{
    if (shift == SHIFT_NONE) {
        t[0] = x[0];
        t[1] = FUNNEL(x[0], x[1], 52);
        t[2] = FUNNEL(x[1], x[2], 40);
        t[3] = FUNNEL(x[2], x[3], 28);
        t[4] = FUNNEL(x[3], x[4], 16);
        t[5] = RIGHT(x[4], 4);
        t[6] = FUNNEL(x[4], x[5], 56);
        t[7] = RIGHT(x[5], 44);
    } else if (shift == SHIFT_HALF) { /* 16 bits */
        t[0] = LEFT(x[0], 16);
        t[1] = FUNNEL(x[0], x[1], 36);
        t[2] = FUNNEL(x[1], x[2], 24);
        t[3] = RIGHT(x[2], 12);
        t[4] = x[3];
        t[5] = FUNNEL(x[3], x[4], 52);
        t[6] = FUNNEL(x[4], x[5], 40);
        t[7] = RIGHT(x[5], 28);
    } else { /* 32 bits */
        t[0] = LEFT(x[0], 32);
        t[1] = FUNNEL(x[0], x[1], 20);
        t[2] = RIGHT(x[1], 8);
        t[3] = FUNNEL(x[1], x[2], 60);
        t[4] = FUNNEL(x[2], x[3], 48);
        t[5] = FUNNEL(x[3], x[4], 36);
        t[6] = FUNNEL(x[4], x[5], 24);
        t[7] = RIGHT(x[5], 12);
    }
}

INLINE void split(const int L, const enum shift shift, vec *limbs, const vec *planes)
{
    if (L == 4)
        split4(shift, limbs, planes);
    else
        split6(shift, limbs, planes);
}

/* Limbs, dirty but for the highest, whose value is below 2^(64 L). FUNNEL(LEFT(t, 12),
 * u, 12 + s) is bits s .. 51 of t, followed by u. */
INLINE void join(const int L, vec *x, const vec *t)
{
    x[0] = FUNNEL(LEFT(t[0], 12), t[1], 12);
    x[1] = FUNNEL(LEFT(t[1], 12), t[2], 24);
    x[2] = FUNNEL(LEFT(t[2], 12), t[3], 36);
    x[3] = FUNNEL(LEFT(t[3], 12), t[4], 48);
    if (L == 6) {
        /* bits 48 .. 51 of limb 4, all of limb 5, the low 8 of limb 6 */
        vec low60 = FUNNEL(LEFT(t[4], 12), _mm512_and_si512(t[5], splat(LIMB52_MASK)), 60);
        x[4] = _mm512_or_si512(low60, LEFT(t[6], 56));
        x[5] = FUNNEL(LEFT(t[6], 12), t[7], 20);
    }
}

#endif
