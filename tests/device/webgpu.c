/* SPDX-License-Identifier: Apache-2.0
 *
 * Specific to the WebGPU device: its names, its library, every way to build a kernel (the other
 * tests see only the chosen one). Errors of wgpu are in webgpu_errors.c.
 */
#include "device/webgpu_rig.h"

#include <sys/resource.h>

#include "base/alloc.h"
#include "base/options.h"
#include "base/trace.h"
#include "compose/compose.h"
#include "exec/guard.h"
#include "support/oracle.h"
#include "support/task.h"

/* ---- names ---- */

static void expect_name(const char *name, const char *expected)
{
    gx_device_info info = {.struct_size = sizeof info};
    gx_status s = gx__device_find(&instance, name, &info, &error);
    assert_int_equal(s, expected ? GX_OK : GX_ERR_NO_DEVICE);
    if (expected)
        assert_string_equal(info.name, expected);
}

static void finding(void **state)
{
    (void)state;
    instance = (struct gx_instance){0};
    expect_name("webgpu", names[0]);
    expect_name("webgpu:vulkan", names[0]);
    expect_name("webgpu:gl", names[1]);
    expect_name("webgpu:gl:0", names[1]);
    expect_name("webgpu:gl:7", NULL);
    expect_name("webgpu:g", NULL);
    assert_non_null(strstr(error.text, "vulkan and gl"));
    expect_name("webgpu:metal:0", NULL);
    assert_non_null(strstr(error.text, "vulkan and gl"));
    expect_name("webgpu:dx12", NULL);
    gx__device_stop(&instance);
}

static void backends(void **state)
{
    (void)state;
    instance = (struct gx_instance){.config.webgpu_backends = "gl"};
    expect_name("webgpu", names[1]);
    expect_name("webgpu:vulkan:0", NULL);
    gx__device_stop(&instance);

    /* one that this platform lacks matters only where nothing else is left, and only here */
    instance = (struct gx_instance){.config.webgpu_backends = "DX12, Gles,metal"};
    expect_name("webgpu", names[1]);
    expect_name("webgpu:vulkan:0", NULL);
    gx__device_stop(&instance);
    instance = (struct gx_instance){.config.webgpu_backends = "metal"};
    expect_name("webgpu", NULL);
    assert_non_null(strstr(error.text, "'metal', only vulkan and gl"));
    gx_device_info info = {.struct_size = sizeof info};
    assert_int_equal(gx__device_find(&instance, "cpu", &info, &error), GX_OK);
    gx__device_stop(&instance);

    gx_config config = {0};
    char err[160];
    static const char *const wrong[] = {"opengl", "gl,", "", "gl vulkan", "vulkan,g", "gle"};
    for (size_t i = 0; i < GXT_COUNT(wrong); i++) {
        assert_int_equal(gx_config_set(&config, "webgpu-backends", wrong[i], err, sizeof err),
                         GX_ERR_INVALID);
        assert_non_null(strstr(err, "vulkan, gl or gles, dx12, metal"));
    }
}

/* The devices that a context lists with a value of the prototype's variable; NULL: gx_open must
 * refuse it. */
static void expect_listed(const char *value, const char *expected)
{
    gx_ctx *ctx = NULL;
    gx_device_info infos[8];
    char listed[200] = "";
    size_t count = GXT_COUNT(infos);
    assert_int_equal(setenv("SUPERVM_WGPU_BACKENDS", value, 1), 0);
    assert_int_equal(gx_open(NULL, &ctx), expected ? GX_OK : GX_ERR_INVALID);
    unsetenv("SUPERVM_WGPU_BACKENDS");
    if (!expected)
        return;
    for (size_t i = 0; i < count; i++)
        infos[i] = (gx_device_info){.struct_size = sizeof infos[i]};
    assert_int_equal(gx_devices(ctx, infos, &count), GX_OK);
    for (size_t i = 0; i < count && i < GXT_COUNT(infos); i++)
        if (infos[i].kind == GX_DEVICE_WEBGPU && infos[i].usable) {
            strcat(listed, " ");
            strcat(listed, infos[i].name);
        }
    gx_close(&ctx);
    assert_string_equal(listed, expected);
}

