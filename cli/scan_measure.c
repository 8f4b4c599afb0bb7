/* SPDX-License-Identifier: Apache-2.0
 *
 * Measures sizes x devices x operations, cell by cell (scan.h). Every cell is verified before it is
 * timed, its row is written when it is done, and an interrupt takes effect between two samples: the
 * file is always consistent.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "check.h"
#include "clock.h"
#include "counters.h"
#include "jobs.h"
#include "machine.h"
#include "measure.h"
#include "progress.h"
#include "report/text.h"
#include "scan.h"
#include "signals.h"

enum { PLACES = 2 };
static const char *const places[PLACES] = {SCAN_HOST, SCAN_RESIDENT};

/* Calls are repeated until a sample is this long. */
#define SHORTEST_NS 200e3
/* Work that makes an idle GPU raise its clock. */
#define WAKE_NS    500000000u
#define WAKE_ELEMS 65536u

typedef struct scanning {
    const common_opts *common;
    const scan_opts *opts;
    gx_ctx *ctx;
    target_list devices;
    job_arrays arrays;
    job_params params;
    scan_section *section;
    file_writer writer;
    FILE *file; /* the writer's; NULL: none */
    measure_plan plan;
    double ns_per_element[SCAN_DEVICES_MAX][PLACES]; /* of the previous size; 0: unknown */
    uint64_t failed;
} scanning;

static size_t place_count(const scanning *s)
{
    return s->opts->resident ? PLACES : 1;
}

/* ---- devices ---- */

/* Checked before the file is touched: a missing device ends the scan. */
static int choose_devices(scanning *s)
{
    int rc = target_list_get(s->ctx, s->common, TARGETS_AUTOMATIC, &s->devices);
    if (rc == EXIT_DONE && s->devices.count > SCAN_DEVICES_MAX)
        return cli_usage("--device: more than %d devices", SCAN_DEVICES_MAX);
    for (size_t i = 0; rc == EXIT_DONE && i < s->devices.count; i++)
        if (strlen(s->devices.names[i]) >= sizeof((scan_row *)0)->device)
            return cli_usage("--device: '%s' is too long for the file: use the name that "
                             "'gpuexec devices' shows",
                             s->devices.names[i]);
    return rc;
}

/* ---- the heading ---- */

static void append_variable(const char *name, char *text, size_t size)
{
    const char *value = gx__os_env(name);
    if (value && *value)
        cli_append(text, size, " %s=%s", name, value);
}

/* Library settings that affect the measurements, from wherever they were set. */
static void append_settings(const scanning *s, char *text, size_t size)
{
    const gx_config *c = &s->common->config;
    const struct {
        const char *name, *text;
        uint64_t number;
    } set[] = {{"threads", NULL, c->threads},
               {"dispatch-elems", NULL, c->dispatch_elems},
               {"stream-chunk-elems", NULL, c->stream_chunk_elems},
               {"device-memory", NULL, c->device_memory},
               {"cpumask", c->cpumask, 0},
               {"path", c->path ? gx_path_name(c->path) : NULL, 0},
               {"mode", c->mode ? gx_mode_name(c->mode) : NULL, 0}};
    const gx_option *o;
    for (size_t i = 0; i < sizeof set / sizeof *set; i++) {
        if (set[i].text)
            cli_append(text, size, " --%s %s", set[i].name, set[i].text);
        else if (set[i].number)
            cli_append(text, size, " --%s %llu", set[i].name, (unsigned long long)set[i].number);
    }
    for (uint32_t i = 0; (o = gx_option_get(i)) != NULL; i++)
        if (strcmp(o->name, "cache-dir") != 0)
            append_variable(o->env, text, size);
    for (size_t i = 0; i < OLD_VARIABLES; i++)
        append_variable(old_variables[i].name, text, size);
}

