/* SPDX-License-Identifier: Apache-2.0
 *
 * Reads files of `gpuexec scan`, one or several concatenated, and passes threshold scans to
 * scan_seeds.c, those of bench-suites to scan_suites.c. Nothing is guessed: a line that does not
 * match the documentation is an error.
 */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/os.h"
#include "report/csv.h"
#include "report/scan_read.h"

/* A larger file is not one of ours. */
enum { FILE_MAX = 64 << 20 };

bool scan_refuse(scan_reader *r, const char *format, ...)
{
    va_list ap;
    int used = snprintf(r->err, SCAN_ERROR_SIZE, "%.200s:%zu: ", r->name, r->line);
    va_start(ap, format);
    vsnprintf(r->err + used, SCAN_ERROR_SIZE - (size_t)used, format, ap);
    va_end(ap);
    return false;
}

static bool no_memory(scan_reader *r)
{
    return scan_refuse(r, "out of memory");
}

bool scan_number(const char *text, double *value)
{
    char *end;
    size_t length = strlen(text);
    if (!length || strspn(text, "0123456789.eE+-") != length || !strchr("0123456789", *text))
        return false;
    *value = strtod(text, &end);
    return !*end && isfinite(*value);
}

/* ---- sections ---- */

scan_section *scan_begin(scan_reader *r)
{
    scan_file *file = r->file;
    scan_section *sections = realloc(file->sections, (file->count + 1) * sizeof *sections);
    if (!sections) {
        no_memory(r);
        return NULL;
    }
    file->sections = sections;
    r->section = &sections[file->count++];
    *r->section = (scan_section){.cells = NAN};
    const char *base = strrchr(r->name, '/');
    base = base ? base + 1 : r->name;
    const char *dot = strrchr(base, '.');
    size_t length = dot && dot != base ? (size_t)(dot - base) : strlen(base);
    snprintf(r->section->label, sizeof r->section->label, "%.*s", (int)(length < 60 ? length : 60),
             base);
    snprintf(r->section->file, sizeof r->section->file, "%s", r->name);
    scan_clean(r->section->label);
    scan_clean(r->section->file);
    return r->section;
}

static int by_cell(const void *a, const void *b)
{
    const scan_row *x = *(const scan_row *const *)a, *y = *(const scan_row *const *)b;
    int d = strcmp(x->device, y->device);
    d = d ? d : strcmp(x->field, y->field);
    d = d ? d : strcmp(x->op, y->op);
    d = d ? d : strcmp(x->place, y->place);
    d = d ? d : (x->elements > y->elements) - (x->elements < y->elements);
    return d ? d : (x->line > y->line) - (x->line < y->line);
}

static bool no_cell_twice(scan_reader *r)
{
    scan_section *s = r->section;
    const scan_row **sorted = malloc((s->count + 1) * sizeof *sorted);
    bool ok = true;
    if (!sorted)
        return no_memory(r);
    for (size_t i = 0; i < s->count; i++)
        sorted[i] = &s->rows[i];
    qsort(sorted, s->count, sizeof *sorted, by_cell);
    for (size_t i = 1; ok && i < s->count; i++)
        if (scan_same_cell(sorted[i - 1], sorted[i])) {
            r->line = sorted[i]->line;
            ok = scan_refuse(r, "this cell is already in line %zu", sorted[i - 1]->line);
        }
    free(sorted);
    return ok;
}

/* Checks a section after all of it was read. */
static bool end_section(scan_reader *r)
{
    scan_section *s = r->section;
    if (!r->headed)
        return scan_refuse(r, "the file ends before the column names: it is truncated");
    if (!no_cell_twice(r))
        return false;
    if (isfinite(s->cells) && (double)s->count > s->cells)
        return scan_refuse(r, "%zu row%s, but the header says %.0f", s->count,
                           s->count == 1 ? "" : "s", s->cells);
    return true;
}

/* ---- the heading ---- */

static bool put_text(scan_reader *r, char *to, size_t size, const char *name, const char *value)
{
    if (strlen(value) >= size)
        return scan_refuse(r, "%s: longer than %zu characters", name, size - 1);
    memcpy(to, value, strlen(value) + 1);
    return true;
}

