/* SPDX-License-Identifier: Apache-2.0
 *
 * What the CPU device and the reference do with more than loops over elements: which parts there
 * are, and which threads do them. The arithmetic is in field/ and curve/.
 */
#ifndef GX_DEVICE_CPU_KERNELS_H
#define GX_DEVICE_CPU_KERNELS_H

#include "curve/msm.h"
#include "device/device.h"
#include "field/ntt.h"

/* Work that makes another thread worthwhile, of any kind: waking one costs a few microseconds. */
#define GX_WORKER_MIN_NS 20000u

/* ---- transforms ---- */

struct gx_cpu_ntt {
    const struct gx_ntt_host *host; /* NULL: the reference */
    gx_host_fn reference[GX_FIELD_END][GX_HOST_KERNELS];
    uint32_t threads;
};

/* tiers: allowed ones; reference: the kernels of the reference device, or NULL. */
void gx__cpu_ntt_open(struct gx_cpu_ntt *ntt, unsigned tiers, const struct gx_host_table *reference,
                      uint32_t threads);

/* As gx_device_ops.table and scratch. */
size_t gx__cpu_ntt_table(const struct gx_cpu_ntt *ntt, const struct gx_kernel *kernel, void *table);
size_t gx__cpu_ntt_scratch(const struct gx_cpu_ntt *ntt, const struct gx_kernel *kernel,
                           uint64_t n);

/* Runs a call whose input is canonical; sets call->threads. */
void gx__cpu_ntt_run(const struct gx_cpu_ntt *ntt, struct gx_instance *instance,
                     struct gx_host_call *call);

/* ---- multi-scalar multiplications ---- */

struct gx_cpu_msm {
    const struct gx_msm_host *host; /* NULL: the reference */
    uint32_t threads;
};

/* tiers: allowed ones. */
void gx__cpu_msm_open(struct gx_cpu_msm *msm, unsigned tiers, bool reference, uint32_t threads);

/* As above; a table of multiples of all points, or none. */
size_t gx__cpu_msm_table(const struct gx_cpu_msm *msm, struct gx_instance *instance,
                         const struct gx_kernel *kernel, void *table);
size_t gx__cpu_msm_scratch(const struct gx_cpu_msm *msm, const struct gx_kernel *kernel,
                           uint64_t n);

/* Runs a call of GX_MSM whose scalars are valid; sets call->threads. */
void gx__cpu_msm_run(const struct gx_cpu_msm *msm, struct gx_instance *instance,
                     struct gx_host_call *call);

/* The same for GX_OP_MSM_SUMS. */
void gx__cpu_msm_sums(struct gx_host_call *call);

/* ---- operations on polynomials ---- */

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
