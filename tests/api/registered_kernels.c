/* SPDX-License-Identifier: Apache-2.0
 *
 * See registered_kernels.h.
 */
#include "api/registered_kernels.h"

#define SPIRV(name) static const uint32_t name##_spirv[]
SPIRV(muladd) = {
#include "kernel.inc" /* of examples/ */
};
SPIRV(scale) = {
#include "scale.inc"
};
SPIRV(count) = {
#include "count.inc"
};
SPIRV(transpose) = {
#include "transpose.inc"
};

#define PUSH                                                                                       \
    "n: u32, out_at: u32, a_at: u32, b_at: u32, c_at: u32, a_step: u32, b_step: u32, c_step: u32"
#define BINDING(i, name)                                                                           \
    "@group(0) @binding(" #i ") var<storage, read_write> " name ": array<u32>;\n"

static const char muladd_wgsl[] =
    "struct Push { " PUSH " }\n"
    "var<immediate> push: Push;\n" BINDING(0, "out") BINDING(1, "a") BINDING(2, "b")
        BINDING(3, "c") "const P = 0x7fffffffu;\n"
                        "fn reduced(x: u32) -> u32 {\n"
                        "    let y = (x & P) + (x >> 31u);\n"
                        "    return select(y, y - P, y >= P);\n"
                        "}\n"
                        "fn mul(x: u32, y: u32) -> u32 {\n" /* by doubling: no wide product */
                        "    var sum = 0u;\n"
                        "    for (var bit = 31u; bit > 0u; bit--) {\n"
                        "        sum = reduced(sum + sum);\n"
                        "        if ((y >> (bit - 1u)) & 1u) != 0u { sum = reduced(sum + x); }\n"
                        "    }\n"
                        "    return sum;\n"
                        "}\n"
                        "@compute @workgroup_size(64)\n"
                        "fn start(@builtin(global_invocation_id) id: vec3<u32>) {\n"
                        "    let i = id.x;\n"
                        "    if i < push.n {\n"
                        "        let product = mul(reduced(a[push.a_at + i * push.a_step]),\n"
                        "                          reduced(b[push.b_at + i * push.b_step]));\n"
                        "        out[push.out_at + i] =\n"
                        "            reduced(product + c[push.c_at + i * push.c_step]);\n"
                        "    }\n"
                        "}\n";

static const char scale_wgsl[] =
    "struct Push { " PUSH ", factor: u32, t0: u32, t1: u32, t2: u32, t3: u32, t4: u32, t5: u32,\n"
    "    t6: u32, t7: u32, t8: u32, t9: u32, t10: u32, t11: u32, t12: u32, t13: u32, t14: u32 }\n"
    "var<immediate> push: Push;\n" BINDING(0, "out")
        BINDING(1, "a") "@compute @workgroup_size(32)\n"
                        "fn main(@builtin(workgroup_id) group: vec3<u32>,\n"
                        "        @builtin(local_invocation_index) local: u32) {\n"
                        "    for (var k = 0u; k < 3u; k++) {\n"
                        "        let i = (group.x * 3u + k) * 32u + local;\n"
                        "        if i < push.n {\n"
                        "            let at = push.a_at + i * push.a_step;\n"
                        "            let to = push.out_at + 3u * i;\n"
                        "            out[to] = a[at] * push.factor + push.t0;\n"
                        "            out[to + 1u] = a[at + 1u] * push.factor + push.t14;\n"
                        "            out[to + 2u] = a[at] ^ a[at + 1u];\n"
                        "        }\n"
                        "    }\n"
                        "}\n";

static const char count_wgsl[] =
    "struct Push { " PUSH " }\n"
    "var<immediate> push: Push;\n"
    "var<workgroup> counts: array<atomic<u32>, 8>;\n" BINDING(0, "out")
        BINDING(1, "a") "@compute @workgroup_size(64)\n"
                        "fn main(@builtin(local_invocation_index) me: u32) {\n"
                        "    if me < 8u { atomicStore(&counts[me], 0u); }\n"
                        "    workgroupBarrier();\n"
                        "    for (var i = me; i < push.n; i += 64u) {\n"
                        "        atomicAdd(&counts[a[push.a_at + i * push.a_step] & 7u], 1u);\n"
                        "    }\n"
                        "    workgroupBarrier();\n"
                        "    if me < 8u { out[push.out_at + me] = atomicLoad(&counts[me]); }\n"
                        "}\n";

