/* SPDX-License-Identifier: Apache-2.0
 *
 * How a family's kernels are built on this device: which module, how large a workgroup. Tried at
 * the first use of the family, one after the other and within a bound, and remembered in the
 * calibration.
 */
#include "device/vulkan/vulkan.h"

#include <stdio.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/log.h"

/* Compiling included, and that is most of it. What was not tried by then is not chosen. */
#define BUDGET_NS          400000000u
#define SOFTWARE_BUDGET_NS 120000000u
/* More than caches hold, and a small part of the memory. */
#define ELEMENTS          4194304u
#define MEMORY_PART       64u
#define SOFTWARE_ELEMENTS 2048u
/* A change must be worth more than the noise. */
#define GAIN 0.97

struct bench {
    struct vk_device *device;
    struct gx_kernel_key key;
    uint64_t n, deadline;
    struct gx_mem a, b, out, scratch;
};

/* The first operation of the family. */
static gx_op example_of(gx_field field, enum gx_shader_family family)
{
    gx_op op = 1;
    while (gx__op_family(op, field) != family)
        op++;
    return op;
}

static gx_status time_kernel(struct bench *bench, const struct vk_kernel *kernel, uint64_t *ns)
{
    struct vk_device *device = bench->device;
    struct gx_cmd *cmd;
    gx_status s = gx__vk_begin(device->base, GX_QUEUE_COMPUTE, &cmd);
    if (s != GX_OK)
        return s;
    struct gx_dispatch d = {.kernel = {.key = bench->key, .impl = kernel}, .n = bench->n};
    d.bind[GX_BIND_A].mem = &bench->a;
    d.bind[GX_BIND_B].mem = &bench->b;
    d.bind[GX_BIND_OUT].mem = &bench->out;
    d.bind[GX_BIND_SCRATCH].mem = bench->scratch.handle ? &bench->scratch : NULL;
    if (device->base->facts.timestamps)
        gx__vk_stamp(cmd, 0);
    gx__vk_dispatch(cmd, &d);
    if (device->base->facts.timestamps)
        gx__vk_stamp(cmd, 1);
    *ns = UINT64_MAX;
    for (int i = 0; i < 3 && s == GX_OK; i++) {
        uint64_t now;
        s = gx__vk_time(device, cmd, &now);
        *ns = s == GX_OK && now < *ns ? now : *ns;
    }
    gx__vk_recycle(cmd);
    return s;
}

/* More, if this one needs more than those before. */
static gx_status get_scratch(struct bench *bench, const struct vk_kernel *kernel)
{
    struct gx_device *base = bench->device->base;
    struct gx_kernel k = {.key = bench->key, .impl = kernel};
    size_t bytes = gx__vk_scratch(base, &k, bench->n);
    if (bytes <= bench->scratch.size)
        return GX_OK;
    gx__vk_mem_free(base, &bench->scratch);
    return gx__vk_mem_alloc(base, GX_MEM_DEVICE, bytes, &bench->scratch);
}

/* Time of the family's example built like this; UINT64_MAX where it cannot be. */
static uint64_t try(struct bench *bench, struct vk_choice choice)
{
    struct vk_kernel *kernel = NULL;
    uint64_t ns = UINT64_MAX;
    gx_status s = gx__vk_build(bench->device, &bench->key, choice, &kernel);
    if (s == GX_OK)
        s = get_scratch(bench, kernel);
    if (s == GX_OK)
        s = time_kernel(bench, kernel, &ns);
    gx__free(vk_allocator(bench->device), kernel);
    return s == GX_OK ? ns : UINT64_MAX;
}

/* Takes `choice` for *best if there is time to try it and it is faster. */
static void consider(struct bench *bench, struct vk_choice choice, struct vk_choice *best,
                     uint64_t *best_ns)
{
    if (gx__now_ns() > bench->deadline || choice.workgroup > bench->device->limits.workgroup)
        return;
    uint64_t ns = try(bench, choice);
    if (ns == UINT64_MAX || (double)ns >= (double)*best_ns * GAIN)
        return;
    *best = choice;
    *best_ns = ns;
}

/* What is made of products takes a module that is built like the fastest of these. Trying the
 * other kind takes seconds to compile on a GPU that is good at the one, and its need for memory
 * made the good one four times as slow from then on (H200). */
