/* SPDX-License-Identifier: Apache-2.0
 *
 * Tables and sentences from a merge (text.h). One writer for both styles, so that terminal and file
 * never disagree.
 */
#include "report/text.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "report/units.h"

enum { CELL = 192, BEST_CELLS_MAX = 1 << 16 };

void text_size(char *to, size_t room, double size)
{
    const struct {
        double unit;
        const char *name;
    } units[] = {{1 << 30, "G"}, {1 << 20, "M"}, {1 << 10, "K"}};
    for (size_t i = 0; i < 3; i++)
        if (size >= units[i].unit && fmod(size, units[i].unit) == 0) {
            snprintf(to, room, "%.0f%s", size / units[i].unit, units[i].name);
            return;
        }
    snprintf(to, room, "%.0f", size);
}

/* About four digits. */
static void text_us(char *to, size_t room, double us)
{
    int decimals = us >= 1000 ? 0 : us >= 100 ? 1 : us >= 1 ? 2 : 4;
    snprintf(to, room, "%.*f", decimals, us);
}

/* Three digits: an interpolated size is not more precise. */
static void text_about(char *to, size_t room, double size)
{
    double unit = pow(10, fmax(floor(log10(size)) - 2, 0));
    snprintf(to, room, "%.0f", round(size / unit) * unit);
}

/* ---- tables ---- */

typedef struct table {
    char (*cells)[CELL];
    size_t rows, columns; /* the first row is the header */
} table;

static char *at(const table *t, size_t row, size_t column)
{
    return t->cells[row * t->columns + column];
}

static size_t width_of(const table *t, size_t column)
{
    size_t width = 3; /* of Markdown's dashes */
    for (size_t i = 0; i < t->rows; i++)
        if (strlen(at(t, i, column)) > width)
            width = strlen(at(t, i, column));
    return width;
}

/* Markdown has no other way to write a bar. */
static void put_cell(FILE *out, text_style style, const char *text)
{
    for (; *text; text++) {
        if (style == TEXT_MARKDOWN && *text == '|')
            putc('\\', out);
        putc(*text, out);
    }
}

static void put_row(FILE *out, const table *t, size_t row, text_style style)
{
    for (size_t c = 0; c < t->columns; c++) {
        const char *text = at(t, row, c);
        int pad = (int)(width_of(t, c) - strlen(text));
        fputs(style == TEXT_MARKDOWN ? c ? " | " : "| " : c ? "  " : "", out);
        fprintf(out, "%*s", pad, "");
        put_cell(out, style, text);
    }
    fputs(style == TEXT_MARKDOWN ? " |\n" : "\n", out);
}

static void put_table(FILE *out, const table *t, text_style style)
{
    for (size_t row = 0; row < t->rows; row++) {
        put_row(out, t, row, style);
        if (row || style != TEXT_MARKDOWN)
            continue;
        for (size_t c = 0; c < t->columns; c++) {
            fputs(c ? " | " : "| ", out);
            for (size_t i = 1; i < width_of(t, c); i++)
                putc('-', out);
            putc(':', out);
        }
        fputs(" |\n", out);
    }
    putc('\n', out);
}

/* "median (P90)", or why there is none */
static void cell_times(char *to, const merge_series *series, size_t size)
{
    char median[32], p90[32];
    const scan_row *r = series->cells[size];
    if (!merge_has(series, size)) {
        snprintf(to, CELL, "%s", r ? r->state : "missing");
        return;
    }
    text_us(median, sizeof median, r->median_us);
    text_us(p90, sizeof p90, r->p90_us);
    if (isfinite(r->p90_us))
        snprintf(to, CELL, "%s (%s)", median, p90);
    else
        snprintf(to, CELL, "%s", median);
}

/* Whether the two intervals overlap. */
static bool is_unclear(const merge_winner *w)
{
    return w->series >= 0 && w->clear == 0 && !w->tie;
}

static void cell_name(char *to, const merge_group *g, const merge_winner *w)
{
    if (w->series < 0 || w->tie)
        strcpy(to, w->tie ? "tie" : "-");
    else
        snprintf(to, CELL, "%s%s", is_unclear(w) ? "~ " : "", g->series[w->series].name);
}

