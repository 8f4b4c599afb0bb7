/* SPDX-License-Identifier: Apache-2.0
 *
 * Blocks of transforms (ntt_block.h) of the AVX-512 tier: the 8 lanes of a block are those of a
 * vector. In scratch a row is 5 vectors of limbs in radix 2^52 that are neither carried nor reduced
 * between levels: limbs are signed, and only the value of a row is bounded, as said below.
 */
#include "field/ntt_block.h"

#if defined(__x86_64__)

#include <string.h>

#include "field/avx512_mont.h"

#define N52        LIMBS52(GX_NTT_LIMBS)
#define LIMBS_OF_W (N52 * N52)
/* Rows of a part that stays in the L1 cache with its twiddles. */
#define LOG2_INNER 6u
#define LOG2_STEP  12u

typedef vec ntt_row[N52];

struct ntt {
    struct mont mont;
    vec p_2[N52], p_3[N52], p_5[N52]; /* 2p, 3p, 5p */
    vec p_top, minus_low[N52 - 1];    /* p is p_top 2^208 - minus_low */
    vec top_inverse;                  /* 2^97 / p_top */
    const uint64_t (*twiddles)[LIMBS_OF_W];
};

static void ntt_init(struct ntt *f, const struct gx_ntt_block *k)
{
    const uint64_t *p = k->prime->p52;
    mont_init(&f->mont, k->prime);
    uint64_t borrow = 0;
    for (int j = 0; j < N52; j++) {
        f->p_2[j] = splat(2 * p[j]);
        f->p_3[j] = splat(3 * p[j]);
        f->p_5[j] = splat(5 * p[j]);
    }
    for (int j = 0; j < N52 - 1; j++) {
        uint64_t limb = 0 - p[j] - borrow;
        f->minus_low[j] = splat(limb & LIMB52_MASK);
        borrow = limb >> 63;
    }
    f->p_top = splat(p[N52 - 1] + 1);
    f->top_inverse = splat((uint64_t)(((uint128)1 << 97) / (p[N52 - 1] + 1)));
    f->twiddles = k->twiddles;
}

/* ---- twiddles -----------------------------------------------------------------
 *
 * A twiddle w is stored as the 5 numbers w 2^(52 (i + 2)) mod p, to be multiplied by limb i of the
 * other factor: the sum of the products is 2^104 times the result, so that two steps of reduction
 * are enough. That is 70 instructions of multiplication in place of 100. */

/* to = w 2^(52 i) for the plain integer whose Montgomery form w is. */
static void put_shifted(const struct gx_prime *prime, uint64_t *to, const uint64_t *w, uint32_t i)
{
    uint64_t power[GX_LIMBS_MAX] = {0}, r[GX_LIMBS_MAX] = {0};
    if (52 * i < 64 * GX_NTT_LIMBS - 8) {
        power[52 * i / 64] = (uint64_t)1 << 52 * i % 64;
    } else { /* one is 2^256 in the same sense */
        gx__int_one(prime, power, (uint64_t)1 << (52 * i - 64 * GX_NTT_LIMBS));
    }
    gx__mul_one(prime, r, w, power);
    for (uint32_t j = 0; j < N52; j++) {
        uint32_t word = 52 * j / 64, bit = 52 * j % 64;
        uint64_t limb = r[word] >> bit;
        if (bit > 12)
            limb |= r[word + 1] << (64 - bit);
        to[j] = limb & LIMB52_MASK;
    }
}

static void ntt_fill(const struct gx_prime *prime, const struct gx_ntt_table *table, void *twiddles,
                     size_t count)
{
    uint64_t(*to)[LIMBS_OF_W] = twiddles;
    struct gx_ntt_twiddles w;
    for (size_t b = 0; b < count; b++) {
        gx__ntt_twiddle_next(prime, table, b, &w);
        for (uint32_t i = 0; i < N52; i++)
            put_shifted(prime, to[b] + i * N52, w.part[0], i + 2);
    }
}

