/* SPDX-License-Identifier: Apache-2.0
 *
 * Multi-scalar multiplications on the CPU device and on the reference; and the sums that GPUs
 * compute of them, for devices that simulate one.
 */
#ifndef GX_DEVICE_CPU_MSM_H
#define GX_DEVICE_CPU_MSM_H

#include "curve/msm.h"
#include "device/device.h"

struct gx_cpu_msm {
    const struct gx_msm_host *host; /* NULL: the reference */
    uint32_t threads;
};

/* tiers: allowed ones. */
void gx__cpu_msm_open(struct gx_cpu_msm *msm, unsigned tiers, bool reference, uint32_t threads);

/* As gx_device_ops.table and scratch; a table of multiples of all points, or none. */
size_t gx__cpu_msm_table(const struct gx_cpu_msm *msm, struct gx_instance *instance,
                         const struct gx_kernel *kernel, void *table);
size_t gx__cpu_msm_scratch(const struct gx_cpu_msm *msm, const struct gx_kernel *kernel,
                           uint64_t n);

/* Runs a call of GX_MSM whose scalars are valid; sets call->threads. */
void gx__cpu_msm_run(const struct gx_cpu_msm *msm, struct gx_instance *instance,
                     struct gx_host_call *call);

/* The same for GX_OP_MSM_SUMS. */
void gx__cpu_msm_sums(struct gx_host_call *call);

#endif
