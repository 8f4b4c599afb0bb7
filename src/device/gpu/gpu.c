/* SPDX-License-Identifier: Apache-2.0
 *
 * Operations as pipelines: the table of kernels requested so far, the table of their pipelines,
 * each compiled on first use and kept until the device is closed, and the parameters of a launch.
 */
#include "device/gpu/gpu.h"

#include <string.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/log.h"

#define ELEMENT_MAX  48u                 /* bytes of the largest element */
#define ELEMENTS_MAX ((uint64_t)1 << 29) /* of one dispatch, see kernel/interface.h */
#define RANGE_MAX    ((uint64_t)1 << 33) /* of a binding that 32-bit indices of words can reach */
/* Not measured: it only affects the balance of copies and kernels, and rarely. */
#define MUL_RATE          10.0f
#define MUL_RATE_SOFTWARE 0.02f

/* ---- pipelines ---- */

static size_t place_of(const struct gx_pipeline_key *key)
{
    uint32_t h = 2166136261u, words[sizeof *key / sizeof(uint32_t)]; /* FNV-1a over words */
    memcpy(words, key, sizeof words);
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        h = (h ^ words[i]) * 16777619u;
    return (h ^ h >> 15) & (GX_PIPELINES_MAX - 1);
}

/* The pipeline with the key, or the free place where it belongs; NULL: the table is full. */
static struct gx_pipeline *find_pipeline(struct gx_gpu *gpu, const struct gx_pipeline_key *key)
{
    for (size_t i = 0, at = place_of(key); i < GX_PIPELINES_MAX; i++) {
        struct gx_pipeline *p = &gpu->pipelines[(at + i) & (GX_PIPELINES_MAX - 1)];
        if (!p->handle || !memcmp(&p->key, key, sizeof *key))
            return p;
    }
    return NULL;
}

gx_status gx__gpu_pipeline(struct gx_gpu *gpu, const struct gx_pipeline_key *key, void **pipeline)
{
    gx_status s = GX_OK;
    pthread_mutex_lock(&gpu->pipeline_lock);
    struct gx_pipeline *p = find_pipeline(gpu, key);
    if (!p)
        s = GX_ERR_OUT_OF_DEVICE_MEMORY;
    else if (!p->handle) {
        uint64_t start = gx__once_begin();
        s = gpu->ops->compile(gpu, key, &p->handle);
        gx__once_end(start, &gpu->base->instance->counters.compile_ns);
        p->key = *key;
    }
    if (s == GX_OK)
        *pipeline = p->handle;
    pthread_mutex_unlock(&gpu->pipeline_lock);
    return s;
}

/* Only the first pass of an elementwise operation has key.repeat: others do not repeat. */
static gx_status pass_pipeline(struct gx_gpu *gpu, const struct gx_gpu_kernel *kernel,
                               const struct gx_pass *pass, void **pipeline)
{
    const struct gx_choice *choice = &kernel->choice;
    uint32_t variants = gpu->ops->variants(gpu, kernel->key.field, pass->family);
    const struct gx_pipeline_key key = {.family = pass->family,
                                        .field = kernel->key.field,
                                        .op = pass->op,
                                        .check = pass->check && kernel->key.check,
                                        .repeat = kernel->key.repeat ? kernel->key.repeat : 1,
                                        .workgroup = choice->workgroup,
                                        .variant = choice->variant < variants ? choice->variant
                                                                              : variants - 1,
                                        .each = choice->each};
    return variants ? gx__gpu_pipeline(gpu, &key, pipeline) : GX_ERR_UNSUPPORTED;
}

/* ---- building ---- */