/* t = a w and u = b v, as sums, below (1 + 2^-49) p. a and b are dirty limbs, below 2^260. */
INLINE void twiddle_two(vec *t, const vec *a, const uint64_t *w, vec *u, const vec *b,
                        const uint64_t *v, const struct mont *f)
{
    vec s[N52 + 2], r[N52 + 2];
    UNROLL for (int j = 0; j < N52 + 2; j++) s[j] = r[j] = _mm512_setzero_si512();
    UNROLL for (int i = 0; i < N52; i++)
    {
        UNROLL for (int j = 0; j < N52; j++)
        {
            vec wj = splat(w[N52 * i + j]), vj = splat(v[N52 * i + j]);
            s[j] = mul_low(s[j], wj, a[i]);
            r[j] = mul_low(r[j], vj, b[i]);
            s[j + 1] = mul_high(s[j + 1], wj, a[i]);
            r[j + 1] = mul_high(r[j + 1], vj, b[i]);
        }
    }
    UNROLL for (int i = 0; i < 2; i++)
    {
        reduce_step(N52, s + i, f);
        reduce_step(N52, r + i, f);
    }
    UNROLL for (int j = 0; j < N52; j++)
    {
        t[j] = s[j + 2];
        u[j] = r[j + 2];
    }
}

/* The same for one, by a factor with a value of its own in each lane. */
INLINE void times_factor(vec *t, const vec *w, const struct mont *f)
{
    vec s[N52 + 2];
    UNROLL for (int j = 0; j < N52 + 2; j++) s[j] = _mm512_setzero_si512();
    UNROLL for (int i = 0; i < N52; i++) mul_limb(N52, s, w + N52 * i, t[i]);
    UNROLL for (int i = 0; i < 2; i++) reduce_step(N52, s + i, f);
    UNROLL for (int j = 0; j < N52; j++) t[j] = s[j + 2];
}

/* ---- butterflies ----------------------------------------------------------------
 *
 * Rows are below 2.1 p at first. The first two levels, where most factors are 1, make that 9.2 p;
 * each further level adds at most 2p: 29.2 p after 12 levels, and less than 2^260 = 35.3 p (or
 * more, for smaller p) wherever a factor is multiplied. Limbs grow by less than 2^58 a level. */

INLINE void load_row(vec *x, const vec *row)
{
    UNROLL for (int j = 0; j < N52; j++) x[j] = row[j];
}

INLINE void store_row(vec *row, const vec *x)
{
    UNROLL for (int j = 0; j < N52; j++) row[j] = x[j];
}

/* From signed limbs to dirty ones, the highest clean. */
INLINE void carry_signed(vec *x)
{
    UNROLL for (int j = 0; j < N52 - 1; j++) x[j + 1] =
        _mm512_add_epi64(x[j + 1], _mm512_srai_epi64(x[j], 52));
}

/* (x, y) = (x + t, x - t + add); add is a multiple of p not below t. */
INLINE void add_sub(vec *x, vec *y, const vec *t, const vec *add)
{
    UNROLL for (int j = 0; j < N52; j++)
    {
        y[j] = _mm512_add_epi64(_mm512_sub_epi64(x[j], t[j]), add[j]);
        x[j] = _mm512_add_epi64(x[j], t[j]);
    }
}

/* Levels l and l + 1 of block b of level l, at row `x`, of 4 h rows. */
INLINE void block_four(const struct ntt *f, ntt_row *x, size_t h, size_t b)
{
    const uint64_t *w = f->twiddles[b], *w0 = f->twiddles[2 * b], *w1 = f->twiddles[2 * b + 1];
    for (size_t r = 0; r < h; r++, x++) {
        vec x0[N52], x1[N52], x2[N52], x3[N52], t[N52], u[N52];
        load_row(x2, x[2 * h]);
        load_row(x3, x[3 * h]);
        carry_signed(x2);
        carry_signed(x3);
        twiddle_two(t, x2, w, u, x3, w, &f->mont);
        load_row(x0, x[0]);
        load_row(x1, x[h]);
        add_sub(x0, x2, t, f->p_2);
        add_sub(x1, x3, u, f->p_2);
        carry_signed(x1);
        carry_signed(x3);
        twiddle_two(t, x1, w0, u, x3, w1, &f->mont);
        add_sub(x0, x1, t, f->p_2);
        add_sub(x2, x3, u, f->p_2);
        store_row(x[0], x0);
        store_row(x[h], x1);
        store_row(x[2 * h], x2);
        store_row(x[3 * h], x3);
    }
}

