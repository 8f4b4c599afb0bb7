/* SPDX-License-Identifier: Apache-2.0
 *
 * One row interface, three formats (output.h).
 */
#include "output.h"

#include <inttypes.h>
#include <errno.h>
#include <jansson.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/os.h"
#include "gpuexec.h"
#include "host.h"
#include "report/csv.h"

struct output {
    output_format format;
    const char *command;
    const column *columns;
    size_t count;
    unsigned hidden; /* column flags that hide a column */
    bool headed;     /* the header is printed with the first row */
    json_t *rows;    /* JSON only */
};

/* ---- the terminal ---------------------------------------------------------- */

static bool has_colour(void)
{
    const char *no = gx__os_env("NO_COLOR");
    return host_is_screen(STDOUT_FILENO) && !(no && *no);
}

const char *style_bold(void)
{
    return has_colour() ? "\033[1m" : "";
}

const char *style_good(void)
{
    return has_colour() ? "\033[32m" : "";
}

const char *style_bad(void)
{
    return has_colour() ? "\033[1;31m" : "";
}

const char *style_off(void)
{
    return has_colour() ? "\033[0m" : "";
}

const char *output_bar(char *buffer, int width, double fraction)
{
    static const char *const eighths[] = {"", "▏", "▎", "▍", "▌", "▋", "▊", "▉"};
    double length = fmin(fmax(fraction, 0), 1) * width;
    int whole = (int)length;
    buffer[0] = 0;
    for (int i = 0; i < whole; i++)
        strcat(buffer, host_is_utf8() ? "█" : "#");
    if (host_is_utf8() && whole < width)
        strcat(buffer, eighths[(int)((length - whole) * 8)]);
    return buffer;
}

int output_width(void)
{
    int columns, lines;
    bool known =
        host_is_terminal(STDOUT_FILENO) && host_terminal_size(STDOUT_FILENO, &columns, &lines);
    return known ? columns : 1000;
}

static int first_error;

/* If stdio no longer knows why it failed, another byte tells: the output is incomplete anyway. */
bool output_flush_to(FILE *stream, int fd, int *error)
{
    bool flushed = !fflush(stream);
    int why = errno;
    if (flushed && !ferror(stream))
        return true;
    if (flushed && !*error)
        why = write(fd, "\n", 1) < 0 ? errno : EIO;
    if (!*error)
        *error = host_write_error(fd, why);
    return false;
}

bool output_flush(void)
{
    return output_flush_to(stdout, STDOUT_FILENO, &first_error);
}

int output_error(void)
{
    return first_error;
}

/* ---- table ------------------------------------------------------------------ */

static const char gap[] = "  ";

/* In less room than this, text is left to the terminal to break. */
enum { LAST_MIN = 20 };

static bool shown(const output *out, size_t i)
{
    return !(out->columns[i].flags & out->hidden);
}

static int table_width(const output *out)
{
    int width = 0;
    for (size_t i = 0; i < out->count; i++)
        if (shown(out, i))
            width += out->columns[i].width + (width ? (int)strlen(gap) : 0);
    return width;
}

/* Continues the last text of a line, which starts at column `at`, below if the terminal is too
 * narrow. */
static void put_last(const char *text, int at)
{
    int room = output_width() - at;
    while (room >= LAST_MIN && strlen(text) > (size_t)room) {
        int length = room;
        while (length > 0 && text[length] != ' ')
            length--;
        if (!length)
            break;
        printf("%.*s\n%*s", length, text, at, "");
        text += length + 1;
    }
    fputs(text, stdout);
}

/* Text is left-aligned and not padded at the end of a line. `at`: columns used so far. */
static void table_cell(const output *out, size_t i, const char *text, int *at)
{
    const column *c = &out->columns[i];
    bool last = true;
    for (size_t j = i + 1; j < out->count; j++)
        last = last && !shown(out, j);
    const char *before = *at ? gap : "";
    if (last && c->kind == COL_TEXT && *text) {
        fputs(before, stdout);
        put_last(text, *at + (int)strlen(before));
    } else if (!last || c->kind != COL_TEXT) {
        *at += printf("%s%*s", before, c->kind != COL_TEXT ? c->width : -c->width, text);
    }
}

static void table_head(const output *out)
{
    int at = 0;
    fputs(style_bold(), stdout);
    for (size_t i = 0; i < out->count; i++)
        if (shown(out, i))
            table_cell(out, i, out->columns[i].title, &at);
    printf("%s\n", style_off());
}

