/* SPDX-License-Identifier: Apache-2.0
 *
 * Shared by the files of the WebGPU device. One file per concern: library.c (finding the right
 * wgpu-native), adapters.c (list of devices), device.c (open, close, errors), guard.c (errors that
 * would end the process), quiet.c (messages that would be printed), memory.c, measure.c (speeds),
 * kernel.c (how kernels are built), commands.c (recording), submit.c (fences), stamps.c.
 */
#ifndef GX_DEVICE_WEBGPU_WEBGPU_H
#define GX_DEVICE_WEBGPU_WEBGPU_H

#include <pthread.h>
#include <wgpu.h>

#include "base/error.h"
#include "base/options.h"
#include "device/gpu/gpu.h"
#include "kernel/wgsl.h"

#define WG_NAME         "webgpu"
#define WG_ADAPTERS_MAX 16

/* ---- library.c ---- */

/* X(name): functions of wgpu-native, loaded at run time. */
#define WG_FUNCTIONS(X)                                                                            \
    X(GetVersion)                                                                                  \
    X(CreateInstance)                                                                              \
    X(InstanceEnumerateAdapters)                                                                   \
    X(InstanceRelease)                                                                             \
    X(AdapterGetInfo)                                                                              \
    X(AdapterInfoFreeMembers)                                                                      \
    X(AdapterGetLimits)                                                                            \
    X(AdapterHasFeature)                                                                           \
    X(AdapterRequestDevice)                                                                        \
    X(AdapterRelease)                                                                              \
    X(DeviceGetQueue)                                                                              \
    X(DevicePoll)                                                                                  \
    X(DeviceRelease)                                                                               \
    X(DeviceCreateBuffer)                                                                          \
    X(DeviceCreateBindGroupLayout)                                                                 \
    X(DeviceCreatePipelineLayout)                                                                  \
    X(DeviceCreateShaderModuleTrusted)                                                             \
    X(DeviceCreateComputePipeline)                                                                 \
    X(DeviceCreateBindGroup)                                                                       \
    X(DeviceCreateQuerySet)                                                                        \
    X(DeviceCreateCommandEncoder)                                                                  \
    X(QueueSubmit)                                                                                 \
    X(QueueGetTimestampPeriod)                                                                     \
    X(QueueOnSubmittedWorkDone)                                                                    \
    X(QueueRelease)                                                                                \
    X(BufferMapAsync)                                                                              \
    X(BufferGetMappedRange)                                                                        \
    X(BufferGetConstMappedRange)                                                                   \
    X(BufferUnmap)                                                                                 \
    X(BufferDestroy)                                                                               \
    X(BufferRelease)                                                                               \
    X(BindGroupLayoutRelease)                                                                      \
    X(PipelineLayoutRelease)                                                                       \
    X(ShaderModuleRelease)                                                                         \
    X(ComputePipelineRelease)                                                                      \
    X(QuerySetRelease)                                                                             \
    X(BindGroupAddRef)                                                                             \
    X(BindGroupRelease)                                                                            \
    X(CommandEncoderCopyBufferToBuffer)                                                            \
    X(CommandEncoderBeginComputePass)                                                              \
    X(CommandEncoderWriteTimestamp)                                                                \
    X(CommandEncoderResolveQuerySet)                                                               \
    X(CommandEncoderFinish)                                                                        \
    X(CommandEncoderRelease)                                                                       \
    X(CommandBufferRelease)                                                                        \
    X(ComputePassEncoderSetPipeline)                                                               \
    X(ComputePassEncoderSetBindGroup)                                                              \
    X(ComputePassEncoderSetImmediates)                                                             \
    X(ComputePassEncoderDispatchWorkgroups)                                                        \
    X(ComputePassEncoderEnd)                                                                       \
    X(ComputePassEncoderRelease)

struct wg_fn {
#define X(name) __typeof__(wgpu##name) *name;
    WG_FUNCTIONS(X)
#undef X
};

/* Opens the configured library, or the one on the system's search path. False, with advice in
 * `why`, if there is none or it has another version. */
bool gx__wg_library(const struct gx_instance *instance, struct wg_fn *fn, struct gx_error *error);

/* ---- adapters.c ---- */

struct wg_adapter {
    struct gx_gpu_listed base;
    WGPUAdapter handle;
    enum gx_webgpu_backend backend;
    WGPULimits limits;
    bool wide;            /* 64-bit integers in shaders */
    uint64_t identity[4]; /* hashes of its self-description */
};

/* One for the life of a context. */
struct wg_loader {
    struct gx_gpu_list list;
    struct wg_fn fn;
    WGPUInstance instance[GX_WEBGPU_BACKENDS];
    /* OpenGL has one context for all devices of an instance, and wgpu aborts the process if it
     * cannot acquire it for some seconds: calls on these devices are serialised here. */
    pthread_mutex_t gl_lock;
    bool gl_forked; /* OpenGL is unusable here, because it was in use at a fork() */
    struct wg_adapter adapters[WG_ADAPTERS_MAX];
};

extern struct gx_gpu_lister gx__wg_lister;

/* ---- device.c ---- */

struct wg_bound {
    WGPUBuffer buffer;
    uint64_t offset, size;
};

#define WG_DONE_TIMES 64
#define WG_GROUPS_MAX 128 /* power of two */
struct wg_group {
    WGPUBindGroup handle; /* NULL: a free place */
    struct wg_bound bound[GX_BINDINGS];
};

