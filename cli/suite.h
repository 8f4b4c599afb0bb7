/* SPDX-License-Identifier: Apache-2.0
 *
 * The suites of `gpuexec bench`: what each measures is in its own file, the options and
 * the list of them in bench.c.
 */
#ifndef SUITE_H
#define SUITE_H

#include "cli.h"

/* X(name): the parts of suite engine, in their order. */
#define ENGINE_PART_LIST(X) X(batch) X(buckets) X(small) X(repeat) X(copy) X(stream)

/* For the `choices` of an option. */
#define SUITE_WORD(name) " " #name

/* 0 or empty: the suite's own default. */
typedef struct bench_opts {
    uint32_t fields, ops;
    number_list sizes;
    uint64_t samples, seed;
    int stats;             /* print the statistics at the end */
    const char *parts;     /* engine: these alone */
    number_list jobs;      /* engine: of a batch */
    uint64_t stream_bytes; /* engine: of the inputs of a stream */
} bench_opts;

typedef struct suite {
    const char *name;
    bool chooses; /* heeds --field and --op */
    bool engine;  /* heeds --part, --jobs and --stream */
    int (*run)(const common_opts *common, const bench_opts *opts);
} suite;

extern const suite suite_ops, suite_persistence, suite_engine, suite_router;

/* ---- statistics of the library (bench_stats.c) ---- */

/* cli_close, after adding what the context has counted to what --stats prints. */
int bench_close(gx_ctx **ctx, int rc);

/* Prints it: below a table on stdout, else on stderr. */
void bench_stats_print(output_format format);

/* "64K:12 1M:3", the sizes of pooled memory and how often each was used. */
void bench_buckets_text(const uint64_t *buckets, char *text, size_t size);

#endif