/* In canonical form, because --resume compares them. */
static void append_cells(const scan_opts *o, char *text, size_t size)
{
    for (size_t i = 0; i < o->sizes.count; i++) {
        char number[32];
        text_size(number, sizeof number, (double)o->sizes.values[i]);
        cli_append(text, size, "%s%s", i ? "," : "--sizes ", number);
    }
    cli_append(text, size, " --field ");
    cli_add_names(text, size, ",", o->fields, o->ops, false);
    cli_append(text, size, " --op ");
    cli_add_names(text, size, ",", o->fields, o->ops, true);
    cli_append(text, size, " --device ");
}

static void append_samples(const scan_opts *o, char *text, size_t size)
{
    cli_append(text, size, " --samples %llu --warmup %llu --budget %llu --seed %llu%s",
               (unsigned long long)o->samples, (unsigned long long)o->warmup,
               (unsigned long long)o->budget_ms, (unsigned long long)o->seed,
               o->resident ? " --resident" : "");
}

static void write_options(const scanning *s, char *text, size_t size)
{
    text[0] = 0;
    append_cells(s->opts, text, size);
    for (size_t i = 0; i < s->devices.count; i++)
        cli_append(text, size, "%s%s", i ? "," : "", s->devices.names[i]);
    append_samples(s->opts, text, size);
    append_settings(s, text, size);
}

uint64_t scan_cells(const scan_opts *opts)
{
    uint64_t cells = 0;
    for (gx_field f = 1; gx_field_get_info(f); f++)
        for (gx_op o = 1; gx_op_get_info(o); o++)
            for (size_t i = 0; i < opts->sizes.count; i++)
                cells += cli_wants(opts->fields, opts->ops, f, o) &&
                         job_size(o, f, opts->sizes.values[i]) == opts->sizes.values[i];
    return cells;
}

void scan_add_device(scan_section *to, const char *name, const char *description)
{
    scan_device *d = &to->devices[to->ndevices++];
    snprintf(d->name, sizeof d->name, "%s", name);
    snprintf(d->description, sizeof d->description, "%s", description);
    scan_clean(d->description);
}

void scan_describe(scan_section *to, const target_list *devices)
{
    const gx_device_info *cpu = device_list_find(&devices->all, "cpu");
    snprintf(to->library, sizeof to->library, "%s", gx_version());
    machine_date(to->date, sizeof to->date);
    gx__os_system(to->os, sizeof to->os);
    machine_clocks(to->clocks, sizeof to->clocks);
    snprintf(to->cpu, sizeof to->cpu, "%.90s, %u thread%s", cpu ? cpu->description : "unknown",
             cpu ? cpu->threads : 0, plural(cpu ? cpu->threads : 0));
    for (size_t i = 0; i < devices->count; i++) {
        const gx_device_info *info = device_list_find(&devices->all, devices->names[i]);
        scan_add_device(to, devices->names[i], info ? info->description : "named by the user");
    }
    scan_clean(to->cpu);
    scan_clean(to->clocks);
}

static void write_heading(const scanning *s, scan_section *to)
{
    scan_describe(to, &s->devices);
    write_options(s, to->options, sizeof to->options);
    scan_clean(to->options);
    to->cells = (double)(scan_cells(s->opts) * s->devices.count * place_count(s));
}

/* ---- the file ---- */

static int flush_rows(scanning *s)
{
    bool printed = !s->opts->print || output_flush();
    if (s->file && !writer_flush(&s->writer))
        return cli_write_failed(&s->writer);
    return printed ? EXIT_DONE : EXIT_FAILED;
}

static int take_file(scanning *s, bool opened)
{
    if (!opened)
        return cli_write_failed(&s->writer);
    s->file = writer_stream(&s->writer);
    return s->file ? EXIT_DONE : cli_no_memory();
}

