/* SPDX-License-Identifier: Apache-2.0
 *
 * gpuexec demo: devices, a verification, the speedup over the portable tier, a short scan with its
 * page, and suggestions. `make run` ends with it.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "host.h"
#include "check.h"
#include "cli.h"
#include "measure.h"
#include "progress.h"
#include "scan.h"

enum { VERIFY_ELEMENTS = 200, BAR_WIDTH = 20, BAR_FULL = 10 };

static void heading(const char *text)
{
    printf("\n%s%s%s\n\n", style_bold(), text, style_off());
    fflush(stdout);
}

/* ---- verification ------------------------------------------------------------------ */

static const column verify_columns[] = {
    COLUMN(TEXT, "field", "field", 12),
    COLUMN(COUNT, "operations", "operations", 10),
    COLUMN(COUNT, "elements", "elements", 9),
    COLUMN(TEXT, "result", "result", 20),
};

static int verify_field(gx_ctx *ctx, const char *device, const check_data *d, output *out)
{
    uint64_t operations = 0, elements = 0;
    for (int o = 1; gx_op_get_info((gx_op)o); o++) {
        check_result r;
        if (!gx_op_exists((gx_op)o, d->field))
            continue;
        if (check_op(ctx, device, (gx_op)o, d, &r) != GX_OK)
            return cli_job_failed(&r.report);
        if (r.differs) {
            check_print(device, &r);
            return EXIT_DIFFERS;
        }
        operations++;
        elements += r.compared;
    }
    char same[64];
    snprintf(same, sizeof same, "%ssame bits as ref%s", style_good(), style_off());
    cell cells[] = {CELL_TEXT(gx_field_get_info(d->field)->name), CELL_COUNT(operations),
                    CELL_COUNT(elements), CELL_TEXT(same)};
    return output_row(out, cells) ? EXIT_DONE : EXIT_FAILED;
}

static int verify_all(gx_ctx *ctx, const char *device)
{
    int rc = EXIT_DONE;
    output *out = output_open(OUT_TABLE, "demo", verify_columns,
                              sizeof verify_columns / sizeof *verify_columns);
    if (!out)
        return cli_no_memory();
    for (int f = 1; rc == EXIT_DONE && gx_field_get_info((gx_field)f); f++) {
        check_data d;
        rc = check_data_make(&d, (gx_field)f, VERIFY_ELEMENTS, 1)
                 ? verify_field(ctx, device, &d, out)
                 : cli_no_memory();
        check_data_free(&d);
    }
    return output_close(out) || rc != EXIT_DONE ? rc : EXIT_FAILED;
}

/* ---- speed against the portable tier -------------------------------------------------- */

static const gx_field fields[] = {GX_BLS12_381_FQ, GX_BLS12_381_FR};
static const gx_op ops[] = {GX_ADD, GX_MUL, GX_INV};
static const size_t sizes[] = {4096, 1 << 20};

enum { FIELDS = 2, OPS = 3, SIZES = 2, MOST = 1 << 20 };

static const column speed_columns[] = {
    COLUMN(TEXT, "field", "field", 12),
    COLUMN(TEXT, "op", "op", 3),
    COLUMN(COUNT, "elements", "elements", 8),
    COLUMN(COUNT, "threads", "threads", 7),
    COLUMN(REAL, "portable_ns", "portable", 8, .decimals = 2),
    COLUMN(REAL, "ns", "gpuexec", 7, .decimals = 2),
    COLUMN(REAL, "ratio", "faster", 6, .decimals = 1),
    COLUMN(TEXT, "bar", "", BAR_WIDTH),
};

enum { SPEED_COLUMNS = sizeof speed_columns / sizeof *speed_columns };

/* One context per number of threads (one, all) and tier (best, portable). */
typedef struct race {
    gx_ctx *best[2], *portable[2];
    unsigned threads;
    unsigned char *a, *b, *result;
    output *out;
    uint64_t steps;
} race;

static int time_element(gx_ctx *ctx, const gx_job *job, double *ns, unsigned *threads)
{
    static const measure_plan plan = {.samples = 9, .budget_s = 0.25, .shortest_ns = 200e3};
    measurement m;
    gx_report report = {.struct_size = sizeof report};
    if (measure_job(ctx, job, "cpu", &plan, &m, &report) != GX_OK)
        return cli_job_failed(&report);
    *ns = m.wall_ns.median / (double)job->n;
    *threads = m.threads;
    return EXIT_DONE;
}

