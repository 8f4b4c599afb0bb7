/* SPDX-License-Identifier: Apache-2.0
 *
 * A kernel of your own: multiply-add in the field of the Mersenne prime 2^31 - 1, as a C function,
 * in WGSL, and in SPIR-V and PTX if their files are given. Runs it on every device that it has a
 * kernel for, and then where the library chooses. doc/kernels.md explains.
 *
 *   glslc --target-env=vulkan1.2 -O kernel.comp -o kernel.spv
 *   clang -O --cuda-device-only --offload-arch=sm_70 -nogpuinc -nogpulib -S kernel.cu -o kernel.ptx
 *   cc -std=c11 kernel.c $(pkg-config --cflags --libs gpuexec) -o kernel
 *   LD_LIBRARY_PATH=$(pkg-config --variable=libdir gpuexec) ./kernel kernel.spv kernel.ptx
 */
#include <stdio.h>
#include <stdlib.h>

#include <gpuexec.h>

enum { N = 100000, DEVICES = 16 };

#define P 0x7fffffffu

static void on_cpu(void *user, const gx_kernel_call *k)
{
    uint32_t *out = k->out;
    (void)user;
    for (size_t i = 0; i < k->n; i++) {
        uint32_t a = *(const uint32_t *)((const char *)k->a + i * k->a_step);
        uint32_t b = *(const uint32_t *)((const char *)k->b + i * k->b_step);
        uint32_t c = *(const uint32_t *)((const char *)k->c + i * k->c_step);
        out[i] = (uint32_t)(((uint64_t)a * b + c) % P);
    }
}

/* WGSL has no wide product: a * b from halves of 16 bits. */
static const char wgsl[] =
    "struct Push { n: u32, out_at: u32, a_at: u32, b_at: u32, c_at: u32,\n"
    "              a_step: u32, b_step: u32, c_step: u32 }\n"
    "var<immediate> push: Push;\n"
    "@group(0) @binding(0) var<storage, read_write> out: array<u32>;\n"
    "@group(0) @binding(1) var<storage, read_write> a: array<u32>;\n"
    "@group(0) @binding(2) var<storage, read_write> b: array<u32>;\n"
    "@group(0) @binding(3) var<storage, read_write> c: array<u32>;\n"
    "const P = 0x7fffffffu;\n"
    "fn reduced(x: u32) -> u32 {\n"
    "    let y = (x & P) + (x >> 31u);\n"
    "    return select(y, y - P, y >= P);\n"
    "}\n"
    "fn times_2_16(x: u32) -> u32 { return reduced(((x & 0x7fffu) << 16u) + (x >> 15u)); }\n"
    "fn mul(x: u32, y: u32) -> u32 {\n"
    "    let low = (x & 0xffffu) * (y & 0xffffu);\n"
    "    let middle = reduced((x & 0xffffu) * (y >> 16u)) + reduced((x >> 16u) * (y & 0xffffu));\n"
    "    let high = reduced((x >> 16u) * (y >> 16u));\n"
    "    let upper = times_2_16(reduced(reduced(middle) + times_2_16(high)));\n"
    "    return reduced(reduced(low) + upper);\n"
    "}\n"
    "@compute @workgroup_size(64)\n"
    "fn main(@builtin(global_invocation_id) id: vec3<u32>) {\n"
    "    let i = id.x;\n"
    "    if i < push.n {\n"
    "        let product = mul(a[push.a_at + i * push.a_step], b[push.b_at + i * push.b_step]);\n"
    "        out[push.out_at + i] = reduced(product + c[push.c_at + i * push.c_step]);\n"
    "    }\n"
    "}\n";

static uint32_t spirv[4096];
static char ptx[16384]; /* as text, which ends with a 0 */

static size_t read_file(const char *path, void *to, size_t size)
{
    FILE *f = fopen(path, "rb");
    size_t bytes = f ? fread(to, 1, size, f) : 0;
    if (f)
        fclose(f);
    return bytes;
}

static uint32_t a[N], b[N], out[N];
static const uint32_t c = 7;

/* One job on the device (NULL: any); 0: it failed, or a result is wrong. */
static int run(gx_ctx *ctx, gx_op op, const char *device)
{
    gx_run_params opts = {.struct_size = sizeof opts, .device = device};
    const gx_job job =
        gx_call(op, N, NULL, gx_host(a), gx_host(b), gx_host_broadcast(&c), gx_host(out));
    if (gx_run(ctx, &job, 1, &opts, NULL) != GX_OK)
        return 0;
    for (size_t i = 0; i < N; i++)
        if (out[i] != ((uint64_t)a[i] * b[i] + c) % P) {
            fprintf(stderr, "kernel: element %zu is wrong on %s\n", i, device ? device : "any");
            return 0;
        }
    return 1;
}

int main(int argc, char **argv)
{
    gx_kernel_params desc = {.struct_size = sizeof desc, .name = "m31-mul-add", .operands = 3};
    gx_device_info devices[DEVICES] = {{.struct_size = sizeof *devices}};
    size_t count = DEVICES, ran = 0;
    gx_ctx *ctx = NULL;
    gx_op op;
    int failed = 1;

    for (uint32_t i = 0; i < N; i++) {
        a[i] = (uint32_t)(i * 2654435761u) % P;
        b[i] = P - 1 - i;
    }
    desc.a_bytes = desc.b_bytes = desc.c_bytes = desc.out_bytes = 4;
    desc.group_elems = 64;
    desc.fn = on_cpu;
    desc.wgsl = wgsl;
    desc.spirv_bytes = argc > 1 ? read_file(argv[1], spirv, sizeof spirv) : 0;
    desc.spirv = desc.spirv_bytes ? spirv : NULL;
    desc.ptx = argc > 2 && read_file(argv[2], ptx, sizeof ptx - 1) ? ptx : NULL;
    desc.ptx_block[0] = 64;
    if (gx_open(NULL, &ctx) != GX_OK || gx_op_register(ctx, &desc, &op) != GX_OK ||
        gx_devices(ctx, devices, &count) != GX_OK)
        goto end;
    for (size_t i = 0; i < count && i < DEVICES; i++) {
        int known = devices[i].kind == GX_DEVICE_CPU || devices[i].kind == GX_DEVICE_WEBGPU ||
                    (devices[i].kind == GX_DEVICE_VULKAN && desc.spirv) ||
                    (devices[i].kind == GX_DEVICE_CUDA && desc.ptx);
        if (!known || !devices[i].usable)
            continue;
        if (!run(ctx, op, devices[i].name))
            goto end;
        ran++;
    }
    failed = !run(ctx, op, NULL);
    if (!failed)
        printf("m31-mul-add on %zu devices, all as expected\n", ran);
end:
    if (failed)
        fprintf(stderr, "kernel: %s\n", gx_last_message());
    gx_close(&ctx);
    return failed;
}
