/* SPDX-License-Identifier: Apache-2.0
 *
 * The kernels of multi-scalar multiplications on GPUs, below exec/: every way to build them,
 * against sums of multiples on the host, window by window.
 */
#include <stdio.h>

#include "base/alloc.h"
#include "base/options.h"
#include "base/threads.h"
#include "curve/point.h"
#include "curve/digits.h"
#include "device/gpu/gpu.h"
#include "kernel/wgsl.h"
#include "support/harness.h"

enum { POINTS = 2600, SCALAR_LIMBS = 4, SCALAR_BITS = 256 };

static struct gx_instance instance;
static struct gx_device device;
static uint64_t rng = 18;
static const struct gx_curve_row *curve;
static uint64_t *multiples; /* 1, 2, 3 ... times the generator, affine */

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

static void copy(const struct gx_mem *from, const struct gx_mem *to, size_t bytes)
{
    struct gx_cmd *cmd;
    assert_int_equal(device.ops->begin(&device, GX_QUEUE_COMPUTE, &cmd), GX_OK);
    device.ops->copy(cmd, &(struct gx_region){.from = {from, 0}, .to = {to, 0}, .size = bytes}, 1);
    finish(cmd);
}

static struct gx_mem put(const void *data, size_t bytes)
{
    struct gx_mem mem = alloc_mem(GX_MEM_DEVICE, bytes), up = alloc_mem(GX_MEM_UPLOAD, bytes);
    void *host;
    assert_int_equal(device.ops->map(&device, &up, &host), GX_OK);
    memcpy(host, data, bytes);
    device.ops->unmap(&device, &up);
    copy(&up, &mem, bytes);
    device.ops->mem_free(&device, &up);
    return mem;
}

static void get(const struct gx_mem *mem, void *data, size_t bytes)
{
    struct gx_mem down = alloc_mem(GX_MEM_READBACK, bytes);
    void *host;
    copy(mem, &down, bytes);
    assert_int_equal(device.ops->map(&device, &down, &host), GX_OK);
    memcpy(data, host, bytes);
    device.ops->unmap(&device, &down);
    device.ops->mem_free(&device, &down);
}

/* ---- inputs ---- */

enum points { ANY, EQUAL, OPPOSITE, SOME_INFINITY, ALL_INFINITY };
enum scalars { RANDOM, ONES, BITS_SET, ZEROS, SAME, SMALL, POWERS, EDGES };

struct trial {
    uint32_t n, bits, window;
    enum points points;
    enum scalars scalars;
    uint32_t group; /* GX_PARAM_MSM_GROUP */
};

static size_t point_limbs(void)
{
    return (size_t)2 * curve->limbs;
}

static void negate(uint64_t *xy)
{
    struct gx_xyzz p;
    gx__xyzz_set_affine(curve, &p, xy);
    gx__xyzz_neg(curve, &p);
    gx__xyzz_to_affine(curve, &p, xy);
}

static void make_point(const struct trial *t, uint32_t i, uint64_t *xy)
{
    size_t bytes = point_limbs() * sizeof *xy;
    bool equal = t->points == EQUAL || t->points == OPPOSITE;
    memcpy(xy, multiples + (equal ? 6 : i % POINTS) * point_limbs(), bytes);
    if (t->points == OPPOSITE && i % 2)
        negate(xy);
    if (t->points == ALL_INFINITY || (t->points == SOME_INFINITY && (i % 3 == 0 || i + 1 == t->n)))
        memset(xy, 0, bytes);
}

/* Bits at `bits` and above are random: they do not count. */
static void make_scalar(const struct trial *t, uint32_t i, uint64_t *s)
{
    uint32_t bit = (i * 7) % t->bits;
    uint64_t any = gxt_next(&rng);
    gxt_bytes(&rng, s, SCALAR_LIMBS * sizeof *s);
    if (t->scalars == RANDOM || (t->scalars == SMALL && i % 10 == 0))
        return;
    memset(s, t->scalars == EDGES ? 0xff : 0, SCALAR_LIMBS * sizeof *s);
    if (t->scalars == ONES || t->scalars == SMALL)
        s[0] = t->scalars == ONES ? 1 : any % 4;
    else if (t->scalars == BITS_SET)
        s[0] = any & 1;
    else if (t->scalars == SAME)
        s[0] = 0x123456789abcdef0u, s[3] = 0x0fedcba987654321u;
    else if (t->scalars == POWERS)
        s[bit / 64] = (uint64_t)1 << bit % 64;
    else if (t->scalars == EDGES && i % 2) /* 2^k - 1 */
        for (uint32_t k = bit; k < SCALAR_BITS; k++)
            s[k / 64] &= ~((uint64_t)1 << k % 64);
}

