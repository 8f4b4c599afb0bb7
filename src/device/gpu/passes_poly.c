/* SPDX-License-Identifier: Apache-2.0
 *
 * The passes of operations on polynomials. Permutations have one. The others are levels of runs:
 * level 0 has the elements, and each further level has one element for each RUN of the level
 * below, in SCRATCH.
 *
 * Scans go up, to what each run adds up to (or multiplies to), until one run is left, and down
 * again: element t of a level becomes what run t of the level below begins with. The elements of
 * divide-linear are scanned from the highest coefficient on, and a run of level l stands for
 * RUN^l of them: the point is squared as often as that takes.
 *
 * evaluate only goes up, to one element. A run is evaluated at the point of its level; in
 * bit-reversed order a run has elements that are as far apart as there are runs, and which it
 * takes in the bit-reversed order of their number. powers only go down: level l has the powers of
 * base^(RUN^l). cosets are all products of two elements of such lists.
 */
#include "device/gpu/passes.h"

#define RUN_LOG2   5u
#define RUN        (1u << RUN_LOG2)
#define LEVELS_MAX 7u

struct levels {
    uint32_t count;
    uint64_t length[LEVELS_MAX];
    uint32_t at[LEVELS_MAX]; /* in SCRATCH, in units of 16 bytes; not of level 0 */
};

static uint32_t quads_of(const struct gx_kernel_key *key)
{
    return (uint32_t)gx__element_bytes(key->field) / 16;
}

static struct gx_pass_bind in_scratch(const struct gx_kernel_key *key, uint64_t n,
                                      struct gx_passes *passes)
{
    const struct gx_pass_bind bind = {GX_BIND_SCRATCH, (uint32_t)passes->scratch_quads, n};
    passes->scratch_quads += n * quads_of(key);
    return bind;
}

/* Levels over n elements, up to one that has no more than `most`. */
static struct levels levels_of(const struct gx_kernel_key *key, uint64_t n, uint64_t most,
                               struct gx_passes *passes)
{
    struct levels levels = {.count = 1, .length = {n}};
    while (n > most) {
        n = (n + RUN - 1) >> RUN_LOG2;
        levels.length[levels.count] = n;
        levels.at[levels.count++] = in_scratch(key, n, passes).quads;
    }
    return levels;
}

static struct gx_pass_bind level_bind(const struct levels *levels, uint32_t i,
                                      struct gx_pass_bind caller)
{
    return i ? (struct gx_pass_bind){GX_BIND_SCRATCH, levels->at[i], levels->length[i]} : caller;
}

static void add_pass(struct gx_passes *passes, struct gx_pass pass)
{
    passes->pass[passes->count++] = pass;
}

/* ---- scans ---- */

/* A pass over n elements in runs of `run`. level: of its point. */
static struct gx_pass run_pass(gx_op op, uint64_t n, uint32_t run, uint32_t level, uint32_t flags)
{
    return (struct gx_pass){.family = GX_SHADER_SCAN,
                            .op = op,
                            .check = true,
                            .invocations = (n + run - 1) / run,
                            .n = (uint32_t)n,
                            .stage = {run | (level * RUN_LOG2) << GX_K_SCAN_SQUARINGS | flags},
                            .products = op == GX_PREFIX_SUM ? 0 : n};
}

static void plan_scan(const struct gx_kernel_key *key, uint64_t n, struct gx_passes *passes)
{
    const struct levels levels = levels_of(key, n, RUN, passes);
    const struct gx_pass_bind a = {GX_BIND_A, 0, n}, out = {GX_BIND_OUT, 0, n};
    const struct gx_pass_bind b = {key->op == GX_DIVIDE_LINEAR ? GX_BIND_B : GX_BIND_A, 0,
                                   key->op == GX_DIVIDE_LINEAR};
    const uint32_t top = levels.count - 1;
    for (uint32_t i = 0; i < top; i++) {
        struct gx_pass up = run_pass(key->op, levels.length[i], RUN, i,
                                     i ? 0 : GX_K_SCAN_CALLER | GX_K_SCAN_OPERAND);
        up.a = up.c = level_bind(&levels, i, a);
        up.c.touched = 0;
        up.b = b;
        up.out = level_bind(&levels, i + 1, out);
        add_pass(passes, up);
    }
    for (uint32_t i = levels.count; i-- > 0;) {
        struct gx_pass down =
            run_pass(key->op, levels.length[i], RUN, i,
                     GX_K_SCAN_DOWN | (i ? 0 : GX_K_SCAN_CALLER) | (i < top ? GX_K_SCAN_CARRY : 0) |
                         (top ? 0 : GX_K_SCAN_OPERAND));
        down.a = level_bind(&levels, i, a);
        down.b = b;
        down.c = level_bind(&levels, i < top ? i + 1 : i, a);
        down.c.touched = i < top ? down.c.touched : 0;
        down.out = level_bind(&levels, i, out);
        add_pass(passes, down);
    }
}

/* ---- evaluate ---- */

/* Elements of a run: less than RUN where there are fewer, in bit-reversed order. */
static uint32_t reversed_run(uint64_t n)
{
    return n < RUN ? (uint32_t)n : RUN;
}

