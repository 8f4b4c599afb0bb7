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

static void record(struct gx_histogram *histogram, uint64_t ns)
{
    size_t i = 0;
    while (i < GX_TALLY_BUCKETS - 1 && ns > gx__tally_bounds[i])
        i++;
    gx__count(&histogram->bucket[i], 1);
    gx__count(&histogram->sum_ns, ns);
}

void gx__tally_job(struct gx_tally *tally, uint64_t elements, uint64_t total_ns, uint64_t queued_ns)
{
    record(&tally->took, total_ns);
    if (queued_ns)
        record(&tally->waited, queued_ns);
    gx__count(&tally->elements, elements);
}

uint64_t gx__histogram_count(const struct gx_histogram *histogram)
{
    uint64_t count = 0;
    for (size_t i = 0; i < GX_TALLY_BUCKETS; i++)
        count += atomic_load_explicit(&histogram->bucket[i], memory_order_relaxed);
    return count;
}