/* ---- expected values ---- */

static uint64_t bit_of(const struct trial *t, const uint64_t *s, uint32_t bit)
{
    return bit < t->bits ? s[bit / 64] >> bit % 64 & 1 : 0;
}

/* Digit w, with what the windows below carry. */
static int64_t digit_of(const struct trial *t, const uint64_t *s, uint32_t w)
{
    int64_t digit = 0, carry = 0;
    for (uint32_t v = 0; v <= w; v++) {
        digit = carry;
        for (uint32_t k = 0; k < t->window; k++)
            digit += (int64_t)bit_of(t, s, v * t->window + k) << k;
        carry = digit > (int64_t)1 << (t->window - 1);
        digit -= carry << t->window;
    }
    return digit;
}

static void expected(const struct trial *t, const uint64_t *scalars, const uint64_t *points,
                     uint32_t w, uint64_t *xy)
{
    struct gx_xyzz sum, p;
    gx__xyzz_set_infinity(&sum);
    for (uint32_t i = 0; i < t->n; i++) {
        int64_t digit = digit_of(t, scalars + (size_t)i * SCALAR_LIMBS, w);
        uint64_t size = (uint64_t)(digit < 0 ? -digit : digit);
        if (!digit)
            continue;
        gx__xyzz_set_affine(curve, &p, points + i * point_limbs());
        gx__xyzz_mul(curve, &p, &p, &size, t->window);
        if (digit < 0)
            gx__xyzz_neg(curve, &p);
        gx__xyzz_add(curve, &sum, &p);
    }
    gx__xyzz_to_affine(curve, &sum, xy);
}

static void compare(const struct trial *t, const uint64_t *scalars, const uint64_t *points,
                    const uint64_t *sums)
{
    uint64_t want[2 * GX_COORD_LIMBS], got[2 * GX_COORD_LIMBS];
    const size_t limbs = curve->limbs, bytes = limbs * sizeof *sums;
    for (uint32_t w = 0; w < gx__digit_count(t->bits, t->window); w++, sums += 4 * limbs) {
        struct gx_xyzz p;
        memcpy(p.x, sums, bytes);
        memcpy(p.y, sums + limbs, bytes);
        memcpy(p.zz, sums + 2 * limbs, bytes);
        memcpy(p.zzz, sums + 3 * limbs, bytes);
        for (size_t k = 0; k < (size_t)4 * curve->degree; k++)
            assert_int_equal(gx__first_bad(curve->base, sums + k * curve->base->limbs, 1, false),
                             GX_NONE_BAD);
        gx__xyzz_to_affine(curve, &p, got);
        expected(t, scalars, points, w, want);
        if (memcmp(got, want, 2 * bytes) != 0)
            fail_msg("%s, %u points (%d), %u bits (%d), windows of %u: window %u is wrong",
                     curve->info.name, t->n, t->points, t->bits, t->scalars, t->window, w);
    }
}

/* ---- trials ---- */

static void run_trial(const struct gx_gpu_kernel *kernel, const struct trial *t)
{
    size_t point_bytes = point_limbs() * sizeof(uint64_t), scalar_bytes = SCALAR_LIMBS * 8;
    size_t out_bytes = gx__digit_count(t->bits, t->window) * 2 * point_bytes;
    uint64_t *scalars = gxt_alloc(t->n * scalar_bytes), *points = gxt_alloc(t->n * point_bytes);
    uint64_t *sums = gxt_alloc(out_bytes);
    struct gx_dispatch d = {.kernel = {.key = kernel->key, .impl = kernel}, .n = t->n};
    struct gx_cmd *cmd;
    d.kernel.key.param[GX_PARAM_CURVE] = curve->curve;
    d.kernel.key.param[GX_PARAM_BITS] = t->bits;
    d.kernel.key.param[GX_PARAM_WINDOW] = t->window;
    d.kernel.key.param[GX_PARAM_MSM_GROUP] = t->group;
    for (uint32_t i = 0; i < t->n; i++) {
        make_scalar(t, i, scalars + (size_t)i * SCALAR_LIMBS);
        make_point(t, i, points + i * point_limbs());
    }
    memset(sums, 0xff, out_bytes);
    struct gx_mem a = put(scalars, t->n * scalar_bytes), b = put(points, t->n * point_bytes);
    struct gx_mem out = put(sums, out_bytes);
    struct gx_mem scratch = alloc_mem(GX_MEM_DEVICE, device.ops->scratch(&device, &d.kernel, t->n));
    d.bind[GX_BIND_A].mem = &a;
    d.bind[GX_BIND_B].mem = &b;
    d.bind[GX_BIND_OUT].mem = &out;
    d.bind[GX_BIND_SCRATCH].mem = &scratch;
    assert_int_equal(device.ops->begin(&device, GX_QUEUE_COMPUTE, &cmd), GX_OK);
    device.ops->dispatch(cmd, &d);
    finish(cmd);
    get(&out, sums, out_bytes);
    compare(t, scalars, points, sums);
    device.ops->mem_free(&device, &a);
    device.ops->mem_free(&device, &b);
    device.ops->mem_free(&device, &out);
    device.ops->mem_free(&device, &scratch);
    free(scalars);
    free(points);
    free(sums);
}

