/* SPDX-License-Identifier: Apache-2.0
 *
 * Names of series in --only and --between (merge.h).
 */
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "report/merge.h"

/* Takes the next name off a comma-separated list; false at the end. */
static bool next_name(const char **list, char name[MERGE_NAME_MAX])
{
    *list += strspn(*list, ", ");
    size_t length = strcspn(*list, ",");
    snprintf(name, MERGE_NAME_MAX, "%.*s", (int)length, *list);
    *list += length;
    for (length = strlen(name); length && name[length - 1] == ' ';)
        name[--length] = 0;
    return length;
}

static bool is_device(const char *device, const char *name)
{
    size_t length = strlen(name);
    return !strncasecmp(device, name, length) && (!device[length] || device[length] == ':');
}

static bool has_device(const scan_section *s, const char *name)
{
    for (size_t i = 0; i < s->count; i++)
        if (is_device(s->rows[i].device, name))
            return true;
    return false;
}

static bool is_named(const merge_series *s, const char *name)
{
    return !strcasecmp(s->name, name) || is_device(s->device, name) ||
           (!strcasecmp(s->section->label, name) && !has_device(s->section, name));
}

static bool is_in(const char *list, const merge_series *s)
{
    char name[MERGE_NAME_MAX];
    while (list && next_name(&list, name))
        if (is_named(s, name))
            return true;
    return false;
}

bool merge_is_kept(const merge_filter *f, const merge_series *s)
{
    return (!f->only || is_in(f->only, s)) && (!f->between || is_in(f->between, s));
}

bool merge_is_between(const merge_filter *f, const merge_series *x, const merge_series *y)
{
    char a[MERGE_NAME_MAX], b[MERGE_NAME_MAX];
    const char *list = f->between;
    return next_name(&list, a) && next_name(&list, b) &&
           ((is_named(x, a) && is_named(y, b)) || (is_named(x, b) && is_named(y, a)));
}

/* The names that there are, each once. */
static void list_series(const merge_series *series, size_t n, char *text, size_t size)
{
    size_t used = strlen(text);
    for (size_t i = 0; i < n && used + 1 < size; i++) {
        size_t before = 0;
        while (before < i && strcmp(series[before].name, series[i].name) != 0)
            before++;
        if (before == i)
            used +=
                (size_t)snprintf(text + used, size - used, "%s%s", i ? ", " : "", series[i].name);
    }
}

static bool names_exist(const char *option, const char *list, const merge_series *series, size_t n,
                        char *err)
{
    char name[MERGE_NAME_MAX];
    while (list && next_name(&list, name)) {
        size_t i = 0;
        while (i < n && !is_named(&series[i], name))
            i++;
        if (i < n)
            continue;
        snprintf(err, SCAN_ERROR_SIZE, "%s: there is no '%.100s'; there are: ", option, name);
        list_series(series, n, err, SCAN_ERROR_SIZE);
        return false;
    }
    return true;
}

bool merge_filter_fits(const merge_filter *filter, const merge_series *series, size_t n, char *err)
{
    if (!names_exist("--only", filter->only, series, n, err) ||
        !names_exist("--between", filter->between, series, n, err))
        return false;
    for (size_t i = 0; i < n; i++)
        for (size_t k = 0; k < n; k++)
            if (merge_is_kept(filter, &series[i]) && merge_is_kept(filter, &series[k]) &&
                (!filter->between || (strcmp(series[i].name, series[k].name) != 0 &&
                                      merge_is_between(filter, &series[i], &series[k]))))
                return true;
    snprintf(err, SCAN_ERROR_SIZE,
             "%s leaves %s; there are: ", filter->between ? "--between" : "--only",
             filter->between ? "no two series" : "no series");
    list_series(series, n, err, SCAN_ERROR_SIZE);
    return false;
}
