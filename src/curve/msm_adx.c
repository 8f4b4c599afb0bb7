/* SPDX-License-Identifier: Apache-2.0
 *
 * Additions of affine points of the ADX tier: those of msm_scalar.h, with mulx, adcx and adox.
 */
#include "curve/msm_tier.h"

#if defined(__x86_64__)

#include "curve/msm_scalar.h"
#include "field/adx_element.h"

const struct gx_msm_host gx__msm_adx = MSM_SCALAR_HOST(GX_TIER_ADX);

#endif
