/* SPDX-License-Identifier: Apache-2.0
 *
 * The monotonic clock, and the date.
 */
#include "base/clock.h"

#include <time.h>

uint64_t gx__now_ns(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

uint32_t gx__date_s(void)
{
    struct timespec t;
    clock_gettime(CLOCK_REALTIME_COARSE, &t);
    return (uint32_t)t.tv_sec;
}
