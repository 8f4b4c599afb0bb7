/* SPDX-License-Identifier: Apache-2.0
 *
 * The planner: one function per kind of operation, which fills a list of passes.
 */
#include "device/gpu/passes.h"

/* Elements per invocation of the forward and backward pass: more save inversions and cost
 * parallelism. */
#define INVERSE_CHAIN 64u

/* For reductions: minimum elements per invocation, and maximum invocations. More invocations leave
 * more partial results and are no faster: dot took 4 % longer with 2^20 on an H200. */
#define REDUCE_EACH        16u
#define REDUCE_INVOCATIONS ((uint64_t)1 << 18)

static struct gx_pass *add_pass(struct gx_passes *passes, const struct gx_pass *pass)
{
    struct gx_pass *added = &passes->pass[passes->count++];
    *added = *pass;
    return added;
}

/* ---- elementwise ---- */

static uint64_t count_of(const struct gx_kernel_key *key, unsigned bit, uint64_t n)
{
    return key->broadcast & bit ? 1 : n;
}

static void plan_elementwise(const struct gx_kernel_key *key, uint64_t n,
                             const struct gx_pass_facts *facts, struct gx_passes *passes)
{
    unsigned operands = gx__op_operands(key->op);
    struct gx_pass pass = {.family = gx__op_family(key->op, key->field),
                           .op = key->op,
                           .check = true,
                           .invocations = (n + facts->each - 1) / facts->each,
                           .out = {GX_BIND_OUT, 0, n},
                           .a = {GX_BIND_A, 0, count_of(key, GX_BROADCAST_A, n)},
                           .b = {GX_BIND_B, 0, count_of(key, GX_BROADCAST_B, n)},
                           .c = {GX_BIND_C, 0, count_of(key, GX_BROADCAST_C, n)},
                           .n = (uint32_t)n,
                           .broadcast = key->broadcast,
                           .products = n * gx__op_products(key->op)};
    pass.b.touched = operands < 2 ? 0 : pass.b.touched;
    pass.c.touched = operands < 3 ? 0 : pass.c.touched;
    pass.out.touched = key->op == GX_OP_CHECK ? 0 : gx__op_one_result(key->op) ? 1 : n;
    add_pass(passes, &pass);
}

/* ---- inversion ----
 *
 * Montgomery's trick as a tree. Each invocation of UP multiplies the elements t, t + T, t + 2T,
 * ... and keeps the products before each in scratch. The T products are inverted in the same way,
 * until few enough are left to invert one by one (TOP). DOWN goes back the same way, two products
 * per element. The stride keeps neighbouring invocations on neighbouring elements.
 *
 * Zeros count as 1 on the way up and give 0 on the way down, so they spoil nothing. Every element
 * is read by the invocation that later writes it: in place works.
 *
 * Scratch stays below (n + n / 32 + 2 * direct) elements.
 */

struct inverse {
    gx_op op; /* GX_INV or GX_DIV */
    uint64_t n;
    uint32_t quads;                      /* of an element */
    struct gx_pass_bind from, numerator; /* what is inverted, and for div the other factor */
    uint32_t broadcast;                  /* of these two, as A and C */
    uint64_t from_n, numerator_n;        /* number of elements */
};

static struct inverse inverse_of(const struct gx_kernel_key *key, uint64_t n)
{
    bool div = key->op == GX_DIV;
    unsigned from = div ? GX_BROADCAST_B : GX_BROADCAST_A;
    struct inverse v = {.op = key->op,
                        .n = n,
                        .quads = (uint32_t)gx__element_bytes(key->field) / 16,
                        .from_n = count_of(key, from, n),
                        .numerator_n = div ? count_of(key, GX_BROADCAST_A, n) : 0};
    v.from = (struct gx_pass_bind){div ? GX_BIND_B : GX_BIND_A, 0, v.from_n};
    v.numerator = (struct gx_pass_bind){GX_BIND_A, 0, v.numerator_n};
    if (key->broadcast & from)
        v.broadcast |= GX_BROADCAST_A;
    if (div && key->broadcast & GX_BROADCAST_A)
        v.broadcast |= GX_BROADCAST_C;
    return v;
}

