/* SPDX-License-Identifier: Apache-2.0
 *
 * Combines scans (merge.h). Items keep the order of the files; sizes are sorted.
 */
#include "report/merge.h"

#include <math.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "base/os.h"

/* ---- notes ---- */

static bool note(merge *m, const char *format, ...) GX_PRINTF(2, 3);

static bool note(merge *m, const char *format, ...)
{
    char text[1200];
    va_list ap;
    va_start(ap, format);
    vsnprintf(text, sizeof text, format, ap);
    va_end(ap);
    char **notes = realloc(m->notes, (m->nnotes + 1) * sizeof *notes);
    if (!notes)
        return false;
    m->notes = notes;
    m->notes[m->nnotes] = strdup(text);
    return m->notes[m->nnotes++] != NULL;
}

static bool is_shown(const merge_panel *p, const scan_section *s, const scan_row *r);

static bool note_section(merge *m, const merge_panel *p, const scan_section *s)
{
    bool ok = true;
    if (s->suite)
        ok = note(m, "%s: the output of a suite, which has no intervals and names no machine",
                  s->file);
    else if (s->foreign)
        ok = note(m,
                  "%s%s%s: the file names %s operation and has no intervals; for the CPU it has "
                  "one value per size",
                  s->file, *s->os ? ", " : "", s->os, *s->os ? "no" : "neither machine nor");
    if (isfinite(s->cells) && (double)s->count < s->cells)
        ok = ok && note(m, "%s: incomplete, %zu of %.0f cells were measured", s->file, s->count,
                        s->cells);
    for (size_t i = 0; ok && i < s->count; i++) {
        const scan_row *r = &s->rows[i];
        char line[32] = ""; /* a row that was just measured is not in a file yet */
        if (r->line)
            snprintf(line, sizeof line, ":%zu", r->line);
        if (!scan_is_ok(r) && is_shown(p, s, r))
            ok = note(m, "%s%s: %s %s %s of %.0f elements (%s) %s%s%s", s->file, line, r->device,
                      r->field, r->op, r->elements, r->place, r->state, *r->note ? ": " : "",
                      r->note);
    }
    return ok;
}

/* ---- groups ---- */

static bool same_group(const merge_group *g, const scan_row *r)
{
    return !strcmp(g->field, r->field) && !strcmp(g->op, r->op) && !strcmp(g->place, r->place);
}

/* Both: NULL if there is none yet. */
static merge_group *find_group(const merge_panel *p, const scan_row *r)
{
    for (size_t i = 0; i < p->ngroups; i++)
        if (same_group(&p->groups[i], r))
            return &p->groups[i];
    return NULL;
}

static merge_series *find_series(const merge_group *g, const scan_section *s, const scan_row *r)
{
    for (size_t i = 0; i < g->nseries; i++)
        if (scan_same_source(g->series[i].section, s) && !strcmp(g->series[i].device, r->device))
            return &g->series[i];
    return NULL;
}

/* Whether the filter left the row's series. */
static bool is_shown(const merge_panel *p, const scan_section *s, const scan_row *r)
{
    const merge_group *g = find_group(p, r);
    return g && find_series(g, s, r);
}

static merge_group *make_group(merge_panel *p, const scan_row *r)
{
    merge_group *groups = realloc(p->groups, (p->ngroups + 1) * sizeof *groups);
    if (!groups)
        return NULL;
    p->groups = groups;
    groups[p->ngroups] = (merge_group){.field = r->field, .op = r->op, .place = r->place};
    return &groups[p->ngroups++];
}

static merge_series *make_series(merge_group *g, const scan_section *s, const scan_row *r)
{
    merge_series *series = realloc(g->series, (g->nseries + 1) * sizeof *series);
    if (!series)
        return NULL;
    g->series = series;
    series[g->nseries] = (merge_series){.section = s, .device = r->device};
    return &series[g->nseries++];
}

