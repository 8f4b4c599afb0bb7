/* SPDX-License-Identifier: Apache-2.0
 *
 * Transposes a matrix: a grid of two dimensions (registered_kernels.c says so in C and WGSL).
 */
#version 450
layout(local_size_x = 8, local_size_y = 8) in;
layout(binding = 0) buffer Out { uint out_word[]; };
layout(binding = 1) buffer A { uint a_word[]; };
layout(push_constant) uniform Push
{
    uint n, out_at, a_at, b_at, c_at, a_step, b_step, c_step;
    uint width;
};

void main()
{
    uint x = gl_GlobalInvocationID.x, y = gl_GlobalInvocationID.y, height = n / width;
    if (x < width && y < height)
        out_word[out_at + x * height + y] = a_word[a_at + y * width + x];
}