static void cell_winner(const table *t, size_t row, const merge_group *g)
{
    const merge_winner *w = &g->winners[row - 1];
    char *name = at(t, row, t->columns - 3), *times = at(t, row, t->columns - 2);
    cell_name(name, g, w);
    if (w->series < 0)
        strcpy(times, "-");
    else
        snprintf(times, CELL, "%.2f", w->ratio);
}

/* The least time at a size, for each element, butterfly or point. */
static void cell_each(char *to, const merge_group *g, size_t size)
{
    double least = INFINITY, count = unit_count(g->op, g->sizes[size]);
    for (size_t i = 0; i < g->nseries; i++)
        if (merge_has(&g->series[i], size))
            least = fmin(least, g->series[i].cells[size]->median_us);
    strcpy(to, "-");
    if (count > 0 && isfinite(least))
        text_us(to, CELL, 1e3 * least / count);
}

static bool put_group_table(FILE *out, const merge_group *g, text_style style)
{
    table t = {.rows = g->nsizes + 1, .columns = g->nseries + 4};
    t.cells = calloc(t.rows * t.columns, sizeof *t.cells);
    bool unclear = false;
    if (!t.cells)
        return false;
    strcpy(at(&t, 0, 0), "size");
    for (size_t i = 0; i < g->nseries; i++)
        snprintf(at(&t, 0, i + 1), CELL, "%s us (P90)", g->series[i].name);
    strcpy(at(&t, 0, t.columns - 3), "winner");
    strcpy(at(&t, 0, t.columns - 2), "times");
    snprintf(at(&t, 0, t.columns - 1), CELL, "ns/%s", unit_of(g->op)->each);
    for (size_t row = 1; row < t.rows; row++) {
        text_size(at(&t, row, 0), CELL, g->sizes[row - 1]);
        for (size_t i = 0; i < g->nseries; i++)
            cell_times(at(&t, row, i + 1), &g->series[i], row - 1);
        cell_winner(&t, row, g);
        cell_each(at(&t, row, t.columns - 1), g, row - 1);
        unclear |= is_unclear(&g->winners[row - 1]);
    }
    put_table(out, &t, style);
    if (unclear && style != TEXT_MARKDOWN) /* which explains it at the top */
        fputs("~ if the 95 % intervals of the two fastest overlap: another run may differ."
              "\n\n",
              out);
    free(t.cells);
    return true;
}

/* ---- crossovers ---- */

static void put_interval(FILE *out, const crossover *c)
{
    char low[32], high[32];
    if (!c->interval)
        return;
    text_about(low, sizeof low, c->early.at);
    text_about(high, sizeof high, c->late.at);
    fprintf(out, ", 95 %% interval %s%s to %s%s", c->early.kind == CROSS_ALWAYS ? "below " : "",
            low, c->late.kind == CROSS_NEVER ? "above " : "", high);
}

static void put_even(FILE *out, const merge_group *g, const merge_cross *x)
{
    char about[32], after[32], before[32];
    const cross_point *found = &x->even.found;
    fprintf(out, "%s is faster than %s ", g->series[x->fast].name, g->series[x->slow].name);
    if (found->kind == CROSS_ALWAYS) {
        fputs("at every size measured on both, without a crossover", out);
        return;
    }
    text_about(about, sizeof about, found->at);
    text_size(after, sizeof after, found->after);
    text_size(before, sizeof before, found->before);
    fprintf(out, "from about %s %s (between %s and %s", about, unit_of(g->op)->things, after,
            before);
    put_interval(out, &x->even);
    if (x->even.crossings > 1)
        fprintf(out, "; the last of %zu crossovers, the others at about ", x->even.crossings);
    for (size_t i = 0; i + 1 < x->even.crossings && i < x->even.nchanges; i++) {
        text_about(about, sizeof about, x->even.changes[i]);
        fprintf(out, "%s%s", i ? ", " : "", about);
    }
    if (x->even.crossings > CROSS_CHANGES_MAX + 1)
        fputs(", ...", out);
    putc(')', out);
}

