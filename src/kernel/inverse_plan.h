/* SPDX-License-Identifier: Apache-2.0
 *
 * inv and div of n elements as a list of dispatches: Montgomery's trick as a tree. Each
 * invocation of UP multiplies the elements t, t + T, t + 2T, ... and keeps the products
 * before each in scratch. The T products are inverted in the same way, until few enough
 * are left to invert one by one (TOP). DOWN goes back the same way, two products per
 * element. The stride keeps neighbouring invocations on neighbouring elements.
 *
 * Zeros count as 1 on the way up and give 0 on the way down, so they spoil nothing.
 * Every element is read by the invocation that later writes it: in place works.
 */
#ifndef GX_KERNEL_INVERSE_PLAN_H
#define GX_KERNEL_INVERSE_PLAN_H

#include <stdbool.h>

#include "device/device.h"
#include "kernel/shaders.h"

/* More elements per invocation save inversions and cost parallelism. */
#define GX_INVERSE_CHAIN 64

/* How many are inverted one by one rather than combined further: one inversion of
 * invert_top.comp with 64-bit integers takes as long as some 40 products, one without
 * (a power) as long as 600, but a level costs two dispatches and their latency. */
#define GX_INVERSE_DIRECT_INT64 32768
#define GX_INVERSE_DIRECT_INT32 1024

#define GX_INVERSE_STAGES_MAX 15

struct gx_inverse_slot {
    enum gx_bind from; /* the binding of gx_dispatch that goes into this slot */
    uint32_t quads;    /* and, from its start, where element 0 lies: units of 16 bytes */
};

/* One dispatch, of `invocations` in x; a barrier between kernels goes between stages. Of
 * the five slots each module uses those that its family needs (comments in the .comp);
 * the others may hold anything valid. SCRATCH always holds all of GX_BIND_SCRATCH. */
struct gx_inverse_stage {
    enum gx_shader_family family; /* with the field of the operation */
    gx_op op;                     /* GX_K_OP */
    bool check;                   /* it reads the caller's operands: GX_K_CHECK if asked for */
    uint64_t invocations;
    struct gx_inverse_slot out, a, b, c;
    uint32_t n; /* these three are push constants as they are */
    uint32_t broadcast;
    uint32_t stage[3];
};

struct gx_inverse_plan {
    uint32_t count;
    struct gx_inverse_stage stages[GX_INVERSE_STAGES_MAX];
    uint64_t scratch_quads; /* 16 * this: the bytes of GX_BIND_SCRATCH */
};

static inline struct gx_binding gx__inverse_slot(const struct gx_dispatch *dispatch,
                                                 const struct gx_inverse_slot *slot)
{
    struct gx_binding b = dispatch->bind[slot->from];
    b.offset += (size_t)slot->quads * 16;
    return b;
}

/* What a stage of the dispatch is bound to. */
static inline void gx__inverse_bind(const struct gx_dispatch *dispatch,
                                    const struct gx_inverse_stage *stage,
                                    struct gx_binding bind[GX_BINDINGS])
{
    bind[GX_BIND_OUT] = gx__inverse_slot(dispatch, &stage->out);
    bind[GX_BIND_A] = gx__inverse_slot(dispatch, &stage->a);
    bind[GX_BIND_B] = gx__inverse_slot(dispatch, &stage->b);
    bind[GX_BIND_C] = gx__inverse_slot(dispatch, &stage->c);
    bind[GX_BIND_SCRATCH] = dispatch->bind[GX_BIND_SCRATCH];
    bind[GX_BIND_BAD] = dispatch->bind[GX_BIND_BAD];
}

/* op is GX_INV or GX_DIV, 1 <= n <= 2^29, quads 2 or 3 per element, direct one of
 * GX_INVERSE_DIRECT_*, at least 64. Scratch stays below (n + n / 32 + 2 * direct) elements. */
