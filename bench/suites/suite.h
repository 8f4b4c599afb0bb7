/* SPDX-License-Identifier: Apache-2.0
 *
 * The suites of bench-suites. Each is a command with options of its own, in its own file; main.c
 * lists them.
 */
#ifndef SUITE_H
#define SUITE_H

#include "cli.h"
#include "measure.h"

extern const command suite_persistence, suite_engine, suite_router, suite_ntt, suite_msm,
    suite_seeds;

/* What several suites take. 0 or empty: the suite's default. */
typedef struct suite_opts {
    uint32_t fields, ops;
    number_list sizes;
    uint64_t samples, seed;
    const char *parts;     /* engine, seeds: only these parts */
    number_list jobs;      /* engine: jobs per batch */
    uint64_t stream_bytes; /* engine: input of a stream */
    uint64_t skip_ms;      /* engine: skip cells whose single call would take longer; 0: none */
    int stats;             /* engine: print counters at the end */
} suite_opts;

/* Their rows in a table of options, for the suite_opts at `o`. */
/* clang-format off */
#define SUITE_ROWS(o, sizes_help)                                                                  \
    OPTION_LETTER('n', "N[,N...]", OPT_NUMBERS, &(o)->sizes, 1, 1u << 30, sizes_help),             \
    OPTION_SAMPLES(&(o)->samples, SAMPLES_MAX, "exactly this many samples per row"),               \
    OPTION_SEED(&(o)->seed)
#define SUITE_ROW_PARTS(o, list)                                                                   \
    {.name = "part", .arg = "P[,P...]", .kind = OPT_CHOICES, .choices = list,                      \
     .value = &(o)->parts, .help = "run only these parts"}
/* clang-format on */

/* For the `choices` of an option. */
#define SUITE_WORD(name) " " #name

/* Whether a list as of --part contains the name; NULL contains all. */
bool part_is_in(const char *parts, const char *name);

/* ---- tables of several parts (parts.c) ---- */

enum { PART_COLUMNS_MAX = 24 };

/* A table for each part, with some of the columns; for machines one with all of them. */
typedef struct part_tables {
    const char *suite;
    output_format format;
    bool markdown; /* for people, as a table of Markdown with a heading */
    const column *columns;
    size_t count;
    uint64_t shown; /* columns of the part at hand, as bits; 0: none has begun */
    column kept[PART_COLUMNS_MAX];
    size_t kept_count;
    bool headed; /* the header is printed with the first row */
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

#endif
