/* SPDX-License-Identifier: Apache-2.0
 *
 * A device for plans that are made without one.
 */
#ifndef GX_TESTS_EXEC_FACTS_H
#define GX_TESTS_EXEC_FACTS_H

#include "device/device.h"

/* Roughly an H200: copies over a bus at 50 GB/s, 15 us for a submit. */
static inline struct gx_device_facts gpu_facts(uint32_t queues)
{
    struct gx_device_facts facts = {.mem_kinds = (1u << GX_MEM_KINDS) - 1,
                                    .dispatch_elems = UINT32_MAX,
                                    .queues = queues,
                                    .submit_ns = 15000,
                                    .mul_rate = 20};
    facts.speed[GX_MEM_DEVICE] = (struct gx_mem_speed){.kernel_read = 3000, .kernel_write = 3000};
    facts.speed[GX_MEM_UPLOAD] = (struct gx_mem_speed){.host_write = 10, .copy_in = 50};
    facts.speed[GX_MEM_READBACK] = (struct gx_mem_speed){.host_read = 10, .copy_out = 50};
    facts.speed[GX_MEM_SHARED] = (struct gx_mem_speed){
        .host_write = 10, .host_read = 10, .kernel_read = 17, .kernel_write = 17};
    return facts;
}

#endif
