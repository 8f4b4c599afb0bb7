/* SPDX-License-Identifier: Apache-2.0
 *
 * Measures the speed of each kind of memory and the cost of a submit; saved with the calibration.
 * Transfers are small, because a process that has no cache files does this whenever it opens the
 * device.
 */
#include "device/cuda/cuda.h"

#include <string.h>

#include "base/alloc.h"
#include "base/clock.h"

#define MIB          ((size_t)1 << 20)
#define BYTES        (4 * MIB)  /* of memory for copies and of the host's */
#define DEVICE_BYTES (64 * MIB) /* of device memory, more than its caches hold */
#define RUNS         3

struct probe {
    struct cu_device *device;
    struct gx_device *base;
    char *host; /* ordinary memory of BYTES */
    struct gx_mem pinned, pinned_2, in, out;
    struct gx_gpu_kernel *copy; /* NULL: there is no such kernel */
};

/* ---- running one command ---- */

static gx_status time_copy(struct probe *p, enum gx_queue queue, const struct gx_mem *from,
                           const struct gx_mem *to, float *speed)
{
    size_t bytes = from->size < to->size ? from->size : to->size;
    return gx__gpu_time_copy(&p->device->gpu, queue, from, to, bytes, RUNS, speed);
}

/* A build may lack the kernel: then these speeds stay unknown. */
static gx_status time_kernel(struct probe *p, const struct gx_mem *from, const struct gx_mem *to,
                             float *speed)
{
    size_t bytes = from->size < to->size ? from->size : to->size;
    if (!p->copy)
        return GX_OK;
    struct gx_dispatch d = {.kernel = {.key = p->copy->key, .impl = p->copy}, .n = bytes / 16};
    d.bind[GX_BIND_A].mem = from;
    d.bind[GX_BIND_OUT].mem = to;
    return gx__gpu_time_dispatch(&p->device->gpu, &d, bytes, RUNS, speed);
}

/* Pinned memory is ordinary memory to the host: one kind speaks for all. */
static void time_host(struct probe *p, struct gx_mem_speed *speed)
{
    for (int i = 0; i < RUNS; i++) {
        uint64_t start = gx__now_ns();
        memcpy(p->pinned.host, p->host, BYTES);
        __asm__ volatile("" : : "r"(p->pinned.host) : "memory");
        uint64_t middle = gx__now_ns();
        memcpy(p->host, p->pinned.host, BYTES);
        __asm__ volatile("" : : "r"(p->host) : "memory");
        float write = gx__gbs(BYTES, middle - start), read = gx__gbs(BYTES, gx__now_ns() - middle);
        speed->host_write = write > speed->host_write ? write : speed->host_write;
        speed->host_read = read > speed->host_read ? read : speed->host_read;
    }
}

/* ---- the two kinds of memory ---- */

static gx_status measure_pinned(struct probe *p, struct gx_mem_speed *speed)
{
    time_host(p, speed);
    gx_status s = time_copy(p, GX_QUEUE_UPLOAD, &p->pinned, &p->in, &speed->copy_in);
    if (s == GX_OK)
        s = time_copy(p, GX_QUEUE_DOWNLOAD, &p->out, &p->pinned, &speed->copy_out);
    if (s == GX_OK)
        s = time_kernel(p, &p->pinned, &p->out, &speed->kernel_read);
    return s == GX_OK ? time_kernel(p, &p->in, &p->pinned, &speed->kernel_write) : s;
}

static gx_status measure_device(struct probe *p, struct gx_mem_speed *speed)
{
    gx_status s = time_kernel(p, &p->in, &p->out, &speed->kernel_read);
    speed->kernel_read *= 2; /* both directions at once, over the same link */
    speed->kernel_write = speed->kernel_read;
    if (s == GX_OK)
        s = time_copy(p, GX_QUEUE_COMPUTE, &p->in, &p->out, &speed->copy_in);
    speed->copy_out = speed->copy_in;
    return s;
}

/* ---- all ---- */

static gx_status open_probe(struct probe *p)
{
    struct gx_kernel_key key = {.op = GX_OP_COPY};
    struct gx_gpu *gpu = &p->device->gpu;
    p->host = gx__alloc(cu_allocator(p->device), BYTES);
    if (!p->host)
        return GX_ERR_OUT_OF_MEMORY;
    gx_status s = gx__cu_mem_alloc(p->base, GX_MEM_SHARED, BYTES, &p->pinned);
    if (s == GX_OK)
        s = gx__cu_mem_alloc(p->base, GX_MEM_SHARED, BYTES, &p->pinned_2);
    if (s == GX_OK)
        s = gx__cu_mem_alloc(p->base, GX_MEM_DEVICE, DEVICE_BYTES, &p->in);
    if (s == GX_OK)
        s = gx__cu_mem_alloc(p->base, GX_MEM_DEVICE, DEVICE_BYTES, &p->out);
    if (s != GX_OK)
        return s;
    s = gx__gpu_build(gpu, &key, gx__gpu_guess(gpu, GX_SHADER_COPY), &p->copy);
    return s == GX_ERR_UNSUPPORTED ? GX_OK : s;
}

static void close_probe(struct probe *p)
{
    struct gx_mem *const mems[] = {&p->pinned, &p->pinned_2, &p->in, &p->out};
    for (size_t i = 0; i < sizeof mems / sizeof *mems; i++)
        if (mems[i]->handle)
            gx__cu_mem_free(p->base, mems[i]);
    gx__free(cu_allocator(p->device), p->copy);
    gx__free(cu_allocator(p->device), p->host);
}

gx_status gx__cu_measure(struct gx_gpu *gpu)
{
    struct probe p = {.device = cu_of_gpu(gpu), .base = gpu->base};
    struct gx_mem_speed *speed = gpu->calibration.speed, pinned = {0};
    gx_status s = open_probe(&p);
    if (s == GX_OK)
        s = measure_pinned(&p, &pinned);
    if (s == GX_OK)
        s = measure_device(&p, &speed[GX_MEM_DEVICE]);
    if (s == GX_OK)
        s = gx__gpu_measure_both(
            gpu, &(struct gx_region){{&p.pinned, 0}, {&p.in, 0}, .size = BYTES},
            &(struct gx_region){{&p.out, 0}, {&p.pinned_2, 0}, .size = BYTES}, RUNS);
    for (int kind = GX_MEM_UPLOAD; kind < GX_MEM_KINDS && s == GX_OK; kind++)
        speed[kind] = pinned;
    close_probe(&p);
    return s == GX_OK ? gx__gpu_measure_submit(gpu) : s;
}
