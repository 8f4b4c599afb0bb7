/* SPDX-License-Identifier: Apache-2.0
 *
 * Provoked errors of wgpu, each of which has to become a status: panics among them, which the
 * device catches in another way on each system.
 */
#include "device/webgpu_rig.h"

#include <stdio.h>

#include "base/os.h"

static void validation_error(void **state)
{
    (void)state;
    for (size_t i = 0; i < GXT_COUNT(names); i++) {
        open_named(names[i]);
        struct gx_mem a = alloc(GX_MEM_DEVICE, BYTES), b = alloc(GX_MEM_DEVICE, BYTES);
        assert_int_equal(copy(&a, &b, 2 * BYTES), GX_ERR_DEVICE);
        assert_int_equal(copy(&a, &b, BYTES), GX_OK);
        device.ops->mem_free(&device, &a);
        device.ops->mem_free(&device, &b);
        close_it();
    }
}

/* Invalid WGSL: what a miscompiling driver looks like. */
static void broken_kernel(void **state)
{
    (void)state;
    for (size_t i = 0; i < GXT_COUNT(names); i++) {
        open_named(names[i]);
        struct gx_pipeline_key key = {.family = GX_SHADER_LINEAR,
                                      .field = GX_BN254_FR,
                                      .op = GX_ADD,
                                      .repeat = 1,
                                      .each = 1,
                                      .workgroup = 1u << 20}; /* more than any device has */
        void *pipeline;
        assert_int_equal(gx__gpu_pipeline(device.impl, &key, &pipeline), GX_ERR_DEVICE);
        key.workgroup = 32;
        assert_int_equal(gx__gpu_pipeline(device.impl, &key, &pipeline), GX_OK);
        close_it();
    }
}

static void expect_lost(struct gx_mem *mem)
{
    struct gx_mem more;
    struct gx_cmd *cmd;
    struct gx_kernel kernel;
    void *host;
    const struct gx_kernel_key key = {.op = GX_ADD, .field = GX_U32};
    assert_int_equal(device.ops->mem_alloc(&device, GX_MEM_DEVICE, BYTES, &more),
                     GX_ERR_DEVICE_LOST);
    assert_int_equal(device.ops->begin(&device, GX_QUEUE_COMPUTE, &cmd), GX_ERR_DEVICE_LOST);
    assert_int_equal(device.ops->kernel(&device, &key, &kernel), GX_ERR_DEVICE_LOST);
    assert_int_equal(device.ops->map(&device, mem, &host), GX_ERR_DEVICE_LOST);
    assert_int_equal(device.ops->wait(&device, (struct gx_fence){0, 1000}, GX_WAIT_FOREVER),
                     GX_ERR_DEVICE_LOST);
    assert_true(device.ops->reached(&device, (struct gx_fence){0, 1000}));
}

/* wgpu-native panics in this submit, because it has no other way to report the error. Again and
 * again in one thread, which for Rust is still panicking since the first time. */
static void panic_in_submit(void **state)
{
    (void)state;
    for (size_t i = 0; i < 2 * GXT_COUNT(names); i++) {
        open_named(names[i / 2]);
        struct gx_mem a = alloc(GX_MEM_DEVICE, BYTES), b = alloc(GX_MEM_READBACK, BYTES);
        wg_of(&device)->fn->BufferDestroy(wg_mem_of(&a)->buffer);
        assert_int_equal(copy(&a, &b, BYTES), GX_ERR_DEVICE_LOST);
        expect_lost(&b);
        device.ops->mem_free(&device, &a);
        device.ops->mem_free(&device, &b);
        close_it();
        open_named(names[i / 2]); /* the next one is as good as new */
        a = alloc(GX_MEM_DEVICE, BYTES);
        b = alloc(GX_MEM_READBACK, BYTES);
        assert_int_equal(copy(&a, &b, BYTES), GX_OK);
        device.ops->mem_free(&device, &a);
        device.ops->mem_free(&device, &b);
        close_it();
    }
}

static void destroy(void)
{
    void *library = gx__os_library_loaded(
        GX_OS_NAME("libwgpu_native.so", "libwgpu_native.dylib", "wgpu_native.dll"));
    assert_non_null(library);
    WGPUProcDeviceDestroy function =
        (WGPUProcDeviceDestroy)(void (*)(void))gx__os_symbol(library, "wgpuDeviceDestroy");
    assert_non_null(function);
    function(wg_of(&device)->handle);
}

/* The first call after it reports it, whichever that is. */
static void lost_device(void **state)
{
    (void)state;
    for (size_t i = 0; i < GXT_COUNT(names); i++)
        for (int call = 0; call < 3; call++) {
            open_named(names[i]);
            struct gx_mem a = alloc(GX_MEM_DEVICE, BYTES), b = alloc(GX_MEM_READBACK, BYTES), more;
            void *host;
            destroy();
            gx_status s = call == 0   ? copy(&a, &b, BYTES)
                          : call == 1 ? device.ops->mem_alloc(&device, GX_MEM_UPLOAD, BYTES, &more)
                                      : device.ops->map(&device, &b, &host);
            assert_int_equal(s, GX_ERR_DEVICE_LOST);
            expect_lost(&b);
            device.ops->mem_free(&device, &a);
            device.ops->mem_free(&device, &b);
            close_it();
        }
}

/* A job finds its device lost, and the next one gets it back. */
static void job_on_a_lost_device(void **state)
{
    (void)state;
    for (size_t i = 0; i < GXT_COUNT(names); i++) {
        char name[64];
        uint32_t a[8] = {1, 2, 3, 4, 5, 6, 7, 8}, out[8];
        gx_ctx *ctx = gxt_open(NULL);
        gx_job job = gxt_job(GX_ADD, GX_U32, 8, a, a, NULL, out);
        snprintf(name, sizeof name, "fault:lose@20:%s", names[i]);
        gx_status s = GX_OK;
        for (int k = 0; k < 20 && s == GX_OK; k++)
            s = gxt_run(ctx, &job, name, NULL);
        assert_int_equal(s, GX_ERR_DEVICE_LOST);
        assert_int_equal(gxt_run(ctx, &job, names[i], NULL), GX_OK);
        for (uint32_t k = 0; k < 8; k++)
            assert_int_equal(out[k], 2 * a[k]);
        gx_close(&ctx);
    }
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
        cmocka_unit_test(validation_error),     cmocka_unit_test(broken_kernel),
        cmocka_unit_test(panic_in_submit),      cmocka_unit_test(lost_device),
        cmocka_unit_test(job_on_a_lost_device),
    };
    return cmocka_run_group_tests_name("webgpu errors", tests, set_up, NULL);
}
