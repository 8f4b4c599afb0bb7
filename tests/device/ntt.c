/* SPDX-License-Identifier: Apache-2.0
 *
 * The kernels of transforms on GPUs, below exec/: every way to build them, on Vulkan, WebGPU
 * and CUDA, against Horner's rule on GMP with the published roots of unity. The library's domain
 * makes the table, so that a wrong twiddle or root is found here too.
 */
#include <stdio.h>

#include "base/alloc.h"
#include "base/options.h"
#include "device/gpu/gpu.h"
#include "field/scalar.h"
#include "op/domain.h"
#include "device/gpu/ntt_table.h"
#include "support/harness.h"
#include "support/oracle.h"

#define ALL_FLAGS                                                                                  \
    (GX_NTT_INVERSE | GX_NTT_COSET | GX_NTT_REVERSED_IN | GX_NTT_REVERSED_OUT | GX_NTT_COLUMNS)

enum { LOG2_TABLE = 18, LIMBS = 4, ELEMENT = 32, DEVICES_MAX = GXT_GPUS, GUARD = 0x5c };

static const char *device_names[DEVICES_MAX];
static size_t device_count;

static struct gx_instance instance;
static struct gx_device device;
static struct oracle_rng rng = {17};
static gx_field field;
static struct gx_domain domain;
static struct gx_mem table;

/* ---- memory ---- */

static struct gx_mem alloc_mem(enum gx_mem_kind kind, size_t bytes)
{
    struct gx_mem mem;
    kind = device.facts.mem_kinds & GX_MEM_BIT(kind) ? kind : GX_MEM_SHARED;
    assert_int_equal(device.ops->mem_alloc(&device, kind, bytes, &mem), GX_OK);
    return mem;
}

static void finish(struct gx_cmd *cmd)
{
    struct gx_fence done;
    device.ops->barrier(cmd, GX_BARRIER_TO_HOST);
    assert_int_equal(device.ops->submit(cmd, NULL, 0, &done), GX_OK);
    assert_int_equal(device.ops->wait(&device, done, GX_WAIT_FOREVER), GX_OK);
    device.ops->recycle(cmd);
}

static void copy(const struct gx_mem *from, size_t from_at, const struct gx_mem *to, size_t to_at,
                 size_t bytes)
{
    struct gx_cmd *cmd;
    assert_int_equal(device.ops->begin(&device, GX_QUEUE_COMPUTE, &cmd), GX_OK);
    device.ops->copy(
        cmd, &(struct gx_region){.from = {from, from_at}, .to = {to, to_at}, .size = bytes}, 1);
    finish(cmd);
}

static void put_at(struct gx_mem *mem, size_t offset, const void *data, size_t bytes)
{
    struct gx_mem up = alloc_mem(GX_MEM_UPLOAD, bytes);
    void *host;
    assert_int_equal(device.ops->map(&device, &up, &host), GX_OK);
    memcpy(host, data, bytes);
    device.ops->unmap(&device, &up);
    copy(&up, 0, mem, offset, bytes);
    device.ops->mem_free(&device, &up);
}

static struct gx_mem put(const void *data, size_t bytes)
{
    struct gx_mem mem = alloc_mem(GX_MEM_DEVICE, bytes);
    put_at(&mem, 0, data, bytes);
    return mem;
}

static void get(const struct gx_mem *mem, void *data, size_t bytes)
{
    struct gx_mem down = alloc_mem(GX_MEM_READBACK, bytes);
    void *host;
    copy(mem, 0, &down, 0, bytes);
    assert_int_equal(device.ops->map(&device, &down, &host), GX_OK);
    memcpy(data, host, bytes);
    device.ops->unmap(&device, &down);
    device.ops->mem_free(&device, &down);
}

/* ---- the table ---- */

static void dispatch(const struct gx_dispatch *d)
{
    struct gx_cmd *cmd;
    assert_int_equal(device.ops->begin(&device, GX_QUEUE_COMPUTE, &cmd), GX_OK);
    device.ops->dispatch(cmd, d);
    finish(cmd);
}

