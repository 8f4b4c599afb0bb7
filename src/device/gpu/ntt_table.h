/* SPDX-License-Identifier: Apache-2.0
 *
 * The table of a domain on a GPU (GX_BIND_TABLE of GX_NTT), in elements of 32 bytes in Montgomery
 * form. log2_size is that of the domain; 0 has the layout of 1. In this order:
 *   W                   2^(log2_size - 1): twiddles, see device/gpu/passes_ntt.c
 *   shift powers        shift^i, i < GX_NTT_LOW, then shift^(GX_NTT_LOW * i)
 *   inverse powers      the same of 1 / shift
 *   halves              2^-i, i <= log2_size
 * W[i] = W[i % GX_NTT_LOW] * W[i / GX_NTT_LOW * GX_NTT_LOW]: GX_OP_NTT_TABLE makes it from these
 * two kinds of factors.
 */
#ifndef GX_DEVICE_GPU_NTT_TABLE_H
#define GX_DEVICE_GPU_NTT_TABLE_H

#include <stdint.h>

#include "kernel/interface.h"

#define GX_NTT_LOW ((uint64_t)1 << GX_K_NTT_LOW_BITS)

static inline uint64_t gx__ntt_twiddles(uint32_t log2_size)
{
    return (uint64_t)1 << (log2_size ? log2_size - 1 : 0);
}

/* How many multiples of GX_NTT_LOW there are below n, at least one. */
static inline uint64_t gx__ntt_high(uint64_t n)
{
    return n > GX_NTT_LOW ? n >> GX_K_NTT_LOW_BITS : 1;
}

/* Both parts of the powers of one element. */
static inline uint64_t gx__ntt_powers(uint32_t log2_size)
{
    return GX_NTT_LOW + gx__ntt_high((uint64_t)1 << log2_size);
}

/* Where a part begins. */
static inline uint64_t gx__ntt_shift_at(uint32_t log2_size)
{
    return gx__ntt_twiddles(log2_size);
}

static inline uint64_t gx__ntt_inverse_shift_at(uint32_t log2_size)
{
    return gx__ntt_shift_at(log2_size) + gx__ntt_powers(log2_size);
}

static inline uint64_t gx__ntt_halves_at(uint32_t log2_size)
{
    return gx__ntt_inverse_shift_at(log2_size) + gx__ntt_powers(log2_size);
}

static inline uint64_t gx__ntt_table_elements(uint32_t log2_size)
{
    return gx__ntt_halves_at(log2_size) + log2_size + 1;
}

#endif
