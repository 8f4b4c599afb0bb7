/* SPDX-License-Identifier: Apache-2.0
 *
 * Pairings of the portable tier over fields of 6 limbs.
 */
#define LIMBS 6
#include "field/portable_element.h"
#include "pairing/scalar.h"

const struct gx_pairing_tier gx__pairing_portable_6 = PAIRING_TIER(GX_TIER_PORTABLE);
