/* SPDX-License-Identifier: Apache-2.0
 *
 * Shared by the files of the CUDA device. One file per concern: library.c (finding the driver),
 * list.c (list of devices), device.c (open, close, errors), memory.c, commands.c (recording),
 * submit.c (queues and fences), hang.c (work that never ends), clock.c (times), kernel.c (modules),
 * measure.c (speeds).
 */
#ifndef GX_DEVICE_CUDA_CUDA_H
#define GX_DEVICE_CUDA_CUDA_H

#include "base/error.h"
#include "device/cuda/driver.h"
#include "device/gpu/gpu.h"
#include "kernel/ptx.h"

#define CU_NAME        "cuda"
#define CU_DEVICES_MAX 16
#define CU_QUEUES      3               /* one per enum gx_queue */
#define CU_STREAMS     (CU_QUEUES + 1) /* and that of the clock */
#define CU_BIND_ALIGN  16              /* of the widest access */
#define CU_RING        64              /* events of a queue, where the host asks about them */

/* ---- library.c ---- */

/* Opens the driver and starts it; otherwise `why` says what is missing. */
bool gx__cu_library(const struct gx_instance *instance, struct cu_fn *fn, int *version,
                    struct gx_error *error);

/* ---- list.c: one list for the life of a context ---- */

struct cu_listed {
    struct gx_gpu_listed base;
    CUdevice handle;
    int capability; /* 90: 9.0 */
};

struct cu_loader {
    struct gx_gpu_list list;
    struct cu_fn fn;
    int version; /* 12040: CUDA 12.4 */
    struct cu_listed devices[CU_DEVICES_MAX];
};

extern struct gx_gpu_lister gx__cu_lister;

/* ---- device.c ---- */

struct cu_queue {
    CUstream stream;
    pthread_mutex_t lock;
    uint64_t submitted;               /* last value allocated; under lock */
    _Atomic uint64_t reached;         /* last value seen */
    const volatile uint64_t *counter; /* what the stream writes: its address on the host */
    CUdeviceptr counter_at;           /* the same on the device */
    CUevent done[CU_RING];            /* see event_of; with counters only the first is used */
    uint64_t marked;                  /* with counters: the last value before done[0]; under lock */
};

/* Relates the device's clock to the host's: an event, and when it happened. */
struct cu_clock {
    pthread_mutex_t lock;
    CUstream stream; /* never busy, so that what it is given happens at once */
    CUevent event;
    uint64_t ns;  /* when it was recorded; 0: never */
    bool reached; /* is known to have happened */
};

/* What hang.c needs of a device whose work never ends, after it is closed. */
struct cu_hold {
    struct cu_hold *next;
    struct cu_fn fn;
    CUdevice handle;
    uint8_t uuid[16];
    /* set when the device is abandoned */
    CUcontext context;
    CUstream stream[CU_STREAMS];
    bool closed; /* the device */
};

struct cu_device {
    struct gx_gpu gpu;
    const struct cu_loader *loader;
    const struct cu_fn *fn;
    const struct cu_listed *listed;
    CUcontext context; /* the device's primary one, which the CUDA runtime uses as well */
    bool counts;       /* streams write counters; otherwise the host asks about events */
    atomic_bool hung;  /* abandoned (hang.c): lost, and nothing of it is freed */
    struct cu_hold *hold;
    uint64_t host_bytes; /* of the machine: an allocation beyond that only does harm */

    struct cu_queue queue[CU_QUEUES];
    struct gx_mem counters;
    struct cu_clock clock;
};

static inline struct cu_device *cu_of(const struct gx_device *device)
{
    return device->impl;
}

static inline struct cu_device *cu_of_gpu(const struct gx_gpu *gpu)
{
    return cu_of(gpu->base);
}

static inline const gx_allocator *cu_allocator(const struct cu_device *device)
{
    return &device->gpu.base->instance->config.allocator;
}

/* Converts every CUresult to a status: remembers a lost device and logs the failure. `what` names
 * the call. */
gx_status gx__cu_failed(struct cu_device *device, CUresult result, const char *what);
static inline gx_status gx__cu_status(struct cu_device *device, CUresult result, const char *what)
{
    return result == CUDA_SUCCESS ? GX_OK : gx__cu_failed(device, result, what);
}

/* The driver works on the calling thread's current context. Any call on the device, except for
 * those that need none, is between these two; what the caller had is current again after them. */
gx_status gx__cu_enter(struct cu_device *device);
void gx__cu_leave(struct cu_device *device);

/* The functions of its tables, in all files. */
GX_GPU_OPS(GX_GPU_DECLARED, cu)
GX_GPU_DEVICE_OPS(GX_GPU_DECLARED, cu)