static void put_clear(FILE *out, const merge_cross *x)
{
    char about[32];
    const cross_point *found = &x->clear.found;
    fprintf(out, "; below %.0f %% of its time ", 100 * CROSS_CLEAR);
    if (found->kind == CROSS_ALWAYS)
        fputs("at every size", out);
    else if (found->kind == CROSS_NEVER)
        fputs(x->clear.earlier ? "not at the largest size" : "nowhere", out);
    else {
        text_about(about, sizeof about, found->at);
        fprintf(out, "from about %s", about);
        if (x->clear.interval)
            put_interval(out, &x->clear);
    }
    putc('.', out);
}

bool text_is_told(const merge_group *g, const merge_cross *x)
{
    size_t place = (size_t)(x - g->crosses);
    const merge_cross *back = &g->crosses[place ^ 1];
    return x->even.found.kind != CROSS_NEVER ||
           (back->even.found.kind == CROSS_NEVER && place % 2 == 0);
}

void text_cross(FILE *out, const merge_group *g, const merge_cross *x)
{
    char size[32];
    if (x->even.found.kind == CROSS_NEVER) {
        text_size(size, sizeof size, x->even.found.at);
        fprintf(out, "%s and %s take the same time at %s, the largest size measured on both.",
                g->series[x->fast].name, g->series[x->slow].name, size);
        return;
    }
    put_even(out, g, x);
    put_clear(out, x);
}

static void put_crosses(FILE *out, const merge_group *g)
{
    for (size_t i = 0; i < g->ncrosses; i++) {
        const merge_cross *x = &g->crosses[i];
        if (!text_is_told(g, x))
            continue;
        fputs("- ", out);
        text_cross(out, g, x);
        putc('\n', out);
    }
    if (g->ncrosses)
        putc('\n', out);
}

/* ---- the fastest at each size ---- */

/* "operands in host memory" */
static const char *place_text(const merge_group *g, char text[64])
{
    snprintf(text, 64, "%s in %s memory", unit_of(g->op)->operands,
             strcmp(g->place, SCAN_RESIDENT) ? "host" : "device");
    return text;
}

/* All sizes of the panel, in order; NULL if memory ran out. */
static double *all_sizes(const merge_panel *p, size_t *count)
{
    size_t room = 1;
    *count = 0;
    for (size_t i = 0; i < p->ngroups; i++)
        room += p->groups[i].nsizes;
    double *sizes = malloc(room * sizeof *sizes);
    for (size_t i = 0; sizes && i < p->ngroups; i++)
        for (size_t k = 0; k < p->groups[i].nsizes; k++) {
            double size = p->groups[i].sizes[k];
            size_t to = *count;
            while (to > 0 && sizes[to - 1] > size)
                to--;
            if (to > 0 && sizes[to - 1] == size)
                continue;
            memmove(sizes + to + 1, sizes + to, (*count - to) * sizeof *sizes);
            sizes[to] = size;
            ++*count;
        }
    return sizes;
}

static void cell_best(char *to, const merge_group *g, double size)
{
    strcpy(to, "-");
    for (size_t i = 0; i < g->nsizes; i++)
        if (g->sizes[i] == size)
            cell_name(to, g, &g->winners[i]);
}

static bool has_winner(const merge_panel *p)
{
    for (size_t i = 0; i < p->ngroups; i++)
        for (size_t k = 0; k < p->groups[i].nsizes; k++)
            if (p->groups[i].winners[k].series >= 0)
                return true;
    return false;
}

