/* SPDX-License-Identifier: Apache-2.0
 *
 * The pass planner, without a device: whatever the operation, the size and the device properties,
 * every pass stays within its bindings, all elements are covered, the last pass writes the result,
 * and more elements never need less scratch. Internal: it links the static library.
 */
#include <stdio.h>

#include "curve/curve.h"
#include "op/msm.h"
#include "device/gpu/passes.h"
#include "support/harness.h"

/* What to plan, and its plan. */
struct plan {
    struct gx_kernel_key key;
    struct gx_pass_facts facts;
    uint64_t n;
    struct gx_passes passes;
};

static int of(const struct plan *p, const gx_op *list, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (p->key.op == list[i])
            return 1;
    return 0;
}

static void tell(const struct plan *p, uint32_t pass, const char *what)
{
    fail_msg("%s of %s, n %llu, %u each, workgroup %u, direct %u, broadcast %u, accumulate %u: "
             "pass %u of %u: %s",
             gx_op_get_info(p->key.op)->name, gx_field_get_info(p->key.field)->name,
             (unsigned long long)p->n, p->facts.each, p->facts.workgroup, p->facts.direct,
             p->key.broadcast, p->key.accumulate, pass, p->passes.count, what);
}

/* 16 bytes are a quad. */
static uint64_t quads(const struct plan *p, uint64_t elements)
{
    return elements * gxt_element((gx_field)p->key.field) / 16;
}

/* Elements that the caller has bound there. */
static uint64_t bound(const struct plan *p, enum gx_bind bind)
{
    if (bind == GX_BIND_OUT)
        return gxt_results(p->key.op, (size_t)p->n);
    uint32_t bit = bind - GX_BIND_A;
    if (bit >= gx_op_get_info(p->key.op)->operands)
        return 0;
    return p->key.broadcast >> bit & 1 ? 1 : p->n;
}

static void check_bind(const struct plan *p, uint32_t i, const struct gx_pass_bind *bind,
                       const char *name)
{
    if (!bind->touched)
        return; /* holds anything */
    if (bind->from > GX_BIND_SCRATCH)
        tell(p, i, name);
    uint64_t room =
        bind->from == GX_BIND_SCRATCH ? p->passes.scratch_quads : quads(p, bound(p, bind->from));
    if (bind->quads + quads(p, bind->touched) > room)
        tell(p, i, name);
}

/* A pass writes OUT or scratch, and never an operand of the caller. */
static void check_pass(const struct plan *p, uint32_t i)
{
    const struct gx_pass *pass = &p->passes.pass[i];
    check_bind(p, i, &pass->out, "out is beyond its binding");
    check_bind(p, i, &pass->a, "a is beyond its binding");
    check_bind(p, i, &pass->b, "b is beyond its binding");
    check_bind(p, i, &pass->c, "c is beyond its binding");
    if (pass->out.touched && pass->out.from != GX_BIND_OUT && pass->out.from != GX_BIND_SCRATCH)
        tell(p, i, "writes an operand");
    if (quads(p, pass->scratch) > p->passes.scratch_quads)
        tell(p, i, "touches more scratch than there is");
    if (!pass->invocations || pass->n > p->n || !pass->n)
        tell(p, i, "no work, or more elements than there are");
    if (pass->family >= GX_SHADER_FAMILIES)
        tell(p, i, "no such family");
    if (pass->check && i && gxt_results(p->key.op, 2) == 1)
        tell(p, i, "looks for bad elements in what is no operand");
}

/* The first pass of elementwise operations and of reductions reads all elements. */
static void check_cover(const struct plan *p)
{
    static const gx_op quotients[] = {GX_INV, GX_DIV};
    const struct gx_pass *first = &p->passes.pass[0];
    if (of(p, quotients, GXT_COUNT(quotients)))
        return; /* a divisor for all is inverted first */
    if (first->n != p->n)
        tell(p, 0, "the first pass is not over all elements");
    if (!first->check)
        tell(p, 0, "the first pass does not look for bad elements");
    if (gxt_results(p->key.op, 2) == 2 && first->invocations * p->facts.each < p->n)
        tell(p, 0, "too few invocations");
    if (gxt_results(p->key.op, 2) == 2 && p->passes.count != 1)
        tell(p, 0, "one pass would do");
    if (first->a.touched < bound(p, GX_BIND_A))
        tell(p, 0, "not all of a is read");
    if (gx_op_get_info(p->key.op)->operands > 1 && first->b.touched < bound(p, GX_BIND_B))
        tell(p, 0, "not all of b is read");
}

