/* SPDX-License-Identifier: Apache-2.0
 *
 * Kernels as WGSL text, for WebGPU: written when they are first needed, from the templates in
 * wgsl/ and the field's row in field/field.c. Families, bindings and what they mean are those
 * of the GLSL kernels (shaders.h, interface.h).
 */
#ifndef GX_KERNEL_WGSL_H
#define GX_KERNEL_WGSL_H

#include <stdbool.h>

#include "kernel/shaders.h"

/* X(symbol, name): how products are made. They give the same results; which is fastest, the
 * device has to tell. Those that need 64-bit integers come last, from GX_WGSL_WIDE on. */
#define GX_WGSL_MUL_LIST(X)                                                                        \
    X(GX_WGSL_DELAY, "delay")     /* short limbs, carries at the end */                            \
    X(GX_WGSL_CARRY, "carry")     /* limbs of 16 bits, a carry with every step */                  \
    X(GX_WGSL_WIDE, "wide")       /* 64-bit integers, which WGSL has not, but wgpu may */          \
    X(GX_WGSL_COLUMNS, "columns") /* the same, carries at the end, without loops */

enum gx_wgsl_mul {
#define X(symbol, name) symbol,
    GX_WGSL_MUL_LIST(X)
#undef X
        GX_WGSL_MULS
};
extern const char *const gx__wgsl_mul_names[GX_WGSL_MULS];

/* Whether an invocation may take several elements. */
static inline bool gx__wgsl_elementwise(enum gx_shader_family family)
{
    return family == GX_SHADER_LINEAR || family == GX_SHADER_MUL || family == GX_SHADER_WORDS ||
           family == GX_SHADER_COPY;
}

/* Elements per invocation of a family that is not elementwise. */
static inline uint32_t gx__wgsl_each(enum gx_shader_family family, enum gx_wgsl_mul mul)
{
    return family != GX_SHADER_NTT ? 1 : mul == GX_WGSL_COLUMNS ? 8 : 4;
}

struct gx_wgsl_key {
    enum gx_shader_family family;
    gx_field field;
    gx_op op;
    bool check;
    uint32_t repeat; /* as GX_K_REPEAT: at least 1 */
    uint32_t workgroup;
    uint32_t each;        /* elements per invocation, at least 1 */
    enum gx_wgsl_mul mul; /* of families that multiply */
};

/* Writes the kernel's source, its entry point main, as snprintf does: at most `size` bytes with
 * the 0 at the end, and returns how many there are without it. 0: there is no such kernel. */
size_t gx__wgsl_write(const struct gx_wgsl_key *key, char *text, size_t size);

/* The templates, by name; embedded by the build (cmake/wgsl.cmake), the last name is NULL. */
struct gx_wgsl_file {
    const char *name;
    const char *text;
};
extern const struct gx_wgsl_file gx__wgsl_files[];

#endif
