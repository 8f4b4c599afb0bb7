/* SPDX-License-Identifier: Apache-2.0
 *
 * The device contract: the only file that the author of a backend has to read. A device offers a
 * few kinds of memory, kernels, commands on a few queues, and fences. It contains no
 * policy: exec/ and route/ decide what runs where, in which pieces and in which memory.
 *
 * Threads: any number of threads may call on one device at once, but only one at a time may use an
 * object (a gx_cmd, a gx_mem). The device locks what it shares. open and close have the device to
 * themselves.
 *
 * Failure: every call that returns a gx_status may fail and then has changed nothing. Recording
 * (copy, dispatch, barrier) cannot fail: errors are kept in the command and returned by submit.
 */
#ifndef GX_DEVICE_DEVICE_H
#define GX_DEVICE_DEVICE_H

#include <stdbool.h>

#include "base/error.h"
#include "base/instance.h"
#include "op/task.h"

struct gx_device;
struct gx_gpu_lister;

/* ---- memory ---- */

enum gx_mem_kind {
    GX_MEM_DEVICE,   /* fastest for kernels; possibly not visible to the host */
    GX_MEM_UPLOAD,   /* written sequentially by the host, read by copies */
    GX_MEM_READBACK, /* written by copies, read by the host */
    GX_MEM_SHARED,   /* used in place by kernels and host */
    GX_MEM_KINDS
};
#define GX_MEM_BIT(kind) (1u << (kind))

struct gx_mem {
    enum gx_mem_kind kind;
    size_t size;
    bool imported; /* the caller's memory, borrowed until mem_free */
    void *host;    /* owned by the device, use map; DEVICE memory: NULL if it cannot be mapped */
    void *handle;  /* likewise */
#ifdef GX_GUARDS   /* of exec/guard.h: */
    size_t asked;  /* bytes before the guard; 0: there is none */
    size_t guard;  /* where it ends */
    uint32_t used_op, used_field; /* of the dispatch that it was given to last; 0: of none */
    uint64_t used_n;
#endif
};

/* GB/s, measured on this machine, never guessed from flags; 0: not measured. */
struct gx_mem_speed {
    float host_write, host_read; /* one host thread, memcpy; DEVICE: those allocations whose host is
                                    not NULL, written while kernels use other bytes */
    float copy_in, copy_out;     /* the device copying from it, and to it */
    float kernel_read, kernel_write;
};

struct gx_binding {
    const struct gx_mem *mem; /* NULL: not bound */
    size_t offset;            /* bytes */
};

/* ---- kernels ---- */

enum gx_bind {
    GX_BIND_OUT, /* may be identical to an operand */
    GX_BIND_A,
    GX_BIND_B,
    GX_BIND_C,
    GX_BIND_SCRATCH, /* as large as `scratch` says; contents undefined before and after; aligned to
                        GX_BIND_ALIGN, like the two below */
    GX_BIND_BAD, /* if key.check: one uint32_t, lowered to the index (in this dispatch) of the first
                    element not below the modulus */
    GX_BIND_TABLE, /* constants that stay on the device between calls; read-only */
    GX_BINDINGS
};

/* Identifies a kernel. Words only, so that there is no padding: recorded commands that contain a
 * key are compared bytewise. */
struct gx_kernel_key {
    uint32_t op;         /* gx_op, or one of GX_OP_CHECK and those after it */
    uint32_t field;      /* gx_field */
    uint32_t broadcast;  /* GX_BROADCAST_*: the binding holds one element, not n */
    uint32_t check;      /* 1: look for elements not below the modulus, see GX_BIND_BAD */
    uint32_t accumulate; /* 1, reductions: add the result to what OUT holds */
    uint32_t repeat; /* benchmarks: out = a * b * b ... (sqr: repeated squaring), this many times
                        per load; 0: once; may be unsupported */
    uint32_t param[GX_PARAMS]; /* gx__task_key */
};
_Static_assert(sizeof(struct gx_kernel_key) == (6 + GX_PARAMS) * sizeof(uint32_t), "no padding");

