/* SPDX-License-Identifier: Apache-2.0
 *
 * The compiled kernels, embedded by the build (cmake/shaders.cmake) in one table.
 */
#ifndef GX_KERNEL_SHADERS_H
#define GX_KERNEL_SHADERS_H

#include <stddef.h>
#include <stdint.h>

#include "gpuexec.h"
#include "kernel/interface.h"
#include "op/family.h"

/* Device features that a module needs, beyond Vulkan 1.2. */
#define GX_SHADER_NEEDS_INT64 1u /* shaderInt64 */
/* shaderDenormPreserve-, shaderSignedZeroInfNanPreserve- and shaderRoundingModeRTE-Float32 */
#define GX_SHADER_NEEDS_DENORM32 2u
#define GX_SHADER_NEEDS_SHUFFLE  4u /* subgroup shuffles in compute shaders */

/* Variants of one family and field give the same results: measurements choose the fastest among
 * those whose needs are met. */
struct gx_shader {
    enum gx_shader_family family;
    gx_field field;
    uint32_t needs;
    uint32_t each;       /* elements per invocation */
    const char *variant; /* "int64-x2": for reports and for storing the choice */
    const uint32_t *code;
    size_t bytes;
};

extern const struct gx_shader gx__shaders[];
extern const size_t gx__shader_count;

#endif
