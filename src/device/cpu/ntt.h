/* SPDX-License-Identifier: Apache-2.0
 *
 * Transforms on the CPU device and on the reference.
 */
#ifndef GX_DEVICE_CPU_NTT_H
#define GX_DEVICE_CPU_NTT_H

#include "device/device.h"
#include "field/ntt.h"

/* Work that makes another thread worthwhile, of any kind: waking one costs a few microseconds. */
#define GX_WORKER_MIN_NS 20000u

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

#endif
