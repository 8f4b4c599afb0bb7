/* SPDX-License-Identifier: Apache-2.0
 *
 * gpuexec demo: one screen with transforms and sums of points on each device, beside what one would
 * use without this library, and the same as a page. `make run` ends with it.
 */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "check.h"
#include "clock.h"
#include "host.h"
#include "files.h"
#include "jobs.h"
#include "progress.h"
#include "scan.h"

enum { PARTS = 2, SIZES = 3, DEVICES_MAX = 4, LABEL = 32, CURVE = GX_BLS12_381_G1 };

/* A call that is expected to take longer is left out, but not of the first row; of devices that are
 * not chosen by themselves, such as software, */
#define CALL_NS  3e9
#define OTHER_NS 300e6
/* and all once they have taken this long in a part. */
#define OTHERS_NS 4e9
/* Of calls that take this long, one sample is enough. */
#define LONG_NS 150e6
#define WAKE_NS 300000000u

static const struct part {
    gx_op op;
    const char *title;
    size_t sizes[SIZES];
} parts[PARTS] = {
    {GX_NTT, "NTT, bls12-381-fr", {1 << 16, 1 << 18, 1 << 20}},
    {GX_MSM, "MSM, bls12-381-g1", {1 << 10, 1 << 14, 1 << 16}},
};

typedef void (*function)(void);
/* bench/peers/blst_sum.c */
typedef bool (*sum_fn)(const void *points, const void *scalars, size_t n, unsigned threads,
                       void *sum);

typedef struct demo {
    gx_ctx *ctx, *plain; /* the second: in portable C */
    target_list targets;
    const char *names[DEVICES_MAX];
    size_t devices;
    sum_fn blst; /* of libgpuexec-blst; NULL: there is none */
    bool left_out;
    uint64_t others_ns;
    job_arrays arrays, plain_arrays; /* of a part, in each context */
    scan_row rows[1 + DEVICES_MAX][SIZES];
    scan_section section;
    file_writer writer;
    char failure[200];
} demo;

/* ---- what is measured ---- */

/* Automatic devices first. */
static void choose_devices(demo *d)
{
    for (int automatic = 1; automatic >= 0; automatic--)
        for (size_t i = 0; i < d->targets.count; i++) {
            const gx_device_info *info = device_list_find(&d->targets.all, d->targets.names[i]);
            if ((info && info->automatic) == automatic && d->devices < DEVICES_MAX)
                d->names[d->devices++] = d->targets.names[i];
        }
}

static bool by_blst(const demo *d, const struct part *part)
{
    return d->blst && part->op == GX_MSM;
}

/* "vulkan:0, NVIDIA H200"; of a CPU its best tier, as the title has its name. */
static void label_of(const demo *d, const char *name, char label[LABEL])
{
    const gx_device_info *info = device_list_find(&d->targets.all, name);
    const char *what = info ? info->description : "";
    if (info && info->kind == GX_DEVICE_CPU)
        what = strrchr(what, ' ') ? strrchr(what, ' ') + 1 : what;
    snprintf(label, LABEL, "  %s, %.*s", name, (int)strcspn(what, ",("), what);
    label[LABEL - 3] = 0;
}

/* ---- times ---- */

/* Runs, checks and times one job on a device. */
static int time_job(demo *d, gx_ctx *ctx, const char *device, const gx_job *job, double expected_ns,
                    scan_row *row)
{
    const measure_plan plan = {
        .samples = expected_ns > LONG_NS ? 1 : 5, .budget_s = 0.2, .set_apart = true};
    check_result checked;
    measurement m;
    gx_report *report = &checked.report;
    gx_status s = check_run(ctx, device, job, job, &checked, NULL);
    if (s == GX_OK && checked.differs) {
        check_print(device, &checked);
        return EXIT_DIFFERS;
    }
    if (s == GX_OK)
        s = measure_job(ctx, job, device, &plan, &m, report);
    if (s == GX_OK) {
        scan_fill(row, &m);
        return EXIT_DONE;
    }
    strcpy(row->state, SCAN_FAILED);
    snprintf(row->note, sizeof row->note, "%s",
             report->message[0] ? report->message : gx_status_message(s));
    if (!d->failure[0])
        snprintf(d->failure, sizeof d->failure, "%s: %.150s", device, row->note);
    return EXIT_DONE;
}

