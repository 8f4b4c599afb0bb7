/* SPDX-License-Identifier: Apache-2.0
 *
 * Shared by scan_read.c, scan_seeds.c and scan_suites.c only.
 */
#ifndef REPORT_SCAN_READ_H
#define REPORT_SCAN_READ_H

#include <stdarg.h>

#include "base/os.h"
#include "report/scan.h"

/* What the column names of a threshold scan say (scan_seeds.c). */
enum { SEEDS_COLUMNS_MAX = 32, SEEDS_MACHINES_MAX = 16, SEEDS_WORD_MAX = 24 };

typedef enum seeds_role {
    SEEDS_TIME,
    SEEDS_SIZE,
    SEEDS_DEVICE,
    SEEDS_BACKEND,
    SEEDS_PLATFORM,
    SEEDS_WINNER,
    SEEDS_IGNORED
} seeds_role;

typedef enum seeds_statistic {
    SEEDS_MEDIAN,
    SEEDS_P90,
    SEEDS_MIN,
    SEEDS_MAX,
    SEEDS_STATISTICS
} seeds_statistic;

typedef struct seeds_column {
    seeds_role role;
    const char *platform, *backend; /* "windows", "dx12"; NULL: not in the name */
    bool cpu;
    seeds_statistic statistic;
    double us; /* in its unit of time */
} seeds_column;

/* Of the files of bench-suites (scan_suites.c). */
enum { SUITE_COLUMNS_MAX = 16 };
struct suite;

typedef struct scan_reader {
    const char *name;
    size_t line;
    scan_file *file;
    scan_section *section; /* the section being read */
    char *err;
    bool headed; /* its column names have been read */
    bool seeds;
    seeds_column columns[SEEDS_COLUMNS_MAX];
    size_t ncolumns;
    const struct suite *suite; /* NULL: none */
    char command[200];         /* that printed a suite, in the first line; "": not stated */
} scan_reader;

/* Stores NAME:LINE and the reason; returns false. */
bool scan_refuse(scan_reader *r, const char *format, ...) GX_PRINTF(2, 3);

/* A non-negative decimal number: digits, a point, an exponent. */
bool scan_number(const char *text, double *value);

/* Starts a new section; NULL if memory ran out. */
scan_section *scan_begin(scan_reader *r);

/* Whether the numbers of a row are consistent. */
bool scan_plausible(scan_reader *r, const scan_row *row);

/* The names of the columns, and a row. */
bool scan_seeds_begin(scan_reader *r, char *line);
bool scan_seeds_line(scan_reader *r, char *line);

/* The same for suites; the first also fails, without a reason, if these are the columns of none. */
bool scan_suite_begin(scan_reader *r, const char *line);
bool scan_suite_line(scan_reader *r, char *line);

#endif
