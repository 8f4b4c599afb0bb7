/* SPDX-License-Identifier: Apache-2.0
 *
 * The labels and object names of the Vulkan device, which RenderDoc, Nsight and the validation
 * layer show: what is given to VK_EXT_debug_utils, by functions between the device and the loader;
 * and that nothing is where nobody would see it.
 */
#include <stdbool.h>
#include <stdio.h>

#include "base/options.h"
#include "device/vulkan/vulkan.h"
#include "support/harness.h"

enum { TEXT = 64, NAMES_MAX = 512, N = 100 };

static struct gx_instance instance;
static struct gx_device device;
static struct vk_instance_fn real;
static char names[NAMES_MAX][TEXT], labels[NAMES_MAX][TEXT];
static size_t name_count, label_count, open_labels;

static void keep(char list[NAMES_MAX][TEXT], size_t *count, const char *text)
{
    assert_true(*count < NAMES_MAX);
    snprintf(list[(*count)++], TEXT, "%s", text);
}

static VKAPI_ATTR VkResult VKAPI_CALL set_name(VkDevice handle,
                                               const VkDebugUtilsObjectNameInfoEXT *info)
{
    assert_true(info->objectHandle != 0);
    keep(names, &name_count, info->pObjectName);
    return real.SetDebugUtilsObjectNameEXT(handle, info);
}

static VKAPI_ATTR void VKAPI_CALL begin_label(VkCommandBuffer buffer,
                                              const VkDebugUtilsLabelEXT *label)
{
    open_labels++;
    keep(labels, &label_count, label->pLabelName);
    real.CmdBeginDebugUtilsLabelEXT(buffer, label);
}

static VKAPI_ATTR void VKAPI_CALL end_label(VkCommandBuffer buffer)
{
    assert_true(open_labels > 0);
    open_labels--;
    real.CmdEndDebugUtilsLabelEXT(buffer);
}

static bool has(char list[NAMES_MAX][TEXT], size_t count, const char *text)
{
    for (size_t i = 0; i < count; i++)
        if (!strcmp(list[i], text))
            return true;
    return false;
}

static void expect(const char *what, char list[NAMES_MAX][TEXT], size_t count, const char *text)
{
    if (has(list, count, text))
        return;
    for (size_t i = 0; i < count; i++)
        print_error("%s\n", list[i]);
    fail_msg("no %s '%s' among these", what, text);
}

static void open_device(bool validate)
{
    struct gx_error error = {""};
    gx_device_info info;
    const char *name = gxt_vulkan();
    gx_config config = {0};
    if (!name)
        exit(77);
    if (validate) {
        gxt_watch(&config);
        config.validate = 1; /* in every leg: it is what looks */
    }
    instance = (struct gx_instance){0};
    name_count = label_count = open_labels = 0;
    assert_int_equal(gx__config_complete(&instance.config, &config, &error), GX_OK);
    assert_int_equal(gx__device_find(&instance, name, &info, &error), GX_OK);
    struct vk_instance_fn *fn = &((struct vk_loader *)gx__gpu_list(&gx__vk_lister, &instance))->fn;
    real = *fn;
    fn->SetDebugUtilsObjectNameEXT = set_name;
    fn->CmdBeginDebugUtilsLabelEXT = begin_label;
    fn->CmdEndDebugUtilsLabelEXT = end_label;
    assert_int_equal(gx__device_open(&instance, name, &device, &error), GX_OK);
}

/* A copy, a product of two operands and a check of one. */
static void work(void)
{
    struct gx_mem from, to;
    struct gx_kernel mul, check;
    struct gx_cmd *cmd;
    struct gx_fence done;
    const size_t bytes = N * sizeof(uint64_t[4]);
    const struct gx_device_ops *ops = device.ops;
    const struct gx_kernel_key key = {.op = GX_MUL, .field = GX_BN254_FR};
    const struct gx_kernel_key only = {.op = GX_OP_CHECK, .field = GX_BN254_FR, .check = 1};
    assert_int_equal(ops->mem_alloc(&device, GX_MEM_UPLOAD, bytes, &from), GX_OK);
    assert_int_equal(ops->mem_alloc(&device, GX_MEM_DEVICE, bytes, &to), GX_OK);
    assert_int_equal(ops->kernel(&device, &key, &mul), GX_OK);
    assert_int_equal(ops->kernel(&device, &only, &check), GX_OK);
    assert_int_equal(ops->begin(&device, GX_QUEUE_COMPUTE, &cmd), GX_OK);
    ops->copy(cmd, &(struct gx_region){.from = {&from, 0}, .to = {&to, 0}, .size = bytes}, 1);
    ops->barrier(cmd, GX_BARRIER_COPY_TO_KERNEL);
    struct gx_dispatch d = {.kernel = mul, .n = N};
    d.bind[GX_BIND_A].mem = d.bind[GX_BIND_B].mem = d.bind[GX_BIND_OUT].mem = &to;
    ops->dispatch(cmd, &d);
    ops->barrier(cmd, GX_BARRIER_KERNEL_TO_KERNEL);
    d = (struct gx_dispatch){.kernel = check, .n = N - 8};
    d.bind[GX_BIND_A].mem = d.bind[GX_BIND_BAD].mem = &to;
    d.bind[GX_BIND_BAD].offset = bytes - 8 * sizeof(uint64_t[4]);
    ops->dispatch(cmd, &d);
    assert_int_equal(open_labels, 0);
    assert_int_equal(ops->submit(cmd, NULL, 0, &done), GX_OK);
    assert_int_equal(ops->wait(&device, done, GX_WAIT_FOREVER), GX_OK);
    ops->recycle(cmd);
    ops->mem_free(&device, &from);
    ops->mem_free(&device, &to);
}

static void close_device(void)
{
    gx__device_close(&device);
    gx__device_stop(&instance);
    gx__threads_end(&instance);
}

static void everything_has_a_name(void **state)
{
    (void)state;
    open_device(true);
    work();
    expect("label", labels, label_count, "copy, 1 region");
    expect("label", labels, label_count, "mul bn254-fr, 100 elements");
    expect("label", labels, label_count, "check bn254-fr, 92 elements");
    expect("name", names, name_count, "gx upload 3200");
    expect("name", names, name_count, "gx device 3200");
    expect("name", names, name_count, "gx compute");
    bool pipeline = false;
    for (size_t i = 0; i < name_count; i++)
        pipeline |= !strncmp(names[i], "gx mul bn254-fr ", 16);
    assert_true(pipeline);
    close_device();
    assert_int_equal(gxt_complaints(), 0);
}

/* RenderDoc's own variable is a sign that somebody looks. */
static void where_somebody_looks(void **state)
{
    (void)state;
    open_device(false);
    work();
    assert_int_equal(name_count + label_count, 0);
    close_device();
    setenv("ENABLE_VULKAN_RENDERDOC_CAPTURE", "1", 1);
    open_device(false);
    work();
    unsetenv("ENABLE_VULKAN_RENDERDOC_CAPTURE");
    assert_true(name_count > 0 && label_count > 0);
    close_device();
}

static int clear(void **state)
{
    (void)state;
    gxt_clear_environment();
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(everything_has_a_name),
        cmocka_unit_test(where_somebody_looks),
    };
    return cmocka_run_group_tests_name("labels", tests, clear, NULL);
}
