/* SPDX-License-Identifier: Apache-2.0
 *
 * Results as a table, as CSV or as JSON, from one description of the columns and one call per row.
 * Rows of tables and of CSV are printed immediately; JSON is one object {"command", "version",
 * "rows": [...]} at the end.
 */
#ifndef OUTPUT_H
#define OUTPUT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

typedef enum output_format { OUT_TABLE, OUT_CSV, OUT_JSON } output_format;

typedef enum column_kind { COL_TEXT, COL_COUNT, COL_REAL, COL_BOOL } column_kind;

enum {
    COL_TABLE_ONLY = 1,   /* in the table only */
    COL_MACHINE_ONLY = 2, /* not in the table */
    COL_WIDE = 4          /* omitted if the terminal is too narrow */
};

typedef struct column {
    const char *key;   /* CSV header and JSON name: "median_us" */
    const char *title; /* table header: "median us" */
    double scale;      /* COL_REAL, in the table; 0 means 1 */
    column_kind kind;
    int width;    /* in the table; text left-aligned, numbers right-aligned */
    int decimals; /* COL_REAL, in the table */
    unsigned flags;
} column;

/* clang-format off */
/* A column with a heading; what follows its width is further members. */
#define COLUMN(k, name, heading, ...)                                                              \
    {.kind = COL_##k, .key = (name), .title = (heading), .width = __VA_ARGS__}
/* clang-format on */

typedef struct cell {
    bool missing; /* "-", an empty CSV field, null */
    const char *text;
    uint64_t count;
    double real;
} cell;

/* clang-format off */
#define CELL_TEXT(t)  (cell) {.text = (t)}
#define CELL_COUNT(n) (cell) {.count = (n)}
#define CELL_REAL(x)  (cell) {.real = (x)}
#define CELL_MISSING  (cell) {.missing = true}
/* clang-format on */

typedef struct output output;

/* Writes to stdout. NULL if memory ran out. The columns are borrowed. */
output *output_open(output_format format, const char *command, const column *columns, size_t count);

/* One cell per column. False if writing failed. */
bool output_row(output *out, const cell *cells);

/* The text of a cell, in a table or in CSV; the buffer may be used for it. */
const char *output_cell(const column *column, const cell *cell, bool table, char buffer[64]);

/* Finishes the output; false if any write failed. May be NULL. */
bool output_close(output *out);

/* Flushes stdout; false if any write has failed since the start. */
bool output_flush(void);

/* errno of the first failed write, or 0. */
int output_error(void);
/* The same for any stream, which writes to fd, and its *error. */
bool output_flush_to(FILE *stream, int fd, int *error);

/* Width of the terminal; 1000 if stdout is not a terminal. */
int output_width(void);

/* Escape sequences; empty without colours. */
const char *style_bold(void);
const char *style_good(void);
const char *style_bad(void);
const char *style_off(void);

/* "s", or "" if the number is 1. */
static inline const char *plural(uint64_t count)
{
    return count == 1 ? "" : "s";
}

/* A bar of `fraction` (0 to 1) of width characters; `buffer` holds 4 * width bytes. */
const char *output_bar(char *buffer, int width, double fraction);

#endif