gx_status gx__gpu_build(struct gx_gpu *gpu, const struct gx_kernel_key *key,
                        struct gx_choice choice, struct gx_gpu_kernel **out)
{
    enum gx_shader_family family = gx__op_family(key->op, key->field);
    struct gx_gpu_kernel *kernel = gx__alloc(gx__gpu_allocator(gpu), sizeof *kernel);
    if (!kernel)
        return GX_ERR_OUT_OF_MEMORY;
    kernel->key = *key;
    kernel->choice = choice;
    kernel->facts.workgroup = choice.workgroup;
    gpu->ops->facts(gpu, key->field, family, choice, &kernel->facts);
    kernel->unit = family == GX_SHADER_WORDS || family == GX_SHADER_PERMUTE ? 4 : 16;
    gx_status s = GX_OK;
    if (family != GX_SHADER_INVERT_UP && family != GX_SHADER_MSM_ADD && !kernel->facts.small)
        s = pass_pipeline(gpu, kernel,
                          &(struct gx_pass){.family = family, .op = key->op, .check = true},
                          &kernel->first);
    if (s == GX_OK)
        *out = kernel;
    else
        gx__free(gx__gpu_allocator(gpu), kernel);
    return s;
}

struct gx_choice gx__gpu_guess(const struct gx_gpu *gpu, enum gx_shader_family family)
{
    struct gx_choice choice = gpu->ops->guess(family);
    if (choice.workgroup > gpu->limits.workgroup)
        choice.workgroup = (uint16_t)gpu->limits.workgroup;
    return choice;
}

/* A choice read from a file comes from a similar device, but check it. */
static bool fits(const struct gx_gpu *gpu, gx_field field, enum gx_shader_family family,
                 struct gx_choice choice)
{
    return choice.workgroup && choice.workgroup <= gpu->limits.workgroup &&
           choice.variant < gpu->ops->variants(gpu, field, family) &&
           choice.each <= gpu->limits.each && !choice.each == !gpu->limits.each;
}

struct gx_choice gx__gpu_choice(struct gx_gpu *gpu, gx_field field, enum gx_shader_family family)
{
    struct gx_choice *choice = &gpu->calibration.tuned[field][family];
    if (!fits(gpu, field, family, *choice)) {
        *choice = gpu->ops->tune(gpu, field, family);
        gpu->calibration_changed = true;
    }
    return *choice;
}

/* Kernels without a field measure hardware limits, and are always built in the same way. */
static gx_status build_best(struct gx_gpu *gpu, const struct gx_kernel_key *key,
                            struct gx_gpu_kernel **kernel)
{
    enum gx_shader_family family = gx__op_family(key->op, key->field);
    if (!gpu->ops->variants(gpu, key->field, family))
        return GX_ERR_UNSUPPORTED;
    struct gx_choice choice =
        key->field ? gx__gpu_choice(gpu, key->field, family) : gx__gpu_guess(gpu, family);
    return gx__gpu_build(gpu, key, choice, kernel);
}

/* ---- the table of kernels ---- */

static bool exists(const struct gx_kernel_key *key)
{
    if (key->op == GX_OP_COPY || key->op == GX_OP_ROOF)
        return !key->field && !key->repeat;
    if (key->op == GX_OP_MSM_SUMS)
        return gx__prime(key->field) && !key->repeat;
    if (key->op == GX_MSM) /* GPUs have GX_OP_MSM_SUMS, a part of it */
        return false;
    gx_op like = key->op == GX_OP_NTT_TABLE ? GX_NTT : key->op;
    if (key->op == GX_OP_CHECK ? !gx__prime(key->field) : !gx_op_exists(like, key->field))
        return false;
    return !key->repeat || gx__op_family(key->op, key->field) == GX_SHADER_MUL;
}

/* The list of kernels for a key; NULL: none. */
static struct gx_gpu_kernel *_Atomic *place(struct gx_gpu *gpu, const struct gx_kernel_key *key)
{
    size_t index = gx__op_index(key->op);
    if (key->field >= GX_FIELD_END || index >= GX_OP_INDICES)
        return NULL;
    return &gpu->kernels[key->field][index][key->check != 0];
}

static struct gx_gpu_kernel *find(struct gx_gpu_kernel *_Atomic *at,
                                  const struct gx_kernel_key *key)
{
    struct gx_gpu_kernel *k = at ? atomic_load_explicit(at, memory_order_acquire) : NULL;
    while (k && k->key.repeat != key->repeat)
        k = k->next;
    return k;
}