static void variable_of_the_prototype(void **state)
{
    (void)state;
    expect_listed("vulkan", " webgpu:vulkan:0");
    expect_listed("VULKAN", " webgpu:vulkan:0");
    expect_listed("gl", " webgpu:gl:0");
    expect_listed("GLES", " webgpu:gl:0");
    expect_listed("dx12,gles,Vulkan", " webgpu:vulkan:0 webgpu:gl:0");
    expect_listed("dx12", "");
    expect_listed("DX12,Metal", "");
    expect_listed("dx13", NULL);
}

static void software_is_not_automatic(void **state)
{
    (void)state;
    gx_device_info info = {.struct_size = sizeof info};
    instance = (struct gx_instance){0};
    for (size_t i = 0; i < GXT_COUNT(names); i++) {
        assert_int_equal(gx__device_find(&instance, names[i], &info, &error), GX_OK);
        assert_int_equal(info.kind, GX_DEVICE_WEBGPU);
        assert_true(info.usable);
        if (strstr(info.description, "llvmpipe"))
            assert_false(info.automatic);
    }
    gx__device_stop(&instance);
}

/* ---- the library ---- */

static void expect_library(const char *library, const char *text)
{
    gx_device_info info[4] = {{.struct_size = sizeof *info}};
    size_t count = GXT_COUNT(info);
    instance = (struct gx_instance){.config.wgpu_library = library};
    assert_int_equal(gx__webgpu_ops.enumerate(&gx__webgpu_ops, &instance, info, &count), GX_OK);
    assert_int_equal(count, 1);
    assert_string_equal(info[0].name, "webgpu");
    assert_false(info[0].usable);
    if (!strstr(info[0].description, text))
        fail_msg("'%s' does not say '%s'", info[0].description, text);
    assert_true(strlen(info[0].description) + 1 < sizeof info[0].description); /* not cut */
    expect_name("webgpu:vulkan:0", NULL);
    assert_string_equal(error.text, info[0].description);
    gx__device_stop(&instance);
}

static void other_libraries(void **state)
{
    (void)state;
    expect_library("/nonexistent/libwgpu_native.so", "cannot load");
    expect_library("libm.so.6", "has no wgpu");
    expect_library(GXT_OLD_WGPU, "24.0.3");
}

/* ---- ways to build a kernel ---- */

static void transfer(struct gx_mem *mem, void *host, size_t bytes, bool in)
{
    struct gx_mem staging = alloc(in ? GX_MEM_UPLOAD : GX_MEM_READBACK, bytes);
    void *mapped;
    if (!in)
        assert_int_equal(copy(mem, &staging, bytes), GX_OK);
    assert_int_equal(device.ops->map(&device, &staging, &mapped), GX_OK);
    memcpy(in ? mapped : host, in ? host : mapped, bytes);
    device.ops->unmap(&device, &staging);
    if (in)
        assert_int_equal(copy(&staging, mem, bytes), GX_OK);
    device.ops->mem_free(&device, &staging);
}

static gx_status dispatch(const struct gx_dispatch *d)
{
    struct gx_cmd *cmd;
    struct gx_fence done;
    assert_int_equal(device.ops->begin(&device, GX_QUEUE_COMPUTE, &cmd), GX_OK);
    device.ops->dispatch(cmd, d);
    gx_status s = device.ops->submit(cmd, NULL, 0, &done);
    if (s == GX_OK)
        s = device.ops->wait(&device, done, GX_WAIT_FOREVER);
    device.ops->recycle(cmd);
    return s;
}

/* A kernel built as `choice` says, with its check; element `bad` of A, where that is below n, is
 * none of the field. */
