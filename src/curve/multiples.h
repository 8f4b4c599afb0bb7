/* SPDX-License-Identifier: Apache-2.0
 *
 * Multiples of one point by many scalars on the host, in phases of independent chunks, as in msm.h:
 * a table of multiples of the point, and for each scalar the sum of one entry for each digit.
 */
#ifndef GX_CURVE_MULTIPLES_H
#define GX_CURVE_MULTIPLES_H

#include "curve/msm.h"

struct gx_multiples_call {
    const struct gx_curve_row *curve;
    const uint64_t *base;    /* affine, any point of the curve */
    const uint64_t *scalars; /* plain, GX_SCALAR_LIMBS limbs each, any value */
    size_t count;
    uint32_t bits;    /* 1 .. 256, of scalars; higher ones are ignored */
    uint32_t workers; /* at least 1 */
    uint32_t window;  /* bits of a digit, 1 .. GX_WINDOW_MAX; 0: the best. For tests */
    void *scratch;    /* gx__multiples_scratch bytes, aligned to 64 */
    uint64_t *out;    /* packed, affine */
};

size_t gx__multiples_scratch(const struct gx_msm_host *host, const struct gx_multiples_call *call);
size_t gx__multiples_phases(const struct gx_msm_host *host, const struct gx_multiples_call *call);
size_t gx__multiples_chunks(const struct gx_msm_host *host, const struct gx_multiples_call *call,
                            size_t phase);
/* worker < call->workers; no two calls with the same number at the same time. */
void gx__multiples_chunk(const struct gx_msm_host *host, const struct gx_multiples_call *call,
                         size_t phase, size_t chunk, uint32_t worker);

#endif
