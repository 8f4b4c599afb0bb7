/* SPDX-License-Identifier: Apache-2.0
 *
 * How a family's kernels are built on this device: how products are computed, how many elements an
 * invocation processes, the workgroup size. What is available, the order in which it is tried, and
 * the compiling.
 */
#include "device/webgpu/webgpu.h"

#include <string.h>

#include "base/alloc.h"

#define DEFAULT_WORKGROUP 64  /* sums of points have 12 KiB of shared memory then */
#define COPY_WORKGROUP    256 /* with 64 an H200 copies at 80 % of the speed */
#define NTT_WORKGROUP     128 /* its shared memory is 12 KiB with 8 elements for each */
#define WORDS_EACH        4

#define BUDGET_NS         1500000000u
#define ELEMENTS          ((uint64_t)1 << 22) /* more than caches can hold */
#define SOFTWARE_ELEMENTS 1024u
#define SOFTWARE_REPEAT   16u /* of products: fewer elements would finish too soon */
#define TRIED_MIN         2u  /* however long these take: a single one is not a choice */

/* ---- what there is ---- */

uint64_t gx__wg_kernels_hash(void)
{
    uint64_t h = 0xcbf29ce484222325u; /* FNV-1a */
    for (const struct gx_wgsl_file *file = gx__wgsl_files; file->name; file++)
        for (const char *c = file->text; *c; c++)
            h = (h ^ (unsigned char)*c) * 0x100000001b3u;
    return h;
}

uint32_t gx__wg_variants(const struct gx_gpu *gpu, gx_field field, enum gx_shader_family family)
{
    (void)field;
    if (family == GX_SHADER_ROOF)
        return 0;
    return wg_of_gpu(gpu)->adapter->wide ? GX_WGSL_MULS : GX_WGSL_WIDE;
}

const char *gx__wg_variant_name(const struct gx_gpu *gpu, gx_field field,
                                enum gx_shader_family family, uint32_t variant)
{
    (void)gpu;
    (void)field;
    (void)family;
    return gx__wgsl_mul_names[variant];
}

struct gx_choice gx__wg_guess(enum gx_shader_family family)
{
    return (struct gx_choice){.workgroup = family == GX_SHADER_COPY  ? COPY_WORKGROUP
                                           : family == GX_SHADER_NTT ? NTT_WORKGROUP
                                                                     : DEFAULT_WORKGROUP,
                              .each = family == GX_SHADER_WORDS ? WORDS_EACH : 1};
}

void gx__wg_facts(const struct gx_gpu *gpu, gx_field field, enum gx_shader_family family,
                  struct gx_choice choice, struct gx_pass_facts *facts)
{
    (void)gpu;
    (void)field;
    facts->each = gx__wgsl_elementwise(family)
                      ? choice.each
                      : gx__wgsl_each(family, (enum gx_wgsl_mul)choice.variant);
    facts->direct = GX_INVERSE_DIRECT_INT32;
}

/* ---- compiling ---- */

/* A module, and what wgpu checks in it while it runs. */
struct source {
    const char *text, *entry;
    size_t length;
    WGPUShaderRuntimeChecks checks;
};

/* Between enter and leave. */
static void create(struct wg_device *device, const struct source *from, void **pipeline)
{
    WGPUShaderSourceWGSL source = {.chain = {.sType = WGPUSType_ShaderSourceWGSL},
                                   .code = {from->text, from->length}};
    WGPUShaderModuleDescriptor module = {.nextInChain = &source.chain};
    WGPUComputePipelineDescriptor descriptor = {
        .layout = device->layout, .compute = {.entryPoint = {from->entry, strlen(from->entry)}}};
    WGPUShaderModule handle =
        device->fn->DeviceCreateShaderModuleTrusted(device->handle, &module, from->checks);
    descriptor.compute.module = handle;
    *pipeline =
        handle ? device->fn->DeviceCreateComputePipeline(device->handle, &descriptor) : NULL;
    if (handle)
        device->fn->ShaderModuleRelease(handle);
}

static gx_status finish(struct wg_device *device, void **pipeline)
{
    gx_status s = gx__wg_leave(device, "wgpuDeviceCreateComputePipeline");
    if (s != GX_OK && *pipeline) {
        device->fn->ComputePipelineRelease(*pipeline);
        *pipeline = NULL;
    }
    return s == GX_OK && !*pipeline ? GX_ERR_DEVICE : s;
}

gx_status gx__wg_compile(struct gx_gpu *gpu, const struct gx_pipeline_key *key, void **pipeline)
{
    const struct gx_wgsl_key wgsl = {.family = (enum gx_shader_family)key->family,
                                     .field = key->field,
                                     .op = key->op,
                                     .check = key->check,
                                     .repeat = key->repeat,
                                     .workgroup = key->workgroup,
                                     .mul = (enum gx_wgsl_mul)key->variant,
                                     .each =
                                         gx__wgsl_elementwise((enum gx_shader_family)key->family)
                                             ? key->each
                                             : gx__wgsl_each((enum gx_shader_family)key->family,
                                                             (enum gx_wgsl_mul)key->variant)};
    size_t length = gx__wgsl_write(&wgsl, NULL, 0);
    if (!length)
        return GX_ERR_UNSUPPORTED;
    char *text = gx__alloc(gx__gpu_allocator(gpu), length + 1);
    if (!text)
        return GX_ERR_OUT_OF_MEMORY;
    gx__wgsl_write(&wgsl, text, length + 1);
    gx__wg_enter(wg_of_gpu(gpu));
    create(wg_of_gpu(gpu),
           &(struct source){text, "main", length,
                            WGPUShaderRuntimeChecks_None}, /* it stays within its bindings */
           pipeline);
    gx_status s = finish(wg_of_gpu(gpu), pipeline);
    gx__free(gx__gpu_allocator(gpu), text);
    return s;
}

