/* SPDX-License-Identifier: Apache-2.0 */
#include "ptx/emulate.h"

#include <assert.h>
#include <setjmp.h>
#include <stdlib.h>
#include <string.h>
#include <ucontext.h>

#include "kernel/ptx.h"

#define THREADS_MAX 1024
#define STACK_BYTES ((size_t)1 << 18)

static struct {
    gx_thread_function *kernel;
    uint8_t *args;
    ucontext_t start, begin[THREADS_MAX]; /* only to begin: later switches need no system call */
    jmp_buf scheduler, at[THREADS_MAX];
    struct gx_thread thread[THREADS_MAX];
    uint8_t *stacks;
    uint32_t running;
    enum { NEW, AT_BARRIER, AT_WARP_BARRIER, ENDED } state[THREADS_MAX];
    uint32_t voted[THREADS_MAX];
} block;

static void run_thread(void)
{
    block.kernel(&block.thread[block.running], block.args);
    block.state[block.running] = ENDED;
    _longjmp(block.scheduler, 1);
}

void gx__barrier(void)
{
    block.state[block.running] = AT_BARRIER;
    if (!_setjmp(block.at[block.running]))
        _longjmp(block.scheduler, 1);
}

void gx__warp_barrier(void)
{
    block.state[block.running] = AT_WARP_BARRIER;
    if (!_setjmp(block.at[block.running]))
        _longjmp(block.scheduler, 1);
}

uint32_t gx__ballot(uint32_t x)
{
    const uint32_t *warp = block.voted + block.running / 32 * 32;
    uint32_t those = 0;
    block.voted[block.running] = x != 0;
    gx__warp_barrier();
    for (int i = 0; i < 32; i++)
        those |= warp[i] << i;
    gx__warp_barrier();
    return those;
}

static void take_turn(uint32_t t)
{
    block.running = t;
    if (_setjmp(block.scheduler))
        return;
    if (block.state[t] == NEW)
        swapcontext(&block.start, &block.begin[t]);
    else
        _longjmp(block.at[t], 1);
}

/* A warp runs as far as it can alone: what another one has to do first would be missing. Returns
 * how many of its threads have not ended. */
static uint32_t run_warp(uint32_t first, uint32_t end)
{
    volatile uint32_t left, again;
    do {
        left = again = 0;
        for (volatile uint32_t t = first; t < end; t++)
            if (block.state[t] != ENDED) {
                take_turn(t);
                left += block.state[t] != ENDED;
                again += block.state[t] == AT_WARP_BARRIER;
            }
        assert(!again || again == left);
    } while (again);
    return left;
}

/* A barrier counts threads that have ended as waiting, as GPUs do. */
static void run_block(const struct gx_thread *like, uint32_t threads, int barriers)
{
    for (uint32_t t = 0; t < threads; t++) {
        block.thread[t] = *like;
        block.thread[t].tid = t;
        block.state[t] = NEW;
        if (!barriers) {
            block.kernel(&block.thread[t], block.args);
            continue;
        }
        getcontext(&block.begin[t]);
        block.begin[t].uc_stack.ss_sp = block.stacks + t * STACK_BYTES;
        block.begin[t].uc_stack.ss_size = STACK_BYTES;
        makecontext(&block.begin[t], run_thread, 0);
    }
    for (volatile uint32_t left = barriers ? threads : 0; left;) {
        left = 0;
        for (volatile uint32_t t = 0; t < threads; t += 32)
            left += run_warp(t, threads - t < 32 ? threads : t + 32);
    }
}

void gx__emulate(struct gx_emulated kernel, uint8_t *args, uint32_t x, uint32_t y, uint32_t threads,
                 uint32_t op, uint32_t check, uint32_t repeat)
{
    assert(threads && threads <= THREADS_MAX);
    if (!block.stacks)
        block.stacks = malloc(THREADS_MAX * STACK_BYTES);
    assert(block.stacks);
    block.kernel = kernel.function;
    block.args = args;
    for (uint32_t j = 0; j < y; j++)
        for (uint32_t i = 0; i < x; i++)
            run_block(&(struct gx_thread){.ctaid_x = i,
                                          .ctaid_y = j,
                                          .nctaid_x = x,
                                          .op = op,
                                          .check = check,
                                          .repeat = repeat},
                      threads, kernel.barriers);
}

static int begins(const char *text, const char *with)
{
    return !strncmp(text, with, strlen(with));
}

/* At one of the words for kernels that await the launches before them: steps over it, and over what
 * is in its place in a text that does, or in one that does not. */
static int step_over(const char **template, const char **text, int awaits)
{
    static const char *const words[3][3] = {
        {GX_PTX_AWAIT, "", "griddepcontrol.wait; griddepcontrol.launch_dependents;"},
        {GX_PTX_VERSION, ".version 6.0", ".version 7.8"},
        {GX_PTX_TARGET, ".target sm_70", ".target sm_90"}};
    for (int i = 0; i < 3; i++)
        if (begins(*template, words[i][0]) && begins(*text, words[i][1 + awaits])) {
            *template += strlen(words[i][0]);
            *text += strlen(words[i][1 + awaits]);
            return 1;
        }
    return 0;
}

/* Whether text is the template with a number for each word; the same number wherever it is. */
static int fits(const char *template, const char *text, uint32_t value[3])
{
    static const char *const words[3] = {GX_PTX_OP, GX_PTX_CHECK, GX_PTX_REPEAT};
    const int awaits = strstr(text, "griddepcontrol") != NULL;
    int known[3] = {0};
    while (*template) {
        if ((*template == 'G' || *template == '.') && step_over(&template, &text, awaits))
            continue;
        int w = -1;
        for (int i = 0; i < 3 && *template == 'G'; i++)
            if (!strncmp(template, words[i], strlen(words[i])))
                w = i;
        if (w < 0) {
            if (*template ++ != *text++)
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
