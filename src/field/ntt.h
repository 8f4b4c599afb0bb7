/* SPDX-License-Identifier: Apache-2.0
 *
 * Number-theoretic transforms on the host, in phases of independent chunks: the caller runs all
 * chunks of a phase, in any order and on any threads, before those of the next. Pure functions of
 * their arguments, like the kernels of host.h.
 */
#ifndef GX_FIELD_NTT_H
#define GX_FIELD_NTT_H

#include <stddef.h>
#include <stdint.h>

#include "field/host.h"

#define GX_NTT_LIMBS 4  /* fields with transforms have elements of 32 bytes */
#define GX_NTT_LOG2  32 /* largest transform */

/* The kernels of a tier. */
struct gx_ntt_host;

struct gx_ntt_call {
    const struct gx_prime *prime;
    const void *table;                /* of gx__ntt_table_fill, of the same tier and prime */
    uint32_t log2_n, log2_pad, flags; /* as in gx_ntt_params */
    uint32_t workers;                 /* at least 1 */
    uint32_t log2_step; /* most levels between two passes over memory, at most 12; 0: the tier's.
                           For tests */
    size_t batch;       /* transforms */
    size_t stride_in, stride_out; /* GX_NTT_COLUMNS: elements from one row to the next */
    const void *in; /* elements below p, of any alignment; out itself or disjoint from it */
    void *out;
    void *scratch; /* gx__ntt_scratch bytes, aligned to 64 */
};

/* The best tier in mask that this CPU supports; portable is always included. */
const struct gx_ntt_host *gx__ntt_host(unsigned mask);
enum gx_tier gx__ntt_tier(const struct gx_ntt_host *host);

/* Everything that transforms of up to 2^log2_size elements need; aligned to 64. The root has order
 * 2^log2_size. */
size_t gx__ntt_table_bytes(const struct gx_ntt_host *host, uint32_t log2_size);
void gx__ntt_table_fill(const struct gx_ntt_host *host, const struct gx_prime *prime,
                        uint32_t log2_size, const uint64_t root[GX_NTT_LIMBS],
                        const uint64_t shift[GX_NTT_LIMBS], void *table);

size_t gx__ntt_scratch(const struct gx_ntt_host *host, const struct gx_ntt_call *call);
size_t gx__ntt_phases(const struct gx_ntt_host *host, const struct gx_ntt_call *call);
size_t gx__ntt_chunks(const struct gx_ntt_host *host, const struct gx_ntt_call *call, size_t phase);

/* worker < call->workers; no two calls with the same number at the same time. */
void gx__ntt_chunk(const struct gx_ntt_host *host, const struct gx_ntt_call *call, size_t phase,
                   size_t chunk, uint32_t worker);

#endif
