/* SPDX-License-Identifier: Apache-2.0
 *
 * What the readers of scan_read.c and scan_seeds.c share; nobody else includes it.
 */
#ifndef REPORT_SCAN_READ_H
#define REPORT_SCAN_READ_H

#include <stdarg.h>

#include "report/scan.h"

enum { SEEDS_COLUMNS_MAX = 16 };

typedef struct scan_reader {
    const char *name;
    size_t line;
    scan_file *file;
    scan_section *section; /* the one being read */
    char *err;
    bool headed; /* the names of its columns were read */
    bool seeds;
    int seeds_columns[SEEDS_COLUMNS_MAX];
    size_t seeds_count;
} scan_reader;

/* Says NAME:LINE and what is wrong; false. */
bool scan_refuse(scan_reader *r, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* A plain number that is not negative: digits, a point, an exponent. */
bool scan_number(const char *text, double *value);

/* A new section; NULL where memory ran out. */
scan_section *scan_begin(scan_reader *r);

/* Whether the numbers of a row can all be true. */
bool scan_plausible(scan_reader *r, const scan_row *row);

/* The names of the columns, and a row. */
bool scan_seeds_begin(scan_reader *r, char *line);
bool scan_seeds_line(scan_reader *r, char *line);

#endif
