/* SPDX-License-Identifier: Apache-2.0
 *
 * Histograms of what jobs take (tally.h).
 */
#include "exec/tally.h"

#define DECADE(ns) (ns), 2 * (ns), 5 * (ns)

const uint64_t gx__tally_bounds[GX_TALLY_BUCKETS - 1] = {
    DECADE(UINT64_C(1000)),       DECADE(UINT64_C(10000)),    DECADE(UINT64_C(100000)),
    DECADE(UINT64_C(1000000)),    DECADE(UINT64_C(10000000)), DECADE(UINT64_C(100000000)),
    DECADE(UINT64_C(1000000000)), UINT64_C(10000000000)};

uint64_t gx__histogram_count(const struct gx_histogram *histogram)
{
    uint64_t count = 0;
    for (size_t i = 0; i < GX_TALLY_BUCKETS; i++)
        count += atomic_load_explicit(&histogram->bucket[i], memory_order_relaxed);
    return count;
}
