/* SPDX-License-Identifier: Apache-2.0
 *
 * Timing of a job: warm-up, then samples long enough for the clock.
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
    size_t warmup;      /* calls before the first sample, besides those that determine the number of
                           calls per sample */
    double budget_s;    /* takes fewer samples, but at least 3, beyond this; 0: no limit */
    double shortest_ns; /* calls are repeated until a sample is this long */
    bool bare;      /* run without reports, which cost timestamps on a GPU; no overhead_ns then */
    bool set_apart; /* discard the first samples while they are slow (warm) */
    const volatile sig_atomic_t *stop; /* stops with GX_ERR_CANCELLED once nonzero; may be NULL */
} measure_plan;

/* Parts of a call's time, in this order. */
enum { STAGE_HOST_IN, STAGE_UPLOAD, STAGE_COMPUTE, STAGE_DOWNLOAD, STAGE_HOST_OUT, STAGES };

typedef struct measurement {
    size_t samples;
    size_t warm;             /* initial samples that were discarded */
    unsigned threads;        /* that worked on it */
    unsigned submits;        /* of one call */
    stats wall_ns;           /* of one call */
    double stage_ns[STAGES]; /* medians */
    double overhead_ns;      /* median wall time minus median time inside the device */
} measurement;

/* Times gx_run of one job. On failure *report holds the reason. */
gx_status measure_job(gx_ctx *ctx, const gx_job *job, const char *device, const measure_plan *plan,
                      measurement *m, gx_report *report);

/* Number of initial samples that count as warm-up: those before the first one within WARM_TIMES the
 * overall median, but at most half. */
#define WARM_TIMES 1.5
size_t measure_warm(const double *samples, size_t count);

#endif
