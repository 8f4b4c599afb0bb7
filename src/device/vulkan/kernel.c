/* SPDX-License-Identifier: Apache-2.0
 *
 * The modules for a family and field, and their workgroup sizes: what is available, and the order
 * in which it is tried.
 */
#include "device/vulkan/vulkan.h"

#define DEFAULT_WORKGROUP 128
#define MSM_WORKGROUP     64 /* what its shared memory is enough for everywhere */
/* Includes compiling, which is most of it. Choices not tried by then are not used. */
#define BUDGET_NS          400000000u
#define SOFTWARE_BUDGET_NS 120000000u
/* More than caches can hold. */
#define ELEMENTS          4194304u
#define SOFTWARE_ELEMENTS 2048u
#define NTT_LOG2          16u /* of transforms that are tried */

/* ---- modules ---- */

static bool usable(const struct vk_device *device, const struct gx_shader *shader)
{
    return !(shader->needs & ~device->meets);
}

uint32_t gx__vk_module(const struct vk_device *device, gx_field field, enum gx_shader_family family,
                       uint32_t variant)
{
    uint32_t i = 0;
    for (; i < gx__shader_count; i++)
        if (gx__shaders[i].field == field && gx__shaders[i].family == family &&
            usable(device, &gx__shaders[i]) && !variant--)
            break;
    return i;
}

uint32_t gx__vk_variants(const struct gx_gpu *gpu, gx_field field, enum gx_shader_family family)
{
    uint32_t n = 0;
    for (uint32_t i = 0; i < gx__shader_count; i++)
        n += gx__shaders[i].field == field && gx__shaders[i].family == family &&
             usable(vk_of_gpu(gpu), &gx__shaders[i]);
    return n;
}

static bool uses_int64(const struct gx_gpu *gpu, gx_field field, enum gx_shader_family family,
                       uint32_t variant)
{
    uint32_t module = gx__vk_module(vk_of_gpu(gpu), field, family, variant);
    return module < gx__shader_count && gx__shaders[module].needs & GX_SHADER_NEEDS_INT64;
}

const char *gx__vk_variant_name(const struct gx_gpu *gpu, gx_field field,
                                enum gx_shader_family family, uint32_t variant)
{
    uint32_t module = gx__vk_module(vk_of_gpu(gpu), field, family, variant);
    return module < gx__shader_count ? gx__shaders[module].variant : "none";
}

struct gx_choice gx__vk_guess(enum gx_shader_family family)
{
    bool msm = family == GX_SHADER_MSM_ADD;
    return (struct gx_choice){.workgroup = msm ? MSM_WORKGROUP : DEFAULT_WORKGROUP};
}

void gx__vk_facts(const struct gx_gpu *gpu, gx_field field, enum gx_shader_family family,
                  struct gx_choice choice, struct gx_pass_facts *facts)
{
    uint32_t module = gx__vk_module(vk_of_gpu(gpu), field, family, choice.variant);
    facts->each = module < gx__shader_count ? gx__shaders[module].each : 1;
    facts->direct = uses_int64(gpu, field, family, choice.variant) ? GX_INVERSE_DIRECT_INT64
                                                                   : GX_INVERSE_DIRECT_INT32;
}

/* ---- tuning ---- */

/* The first operation of the family. */
static struct gx_kernel_key example_of(gx_field field, enum gx_shader_family family)
{
    struct gx_kernel_key key = {.op = 1, .field = field};
    while (gx__op_family(key.op, field) != family)
        key.op++;
    key.param[GX_PARAM_LOG2_N] = key.param[GX_PARAM_LOG2_TABLE] = NTT_LOG2;
    return key;
}

static bool follows_products(enum gx_shader_family family)
{
    return family == GX_SHADER_INVERT_UP || family == GX_SHADER_DOT || family == GX_SHADER_NTT ||
           family == GX_SHADER_NTT_TABLE || family == GX_SHADER_SCAN || family == GX_SHADER_MSM_ADD;
}

/* Operations built from products use the kind of module that is fastest for products. Trying the
 * other kind takes seconds to compile on a GPU that is good at the first, and its spill memory
 * slowed the good one down by four from then on (H200). */