struct wg_device {
    struct gx_gpu gpu;
    struct wg_loader *loader;
    const struct wg_fn *fn;
    const struct wg_adapter *adapter;
    WGPUDevice handle;
    WGPUQueue queue;
    atomic_bool closing; /* we are losing it on purpose */

    WGPUBindGroupLayout group_layout;
    WGPUPipelineLayout layout;

    pthread_mutex_t group_lock;
    struct wg_group groups[WG_GROUPS_MAX];

    pthread_mutex_t submit_lock;
    uint64_t submitted;                      /* last value allocated; under submit_lock */
    _Atomic uint64_t reached;                /* last value seen */
    _Atomic uint64_t done_ns[WG_DONE_TIMES]; /* when, by value; written before `reached` */
    float tick_ns;                           /* of timestamps */
};

static inline struct wg_device *wg_of(const struct gx_device *device)
{
    return device->impl;
}

static inline struct wg_device *wg_of_gpu(const struct gx_gpu *gpu)
{
    return wg_of(gpu->base);
}

static inline const gx_allocator *wg_allocator(const struct wg_device *device)
{
    return &device->gpu.base->instance->config.allocator;
}

/* Every use of wgpu is between these two. Errors arrive through a callback on the calling thread:
 * gx__wg_leave returns the first one since gx__wg_enter as a status, and logs it with `what`. */
void gx__wg_enter(struct wg_device *device);
gx_status gx__wg_leave(struct wg_device *device, const char *what);
/* The same, but what wgpu says goes to `text` instead of the log. */
void gx__wg_enter_quoted(struct wg_device *device, struct gx_error *error);
/* gx__wg_guard between the two: a panic ends the device. */
void gx__wg_guarded(struct wg_device *device, void (*call)(void *), void *argument);
/* Lets wgpu detect completed work and invoke callbacks. */
void gx__wg_poll(struct wg_device *device);
/* The pause before the next poll, for a thread that has waited since then. */
void gx__wg_pause(const struct wg_device *device, uint64_t since_ns);

/* The functions of its tables, in all files. */
GX_GPU_OPS(GX_GPU_DECLARED, wg)
GX_GPU_DEVICE_OPS(GX_GPU_DECLARED, wg)

/* ---- guard.c ---- */

/* Calls call(argument). False if wgpu panicked in it, as wgpuQueueSubmit, wgpuDevicePoll,
 * wgpuBufferGetMappedRange and wgpuDeviceRelease do where others report an error. */
bool gx__wg_guard(void (*call)(void *), void *argument);

/* ---- quiet.c ---- */

/* Around calls that search for drivers, once the instance exists; one thread at a time. */
void gx__wg_quiet_begin(void);
void gx__wg_quiet_end(void);

/* ---- memory.c ---- */

struct wg_mem {
    WGPUBuffer buffer;
    size_t bytes;
    _Atomic int map_state; /* enum in memory.c */
};

static inline const struct wg_mem *wg_mem_of(const struct gx_mem *mem)
{
    return mem->handle;
}

/* The first half of it, for callers that finish it later: waits for nothing. */
gx_status gx__wg_map_ask(struct wg_device *device, struct gx_mem *mem);

/* ---- kernel.c: a variant is an enum gx_wgsl_mul ---- */

#define WG_EACH_MAX 4

/* ---- commands.c, submit.c ---- */

struct wg_copy {
    WGPUBuffer from, to;
    uint64_t from_at, to_at, size;
    uint64_t rows, from_row, to_row;
};

struct wg_launch {
    WGPUComputePipeline pipeline;
    WGPUBindGroup group; /* a reference of ours */
    union gx_push push;
    uint32_t push_bytes, x, y, z;
};

enum wg_entry_kind { WG_COPY, WG_LAUNCH, WG_STAMP };

struct wg_entry {
    enum wg_entry_kind kind;
    union {
        struct wg_copy copy;
        struct wg_launch launch;
        uint32_t stamp; /* its index */
    };
};

/* What was recorded. wgpu accepts a command buffer only once, so it is created at each submit. */
struct wg_cmd {
    struct gx_gpu_cmd gpu;
    struct gx_gpu_steps entries; /* struct wg_entry */
    WGPUQuerySet queries;        /* these three are NULL until it is first stamped */
    WGPUBuffer resolved;
    struct gx_mem ticks;
};

static inline struct wg_device *wg_cmd_device(const struct wg_cmd *cmd)
{
    return wg_of(cmd->gpu.base.device);
}

/* Room for one more entry, not counted yet; NULL with the failure recorded. */
struct wg_entry *gx__wg_next_entry(struct wg_cmd *cmd);
/* Drops the cached groups that bind the buffer; NULL: all. */
void gx__wg_groups_forget(struct wg_device *device, WGPUBuffer buffer);

/* When the host learned of the end of a submit; now, if that was long ago. */
uint64_t gx__wg_done_ns(struct wg_device *device, uint64_t fence);

/* ---- stamps.c ---- */

bool gx__wg_has_stamps(const struct wg_device *device);
/* Ends a stamped command: copies the stamps to where the host reads them. */
void gx__wg_resolve(const struct wg_cmd *cmd, WGPUCommandEncoder encoder);
void gx__wg_stamps_free(struct wg_device *device, struct wg_cmd *cmd);

#endif
