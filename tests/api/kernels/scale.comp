/* SPDX-License-Identifier: Apache-2.0
 *
 * Elements of different sizes, several per invocation, and parameters (registered_kernels.c says so in C and WGSL).
 */
#version 450
layout(local_size_x = 32) in;
layout(binding = 0) buffer Out { uint out_word[]; };
layout(binding = 1) buffer A { uint a_word[]; };
layout(push_constant) uniform Push
{
    uint n, out_at, a_at, b_at, c_at, a_step, b_step, c_step;
    uint factor, terms[15];
};

void main()
{
    for (uint k = 0; k < 3; k++) {
        uint i = (gl_WorkGroupID.x * 3 + k) * gl_WorkGroupSize.x + gl_LocalInvocationID.x;
        if (i < n) {
            uint at = a_at + i * a_step;
            out_word[out_at + 3 * i] = a_word[at] * factor + terms[0];
            out_word[out_at + 3 * i + 1] = a_word[at + 1] * factor + terms[14];
            out_word[out_at + 3 * i + 2] = a_word[at] ^ a_word[at + 1];
        }
    }
}
