/* SPDX-License-Identifier: Apache-2.0
 *
 * The suites of `gpuexec bench`: each has its own file; options and the list of suites are in
 * bench.c.
 */
#ifndef SUITE_H
#define SUITE_H

#include "cli.h"

/* X(name): the parts of suite engine and of suite seeds, in order, and those of the latter alone.
 */
#define ENGINE_PART_LIST(X) X(batch) X(buckets) X(small) X(repeat) X(paths) X(copy) X(stream)
#define SEEDS_ONLY_LIST(X)  X(persistence) X(scan) X(goals)
#define SEEDS_PART_LIST(X)                                                                         \
    X(persistence) X(paths) X(batch) X(small) X(buckets) X(repeat) X(scan) X(goals)

/* For the `choices` of an option. */
#define SUITE_WORD(name) " " #name

/* 0 or empty: the suite's default. */
typedef struct bench_opts {
    uint32_t fields, ops;
    gx_curve curve; /* msm */
    number_list sizes;
    uint64_t samples, seed;
    int stats;             /* print statistics at the end */
    const char *parts;     /* engine, seeds: only these parts */
    number_list jobs;      /* engine: jobs per batch */
    uint64_t stream_bytes; /* engine: input of a stream */
    uint64_t skip_ms;      /* engine: skip cells whose single call would take longer; 0: none */
} bench_opts;

typedef struct suite {
    const char *name;
    const char *parts; /* for --part, as in an option's `choices`; NULL: none */
    bool chooses;      /* supports --field and --op */
    bool engine;       /* supports --jobs and --stream */
    int (*run)(const common_opts *common, const bench_opts *opts);
} suite;

extern const suite suite_ops, suite_persistence, suite_engine, suite_router, suite_ntt, suite_msm,
    suite_seeds;

/* Whether a list as of --part contains the name; NULL contains all. */
bool part_is_in(const char *parts, const char *name);

/* ---- tables of several parts (suite_parts.c) ---- */

enum { PART_COLUMNS_MAX = 24 };

/* A table for each part, with some of the columns; for machines one with all of them. */
typedef struct part_tables {
    output_format format;
    const column *columns;
    size_t count;
    uint64_t shown; /* columns of the part at hand, as bits; 0: none has begun */
    column kept[PART_COLUMNS_MAX];
    output *out;
} part_tables;

/* Begins the table of a part, under its title. Returns an exit code, as does the end. */
int parts_begin(part_tables *t, const char *title, uint64_t shown);
bool parts_row(part_tables *t, const cell *all);
int parts_end(part_tables *t, int rc);

/* Cells that are missing where there is nothing: NULL, 0, NAN. */
cell text_or_none(const char *text);
cell count_or_none(uint64_t count);
cell real_or_none(double x);

/* ---- statistics of the library (bench_stats.c) ---- */

/* cli_close, after adding the context's counters to those printed by --stats. */
int bench_close(gx_ctx **ctx, int rc);

/* Prints them: below a table on stdout, otherwise on stderr. */
void bench_stats_print(output_format format);

/* "64K:12 1M:3": sizes of pooled memory, and how often each was used. */
void bench_buckets_text(const uint64_t *buckets, char *text, size_t size);

#endif
