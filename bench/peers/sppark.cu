/* SPDX-License-Identifier: Apache-2.0
 *
 * bench/peers: sppark's field types, transforms and sums of points on an NVIDIA GPU, operands and
 * results in its memory. The kernels are one line each: one thread, one element. "mul64" multiplies
 * 64 times for each load: arithmetic alone. Transforms are in place: repeated, they go on with
 * their results. The points of sums are in the GPU's memory, their scalars and results in the
 * host's.
 */
#include "adaptor.h"

#include <cuda_runtime.h>
#include <ec/jacobian_t.hpp>
#include <ec/xyzz_t.hpp>
#include <ff/alt_bn128.hpp>
#include <ff/bls12-381.hpp>
#include <ntt/ntt.cuh> /* for bls12_381::fr_t, as FEATURE_BLS12_381 says */

typedef jacobian_t<bls12_381::fp_t> point_t;
typedef xyzz_t<bls12_381::fp_t> bucket_t;
typedef bucket_t::affine_t affine_t;
typedef bls12_381::fr_t scalar_t;
#include <msm/pippenger.cuh> /* for these four types */

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
    NTT::Base_dev_ptr(select_gpu()[0], (bls12_381::fr_t *)memory[2], 63 - __builtin_clzll(loaded.n),
                      order, NTT::Direction::forward, NTT::Type::standard);
}

static msm_t<bucket_t, point_t, affine_t, scalar_t> *msm; /* with its points */

static void add_up(void)
{
    point_t sum;
    const affine_t *its_own = NULL;
    RustError e = msm->invoke(sum, its_own, loaded.n, (const scalar_t *)loaded.a, false);
    if (e.code != cudaSuccess)
        memset(loaded.out, 0xff, loaded.bytes_out);
    else
        *(affine_t *)loaded.out = sum;
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
    {"bls12-381-g1", "msm", add_up},
};

static void (*chosen)(void);

static const char *check(cudaError_t e)
{
    return e == cudaSuccess ? NULL : cudaGetErrorString(e);
}

static bool has_points(void)
{
    return !strcmp(loaded.kind, "bls12-381-g1");
}

static const char *load_points(void)
{
    try {
        msm =
            new msm_t<bucket_t, point_t, affine_t, scalar_t>((const affine_t *)loaded.b, loaded.n);
    } catch (const cuda_error &e) {
        return cudaGetErrorString((cudaError_t)e.code());
    }
    return NULL;
}

static const char *peer_load(void)
{
    delete msm;
    msm = NULL;
    if (has_points())
        return load_points();
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
            if (has_points())
                return NULL;
            const char *wrong = check(
                cudaMemcpy(memory[2], memory[0],
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
    if (has_points())
        return NULL;
    return check(cudaMemcpy(loaded.out, memory[2], loaded.bytes_out, cudaMemcpyDeviceToHost));
}
