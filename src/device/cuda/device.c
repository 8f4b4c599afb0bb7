/* SPDX-License-Identifier: Apache-2.0
 *
 * Opening and closing a CUDA device, the facts that the upper layers plan with, and the only place
 * where a CUresult becomes a status.
 */
#include "device/cuda/cuda.h"

#include <string.h>

#include "base/alloc.h"
#include "base/log.h"
#include "base/os.h"

#define NOTHING_BYTES 256u
/* Indices of words have 32 bits in places. */
#define RANGE (((uint64_t)1 << 34) - 1)
/* Kernels read points by quads. */
#define POINT_BYTES (((uint64_t)1 << 36) - 1)
#define GROUPS_MAX  2147483647u
/* Rows of 16 KiB take an H200 1.5 times as long as copies in one piece, rows of 32 KiB 1.07 times.
 */
#define SLOW_ROW_BYTES 32768u
#define WORKGROUP_MAX  1024u

/* ---- results ---- */

/* After most errors of a kernel, and of the device, every call on the context fails in the same
 * way. */
static gx_status translate(CUresult result)
{
    switch (result) {
    case CUDA_ERROR_OUT_OF_MEMORY:
        return GX_ERR_OUT_OF_DEVICE_MEMORY;
    case CUDA_ERROR_NOT_SUPPORTED:
    case CUDA_ERROR_NO_BINARY_FOR_GPU:
    case CUDA_ERROR_JIT_COMPILER_NOT_FOUND:
    case CUDA_ERROR_UNSUPPORTED_PTX_VERSION:
    case CUDA_ERROR_JIT_COMPILATION_DISABLED:
        return GX_ERR_UNSUPPORTED;
    case CUDA_ERROR_NOT_READY:
        return GX_ERR_TIMEOUT;
    case CUDA_ERROR_NOT_INITIALIZED:
    case CUDA_ERROR_DEINITIALIZED:
    case CUDA_ERROR_DEVICE_UNAVAILABLE:
    case CUDA_ERROR_INVALID_CONTEXT:
    case CUDA_ERROR_ECC_UNCORRECTABLE:
    case CUDA_ERROR_NVLINK_UNCORRECTABLE:
    case CUDA_ERROR_CONTAINED:
    case CUDA_ERROR_ILLEGAL_ADDRESS:
    case CUDA_ERROR_LAUNCH_TIMEOUT:
    case CUDA_ERROR_CONTEXT_IS_DESTROYED:
    case CUDA_ERROR_ASSERT:
    case CUDA_ERROR_HARDWARE_STACK_ERROR:
    case CUDA_ERROR_ILLEGAL_INSTRUCTION:
    case CUDA_ERROR_MISALIGNED_ADDRESS:
    case CUDA_ERROR_INVALID_ADDRESS_SPACE:
    case CUDA_ERROR_INVALID_PC:
    case CUDA_ERROR_LAUNCH_FAILED:
        return GX_ERR_DEVICE_LOST;
    default:
        return GX_ERR_DEVICE;
    }
}

gx_status gx__cu_failed(struct cu_device *device, CUresult result, const char *what)
{
    const char *name = NULL;
    gx_status s = translate(result);
    if (s == GX_ERR_TIMEOUT)
        return s;
    if (s == GX_ERR_DEVICE_LOST)
        atomic_store(&device->gpu.lost, true);
    if (device->fn->GetErrorName(result, &name) != CUDA_SUCCESS || !name)
        name = "an unknown error";
    gx__log(device->gpu.base->instance, GX_LOG_WARNING, "%s: %s failed with %s (%d): %s",
            device->gpu.base->info.name, what, name, result, gx_status_message(s));
    return s;
}

gx_status gx__cu_enter(struct cu_device *device)
{
    return gx__cu_status(device, device->fn->CtxPushCurrent(device->context), "cuCtxPushCurrent");
}

