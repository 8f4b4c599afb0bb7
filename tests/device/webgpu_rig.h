/* SPDX-License-Identifier: Apache-2.0
 *
 * What the tests of the WebGPU device share: one open device, and copies on it.
 */
#ifndef GX_TESTS_DEVICE_WEBGPU_RIG_H
#define GX_TESTS_DEVICE_WEBGPU_RIG_H

#include "support/harness.h"

#include "device/webgpu/webgpu.h"

#define BYTES 4096u

static const char *const names[] = {"webgpu:vulkan:0", "webgpu:gl:0"};
static struct gx_instance instance;
static struct gx_device device;
static struct gx_error error;

static void open_named(const char *name)
{
    instance = (struct gx_instance){0};
    gx_status s = gx__device_open(&instance, name, &device, &error);
    if (s != GX_OK)
        fail_msg("%s: %s", name, error.text);
}

static void close_it(void)
{
    gx__device_close(&device);
    gx__device_stop(&instance);
}

static struct gx_mem alloc(enum gx_mem_kind kind, size_t bytes)
{
    struct gx_mem mem;
    assert_int_equal(device.ops->mem_alloc(&device, kind, bytes, &mem), GX_OK);
    return mem;
}

/* Submits a copy of `bytes` from one to the other, and waits. */
static gx_status copy(const struct gx_mem *from, const struct gx_mem *to, size_t bytes)
{
    struct gx_cmd *cmd;
    struct gx_fence done;
    gx_status s = device.ops->begin(&device, GX_QUEUE_COMPUTE, &cmd);
    if (s != GX_OK)
        return s;
    device.ops->copy(cmd, &(struct gx_region){.from = {from, 0}, .to = {to, 0}, .size = bytes}, 1);
    s = device.ops->submit(cmd, NULL, 0, &done);
    if (s == GX_OK)
        s = device.ops->wait(&device, done, GX_WAIT_FOREVER);
    device.ops->recycle(cmd);
    return s;
}

/* Memory of a panic is never freed, and neither is what its thread releases to wgpu afterwards: as
 * far as Rust knows, it is still panicking. */
const char *__lsan_default_suppressions(void);

const char *__lsan_default_suppressions(void)
{
    return "leak:libwgpu_native";
}

#endif
