/* SPDX-License-Identifier: Apache-2.0
 *
 * Runs kernels that ptx_to_c.py translated: the threads of a warp take turns, each until it ends or
 * waits at a barrier; warps of a block, until they wait for each other; blocks run one after the
 * other.
 */
#ifndef GX_TEST_PTX_EMULATE_H
#define GX_TEST_PTX_EMULATE_H

#include <stdint.h>

struct gx_thread {
    uint32_t tid, ctaid_x, ctaid_y, nctaid_x;
    uint32_t op, check, repeat; /* the words of the text */
};

typedef void gx_thread_function(const struct gx_thread *self, uint8_t *args);

struct gx_emulated {
    gx_thread_function *function;
    int barriers; /* whether it has any */
};

/* Of a kernel: ends the turn of this thread. */
void gx__barrier(void);
void gx__warp_barrier(void);
/* The latter twice; one bit for each thread of the warp whose x is not 0. */
uint32_t gx__ballot(uint32_t x);
/* x of that thread of the warp. */
uint32_t gx__shuffle(uint32_t x, uint32_t lane);

/* x * y blocks of `threads` threads. Not from two threads of the host at once. */
void gx__emulate(struct gx_emulated kernel, uint8_t *args, uint32_t x, uint32_t y, uint32_t threads,
                 uint32_t op, uint32_t check, uint32_t repeat);

/* The kernels of gx__ptx, in its order: ptx_to_c.py prints them. */
extern const struct gx_emulated gx__ptx_emulated[];

/* The module of gx__ptx that this text is, with numbers in place of the words, which it returns;
 * -1: none. */
int gx__emulated_module(const char *text, uint32_t *op, uint32_t *check, uint32_t *repeat);

#endif
