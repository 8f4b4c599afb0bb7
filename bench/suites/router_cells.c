/* SPDX-License-Identifier: Apache-2.0
 *
 * Suite router of bench-suites, the table: every candidate and the router at every size, the
 * resulting crossovers, and the summary.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "check.h"
#include "counters.h"
#include "progress.h"
#include "router.h"

enum {
    SAMPLES = 61,
    HOST = 0, /* where the operands are, see router_cell */
    REGISTERED,
    RESIDENT
};

#define BUDGET_S 0.2

/* Fewest points, and the time of a call, of sums of points. */
#define MSM_FIRST    ((size_t)256)
#define MSM_LIMIT_NS 2e9

static const router_part part_cells = {
    "regret", "The router's choice compared with the best single device",
    ROUTER_BIT(ROUTER_WHERE) | ROUTER_BIT(ROUTER_FIELD) | ROUTER_BIT(ROUTER_OP) |
        ROUTER_BIT(ROUTER_ELEMENTS) | ROUTER_BIT(ROUTER_BEST) | ROUTER_BIT(ROUTER_BEST_US) |
        ROUTER_BIT(ROUTER_MEDIAN) | ROUTER_BIT(ROUTER_OFF) | ROUTER_BIT(ROUTER_CHOSEN) |
        ROUTER_BIT(ROUTER_REASON) | ROUTER_BIT(ROUTER_REGRET)};
static const router_part part_crossovers = {
    "crossover", "Crossovers: the size from which a device beats the CPU (at nine of ten sizes)",
    ROUTER_BIT(ROUTER_WHERE) | ROUTER_BIT(ROUTER_FIELD) | ROUTER_BIT(ROUTER_OP) |
        ROUTER_BIT(ROUTER_DEVICE) | ROUTER_BIT(ROUTER_WHAT) | ROUTER_BIT(ROUTER_ELEMENTS)};
static const router_part part_summary = {"summary", "Summary",
                                         ROUTER_BIT(ROUTER_WHAT) | ROUTER_BIT(ROUTER_VALUE)};

/* ---- a cell ---- */

static const char *where_name(const router *r, size_t where, char *text, size_t size)
{
    if (where >= RESIDENT)
        snprintf(text, size, "in %s", r->names[where - RESIDENT]);
    else
        snprintf(text, size, "%s", where == HOST ? "host" : "registered");
    return text;
}

/* Compares the predictions in the report with the measured times. */
static void note_predictions(const gx_report *report, const router_way *ways, router_cell *c)
{
    for (size_t i = 0; i + 1 < c->ways; i++) {
        c->off[i] = NAN;
        for (uint32_t k = 0; k < report->candidates; k++)
            if (!strcmp(report->candidate[k].device, ways[i].name) &&
                report->candidate[k].predicted_ns && !ways[i].moved)
                c->off[i] = (double)report->candidate[k].predicted_ns / ways[i].ns.median - 1;
    }
}

static void note_used(const router *r, const gx_report *report, router_cell *c)
{
    for (size_t i = 0; i < r->candidates; i++) {
        bool used = !report->candidates && !strcmp(report->device, r->names[i]);
        for (uint32_t k = 0; k < report->candidates; k++)
            used |=
                report->candidate[k].elements && !strcmp(report->candidate[k].device, r->names[i]);
        c->used |= (uint32_t)used << i;
    }
}

static uint64_t uncertain(const counters *s)
{
    return s->decisions_default + s->decisions_explored;
}

/* The variants of a cell have been timed; the report is that of auto, the last one. */
static int show_cell(router *r, router_cell *c, const router_way *ways, const gx_report *report)
{
    char where[64], chosen[200];
    size_t best = 0, last = c->ways - 1;
    double off = NAN;
    for (size_t i = 0; i < c->ways; i++)
        c->ns[i] = ways[i].ns.median;
    for (size_t i = 0; i < last; i++)
        best = c->ns[i] < c->ns[best] ? i : best;
    c->regret = c->ns[last] / c->ns[best] - 1;
    where_name(r, c->where, where, sizeof where);
    router_chosen(report, false, chosen, sizeof chosen);
    router_row row = {
        .where = where, .field = c->field, .op = c->series.op, .elements = c->n, ROUTER_NO_RATES};
    row.curve = router_curve(c->field, &c->series);
    for (size_t i = 0; i < last; i++) {
        row.way = &ways[i];
        row.off = c->off[i];
        row.predicted = (1 + c->off[i]) * c->ns[i];
        row.what = ways[i].moved ? "moved" : NULL;
        if (!strcmp(ways[i].name, report->device))
            off = c->off[i];
        if (r->common->format != OUT_TABLE && !router_show(r, &row))
            return EXIT_FAILED;
    }
    row.what = NULL;
    row.way = &ways[last];
    row.predicted = NAN;
    row.off = off;
    row.best = ways[best].moved ? "moved" : ways[best].name;
    row.best_ns = c->ns[best];
    row.chosen = chosen;
    row.reason = gx_reason_name(report->reason);
    row.regret = c->regret;
    return router_show(r, &row) ? EXIT_DONE : EXIT_FAILED;
}

