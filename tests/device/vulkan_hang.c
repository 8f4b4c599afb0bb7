/* SPDX-License-Identifier: Apache-2.0
 *
 * Work of the Vulkan device that does not end, and ends after all when everything is closed: the
 * driver still has what it uses by then, and another device works meanwhile.
 */
#include <pthread.h>
#include <string.h>
#include <time.h>

#include "device/vulkan/vulkan.h"
#include "support/harness.h"

enum { BYTES = 4096, NEVER = 1000, PATIENCE_NS = 100000000 };

static struct gx_instance instance;
static struct gx_device device;

static void open_device(void)
{
    struct gx_error error = {""};
    gx_status s = gx__device_open(&instance, gxt_vulkan(), &device, &error);
    if (s != GX_OK)
        fail_msg("%s", error.text);
}

static struct gx_mem alloc(enum gx_mem_kind kind)
{
    struct gx_mem mem;
    assert_int_equal(device.ops->mem_alloc(&device, kind, BYTES, &mem), GX_OK);
    assert_non_null(mem.host);
    return mem;
}

/* A copy from `from` to `to`, after `after`, if not NULL. */
static struct gx_cmd *start(const struct gx_mem *from, const struct gx_mem *to,
                            const struct gx_fence *after, struct gx_fence *done)
{
    struct gx_cmd *cmd;
    assert_int_equal(device.ops->begin(&device, GX_QUEUE_COMPUTE, &cmd), GX_OK);
    device.ops->copy(cmd, &(struct gx_region){.from = {from, 0}, .to = {to, 0}, .size = BYTES}, 1);
    assert_int_equal(device.ops->submit(cmd, after, after != NULL, done), GX_OK);
    return cmd;
}

static atomic_bool recycled;

static void *recycle_later(void *cmd)
{
    nanosleep(&(struct timespec){.tv_nsec = PATIENCE_NS / 4}, NULL);
    device.ops->recycle(cmd);
    recycled = true;
    return NULL;
}

/* Both give up, one while the other waits. */
static void recycle_both(struct gx_cmd *first, struct gx_cmd *second)
{
    pthread_t thread;
    assert_int_equal(pthread_create(&thread, NULL, recycle_later, second), 0);
    device.ops->recycle(first);
    for (int ms = 0; ms < 120000 && !recycled; ms++)
        nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
    if (!recycled)
        fail_msg("a second command is still waited for");
    pthread_join(thread, NULL);
}

static void it_ends_after_all(void **state)
{
    (void)state;
    uint64_t patience = atomic_exchange(&gx__vk_patience_ns, PATIENCE_NS);
    struct gx_fence done, second_done;
    open_device();
    const struct vk_device *hung = vk_of(&device);
    enum gx_queue queue = hung->gpu.alias[GX_QUEUE_COMPUTE];
    const struct gx_fence never = {queue, NEVER};
    struct gx_mem from = alloc(GX_MEM_UPLOAD), to = alloc(GX_MEM_READBACK);
    const unsigned char *result = to.host;
    memset(from.host, 0x5a, BYTES);
    memset(to.host, 0, BYTES);

    /* What the queue waits for is what the host has yet to signal. */
    vk_of(&device)->queue[queue].submitted = NEVER;
    struct gx_cmd *cmd = start(&from, &to, &never, &done);
    struct gx_cmd *second = start(&from, &to, NULL, &second_done);
    assert_int_equal(device.ops->wait(&device, done, 1000000), GX_ERR_TIMEOUT);
    recycle_both(cmd, second);
    assert_int_equal(device.ops->wait(&device, done, 0), GX_ERR_DEVICE_LOST);
    VkDevice handle = hung->handle;
    VkSemaphore timeline = hung->queue[queue].timeline;
    const struct VolkDeviceTable fn = hung->fn;
    device.ops->mem_free(&device, &from);
    device.ops->mem_free(&device, &to);
    gx__device_close(&device);
    atomic_store(&gx__vk_patience_ns, patience);

    open_device();
    from = alloc(GX_MEM_UPLOAD);
    to = alloc(GX_MEM_READBACK);
    memset(from.host, 0xa5, BYTES);
    cmd = start(&from, &to, NULL, &done);
    assert_int_equal(device.ops->wait(&device, done, GX_WAIT_FOREVER), GX_OK);
    assert_memory_equal(from.host, to.host, BYTES);
    device.ops->recycle(cmd);
    device.ops->mem_free(&device, &from);
    device.ops->mem_free(&device, &to);
    gx__device_close(&device);
    gx__device_stop(&instance);
    gx__threads_end(&instance);

    const uint64_t end = NEVER + 2;
    const VkSemaphoreSignalInfo signal = {
        .sType = VK_STRUCTURE_TYPE_SEMAPHORE_SIGNAL_INFO, .semaphore = timeline, .value = NEVER};
    const VkSemaphoreWaitInfo wait = {.sType = VK_STRUCTURE_TYPE_SEMAPHORE_WAIT_INFO,
                                      .semaphoreCount = 1,
                                      .pSemaphores = &timeline,
                                      .pValues = &end};
    assert_int_equal(fn.vkSignalSemaphore(handle, &signal), VK_SUCCESS);
    assert_int_equal(fn.vkWaitSemaphores(handle, &wait, UINT64_MAX), VK_SUCCESS);
    for (size_t i = 0; i < BYTES; i++)
        assert_int_equal(result[i], 0x5a);
}

static int set_up(void **state)
{
    (void)state;
    gxt_clear_environment();
    return 0;
}

/* What hung is never freed. */
const char *__lsan_default_suppressions(void);

const char *__lsan_default_suppressions(void)
{
    return "leak:libvulkan";
}

int main(void)
{
    if (!gxt_vulkan())
        return 77;
    const struct CMUnitTest tests[] = {cmocka_unit_test(it_ends_after_all)};
    return cmocka_run_group_tests_name("vulkan hang", tests, set_up, NULL);
}
