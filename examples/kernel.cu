/* SPDX-License-Identifier: Apache-2.0
 *
 * The kernel of kernel.c for CUDA: out = a * b + c modulo 2^31 - 1. Written so that clang compiles it
 * without the CUDA toolkit; with the toolkit, nvcc -ptx does.
 *
 *   clang -O --cuda-device-only --offload-arch=sm_70 -nogpuinc -nogpulib -S kernel.cu -o kernel.ptx
 */
struct params {
    unsigned *out, *a, *b, *c;
    unsigned n, out_at, a_at, b_at, c_at, a_step, b_step, c_step;
};

extern "C" __attribute__((global)) void kernel(params p)
{
    const unsigned P = 0x7fffffff, block_size = 64;
    unsigned block, thread;
    asm("mov.u32 %0, %%ctaid.x;" : "=r"(block));
    asm("mov.u32 %0, %%tid.x;" : "=r"(thread));
    unsigned i = block * block_size + thread;
    if (i >= p.n)
        return;
    unsigned long long a = p.a[p.a_at + i * p.a_step], b = p.b[p.b_at + i * p.b_step];
    p.out[p.out_at + i] = (unsigned)((a * b + p.c[p.c_at + i * p.c_step]) % P);
}
