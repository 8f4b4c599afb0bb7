/* SPDX-License-Identifier: Apache-2.0
 *
 * Chooses the best memory type for each purpose. Flags are not enough (memory visible to host and
 * device may be a hundred times slower to read than plain host memory), so every type is measured
 * once, and the result is saved with the calibration.
 */
#include "device/vulkan/vulkan.h"

#include <string.h>

#include "base/alloc.h"
#include "base/clock.h"

/* Total time; types not measured by then keep the guess from their flags. */
#define BUDGET_NS 120000000u

#define MIB         ((size_t)1 << 20)
#define FIRST_BYTES ((size_t)64 << 10) /* a slow read is recognised after this */
#define SLOW_GBS    0.5f
#define RUNS        2 /* the better one counts */
#define THREADS     8 /* threads that copy to and from staging memory, about as many as in exec/ */
#define FIELD       GX_BLS12_381_FR /* 32-byte elements, accessed as kernels do */

/* Heaps smaller than both are windows onto a larger one: too small to work in. */
#define SMALL_HEAP       ((VkDeviceSize)1 << 30)
#define SMALL_HEAP_SHARE 8

struct probe {
    struct vk_device *device;
    uint64_t deadline;
    size_t bytes;        /* of memory for copies and of the host's */
    size_t device_bytes; /* of device memory, more than its caches hold */
    char *host;          /* ordinary memory of `bytes` */
    struct {
        float write, read;
    } spread[VK_MAX_MEMORY_TYPES]; /* GB/s of THREADS host threads together */
    struct gx_mem in_device, out_device;
    struct gx_kernel kernel;
    struct gx_gpu_kernel *storage;
};

static bool late(const struct probe *p)
{
    return gx__now_ns() > p->deadline;
}

/* ---- running one command ---- */

static gx_status time_copy(struct probe *p, enum gx_queue queue, const struct gx_mem *from,
                           const struct gx_mem *to, float *speed)
{
    return gx__gpu_time_copy(&p->device->gpu, queue, from, to, p->bytes, RUNS, speed);
}

/* out = a + b with a broadcast b: reads `bytes` of a, writes as many. */
static gx_status time_kernel(struct probe *p, const struct gx_mem *a, const struct gx_mem *out,
                             size_t bytes, float *speed)
{
    struct gx_dispatch d = {.kernel = p->kernel, .n = bytes / gx__element_bytes(FIELD)};
    uint64_t most = p->device->gpu.base->facts.dispatch_elems;
    d.n = d.n < most ? d.n : most;
    d.bind[GX_BIND_A].mem = a;
    d.bind[GX_BIND_B].mem = &p->device->gpu.nothing;
    d.bind[GX_BIND_OUT].mem = out;
    return gx__gpu_time_dispatch(&p->device->gpu, &d, (size_t)d.n * gx__element_bytes(FIELD), RUNS,
                                 speed);
}

/* ---- one type ---- */

static float time_memcpy(void *to, const void *from, size_t bytes)
{
    uint64_t start = gx__now_ns();
    memcpy(to, from, bytes);
    __asm__ volatile("" : : "r"(to) : "memory");
    return gx__gbs(bytes, gx__now_ns() - start);
}

struct spread {
    char *to;
    const char *from;
    size_t part; /* bytes of each */
};

static void copy_part(void *user, size_t i, uint32_t worker)
{
    (void)worker;
    const struct spread *s = user;
    memcpy(s->to + i * s->part, s->from + i * s->part, s->part);
}

/* With several threads: this does not speed up memory behind a bus, but does speed up host
 * memory. */
static float time_spread(struct probe *p, void *to, const void *from)
{
    struct spread spread = {.to = to, .from = from, .part = p->bytes / THREADS};
    uint64_t best = UINT64_MAX;
    for (int round = 0; round < 2; round++) { /* the first one also starts the threads */
        uint64_t start = gx__now_ns();
        gx__threads_run(p->device->gpu.base->instance, GX_THREADS_COPY, THREADS, THREADS, copy_part,
                        &spread);
        uint64_t ns = gx__now_ns() - start;
        best = ns < best ? ns : best;
    }
    return gx__gbs(spread.part * THREADS, best);
}

static void measure_host(struct probe *p, uint32_t type, const struct gx_mem *mem,
                         struct gx_mem_speed *speed)
{
    time_memcpy(mem->host, p->host, p->bytes); /* page faults and the like */
    speed->host_write = time_memcpy(mem->host, p->host, p->bytes);
    speed->host_read = time_memcpy(p->host, mem->host, FIRST_BYTES);
    p->spread[type].write = time_spread(p, mem->host, p->host);
    p->spread[type].read = speed->host_read;
    if (speed->host_read <= SLOW_GBS)
        return;
    speed->host_read = time_memcpy(p->host, mem->host, p->bytes);
    p->spread[type].read = time_spread(p, p->host, mem->host);
}