/* Levels 0 and 1: all factors are 1 but one. */
static void first_four(const struct ntt *f, ntt_row *x, size_t h)
{
    const uint64_t *w = f->twiddles[1];
    for (size_t r = 0; r < h; r++, x++) {
        vec x0[N52], x1[N52], x2[N52], x3[N52], t[N52], u[N52];
        load_row(x0, x[0]);
        load_row(x1, x[h]);
        load_row(t, x[2 * h]);
        load_row(u, x[3 * h]);
        add_sub(x0, x2, t, f->p_3);
        add_sub(x1, x3, u, f->p_3);
        carry_signed(x3);
        load_row(u, x3);
        load_row(t, x1);
        add_sub(x0, x1, t, f->p_5);
        twiddle_two(u, u, w, u, u, w, &f->mont);
        add_sub(x2, x3, u, f->p_2);
        store_row(x[0], x0);
        store_row(x[h], x1);
        store_row(x[2 * h], x2);
        store_row(x[3 * h], x3);
    }
}

/* The last level, of `count` blocks, an even number, from b on. */
static void last_level(const struct ntt *f, ntt_row *x, size_t count, size_t b)
{
    for (size_t end = b + count; b < end; b += 2, x += 4) {
        vec x0[N52], x1[N52], x2[N52], x3[N52], t[N52], u[N52];
        load_row(x0, x[0]);
        load_row(x1, x[1]);
        load_row(x2, x[2]);
        load_row(x3, x[3]);
        carry_signed(x1);
        carry_signed(x3);
        twiddle_two(t, x1, f->twiddles[b], u, x3, f->twiddles[b + 1], &f->mont);
        add_sub(x0, x1, t, f->p_2);
        add_sub(x2, x3, u, f->p_2);
        store_row(x[0], x0);
        store_row(x[1], x1);
        store_row(x[2], x2);
        store_row(x[3], x3);
    }
}

/* Levels from `level` on of block b of that level, which has 2^log2_rows rows. */
static void inner_levels(const struct ntt *f, ntt_row *x, uint32_t log2_rows, size_t b)
{
    uint32_t l = 0;
    for (; l + 2 <= log2_rows; l += 2)
        for (size_t i = 0; i < (size_t)1 << l; i++)
            block_four(f, x + (i << (log2_rows - l)), (size_t)1 << (log2_rows - l - 2),
                       (b << l) + i);
    if (l < log2_rows)
        last_level(f, x, (size_t)1 << l, b << l);
}

static void levels(const struct ntt *f, ntt_row *x, uint32_t log2_rows)
{
    if (log2_rows == 0)
        return;
    if (log2_rows == 1) {
        vec x0[N52], x1[N52], t[N52];
        load_row(x0, x[0]);
        load_row(t, x[1]);
        add_sub(x0, x1, t, f->p_3);
        store_row(x[0], x0);
        store_row(x[1], x1);
        return;
    }
    uint32_t l = 2;
    first_four(f, x, (size_t)1 << (log2_rows - 2));
    for (; log2_rows - l > LOG2_INNER; l += 2)
        for (size_t b = 0; b < (size_t)1 << l; b++)
            block_four(f, x + (b << (log2_rows - l)), (size_t)1 << (log2_rows - l - 2), b);
    if (log2_rows - l == 1) {
        last_level(f, x, (size_t)1 << l, 0);
        return;
    }
    for (size_t b = 0; b < (size_t)1 << l; b++)
        inner_levels(f, x + (b << (log2_rows - l)), log2_rows - l, b);
}

/* ---- factors ------------------------------------------------------------------------
 *
 * Geometric progressions, one in each lane, in which a vector of limbs moves in strides; the limbs
 * are 2^260 times a value, so that products with rows are in the form of the rows. */

#define PROGRESSIONS 4u

struct progression {
    vec stride[N52 * N52]; /* as a factor of times_factor */
    ntt_row now[PROGRESSIONS];
};

INLINE void product(vec *t, const vec *a, const vec *b, const struct mont *f)
{
    mont_mul(GX_NTT_LIMBS, t, a, b, f);
    carry_limbs(GX_NTT_LIMBS, t);
}

