/* SPDX-License-Identifier: Apache-2.0
 *
 * Which jobs of a call may run at the same time, and how they are shared out. A round is a run
 * of consecutive jobs of which none writes what another one reads or writes. Its elements,
 * job behind job, are a line, and a share is a piece of that line.
 */
#ifndef GX_ROUTE_ROUNDS_H
#define GX_ROUTE_ROUNDS_H

#include <stdbool.h>

#include "base/instance.h"

/* Jobs are cut at multiples of this, so that buffers keep their alignment and kernels their
 * stride; small jobs, of which that would be much, at multiples of the other. */
#define GX_CUT_ELEMS     1024u
#define GX_CUT_MIN_ELEMS 64u
/* Up to so many jobs no memory is asked for. */
#define GX_ROUND_SMALL 16u
/* Jobs of a round at most, in a call that is more than one round. */
#define GX_ROUND_JOBS 64u

struct gx_rounds {
    const gx_job *jobs;
    size_t count;
    bool one; /* all of them are one round */
};

/* The jobs are valid. GX_ERR_OUT_OF_MEMORY, only where there are more than GX_ROUND_SMALL. */
gx_status gx__rounds_find(struct gx_rounds *rounds, const gx_allocator *allocator,
                          const gx_job *jobs, size_t count);
/* How many jobs from `first` on are the next round. */
size_t gx__rounds_next(const struct gx_rounds *rounds, size_t first);

/* Whether the second job has to wait for the first: host memory and buffers. */
bool gx__jobs_conflict(const gx_job *first, const gx_job *second);

/* A job whose operands are looked at and replaced is one device's: where one of them is
 * refused, all of them must still be there. */
bool gx__job_is_whole(const gx_job *job);

/* A piece of the line of a round: `jobs` jobs from `job` on, the first one without `skip`
 * elements, the last one only up to element `end`. */
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

/* Cuts the round into `count` shares, about in the proportion of the fractions: of elements,
 * where all jobs are of one kind, else of work. Shares may be empty. */
void gx__round_cut(const gx_job *jobs, size_t njobs, const double *fractions, size_t count,
                   struct gx_share *shares);

/* The part of the ith job of a share that belongs to it. */
struct gx_range gx__share_range(const gx_job *jobs, const struct gx_share *share, size_t i);

#endif
