/* SPDX-License-Identifier: Apache-2.0
 *
 * Reads the threshold scans of the project that gpuexec started from: size, CPU time, GPU median
 * and P90 in one row, under column names such as "Size,CPU (us),GPU Median (us),GPU P90
 * (us),Winner". Rejects units other than microseconds, and a winner that contradicts the times.
 */
#include <ctype.h>
#include <math.h>
#include <string.h>
#include <strings.h>

#include "report/csv.h"
#include "report/scan_read.h"

typedef enum seeds_column { SIZE, CPU, GPU, P90, LEAST, MOST, WINNER, SEEDS_KINDS } seeds_column;

/* Names without unit, spaces and parentheses. */
static const struct {
    const char *name;
    seeds_column column;
    bool time;
} known[] = {
    {"size", SIZE, false},    {"elements", SIZE, false}, {"cpu", CPU, true},
    {"cpumedian", CPU, true}, {"gpu", GPU, true},        {"gpumedian", GPU, true},
    {"median", GPU, true},    {"gpup90", P90, true},     {"p90", P90, true},
    {"gpumin", LEAST, true},  {"min", LEAST, true},      {"gpumax", MOST, true},
    {"max", MOST, true},      {"winner", WINNER, false},
};
enum { KNOWN = sizeof known / sizeof *known };

/* "GPU Median (μs)" and "gpu_median_us" become "gpumedian" and "us". */
static void split_name(const char *title, char name[32], char unit[8])
{
    size_t n = 0;
    for (const char *p = title; *p && n < 31; p++) {
        /* both signs for micro: U+00B5 and U+03BC */
        if (!strncmp(p, "\xc2\xb5", 2) || !strncmp(p, "\xce\xbc", 2)) {
            name[n++] = 'u';
            p++;
        } else if (isalnum((unsigned char)*p))
            name[n++] = (char)tolower((unsigned char)*p);
    }
    name[n] = 0;
    unit[0] = 0;
    bool prefixed = n > 2 && strchr("munk", name[n - 2]) && name[n - 1] == 's';
    if (prefixed) {
        memcpy(unit, name + n - 2, 3);
        name[n - 2] = 0;
    }
}

static bool read_name(scan_reader *r, const char *title)
{
    char name[32], unit[8];
    split_name(title, name, unit);
    for (size_t i = 0; i < KNOWN; i++) {
        if (strcmp(known[i].name, name) != 0)
            continue;
        if (known[i].time && strcmp(unit, "us") != 0)
            return scan_refuse(r, "column '%.32s': times must be in us, and the name must say so",
                               title);
        for (size_t k = 0; k < r->seeds_count; k++)
            if (r->seeds_columns[k] == (int)known[i].column)
                return scan_refuse(r, "column '%.32s' appears twice", title);
        r->seeds_columns[r->seeds_count++] = (int)known[i].column;
        return true;
    }
    return scan_refuse(r,
                       "unknown column '%.32s': neither a gpuexec scan nor a file with "
                       "size, CPU us, GPU median us and P90 us",
                       title);
}

bool scan_seeds_begin(scan_reader *r, char *line)
{
    char *titles[SEEDS_COLUMNS_MAX];
    const char *why = "";
    size_t count = csv_split(line, titles, SEEDS_COLUMNS_MAX, &why);
    if (!count)
        return scan_refuse(r, "%s", why);
    bool there[SEEDS_KINDS] = {false};
    for (size_t i = 0; i < count; i++) {
        if (!read_name(r, titles[i]))
            return false;
        there[r->seeds_columns[i]] = true;
    }
    if (!there[SIZE] || !there[CPU] || !there[GPU])
        return scan_refuse(r, "columns for size, CPU and GPU are required");
    if (!scan_begin(r))
        return false;
    r->section->foreign = true;
    r->headed = true;
    return true;
}

static bool put_device(scan_reader *r, const char *device, double size, const double *us)
{
    scan_row row = scan_row_empty();
    snprintf(row.device, sizeof row.device, "%s", device);
    strcpy(row.field, SCAN_UNSTATED);
    strcpy(row.op, SCAN_UNSTATED);
    strcpy(row.place, SCAN_HOST);
    strcpy(row.state, isnan(us[0]) ? SCAN_SKIPPED : SCAN_OK);
    if (isnan(us[0]))
        strcpy(row.note, "the file has no data");
    row.line = r->line;
    row.elements = size;
    row.median_us = us[0];
    row.p90_us = us[1];
    row.min_us = us[2];
    row.max_us = us[3];
    if (!scan_plausible(r, &row))
        return false;
    return scan_append(r->section, &row) || scan_refuse(r, "out of memory");
}

/* A stated winner must match the times; ties allow both. */
static bool check_winner(scan_reader *r, const char *winner, double cpu, double gpu)
{
    bool says_cpu = !strncasecmp(winner, "cpu", 3), says_gpu = !strncasecmp(winner, "gpu", 3);
    if (isnan(cpu) || isnan(gpu) || (!says_cpu && !says_gpu))
        return true;
    if ((says_cpu && cpu > gpu) || (says_gpu && gpu > cpu))
        return scan_refuse(r, "the winner column says '%.16s', but the times say otherwise",
                           winner);
    return true;
}

bool scan_seeds_line(scan_reader *r, char *line)
{
    char *fields[SEEDS_COLUMNS_MAX];
    const char *why = "", *winner = "";
    double value[SEEDS_KINDS] = {NAN, NAN, NAN, NAN, NAN, NAN, NAN};
    size_t count = csv_split(line, fields, SEEDS_COLUMNS_MAX, &why);
    if (count != r->seeds_count)
        return count ? scan_refuse(r, "%zu column%s instead of %zu", count, count == 1 ? "" : "s",
                                   r->seeds_count)
                     : scan_refuse(r, "%s", why);
    for (size_t i = 0; i < count; i++) {
        int column = r->seeds_columns[i];
        if (column == WINNER)
            winner = fields[i];
        else if (*fields[i] && !scan_number(fields[i], &value[column]))
            return scan_refuse(r, "'%.32s' is not a plain number (no 20k, no 1,043)", fields[i]);
    }
    double size = value[SIZE];
    if (isnan(size) || size != floor(size) || size > 9e15)
        return scan_refuse(r, "the size is not a whole number");
    const double cpu[] = {value[CPU], NAN, NAN, NAN};
    const double gpu[] = {value[GPU], value[P90], value[LEAST], value[MOST]};
    return check_winner(r, winner, value[CPU], value[GPU]) && put_device(r, "cpu", size, cpu) &&
           put_device(r, "gpu", size, gpu);
}