/* Whether the file was started by the same scan on the same machine. */
static bool fits(const scanning *s, const scan_file *old)
{
    const scan_section *a = &old->sections[0], *b = s->section;
    const struct {
        const char *what, *was, *is;
    } lines[] = {{"options", a->options, b->options},
                 {"library", a->library, b->library},
                 {"cpu", a->cpu, b->cpu},
                 {"os", a->os, b->os}};
    if (old->count != 1 || a->foreign) {
        cli_error("'%s' holds several scans, or is not a scan: --resume cannot continue "
                  "it",
                  s->opts->file);
        return false;
    }
    for (size_t i = 0; i < sizeof lines / sizeof *lines; i++)
        if (strcmp(lines[i].was, lines[i].is) != 0) {
            cli_error("'%s' belongs to another scan: %s was '%s' and is '%s'; choose another file",
                      s->opts->file, lines[i].what, lines[i].was, lines[i].is);
            return false;
        }
    for (size_t i = 0; i < a->ndevices; i++)
        if (strcmp(a->devices[i].description, b->devices[i].description) != 0) {
            cli_error("'%s' belongs to another device: %s was '%s' and is '%s'", s->opts->file,
                      a->devices[i].name, a->devices[i].description, b->devices[i].description);
            return false;
        }
    return true;
}

/* Loads the existing rows and drops an incomplete last line. */
static int resume_file(scanning *s)
{
    scan_file old;
    char err[SCAN_ERROR_SIZE];
    int rc = EXIT_FAILED;
    if (!scan_load(s->opts->file, SCAN_CUT, &old, err))
        cli_error("%s; choose another file to start over", err);
    else if (fits(s, &old)) {
        rc = EXIT_DONE;
        for (size_t i = 0; rc == EXIT_DONE && i < old.sections[0].count; i++)
            if (!scan_append(s->section, &old.sections[0].rows[i]))
                rc = cli_no_memory();
        if (rc == EXIT_DONE)
            rc = take_file(s, writer_extend(&s->writer, s->opts->file, old.whole));
    }
    scan_free(&old);
    return rc;
}

static bool is_taken(const char *path)
{
    struct gx_os_stat st;
    return gx__os_stat(path, true, &st) && st.kind == GX_OS_FILE && st.size;
}

/* Whether the file has a scan with these options, and all of it. */
static bool is_finished(const scanning *s)
{
    scan_file old;
    char err[SCAN_ERROR_SIZE];
    const scan_section *own = s->section;
    bool finished = scan_load(s->opts->file, SCAN_CUT, &old, err) && old.count == 1 &&
                    !strcmp(old.sections[0].options, own->options) &&
                    (double)old.sections[0].count >= own->cells;
    scan_free(&old);
    return finished;
}

/* A scan takes long: forgetting --resume, or repeating a command, must not destroy one. */
static int keep_file(scanning *s)
{
    const char *path = s->opts->file;
    int rc = EXIT_FAILED;
    if (is_finished(s))
        rc = resume_file(s);
    else
        cli_error("'%s' exists: use --resume to continue it with the same options; "
                  "otherwise remove it or choose another file",
                  path);
    if (rc == EXIT_DONE)
        fprintf(stderr, "%s has this scan already: remove it to measure again\n", path);
    return rc;
}

static int begin_file(scanning *s)
{
    int rc = take_file(s, writer_extend(&s->writer, s->opts->file, 0));
    if (rc == EXIT_DONE)
        scan_put_head(s->file, s->section);
    return rc;
}

static int open_file(scanning *s)
{
    const char *path = s->opts->file;
    int rc = EXIT_DONE;
    if (path && s->opts->resume && gx__os_stat(path, true, &(struct gx_os_stat){0}))
        rc = resume_file(s);
    else if (path)
        rc = is_taken(path) ? keep_file(s) : begin_file(s);
    if (rc != EXIT_DONE)
        return rc;
    if (s->opts->print) {
        scan_put_head(stdout, s->section);
        for (size_t i = 0; i < s->section->count; i++)
            scan_put_row(stdout, &s->section->rows[i]);
    }
    return flush_rows(s);
}

