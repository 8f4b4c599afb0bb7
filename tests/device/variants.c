/* SPDX-License-Identifier: Apache-2.0
 *
 * A device uses the variant of a kernel that it measured to be fastest. Here every variant that it
 * can run is tested, in several workgroup sizes, against the oracle: another machine chooses
 * another one.
 */

#include "base/alloc.h"
#include "base/options.h"
#include "device/vulkan/vulkan.h"
#include "field/poly.h"
#include "support/harness.h"
#include "support/oracle.h"

enum { MOST = 300, GUARD = 0x5c };

static struct gx_instance instance;
static struct gx_device device;
static struct oracle_rng rng = {29};
static struct gx_mem mem[GX_BINDINGS];
static unsigned char *host[GX_BINDINGS];

static int open_device(void **state)
{
    (void)state;
    struct gx_error error = {""};
    gxt_clear_environment();
    const char *name = gxt_vulkan();
    if (!name)
        exit(77);
    gx_config config = {0};
    gxt_watch(&config);
    assert_int_equal(gx__config_complete(&instance.config, &config, &error), GX_OK);
    assert_int_equal(gx__device_open(&instance, name, &device, &error), GX_OK);
    for (int i = 0; i < GX_BINDINGS; i++) {
        void *memory;
        assert_int_equal(device.ops->mem_alloc(&device, GX_MEM_SHARED, 1 << 16, &mem[i]), GX_OK);
        assert_int_equal(device.ops->map(&device, &mem[i], &memory), GX_OK);
        host[i] = memory;
    }
    return 0;
}

static int close_device(void **state)
{
    (void)state;
    for (int i = 0; i < GX_BINDINGS; i++) {
        device.ops->unmap(&device, &mem[i]);
        device.ops->mem_free(&device, &mem[i]);
    }
    gx__device_close(&device);
    gx__device_stop(&instance);
    gx__threads_end(&instance);
    return gxt_complaints() ? -1 : 0;
}

struct trial {
    const struct gx_gpu_kernel *kernel;
    uint64_t n;
    unsigned broadcast;
    bool in_place;
    size_t offset; /* of every operand */
    uint64_t bad;  /* index of an element of A that is not canonical; n: none */
};

/* Between map and unmap the device may not access the memory: ours is coherent, or these two flush
 * it. */
static void hand_over(bool to_device)
{
    for (int i = 0; i < GX_BINDINGS; i++) {
        void *memory;
        if (to_device)
            device.ops->unmap(&device, &mem[i]);
        else
            assert_int_equal(device.ops->map(&device, &mem[i], &memory), GX_OK);
    }
}

static void dispatch(const struct trial *t)
{
    struct gx_dispatch d = {.kernel = {.key = t->kernel->key, .impl = t->kernel}, .n = t->n};
    d.kernel.key.broadcast = t->broadcast;
    for (int i = 0; i < GX_BINDINGS; i++)
        d.bind[i] = (struct gx_binding){&mem[i], i <= GX_BIND_C ? t->offset : 0};
    if (t->in_place)
        d.bind[GX_BIND_OUT] = d.bind[GX_BIND_A];
    struct gx_cmd *cmd;
    struct gx_fence done;
    assert_int_equal(device.ops->begin(&device, GX_QUEUE_COMPUTE, &cmd), GX_OK);
    device.ops->dispatch(cmd, &d);
    device.ops->barrier(cmd, GX_BARRIER_TO_HOST);
    assert_int_equal(device.ops->submit(cmd, NULL, 0, &done), GX_OK);
    assert_int_equal(device.ops->wait(&device, done, GX_WAIT_FOREVER), GX_OK);
    device.ops->recycle(cmd);
}