static gx_status add_kernel(struct gx_gpu *gpu, const struct gx_kernel_key *key,
                            struct gx_gpu_kernel *_Atomic *at, struct gx_gpu_kernel **kernel)
{
    gx_status s = GX_OK;
    pthread_mutex_lock(&gpu->kernel_lock);
    *kernel = find(at, key); /* another thread was faster */
    if (!*kernel) {
        s = build_best(gpu, key, kernel);
        if (s == GX_OK) {
            (*kernel)->next = *at;
            atomic_store_explicit(at, *kernel, memory_order_release);
        }
    }
    pthread_mutex_unlock(&gpu->kernel_lock);
    return s;
}

/* ---- registered operations ---- */

static void drop_registered(struct gx_gpu *gpu, struct gx_gpu_registered *registered)
{
    if (registered->kernel.first)
        gpu->ops->drop(gpu, registered->kernel.first);
    registered->kernel.first = NULL;
}

/* Compiles it, or remembers that it cannot be compiled, which will not change. Recorded commands
 * may still refer to the pipeline of the operation before, but are never submitted again. */
static gx_status build_registered(struct gx_gpu *gpu, const struct gx_registered_op *op,
                                  struct gx_gpu_registered *registered)
{
    gx_op value = atomic_load(&op->op);
    void *pipeline = NULL;
    drop_registered(gpu, registered);
    atomic_store(&registered->op, 0);
    registered->why.text[0] = 0;
    pthread_mutex_lock(&gpu->pipeline_lock);
    uint64_t start = gx__once_begin();
    registered->status = gpu->ops->compile_registered(gpu, op, &pipeline, &registered->why);
    gx__once_end(start, &gpu->base->instance->counters.compile_ns);
    pthread_mutex_unlock(&gpu->pipeline_lock);
    if (registered->status != GX_OK && registered->status != GX_ERR_UNSUPPORTED)
        return registered->status;
    if (registered->why.text[0])
        gx__log(gpu->base->instance, GX_LOG_ERROR, "%s: kernel '%s': %s", gpu->base->info.name,
                op->name, registered->why.text);
    registered->kernel = (struct gx_gpu_kernel){
        .key = {.op = value}, .facts = {.each = 1}, .unit = 4, .first = pipeline};
    atomic_store_explicit(&registered->op, value, memory_order_release);
    return registered->status;
}

static gx_status registered_kernel(struct gx_gpu *gpu, const struct gx_registered_op *op,
                                   const struct gx_kernel_key *key, struct gx_kernel *kernel)
{
    struct gx_gpu_registered *registered = &gpu->registered[gx__registered_op_place(key->op)];
    *kernel = (struct gx_kernel){.key = *key, .impl = &registered->kernel};
    if (atomic_load_explicit(&registered->op, memory_order_acquire) == key->op)
        return registered->status;
    pthread_mutex_lock(&gpu->kernel_lock);
    gx_status s =
        registered->op == key->op ? registered->status : build_registered(gpu, op, registered);
    pthread_mutex_unlock(&gpu->kernel_lock);
    return s;
}

const char *gx__gpu_refusal(struct gx_device *device, gx_op op)
{
    const struct gx_gpu *gpu = device->impl;
    const struct gx_gpu_registered *registered = &gpu->registered[gx__registered_op_place(op)];
    bool known = atomic_load_explicit(&registered->op, memory_order_acquire) == op;
    return known && registered->why.text[0] ? registered->why.text : NULL;
}

gx_status gx__gpu_kernel(struct gx_device *device, const struct gx_kernel_key *key,
                         struct gx_kernel *kernel)
{
    struct gx_gpu *gpu = device->impl;
    const struct gx_registered_op *registered = gx__registered_op(key->op);
    gx_status s = gx__gpu_alive(gpu);
    if (s != GX_OK)
        return s;
    if (registered)
        return registered_kernel(gpu, registered, key, kernel);
    struct gx_gpu_kernel *_Atomic *at = place(gpu, key);
    struct gx_gpu_kernel *known = find(at, key);
    if (!known)
        s = at && exists(key) ? add_kernel(gpu, key, at, &known) : GX_ERR_UNSUPPORTED;
    if (s == GX_OK)
        *kernel = (struct gx_kernel){.key = *key, .impl = known};
    return s;
}

