/* SPDX-License-Identifier: Apache-2.0
 *
 * Memory: the device's, and pinned host memory for every other kind, which both sides see and
 * cache coherently. Nothing is kept besides the gx_mem: its handle is the device address.
 */
#include "device/cuda/cuda.h"

static void *handle(CUdeviceptr address)
{
    return (void *)(uintptr_t)address;
}

/* ---- between enter and leave ---- */

static gx_status alloc_device(struct cu_device *device, size_t bytes, struct gx_mem *mem)
{
    CUdeviceptr address;
    if (bytes > device->gpu.base->info.memory_bytes)
        return GX_ERR_OUT_OF_DEVICE_MEMORY;
    gx_status s =
        gx__cu_status(device, device->fn->MemAlloc(&address, bytes ? bytes : 1), "cuMemAlloc");
    if (s == GX_OK)
        *mem = (struct gx_mem){.kind = GX_MEM_DEVICE, .size = bytes, .handle = handle(address)};
    return s;
}

static gx_status alloc_host(struct cu_device *device, enum gx_mem_kind kind, size_t bytes,
                            struct gx_mem *mem)
{
    CUdeviceptr address;
    void *host;
    if (bytes > device->host_bytes)
        return GX_ERR_OUT_OF_DEVICE_MEMORY;
    gx_status s = gx__cu_status(
        device,
        device->fn->MemHostAlloc(&host, bytes ? bytes : 1,
                                 CU_MEMHOSTALLOC_PORTABLE | CU_MEMHOSTALLOC_DEVICEMAP),
        "cuMemHostAlloc");
    if (s != GX_OK)
        return s;
    s = gx__cu_status(device, device->fn->MemHostGetDevicePointer(&address, host, 0),
                      "cuMemHostGetDevicePointer");
    if (s == GX_OK)
        *mem =
            (struct gx_mem){.kind = kind, .size = bytes, .host = host, .handle = handle(address)};
    else
        device->fn->MemFreeHost(host);
    return s;
}

/* Memory that cannot be imported (read-only, registered by somebody else, of a device file) is no
 * failure of the device: the caller copies it instead. */
static gx_status import(struct cu_device *device, void *host, size_t bytes, struct gx_mem *mem)
{
    CUdeviceptr address;
    CUresult r = device->fn->MemHostRegister(
        host, bytes, CU_MEMHOSTREGISTER_PORTABLE | CU_MEMHOSTREGISTER_DEVICEMAP);
    if (r == CUDA_ERROR_INVALID_VALUE || r == CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED ||
        r == CUDA_ERROR_NOT_PERMITTED || r == CUDA_ERROR_MAP_FAILED)
        return GX_ERR_UNSUPPORTED;
    gx_status s = gx__cu_status(device, r, "cuMemHostRegister");
    if (s != GX_OK)
        return s;
    s = gx__cu_status(device, device->fn->MemHostGetDevicePointer(&address, host, 0),
                      "cuMemHostGetDevicePointer");
    if (s == GX_OK)
        *mem = (struct gx_mem){.kind = GX_MEM_SHARED,
                               .size = bytes,
                               .imported = true,
                               .host = host,
                               .handle = handle(address)};
    else
        device->fn->MemHostUnregister(host);
    return s;
}

/* ---- memory of the caller, between enter and leave ---- */

/* What the driver knows about an address of the caller's. */
struct pointer {
    CUcontext context; /* NULL: of none, as memory of a pool is */
    unsigned type;
    int device;
    CUdeviceptr base;
    size_t bytes;
};

static CUresult look_up(const struct cu_fn *fn, CUdeviceptr address, struct pointer *p)
{
    CUresult r = fn->PointerGetAttribute(&p->type, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, address);
    if (r == CUDA_SUCCESS)
        r = fn->PointerGetAttribute(&p->device, CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL, address);
    if (r == CUDA_SUCCESS)
        r = fn->PointerGetAttribute(&p->context, CU_POINTER_ATTRIBUTE_CONTEXT, address);
    if (r == CUDA_SUCCESS && p->type == CU_MEMORYTYPE_DEVICE)
        r = fn->MemGetAddressRange(&p->base, &p->bytes, address);
    return r;
}

/* *why: what is wrong with it; NULL: nothing. */
static gx_status examine(struct cu_device *device, CUdeviceptr address, size_t bytes,
                         const char **why)
{
    struct pointer p = {0};
    *why = NULL;
    if (address % CU_BIND_ALIGN)
        *why = "the address is not a multiple of 16";
    else if (!bytes)
        *why = "a buffer of no bytes";
    if (*why)
        return GX_OK;
    CUresult r = look_up(device->fn, address, &p);
    if (r == CUDA_ERROR_INVALID_VALUE || r == CUDA_ERROR_NOT_FOUND)
        *why = "this is no address of CUDA memory";
    else if (r != CUDA_SUCCESS)
        return gx__cu_status(device, r, "cuPointerGetAttribute");
    else if (p.type == CU_MEMORYTYPE_HOST)
        *why = "this is host memory, which gx_host_register is for";
    else if (p.type != CU_MEMORYTYPE_DEVICE)
        *why = "this is not plain memory of a device";
    else if (p.device != device->listed->handle)
        *why = "the memory is that of another device";
    else if (p.context && p.context != device->context)
        *why = "the memory is not of the device's primary context";
    else if (address - p.base > p.bytes || bytes > p.bytes - (address - p.base))
        *why = "it runs past the end of the allocation";
    return GX_OK;
}

