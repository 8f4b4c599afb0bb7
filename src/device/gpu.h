/* SPDX-License-Identifier: Apache-2.0
 *
 * Shared by backends that compile kernels and launch the passes of op/passes.h: the tables of
 * kernels and pipelines, the choice of how to build a kernel, the measurements behind it, and the
 * file that stores it. Such a backend begins its device with a struct gx_gpu and fills in a struct
 * gx_gpu_ops.
 */
#ifndef GX_DEVICE_GPU_H
#define GX_DEVICE_GPU_H

#include <pthread.h>
#include <stdatomic.h>

#include "base/cache.h"
#include "device/device.h"

struct gx_gpu;

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
    /* The same for a registered operation. GX_ERR_UNSUPPORTED if the kernel is to blame, and `why`
     * says what is wrong with it, unless it has none for this backend. */
    gx_status (*compile_own)(struct gx_gpu *gpu, const struct gx_own_op *own, void **pipeline,
                             char *why, size_t why_size);
    /* One pipeline at a time. *pipeline stays NULL on failure. */
    gx_status (*compile)(struct gx_gpu *gpu, const struct gx_pipeline_key *key, void **pipeline);
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
};

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

#define GX_PIPELINE_SLOTS 512 /* power of two; more than the number of pipelines */
struct gx_pipeline {
    struct gx_pipeline_key key;
    void *handle; /* NULL: free slot */
};

/* A registered operation on this device. */
struct gx_gpu_own {
    _Atomic gx_op op; /* 0: none; the previous one of its place is dropped for the next */
    gx_status status; /* GX_OK or GX_ERR_UNSUPPORTED ... */
    char why[160];    /* ... and why */
    struct gx_gpu_kernel kernel;
};

struct gx_gpu {
    struct gx_device *base;
    const struct gx_gpu_ops *ops;
    struct gx_gpu_limits limits; /* these two are set before gx__gpu_calibrate */
    struct gx_mem nothing;       /* bound where a kernel has no operand */
    atomic_bool lost;

    pthread_mutex_t pipeline_lock;
    struct gx_pipeline pipelines[GX_PIPELINE_SLOTS];
    pthread_mutex_t kernel_lock; /* taken before pipeline_lock; protects these three: */
    /* by field, op, check; only ever added to, under kernel_lock, and read without it */
    struct gx_gpu_kernel *_Atomic kernels[GX_FIELD_END][GX_OP_SLOTS][2];
    struct gx_gpu_own own[GX_OWN_OPS]; /* likewise */
    struct gx_gpu_calibration calibration;
    bool calibration_changed;
};

static inline const gx_allocator *gx__gpu_allocator(const struct gx_gpu *gpu)
{
    return &gpu->base->instance->config.allocator;
}

/* GX_ERR_DEVICE_LOST if the device is known to be lost; then what was stored before, that it hangs,
 * is known too. */
static inline gx_status gx__gpu_alive(const struct gx_gpu *gpu)
{
    return atomic_load_explicit(&gpu->lost, memory_order_acquire) ? GX_ERR_DEVICE_LOST : GX_OK;
}

/* ---- gpu.c ---- */

void gx__gpu_open(struct gx_gpu *gpu, struct gx_device *base, const struct gx_gpu_ops *ops);
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
    uint32_t words[GX_K_OWN_PUSH_WORDS + GX_PARAM_GROUPS];
};
_Static_assert(offsetof(union gx_push, stage) == (GX_K_PUSH_WORDS - 3) * sizeof(uint32_t) &&
                   offsetof(union gx_push, param) == GX_K_OWN_PUSH_WORDS * sizeof(uint32_t),
               "kernel/interface.h");

struct gx_launch {
    void *pipeline;
    struct gx_binding bind[GX_BINDINGS]; /* all bound, at multiples of limits.bind_align */
    union gx_push push;
    uint32_t push_bytes;
    uint32_t x, y, z; /* workgroups */
};

/* What a pass of a dispatch launches. */
gx_status gx__gpu_launch(struct gx_gpu *gpu, const struct gx_dispatch *dispatch,
                         const struct gx_pass *pass, struct gx_launch *launch);

/* ---- select.c ---- */

/* Whether the text after the backend's name refers to the device: empty, the number in its name
 * ("vulkan:0"), "uuid=" and a beginning of the UUID, or a part of what the driver calls it. */
bool gx__gpu_selected(const char *selector, const char *name, const char *driver_name,
                      const uint8_t uuid[16]);

/* ---- gpu_calibrate.c ---- */

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