/* Operations down, sizes across. One operation has it all in its own table. */
static bool put_best(FILE *out, const merge_panel *p, text_style style)
{
    size_t count;
    if (p->ngroups < 2 || !has_winner(p))
        return true;
    double *sizes = all_sizes(p, &count);
    table t = {.rows = p->ngroups + 1, .columns = count + 1};
    if (sizes && t.rows > BEST_CELLS_MAX / t.columns) { /* nobody would read it */
        free(sizes);
        return true;
    }
    t.cells = sizes ? calloc(t.rows * t.columns, sizeof *t.cells) : NULL;
    if (t.cells) {
        strcpy(at(&t, 0, 0), "fastest");
        for (size_t i = 0; i < count; i++)
            text_size(at(&t, 0, i + 1), CELL, sizes[i]);
        for (size_t k = 0; k < p->ngroups; k++) {
            const merge_group *g = &p->groups[k];
            snprintf(at(&t, k + 1, 0), CELL, "%s %s, %s", g->field, g->op, g->place);
            for (size_t i = 0; i < count; i++)
                cell_best(at(&t, k + 1, i + 1), g, sizes[i]);
        }
        fputs(style == TEXT_MARKDOWN ? "### The fastest at each size\n\n"
                                     : "the fastest at each size\n\n",
              out);
        put_table(out, &t, style);
    }
    bool ok = t.cells != NULL;
    free(t.cells);
    free(sizes);
    return ok;
}

/* ---- all ---- */

static void put_machines(FILE *out, const merge_panel *p)
{
    for (size_t i = 0; i < p->nsections; i++) {
        const scan_section *s = p->sections[i];
        if (s->foreign) {
            fprintf(out, "- `%s`: %s, %s", s->file, s->suite ? "a suite" : "threshold columns",
                    *s->os ? s->os : "machine not stated");
            fprintf(out, *s->options ? "; `%s`\n" : "\n", s->options);
            continue;
        }
        fprintf(out, "- `%s`: gpuexec %s, %s, %s, %s%s%s; `%s`\n", s->file, s->library, s->date,
                s->cpu, s->os, *s->clocks ? ", " : "", s->clocks, s->options);
        for (size_t k = 0; k < s->ndevices; k++)
            fprintf(out, "  - %s: %s\n", s->devices[k].name, s->devices[k].description);
    }
    putc('\n', out);
}

static bool put_panel(FILE *out, const merge_panel *p, text_style style)
{
    if (style == TEXT_MARKDOWN) {
        fprintf(out, "## %s\n\n", p->label);
        put_machines(out, p);
        if (!put_best(out, p, style))
            return false;
    }
    for (size_t i = 0; i < p->ngroups; i++) {
        const merge_group *g = &p->groups[i];
        char place[64];
        fprintf(out, "%s%s %s, %s\n\n", style == TEXT_MARKDOWN ? "### " : "", g->field, g->op,
                place_text(g, place));
        if (!put_group_table(out, g, style))
            return false;
        put_crosses(out, g);
    }
    return style == TEXT_MARKDOWN || put_best(out, p, style);
}

/* ---- machines against each other ---- */

static const merge_group *group_of(const merge_panel *p, const merge_group *like)
{
    for (size_t i = 0; i < p->ngroups; i++) {
        const merge_group *g = &p->groups[i];
        if (!strcmp(g->field, like->field) && !strcmp(g->op, like->op) &&
            !strcmp(g->place, like->place))
            return g;
    }
    return NULL;
}

/* The k-th group of panel p if no earlier panel has it, otherwise NULL. */
static const merge_group *new_group(const merge *m, size_t p, size_t k)
{
    const merge_group *g = m->panels[p].groups ? &m->panels[p].groups[k] : NULL;
    for (size_t i = 0; g && i < p; i++)
        if (group_of(&m->panels[i], g))
            return NULL;
    return g;
}

/* "vulkan:0, 218.7 us for 4M": the winner at the largest size that has one; otherwise what there is
 * at the largest size. */
static void cell_fastest(char *to, const merge_group *g)
{
    char size[32], us[32];
    int best = -1;
    size_t n = 0;
    for (size_t i = 0; i < g->nsizes; i++) {
        if (g->winners[i].series >= 0) {
            best = g->winners[i].series;
            n = i;
        }
    }
    bool alone = best < 0;
    for (size_t i = 0; alone && i < g->nsizes; i++)
        for (size_t k = 0; k < g->nseries; k++)
            if (merge_has(&g->series[k], i)) {
                best = (int)k;
                n = i;
            }
    strcpy(to, "-");
    if (best < 0)
        return;
    text_size(size, sizeof size, g->sizes[n]);
    text_us(us, sizeof us, g->series[best].cells[n]->median_us);
    snprintf(to, CELL, "%.100s%s, %s us for %s", g->winners[n].tie ? "tie" : g->series[best].name,
             alone ? " alone" : "", us, size);
}

