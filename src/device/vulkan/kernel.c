/* SPDX-License-Identifier: Apache-2.0
 *
 * Public operations as pipelines: which module does what for which field, and the table
 * of those that were asked for.
 */
#include "device/vulkan/vulkan.h"

#include "base/alloc.h"

#define DEFAULT_WORKGROUP 128
/* The copy kernel's best on an H200. A roof is built, not tuned: in the same way every time. */
#define COPY_WORKGROUP 512

/* ---- modules ---- */

static bool usable(const struct vk_device *device, const struct gx_shader *shader)
{
    return !(shader->needs & ~device->meets);
}

/* The variant-th module for a field and family, or gx__shader_count. */
static uint32_t find_module(const struct vk_device *device, gx_field field,
                            enum gx_shader_family family, uint32_t variant)
{
    uint32_t i = 0;
    for (; i < gx__shader_count; i++)
        if (gx__shaders[i].field == field && gx__shaders[i].family == family &&
            usable(device, &gx__shaders[i]) && !variant--)
            break;
    return i;
}

uint32_t gx__vk_needs(const struct vk_device *device, gx_field field, enum gx_shader_family family,
                      uint32_t variant)
{
    uint32_t module = find_module(device, field, family, variant);
    return module < gx__shader_count ? gx__shaders[module].needs : 0;
}

uint32_t gx__vk_variants(const struct vk_device *device, gx_field field,
                         enum gx_shader_family family)
{
    uint32_t n = 0;
    while (find_module(device, field, family, n) < gx__shader_count)
        n++;
    return n;
}

/* ---- building ---- */

struct vk_choice gx__vk_default_choice(const struct vk_device *device)
{
    uint32_t most = device->limits.workgroup;
    return (struct vk_choice){.workgroup =
                                  (uint16_t)(most < DEFAULT_WORKGROUP ? most : DEFAULT_WORKGROUP)};
}

/* The module of a family that the choice means; a family of fewer takes its last. */
static uint32_t choose_module(const struct vk_device *device, gx_field field,
                              enum gx_shader_family family, uint32_t variant)
{
    uint32_t variants = gx__vk_variants(device, field, family);
    return variants
               ? find_module(device, field, family, variant < variants ? variant : variants - 1)
               : (uint32_t)gx__shader_count;
}

/* Only the first pass of an elementwise operation has key.repeat: others do not repeat. */
gx_status gx__vk_pass_pipeline(struct vk_device *device, const struct vk_kernel *kernel,
                               const struct gx_pass *pass, VkPipeline *pipeline)
{
    struct vk_pipeline_key key = {
        .module = choose_module(device, kernel->key.field, pass->family, kernel->choice.variant),
        .workgroup = kernel->choice.workgroup,
        .op = (uint32_t)pass->op,
        .check = pass->check && kernel->key.check,
        .repeat = kernel->key.repeat};
    return key.module < gx__shader_count ? gx__vk_pipeline(device, &key, pipeline)
                                         : GX_ERR_UNSUPPORTED;
}

static struct gx_pass_facts facts_of(const struct gx_shader *module, struct vk_choice choice)
{
    bool int64 = module->needs & GX_SHADER_NEEDS_INT64;
    return (struct gx_pass_facts){.each = module->each,
                                  .workgroup = choice.workgroup,
                                  .direct =
                                      int64 ? GX_INVERSE_DIRECT_INT64 : GX_INVERSE_DIRECT_INT32};
}

gx_status gx__vk_build(struct vk_device *device, const struct gx_kernel_key *key,
                       struct vk_choice choice, struct vk_kernel **out)
{
    enum gx_shader_family family = gx__op_family(key->op, key->field);
    uint32_t module = choose_module(device, key->field, family, choice.variant);
    if (module == gx__shader_count)
        return GX_ERR_UNSUPPORTED;
    struct vk_kernel *kernel = gx__alloc(vk_allocator(device), sizeof *kernel);
    if (!kernel)
        return GX_ERR_OUT_OF_MEMORY;
    kernel->key = *key;
    kernel->choice = choice;
    kernel->facts = facts_of(&gx__shaders[module], choice);
    kernel->unit = family == GX_SHADER_WORDS ? 4 : 16;
    gx_status s = GX_OK;
    if (family != GX_SHADER_INVERT_UP)
        s = gx__vk_pass_pipeline(device, kernel,
                                 &(struct gx_pass){.family = family, .op = key->op, .check = true},
                                 &kernel->first);
    if (s == GX_OK)
        *out = kernel;
    else
        gx__free(vk_allocator(device), kernel);
    return s;
}

/* ---- the table ---- */

