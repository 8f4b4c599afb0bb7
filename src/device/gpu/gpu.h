/* SPDX-License-Identifier: Apache-2.0
 *
 * Shared by backends that compile kernels and launch the passes of device/gpu/passes.h: the lists
 * of devices, the tables of kernels and pipelines, the choice of how to build a kernel, the
 * measurements behind it and the file that stores it, and what commands have in common. Such a
 * backend begins its device with a struct gx_gpu and its commands with a struct gx_gpu_cmd, and
 * fills in a struct gx_gpu_lister and a struct gx_gpu_ops.
 */
#ifndef GX_DEVICE_GPU_GPU_H
#define GX_DEVICE_GPU_GPU_H

#include <pthread.h>
#include <stdatomic.h>

#include "base/error.h"
#include "base/cache.h"
#include "device/gpu/passes.h"

struct gx_gpu;
struct gx_gpu_cmd;
struct gx_gpu_list;
struct gx_gpu_listed;
struct gx_launch;

#define GX_GPU_QUEUES 3 /* one per enum gx_queue that has commands */

/* How the kernels of a family are built. */
struct gx_choice {
    uint16_t workgroup; /* 0: not chosen yet */
    uint8_t variant;    /* below gx_gpu_ops.variants; a family with fewer uses its last */
    uint8_t each;       /* elements per invocation; 0 if the variant decides that */
};

/* Identifies a pipeline. Words only: keys are compared bytewise. */
struct gx_pipeline_key {
    uint32_t family, field, op, check;
    uint32_t repeat; /* at least 1 */
    uint32_t workgroup, variant, each;
};

/* Measurements; saved as they are. */
struct gx_gpu_calibration {
    uint32_t age;       /* of this struct */
    uint32_t submit_ns; /* 0: not measured */
    uint64_t kernels;   /* hash of their code: other code has other speeds */
    struct gx_mem_speed speed[GX_MEM_KINDS];
    float copy_both;                /* 0: not measured */
    uint32_t type_of[GX_MEM_KINDS]; /* Vulkan's memory types */
    struct gx_choice tuned[GX_FIELD_END][GX_SHADER_FAMILIES];
};

struct gx_gpu_ops {
    /* Number of ways to build the family's kernels on this device; 0: none. */
    uint32_t (*variants)(const struct gx_gpu *gpu, gx_field field, enum gx_shader_family family);
    /* Name of one of them, for the log. */
    const char *(*variant_name)(const struct gx_gpu *gpu, gx_field field,
                                enum gx_shader_family family, uint32_t variant);
    /* Starting point; the workgroup is then limited to what the device allows. */
    struct gx_choice (*guess)(enum gx_shader_family family);
    /* Sets `each`, `small` and `direct`. */
    void (*facts)(const struct gx_gpu *gpu, gx_field field, enum gx_shader_family family,
                  struct gx_choice choice, struct gx_pass_facts *facts);
    /* One pipeline at a time. *pipeline stays NULL on failure. */
    gx_status (*compile)(struct gx_gpu *gpu, const struct gx_pipeline_key *key, void **pipeline);
    /* The same for a registered operation. GX_ERR_UNSUPPORTED if the kernel is to blame, and `why`
     * says what is wrong with it, unless it has none for this backend. */
    gx_status (*compile_registered)(struct gx_gpu *gpu, const struct gx_registered_op *registered,
                                    void **pipeline, struct gx_error *error);
    void (*drop)(struct gx_gpu *gpu, void *pipeline);
    /* Finds the best choice by measuring (gx__gpu_tune). One at a time. */
    struct gx_choice (*tune)(struct gx_gpu *gpu, gx_field field, enum gx_shader_family family);

    /* Device, driver and library version that cache files apply to. */
    void (*cache_key)(const struct gx_gpu *gpu, uint8_t key[GX_CACHE_KEY_BYTES]);
    uint64_t (*kernels_hash)(void);
    /* Optional: whether this device can use the contents of a file. */
    bool (*believable)(const struct gx_gpu *gpu, const struct gx_gpu_calibration *found);
    /* Measures the part of the calibration about memory and submits. */
    gx_status (*measure)(struct gx_gpu *gpu);