static bool of_base(const merge_group *g, const merge_cross *x)
{
    return x->slow == g->base || x->fast == g->base;
}

/* Only of the baseline: there is not room for more. */
static void cell_crosses(char *to, const merge_group *g)
{
    size_t used = 0;
    strcpy(to, "-");
    for (size_t i = 0; i < g->ncrosses && used < CELL - 1; i++) {
        const cross_point *p = &g->crosses[i].even.found;
        char about[32];
        if (p->kind == CROSS_NEVER || !of_base(g, &g->crosses[i]))
            continue;
        text_about(about, sizeof about, p->at);
        bool base_wins = g->crosses[i].fast == g->base;
        used += (size_t)snprintf(to + used, CELL - used, "%s%.60s%s%.60s %s%s", used ? "; " : "",
                                 g->series[g->crosses[i].fast].name, base_wins ? " over " : "",
                                 base_wins ? g->series[g->crosses[i].slow].name : "",
                                 p->kind == CROSS_ALWAYS ? "always" : "from about ",
                                 p->kind == CROSS_ALWAYS ? "" : about);
    }
}

static void fill_summary(const merge *m, const table *t)
{
    static const char *const head[] = {"operation", "machine", "fastest", "faster, and from where"};
    size_t row = 1;
    for (size_t c = 0; c < t->columns; c++)
        strcpy(at(t, 0, c), head[c]);
    for (size_t p = 0; p < m->npanels; p++)
        for (size_t k = 0; k < m->panels[p].ngroups; k++) {
            const merge_group *like = new_group(m, p, k);
            for (size_t i = 0; like && i < m->npanels; i++, row++) {
                const merge_group *g = group_of(&m->panels[i], like);
                snprintf(at(t, row, 0), CELL, "%s %s, %s", like->field, like->op, like->place);
                snprintf(at(t, row, 1), CELL, "%.150s", m->panels[i].label);
                strcpy(at(t, row, 2), "missing");
                strcpy(at(t, row, 3), "missing");
                if (g) {
                    cell_fastest(at(t, row, 2), g);
                    cell_crosses(at(t, row, 3), g);
                }
            }
        }
}

/* One line per operation and machine. */
static bool put_summary(FILE *out, const merge *m)
{
    table t = {.rows = 1, .columns = 4};
    for (size_t p = 0; p < m->npanels; p++)
        for (size_t k = 0; k < m->panels[p].ngroups; k++)
            t.rows += new_group(m, p, k) ? m->npanels : 0;
    t.cells = calloc(t.rows * t.columns, sizeof *t.cells);
    if (!t.cells)
        return false;
    fill_summary(m, &t);
    fputs("## Summary\n\n", out);
    put_table(out, &t, TEXT_MARKDOWN);
    free(t.cells);
    return true;
}

bool text_put(FILE *out, const merge *m, text_style style, const char *title)
{
    if (style == TEXT_MARKDOWN)
        fprintf(out,
                "# %s\n\nMedian and P90 of one call in microseconds; times: second fastest "
                "relative to the "
                "winner; ~: their\n95 %% intervals overlap; tie: they differ by at most 0.5 %%; "
                "ns: of the "
                "fastest, for each element,\npoint of a sum or butterfly of a transform.\n\n",
                title);
    if (style == TEXT_MARKDOWN && m->npanels > 1 && !put_summary(out, m))
        return false;
    for (size_t i = 0; i < m->npanels; i++) {
        if (style == TEXT_PLAIN && m->npanels > 1)
            fprintf(out, "%s\n\n", m->panels[i].label);
        if (!put_panel(out, &m->panels[i], style))
            return false;
    }
    if (m->nnotes)
        fputs(style == TEXT_MARKDOWN ? "## Gaps and notes\n\n" : "gaps and notes:\n", out);
    for (size_t i = 0; i < m->nnotes; i++)
        fprintf(out, "- %s\n", m->notes[i]);
    return true;
}