/* Full precision in CSV, the column's precision in a table. */
const char *output_cell(const column *col, const cell *c, bool table, char buffer[64])
{
    if (c->missing || (col->kind == COL_REAL && !isfinite(c->real)))
        return table ? "-" : "";
    switch (col->kind) {
    case COL_TEXT:
        return c->text;
    case COL_COUNT:
        snprintf(buffer, 64, "%" PRIu64, c->count);
        return buffer;
    case COL_BOOL:
        return table ? (c->count ? "yes" : "no") : c->count ? "true" : "false";
    case COL_REAL:
        if (table)
            snprintf(buffer, 64, "%.*f", col->decimals,
                     c->real * (col->scale != 0 ? col->scale : 1));
        else
            snprintf(buffer, 64, "%.9g", c->real);
        return buffer;
    }
    return "";
}

static void table_row(output *out, const cell *cells)
{
    int at = 0;
    char buffer[64];
    if (!out->headed)
        table_head(out);
    out->headed = true;
    for (size_t i = 0; i < out->count; i++)
        if (shown(out, i))
            table_cell(out, i, output_cell(&out->columns[i], &cells[i], true, buffer), &at);
    putchar('\n');
}

/* ---- CSV ---------------------------------------------------------------------- */

static void csv_row(const output *out, const cell *cells)
{
    bool first = true;
    char buffer[64];
    for (size_t i = 0; i < out->count; i++) {
        if (!shown(out, i))
            continue;
        if (!cells)
            csv_put(stdout, out->columns[i].key, first);
        else
            (out->columns[i].kind == COL_TEXT ? csv_put_text : csv_put)(
                stdout, output_cell(&out->columns[i], &cells[i], false, buffer), first);
        first = false;
    }
    putchar('\n');
}

/* ---- JSON --------------------------------------------------------------------- */

static json_t *json_cell(const column *col, const cell *c)
{
    if (c->missing || (col->kind == COL_REAL && !isfinite(c->real)))
        return json_null();
    switch (col->kind) {
    case COL_TEXT:
        return json_string(c->text);
    case COL_COUNT:
        return json_integer((json_int_t)c->count);
    case COL_BOOL:
        return json_boolean(c->count);
    case COL_REAL:
        return json_real(c->real);
    }
    return NULL;
}

static bool json_row(output *out, const cell *cells)
{
    json_t *row = json_object();
    bool ok = row != NULL;
    for (size_t i = 0; ok && i < out->count; i++)
        if (shown(out, i))
            ok = !json_object_set_new(row, out->columns[i].key,
                                      json_cell(&out->columns[i], &cells[i]));
    if (!ok) {
        json_decref(row);
        return false;
    }
    return !json_array_append_new(out->rows, row);
}

static bool json_end(output *out)
{
    json_t *root = json_pack("{s:s, s:s, s:O}", "command", out->command, "version", gx_version(),
                             "rows", out->rows);
    bool ok = root && !json_dumpf(root, stdout, JSON_INDENT(2) | JSON_REAL_PRECISION(9));
    json_decref(root);
    putchar('\n');
    return ok;
}

/* ---- all of them ---------------------------------------------------------------- */

output *output_open(output_format format, const char *command, const column *columns, size_t count)
{
    output *out = calloc(1, sizeof *out);
    if (!out)
        return NULL;
    *out = (output){.format = format, .command = command, .columns = columns, .count = count};
    out->hidden = format == OUT_TABLE ? COL_MACHINE_ONLY : COL_TABLE_ONLY;
    if (format == OUT_TABLE && table_width(out) > output_width())
        out->hidden |= COL_WIDE;

    if (format == OUT_CSV)
        csv_row(out, NULL);
    if (format == OUT_JSON && !(out->rows = json_array())) {
        free(out);
        return NULL;
    }
    output_flush();
    return out;
}

bool output_row(output *out, const cell *cells)
{
    if (out->format == OUT_JSON)
        return json_row(out, cells);
    if (out->format == OUT_CSV)
        csv_row(out, cells);
    else
        table_row(out, cells);
    return output_flush();
}

bool output_close(output *out)
{
    if (!out)
        return true;
    bool ok = out->format != OUT_JSON || json_end(out);
    json_decref(out->rows);
    free(out);
    return output_flush() && ok;
}