static void make_twiddles(void)
{
    const uint64_t count = gx__ntt_twiddles(LOG2_TABLE), high = gx__ntt_high(count);
    uint64_t *seeds = gxt_alloc(GX_NTT_LOW * ELEMENT), *all = gxt_alloc(2 * count * ELEMENT);
    struct gx_kernel_key key = {.op = GX_OP_NTT_TABLE, .field = field};
    struct gx_dispatch d = {.n = count};
    assert_int_equal(device.ops->kernel(&device, &key, &d.kernel), GX_OK);
    gx__domain_twiddles(&domain, 0, GX_NTT_LOW, seeds);
    struct gx_mem low = put(seeds, GX_NTT_LOW * ELEMENT);
    gx__domain_twiddles(&domain, GX_K_NTT_LOW_BITS, high, seeds);
    struct gx_mem steps = put(seeds, (size_t)high * ELEMENT);
    d.bind[GX_BIND_OUT].mem = &table;
    d.bind[GX_BIND_A].mem = &low;
    d.bind[GX_BIND_B].mem = &steps;
    dispatch(&d);
    gx__domain_twiddles(&domain, 0, count, all);
    get(&table, all + count * LIMBS, (size_t)count * ELEMENT);
    assert_memory_equal(all, all + count * LIMBS, count * ELEMENT);
    device.ops->mem_free(&device, &low);
    device.ops->mem_free(&device, &steps);
    free(seeds);
    free(all);
}

static void put_powers(uint64_t at, const uint64_t *base)
{
    const uint64_t high = gx__ntt_high((uint64_t)1 << LOG2_TABLE);
    uint64_t *powers = gxt_alloc((size_t)(GX_NTT_LOW + high) * ELEMENT), step[LIMBS];
    gx__powers_of(domain.prime, base, GX_NTT_LOW, powers);
    gx__mul_one(domain.prime, step, powers + (GX_NTT_LOW - 1) * LIMBS, base);
    gx__powers_of(domain.prime, step, high, powers + GX_NTT_LOW * LIMBS);
    put_at(&table, (size_t)at * ELEMENT, powers, (size_t)(GX_NTT_LOW + high) * ELEMENT);
    free(powers);
}

static void make_table(void)
{
    uint64_t two[LIMBS], half[LIMBS], halves[(LOG2_TABLE + 1) * LIMBS];
    table = alloc_mem(GX_MEM_DEVICE, (size_t)gx__ntt_table_elements(LOG2_TABLE) * ELEMENT);
    make_twiddles();
    put_powers(gx__ntt_shift_at(LOG2_TABLE), domain.shift);
    put_powers(gx__ntt_inverse_shift_at(LOG2_TABLE), domain.inverse_shift);
    gx__int_one(domain.prime, two, 2);
    gx__invert_one(domain.prime, half, two);
    gx__powers_of(domain.prime, half, LOG2_TABLE + 1, halves);
    put_at(&table, (size_t)gx__ntt_halves_at(LOG2_TABLE) * ELEMENT, halves, sizeof halves);
}

/* ---- expected values ---- */

static mpz_t modulus, root, shift; /* root: of order 2^two_adicity; plain integers */

static void published(void)
{
    bool bls = field == GX_BLS12_381_FR;
    mpz_inits(modulus, root, shift, NULL);
    oracle_modulus(modulus, field);
    mpz_set_str(root,
                bls ? "16a2a19edfe81f20d09b681922c813b4b63683508c2280b93829971f439f0d2b"
                    : "2a3c09f0a58a7e8500e0a7eb8ef62abc402d111e41112ed49bd61b6e725b19f0",
                16);
    mpz_set_ui(shift, bls ? 7 : 5);
}

struct trial {
    uint32_t log2_n, log2_pad, flags;
    uint64_t batch;
    bool in_place;
    uint32_t bad; /* index + 1 of an operand that is not below the modulus; 0: none */
};

static uint64_t reverse(uint64_t i, uint32_t bits)
{
    uint64_t r = 0;
    for (uint32_t k = 0; k < bits; k++)
        r = r << 1 | (i >> k & 1);
    return r;
}

