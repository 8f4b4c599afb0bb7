/* SPDX-License-Identifier: Apache-2.0
 *
 * Submits and fences. Each queue has one timeline semaphore, whose value after the Nth
 * submit is N: that is the fence.
 */
#include "device/vulkan/commands.h"

#include <sched.h>

#include "base/clock.h"

/* Waking from a sleeping wait takes 30 us, and 75 us after a long one (measured with an H200), a
 * tenth of the time of many batches, which are all done within this time. */
#define SPIN_NS 1000000u
/* A small job is done within this time; afterwards the thread yields now and then. */
#define SPIN_ALONE_NS 100000u
/* Polls of the counter per look at the clock, which takes about as long. */
#define SPIN_LOOKS 8u
/* A sleeping wait checks this often whether the device was lost. */
#define SLICE_NS 500000000u

_Atomic uint64_t gx__vk_patience_ns = VK_PATIENCE_NS;

/* ---- fences ---- */

/* Whether the queue has reached `value`, asking the driver if necessary. */
static gx_status look(struct vk_device *device, struct vk_queue *queue, uint64_t value, bool *done)
{
    uint64_t now;
    *done = atomic_load_explicit(&queue->reached, memory_order_acquire) >= value;
    if (*done)
        return GX_OK;
    VkResult r = device->fn.vkGetSemaphoreCounterValue(device->handle, queue->timeline, &now);
    if (r != VK_SUCCESS)
        return gx__vk_status(device, r, "vkGetSemaphoreCounterValue");
    if (now >= value)
        gx__gpu_note_reached(&queue->reached, now);
    *done = now >= value;
    return GX_OK;
}

static gx_status wait_value(struct vk_device *device, struct vk_queue *queue, uint64_t value,
                            uint64_t timeout_ns)
{
    uint64_t start = gx__now_ns(), spin = device->physical->base.software ? 0 : SPIN_NS;
    uint64_t deadline = timeout_ns < UINT64_MAX - start ? start + timeout_ns : UINT64_MAX;
    spin = spin < timeout_ns ? spin : timeout_ns;
    for (uint32_t looks = 1;; looks++) {
        bool done;
        gx_status s = look(device, queue, value, &done);
        if (s != GX_OK || done)
            return s;
        uint64_t waited = looks % SPIN_LOOKS ? 0 : gx__now_ns() - start;
        if (!spin || waited >= spin)
            break;
        if (waited >= SPIN_ALONE_NS)
            sched_yield();
        gx__pause();
    }
    VkSemaphoreWaitInfo info = {.sType = VK_STRUCTURE_TYPE_SEMAPHORE_WAIT_INFO,
                                .semaphoreCount = 1,
                                .pSemaphores = &queue->timeline,
                                .pValues = &value};
    for (uint64_t left = timeout_ns; left;) {
        uint64_t now = gx__now_ns();
        left = deadline > now ? deadline - now : 0;
        VkResult r =
            device->fn.vkWaitSemaphores(device->handle, &info, left < SLICE_NS ? left : SLICE_NS);
        gx_status s = r == VK_TIMEOUT ? gx__gpu_alive(&device->gpu)
                                      : gx__vk_status(device, r, "vkWaitSemaphores");
        if (r == VK_SUCCESS)
            gx__gpu_note_reached(&queue->reached, value);
        if (r != VK_TIMEOUT || s != GX_OK)
            return s;
        left = left > SLICE_NS ? left : 0;
    }
    return GX_ERR_TIMEOUT;
}

gx_status gx__vk_wait(struct gx_gpu *gpu, enum gx_queue queue, uint64_t value, uint64_t timeout_ns)
{
    struct vk_device *device = vk_of_gpu(gpu);
    return wait_value(device, &device->queue[queue], value, timeout_ns);
}

gx_status gx__vk_look(struct gx_gpu *gpu, enum gx_queue queue, uint64_t value, bool *done)
{
    struct vk_device *device = vk_of_gpu(gpu);
    return look(device, &device->queue[queue], value, done);
}

/* ---- submit ---- */

