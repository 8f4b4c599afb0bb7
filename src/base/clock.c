/* SPDX-License-Identifier: Apache-2.0
 *
 * The date, and times that count once.
 */
#include "base/clock.h"

#include <stdbool.h>

static _Thread_local bool timing;

uint64_t gx__once_begin(void)
{
    if (timing)
        return 0;
    timing = true;
    return gx__now_ns();
}

void gx__once_end(uint64_t start, _Atomic uint64_t *total)
{
    if (!start)
        return;
    timing = false;
    atomic_fetch_add_explicit(total, gx__now_ns() - start, memory_order_relaxed);
}

uint32_t gx__date_s(void)
{
    return (uint32_t)time(NULL);
}
