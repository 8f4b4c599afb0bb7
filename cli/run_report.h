/* SPDX-License-Identifier: Apache-2.0
 *
 * What `gpuexec run` tells of itself: --stats, all chunks together, for people; --json, the
 * report of every chunk and their sum.
 */
#ifndef RUN_REPORT_H
#define RUN_REPORT_H

#include <jansson.h>

#include "cli.h"

/* What one device did. */
typedef struct run_share {
    char device[sizeof((gx_report *)0)->device];
    uint64_t elements;
} run_share;

typedef struct run_report {
    bool json, stats; /* what is wanted */
    uint64_t start_ns;
    uint64_t chunks, elements, bytes;
    gx_report sum; /* of the numbers; else as in the last chunk */
    size_t share_count;
    run_share shares[GX_CANDIDATES_MAX];
} run_report;

/* Of jobs like this one. */
void run_report_begin(run_report *r, const gx_job *job);
/* A job that has run, well or not. bytes: of its operands and its result. */
void run_report_add(run_report *r, const gx_job *job, uint64_t bytes, const gx_report *report);
/* After the last one. */
void run_report_end(run_report *r, gx_ctx *ctx, int rc);

/* Why a device does it: "the fastest". */
const char *reason_text(gx_reason reason);

/* Those that were considered, as far as there was room for them, as an array. */
json_t *candidates_json(const gx_candidate *list, uint32_t count, uint32_t room);

#endif