/* Where element i of transform t is, in an array of transforms of 2^bits. */
static uint64_t place(const struct trial *trial, uint64_t t, uint64_t i, uint32_t bits,
                      uint32_t order)
{
    if (trial->flags & order)
        i = reverse(i, bits);
    return trial->flags & GX_NTT_COLUMNS ? i * trial->batch + t : (t << bits) + i;
}

/* Output k of transform t, from the definition. Elements times R stay so: everything is linear. */
static void expected(const struct trial *trial, uint64_t t, uint64_t k, const unsigned char *in,
                     unsigned char *out)
{
    bool inverse = trial->flags & GX_NTT_INVERSE, coset = trial->flags & GX_NTT_COSET;
    uint32_t bits = trial->log2_n - trial->log2_pad;
    mpz_t x, term, sum;
    mpz_inits(x, term, sum, NULL);
    mpz_powm_ui(x, root, (unsigned long)1 << (domain.prime->two_adicity - trial->log2_n), modulus);
    mpz_powm_ui(x, x, (unsigned long)k, modulus);
    if (inverse)
        mpz_invert(x, x, modulus);
    else if (coset)
        mpz_mul(x, x, shift);
    for (uint64_t i = (uint64_t)1 << bits; i-- > 0;) {
        oracle_import(term, in + place(trial, t, i, bits, GX_NTT_REVERSED_IN) * ELEMENT, LIMBS);
        mpz_mul(sum, sum, x);
        mpz_add(sum, sum, term);
        mpz_mod(sum, sum, modulus);
    }
    if (inverse) {
        mpz_set_ui(term, 1);
        mpz_mul_2exp(term, term, trial->log2_n);
        mpz_powm_ui(x, shift, coset ? (unsigned long)k : 0, modulus);
        mpz_mul(term, term, x);
        mpz_invert(term, term, modulus);
        mpz_mul(sum, sum, term);
        mpz_mod(sum, sum, modulus);
    }
    oracle_export(out, LIMBS, sum);
    mpz_clears(x, term, sum, NULL);
}

/* ---- trials ---- */

static void fail_at(const struct trial *trial, const struct gx_gpu_kernel *kernel, uint64_t t,
                    uint64_t k)
{
    struct gx_gpu *gpu = device.impl;
    fail_msg("%s %s %s, workgroup %u: log2_n %u, log2_pad %u, flags %u, batch %llu, in place %d: "
             "output %llu of transform %llu",
             device.info.name, gx_field_get_info(field)->name,
             gpu->ops->variant_name(gpu, field, GX_SHADER_NTT, kernel->choice.variant),
             kernel->choice.workgroup, trial->log2_n, trial->log2_pad, trial->flags,
             (unsigned long long)trial->batch, trial->in_place, (unsigned long long)k,
             (unsigned long long)t);
}

/* Of the first and the last transform, all outputs if it is small, otherwise the second, where the
 * powers of the root are in natural order, and a random one. */
static void compare(const struct trial *trial, const struct gx_gpu_kernel *kernel,
                    const unsigned char *in, const unsigned char *out)
{
    uint64_t n = (uint64_t)1 << trial->log2_n, some = n <= 16 ? n : 2;
    for (uint64_t t = 0; t<trial->batch; t += trial->batch> 1 ? trial->batch - 1 : 1)
        for (uint64_t c = 0; c < some; c++) {
            unsigned char want[ELEMENT];
            uint64_t k = some == n ? c : c ? oracle_random(&rng) % n : 1;
            expected(trial, t, k, in, want);
            uint64_t at = place(trial, t, k, trial->log2_n, GX_NTT_REVERSED_OUT);
            if (memcmp(want, out + at * ELEMENT, ELEMENT) != 0)
                fail_at(trial, kernel, t, k);
        }
}

