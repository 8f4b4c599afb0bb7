/* SPDX-License-Identifier: Apache-2.0
 *
 * See table.h.
 */
#include "report/table.h"

#include <stddef.h>

#include "report/csv.h"
#include "report/text.h"

static const char cell_head[] = "panel,field,op,place,elements,series,state,median_us,p90_us,"
                                "winner,winner_clear,second_over_winner\n";

/* One row for every possible cell. */
static void put_group(FILE *out, const merge_panel *p, const merge_group *g)
{
    for (size_t size = 0; size < g->nsizes; size++)
        for (size_t i = 0; i < g->nseries; i++) {
            const merge_winner *w = &g->winners[size];
            const scan_row *r = g->series[i].cells[size];
            bool won = w->series == (int)i && !w->tie;
            const char *const texts[] = {p->label, g->field, g->op, g->place};
            for (size_t k = 0; k < 4; k++)
                csv_put_text(out, texts[k], k == 0);
            fprintf(out, ",%.0f", g->sizes[size]);
            csv_put_text(out, g->series[i].name, false);
            csv_put(out, r ? r->state : "missing", false);
            fprintf(out, merge_has(&g->series[i], size) ? ",%.9g" : ",", r ? r->median_us : 0);
            bool p90 = merge_has(&g->series[i], size) && r->p90_us > 0;
            fprintf(out, p90 ? ",%.9g" : ",", p90 ? r->p90_us : 0);
            fprintf(out, ",%s,%s",
                    w->series < 0 ? ""
                    : won         ? "true"
                                  : "false",
                    !won || w->clear < 0 ? ""
                    : w->clear           ? "true"
                                         : "false");
            fprintf(out, won ? ",%.9g\n" : ",\n", won ? w->ratio : 0);
        }
}

static const char cross_head[] =
    "panel,field,op,place,slower,faster,below,kind,at,after,before,early,late,crossings,changes\n";

static void put_size(FILE *out, bool known, double size)
{
    fprintf(out, known ? ",%.0f" : ",", known ? size : 0);
}

/* One row: where `fast` takes less than so much of the time of `slow`. */
static void put_cross(FILE *out, const merge_panel *p, const merge_group *g, const merge_cross *x,
                      double below)
{
    static const char *const kinds[] = {"never", "always", "from"};
    const crossover *c = below == CROSS_EVEN ? &x->even : &x->clear;
    const char *const texts[] = {
        p->label, g->field, g->op, g->place, g->series[x->slow].name, g->series[x->fast].name};
    bool from = c->found.kind == CROSS_FROM;
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
        csv_put_text(out, texts[i], i == 0);
    fprintf(out, ",%g,%s,%.0f", below, kinds[c->found.kind], c->found.at);
    put_size(out, from, c->found.after);
    put_size(out, from, c->found.before);
    put_size(out, c->interval, c->early.at);
    put_size(out, c->interval, c->late.at);
    fprintf(out, ",%zu,", c->crossings);
    for (size_t i = 0; i < c->nchanges; i++)
        fprintf(out, "%s%.0f", i ? " " : "", c->changes[i]);
    putc('\n', out);
}

static void put_crosses(FILE *out, const merge_panel *p, const merge_group *g)
{
    for (size_t i = 0; i < g->ncrosses; i++)
        if (text_is_told(g, &g->crosses[i])) {
            put_cross(out, p, g, &g->crosses[i], CROSS_EVEN);
            put_cross(out, p, g, &g->crosses[i], CROSS_CLEAR);
        }
}

void table_put(FILE *out, const merge *m, bool crossovers)
{
    fputs(crossovers ? cross_head : cell_head, out);
    for (size_t i = 0; i < m->npanels; i++)
        for (size_t k = 0; k < m->panels[i].ngroups; k++)
            (crossovers ? put_crosses : put_group)(out, &m->panels[i], &m->panels[i].groups[k]);
}