static void expect_built(gx_op op, gx_field field, struct gx_choice choice, size_t n, size_t bad)
{
    static struct oracle_rng rng = {5};
    size_t bytes = n * gxt_element(field);
    size_t result = gxt_results(op, n) * gxt_element(field);
    unsigned char *a = gxt_alloc(bytes), *b = gxt_alloc(bytes), *got = gxt_alloc(bytes);
    unsigned char *want = gxt_alloc(bytes);
    struct gx_mem mem[3], scratch = {0}, first_bad = alloc(GX_MEM_DEVICE, 16);
    struct gx_gpu_kernel *kernel;
    const struct gx_kernel_key key = {.op = op, .field = field, .check = true};
    uint32_t found = UINT32_MAX;
    assert_int_equal(gx__gpu_build(device.impl, &key, choice, &kernel), GX_OK);
    struct gx_dispatch d = {.kernel = {.key = key, .impl = kernel}, .n = n};
    oracle_fill(field, &rng, a, n);
    oracle_fill(field, &rng, b, n);
    oracle_run(op, field, n, want, a, b, b, 0);
    if (bad < n)
        oracle_bad(field, bad, a + bad * gxt_element(field));
    for (int i = 0; i < 3; i++) {
        mem[i] = alloc(GX_MEM_DEVICE, bytes);
        d.bind[i].mem = &mem[i];
    }
    size_t needed = device.ops->scratch(&device, &d.kernel, n);
    if (needed)
        scratch = alloc(GX_MEM_DEVICE, needed);
    d.bind[GX_BIND_SCRATCH].mem = needed ? &scratch : NULL;
    d.bind[GX_BIND_BAD].mem = &first_bad;
    transfer(&first_bad, &found, sizeof found, true);
    transfer(&mem[GX_BIND_A], a, bytes, true);
    transfer(&mem[GX_BIND_B], b, bytes, true);
    assert_int_equal(dispatch(&d), GX_OK);
    transfer(&mem[GX_BIND_OUT], got, bytes, false);
    transfer(&first_bad, &found, sizeof found, false);
    if (found != (bad < n ? bad : UINT32_MAX) || (bad >= n && memcmp(got, want, result) != 0))
        fail_msg("%s, %s, %u each: %s of %s, %zu elements", device.info.name,
                 gx__wgsl_mul_names[choice.variant], choice.each, gx_op_get_info(op)->name,
                 gx_field_get_info(field)->name, n);
    for (int i = 0; i < 3; i++)
        device.ops->mem_free(&device, &mem[i]);
    device.ops->mem_free(&device, &first_bad);
    if (needed)
        device.ops->mem_free(&device, &scratch);
    gx__free(&instance.config.allocator, kernel);
    free(a);
    free(b);
    free(got);
    free(want);
}

static void expect_product(gx_op op, gx_field field, enum gx_wgsl_mul mul, size_t n)
{
    const struct gx_choice choice = {.workgroup = 32, .variant = (uint8_t)mul, .each = 1};
    expect_built(op, field, choice, n, n);
}

static void every_way_to_multiply(void **state)
{
    (void)state;
    for (size_t i = 0; i < GXT_COUNT(names); i++) {
        open_named(names[i]);
        uint32_t muls = gx__wg_variants(device.impl, GX_BN254_FR, GX_SHADER_MUL);
        assert_int_equal(muls, wg_of(&device)->adapter->wide ? GX_WGSL_MULS : GX_WGSL_WIDE);
        for (enum gx_wgsl_mul mul = 0; mul < muls; mul++)
            for (size_t f = 0; f < GXT_COUNT(gxt_fields); f++) {
                if (!gx_op_exists(GX_INV, gxt_fields[f]))
                    continue;
                expect_product(GX_MUL, gxt_fields[f], mul, 1000);
                expect_product(GX_SQR, gxt_fields[f], mul, 100);
                if (gxt_fields[f] == GX_BLS12_381_FQ || gxt_fields[f] == GX_BN254_FR)
                    expect_product(GX_DOT, gxt_fields[f], mul, 1000);
                /* in one of them, more than are inverted one by one */
                expect_product(GX_DIV, gxt_fields[f], mul, gxt_fields[f] == GX_BN254_FR ? 1100 : 9);
            }
        close_it();
    }
}

/* The last workgroup has all, some and none of its elements. */
static void elements_per_invocation(void **state)
{
    (void)state;
    const size_t sizes[] = {1, 31, 33, 255, 256, 257};
    for (size_t i = 0; i < GXT_COUNT(names); i++) {
        open_named(names[i]);
        for (uint8_t each = 1; each <= 4; each = (uint8_t)(2 * each)) {
            const struct gx_choice choice = {.workgroup = 32, .each = each};
            for (size_t k = 0; k < GXT_COUNT(sizes); k++)
                expect_built(GX_ADD, GX_BLS12_381_FQ, choice, sizes[k], sizes[k]);
            for (size_t bad = 0; bad < 257; bad += 64)
                expect_built(GX_ADD, GX_BLS12_381_FQ, choice, 257, bad);
            expect_built(GX_MUL, GX_BN254_FR, choice, 255, 255);
        }
        expect_built(GX_ADD, GX_U32, (struct gx_choice){.workgroup = 32, .each = 2}, 100, 100);
        close_it();
    }
}