/* It is enough to wait for the latest fence of each queue. */
static uint32_t merge_waits(struct vk_device *device, const struct gx_fence *waits, size_t count,
                            VkSemaphore *semaphores, uint64_t *values)
{
    uint64_t latest[VK_QUEUES] = {0};
    uint32_t n = 0;
    for (size_t i = 0; i < count; i++) {
        enum gx_queue q = device->gpu.alias[waits[i].queue];
        latest[q] = waits[i].value > latest[q] ? waits[i].value : latest[q];
    }
    for (int q = 0; q < VK_QUEUES; q++) {
        if (!latest[q])
            continue;
        semaphores[n] = device->queue[q].timeline;
        values[n++] = latest[q];
    }
    return n;
}

/* Values are allocated and submitted under one lock: the timeline must increase. */
static gx_status enqueue(struct vk_device *device, struct vk_cmd *cmd, const struct gx_fence *waits,
                         size_t count)
{
    struct vk_queue *queue = &device->queue[cmd->gpu.queue];
    VkSemaphore semaphores[VK_QUEUES];
    uint64_t values[VK_QUEUES], signal;
    VkPipelineStageFlags stages[VK_QUEUES];
    uint32_t n = merge_waits(device, waits, count, semaphores, values);
    for (uint32_t i = 0; i < n; i++)
        stages[i] = VK_PIPELINE_STAGE_ALL_COMMANDS_BIT;
    VkTimelineSemaphoreSubmitInfo timeline = {.sType =
                                                  VK_STRUCTURE_TYPE_TIMELINE_SEMAPHORE_SUBMIT_INFO,
                                              .waitSemaphoreValueCount = n,
                                              .pWaitSemaphoreValues = values,
                                              .signalSemaphoreValueCount = 1,
                                              .pSignalSemaphoreValues = &signal};
    VkSubmitInfo info = {.sType = VK_STRUCTURE_TYPE_SUBMIT_INFO,
                         .pNext = &timeline,
                         .waitSemaphoreCount = n,
                         .pWaitSemaphores = n ? semaphores : NULL,
                         .pWaitDstStageMask = n ? stages : NULL,
                         .commandBufferCount = 1,
                         .pCommandBuffers = &cmd->buffer,
                         .signalSemaphoreCount = 1,
                         .pSignalSemaphores = &queue->timeline};
    pthread_mutex_lock(&queue->lock);
    signal = queue->submitted + 1;
    VkResult r = device->fn.vkQueueSubmit(queue->handle, 1, &info, VK_NULL_HANDLE);
    if (r == VK_SUCCESS) {
        queue->submitted = signal;
        cmd->gpu.fence = signal;
    }
    pthread_mutex_unlock(&queue->lock);
    return gx__vk_status(device, r, "vkQueueSubmit");
}

gx_status gx__vk_submit(struct gx_gpu *gpu, struct gx_gpu_cmd *base, const struct gx_fence *waits,
                        size_t count)
{
    struct vk_device *device = vk_of_gpu(gpu);
    struct vk_cmd *cmd = (struct vk_cmd *)base;
    if (cmd->recording) {
        base->failed =
            gx__vk_status(device, device->fn.vkEndCommandBuffer(cmd->buffer), "vkEndCommandBuffer");
        cmd->recording = false;
    }
    if (base->failed != GX_OK)
        return base->failed;
    if (base->stamped) {
        device->fn.vkResetQueryPool(device->handle, cmd->queries, 0, GX_STAMPS);
        base->submitted_ns = gx__now_ns();
    }
    return enqueue(device, cmd, waits, count);
}

/* ---- give back ---- */

/* A command that never ends is not destroyed. */
void gx__vk_cmd_end(struct gx_gpu *gpu, struct gx_gpu_cmd *cmd)
{
    struct vk_device *device = vk_of_gpu(gpu);
    struct vk_queue *queue = &device->queue[cmd->queue];
    if (!cmd->fence || atomic_load(&device->hung))
        return;
    gx_status s = gx__gpu_alive(gpu);
    if (s == GX_OK)
        s = wait_value(device, queue, cmd->fence, atomic_load(&gx__vk_patience_ns));
    if (s == GX_ERR_TIMEOUT) {
        atomic_store(&device->loader->hung, true);
        atomic_store(&device->hung, true); /* first: who sees that it is lost frees memory */
        atomic_store(&gpu->lost, true);
    } else if (s != GX_OK && !atomic_load(&device->hung)) {
        /* the semaphore does not tell; unless it hangs, a lost device returns at once */
        pthread_mutex_lock(&queue->lock);
        device->fn.vkQueueWaitIdle(queue->handle);
        pthread_mutex_unlock(&queue->lock);
    }
}
