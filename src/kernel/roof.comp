/* SPDX-License-Identifier: Apache-2.0
 *
 * The arithmetic limit in benchmarks: how many 32 x 32 + 64 multiply-adds per second the device can
 * do, GX_K_ROOF_EACH of them per invocation between reading 16 bytes of A and writing 16 to OUT.
 * Similar to the rows of a product: in every step each sum gets the low half of one of them times
 * its own constant. So none can be omitted or precomputed, and a sum is not needed again before
 * GX_K_ROOF_CHAINS multiply-adds later, so latency does not matter; an iteration is long enough for
 * the loop overhead not to matter. Signed, as in mul64.glsl.
 */
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
    int64_t sum[GX_K_ROOF_CHAINS];
    [[unroll]] for (int k = 0; k < GX_K_ROOF_CHAINS; k++)
        sum[k] = int64_t(seed.x + k);
    [[dont_unroll]] for (uint r = 0; r < GX_K_ROOF_ROUNDS; r++)
        [[unroll]] for (int step = 0; step < GX_K_ROOF_STEPS; step++) {
            int factor = int(sum[step]) & GX_K_ROOF_MASK;
            [[unroll]] for (int k = 0; k < GX_K_ROOF_CHAINS; k++)
                sum[k] += int64_t(factor) * int64_t(int(GX_K_ROOF_FACTOR(k)));
        }
    int64_t all = 0;
    [[unroll]] for (int k = 0; k < GX_K_ROOF_CHAINS; k++)
        all ^= sum[k];
    mem_out.quad[push.at_out + i] = uvec4(uint(all), uint(all >> 32), seed.z, seed.w);
}