/* Runs each variant once and checks its result where possible; the reports are those of the last
 * one. */
static int try_ways(router *r, gx_curve curve, const router_way *ways, size_t count,
                    gx_report *report)
{
    int rc = EXIT_DONE;
    for (size_t i = 0; rc == EXIT_DONE && i < count; i++) {
        const gx_job *job = ways[i].jobs;
        check_result checked = {0};
        if (job->out.host)
            memset(job->out.host, 0xa5, gx_operand_bytes(job, 'o'));
        rc = router_call(r, &ways[i], report);
        if (rc != EXIT_DONE || !job->out.host)
            continue;
        if ((curve ? check_msm(r->ctx, curve, job, &checked)
                   : check_sample(r->ctx, job, &checked)) != GX_OK)
            return cli_job_failed(&checked.report);
        if (checked.differs) {
            check_print(ways[i].name, &checked);
            rc = EXIT_DIFFERS;
        }
    }
    return rc;
}

static int run_cell(router *r, router_cell *c, router_way *ways)
{
    gx_candidate room[GX_CANDIDATES_MAX] = {{.struct_size = sizeof *room}};
    gx_report report = {
        .struct_size = sizeof report, .candidate = room, .candidate_room = GX_CANDIDATES_MAX};
    counters before, after;
    int rc = try_ways(r, router_curve(c->field, &c->series), ways, c->ways, &report);
    before = counters_read(r->ctx);
    if (rc == EXIT_DONE)
        rc = router_time(r, ways, c->ways, SAMPLES, BUDGET_S);
    if (rc == EXIT_DONE) { /* predictions before, and decisions after */
        note_predictions(&report, ways, c);
        rc = router_call(r, &ways[c->ways - 1], &report);
        note_used(r, &report, c);
    }
    after = counters_read(r->ctx);
    r->decided += after.decisions - before.decisions;
    r->unknown += uncertain(&after) - uncertain(&before);
    if (rc == EXIT_DONE)
        rc = show_cell(r, c, ways, &report);
    progress_add(1);
    return rc;
}

static router_cell *new_cell(router *r, size_t where, const router_series *series, size_t n)
{
    router_cell *c = &r->cells[r->cell_count++];
    *c = (router_cell){.where = where, .field = r->field, .series = *series, .n = n};
    return c;
}

static int host_cell(router *r, size_t where, const router_series *series, size_t n)
{
    router_way ways[ROUTER_WAYS_MAX];
    const gx_job job = router_job(r, series, n);
    router_cell *c = new_cell(r, where, series, n);
    for (size_t i = 0; i < r->candidates; i++)
        ways[c->ways++] = (router_way){
            .name = r->names[i], .opts = {.device = r->names[i]}, .jobs = &job, .count = 1};
    ways[c->ways++] = (router_way){.name = "auto", .jobs = &job, .count = 1};
    return run_cell(r, c, ways);
}

