/* SPDX-License-Identifier: Apache-2.0
 *
 * How a family's kernels are built on this device: how products are made, how many elements an
 * invocation takes, how large a workgroup. Tried at the first use of the family, within a bound,
 * and remembered in the calibration.
 */
#include "device/webgpu/webgpu.h"

#include "base/alloc.h"
#include "base/clock.h"
#include "base/log.h"

#define BUDGET_NS         1500000000u         /* most of it is compiling */
#define ELEMENTS          ((uint64_t)1 << 22) /* more than caches hold */
#define ELEMENTS_MIN      ((uint64_t)1 << 18) /* where there is no room for these */
#define SOFTWARE_ELEMENTS 1024u
#define SOFTWARE_REPEAT   16u        /* of products: so few elements are over too soon */
#define GAIN              0.98       /* less is noise */
#define RUNS              3          /* of one way to build it, or */
#define RUNS_NS           100000000u /* what fits into this */

/* However long these take: one alone is not a choice. */
#define TRIED_MIN 2u
/* The part of a budget of device memory that may be used, by operands and results. */
#define BUDGET_PART 4u

struct bench {
    struct wg_device *device;
    struct gx_kernel_key key;
    uint64_t n, deadline;
    unsigned tried;
    struct gx_mem a, b, out;
};

static gx_status time_kernel(struct bench *bench, const struct wg_kernel *kernel, uint64_t *ns)
{
    struct gx_cmd *cmd;
    gx_status s = gx__wg_begin(bench->device->base, GX_QUEUE_COMPUTE, &cmd);
    if (s != GX_OK)
        return s;
    struct gx_dispatch d = {.kernel = {.key = bench->key, .impl = kernel}, .n = bench->n};
    d.bind[GX_BIND_A].mem = &bench->a;
    d.bind[GX_BIND_B].mem = &bench->b;
    d.bind[GX_BIND_OUT].mem = &bench->out;
    bool stamps = bench->device->base->facts.timestamps;
    if (stamps) /* else the submit is timed as well */
        gx__wg_stamp(cmd, 0);
    gx__wg_dispatch(cmd, &d);
    if (stamps)
        gx__wg_stamp(cmd, 1);
    uint64_t start = gx__now_ns();
    *ns = UINT64_MAX;
    for (int i = 0; i < RUNS && s == GX_OK; i++) { /* the first one may also compile */
        uint64_t now;
        if (i > 1 && gx__now_ns() - start > RUNS_NS)
            break;
        s = gx__wg_time(bench->device, cmd, &now);
        *ns = s == GX_OK && now < *ns ? now : *ns;
    }
    gx__wg_recycle(cmd);
    return s;
}

/* Takes `choice` for *best if there is time to try it and it is faster. */
static void consider(struct bench *bench, struct wg_choice choice, struct wg_choice *best,
                     uint64_t *best_ns)
{
    struct wg_kernel *kernel = NULL;
    uint64_t ns = UINT64_MAX;
    if (bench->tried >= TRIED_MIN && gx__now_ns() > bench->deadline)
        return;
    bench->tried++;
    gx_status s = gx__wg_build(bench->device, &bench->key, choice, &kernel);
    if (s == GX_OK)
        s = time_kernel(bench, kernel, &ns);
    gx__free(wg_allocator(bench->device), kernel);
    if (s != GX_OK || (*best_ns != UINT64_MAX && (double)ns >= (double)*best_ns * GAIN))
        return;
    *best = choice;
    *best_ns = ns;
}

/* Columns are without loops: software devices compile them for seconds. */
static bool worth_trying(const struct wg_device *device, enum gx_wgsl_mul mul)
{
    if (mul == GX_WGSL_COLUMNS && device->adapter->software)
        return false;
    return !gx__wgsl_needs_int64(mul) || device->adapter->wide;
}

static void try_each(struct bench *bench, uint8_t most, struct wg_choice *best, uint64_t *ns)
{
    for (uint8_t each = 1; each <= most; each = (uint8_t)(2 * each)) {
        struct wg_choice next = *best;
        next.each = each;
        if (next.each != best->each)
            consider(bench, next, best, ns);
    }
}

static void try_workgroups(struct bench *bench, struct wg_choice *best, uint64_t *ns)
{
    static const uint16_t workgroups[] = {128, 256, 32};
    const WGPULimits *limits = &bench->device->adapter->limits;
    for (size_t i = 0; i < sizeof workgroups / sizeof *workgroups; i++) {
        struct wg_choice next = *best;
        next.workgroup = workgroups[i];
        if (workgroups[i] <= limits->maxComputeInvocationsPerWorkgroup &&
            workgroups[i] <= limits->maxComputeWorkgroupSizeX)
            consider(bench, next, best, ns);
    }
}