static void run_trial(const struct trial *t)
{
    const struct gx_kernel_key *key = &t->kernel->key;
    size_t element = gxt_element(key->field);
    bool reduces = key->op != GX_OP_CHECK && gx_op_get_info(key->op)->reduces;
    size_t bytes = (reduces ? 1 : (size_t)t->n) * element;
    unsigned char want[MOST * 48 + 16], *out = host[t->in_place ? GX_BIND_A : GX_BIND_OUT];
    for (int i = GX_BIND_A; i <= GX_BIND_C; i++)
        oracle_fill(key->field, &rng, host[i] + t->offset, t->n);
    memset(host[GX_BIND_OUT], GUARD, 1 << 15);
    memset(host[GX_BIND_BAD], 0xff, 4);
    if (key->op != GX_OP_CHECK)
        oracle_run(key->op, key->field, (size_t)t->n, want, host[GX_BIND_A] + t->offset,
                   host[GX_BIND_B] + t->offset, host[GX_BIND_C] + t->offset, t->broadcast);
    if (t->bad < t->n)
        oracle_bad(key->field, (size_t)t->bad, host[GX_BIND_A] + t->offset + t->bad * element);
    hand_over(true);
    dispatch(t);
    hand_over(false);
    uint32_t found;
    memcpy(&found, host[GX_BIND_BAD], sizeof found);
    assert_int_equal(found, key->check && t->bad < t->n ? t->bad : UINT32_MAX);
    if (t->bad < t->n)
        return;
    if (key->op == GX_OP_CHECK)
        assert_int_equal(out[t->offset], GUARD);
    else
        assert_memory_equal(out + t->offset, want, bytes);
    if (!t->in_place) {
        assert_int_equal(out[t->offset + bytes], GUARD);
        assert_int_equal(t->offset ? out[t->offset - 1] : GUARD, GUARD);
    }
}

static void try_kernel(const struct gx_gpu_kernel *kernel)
{
    const uint64_t sizes[] = {1, 7, 63, 64, 65, MOST};
    const struct gx_kernel_key *key = &kernel->key;
    bool check = key->op == GX_OP_CHECK;
    unsigned operands = check ? 1 : gx_op_get_info(key->op)->operands;
    for (size_t i = 0; i < GXT_COUNT(sizes); i++)
        run_trial(&(struct trial){kernel, sizes[i], 0, false, 0, sizes[i]});
    run_trial(&(struct trial){kernel, MOST, 0, false, 16, MOST});
    if (!check && !gx_op_get_info(key->op)->reduces)
        run_trial(&(struct trial){kernel, MOST, 0, true, 16, MOST});
    for (unsigned b = 1; b < 1u << operands && !check; b++)
        run_trial(&(struct trial){kernel, MOST - 1, b, false, 0, MOST});
    if (key->check && gx__prime(key->field))
        for (uint64_t bad = 0; bad < MOST; bad += 37)
            run_trial(&(struct trial){kernel, MOST, 0, false, 0, bad});
}

static void try_variants(gx_field field, gx_op op, enum gx_shader_family family)
{
    const uint16_t workgroups[] = {8, 32, 256};
    struct gx_gpu *gpu = device.impl;
    uint32_t variants = gx__vk_variants(gpu, field, family);
    assert_true(variants > 0);
    for (uint32_t v = 0; v < variants; v++)
        for (size_t w = 0; w < GXT_COUNT(workgroups); w++) {
            if (workgroups[w] > gpu->limits.workgroup || (gxt_small() && w != 1))
                continue;
            struct gx_kernel_key key = {
                .op = op, .field = field, .check = gx__prime(field) != NULL};
            struct gx_choice choice = {.workgroup = workgroups[w], .variant = (uint8_t)v};
            struct gx_gpu_kernel *kernel;
            assert_int_equal(gx__gpu_build(gpu, &key, choice, &kernel), GX_OK);
            try_kernel(kernel);
            gx__free(&instance.config.allocator, kernel);
        }
}

static void sums(void **state)
{
    (void)state;
    const gx_op ops[] = {GX_ADD, GX_SUB, GX_NEG, GX_OP_CHECK};
    const gx_field fields[] = {GX_BLS12_381_FQ, GX_BN254_FR};
    for (size_t f = 0; f < GXT_COUNT(fields); f++)
        for (size_t i = 0; i < GXT_COUNT(ops); i++)
            try_variants(fields[f], ops[i], GX_SHADER_LINEAR);
}

static void products(void **state)
{
    (void)state;
    const gx_op ops[] = {GX_MUL, GX_SQR, GX_MUL_ADD, GX_FROM_MONT};
    const gx_field fields[] = {GX_BLS12_381_FQ, GX_BLS12_381_FR, GX_BN254_FQ};
    for (size_t f = 0; f < GXT_COUNT(fields); f++)
        for (size_t i = 0; i < (gxt_small() ? 1 : GXT_COUNT(ops)); i++)
            try_variants(fields[f], ops[i], GX_SHADER_MUL);
}

static void quotients(void **state)
{
    (void)state;
    const gx_field fields[] = {GX_BLS12_381_FQ, GX_BLS12_381_FR};
    for (size_t f = 0; f < GXT_COUNT(fields); f++)
        try_variants(fields[f], GX_DIV, GX_SHADER_INVERT_UP);
}

