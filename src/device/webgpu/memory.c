/* SPDX-License-Identifier: Apache-2.0
 *
 * Buffers. WebGPU maps only buffers that are used for nothing but copies, and a mapped buffer
 * belongs to the host until it is unmapped; kernels and host share no memory. Mapping is requested
 * and then polled for; no lock of ours is held meanwhile.
 */
#include "device/webgpu/webgpu.h"

#include "base/alloc.h"
#include "base/clock.h"

#define SIZE_ALIGN 16u /* of buffers: whole quads */
/* The work that used the buffer is done: after this time mapping never completes. */
#define MAP_NS 60000000000u

enum { UNMAPPED, PENDING, MAPPED, REFUSED };

static WGPUBufferUsage usage_of(enum gx_mem_kind kind)
{
    switch (kind) {
    case GX_MEM_DEVICE:
        return WGPUBufferUsage_Storage | WGPUBufferUsage_CopySrc | WGPUBufferUsage_CopyDst;
    case GX_MEM_UPLOAD:
        return WGPUBufferUsage_MapWrite | WGPUBufferUsage_CopySrc;
    case GX_MEM_READBACK:
        return WGPUBufferUsage_MapRead | WGPUBufferUsage_CopyDst;
    default:
        return WGPUBufferUsage_None;
    }
}

static void release(struct wg_device *device, WGPUBuffer buffer)
{
    gx__wg_enter(device);
    device->fn->BufferDestroy(buffer); /* now, whatever still refers to it */
    device->fn->BufferRelease(buffer);
    gx__wg_leave(device, "wgpuBufferRelease");
}

static gx_status create_buffer(struct wg_device *device, WGPUBufferUsage usage, struct wg_mem *m)
{
    WGPUBufferDescriptor descriptor = {.usage = usage, .size = m->bytes};
    gx__wg_enter(device);
    m->buffer = device->fn->DeviceCreateBuffer(device->handle, &descriptor);
    gx_status s = gx__wg_leave(device, "wgpuDeviceCreateBuffer");
    if (s != GX_OK && m->buffer)
        release(device, m->buffer);
    return s == GX_OK && !m->buffer ? GX_ERR_OUT_OF_DEVICE_MEMORY : s;
}

gx_status gx__wg_mem_alloc(struct gx_device *base, enum gx_mem_kind kind, size_t bytes,
                           struct gx_mem *mem)
{
    struct wg_device *device = wg_of(base);
    gx_status s = gx__gpu_alive(&device->gpu);
    if (s != GX_OK)
        return s;
    if (usage_of(kind) == WGPUBufferUsage_None)
        return GX_ERR_UNSUPPORTED;
    if (bytes > device->adapter->limits.maxBufferSize - SIZE_ALIGN)
        return GX_ERR_OUT_OF_DEVICE_MEMORY;
    struct wg_mem *m = gx__alloc(wg_allocator(device), sizeof *m);
    if (!m)
        return GX_ERR_OUT_OF_MEMORY;
    m->bytes = bytes ? (bytes + SIZE_ALIGN - 1) / SIZE_ALIGN * SIZE_ALIGN : SIZE_ALIGN;
    s = create_buffer(device, usage_of(kind), m);
    if (s == GX_OK)
        *mem = (struct gx_mem){.kind = kind, .size = bytes, .handle = m};
    else
        gx__free(wg_allocator(device), m);
    return s;
}

void gx__wg_mem_free(struct gx_device *base, struct gx_mem *mem)
{
    struct wg_device *device = wg_of(base);
    struct wg_mem *m = mem->handle;
    gx__wg_groups_forget(device, m->buffer);
    release(device, m->buffer);
    gx__free(wg_allocator(device), m);
    *mem = (struct gx_mem){0};
}

/* ---- mapping ---- */

static void on_mapped(WGPUMapAsyncStatus status, WGPUStringView message, void *user, void *unused)
{
    (void)message;
    (void)unused;
    struct wg_mem *m = user;
    atomic_store(&m->map_state, status == WGPUMapAsyncStatus_Success ? MAPPED : REFUSED);
}

