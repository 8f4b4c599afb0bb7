/* SPDX-License-Identifier: Apache-2.0
 *
 * Output of `gpuexec run`, `ntt` and `msm`: --stats, a summary of all chunks for people; --json,
 * the report of every chunk and the total. Of `gpuexec run` also --explain.
 */
#ifndef RUN_REPORT_H
#define RUN_REPORT_H

#include "cli.h"
#include "counters.h"

/* Elements computed by one device. */
typedef struct run_share {
    char device[sizeof((gx_report *)0)->device];
    uint64_t elements;
} run_share;

/* What the time goes to. */
typedef enum run_phase {
    RUN_START, /* of the program, up to the first phase: the time that it computed */
    RUN_READ,
    RUN_OPEN,
    RUN_COMPILE,
    RUN_TABLES,
    RUN_COMPUTE,
    RUN_WRITE,
    RUN_CLOSE,
    RUN_PHASES
} run_phase;

typedef struct run_report {
    const char *command;
    bool json, stats; /* requested output */
    gx_op op;
    counters before, after;
    run_phase phase;
    uint64_t phase_start, ns[RUN_PHASES];
    uint64_t chunks, elements, bytes, butterflies;
    gx_report sum; /* sums of the numbers; other members as in the last chunk */
    size_t share_count;
    run_share shares[GX_CANDIDATES_MAX];
} run_report;

/* What the time is for from now on; the first call starts the clock. */
void run_report_phase(run_report *r, run_phase phase);
/* Before the first job. */
void run_report_begin(run_report *r, gx_ctx *ctx, gx_op op, gx_field field);
/* Runs jobs and adds the main one, successful or not. */
gx_status run_report_run(run_report *r, gx_ctx *ctx, const gx_job *jobs, size_t count, size_t main,
                         gx_report *reports);
/* Call after the last job: what follows is closing. */
void run_report_end(run_report *r, gx_ctx *ctx);
/* When all is closed; prints nothing if run_report_begin was not reached. */
void run_report_print(run_report *r, int rc);

/* Plans a job, whose output may be missing, and prints the plan instead; returns an exit code. */
int explain_job(gx_ctx *ctx, const gx_job *job, bool json);

#endif
