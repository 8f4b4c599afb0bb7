/* SPDX-License-Identifier: Apache-2.0
 *
 * Operations as pipelines: which kernel does what for which field, the table of those that
 * were asked for, and the pipelines, one layout for all, each made at its first use and kept
 * until the device is closed.
 */
#include "device/webgpu/webgpu.h"

#include <string.h>

#include "base/alloc.h"

#define DEFAULT_WORKGROUP 64
#define COPY_WORKGROUP    256 /* with 64 an H200 copies at 80 % of the speed */
#define WORDS_EACH        4

/* ---- pipelines ---- */

uint64_t gx__wg_kernels_hash(void)
{
    uint64_t h = 0xcbf29ce484222325u; /* FNV-1a */
    for (const struct gx_wgsl_file *file = gx__wgsl_files; file->name; file++)
        for (const char *c = file->text; *c; c++)
            h = (h ^ (unsigned char)*c) * 0x100000001b3u;
    return h;
}

static bool same(const struct gx_wgsl_key *a, const struct gx_wgsl_key *b)
{
    return a->family == b->family && a->field == b->field && a->op == b->op &&
           a->check == b->check && a->repeat == b->repeat && a->workgroup == b->workgroup &&
           a->each == b->each && a->mul == b->mul;
}

static size_t slot_of(const struct gx_wgsl_key *key)
{
    uint32_t h = 2166136261u; /* FNV-1a over words */
    const uint32_t words[] = {key->family, key->field,     key->op,   key->check,
                              key->repeat, key->workgroup, key->each, key->mul};
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        h = (h ^ words[i]) * 16777619u;
    return (h ^ h >> 15) & (WG_PIPELINE_SLOTS - 1);
}

/* The slot that has the key, or the free one where it belongs; NULL: the table is full. */
static struct wg_pipeline *find_slot(struct wg_device *device, const struct gx_wgsl_key *key)
{
    for (size_t i = 0, at = slot_of(key); i < WG_PIPELINE_SLOTS; i++) {
        struct wg_pipeline *p = &device->pipelines[(at + i) & (WG_PIPELINE_SLOTS - 1)];
        if (!p->handle || same(&p->key, key))
            return p;
    }
    return NULL;
}

/* Without wgpu's checks of indices: a dispatch is within its bindings. */
static gx_status compile(struct wg_device *device, const char *text, size_t length,
                         WGPUComputePipeline *pipeline)
{
    WGPUShaderSourceWGSL source = {.chain = {.sType = WGPUSType_ShaderSourceWGSL},
                                   .code = {text, length}};
    WGPUShaderModuleDescriptor module = {.nextInChain = &source.chain};
    WGPUComputePipelineDescriptor descriptor = {
        .layout = device->layout, .compute = {.entryPoint = {"main", strlen("main")}}};
    gx__wg_enter(device);
    WGPUShaderModule handle = device->fn->DeviceCreateShaderModuleTrusted(
        device->handle, &module, WGPUShaderRuntimeChecks_None);
    descriptor.compute.module = handle;
    *pipeline =
        handle ? device->fn->DeviceCreateComputePipeline(device->handle, &descriptor) : NULL;
    if (handle)
        device->fn->ShaderModuleRelease(handle);
    gx_status s = gx__wg_leave(device, "wgpuDeviceCreateComputePipeline");
    if (s != GX_OK && *pipeline) {
        device->fn->ComputePipelineRelease(*pipeline);
        *pipeline = NULL;
    }
    return s == GX_OK && !*pipeline ? GX_ERR_DEVICE : s;
}

static gx_status make(struct wg_device *device, const struct gx_wgsl_key *key,
                      WGPUComputePipeline *pipeline)
{
    size_t length = gx__wgsl_write(key, NULL, 0);
    if (!length)
        return GX_ERR_UNSUPPORTED;
    char *text = gx__alloc(wg_allocator(device), length + 1);
    if (!text)
        return GX_ERR_OUT_OF_MEMORY;
    gx__wgsl_write(key, text, length + 1);
    gx_status s = compile(device, text, length, pipeline);
    gx__free(wg_allocator(device), text);
    return s;
}

gx_status gx__wg_pipeline(struct wg_device *device, const struct gx_wgsl_key *key,
                          WGPUComputePipeline *pipeline)
{
    gx_status s = GX_OK;
    pthread_mutex_lock(&device->pipeline_lock);
    struct wg_pipeline *p = find_slot(device, key);
    if (!p)
        s = GX_ERR_OUT_OF_DEVICE_MEMORY;
    else if (!p->handle) {
        s = make(device, key, &p->handle);
        p->key = *key;
    }
    if (s == GX_OK)
        *pipeline = p->handle;
    pthread_mutex_unlock(&device->pipeline_lock);
    return s;
}

/* ---- building ---- */

struct wg_choice gx__wg_default_choice(const struct wg_device *device, enum gx_shader_family family)
{
    uint32_t workgroup = family == GX_SHADER_COPY ? COPY_WORKGROUP : DEFAULT_WORKGROUP;
    const WGPULimits *l = &device->adapter->limits;
    uint32_t most = l->maxComputeInvocationsPerWorkgroup < l->maxComputeWorkgroupSizeX
                        ? l->maxComputeInvocationsPerWorkgroup
                        : l->maxComputeWorkgroupSizeX;
    return (struct wg_choice){.workgroup = (uint16_t)(most < workgroup ? most : workgroup),
                              .each = family == GX_SHADER_WORDS ? WORDS_EACH : 1};
}