/* Large windows are slow on software WebGPU. */
static void every_size(const struct gx_gpu_kernel *kernel, uint32_t largest)
{
    static const uint32_t sizes[] = {1, 2, 31, 33, 257, 1025, 2600};
    static const uint32_t windows[] = {2, 3, 4, 5, 7, 8, 9};
    for (size_t i = 0; i < GXT_COUNT(sizes) && sizes[i] <= largest; i++)
        run_trial(kernel, &(struct trial){sizes[i], i % 2 ? 64 : 37, windows[i], ANY, RANDOM, 0});
    if (largest < POINTS && device.info.kind != GX_DEVICE_VULKAN)
        return;
    run_trial(kernel, &(struct trial){70, 256, 13, SOME_INFINITY, EDGES, 0});
    run_trial(kernel, &(struct trial){100, 17, 17, OPPOSITE, SAME, 0});
}

static void every_trap(const struct gx_gpu_kernel *kernel)
{
    for (int points = ANY; points <= ALL_INFINITY; points++)
        for (int scalars = RANDOM; scalars <= EDGES; scalars++)
            run_trial(kernel, &(struct trial){scalars % 2 ? 130 : 257, scalars % 3 ? 24 : 23, 6,
                                              (enum points)points, (enum scalars)scalars, 0});
}

/* One bucket, with more slices than one workgroup joins. */
static void skew(const struct gx_gpu_kernel *kernel)
{
    run_trial(kernel, &(struct trial){2600, 8, 4, ANY, SAME, 0});
    run_trial(kernel, &(struct trial){2600, 8, 8, EQUAL, ONES, 0});
}

static void groups(const struct gx_gpu_kernel *kernel)
{
    run_trial(kernel, &(struct trial){130, 64, 7, ANY, RANDOM, 3});
    run_trial(kernel, &(struct trial){33, 64, 9, SOME_INFINITY, EDGES, 5});
}

/* Multiples of points: `parts` of each, every one doubled so many times. */
static void multiples_of(const struct gx_gpu_kernel *kernel, uint32_t n, uint32_t doublings,
                         uint32_t parts)
{
    const struct trial t = {.n = n, .points = SOME_INFINITY};
    const size_t limbs = curve->limbs, bytes = point_limbs() * sizeof(uint64_t);
    const size_t out_bytes = n * parts * 2 * bytes;
    uint64_t *points = gxt_alloc(n * bytes), *got = gxt_alloc(out_bytes);
    struct gx_dispatch d = {.kernel = {.key = kernel->key, .impl = kernel}, .n = n};
    struct gx_cmd *cmd;
    d.kernel.key.param[GX_PARAM_CURVE] = curve->curve;
    d.kernel.key.param[GX_PARAM_MSM_DOUBLINGS] = doublings;
    d.kernel.key.param[GX_PARAM_MSM_PARTS] = parts;
    for (uint32_t i = 0; i < n; i++)
        make_point(&t, i, points + i * point_limbs());
    memset(got, 0xff, out_bytes);
    struct gx_mem a = put(points, n * bytes), out = put(got, out_bytes);
    assert_int_equal(device.ops->scratch(&device, &d.kernel, n), 0);
    d.bind[GX_BIND_A].mem = &a;
    d.bind[GX_BIND_OUT].mem = &out;
    assert_int_equal(device.ops->begin(&device, GX_QUEUE_COMPUTE, &cmd), GX_OK);
    device.ops->dispatch(cmd, &d);
    finish(cmd);
    get(&out, got, out_bytes);
    for (uint32_t i = 0; i < n; i++) {
        struct gx_xyzz p, q;
        uint64_t want[2 * GX_COORD_LIMBS], xy[2 * GX_COORD_LIMBS];
        gx__xyzz_set_affine(curve, &p, points + i * point_limbs());
        for (uint32_t k = 0; k < parts; k++) {
            const uint64_t *from = got + (i * parts + k) * 4 * limbs;
            for (uint32_t j = 0; j < doublings; j++)
                gx__xyzz_double(curve, &p);
            memcpy(q.x, from, limbs * sizeof *from);
            memcpy(q.y, from + limbs, limbs * sizeof *from);
            memcpy(q.zz, from + 2 * limbs, limbs * sizeof *from);
            memcpy(q.zzz, from + 3 * limbs, limbs * sizeof *from);
            gx__xyzz_to_affine(curve, &p, want);
            gx__xyzz_to_affine(curve, &q, xy);
            if (memcmp(xy, want, bytes) != 0)
                fail_msg("%s, %u points doubled %u times: multiple %u of %u is wrong",
                         curve->info.name, n, doublings, k, i);
        }
    }
    device.ops->mem_free(&device, &a);
    device.ops->mem_free(&device, &out);
    free(points);
    free(got);
}