/* Kernels on the type alone if it is device memory, otherwise against device memory. */
static gx_status measure_kernels(struct probe *p, const struct gx_mem *mem, bool local,
                                 struct gx_mem_speed *speed)
{
    if (local) {
        gx_status s = time_kernel(p, &p->in_device, mem, mem->size, &speed->kernel_read);
        speed->kernel_read *= 2; /* both directions at once, over the same link */
        speed->kernel_write = speed->kernel_read;
        return s;
    }
    gx_status s = time_kernel(p, mem, &p->out_device, mem->size, &speed->kernel_read);
    return s == GX_OK ? time_kernel(p, &p->in_device, mem, mem->size, &speed->kernel_write) : s;
}

static gx_status measure_type(struct probe *p, uint32_t type, struct gx_mem_speed *speed)
{
    VkMemoryPropertyFlags flags = gx__vk_type_flags(p->device, type);
    bool visible = flags & VK_MEMORY_PROPERTY_HOST_VISIBLE_BIT;
    bool local = flags & VK_MEMORY_PROPERTY_DEVICE_LOCAL_BIT;
    struct gx_mem mem;
    gx_status s = gx__vk_alloc_type(p->device, type, GX_MEM_SHARED,
                                    visible ? p->bytes : p->device_bytes, &mem);
    if (s != GX_OK)
        return s;
    if (visible)
        measure_host(p, type, &mem, speed);
    s = measure_kernels(p, &mem, local, speed);
    if (s == GX_OK)
        s = time_copy(p, GX_QUEUE_UPLOAD, &mem, &p->out_device, &speed->copy_in);
    if (s == GX_OK)
        s = time_copy(p, GX_QUEUE_DOWNLOAD, &p->in_device, &mem, &speed->copy_out);
    gx__vk_mem_free(p->device->gpu.base, &mem);
    return s;
}

/* ---- both directions ---- */

/* Between the memory type chosen for it and device memory. */
static gx_status measure_both(struct probe *p)
{
    const uint32_t apart = GX_QUEUE_BIT(GX_QUEUE_UPLOAD) | GX_QUEUE_BIT(GX_QUEUE_DOWNLOAD);
    struct gx_device *base = p->device->gpu.base;
    struct gx_mem up = {0}, down = {0};
    if ((base->facts.queues & apart) != apart)
        return GX_OK;
    gx_status s = gx__vk_mem_alloc(base, GX_MEM_UPLOAD, p->bytes, &up);
    if (s == GX_OK)
        s = gx__vk_mem_alloc(base, GX_MEM_READBACK, p->bytes, &down);
    if (s == GX_OK)
        s = gx__gpu_measure_both(
            &p->device->gpu, &(struct gx_region){{&up, 0}, {&p->out_device, 0}, .size = p->bytes},
            &(struct gx_region){{&p->in_device, 0}, {&down, 0}, .size = p->bytes}, RUNS);
    if (up.handle)
        gx__vk_mem_free(base, &up);
    if (down.handle)
        gx__vk_mem_free(base, &down);
    return s;
}

/* ---- choosing ---- */

static float seconds_per_gb(float speed)
{
    return speed > 0 ? 1 / speed : 1e9f;
}

/* Total cost per byte if a kind uses this type. Several threads make large copies; shared memory is
 * used for small ones. */
static float cost(const struct probe *p, enum gx_mem_kind kind, const struct gx_mem_speed *speeds,
                  uint32_t type)
{
    const struct gx_mem_speed *s = &speeds[type];
    switch (kind) {
    case GX_MEM_DEVICE:
        return seconds_per_gb(s->kernel_read) + seconds_per_gb(s->kernel_write);
    case GX_MEM_UPLOAD:
        return seconds_per_gb(p->spread[type].write) + seconds_per_gb(s->copy_in);
    case GX_MEM_READBACK:
        return seconds_per_gb(s->copy_out) + seconds_per_gb(p->spread[type].read);
    default:
        return seconds_per_gb(s->host_write) + seconds_per_gb(s->kernel_read) +
               seconds_per_gb(s->kernel_write) + seconds_per_gb(s->host_read);
    }
}

static bool window(const struct vk_device *device, uint32_t type)
{
    VkDeviceSize own = device->memory.memoryHeaps[device->memory.memoryTypes[type].heapIndex].size;
    VkDeviceSize largest = 0;
    for (uint32_t i = 0; i < device->memory.memoryHeapCount; i++)
        largest = device->memory.memoryHeaps[i].size > largest ? device->memory.memoryHeaps[i].size
                                                               : largest;
    return own < SMALL_HEAP && own < largest / SMALL_HEAP_SHARE;
}

