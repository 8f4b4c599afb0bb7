/* SPDX-License-Identifier: Apache-2.0
 *
 * Submits and points in time. Each queue has one timeline semaphore, whose value after the Nth
 * submit is N: that is the point.
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

#define IDLE_COMMANDS 32

_Atomic uint64_t gx__vk_patience_ns = VK_PATIENCE_NS;

/* ---- points ---- */

static void note_reached(struct vk_queue *queue, uint64_t value)
{
    uint64_t known = atomic_load_explicit(&queue->reached, memory_order_relaxed);
    while (known < value &&
           !atomic_compare_exchange_weak_explicit(&queue->reached, &known, value,
                                                  memory_order_acq_rel, memory_order_relaxed))
        ;
}

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
        note_reached(queue, now);
    *done = now >= value;
    return GX_OK;
}

static gx_status wait_value(struct vk_device *device, struct vk_queue *queue, uint64_t value,
                            uint64_t timeout_ns)
{
    uint64_t start = gx__now_ns(), spin = device->physical->software ? 0 : SPIN_NS;
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
            note_reached(queue, value);
        if (r != VK_TIMEOUT || s != GX_OK)
            return s;
        left = left > SLICE_NS ? left : 0;
    }
    return GX_ERR_TIMEOUT;
}

gx_status gx__vk_wait(struct gx_device *base, struct gx_point point, uint64_t timeout_ns)
{
    struct vk_device *device = vk_of(base);
    gx_status s = gx__gpu_alive(&device->gpu);
    if (s != GX_OK)
        return s;
    return wait_value(device, &device->queue[device->alias[point.queue]], point.value, timeout_ns);
}

/* On a lost device every point counts as reached: pollers continue and get the error from wait. */
bool gx__vk_reached(struct gx_device *base, struct gx_point point)
{
    struct vk_device *device = vk_of(base);
    bool done;
    return gx__gpu_alive(&device->gpu) != GX_OK ||
           look(device, &device->queue[device->alias[point.queue]], point.value, &done) != GX_OK ||
           done;
}

/* ---- submit ---- */

/* It is enough to wait for the latest point of each queue. */
static uint32_t merge_waits(struct vk_device *device, const struct gx_point *waits, size_t count,
                            VkSemaphore *semaphores, uint64_t *values)
{
    uint64_t latest[VK_QUEUES] = {0};
    uint32_t n = 0;
    for (size_t i = 0; i < count; i++) {
        enum gx_queue q = device->alias[waits[i].queue];
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
static gx_status enqueue(struct vk_device *device, struct vk_cmd *cmd, const struct gx_point *waits,
                         size_t count)
{
    struct vk_queue *queue = &device->queue[cmd->queue];
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
        cmd->point = signal;
    }
    pthread_mutex_unlock(&queue->lock);
    return gx__vk_status(device, r, "vkQueueSubmit");
}

gx_status gx__vk_submit(struct gx_cmd *base, const struct gx_point *waits, size_t count,
                        struct gx_point *done)
{
    struct vk_cmd *cmd = (struct vk_cmd *)base;
    struct vk_device *device = vk_cmd_device(cmd);
    gx_status s = gx__gpu_alive(&device->gpu);
    if (s == GX_OK)
        s = cmd->failed;
    if (s == GX_OK && cmd->recording) {
        s = gx__vk_status(device, device->fn.vkEndCommandBuffer(cmd->buffer), "vkEndCommandBuffer");
        cmd->recording = false;
        cmd->failed = s;
    }
    if (s != GX_OK)
        return s;
    if (cmd->stamped) {
        device->fn.vkResetQueryPool(device->handle, cmd->queries, 0, GX_STAMPS);
        cmd->submitted_ns = gx__now_ns();
    }
    s = enqueue(device, cmd, waits, count);
    if (s == GX_OK)
        *done = (struct gx_point){cmd->queue, cmd->point};
    return s;
}

/* ---- give back ---- */

/* After a failed wait a caller may recycle a command that still runs. The memory it uses is freed
 * next, so it has to end here, or never is destroyed. */
static void finish(struct vk_device *device, struct vk_cmd *cmd)
{
    struct vk_queue *queue = &device->queue[cmd->queue];
    if (!cmd->point || atomic_load(&device->hung))
        return;
    gx_status s = gx__gpu_alive(&device->gpu);
    if (s == GX_OK)
        s = wait_value(device, queue, cmd->point, atomic_load(&gx__vk_patience_ns));
    if (s == GX_ERR_TIMEOUT) {
        atomic_store(&device->loader->hung, true);
        atomic_store(&device->hung, true); /* first: who sees that it is lost frees memory */
        atomic_store(&device->gpu.lost, true);
    } else if (s != GX_OK && !atomic_load(&device->hung)) {
        /* the semaphore does not tell; unless it hangs, a lost device returns at once */
        pthread_mutex_lock(&queue->lock);
        device->fn.vkQueueWaitIdle(queue->handle);
        pthread_mutex_unlock(&queue->lock);
    }
}

void gx__vk_recycle(struct gx_cmd *base)
{
    struct vk_cmd *cmd = (struct vk_cmd *)base;
    struct vk_device *device = vk_cmd_device(cmd);
    finish(device, cmd);
    bool keep = gx__gpu_alive(&device->gpu) == GX_OK;
    size_t count = 0;
    pthread_mutex_lock(&device->idle_lock);
    for (const struct vk_cmd *c = device->idle[cmd->queue]; c && keep; c = c->next_idle)
        keep = ++count < IDLE_COMMANDS;
    if (keep) {
        cmd->next_idle = device->idle[cmd->queue];
        device->idle[cmd->queue] = cmd;
    }
    pthread_mutex_unlock(&device->idle_lock);
    if (!keep)
        gx__vk_cmd_free(device, cmd);
}