    /* Commands: what the functions of commands.c leave to the backend. cmd_open (optional)
     * completes one of cmd_bytes, all zeros but for its queue; cmd_begin (optional) begins a
     * recording, also of one that was used before. */
    size_t cmd_bytes;
    gx_status (*cmd_open)(struct gx_gpu *gpu, struct gx_gpu_cmd *cmd);
    gx_status (*cmd_begin)(struct gx_gpu *gpu, struct gx_gpu_cmd *cmd);
    /* It is given back. After a failed wait it may still run. The memory that it uses is freed
     * next, so it has to end here; on a lost device it has. */
    void (*cmd_end)(struct gx_gpu *gpu, struct gx_gpu_cmd *cmd);
    /* Frees what it has, but not the command; accepts one that was not completed. */
    void (*cmd_close)(struct gx_gpu *gpu, struct gx_gpu_cmd *cmd);
    /* These two record; errors go to cmd->failed. */
    void (*launch)(struct gx_gpu *gpu, struct gx_gpu_cmd *cmd, const struct gx_launch *launch);
    void (*stamp)(struct gx_gpu *gpu, struct gx_gpu_cmd *cmd, uint32_t index);
    /* Of a command that wrote all of them. */
    gx_status (*stamps)(struct gx_gpu *gpu, struct gx_gpu_cmd *cmd, uint64_t *ns, uint32_t count);
    /* Sets cmd->fence. */
    gx_status (*submit)(struct gx_gpu *gpu, struct gx_gpu_cmd *cmd, const struct gx_fence *waits,
                        size_t count);
    gx_status (*wait)(struct gx_gpu *gpu, enum gx_queue queue, uint64_t value, uint64_t timeout_ns);
    /* Whether the queue has reached `value`; does not wait. */
    gx_status (*look)(struct gx_gpu *gpu, enum gx_queue queue, uint64_t value, bool *done);
};

/* The functions of these tables that each backend has of its own, under names such as gx__vk_guess,
 * and what they become: declarations in its header, members of its tables. */
#define GX_GPU_OPS(X, backend)                                                                     \
    X(gx_gpu_ops, backend, variants)                                                               \
    X(gx_gpu_ops, backend, variant_name)                                                           \
    X(gx_gpu_ops, backend, guess)                                                                  \
    X(gx_gpu_ops, backend, facts)                                                                  \
    X(gx_gpu_ops, backend, compile)                                                                \
    X(gx_gpu_ops, backend, compile_registered)                                                     \
    X(gx_gpu_ops, backend, drop)                                                                   \
    X(gx_gpu_ops, backend, tune)                                                                   \
    X(gx_gpu_ops, backend, kernels_hash)                                                           \
    X(gx_gpu_ops, backend, measure)                                                                \
    X(gx_gpu_ops, backend, cmd_end)                                                                \
    X(gx_gpu_ops, backend, cmd_close)                                                              \
    X(gx_gpu_ops, backend, launch)                                                                 \
    X(gx_gpu_ops, backend, stamp)                                                                  \
    X(gx_gpu_ops, backend, stamps)                                                                 \
    X(gx_gpu_ops, backend, submit)                                                                 \
    X(gx_gpu_ops, backend, wait)                                                                   \
    X(gx_gpu_ops, backend, look)
#define GX_GPU_DEVICE_OPS(X, backend)                                                              \
    X(gx_device_ops, backend, mem_alloc)                                                           \
    X(gx_device_ops, backend, mem_free)                                                            \
    X(gx_device_ops, backend, map)                                                                 \
    X(gx_device_ops, backend, unmap)                                                               \
    X(gx_device_ops, backend, copy)
#define GX_GPU_DECLARED(table, backend, name)                                                      \
    __typeof__(*((struct table *)NULL)->name) gx__##backend##_##name;
#define GX_GPU_MEMBER(table, backend, name) .name = gx__##backend##_##name,
/* Those of the contract that they share. */
#define GX_GPU_SHARED                                                                              \
    .enumerate = gx__gpu_enumerate, .find = gx__gpu_find, .chip = gx__gpu_chip,                    \
    .stop = gx__gpu_stop, .kernel = gx__gpu_kernel, .refusal = gx__gpu_refusal,                    \
    .scratch = gx__gpu_scratch, .begin = gx__gpu_begin, .stamp = gx__gpu_stamp,                    \
    .stamps = gx__gpu_stamps, .submit = gx__gpu_submit, .recycle = gx__gpu_recycle,                \
    .wait = gx__gpu_wait, .reached = gx__gpu_reached

struct gx_gpu_limits {
    uint64_t range;      /* bytes of one binding */
    uint64_t bind_align; /* of a binding's offset */
    uint64_t elements;   /* of one dispatch, whatever is requested */
    uint32_t groups;     /* in one dimension */
    uint32_t workgroup;
    uint8_t each; /* maximum of gx_choice.each; 0: variants decide */
};