/* Small batches may stay on one thread; then there is no second row. */
static int race_job(race *r, const gx_job *job, size_t all)
{
    double ns = 0, portable_ns = 0;
    unsigned threads = 1, portable_threads;
    int rc = time_element(r->best[all], job, &ns, &threads);
    if (rc != EXIT_DONE || (all && threads < 2))
        return rc;
    rc = time_element(r->portable[all], job, &portable_ns, &portable_threads);
    if (rc != EXIT_DONE)
        return rc;
    char bar[4 * BAR_WIDTH + 1];
    cell cells[SPEED_COLUMNS] = {
        CELL_TEXT(gx_field_get_info(job->field)->name),
        CELL_TEXT(gx_op_get_info(job->op)->name),
        CELL_COUNT(job->n),
        CELL_COUNT(threads),
        CELL_REAL(portable_ns),
        CELL_REAL(ns),
        CELL_REAL(portable_ns / ns),
        CELL_TEXT(output_bar(bar, BAR_WIDTH, portable_ns / ns / BAR_FULL)),
    };
    progress_hide();
    return output_row(r->out, cells) ? EXIT_DONE : EXIT_FAILED;
}

static int race_field(race *r, gx_field field)
{
    int rc = EXIT_DONE;
    data_random(field, r->a, MOST, 1);
    data_random(field, r->b, MOST, 2);
    for (size_t cell = 0; rc == EXIT_DONE && cell < OPS * SIZES * 2; cell++) {
        size_t all = cell % 2;
        gx_job job = {.op = ops[cell / 2 / SIZES], .field = field, .n = sizes[cell / 2 % SIZES]};
        job.a = gx_host(r->a);
        if (gx_op_get_info(job.op)->operands > 1)
            job.b = gx_host(r->b);
        job.out = gx_host(r->result);
        if (!all || r->threads > 1)
            rc = race_job(r, &job, all);
        progress_at(++r->steps);
    }
    return rc;
}

static int open_contexts(race *r, const common_opts *common)
{
    int rc = EXIT_DONE;
    for (size_t all = 0; rc == EXIT_DONE && all < 2; all++) {
        common_opts c = *common;
        if (!all)
            c.config.threads = 1;
        rc = cli_open(&c, &r->best[all]);
        c.config.cpumask = "portable";
        if (rc == EXIT_DONE)
            rc = cli_open(&c, &r->portable[all]);
    }
    return rc;
}

static int race_all(race *r)
{
    size_t bytes = MOST * ELEMENT_BYTES_MAX;
    r->a = data_alloc(bytes);
    r->b = data_alloc(bytes);
    r->result = data_alloc(bytes);
    r->out = output_open(OUT_TABLE, "demo", speed_columns, SPEED_COLUMNS);
    if (!r->a || !r->b || !r->result || !r->out)
        return cli_no_memory();
    progress_start("measuring", FIELDS * OPS * SIZES * 2, "rows");
    int rc = EXIT_DONE;
    for (size_t f = 0; rc == EXIT_DONE && f < FIELDS; f++)
        rc = race_field(r, fields[f]);
    progress_end();
    return rc;
}

static int speed(const common_opts *common, unsigned threads)
{
    race r = {.threads = threads};
    int rc = open_contexts(&r, common);
    if (rc == EXIT_DONE)
        rc = race_all(&r);
    output_close(r.out);
    data_free(r.a);
    data_free(r.b);
    data_free(r.result);
    for (size_t all = 0; all < 2; all++) {
        rc = cli_close(&r.best[all], rc);
        rc = cli_close(&r.portable[all], rc);
    }
    return rc;
}

/* ---- a short scan ------------------------------------------------------------------------- */

static const char *folder; /* of the files; NULL: none */
static char scan_path[512], page_path[512];

static const arg_spec specs[] = {
    {.letter = 'o',
     .arg = "FOLDER",
     .kind = ARG_TEXT,
     .value = &folder,
     .help = "write scan.csv and report.html to this directory, replacing those of an earlier "
             "demo"},
};

/* Few samples and no long calls: takes seconds even on a slow machine. */
static scan_opts short_scan_opts(void)
{
    return (scan_opts){.fields = 1u << GX_BLS12_381_FQ,
                       .ops = 1u << GX_ADD | 1u << GX_MUL,
                       .sizes = {6, {1 << 10, 1 << 12, 1 << 14, 1 << 16, 1 << 18, 1 << 20}},
                       .samples = 7,
                       .warmup = 1,
                       .seed = 1,
                       .budget_ms = 200,
                       .skip_ms = 200,
                       .file = folder ? scan_path : NULL,
                       .replace = true};
}

/* Replaces only what an earlier demo left there. */
static bool is_taken(void)
{
    struct gx_os_stat st;
    const scan_opts opts = short_scan_opts();
    bool scan = gx__os_stat(scan_path, false, &st), page = gx__os_stat(page_path, false, &st);
    if (scan ? scan_is_like(scan_path, &opts) : !page)
        return false;
    cli_error("'%s' exists and was not written by a demo: choose another directory",
              scan ? scan_path : page_path);
    return true;
}

