/* SPDX-License-Identifier: Apache-2.0
 *
 * Checks a SPIR-V module of the caller before a driver sees it: its structure, and that its
 * interface is the one of doc/kernels.md. Code itself is not checked.
 */
#ifndef GX_OP_REGISTERED_SPIRV_H
#define GX_OP_REGISTERED_SPIRV_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"

/* What a device must offer to run it. */
struct gx_spirv {
    uint32_t local[3]; /* workgroup */
    bool int64;
    uint32_t subgroup; /* VkSubgroupFeatureFlags */
};

/* False, with a message, if the module is not a kernel with this entry point, storage buffers
 * 0 .. bindings - 1 and push constants of at most push_bytes. */
bool gx__spirv_check(const uint32_t *code, size_t bytes, const char *entry, uint32_t bindings,
                     uint32_t push_bytes, struct gx_spirv *spirv, struct gx_error *error);

#endif
