/* SPDX-License-Identifier: Apache-2.0
 *
 * add, sub and mul of u32 and f32, EACH elements per invocation. KIND selects: KIND_U32; KIND_F32,
 * the device's own arithmetic, told to preserve denormals and to round to nearest; KIND_SOFT_F32,
 * the same bits in integer arithmetic (soft_f32.glsl), for devices that cannot be told so.
 */
#define KIND_U32 0
#define KIND_F32 1
#define KIND_SOFT_F32 2
#include "common.glsl"
#if KIND == KIND_F32 && !defined(__CUDA__)
#extension GL_EXT_spirv_intrinsics : require
spirv_execution_mode(capabilities = [4464], 4459, 32); /* DenormPreserve */
spirv_execution_mode(capabilities = [4466], 4461, 32); /* SignedZeroInfNanPreserve */
spirv_execution_mode(capabilities = [4467], 4462, 32); /* RoundingModeRTE */
#endif
#include "constants.glsl"

BUFFER(writeonly, Out, GX_K_OUT, u32, word, mem_out);
BUFFER(readonly, A, GX_K_A, u32, word, mem_a);
BUFFER(readonly, B, GX_K_B, u32, word, mem_b);

#if KIND == KIND_U32

FUNCTION u32 compute(u32 a, u32 b)
{
    return OP == GX_ADD ? a + b : OP == GX_SUB ? a - b : a * b;
}

#elif KIND == KIND_F32

FUNCTION u32 compute(u32 a, u32 b)
{
    PRECISE float x = AS_FLOAT(a), y = AS_FLOAT(b);
    PRECISE float r = OP == GX_ADD ? x + y : OP == GX_SUB ? x - y : x * y;
    u32 bits = AS_WORD(r);
    return (bits & 0x7fffffffu) > 0x7f800000u ? 0x7fc00000u : bits;
}

#else
#include "soft_f32.glsl"

FUNCTION u32 compute(u32 a, u32 b)
{
    return OP == GX_MUL ? soft_mul(a, b) : soft_add(a, OP == GX_SUB ? b ^ 0x80000000u : b);
}

#endif

/* An invocation's elements are a workgroup apart, so that accesses are contiguous. */
KERNEL
{
    u32 first = first_index() * EACH + LOCAL_INDEX;
    UNROLL for (u32 k = 0; k < EACH; k++) {
        u32 i = first + k * GROUP_SIZE;
        if (i < ELEMENTS) {
            u32 a = mem_a.word[AT_A + ((BROADCAST & GX_BROADCAST_A) != 0 ? 0 : i)];
            u32 b = mem_b.word[AT_B + ((BROADCAST & GX_BROADCAST_B) != 0 ? 0 : i)];
            mem_out.word[AT_OUT + i] = compute(a, b);
        }
    }
}