/* The same of blst, with the points that the job has. */
static int time_blst(const demo *d, const gx_job *job, scan_row *row)
{
    size_t bytes = gx_point_bytes(CURVE, GX_POINT_XY_MONT);
    unsigned char *points = data_alloc(job->n * bytes), sum[POINT_BYTES_MAX];
    measurement m = {.threads = d->targets.threads};
    double ns[4], spent = 0;
    bool done = points && job_write_points(d->ctx, CURVE, points, 0, job->n) == GX_OK;
    for (; done && m.samples < 4 && spent < LONG_NS; spent += ns[m.samples++]) {
        uint64_t start = now_ns();
        done = d->blst(points, d->arrays.operand[0], job->n, m.threads, sum);
        ns[m.samples] = (double)(now_ns() - start);
    }
    data_free(points);
    if (!done)
        return cli_no_memory();
    m.wall_ns = stats_of(ns, m.samples);
    scan_fill(row, &m);
    if (job_run(d->ctx, "cpu", job, NULL) == GX_OK && !memcmp(job->out.host, sum, bytes))
        return EXIT_DONE;
    cli_error("blst's sum of %zu points differs", job->n);
    return EXIT_DIFFERS;
}

/* For the file and the page. */
static scan_row empty_row(const demo *d, const struct part *part, size_t row, size_t size)
{
    const char *name = row ? d->names[row - 1] : by_blst(d, part) ? "blst" : "portable";
    scan_row r = scan_new_row(name, part->op, GX_BLS12_381_FR, SCAN_HOST, part->sizes[size]);
    strcpy(r.state, SCAN_SKIPPED);
    strcpy(r.note, "it takes long");
    return r;
}

/* The sizes of a row, smallest first. */
static int time_row(demo *d, const struct part *part, size_t row)
{
    const char *device = row ? d->names[row - 1] : "cpu";
    const gx_device_info *info = device_list_find(&d->targets.all, device);
    const bool other = row && info && !info->automatic, blst = !row && by_blst(d, part);
    double ns_per_element = 0;
    uint64_t start = now_ns();
    int rc = EXIT_DONE;
    for (size_t i = 0; rc == EXIT_DONE && i < SIZES; i++) {
        scan_row *r = &d->rows[row][i];
        job_params params;
        const job_arrays *arrays = row || blst ? &d->arrays : &d->plain_arrays;
        const gx_job job = job_make(arrays, part->op, part->sizes[i], &params);
        double expected = ns_per_element * (double)job.n;
        bool late = expected > (other ? OTHER_NS : CALL_NS) || (other && d->others_ns > OTHERS_NS);
        *r = empty_row(d, part, row, i);
        progress_step("%s %s 2^%u", r->device, r->op, log2_of(part->sizes[i]));
        if (row && !i && !other && !target_is_cpu(&d->targets, device))
            scan_wake(d->ctx, device, &job, WAKE_NS);
        if (blst)
            rc = time_blst(d, &job, r);
        else if (!row || !late)
            rc = time_job(d, row ? d->ctx : d->plain, device, &job, expected, r);
        ns_per_element = scan_is_ok(r) ? 1e3 * r->median_us / r->elements : INFINITY;
        d->left_out |= !strcmp(r->state, SCAN_SKIPPED);
        scan_round(r);
        progress_add(1);
    }
    d->others_ns += other ? now_ns() - start : 0;
    return rc;
}

/* ---- the screen ---- */

static void time_text(double ns, char text[16])
{
    const char *unit = ns < 999.5e3 ? "us" : ns < 999.5e6 ? "ms" : "s";
    double scaled = ns / (*unit == 'u' ? 1e3 : *unit == 'm' ? 1e6 : 1e9);
    snprintf(text, 16, "%.*f %s", scaled < 9.995 ? 2 : scaled < 99.95 ? 1 : 0, scaled, unit);
}

/* By size: a text, and one that may be empty. */
typedef struct cells {
    char text[SIZES][2][16];
} cells;

static void put_line(const char *label, const cells *c)
{
    char line[LABEL + 16 * SIZES + 1];
    int used = snprintf(line, sizeof line, "%-*s", LABEL - 2, label);
    for (size_t i = 0; i < SIZES; i++)
        used += snprintf(line + used, sizeof line - (size_t)used, "%9.15s%7.15s", c->text[i][0],
                         c->text[i][1]);
    while (line[used - 1] == ' ')
        used--;
    progress_hide();
    printf("%.*s\n", used, line);
    fflush(stdout);
}

