/* SPDX-License-Identifier: Apache-2.0
 *
 * What the commands of all GPUs have in common: those that were given back are kept and used again,
 * errors of recording wait for the submit, and a dispatch is recorded pass by pass.
 */
#include <string.h>

#include "base/alloc.h"
#include "device/gpu/gpu.h"

#define IDLE_COMMANDS 32
#define ROOM_FIRST    16u

/* ---- beginning and giving back ---- */

static struct gx_gpu_cmd *take_idle(struct gx_gpu *gpu, enum gx_queue queue)
{
    pthread_mutex_lock(&gpu->idle_lock);
    struct gx_gpu_cmd *cmd = gpu->idle[queue].first;
    if (cmd) {
        gpu->idle[queue].first = cmd->next_idle;
        gpu->idle[queue].count--;
    }
    pthread_mutex_unlock(&gpu->idle_lock);
    return cmd;
}

static void free_cmd(struct gx_gpu *gpu, struct gx_gpu_cmd *cmd)
{
    gpu->ops->cmd_close(gpu, cmd);
    gx__free(gx__gpu_allocator(gpu), cmd);
}

static gx_status create(struct gx_gpu *gpu, enum gx_queue queue, struct gx_gpu_cmd **out)
{
    struct gx_gpu_cmd *cmd = gx__alloc(gx__gpu_allocator(gpu), gpu->ops->cmd_bytes);
    if (!cmd)
        return GX_ERR_OUT_OF_MEMORY;
    cmd->base.device = gpu->base;
    cmd->queue = queue;
    gx_status s = gpu->ops->cmd_open ? gpu->ops->cmd_open(gpu, cmd) : GX_OK;
    if (s == GX_OK)
        *out = cmd;
    else
        free_cmd(gpu, cmd);
    return s;
}

gx_status gx__gpu_begin(struct gx_device *device, enum gx_queue queue, struct gx_cmd **out)
{
    struct gx_gpu *gpu = device->impl;
    gx_status s = gx__gpu_alive(gpu);
    if (s != GX_OK)
        return s;
    struct gx_gpu_cmd *cmd = take_idle(gpu, gpu->alias[queue]);
    if (!cmd)
        s = create(gpu, gpu->alias[queue], &cmd);
    if (s != GX_OK)
        return s;
    cmd->failed = GX_OK;
    cmd->stamped = 0;
    cmd->fence = 0;
    if (gpu->ops->cmd_begin)
        s = gpu->ops->cmd_begin(gpu, cmd);
    if (s == GX_OK)
        *out = &cmd->base;
    else
        free_cmd(gpu, cmd);
    return s;
}

void gx__gpu_recycle(struct gx_cmd *base)
{
    struct gx_gpu_cmd *cmd = (struct gx_gpu_cmd *)base;
    struct gx_gpu *gpu = base->device->impl;
    gpu->ops->cmd_end(gpu, cmd);
    pthread_mutex_lock(&gpu->idle_lock);
    bool keep = gpu->idle[cmd->queue].count < IDLE_COMMANDS;
    if (keep) {
        cmd->next_idle = gpu->idle[cmd->queue].first;
        gpu->idle[cmd->queue].first = cmd;
        gpu->idle[cmd->queue].count++;
    }
    pthread_mutex_unlock(&gpu->idle_lock);
    if (!keep)
        free_cmd(gpu, cmd);
}

void gx__gpu_commands_close(struct gx_gpu *gpu)
{
    for (enum gx_queue q = 0; q < GX_GPU_QUEUES; q++)
        for (struct gx_gpu_cmd *cmd; (cmd = take_idle(gpu, q)) != NULL;)
            free_cmd(gpu, cmd);
}

/* ---- recording ---- */

void *gx__gpu_next_step(struct gx_gpu_cmd *cmd, struct gx_gpu_steps *steps, size_t bytes)
{
    const gx_allocator *allocator = gx__gpu_allocator(cmd->base.device->impl);
    if (cmd->failed != GX_OK)
        return NULL;
    if (steps->count == steps->room) {
        size_t room = steps->room ? 2 * steps->room : ROOM_FIRST;
        void *more = gx__alloc(allocator, room * bytes);
        if (!more) {
            cmd->failed = GX_ERR_OUT_OF_MEMORY;
            return NULL;
        }
        if (steps->count)
            memcpy(more, steps->list, steps->count * bytes);
        gx__free(allocator, steps->list);
        steps->list = more;
        steps->room = room;
    }
    return (char *)steps->list + steps->count * bytes;
}

