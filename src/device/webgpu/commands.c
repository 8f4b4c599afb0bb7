/* SPDX-License-Identifier: Apache-2.0
 *
 * Recording: a list of copies and launches. Everything that can fail is done while recording, so
 * that a submit, even a repeated one, only replays it. Bind groups are cached by what they bind.
 */
#include "device/webgpu/webgpu.h"

#include <string.h>

#include "base/alloc.h"

/* ---- making and ending commands ---- */

void gx__wg_cmd_close(struct gx_gpu *gpu, struct gx_gpu_cmd *base)
{
    struct wg_cmd *cmd = (struct wg_cmd *)base;
    gx__wg_stamps_free(wg_of_gpu(gpu), cmd);
    gx__free(gx__gpu_allocator(gpu), cmd->entries.list);
}

void gx__wg_cmd_end(struct gx_gpu *gpu, struct gx_gpu_cmd *base)
{
    struct wg_device *device = wg_of_gpu(gpu);
    struct wg_cmd *cmd = (struct wg_cmd *)base;
    const uint64_t abandon_ns = 30000000000u;
    const struct gx_fence last = {base->queue, base->fence};
    if (base->fence && gx__gpu_wait(gpu->base, last, abandon_ns) == GX_ERR_TIMEOUT)
        atomic_store(&gpu->lost, true);
    gx__wg_enter(device);
    const struct wg_entry *entries = cmd->entries.list;
    for (size_t i = 0; i < cmd->entries.count; i++)
        if (entries[i].kind == WG_LAUNCH)
            device->fn->BindGroupRelease(entries[i].launch.group);
    gx__wg_leave(device, "wgpuBindGroupRelease");
    cmd->entries.count = 0;
}

struct wg_entry *gx__wg_next_entry(struct wg_cmd *cmd)
{
    return gx__gpu_next_step(&cmd->gpu, &cmd->entries, sizeof(struct wg_entry));
}

void gx__wg_copy(struct gx_cmd *base, const struct gx_region *regions, size_t count)
{
    struct wg_cmd *cmd = (struct wg_cmd *)base;
    for (size_t i = 0; i < count; i++) {
        struct wg_entry *e = regions[i].size ? gx__wg_next_entry(cmd) : NULL;
        if (!e)
            continue;
        *e = (struct wg_entry){.kind = WG_COPY,
                               .copy = {.from = wg_mem_of(regions[i].from.mem)->buffer,
                                        .to = wg_mem_of(regions[i].to.mem)->buffer,
                                        .from_at = regions[i].from.offset,
                                        .to_at = regions[i].to.offset,
                                        .size = regions[i].size,
                                        .rows = gx__rows(regions[i].rows),
                                        .from_row = regions[i].from_row,
                                        .to_row = regions[i].to_row}};
        cmd->entries.count++;
    }
}

/* ---- bind groups ---- */

static size_t group_place(const struct wg_bound bound[GX_BINDINGS])
{
    uint64_t h = 0xcbf29ce484222325u; /* FNV-1a over words */
    for (int i = 0; i < GX_BINDINGS; i++) {
        h = (h ^ (uintptr_t)bound[i].buffer) * 0x100000001b3u;
        h = (h ^ bound[i].offset) * 0x100000001b3u;
    }
    return (size_t)(h ^ h >> 32) & (WG_GROUPS_MAX - 1);
}

static bool same_bound(const struct wg_bound *a, const struct wg_bound *b)
{
    for (int i = 0; i < GX_BINDINGS; i++)
        if (a[i].buffer != b[i].buffer || a[i].offset != b[i].offset || a[i].size != b[i].size)
            return false;
    return true;
}

static void release_group(struct wg_device *device, WGPUBindGroup group)
{
    gx__wg_enter(device);
    device->fn->BindGroupRelease(group);
    gx__wg_leave(device, "wgpuBindGroupRelease");
}

static gx_status create_group(struct wg_device *device, const struct wg_bound bound[GX_BINDINGS],
                              WGPUBindGroup *group)
{
    WGPUBindGroupEntry entries[GX_BINDINGS];
    for (uint32_t i = 0; i < GX_BINDINGS; i++)
        entries[i] = (WGPUBindGroupEntry){.binding = i,
                                          .buffer = bound[i].buffer,
                                          .offset = bound[i].offset,
                                          .size = bound[i].size};
    WGPUBindGroupDescriptor descriptor = {
        .layout = device->group_layout, .entryCount = GX_BINDINGS, .entries = entries};
    gx__wg_enter(device);
    *group = device->fn->DeviceCreateBindGroup(device->handle, &descriptor);
    gx_status s = gx__wg_leave(device, "wgpuDeviceCreateBindGroup");
    if (s != GX_OK && *group)
        release_group(device, *group);
    return s == GX_OK && !*group ? GX_ERR_DEVICE : s;
}

/* The caller owns a reference to *group. */
static gx_status get_group(struct wg_device *device, const struct wg_bound bound[GX_BINDINGS],
                           WGPUBindGroup *group)
{
    gx_status s = GX_OK;
    pthread_mutex_lock(&device->group_lock);
    struct wg_group *g = &device->groups[group_place(bound)];
    if (!g->handle || !same_bound(g->bound, bound)) {
        s = create_group(device, bound, group);
        if (s == GX_OK) {
            if (g->handle)
                release_group(device, g->handle);
            g->handle = *group;
            memcpy(g->bound, bound, sizeof g->bound);
        }
    }
    if (s == GX_OK) {
        *group = g->handle;
        device->fn->BindGroupAddRef(g->handle);
    }
    pthread_mutex_unlock(&device->group_lock);
    return s;
}

void gx__wg_groups_forget(struct wg_device *device, WGPUBuffer buffer)
{
    pthread_mutex_lock(&device->group_lock);
    gx__wg_enter(device);
    for (size_t i = 0; i < WG_GROUPS_MAX; i++) {
        struct wg_group *g = &device->groups[i];
        bool uses = g->handle && !buffer;
        for (int b = 0; g->handle && b < GX_BINDINGS; b++)
            uses |= g->bound[b].buffer == buffer;
        if (!uses)
            continue;
        device->fn->BindGroupRelease(g->handle);
        g->handle = NULL;
    }
    gx__wg_leave(device, "wgpuBindGroupRelease");
    pthread_mutex_unlock(&device->group_lock);
}

/* ---- dispatches ---- */

void gx__wg_launch(struct gx_gpu *gpu, struct gx_gpu_cmd *base, const struct gx_launch *launch)
{
    struct wg_device *device = wg_of_gpu(gpu);
    struct wg_cmd *cmd = (struct wg_cmd *)base;
    const uint64_t most = gpu->limits.range;
    struct wg_bound bound[GX_BINDINGS];
    struct wg_entry *e = gx__wg_next_entry(cmd);
    if (!e)
        return;
    for (int i = 0; i < GX_BINDINGS; i++) {
        const struct wg_mem *mem = wg_mem_of(launch->bind[i].mem);
        uint64_t offset = launch->bind[i].offset, range = mem->bytes - offset;
        bound[i] = (struct wg_bound){mem->buffer, offset, range < most ? range : most};
    }
    *e = (struct wg_entry){.kind = WG_LAUNCH,
                           .launch = {.pipeline = launch->pipeline,
                                      .push = launch->push,
                                      .push_bytes = launch->push_bytes,
                                      .x = launch->x,
                                      .y = launch->y,
                                      .z = launch->z}};
    base->failed = get_group(device, bound, &e->launch.group);
    if (base->failed == GX_OK)
        cmd->entries.count++;
}