static bool worth_trying(struct gx_gpu *gpu, gx_field field, enum gx_shader_family family,
                         uint32_t variant)
{
    if (!follows_products(family))
        return true;
    uint32_t fastest = gx__gpu_choice(gpu, field, GX_SHADER_MUL).variant;
    return uses_int64(gpu, field, GX_SHADER_MUL, fastest) ==
           uses_int64(gpu, field, family, variant);
}

static void search(struct gx_tuning *t)
{
    static const uint16_t workgroups[] = {256, 128, 64, 32};
    gx_field field = t->key.field;
    enum gx_shader_family family = gx__op_family(t->key.op, field);
    uint32_t variants = gx__vk_variants(t->gpu, field, family), first = 0;
    while (first + 1 < variants && !worth_trying(t->gpu, field, family, first))
        first++;
    t->best.variant = (uint8_t)first;
    gx__gpu_consider(t, t->best);
    for (uint32_t v = first + 1; v < variants; v++) {
        struct gx_choice next = t->best;
        next.variant = (uint8_t)v;
        if (worth_trying(t->gpu, field, family, v))
            gx__gpu_consider(t, next);
    }
    if (family == GX_SHADER_NTT) /* its tiles and passes were measured with the guess */
        return;
    for (size_t i = 0; i < sizeof workgroups / sizeof *workgroups; i++) {
        struct gx_choice next = t->best;
        next.workgroup = workgroups[i];
        if (next.workgroup != t->best.workgroup)
            gx__gpu_consider(t, next);
    }
}

/* Operations on polynomials are built as guessed, because most of them wait for memory; and tables,
 * which are made once; and multi-scalar multiplications, whose kernels take seconds to compile. */
static struct gx_choice guess_variant(struct gx_gpu *gpu, gx_field field,
                                      enum gx_shader_family family)
{
    struct gx_choice choice = gx__gpu_guess(gpu, family);
    while (choice.variant + 1u < gx__vk_variants(gpu, field, family) &&
           !worth_trying(gpu, field, family, choice.variant))
        choice.variant++;
    return choice;
}

/* On a software device compiling takes longer than tuning would save: one cheap family is tried,
 * and determines the workgroup of all. Transforms are equally fast in all variants there, and the
 * last one compiles four times as fast as the first. */
static struct gx_choice borrow(const struct gx_gpu *gpu, gx_field field,
                               enum gx_shader_family family)
{
    uint16_t known = gpu->calibration.tuned[GX_BLS12_381_FR][GX_SHADER_LINEAR].workgroup;
    struct gx_choice choice = gx__gpu_guess(gpu, family);
    if (family == GX_SHADER_NTT || family == GX_SHADER_MSM_ADD)
        choice.variant = (uint8_t)(gx__vk_variants(gpu, field, family) - 1);
    else
        choice.workgroup = known ? known : choice.workgroup;
    return choice;
}

struct gx_choice gx__vk_tune(struct gx_gpu *gpu, gx_field field, enum gx_shader_family family)
{
    bool software = vk_of_gpu(gpu)->physical->base.software;
    if (software && (field != GX_BLS12_381_FR || family != GX_SHADER_LINEAR))
        return borrow(gpu, field, family);
    if (family == GX_SHADER_SCAN || family == GX_SHADER_PERMUTE || family == GX_SHADER_NTT_TABLE ||
        family == GX_SHADER_MSM_ADD)
        return guess_variant(gpu, field, family);
    if (follows_products(family)) /* not counted in its time */
        gx__gpu_choice(gpu, field, GX_SHADER_MUL);
    struct gx_tuning t = {.gpu = gpu,
                          .key = example_of(field, family),
                          .n = software ? SOFTWARE_ELEMENTS : ELEMENTS,
                          .budget_ns = software ? SOFTWARE_BUDGET_NS : BUDGET_NS,
                          .at_least = 1,
                          .best = gx__gpu_guess(gpu, family)};
    return gx__gpu_tune(&t, search);
}
