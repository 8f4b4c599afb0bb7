/* SPDX-License-Identifier: Apache-2.0
 *
 * Multi-scalar multiplication: the sums of buckets. Built with INT64 = 1 or 0, DEGREE 1
 * or 2, and STEPS 0 or 1.
 */
#include "product.glsl"
#include "curve.glsl"
#include "msm_memory.glsl"
#include "msm_points.glsl"
#include "msm_add.glsl"

KERNEL { add_slice(); }