/* On the device that holds the data, or on the CPU with data copied there and back. */
static int resident_cell(router *r, size_t where, const router_series *series, size_t n)
{
    const char *home = r->names[where - RESIDENT];
    router_way ways[ROUTER_WAYS_MAX];
    const gx_job host = router_job(r, series, n);
    gx_job job = host;
    unsigned operands = gx_op_get_info(job.op)->operands;
    size_t bytes = n * r->element_bytes;
    gx_buf *buf = NULL;
    gx_status s =
        gx_buf_create(r->ctx, home, operands * bytes + gx_operand_bytes(&job, 'o'), 0, &buf);
    if (s == GX_ERR_OUT_OF_DEVICE_MEMORY) {
        cli_error("%s has no memory for %zu element%s: skipped", home, n, plural(n));
        progress_add(1);
        return EXIT_DONE;
    }
    for (unsigned k = 0; k < operands && k < 2 && s == GX_OK; k++)
        s = gx_buf_write(buf, k * bytes, r->operand[k], bytes);
    job.a = gx_dev(buf, 0);
    if (operands > 1)
        job.b = gx_dev(buf, bytes);
    job.out = gx_dev(buf, operands * bytes);
    router_cell *c = new_cell(r, where, series, n);
    ways[c->ways++] =
        (router_way){.name = home, .opts = {.device = home}, .jobs = &job, .count = 1};
    if (r->cpu < r->candidates)
        ways[c->ways++] = (router_way){.name = r->names[r->cpu],
                                       .opts = {.device = r->names[r->cpu]},
                                       .jobs = &host,
                                       .count = 1,
                                       .moved = buf};
    ways[c->ways++] = (router_way){.name = "auto", .jobs = &job, .count = 1};
    int rc = s == GX_OK ? run_cell(r, c, ways) : router_failed(s, NULL, 0);
    gx_buf_destroy(&buf);
    return rc;
}

/* ---- all cells ---- */

/* An operation that cannot have one of the sizes is left out. */
static bool is_wanted(const router *r, const router_series *series)
{
    bool wanted =
        router_wants(r, series->op, r->field) && !series->curve == !router_curve(r->field, series);
    for (size_t i = 0; i < r->sizes.count; i++)
        wanted = wanted && job_size(series->op, r->field, r->sizes.values[i]) == r->sizes.values[i];
    return wanted;
}

/* Unless its size is named, a sum of points that would take long on one of the devices is left out,
 * by the time of a smaller one; and those of few points, or more than there are. */
static bool has_size(const router *r, const router_series *series, size_t n)
{
    const router_cell *c = r->cell_count ? &r->cells[r->cell_count - 1] : NULL;
    if (!series->curve || r->opts->sizes.count)
        return true;
    if (n < MSM_FIRST || n > gx_points_count(r->points[series->curve - 1]))
        return false;
    if (!c || c->series.curve != series->curve || c->n >= n)
        return true;
    double slowest = 0;
    for (size_t i = 0; i < c->ways; i++)
        slowest = fmax(slowest, c->ns[i]);
    return slowest * (double)n / (double)c->n < MSM_LIMIT_NS;
}

static int run_series(router *r, size_t where, const router_series *series)
{
    int rc = EXIT_DONE;
    for (size_t i = 0; rc == EXIT_DONE && i < r->sizes.count; i++) {
        size_t n = r->sizes.values[i];
        if (has_size(r, series, n))
            rc = where >= RESIDENT ? resident_cell(r, where, series, n)
                                   : host_cell(r, where, series, n);
    }
    return rc;
}

static int run_where(router *r, size_t where)
{
    int rc = EXIT_DONE;
    for (size_t s = 0; rc == EXIT_DONE && s < ROUTER_SERIES; s++)
        if (is_wanted(r, &router_all[s]))
            rc = run_series(r, where, &router_all[s]);
    return rc;
}

static int run_field(router *r, gx_field field)
{
    int rc = router_fill(r, field);
    if (rc == EXIT_DONE)
        rc = run_where(r, HOST);
    if (rc == EXIT_DONE)
        rc = router_register(r, true);
    if (rc == EXIT_DONE)
        rc = run_where(r, REGISTERED);
    if (rc == EXIT_DONE)
        rc = router_register(r, false);
    for (size_t i = 0; rc == EXIT_DONE && i < r->candidates; i++)
        if (i != r->cpu)
            rc = run_where(r, RESIDENT + i);
    return rc;
}

int router_table(router *r, const gx_field *fields, size_t count)
{
    int rc = router_begin(r, &part_cells);
    for (size_t i = 0; rc == EXIT_DONE && i < count; i++)
        rc = run_field(r, fields[i]);
    return rc;
}

/* ---- crossovers ---- */

/* Index of the candidate among the times of a cell, or among the variants. */
static size_t way_of(const router_cell *c, size_t candidate)
{
    if (c->where < RESIDENT)
        return candidate;
    return c->where - RESIDENT == candidate ? 0 : c->ways;
}

