/* SPDX-License-Identifier: Apache-2.0
 *
 * Operations on polynomials on the CPU device and on "ref": which parts there are, and which
 * threads do them. The arithmetic is in field/poly.h.
 */
#ifndef GX_DEVICE_CPU_POLY_H
#define GX_DEVICE_CPU_POLY_H

#include "device/device.h"

static inline bool gx__cpu_is_poly(gx_op op)
{
    return op < GX_OP_END && gx__op_verifier(op) == GX_VERIFY_POLY;
}

/* Bytes for n elements on so many threads. */
size_t gx__cpu_poly_scratch(const struct gx_kernel_key *key, uint64_t n, uint32_t threads);

/* fn: the kernels of the field. call->threads is set: the most that may take part. */
gx_status gx__cpu_poly_run(struct gx_device *device, const gx_host_fn *fn,
                           struct gx_host_call *call);

#endif
