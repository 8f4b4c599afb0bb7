/* SPDX-License-Identifier: Apache-2.0
 *
 * Writes far outside of its memory, in both directions.
 */
#version 450
layout(local_size_x = 64) in;
layout(binding = 0) buffer Out { uint out_word[]; };
layout(binding = 1) buffer A { uint a_word[]; };
layout(push_constant) uniform Push
{
    uint n, out_at, a_at, b_at, c_at, a_step, b_step, c_step;
};

void main()
{
    uint i = gl_GlobalInvocationID.x;
    for (uint k = 0; k < 32; k++)
        out_word[out_at + (i + 1) * (0x10000000u >> k)] = a_word[0x3fffffffu - i * k];
}