/* Checked before measuring, which takes seconds and would be wasted. */
static int make_folder(void)
{
    struct gx_os_stat st;
    snprintf(scan_path, sizeof scan_path, "%.400s/scan.csv", folder);
    snprintf(page_path, sizeof page_path, "%.400s/report.html", folder);
    if (!host_make_folder(folder) && errno != EEXIST) {
        cli_error("cannot create the directory '%s': %s", folder, strerror(errno));
        return EXIT_FAILED;
    }
    if (!gx__os_stat(folder, true, &st) || st.kind != GX_OS_FOLDER) {
        cli_error("'%s' is not a directory: choose another", folder);
        return EXIT_FAILED;
    }
    if (!host_may_write(folder)) {
        cli_error("cannot write to '%s': %s", folder, strerror(errno));
        return EXIT_FAILED;
    }
    return is_taken() ? EXIT_FAILED : EXIT_DONE;
}

static void say_path(const char *what, const char *path)
{
    char *whole = host_real_path(path);
    printf("%s: %s%s%s\n", what, style_bold(), whole ? whole : path, style_off());
    free(whole);
}

static int make_page(scan_file *result)
{
    int rc = report_page(result, page_path);
    if (rc != EXIT_DONE)
        return rc;
    putchar('\n');
    say_path("The figures", scan_path);
    say_path("The same as charts for a browser", page_path);
    return EXIT_DONE;
}

static int short_scan(const common_opts *common)
{
    scan_file result;
    bool interrupted;
    const scan_opts scan = short_scan_opts();
    int rc = scan_measure(common, &scan, &result, &interrupted);
    if (rc == EXIT_DONE && interrupted)
        rc = EXIT_FAILED;
    if (rc == EXIT_DONE)
        rc = scan_show(&result, NULL);
    if (rc == EXIT_DONE && folder)
        rc = make_page(&result);
    scan_free(&result);
    return rc;
}

/* ---- the whole ---------------------------------------------------------------------------- */

static void next_steps(void)
{
    static const char *const steps[][2] = {
        {"verify -n 10000", "a more thorough check of every operation"},
        {"bench", "all sizes, relative to this machine's memory bandwidth"},
        {"bench --op add -n 4M", "one operation out of cache"},
        {"scan -o scan.csv", "the winner at each size, with more samples"},
        {"report scan.csv -o a.html", "charts of it in a browser"},
        {"run --help", "operations on your own element files"},
    };
    heading("What to try next");
    for (size_t i = 0; i < sizeof steps / sizeof *steps; i++)
        printf("  %s %-25s %s\n", cli_program, steps[i][0], steps[i][1]);
}

static int run_demo(const common_opts *common)
{
    gx_ctx *ctx = NULL;
    target_list targets = {0};
    if (folder && make_folder() != EXIT_DONE)
        return EXIT_FAILED;
    printf("%sgpuexec %s%s: batch finite-field arithmetic\n", style_bold(), gx_version(),
           style_off());
    common_opts others = *common; /* only one context writes the trace */
    others.config.trace = "";
    heading("Devices");
    int rc = cmd_devices.run(&others);
    if (rc == EXIT_DONE)
        rc = cli_open(common, &ctx);
    if (rc == EXIT_DONE)
        rc = target_list_get(ctx, common, TARGETS_AUTOMATIC, &targets);
    for (size_t i = 0; rc == EXIT_DONE && i < targets.count; i++) {
        char title[96];
        snprintf(title, sizeof title, "Verification of %s against the reference", targets.names[i]);
        heading(title);
        rc = verify_all(ctx, targets.names[i]);
    }
    if (rc == EXIT_DONE) {
        heading("Speedup over portable C: ns per element, times faster");
        rc = speed(&others, targets.threads);
    }
    if (rc == EXIT_DONE) {
        heading("Short scan: the winner at each size, host to host");
        rc = short_scan(&others);
    }
    if (rc == EXIT_DONE)
        next_steps();
    target_list_free(&targets);
    return cli_close(&ctx, rc);
}

const command cmd_demo = {
    .name = "demo",
    .summary = "show what this machine can do, in less than a minute",
    .synopsis = "[-o FOLDER]",
    .about =
        "Lists the devices; briefly verifies the automatic ones (software GPUs are not among\n"
        "them) or the one given with --device; compares add, mul and inv on the BLS12-381 fields\n"
        "with this library's portable C code on the same CPU; scans two operations at six sizes\n"
        "on every usable device; and suggests what to try next. Takes less than a minute. With -o\n"
        "the scan is kept and drawn as an HTML page.",
    .examples = "  gpuexec demo\n"
                "  gpuexec demo -o results\n"
                "  NO_COLOR=1 gpuexec demo > demo.txt\n",
    .args = {specs, sizeof specs / sizeof *specs},
    .run = run_demo,
};