/* ---- work of the caller, between enter and leave ---- */

static CUresult await_event(struct cu_device *device, CUevent event)
{
    CUresult r = CUDA_SUCCESS;
    for (int q = 0; q < CU_QUEUES && r == CUDA_SUCCESS; q++)
        r = device->fn->StreamWaitEvent(device->queue[q].stream, event, 0);
    return r;
}

/* An event that is waited for may be destroyed: the driver keeps it as long as needed. */
static CUresult await_stream(struct cu_device *device, CUstream stream)
{
    CUevent event = NULL;
    CUresult r = device->fn->EventCreate(&event, CU_EVENT_DISABLE_TIMING);
    if (r != CUDA_SUCCESS)
        return r;
    r = device->fn->EventRecord(event, stream);
    if (r == CUDA_SUCCESS)
        r = await_event(device, event);
    device->fn->EventDestroy(event);
    return r;
}

/* ---- the contract ---- */

gx_status gx__cu_mem_alloc(struct gx_device *base, enum gx_mem_kind kind, size_t bytes,
                           struct gx_mem *mem)
{
    struct cu_device *device = cu_of(base);
    gx_status s = gx__gpu_alive(&device->gpu);
    if (s == GX_OK)
        s = gx__cu_enter(device);
    if (s != GX_OK)
        return s;
    s = kind == GX_MEM_DEVICE ? alloc_device(device, bytes, mem)
                              : alloc_host(device, kind, bytes, mem);
    gx__cu_leave(device);
    return s;
}

gx_status gx__cu_mem_import(struct gx_device *base, void *host, size_t bytes, struct gx_mem *mem)
{
    struct cu_device *device = cu_of(base);
    size_t align = base->facts.import_align;
    gx_status s = gx__gpu_alive(&device->gpu);
    if (s == GX_OK && (!align || !bytes || bytes % align || (uintptr_t)host % align))
        s = GX_ERR_UNSUPPORTED;
    if (s == GX_OK)
        s = gx__cu_enter(device);
    if (s != GX_OK)
        return s;
    s = import(device, host, bytes, mem);
    gx__cu_leave(device);
    return s;
}

gx_status gx__cu_mem_wrap(struct gx_device *base, uint64_t address, size_t bytes,
                          struct gx_mem *mem, struct gx_error *error)
{
    struct cu_device *device = cu_of(base);
    const char *why = NULL;
    gx_status s = gx__gpu_alive(&device->gpu);
    if (s == GX_OK)
        s = gx__cu_enter(device);
    if (s != GX_OK)
        return s;
    s = examine(device, address, bytes, &why);
    gx__cu_leave(device);
    if (s != GX_OK)
        return s;
    if (why)
        return gx__refuse(error, GX_ERR_INVALID, "%s", why);
    *mem = (struct gx_mem){
        .kind = GX_MEM_DEVICE, .size = bytes, .imported = true, .handle = handle(address)};
    return GX_OK;
}

uint64_t gx__cu_mem_address(struct gx_device *base, const struct gx_mem *mem)
{
    (void)base;
    return (uint64_t)(uintptr_t)mem->handle;
}

gx_status gx__cu_await(struct gx_device *base, void *stream, void *event, struct gx_error *error)
{
    struct cu_device *device = cu_of(base);
    gx_status s = gx__gpu_alive(&device->gpu);
    if (s == GX_OK)
        s = gx__cu_enter(device);
    if (s != GX_OK)
        return s;
    CUresult r = event ? await_event(device, event) : await_stream(device, stream);
    if (r == CUDA_ERROR_INVALID_HANDLE || r == CUDA_ERROR_INVALID_VALUE ||
        r == CUDA_ERROR_INVALID_CONTEXT)
        s = gx__refuse(error, GX_ERR_INVALID,
                       event ? "this is no event"
                             : "this is no stream of the device's primary context");
    else
        s = gx__cu_status(device, r, "cuStreamWaitEvent");
    gx__cu_leave(device);
    return s;
}

/* If work does not end, the memory is left allocated. */
void gx__cu_mem_free(struct gx_device *base, struct gx_mem *mem)
{
    struct cu_device *device = cu_of(base);
    bool ours = mem->handle && !(mem->imported && mem->kind == GX_MEM_DEVICE);
    if (ours && gx__cu_enter_idle(device)) {
        if (mem->kind == GX_MEM_DEVICE)
            device->fn->MemFree((CUdeviceptr)(uintptr_t)mem->handle);
        else if (mem->imported)
            device->fn->MemHostUnregister(mem->host);
        else
            device->fn->MemFreeHost(mem->host);
        gx__cu_leave(device);
    }
    *mem = (struct gx_mem){0};
}

gx_status gx__cu_map(struct gx_device *base, struct gx_mem *mem, void **host)
{
    gx_status s = gx__gpu_alive(&cu_of(base)->gpu);
    if (s == GX_OK && !mem->host)
        s = GX_ERR_UNSUPPORTED;
    if (s == GX_OK)
        *host = mem->host;
    return s;
}

void gx__cu_unmap(struct gx_device *base, struct gx_mem *mem)
{
    (void)base;
    (void)mem;
    atomic_thread_fence(memory_order_seq_cst); /* another core may submit */
}