/* All ways to add up must be there to be tested. */
static void reductions(void **state)
{
    (void)state;
    const gx_field fields[] = {GX_BLS12_381_FQ, GX_BLS12_381_FR};
    for (size_t f = 0; f < GXT_COUNT(fields); f++) {
        if (vk_of(&device)->physical->base.software) {
            assert_int_equal(gx__vk_variants(device.impl, fields[f], GX_SHADER_SUM), 1);
            assert_int_equal(gx__vk_variants(device.impl, fields[f], GX_SHADER_DOT), 2);
        }
        try_variants(fields[f], GX_SUM, GX_SHADER_SUM);
        try_variants(fields[f], GX_DOT, GX_SHADER_DOT);
    }
}

/* ---- operations on polynomials: against the reference device's ---- */

static void try_poly(const struct gx_gpu_kernel *kernel, uint64_t n)
{
    const struct gx_kernel_key *key = &kernel->key;
    struct gx_host_table table;
    unsigned char want[MOST * 48];
    size_t element = gxt_element(key->field);
    size_t bytes = (key->op == GX_EVALUATE ? 1 : (size_t)n) * element;
    gx__host_reference(&table);
    oracle_fill_random(key->field, &rng, host[GX_BIND_A], n);
    oracle_fill_random(key->field, &rng, host[GX_BIND_B], 1);
    memset(host[GX_BIND_OUT], GUARD, bytes + 1);
    memset(host[GX_BIND_BAD], 0xff, 4);
    const struct gx_poly poly = {.op = key->op,
                                 .prime = gx__prime(key->field),
                                 .fn = table.fn[key->field],
                                 .n = n,
                                 .count = gx__param64(key->param + GX_PARAM_COUNT),
                                 .out = want,
                                 .a = host[GX_BIND_A],
                                 .b = host[GX_BIND_B]};
    assert_int_equal(gx__poly_reference(&poly), GX_NONE_BAD);
    hand_over(true);
    dispatch(&(struct trial){.kernel = kernel, .n = n});
    hand_over(false);
    assert_memory_equal(host[GX_BIND_OUT], want, bytes);
    assert_int_equal(host[GX_BIND_OUT][bytes], GUARD);
    assert_memory_equal(host[GX_BIND_BAD], "\xff\xff\xff\xff", 4);
}

static void scans(void **state)
{
    (void)state;
    const gx_op ops[] = {GX_PREFIX_SUM, GX_PREFIX_PRODUCT, GX_DIVIDE_LINEAR,
                         GX_EVALUATE,   GX_POWERS,         GX_COSETS};
    const gx_field fields[] = {GX_BLS12_381_FQ, GX_BLS12_381_FR, GX_BN254_FQ};
    struct gx_gpu *gpu = device.impl;
    for (size_t f = 0; f < GXT_COUNT(fields); f++) {
        uint32_t variants = gx__vk_variants(gpu, fields[f], GX_SHADER_SCAN);
        if (vk_of(&device)->physical->base.software)
            assert_int_equal(variants, 2);
        for (uint32_t v = 0; v < variants; v++)
            for (size_t o = 0; o < GXT_COUNT(ops); o++) {
                struct gx_kernel_key key = {.op = ops[o], .field = fields[f], .check = 1};
                struct gx_choice choice = {.workgroup = 8, .variant = (uint8_t)v};
                struct gx_gpu_kernel *kernel;
                key.param[GX_PARAM_COUNT] = 20;
                assert_int_equal(gx__gpu_build(gpu, &key, choice, &kernel), GX_OK);
                try_poly(kernel, 20);
                try_poly(kernel, MOST);
                gx__free(&instance.config.allocator, kernel);
            }
    }
}

static void words(void **state)
{
    (void)state;
    const gx_op ops[] = {GX_ADD, GX_SUB, GX_MUL};
    for (size_t i = 0; i < GXT_COUNT(ops); i++) {
        try_variants(GX_U32, ops[i], GX_SHADER_WORDS);
        try_variants(GX_F32, ops[i], GX_SHADER_WORDS);
    }
}

/* Both ways of moving elements must be there to be tested. */
static void lavapipe_can_shuffle(void **state)
{
    (void)state;
    if (vk_of(&device)->physical->base.software)
        assert_int_equal(gx__vk_variants(device.impl, GX_BLS12_381_FQ, GX_SHADER_LINEAR), 2);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(lavapipe_can_shuffle),
                                       cmocka_unit_test(sums),
                                       cmocka_unit_test(products),
                                       cmocka_unit_test(quotients),
                                       cmocka_unit_test(reductions),
                                       cmocka_unit_test(scans),
                                       cmocka_unit_test(words)};
    return cmocka_run_group_tests(tests, open_device, close_device);
}
