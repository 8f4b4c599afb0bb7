/* SPDX-License-Identifier: Apache-2.0
 *
 * Tables of suites that have several parts (suite.h).
 */
#include "suite.h"

#include <math.h>
#include <string.h>

#include "progress.h"

bool part_is_in(const char *parts, const char *name)
{
    size_t length = strlen(name);
    for (const char *p = parts; p; p = strchr(p, ',') ? strchr(p, ',') + 1 : NULL)
        if (!strncmp(p, name, length) && (!p[length] || p[length] == ','))
            return true;
    return !parts;
}

static bool is_shown(const part_tables *t, size_t column)
{
    bool people = t->format == OUT_TABLE;
    return !people || (t->shown >> column & 1 &&
                       !(t->markdown && t->columns[column].flags & COL_MACHINE_ONLY));
}

/* As wide as its column, so that the source is a table too. */
static void markdown_cell(const column *c, const char *text)
{
    int pad = c->width - (int)strlen(text);
    printf("| %*s", c->kind != COL_TEXT && pad > 0 ? pad : 0, "");
    for (; *text; text++)
        printf("%s%c", *text == '|' ? "\\" : "", *text);
    printf("%*s", c->kind == COL_TEXT && pad > 0 ? pad + 1 : 1, "");
}

static bool markdown_row(part_tables *t, const cell *cells)
{
    char buffer[64];
    for (size_t i = 0; !t->headed && i < t->kept_count; i++)
        markdown_cell(&t->kept[i], t->kept[i].title);
    for (size_t i = 0; !t->headed && i < t->kept_count; i++)
        printf("%s|---%s", i ? "" : "|\n", t->kept[i].kind == COL_TEXT ? "" : ":");
    fputs(t->headed ? "" : "|\n", stdout);
    t->headed = true;
    for (size_t i = 0; i < t->kept_count; i++)
        markdown_cell(&t->kept[i], output_cell(&t->kept[i], &cells[i], true, buffer));
    puts("|");
    return output_flush();
}

int parts_begin(part_tables *t, const char *title, uint64_t shown)
{
    bool first = !t->shown, people = t->format == OUT_TABLE;
    if (t->out && !people)
        return EXIT_DONE;
    if (parts_end(t, EXIT_DONE) != EXIT_DONE)
        return EXIT_FAILED;
    t->shown = shown;
    t->headed = false;
    t->kept_count = 0;
    for (size_t i = 0; i < t->count; i++)
        if (is_shown(t, i))
            t->kept[t->kept_count++] = t->columns[i];
    progress_hide();
    if (people)
        printf("%s%s%s\n\n", first ? "" : "\n", t->markdown ? "## " : "", title);
    if (t->markdown)
        return EXIT_DONE;
    t->out = output_open(t->format, t->suite, t->kept, t->kept_count);
    return t->out ? EXIT_DONE : cli_no_memory();
}

bool parts_row(part_tables *t, const cell *all)
{
    cell cells[PART_COLUMNS_MAX];
    size_t count = 0;
    for (size_t i = 0; i < t->count; i++)
        if (is_shown(t, i))
            cells[count++] = all[i];
    progress_hide();
    return t->markdown ? markdown_row(t, cells) : output_row(t->out, cells);
}

int parts_end(part_tables *t, int rc)
{
    bool whole = output_close(t->out);
    t->out = NULL;
    return whole || rc != EXIT_DONE ? rc : EXIT_FAILED;
}

cell text_or_none(const char *text)
{
    return text ? CELL_TEXT(text) : CELL_MISSING;
}

cell count_or_none(uint64_t count)
{
    return count ? CELL_COUNT(count) : CELL_MISSING;
}

cell real_or_none(double x)
{
    return isnan(x) ? CELL_MISSING : CELL_REAL(x);
}
