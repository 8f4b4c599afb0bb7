/* SPDX-License-Identifier: Apache-2.0
 *
 * Pairings of the portable tier over fields of 4 limbs.
 */
#define LIMBS 4
#include "field/portable_element.h"
#include "pairing/scalar.h"

const struct gx_pairing_tier gx__pairing_portable_4 = PAIRING_TIER(GX_TIER_PORTABLE);