static int keep_row(scanning *s, const scan_row *row)
{
    if (!scan_append(s->section, row))
        return cli_no_memory();
    progress_hide();
    if (s->file)
        scan_put_row(s->file, row);
    if (s->opts->print)
        scan_put_row(stdout, row);
    return flush_rows(s);
}

static bool done_before(const scanning *s, const scan_row *row)
{
    for (size_t i = 0; i < s->section->count; i++)
        if (scan_same_cell(&s->section->rows[i], row))
            return true;
    return false;
}

/* ---- one cell ---- */

scan_row scan_new_row(const char *device, gx_op op, gx_field field, const char *place, size_t n)
{
    scan_row row = scan_row_empty();
    snprintf(row.device, sizeof row.device, "%s", device);
    snprintf(row.field, sizeof row.field, "%s",
             op == GX_MSM ? gx_curve_get_info(job_curve(field, 0))->name
                          : gx_field_get_info(field)->name);
    snprintf(row.op, sizeof row.op, "%s", gx_op_get_info(op)->name);
    snprintf(row.place, sizeof row.place, "%s", place);
    row.elements = (double)n;
    return row;
}

void scan_fill(scan_row *row, const measurement *m)
{
    double *const stages[STAGES] = {&row->host_in_us, &row->upload_us, &row->compute_us,
                                    &row->download_us, &row->host_out_us};
    /* a device without a clock reports 0 for all three */
    bool clock =
        m->stage_ns[STAGE_UPLOAD] + m->stage_ns[STAGE_COMPUTE] + m->stage_ns[STAGE_DOWNLOAD] > 0;
    for (size_t i = 0; i < STAGES && clock; i++)
        *stages[i] = m->stage_ns[i] / 1e3;
    strcpy(row->state, SCAN_OK);
    row->threads = m->threads;
    row->samples = (double)m->samples;
    row->warm_samples = (double)m->warm;
    row->median_us = m->wall_ns.median / 1e3;
    row->p90_us = m->wall_ns.p90 / 1e3;
    row->min_us = m->wall_ns.min / 1e3;
    row->max_us = m->wall_ns.max / 1e3;
    row->low_us = m->wall_ns.low / 1e3;
    row->high_us = m->wall_ns.high / 1e3;
    row->submits = m->submits;
}

static void add_counters(scan_row *row, const counters *before, const counters *after)
{
    row->pool_hits = (double)(after->pool_hits - before->pool_hits);
    row->pool_misses = (double)(after->pool_misses - before->pool_misses);
    row->command_hits = (double)(after->command_hits - before->command_hits);
    row->command_misses = (double)(after->command_misses - before->command_misses);
}

static void give_up(scanning *s, scan_row *row, const char *state, const char *why)
{
    snprintf(row->state, sizeof row->state, "%s", state);
    snprintf(row->note, sizeof row->note, "%s", why);
    scan_clean(row->note);
    s->failed += !strcmp(state, SCAN_FAILED);
}

/* How to handle a failure: an interrupt leaves no row; a missing device ends the scan; anything
 * else becomes a row. */
static int cell_failed(scanning *s, scan_row *row, const gx_report *report)
{
    if (report->status == GX_ERR_NO_DEVICE)
        return cli_job_failed(report);
    give_up(s, row, SCAN_FAILED,
            report->message[0] ? report->message : gx_status_message(report->status));
    return EXIT_DONE;
}

