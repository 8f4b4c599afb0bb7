/* SPDX-License-Identifier: Apache-2.0
 *
 * Functions that call functions of the same type, not inlined.
 */
#version 450
layout(local_size_x = 64) in;
layout(binding = 0) buffer Out { uint out_word[]; };
layout(binding = 1) buffer A { uint a_word[]; };
layout(push_constant) uniform Push
{
    uint n, out_at, a_at, b_at, c_at, a_step, b_step, c_step;
};

uint last(uint x)
{
    return x * 3 + a_word[a_at];
}

uint middle(uint x)
{
    return last(x + 1) + 1;
}

void main()
{
    uint i = gl_GlobalInvocationID.x;
    if (i < n)
        out_word[out_at + i] = middle(i);
}