gx_status gx__wg_pass_pipeline(struct wg_device *device, const struct wg_kernel *kernel,
                               const struct gx_pass *pass, WGPUComputePipeline *pipeline)
{
    const struct gx_wgsl_key key = {.family = pass->family,
                                    .field = kernel->key.field,
                                    .op = pass->op,
                                    .check = pass->check && kernel->key.check,
                                    .repeat = kernel->key.repeat ? kernel->key.repeat : 1,
                                    .workgroup = kernel->choice.workgroup,
                                    .each = kernel->facts.each,
                                    .mul = (enum gx_wgsl_mul)kernel->choice.mul};
    return gx__wg_pipeline(device, &key, pipeline);
}

gx_status gx__wg_build(struct wg_device *device, const struct gx_kernel_key *key,
                       struct wg_choice choice, struct wg_kernel **out)
{
    struct wg_kernel *kernel = gx__alloc(wg_allocator(device), sizeof *kernel);
    if (!kernel)
        return GX_ERR_OUT_OF_MEMORY;
    enum gx_shader_family family = gx__op_family(key->op, key->field);
    kernel->key = *key;
    kernel->choice = choice;
    kernel->facts = (struct gx_pass_facts){.each = gx__wgsl_elementwise(family) ? choice.each : 1,
                                           .workgroup = choice.workgroup,
                                           .direct = GX_INVERSE_DIRECT_INT32};
    kernel->unit = family == GX_SHADER_WORDS ? 4 : 16;
    gx_status s = GX_OK;
    if (family != GX_SHADER_INVERT_UP)
        s = gx__wg_pass_pipeline(device, kernel,
                                 &(struct gx_pass){.family = family, .op = key->op, .check = true},
                                 &kernel->first);
    if (s == GX_OK)
        *out = kernel;
    else
        gx__free(wg_allocator(device), kernel);
    return s;
}

/* ---- the table ---- */

static bool exists(const struct gx_kernel_key *key)
{
    if (key->op == GX_OP_COPY)
        return !key->field && !key->repeat;
    if (key->op == GX_OP_CHECK)
        return gx__prime(key->field) && !key->repeat;
    if (!gx_op_exists(key->op, key->field))
        return false;
    return !key->repeat || gx__op_family(key->op, key->field) == GX_SHADER_MUL;
}

/* Where the kernel of an existing key is, or belongs. */
static struct wg_kernel **place(struct wg_device *device, const struct gx_kernel_key *key)
{
    struct wg_kernel **at = &device->kernels[key->field][gx__op_slot(key->op)][key->check != 0];
    while (*at && (*at)->key.repeat != key->repeat)
        at = &(*at)->next;
    return at;
}

static bool fits(const struct wg_device *device, struct wg_choice choice)
{
    const WGPULimits *l = &device->adapter->limits;
    return choice.workgroup && choice.workgroup <= l->maxComputeInvocationsPerWorkgroup &&
           choice.workgroup <= l->maxComputeWorkgroupSizeX && choice.each &&
           choice.each <= WG_EACH_MAX && choice.mul < GX_WGSL_MULS &&
           (!gx__wgsl_needs_int64((enum gx_wgsl_mul)choice.mul) || device->adapter->wide);
}

static gx_status build_best(struct wg_device *device, const struct gx_kernel_key *key,
                            struct wg_kernel **kernel)
{
    enum gx_shader_family family = gx__op_family(key->op, key->field);
    struct wg_choice *choice = &device->calibration.tuned[key->field][family];
    if (!fits(device, *choice)) {
        *choice = gx__wg_tune(device, key->field, family);
        device->calibration_changed = true;
    }
    return gx__wg_build(device, key, *choice, kernel);
}

gx_status gx__wg_kernel(struct gx_device *base, const struct gx_kernel_key *key,
                        struct gx_kernel *kernel)
{
    struct wg_device *device = wg_of(base);
    gx_status s = gx__wg_alive(device);
    if (s == GX_OK && !exists(key))
        s = GX_ERR_UNSUPPORTED;
    if (s != GX_OK)
        return s;
    pthread_mutex_lock(&device->kernel_lock);
    struct wg_kernel **known = place(device, key);
    if (!*known)
        s = build_best(device, key, known);
    if (s == GX_OK)
        *kernel = (struct gx_kernel){.key = *key, .impl = *known};
    pthread_mutex_unlock(&device->kernel_lock);
    return s;
}

void gx__wg_kernels_close(struct wg_device *device)
{
    for (size_t f = 0; f < GX_FIELD_END; f++)
        for (size_t op = 0; op < GX_OP_SLOTS; op++)
            for (size_t check = 0; check < 2; check++)
                for (struct wg_kernel *k = device->kernels[f][op][check], *next; k; k = next) {
                    next = k->next;
                    gx__free(wg_allocator(device), k);
                }
    gx__wg_enter(device);
    for (size_t i = 0; i < WG_PIPELINE_SLOTS; i++)
        if (device->pipelines[i].handle)
            device->fn->ComputePipelineRelease(device->pipelines[i].handle);
    gx__wg_leave(device, "wgpuComputePipelineRelease");
}

size_t gx__wg_scratch(struct gx_device *base, const struct gx_kernel *kernel, uint64_t n)
{
    (void)base;
    const struct wg_kernel *k = kernel->impl;
    struct gx_passes passes;
    gx__passes(&kernel->key, n, &k->facts, &passes);
    return (size_t)passes.scratch_quads * 16;
}

uint32_t gx__wg_workers(struct gx_device *base, const struct gx_kernel *kernel, uint64_t n)
{
    (void)base;
    (void)kernel;
    (void)n;
    return 0;
}
