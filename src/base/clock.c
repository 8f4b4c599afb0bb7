/* SPDX-License-Identifier: Apache-2.0
 *
 * The date.
 */
#include "base/clock.h"

#include <time.h>

uint32_t gx__date_s(void)
{
    struct timespec t;
    clock_gettime(CLOCK_REALTIME_COARSE, &t);
    return (uint32_t)t.tv_sec;
}
