/* SPDX-License-Identifier: Apache-2.0
 *
 * The columns of a scan, and writing scan files (scan.h).
 */
#include "report/scan.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "report/csv.h"

#define COLUMN(member, bytes, what)                                                                \
    .name = #member, .offset = offsetof(scan_row, member), .size = (bytes), .kind = (what)
#define TEXT(member)  COLUMN(member, sizeof((scan_row *)0)->member, SCAN_TEXT)
#define COUNT(member) COLUMN(member, sizeof(double), SCAN_COUNT)
#define REAL(member)  COLUMN(member, sizeof(double), SCAN_REAL)

const scan_column scan_columns[SCAN_COLUMNS] = {
    {TEXT(device), .needed = true},
    {TEXT(field), .needed = true},
    {TEXT(op), .needed = true},
    {TEXT(place), .needed = true},
    {COUNT(elements), .needed = true},
    {TEXT(state), .needed = true},
    {COUNT(threads)},
    {COUNT(samples), .measured = true},
    {COUNT(warm_samples)},
    {REAL(median_us), .measured = true},
    {REAL(p90_us), .measured = true},
    {REAL(min_us), .measured = true},
    {REAL(max_us), .measured = true},
    {REAL(low_us)},
    {REAL(high_us)},
    {REAL(first_us)},
    {REAL(host_in_us)},
    {REAL(upload_us)},
    {REAL(compute_us)},
    {REAL(download_us)},
    {REAL(host_out_us)},
    {COUNT(submits)},
    {COUNT(pool_hits)},
    {COUNT(pool_misses)},
    {COUNT(command_hits)},
    {COUNT(command_misses)},
    {TEXT(note)},
};

#define LINE(member) #member, offsetof(scan_section, member), sizeof((scan_section *)0)->member

const scan_heading scan_headings[SCAN_HEADINGS] = {
    {LINE(library), true}, {LINE(date), true},    {LINE(os), true},
    {LINE(cpu), true},     {LINE(clocks), false}, {LINE(options), true},
};

/* ---- rows ---- */

static double number_of(const scan_row *row, const scan_column *column)
{
    double value;
    memcpy(&value, (const char *)row + column->offset, sizeof value);
    return value;
}

scan_row scan_row_empty(void)
{
    scan_row row = {0};
    const double unknown = NAN;
    for (size_t i = 0; i < SCAN_COLUMNS; i++)
        if (scan_columns[i].kind != SCAN_TEXT)
            memcpy((char *)&row + scan_columns[i].offset, &unknown, sizeof unknown);
    return row;
}

static void number_text(const scan_column *column, double value, char text[32])
{
    snprintf(text, 32, column->kind == SCAN_COUNT ? "%.0f" : "%.9g", value);
}

void scan_round(scan_row *row)
{
    for (size_t i = 0; i < SCAN_COLUMNS; i++) {
        char text[32];
        if (scan_columns[i].kind == SCAN_TEXT)
            continue;
        number_text(&scan_columns[i], number_of(row, &scan_columns[i]), text);
        double value = strtod(text, NULL);
        memcpy((char *)row + scan_columns[i].offset, &value, sizeof value);
    }
}

bool scan_is_ok(const scan_row *row)
{
    return !strcmp(row->state, SCAN_OK);
}

bool scan_same_cell(const scan_row *a, const scan_row *b)
{
    return a->elements == b->elements && !strcmp(a->device, b->device) &&
           !strcmp(a->field, b->field) && !strcmp(a->op, b->op) && !strcmp(a->place, b->place);
}

bool scan_same_source(const scan_section *a, const scan_section *b)
{
    return a == b || (a->named && b->named && !strcmp(a->label, b->label));
}

/* Length of the UTF-8 sequence at p; 0 if it is invalid. */
static size_t sequence(const unsigned char *p)
{
    size_t length = *p < 0x80   ? 1
                    : *p < 0xc2 ? 0
                    : *p < 0xe0 ? 2
                    : *p < 0xf0 ? 3
                    : *p < 0xf5 ? 4
                                : 0;
    for (size_t i = 1; i < length; i++)
        if ((p[i] & 0xc0) != 0x80)
            return 0;
    bool overlong = (*p == 0xe0 && p[1] < 0xa0) || (*p == 0xf0 && p[1] < 0x90);
    bool outside = (*p == 0xed && p[1] > 0x9f) || (*p == 0xf4 && p[1] > 0x8f);
    return overlong || outside ? 0 : length;
}

