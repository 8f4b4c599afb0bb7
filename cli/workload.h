/* SPDX-License-Identifier: Apache-2.0
 *
 * Work for its own sake: jobs over random elements at a steady rate, so that gpuexec serve
 * and gpuexec top have something to show.
 */
#ifndef WORKLOAD_H
#define WORKLOAD_H

#include <jansson.h>

#include "cli.h"

typedef struct workload_opts {
    uint32_t fields, ops;
    number_list sizes;
    uint64_t rate; /* tickets per second */
    uint64_t jobs; /* it ends after so many; 0: never */
    int idle;
} workload_opts;

enum { WORKLOAD_RATE_MAX = 1000000, WORKLOAD_ELEMENTS_MAX = 1 << 24 };

/* What the options are where none are given. */
#define WORKLOAD_DEFAULT                                                                           \
    {                                                                                              \
        .fields = 1u << GX_BLS12_381_FQ, .ops = 1u << GX_ADD | 1u << GX_MUL, .rate = 20,           \
        .sizes = {                                                                                 \
            .count = 3,                                                                            \
            .values = {1 << 10, 16 << 10, 256 << 10}                                               \
        }                                                                                          \
    }

/* Rows of an arg_spec table, for the workload_opts at `o`. */
/* clang-format off */
#define WORKLOAD_SPECS(o)                                                                          \
    {.name = "field", .arg = "F[,F...]", .kind = ARG_FIELDS, .value = &(o)->fields,                \
     .help = "fields of the jobs (bls12-381-fq)"},                                                 \
    {.name = "op", .arg = "O[,O...]", .kind = ARG_OPS, .value = &(o)->ops,                         \
     .help = "operations of the jobs (add,mul)"},                                                  \
    {.name = "sizes", .arg = "N[,N...]", .kind = ARG_NUMBERS, .value = &(o)->sizes, .min = 1,      \
     .max = WORKLOAD_ELEMENTS_MAX, .help = "elements of the jobs, in turn (1K,16K,256K)"},         \
    {.name = "rate", .arg = "R", .kind = ARG_NUMBER, .value = &(o)->rate, .min = 1,                \
     .max = WORKLOAD_RATE_MAX, .help = "jobs per second, where the devices are fast enough (20)"}, \
    {.name = "jobs", .arg = "N", .kind = ARG_NUMBER, .value = &(o)->jobs, .max = UINT64_MAX,       \
     .help = "no more after this many; 0: no end (0)"},                                            \
    {.name = "idle", .kind = ARG_FLAG, .value = &(o)->idle, .set = 1, .help = "no jobs at all"}
/* clang-format on */

typedef struct workload workload;

/* Starts the jobs, on a thread of their own. The options are copied. Returns an exit code, and
 * says what went wrong on behalf of `cmd`. */
int workload_start(gx_ctx *ctx, const workload_opts *opts, const command *cmd, workload **out);

/* Waits for what is under way, and frees it; NULL is fine. */
void workload_stop(workload **w);

/* What it is doing, as an object; NULL where memory ran out. Any thread; a NULL workload
 * stands for none. */
json_t *workload_json(workload *w);

#endif
