/* SPDX-License-Identifier: Apache-2.0
 *
 * Measurements that are made once and saved: the speed of a device, and how a family's kernels are
 * best built on it, tried on first use of the family, one way after the other and within a time
 * limit.
 */
#include "device/gpu/gpu.h"

#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/log.h"

#define CALIBRATION_AGE 6u /* incremented when struct gx_gpu_calibration or its meaning changes */
/* Each run takes milliseconds: after this time it never ends. */
#define HUNG_NS     60000000000u
#define SUBMITS     8
#define BOTH_COPIES 4u /* in each direction, one after the other */

#define RUNS    3          /* of one way to build it, or */
#define RUNS_NS 100000000u /* as many as fit into this time */
#define GAIN    0.97       /* a change must gain more than the noise */
/* If there is no room for the requested elements. */
#define ELEMENTS_MIN ((uint64_t)1 << 18)
/* The share of the memory, and of its budget, that one operand may take. */
#define MEMORY_PART 64u
#define BUDGET_PART 12u

/* ---- cache files ---- */

static void cache_name(const struct gx_gpu *gpu, const uint8_t key[GX_CACHE_KEY_BYTES],
                       const char *what, char *name, size_t size)
{
    uint64_t hash = 0xcbf29ce484222325u; /* FNV-1a; the file contains the whole key */
    for (size_t i = 0; i < GX_CACHE_KEY_BYTES; i++)
        hash = (hash ^ key[i]) * 0x100000001b3u;
    snprintf(name, size, "%s-%016llx.%s", gpu->base->ops->name, (unsigned long long)hash, what);
}

bool gx__gpu_cache_read(struct gx_gpu *gpu, const char *what, void **data, size_t *size)
{
    uint8_t key[GX_CACHE_KEY_BYTES];
    char name[64];
    gpu->ops->cache_key(gpu, key);
    cache_name(gpu, key, what, name, sizeof name);
    return gx__cache_read(gpu->base->instance, name, key, data, size);
}

void gx__gpu_cache_write(struct gx_gpu *gpu, const char *what, const void *data, size_t size)
{
    uint8_t key[GX_CACHE_KEY_BYTES];
    char name[64];
    gpu->ops->cache_key(gpu, key);
    cache_name(gpu, key, what, name, sizeof name);
    if (!gx__cache_write(gpu->base->instance, name, key, data, size))
        gx__log(gpu->base->instance, GX_LOG_INFO, "%s: cache file %s was not written",
                gpu->base->info.name, name);
}

/* ---- the calibration ---- */

/* The file may come from an older build of the same version: it is checked before it is used. */
static bool load(struct gx_gpu *gpu)
{
    struct gx_gpu_calibration found = {0}, *own = &gpu->calibration;
    void *data;
    size_t size;
    if (!gx__gpu_cache_read(gpu, "calibration", &data, &size))
        return false;
    bool ok = size == sizeof found;
    if (ok)
        memcpy(&found, data, sizeof found);
    gx__free(gx__gpu_allocator(gpu), data);
    ok = ok && found.age == own->age && found.kernels == own->kernels &&
         (!gpu->ops->believable || gpu->ops->believable(gpu, &found));
    if (ok)
        *own = found;
    return ok;
}

static void measure(struct gx_gpu *gpu)
{
    uint64_t start = gx__now_ns();
    gpu->calibration_changed = gpu->ops->measure(gpu) == GX_OK;
    gx__log(gpu->base->instance, GX_LOG_INFO, "%s: memory measured in %.1f ms",
            gpu->base->info.name, (double)(gx__now_ns() - start) / 1e6);
}

gx_status gx__gpu_calibrate(struct gx_gpu *gpu)
{
    struct gx_gpu_calibration *c = &gpu->calibration;
    struct gx_device_facts *facts = &gpu->base->facts;
    c->age = CALIBRATION_AGE;
    c->kernels = gpu->ops->kernels_hash();
    if (!load(gpu))
        measure(gpu);
    memcpy(facts->speed, c->speed, sizeof facts->speed);
    facts->submit_ns = c->submit_ns;
    facts->copy_both = c->copy_both;
    return gx__gpu_alive(gpu); /* if the device is too full to try it, use a guess */
}

void gx__gpu_calibration_save(struct gx_gpu *gpu)
{
    if (gpu->calibration_changed)
        gx__gpu_cache_write(gpu, "calibration", &gpu->calibration, sizeof gpu->calibration);
}

/* ---- running one command ---- */

static gx_status time_once(struct gx_device *device, struct gx_cmd *cmd, bool stamped, uint64_t *ns)
{
    struct gx_fence done;
    uint64_t start = gx__now_ns(), stamps[2];
    gx_status s = device->ops->submit(cmd, NULL, 0, &done);
    if (s == GX_OK)
        s = device->ops->wait(device, done, HUNG_NS);
    *ns = gx__now_ns() - start;
    if (s != GX_OK || !stamped)
        return s;
    s = device->ops->stamps(cmd, stamps, 2);
    if (s == GX_OK && stamps[1] > stamps[0])
        *ns = stamps[1] - stamps[0];
    return s;
}

