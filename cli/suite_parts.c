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

/* A table for each part? */
static bool for_people(const part_tables *t)
{
    return t->format == OUT_TABLE || t->format == OUT_MARKDOWN;
}

static bool is_shown(const part_tables *t, size_t column)
{
    return !for_people(t) || t->shown >> column & 1;
}

int parts_begin(part_tables *t, const char *title, uint64_t shown)
{
    bool first = !t->shown;
    size_t count = 0;
    if (t->out && !for_people(t))
        return EXIT_DONE;
    if (parts_end(t, EXIT_DONE) != EXIT_DONE)
        return EXIT_FAILED;
    t->shown = shown;
    for (size_t i = 0; i < t->count; i++)
        if (is_shown(t, i))
            t->kept[count++] = t->columns[i];
    progress_hide();
    if (for_people(t))
        printf("%s%s%s\n\n", first ? "" : "\n", t->format == OUT_MARKDOWN ? "## " : "", title);
    t->out = output_open(t->format, "bench", t->kept, count);
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
    return output_row(t->out, cells);
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