/* A tree of more than one level. */
static void many_inverses(void **state)
{
    (void)state;
    open_named(names[0]);
    expect_product(GX_INV, GX_BN254_FR, GX_WGSL_DELAY, gxt_small() ? 5000 : 66000);
    close_it();
}

/* ---- limits ---- */

/* More elements than fit in one dispatch, and an offset in a buffer that no binding from its start
 * would reach. */
static void beyond_the_limits(void **state)
{
    (void)state;
    enum { SOME = 64 };
    for (size_t i = 0; i < GXT_COUNT(names); i++) {
        open_named(names[i]);
        size_t n = (size_t)device.facts.dispatch_elems + 1000;
        size_t bound = (size_t)wg_of(&device)->adapter->limits.maxStorageBufferBindingSize;
        close_it();
        if (bound > (size_t)1 << 30)
            continue; /* a real GPU: nothing to go beyond */
        gx_ctx *ctx = gxt_open(NULL);
        uint32_t *a = gxt_alloc(n * sizeof *a), *out = gxt_alloc(n * sizeof *out);
        for (size_t k = 0; k < n; k++)
            a[k] = (uint32_t)k * 2654435761u;
        gx_config config = {.stream_chunk_elems =
                                n}; /* one piece: it is the dispatch that is cut */
        gx_ctx *large = gxt_open(&config);
        gx_job job = gxt_job(GX_ADD, GX_U32, n, a, a, NULL, out);
        gx_report r = {.struct_size = sizeof r};
        assert_int_equal(gxt_run(large, &job, names[i], &r), GX_OK);
        assert_int_equal(r.dispatches, 2);
        for (size_t k = 0; k < n; k++)
            assert_int_equal(out[k], 2 * a[k]);
        gx_close(&large);

        gx_buf *buf = NULL;
        size_t offset = bound + 4096 - 20;
        assert_int_equal(gx_buf_create(ctx, names[i], offset + SOME * 4, 0, &buf), GX_OK);
        assert_int_equal(gx_buf_write(buf, offset, a, SOME * 4), GX_OK);
        job = (gx_job){.op = GX_MUL, .field = GX_U32, .n = SOME};
        job.a = job.b = job.out = gx_dev(buf, offset);
        assert_int_equal(gx_run(ctx, &job, 1, NULL, NULL), GX_OK);
        assert_int_equal(gx_buf_read(buf, offset, out, SOME * 4), GX_OK);
        for (size_t k = 0; k < SOME; k++)
            assert_int_equal(out[k], a[k] * a[k]);
        gx_buf_destroy(&buf);
        gx_close(&ctx);
        free(a);
        free(out);
    }
}

/* ---- what a batch does ---- */

/* Functions of wgpu as the device calls them: they count, and check how buffers are used. */
static struct wg_fn real;
static struct {
    unsigned encoders, passes, launches, submits;
} counted;

#define BUFFERS_MAX 256
static struct {
    WGPUBuffer handle;
    WGPUBufferUsage usage;
} buffers[BUFFERS_MAX];
static size_t buffer_count;

static WGPUBuffer create_buffer(WGPUDevice handle, const WGPUBufferDescriptor *descriptor)
{
    assert_true(buffer_count < BUFFERS_MAX);
    WGPUBuffer buffer = real.DeviceCreateBuffer(handle, descriptor);
    buffers[buffer_count].handle = buffer;
    buffers[buffer_count++].usage = descriptor->usage;
    return buffer;
}

/* Of the latest buffer there: a handle may be used again. */
static WGPUBufferUsage usage_of(WGPUBuffer buffer)
{
    for (size_t i = buffer_count; i-- > 0;)
        if (buffers[i].handle == buffer)
            return buffers[i].usage;
    return WGPUBufferUsage_None;
}

