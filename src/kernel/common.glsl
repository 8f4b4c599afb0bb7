/* SPDX-License-Identifier: Apache-2.0
 *
 * Shared by all kernels: push constants, specialization constants and the index of this invocation.
 * interface.h explains them.
 */
#extension GL_EXT_control_flow_attributes : require

#include "interface.h"

layout(local_size_x_id = GX_K_WORKGROUP) in;
layout(constant_id = GX_K_OP) const uint OP = 0;
layout(constant_id = GX_K_CHECK) const uint CHECK = 0;
layout(constant_id = GX_K_REPEAT) const uint REPEAT = 1;

layout(push_constant) uniform Push {
    uint n;
    uint at_out, at_a, at_b, at_c;
    uint broadcast;
    uint stage[3];
} push;

/* Of this workgroup, and of this invocation, over the two dimensions of a dispatch. */
uint first_index()
{
    return (gl_WorkGroupID.y * gl_NumWorkGroups.x + gl_WorkGroupID.x) * gl_WorkGroupSize.x;
}

uint own_index()
{
    return first_index() + gl_LocalInvocationID.x;
}
