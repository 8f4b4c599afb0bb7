/* SPDX-License-Identifier: Apache-2.0
 *
 * The roof for arithmetic in benchmarks: 32 x 32 + 64 multiply-adds and nothing else,
 * GX_K_ROOF_CHAINS * REPEAT of them per invocation. Every step needs the one before, so none can
 * be left out; the chains are independent, so that latency does not count. Reads 16
 * bytes of A and writes 16 to OUT per invocation.
 */
#version 450
#include "common.glsl"
#extension GL_EXT_shader_explicit_arithmetic_types_int64 : require

layout(std430, binding = GX_K_OUT) writeonly buffer Out { uvec4 quad[]; } mem_out;
layout(std430, binding = GX_K_A) readonly buffer A { uvec4 quad[]; } mem_a;

void main()
{
    uint i = own_index();
    if (i >= push.n)
        return;
    uvec4 seed = mem_a.quad[push.at_a + i];
    uint64_t sum[GX_K_ROOF_CHAINS];
    [[unroll]] for (int k = 0; k < GX_K_ROOF_CHAINS; k++)
        sum[k] = uint64_t(seed.x + k) << 32 | uint64_t(seed.y ^ k);
    [[dont_unroll]] for (uint r = 0; r < REPEAT / 4; r++)
        [[unroll]] for (int step = 0; step < 4; step++)
            [[unroll]] for (int k = 0; k < GX_K_ROOF_CHAINS; k++)
                sum[k] += uint64_t(uint(sum[k])) * uint64_t(seed.z);
    uint64_t all = 0;
    [[unroll]] for (int k = 0; k < GX_K_ROOF_CHAINS; k++)
        all ^= sum[k];
    mem_out.quad[push.at_out + i] = uvec4(uint(all), uint(all >> 32), seed.z, seed.w);
}