static const char transpose_wgsl[] =
    "struct Push { " PUSH ", width: u32 }\n"
    "var<immediate> push: Push;\n" BINDING(0, "out")
        BINDING(1, "a") "@compute @workgroup_size(8, 8)\n"
                        "fn main(@builtin(global_invocation_id) id: vec3<u32>) {\n"
                        "    let height = push.n / push.width;\n"
                        "    if id.x < push.width && id.y < height {\n"
                        "        out[push.out_at + id.x * height + id.y] = a[push.a_at + id.y * "
                        "push.width + id.x];\n"
                        "    }\n"
                        "}\n";

/* ---- in C ---- */

static const uint32_t *at(const void *from, size_t step, size_t i)
{
    return (const uint32_t *)(const void *)((const char *)from + i * step);
}

static void muladd_fn(void *user, const gx_kernel_call *k)
{
    uint32_t *out = k->out;
    (void)user;
    for (size_t i = 0; i < k->n; i++) {
        uint64_t x = (uint64_t)*at(k->a, k->a_step, i) * *at(k->b, k->b_step, i);
        out[i] = (uint32_t)((x + *at(k->c, k->c_step, i)) % M31);
    }
}

static void scale_fn(void *user, const gx_kernel_call *k)
{
    const struct scale *p = k->params;
    uint32_t *out = k->out;
    (void)user;
    for (size_t i = 0; i < k->n; i++) {
        const uint32_t *a = at(k->a, k->a_step, i);
        out[3 * i] = a[0] * p->factor + p->terms[0];
        out[3 * i + 1] = a[1] * p->factor + p->terms[14];
        out[3 * i + 2] = a[0] ^ a[1];
    }
}

static void count_fn(void *user, const gx_kernel_call *k)
{
    uint32_t *out = k->out;
    (void)user;
    memset(out, 0, 8 * sizeof *out);
    for (size_t i = 0; i < k->n; i++)
        out[*at(k->a, k->a_step, i) & 7]++;
}

static void transpose_fn(void *user, const gx_kernel_call *k)
{
    const uint32_t width = *(const uint32_t *)k->params;
    const uint32_t *a = k->a;
    uint32_t *out = k->out;
    size_t height = k->n / width;
    (void)user;
    for (size_t y = 0; y < height; y++)
        for (size_t x = 0; x < width; x++)
            out[x * height + y] = a[y * width + x];
}

#define CODE(name)                                                                                 \
    .fn = name##_fn, .spirv = name##_spirv, .spirv_bytes = sizeof name##_spirv, .wgsl = name##_wgsl

const gx_kernel_params registered_descs[REGISTERED_KERNELS] = {
    [MULADD] = {.struct_size = sizeof(gx_kernel_params),
                .name = "m31-mul-add",
                .operands = 3,
                .a_bytes = 4,
                .b_bytes = 4,
                .c_bytes = 4,
                .out_bytes = 4,
                .group_elems = 64,
                .wgsl_entry = "start",
                CODE(muladd)},
    [SCALE] = {.struct_size = sizeof(gx_kernel_params),
               .name = "scale",
               .operands = 1,
               .a_bytes = 8,
               .out_bytes = 12,
               .params_bytes = sizeof(struct scale),
               .group_elems = 96,
               CODE(scale)},
    [COUNT] = {.struct_size = sizeof(gx_kernel_params),
               .name = "count",
               .operands = 1,
               .flags = GX_OP_WHOLE | GX_OP_ONE_RESULT,
               .a_bytes = 4,
               .out_bytes = 32,
               CODE(count)},
    [TRANSPOSE] = {.struct_size = sizeof(gx_kernel_params),
                   .name = "transpose",
                   .operands = 1,
                   .flags = GX_OP_WHOLE,
                   .a_bytes = 4,
                   .out_bytes = 4,
                   .params_bytes = 4,
                   CODE(transpose)},
};

gx_op registered_register(gx_ctx *ctx, enum registered_kernel kernel)
{
    gx_op op = 0;
    if (gx_op_register(ctx, &registered_descs[kernel], &op) != GX_OK)
        fail_msg("%s", gx_last_message());
    return op;
}

/* ---- cases ---- */

