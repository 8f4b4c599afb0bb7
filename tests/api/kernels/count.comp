/* SPDX-License-Identifier: Apache-2.0
 *
 * How often each of eight values occurs: one workgroup, one result (registered_kernels.c says so in C and WGSL).
 */
#version 450
layout(local_size_x = 64) in;
layout(binding = 0) buffer Out { uint out_word[]; };
layout(binding = 1) buffer A { uint a_word[]; };
layout(push_constant) uniform Push { uint n, out_at, a_at, b_at, c_at, a_step, b_step, c_step; };

shared uint counts[8];

void main()
{
    uint me = gl_LocalInvocationID.x;
    if (me < 8)
        counts[me] = 0;
    barrier();
    for (uint i = me; i < n; i += gl_WorkGroupSize.x)
        atomicAdd(counts[a_word[a_at + i * a_step] & 7], 1);
    barrier();
    if (me < 8)
        out_word[out_at + me] = counts[me];
}