/* A later pass of a reduction reads what the previous one has written. */
static void check_chain(const struct plan *p)
{
    if (!gx_op_get_info(p->key.op)->reduces)
        return;
    for (uint32_t i = 1; i < p->passes.count; i++) {
        const struct gx_pass *before = &p->passes.pass[i - 1], *now = &p->passes.pass[i];
        if (now->a.from != before->out.from || now->a.quads != before->out.quads)
            tell(p, i, "does not read what the pass before wrote");
        if (now->n != before->out.touched)
            tell(p, i, "reads more or fewer than the pass before wrote");
        if (now->n >= before->n)
            tell(p, i, "nothing was reduced");
        if (now->broadcast)
            tell(p, i, "partial results are not broadcast");
        /* otherwise it would write where it reads */
        uint64_t end = now->out.quads + quads(p, now->out.touched);
        if (now->out.from == now->a.from && now->out.quads < now->a.quads + quads(p, now->n) &&
            now->a.quads < end)
            tell(p, i, "writes over what it reads");
    }
}

static uint64_t check_plan(struct plan *p)
{
    gx__passes(&p->key, p->n, &p->facts, &p->passes);
    if (!p->passes.count || p->passes.count > GX_PASSES_MAX)
        tell(p, 0, "no passes, or too many");
    for (uint32_t i = 0; i < p->passes.count; i++)
        check_pass(p, i);
    if (p->passes.pass[p->passes.count - 1].out.from != GX_BIND_OUT)
        tell(p, p->passes.count - 1, "the last pass does not write the result");
    check_cover(p);
    check_chain(p);
    return p->passes.scratch_quads;
}

static void every_size(struct plan *p)
{
    const uint64_t w = p->facts.workgroup, e = p->facts.each;
    const uint64_t sizes[] = {1,         2,         w - 1,         w,         w + 1,
                              w * e - 1, w * e,     w * e + 1,     w * w - 1, w * w,
                              w * w + 1, w * w * e, 1000,          32767,     32769,
                              100003,    1 << 20,   (1 << 20) + 1, 1 << 25,   (1 << 29) - 1,
                              1 << 29};
    uint64_t scratch[GXT_COUNT(sizes)];
    for (size_t i = 0; i < GXT_COUNT(sizes); i++) {
        p->n = sizes[i] ? sizes[i] : 1;
        scratch[i] = check_plan(p);
        for (size_t k = 0; k < i; k++)
            if ((sizes[k] < sizes[i] && scratch[k] > scratch[i]) ||
                (sizes[k] > sizes[i] && scratch[k] < scratch[i]))
                tell(p, 0, "less scratch for more elements");
    }
}

static void on_facts(struct plan *p)
{
    static const uint32_t workgroups[] = {1, 8, 32, 64, 256, 1024}, each[] = {1, 2, 4};
    static const uint32_t directs[] = {GX_INVERSE_DIRECT_INT64, GX_INVERSE_DIRECT_INT32};
    for (size_t w = 0; w < GXT_COUNT(workgroups); w++)
        for (size_t e = 0; e < GXT_COUNT(each); e++)
            for (size_t d = 0; d < GXT_COUNT(directs); d++) {
                /* a reduction by workgroups of one would never end */
                if (workgroups[w] == 1 && gxt_results(p->key.op, 2) == 1)
                    continue;
                p->facts = (struct gx_pass_facts){
                    .each = each[e], .workgroup = workgroups[w], .direct = directs[d]};
                every_size(p);
            }
}

static void every_plan(void **state)
{
    (void)state;
    static const gx_field fields[] = {GX_BLS12_381_FQ, GX_BN254_FR};
    for (size_t o = 0; o < GXT_COUNT(gxt_ops); o++)
        for (size_t f = 0; f < GXT_COUNT(fields); f++)
            for (uint32_t b = 0; b < 1u << gx_op_get_info(gxt_ops[o])->operands; b++)
                for (uint32_t accumulate = 0; accumulate < gxt_results(gxt_ops[o], 1) + 1;
                     accumulate++) {
                    struct plan p = {.key = {.op = gxt_ops[o],
                                             .field = fields[f],
                                             .broadcast = b,
                                             .check = 1,
                                             .accumulate = accumulate}};
                    if (!accumulate || gx_op_get_info(gxt_ops[o])->reduces)
                        on_facts(&p);
                }
}