/* An operation, consisting of one or more pipelines. */
struct gx_gpu_kernel {
    struct gx_kernel_key key; /* except for what is not part of it: broadcast, accumulate, param */
    struct gx_choice choice;
    struct gx_pass_facts facts;
    uint32_t unit; /* unit of the offsets in push constants: 16 or 4 bytes */
    void *first;   /* pipeline of the first pass, if it is the same for any n; otherwise NULL, and
                      looked up when n is known */
    struct gx_gpu_kernel *next; /* the same with another key.repeat */
};

#define GX_PIPELINES_MAX 512 /* power of two; more than the number of pipelines */
struct gx_pipeline {
    struct gx_pipeline_key key;
    void *handle; /* NULL: a free place */
};

/* A registered operation on this device. */
struct gx_gpu_registered {
    _Atomic gx_op op;    /* 0: none; the previous one of its place is dropped for the next */
    gx_status status;    /* GX_OK or GX_ERR_UNSUPPORTED */
    struct gx_error why; /* it is unsupported */
    struct gx_gpu_kernel kernel;
};

struct gx_gpu {
    struct gx_device *base;
    const struct gx_gpu_ops *ops;
    struct gx_gpu_list *list;
    const struct gx_gpu_listed *listed;
    struct gx_gpu_limits limits;        /* these two are set before gx__gpu_calibrate */
    struct gx_mem nothing;              /* bound where a kernel has no operand */
    enum gx_queue alias[GX_GPU_QUEUES]; /* the queue that really does the work of each */
    atomic_bool lost;

    pthread_mutex_t idle_lock;
    struct {
        struct gx_gpu_cmd *first;
        size_t count;
    } idle[GX_GPU_QUEUES]; /* commands that were given back; under idle_lock */

    pthread_mutex_t pipeline_lock;
    struct gx_pipeline pipelines[GX_PIPELINES_MAX];
    pthread_mutex_t kernel_lock; /* taken before pipeline_lock; protects these three: */
    /* by field, op, check; only ever added to, under kernel_lock, and read without it */
    struct gx_gpu_kernel *_Atomic kernels[GX_FIELD_END][GX_OP_INDICES][2];
    struct gx_gpu_registered registered[GX_REGISTERED_OPS]; /* likewise */
    struct gx_gpu_calibration calibration;
    bool calibration_changed;
};

static inline const gx_allocator *gx__gpu_allocator(const struct gx_gpu *gpu)
{
    return &gpu->base->instance->config.allocator;
}

/* GX_ERR_DEVICE_LOST if the device is known to be lost. What was stored before it was marked as
 * lost, such as that it hangs, is visible then. */
static inline gx_status gx__gpu_alive(const struct gx_gpu *gpu)
{
    return atomic_load_explicit(&gpu->lost, memory_order_acquire) ? GX_ERR_DEVICE_LOST : GX_OK;
}

/* ---- gpu.c ---- */

/* Makes the backend's device, of so many bytes, which begins with a gx_gpu; sets base->impl.
 * gx__gpu_free ends it, after gx__gpu_close. NULL: no memory. */
void *gx__gpu_open(struct gx_device *base, size_t bytes, const struct gx_gpu_ops *ops);
void gx__gpu_free(struct gx_gpu *gpu);
/* Frees kernels and pipelines; a device that was opened but never used is allowed. */
void gx__gpu_close(struct gx_gpu *gpu);
/* Sets limits.elements from range and bind_align; `direct` is the maximum of
 * gx_pass_facts.direct. */
void gx__gpu_limit_elements(struct gx_gpu *gpu, uint32_t direct);
/* The facts common to all GPUs; limits are set. */
struct gx_device_facts gx__gpu_facts(const struct gx_gpu *gpu, bool software);

/* Calls of the device contract. */
gx_status gx__gpu_kernel(struct gx_device *device, const struct gx_kernel_key *key,
                         struct gx_kernel *kernel);
const char *gx__gpu_refusal(struct gx_device *device, gx_op op);
size_t gx__gpu_scratch(struct gx_device *device, const struct gx_kernel *kernel, uint64_t n);

/* A separate kernel, built as `choice` says; free it with gx__free. */
gx_status gx__gpu_build(struct gx_gpu *gpu, const struct gx_kernel_key *key,
                        struct gx_choice choice, struct gx_gpu_kernel **kernel);