/* 2^260 times the plain integers whose Montgomery form 8 elements are, below 2p. */
INLINE void load_factor(vec *t, const void *elements, const struct ntt *f)
{
    vec planes[GX_NTT_LIMBS], a[N52], b[N52];
    load_planes(GX_NTT_LIMBS, planes, elements);
    split(GX_NTT_LIMBS, SHIFT_FULL, a, planes);
    UNROLL for (int j = 0; j < N52; j++) b[j] = splat(f->twiddles[0][3 * N52 + j]); /* 2^260 */
    product(t, a, b, &f->mont);
}

static void make_stride(struct progression *g, const vec *factor, const struct ntt *f)
{
    for (int i = 0; i < N52; i++) {
        vec power[N52];
        UNROLL for (int j = 0; j < N52; j++) power[j] = splat(f->twiddles[0][i * N52 + j]);
        product(g->stride + i * N52, factor, power, &f->mont);
    }
}

/* In lane l: first[l] ratio[l]^i for i = 0, 1, ... */
static void start_lanes(struct progression *g, const struct gx_ntt_block *k, const struct ntt *f)
{
    vec ratio[N52];
    load_factor(g->now[0], k->first, f);
    load_factor(ratio, k->ratio, f);
    for (uint32_t i = 1; i < PROGRESSIONS; i++)
        product(g->now[i], g->now[i - 1], ratio, &f->mont);
    _Static_assert(PROGRESSIONS == 4, "two squares");
    product(ratio, ratio, ratio, &f->mont);
    product(ratio, ratio, ratio, &f->mont);
    make_stride(g, ratio, f);
}

/* first ratio^i for 8 successive i in the lanes. */
static void start_rows(struct progression *g, const uint64_t *first, const uint64_t *ratio,
                       const struct gx_ntt_block *k, const struct ntt *f)
{
    uint64_t x[BLOCK + 1][GX_NTT_LIMBS], stride[BLOCK][GX_NTT_LIMBS];
    vec factor[N52];
    memcpy(x[0], first, sizeof x[0]);
    memcpy(stride[0], ratio, sizeof stride[0]);
    for (int i = 0; i < BLOCK; i++)
        gx__mul_one(k->prime, x[i + 1], x[i], ratio);
    for (int i = 1; i < BLOCK; i++)
        gx__mul_one(k->prime, stride[0], stride[0], ratio);
    for (int i = 1; i < BLOCK; i++)
        memcpy(stride[i], stride[0], sizeof stride[0]);
    load_factor(g->now[0], x, f);
    load_factor(factor, stride, f);
    make_stride(g, factor, f);
}

/* The lane of element i of a block. */
static const uint8_t lane_of[BLOCK] = {0, 2, 1, 3, 4, 6, 5, 7};

/* Factor of row q, in all lanes; rows come in order. */
INLINE void row_factor(vec *t, struct progression *g, uint32_t q, const struct ntt *f)
{
    if (q && q % BLOCK == 0) {
        times_factor(g->now[0], g->stride, &f->mont);
        carry_limbs(GX_NTT_LIMBS, g->now[0]);
    }
    const uint64_t *limbs = (const uint64_t *)g->now[0] + lane_of[q % BLOCK];
    UNROLL for (int j = 0; j < N52; j++) t[j] = splat(limbs[BLOCK * j]);
}

/* Factors of row q, in each lane; rows come in order. */
INLINE void lane_factors(vec *t, struct progression *g, uint32_t q, const struct ntt *f)
{
    vec *now = g->now[q % PROGRESSIONS];
    load_row(t, now);
    vec next[N52];
    load_row(next, t);
    times_factor(next, g->stride, &f->mont);
    carry_limbs(GX_NTT_LIMBS, next);
    store_row(now, next);
}

/* ---- memory -------------------------------------------------------------------------- */

/* Whether the lanes are neighbours in memory. */
static bool in_contiguous(const struct gx_ntt_block *k)
{
    bool yes = k->lanes == BLOCK;
    for (uint32_t l = 1; l < k->lanes; l++)
        yes &= k->in[l] == k->in[0] + l * GX_NTT_ELEMENT;
    return yes;
}

static bool out_contiguous(const struct gx_ntt_block *k)
{
    bool yes = k->lanes == BLOCK;
    for (uint32_t l = 1; l < k->lanes; l++)
        yes &= k->out[l] == k->out[0] + l * GX_NTT_ELEMENT;
    return yes;
}