/* Verifies and times a job; the row records the outcome. */
static int time_job(scanning *s, const gx_job *job, const gx_job *host, scan_row *row)
{
    counters before, after;
    check_result checked;
    measurement m;
    double first_ns = NAN;
    if (check_run(s->ctx, row->device, job, host, &checked, &first_ns) != GX_OK)
        return cell_failed(s, row, &checked.report);
    if (checked.differs) {
        check_print(row->device, &checked);
        return EXIT_DIFFERS;
    }
    row->first_us = first_ns / 1e3;
    before = counters_read(s->ctx);
    gx_status status = measure_job(s->ctx, job, row->device, &s->plan, &m, &checked.report);
    after = counters_read(s->ctx);
    if (signals_caught)
        return EXIT_DONE;
    if (status != GX_OK) {
        row->first_us = NAN;
        return cell_failed(s, row, &checked.report);
    }
    scan_fill(row, &m);
    add_counters(row, &before, &after);
    return EXIT_DONE;
}

static int time_cell(scanning *s, const gx_job *host, scan_row *row)
{
    job_buffers r = {0};
    gx_job job;
    if (!strcmp(row->place, SCAN_HOST))
        return time_job(s, host, host, row);
    gx_status status = job_buffers_make(&r, s->ctx, row->device, host, &job);
    gx_report report = {.status = status};
    int rc = status == GX_OK ? time_job(s, &job, host, row) : cell_failed(s, row, &report);
    job_buffers_free(&r);
    return rc;
}

/* What is measured now, and how far the scan is. */
static void say_cell(const scanning *s, const scan_row *row)
{
    char size[32];
    text_size(size, sizeof size, row->elements);
    progress_step("%zu of %.0f: %s %s %s %s %s", s->section->count + 1, s->section->cells,
                  row->device, row->op, row->field, size, row->place);
}

static int scan_cell(scanning *s, const gx_job *host, size_t device, size_t place)
{
    scan_row row =
        scan_new_row(s->devices.names[device], host->op, host->field, places[place], host->n);
    double *ns = &s->ns_per_element[device][place];
    double expected_ms = *ns * (double)host->n / 1e6;
    if (done_before(s, &row))
        return EXIT_DONE;
    say_cell(s, &row);
    int rc = EXIT_DONE;
    if (s->opts->skip_ms && expected_ms > (double)s->opts->skip_ms)
        give_up(s, &row, SCAN_SKIPPED, "would take too long");
    else
        rc = time_cell(s, host, &row);
    if (rc != EXIT_DONE || signals_caught)
        return rc;
    scan_round(&row);
    if (scan_is_ok(&row))
        *ns = 1e3 * row.median_us / (double)host->n;
    return keep_row(s, &row);
}

/* ---- all cells ---- */

void scan_wake(gx_ctx *ctx, const char *device, const gx_job *job, uint64_t ns)
{
    uint64_t start = now_ns();
    while (!signals_caught && now_ns() - start < ns)
        if (job_run(ctx, device, job, NULL) != GX_OK)
            return;
}

/* A GPU has been idle if others were measured. */
static void wake(scanning *s, gx_op op, const char *device)
{
    const gx_device_info *info = device_list_find(&s->devices.all, device);
    uint64_t most = number_list_max(&s->opts->sizes);
    gx_job job = job_make(&s->arrays, op, most < WAKE_ELEMS ? most : WAKE_ELEMS, &s->params);
    if (s->devices.count > 1 && info &&
        (info->kind == GX_DEVICE_VULKAN || info->kind == GX_DEVICE_WEBGPU ||
         info->kind == GX_DEVICE_CUDA))
        scan_wake(s->ctx, device, &job, WAKE_NS);
}

/* All sizes of a device in a row; alternating with other devices would leave it idle in between. */
static int scan_op(scanning *s, gx_op op)
{
    memset(s->ns_per_element, 0, sizeof s->ns_per_element);
    for (size_t p = 0; p < place_count(s); p++)
        for (size_t d = 0; d < s->devices.count; d++) {
            wake(s, op, s->devices.names[d]);
            for (size_t i = 0; i < s->opts->sizes.count; i++) {
                gx_job host = job_make(&s->arrays, op, s->opts->sizes.values[i], &s->params);
                if (host.n != s->opts->sizes.values[i])
                    continue;
                int rc = scan_cell(s, &host, d, p);
                if (rc != EXIT_DONE || signals_caught)
                    return rc;
                progress_add(1);
            }
        }
    return EXIT_DONE;
}

