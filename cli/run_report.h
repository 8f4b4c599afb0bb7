/* SPDX-License-Identifier: Apache-2.0
 *
 * Output of `gpuexec run` and `ntt`: --stats, a summary of all chunks for people; --json, the
 * report of every chunk and the total.
 */
#ifndef RUN_REPORT_H
#define RUN_REPORT_H

#include <jansson.h>

#include "cli.h"

/* Elements computed by one device. */
typedef struct run_share {
    char device[sizeof((gx_report *)0)->device];
    uint64_t elements;
} run_share;

typedef struct run_report {
    const char *command;
    bool json, stats; /* requested output */
    uint64_t start_ns;
    uint64_t chunks, elements, bytes;
    gx_report sum; /* sums of the numbers; other members as in the last chunk */
    size_t share_count;
    run_share shares[GX_CANDIDATES_MAX];
} run_report;

/* job: one like those that follow. */
void run_report_begin(run_report *r, const gx_job *job);
/* Adds a job that has run, successfully or not. bytes: of its operands and its result. */
void run_report_add(run_report *r, const gx_job *job, uint64_t bytes, const gx_report *report);
/* Call after the last job. */
void run_report_end(run_report *r, gx_ctx *ctx, int rc);

/* Why a device was used: "predicted to be fastest". */
const char *reason_text(gx_reason reason);

/* The candidates, as far as there was room for them, as an array. */
json_t *candidates_json(const gx_candidate *list, uint32_t count, uint32_t room);

#endif