/* ---- hang.c ---- */

/* False: no memory. */
bool gx__cu_hold_open(struct cu_device *device);
/* The device is closed; hold is not NULL. */
void gx__cu_hold_close(struct cu_device *device);
/* Its work never ends. Any thread. */
void gx__cu_abandon(struct cu_device *device);
/* Whether work of an abandoned device still runs on the GPU. Does not wait. Any thread. */
bool gx__cu_stuck(const uint8_t uuid[16]);

/* ---- memory.c: the handle of a gx_mem is its device address ---- */

static inline CUdeviceptr cu_address(const struct gx_binding *binding)
{
    return (CUdeviceptr)(uintptr_t)binding->mem->handle + binding->offset;
}

gx_status gx__cu_mem_import(struct gx_device *device, void *host, size_t bytes, struct gx_mem *mem);
gx_status gx__cu_mem_wrap(struct gx_device *device, uint64_t address, size_t bytes,
                          struct gx_mem *mem, struct gx_error *error);
uint64_t gx__cu_mem_address(struct gx_device *device, const struct gx_mem *mem);
gx_status gx__cu_await(struct gx_device *device, void *stream, void *event, struct gx_error *error);

/* ---- kernel.c ---- */

/* A pipeline. */
struct cu_kernel {
    CUmodule module;
    CUfunction function;
    uint32_t block[3];
    bool awaits; /* the launches before it (kernel/ptx.h) */
};

/* The table of kernels; tests replace it. */
struct cu_kernels {
    const struct gx_ptx *first;
    const size_t *count;
};
extern struct cu_kernels gx__cu_kernels;

/* Whether there is a kernel for everything that Vulkan devices can do. */
bool gx__cu_complete(void);

/* ---- commands.c, submit.c, clock.c ---- */

enum cu_op_kind { CU_COPY, CU_LAUNCH, CU_STAMP };

/* The parameter of a registered operation's kernel (doc/kernels.md). */
struct cu_registered_args {
    uint64_t bind[GX_BIND_C + 1];
    uint32_t push[GX_REGISTERED_PUSH_WORDS + GX_PARAM_GROUPS];
};

/* One thing that a command does. The driver records nothing: a submit repeats the list. */
struct cu_op {
    enum cu_op_kind kind;
    uint32_t stamp; /* index of a stamp */
    union {
        struct {
            CUdeviceptr to, from;
            size_t bytes, rows, to_row, from_row;
        } copy;
        struct {
            CUfunction function;
            uint32_t x, y, z, block[3];
            bool awaits;
            union {
                struct gx_ptx_args args;
                struct cu_registered_args registered;
            };
        } launch;
    };
};

struct cu_cmd {
    struct gx_gpu_cmd gpu;
    struct gx_gpu_steps ops;   /* struct cu_op */
    CUevent stamps[GX_STAMPS]; /* created by the first stamp, all of them */
};

static inline struct cu_device *cu_cmd_device(const struct cu_cmd *cmd)
{
    return cu_of(cmd->gpu.base.device);
}

gx_status gx__cu_cmd_begin(struct gx_gpu *gpu, struct gx_gpu_cmd *cmd);
/* One more entry; NULL, with the command's `failed`, if there is no memory for it. */
struct cu_op *gx__cu_next_op(struct cu_cmd *cmd, enum cu_op_kind kind);

gx_status gx__cu_clock_open(struct cu_device *device); /* between enter and leave, as are: */
void gx__cu_clock_close(struct cu_device *device);
/* Its stamps are about to be submitted. */
gx_status gx__cu_clock_start(struct cu_device *device, struct cu_cmd *cmd);
void gx__cu_stamps_free(struct cu_device *device, struct cu_cmd *cmd);

/* How long work that nobody waits for may still take. After that it is taken to hang. Tests change
 * it. */
#define CU_PATIENCE_NS 30000000000u
extern _Atomic uint64_t gx__cu_patience_ns;
/* Waits until the stream is idle, between enter and leave. If it never is, the device is abandoned
 * and the status GX_ERR_DEVICE_LOST. */
gx_status gx__cu_drain(struct cu_device *device, CUstream stream);
/* gx__cu_enter for calls that free something, most of which wait for all work of the context. Waits
 * for the work of the device first. False if that does not end, or if other work on the GPU hangs:
 * then what was to be freed is left. */
bool gx__cu_enter_idle(struct cu_device *device);

/* Streams, their counters and events. */
gx_status gx__cu_queues_open(struct cu_device *device);
void gx__cu_queues_close(struct cu_device *device);

#endif