size_t gx__gpu_scratch(struct gx_device *device, const struct gx_kernel *kernel, uint64_t n)
{
    (void)device;
    const struct gx_gpu_kernel *k = kernel->impl;
    struct gx_passes passes;
    gx__passes(&kernel->key, n, &k->facts, &passes);
    return (size_t)passes.scratch_quads * 16;
}

/* ---- launches ---- */

static gx_status refuse(struct gx_gpu *gpu, int binding, size_t offset)
{
    gx__log(gpu->base->instance, GX_LOG_ERROR,
            "%s: binding %d at byte %zu: this device binds at multiples of %llu",
            gpu->base->info.name, binding, offset, (unsigned long long)gpu->limits.bind_align);
    return GX_ERR_INVALID;
}

/* A binding begins at a multiple of bind_align. Kernels skip the rest of the offset if they have a
 * parameter for it (operands); otherwise there must be none. */
static gx_status align(struct gx_gpu *gpu, uint32_t unit, struct gx_launch *launch)
{
    const size_t align = (size_t)gpu->limits.bind_align;
    for (int i = 0; i < GX_BINDINGS; i++) {
        struct gx_binding *b = &launch->bind[i];
        if (!b->mem)
            *b = (struct gx_binding){&gpu->nothing, 0};
        size_t rest = b->offset % align;
        if (rest % (i <= GX_BIND_C ? unit : align))
            return refuse(gpu, i, b->offset);
        if (i <= GX_BIND_C)
            launch->push.at[i] = (uint32_t)(rest / unit);
        b->offset -= rest;
    }
    return GX_OK;
}

/* Enough workgroups for all invocations, in two dimensions if the device allows few in one. */
static void count_groups(const struct gx_gpu *gpu, uint32_t workgroup, uint64_t invocations,
                         struct gx_launch *launch)
{
    uint64_t groups = (invocations + workgroup - 1) / workgroup;
    uint64_t y = (groups + gpu->limits.groups - 1) / gpu->limits.groups;
    launch->x = (uint32_t)((groups + y - 1) / y);
    launch->y = (uint32_t)y;
    launch->z = 1;
}

/* Groups and push constants of a registered operation (doc/kernels.md). */
static void launch_registered(const struct gx_registered_op *registered,
                              const struct gx_kernel_key *key, uint64_t n, struct gx_launch *launch)
{
    const uint32_t *groups = key->param + GX_PARAM_GROUPS;
    bool whole = registered->desc.flags & GX_OP_WHOLE;
    launch->x =
        whole ? groups[0]
              : (uint32_t)((n + registered->desc.group_elems - 1) / registered->desc.group_elems);
    launch->y = whole ? groups[1] : 1;
    launch->z = whole ? groups[2] : 1;
    launch->push_bytes = GX_REGISTERED_PUSH_WORDS * 4 + registered->desc.params_bytes;
    launch->push.n = (uint32_t)n;
    for (int i = 0; i < 3; i++)
        launch->push.step[i] =
            key->broadcast >> i & 1 ? 0 : (uint32_t)gx__op_element(key->op, 0, GX_A + i) / 4;
    memcpy(launch->push.param, key->param, sizeof launch->push.param);
}