void gx__cu_leave(struct cu_device *device)
{
    CUcontext context;
    device->fn->CtxPopCurrent(&context);
}

/* ---- cache files ---- */

static void cache_key(const struct gx_gpu *gpu, uint8_t key[GX_CACHE_KEY_BYTES])
{
    const struct cu_device *device = cu_of_gpu(gpu);
    const uint32_t words[] = {(uint32_t)device->loader->version,
                              (uint32_t)device->listed->capability,
                              GX_VERSION_MAJOR << 24 | GX_VERSION_MINOR << 12 | GX_VERSION_PATCH};
    memset(key, 0, GX_CACHE_KEY_BYTES);
    memcpy(key, device->listed->base.uuid, sizeof device->listed->base.uuid);
    memcpy(key + sizeof device->listed->base.uuid, words, sizeof words);
}

/* ---- open ---- */

static bool has(const struct cu_device *device, int attribute)
{
    int value = 0;
    return device->fn->DeviceGetAttribute(&value, attribute, device->listed->handle) ==
               CUDA_SUCCESS &&
           value;
}

static uint64_t host_bytes(void)
{
    uint64_t bytes = gx__os_memory();
    return bytes ? bytes : UINT64_MAX;
}

static void set_facts(struct cu_device *device)
{
    struct gx_device_facts *facts = &device->gpu.base->facts;
    device->gpu.limits = (struct gx_gpu_limits){.range = RANGE,
                                                .bind_align = CU_BIND_ALIGN,
                                                .groups = GROUPS_MAX,
                                                .workgroup = WORKGROUP_MAX};
    gx__gpu_limit_elements(&device->gpu, GX_INVERSE_DIRECT_INT64);
    *facts = gx__gpu_facts(&device->gpu, false);
    facts->mem_kinds = GX_MEM_BIT(GX_MEM_DEVICE) | GX_MEM_BIT(GX_MEM_UPLOAD) |
                       GX_MEM_BIT(GX_MEM_READBACK) | GX_MEM_BIT(GX_MEM_SHARED);
    facts->queues = GX_QUEUE_BIT(GX_QUEUE_COMPUTE) | GX_QUEUE_BIT(GX_QUEUE_UPLOAD) |
                    GX_QUEUE_BIT(GX_QUEUE_DOWNLOAD);
    if (has(device, CU_DEVICE_ATTRIBUTE_HOST_REGISTER_SUPPORTED))
        facts->import_align = gx__os_page();
    facts->row_bytes = SLOW_ROW_BYTES;
    facts->point_bytes = POINT_BYTES;
    facts->memory = device->gpu.base->info.memory_bytes;
    facts->timestamps = true;
    /* an H200 takes 84 us for 2 MiB that 12 cores have read, 42 for others */
    facts->drop_lines = true;
}

/* The primary context, so that memory of the caller's CUDA runtime has the same addresses here. One
 * that was lost stays so until everyone in this process has released it. Nothing resets it, because
 * that would end the memory of its other users too. */
static gx_status retain(struct cu_device *device)
{
    if (gx__cu_stuck(device->listed->base.uuid)) {
        gx__log(device->gpu.base->instance, GX_LOG_WARNING,
                "%s: not opened, because work that was given up still runs on the GPU: wait for "
                "its end, or start the process again",
                device->gpu.base->info.name);
        return GX_ERR_TIMEOUT;
    }
    CUresult r = device->fn->DevicePrimaryCtxRetain(&device->context, device->listed->handle);
    if (r != CUDA_SUCCESS)
        device->context = NULL;
    return gx__cu_status(device, r, "cuDevicePrimaryCtxRetain");
}

/* A driver that cannot load kernels is found here, not by the first job, so that another device of
 * the GPU takes its place. One that has no memory for it now may have some later. */
