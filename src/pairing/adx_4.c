/* SPDX-License-Identifier: Apache-2.0
 *
 * Pairings of the adx tier over fields of 4 limbs.
 */
#if defined(__x86_64__)

#define LIMBS 4
#include "field/adx_element.h"
#include "pairing/scalar.h"

const struct gx_pairing_tier gx__pairing_adx_4 = PAIRING_TIER(GX_TIER_ADX);

#endif
