/* SPDX-License-Identifier: Apache-2.0
 *
 * Additions of affine points of the portable tier: those of msm_scalar.h, in C.
 */
#include "curve/msm_scalar.h"
#include "field/portable_element.h"

const struct gx_msm_host gx__msm_portable = MSM_SCALAR_HOST(GX_TIER_PORTABLE);