static bool device_line(scan_reader *r, char *value)
{
    scan_section *s = r->section;
    char *split = strstr(value, " = ");
    if (!split || split == value)
        return scan_refuse(r, "device: expected 'NAME = DESCRIPTION'");
    if (s->ndevices == SCAN_DEVICES_MAX)
        return scan_refuse(r, "more than %d devices", SCAN_DEVICES_MAX);
    *split = 0;
    scan_device *device = &s->devices[s->ndevices++];
    return put_text(r, device->name, sizeof device->name, "device", value) &&
           put_text(r, device->description, sizeof device->description, "device", split + 3);
}

static bool magic_line(scan_reader *r, const char *value)
{
    double version;
    if (r->section && !end_section(r))
        return false;
    if (!scan_number(value, &version) || version != SCAN_SCHEMA)
        return scan_refuse(r,
                           "schema '%.32s': this version of gpuexec reads schema %d; use the one "
                           "that wrote the file, or a newer one",
                           value, SCAN_SCHEMA);
    r->headed = false;
    return scan_begin(r) != NULL;
}

static bool cells_line(scan_reader *r, const char *value)
{
    double cells;
    if (!scan_number(value, &cells) || cells < 0 || cells != floor(cells))
        return scan_refuse(r, "cells: '%.32s' is not a number", value);
    r->section->cells = cells;
    return true;
}

/* "# name: value" */
static bool heading_line(scan_reader *r, char *line)
{
    char *name = line + 2, *colon = line[1] == ' ' ? strstr(name, ": ") : NULL;
    if (!colon)
        return scan_refuse(r, "not a header line '# NAME: VALUE'");
    char *value = colon + 2;
    *colon = 0;
    if (!strcmp(name, SCAN_MAGIC))
        return magic_line(r, value);
    if (!r->section)
        return scan_refuse(r, "not a scan: the first line must be '# %s: %d'", SCAN_MAGIC,
                           SCAN_SCHEMA);
    if (r->headed)
        return scan_refuse(r, "a header line after the column names");
    if (!strcmp(name, SCAN_DEVICE))
        return device_line(r, value);
    if (!strcmp(name, SCAN_CELLS))
        return cells_line(r, value);
    if (!strcmp(name, SCAN_UNIT))
        return !strcmp(value, SCAN_US) ||
               scan_refuse(r, "unit '%.32s': schema %d uses us", value, SCAN_SCHEMA);
    for (size_t i = 0; i < SCAN_HEADINGS; i++) {
        const scan_heading *h = &scan_headings[i];
        char *to = (char *)r->section + h->offset;
        if (strcmp(h->name, name) != 0)
            continue;
        return *to ? scan_refuse(r, "%s: duplicate", name) : put_text(r, to, h->size, name, value);
    }
    return scan_refuse(r, "'%.32s' is not a header line of schema %d", name, SCAN_SCHEMA);
}

static bool column_line(scan_reader *r, char *line)
{
    char *names[SCAN_COLUMNS + 1];
    const char *why = "";
    size_t count = csv_split(line, names, SCAN_COLUMNS + 1, &why);
    if (!count)
        return scan_refuse(r, "%s", why);
    for (size_t i = 0; i < SCAN_COLUMNS; i++)
        if (i >= count || strcmp(names[i], scan_columns[i].name) != 0)
            return scan_refuse(r, "column %zu is '%.32s', but schema %d has '%s' there", i + 1,
                               i < count ? names[i] : "", SCAN_SCHEMA, scan_columns[i].name);
    if (count != SCAN_COLUMNS)
        return scan_refuse(r, "%zu column%s, but schema %d has %d", count, count == 1 ? "" : "s",
                           SCAN_SCHEMA, SCAN_COLUMNS);
    for (size_t i = 0; i < SCAN_HEADINGS; i++)
        if (scan_headings[i].needed && !*((char *)r->section + scan_headings[i].offset))
            return scan_refuse(r, "the header has no line '# %s: ...'", scan_headings[i].name);
    if (!isfinite(r->section->cells))
        return scan_refuse(r, "the header has no line '# %s: ...'", SCAN_CELLS);
    r->headed = true;
    return true;
}

/* ---- rows ---- */

