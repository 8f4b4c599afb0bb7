/* SPDX-License-Identifier: Apache-2.0
 *
 * A merge as JSON (json.h). Values are named like the CSV columns; unknown values are null.
 */
#include "report/json.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/os.h"
#include "report/text.h"
#include "report/units.h"

static json_t *number(double value)
{
    if (!isfinite(value))
        return json_null();
    return value == floor(value) && fabs(value) < 9e15 ? json_integer((json_int_t)value)
                                                       : json_real(value);
}

/* Takes ownership of both; false if one of them is NULL. */
static bool set(json_t *object, const char *name, json_t *value)
{
    return !json_object_set_new(object, name, value);
}

static bool push(json_t *array, json_t *value)
{
    return !json_array_append_new(array, value);
}

/* Returns the value, or frees it and returns NULL. */
static json_t *whole(json_t *value, bool ok)
{
    if (ok)
        return value;
    json_decref(value);
    return NULL;
}

static json_t *of_row(const scan_row *row)
{
    if (!row)
        return json_null();
    json_t *cell = json_object();
    bool ok = cell != NULL;
    for (size_t i = 0; ok && i < SCAN_COLUMNS; i++) {
        const scan_column *c = &scan_columns[i];
        const char *text = (const char *)row + c->offset;
        double value;
        memcpy(&value, text, c->kind == SCAN_TEXT ? 0 : sizeof value);
        if (c->kind != SCAN_TEXT)
            ok = set(cell, c->name, number(value));
        else if (!strcmp(c->name, "state") || !strcmp(c->name, "note"))
            ok = set(cell, c->name, json_string(text));
    }
    return whole(cell, ok);
}

/* What the parts of one scan have in common. */
static const char *source_of(const scan_section *s)
{
    return s->named ? s->label : s->file;
}

static json_t *of_series(const merge_group *g, const merge_series *s)
{
    json_t *cells = json_array();
    bool ok = cells != NULL;
    for (size_t i = 0; ok && i < g->nsizes; i++)
        ok = push(cells, of_row(s->cells[i]));
    if (!ok)
        return whole(cells, false);
    return json_pack("{s:s, s:s, s:s, s:s, s:i, s:o}", "name", s->name, "device", s->device, "file",
                     s->section->file, "source", source_of(s->section), "same", s->same, "cells",
                     cells);
}

static json_t *of_winner(const merge_winner *w)
{
    return json_pack("{s:o, s:o, s:o, s:o, s:b}", "series",
                     w->series < 0 ? json_null() : json_integer(w->series), "second",
                     w->second < 0 ? json_null() : json_integer(w->second), "ratio",
                     number(w->ratio), "clear", w->clear < 0 ? json_null() : json_boolean(w->clear),
                     "tie", w->tie);
}

static json_t *of_point(const cross_point *p)
{
    static const char *const kinds[] = {"never", "always", "from"};
    return json_pack("{s:s, s:o}", "kind", kinds[p->kind], "at", number(p->at));
}

static json_t *of_crossover(const crossover *c)
{
    json_t *value = of_point(&c->found);
    json_t *changes = json_array();
    bool ok = value && changes && set(value, "earlier", json_boolean(c->earlier)) &&
              set(value, "crossings", json_integer((json_int_t)c->crossings));
    for (size_t i = 0; ok && i < c->nchanges; i++)
        ok = push(changes, number(c->changes[i]));
    ok = ok && !json_object_set(value, "changes", changes);
    json_decref(changes);
    if (ok && c->found.kind == CROSS_FROM)
        ok = set(value, "after", number(c->found.after)) &&
             set(value, "before", number(c->found.before));
    if (ok && c->interval)
        ok = set(value, "early", of_point(&c->early)) && set(value, "late", of_point(&c->late));
    return whole(value, ok);
}

/* Its description, in the words of the Markdown output; nothing if the other direction has it. */
static json_t *of_sentence(const merge_group *g, const merge_cross *x)
{
    struct gx_os_text out;
    if (!text_is_told(g, x))
        return json_null();
    if (!gx__os_text_open(&out))
        return NULL;
    text_cross(out.file, g, x);
    json_t *value = gx__os_text_close(&out) ? json_string(out.text) : NULL;
    free(out.text);
    return value;
}

