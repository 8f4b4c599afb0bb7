/* SPDX-License-Identifier: Apache-2.0
 *
 * Reads what `bench-suites ntt --csv` and `bench-suites msm --csv` print (doc/csv.md), with the
 * command in front of it or not. Each variant of the job is an operation of its own.
 */
#include <math.h>
#include <string.h>

#include "report/csv.h"
#include "report/scan_read.h"

typedef enum role {
    DEVICE,
    FIELD, /* or the curve */
    PLACE,
    ORDER,
    SCALARS,
    SIZE,
    BATCH,
    TABLE,
    THREADS,
    SAMPLES,
    MEDIAN,
    P90,
    MIN,
    MAX,
    FIRST,
    OTHER, /* follows from the others, or has no place in a scan */
    ROLES
} role;

/* The names of the columns, in order, and what they are. */
static const struct suite {
    const char *op, *names;
    role roles[SUITE_COLUMNS_MAX];
} suites[] = {
    {"ntt",
     "device,field,place,order,elements,batch,threads,samples,median_ms,p90_ms,min_ms,max_ms,"
     "device_ms,ns_per_butterfly,first_ms",
     {DEVICE, FIELD, PLACE, ORDER, SIZE, BATCH, THREADS, SAMPLES, MEDIAN, P90, MIN, MAX, OTHER,
      OTHER, FIRST}},
    {"msm",
     "device,curve,scalars,points,batch,table_mib,threads,samples,median_ms,p90_ms,min_ms,max_ms,"
     "device_ms,ns_per_point,times_uniform,first_ms",
     {DEVICE, FIELD, SCALARS, SIZE, BATCH, TABLE, THREADS, SAMPLES, MEDIAN, P90, MIN, MAX, OTHER,
      OTHER, OTHER, FIRST}},
};

enum { SUITES = sizeof suites / sizeof *suites };

bool scan_suite_begin(scan_reader *r, const char *line)
{
    size_t i = 0;
    while (i < SUITES && strcmp(line, suites[i].names) != 0)
        i++;
    if (i == SUITES || !scan_begin(r))
        return false;
    r->suite = &suites[i];
    r->section->foreign = r->section->suite = r->headed = true;
    snprintf(r->section->options, sizeof r->section->options, "%s", r->command);
    return true;
}

/* "ntt", "ntt nr", "msm", "msm ones", "msm table", of several at once "ntt x256". */
static void name_op(const char *suite, char *const *fields, char *op, size_t size)
{
    const char *variant = fields[TABLE]                                           ? "table"
                          : fields[SCALARS] && strcmp(fields[SCALARS], "uniform") ? fields[SCALARS]
                          : fields[ORDER] && strcmp(fields[ORDER], "nn")          ? fields[ORDER]
                                                                                  : "";
    bool alone = !strcmp(fields[BATCH], "1");
    snprintf(op, size, "%s%s%.8s%s%.6s", suite, *variant ? " " : "", variant, alone ? "" : " x",
             alone ? "" : fields[BATCH]);
}

static bool put_name(scan_reader *r, char *to, size_t size, const char *from)
{
    if (!*from || strlen(from) >= size)
        return scan_refuse(r, "'%.32s' is no name", from);
    memcpy(to, from, strlen(from) + 1);
    return true;
}

/* Empty: not known. */
static bool put_number(scan_reader *r, double *to, const char *from, double factor)
{
    double value;
    if (!*from)
        return true;
    if (!scan_number(from, &value))
        return scan_refuse(r, "'%.32s' is not a number", from);
    *to = value * factor;
    return true;
}

static bool fill(scan_reader *r, char *const *fields, scan_row *row)
{
    const struct {
        role role;
        double *to, factor;
    } numbers[] = {{SIZE, &row->elements, 1},   {THREADS, &row->threads, 1},
                   {SAMPLES, &row->samples, 1}, {MEDIAN, &row->median_us, 1e3},
                   {P90, &row->p90_us, 1e3},    {MIN, &row->min_us, 1e3},
                   {MAX, &row->max_us, 1e3},    {FIRST, &row->first_us, 1e3}};
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++)
        if (!put_number(r, numbers[i].to, fields[numbers[i].role], numbers[i].factor))
            return false;
    const char *place = fields[PLACE] ? fields[PLACE] : SCAN_HOST;
    if (strcmp(place, SCAN_HOST) != 0 && strcmp(place, SCAN_RESIDENT) != 0)
        return scan_refuse(r, "place: '%.32s' is neither %s nor %s", place, SCAN_HOST,
                           SCAN_RESIDENT);
    if (!(row->elements >= 1) || !(row->samples >= 1) || !(row->median_us > 0))
        return scan_refuse(r, "a size, a number of samples or a median is missing");
    strcpy(row->place, place);
    strcpy(row->state, SCAN_OK);
    name_op(r->suite->op, fields, row->op, sizeof row->op);
    return put_name(r, row->device, sizeof row->device, fields[DEVICE]) &&
           put_name(r, row->field, sizeof row->field, fields[FIELD]) && scan_plausible(r, row);
}

/* A CPU is measured with one thread first, and then with all. */
static void name_threads(scan_section *section, const scan_row *row)
{
    static const char suffix[] = ", 1 thread";
    for (size_t i = 0; i < section->count; i++) {
        scan_row *old = &section->rows[i];
        if (old->threads == 1 && scan_same_cell(old, row) &&
            strlen(old->device) + sizeof suffix <= sizeof old->device)
            strcat(old->device, suffix);
    }
}

bool scan_suite_line(scan_reader *r, char *line)
{
    char *fields[SUITE_COLUMNS_MAX], *by_role[ROLES] = {0};
    const char *why = "";
    size_t count = csv_split(line, fields, SUITE_COLUMNS_MAX, &why), columns = 0;
    scan_row row = scan_row_empty();
    row.line = r->line;
    while (columns < SUITE_COLUMNS_MAX && (!columns || r->suite->roles[columns] != DEVICE))
        columns++;
    if (count != columns)
        return count ? scan_refuse(r, "%zu columns instead of %zu", count, columns)
                     : scan_refuse(r, "%s", why);
    for (size_t i = 0; i < count; i++)
        by_role[r->suite->roles[i]] = fields[i];
    if (by_role[TABLE] && !*by_role[TABLE])
        by_role[TABLE] = NULL;
    if (!fill(r, by_role, &row))
        return false;
    name_threads(r->section, &row);
    return scan_append(r->section, &row) || scan_refuse(r, "out of memory");
}
