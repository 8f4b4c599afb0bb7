/* SPDX-License-Identifier: Apache-2.0
 *
 * The device contract: the only file that the author of a backend reads. A device
 * offers memory of a few kinds, kernels, commands on a few queues, and points in time.
 * It holds no policy: what runs where, in which pieces and over which memory is
 * decided above, in exec/ and route/.
 *
 * Threads: calls on one device may come from any number of threads at once, except
 * that one object (a gx_cmd, a gx_mem) is used by one thread at a time. The device
 * locks what it shares. open and close are alone on their device.
 *
 * Failure: every call that returns a gx_status may fail and then has changed nothing.
 * Recording (copy, dispatch, barrier) cannot fail: what goes wrong there is kept in
 * the command and comes out of submit.
 */
#ifndef GX_DEVICE_DEVICE_H
#define GX_DEVICE_DEVICE_H

#include <stdbool.h>

#include "base/instance.h"
#include "op/passes.h"

struct gx_device;

/* ---- memory ---- */

enum gx_mem_kind {
    GX_MEM_DEVICE,   /* fastest for kernels; the host may not see it */
    GX_MEM_UPLOAD,   /* the host writes it in order, copies read it */
    GX_MEM_READBACK, /* copies write it, the host reads it */
    GX_MEM_SHARED,   /* kernels and host both use it where it is */
    GX_MEM_KINDS
};
#define GX_MEM_BIT(kind) (1u << (kind))

struct gx_mem {
    enum gx_mem_kind kind;
    size_t size;
    bool imported; /* the caller's memory, borrowed until mem_free */
    void *host;    /* the device's own, use map; of DEVICE memory NULL: it cannot be mapped */
    void *handle;  /* likewise */
};

/* GB/s, measured on this machine, never guessed from flags; 0: not measured. */
struct gx_mem_speed {
    float host_write, host_read; /* one host thread, memcpy; DEVICE: those pieces of it whose
                                    host is not NULL, written while kernels use other bytes */
    float copy_in, copy_out;     /* the device copying from it, and into it */
    float kernel_read, kernel_write;
};

struct gx_binding {
    const struct gx_mem *mem; /* NULL: not bound */
    size_t offset;            /* bytes */
};

/* ---- kernels ---- */

/* Filled by the device's `kernel`; valid until the device is closed; never freed. */
struct gx_kernel {
    struct gx_kernel_key key;
    const void *impl;
};

/* What any GPU can bind at. Operands may begin at any multiple of facts.binding_align,
 * because kernels are told the rest; the other bindings have nobody to tell. */
#define GX_SLOT_ALIGN 256

/* An operation over n elements, as one pass or several. */
struct gx_dispatch {
    struct gx_kernel kernel;
    struct gx_binding bind[GX_BINDINGS];
    uint64_t n; /* elements, 1 .. facts.dispatch_elems; 0 only of reductions */
};

static inline struct gx_binding gx__slot_binding(const struct gx_dispatch *dispatch,
                                                 const struct gx_slot *slot)
{
    struct gx_binding b = dispatch->bind[slot->from];
    b.offset += (size_t)slot->quads * 16;
    return b;
}

/* What a pass of the dispatch is bound to. */
static inline void gx__pass_bind(const struct gx_dispatch *dispatch, const struct gx_pass *pass,
                                 struct gx_binding bind[GX_BINDINGS])
{
    bind[GX_BIND_OUT] = gx__slot_binding(dispatch, &pass->out);
    bind[GX_BIND_A] = gx__slot_binding(dispatch, &pass->a);
    bind[GX_BIND_B] = gx__slot_binding(dispatch, &pass->b);
    bind[GX_BIND_C] = gx__slot_binding(dispatch, &pass->c);
    for (int i = GX_BIND_SCRATCH; i < GX_BINDINGS; i++)
        bind[i] = dispatch->bind[i];
}

#define GX_COPY_ALIGN_MAX 16

struct gx_region {
    struct gx_binding from, to;
    size_t size; /* bytes */
};

/* A copy that the host does. */
struct gx_host_region {
    void *to;
    const void *from;
    size_t size; /* bytes */
};

struct gx_times {
    uint64_t start_ns, end_ns;
};