gx_status gx__gpu_launch(struct gx_gpu *gpu, const struct gx_dispatch *dispatch,
                         const struct gx_pass *pass, struct gx_launch *launch)
{
    const struct gx_gpu_kernel *k = dispatch->kernel.impl;
    const struct gx_registered_op *registered = gx__registered_op(pass->op);
    launch->pipeline = k->first;
    launch->registered = registered != NULL;
    gx__pass_bind(dispatch, pass, launch->bind);
    if (registered) {
        launch_registered(registered, &dispatch->kernel.key, pass->n, launch);
        return align(gpu, k->unit, launch);
    }
    launch->push = (union gx_push){.n = pass->n,
                                   .broadcast = pass->broadcast,
                                   .stage = {pass->stage[0], pass->stage[1], pass->stage[2]}};
    launch->push_bytes = GX_K_PUSH_WORDS * 4;
    count_groups(gpu, k->choice.workgroup, pass->invocations, launch);
    gx_status s = GX_OK;
    if (!k->first || pass->op != k->key.op)
        s = pass_pipeline(gpu, k, pass, &launch->pipeline);
    return s == GX_OK ? align(gpu, k->unit, launch) : s;
}

/* ---- open and close ---- */

void *gx__gpu_open(struct gx_device *base, size_t bytes, const struct gx_gpu_ops *ops)
{
    struct gx_gpu_lister *lister = base->ops->lister;
    struct gx_gpu_list *list = gx__gpu_list(lister, base->instance);
    struct gx_gpu *gpu = list ? gx__alloc(&base->instance->config.allocator, bytes) : NULL;
    if (!gpu)
        return NULL;
    base->impl = gpu;
    gpu->base = base;
    gpu->ops = ops;
    gpu->list = list;
    for (size_t i = 0; i < list->count && !gpu->listed; i++)
        if (!strcmp(gx__gpu_listed(lister, list, i)->info.name, base->info.name))
            gpu->listed = gx__gpu_listed(lister, list, i);
    pthread_mutex_init(&gpu->idle_lock, NULL);
    pthread_mutex_init(&gpu->pipeline_lock, NULL);
    pthread_mutex_init(&gpu->kernel_lock, NULL);
    return gpu;
}

void gx__gpu_free(struct gx_gpu *gpu)
{
    struct gx_device *base = gpu->base;
    pthread_mutex_destroy(&gpu->idle_lock);
    gx__free(&base->instance->config.allocator, gpu);
    base->impl = NULL;
}

void gx__gpu_close(struct gx_gpu *gpu)
{
    for (size_t f = 0; f < GX_FIELD_END; f++)
        for (size_t op = 0; op < GX_OP_INDICES; op++)
            for (size_t check = 0; check < 2; check++)
                for (struct gx_gpu_kernel *k = gpu->kernels[f][op][check], *next; k; k = next) {
                    next = k->next;
                    gx__free(gx__gpu_allocator(gpu), k);
                }
    for (size_t i = 0; i < GX_REGISTERED_OPS; i++)
        drop_registered(gpu, &gpu->registered[i]);
    for (size_t i = 0; i < GX_PIPELINES_MAX; i++)
        if (gpu->pipelines[i].handle)
            gpu->ops->drop(gpu, gpu->pipelines[i].handle);
    pthread_mutex_destroy(&gpu->pipeline_lock);
    pthread_mutex_destroy(&gpu->kernel_lock);
}

void gx__gpu_limit_elements(struct gx_gpu *gpu, uint32_t direct)
{
    /* The scratch of inv and div is slightly larger than n elements, see device/gpu/passes.c. */
    uint64_t most = (gpu->limits.range - gpu->limits.bind_align) / ELEMENT_MAX;
    most = (most - 2 * (uint64_t)direct) / 33 * 32;
    gpu->limits.elements = most < ELEMENTS_MAX ? most : ELEMENTS_MAX;
}

struct gx_device_facts gx__gpu_facts(const struct gx_gpu *gpu, bool software)
{
    uint64_t asked = gpu->base->instance->config.dispatch_elems, most = gpu->limits.elements;
    uint64_t range = gpu->limits.range < RANGE_MAX ? gpu->limits.range : RANGE_MAX;
    return (struct gx_device_facts){.dispatch_elems = asked && asked < most ? asked : most,
                                    .dispatch_bytes = range - gpu->limits.bind_align,
                                    .point_bytes = range - gpu->limits.bind_align,
                                    .dispatch_groups = gpu->limits.groups,
                                    .resubmit = true,
                                    .mul_rate = software ? MUL_RATE_SOFTWARE : MUL_RATE};
}
