/* SPDX-License-Identifier: Apache-2.0
 *
 * The kernel of kernel.c for Vulkan: out = a * b + c modulo 2^31 - 1.
 *
 *   glslc --target-env=vulkan1.2 -O kernel.comp -o kernel.spv
 */
#version 450
layout(local_size_x = 64) in;
layout(binding = 0) buffer Out { uint out_word[]; };
layout(binding = 1) buffer A { uint a_word[]; };
layout(binding = 2) buffer B { uint b_word[]; };
layout(binding = 3) buffer C { uint c_word[]; };
layout(push_constant) uniform Push { uint n, out_at, a_at, b_at, c_at, a_step, b_step, c_step; };

const uint P = 0x7fffffffu;

/* x below 2^32, to below P. */
uint reduced(uint x)
{
    x = (x & P) + (x >> 31);
    return x >= P ? x - P : x;
}

void main()
{
    uint i = gl_GlobalInvocationID.x, high, low;
    if (i >= n)
        return;
    umulExtended(a_word[a_at + i * a_step], b_word[b_at + i * b_step], high, low);
    uint product = reduced((low & P) + (high << 1 | low >> 31)); /* 2^31 is 1 */
    out_word[out_at + i] = reduced(product + c_word[c_at + i * c_step]);
}
