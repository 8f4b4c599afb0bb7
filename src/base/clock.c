/* SPDX-License-Identifier: Apache-2.0
 *
 * The date.
 */
#include "base/clock.h"

uint32_t gx__date_s(void)
{
    return (uint32_t)time(NULL);
}