/* Sizes one by one where the shape of the tree changes. */
static void every_small_size(void **state)
{
    (void)state;
    for (size_t o = 0; o < GXT_COUNT(gxt_ops); o++) {
        struct plan p = {.key = {.op = gxt_ops[o], .field = GX_BLS12_381_FR, .check = 1},
                         .facts = {.each = 1, .workgroup = 8, .direct = GX_INVERSE_DIRECT_INT32}};
        uint64_t before = 0;
        for (p.n = 1; p.n < 5000; p.n++) {
            uint64_t scratch = check_plan(&p);
            if (scratch < before)
                tell(&p, 0, "less scratch for more elements");
            before = scratch;
        }
    }
}

/* A dot product is multiplied once; what follows adds up. */
static void only_the_first_pass_multiplies(void **state)
{
    (void)state;
    struct plan p = {.key = {.op = GX_DOT, .field = GX_BN254_FQ, .check = 1},
                     .facts = {.each = 1, .workgroup = 64, .direct = GX_INVERSE_DIRECT_INT64},
                     .n = 1 << 20};
    check_plan(&p);
    assert_true(p.passes.count > 1);
    assert_int_equal(p.passes.pass[0].family, GX_SHADER_DOT);
    assert_true(p.passes.pass[0].products >= p.n);
    for (uint32_t i = 1; i < p.passes.count; i++)
        assert_int_equal(p.passes.pass[i].family, GX_SHADER_SUM);
}

/* ---- operations on polynomials ---- */

static const gx_op poly_ops[] = {GX_PREFIX_SUM, GX_PREFIX_PRODUCT, GX_POWERS,      GX_COSETS,
                                 GX_EVALUATE,   GX_DIVIDE_LINEAR,  GX_BIT_REVERSE, GX_GATHER,
                                 GX_ROTATE,     GX_INTERLEAVE,     GX_DEINTERLEAVE};

/* Elements that the caller has bound there. */
static uint64_t poly_bound(const struct plan *p, enum gx_bind bind)
{
    uint32_t one = gx__facts_of(p->key.op)->one;
    if (bind == GX_BIND_SCRATCH)
        return p->passes.scratch_quads / quads(p, 1);
    if (bind == GX_BIND_OUT)
        return gx__op_one_result(p->key.op) ? 1 : p->n;
    if (bind == GX_BIND_A && p->key.op == GX_GATHER)
        return p->key.param[GX_PARAM_COUNT] > p->n ? p->key.param[GX_PARAM_COUNT] : p->n;
    return one >> bind & 1 ? 1 : p->n;
}

/* Every pass stays within what it binds, writes OUT or SCRATCH, and reads nothing of SCRATCH that
 * no pass has written. */
static uint64_t check_poly_plan(struct plan *p)
{
    gx__passes(&p->key, p->n, &p->facts, &p->passes);
    if (!p->passes.count || p->passes.count > GX_PASSES_MAX)
        tell(p, 0, "no passes, or too many");
    for (uint32_t i = 0; i < p->passes.count; i++) {
        const struct gx_pass *pass = &p->passes.pass[i];
        const struct gx_pass_bind *binds[] = {&pass->out, &pass->a, &pass->b, &pass->c};
        for (size_t s = 0; s < GXT_COUNT(binds); s++) {
            bool written = binds[s]->from != GX_BIND_SCRATCH || !s || !binds[s]->touched;
            if (binds[s]->quads + quads(p, binds[s]->touched) >
                quads(p, poly_bound(p, binds[s]->from)))
                tell(p, i, "a slot is beyond its binding");
            for (uint32_t k = 0; k < i; k++)
                written |= p->passes.pass[k].out.from == GX_BIND_SCRATCH &&
                           p->passes.pass[k].out.quads == binds[s]->quads &&
                           p->passes.pass[k].out.touched >= binds[s]->touched;
            if (!written)
                tell(p, i, "reads what no pass has written");
        }
        if (pass->out.touched && pass->out.from != GX_BIND_OUT && pass->out.from != GX_BIND_SCRATCH)
            tell(p, i, "writes an operand");
    }
    if (p->passes.pass[p->passes.count - 1].out.from != GX_BIND_OUT)
        tell(p, p->passes.count - 1, "the last pass does not write the result");
    return p->passes.scratch_quads;
}