gx_status gx__gpu_time(struct gx_gpu *gpu, struct gx_cmd *cmd, bool stamped, int runs, uint64_t *ns)
{
    gx_status s = GX_OK;
    uint64_t start = gx__now_ns();
    *ns = UINT64_MAX;
    for (int i = 0; i < runs && s == GX_OK; i++) {
        uint64_t now;
        if (i > 1 && gx__now_ns() - start > RUNS_NS)
            break;
        s = time_once(gpu->base, cmd, stamped, &now);
        *ns = s == GX_OK && now < *ns ? now : *ns;
    }
    return s;
}

/* One copy (dispatch NULL) or one dispatch (region NULL), by stamps if the device has them. */
static gx_status time_one(struct gx_gpu *gpu, enum gx_queue queue, const struct gx_region *region,
                          const struct gx_dispatch *dispatch, int runs, uint64_t *ns)
{
    const struct gx_device_ops *ops = gpu->base->ops;
    bool stamped = gpu->base->facts.timestamps;
    struct gx_cmd *cmd;
    gx_status s = ops->begin(gpu->base, queue, &cmd);
    if (s != GX_OK)
        return s;
    if (stamped)
        ops->stamp(cmd, 0);
    if (region)
        ops->copy(cmd, region, 1);
    else
        ops->dispatch(cmd, dispatch);
    if (stamped)
        ops->stamp(cmd, 1);
    s = gx__gpu_time(gpu, cmd, stamped, runs, ns);
    ops->recycle(cmd);
    return s;
}

gx_status gx__gpu_time_copy(struct gx_gpu *gpu, enum gx_queue queue, const struct gx_mem *from,
                            const struct gx_mem *to, size_t bytes, int runs, float *speed)
{
    const struct gx_region region = {.from = {from, 0}, .to = {to, 0}, .size = bytes};
    uint64_t ns;
    gx_status s = time_one(gpu, queue, &region, NULL, runs, &ns);
    if (s == GX_OK)
        *speed = gx__gbs(bytes, ns);
    return s;
}

gx_status gx__gpu_time_dispatch(struct gx_gpu *gpu, const struct gx_dispatch *dispatch,
                                size_t bytes, int runs, float *speed)
{
    uint64_t ns;
    gx_status s = time_one(gpu, GX_QUEUE_COMPUTE, NULL, dispatch, runs, &ns);
    if (s == GX_OK)
        *speed = gx__gbs(bytes, ns);
    return s;
}

static gx_status record_copies(struct gx_gpu *gpu, enum gx_queue queue,
                               const struct gx_region *region, struct gx_cmd **cmd)
{
    gx_status s = gpu->base->ops->begin(gpu->base, queue, cmd);
    for (uint32_t i = 0; i < BOTH_COPIES && s == GX_OK; i++)
        gpu->base->ops->copy(*cmd, region, 1);
    return s;
}

/* Two commands on two queues at once; *best is the least time. */
static gx_status run_both(struct gx_device *device, struct gx_cmd *in, struct gx_cmd *out,
                          uint64_t *best)
{
    struct gx_fence first, second;
    uint64_t start = gx__now_ns();
    gx_status s = device->ops->submit(in, NULL, 0, &first);
    if (s != GX_OK)
        return s;
    gx_status other = device->ops->submit(out, NULL, 0, &second);
    s = device->ops->wait(device, first, HUNG_NS);
    if (s == GX_OK && other == GX_OK)
        s = device->ops->wait(device, second, HUNG_NS);
    uint64_t took = gx__now_ns() - start;
    *best = took < *best ? took : *best;
    return s == GX_OK ? other : s;
}

gx_status gx__gpu_measure_both(struct gx_gpu *gpu, const struct gx_region *up,
                               const struct gx_region *down, int runs)
{
    struct gx_cmd *in = NULL, *out = NULL;
    uint64_t ns = UINT64_MAX;
    gx_status s = record_copies(gpu, GX_QUEUE_UPLOAD, up, &in);
    if (s == GX_OK)
        s = record_copies(gpu, GX_QUEUE_DOWNLOAD, down, &out);
    for (int i = 0; i < runs && s == GX_OK; i++)
        s = run_both(gpu->base, in, out, &ns);
    if (s == GX_OK)
        gpu->calibration.copy_both = gx__gbs(BOTH_COPIES * (up->size + down->size), ns);
    if (in)
        gpu->base->ops->recycle(in);
    if (out)
        gpu->base->ops->recycle(out);
    return s;
}

/* An empty command: the minimum cost of a small job. */
gx_status gx__gpu_measure_submit(struct gx_gpu *gpu)
{
    const struct gx_device_ops *ops = gpu->base->ops;
    struct gx_cmd *cmd;
    uint64_t ns;
    gx_status s = ops->begin(gpu->base, GX_QUEUE_COMPUTE, &cmd);
    if (s != GX_OK)
        return s;
    s = gx__gpu_time(gpu, cmd, false, SUBMITS, &ns);
    ops->recycle(cmd);
    if (s == GX_OK)
        gpu->calibration.submit_ns = (uint32_t)(ns < UINT32_MAX ? ns : UINT32_MAX);
    return s;
}

