/* SPDX-License-Identifier: Apache-2.0
 *
 * Timing of a job: warm-up, then samples that are long enough for the clock.
 */
#ifndef MEASURE_H
#define MEASURE_H

#include <stdbool.h>

#include "gpuexec.h"
#include "stats.h"

enum { SAMPLES_MAX = 10000 };

typedef struct measure_plan {
    size_t samples;     /* 1 to SAMPLES_MAX */
    double budget_s;    /* fewer samples, but at least 3, past this; 0: no limit */
    double shortest_ns; /* calls are repeated until a sample is this long */
    bool bare;          /* without reports, which cost a GPU time stamps; no overhead_ns then */
} measure_plan;

typedef struct measurement {
    size_t samples;
    unsigned threads;   /* that worked on it */
    stats wall_ns;      /* of one call */
    double overhead_ns; /* median wall time less median time inside the device */
} measurement;

/* Times gx_run of one job. On failure *report says why. */
gx_status measure_job(gx_ctx *ctx, const gx_job *job, const char *device, const measure_plan *plan,
                      measurement *m, gx_report *report);

#endif