static bool read_field(scan_reader *r, const scan_column *column, const char *text, scan_row *row)
{
    char *to = (char *)row + column->offset;
    double value;
    if (column->needed && !*text)
        return scan_refuse(r, "%s is empty", column->name);
    if (column->kind == SCAN_TEXT)
        return put_text(r, to, column->size, column->name, csv_text(text));
    if (!*text)
        return true;
    if (!scan_number(text, &value) || (column->kind == SCAN_COUNT && value != floor(value)) ||
        value > 9e15)
        return scan_refuse(r, "%s: '%.32s' is not a %s", column->name, text,
                           column->kind == SCAN_COUNT ? "whole number" : "number");
    memcpy(to, &value, sizeof value);
    return true;
}

static bool one_of(const char *text, const char *a, const char *b, const char *c)
{
    return !strcmp(text, a) || !strcmp(text, b) || !strcmp(text, c);
}

/* True if x <= y or one of them is unknown. */
static bool ordered(double x, double y)
{
    return !(x > y);
}

/* Checks the numbers of a row against each other. */
bool scan_plausible(scan_reader *r, const scan_row *row)
{
    if (!(row->elements >= 1))
        return scan_refuse(r, "elements: must be at least 1");
    if (row->samples < 1)
        return scan_refuse(r, "samples: must be at least 1");
    if (!(row->median_us > 0) && !isnan(row->median_us))
        return scan_refuse(r, "median_us: must not be 0");
    if (!ordered(row->min_us, row->median_us) || !ordered(row->median_us, row->p90_us) ||
        !ordered(row->p90_us, row->max_us))
        return scan_refuse(r, "min <= median <= P90 <= max does not hold");
    if (!ordered(row->low_us, row->median_us) || !ordered(row->median_us, row->high_us) ||
        isnan(row->low_us) != isnan(row->high_us) || row->low_us <= 0)
        return scan_refuse(r, "low_us and high_us do not enclose median_us");
    return true;
}

static bool row_line(scan_reader *r, char *line)
{
    char *fields[SCAN_COLUMNS];
    const char *why = "";
    size_t count = csv_split(line, fields, SCAN_COLUMNS, &why);
    scan_row row = scan_row_empty();
    row.line = r->line;
    if (!count)
        return scan_refuse(r, "%s", why);
    if (count != SCAN_COLUMNS)
        return scan_refuse(r, "%zu column%s instead of %d", count, count == 1 ? "" : "s",
                           SCAN_COLUMNS);
    for (size_t i = 0; i < SCAN_COLUMNS; i++)
        if (!read_field(r, &scan_columns[i], fields[i], &row))
            return false;
    if (!one_of(row.place, SCAN_HOST, SCAN_RESIDENT, SCAN_HOST))
        return scan_refuse(r, "place: '%s' is neither %s nor %s", row.place, SCAN_HOST,
                           SCAN_RESIDENT);
    if (!one_of(row.state, SCAN_OK, SCAN_FAILED, SCAN_SKIPPED))
        return scan_refuse(r, "state: '%s' is not one of %s, %s, %s", row.state, SCAN_OK,
                           SCAN_FAILED, SCAN_SKIPPED);
    for (size_t i = 0; i < SCAN_COLUMNS; i++)
        if (scan_columns[i].measured && scan_is_ok(&row) != (*fields[i] != 0))
            return scan_refuse(r, "state is %s and %s is%s empty", row.state, scan_columns[i].name,
                               *fields[i] ? " not" : "");
    if (!scan_plausible(r, &row))
        return false;
    return scan_append(r->section, &row) || no_memory(r);
}

/* ---- lines ---- */

/* "# gpuexec bench --suite ntt --csv", which sessions write in front of a suite's output */
static bool is_command(const char *line)
{
    return !strncmp(line, "# ", 2) && strstr(line, "bench") && !strstr(line, ": ");
}