static int ascending(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static size_t find_size(const merge_group *g, double size)
{
    size_t low = 0, high = g->nsizes;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (g->sizes[middle] < size)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

/* Calls fn once for every row of the panel, with its section. */
typedef bool (*row_fn)(merge_panel *p, const scan_section *s, const scan_row *r, char *err);

static bool each_row(merge_panel *p, row_fn fn, char *err)
{
    for (size_t i = 0; i < p->nsections; i++)
        for (size_t k = 0; k < p->sections[i]->count; k++)
            if (!fn(p, p->sections[i], &p->sections[i]->rows[k], err))
                return false;
    return true;
}

/* First the groups, their series and how many sizes there may be, */
static bool count_row(merge_panel *p, const scan_section *s, const scan_row *r, char *err)
{
    (void)err;
    merge_group *g = find_group(p, r);
    if (!g)
        g = make_group(p, r);
    if (!g || (!find_series(g, s, r) && !make_series(g, s, r)))
        return false;
    g->nsizes++;
    return true;
}

/* then the sizes themselves, */
static bool add_size(merge_panel *p, const scan_section *s, const scan_row *r, char *err)
{
    (void)s;
    (void)err;
    merge_group *g = find_group(p, r);
    if (!g)
        return false;
    g->sizes[g->nsizes++] = r->elements;
    return true;
}

/* then the cells. */
static bool add_cell(merge_panel *p, const scan_section *s, const scan_row *r, char *err)
{
    const merge_group *g = find_group(p, r);
    const merge_series *series = g ? find_series(g, s, r) : NULL;
    if (!series || !series->cells)
        return false;
    const scan_row **cell = &series->cells[find_size(g, r->elements)];
    if (*cell)
        snprintf(err, SCAN_ERROR_SIZE,
                 "%.200s:%zu: another file that is named %s has this cell, too: name them apart",
                 s->file, r->line, s->label);
    bool first = !*cell;
    *cell = r;
    return first;
}

static void sort_sizes(merge_group *g)
{
    size_t kept = 0;
    qsort(g->sizes, g->nsizes, sizeof *g->sizes, ascending);
    for (size_t i = 0; i < g->nsizes; i++)
        if (!kept || g->sizes[kept - 1] != g->sizes[i])
            g->sizes[kept++] = g->sizes[i];
    g->nsizes = kept;
}

static bool make_cells(merge_group *g)
{
    g->winners = calloc(g->nsizes + 1, sizeof *g->winners);
    bool ok = g->winners != NULL;
    for (size_t i = 0; ok && i < g->nseries; i++) {
        g->series[i].cells = calloc(g->nsizes + 1, sizeof(scan_row *));
        ok = g->series[i].cells != NULL;
    }
    return ok;
}

static bool make_groups(merge_panel *p, char *err)
{
    if (!each_row(p, count_row, err))
        return false;
    for (size_t i = 0; i < p->ngroups; i++) {
        merge_group *g = &p->groups[i];
        g->sizes = calloc(g->nsizes + 1, sizeof *g->sizes);
        if (!g->sizes)
            return false;
        g->nsizes = 0;
    }
    each_row(p, add_size, err);
    for (size_t i = 0; i < p->ngroups; i++) {
        sort_sizes(&p->groups[i]);
        if (!make_cells(&p->groups[i]))
            return false;
    }
    return each_row(p, add_cell, err);
}

/* ---- names ---- */

static bool device_elsewhere(const merge_panel *p, const merge_series *series)
{
    for (size_t i = 0; i < p->nsections; i++)
        for (size_t k = 0;
             !scan_same_source(p->sections[i], series->section) && k < p->sections[i]->count; k++)
            if (!strcmp(p->sections[i]->rows[k].device, series->device))
                return true;
    return false;
}

/* Number of earlier sections of the panel with the same label. */
static size_t same_label_before(const merge_panel *p, const scan_section *s)
{
    size_t n = 0;
    for (size_t i = 0; i < p->nsections && !scan_same_source(p->sections[i], s); i++)
        n += !strcmp(p->sections[i]->label, s->label);
    return n;
}

static void name_series(const merge_panel *p, merge_series *series)
{
    const scan_section *s = series->section;
    size_t before = same_label_before(p, s);
    if (!device_elsewhere(p, series))
        snprintf(series->name, sizeof series->name, "%s", series->device);
    else if (before)
        snprintf(series->name, sizeof series->name, "%s [%s %zu]", series->device, s->label,
                 before + 1);
    else
        snprintf(series->name, sizeof series->name, "%s [%s]", series->device, s->label);
}

/* ---- the filter ---- */

/* Looks at the filter before it is applied: names are those of all panels. */
static bool check_filter(const merge *m, const merge_filter *f, char *err)
{
    size_t n = 0;
    for (size_t i = 0; i < m->npanels; i++)
        for (size_t k = 0; k < m->panels[i].ngroups; k++)
            n += m->panels[i].groups[k].nseries;
    merge_series *all = malloc((n + 1) * sizeof *all);
    if (!all)
        return false;
    n = 0;
    for (size_t i = 0; i < m->npanels; i++)
        for (size_t k = 0; k < m->panels[i].ngroups; k++) {
            const merge_group *g = &m->panels[i].groups[k];
            memcpy(all + n, g->series, g->nseries * sizeof *all);
            n += g->nseries;
        }
    bool ok = merge_filter_fits(f, all, n, err);
    free(all);
    return ok;
}

static bool has_row(const merge_group *g, size_t size)
{
    for (size_t i = 0; i < g->nseries; i++)
        if (g->series[i].cells[size])
            return true;
    return false;
}

/* Removes the other series, and the sizes at which only they have a row. */
static void keep_series(merge_group *g, const merge_filter *f)
{
    size_t kept = 0;
    for (size_t i = 0; i < g->nseries; i++)
        if (merge_is_kept(f, &g->series[i])) {
            merge_series other = g->series[kept];
            g->series[kept++] = g->series[i];
            g->series[i] = other;
        }
    for (size_t i = kept; i < g->nseries; i++)
        free(g->series[i].cells);
    g->nseries = kept;
    kept = 0;
    for (size_t size = 0; size < g->nsizes; size++) {
        if (!has_row(g, size))
            continue;
        for (size_t i = 0; i < g->nseries; i++)
            g->series[i].cells[kept] = g->series[i].cells[size];
        g->sizes[kept++] = g->sizes[size];
    }
    g->nsizes = kept;
}

static void free_group(merge_group *g)
{
    for (size_t i = 0; i < g->nseries; i++)
        free(g->series[i].cells);
    free(g->series);
    free(g->sizes);
    free(g->winners);
    free(g->crosses);
}

static void filter_panel(merge_panel *p, const merge_filter *f)
{
    size_t kept = 0;
    for (size_t i = 0; i < p->ngroups; i++) {
        keep_series(&p->groups[i], f);
        if (p->groups[i].nseries)
            p->groups[kept++] = p->groups[i];
        else
            free_group(&p->groups[i]);
    }
    p->ngroups = kept;
}

static void free_panel(merge_panel *p)
{
    for (size_t i = 0; i < p->ngroups; i++)
        free_group(&p->groups[i]);
    free(p->groups);
    free(p->sections);
}

static bool has_between(const merge_panel *p, const merge_filter *f)
{
    for (size_t i = 0; i < p->ngroups; i++)
        for (size_t k = 0; k < p->groups[i].nseries; k++)
            for (size_t j = 0; j < k; j++)
                if (merge_is_between(f, &p->groups[i].series[j], &p->groups[i].series[k]))
                    return true;
    return false;
}

/* Applies the filter to all panels, and removes those that it leaves empty. */
static bool filter_panels(merge *m, const merge_filter *f, bool by_machine, char *err)
{
    size_t kept = 0;
    if (!check_filter(m, f, err))
        return false;
    for (size_t i = 0; i < m->npanels; i++) {
        filter_panel(&m->panels[i], f);
        if (m->panels[i].ngroups && (!f->between || has_between(&m->panels[i], f)))
            m->panels[kept++] = m->panels[i];
        else
            free_panel(&m->panels[i]);
    }
    m->npanels = kept;
    if (!kept)
        snprintf(err, SCAN_ERROR_SIZE, "--between %.200s: no operation was measured on both%s",
                 f->between,
                 by_machine ? " on one machine; 'compare' and 'report --together' put all machines "
                              "together"
                            : "");
    return kept;
}

/* ---- what follows from the cells ---- */

bool merge_has(const merge_series *series, size_t size)
{
    return series->cells[size] && scan_is_ok(series->cells[size]);
}

static bool is_too_short(const merge_group *g, size_t size)
{
    for (size_t i = 0; i < g->nseries; i++) {
        const scan_row *r = g->series[i].cells[size];
        if (r && !strcmp(r->state, SCAN_SHORT))
            return true;
    }
    return false;
}

/* Of equal times the first by name, so that the order of the files does not matter. */
static bool is_ahead(const merge_series *a, const merge_series *b, size_t size)
{
    double x = a->cells[size]->median_us, y = b->cells[size]->median_us;
    return x < y || (x == y && strcmp(a->name, b->name) < 0);
}

/* The fastest that is not this CPU; -1: none. */
static int find_fastest(const merge_group *g, size_t size, int except)
{
    int best = -1;
    for (size_t i = 0; i < g->nseries; i++)
        if (merge_has(&g->series[i], size) && g->series[i].same != except &&
            (best < 0 || is_ahead(&g->series[i], &g->series[best], size)))
            best = (int)i;
    return best;
}

/* Nobody, if one of them was too short to be timed. */
static merge_winner find_winner(const merge_group *g, size_t size)
{
    const merge_winner nobody = {.series = -1, .second = -1, .ratio = NAN, .clear = -1};
    merge_winner w = nobody;
    if (!is_too_short(g, size))
        w.series = find_fastest(g, size, -1);
    if (w.series >= 0)
        w.second = find_fastest(g, size, g->series[w.series].same);
    if (w.second < 0)
        return nobody;
    const scan_row *first = g->series[w.series].cells[size];
    const scan_row *second = g->series[w.second].cells[size];
    w.ratio = second->median_us / first->median_us;
    w.tie = cross_is_tie(first->median_us, second->median_us);
    if (isfinite(first->high_us) && isfinite(second->low_us))
        w.clear = first->high_us < second->low_us;
    return w;
}

/* The sizes measured on both, up to CROSS_PAIRS_MAX. */
static size_t common_sizes(const merge_group *g, size_t slow, size_t fast, cross_pair *pairs)
{
    size_t n = 0;
    for (size_t i = 0; i < g->nsizes && n < CROSS_PAIRS_MAX; i++) {
        if (!merge_has(&g->series[slow], i) || !merge_has(&g->series[fast], i))
            continue;
        const scan_row *a = g->series[slow].cells[i], *b = g->series[fast].cells[i];
        pairs[n++] = (cross_pair){g->sizes[i],  a->median_us, a->low_us, a->high_us,
                                  b->median_us, b->low_us,    b->high_us};
    }
    return n;
}

static size_t add_cross(merge_group *g, size_t slow, size_t fast)
{
    cross_pair pairs[CROSS_PAIRS_MAX];
    size_t n = common_sizes(g, slow, fast, pairs);
    if (n)
        g->crosses[g->ncrosses++] =
            (merge_cross){(int)slow, (int)fast, cross_find(pairs, n, CROSS_EVEN),
                          cross_find(pairs, n, CROSS_CLEAR)};
    return n;
}

/* "cpu", or "cpu (dx12)" of a threshold scan */
static bool is_cpu(const char *device)
{
    return !strncmp(device, "cpu", 3) && (!device[3] || device[3] == ' ');
}

static size_t find_base(const merge_group *g)
{
    for (size_t i = 0; i < g->nseries; i++)
        if (is_cpu(g->series[i].device))
            return i;
    return 0;
}

static bool is_pair(const merge_group *g, const merge_filter *f, size_t i, size_t k)
{
    if (f->between)
        return merge_is_between(f, &g->series[i], &g->series[k]);
    if (g->series[i].same == g->series[k].same)
        return false;
    return g->nseries <= MERGE_PAIRS_MAX || i == (size_t)g->base || k == (size_t)g->base;
}

/* Adds "A and B" to a list; false if there is no room for all of it. */
static bool add_pair(char *list, size_t size, const char *a, const char *b)
{
    size_t used = strlen(list);
    int length = snprintf(list + used, size - used, "%s%s and %s", used ? "; " : "", a, b);
    bool fits = (size_t)length < size - used;
    if (!fits)
        list[used] = 0; /* half a name may end in half a character */
    return fits;
}

/* Crossovers of every pair. Those without a common size are noted, as far as there is room. */
static bool add_crosses(merge *m, const merge_panel *p, merge_group *g, const merge_filter *f)
{
    char apart[400] = "";
    size_t pairs = 0;
    bool all = true;
    for (size_t i = 0; i < g->nseries; i++)
        for (size_t k = 0; k < i; k++)
            pairs += is_pair(g, f, i, k);
    g->crosses = calloc(2 * pairs + 1, sizeof *g->crosses);
    if (!g->crosses)
        return false;
    for (size_t i = 0; i < g->nseries; i++)
        for (size_t k = 0; k < i; k++) {
            if (!is_pair(g, f, i, k))
                continue;
            if (add_cross(g, k, i))
                add_cross(g, i, k);
            else if (all)
                all = add_pair(apart, sizeof apart, g->series[k].name, g->series[i].name);
        }
    if (*apart && !note(m, "%s: no crossover in %s %s (%s), as no size was measured on both: %s%s",
                        p->label, g->field, g->op, g->place, apart, all ? "" : "; ..."))
        return false;
    return f->between || g->nseries <= MERGE_PAIRS_MAX ||
           note(m,
                "%s: %zu series of %s %s (%s): crossovers only of %s and each other one; "
                "--between A,B shows those of A and B",
                p->label, g->nseries, g->field, g->op, g->place, g->series[g->base].name);
}

/* "cpu (gles)" and "cpu (dx12)" of one machine, "cpu" and "cpu, 1 thread" of one scan */
static bool is_same_cpu(const merge_series *a, const merge_series *b)
{
    static const char cpu[] = "cpu (";
    size_t length = strcspn(a->device, ",");
    if (scan_same_source(a->section, b->section) && length == strcspn(b->device, ","))
        return !strncmp(a->device, b->device, length);
    return !strncmp(a->device, cpu, strlen(cpu)) && !strncmp(b->device, cpu, strlen(cpu)) &&
           !strcmp(a->section->os, b->section->os);
}

static void find_same(merge_group *g)
{
    for (size_t i = 0; i < g->nseries; i++) {
        size_t first = 0;
        while (first < i && !is_same_cpu(&g->series[first], &g->series[i]))
            first++;
        g->series[i].same = (int)first;
    }
}

static bool conclude(merge *m, const merge_panel *p, merge_group *g, const merge_filter *f)
{
    find_same(g);
    for (size_t i = 0; i < g->nsizes; i++)
        g->winners[i] = find_winner(g, i);
    g->base = (int)find_base(g);
    return add_crosses(m, p, g, f);
}

static bool note_gaps(merge *m, const merge_panel *p, const merge_group *g)
{
    for (size_t i = 0; i < g->nseries; i++) {
        char sizes[320] = "";
        size_t used = 0;
        for (size_t k = 0; k < g->nsizes; k++)
            if (!g->series[i].cells[k] && used < sizeof sizes - 40)
                used += (size_t)snprintf(sizes + used, sizeof sizes - used, "%s%.0f",
                                         used ? ", " : "", g->sizes[k]);
        if (used &&
            !note(m, "%s: no figures of %s %s (%s) on %s for %s%s", p->label, g->field, g->op,
                  g->place, g->series[i].name, sizes, used >= sizeof sizes - 40 ? ", ..." : ""))
            return false;
    }
    return true;
}

/* ---- panels ---- */

static void machine_name(const scan_section *s, char *text, size_t size)
{
    if (s->foreign)
        snprintf(text, size, "%s", *s->os ? s->os : s->label);
    else
        snprintf(text, size, "%s; %s", s->cpu, s->os);
}

static bool has_source(const merge_panel *p, const scan_section *s)
{
    for (size_t i = 0; i < p->nsections; i++)
        if (scan_same_source(p->sections[i], s))
            return true;
    return false;
}

/* The panel for a section; a new one if its machine has none yet. */
static merge_panel *find_panel(merge *m, const scan_section *s, bool by_machine)
{
    char machine[sizeof m->panels->label];
    machine_name(s, machine, sizeof machine);
    for (size_t i = 0; i < m->npanels; i++)
        if (!by_machine || !strcmp(m->panels[i].label, machine) || has_source(&m->panels[i], s))
            return &m->panels[i];
    merge_panel *panels = realloc(m->panels, (m->npanels + 1) * sizeof *panels);
    if (!panels)
        return NULL;
    m->panels = panels;
    panels[m->npanels] = (merge_panel){0};
    memcpy(panels[m->npanels].label, machine, sizeof machine);
    return &panels[m->npanels++];
}

static bool add_section(merge *m, const scan_section *s, bool by_machine)
{
    merge_panel *p = find_panel(m, s, by_machine);
    if (!p)
        return false;
    const scan_section **sections = realloc(p->sections, (p->nsections + 1) * sizeof *sections);
    if (!sections)
        return false;
    p->sections = sections;
    p->sections[p->nsections++] = s;
    if (p->nsections > 1 && !by_machine && !scan_same_source(p->sections[0], s)) {
        char machine[sizeof p->label];
        machine_name(s, machine, sizeof machine);
        if (strcmp(machine, p->label) != 0)
            snprintf(p->label, sizeof p->label, "several machines");
    }
    return true;
}

static merge_panel *panel_of(const merge *m, const scan_section *s)
{
    for (size_t i = 0; i < m->npanels; i++)
        for (size_t k = 0; k < m->panels[i].nsections; k++)
            if (m->panels[i].sections[k] == s)
                return &m->panels[i];
    return NULL;
}

static bool note_file(merge *m, const scan_section *s)
{
    const scan_section *first = m->panels[0].sections[0];
    const merge_panel *p = panel_of(m, s);
    if (!s->foreign && !first->foreign && strcmp(first->library, s->library) != 0 &&
        !note(m, "%s was made with gpuexec %s, %s with %s: differences may be due to the library",
              s->file, s->library, first->file, first->library))
        return false;
    return !p || note_section(m, p, s); /* the filter may have removed the panel */
}

static bool prepare_panel(merge_panel *p, char *err)
{
    if (!make_groups(p, err))
        return false;
    for (size_t i = 0; i < p->ngroups; i++) {
        merge_group *g = &p->groups[i];
        for (size_t k = 0; k < g->nseries; k++)
            name_series(p, &g->series[k]);
        if (g->nsizes > CROSS_PAIRS_MAX) {
            snprintf(err, SCAN_ERROR_SIZE, "%s %s: more than %d sizes", g->field, g->op,
                     CROSS_PAIRS_MAX);
            return false;
        }
    }
    return true;
}

static bool finish_panel(merge *m, const merge_panel *p, const merge_filter *filter)
{
    for (size_t i = 0; i < p->ngroups; i++)
        if (!conclude(m, p, &p->groups[i], filter) || !note_gaps(m, p, &p->groups[i]))
            return false;
    return true;
}

bool merge_make(const scan_file *files, size_t nfiles, bool by_machine, const merge_filter *filter,
                merge *m, char *err)
{
    static const merge_filter all = {0};
    bool ok = true, filtered = filter && (filter->only || filter->between);
    *m = (merge){0};
    snprintf(err, SCAN_ERROR_SIZE, "out of memory");
    for (size_t i = 0; i < nfiles; i++)
        for (size_t k = 0; ok && k < files[i].count; k++)
            ok = add_section(m, &files[i].sections[k], by_machine);
    for (size_t i = 0; ok && i < m->npanels; i++)
        ok = prepare_panel(&m->panels[i], err);
    ok = ok && (!filtered || filter_panels(m, filter, by_machine, err));
    for (size_t i = 0; i < nfiles; i++)
        for (size_t k = 0; ok && k < files[i].count; k++)
            ok = note_file(m, &files[i].sections[k]);
    for (size_t i = 0; ok && i < m->npanels; i++)
        ok = finish_panel(m, &m->panels[i], filtered ? filter : &all);
    return ok;
}

void merge_free(merge *m)
{
    for (size_t i = 0; i < m->npanels; i++)
        free_panel(&m->panels[i]);
    free(m->panels);
    for (size_t i = 0; i < m->nnotes; i++)
        free(m->notes[i]);
    free(m->notes);
    *m = (merge){0};
}