/* Filled by the device's `kernel`; valid until the device is closed; never freed. */
struct gx_kernel {
    struct gx_kernel_key key;
    const void *impl;
};

/* Any GPU can bind at this alignment. Operands may begin at any multiple of 16 bytes, because
 * kernels are told the remainder; the other bindings have no such parameter. */
#define GX_BIND_ALIGN 256

/* An operation over n elements, in one or more passes. */
struct gx_dispatch {
    struct gx_kernel kernel;
    struct gx_binding bind[GX_BINDINGS];
    uint64_t n; /* elements, 1 .. facts.dispatch_elems; 0 only for reductions */
};

/* The same on a device that works on host memory: operands are where they are, and the first bad
 * element is returned. */
struct gx_host_call {
    struct gx_kernel kernel;
    void *operand[GX_OPERANDS]; /* any alignment; NULL: there is none */
    void *scratch;
    const void *table; /* of GX_NTT, and of GX_MSM or NULL: see gx_device_ops.table */
    uint64_t n;
    size_t bad;       /* out, where key.check: the first element not below the modulus, or
                         GX_NONE_BAD */
    uint32_t threads; /* out: that took part */
};

#define GX_COPY_ALIGN_MAX 16

/* A copy: `size` bytes, or so many of each of several rows of a matrix. */
struct gx_region {
    struct gx_binding from, to;
    size_t size;
    size_t rows;             /* 0: one */
    size_t from_row, to_row; /* bytes from one row to the next */
};

/* A copy performed by the host. */
struct gx_host_region {
    void *to;
    const void *from;
    size_t size, rows; /* as above */
    size_t to_row, from_row;
};

static inline size_t gx__rows(size_t rows)
{
    return rows ? rows : 1;
}

struct gx_times {
    uint64_t start_ns, end_ns;
};

/* ---- queues, commands, fences ---- */

/* The last two have no commands: they are the host's copies to and from staging memory, on a device
 * that simulates those (host_copy). */
enum gx_queue {
    GX_QUEUE_COMPUTE,
    GX_QUEUE_UPLOAD,
    GX_QUEUE_DOWNLOAD,
    GX_QUEUE_HOST_IN,
    GX_QUEUE_HOST_OUT
};
#define GX_QUEUE_BIT(queue) (1u << (queue))

enum gx_barrier {
    GX_BARRIER_COPY_TO_KERNEL,
    GX_BARRIER_KERNEL_TO_KERNEL,
    GX_BARRIER_KERNEL_TO_COPY,
    GX_BARRIER_TO_HOST /* results of kernels and copies, before the host reads them */
};

/* First member of every backend's command. */
struct gx_cmd {
    struct gx_device *device;
};

/* A fence is a moment on one queue: values only increase, and reaching a fence implies that all
 * earlier fences of that queue have been reached. */
struct gx_fence {
    enum gx_queue queue;
    uint64_t value;
};

#define GX_WAIT_FOREVER UINT64_MAX
#define GX_STAMPS       8 /* of a command, at most */

/* ---- the device ---- */

/* What exec/ plans with; set by open, constant until close. */
struct gx_device_facts {
    uint32_t mem_kinds;      /* GX_MEM_BIT of the kinds that mem_alloc offers */
    uint32_t queues;         /* GX_QUEUE_BIT of the queues that are really separate */
    uint64_t dispatch_elems; /* maximum elements of a dispatch; below 2^32 */
    /* Of registered operations: maximum bytes of an operand, and maximum workgroups of a dispatch;
     * 0: no limit. */
    uint64_t dispatch_bytes;
    uint32_t dispatch_groups;
    uint64_t point_bytes; /* of the points of a sum, at most; 0: no limit */
    size_t copy_align;    /* alignment of offsets and sizes of copies, at most GX_COPY_ALIGN_MAX;
                             copies may extend past the end of memory to the next multiple; 0: none */
    size_t import_align;  /* mem_import takes multiples of this; 0: no import */
    size_t row_bytes; /* several rows of imported memory, each of fewer bytes than this, are copied
                         much more slowly than as many bytes in one piece */
    bool resubmit;    /* a recorded command may be submitted again */
    struct gx_mem_speed speed[GX_MEM_KINDS];
    bool timestamps;    /* stamp works */
    uint32_t submit_ns; /* an empty submit, including the wait; 0: not measured */
    float copy_both; /* total GB/s of simultaneous copies in and out; 0: they do not slow each other
                        down, or unknown */
    float mul_rate;  /* 10^9 products of bls12-381-fq elements per second; 0: not measured */
    bool drop_lines; /* it writes host memory slowly while the caches of cores have it; gx_mem.host
                        is set in all that it can write */
    uint32_t copy_threads; /* of the host copies that it simulates; 0: none */
    uint64_t memory;       /* total bytes available to mem_alloc; 0: unknown */
};