size_t registered_words(enum registered_kernel kernel, char operand)
{
    const gx_kernel_params *d = &registered_descs[kernel];
    return (operand == 'o'   ? d->out_bytes
            : operand == 'a' ? d->a_bytes
            : operand == 'b' ? d->b_bytes
                             : d->c_bytes) /
           4;
}

/* The expected words, one at a time. */
static uint32_t wanted(const struct registered_case *c, size_t word)
{
    const uint32_t *in[3];
    size_t i = word / registered_words(c->kernel, 'o'),
           part = word % registered_words(c->kernel, 'o');
    for (int k = 0; k < 3; k++)
        in[k] = c->in[k] +
                (c->broadcast >> k & 1 ? 0 : i * registered_words(c->kernel, (char)('a' + k)));
    if (c->kernel == MULADD) {
        uint32_t x = 0; /* schoolbook: a doubled and added bit by bit, never above 32 bits */
        for (int bit = 30; bit >= 0; bit--) {
            x = 2 * x >= M31 ? 2 * x - M31 : 2 * x;
            x += in[1][0] >> bit & 1 ? in[0][0] : 0;
            x = x >= M31 ? x - M31 : x;
        }
        x += in[2][0];
        return x >= M31 ? x - M31 : x;
    }
    if (c->kernel == SCALE)
        return part == 2 ? in[0][0] ^ in[0][1]
                         : in[0][part] * c->scale.factor + c->scale.terms[part ? 14 : 0];
    if (c->kernel == TRANSPOSE) {
        size_t height = c->n / c->width;
        return c->in[0][word % height * c->width + word / height];
    }
    uint32_t count = 0;
    for (size_t k = 0; k < c->n; k++)
        count += (c->in[0][c->broadcast & 1 ? 0 : k] & 7) == word;
    return count;
}

void registered_case_make(struct registered_case *c, enum registered_kernel kernel, gx_op op,
                          size_t n, uint32_t broadcast, uint64_t seed)
{
    *c = (struct registered_case){
        .kernel = kernel, .op = op, .n = n, .broadcast = broadcast, .width = 6};
    c->words_out = (kernel == COUNT ? 1 : n) * registered_words(kernel, 'o');
    for (int k = 0; k < 3; k++) {
        size_t words = (broadcast >> k & 1 ? 1 : n) * registered_words(kernel, (char)('a' + k));
        c->in[k] = gxt_alloc(words * 4 + 4);
        gxt_bytes(&seed, c->in[k], words * 4);
        for (size_t i = 0; i < words && kernel == MULADD; i++)
            c->in[k][i] = i == 3 ? M31 - 1 : c->in[k][i] % M31;
    }
    gxt_bytes(&seed, &c->scale, sizeof c->scale);
    c->want = gxt_alloc(c->words_out * 4 + 4);
    c->out = gxt_alloc(c->words_out * 4 + 4);
    for (size_t i = 0; i < c->words_out; i++)
        c->want[i] = wanted(c, i);
    memset(c->out, 0x5c, c->words_out * 4);
    c->params.struct_size = sizeof c->params;
    if (kernel == TRANSPOSE) {
        c->params.groups[0] = 1;
        c->params.groups[1] = (uint32_t)((n / c->width + 7) / 8);
    }
}

void registered_case_free(struct registered_case *c)
{
    for (int k = 0; k < 3; k++)
        free(c->in[k]);
    free(c->want);
    free(c->out);
}

gx_job registered_case_job(struct registered_case *c)
{
    gx_job job = {.op = c->op, .n = c->n, .out = gx_host(c->out)};
    gx_operand *const operands[] = {&job.a, &job.b, &job.c};
    for (uint32_t k = 0; k < registered_descs[c->kernel].operands; k++) {
        *operands[k] = gx_host(c->in[k]);
        operands[k]->broadcast = c->broadcast >> k & 1;
    }
    c->params.data = c->kernel == SCALE       ? (const void *)&c->scale
                     : c->kernel == TRANSPOSE ? (const void *)&c->width
                                              : NULL;
    if (c->params.data)
        job.params = &c->params;
    return job;
}

void registered_case_check(struct registered_case *c)
{
    assert_memory_equal(c->out, c->want, c->words_out * 4);
    memset(c->out, 0x5c, c->words_out * 4);
}