static void plans_of_polynomials(void **state)
{
    (void)state;
    static const uint64_t sizes[] = {1,    2,    4,       31,    32,      33,      64,
                                     1024, 1025, 1 << 15, 32769, 1 << 20, 1 << 25, 1 << 29};
    for (size_t o = 0; o < GXT_COUNT(poly_ops); o++)
        for (size_t i = 0; i < GXT_COUNT(sizes); i++)
            for (uint32_t flags = 0; flags <= (poly_ops[o] == GX_EVALUATE); flags++) {
                struct plan p = {.key = {.op = poly_ops[o], .field = GX_BLS12_381_FQ, .check = 1},
                                 .facts = {.each = 1, .workgroup = 64},
                                 .n = sizes[i]};
                const uint64_t counts[] = {1, sizes[i] % 4 ? sizes[i] : 4, sizes[i]};
                p.key.param[GX_PARAM_POLY_FLAGS] = flags;
                if (sizes[i] & (sizes[i] - 1) && (flags || poly_ops[o] == GX_BIT_REVERSE))
                    continue;
                for (size_t c = 0; c < GXT_COUNT(counts); c++) {
                    p.key.param[GX_PARAM_COUNT] = (uint32_t)counts[c];
                    if (check_poly_plan(&p) > quads(&p, p.n))
                        tell(&p, 0, "more scratch than elements");
                }
            }
}

/* ---- transforms ---- */

/* Levels of the tree that the pass says it computes. */
static uint32_t levels_of(const struct gx_pass *pass)
{
    return pass->stage[0] >> GX_K_NTT_LEVELS & 31;
}

/* Every level is computed once, in the order of the tree or in the opposite one; whatever a pass
 * reads is what the one before wrote, and none but the only one writes where it reads. */
static void check_transform(struct plan *p, uint32_t radix)
{
    const uint32_t log2_n = p->key.param[GX_PARAM_LOG2_N], flags = p->key.param[GX_PARAM_NTT_FLAGS];
    const bool back = flags & GX_NTT_REVERSED_IN;
    uint32_t level = back ? log2_n : 0;
    gx__passes(&p->key, p->n, &p->facts, &p->passes);
    if (!p->passes.count || p->passes.count > GX_PASSES_MAX)
        tell(p, 0, "no passes, or too many");
    const uint32_t last = p->passes.count - 1;
    if (p->passes.pass[0].family == GX_SHADER_NTT_SMALL)
        radix = 1;
    if (p->passes.scratch_quads != (last ? quads(p, p->n) : 0))
        tell(p, 0, "scratch is not that of all elements, or of none");
    for (uint32_t i = 0; i <= last; i++) {
        const struct gx_pass *pass = &p->passes.pass[i];
        const uint32_t first = pass->stage[0] >> GX_K_NTT_FIRST & 31, levels = levels_of(pass);
        if (pass->a.from != (i ? GX_BIND_SCRATCH : GX_BIND_A) ||
            pass->out.from != (i < last ? GX_BIND_SCRATCH : GX_BIND_OUT))
            tell(p, i, "another binding");
        if (first != (back ? level - levels : level) || first + levels > log2_n)
            tell(p, i, "levels are left out or repeated");
        if (last && levels < radix)
            tell(p, i, "fewer levels than an invocation's elements allow");
        if (pass->invocations * (1u << radix) < p->n || pass->invocations % p->facts.workgroup)
            tell(p, i, "too few invocations");
        level = back ? level - levels : level + levels;
    }
    if (level != (back ? 0 : log2_n))
        tell(p, last, "levels are missing");
}

static void every_transform(void **state)
{
    (void)state;
    static const uint32_t workgroups[] = {8, 32, 64, 128, 256};
    static const uint64_t batches[] = {1, 3, 256};
    for (uint32_t radix = 2; radix <= 3; radix++)
        for (size_t w = 0; w < GXT_COUNT(workgroups); w++)
            for (uint32_t log2_n = 0; log2_n < 30; log2_n++)
                for (uint32_t flags = 0; flags < 32; flags++)
                    for (size_t b = 0; b < GXT_COUNT(batches); b++) {
                        struct plan p = {
                            .key = {.op = GX_NTT,
                                    .field = GX_BN254_FR,
                                    .param = {log2_n, flags % 2 ? log2_n / 2 : 0, flags, log2_n}},
                            .facts = {.each = 1u << radix,
                                      .small = flags / 2 % 2 ? 2 : 0,
                                      .workgroup = workgroups[w]},
                            .n = batches[b] << log2_n};
                        if (p.n <= (uint64_t)1 << 29)
                            check_transform(&p, radix);
                    }
}