static struct gx_pass_bind nothing_of(struct gx_pass_bind bind)
{
    bind.touched = 0;
    return bind;
}

/* div by a single element: one inverse for all. */
static void plan_one_divisor(const struct inverse *v, const struct gx_pass_facts *facts,
                             struct gx_passes *passes)
{
    const struct gx_pass_bind inverse = {GX_BIND_SCRATCH, 0, 1};
    passes->scratch_quads = v->quads;
    add_pass(passes, &(struct gx_pass){.family = GX_SHADER_INVERT_TOP,
                                       .op = GX_INV,
                                       .check = true,
                                       .invocations = 1,
                                       .out = inverse,
                                       .a = v->from,
                                       .b = nothing_of(v->from),
                                       .c = nothing_of(v->from),
                                       .n = 1,
                                       .products = facts->inverse});
    add_pass(passes,
             &(struct gx_pass){.family = GX_SHADER_MUL,
                               .op = GX_MUL,
                               .check = true,
                               .invocations = (v->n + facts->each - 1) / facts->each,
                               .out = {GX_BIND_OUT, 0, v->n},
                               .a = v->numerator,
                               .b = inverse,
                               .c = nothing_of(v->numerator),
                               .n = (uint32_t)v->n,
                               .broadcast = GX_BROADCAST_B |
                                            (v->broadcast & GX_BROADCAST_C ? GX_BROADCAST_A : 0),
                               .products = v->n});
}

static void plan_inverse(const struct gx_kernel_key *key, uint64_t n,
                         const struct gx_pass_facts *facts, struct gx_passes *passes)
{
    const struct inverse v = inverse_of(key, n);
    if (v.op == GX_DIV && v.broadcast & GX_BROADCAST_A) {
        plan_one_divisor(&v, facts, passes);
        return;
    }
    struct gx_pass down[GX_PASSES_MAX / 2];
    uint32_t levels = 0;
    uint64_t left = n;
    struct gx_pass_bind elements = v.from;
    while (left > facts->direct) {
        uint64_t threads = (left + INVERSE_CHAIN - 1) / INVERSE_CHAIN;
        threads = threads < facts->direct ? facts->direct : threads;
        const struct gx_pass_bind products = {GX_BIND_SCRATCH, (uint32_t)passes->scratch_quads,
                                              threads};
        passes->scratch_quads += threads * v.quads;
        struct gx_pass pass = {.check = levels == 0,
                               .invocations = threads,
                               .a = elements,
                               .n = (uint32_t)left,
                               .broadcast = levels == 0 ? v.broadcast : 0,
                               .stage = {(uint32_t)threads, (uint32_t)passes->scratch_quads},
                               .scratch = left - threads};
        passes->scratch_quads += (left - threads) * v.quads;

        down[levels] = pass;
        down[levels].family = GX_SHADER_INVERT_DOWN;
        down[levels].op = levels == 0 ? v.op : GX_INV;
        down[levels].out = levels == 0 ? (struct gx_pass_bind){GX_BIND_OUT, 0, n} : elements;
        down[levels].b = products;
        down[levels].c = levels == 0 ? v.numerator : nothing_of(elements);
        down[levels].products = left * (down[levels].op == GX_DIV ? 3 : 2);

        pass.family = GX_SHADER_INVERT_UP;
        pass.op = GX_INV;
        pass.out = products;
        pass.b = pass.c = nothing_of(elements);
        pass.products = left - threads;
        add_pass(passes, &pass);
        elements = products;
        left = threads;
        levels++;
    }
    bool only = levels == 0;
    add_pass(passes,
             &(struct gx_pass){.family = GX_SHADER_INVERT_TOP,
                               .op = only ? v.op : GX_INV,
                               .check = only,
                               .invocations = left,
                               .out = only ? (struct gx_pass_bind){GX_BIND_OUT, 0, n} : elements,
                               .a = elements,
                               .b = nothing_of(elements),
                               .c = only ? v.numerator : nothing_of(elements),
                               .n = (uint32_t)left,
                               .broadcast = only ? v.broadcast : 0,
                               .products = left * (facts->inverse + (only && v.op == GX_DIV))});
    while (levels-- > 0)
        add_pass(passes, &down[levels]);
}

