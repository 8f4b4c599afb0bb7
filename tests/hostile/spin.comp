/* SPDX-License-Identifier: Apache-2.0
 *
 * Never ends, whatever the operands are.
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
    uint i = gl_GlobalInvocationID.x, x = 1;
    while (x != 0) {
        x = x * 5 + 2 * a_word[a_at] + 2; /* stays odd */
        x |= 1;
        out_word[out_at + i % n] = x;
    }
}