/* The splits that were measured. */
static void splits_of_transforms(void **state)
{
    (void)state;
    static const uint32_t splits[][4] = {{16, 7, 9, 0}, {20, 8, 6, 6}, {24, 6, 9, 9}};
    for (size_t i = 0; i < GXT_COUNT(splits); i++) {
        const uint32_t log2_n = splits[i][0];
        struct plan p = {.key = {.op = GX_NTT, .field = GX_BLS12_381_FR, .param = {log2_n}},
                         .facts = {.each = 8, .workgroup = 128},
                         .n = (uint64_t)1 << log2_n};
        gx__passes(&p.key, p.n, &p.facts, &p.passes);
        for (uint32_t k = 0; k < p.passes.count; k++)
            assert_int_equal(levels_of(&p.passes.pass[k]), splits[i][1 + k]);
    }
}

/* Small ones have a kernel of their own if there are few, unless it needs scratch that many do
 * without. */
static void small_transforms(void **state)
{
    (void)state;
    for (uint32_t log2_n = 0; log2_n <= 18; log2_n++) {
        uint64_t before = 0;
        for (uint64_t batch = 1; batch << log2_n <= 1 << 19; batch += (batch + 3) / 4) {
            struct plan p = {.key = {.op = GX_NTT, .field = GX_BN254_FR, .param = {log2_n}},
                             .facts = {.each = 4, .small = 2, .workgroup = 128},
                             .n = batch << log2_n};
            bool small = log2_n <= 16 && log2_n != 9 && p.n < 1 << 18;
            check_transform(&p, 2);
            if (p.passes.pass[0].family != (small ? GX_SHADER_NTT_SMALL : GX_SHADER_NTT))
                tell(&p, 0, "the wrong kernel");
            if (small && p.passes.count != (log2_n > 8 ? 2 : 1))
                tell(&p, 0, "not as many passes as were measured");
            if (p.passes.scratch_quads < before)
                tell(&p, 0, "less scratch for more elements");
            before = p.passes.scratch_quads;
        }
    }
}

/* ---- multi-scalar multiplications ---- */

static uint64_t check_msm(struct plan *p)
{
    uint32_t parts = p->key.param[GX_PARAM_MSM_ROWS] ? p->key.param[GX_PARAM_MSM_PARTS] : 1;
    gx__passes(&p->key, p->n, &p->facts, &p->passes);
    uint32_t last = p->passes.count - 1;
    if (!p->passes.count || p->passes.count > GX_PASSES_MAX)
        fail_msg("%llu points, windows of %u: %u passes", (unsigned long long)p->n,
                 p->key.param[GX_PARAM_WINDOW], p->passes.count);
    for (uint32_t i = 0; i < p->passes.count; i++) {
        const struct gx_pass *pass = &p->passes.pass[i];
        const struct gx_pass_bind *binds[] = {&pass->out, &pass->a, &pass->b};
        bool good = pass->invocations && pass->n && pass->n <= p->n * parts;
        for (size_t k = 0; k < GXT_COUNT(binds); k++)
            good =
                good && (binds[k]->from != GX_BIND_SCRATCH ||
                         binds[k]->quads + quads(p, binds[k]->touched) <= p->passes.scratch_quads);
        good = good && pass->out.from == (i == last ? GX_BIND_OUT : GX_BIND_SCRATCH);
        if (!good)
            fail_msg("%llu points, windows of %u, workgroup %u: pass %u of %u is wrong",
                     (unsigned long long)p->n, p->key.param[GX_PARAM_WINDOW], p->facts.workgroup, i,
                     p->passes.count);
    }
    return p->passes.scratch_quads;
}

/* The multiples of points that there are in so many bytes, how they are made, and sums with them.
 */
