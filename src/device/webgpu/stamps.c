/* SPDX-License-Identifier: Apache-2.0
 *
 * Timestamps: a query set for each command that wants them, resolved at its end into a buffer that
 * the host reads. WebGPU relates its clock to no other, so the last stamp of a command is taken as
 * the moment the host learned of its end.
 */
#include "device/webgpu/webgpu.h"

#include <string.h>

#include "base/clock.h"

#define STAMPS_BYTES (GX_STAMPS * sizeof(uint64_t))

bool gx__wg_has_stamps(const struct wg_device *device)
{
    return device->fn->AdapterHasFeature(device->adapter->handle, WGPUFeatureName_TimestampQuery) &&
           device->fn->AdapterHasFeature(
               device->adapter->handle,
               (WGPUFeatureName)WGPUNativeFeature_TimestampQueryInsideEncoders);
}

/* A recycled command has them already. */
static gx_status prepare(struct wg_device *device, struct wg_cmd *cmd)
{
    WGPUQuerySetDescriptor queries = {.type = WGPUQueryType_Timestamp, .count = GX_STAMPS};
    WGPUBufferDescriptor resolved = {
        .usage = WGPUBufferUsage_QueryResolve | WGPUBufferUsage_CopySrc, .size = STAMPS_BYTES};
    if (cmd->queries)
        return GX_OK;
    gx_status s = gx__wg_mem_alloc(device->gpu.base, GX_MEM_READBACK, STAMPS_BYTES, &cmd->ticks);
    if (s != GX_OK)
        return s;
    gx__wg_enter(device);
    cmd->queries = device->fn->DeviceCreateQuerySet(device->handle, &queries);
    cmd->resolved = device->fn->DeviceCreateBuffer(device->handle, &resolved);
    s = gx__wg_leave(device, "wgpuDeviceCreateQuerySet");
    if (s != GX_OK)
        gx__wg_stamps_free(device, cmd);
    return s;
}

void gx__wg_stamps_free(struct wg_device *device, struct wg_cmd *cmd)
{
    gx__wg_enter(device);
    if (cmd->queries)
        device->fn->QuerySetRelease(cmd->queries);
    if (cmd->resolved)
        device->fn->BufferRelease(cmd->resolved);
    gx__wg_leave(device, "wgpuQuerySetRelease");
    cmd->queries = NULL;
    cmd->resolved = NULL;
    if (cmd->ticks.handle)
        gx__wg_mem_free(device->gpu.base, &cmd->ticks);
}

void gx__wg_stamp(struct gx_gpu *gpu, struct gx_gpu_cmd *base, uint32_t index)
{
    struct wg_cmd *cmd = (struct wg_cmd *)base;
    base->failed = prepare(wg_of_gpu(gpu), cmd);
    struct wg_entry *e = gx__wg_next_entry(cmd);
    if (!e)
        return;
    *e = (struct wg_entry){.kind = WG_STAMP, .stamp = index};
    cmd->entries.count++;
}

void gx__wg_resolve(const struct wg_cmd *cmd, WGPUCommandEncoder encoder)
{
    const struct wg_fn *fn = wg_cmd_device(cmd)->fn;
    uint32_t count = 0;
    while (count < GX_STAMPS && cmd->gpu.stamped >> count & 1)
        count++;
    if (!count)
        return;
    fn->CommandEncoderResolveQuerySet(encoder, cmd->queries, 0, count, cmd->resolved, 0);
    fn->CommandEncoderCopyBufferToBuffer(encoder, cmd->resolved, 0, wg_mem_of(&cmd->ticks)->buffer,
                                         0, STAMPS_BYTES);
}

/* `now` is the latest possible time of the last stamp; none is before the submit. */
static void convert(uint64_t *stamps, uint32_t count, double tick_ns, uint64_t submitted_ns,
                    uint64_t now)
{
    uint64_t last = stamps[count - 1];
    for (uint32_t i = 0; i < count; i++) {
        double before = stamps[i] < last ? (double)(last - stamps[i]) * tick_ns : 0;
        uint64_t room = now - submitted_ns;
        stamps[i] = before < (double)room ? now - (uint64_t)before : submitted_ns;
    }
}

gx_status gx__wg_stamps(struct gx_gpu *gpu, struct gx_gpu_cmd *base, uint64_t *ns, uint32_t count)
{
    struct wg_device *device = wg_of_gpu(gpu);
    struct wg_cmd *cmd = (struct wg_cmd *)base;
    void *ticks;
    if (!count)
        return GX_ERR_INVALID;
    uint64_t now = gx__wg_done_ns(device, base->fence);
    gx_status s = gx__wg_map(gpu->base, &cmd->ticks, &ticks);
    if (s != GX_OK)
        return s;
    memcpy(ns, ticks, count * sizeof *ns);
    gx__wg_unmap(gpu->base, &cmd->ticks);
    convert(ns, count, (double)device->tick_ns, base->submitted_ns, now);
    return GX_OK;
}
