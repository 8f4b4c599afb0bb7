/* SPDX-License-Identifier: Apache-2.0
 *
 * Bounds how deeply a WGSL text of the caller is nested before wgpu sees it: wgpu reads it
 * recursively, and ends the process where the stack does. Whether the text is WGSL is not checked.
 */
#ifndef GX_OP_REGISTERED_WGSL_H
#define GX_OP_REGISTERED_WGSL_H

#include <stdbool.h>
#include <stddef.h>

#include "base/error.h"

/* The limits, which doc/kernels.md lists. Each of them needs less than 1 MiB of stack. Measured
 * with wgpu-native on x86-64 and a stack of 8 MiB, the process ended at 4096 brackets, 8192 else,
 * 16384 operators and 32768 declarations. */
enum {
    GX_WGSL_BRACKETS = 128,     /* of all kinds, <> of templates included, around a place */
    GX_WGSL_OPERATORS = 1024,   /* on the way to a place in an expression; a bracket counts as 8 */
    GX_WGSL_ELSES = 512,        /* in a function */
    GX_WGSL_DECLARATIONS = 2048 /* of the module: each may refer to the next */
};

/* False, with a message, if the text is beyond one of them. */
bool gx__wgsl_check(const char *text, struct gx_error *error);

#endif