/* ---- reductions ----
 *
 * Invocation t of a pass takes the elements t, t + T, t + 2T, ...; each workgroup leaves one
 * partial result. Further passes add these up until one is left, which goes to OUT. The pass that
 * writes OUT adds what is there where the key says `accumulate`.
 */

/* A pass over n elements of `a`, with enough workgroups; *partial receives its output. */
static void add_reduction(struct gx_passes *passes, struct gx_pass *pass, uint32_t accumulate,
                          uint32_t workgroup, uint32_t quads, struct gx_pass_bind *partial)
{
    uint64_t wanted = pass->n / REDUCE_EACH + 1;
    wanted = wanted < REDUCE_INVOCATIONS ? wanted : REDUCE_INVOCATIONS;
    uint64_t groups = (wanted + workgroup - 1) / workgroup;
    *partial = (struct gx_pass_bind){GX_BIND_SCRATCH, (uint32_t)passes->scratch_quads, groups};
    pass->invocations = groups * workgroup;
    pass->out = groups == 1 ? (struct gx_pass_bind){GX_BIND_OUT, 0, 1} : *partial;
    pass->c = (struct gx_pass_bind){GX_BIND_OUT, 0, groups == 1 && accumulate};
    pass->stage[0] = (uint32_t)groups;
    pass->stage[1] = groups == 1 && accumulate;
    if (groups > 1)
        passes->scratch_quads += groups * quads;
    add_pass(passes, pass);
}

static void plan_reduction(const struct gx_kernel_key *key, uint64_t n,
                           const struct gx_pass_facts *facts, struct gx_passes *passes)
{
    bool two_operands = gx__op_operands(key->op) > 1;
    uint32_t quads = (uint32_t)gx__element_bytes(key->field) / 16;
    struct gx_pass_bind partial;
    struct gx_pass pass = {.family = gx__op_family(key->op, key->field),
                           .op = key->op,
                           .check = true,
                           .a = {GX_BIND_A, 0, count_of(key, GX_BROADCAST_A, n)},
                           .b = {two_operands ? GX_BIND_B : GX_BIND_A, 0,
                                 two_operands ? count_of(key, GX_BROADCAST_B, n) : 0},
                           .n = (uint32_t)n,
                           .broadcast = key->broadcast,
                           .products = n * gx__op_products(key->op)};
    add_reduction(passes, &pass, key->accumulate, facts->workgroup, quads, &partial);
    while (partial.touched > 1) {
        pass = (struct gx_pass){.family = gx__op_family(GX_SUM, key->field),
                                .op = GX_SUM,
                                .a = partial,
                                .b = nothing_of(partial),
                                .n = (uint32_t)partial.touched};
        add_reduction(passes, &pass, key->accumulate, facts->workgroup, quads, &partial);
    }
}

void gx__passes(const struct gx_kernel_key *key, uint64_t n, const struct gx_pass_facts *facts,
                struct gx_passes *passes)
{
    passes->count = 0;
    passes->scratch_quads = 0;
    enum gx_shader_family family = gx__op_family(key->op, key->field);
    if (family == GX_SHADER_INVERT_UP)
        plan_inverse(key, n, facts, passes);
    else if (key->op == GX_NTT)
        gx__plan_ntt(key, n, facts, passes);
    else if (key->op == GX_OP_MSM_SUMS)
        gx__plan_msm(key, n, facts, passes);
    else if (family == GX_SHADER_SCAN || family == GX_SHADER_PERMUTE)
        gx__plan_poly(key, n, passes);
    else if (gx__op_shape(key->op) == GX_SHAPE_REDUCTION)
        plan_reduction(key, n, facts, passes);
    else
        plan_elementwise(key, n, facts, passes);
}
