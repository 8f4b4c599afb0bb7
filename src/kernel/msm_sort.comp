/* SPDX-License-Identifier: Apache-2.0
 *
 * Multi-scalar multiplication: digits and sorting.
 */
#include "product.glsl"
#include "msm_memory.glsl"

SHARED u32 shared_bins[1 << GX_K_MSM_RADIX_BITS];
SHARED u32 shared_masks[GROUP_SIZE / 32u << GX_K_MSM_RADIX_BITS];
SHARED u32 shared_sums[GROUP_SIZE];
#ifdef BALLOT
SHARED Pair shared_entries[GX_K_MSM_ROUNDS * GROUP_SIZE];
#endif

#include "msm_sort.glsl"

KERNEL
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
