/* SPDX-License-Identifier: Apache-2.0
 *
 * Measures the speed of each kind of memory and the cost of a submit; saved with the calibration.
 * Not every device has timestamps: copies are timed from the host, minus an empty submit.
 */
#include "device/webgpu/webgpu.h"

#include <string.h>

#include "base/alloc.h"
#include "base/clock.h"

#define MIB            ((size_t)1 << 20)
#define BYTES          (16 * MIB)
#define BYTES_SOFTWARE MIB
#define RUNS           3

struct probe {
    struct wg_device *device;
    size_t bytes;
    char *host; /* ordinary memory of `bytes` */
    struct gx_mem up, in, out, down;
};

static gx_status time_cmd(struct probe *p, struct gx_cmd *cmd, float *speed)
{
    uint64_t ns, empty = p->device->gpu.calibration.submit_ns;
    gx_status s = gx__gpu_time(&p->device->gpu, cmd, false, RUNS, &ns);
    gx__gpu_recycle(cmd);
    if (s == GX_OK)
        *speed = gx__gbs(p->bytes, ns > empty ? ns - empty : 1);
    return s;
}

static gx_status time_copy(struct probe *p, const struct gx_mem *from, const struct gx_mem *to,
                           float *speed)
{
    struct gx_cmd *cmd;
    gx_status s = gx__gpu_begin(p->device->gpu.base, GX_QUEUE_COMPUTE, &cmd);
    if (s != GX_OK)
        return s;
    gx__wg_copy(cmd, &(struct gx_region){.from = {from, 0}, .to = {to, 0}, .size = p->bytes}, 1);
    return time_cmd(p, cmd, speed);
}

static gx_status time_kernel(struct probe *p, float *speed)
{
    struct gx_kernel_key key = {.op = GX_OP_COPY};
    struct gx_gpu_kernel *kernel;
    struct gx_cmd *cmd;
    struct gx_gpu *gpu = &p->device->gpu;
    gx_status s = gx__gpu_build(gpu, &key, gx__gpu_guess(gpu, GX_SHADER_COPY), &kernel);
    if (s != GX_OK)
        return s;
    struct gx_dispatch d = {.kernel = {.key = key, .impl = kernel}, .n = p->bytes / 16};
    d.bind[GX_BIND_A].mem = &p->in;
    d.bind[GX_BIND_OUT].mem = &p->out;
    s = gx__gpu_begin(p->device->gpu.base, GX_QUEUE_COMPUTE, &cmd);
    if (s == GX_OK) {
        gx__gpu_dispatch(cmd, &d);
        s = time_cmd(p, cmd, speed);
        *speed *= 2; /* both directions at once, over the same link */
    }
    gx__free(wg_allocator(p->device), kernel);
    return s;
}

static gx_status time_host(struct probe *p, struct gx_mem *mem, float *speed)
{
    void *mapped;
    gx_status s = gx__wg_map(p->device->gpu.base, mem, &mapped);
    if (s != GX_OK)
        return s;
    bool in = mem->kind == GX_MEM_UPLOAD;
    for (int i = 0; i < RUNS; i++) {
        uint64_t start = gx__now_ns();
        memcpy(in ? mapped : p->host, in ? p->host : mapped, p->bytes);
        __asm__ volatile("" : : "r"(p->host), "r"(mapped) : "memory");
        float now = gx__gbs(p->bytes, gx__now_ns() - start);
        *speed = now > *speed ? now : *speed;
    }
    gx__wg_unmap(p->device->gpu.base, mem);
    return GX_OK;
}

static gx_status open_probe(struct probe *p)
{
    struct gx_device *base = p->device->gpu.base;
    p->bytes = p->device->adapter->base.software ? BYTES_SOFTWARE : BYTES;
    p->host = gx__alloc(wg_allocator(p->device), p->bytes);
    if (!p->host)
        return GX_ERR_OUT_OF_MEMORY;
    gx_status s = gx__wg_mem_alloc(base, GX_MEM_UPLOAD, p->bytes, &p->up);
    if (s == GX_OK)
        s = gx__wg_mem_alloc(base, GX_MEM_DEVICE, p->bytes, &p->in);
    if (s == GX_OK)
        s = gx__wg_mem_alloc(base, GX_MEM_DEVICE, p->bytes, &p->out);
    return s == GX_OK ? gx__wg_mem_alloc(base, GX_MEM_READBACK, p->bytes, &p->down) : s;
}

static void close_probe(struct probe *p)
{
    struct gx_mem *const mems[] = {&p->up, &p->in, &p->out, &p->down};
    for (size_t i = 0; i < sizeof mems / sizeof *mems; i++)
        if (mems[i]->handle)
            gx__wg_mem_free(p->device->gpu.base, mems[i]);
    gx__free(wg_allocator(p->device), p->host);
}

gx_status gx__wg_measure(struct gx_gpu *gpu)
{
    struct probe p = {.device = wg_of_gpu(gpu)};
    struct gx_mem_speed *speed = gpu->calibration.speed, *own = &speed[GX_MEM_DEVICE];
    gx_status s = open_probe(&p);
    if (s == GX_OK)
        s = gx__gpu_measure_submit(gpu);
    if (s == GX_OK)
        s = time_host(&p, &p.up, &speed[GX_MEM_UPLOAD].host_write);
    if (s == GX_OK)
        s = time_copy(&p, &p.up, &p.in, &speed[GX_MEM_UPLOAD].copy_in);
    if (s == GX_OK)
        s = time_kernel(&p, &own->kernel_read);
    own->kernel_write = own->kernel_read;
    if (s == GX_OK)
        s = time_copy(&p, &p.out, &p.down, &speed[GX_MEM_READBACK].copy_out);
    if (s == GX_OK)
        s = time_host(&p, &p.down, &speed[GX_MEM_READBACK].host_read);
    if (s == GX_OK)
        s = time_copy(&p, &p.in, &p.out, &own->copy_in);
    own->copy_out = own->copy_in;
    close_probe(&p);
    return s;
}