/* Which GPU a device is, as drivers say. */
struct gx_chip {
    bool has_uuid; /* otherwise, and if the other has none, names are compared */
    uint8_t uuid[16];
    char name[64];
};

struct gx_device_ops {
    const char *name;

    /* The first four are of the backend, not of one device, and get these functions as `ops`. Lists
     * its devices, by the rules of gx_devices. */
    gx_status (*enumerate)(const struct gx_device_ops *ops, struct gx_instance *instance,
                           gx_device_info *infos, size_t *count);
    /* Optional. Finds the device that `name` refers to: the backend's name, alone or followed by
     * ":" and anything the backend understands. On failure message says what to do. */
    gx_status (*find)(const struct gx_device_ops *ops, struct gx_instance *instance,
                      const char *name, gx_device_info *info, struct gx_error *error);
    /* Optional, for GPUs that other backends may reach as well: which one the device with this name
     * of the list is. False: not known, or software. */
    bool (*chip)(const struct gx_device_ops *ops, struct gx_instance *instance, const char *name,
                 struct gx_chip *chip);
    /* Optional. Called when the context ends; all its devices are closed. */
    void (*stop)(const struct gx_device_ops *ops, struct gx_instance *instance);
    struct gx_gpu_lister *lister; /* for those of device/gpu/gpu.h; else NULL */

    /* device->instance and ->info are set. On failure the core calls close, which accepts a
     * half-opened device. */
    gx_status (*open)(struct gx_device *device);
    void (*close)(struct gx_device *device);

    gx_status (*mem_alloc)(struct gx_device *device, enum gx_mem_kind kind, size_t bytes,
                           struct gx_mem *mem);
    /* Optional. Borrows host memory as SHARED memory until mem_free. */
    gx_status (*mem_import)(struct gx_device *device, void *host, size_t bytes, struct gx_mem *mem);
    /* Optional, all or none: borrows memory of the device that the caller has allocated, as
     * DEVICE memory until mem_free; and says where the device has memory of either kind. Addresses
     * are what CUDA calls device pointers. GX_ERR_INVALID: message says what is wrong with it. */
    gx_status (*mem_wrap)(struct gx_device *device, uint64_t address, size_t bytes,
                          struct gx_mem *mem, struct gx_error *error);
    uint64_t (*mem_address)(struct gx_device *device, const struct gx_mem *mem);
    /* Comes with both: what is submitted from now on waits for the caller's event or, if that is
     * NULL, for what the caller's stream has now. The host does not wait. */
    gx_status (*await)(struct gx_device *device, void *stream, void *event, struct gx_error *error);
    void (*mem_free)(struct gx_device *device, struct gx_mem *mem);

    /* Between map and unmap the host may access the memory and the device may not; in DEVICE memory
     * the device may access other bytes. */
    gx_status (*map)(struct gx_device *device, struct gx_mem *mem, void **host);
    void (*unmap)(struct gx_device *device, struct gx_mem *mem);

