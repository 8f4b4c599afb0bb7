/* SPDX-License-Identifier: Apache-2.0
 *
 * add, sub and mul of u32 and f32, EACH elements per invocation. KIND selects: KIND_U32; KIND_F32,
 * the device's own arithmetic, told to preserve denormals and to round to nearest; KIND_SOFT_F32,
 * the same bits in integer arithmetic (soft_f32.glsl), for devices that cannot be told so.
 */
#version 450
#define KIND_U32 0
#define KIND_F32 1
#define KIND_SOFT_F32 2
#include "common.glsl"
#if KIND == KIND_F32
#extension GL_EXT_spirv_intrinsics : require
spirv_execution_mode(capabilities = [4464], 4459, 32); /* DenormPreserve */
spirv_execution_mode(capabilities = [4466], 4461, 32); /* SignedZeroInfNanPreserve */
spirv_execution_mode(capabilities = [4467], 4462, 32); /* RoundingModeRTE */
#endif
#include "constants.glsl"

layout(std430, binding = GX_K_OUT) writeonly buffer Out { uint word[]; } mem_out;
layout(std430, binding = GX_K_A) readonly buffer A { uint word[]; } mem_a;
layout(std430, binding = GX_K_B) readonly buffer B { uint word[]; } mem_b;

#if KIND == KIND_U32

uint compute(uint a, uint b)
{
    return OP == GX_ADD ? a + b : OP == GX_SUB ? a - b : a * b;
}

#elif KIND == KIND_F32

uint compute(uint a, uint b)
{
    precise float x = uintBitsToFloat(a), y = uintBitsToFloat(b);
    precise float r = OP == GX_ADD ? x + y : OP == GX_SUB ? x - y : x * y;
    uint bits = floatBitsToUint(r);
    return (bits & 0x7fffffffu) > 0x7f800000u ? 0x7fc00000u : bits;
}

#else
#include "soft_f32.glsl"

uint compute(uint a, uint b)
{
    return OP == GX_MUL ? soft_mul(a, b) : soft_add(a, OP == GX_SUB ? b ^ 0x80000000u : b);
}

#endif

/* An invocation's elements are a workgroup apart, so that accesses are contiguous. */
void main()
{
    uint first = first_index() * EACH + gl_LocalInvocationID.x;
    [[unroll]] for (uint k = 0; k < EACH; k++) {
        uint i = first + k * gl_WorkGroupSize.x;
        if (i < push.n) {
            uint a = mem_a.word[push.at_a + ((push.broadcast & GX_BROADCAST_A) != 0 ? 0 : i)];
            uint b = mem_b.word[push.at_b + ((push.broadcast & GX_BROADCAST_B) != 0 ? 0 : i)];
            mem_out.word[push.at_out + i] = compute(a, b);
        }
    }
}
