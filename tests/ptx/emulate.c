/* SPDX-License-Identifier: Apache-2.0 */
#include "ptx/emulate.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>
#include <ucontext.h>

#include "kernel/ptx.h"

#define THREADS_MAX 1024
#define STACK_BYTES ((size_t)1 << 18)

static struct {
    gx_thread_function *kernel;
    uint8_t *args;
    ucontext_t scheduler, context[THREADS_MAX];
    struct gx_thread thread[THREADS_MAX];
    uint8_t *stacks;
    uint32_t running;
    int ended[THREADS_MAX];
} block;

static void run_thread(void)
{
    block.kernel(&block.thread[block.running], block.args);
    block.ended[block.running] = 1;
    swapcontext(&block.context[block.running], &block.scheduler);
}

void gx__barrier(void)
{
    swapcontext(&block.context[block.running], &block.scheduler);
}

/* A barrier counts threads that have ended as waiting, as GPUs do. */
static void run_block(const struct gx_thread *like, uint32_t threads)
{
    for (uint32_t t = 0; t < threads; t++) {
        block.thread[t] = *like;
        block.thread[t].tid = t;
        block.ended[t] = 0;
        getcontext(&block.context[t]);
        block.context[t].uc_stack.ss_sp = block.stacks + t * STACK_BYTES;
        block.context[t].uc_stack.ss_size = STACK_BYTES;
        makecontext(&block.context[t], run_thread, 0);
    }
    for (uint32_t left = threads; left;)
        for (uint32_t t = left = 0; t < threads; t++)
            if (!block.ended[t]) {
                block.running = t;
                swapcontext(&block.scheduler, &block.context[t]);
                left += !block.ended[t];
            }
}

void gx__emulate(gx_thread_function *kernel, uint8_t *args, uint32_t x, uint32_t y,
                 uint32_t threads, uint32_t op, uint32_t check, uint32_t repeat)
{
    assert(threads && threads <= THREADS_MAX);
    if (!block.stacks)
        block.stacks = malloc(THREADS_MAX * STACK_BYTES);
    assert(block.stacks);
    block.kernel = kernel;
    block.args = args;
    for (uint32_t j = 0; j < y; j++)
        for (uint32_t i = 0; i < x; i++)
            run_block(&(struct gx_thread){.ctaid_x = i,
                                          .ctaid_y = j,
                                          .nctaid_x = x,
                                          .op = op,
                                          .check = check,
                                          .repeat = repeat},
                      threads);
}

/* Whether text is the template with a number for each word; the same number wherever it is. */
static int fits(const char *template, const char *text, uint32_t value[3])
{
    static const char *const words[3] = {GX_PTX_OP, GX_PTX_CHECK, GX_PTX_REPEAT};
    int known[3] = {0};
    while (*template) {
        int w = -1;
        for (int i = 0; i < 3 && *template == 'G'; i++)
            if (!strncmp(template, words[i], strlen(words[i])))
                w = i;
        if (w < 0) {
            if (*template++ != *text++)
                return 0;
            continue;
        }
        char *end;
        uint32_t number = (uint32_t)strtoul(text, &end, 10);
        if (end == text || (known[w] && number != value[w]))
            return 0;
        known[w] = 1;
        value[w] = number;
        template += strlen(words[w]);
        text = end;
    }
    return !*text;
}

int gx__emulated_module(const char *text, uint32_t *op, uint32_t *check, uint32_t *repeat)
{
    for (size_t i = 0; i < gx__ptx_count; i++) {
        uint32_t value[3] = {0, 0, 1};
        if (fits(gx__ptx[i].text, text, value)) {
            *op = value[0];
            *check = value[1];
            *repeat = value[2];
            return (int)i;
        }
    }
    return -1;
}