static WGPUFuture map_buffer(WGPUBuffer buffer, WGPUMapMode mode, size_t offset, size_t size,
                             WGPUBufferMapCallbackInfo info)
{
    const WGPUBufferUsage read = WGPUBufferUsage_MapRead | WGPUBufferUsage_CopyDst;
    const WGPUBufferUsage write = WGPUBufferUsage_MapWrite | WGPUBufferUsage_CopySrc;
    assert_int_equal(usage_of(buffer), mode == WGPUMapMode_Read ? read : write);
    return real.BufferMapAsync(buffer, mode, offset, size, info);
}

static void copy_buffer(WGPUCommandEncoder encoder, WGPUBuffer from, uint64_t from_at,
                        WGPUBuffer to, uint64_t to_at, uint64_t size)
{
    assert_true(usage_of(from) & WGPUBufferUsage_CopySrc);
    assert_true(usage_of(to) & WGPUBufferUsage_CopyDst);
    real.CommandEncoderCopyBufferToBuffer(encoder, from, from_at, to, to_at, size);
}

static WGPUBindGroup create_group(WGPUDevice handle, const WGPUBindGroupDescriptor *descriptor)
{
    for (size_t i = 0; i < descriptor->entryCount; i++)
        assert_int_equal(usage_of(descriptor->entries[i].buffer), WGPUBufferUsage_Storage |
                                                                      WGPUBufferUsage_CopySrc |
                                                                      WGPUBufferUsage_CopyDst);
    return real.DeviceCreateBindGroup(handle, descriptor);
}

static WGPUCommandEncoder create_encoder(WGPUDevice handle,
                                         const WGPUCommandEncoderDescriptor *descriptor)
{
    counted.encoders++;
    return real.DeviceCreateCommandEncoder(handle, descriptor);
}

static WGPUComputePassEncoder begin_pass(WGPUCommandEncoder encoder,
                                         const WGPUComputePassDescriptor *descriptor)
{
    counted.passes++;
    return real.CommandEncoderBeginComputePass(encoder, descriptor);
}

static void launch(WGPUComputePassEncoder pass, uint32_t x, uint32_t y, uint32_t z)
{
    counted.launches++;
    real.ComputePassEncoderDispatchWorkgroups(pass, x, y, z);
}

static void submit(WGPUQueue queue, size_t count, const WGPUCommandBuffer *commands)
{
    counted.submits++;
    real.QueueSubmit(queue, count, commands);
}

static struct gx_engine engine;
static struct gx_registered_memory registered;

/* Listing the devices loads the library: from then on its functions go through ours. */
static void open_counted(const char *name)
{
    gx_device_info info;
    const gx_config config = {0};
    instance = (struct gx_instance){0};
    buffer_count = 0;
    assert_int_equal(gx__config_complete(&instance.config, &config, &error), GX_OK);
    gx__trace_init(&instance);
    gx__registered_memory_init(&registered);
    instance.registered = &registered;
    assert_int_equal(gx__device_find(&instance, name, &info, &error), GX_OK);
    struct wg_fn *fn = &((struct wg_loader *)instance.webgpu)->fn;
    real = *fn;
    fn->DeviceCreateBuffer = create_buffer;
    fn->BufferMapAsync = map_buffer;
    fn->CommandEncoderCopyBufferToBuffer = copy_buffer;
    fn->DeviceCreateBindGroup = create_group;
    fn->DeviceCreateCommandEncoder = create_encoder;
    fn->CommandEncoderBeginComputePass = begin_pass;
    fn->ComputePassEncoderDispatchWorkgroups = launch;
    fn->QueueSubmit = submit;
    if (gx__engine_open(&engine, &instance, name, &error) != GX_OK)
        fail_msg("%s: %s", name, error.text);
}

static void close_counted(void)
{
    gx__engine_close(&engine);
    gx__device_stop(&instance);
    gx__registered_memory_close(&registered);
    gx__threads_end(&instance);
    gx__trace_end(&instance);
}

