/* SPDX-License-Identifier: Apache-2.0
 *
 * Recording: a list of copies and launches. Everything that can fail is done while recording, so
 * that a submit, even a repeated one, only replays it. Bind groups are cached by what they bind.
 */
#include "device/webgpu/webgpu.h"

#include <string.h>

#include "base/alloc.h"
#include "base/log.h"

#define IDLE_COMMANDS 32
#define FIRST_ENTRIES 8

/* ---- making and ending commands ---- */

static struct wg_cmd *take_idle(struct wg_device *device)
{
    pthread_mutex_lock(&device->idle_lock);
    struct wg_cmd *cmd = device->idle;
    if (cmd) {
        device->idle = cmd->next_idle;
        device->idle_count--;
    }
    pthread_mutex_unlock(&device->idle_lock);
    return cmd;
}

gx_status gx__wg_begin(struct gx_device *base, enum gx_queue queue, struct gx_cmd **out)
{
    struct wg_device *device = wg_of(base);
    (void)queue; /* there is one */
    gx_status s = gx__gpu_alive(&device->gpu);
    if (s != GX_OK)
        return s;
    struct wg_cmd *cmd = take_idle(device);
    if (!cmd)
        cmd = gx__alloc(wg_allocator(device), sizeof *cmd);
    if (!cmd)
        return GX_ERR_OUT_OF_MEMORY;
    cmd->base.device = base;
    cmd->failed = GX_OK;
    cmd->point = 0;
    cmd->stamped = 0;
    *out = &cmd->base;
    return GX_OK;
}

static void free_cmd(struct wg_device *device, struct wg_cmd *cmd)
{
    gx__wg_stamps_free(device, cmd);
    gx__free(wg_allocator(device), cmd->entries);
    gx__free(wg_allocator(device), cmd);
}

static void clear(struct wg_device *device, struct wg_cmd *cmd)
{
    gx__wg_enter(device);
    for (size_t i = 0; i < cmd->count; i++)
        if (cmd->entries[i].kind == WG_LAUNCH)
            device->fn->BindGroupRelease(cmd->entries[i].launch.group);
    gx__wg_leave(device, "wgpuBindGroupRelease");
    cmd->count = 0;
}

/* After a failed wait a caller may recycle a command that still runs. The memory it uses is freed
 * next, so it has to end here. On a lost device it has. */
void gx__wg_recycle(struct gx_cmd *base)
{
    struct wg_cmd *cmd = (struct wg_cmd *)base;
    struct wg_device *device = wg_cmd_device(cmd);
    const uint64_t abandon_ns = 30000000000u;
    if (cmd->point && gx__wg_wait(base->device, (struct gx_point){GX_QUEUE_COMPUTE, cmd->point},
                                  abandon_ns) == GX_ERR_TIMEOUT)
        atomic_store(&device->gpu.lost, true);
    clear(device, cmd);
    pthread_mutex_lock(&device->idle_lock);
    bool keep = device->idle_count < IDLE_COMMANDS;
    if (keep) {
        cmd->next_idle = device->idle;
        device->idle = cmd;
        device->idle_count++;
    }
    pthread_mutex_unlock(&device->idle_lock);
    if (!keep)
        free_cmd(device, cmd);
}

void gx__wg_commands_close(struct wg_device *device)
{
    for (struct wg_cmd *cmd = device->idle, *next; cmd; cmd = next) {
        next = cmd->next_idle;
        free_cmd(device, cmd);
    }
}

struct wg_entry *gx__wg_next_entry(struct wg_cmd *cmd)
{
    const gx_allocator *allocator = wg_allocator(wg_cmd_device(cmd));
    if (cmd->failed != GX_OK)
        return NULL;
    if (cmd->count == cmd->room) {
        size_t room = cmd->room ? 2 * cmd->room : FIRST_ENTRIES;
        struct wg_entry *more = gx__alloc(allocator, room * sizeof *more);
        if (!more) {
            cmd->failed = GX_ERR_OUT_OF_MEMORY;
            return NULL;
        }
        if (cmd->count)
            memcpy(more, cmd->entries, cmd->count * sizeof *more);
        gx__free(allocator, cmd->entries);
        cmd->entries = more;
        cmd->room = room;
    }
    return &cmd->entries[cmd->count];
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
                                        .size = regions[i].size}};
        cmd->count++;
    }
}

/* wgpu itself orders accesses to the same buffer. */
void gx__wg_barrier(struct gx_cmd *cmd, enum gx_barrier barrier)
{
    (void)cmd;
    (void)barrier;
}

/* ---- bind groups ---- */

static size_t group_slot(const struct wg_bound bound[GX_BINDINGS])
{
    uint64_t h = 0xcbf29ce484222325u; /* FNV-1a over words */
    for (int i = 0; i < GX_BINDINGS; i++) {
        h = (h ^ (uintptr_t)bound[i].buffer) * 0x100000001b3u;
        h = (h ^ bound[i].offset) * 0x100000001b3u;
    }
    return (size_t)(h ^ h >> 32) & (WG_GROUP_SLOTS - 1);
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
    struct wg_group *g = &device->groups[group_slot(bound)];
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
    for (size_t i = 0; i < WG_GROUP_SLOTS; i++) {
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

static void launch_pass(struct wg_cmd *cmd, const struct gx_dispatch *d, const struct gx_pass *pass)
{
    struct wg_device *device = wg_cmd_device(cmd);
    const uint64_t most = device->gpu.limits.range;
    struct gx_launch launch;
    struct wg_bound bound[GX_BINDINGS];
    struct wg_entry *e = gx__wg_next_entry(cmd);
    if (!e)
        return;
    cmd->failed = gx__gpu_launch(&device->gpu, d, pass, &launch);
    if (cmd->failed != GX_OK)
        return;
    for (int i = 0; i < GX_BINDINGS; i++) {
        const struct wg_mem *mem = wg_mem_of(launch.bind[i].mem);
        uint64_t offset = launch.bind[i].offset, range = mem->bytes - offset;
        bound[i] = (struct wg_bound){mem->buffer, offset, range < most ? range : most};
    }
    *e = (struct wg_entry){.kind = WG_LAUNCH,
                           .launch = {.pipeline = launch.pipeline,
                                      .push = launch.push,
                                      .push_bytes = launch.push_bytes,
                                      .x = launch.x,
                                      .y = launch.y,
                                      .z = launch.z}};
    cmd->failed = get_group(device, bound, &e->launch.group);
    if (cmd->failed == GX_OK)
        cmd->count++;
}

/* No explicit barriers between passes: wgpu inserts them where needed. */
void gx__wg_dispatch(struct gx_cmd *base, const struct gx_dispatch *d)
{
    struct wg_cmd *cmd = (struct wg_cmd *)base;
    const struct gx_gpu_kernel *k = d->kernel.impl;
    struct gx_passes passes;
    if (cmd->failed != GX_OK)
        return;
    gx__passes(&d->kernel.key, d->n, &k->facts, &passes);
    for (uint32_t i = 0; i < passes.count && cmd->failed == GX_OK; i++)
        launch_pass(cmd, d, &passes.pass[i]);
}