/* ---- tuning ---- */

static gx_status time_kernel(struct gx_tuning *t, const struct gx_kernel *kernel, uint64_t *ns)
{
    struct gx_dispatch d = {.kernel = *kernel, .n = t->n};
    d.bind[GX_BIND_A].mem = &t->a;
    d.bind[GX_BIND_B].mem = &t->b;
    d.bind[GX_BIND_OUT].mem = &t->out;
    d.bind[GX_BIND_TABLE].mem = &t->b;
    d.bind[GX_BIND_SCRATCH].mem = t->scratch.handle ? &t->scratch : NULL;
    return time_one(t->gpu, GX_QUEUE_COMPUTE, NULL, &d, RUNS, ns);
}

static gx_status get_memory(struct gx_tuning *t, size_t bytes, struct gx_mem *mem)
{
    return t->gpu->base->ops->mem_alloc(t->gpu->base, GX_MEM_DEVICE, bytes, mem);
}

static void give_back(struct gx_tuning *t, struct gx_mem *mem)
{
    if (mem->handle)
        t->gpu->base->ops->mem_free(t->gpu->base, mem);
}

/* Allocates more if this one needs more than those before. */
static gx_status get_scratch(struct gx_tuning *t, const struct gx_kernel *kernel)
{
    size_t bytes = gx__gpu_scratch(t->gpu->base, kernel, t->n);
    if (bytes <= t->scratch.size)
        return GX_OK;
    give_back(t, &t->scratch);
    return get_memory(t, bytes, &t->scratch);
}

void gx__gpu_consider(struct gx_tuning *t, struct gx_choice choice)
{
    struct gx_gpu_kernel *built = NULL;
    uint64_t ns = UINT64_MAX;
    if (choice.workgroup > t->gpu->limits.workgroup ||
        (t->tried >= t->at_least && gx__now_ns() > t->deadline))
        return;
    t->tried++;
    gx_status s = gx__gpu_build(t->gpu, &t->key, choice, &built);
    struct gx_kernel kernel = {.key = t->key, .impl = built};
    if (s == GX_OK)
        s = get_scratch(t, &kernel);
    if (s == GX_OK)
        s = time_kernel(t, &kernel, &ns);
    gx__free(gx__gpu_allocator(t->gpu), built);
    if (s != GX_OK || (t->best_ns != UINT64_MAX && (double)ns >= (double)t->best_ns * GAIN))
        return;
    t->best = choice;
    t->best_ns = ns;
}

static void limit_elements(struct gx_tuning *t)
{
    const struct gx_device *device = t->gpu->base;
    size_t element = gx__element_bytes(t->key.field);
    uint64_t most = t->gpu->limits.elements, memory = device->info.memory_bytes,
             budget = device->instance->config.device_memory;
    if (memory && memory / MEMORY_PART / element < most)
        most = memory / MEMORY_PART / element;
    if (budget && budget / BUDGET_PART / element < most)
        most = budget / BUDGET_PART / element;
    t->n = t->n < most ? t->n : most ? most : 1;
}

static void close_memory(struct gx_tuning *t)
{
    give_back(t, &t->a);
    give_back(t, &t->b);
    give_back(t, &t->out);
    give_back(t, &t->scratch);
}

/* No device reports reliably how much memory is free. */
static gx_status open_memory(struct gx_tuning *t)
{
    for (;; t->n /= 4) {
        size_t bytes = (size_t)t->n * gx__element_bytes(t->key.field);
        gx_status s = get_memory(t, bytes, &t->a);
        if (s == GX_OK)
            s = get_memory(t, bytes, &t->b);
        if (s == GX_OK)
            s = get_memory(t, bytes, &t->out);
        if (s != GX_ERR_OUT_OF_DEVICE_MEMORY || t->n <= ELEMENTS_MIN)
            return s;
        close_memory(t);
    }
}

struct gx_choice gx__gpu_tune(struct gx_tuning *t, void (*search)(struct gx_tuning *t))
{
    uint64_t start = gx__now_ns(), least = t->n < ELEMENTS_MIN ? t->n : ELEMENTS_MIN;
    t->best_ns = UINT64_MAX;
    t->deadline = start + t->budget_ns;
    limit_elements(t);
    /* Fewer say nothing, and the example of a transform has more. */
    if (t->n >= least && open_memory(t) == GX_OK && t->n >= least)
        search(t);
    close_memory(t);
    enum gx_shader_family family = gx__op_family(t->key.op, t->key.field);
    gx__log(t->gpu->base->instance, GX_LOG_INFO,
            "%s: %s %s tuned in %.1f ms: workgroup %u, %s, %u each", t->gpu->base->info.name,
            gx_field_get_info(t->key.field)->name, gx_op_get_info(t->key.op)->name,
            (double)(gx__now_ns() - start) / 1e6, t->best.workgroup,
            t->gpu->ops->variant_name(t->gpu, t->key.field, family, t->best.variant), t->best.each);
    return t->best;
}
