/* SPDX-License-Identifier: Apache-2.0
 *
 * The transform of the reference device.
 */
#ifndef GX_FIELD_REFERENCE_NTT_H
#define GX_FIELD_REFERENCE_NTT_H

#include "field/host.h"

struct gx_reference_ntt {
    uint32_t log2_n, log2_pad, flags; /* as in gx_ntt_params */
    size_t batch;
    size_t stride_in, stride_out; /* GX_NTT_COLUMNS: elements from one row to the next */
    const uint64_t *root;         /* of order 2^log2_n; these two have GX_LIMBS_MAX limbs */
    const uint64_t *shift;
    const void *in;
    void *out;     /* in, or disjoint from it */
    void *scratch; /* gx__reference_ntt_scratch bytes */
};

size_t gx__reference_ntt_scratch(uint32_t log2_n, size_t batch);

/* fn: the reference kernels of the field. */
void gx__reference_ntt(const struct gx_prime *prime, const gx_host_fn *fn,
                       const struct gx_reference_ntt *ntt);

#endif