gx_status gx__wg_compile_registered(struct gx_gpu *gpu, const struct gx_registered_op *registered,
                                    void **pipeline, struct gx_error *error)
{
    struct wg_device *device = wg_of_gpu(gpu);
    if (!registered->desc.wgsl)
        return GX_ERR_UNSUPPORTED;
    gx__wg_enter_quoted(device, error);
    create(device,
           &(struct source){registered->desc.wgsl, registered->wgsl_entry,
                            strlen(registered->desc.wgsl), WGPUShaderRuntimeChecks_BoundsChecks},
           pipeline);
    gx_status s = finish(device, pipeline);
    return s == GX_ERR_DEVICE ? GX_ERR_UNSUPPORTED : s;
}

void gx__wg_drop(struct gx_gpu *gpu, void *pipeline)
{
    struct wg_device *device = wg_of_gpu(gpu);
    gx__wg_enter(device);
    device->fn->ComputePipelineRelease(pipeline);
    gx__wg_leave(device, "wgpuComputePipelineRelease");
}

/* ---- tuning ---- */

/* Columns are unrolled: software devices take seconds to compile them. */
static bool worth_trying(const struct wg_device *device, enum gx_wgsl_mul mul)
{
    return mul != GX_WGSL_COLUMNS || !device->adapter->base.software;
}

static void try_each(struct gx_tuning *t, uint8_t most)
{
    for (uint8_t each = 1; each <= most; each = (uint8_t)(2 * each)) {
        struct gx_choice next = t->best;
        next.each = each;
        if (next.each != t->best.each)
            gx__gpu_consider(t, next);
    }
}

static void try_workgroups(struct gx_tuning *t)
{
    static const uint16_t workgroups[] = {128, 256, 32};
    for (size_t i = 0; i < sizeof workgroups / sizeof *workgroups; i++) {
        struct gx_choice next = t->best;
        next.workgroup = workgroups[i];
        gx__gpu_consider(t, next);
    }
}

/* Most promising first: time may run out before the rest. */
static void search(struct gx_tuning *t)
{
    const struct wg_device *device = wg_of_gpu(t->gpu);
    enum gx_shader_family family = gx__op_family(t->key.op, t->key.field);
    bool products = family == GX_SHADER_MUL;
    struct gx_choice next = t->best;
    for (uint32_t m = products ? gx__wg_variants(t->gpu, t->key.field, family) : 1; m-- > 0;) {
        next.variant = (uint8_t)m;
        if (worth_trying(device, (enum gx_wgsl_mul)m))
            gx__gpu_consider(t, next);
    }
    if (device->adapter->base
            .software) /* no difference there, and drivers cache what they compiled */
        return;
    if (products) { /* slow to compile: two of them are enough */
        try_workgroups(t);
        try_each(t, 2);
    } else {
        try_each(t, WG_EACH_MAX);
        try_workgroups(t);
    }
}

/* Operations with several passes consist of products, or of little else, so they are built like
 * mul. On a software device compiling takes longer than tuning would save: the product of one field
 * is tried there, and decides for all. */
static bool borrow(struct gx_gpu *gpu, gx_field field, enum gx_shader_family family,
                   struct gx_choice *choice)
{
    bool software = wg_of_gpu(gpu)->adapter->base.software;
    gx_field from = software ? GX_BLS12_381_FR : field;
    enum gx_shader_family of = software || !gx__wgsl_elementwise(family) ? GX_SHADER_MUL : family;
    if (of == family && from == field)
        return false;
    struct gx_choice known = gx__gpu_choice(gpu, from, of);
    if (family != GX_SHADER_NTT && family != GX_SHADER_MSM_ADD)
        choice->workgroup = known.workgroup;
    choice->variant = known.variant;
    return true;
}

struct gx_choice gx__wg_tune(struct gx_gpu *gpu, gx_field field, enum gx_shader_family family)
{
    bool software = wg_of_gpu(gpu)->adapter->base.software;
    struct gx_tuning t = {.gpu = gpu,
                          .key = {.op = family == GX_SHADER_MUL ? GX_MUL : GX_ADD,
                                  .field = field,
                                  .repeat = software ? SOFTWARE_REPEAT : 0},
                          .n = software ? SOFTWARE_ELEMENTS : ELEMENTS,
                          .budget_ns = BUDGET_NS,
                          .at_least = TRIED_MIN,
                          .best = gx__gpu_guess(gpu, family)};
    return borrow(gpu, field, family, &t.best) ? t.best : gx__gpu_tune(&t, search);
}
