/* SPDX-License-Identifier: Apache-2.0
 *
 * Timing of a job: warm-up, then samples that are long enough for the clock.
 */
#ifndef MEASURE_H
#define MEASURE_H

#include <signal.h>
#include <stdbool.h>

#include "gpuexec.h"
#include "stats.h"

enum { SAMPLES_MAX = 10000 };

typedef struct measure_plan {
    size_t samples;     /* 1 to SAMPLES_MAX */
    size_t warmup;      /* calls before the first sample, beside those that find how many calls
                           make one */
    double budget_s;    /* fewer samples, but at least 3, past this; 0: no limit */
    double shortest_ns; /* calls are repeated until a sample is this long */
    bool bare;          /* without reports, which cost a GPU time stamps; no overhead_ns then */
    bool set_apart;     /* the first samples do not count while they are slow (warm) */
    const volatile sig_atomic_t *stop; /* GX_ERR_CANCELLED once it is not 0; NULL: go on */
} measure_plan;

/* Where the time of a call goes, in this order. */
enum { STAGE_HOST_IN, STAGE_UPLOAD, STAGE_COMPUTE, STAGE_DOWNLOAD, STAGE_HOST_OUT, STAGES };

typedef struct measurement {
    size_t samples;
    size_t warm;             /* samples at the beginning that were set apart and do not count */
    unsigned threads;        /* that worked on it */
    unsigned submits;        /* of one call */
    stats wall_ns;           /* of one call */
    double stage_ns[STAGES]; /* medians */
    double overhead_ns;      /* median wall time less median time inside the device */
} measurement;

/* Times gx_run of one job. On failure *report says why. */
gx_status measure_job(gx_ctx *ctx, const gx_job *job, const char *device, const measure_plan *plan,
                      measurement *m, gx_report *report);

/* How many samples at the beginning are still of the warm-up: those before the first that is at
 * most WARM_TIMES the median of all, but not more than half. */
#define WARM_TIMES 1.5
size_t measure_warm(const double *samples, size_t count);

#endif