gx_status gx__wg_map_ask(struct wg_device *device, struct gx_mem *mem)
{
    struct wg_mem *m = mem->handle;
    WGPUMapMode mode = mem->kind == GX_MEM_UPLOAD ? WGPUMapMode_Write : WGPUMapMode_Read;
    WGPUBufferMapCallbackInfo info = {
        .mode = WGPUCallbackMode_AllowSpontaneous, .callback = on_mapped, .userdata1 = m};
    atomic_store(&m->map_state, PENDING);
    gx__wg_enter(device);
    device->fn->BufferMapAsync(m->buffer, mode, 0, m->bytes, info);
    return gx__wg_leave(device, "wgpuBufferMapAsync");
}

/* Even on failure, wgpu no longer uses m when this returns. */
static gx_status wait_mapped(struct wg_device *device, struct wg_mem *m)
{
    uint64_t start = gx__now_ns();
    while (atomic_load(&m->map_state) == PENDING && gx__gpu_alive(&device->gpu) == GX_OK) {
        gx__wg_poll(device);
        if (atomic_load(&m->map_state) != PENDING)
            break;
        if (gx__now_ns() - start > MAP_NS)
            return GX_ERR_TIMEOUT;
        gx__wg_pause(device, start);
    }
    gx_status s = gx__gpu_alive(&device->gpu);
    if (s == GX_OK && atomic_load(&m->map_state) != MAPPED)
        s = GX_ERR_DEVICE;
    return s;
}

struct range {
    const struct wg_fn *fn;
    const struct wg_mem *mem;
    WGPUMapMode mode;
    void *host;
};

static void get_range(void *user)
{
    struct range *r = user;
    r->host = r->mode == WGPUMapMode_Write
                  ? r->fn->BufferGetMappedRange(r->mem->buffer, 0, r->mem->bytes)
                  : (void *)r->fn->BufferGetConstMappedRange(r->mem->buffer, 0, r->mem->bytes);
}

gx_status gx__wg_map(struct gx_device *base, struct gx_mem *mem, void **host)
{
    struct wg_device *device = wg_of(base);
    struct wg_mem *m = mem->handle;
    WGPUMapMode mode = mem->kind == GX_MEM_UPLOAD ? WGPUMapMode_Write : WGPUMapMode_Read;
    gx_status s = gx__gpu_alive(&device->gpu);
    if (s != GX_OK)
        return s;
    if (mem->kind == GX_MEM_DEVICE)
        return GX_ERR_UNSUPPORTED;
    if (atomic_load(&m->map_state) == UNMAPPED)
        s = gx__wg_map_ask(device, mem);
    if (s == GX_OK)
        s = wait_mapped(device, m);
    if (s == GX_OK) {
        struct range range = {.fn = device->fn, .mem = m, .mode = mode};
        gx__wg_enter(device);
        gx__wg_guarded(device, get_range, &range);
        s = gx__wg_leave(device, "wgpuBufferGetMappedRange");
        *host = range.host;
        s = s == GX_OK && !range.host ? GX_ERR_DEVICE : s;
    }
    if (s != GX_OK)
        gx__wg_unmap(base, mem);
    return s;
}

/* Cannot fail: an error here loses the written data, belongs to no call, and ends the device. */
void gx__wg_unmap(struct gx_device *base, struct gx_mem *mem)
{
    struct wg_device *device = wg_of(base);
    struct wg_mem *m = mem->handle;
    int state = atomic_load(&m->map_state);
    if ((state == PENDING || state == MAPPED) && gx__gpu_alive(&device->gpu) == GX_OK) {
        gx__wg_enter(device);
        device->fn->BufferUnmap(m->buffer); /* also ends a pending mapping */
        if (gx__wg_leave(device, "wgpuBufferUnmap") != GX_OK)
            atomic_store(&device->gpu.lost, true);
    }
    atomic_store(&m->map_state, UNMAPPED);
}
