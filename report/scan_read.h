/* SPDX-License-Identifier: Apache-2.0
 *
 * Shared by scan_read.c and scan_seeds.c only.
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
    scan_section *section; /* the section being read */
    char *err;
    bool headed; /* its column names have been read */
    bool seeds;
    int seeds_columns[SEEDS_COLUMNS_MAX];
    size_t seeds_count;
} scan_reader;

/* Stores NAME:LINE and the reason; returns false. */
bool scan_refuse(scan_reader *r, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* A non-negative decimal number: digits, a point, an exponent. */
bool scan_number(const char *text, double *value);

/* Starts a new section; NULL if memory ran out. */
scan_section *scan_begin(scan_reader *r);

/* Whether the numbers of a row are consistent. */
bool scan_plausible(scan_reader *r, const scan_row *row);

/* The names of the columns, and a row. */
bool scan_seeds_begin(scan_reader *r, char *line);
bool scan_seeds_line(scan_reader *r, char *line);

#endif
