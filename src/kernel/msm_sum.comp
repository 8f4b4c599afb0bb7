/* SPDX-License-Identifier: Apache-2.0
 *
 * Multi-scalar multiplication: sums of sums. Built with INT64 = 1 or 0, DEGREE 1 or 2, and
 * STEPS 0 or 1.
 */
#include "product.glsl"
#include "curve.glsl"
#include "msm_memory.glsl"
#include "msm_points.glsl"

SHARED u32 exchanged[4 * COORD_WORDS * (GROUP_SIZE / 2u)];

#include "msm_sum.glsl"

KERNEL
{
    if (OP == GX_OP_MSM_JOIN)
        join();
    else
        add_up();
}
