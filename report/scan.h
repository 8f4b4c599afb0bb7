/* SPDX-License-Identifier: Apache-2.0
 *
 * Files of `gpuexec scan`: what is in one, and how it is written and read. The columns and
 * the lines of the heading are listed once, in scan.c, for both ways; doc/csv.md says what
 * they mean. Reading is strict: what is not exactly as documented is refused with its line.
 */
#ifndef REPORT_SCAN_H
#define REPORT_SCAN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

enum { SCAN_SCHEMA = 1, SCAN_ERROR_SIZE = 480, SCAN_DEVICES_MAX = 16 };

/* What a row says of its cell. */
#define SCAN_OK      "ok"
#define SCAN_FAILED  "failed"
#define SCAN_SKIPPED "skipped"

#define SCAN_HOST     "host"
#define SCAN_RESIDENT "resident"

/* What files that do not name them have for field and operation. */
#define SCAN_UNSTATED "unstated"

/* One cell: a device, an operation, a size. A number that is not known is NAN. */
typedef struct scan_row {
    char device[48], field[24], op[16];
    char place[12]; /* SCAN_HOST or SCAN_RESIDENT: where the operands lie */
    char state[12]; /* SCAN_OK, or why there are no numbers, with more in: */
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

/* One run of `gpuexec scan`. A file is one of these, or several after each other. */
typedef struct scan_section {
    char label[64]; /* the name of its file without folder and extension, or as given */
    char file[256];
    char library[32], date[32], os[128], cpu[128], clocks[200], options[1000];
    double cells; /* rows of a finished scan; NAN: not stated */
    bool foreign; /* of the seeds: columns without intervals, no heading */
    scan_device devices[SCAN_DEVICES_MAX];
    size_t ndevices;
    scan_row *rows;
    size_t count, room;
} scan_section;

typedef struct scan_file {
    scan_section *sections;
    size_t count;
    size_t whole; /* bytes up to the end of the last whole line */
} scan_file;

enum {
    SCAN_CUT = 1 /* a last line without its end is left out, and no error: the scan was killed */
};

/* Reads a file from memory; name is what messages call it ("NAME:LINE: what is wrong" in err,
 * which holds SCAN_ERROR_SIZE). Free it in any case. */
bool scan_parse(const char *name, const char *data, size_t size, unsigned flags, scan_file *file,
                char *err);
/* The same from disk. */
bool scan_load(const char *path, unsigned flags, scan_file *file, char *err);
void scan_free(scan_file *file);
/* Takes the folders off the names of the files, but for as many as tell them apart: what is made of
 * scans may be passed on, and where they lay is not for others to know. */
void scan_hide_folders(scan_file *files, size_t nfiles);

/* All numbers unknown. */
scan_row scan_row_empty(void);
bool scan_is_ok(const scan_row *row);

/* Whether both are of one cell. */
bool scan_same_cell(const scan_row *a, const scan_row *b);

/* Rounds the numbers to what a file keeps of them, so that figures are the same before and
 * after. */
void scan_round(scan_row *row);

/* Makes UTF-8 of it, in place: bytes that are none become '?'. */
void scan_clean(char *text);
bool scan_is_text(const char *text);

/* Appends a copy; false where memory ran out. */
bool scan_append(scan_section *section, const scan_row *row);

/* The heading with the names of the columns, and one row. Errors stay in the stream. */
void scan_put_head(FILE *out, const scan_section *section);
void scan_put_row(FILE *out, const scan_row *row);

/* ---- for the files scan*.c ---- */

typedef enum scan_kind { SCAN_TEXT, SCAN_COUNT, SCAN_REAL } scan_kind;

typedef struct scan_column {
    const char *name;
    size_t offset, size; /* in scan_row */
    scan_kind kind;
    bool needed;   /* in every row */
    bool measured; /* in rows that are ok, and in no other */
} scan_column;

/* A line "# name: value" of the heading; the offset is in scan_section. */
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