/* Given `count` cells of increasing size, the first from which nine in ten say yes. */
static uint64_t first_from(const router *r, const router_cell *cells, size_t count,
                           size_t candidate,
                           bool (*says)(const router *, const router_cell *, size_t))
{
    uint64_t n = 0;
    size_t yes = 0;
    for (size_t i = count; i-- > 0;) {
        bool now = says(r, &cells[i], candidate);
        yes += now;
        if (now && 10 * yes >= 9 * (count - i))
            n = cells[i].n;
    }
    return n;
}

static bool is_faster(const router *r, const router_cell *c, size_t candidate)
{
    size_t cpu = c->where < RESIDENT ? r->cpu : 1; /* with copies */
    return c->ns[way_of(c, candidate)] < c->ns[cpu];
}

static bool is_used(const router *r, const router_cell *c, size_t candidate)
{
    (void)r;
    return c->used >> candidate & 1;
}

static bool has_time(const router_cell *c, size_t candidate)
{
    return way_of(c, candidate) < c->ways;
}

static int show_crossover(router *r, const router_cell *cells, size_t count, size_t candidate)
{
    char where[64];
    router_row row = {.where = where_name(r, cells->where, where, sizeof where),
                      .field = cells->field,
                      .op = cells->series.op,
                      .curve = router_curve(cells->field, &cells->series),
                      .device = r->names[candidate],
                      ROUTER_NO_RATES};
    row.elements = first_from(r, cells, count, candidate, is_faster);
    row.what = row.elements ? "faster than the CPU from" : "the CPU wins at all sizes";
    if (!router_show(r, &row))
        return EXIT_FAILED;
    row.elements = first_from(r, cells, count, candidate, is_used);
    row.what = row.elements ? "used by the router from" : "never used by the router";
    return router_show(r, &row) ? EXIT_DONE : EXIT_FAILED;
}

static bool same_series(const router_cell *a, const router_cell *b)
{
    return a->where == b->where && a->field == b->field && a->series.op == b->series.op &&
           a->series.curve == b->series.curve;
}

int router_crossovers(router *r)
{
    if (r->cpu == GX_CANDIDATES_MAX) /* there is no CPU to compare with */
        return EXIT_DONE;
    int rc = router_begin(r, &part_crossovers);
    for (size_t from = 0, to; rc == EXIT_DONE && from < r->cell_count; from = to) {
        for (to = from + 1; to < r->cell_count && same_series(&r->cells[from], &r->cells[to]); to++)
            ;
        for (size_t i = 0; rc == EXIT_DONE && i < r->candidates; i++)
            if (i != r->cpu && has_time(&r->cells[from], i))
                rc = show_crossover(r, &r->cells[from], to - from, i);
    }
    return rc;
}

/* ---- the summary ---- */

static bool show_value(router *r, const char *what, double value)
{
    router_row row = {.what = what, ROUTER_NO_RATES};
    row.value = value;
    return router_show(r, &row);
}

/* Collects the prediction errors of all cells; returns their number. */
static size_t collect_off(const router *r, double *off)
{
    size_t count = 0;
    for (size_t i = 0; i < r->cell_count; i++)
        for (size_t k = 0; k + 1 < r->cells[i].ways; k++)
            if (!isnan(r->cells[i].off[k]))
                off[count++] = fabs(r->cells[i].off[k]);
    return count;
}

static bool show_all_values(router *r, double *values)
{
    for (size_t i = 0; i < r->cell_count; i++)
        values[i] = r->cells[i].regret;
    stats s = stats_of(values, r->cell_count);
    bool fine = show_value(r, "median regret", s.median) && show_value(r, "P90 of regret", s.p90) &&
                show_value(r, "worst regret", s.max);
    size_t predictions = collect_off(r, values);
    if (fine && predictions) {
        s = stats_of(values, predictions);
        fine = show_value(r, "median prediction error", s.median) &&
               show_value(r, "P90 of prediction error", s.p90);
    }
    return fine && show_value(r, "decisions taken uncalibrated",
                              r->decided ? (double)r->unknown / (double)r->decided : 0);
}

int router_summary(router *r)
{
    double *values = calloc(r->cell_count * ROUTER_WAYS_MAX, sizeof *values);
    if (!values)
        return cli_no_memory();
    int rc = router_begin(r, &part_summary);
    if (rc == EXIT_DONE && r->cell_count && !show_all_values(r, values))
        rc = EXIT_FAILED;
    free(values);
    return rc;
}