/* Compiled at the first call for a key. Any thread. */
gx_status gx__gpu_pipeline(struct gx_gpu *gpu, const struct gx_pipeline_key *key, void **pipeline);
struct gx_choice gx__gpu_guess(const struct gx_gpu *gpu, enum gx_shader_family family);
/* The best choice, tuned at the first call; under kernel_lock. */
struct gx_choice gx__gpu_choice(struct gx_gpu *gpu, gx_field field, enum gx_shader_family family);

/* Push constants: of our kernels, and of registered operations. */
union gx_push {
    struct {
        uint32_t n, at[4];
        union {
            struct {
                uint32_t broadcast, stage[3];
            };
            struct {
                uint32_t step[3], param[GX_PARAM_GROUPS];
            };
        };
    };
    uint32_t words[GX_REGISTERED_PUSH_WORDS + GX_PARAM_GROUPS];
};
_Static_assert(offsetof(union gx_push, stage) == (GX_K_PUSH_WORDS - 3) * sizeof(uint32_t) &&
                   offsetof(union gx_push, param) == GX_REGISTERED_PUSH_WORDS * sizeof(uint32_t),
               "kernel/interface.h");

struct gx_launch {
    void *pipeline;
    bool registered;                     /* it is the kernel of a registered operation */
    struct gx_binding bind[GX_BINDINGS]; /* all bound, at multiples of limits.bind_align */
    union gx_push push;
    uint32_t push_bytes;
    uint32_t x, y, z; /* workgroups */
};

/* What a pass of a dispatch launches. */
gx_status gx__gpu_launch(struct gx_gpu *gpu, const struct gx_dispatch *dispatch,
                         const struct gx_pass *pass, struct gx_launch *launch);

/* ---- commands.c ---- */

/* What every backend's command begins with. */
struct gx_gpu_cmd {
    struct gx_cmd base;
    struct gx_gpu_cmd *next_idle;
    enum gx_queue queue; /* that does the work: see gx_gpu.alias */
    gx_status failed;    /* error during recording */
    uint32_t stamped;    /* a bit for each stamp */
    uint64_t fence;      /* of the last submit; 0: none */
    uint64_t submitted_ns;
};

/* Calls of the device contract. */
gx_status gx__gpu_begin(struct gx_device *device, enum gx_queue queue, struct gx_cmd **cmd);
void gx__gpu_dispatch(struct gx_cmd *cmd, const struct gx_dispatch *dispatch);
/* On a device that orders all of its work itself. */
void gx__gpu_no_barrier(struct gx_cmd *cmd, enum gx_barrier barrier);
void gx__gpu_stamp(struct gx_cmd *cmd, uint32_t index);
gx_status gx__gpu_stamps(struct gx_cmd *cmd, uint64_t *ns, uint32_t count);
gx_status gx__gpu_submit(struct gx_cmd *cmd, const struct gx_fence *waits, size_t count,
                         struct gx_fence *done);
void gx__gpu_recycle(struct gx_cmd *cmd);
gx_status gx__gpu_wait(struct gx_device *device, struct gx_fence fence, uint64_t timeout_ns);
bool gx__gpu_reached(struct gx_device *device, struct gx_fence fence);

/* Frees the commands that were given back. */
void gx__gpu_commands_close(struct gx_gpu *gpu);
/* Raises *reached to value. */
void gx__gpu_note_reached(_Atomic uint64_t *reached, uint64_t value);

/* What a command does, where a submit replays it from a list of ours. */
struct gx_gpu_steps {
    void *list; /* freed by cmd_close */
    size_t count, room;
};
/* Room for one more step of so many bytes, which the caller fills and counts; NULL: cmd->failed. */
void *gx__gpu_next_step(struct gx_gpu_cmd *cmd, struct gx_gpu_steps *steps, size_t bytes);

/* ---- list.c ---- */

/* A device that a backend has found; the first member of what the backend knows about it. */
struct gx_gpu_listed {
    gx_device_info info;
    char name[256];   /* what the driver calls it */
    uint8_t uuid[16]; /* all 0: it has none */
    bool software;    /* runs on the host's processor */
};

/* The first member of what a backend keeps for a context. */
struct gx_gpu_list {
    size_t count;
    struct gx_error why_none; /* if count is 0 */
};

/* How a backend makes its list. */
struct gx_gpu_lister {
    pthread_mutex_t lock; /* held by start and stop, for all contexts */
    uint32_t kind;        /* gx_device_kind */
    size_t place;         /* of the pointer to the list in struct gx_instance */
    size_t bytes;         /* of what the backend keeps, */
    size_t first, stride; /* where its devices are in that, */
    void (*start)(struct gx_gpu_list *list, struct gx_instance *instance); /* and what fills it */
    void (*stop)(struct gx_gpu_list *list);                                /* optional */
    /* Optional: the device that the name means; by default, what gx__gpu_selected says. */
    const struct gx_gpu_listed *(*match)(const struct gx_gpu_list *list, const char *name);
    /* Optional: says why no device has this name; false: there is nothing special about it. */
    bool (*explain)(const struct gx_gpu_list *list, const char *name, struct gx_error *error);
};