static bool read_line(scan_reader *r, char *line)
{
    static const char type[] = "#TYPE "; /* PowerShell's Export-Csv puts it first */
    if (r->seeds)
        return scan_seeds_line(r, line);
    if (r->suite)
        return scan_suite_line(r, line);
    if (r->line == 1 && !strncmp(line, type, sizeof type - 1))
        return true;
    if (r->line == 1 && is_command(line)) {
        snprintf(r->command, sizeof r->command, "%s", line + 2);
        return true;
    }
    if (*line == '#')
        return heading_line(r, line);
    if (r->section)
        return r->headed ? row_line(r, line) : column_line(r, line);
    if (scan_suite_begin(r, line))
        return true;
    if (r->section) /* there was no memory for it */
        return false;
    if (*r->command)
        return scan_refuse(r, "not a scan: of the suites, only those of ntt and msm can be read");
    r->seeds = true;
    return scan_seeds_begin(r, line);
}

/* A line in its own memory, without the line end; \r\n is accepted. */
static bool take_line(scan_reader *r, const char *data, size_t length)
{
    if (length && data[length - 1] == '\r')
        length--;
    for (size_t i = 0; i < length; i++)
        if ((unsigned char)data[i] < ' ' && data[i] != '\t')
            return scan_refuse(r, "byte %zu is not text: not a CSV file", i + 1);
    if (!length)
        return scan_refuse(r, "empty line");
    char *line = malloc(length + 1);
    if (!line)
        return no_memory(r);
    memcpy(line, data, length);
    line[length] = 0;
    bool ok = scan_is_text(line) ? read_line(r, line) : scan_refuse(r, "not UTF-8");
    free(line);
    return ok;
}

static bool read_lines(scan_reader *r, const char *data, size_t size, unsigned flags)
{
    static const char mark[] = "\xef\xbb\xbf"; /* byte-order mark, written by some editors */
    size_t at = size >= 3 && !memcmp(data, mark, 3) ? 3 : 0;
    r->line = 1;
    if (size >= 2 && (!memcmp(data, "\xff\xfe", 2) || !memcmp(data, "\xfe\xff", 2)))
        return scan_refuse(r, "UTF-16: save the file as UTF-8");
    for (; at < size; r->line++) {
        const char *end = memchr(data + at, '\n', size - at);
        if (!end && flags & SCAN_CUT)
            return true;
        if (!end)
            return scan_refuse(r, "the last line is incomplete: the file is truncated");
        if (!take_line(r, data + at, (size_t)(end - data) - at))
            return false;
        at = (size_t)(end - data) + 1;
        r->file->whole = at;
    }
    return true;
}

bool scan_parse(const char *name, const char *data, size_t size, unsigned flags, scan_file *file,
                char *err)
{
    scan_reader r = {.name = name, .file = file, .err = err};
    *file = (scan_file){0};
    if (!read_lines(&r, data, size, flags))
        return false;
    if (!r.section)
        return scan_refuse(&r, r.seeds ? "the file has no rows" : "the file is empty");
    if (r.line > 1)
        r.line--;
    bool ok = end_section(&r);
    for (size_t i = 0; ok && r.seeds && i < file->count; i++) {
        r.section = &file->sections[i]; /* lines of several machines may alternate */
        ok = end_section(&r);
    }
    return ok;
}

/* ---- from disk ---- */

static bool read_all(FILE *in, char **data, size_t *size)
{
    size_t room = 0, got;
    *data = NULL;
    *size = 0;
    do {
        if (*size == room) {
            room = room ? 2 * room : 65536;
            char *more = realloc(*data, room);
            if (!more)
                return false;
            *data = more;
        }
        got = fread(*data + *size, 1, room - *size, in);
        *size += got;
    } while (got && *size <= FILE_MAX);
    return !ferror(in);
}

bool scan_load(const char *path, unsigned flags, scan_file *file, char *err)
{
    char *data = NULL;
    size_t size = 0;
    *file = (scan_file){0};
    errno = 0;
    FILE *in = gx__os_fopen(path);
    bool ok = in && read_all(in, &data, &size);
    if (!ok)
        snprintf(err, SCAN_ERROR_SIZE, "cannot read '%.200s': %s", path,
                 strerror(errno ? errno : EIO));
    else if (size > FILE_MAX) {
        ok = false;
        snprintf(err, SCAN_ERROR_SIZE, "'%.200s' is larger than %d MiB: not a scan", path,
                 FILE_MAX >> 20);
    } else
        ok = scan_parse(path, data, size, flags, file, err);
    free(data);
    if (in)
        fclose(in);
    return ok;
}