static void check_multiples(gx_curve which, uint64_t n, uint64_t bytes)
{
    const struct gx_curve_row *curve = gx__curve(which);
    const struct gx_multiples m = gx__msm_multiples(curve, (size_t)n, bytes);
    struct plan p = {.key = {.op = GX_OP_MSM_SUMS,
                             .field = (uint32_t)curve->base->field,
                             .param = {which, 256, m.window}},
                     .facts = {.each = 1, .workgroup = 64},
                     .n = n};
    if (m.parts == 1) {
        assert_true(bytes < 2 * n * curve->info.affine_bytes);
        return;
    }
    assert_true(n * m.parts * curve->info.affine_bytes <= bytes);
    assert_true(m.window * m.rows * m.parts > 256);
    p.key.param[GX_PARAM_MSM_PARTS] = m.parts - 1;
    p.key.param[GX_PARAM_MSM_DOUBLINGS] = m.window * m.rows;
    gx__passes(&p.key, n, &p.facts, &p.passes);
    assert_true(p.passes.count <= GX_PASSES_MAX);
    assert_int_equal(p.passes.scratch_quads, 0);
    uint32_t doublings = 0;
    for (uint32_t i = 0; i < p.passes.count; i++)
        doublings += p.passes.pass[i].stage[1];
    assert_int_equal(doublings, m.window * m.rows * (m.parts - 1));
    p.key.param[GX_PARAM_MSM_PARTS] = m.parts;
    p.key.param[GX_PARAM_MSM_DOUBLINGS] = 0;
    p.key.param[GX_PARAM_MSM_ROWS] = m.rows;
    p.passes = (struct gx_passes){0};
    check_msm(&p);
}

static void every_multiple(void **state)
{
    (void)state;
    for (gx_curve curve = 1; curve < GX_CURVE_END; curve++)
        for (uint64_t n = 1; n <= (uint64_t)1 << 25; n += 1 + n / 5)
            for (uint64_t bytes = 1; bytes < (uint64_t)1 << 40; bytes *= 3)
                check_multiples(curve, n, bytes);
}

static void every_multiplication(void **state)
{
    (void)state;
    for (gx_curve curve = 1; curve < GX_CURVE_END; curve++)
        for (uint32_t window = 2; window <= 22; window++) {
            uint64_t before = 0;
            for (uint64_t n = 1; n <= (uint64_t)1 << 26; n += 1 + n / 7) {
                struct plan p = {.key = {.op = GX_OP_MSM_SUMS,
                                         .field = (uint32_t)gx__curve(curve)->base->field,
                                         .param = {curve, 256, window}},
                                 .facts = {.each = 1, .workgroup = 64},
                                 .n = n};
                uint64_t scratch = check_msm(&p);
                if (scratch < before)
                    fail_msg("%llu points, windows of %u: less scratch than fewer points",
                             (unsigned long long)n, window);
                before = scratch;
            }
        }
}

/* Entries hold twice the index of a point and a sign in 32 bits, and kernels count entries in as
 * many. What would not fit needs more scratch than 32-bit indices of words reach: then exec/ makes
 * smaller pieces. False: it does. */
static bool check_indices(const struct plan *p)
{
    if (p->passes.scratch_quads > (uint64_t)UINT32_MAX / 4)
        return false;
    for (uint32_t i = 0; i < p->passes.count; i++) {
        const struct gx_pass *pass = &p->passes.pass[i];
        uint64_t windows = pass->stage[2] >> GX_K_MSM_WINDOWS & 255;
        if (pass->op == GX_OP_MSM_ADD && (p->n >= (uint64_t)1 << 31 || windows * p->n > UINT32_MAX))
            fail_msg("%llu points, windows of %u, %u at once: indices wrap",
                     (unsigned long long)p->n, p->key.param[GX_PARAM_WINDOW], (unsigned)windows);
    }
    return true;
}

static void indices_of_multiplications(void **state)
{
    (void)state;
    unsigned fitting = 0, cut = 0;
    for (gx_curve curve = 1; curve < GX_CURVE_END; curve++)
        for (uint32_t window = 2; window <= 22; window++)
            for (uint64_t n = (uint64_t)1 << 20; n <= UINT32_MAX; n += n / 5) {
                struct plan p = {.key = {.op = GX_OP_MSM_SUMS,
                                         .field = (uint32_t)gx__curve(curve)->base->field,
                                         .param = {curve, 256, window}},
                                 .facts = {.each = 1, .workgroup = 64},
                                 .n = n};
                gx__passes(&p.key, n, &p.facts, &p.passes);
                if (check_indices(&p))
                    fitting++;
                else
                    cut++;
            }
    assert_true(fitting > 0 && cut > 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(plans_of_polynomials), cmocka_unit_test(every_plan),
        cmocka_unit_test(every_small_size),     cmocka_unit_test(only_the_first_pass_multiplies),
        cmocka_unit_test(every_transform),      cmocka_unit_test(splits_of_transforms),
        cmocka_unit_test(small_transforms),     cmocka_unit_test(every_multiplication),
        cmocka_unit_test(every_multiple),       cmocka_unit_test(indices_of_multiplications),
    };
    return cmocka_run_group_tests_name("passes", tests, NULL, NULL);
}
