/* SPDX-License-Identifier: Apache-2.0
 *
 * OUT = A, 16 bytes per invocation; n counts these. The bandwidth limit in benchmarks, and faster
 * than the copy command of some drivers.
 */
#version 450
#include "common.glsl"

layout(std430, binding = GX_K_OUT) writeonly buffer Out { uvec4 quad[]; } mem_out;
layout(std430, binding = GX_K_A) readonly buffer A { uvec4 quad[]; } mem_a;

void main()
{
    uint i = own_index();
    if (i < push.n)
        mem_out.quad[push.at_out + i] = mem_a.quad[push.at_a + i];
}