static void plan_evaluate(const struct gx_kernel_key *key, uint64_t n, struct gx_passes *passes)
{
    const bool reversed = key->param[GX_PARAM_POLY_FLAGS] & GX_POLY_REVERSED;
    struct gx_pass_bind from = {GX_BIND_A, 0, n};
    for (uint32_t level = 0; n > 1 || !level; level++) {
        uint32_t run = reversed ? reversed_run(n) : RUN;
        uint64_t left = (n + run - 1) / run;
        struct gx_pass up =
            run_pass(key->op, n, run, level, level ? 0 : GX_K_SCAN_CALLER | GX_K_SCAN_OPERAND);
        up.a = up.c = from;
        up.c.touched = 0;
        up.b = (struct gx_pass_bind){GX_BIND_B, 0, 1};
        up.out =
            left > 1 ? in_scratch(key, left, passes) : (struct gx_pass_bind){GX_BIND_OUT, 0, 1};
        up.stage[1] = reversed ? (uint32_t)left : 0;
        add_pass(passes, up);
        from = up.out;
        n = left;
    }
}

/* ---- powers ---- */

/* out[i] = base^i for i < n */
static void add_powers(const struct gx_kernel_key *key, struct gx_pass_bind base, uint64_t n,
                       struct gx_pass_bind out, struct gx_passes *passes)
{
    const struct levels levels = levels_of(key, n, RUN, passes);
    const uint32_t top = levels.count - 1;
    for (uint32_t i = levels.count; i-- > 0;) {
        struct gx_pass down =
            run_pass(GX_POWERS, levels.length[i], RUN, i,
                     GX_K_SCAN_DOWN | (i ? 0 : GX_K_SCAN_CALLER | GX_K_SCAN_OPERAND) |
                         (i < top ? GX_K_SCAN_CARRY : 0));
        down.a = down.b = base;
        down.a.touched = 0;
        down.c = i < top ? level_bind(&levels, i + 1, out) : down.a;
        down.out = level_bind(&levels, i, out);
        add_pass(passes, down);
    }
}

/* An operand that is checked and not used. */
static void add_check(const struct gx_kernel_key *key, struct gx_pass_bind one,
                      struct gx_passes *passes)
{
    struct gx_pass pass = {.family = GX_SHADER_LINEAR,
                           .op = GX_OP_CHECK,
                           .check = true,
                           .invocations = 1,
                           .out = {GX_BIND_OUT, 0, 0},
                           .a = one,
                           .b = one,
                           .c = one,
                           .n = 1};
    pass.b.touched = pass.c.touched = 0;
    if (key->check)
        add_pass(passes, pass);
}

static void plan_cosets(const struct gx_kernel_key *key, uint64_t n, struct gx_passes *passes)
{
    const uint64_t each = gx__param64(key->param + GX_PARAM_COUNT), copies = n / each;
    const struct gx_pass_bind a = {GX_BIND_A, 0, 1}, b = {GX_BIND_B, 0, 1},
                              out = {GX_BIND_OUT, 0, n};
    if (each == 1 || copies == 1) { /* without a list as long as out */
        add_check(key, each == 1 ? a : b, passes);
        add_powers(key, each == 1 ? b : a, n, out, passes);
        return;
    }
    struct gx_pass pass = run_pass(GX_COSETS, n, 1, 0, GX_K_SCAN_DOWN | GX_K_SCAN_CALLER);
    pass.a = in_scratch(key, each, passes);
    pass.c = in_scratch(key, copies, passes);
    pass.b = b;
    pass.b.touched = 0;
    pass.out = out;
    pass.stage[1] = (uint32_t)each;
    add_powers(key, a, each, pass.a, passes);
    add_powers(key, b, copies, pass.c, passes);
    add_pass(passes, pass);
}

/* ---- permutations ---- */

static void plan_permute(const struct gx_kernel_key *key, uint64_t n, struct gx_passes *passes)
{
    uint64_t count = gx__param64(key->param + GX_PARAM_COUNT), part = 0, read = n;
    if (key->op == GX_BIT_REVERSE)
        part = 32 - (uint64_t)__builtin_ctzll(n);
    else if (key->op == GX_ROTATE)
        count %= n;
    else if (key->op != GX_GATHER)
        part = n / count;
    else if (key->check && count > n) /* all of a is checked */
        read = count;
    add_pass(passes, (struct gx_pass){.family = GX_SHADER_PERMUTE,
                                      .op = key->op,
                                      .check = true,
                                      .invocations = read,
                                      .out = {GX_BIND_OUT, 0, n},
                                      .a = {GX_BIND_A, 0, read},
                                      .b = {GX_BIND_B, 0, 0},
                                      .c = {GX_BIND_A, 0, 0},
                                      .n = (uint32_t)n,
                                      .stage = {(uint32_t)count, (uint32_t)part}});
}

void gx__plan_poly(const struct gx_kernel_key *key, uint64_t n, struct gx_passes *passes)
{
    switch (key->op) {
    case GX_PREFIX_SUM:
    case GX_PREFIX_PRODUCT:
    case GX_DIVIDE_LINEAR:
        plan_scan(key, n, passes);
        break;
    case GX_EVALUATE:
        plan_evaluate(key, n, passes);
        break;
    case GX_POWERS:
        add_powers(key, (struct gx_pass_bind){GX_BIND_A, 0, 1}, n,
                   (struct gx_pass_bind){GX_BIND_OUT, 0, n}, passes);
        break;
    case GX_COSETS:
        plan_cosets(key, n, passes);
        break;
    default:
        plan_permute(key, n, passes);
        break;
    }
}