/* First what is most likely to be best: the time may be over before the rest. */
static struct wg_choice search(struct bench *bench, enum gx_shader_family family)
{
    struct wg_device *device = bench->device;
    struct wg_choice best = gx__wg_default_choice(device, family), next = best;
    uint64_t ns = UINT64_MAX;
    bool products = family == GX_SHADER_MUL;
    for (int m = products ? GX_WGSL_MULS : 1; m-- > 0;) {
        next.mul = (uint8_t)m;
        if (worth_trying(device, (enum gx_wgsl_mul)m))
            consider(bench, next, &best, &ns);
    }
    if (device->adapter->software) /* all the same to it, and drivers keep what they compiled */
        return best;
    if (products) { /* long to compile: two of them are enough */
        try_workgroups(bench, &best, &ns);
        try_each(bench, 2, &best, &ns);
    } else {
        try_each(bench, WG_EACH_MAX, &best, &ns);
        try_workgroups(bench, &best, &ns);
    }
    return best;
}

static gx_status get_memory(struct bench *bench)
{
    struct gx_device *base = bench->device->base;
    size_t bytes = (size_t)bench->n * gx__element_bytes(bench->key.field);
    gx_status s = gx__wg_mem_alloc(base, GX_MEM_DEVICE, bytes, &bench->a);
    if (s == GX_OK)
        s = gx__wg_mem_alloc(base, GX_MEM_DEVICE, bytes, &bench->b);
    return s == GX_OK ? gx__wg_mem_alloc(base, GX_MEM_DEVICE, bytes, &bench->out) : s;
}

static void close_bench(struct bench *bench)
{
    struct gx_mem *const mems[] = {&bench->a, &bench->b, &bench->out};
    for (size_t i = 0; i < sizeof mems / sizeof *mems; i++)
        if (mems[i]->handle)
            gx__wg_mem_free(bench->device->base, mems[i]);
}

/* How much memory there is, WebGPU does not say. */
static gx_status open_bench(struct bench *bench)
{
    gx_status s = get_memory(bench);
    while (s == GX_ERR_OUT_OF_DEVICE_MEMORY && bench->n > ELEMENTS_MIN) {
        close_bench(bench);
        bench->n /= 4;
        s = get_memory(bench);
    }
    return s;
}

/* What takes several passes is made of products, or of little, so that it is built as mul is. A
 * software device compiles for longer than anything it is tuned for would save: the product of
 * one field is tried there, and tells for all. */
static bool borrow(struct wg_device *device, gx_field field, enum gx_shader_family family,
                   struct wg_choice *choice)
{
    bool software = device->adapter->software;
    gx_field from = software ? GX_BLS12_381_FR : field;
    enum gx_shader_family of = software || !gx__wgsl_elementwise(family) ? GX_SHADER_MUL : family;
    struct wg_choice *known = &device->calibration.tuned[from][of];
    if (of == family && from == field)
        return false;
    if (!known->workgroup)
        *known = gx__wg_tune(device, from, of);
    *choice = gx__wg_default_choice(device, family);
    choice->workgroup = known->workgroup;
    choice->mul = known->mul;
    return true;
}

struct wg_choice gx__wg_tune(struct wg_device *device, gx_field field, enum gx_shader_family family)
{
    bool software = device->adapter->software;
    struct wg_choice best = gx__wg_default_choice(device, family);
    if (family == GX_SHADER_COPY || borrow(device, field, family, &best))
        return best;
    uint64_t start = gx__now_ns();
    struct bench bench = {.device = device,
                          .key = {.op = family == GX_SHADER_MUL ? GX_MUL : GX_ADD,
                                  .field = field,
                                  .repeat = software ? SOFTWARE_REPEAT : 0},
                          .n = software ? SOFTWARE_ELEMENTS : ELEMENTS,
                          .deadline = start + BUDGET_NS};
    bench.n = bench.n < device->elements ? bench.n : device->elements;
    uint64_t budget = device->base->instance->config.device_memory,
             fits = budget / BUDGET_PART / (3 * gx__element_bytes(field));
    if (budget && bench.n > fits)
        bench.n = fits > 1 ? fits : 1;
    if (open_bench(&bench) == GX_OK)
        best = search(&bench, family);
    close_bench(&bench);
    gx__log(device->base->instance, GX_LOG_INFO,
            "%s: %s %s tuned in %.1f ms: workgroup %u, %u each, %s", device->base->info.name,
            gx_field_get_info(field)->name, gx_op_get_info(bench.key.op)->name,
            (double)(gx__now_ns() - start) / 1e6, best.workgroup, best.each,
            gx__wgsl_mul_names[best.mul]);
    return best;
}
