/* SPDX-License-Identifier: Apache-2.0
 *
 * Results as a table, as CSV or as JSON, from one description of the columns and
 * one call per row. Table and CSV rows appear as they come; JSON is one object
 * {"command", "version", "rows": [...]} at the end.
 */
#ifndef OUTPUT_H
#define OUTPUT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef enum output_format { OUT_TABLE, OUT_CSV, OUT_JSON } output_format;

typedef enum column_kind { COL_TEXT, COL_COUNT, COL_REAL, COL_BOOL } column_kind;

enum {
    COL_TABLE_ONLY = 1,   /* nothing for a machine in it */
    COL_MACHINE_ONLY = 2, /* not in the table */
    COL_WIDE = 4          /* left out of a table that the terminal is too narrow for */
};

typedef struct column {
    const char *key;   /* CSV heading and JSON name: "median_us" */
    const char *title; /* table heading: "median us" */
    double scale;      /* COL_REAL, in the table; 0 means 1 */
    column_kind kind;
    int width;    /* in the table; text to the left, numbers to the right */
    int decimals; /* COL_REAL, in the table */
    unsigned flags;
} column;

typedef struct cell {
    bool missing; /* "-", an empty CSV field, null */
    const char *text;
    uint64_t count;
    double real;
} cell;

#define CELL_TEXT(t)                                                                               \
    (cell)                                                                                         \
    {                                                                                              \
        .text = (t)                                                                                \
    }
#define CELL_COUNT(n)                                                                              \
    (cell)                                                                                         \
    {                                                                                              \
        .count = (n)                                                                               \
    }
#define CELL_REAL(x)                                                                               \
    (cell)                                                                                         \
    {                                                                                              \
        .real = (x)                                                                                \
    }
#define CELL_MISSING                                                                               \
    (cell)                                                                                         \
    {                                                                                              \
        .missing = true                                                                            \
    }

typedef struct output output;

/* Writes to stdout. NULL where memory ran out. The columns are borrowed. */
output *output_open(output_format format, const char *command, const column *columns, size_t count);

/* One cell per column. False when nothing more can be written. */
bool output_row(output *out, const cell *cells);

/* Ends the output; false where something could not be written. NULL is fine. */
bool output_close(output *out);

/* Flushes stdout; false where something could not be written since the start. */
bool output_flush(void);

/* The errno of the first failed write, 0 where there was none. */
int output_error(void);

/* Whether stdout takes colours and UTF-8 (terminal, NO_COLOR, locale). */
bool output_colour(void);
bool output_utf8(void);

/* Columns of the terminal; 1000 where stdout is none. */
int output_width(void);

/* Escape sequences, empty where there are no colours. */
const char *style_bold(void);
const char *style_good(void);
const char *style_bad(void);
const char *style_off(void);

/* "s" behind a noun, unless there is one of it. */
static inline const char *plural(uint64_t count)
{
    return count == 1 ? "" : "s";
}

/* A bar of `fraction` (0 to 1) of width characters; `buffer` holds 4 * width bytes. */
const char *output_bar(char *buffer, int width, double fraction);

#endif
