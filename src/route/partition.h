/* SPDX-License-Identifier: Apache-2.0
 *
 * Rounds and shares. A round is a run of consecutive jobs of which none writes what another reads
 * or writes, so they may run at the same time. A share is a contiguous range of the elements of a
 * round, counted through all its jobs.
 */
#ifndef GX_ROUTE_PARTITION_H
#define GX_ROUTE_PARTITION_H

#include <stdbool.h>

#include "base/instance.h"

/* Jobs are cut at multiples of GX_CUT_ELEMS elements, which keeps memory aligned and kernels at
 * full width; small jobs at finer steps, down to GX_CUT_MIN_ELEMS; transforms only between two. */
#define GX_CUT_ELEMS     1024u
#define GX_CUT_MIN_ELEMS 64u
/* Maximum jobs per round, in a call of more than one round. */
#define GX_ROUND_JOBS 64u

struct gx_rounds {
    const struct gx_task *jobs;
    size_t count;
    bool one; /* all jobs are one round */
};

/* The number of jobs in the round that begins at `first`. */
size_t gx__rounds_next(const struct gx_rounds *rounds, size_t first);

/* Whether a job must not be cut: it is one unit (gx_task.unit). A checked job in place must not: if
 * an operand is refused, all operands must still be intact. */
bool gx__job_is_whole(const struct gx_task *job);

/* `jobs` jobs from `job` on, the first without its first `skip` elements, the last only up to
 * element `end`. */
struct gx_share {
    size_t job, jobs;
    uint64_t skip, end;
    uint64_t elements;
};

/* Elements first .. first + n of a job. */
struct gx_range {
    size_t job;
    uint64_t first, n;
};

/* Cuts the round into `count` shares, approximately in proportion to the fractions, by estimated
 * work. Shares may be empty. */
void gx__round_cut(const struct gx_task *jobs, size_t njobs, const double *fractions, size_t count,
                   struct gx_share *shares);

/* The elements of the ith job of a share that belong to it. */
struct gx_range gx__share_range(const struct gx_task *jobs, const struct gx_share *share, size_t i);

#endif