    /* GX_ERR_UNSUPPORTED if the device has no such kernel. */
    gx_status (*kernel)(struct gx_device *device, const struct gx_kernel_key *key,
                        struct gx_kernel *kernel);
    /* Optional: why it has no kernel for a registered operation; NULL: there is nothing to add.
     * Valid until the operation is unregistered. */
    const char *(*refusal)(struct gx_device *device, gx_op op);
    /* Bytes of GX_BIND_SCRATCH for a dispatch of n elements; often 0; does not depend on key.check.
     * A shorter dispatch may need more than a longer one: see gx__dispatch_scratch. */
    size_t (*scratch)(struct gx_device *device, const struct gx_kernel *kernel, uint64_t n);
    /* Bytes of the table of roots that GX_NTT needs; fills it unless it is NULL. Optional: without
     * it the table is that of device/gpu/ntt_table.h, made by GX_OP_NTT_TABLE. With `run`: also of
     * the table that GX_MSM would profit from, or 0; if there is one, the key has GX_PARAM_TABLE.
     */
    size_t (*table)(struct gx_device *device, const struct gx_kernel *kernel, void *table);
    /* Only on a device that works on host memory (the caller's or its own SHARED memory). Runs the
     * kernel before it returns. Such a device has no imports, commands, fences or timestamps, so
     * none of the functions below. */
    gx_status (*run)(struct gx_device *device, struct gx_host_call *call);

    /* An empty command, to be recorded, submitted and returned with `recycle`, even after a failed
     * submit, but not before the fence of its last submit is reached. Memory that it refers to
     * (gx_mem) must stay until then. */
    gx_status (*begin)(struct gx_device *device, enum gx_queue queue, struct gx_cmd **cmd);
    void (*copy)(struct gx_cmd *cmd, const struct gx_region *regions, size_t count);
    void (*dispatch)(struct gx_cmd *cmd, const struct gx_dispatch *dispatch);
    void (*barrier)(struct gx_cmd *cmd, enum gx_barrier barrier);
    /* Called only if facts.timestamps. */
    void (*stamp)(struct gx_cmd *cmd, uint32_t index);
    /* Nanoseconds of stamps 0 .. count of a command whose fence is reached, on the host's time axis
     * (gx__now_ns, or `now` if the device has it), between its submit and now; stamps were recorded
     * in order of their index. */
    gx_status (*stamps)(struct gx_cmd *cmd, uint64_t *ns, uint32_t count);
    /* Starts it after all of waits (fences of this device) are reached. */
    gx_status (*submit)(struct gx_cmd *cmd, const struct gx_fence *waits, size_t count,
                        struct gx_fence *done);
    void (*recycle)(struct gx_cmd *cmd);

    /* If it fails, the device is lost and idle. Only after GX_ERR_TIMEOUT may work still be
     * running; `recycle` then waits for it. */
    gx_status (*wait)(struct gx_device *device, struct gx_fence fence, uint64_t timeout_ns);
    bool (*reached)(struct gx_device *device, struct gx_fence fence);

    /* Both or neither: a device with simulated time. `now` is the clock of everything reported.
     * host_copy performs the copies at once and simulates that they began when all of waits were
     * reached; `queue` is GX_QUEUE_HOST_IN or GX_QUEUE_HOST_OUT, *done is a fence on it, for wait,
     * reached and the waits of submit; *time is when they began and ended. The staging memory is
     * mapped. */
    uint64_t (*now)(struct gx_device *device);
    gx_status (*host_copy)(struct gx_device *device, enum gx_queue queue,
                           const struct gx_host_region *regions, size_t count,
                           const struct gx_fence *waits, size_t wait_count, struct gx_fence *done,
                           struct gx_times *time);
};

struct gx_device {
    const struct gx_device_ops *ops;
    struct gx_instance *instance;
    gx_device_info info;
    struct gx_device_facts facts;
    void *impl;
#ifdef GX_GUARDS
    struct gx_device *guards; /* what exec/guard.c uses instead, where calls count; NULL: nothing */
#endif
};

/* Maximum elements of a dispatch of the job. Registered operations that can be split have elements
 * of any size, and one dimension of workgroups; the others have one dispatch. */