void gx__gpu_dispatch(struct gx_cmd *base, const struct gx_dispatch *dispatch)
{
    struct gx_gpu_cmd *cmd = (struct gx_gpu_cmd *)base;
    struct gx_gpu *gpu = base->device->impl;
    const struct gx_gpu_kernel *k = dispatch->kernel.impl;
    struct gx_passes passes;
    struct gx_launch launch;
    if (cmd->failed != GX_OK)
        return;
    gx__passes(&dispatch->kernel.key, dispatch->n, &k->facts, &passes);
    for (uint32_t i = 0; i < passes.count && cmd->failed == GX_OK; i++) {
        if (i)
            base->device->ops->barrier(base, GX_BARRIER_KERNEL_TO_KERNEL);
        cmd->failed = gx__gpu_launch(gpu, dispatch, &passes.pass[i], &launch);
        if (cmd->failed == GX_OK)
            gpu->ops->launch(gpu, cmd, &launch);
    }
}

void gx__gpu_no_barrier(struct gx_cmd *cmd, enum gx_barrier barrier)
{
    (void)cmd;
    (void)barrier;
}

void gx__gpu_stamp(struct gx_cmd *base, uint32_t index)
{
    struct gx_gpu_cmd *cmd = (struct gx_gpu_cmd *)base;
    struct gx_gpu *gpu = base->device->impl;
    if (cmd->failed != GX_OK || index >= GX_STAMPS)
        return;
    gpu->ops->stamp(gpu, cmd, index);
    cmd->stamped |= 1u << index;
}

gx_status gx__gpu_stamps(struct gx_cmd *base, uint64_t *ns, uint32_t count)
{
    struct gx_gpu_cmd *cmd = (struct gx_gpu_cmd *)base;
    struct gx_gpu *gpu = base->device->impl;
    if (count > GX_STAMPS || ~cmd->stamped & ((1u << count) - 1))
        return GX_ERR_INVALID; /* waiting for one that nothing writes would never end */
    return gpu->ops->stamps(gpu, cmd, ns, count);
}

/* ---- submitting and waiting ---- */

gx_status gx__gpu_submit(struct gx_cmd *base, const struct gx_fence *waits, size_t count,
                         struct gx_fence *done)
{
    struct gx_gpu_cmd *cmd = (struct gx_gpu_cmd *)base;
    struct gx_gpu *gpu = base->device->impl;
    gx_status s = gx__gpu_alive(gpu);
    if (s == GX_OK)
        s = cmd->failed;
    if (s == GX_OK)
        s = gpu->ops->submit(gpu, cmd, waits, count);
    if (s == GX_OK)
        *done = (struct gx_fence){cmd->queue, cmd->fence};
    return s;
}

void gx__gpu_note_reached(_Atomic uint64_t *reached, uint64_t value)
{
    uint64_t known = atomic_load_explicit(reached, memory_order_relaxed);
    while (known < value && !atomic_compare_exchange_weak_explicit(
                                reached, &known, value, memory_order_acq_rel, memory_order_relaxed))
        ;
}

gx_status gx__gpu_wait(struct gx_device *device, struct gx_fence fence, uint64_t timeout_ns)
{
    struct gx_gpu *gpu = device->impl;
    gx_status s = gx__gpu_alive(gpu);
    return s == GX_OK ? gpu->ops->wait(gpu, gpu->alias[fence.queue], fence.value, timeout_ns) : s;
}

/* On a lost device every fence counts as reached: pollers continue and get the error from wait. */
bool gx__gpu_reached(struct gx_device *device, struct gx_fence fence)
{
    struct gx_gpu *gpu = device->impl;
    bool done;
    return gx__gpu_alive(gpu) != GX_OK ||
           gpu->ops->look(gpu, gpu->alias[fence.queue], fence.value, &done) != GX_OK || done;
}