/* Beside the first row, which is NULL for itself. */
static void put_row(const char *label, const scan_row *row, const scan_row *first)
{
    cells shown = {0};
    for (size_t i = 0; i < SIZES; i++) {
        char *text = shown.text[i][0];
        double factor = first ? first[i].median_us / row[i].median_us : NAN;
        if (scan_is_ok(&row[i]))
            time_text(1e3 * row[i].median_us, text);
        else
            strcpy(text, !strcmp(row[i].state, SCAN_FAILED) ? SCAN_FAILED : "-");
        if (factor > 0) /* not of an unknown time */
            snprintf(shown.text[i][1], 16, "%.*fx", factor < 0.995 ? 2 : factor < 99.5, factor);
    }
    put_line(label, &shown);
}

/* Where the library would run these jobs, now that it has seen them everywhere. */
static void put_choice(const demo *d, const struct part *part)
{
    cells shown = {0};
    for (size_t i = 0; i < SIZES; i++) {
        job_params params;
        gx_estimate_info info = {.struct_size = sizeof info};
        const gx_job job = job_make(&d->arrays, part->op, part->sizes[i], &params);
        gx_status s = gx_estimate(d->ctx, &job, 1, NULL, &info);
        snprintf(shown.text[i][0], 16, "%.15s",
                 s != GX_OK                       ? "-"
                 : info.reason == GX_REASON_SPLIT ? "several"
                                                  : info.device);
    }
    put_line("  chosen by the library", &shown);
}

static int put_rows(demo *d, const struct part *part)
{
    char label[LABEL];
    int rc = EXIT_DONE;
    snprintf(label, LABEL, "  %s, %u thread%s", by_blst(d, part) ? "blst" : "portable C",
             d->targets.threads, plural(d->targets.threads));
    for (size_t row = 0; rc == EXIT_DONE && row <= d->devices; row++) {
        if (row)
            label_of(d, d->names[row - 1], label);
        rc = time_row(d, part, row);
        if (rc == EXIT_DONE)
            put_row(label, d->rows[row], row ? d->rows[0] : NULL);
    }
    if (rc == EXIT_DONE)
        put_choice(d, part);
    for (size_t k = 0; rc == EXIT_DONE && k < (d->devices + 1) * SIZES; k++) /* row 0 is the last */
        if (!scan_append(&d->section, &d->rows[(k / SIZES + 1) % (d->devices + 1)][k % SIZES]))
            rc = cli_no_memory();
    return rc;
}

static int put_part(demo *d, const struct part *part)
{
    cells sizes = {0};
    const uint32_t ops = 1u << part->op;
    const size_t most = part->sizes[SIZES - 1];
    d->others_ns = 0;
    for (size_t i = 0; i < SIZES; i++)
        snprintf(sizes.text[i][0], 16, "2^%u", log2_of(part->sizes[i]));
    progress_hide();
    printf("\n%s", style_bold());
    put_line(part->title, &sizes);
    printf("%s", style_off());
    fflush(stdout);
    bool made = job_arrays_make(&d->arrays, d->ctx, GX_BLS12_381_FR, ops, most, 1) &&
                job_arrays_make(&d->plain_arrays, d->plain, GX_BLS12_381_FR, ops, most, 1);
    int rc = made ? put_rows(d, part) : cli_no_memory();
    job_arrays_free(&d->plain_arrays);
    job_arrays_free(&d->arrays);
    return rc;
}

/* ---- files ---- */

static const char *folder; /* of the files; NULL: none */
static char scan_path[512], page_path[512];

static const option_row options[] = {
    OPTION_ROW(TEXT, NULL, "FOLDER", &folder, "write demo.csv and demo.html to this directory",
               .letter = 'o'),
};

/* Before measuring, which takes seconds and would be wasted. */
static int open_files(demo *d)
{
    snprintf(scan_path, sizeof scan_path, "%.400s/demo.csv", folder);
    snprintf(page_path, sizeof page_path, "%.400s/demo.html", folder);
    if (!host_make_folder(folder) && errno != EEXIST) {
        cli_error("cannot create the directory '%s': %s", folder, strerror(errno));
        return EXIT_FAILED;
    }
    return result_open(scan_path, false, NULL, 0, &d->writer);
}

