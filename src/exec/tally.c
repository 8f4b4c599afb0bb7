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

/* ---- all of a device ---- */

static void move_count(_Atomic uint64_t *from, _Atomic uint64_t *to)
{
    gx__count(to, atomic_exchange(from, 0));
}

static void move_histogram(struct gx_histogram *from, struct gx_histogram *to)
{
    for (int i = 0; i < GX_TALLY_BUCKETS; i++)
        move_count(&from->bucket[i], &to->bucket[i]);
    move_count(&from->sum_ns, &to->sum_ns);
}

void gx__tally_end(struct gx_tallies *tallies, gx_op op)
{
    struct gx_tally *from = gx__kind_find(&tallies->of, &(struct gx_kind){.op = op});
    if (!from)
        return;
    move_histogram(&from->took, &tallies->others.took);
    move_histogram(&from->waited, &tallies->others.waited);
    move_count(&from->elements, &tallies->others.elements);
}

void gx__tallies_sum(const struct gx_tallies *tallies, uint64_t *jobs, uint64_t *elements)
{
    const struct gx_tally *t;
    struct gx_kind kind;
    *jobs = gx__histogram_count(&tallies->others.took);
    *elements = tallies->others.elements;
    for (uint64_t at = 0; (t = gx__kind_next(&tallies->of, &at, &kind)) != NULL;) {
        *jobs += gx__histogram_count(&t->took);
        *elements += t->elements;
    }
}