static void run_trial(const struct trial *trial, const struct gx_gpu_kernel *kernel)
{
    const size_t n = (size_t)trial->batch << trial->log2_n, bytes = n * ELEMENT;
    const size_t operands = n >> trial->log2_pad;
    unsigned char *in = gxt_alloc(bytes), *out = gxt_alloc(bytes);
    uint32_t bad = UINT32_MAX;
    struct gx_dispatch d = {.kernel = {.key = kernel->key, .impl = kernel}, .n = n};
    d.kernel.key.param[GX_PARAM_LOG2_N] = trial->log2_n;
    d.kernel.key.param[GX_PARAM_LOG2_PAD] = trial->log2_pad;
    d.kernel.key.param[GX_PARAM_NTT_FLAGS] = trial->flags;
    d.kernel.key.param[GX_PARAM_LOG2_TABLE] = LOG2_TABLE;
    gx__put64(d.kernel.key.param + GX_PARAM_STRIDE_A, trial->batch);
    gx__put64(d.kernel.key.param + GX_PARAM_STRIDE_OUT, trial->batch);
    oracle_fill(field, &rng, in, operands);
    if (trial->bad)
        oracle_bad(field, trial->bad, in + (trial->bad - 1) * ELEMENT);
    size_t scratch_bytes = device.ops->scratch(&device, &d.kernel, n);
    struct gx_mem a = put(in, operands * ELEMENT), result = {0}, scratch = {0},
                  slot = put(&bad, sizeof bad);
    if (!trial->in_place)
        result = alloc_mem(GX_MEM_DEVICE, bytes);
    if (scratch_bytes)
        scratch = alloc_mem(GX_MEM_DEVICE, scratch_bytes);
    d.bind[GX_BIND_A].mem = &a;
    d.bind[GX_BIND_OUT].mem = trial->in_place ? &a : &result;
    d.bind[GX_BIND_SCRATCH].mem = scratch_bytes ? &scratch : NULL;
    d.bind[GX_BIND_BAD].mem = &slot;
    d.bind[GX_BIND_TABLE].mem = &table;
    dispatch(&d);
    get(d.bind[GX_BIND_OUT].mem, out, bytes);
    get(&slot, &bad, sizeof bad);
    assert_int_equal(bad, trial->bad - 1);
    if (!trial->bad)
        compare(trial, kernel, in, out);
    device.ops->mem_free(&device, &a);
    device.ops->mem_free(&device, &slot);
    if (!trial->in_place)
        device.ops->mem_free(&device, &result);
    if (scratch_bytes)
        device.ops->mem_free(&device, &scratch);
    free(in);
    free(out);
}

/* Every size: in the two commonest orders, which share a pipeline, and if `mixed` with other flags
 * for each. */
static void every_size(const struct gx_gpu_kernel *kernel, uint32_t largest, bool mixed)
{
    uint32_t flags = 0;
    for (uint32_t log2_n = 0; log2_n <= largest; log2_n++) {
        run_trial(&(struct trial){log2_n, 0, GX_NTT_REVERSED_OUT, 1, false, 0}, kernel);
        run_trial(&(struct trial){log2_n, 0, 0, log2_n > 10 ? 2 : 11, true, 0}, kernel);
        for (int i = 0; i < 2 && mixed; i++, flags += 13)
            run_trial(&(struct trial){log2_n, i ? 0 : log2_n / 3,
                                      (flags & ALL_FLAGS) | (i ? GX_NTT_COLUMNS : 0),
                                      i && log2_n <= 10 ? 37 : 3, i, 0},
                      kernel);
    }
}

/* From the smallest to the largest, some of which are for another kernel than others. */
static void every_order(const struct gx_gpu_kernel *kernel)
{
    static const uint32_t orders[] = {0, GX_NTT_REVERSED_IN, GX_NTT_REVERSED_OUT,
                                      GX_NTT_REVERSED_IN | GX_NTT_REVERSED_OUT};
    for (uint32_t log2_n = 0; log2_n <= LOG2_TABLE; log2_n++)
        for (size_t i = 0; i < GXT_COUNT(orders); i++)
            run_trial(&(struct trial){log2_n, 0, orders[i], 1, false, 0}, kernel);
}

/* In one pass and in two. */
static void every_flag(const struct gx_gpu_kernel *kernel)
{
    const uint32_t sizes[] = {4, 11};
    for (uint32_t flags = 0; flags <= ALL_FLAGS; flags++)
        for (size_t i = 0; i < GXT_COUNT(sizes); i++)
            run_trial(&(struct trial){sizes[i], flags / 5 % 3, flags, 1 + flags % 7, false, 0},
                      kernel);
}