void scan_clean(char *text)
{
    while (*text) {
        size_t length = sequence((const unsigned char *)text);
        if (!length)
            *text = '?';
        text += length ? length : 1;
    }
}

bool scan_is_text(const char *text)
{
    while (*text) {
        size_t length = sequence((const unsigned char *)text);
        if (!length)
            return false;
        text += length;
    }
    return true;
}

bool scan_append(scan_section *section, const scan_row *row)
{
    if (section->count == section->room) {
        size_t room = section->room ? 2 * section->room : 64;
        scan_row *rows = realloc(section->rows, room * sizeof *rows);
        if (!rows)
            return false;
        section->rows = rows;
        section->room = room;
    }
    section->rows[section->count++] = *row;
    return true;
}

void scan_free(scan_file *file)
{
    for (size_t i = 0; i < file->count; i++)
        free(file->sections[i].rows);
    free(file->sections);
    *file = (scan_file){0};
}

/* ---- writing ---- */

static void put_line(FILE *out, const char *name, const char *value)
{
    fprintf(out, "# %s: ", name);
    for (; *value; value++)
        putc(*value == '\n' || *value == '\r' ? ' ' : *value, out);
    putc('\n', out);
}

void scan_put_head(FILE *out, const scan_section *section)
{
    fprintf(out, "# %s: %d\n", SCAN_MAGIC, SCAN_SCHEMA);
    for (size_t i = 0; i < SCAN_HEADINGS; i++) {
        const char *value = (const char *)section + scan_headings[i].offset;
        if (*value)
            put_line(out, scan_headings[i].name, value);
    }
    for (size_t i = 0; i < section->ndevices; i++) {
        char text[sizeof(scan_device) + 4];
        snprintf(text, sizeof text, "%s = %s", section->devices[i].name,
                 section->devices[i].description);
        put_line(out, SCAN_DEVICE, text);
    }
    put_line(out, SCAN_UNIT, SCAN_US);
    fprintf(out, "# %s: %.0f\n", SCAN_CELLS, section->cells);
    for (size_t i = 0; i < SCAN_COLUMNS; i++)
        csv_put(out, scan_columns[i].name, i == 0);
    putc('\n', out);
}

void scan_put_row(FILE *out, const scan_row *row)
{
    for (size_t i = 0; i < SCAN_COLUMNS; i++) {
        const scan_column *column = &scan_columns[i];
        char number[32] = "";
        if (column->kind == SCAN_TEXT) {
            csv_put_text(out, (const char *)row + column->offset, i == 0);
            continue;
        }
        if (isfinite(number_of(row, column)))
            number_text(column, number_of(row, column), number);
        csv_put(out, number, i == 0);
    }
    putc('\n', out);
}

/* ---- names of files ---- */

/* The last so many components of a path. */
static const char *tail(const char *path, size_t parts)
{
    const char *at = path + strlen(path);
    while (at > path && (at[-1] != '/' || --parts))
        at--;
    return at + (*at == '/');
}

/* Whether different files have different tails. */
static bool told_apart(const scan_file *files, size_t nfiles, size_t parts)
{
    for (size_t i = 0; i < nfiles; i++)
        for (size_t j = 0; j < i; j++) {
            const char *a = files[i].count ? files[i].sections[0].file : "";
            const char *b = files[j].count ? files[j].sections[0].file : "";
            if (strcmp(a, b) != 0 && !strcmp(tail(a, parts), tail(b, parts)))
                return false;
        }
    return true;
}

void scan_hide_folders(scan_file *files, size_t nfiles)
{
    size_t parts = 1;
    while (parts < sizeof files->sections->file && !told_apart(files, nfiles, parts))
        parts++;
    for (size_t i = 0; i < nfiles; i++)
        for (size_t k = 0; k < files[i].count; k++) {
            char *file = files[i].sections[k].file;
            const char *left = tail(file, parts);
            memmove(file, left, strlen(left) + 1);
        }
}