static json_t *of_cross(const merge_group *g, const merge_cross *x)
{
    return json_pack("{s:i, s:i, s:o, s:o, s:o}", "slow", x->slow, "fast", x->fast, "even",
                     of_crossover(&x->even), "clear", of_crossover(&x->clear), "text",
                     of_sentence(g, x));
}

/* What the figures count. */
static json_t *of_unit(const merge_group *g)
{
    const unit *u = unit_of(g->op);
    json_t *counts = json_array();
    bool ok = counts != NULL;
    for (size_t i = 0; ok && i < g->nsizes; i++)
        ok = push(counts, number(unit_count(g->op, g->sizes[i])));
    return ok ? json_pack("{s:s, s:s, s:s, s:s, s:s, s:o}", "size", u->size, "things", u->things,
                          "each", u->each, "plural", u->plural, "operands", u->operands, "counts",
                          counts)
              : whole(counts, false);
}

static json_t *of_group(const merge_group *g)
{
    json_t *sizes = json_array(), *series = json_array(), *counted = of_unit(g);
    json_t *winners = json_array(), *crosses = json_array();
    bool ok = sizes && series && winners && crosses && counted;
    for (size_t i = 0; ok && i < g->nsizes; i++)
        ok = push(sizes, number(g->sizes[i])) && push(winners, of_winner(&g->winners[i]));
    for (size_t i = 0; ok && i < g->nseries; i++)
        ok = push(series, of_series(g, &g->series[i]));
    for (size_t i = 0; ok && i < g->ncrosses; i++)
        ok = push(crosses, of_cross(g, &g->crosses[i]));
    json_t *value =
        ok ? json_pack("{s:s, s:s, s:s, s:i, s:O, s:O, s:O, s:O, s:O}", "field", g->field, "op",
                       g->op, "place", g->place, "base", g->base, "unit", counted, "sizes", sizes,
                       "series", series, "winners", winners, "crossovers", crosses)
           : NULL;
    json_decref(counted);
    json_decref(sizes);
    json_decref(series);
    json_decref(winners);
    json_decref(crosses);
    return value;
}

static json_t *of_section(const scan_section *s)
{
    json_t *value = json_object(), *devices = json_array();
    bool ok = value && devices && set(value, "file", json_string(s->file)) &&
              set(value, "source", json_string(source_of(s))) &&
              set(value, "foreign", json_boolean(s->foreign)) &&
              set(value, "cells", number(s->cells)) && set(value, "rows", number((double)s->count));
    for (size_t i = 0; ok && i < SCAN_HEADINGS; i++)
        ok = set(value, scan_headings[i].name,
                 json_string((const char *)s + scan_headings[i].offset));
    for (size_t i = 0; ok && i < s->ndevices; i++)
        ok = push(devices, json_pack("{s:s, s:s}", "name", s->devices[i].name, "description",
                                     s->devices[i].description));
    ok = ok && !json_object_set(value, "devices", devices);
    json_decref(devices);
    return whole(value, ok);
}

static json_t *of_panel(const merge_panel *p)
{
    json_t *machines = json_array(), *groups = json_array();
    bool ok = machines && groups;
    for (size_t i = 0; ok && i < p->nsections; i++)
        ok = push(machines, of_section(p->sections[i]));
    for (size_t i = 0; ok && i < p->ngroups; i++)
        ok = push(groups, of_group(&p->groups[i]));
    json_t *value =
        ok ? json_pack("{s:s, s:O, s:O}", "label", p->label, "scans", machines, "groups", groups)
           : NULL;
    json_decref(machines);
    json_decref(groups);
    return value;
}

json_t *json_of_merge(const merge *m, const char *command, const char *version)
{
    json_t *panels = json_array(), *notes = json_array();
    bool ok = panels && notes;
    for (size_t i = 0; ok && i < m->npanels; i++)
        ok = push(panels, of_panel(&m->panels[i]));
    for (size_t i = 0; ok && i < m->nnotes; i++)
        ok = push(notes, json_string(m->notes[i]));
    json_t *value =
        ok ? json_pack("{s:s, s:s, s:i, s:f, s:O, s:O}", "command", command, "version", version,
                       "schema", SCAN_SCHEMA, "tie", CROSS_TIE, "notes", notes, "panels", panels)
           : NULL;
    json_decref(panels);
    json_decref(notes);
    return value;
}