/* The same memory under a second index, which some drivers have. */
static bool seen_before(const struct vk_device *device, uint32_t type)
{
    const VkMemoryType *types = device->memory.memoryTypes;
    for (uint32_t i = 0; i < type; i++)
        if (device->buffer_types >> i & 1 && types[i].propertyFlags == types[type].propertyFlags &&
            types[i].heapIndex == types[type].heapIndex)
            return true;
    return false;
}

static bool worth_trying(const struct vk_device *device, uint32_t type)
{
    VkMemoryPropertyFlags useful =
        VK_MEMORY_PROPERTY_DEVICE_LOCAL_BIT | VK_MEMORY_PROPERTY_HOST_VISIBLE_BIT;
    return device->buffer_types >> type & 1 && gx__vk_type_flags(device, type) & useful &&
           !seen_before(device, type) && !window(device, type);
}

/* Takes the cheapest measured type. For DEVICE, noise must not replace memory invisible to the host
 * with the scarcer visible one. */
static void choose(const struct probe *p, enum gx_mem_kind kind, uint32_t measured,
                   const struct gx_mem_speed *speeds)
{
    struct vk_device *device = p->device;
    uint32_t guess = device->gpu.calibration.type_of[kind], best = guess;
    float margin = kind == GX_MEM_DEVICE ? 0.8f : 1;
    float least = measured >> guess & 1 ? cost(p, kind, speeds, guess) * margin : 1e18f;
    for (uint32_t i = 0; i < device->memory.memoryTypeCount; i++) {
        bool fits = kind == GX_MEM_DEVICE ||
                    gx__vk_type_flags(device, i) & VK_MEMORY_PROPERTY_HOST_VISIBLE_BIT;
        if (measured >> i & 1 && fits && cost(p, kind, speeds, i) < least) {
            least = cost(p, kind, speeds, i);
            best = i;
        }
    }
    device->gpu.calibration.type_of[kind] = best;
    device->gpu.calibration.speed[kind] = speeds[best];
}

/* ---- all ---- */

static gx_status open_probe(struct probe *p)
{
    struct gx_kernel_key key = {.op = GX_ADD, .field = FIELD, .broadcast = GX_BROADCAST_B};
    struct vk_device *device = p->device;
    p->bytes = device->physical->base.software ? MIB : 8 * MIB;
    p->device_bytes = device->physical->base.software ? MIB : 64 * MIB;
    p->deadline = gx__now_ns() + BUDGET_NS;
    p->host = gx__alloc(vk_allocator(device), p->bytes);
    if (!p->host)
        return GX_ERR_OUT_OF_MEMORY;
    gx_status s = gx__vk_mem_alloc(device->gpu.base, GX_MEM_DEVICE, p->device_bytes, &p->in_device);
    if (s == GX_OK)
        s = gx__vk_mem_alloc(device->gpu.base, GX_MEM_DEVICE, p->device_bytes, &p->out_device);
    if (s == GX_OK)
        s = gx__gpu_build(&device->gpu, &key, gx__gpu_guess(&device->gpu, GX_SHADER_LINEAR),
                          &p->storage);
    p->kernel = (struct gx_kernel){.key = key, .impl = p->storage};
    return s;
}

static void close_probe(struct probe *p)
{
    gx__free(vk_allocator(p->device), p->storage);
    if (p->in_device.handle)
        gx__vk_mem_free(p->device->gpu.base, &p->in_device);
    if (p->out_device.handle)
        gx__vk_mem_free(p->device->gpu.base, &p->out_device);
    gx__free(vk_allocator(p->device), p->host);
}

/* Also sets type_of; what cannot be measured keeps the guess. */
gx_status gx__vk_measure(struct gx_gpu *gpu)
{
    struct vk_device *device = vk_of_gpu(gpu);
    struct probe p = {.device = device};
    struct gx_mem_speed speeds[VK_MAX_MEMORY_TYPES] = {{0}};
    uint32_t measured = 0;
    gx_status s = open_probe(&p);
    for (uint32_t i = 0; i < device->memory.memoryTypeCount && s == GX_OK && !late(&p); i++) {
        if (!worth_trying(device, i))
            continue;
        gx_status tried = measure_type(&p, i, &speeds[i]);
        measured |= tried == GX_OK ? 1u << i : 0;
        s = gx__gpu_alive(&device->gpu); /* an unusable type is simply not chosen */
    }
    for (enum gx_mem_kind kind = 0; kind < GX_MEM_KINDS && s == GX_OK; kind++)
        choose(&p, kind, measured, speeds);
    uint32_t open = gx__vk_open_type(device);
    device->gpu.calibration.speed[GX_MEM_DEVICE].host_write =
        measured >> open & 1 ? speeds[open].host_write : 0;
    if (s == GX_OK)
        s = measure_both(&p);
    close_probe(&p);
    return s == GX_OK ? gx__gpu_measure_submit(gpu) : s;
}