INLINE __m256i load_element(const uint8_t *from)
{
    return _mm256_loadu_si256((const __m256i *)(const void *)from);
}

INLINE void gather_planes(vec *planes, const uint8_t *const *in, size_t at)
{
    vec rows[GX_NTT_LIMBS];
    UNROLL for (int k = 0; k < GX_NTT_LIMBS; k++) rows[k] = _mm512_inserti64x4(
        _mm512_castsi256_si512(load_element(in[2 * k] + at)), load_element(in[2 * k + 1] + at), 1);
    rows_to_planes4(planes, rows);
}

static void load(const struct gx_ntt_block *k, const struct ntt *f, ntt_row *x)
{
    const uint8_t *in[BLOCK];
    struct progression g;
    bool contiguous = in_contiguous(k);
    for (uint32_t l = 0; l < BLOCK; l++)
        in[l] = k->in[l < k->lanes ? l : 0];
    if (k->in_scaled)
        start_rows(&g, k->prime->one, k->in_ratio, k, f);
    struct gx_ntt_counter c = {0, 0};
    uint32_t rows_in = 1u << k->log2_rows_in;
    for (; c.q < rows_in; gx__ntt_count(&c, rows_in, false)) {
        vec planes[GX_NTT_LIMBS], limbs[N52], factor[N52] = {_mm512_setzero_si512()};
        bool in_order = k->in_reversed && !k->in_scaled; /* of addresses, not of rows */
        size_t at = k->in_row * (k->in_reversed && !in_order ? c.at : c.q);
        gx__ntt_expect(in[0], k->in_row, c.q, rows_in, BLOCK * k->abreast);
        if (k->in_scaled)
            row_factor(factor, &g, c.q, f);
        for (uint32_t b = 0; b < k->abreast; b++) {
            if (contiguous)
                load_planes(GX_NTT_LIMBS, planes, in[0] + at + b * BLOCK * GX_NTT_ELEMENT);
            else
                gather_planes(planes, in, at);
            split(GX_NTT_LIMBS, SHIFT_NONE, limbs, planes);
            if (k->in_scaled)
                mont_mul(GX_NTT_LIMBS, limbs, limbs, factor, &f->mont);
            else
                clean_limbs(GX_NTT_LIMBS, limbs);
            store_row(x[(b << k->log2_rows) + (in_order ? c.at : c.q)], limbs);
        }
    }
    for (uint32_t b = 0; b < k->abreast; b++)
        memset(x + (b << k->log2_rows) + rows_in, 0,
               (((size_t)1 << k->log2_rows) - rows_in) * sizeof *x);
}

/* From below 2^260, dirty, to sums below 2p: subtracts p as often as the highest limb says, which
 * is what it takes or one less. */
INLINE void subtract_multiple(vec *x, const struct ntt *f)
{
    clean_limbs(GX_NTT_LIMBS, x);
    vec times = RIGHT(mul_high(_mm512_setzero_si512(), x[N52 - 1], f->top_inverse), 45);
    mul_limb(N52 - 1, x, f->minus_low, times);
    vec top = mul_low(_mm512_setzero_si512(), f->p_top, times); /* all of it: below 2^52 */
    x[N52 - 1] = _mm512_sub_epi64(x[N52 - 1], top);
}

INLINE void scatter_rows(const vec *rows, uint8_t *const *out, size_t at, uint32_t lanes)
{
    uint8_t element[BLOCK][GX_NTT_ELEMENT];
    if (lanes == BLOCK) {
        UNROLL for (int k = 0; k < GX_NTT_LIMBS; k++)
        {
            _mm256_storeu_si256((__m256i *)(void *)(out[2 * k] + at),
                                _mm512_castsi512_si256(rows[k]));
            _mm256_storeu_si256((__m256i *)(void *)(out[2 * k + 1] + at),
                                _mm512_extracti64x4_epi64(rows[k], 1));
        }
        return;
    }
    store_rows(GX_NTT_LIMBS, element[0], rows);
    for (uint32_t l = 0; l < lanes; l++)
        memcpy(out[l] + at, element[l], sizeof element[l]);
}

/* The rows of an aligned block, past the caches. */
INLINE void stream_rows(uint8_t *out, const vec *rows)
{
    UNROLL for (int k = 0; k < GX_NTT_LIMBS; k++)
        _mm512_stream_si512((void *)(out + sizeof(vec) * (size_t)k), rows[k]);
}

