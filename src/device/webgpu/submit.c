/* SPDX-License-Identifier: Apache-2.0
 *
 * Submits and points in time. All work runs in order on one queue: the value of a point is the
 * number of submits, and a callback of wgpu tells how many are done.
 */
#include "device/webgpu/webgpu.h"

#include "base/clock.h"

/* ---- points ---- */

static void on_done(WGPUQueueWorkDoneStatus status, WGPUStringView message, void *user, void *value)
{
    (void)message;
    struct wg_device *device = user;
    uint64_t now = (uintptr_t)value, known = atomic_load(&device->reached);
    if (status != WGPUQueueWorkDoneStatus_Success)
        atomic_store(&device->gpu.lost, true);
    atomic_store(&device->done_ns[now % WG_DONE_SLOTS], gx__now_ns());
    while (known < now && !atomic_compare_exchange_weak(&device->reached, &known, now))
        ;
}

static bool is_reached(struct wg_device *device, uint64_t value)
{
    return atomic_load_explicit(&device->reached, memory_order_acquire) >= value;
}

/* A slot reused by a later submit holds that one's time. */
uint64_t gx__wg_done_ns(struct wg_device *device, uint64_t point)
{
    return atomic_load(&device->reached) - point < WG_DONE_SLOTS
               ? atomic_load(&device->done_ns[point % WG_DONE_SLOTS])
               : gx__now_ns();
}

gx_status gx__wg_wait(struct gx_device *base, struct gx_point point, uint64_t timeout_ns)
{
    struct wg_device *device = wg_of(base);
    uint64_t start = gx__now_ns();
    for (;;) {
        gx_status s = gx__gpu_alive(&device->gpu);
        if (s != GX_OK || is_reached(device, point.value))
            return s;
        gx__wg_poll(device);
        if (is_reached(device, point.value))
            return gx__gpu_alive(&device->gpu);
        if (gx__now_ns() - start >= timeout_ns)
            return GX_ERR_TIMEOUT;
        gx__wg_pause(device, start);
    }
}

/* On a lost device every point counts as reached: pollers continue and get the error from wait. */
bool gx__wg_reached(struct gx_device *base, struct gx_point point)
{
    struct wg_device *device = wg_of(base);
    if (!is_reached(device, point.value))
        gx__wg_poll(device);
    return gx__gpu_alive(&device->gpu) != GX_OK || is_reached(device, point.value);
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

/* One encoder; consecutive launches share a pass. */
static gx_status encode(struct wg_device *device, const struct wg_cmd *cmd,
                        WGPUCommandBuffer *buffer)
{
    struct replay r = {.fn = device->fn};
    gx__wg_enter(device);
    r.encoder = r.fn->DeviceCreateCommandEncoder(device->handle, NULL);
    for (size_t i = 0; i < cmd->count; i++) {
        const struct wg_entry *e = &cmd->entries[i];
        if (e->kind != WG_LAUNCH)
            end_pass(&r);
        if (e->kind == WG_LAUNCH)
            replay_launch(&r, &e->launch);
        else if (e->kind == WG_COPY)
            r.fn->CommandEncoderCopyBufferToBuffer(r.encoder, e->copy.from, e->copy.from_at,
                                                   e->copy.to, e->copy.to_at, e->copy.size);
        else
            r.fn->CommandEncoderWriteTimestamp(r.encoder, cmd->queries, e->slot);
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
    cmd->submitted_ns = gx__now_ns();
    gx__wg_enter(device);
    gx__wg_guarded(device, submit_once, &submit);
    gx_status s = gx__wg_leave(device, "wgpuQueueSubmit");
    device->submitted = value;
    cmd->point = value;
    pthread_mutex_unlock(&device->submit_lock);
    return s;
}

static void release(struct wg_device *device, WGPUCommandBuffer buffer)
{
    gx__wg_enter(device);
    device->fn->CommandBufferRelease(buffer);
    gx__wg_leave(device, "wgpuCommandBufferRelease");
}

gx_status gx__wg_submit(struct gx_cmd *base, const struct gx_point *waits, size_t count,
                        struct gx_point *done)
{
    struct wg_cmd *cmd = (struct wg_cmd *)base;
    struct wg_device *device = wg_cmd_device(cmd);
    WGPUCommandBuffer buffer = NULL;
    (void)waits; /* of the same queue: done before this begins */
    (void)count;
    gx_status s = gx__gpu_alive(&device->gpu);
    if (s == GX_OK)
        s = cmd->failed;
    if (s != GX_OK)
        return s;
    if (cmd->stamped)
        gx__wg_unmap(base->device, &cmd->ticks); /* if the last ones were never read */
    s = encode(device, cmd, &buffer);
    if (s == GX_OK)
        s = enqueue(device, cmd, buffer);
    if (s == GX_OK && cmd->stamped) /* they are available when the work is done */
        s = gx__wg_map_ask(device, &cmd->ticks);
    if (buffer)
        release(device, buffer);
    if (s == GX_OK)
        *done = (struct gx_point){GX_QUEUE_COMPUTE, cmd->point};
    return s;
}