/* ---- devices ---- */

static void open_device(const char *name)
{
    struct gx_error error = {""};
    memset(&instance, 0, sizeof instance);
    gx_config config = {0};
    gxt_watch(&config);
    assert_int_equal(gx__config_complete(&instance.config, &config, &error), GX_OK);
    assert_int_equal(gx__device_open(&instance, name, &device, &error), GX_OK);
    assert_int_equal(
        gx__domain_set(&domain, &instance, gx__prime(field), LOG2_TABLE, NULL, NULL, &error),
        GX_OK);
    published();
    make_table();
}

static void close_device(void)
{
    mpz_clears(modulus, root, shift, NULL);
    device.ops->mem_free(&device, &table);
    gx__device_close(&device);
    gx__device_stop(&instance);
    gx__threads_end(&instance);
    assert_int_equal(gxt_complaints(), 0);
}

static struct gx_gpu_kernel *build(uint32_t variant, uint16_t workgroup)
{
    struct gx_gpu *gpu = device.impl;
    struct gx_kernel_key key = {.op = GX_NTT, .field = field, .check = 1};
    struct gx_choice choice = gx__gpu_guess(gpu, GX_SHADER_NTT);
    struct gx_gpu_kernel *kernel;
    choice.workgroup = workgroup;
    choice.variant = (uint8_t)variant;
    assert_int_equal(gx__gpu_build(gpu, &key, choice, &kernel), GX_OK);
    return kernel;
}

/* As devices use it. Compiling is most of the time: the first and the last variant are tried with
 * all flags, not on WebGPU, where the suite `ntt` has them, and with a small workgroup, which
 * splits transforms into many passes, only one. */
static void try_variant(uint32_t variant, bool last)
{
    bool all = field == GX_BLS12_381_FR && (variant == 0 || last) && !gxt_small() &&
               device.info.kind != GX_DEVICE_WEBGPU;
    struct gx_gpu_kernel *kernel = build(variant, 128);
    if (kernel->facts.small) {
        every_order(kernel);
        every_flag(kernel);
        every_size(kernel, 13, all);
        kernel->facts.small = 0; /* and with the other kernel alone */
    }
    every_size(kernel, 13, all);
    run_trial(&(struct trial){11, 1, 0, 3, false, 2000}, kernel);
    run_trial(&(struct trial){11, 0, GX_NTT_COLUMNS, 3, true, 6000}, kernel);
    if (all)
        every_flag(kernel);
    if (variant == 0)
        run_trial(&(struct trial){LOG2_TABLE, 0, 0, 1, false, 0}, kernel);
    gx__free(&instance.config.allocator, kernel);
    if (!all || variant || device.info.kind != GX_DEVICE_VULKAN)
        return;
    kernel = build(variant, 8);
    every_size(kernel, 12, true);
    gx__free(&instance.config.allocator, kernel);
}

static void transforms(void **state)
{
    (void)state;
    static const gx_field fields[] = {GX_BLS12_381_FR, GX_BN254_FR};
    for (size_t i = 0; i < device_count; i++)
        for (size_t f = 0; f < GXT_COUNT(fields); f++) {
            field = fields[f];
            open_device(device_names[i]);
            struct gx_gpu *gpu = device.impl;
            uint32_t variants = gpu->ops->variants(gpu, field, GX_SHADER_NTT);
            assert_true(variants > 0);
            for (uint32_t v = 0; v < variants; v++)
                if (f == 0 || v == 0) /* fields differ in constants alone */
                    try_variant(v, v + 1 == variants);
            close_device();
        }
}

static int find_devices(void **state)
{
    (void)state;
    gxt_clear_environment();
    device_count += gxt_gpus(device_names);
    if (!device_count)
        exit(77);
    return 0;
}

int main(int argc, char **argv)
{
    gxt_choose_gpu(argc, argv);
    const struct CMUnitTest tests[] = {cmocka_unit_test(transforms)};
    return cmocka_run_group_tests_name("ntt kernels", tests, find_devices, NULL);
}
