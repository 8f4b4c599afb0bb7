/* SPDX-License-Identifier: Apache-2.0
 *
 * Files of `gpuexec scan`: contents, writing and reading. Columns and header lines are listed once,
 * in scan.c, for both; doc/csv.md explains them. Reading is strict: anything that is not exactly as
 * documented is rejected with its line number.
 */
#ifndef REPORT_SCAN_H
#define REPORT_SCAN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

enum { SCAN_SCHEMA = 1, SCAN_ERROR_SIZE = 480, SCAN_DEVICES_MAX = 16 };

/* State of a cell. */
#define SCAN_OK      "ok"
#define SCAN_FAILED  "failed"
#define SCAN_SKIPPED "skipped"
#define SCAN_SHORT   "too short" /* in a threshold scan: less than its unit of time */

#define SCAN_HOST     "host"
#define SCAN_RESIDENT "resident"

/* Field and operation of files that do not name them. */
#define SCAN_UNSTATED "unstated"

/* One cell: a device, an operation, a size. Unknown numbers are NAN. */
typedef struct scan_row {
    char device[48], field[24], op[16];
    char place[12]; /* SCAN_HOST or SCAN_RESIDENT: where the operands are */
    char state[12]; /* SCAN_OK, or why there are no numbers, with details in: */
    char note[200];
    double elements, threads, samples, warm_samples;
    double median_us, p90_us, min_us, max_us, low_us, high_us, first_us;
    double host_in_us, upload_us, compute_us, download_us, host_out_us;
    double submits, pool_hits, pool_misses, command_hits, command_misses;
    size_t line; /* of the file it was read from */
} scan_row;

typedef struct scan_device {
    char name[48], description[200];
} scan_device;

/* One run of `gpuexec scan`. A file contains one or more of these. */
typedef struct scan_section {
    char label[64]; /* file name without directory and extension, or as given */
    char file[256];
    char library[32], date[32], os[128], cpu[128], clocks[200], options[1000];
    double cells; /* rows of a complete scan; NAN: not stated */
    bool foreign; /* columns without intervals, no header: a threshold scan, or */
    bool suite;   /* what bench-suites printed */
    bool named;   /* the label was given: files of one name are parts of one scan */
    scan_device devices[SCAN_DEVICES_MAX];
    size_t ndevices;
    scan_row *rows;
    size_t count, room;
} scan_section;

typedef struct scan_file {
    scan_section *sections;
    size_t count;
    size_t whole; /* bytes up to the end of the last complete line */
} scan_file;

enum {
    SCAN_CUT = 1 /* an incomplete last line is dropped without an error: the scan was killed */
};

/* Reads a file from memory; name is used in messages ("NAME:LINE: reason" in err, which holds
 * SCAN_ERROR_SIZE). Free it in either case. */
bool scan_parse(const char *name, const char *data, size_t size, unsigned flags, scan_file *file,
                char *err);
/* The same from disk. */
bool scan_load(const char *path, unsigned flags, scan_file *file, char *err);
void scan_free(scan_file *file);
/* Takes the backend and the platform of a threshold scan whose columns say only "cpu" and "gpu"
 * from its label: that of windows_gles_20251112.csv makes them "cpu (gles)" and "gles", on windows.
 */
void scan_seeds_use_label(scan_section *section);
/* Removes the directories from file names, except as many components as tell them apart: output may
 * be passed on, and should not reveal where the files were. */
void scan_hide_folders(scan_file *files, size_t nfiles);

/* Whether both are of one scan. */
bool scan_same_source(const scan_section *a, const scan_section *b);

/* Sets all numbers to unknown. */
scan_row scan_row_empty(void);
bool scan_is_ok(const scan_row *row);

/* Whether both refer to the same cell. */
bool scan_same_cell(const scan_row *a, const scan_row *b);

/* Rounds the numbers to the precision of a file, so that results are the same before and after
 * writing. */
void scan_round(scan_row *row);

/* Replaces invalid UTF-8 bytes with '?', in place. */
void scan_clean(char *text);
bool scan_is_text(const char *text);

/* Appends a copy; false if memory ran out. */
bool scan_append(scan_section *section, const scan_row *row);

/* Write the header with the column names, and one row. Errors stay in the stream. */
void scan_put_head(FILE *out, const scan_section *section);
void scan_put_row(FILE *out, const scan_row *row);

/* ---- for the files scan*.c ---- */

typedef enum scan_kind { SCAN_TEXT, SCAN_COUNT, SCAN_REAL } scan_kind;

typedef struct scan_column {
    const char *name;
    size_t offset, size; /* in scan_row */
    scan_kind kind;
    bool needed;   /* present in every row */
    bool measured; /* present only in rows that are ok */
} scan_column;

/* A header line "# name: value"; the offset is in scan_section. */
typedef struct scan_heading {
    const char *name;
    size_t offset, size;
    bool needed;
} scan_heading;

enum { SCAN_COLUMNS = 27, SCAN_HEADINGS = 6 };
extern const scan_column scan_columns[SCAN_COLUMNS];
extern const scan_heading scan_headings[SCAN_HEADINGS];

#define SCAN_MAGIC  "gpuexec-scan"
#define SCAN_DEVICE "device"
#define SCAN_CELLS  "cells"
#define SCAN_UNIT   "unit"
#define SCAN_US     "us"

#endif