static inline uint64_t gx__dispatch_most(const struct gx_device_facts *facts,
                                         const struct gx_task *job)
{
    uint64_t most = facts->dispatch_elems;
    const struct gx_registered_op *registered = gx__registered_op(job->op);
    if (!gx__op_has_params(job->op))
        return most;
    if (job->shape == GX_SHAPE_MSM) /* divided elsewhere: compose/msm.c */
        return job->n ? job->n : 1;
    if (!registered) {
        uint64_t unit = job->unit; /* 0: nothing to do */
        return !unit ? most : unit < most ? most / unit * unit : unit;
    }
    if (registered->desc.flags & GX_OP_WHOLE)
        return job->n;
    for (int i = 0; i < GX_OPERANDS && facts->dispatch_bytes; i++)
        if (i <= (int)registered->info.operands && facts->dispatch_bytes / job->element[i] < most)
            most = facts->dispatch_bytes / job->element[i];
    uint64_t by_groups = (uint64_t)facts->dispatch_groups * registered->desc.group_elems;
    return by_groups && by_groups < most ? by_groups : most;
}

/* Scratch that suffices for n elements in dispatches of `step`, the last of which may be shorter.
 * Memory for work that is cut is sized with this, for every size of piece that there is. */
static inline size_t gx__dispatch_scratch(struct gx_device *device, const struct gx_kernel *kernel,
                                          uint64_t n, uint64_t step)
{
    size_t each = device->ops->scratch(device, kernel, n < step ? n : step), last = 0;
    if (n > step && n % step)
        last = device->ops->scratch(device, kernel, n % step);
    return last > each ? last : each;
}

/* ---- the registry (registry.c) ---- */

/* All devices of all backends; the rules of gx_devices apply. */
gx_status gx__device_enumerate(struct gx_instance *instance, gx_device_info *infos, size_t *count);

/* Finds the entry of that list that `name` refers to, by any of its names; "gpu" is the first one
 * that is a GPU and chosen without being named. On failure message says what to do. */
gx_status gx__device_find(struct gx_instance *instance, const char *name, gx_device_info *info,
                          struct gx_error *error);

/* The message for a name that no device has: those that there are. */
gx_status gx__device_missing(struct gx_instance *instance, const char *name,
                             struct gx_error *error);

/* Which GPU the device with this name of the list is, or the one inside a wrapper. False: not
 * known, or software. */
bool gx__device_chip(struct gx_instance *instance, const char *name, struct gx_chip *chip);
bool gx__same_chip(const struct gx_chip *a, const struct gx_chip *b);

/* Opens a device by name ("cpu", "fault:lose@3:cpu"). On failure nothing is open and message says
 * what to do. On success, end it with gx__device_close. */
gx_status gx__device_open(struct gx_instance *instance, const char *name, struct gx_device *device,
                          struct gx_error *error);
void gx__device_close(struct gx_device *device);

/* The Vulkan loader (including 1.4) searches and changes its per-process list of devices without a
 * common lock. Hold this lock to open or close a device through it, directly or not, or to make it
 * search (for functions or names). */
void gx__vulkan_list_lock(void);
void gx__vulkan_list_unlock(void);

/* Whether a device of CUDA, automatic itself, is the GPU with this UUID; with NULL: any GPU. The
 * other backends ask, because a GPU must not be chosen twice. */
bool gx__cuda_reaches(struct gx_instance *instance, const uint8_t uuid[16]);

/* Frees what the backends keep for a context; all its devices are closed. */
void gx__device_stop(struct gx_instance *instance);

/* ---- backends ---- */

extern const struct gx_device_ops gx__cpu_ops;
extern const struct gx_device_ops gx__vulkan_ops;
extern const struct gx_device_ops gx__webgpu_ops;
extern const struct gx_device_ops gx__cuda_ops;
extern const struct gx_device_ops gx__sim_ops;

/* "fault:WHAT@N:DEVICE": wraps any device and injects a fault at its Nth call. The inner device is
 * opened through gx__device_open. */
#define GX_FAULT_PREFIX "fault:"
gx_status gx__fault_open(struct gx_device *device, const char *name, struct gx_error *error);

#endif
