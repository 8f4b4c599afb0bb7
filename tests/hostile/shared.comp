/* SPDX-License-Identifier: Apache-2.0
 *
 * Needs far more shared memory than there is.
 */
#version 450
layout(local_size_x = 64) in;
layout(binding = 0) buffer Out { uint out_word[]; };
layout(binding = 1) buffer A { uint a_word[]; };
layout(push_constant) uniform Push
{
    uint n, out_at, a_at, b_at, c_at, a_step, b_step, c_step;
};

shared uint memory[1 << 28];

void main()
{
    uint i = gl_GlobalInvocationID.x;
    memory[(i * 2654435761u) >> 4] = i;
    barrier();
    if (i < n)
        out_word[out_at + i] = memory[(i * 2246822519u) >> 4];
}