static bool is_like_products(struct bench *bench, enum gx_shader_family family, uint32_t variant)
{
    struct vk_device *device = bench->device;
    gx_field field = bench->key.field;
    uint32_t fastest = gx__vk_choice(device, field, GX_SHADER_MUL).variant;
    return !((gx__vk_needs(device, field, GX_SHADER_MUL, fastest) ^
              gx__vk_needs(device, field, family, variant)) &
             GX_SHADER_NEEDS_INT64);
}

static bool follows_products(enum gx_shader_family family)
{
    return family == GX_SHADER_INVERT_UP || family == GX_SHADER_DOT;
}

static struct vk_choice search(struct bench *bench, enum gx_shader_family family)
{
    static const uint16_t workgroups[] = {256, 128, 64, 32};
    struct vk_device *device = bench->device;
    struct vk_choice best = gx__vk_default_choice(device), next;
    bool follows = follows_products(family);
    uint32_t variants = gx__vk_variants(device, bench->key.field, family), first = 0;
    while (follows && first + 1 < variants && !is_like_products(bench, family, first))
        first++;
    best.variant = (uint8_t)first;
    uint64_t ns = try(bench, best);
    for (uint32_t v = first + 1; v < variants; v++) {
        next = best;
        next.variant = (uint8_t)v;
        if (!follows || is_like_products(bench, family, v))
            consider(bench, next, &best, &ns);
    }
    for (size_t i = 0; i < sizeof workgroups / sizeof *workgroups; i++) {
        next = best;
        next.workgroup = workgroups[i];
        if (next.workgroup != best.workgroup)
            consider(bench, next, &best, &ns);
    }
    return best;
}

static gx_status open_bench(struct bench *bench)
{
    struct gx_device *base = bench->device->base;
    size_t bytes = (size_t)bench->n * gx__element_bytes(bench->key.field);
    gx_status s = gx__vk_mem_alloc(base, GX_MEM_DEVICE, bytes, &bench->a);
    if (s == GX_OK)
        s = gx__vk_mem_alloc(base, GX_MEM_DEVICE, bytes, &bench->b);
    return s == GX_OK ? gx__vk_mem_alloc(base, GX_MEM_DEVICE, bytes, &bench->out) : s;
}

static void close_bench(struct bench *bench)
{
    struct gx_mem *const mems[] = {&bench->a, &bench->b, &bench->out, &bench->scratch};
    for (size_t i = 0; i < sizeof mems / sizeof *mems; i++)
        if (mems[i]->handle)
            gx__vk_mem_free(bench->device->base, mems[i]);
}

/* A software device compiles for longer than anything it is tuned for would save: one
 * cheap family is tried, and tells the workgroup of all. */
static bool borrow(const struct vk_device *device, gx_field field, enum gx_shader_family family,
                   struct vk_choice *choice)
{
    if (!device->physical->software || (field == GX_BLS12_381_FR && family == GX_SHADER_LINEAR))
        return false;
    uint16_t known = device->calibration.tuned[GX_BLS12_381_FR][GX_SHADER_LINEAR].workgroup;
    *choice = gx__vk_default_choice(device);
    choice->workgroup = known ? known : choice->workgroup;
    return true;
}

struct vk_choice gx__vk_tune(struct vk_device *device, gx_field field, enum gx_shader_family family)
{
    bool software = device->physical->software;
    uint64_t most = device->limits.elements, start = gx__now_ns();
    struct bench bench = {.device = device,
                          .key = {.op = example_of(field, family), .field = field},
                          .n = software ? SOFTWARE_ELEMENTS : ELEMENTS};
    uint64_t fits = device->base->info.memory_bytes / MEMORY_PART / gx__element_bytes(field);
    most = fits && fits < most ? fits : most;
    bench.n = bench.n < most ? bench.n : most;
    struct vk_choice best = gx__vk_default_choice(device);
    if (borrow(device, field, family, &best))
        return best;
    if (follows_products(family)) /* not on its time */
        gx__vk_choice(device, field, GX_SHADER_MUL);
    bench.deadline = gx__now_ns() + (software ? SOFTWARE_BUDGET_NS : BUDGET_NS);
    if (open_bench(&bench) == GX_OK)
        best = search(&bench, family);
    close_bench(&bench);
    gx__log(device->base->instance, GX_LOG_INFO,
            "%s: %s %s tuned in %.1f ms: workgroup %u, variant %u", device->base->info.name,
            gx_field_get_info(field)->name, gx_op_get_info(example_of(field, family))->name,
            (double)(gx__now_ns() - start) / 1e6, best.workgroup, best.variant);
    return best;
}