static int scan_field(scanning *s, gx_field field)
{
    bool made = job_arrays_make(&s->arrays, s->ctx, field, s->opts->ops,
                                number_list_max(&s->opts->sizes), s->opts->seed);
    int rc = made ? EXIT_DONE : cli_no_memory();
    for (gx_op o = 1; rc == EXIT_DONE && !signals_caught && gx_op_get_info(o); o++)
        if (cli_wants(s->opts->fields, s->opts->ops, field, o))
            rc = scan_op(s, o);
    job_arrays_free(&s->arrays);
    return rc;
}

static int scan_all(scanning *s)
{
    signals_catch();
    progress_start("scanning", (uint64_t)s->section->cells, NULL);
    int rc = EXIT_DONE;
    for (gx_field f = 1; rc == EXIT_DONE && !signals_caught && gx_field_get_info(f); f++)
        if (cli_count_in(s->opts->fields, s->opts->ops, f))
            rc = scan_field(s, f);
    progress_end();
    signals_release();
    return rc;
}

/* A name that is no device must not come to light after the measurement. */
static int check_filter(const scanning *s)
{
    merge_series series[SCAN_DEVICES_MAX] = {0};
    char err[SCAN_ERROR_SIZE];
    for (size_t i = 0; i < s->devices.count; i++) {
        series[i] = (merge_series){.section = s->section, .device = s->devices.names[i]};
        snprintf(series[i].name, sizeof series[i].name, "%s", series[i].device);
    }
    if (merge_filter_fits(&s->opts->filter, series, s->devices.count, err))
        return EXIT_DONE;
    cli_error("%s", err);
    return EXIT_FAILED;
}

static int measure(scanning *s)
{
    int rc = choose_devices(s);
    if (rc == EXIT_DONE)
        rc = check_filter(s);
    if (rc != EXIT_DONE)
        return rc;
    write_heading(s, s->section);
    rc = open_file(s);
    if (rc == EXIT_DONE)
        rc = scan_all(s);
    if (rc == EXIT_DONE && s->failed) {
        cli_error("%llu cell%s failed; the rows say why", (unsigned long long)s->failed,
                  plural(s->failed));
        rc = EXIT_FAILED;
    }
    return rc;
}

static int end_file(scanning *s, int rc)
{
    if (s->file && rc == EXIT_DONE && !writer_commit(&s->writer))
        rc = cli_write_failed(&s->writer);
    writer_close(&s->writer);
    return rc;
}

int scan_measure(const common_opts *common, const scan_opts *opts, scan_file *result,
                 bool *interrupted)
{
    scanning s = {.common = common,
                  .opts = opts,
                  .writer = {.fd = -1},
                  .plan = {.samples = opts->samples,
                           .warmup = opts->warmup,
                           .budget_s = (double)opts->budget_ms / 1e3,
                           .shortest_ns = SHORTEST_NS,
                           .set_apart = true,
                           .stop = &signals_caught}};
    *interrupted = false;
    *result = (scan_file){.sections = calloc(1, sizeof(scan_section)), .count = 1};
    if (!result->sections) {
        result->count = 0;
        return cli_no_memory();
    }
    s.section = result->sections;
    snprintf(s.section->file, sizeof s.section->file, "%s", opts->file ? opts->file : "this scan");
    snprintf(s.section->label, sizeof s.section->label, "scan");
    scan_clean(s.section->file);
    int rc = cli_open(common, &s.ctx);
    if (rc == EXIT_DONE)
        rc = measure(&s);
    *interrupted = signals_caught;
    rc = end_file(&s, rc);
    target_list_free(&s.devices);
    return cli_close(&s.ctx, rc);
}
