/* SPDX-License-Identifier: Apache-2.0
 *
 * Instead of emulate.c and the translated kernels, where a build has none.
 */
#include "ptx/emulate.h"

#include <stddef.h>

#include "kernel/ptx.h"

const struct gx_ptx gx__ptx[1];
const struct gx_emulated gx__ptx_emulated[1];

int gx__emulated_module(const char *text, uint32_t *op, uint32_t *check, uint32_t *repeat)
{
    (void)text;
    *op = *check = *repeat = 0;
    return -1;
}

void gx__emulate(struct gx_emulated kernel, uint8_t *args, uint32_t x, uint32_t y, uint32_t threads,
                 uint32_t op, uint32_t check, uint32_t repeat)
{
    (void)kernel;
    (void)args;
    (void)x;
    (void)y;
    (void)threads;
    (void)op;
    (void)check;
    (void)repeat;
}