/* The context's list, made at the first call; NULL: no memory. */
struct gx_gpu_list *gx__gpu_list(struct gx_gpu_lister *lister, struct gx_instance *instance);
const struct gx_gpu_listed *gx__gpu_listed(const struct gx_gpu_lister *lister,
                                           const struct gx_gpu_list *list, size_t index);
/* Calls of the device contract, for backends with ops->lister. */
gx_status gx__gpu_enumerate(const struct gx_device_ops *ops, struct gx_instance *instance,
                            gx_device_info *infos, size_t *count);
gx_status gx__gpu_find(const struct gx_device_ops *ops, struct gx_instance *instance,
                       const char *name, gx_device_info *info, struct gx_error *error);
bool gx__gpu_chip(const struct gx_device_ops *ops, struct gx_instance *instance, const char *name,
                  struct gx_chip *chip);
void gx__gpu_stop(const struct gx_device_ops *ops, struct gx_instance *instance);

/* ---- select.c ---- */

/* Whether the text after the backend's name refers to the device: empty, the number in its name
 * ("vulkan:0"), "uuid=" and a beginning of the UUID, or a part of what the driver calls it. */
bool gx__gpu_selected(const char *selector, const char *name, const char *driver_name,
                      const uint8_t uuid[16]);

/* ---- calibrate.c ---- */

/* Cache files of this device; their names end in `what`. Free *data with gx__free. */
bool gx__gpu_cache_read(struct gx_gpu *gpu, const char *what, void **data, size_t *size);
void gx__gpu_cache_write(struct gx_gpu *gpu, const char *what, const void *data, size_t size);
/* Loads the calibration or measures it; sets the facts that follow from it. */
gx_status gx__gpu_calibrate(struct gx_gpu *gpu);
/* Saves it if it has changed. */
void gx__gpu_calibration_save(struct gx_gpu *gpu);

static inline float gx__gbs(size_t bytes, uint64_t ns)
{
    return ns ? (float)bytes / (float)ns : 0;
}

/* Submits cmd, waits, and stores the time in *ns: between its stamps 0 and 1 if it has them,
 * otherwise in total. Best of `runs`: the first one also wakes up the device. */
gx_status gx__gpu_time(struct gx_gpu *gpu, struct gx_cmd *cmd, bool stamped, int runs,
                       uint64_t *ns);
/* The speed of a copy, and of a dispatch that reads or writes so many bytes, in GB/s, timed by
 * stamps if the device has them. */
gx_status gx__gpu_time_copy(struct gx_gpu *gpu, enum gx_queue queue, const struct gx_mem *from,
                            const struct gx_mem *to, size_t bytes, int runs, float *speed);
gx_status gx__gpu_time_dispatch(struct gx_gpu *gpu, const struct gx_dispatch *dispatch,
                                size_t bytes, int runs, float *speed);
/* Sets calibration.copy_both: both copies at the same time, on the queues for them. */
gx_status gx__gpu_measure_both(struct gx_gpu *gpu, const struct gx_region *up,
                               const struct gx_region *down, int runs);
/* Sets calibration.submit_ns. */
gx_status gx__gpu_measure_submit(struct gx_gpu *gpu);

/* A search for the best choice. */
struct gx_tuning {
    struct gx_gpu *gpu;
    struct gx_kernel_key key; /* the kernel that is timed on behalf of its family */
    uint64_t n;               /* elements; fewer if there is no memory for them */
    uint64_t budget_ns;       /* nothing more is tried after this time; most of it is compiling */
    unsigned at_least;        /* how many are tried even then */
    struct gx_choice best;    /* starting point; the result */
    /* of gx__gpu_tune */
    uint64_t best_ns, deadline;
    unsigned tried;
    struct gx_mem a, b, out, scratch;
};

/* Takes `choice` for t->best if there is time to try it and it is faster. */
void gx__gpu_consider(struct gx_tuning *t, struct gx_choice choice);
/* Runs `search`, which considers one choice after the other, most promising first; tries nothing if
 * there is no memory. */
struct gx_choice gx__gpu_tune(struct gx_tuning *t, void (*search)(struct gx_tuning *t));

#endif
