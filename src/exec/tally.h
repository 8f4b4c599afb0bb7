/* SPDX-License-Identifier: Apache-2.0
 *
 * How many jobs of one operation on one field a device did, and how long they took and waited: the
 * histograms of gx_metrics_prometheus. Plain counters, so that recording costs a few nanoseconds,
 * without locks. Only the first job of an operation on a field allocates.
 */
#ifndef GX_EXEC_TALLY_H
#define GX_EXEC_TALLY_H

#include "op/kinds.h"

/* Bounds at 1, 2 and 5 times every power of ten from 1 us to 10 s, and one bucket above. */
enum { GX_TALLY_BUCKETS = 23 };

/* Upper bounds in nanoseconds, except of the last. */
extern const uint64_t gx__tally_bounds[GX_TALLY_BUCKETS - 1];

struct gx_histogram {
    _Atomic uint64_t bucket[GX_TALLY_BUCKETS]; /* not cumulative */
    _Atomic uint64_t sum_ns;
};

struct gx_tally {
    struct gx_histogram took;   /* gx_report.total_ns of every job that was done */
    struct gx_histogram waited; /* gx_report.queued_ns of jobs from tickets */
    _Atomic uint64_t elements;
};

static inline void gx__histogram_add(struct gx_histogram *histogram, uint64_t ns)
{
    size_t i = 0;
    while (i < GX_TALLY_BUCKETS - 1 && ns > gx__tally_bounds[i])
        i++;
    gx__count(&histogram->bucket[i], 1);
    gx__count(&histogram->sum_ns, ns);
}

/* Records a job that was done; queued_ns 0: not from a ticket. */
static inline void gx__tally_job(struct gx_tally *tally, uint64_t elements, uint64_t total_ns,
                                 uint64_t queued_ns)
{
    gx__histogram_add(&tally->took, total_ns);
    if (queued_ns)
        gx__histogram_add(&tally->waited, queued_ns);
    gx__count(&tally->elements, elements);
}

/* The tallies of a device. */
struct gx_tallies {
    struct gx_kind_map of;  /* struct gx_tally, by operation and field */
    struct gx_tally others; /* of registered operations that have ended, and of all for which there
                               was no memory */
};

static inline struct gx_tally *gx__tally_of(struct gx_tallies *tallies, gx_op op, gx_field field)
{
    struct gx_tally *tally =
        gx__kind_get(&tallies->of, &(struct gx_kind){.op = op, .field = field});
    return tally ? tally : &tallies->others;
}

/* Adds the tally of a registered operation to `others`, and clears it. Any thread. */
void gx__tally_end(struct gx_tallies *tallies, gx_op op);
/* Number of jobs, and of their elements. Any thread. */
void gx__tallies_sum(const struct gx_tallies *tallies, uint64_t *jobs, uint64_t *elements);

/* Number of jobs. */
uint64_t gx__histogram_count(const struct gx_histogram *histogram);

#endif