/* ---- devices ---- */

static void make_multiples(void)
{
    struct gx_xyzz p;
    multiples = gxt_alloc(POINTS * point_limbs() * sizeof *multiples);
    gx__xyzz_set_infinity(&p);
    for (uint32_t i = 0; i < POINTS; i++) {
        gx__xyzz_add_affine(curve, &p, curve->generator);
        gx__xyzz_to_affine(curve, &p, multiples + i * point_limbs());
    }
}

static struct gx_gpu_kernel *build(uint32_t variant)
{
    struct gx_gpu *gpu = device.impl;
    struct gx_kernel_key key = {.op = GX_OP_MSM_SUMS, .field = curve->base->field};
    struct gx_choice choice = gx__gpu_guess(gpu, GX_SHADER_MSM_ADD);
    struct gx_gpu_kernel *kernel;
    choice.variant = (uint8_t)variant;
    assert_int_equal(gx__gpu_build(gpu, &key, choice, &kernel), GX_OK);
    return kernel;
}

/* On software Vulkan, variants with 64-bit integers take long to compile: shorter ones stand for
 * all. */
static bool worth_compiling(void)
{
    return curve->curve == GX_BN254_G1 && !gxt_small();
}

static void try_variant(uint32_t variant, bool all)
{
    struct gx_gpu_kernel *kernel = build(variant);
    every_size(kernel, all ? POINTS : 257);
    if (all)
        every_trap(kernel);
    if (all)
        skew(kernel);
    groups(kernel);
    multiples_of(kernel, 1, 1, 1);
    multiples_of(kernel, 130, 22, 4);
    multiples_of(kernel, 33, 66, 3);
    gx__free(&instance.config.allocator, kernel);
}

/* Compiling is most of the time: one variant of each curve, and the extension of the smaller field
 * stands for both. */
static void try_webgpu(uint32_t variants)
{
    uint32_t loops = variants < GX_WGSL_COLUMNS ? variants : GX_WGSL_COLUMNS;
    if (curve->curve == GX_BN254_G1)
        try_variant(loops - 1, true);
    else if (curve->curve != GX_BLS12_381_G2)
        try_variant(0, false);
}

static void try_curve(gx_curve which)
{
    struct gx_gpu *gpu = device.impl;
    curve = gx__curve(which);
    uint32_t variants = gpu->ops->variants(gpu, curve->base->field, GX_SHADER_MSM_ADD);
    assert_true(variants > 0);
    make_multiples();
    if (device.info.kind == GX_DEVICE_WEBGPU)
        try_webgpu(variants);
    else
        for (uint32_t v = worth_compiling() ? 0 : variants - 1; v < variants; v++)
            try_variant(v, curve->degree == 1 && v + 1 == variants);
    free(multiples);
}

static void window_sums(void **state)
{
    (void)state;
    struct gx_error error = {""};
    gx_config config = {0};
    const char *name = gxt_gpu();
    if (!name)
        skip();
    gxt_watch(&config);
    assert_int_equal(gx__config_complete(&instance.config, &config, &error), GX_OK);
    assert_int_equal(gx__device_open(&instance, name, &device, &error), GX_OK);
    for (gx_curve which = 1; which < GX_CURVE_END; which++)
        try_curve(which);
    gx__device_close(&device);
    gx__device_stop(&instance);
    gx__threads_end(&instance);
    assert_int_equal(gxt_complaints(), 0);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(window_sums)};
    gxt_clear_environment();
    gxt_choose_gpu(argc, argv);
    return cmocka_run_group_tests_name("msm kernels", tests, NULL, NULL);
}
