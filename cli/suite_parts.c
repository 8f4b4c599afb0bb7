/* SPDX-License-Identifier: Apache-2.0
 *
 * Tables of suites that have several parts (suite.h).
 */
#include "suite.h"

#include <math.h>

#include "progress.h"

static bool is_shown(const part_tables *t, size_t column)
{
    return t->format != OUT_TABLE || t->shown >> column & 1;
}

int parts_begin(part_tables *t, const char *title, uint64_t shown)
{
    bool table = t->format == OUT_TABLE, first = !t->shown;
    size_t count = 0;
    if (t->out && !table)
        return EXIT_DONE;
    if (parts_end(t, EXIT_DONE) != EXIT_DONE)
        return EXIT_FAILED;
    t->shown = shown;
    for (size_t i = 0; i < t->count; i++)
        if (is_shown(t, i))
            t->kept[count++] = t->columns[i];
    progress_hide();
    if (table)
        printf("%s%s\n\n", first ? "" : "\n", title);
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