static inline void gx__inverse_plan(gx_op op, unsigned broadcast, uint64_t n, uint32_t quads,
                                    uint32_t direct, struct gx_inverse_plan *plan)
{
    /* The elements to invert, their inverses times c (div), and the caller's broadcasts
     * moved to those slots. */
    const struct gx_inverse_slot out = {GX_BIND_OUT, 0};
    const struct gx_inverse_slot from = {op == GX_DIV ? GX_BIND_B : GX_BIND_A, 0};
    const struct gx_inverse_slot numerator = {GX_BIND_A, 0};
    uint32_t bits = 0;
    if (broadcast & (op == GX_DIV ? GX_BROADCAST_B : GX_BROADCAST_A))
        bits |= GX_BROADCAST_A;
    if (op == GX_DIV && broadcast & GX_BROADCAST_A)
        bits |= GX_BROADCAST_C;

    *plan = (struct gx_inverse_plan){0};
    if (op == GX_DIV && bits & GX_BROADCAST_A) { /* one inverse for all */
        const struct gx_inverse_slot inverse = {GX_BIND_SCRATCH, 0};
        plan->scratch_quads = quads;
        plan->stages[plan->count++] = (struct gx_inverse_stage){.family = GX_SHADER_INVERT_TOP,
                                                                .op = GX_INV,
                                                                .check = true,
                                                                .invocations = 1,
                                                                .out = inverse,
                                                                .a = from,
                                                                .b = from,
                                                                .c = from,
                                                                .n = 1};
        plan->stages[plan->count++] = (struct gx_inverse_stage){
            .family = GX_SHADER_MUL,
            .op = GX_MUL,
            .check = true,
            .invocations = n,
            .out = out,
            .a = numerator,
            .b = inverse,
            .c = numerator,
            .n = (uint32_t)n,
            .broadcast = GX_BROADCAST_B | (bits & GX_BROADCAST_C ? GX_BROADCAST_A : 0)};
        return;
    }

    struct gx_inverse_stage down[GX_INVERSE_STAGES_MAX / 2];
    uint32_t levels = 0;
    uint64_t left = n;
    struct gx_inverse_slot elements = from;
    while (left > direct) {
        uint64_t threads = (left + GX_INVERSE_CHAIN - 1) / GX_INVERSE_CHAIN;
        threads = threads < direct ? direct : threads;
        const struct gx_inverse_slot products = {GX_BIND_SCRATCH, (uint32_t)plan->scratch_quads};
        plan->scratch_quads += threads * quads;
        struct gx_inverse_stage stage = {
            .check = levels == 0,
            .invocations = threads,
            .a = elements,
            .n = (uint32_t)left,
            .broadcast = levels == 0 ? bits : 0,
            .stage = {(uint32_t)threads, (uint32_t)plan->scratch_quads}};
        plan->scratch_quads += (left - threads) * quads;

        down[levels] = stage;
        down[levels].family = GX_SHADER_INVERT_DOWN;
        down[levels].op = levels == 0 ? op : GX_INV;
        down[levels].out = levels == 0 ? out : elements;
        down[levels].b = products;
        down[levels].c = levels == 0 ? numerator : elements;

        stage.family = GX_SHADER_INVERT_UP;
        stage.op = GX_INV;
        stage.out = products;
        stage.b = stage.c = elements;
        plan->stages[plan->count++] = stage;
        elements = products;
        left = threads;
        levels++;
    }
    plan->stages[plan->count++] = (struct gx_inverse_stage){.family = GX_SHADER_INVERT_TOP,
                                                            .op = levels == 0 ? op : GX_INV,
                                                            .check = levels == 0,
                                                            .invocations = left,
                                                            .out = levels == 0 ? out : elements,
                                                            .a = elements,
                                                            .b = elements,
                                                            .c = levels == 0 ? numerator : elements,
                                                            .n = (uint32_t)left,
                                                            .broadcast = levels == 0 ? bits : 0};
    while (levels-- > 0)
        plan->stages[plan->count++] = down[levels];
}

#endif
