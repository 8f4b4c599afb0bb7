/* SPDX-License-Identifier: Apache-2.0
 *
 * bench/peers: sppark's field types and transforms on an NVIDIA GPU, operands and results in its
 * memory. The kernels are one line each: one thread, one element. "mul64" multiplies 64 times for
 * each load: arithmetic alone. Transforms are in place: repeated, they go on with their results.
 */
#include "adaptor.h"

#include <cuda_runtime.h>
#include <ff/alt_bn128.hpp>
#include <ff/bls12-381.hpp>
#include <ntt/ntt.cuh> /* for bls12_381::fr_t, as FEATURE_BLS12_381 says */

enum { BLOCK = 256 };

template <class F> __global__ void add(F *out, const F *a, const F *b, size_t n)
{
    size_t i = (size_t)blockIdx.x * BLOCK + threadIdx.x;
    if (i >= n)
        return;
    F x = a[i], y = b[i]; /* both at once: wide loads */
    out[i] = x + y;
}

template <class F, int times> __global__ void mul(F *out, const F *a, const F *b, size_t n)
{
    size_t i = (size_t)blockIdx.x * BLOCK + threadIdx.x;
    if (i >= n)
        return;
    F x = a[i], y = b[i];
    for (int k = 0; k < times; k++)
        x *= y;
    out[i] = x;
}

static void *memory[3]; /* a, b, out */

template <class F> static void launch(void (*kernel)(F *, const F *, const F *, size_t))
{
    kernel<<<(loaded.n + BLOCK - 1) / BLOCK, BLOCK>>>((F *)memory[2], (const F *)memory[0],
                                                      (const F *)memory[1], loaded.n);
}

static void transform(NTT::InputOutputOrder order)
{
    NTT::Base_dev_ptr(select_gpu()[0], (bls12_381::fr_t *)memory[2],
                      63 - __builtin_clzll(loaded.n), order, NTT::Direction::forward,
                      NTT::Type::standard);
}

static const struct {
    const char *kind, *op;
    void (*run)(void);
} operations[] = {
    {"bls12-381-fq", "add", [] { launch(add<bls12_381::fp_t>); }},
    {"bls12-381-fq", "mul", [] { launch(mul<bls12_381::fp_t, 1>); }},
    {"bls12-381-fq", "mul64", [] { launch(mul<bls12_381::fp_t, 64>); }},
    {"bls12-381-fr", "add", [] { launch(add<bls12_381::fr_t>); }},
    {"bls12-381-fr", "mul", [] { launch(mul<bls12_381::fr_t, 1>); }},
    {"bls12-381-fr", "mul64", [] { launch(mul<bls12_381::fr_t, 64>); }},
    {"bn254-fr", "mul", [] { launch(mul<alt_bn128::fr_t, 1>); }},
    {"bls12-381-fr", "ntt-nn", [] { transform(NTT::InputOutputOrder::NN); }},
    {"bls12-381-fr", "ntt-nr", [] { transform(NTT::InputOutputOrder::NR); }},
    {"bls12-381-fr", "ntt-rn", [] { transform(NTT::InputOutputOrder::RN); }},
};

static void (*chosen)(void);

static const char *check(cudaError_t e)
{
    return e == cudaSuccess ? NULL : cudaGetErrorString(e);
}

static const char *peer_load(void)
{
    const unsigned char *const from[] = {loaded.a, loaded.b, loaded.out};
    const size_t bytes[] = {loaded.bytes_a, loaded.bytes_b, loaded.bytes_out};
    const char *wrong = NULL;
    for (int i = 0; i < 3 && !wrong; i++) {
        cudaFree(memory[i]);
        memory[i] = NULL;
        wrong = check(cudaMalloc(&memory[i], bytes[i]));
        if (!wrong)
            wrong = check(cudaMemcpy(memory[i], from[i], bytes[i], cudaMemcpyHostToDevice));
    }
    return wrong;
}

static const char *peer_choose(const char *op, unsigned threads)
{
    (void)threads;
    for (const auto &o : operations)
        if (!strcmp(o.kind, loaded.kind) && !strcmp(o.op, op)) {
            chosen = o.run;
            const char *wrong = check(cudaMemcpy(
                memory[2], memory[0],
                loaded.bytes_a < loaded.bytes_out ? loaded.bytes_a : loaded.bytes_out,
                cudaMemcpyDeviceToDevice)); /* returns before it is done */
            return wrong ? wrong : check(cudaDeviceSynchronize());
        }
    return "not among the kernels of sppark.cu";
}

static const char *peer_repeat(unsigned long times)
{
    for (unsigned long k = 0; k < times; k++)
        chosen();
    const char *wrong = check(cudaGetLastError());
    return wrong ? wrong : check(cudaDeviceSynchronize());
}

static const char *peer_results(void)
{
    return check(cudaMemcpy(loaded.out, memory[2], loaded.bytes_out, cudaMemcpyDeviceToHost));
}