/* Jobs of all sizes and both kinds of kernels, of which an inversion is several launches. */
static void one_pass_for_a_batch(void **state)
{
    (void)state;
    enum { COUNT = 7, MOST = 20000 };
    static const size_t sizes[COUNT] = {MOST, 1024, 64, 1, 5000, 300, 16384};
    static struct gx_outcome reports[COUNT];
    unsigned char *x = gxt_alloc((size_t)MOST * 32), *out[COUNT];
    uint64_t random = 11;
    gx_job jobs[COUNT];
    gxt_fill(&random, GX_BN254_FR, x, MOST);
    for (size_t i = 0; i < COUNT; i++) {
        out[i] = gxt_alloc(sizes[i] * 32);
        jobs[i] = i % 2 ? gxt_job(GX_ADD, GX_F32, sizes[i], x, x, NULL, out[i])
                        : gxt_job(i ? GX_ADD : GX_INV, GX_BN254_FR, sizes[i], x, x, NULL, out[i]);
    }
    for (size_t d = 0; d < GXT_COUNT(names); d++) {
        open_counted(names[d]);
        for (int round = 0; round < 3; round++) { /* recorded, and then replayed */
            for (gx_mode mode = GX_MODE_SEQUENTIAL; mode <= GX_MODE_SINGLE_SUBMIT; mode++) {
                const unsigned groups = mode == GX_MODE_SEQUENTIAL ? COUNT : 1;
                struct gx_batch batch = {.jobs = gxt_tasks(jobs, COUNT),
                                         .count = COUNT,
                                         .reports = reports,
                                         .mode = mode};
                memset(reports, 0, sizeof reports);
                memset(&counted, 0, sizeof counted);
                assert_int_equal(gx__compose_run(&engine, &batch), GX_OK);
                if (!round)
                    continue; /* kernels were built and tuned */
                assert_int_equal(counted.passes, groups);
                if (!GX_GUARD_BYTES) { /* which are copied by commands of their own */
                    assert_int_equal(counted.encoders, groups);
                    assert_int_equal(counted.submits, groups);
                }
                assert_true(counted.launches > COUNT);
            }
        }
        close_counted();
    }
    free(x);
    for (size_t i = 0; i < COUNT; i++)
        free(out[i]);
}

/* ---- errors ---- */

/* More than the address space can hold; OpenGL has no error for it. */
static void out_of_memory(void **state)
{
    (void)state;
    struct rlimit before, tight;
    struct gx_mem mem[8], a, b;
    size_t count = 0;
    gx_status s = GX_OK;
    if (GXT_NO_LIMITS)
        skip();
    open_named(names[0]);
    size_t most = (size_t)wg_of(&device)->adapter->limits.maxBufferSize;
    assert_int_equal(device.ops->mem_alloc(&device, GX_MEM_DEVICE, most + 1, &a),
                     GX_ERR_OUT_OF_DEVICE_MEMORY);
    a = alloc(GX_MEM_DEVICE, BYTES);
    b = alloc(GX_MEM_DEVICE, BYTES);
    assert_int_equal(getrlimit(RLIMIT_AS, &before), 0);
    tight = (struct rlimit){(rlim_t)4 << 30, before.rlim_max};
    assert_int_equal(setrlimit(RLIMIT_AS, &tight), 0);
    while (count < GXT_COUNT(mem) && s == GX_OK) {
        s = device.ops->mem_alloc(&device, GX_MEM_DEVICE, (size_t)1 << 30, &mem[count]);
        count += s == GX_OK;
    }
    assert_int_equal(setrlimit(RLIMIT_AS, &before), 0);
    assert_int_equal(s, GX_ERR_OUT_OF_DEVICE_MEMORY);
    assert_int_equal(copy(&a, &b, BYTES), GX_OK);
    while (count > 0)
        device.ops->mem_free(&device, &mem[--count]);
    device.ops->mem_free(&device, &a);
    device.ops->mem_free(&device, &b);
    close_it();
}

static int set_up(void **state)
{
    (void)state;
    gxt_clear_environment();
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(finding),
        cmocka_unit_test(backends),
        cmocka_unit_test(variable_of_the_prototype),
        cmocka_unit_test(software_is_not_automatic),
        cmocka_unit_test(other_libraries),
        cmocka_unit_test(every_way_to_multiply),
        cmocka_unit_test(elements_per_invocation),
        cmocka_unit_test(many_inverses),
        cmocka_unit_test(beyond_the_limits),
        cmocka_unit_test(one_pass_for_a_batch),
        cmocka_unit_test(out_of_memory),
    };
    return cmocka_run_group_tests_name("webgpu", tests, set_up, NULL);
}