/* The place of -i for that of i, both in bit-reversed order. */
INLINE uint32_t negative(uint32_t at)
{
    return at ? at ^ ((1u << (31 - __builtin_clz(at))) - 1) : 0;
}

INLINE void store_scaled(const enum gx_ntt_scale scale, const struct gx_ntt_block *k,
                         const struct ntt *f, const ntt_row *x)
{
    struct progression g;
    bool contiguous = out_contiguous(k);
    bool stream = contiguous && k->stream && !(((uintptr_t)k->out[0] | k->out_row) % sizeof(vec));
    if (scale == GX_NTT_SCALE_ROWS)
        start_rows(&g, k->first[0], k->ratio[0], k, f);
    else if (scale == GX_NTT_SCALE_LANES)
        start_lanes(&g, k, f);
    struct gx_ntt_counter c = {0, 0}, address = {0, 0};
    uint32_t rows = 1u << k->log2_rows;
    bool in_order = scale == GX_NTT_SCALE_NONE && k->out_reversed; /* of addresses */
    for (; c.q < rows; gx__ntt_count(&c, rows, k->inverse), gx__ntt_count(&address, rows, false)) {
        vec limbs[N52], factor[N52], planes[GX_NTT_LIMBS], out[GX_NTT_LIMBS];
        const uint32_t row = !in_order ? c.at : k->inverse ? negative(c.q) : c.q;
        const size_t at = k->out_row * (k->out_reversed && !in_order ? address.at : address.q);
        if (scale == GX_NTT_SCALE_LANES)
            lane_factors(factor, &g, c.q, f);
        else if (scale == GX_NTT_SCALE_ROWS)
            row_factor(factor, &g, c.q, f);
        if (!stream)
            gx__ntt_expect(k->out[0], k->out_row, address.q, rows, BLOCK * k->abreast);
        for (uint32_t b = 0; b < k->abreast; b++) {
            uint8_t *to = k->out[0] + at + b * BLOCK * GX_NTT_ELEMENT;
            load_row(limbs, x[(b << k->log2_rows) + row]);
            carry_signed(limbs);
            if (scale != GX_NTT_SCALE_NONE)
                mont_mul(GX_NTT_LIMBS, limbs, limbs, factor, &f->mont);
            else
                subtract_multiple(limbs, f);
            if (k->last)
                subtract_p(GX_NTT_LIMBS, limbs, &f->mont);
            else
                carry_limbs(GX_NTT_LIMBS, limbs);
            join(GX_NTT_LIMBS, planes, limbs);
            planes_to_rows4(out, planes);
            if (stream)
                stream_rows(to, out);
            else if (contiguous)
                store_rows(GX_NTT_LIMBS, to, out);
            else
                scatter_rows(out, k->out, at, k->lanes);
        }
    }
    if (stream)
        _mm_sfence();
}

static void store(const struct gx_ntt_block *k, const struct ntt *f, const ntt_row *x)
{
    switch (k->scale) {
    case GX_NTT_SCALE_NONE:
        store_scaled(GX_NTT_SCALE_NONE, k, f, x);
        break;
    case GX_NTT_SCALE_ROWS:
        store_scaled(GX_NTT_SCALE_ROWS, k, f, x);
        break;
    case GX_NTT_SCALE_LANES:
        store_scaled(GX_NTT_SCALE_LANES, k, f, x);
        break;
    }
}

static void ntt_block(const struct gx_ntt_block *block)
{
    ntt_row *x = block->scratch;
    struct ntt f;
    ntt_init(&f, block);
    load(block, &f, x);
    for (uint32_t b = 0; b < block->abreast; b++)
        levels(&f, x + (b << block->log2_rows), block->log2_rows);
    store(block, &f, x);
}

const struct gx_ntt_host gx__ntt_avx512 = {.tier = GX_TIER_AVX512,
                                           .log2_step = LOG2_STEP,
                                           .twiddle_bytes = LIMBS_OF_W * sizeof(uint64_t),
                                           .scratch_bytes = sizeof(ntt_row),
                                           .abreast = true,
                                           .fill = ntt_fill,
                                           .block = ntt_block};

#endif
