/* SPDX-License-Identifier: Apache-2.0
 *
 * Blocks of transforms (ntt_block.h) of the scalar tiers, by their element functions (element.h).
 * In scratch the lanes of a row are side by side, so that a butterfly of rows is one of arrays. All
 * values are below p.
 */
#ifndef GX_FIELD_NTT_SCALAR_H
#define GX_FIELD_NTT_SCALAR_H

#include "field/element.h"
#include "field/ntt_block.h"

#define NTT_SCALAR_LOG2_STEP 10u

typedef uint64_t ntt_element[GX_NTT_LIMBS];

TEMPLATE void ntt_mul(uint64_t *r, const void *a, const void *b, const struct gx_prime *prime)
{
    fe_mul(GX_NTT_LIMBS, r, a, b, prime);
}

static void ntt_fill(const struct gx_prime *prime, const struct gx_ntt_table *table, void *twiddles,
                     size_t count)
{
    ntt_element *to = twiddles;
    struct gx_ntt_twiddles w;
    for (size_t b = 0; b < count; b++) {
        gx__ntt_twiddle_next(prime, table, b, &w);
        store_limbs(GX_NTT_LIMBS, to[b], w.part[0]);
    }
}

static void ntt_load(const struct gx_ntt_block *k, ntt_element *x)
{
    uint32_t rows_in = 1u << k->log2_rows_in, rows = 1u << k->log2_rows;
    ntt_element power;
    load_limbs(GX_NTT_LIMBS, power, k->prime->one);
    for (uint32_t r = 0; r < rows_in; r++) {
        size_t at = k->in_row * (k->in_reversed ? gx__bit_reverse(r, k->log2_rows_in) : r);
        gx__ntt_expect(k->in[0], k->in_row, r, rows_in, k->lanes);
        for (uint32_t l = 0; l < k->lanes; l++, x++)
            if (k->in_scaled)
                ntt_mul(*x, k->in[l] + at, power, k->prime);
            else
                load_limbs(GX_NTT_LIMBS, *x, k->in[l] + at);
        if (k->in_scaled)
            ntt_mul(power, power, k->in_ratio, k->prime);
    }
    memset(x, 0, (size_t)(rows - rows_in) * k->lanes * sizeof *x);
}

/* (x, y) = (x + w y, x - w y) for arrays; w NULL: 1. */
static void ntt_butterflies(ntt_element *x, ntt_element *y, size_t n, const uint64_t *w,
                            const struct gx_prime *prime)
{
    for (size_t i = 0; i < n; i++) {
        ntt_element product;
        if (w)
            ntt_mul(product, y[i], w, prime);
        else
            load_limbs(GX_NTT_LIMBS, product, y[i]);
        fe_sub(GX_NTT_LIMBS, y[i], x[i], product, prime);
        fe_add(GX_NTT_LIMBS, x[i], x[i], product, prime);
    }
}

/* Natural to bit-reversed order: level l has 2^l blocks, and in block b the twiddle W[b]. */
static void ntt_levels(const struct gx_ntt_block *k, ntt_element *x)
{
    const ntt_element *twiddles = k->twiddles;
    for (uint32_t l = 0; l < k->log2_rows; l++) {
        size_t half = ((size_t)k->lanes << k->log2_rows) >> (l + 1);
        for (size_t b = 0; b < (size_t)1 << l; b++) {
            ntt_element *at = x + 2 * half * b;
            ntt_butterflies(at, at + half, half, b ? twiddles[b] : NULL, k->prime);
        }
    }
}

static void ntt_store(const struct gx_ntt_block *k, ntt_element *x)
{
    ntt_element power[GX_NTT_LANES];
    uint32_t chains = k->scale == GX_NTT_SCALE_LANES ? k->lanes : 1;
    for (uint32_t l = 0; l < chains; l++)
        load_limbs(GX_NTT_LIMBS, power[l], k->first[l]);
    struct gx_ntt_counter c = {0, 0};
    for (uint32_t rows = 1u << k->log2_rows; c.q < rows; gx__ntt_count(&c, rows, k->inverse)) {
        ntt_element *row = x + (size_t)c.at * k->lanes;
        size_t at = k->out_row * (k->out_reversed ? gx__bit_reverse(c.q, k->log2_rows) : c.q);
        gx__ntt_expect(k->out[0], k->out_row, c.q, rows, k->lanes);
        for (uint32_t l = 0; l < k->lanes; l++) {
            if (k->scale != GX_NTT_SCALE_NONE)
                ntt_mul(row[l], row[l], power[chains > 1 ? l : 0], k->prime);
            store_limbs(GX_NTT_LIMBS, k->out[l] + at, row[l]);
        }
        if (k->scale != GX_NTT_SCALE_NONE)
            for (uint32_t l = 0; l < chains; l++)
                ntt_mul(power[l], power[l], k->ratio[l], k->prime);
    }
}

static void ntt_block(const struct gx_ntt_block *block)
{
    ntt_element *x = block->scratch;
    ntt_load(block, x);
    ntt_levels(block, x);
    ntt_store(block, x);
}

#define NTT_SCALAR_HOST(which)                                                                     \
    {                                                                                              \
        .tier = (which), .log2_step = NTT_SCALAR_LOG2_STEP, .twiddle_bytes = sizeof(ntt_element),  \
        .scratch_bytes = GX_NTT_LANES * sizeof(ntt_element), .fill = ntt_fill, .block = ntt_block  \
    }

#endif