/* ---- queues, commands, points ---- */

/* The last two have no commands: they are the host's copies into and out of staging
 * memory, on a device that models those (host_copy). */
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
    GX_BARRIER_TO_HOST /* kernels' and copies' results, before the host reads them */
};

/* Every backend's command begins with this. */
struct gx_cmd {
    struct gx_device *device;
};

/* A point in time of one queue: the counter only rises, and reaching a point means
 * having reached all earlier ones of that queue. */
struct gx_point {
    enum gx_queue queue;
    uint64_t value;
};

#define GX_WAIT_FOREVER UINT64_MAX
#define GX_STAMPS       8 /* slots of a command */

/* ---- the device ---- */

/* What exec/ plans with; set by open, constant until close. */
struct gx_device_facts {
    uint32_t mem_kinds;      /* GX_MEM_BIT of the kinds mem_alloc offers */
    uint32_t queues;         /* GX_QUEUE_BIT of the queues that are really separate */
    uint64_t dispatch_elems; /* most elements of one dispatch; below 2^32 */
    size_t binding_align;    /* offsets of bindings are multiples of this */
    size_t copy_align;       /* of offsets and sizes of copies, at most GX_COPY_ALIGN_MAX; they may
                                go past the end of memory to the next multiple; 0: any */
    bool import;             /* mem_import takes any host memory, at no cost */
    size_t import_align;     /* else it takes multiples of this; 0: no import */
    bool resubmit;           /* a recorded command may be submitted again */
    struct gx_mem_speed speed[GX_MEM_KINDS];
    bool timestamps;       /* stamp works */
    uint32_t submit_ns;    /* an empty submit and waiting for it; 0: not measured */
    float copy_both;       /* GB/s of copies in and out at the same time, added up; 0: they do
                              not slow each other down, or it is not known */
    float mul_rate;        /* 10^9 products of bls12-381-fq elements per second; 0: not measured */
    uint32_t copy_threads; /* of the host copies that it models; 0: it models none */
    uint64_t memory;       /* bytes that all mem_alloc together may take; 0: not known */
};

struct gx_device_ops {
    const char *name;

    /* The devices there are: the same rules as gx_devices, for this backend alone. */
    gx_status (*enumerate)(struct gx_instance *instance, gx_device_info *infos, size_t *count);
    /* Optional. The device that `name` means, which is this backend's name alone or with
     * ":" and whatever the backend understands. On failure message says what to do. */
    gx_status (*find)(struct gx_instance *instance, const char *name, gx_device_info *info,
                      char *message, size_t message_size);
    /* Optional. The context ends; all its devices are closed. */
    void (*stop)(struct gx_instance *instance);

    /* device->instance and ->info are set. On failure the core calls close, which
     * accepts a half-opened device. */
    gx_status (*open)(struct gx_device *device);
    void (*close)(struct gx_device *device);

    gx_status (*mem_alloc)(struct gx_device *device, enum gx_mem_kind kind, size_t bytes,
                           struct gx_mem *mem);
    /* Optional. Borrows host memory as SHARED memory until mem_free. */
    gx_status (*mem_import)(struct gx_device *device, void *host, size_t bytes, struct gx_mem *mem);
    void (*mem_free)(struct gx_device *device, struct gx_mem *mem);

    /* Between the two the host may touch the memory and the device may not, but in DEVICE memory,
     * where the device may touch other bytes of it. */
    gx_status (*map)(struct gx_device *device, struct gx_mem *mem, void **host);
    void (*unmap)(struct gx_device *device, struct gx_mem *mem);

    /* GX_ERR_UNSUPPORTED where the device has no such kernel. */
    gx_status (*kernel)(struct gx_device *device, const struct gx_kernel_key *key,
                        struct gx_kernel *kernel);
    /* Bytes of GX_BIND_SCRATCH that a dispatch of n elements needs; often 0, never less for
     * more elements. */
    size_t (*scratch)(struct gx_device *device, const struct gx_kernel *kernel, uint64_t n);
    /* Host threads that a dispatch of n elements keeps busy; 0 on a GPU. */
    uint32_t (*workers)(struct gx_device *device, const struct gx_kernel *kernel, uint64_t n);

