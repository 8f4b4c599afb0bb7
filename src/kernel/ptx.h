/* SPDX-License-Identifier: Apache-2.0
 *
 * The kernels as PTX, embedded by the build (cmake/ptx.cmake) in one table.
 */
#ifndef GX_KERNEL_PTX_H
#define GX_KERNEL_PTX_H

#include "kernel/shaders.h"

/* One entry point, GX_PTX_ENTRY, whose only parameter is a struct gx_ptx_args. OP, CHECK and REPEAT
 * are words in the text, to be replaced by decimal numbers before the driver compiles it. A text
 * with AWAIT can be launched before the launches before it have ended: then that word becomes the
 * instructions that wait for them and let the next one begin, otherwise nothing. VERSION and TARGET
 * are those of the text (cmake/ptx.cmake); these instructions need later ones. */
#define GX_PTX_ENTRY   "gx_kernel"
#define GX_PTX_OP      "GX_PTX_OP"
#define GX_PTX_CHECK   "GX_PTX_CHECK"
#define GX_PTX_REPEAT  "GX_PTX_REPEAT"
#define GX_PTX_AWAIT   "GX_PTX_AWAIT"
#define GX_PTX_VERSION ".version 6.0"
#define GX_PTX_TARGET  ".target sm_70"

struct gx_ptx_args {
    uint64_t bind[GX_K_TABLE + 1]; /* device addresses, in the order of GX_K_OUT ... */
    uint32_t push[GX_K_PUSH_WORDS];
};

struct gx_ptx {
    enum gx_shader_family family;
    gx_field field;
    uint32_t each;      /* elements per invocation */
    uint32_t workgroup; /* threads of a block: known when it is compiled */
    const char *variant;
    const char *text; /* ends in NUL */
    size_t bytes;     /* without it */
};

extern const struct gx_ptx gx__ptx[];
extern const size_t gx__ptx_count; /* 0 in a build without clang's NVPTX target */

#endif
