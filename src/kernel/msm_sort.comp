/* SPDX-License-Identifier: Apache-2.0
 *
 * Multi-scalar multiplication: digits and sorting.
 */
#version 450
#include "prelude.glsl"
#include "msm_memory.glsl"

shared u32 shared_bins[1 << GX_K_MSM_RADIX_BITS];
shared u32 shared_masks[GROUP_SIZE / 32u << GX_K_MSM_RADIX_BITS];
shared u32 shared_sums[GROUP_SIZE];

#include "msm_sort.glsl"

void main()
{
    if (OP == GX_OP_MSM_DIGITS)
        digits();
    else if (OP == GX_OP_MSM_COUNT)
        count();
    else if (OP == GX_OP_MSM_SCAN)
        scan();
    else
        scatter();
}