static bool exists(const struct gx_kernel_key *key)
{
    if (key->op == GX_OP_COPY || key->op == GX_OP_ROOF)
        return !key->field && !key->repeat;
    if (key->repeat && gx__op_family(key->op, key->field) != GX_SHADER_MUL)
        return false;
    return key->op == GX_OP_CHECK || gx_op_exists(key->op, key->field);
}

/* Where kernels of a key are listed; NULL: nowhere. */
static struct vk_kernel *_Atomic *place(struct vk_device *device, const struct gx_kernel_key *key)
{
    size_t slot = gx__op_slot(key->op);
    if (key->field >= GX_FIELD_END || slot >= GX_OP_SLOTS)
        return NULL;
    return &device->kernels[key->field][slot][key->check != 0];
}

static struct vk_kernel *find(struct vk_kernel *_Atomic *at, const struct gx_kernel_key *key)
{
    struct vk_kernel *k = at ? atomic_load_explicit(at, memory_order_acquire) : NULL;
    while (k && k->key.repeat != key->repeat)
        k = k->next;
    return k;
}

static struct vk_choice roof_choice(const struct vk_device *device, gx_op op)
{
    struct vk_choice choice = gx__vk_default_choice(device);
    if (op == GX_OP_COPY && device->limits.workgroup >= COPY_WORKGROUP)
        choice.workgroup = COPY_WORKGROUP;
    return choice;
}

struct vk_choice gx__vk_choice(struct vk_device *device, gx_field field,
                               enum gx_shader_family family)
{
    struct vk_choice *choice = &device->calibration.tuned[field][family];
    if (!choice->workgroup || choice->workgroup > device->limits.workgroup ||
        choice->variant >= gx__vk_variants(device, field, family)) {
        *choice = gx__vk_tune(device, field, family);
        device->calibration_changed = true;
    }
    return *choice;
}

static gx_status build_best(struct vk_device *device, const struct gx_kernel_key *key,
                            struct vk_kernel **kernel)
{
    enum gx_shader_family family = gx__op_family(key->op, key->field);
    if (find_module(device, key->field, family, 0) == gx__shader_count)
        return GX_ERR_UNSUPPORTED;
    if (!key->field)
        return gx__vk_build(device, key, roof_choice(device, key->op), kernel);
    return gx__vk_build(device, key, gx__vk_choice(device, key->field, family), kernel);
}

static gx_status add_kernel(struct vk_device *device, const struct gx_kernel_key *key,
                            struct vk_kernel *_Atomic *at, struct vk_kernel **kernel)
{
    gx_status s = GX_OK;
    pthread_mutex_lock(&device->kernel_lock);
    *kernel = find(at, key); /* another thread was faster */
    if (!*kernel) {
        s = build_best(device, key, kernel);
        if (s == GX_OK) {
            (*kernel)->next = *at;
            atomic_store_explicit(at, *kernel, memory_order_release);
        }
    }
    pthread_mutex_unlock(&device->kernel_lock);
    return s;
}

gx_status gx__vk_kernel(struct gx_device *base, const struct gx_kernel_key *key,
                        struct gx_kernel *kernel)
{
    struct vk_device *device = vk_of(base);
    gx_status s = gx__vk_alive(device);
    if (s != GX_OK)
        return s;
    struct vk_kernel *_Atomic *at = place(device, key);
    struct vk_kernel *known = find(at, key);
    if (!known)
        s = at && exists(key) ? add_kernel(device, key, at, &known) : GX_ERR_UNSUPPORTED;
    if (s == GX_OK)
        *kernel = (struct gx_kernel){.key = *key, .impl = known};
    return s;
}

void gx__vk_kernels_close(struct vk_device *device)
{
    for (size_t f = 0; f < GX_FIELD_END; f++)
        for (size_t op = 0; op < GX_OP_SLOTS; op++)
            for (size_t check = 0; check < 2; check++)
                for (struct vk_kernel *k = device->kernels[f][op][check], *next; k; k = next) {
                    next = k->next;
                    gx__free(vk_allocator(device), k);
                }
}

size_t gx__vk_scratch(struct gx_device *base, const struct gx_kernel *kernel, uint64_t n)
{
    (void)base;
    const struct vk_kernel *k = kernel->impl;
    struct gx_passes passes;
    gx__passes(&kernel->key, n, &k->facts, &passes);
    return (size_t)passes.scratch_quads * 16;
}

uint32_t gx__vk_workers(struct gx_device *base, const struct gx_kernel *kernel, uint64_t n)
{
    (void)base;
    (void)kernel;
    (void)n;
    return 0;
}