static gx_status try_kernel(struct cu_device *device)
{
    struct gx_kernel_key key = {.op = GX_OP_COPY};
    struct gx_gpu *gpu = &device->gpu;
    struct gx_gpu_kernel *copy = NULL;
    gx_status s = gx__gpu_build(gpu, &key, gx__gpu_guess(gpu, GX_SHADER_COPY), &copy);
    gx__free(cu_allocator(device), copy);
    return s == GX_ERR_DEVICE || s == GX_ERR_DEVICE_LOST ? s : GX_OK;
}

static gx_status open_parts(struct cu_device *device)
{
    gx_status s = retain(device);
    if (s != GX_OK)
        return s;
    device->host_bytes = host_bytes();
    device->counts = device->fn->StreamWriteValue64 &&
                     has(device, CU_DEVICE_ATTRIBUTE_CAN_USE_64_BIT_STREAM_MEM_OPS);
    set_facts(device);
    s = gx__cu_queues_open(device);
    if (s == GX_OK)
        s = gx__cu_mem_alloc(device->gpu.base, GX_MEM_DEVICE, NOTHING_BYTES, &device->gpu.nothing);
    if (s == GX_OK)
        s = try_kernel(device);
    return s == GX_OK ? gx__gpu_calibrate(&device->gpu) : s;
}

static const struct gx_gpu_ops gpu_ops = {.cache_key = cache_key,
                                          .cmd_bytes = sizeof(struct cu_cmd),
                                          .cmd_begin = gx__cu_cmd_begin,
                                          GX_GPU_OPS(GX_GPU_MEMBER, cu)};

static gx_status cuda_open(struct gx_device *base)
{
    struct cu_device *device = gx__gpu_open(base, sizeof *device, &gpu_ops);
    if (!device)
        return GX_ERR_OUT_OF_MEMORY;
    device->loader = (const struct cu_loader *)device->gpu.list;
    device->fn = &device->loader->fn;
    device->listed = (const struct cu_listed *)device->gpu.listed;
    pthread_mutex_init(&device->clock.lock, NULL);
    for (enum gx_queue q = 0; q < CU_QUEUES; q++) {
        pthread_mutex_init(&device->queue[q].lock, NULL);
        device->gpu.alias[q] = q;
    }
    return gx__cu_hold_open(device) ? open_parts(device) : GX_ERR_OUT_OF_MEMORY;
}

/* ---- close ---- */

static void release(struct cu_device *device)
{
    if (!device->context)
        return;
    if (device->gpu.nothing.handle)
        gx__cu_mem_free(device->gpu.base, &device->gpu.nothing);
    gx__cu_queues_close(device);
    if (!atomic_load(&device->hung)) /* otherwise hang.c does it */
        device->fn->DevicePrimaryCtxRelease(device->listed->handle);
}

static void cuda_close(struct gx_device *base)
{
    struct cu_device *device = base->impl;
    if (!device)
        return;
    gx__gpu_calibration_save(&device->gpu);
    gx__gpu_commands_close(&device->gpu);
    gx__gpu_close(&device->gpu);
    release(device);
    if (device->hold)
        gx__cu_hold_close(device);
    for (int q = 0; q < CU_QUEUES; q++)
        pthread_mutex_destroy(&device->queue[q].lock);
    pthread_mutex_destroy(&device->clock.lock);
    gx__gpu_free(&device->gpu);
}

const struct gx_device_ops gx__cuda_ops = {GX_GPU_SHARED,
                                           .name = CU_NAME,
                                           .lister = &gx__cu_lister,
                                           .open = cuda_open,
                                           .close = cuda_close,
                                           .mem_import = gx__cu_mem_import,
                                           .mem_wrap = gx__cu_mem_wrap,
                                           .mem_address = gx__cu_mem_address,
                                           .await = gx__cu_await,
                                           .dispatch = gx__gpu_dispatch,
                                           .barrier = gx__gpu_no_barrier,
                                           GX_GPU_DEVICE_OPS(GX_GPU_MEMBER, cu)};
