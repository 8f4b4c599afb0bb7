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

/* What a module does; specialization constant GX_K_OP selects its operation. */
enum gx_shader_family {
    GX_SHADER_LINEAR,    /* prime: add, sub, neg, check */
    GX_SHADER_MUL,       /* prime: mul, sqr, mul-add, to-mont, from-mont */
    GX_SHADER_INVERT_UP, /* prime: passes of inv and div, see op/passes.c */
    GX_SHADER_INVERT_TOP,
    GX_SHADER_INVERT_DOWN,
    GX_SHADER_SUM, /* prime: sum, and the joining of partial results */
    GX_SHADER_DOT,
    GX_SHADER_NTT,       /* prime: a pass of a transform, see op/passes_ntt.c */
    GX_SHADER_NTT_SMALL, /* the same, of small transforms; only in CUDA */
    GX_SHADER_NTT_TABLE,
    GX_SHADER_SCAN, /* prime: prefix-sum, prefix-product, divide-linear, evaluate, powers, cosets,
                       see op/passes_poly.c */
    GX_SHADER_PERMUTE,  /* prime: bit-reverse, gather, rotate, interleave, deinterleave */
    GX_SHADER_MSM_SORT, /* prime: passes of multi-scalar multiplications, see op/passes_msm.c; ...
                         */
    GX_SHADER_MSM_ADD,
    GX_SHADER_MSM_SUM,
    GX_SHADER_MSM_ADD_2, /* ... coordinates in the quadratic extension */
    GX_SHADER_MSM_SUM_2,
    GX_SHADER_WORDS, /* u32 or f32: add, sub, mul */
    GX_SHADER_COPY,  /* field 0: 16 bytes per element */
    GX_SHADER_ROOF,  /* field 0: 32 x 32 + 64 multiply-adds */
    GX_SHADER_FAMILIES,
    GX_SHADER_OWN = GX_SHADER_FAMILIES /* of the caller: no module of ours */
};

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
