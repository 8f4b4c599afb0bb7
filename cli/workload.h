/* SPDX-License-Identifier: Apache-2.0
 *
 * A synthetic workload: jobs over random elements at a steady rate, so that gpuexec serve and
 * gpuexec top have something to show.
 */
#ifndef WORKLOAD_H
#define WORKLOAD_H

#include <jansson.h>

#include "cli.h"

typedef struct workload_opts {
    uint32_t fields, ops;
    number_list sizes;
    uint64_t rate; /* tickets per second */
    uint64_t jobs; /* stop after this many; 0: never */
    int idle;
} workload_opts;

enum { WORKLOAD_RATE_MAX = 1000000, WORKLOAD_ELEMENTS_MAX = 1 << 24 };

/* Default options. */
#define WORKLOAD_DEFAULT                                                                           \
    {                                                                                              \
        .ops = 1u << GX_MUL | 1u << GX_NTT | 1u << GX_MSM, .rate = 20, .sizes = {                  \
            .count = 3,                                                                            \
            .values = {1 << 10, 16 << 10, 64 << 10}                                                \
        }                                                                                          \
    }

/* Rows of an option_row table for the workload_opts at `o`. */
/* clang-format off */
#define OPTIONS_WORKLOAD(o)                                                                        \
    OPTION_FIELDS(&(o)->fields, "fields of the jobs (" DEFAULT_FIELDS ")"),                              \
    OPTION_OPS(&(o)->ops, "operations of the jobs (mul,ntt,msm)"),                                 \
    OPTION_NUMBERS("sizes", "N[,N...]", &(o)->sizes, 1, WORKLOAD_ELEMENTS_MAX,                     \
                    "elements of the jobs, in turn (1K,16K,64K)"),                                 \
    OPTION_NUMBER("rate", "R", &(o)->rate, 1, WORKLOAD_RATE_MAX,                                   \
                   "jobs per second, if the devices can keep up (20)"),                            \
    OPTION_NUMBER("jobs", "N", &(o)->jobs, 0, UINT64_MAX,                                          \
                   "stop after this many jobs; 0: never (0)"),                                     \
    OPTION_FLAG("idle", &(o)->idle, "submit no jobs")
/* clang-format on */

typedef struct workload workload;

/* Starts the jobs on their own thread. Copies the options. Returns an exit code. */
int workload_start(gx_ctx *ctx, const workload_opts *opts, workload **out);

/* Waits for unfinished jobs and frees the workload; may be NULL. */
void workload_stop(workload **w);

/* The current state as an object; NULL if memory ran out. Any thread; the workload may be NULL. */
json_t *workload_json(workload *w);

#endif