    /* An empty command, to be recorded, submitted and given back with `recycle`, also
     * after a failed submit; not before the point of its last submit is reached. What it
     * names (gx_mem) stays where it is until then. */
    gx_status (*begin)(struct gx_device *device, enum gx_queue queue, struct gx_cmd **cmd);
    void (*copy)(struct gx_cmd *cmd, const struct gx_region *regions, size_t count);
    void (*dispatch)(struct gx_cmd *cmd, const struct gx_dispatch *dispatch);
    void (*barrier)(struct gx_cmd *cmd, enum gx_barrier barrier);
    /* Called only where facts.timestamps. */
    void (*stamp)(struct gx_cmd *cmd, uint32_t slot);
    /* Nanoseconds of slots 0 .. count of a command whose point is reached, on the host's
     * axis (gx__now_ns, or `now` where the device has it) and between its submit and now;
     * stamps were recorded in the order of their slots. */
    gx_status (*stamps)(struct gx_cmd *cmd, uint64_t *ns, uint32_t count);
    /* Starts it after all of waits (points of this device) are reached. */
    gx_status (*submit)(struct gx_cmd *cmd, const struct gx_point *waits, size_t count,
                        struct gx_point *done);
    void (*recycle)(struct gx_cmd *cmd);

    /* Where it fails, nothing of the device is under way any more: it is lost. Only after
     * GX_ERR_TIMEOUT something may be, and then `recycle` sees to its end. */
    gx_status (*wait)(struct gx_device *device, struct gx_point point, uint64_t timeout_ns);
    bool (*reached)(struct gx_device *device, struct gx_point point);

    /* Both or neither: a device that models time. `now` is the clock of everything that is
     * reported. host_copy does the copies at once and models that they began when all of
     * waits were reached; `queue` is GX_QUEUE_HOST_IN or GX_QUEUE_HOST_OUT, *done a point of
     * it, for wait, reached and the waits of submit; *time is when they began and ended. The
     * staging memory is mapped. */
    uint64_t (*now)(struct gx_device *device);
    gx_status (*host_copy)(struct gx_device *device, enum gx_queue queue,
                           const struct gx_host_region *regions, size_t count,
                           const struct gx_point *waits, size_t wait_count, struct gx_point *done,
                           struct gx_times *time);
};

struct gx_device {
    const struct gx_device_ops *ops;
    struct gx_instance *instance;
    gx_device_info info;
    struct gx_device_facts facts;
    void *impl;
};

/* ---- the registry (registry.c) ---- */

/* All devices of all backends; the rules of gx_devices. */
gx_status gx__device_enumerate(struct gx_instance *instance, gx_device_info *infos, size_t *count);

/* The one entry of that list that `name` means, by any of its names. On failure message
 * says what to do. */
gx_status gx__device_find(struct gx_instance *instance, const char *name, gx_device_info *info,
                          char *message, size_t message_size);

/* Opens by name ("cpu", "fault:lose@3:cpu"). On failure nothing is open and message
 * says what to do. On success gx__device_close ends it. */
gx_status gx__device_open(struct gx_instance *instance, const char *name, struct gx_device *device,
                          char *message, size_t message_size);
void gx__device_close(struct gx_device *device);

/* The Vulkan loader (1.4 too) searches and changes its list of the devices of this process with no
 * lock that holds for both. Whoever opens or closes one through it, directly or not, or has it
 * search (for functions, names), holds this. */
void gx__vulkan_list_lock(void);
void gx__vulkan_list_unlock(void);

/* Ends what the backends keep for a context; all its devices are closed. */
void gx__device_stop(struct gx_instance *instance);

/* ---- backends ---- */

extern const struct gx_device_ops gx__cpu_ops;
extern const struct gx_device_ops gx__vulkan_ops;
extern const struct gx_device_ops gx__webgpu_ops;
extern const struct gx_device_ops gx__sim_ops;

/* "fault:WHAT@N:DEVICE": wraps any device and breaks at its Nth call. The inner
 * device is opened through gx__device_open. */
#define GX_FAULT_PREFIX "fault:"
gx_status gx__fault_open(struct gx_device *device, const char *name, char *message,
                         size_t message_size);

#endif
