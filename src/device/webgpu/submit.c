/* SPDX-License-Identifier: Apache-2.0
 *
 * Submits and fences. All work runs in order on one queue: the value of a fence is the
 * number of submits, and a callback of wgpu tells how many are done.
 */
#include "device/webgpu/webgpu.h"

#include "base/clock.h"

/* ---- fences ---- */

static void on_done(WGPUQueueWorkDoneStatus status, WGPUStringView message, void *user, void *value)
{
    (void)message;
    struct wg_device *device = user;
    uint64_t now = (uintptr_t)value;
    if (status != WGPUQueueWorkDoneStatus_Success)
        atomic_store(&device->gpu.lost, true);
    atomic_store(&device->done_ns[now % WG_DONE_TIMES], gx__now_ns());
    gx__gpu_note_reached(&device->reached, now);
}

static bool is_reached(struct wg_device *device, uint64_t value)
{
    return atomic_load_explicit(&device->reached, memory_order_acquire) >= value;
}

/* Its place may hold the time of a later submit. */
uint64_t gx__wg_done_ns(struct wg_device *device, uint64_t fence)
{
    return atomic_load(&device->reached) - fence < WG_DONE_TIMES
               ? atomic_load(&device->done_ns[fence % WG_DONE_TIMES])
               : gx__now_ns();
}

gx_status gx__wg_wait(struct gx_gpu *gpu, enum gx_queue queue, uint64_t value, uint64_t timeout_ns)
{
    struct wg_device *device = wg_of_gpu(gpu);
    uint64_t start = gx__now_ns();
    (void)queue;
    for (;;) {
        gx_status s = gx__gpu_alive(gpu);
        if (s != GX_OK || is_reached(device, value))
            return s;
        gx__wg_poll(device);
        if (is_reached(device, value))
            return gx__gpu_alive(gpu);
        if (gx__now_ns() - start >= timeout_ns)
            return GX_ERR_TIMEOUT;
        gx__wg_pause(device, start);
    }
}

gx_status gx__wg_look(struct gx_gpu *gpu, enum gx_queue queue, uint64_t value, bool *done)
{
    struct wg_device *device = wg_of_gpu(gpu);
    (void)queue;
    if (!is_reached(device, value))
        gx__wg_poll(device);
    *done = is_reached(device, value);
    return gx__gpu_alive(gpu);
}

/* ---- submit ---- */

struct replay {
    const struct wg_fn *fn;
    WGPUCommandEncoder encoder;
    WGPUComputePassEncoder pass; /* NULL: none is open */
    WGPUComputePipeline bound;
};

static void end_pass(struct replay *r)
{
    if (!r->pass)
        return;
    r->fn->ComputePassEncoderEnd(r->pass);
    r->fn->ComputePassEncoderRelease(r->pass);
    r->pass = NULL;
}

static void replay_launch(struct replay *r, const struct wg_launch *l)
{
    if (!r->pass) {
        r->pass = r->fn->CommandEncoderBeginComputePass(r->encoder, NULL);
        r->bound = NULL;
    }
    if (r->bound != l->pipeline)
        r->fn->ComputePassEncoderSetPipeline(r->pass, l->pipeline);
    r->bound = l->pipeline;
    r->fn->ComputePassEncoderSetBindGroup(r->pass, 0, l->group, 0, NULL);
    r->fn->ComputePassEncoderSetImmediates(r->pass, 0, &l->push, l->push_bytes);
    r->fn->ComputePassEncoderDispatchWorkgroups(r->pass, l->x, l->y, l->z);
}

static void replay_copy(const struct replay *r, const struct wg_entry *e)
{
    for (size_t row = 0; row < e->copy.rows; row++)
        r->fn->CommandEncoderCopyBufferToBuffer(
            r->encoder, e->copy.from, e->copy.from_at + row * e->copy.from_row, e->copy.to,
            e->copy.to_at + row * e->copy.to_row, e->copy.size);
}

/* One encoder; consecutive launches share a pass. */
static gx_status encode(struct wg_device *device, const struct wg_cmd *cmd,
                        WGPUCommandBuffer *buffer)
{
    struct replay r = {.fn = device->fn};
    gx__wg_enter(device);
    r.encoder = r.fn->DeviceCreateCommandEncoder(device->handle, NULL);
    const struct wg_entry *entries = cmd->entries.list;
    for (size_t i = 0; i < cmd->entries.count; i++) {
        const struct wg_entry *e = &entries[i];
        if (e->kind != WG_LAUNCH)
            end_pass(&r);
        if (e->kind == WG_LAUNCH)
            replay_launch(&r, &e->launch);
        else if (e->kind == WG_COPY)
            replay_copy(&r, e);
        else
            r.fn->CommandEncoderWriteTimestamp(r.encoder, cmd->queries, e->stamp);
    }
    end_pass(&r);
    gx__wg_resolve(cmd, r.encoder);
    *buffer = r.fn->CommandEncoderFinish(r.encoder, NULL);
    r.fn->CommandEncoderRelease(r.encoder);
    return gx__wg_leave(device, "wgpuCommandEncoderFinish");
}

struct submit {
    const struct wg_device *device;
    WGPUCommandBuffer buffer;
    WGPUQueueWorkDoneCallbackInfo done;
};

static void submit_once(void *user)
{
    const struct submit *s = user;
    s->device->fn->QueueSubmit(s->device->queue, 1, &s->buffer);
    s->device->fn->QueueOnSubmittedWorkDone(s->device->queue, s->done);
}

/* Values are allocated and submitted under one lock: they must increase. */
static gx_status enqueue(struct wg_device *device, struct wg_cmd *cmd, WGPUCommandBuffer buffer)
{
    pthread_mutex_lock(&device->submit_lock);
    uint64_t value = device->submitted + 1;
    struct submit submit = {.device = device,
                            .buffer = buffer,
                            .done = {.mode = WGPUCallbackMode_AllowSpontaneous,
                                     .callback = on_done,
                                     .userdata1 = device,
                                     .userdata2 = (void *)(uintptr_t)value}};
    cmd->gpu.submitted_ns = gx__now_ns();
    gx__wg_enter(device);
    gx__wg_guarded(device, submit_once, &submit);
    gx_status s = gx__wg_leave(device, "wgpuQueueSubmit");
    device->submitted = value;
    cmd->gpu.fence = value;
    pthread_mutex_unlock(&device->submit_lock);
    return s;
}

static void release(struct wg_device *device, WGPUCommandBuffer buffer)
{
    gx__wg_enter(device);
    device->fn->CommandBufferRelease(buffer);
    gx__wg_leave(device, "wgpuCommandBufferRelease");
}

gx_status gx__wg_submit(struct gx_gpu *gpu, struct gx_gpu_cmd *base, const struct gx_fence *waits,
                        size_t count)
{
    struct wg_device *device = wg_of_gpu(gpu);
    struct wg_cmd *cmd = (struct wg_cmd *)base;
    WGPUCommandBuffer buffer = NULL;
    (void)waits; /* of the same queue: done before this begins */
    (void)count;
    if (base->stamped)
        gx__wg_unmap(gpu->base, &cmd->ticks); /* if the last ones were never read */
    gx_status s = encode(device, cmd, &buffer);
    if (s == GX_OK)
        s = enqueue(device, cmd, buffer);
    if (s == GX_OK && base->stamped) /* they are available when the work is done */
        s = gx__wg_map_ask(device, &cmd->ticks);
    if (buffer)
        release(device, buffer);
    return s;
}