static int write_scan(demo *d)
{
    FILE *file = writer_stream(&d->writer);
    if (!file)
        return cli_no_memory();
    scan_put_head(file, &d->section);
    for (size_t i = 0; i < d->section.count; i++)
        scan_put_row(file, &d->section.rows[i]);
    return result_commit(&d->writer);
}

static int write_files(demo *d)
{
    scan_section *s = &d->section;
    target_list shown = d->targets;
    shown.names = d->names;
    shown.count = d->devices;
    scan_describe(s, &shown);
    scan_add_device(s, "portable", "portable C, this library without vector instructions");
    if (d->blst)
        scan_add_device(s, "blst", "blst, a library for the CPU");
    strcpy(s->options, "gpuexec demo");
    strcpy(s->label, "demo");
    snprintf(s->file, sizeof s->file, "%.255s", scan_path);
    s->cells = (double)s->count;
    scan_file file = {.sections = s, .count = 1};
    int rc = write_scan(d);
    return rc == EXIT_DONE ? report_page(&file, page_path) : rc;
}

/* ---- the whole ---- */

static void put_notes(const demo *d)
{
    puts("\nx: times as fast as the first line; portable C: this library without vectors.\n"
         "Times are from host memory to host memory, and every result was checked.");
    if (d->left_out)
        puts("-: left out, as it takes long: see 'gpuexec bench --device NAME --op ntt'.");
    if (d->failure[0])
        printf("failed: %s\n", d->failure);
    if (folder) {
        char *whole = host_real_path(page_path);
        printf("The same in a browser: %sfile://%s%s\n", style_bold(), whole ? whole : page_path,
               style_off());
        free(whole);
    }
    printf("Try: %s random -n 2^20 -o a.bin\n"
           "     %s ntt -i a.bin -o b.bin --stats\n",
           cli_program, cli_program);
}

static int measure(demo *d)
{
    const gx_device_info *cpu = device_list_find(&d->targets.all, "cpu");
    const char *model = cpu ? cpu->description : "";
    choose_devices(d);
    printf("%sgpuexec %s%s on %.*s\n", style_bold(), gx_version(), style_off(),
           (int)strcspn(model, ","), model);
    progress_start("measuring", PARTS * SIZES * (1 + d->devices), NULL);
    int rc = EXIT_DONE;
    for (size_t i = 0; rc == EXIT_DONE && i < PARTS; i++)
        rc = put_part(d, &parts[i]);
    progress_end();
    if (rc == EXIT_DONE && folder)
        rc = write_files(d);
    if (rc == EXIT_DONE)
        put_notes(d);
    return rc;
}

static sum_fn find_blst(void)
{
    void *library = gx__os_library("libgpuexec-blst.so");
    return library ? (sum_fn)(function)gx__os_symbol(library, "gpuexec_blst_sum") : NULL;
}

static int run_demo(const common_opts *common)
{
    demo d = {.blst = find_blst(), .writer = {.fd = -1}};
    common_opts plain = *common; /* only one context writes the trace */
    plain.config.trace = "";
    plain.config.device = "cpu";
    plain.config.cpumask = "portable";
    int rc = folder ? open_files(&d) : EXIT_DONE;
    if (rc == EXIT_DONE)
        rc = cli_open(common, &d.ctx);
    if (rc == EXIT_DONE)
        rc = cli_open(&plain, &d.plain);
    if (rc == EXIT_DONE)
        rc = target_list_get(d.ctx, common, TARGETS_USABLE, &d.targets);
    if (rc == EXIT_DONE)
        rc = measure(&d);
    writer_close(&d.writer);
    free(d.section.rows);
    target_list_free(&d.targets);
    rc = cli_close(&d.plain, rc);
    return cli_close(&d.ctx, rc);
}

const command cmd_demo = {
    .name = "demo",
    .summary = "show what this machine can do, on one screen",
    .about =
        "Times transforms and sums of points on the CPU and on GPUs, beside what one would use\n"
        "instead: blst, if the loader finds its library, otherwise this library in portable C;\n"
        "and says where the library itself would run them. Each result is checked before it is\n"
        "timed. Software GPUs, and further names of a GPU, are left out where they would take\n"
        "long. Takes less than half a minute. With -o the figures are kept and drawn as an HTML\n"
        "page.",
    .examples = "  gpuexec demo\n"
                "  gpuexec demo -o results\n"
                "  NO_COLOR=1 gpuexec demo > demo.txt\n",
    .options = OPTION_TABLE(options),
    .run = run_demo,
};
