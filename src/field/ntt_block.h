/* SPDX-License-Identifier: Apache-2.0
 *
 * What the tiers implement for ntt.c: up to 8 transforms side by side, of at most 2^12 elements
 * each, from memory to memory. The elements of one transform are the rows of a block, the
 * transforms its lanes.
 */
#ifndef GX_FIELD_NTT_BLOCK_H
#define GX_FIELD_NTT_BLOCK_H

#include "field/ntt.h"
#include "field/scalar.h"

#define GX_NTT_LANES     8u
#define GX_NTT_LOG2_ROWS 12u
#define GX_NTT_ELEMENT   (GX_NTT_LIMBS * sizeof(uint64_t))

/* At the start of a table; the twiddles W[b] of the tier follow (doc/ntt.md). */
struct gx_ntt_table {
    /* of order 2^j; for j above the domain's 0 */
    uint64_t root[GX_NTT_LOG2 + 1][GX_NTT_LIMBS], inverse_root[GX_NTT_LOG2 + 1][GX_NTT_LIMBS];
    uint64_t shift[GX_NTT_LOG2][GX_NTT_LIMBS], inverse_shift[GX_NTT_LOG2][GX_NTT_LIMBS]; /* ^2^j */
    uint64_t inverse_size[GX_NTT_LOG2 + 1][GX_NTT_LIMBS];                                /* 2^-j */
};

#define GX_NTT_TABLE_HEAD ((sizeof(struct gx_ntt_table) + 63) / 64 * 64)

enum gx_ntt_scale {
    GX_NTT_SCALE_NONE,
    GX_NTT_SCALE_ROWS,  /* row q times first[0] * ratio[0]^q */
    GX_NTT_SCALE_LANES, /* row q of lane l times first[l] * ratio[l]^q */
};

struct gx_ntt_block {
    const struct gx_prime *prime;
    const void *twiddles;
    void *scratch; /* of the worker */
    uint32_t log2_rows;
    uint32_t lanes; /* 1 .. 8; the rest of the arrays below is not used */
    /* Blocks of 8 lanes with one step, all factors alike, each right behind the one before it in
     * every row of memory, and in scratch. */
    uint32_t abreast;

    /* Row r of lane l is at in[l] + in_row * r, or * the reverse of the log2_rows_in bits of r.
     * Further rows are 0. */
    uint32_t log2_rows_in;
    bool in_reversed, in_scaled;
    const uint8_t *in[GX_NTT_LANES];
    size_t in_row;                   /* bytes */
    uint64_t in_ratio[GX_NTT_LIMBS]; /* in_scaled: row r is multiplied by its r-th power first */

    /* The same for results. Their index is negated for inverse transforms, modulo the rows. */
    bool inverse, out_reversed;
    bool last;   /* results are below p; otherwise only the same tier reads them */
    bool stream; /* results are more than caches hold: they may be written past them */
    enum gx_ntt_scale scale;
    uint8_t *out[GX_NTT_LANES];
    size_t out_row;
    uint64_t first[GX_NTT_LANES][GX_NTT_LIMBS], ratio[GX_NTT_LANES][GX_NTT_LIMBS];
};

struct gx_ntt_host {
    enum gx_tier tier;
    uint32_t log2_step;     /* most levels of a block for it to stay in the L2 cache */
    uint32_t twiddle_bytes; /* each */
    uint32_t scratch_bytes; /* per row of a block, at least 8 rows */
    bool abreast;           /* takes several blocks at a time */
    void (*fill)(const struct gx_prime *prime, const struct gx_ntt_table *table, void *twiddles,
                 size_t count);
    void (*block)(const struct gx_ntt_block *block);
};

/* Rows that are so far apart, as those of columns are, no core expects: it is told of one while
 * this many before it are left. On Zen 4, columns of 2^7 to 2^10 elements took 1.24 times as long
 * as rows without that. */
#define GX_NTT_FAR   2048u /* bytes */
#define GX_NTT_AHEAD 4u

/* The row after q that is due, of lanes that are neighbours; after the last that of the next lanes.
 */
static inline void gx__ntt_expect(const uint8_t *lane, size_t row, uint32_t q, uint32_t rows,
                                  uint32_t lanes)
{
    const uint32_t next = q + GX_NTT_AHEAD;
    const size_t bytes = lanes * GX_NTT_ELEMENT;
    const uint8_t *at = lane + row * (next & (rows - 1)) + (next < rows ? 0 : bytes);
    if (row < GX_NTT_FAR)
        return;
    for (size_t i = 0; i < bytes; i += 64)
        __builtin_prefetch(at + i);
    __builtin_prefetch(at + bytes - 1); /* rows begin anywhere */
}

extern const struct gx_ntt_host gx__ntt_portable, gx__ntt_adx, gx__ntt_avx512;

/* Visits W[0], W[1], ...: W[b] is the product of the roots of order 2^(j + 2) over the bits j of b.
 * part[j] is the product over the bits from j on. */
struct gx_ntt_twiddles {
    uint64_t part[GX_NTT_LOG2_ROWS + 1][GX_NTT_LIMBS];
};

static inline void gx__ntt_twiddle_next(const struct gx_prime *prime,
                                        const struct gx_ntt_table *table, size_t b,
                                        struct gx_ntt_twiddles *w)
{
    if (b == 0) {
        for (uint32_t j = 0; j <= GX_NTT_LOG2_ROWS; j++)
            for (uint32_t i = 0; i < GX_NTT_LIMBS; i++)
                w->part[j][i] = prime->one[i];
        return;
    }
    uint32_t bit = (uint32_t)__builtin_ctzll(b);
    gx__mul_one(prime, w->part[bit], w->part[bit + 1], table->root[bit + 2]);
    for (uint32_t j = 0; j < bit; j++)
        for (uint32_t i = 0; i < GX_NTT_LIMBS; i++)
            w->part[j][i] = w->part[bit][i];
}

/* Rows in the order in which results leave the levels: row q is at `at`. Start with zeros; the next
 * q is q + 1. Counting up by 1 changes as many of the highest bits of the reversed number as it
 * changes of the lowest of the number itself. */
struct gx_ntt_counter {
    uint32_t q, at;
};

static inline void gx__ntt_count(struct gx_ntt_counter *c, uint32_t rows, bool down)
{
    uint32_t number = (down ? rows - c->q : c->q + 1) | rows >> 1;
    uint32_t changed = (uint32_t)__builtin_ctz(number) + 1;
    c->at ^= rows - (rows >> changed);
    c->q++;
}

#endif
