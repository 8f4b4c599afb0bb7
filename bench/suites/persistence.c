/* SPDX-License-Identifier: Apache-2.0
 *
 * Suite persistence of bench-suites: the gain from keeping a context, its device and cache files.
 * Opening is measured in separate processes (child.h), before this process opens anything.
 */
#include <dirent.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "check.h"
#include "child.h"
#include "clock.h"
#include "measure.h"
#include "progress.h"
#include "persistence.h"

#define FIELD GX_BLS12_381_FQ

/* Takes fewer of the slow samples, but at least SAMPLES_MIN, beyond BUDGET_S. */
#define BUDGET_S 4.0
enum {
    OPEN_SAMPLES = 3,
    ONE_SHOT_SAMPLES = 5,
    CALL_SAMPLES = 1001,
    WARM_UP = 100,
    SAMPLES_MIN = 2
};

/* Elements of the jobs included in opening. */
enum { FIRST_JOB = 64 };

static suite_opts opts = {.seed = 1};

static const option_row options[] = {SUITE_ROWS(&opts, "elements per job (64,1024,16K,64K)")};

static const number_list default_sizes = {4, {64, 1024, 16384, 65536}};

static const column columns[] = {
    COLUMN(TEXT, "device", "device", 8, .flags = COL_WIDE),
    COLUMN(TEXT, "what", "what", 18),
    COLUMN(COUNT, "elements", "size", 7),
    COLUMN(COUNT, "samples", "n", 5, .flags = COL_WIDE),
    COLUMN(REAL, "median_us", "median us", 12, .decimals = 2),
    COLUMN(REAL, "p90_us", "P90 us", 12, .decimals = 2),
    COLUMN(REAL, "min_us", "min us", 12, .decimals = 2, .flags = COL_WIDE),
    COLUMN(REAL, "max_us", "max us", 12, .decimals = 2, .flags = COL_WIDE),
    COLUMN(REAL, "times", "times", 9, .decimals = 2),
};
enum { COLUMNS = sizeof columns / sizeof *columns };

typedef struct persistence {
    const common_opts *common;
    const suite_opts *opts;
    output *out;
    char device[sizeof((gx_report *)0)->device];
    char folder[256]; /* for cache files; ours to remove */
    unsigned char *a, *b, *result, *expected;
} persistence;

/* A row before it is printed. */
typedef struct row {
    const char *what;
    uint64_t elements; /* 0: opening */
    size_t samples;
    stats ns;
} row;

/* ---- the folder ---- */

static bool make_folder(persistence *p)
{
    if (child_folder(p->folder, sizeof p->folder, "gpuexec"))
        return true;
    cli_error("cannot create the directory %s for cache files: %s; set TMPDIR", p->folder,
              strerror(errno));
    p->folder[0] = 0;
    return false;
}

static void empty_folder(const persistence *p)
{
    DIR *dir = p->folder[0] ? opendir(p->folder) : NULL;
    for (struct dirent *entry; dir && (entry = readdir(dir));)
        if (entry->d_name[0] != '.') {
            char file[sizeof p->folder + sizeof entry->d_name];
            snprintf(file, sizeof file, "%s/%s", p->folder, entry->d_name);
            gx__os_unlink(file);
        }
    if (dir)
        closedir(dir);
}

static int open_with(const persistence *p, const char *cache_dir, gx_ctx **ctx)
{
    common_opts with = *p->common;
    with.config.cache_dir = cache_dir;
    return cli_open(&with, ctx);
}

/* ---- opening ---- */

typedef struct opening {
    uint64_t ns;
    char device[sizeof((gx_report *)0)->device];
} opening;

static int first_jobs(gx_ctx *ctx, opening *result)
{
    static const gx_op ops[] = {GX_ADD, GX_MUL, GX_INV};
    static const gx_field fields[] = {GX_BLS12_381_FQ, GX_BLS12_381_FR};
    unsigned char x[FIRST_JOB * ELEMENT_BYTES_MAX], out[sizeof x];
    gx_report report = {.struct_size = sizeof report};
    for (size_t f = 0; f < 2; f++) {
        data_random(fields[f], x, FIRST_JOB, 1);
        for (size_t o = 0; o < 3; o++) {
            gx_job job = {.op = ops[o], .field = fields[f], .n = FIRST_JOB};
            job.a = gx_host(x);
            if (gx_op_get_info(ops[o])->operands > 1)
                job.b = job.a;
            job.out = gx_host(out);
            if (gx_run(ctx, &job, 1, NULL, &report) != GX_OK)
                return cli_job_failed(&report);
        }
    }
    snprintf(result->device, sizeof result->device, "%s", report.device);
    return EXIT_DONE;
}

static int open_once(const void *argument, void *to)
{
    const persistence *p = argument;
    opening *result = to;
    gx_ctx *ctx = NULL;
    uint64_t start = now_ns();
    int rc = open_with(p, p->folder, &ctx);
    if (rc == EXIT_DONE)
        rc = first_jobs(ctx, result);
    result->ns = now_ns() - start;
    return cli_close(&ctx, rc);
}

static int open_elsewhere(persistence *p, double *ns)
{
    opening result = {0};
    int rc = child_run(open_once, p, &result, sizeof result);
    *ns = (double)result.ns;
    memcpy(p->device, result.device, sizeof p->device);
    return rc;
}

static bool enough(const persistence *p, size_t taken, size_t usual, uint64_t start)
{
    if (p->opts->samples)
        return taken >= p->opts->samples;
    return taken >= usual || (taken >= SAMPLES_MIN && (double)(now_ns() - start) / 1e9 > BUDGET_S);
}

/* ---- rows ---- */

/* Rows of one kind; the last one is the baseline of the others. */
static int show(persistence *p, const row *rows, size_t count)
{
    progress_hide();
    for (size_t i = 0; i < count; i++) {
        const row *r = &rows[i];
        cell cells[COLUMNS] = {
            CELL_TEXT(p->device),
            CELL_TEXT(r->what),
            r->elements ? CELL_COUNT(r->elements) : CELL_MISSING,
            CELL_COUNT(r->samples),
            CELL_REAL(r->ns.median / 1e3),
            CELL_REAL(r->ns.p90 / 1e3),
            CELL_REAL(r->ns.min / 1e3),
            CELL_REAL(r->ns.max / 1e3),
            CELL_REAL(r->ns.median / rows[count - 1].ns.median),
        };
        if (!output_row(p->out, cells))
            return EXIT_FAILED;
    }
    progress_add(1);
    return EXIT_DONE;
}

static int bench_opening(persistence *p)
{
    static double ns[2][SAMPLES_MAX];
    row rows[2] = {{.what = "open, no files"}, {.what = "open, files"}};
    uint64_t start = now_ns();
    size_t taken = 0;
    int rc = EXIT_DONE;
    for (; rc == EXIT_DONE && !enough(p, taken, OPEN_SAMPLES, start); taken++) {
        empty_folder(p);
        for (size_t i = 0; i < 2 && rc == EXIT_DONE; i++)
            rc = open_elsewhere(p, &ns[i][taken]);
    }
    if (rc != EXIT_DONE)
        return rc;
    for (size_t i = 0; i < 2; i++) {
        rows[i].samples = taken;
        rows[i].ns = stats_of(ns[i], taken);
    }
    return show(p, rows, 2);
}

/* Opens, runs, closes; the result must equal that of the persistent context. */
static int one_shot(persistence *p, const gx_job *job, const char *cache_dir, double *ns)
{
    size_t bytes = job->n * gx_field_get_info(FIELD)->element_bytes;
    gx_ctx *ctx = NULL;
    gx_report report = {.struct_size = sizeof report};
    memset(p->result, 0xa5, bytes);
    uint64_t start = now_ns();
    int rc = open_with(p, cache_dir, &ctx);
    if (rc == EXIT_DONE && gx_run(ctx, job, 1, NULL, &report) != GX_OK)
        rc = cli_job_failed(&report);
    rc = cli_close(&ctx, rc);
    *ns = (double)(now_ns() - start);
    if (rc != EXIT_DONE || !memcmp(p->result, p->expected, bytes))
        return rc;
    cli_error("%s: the result of %zu addition%s differs from before", p->device, job->n,
              plural(job->n));
    return EXIT_DIFFERS;
}

static int bench_one_shot(persistence *p, const gx_job *job, const char *cache_dir, row *r)
{
    static double ns[SAMPLES_MAX];
    r->elements = job->n;
    int rc = one_shot(p, job, cache_dir, &ns[0]); /* the first also loads the driver */
    uint64_t start = now_ns();
    while (rc == EXIT_DONE && !enough(p, r->samples, ONE_SHOT_SAMPLES, start))
        rc = one_shot(p, job, cache_dir, &ns[r->samples++]);
    if (rc == EXIT_DONE)
        r->ns = stats_of(ns, r->samples);
    return rc;
}

static int bench_calls(persistence *p, gx_ctx *ctx, const gx_job *job, row *r)
{
    measure_plan warm_up = {.samples = WARM_UP, .budget_s = BUDGET_S / 10};
    measure_plan plan = {.samples = p->opts->samples ? p->opts->samples : CALL_SAMPLES,
                         .budget_s = p->opts->samples ? 0 : BUDGET_S / 2,
                         .bare = true};
    measurement m;
    check_result checked = {0};
    gx_status s = measure_job(ctx, job, NULL, &warm_up, &m, &checked.report);
    if (s == GX_OK)
        s = check_sample(ctx, job, &checked);
    if (s == GX_OK && checked.differs) {
        check_print(p->device, &checked);
        return EXIT_DIFFERS;
    }
    if (s == GX_OK)
        s = measure_job(ctx, job, NULL, &plan, &m, &checked.report);
    if (s != GX_OK)
        return cli_job_failed(&checked.report);
    *r = (row){r->what, job->n, m.samples, m.wall_ns};
    memcpy(p->expected, p->result, job->n * gx_field_get_info(FIELD)->element_bytes);
    return EXIT_DONE;
}

static gx_job addition(const persistence *p, size_t n)
{
    gx_job job = {.op = GX_ADD, .field = FIELD, .n = n};
    job.a = gx_host(p->a);
    job.b = gx_host(p->b);
    job.out = gx_host(p->result);
    return job;
}

static int bench_size(persistence *p, size_t n)
{
    row rows[3] = {
        {.what = "one-shot, no files"}, {.what = "one-shot, files"}, {.what = "persistent"}};
    gx_job job = addition(p, n);
    gx_ctx *ctx = NULL;
    int rc = open_with(p, p->folder, &ctx);
    if (rc == EXIT_DONE)
        rc = bench_calls(p, ctx, &job, &rows[2]);
    rc = cli_close(&ctx, rc);
    if (rc == EXIT_DONE)
        rc = bench_one_shot(p, &job, "none", &rows[0]);
    if (rc == EXIT_DONE)
        rc = bench_one_shot(p, &job, p->folder, &rows[1]);
    return rc == EXIT_DONE ? show(p, rows, 3) : rc;
}

/* ---- for suite seeds ---- */

/* One-shot in a new process: argument and result. */
typedef struct shot {
    const persistence *p;
    const gx_job *job;
    const char *cache_dir;
} shot;

typedef struct shot_ns {
    uint64_t whole, open;
} shot_ns;

/* Planning an empty job opens the device that is named, or chosen. */
static int open_device(gx_ctx *ctx)
{
    const gx_job nothing = {.op = GX_ADD, .field = GX_U32};
    gx_estimate_info info = {.struct_size = sizeof info};
    gx_status s = gx_estimate(ctx, &nothing, 1, NULL, &info);
    return s == GX_OK ? EXIT_DONE : cli_call_failed(s);
}

/* The check afterwards is not timed. */
static int shoot(const void *argument, void *to)
{
    const shot *s = argument;
    shot_ns *ns = to;
    gx_ctx *ctx = NULL;
    check_result checked = {.report.struct_size = sizeof checked.report};
    memset(s->p->result, 0xa5, gx_operand_bytes(s->job, 'o'));
    uint64_t start = now_ns();
    int rc = open_with(s->p, s->cache_dir, &ctx);
    if (rc == EXIT_DONE)
        rc = open_device(ctx);
    ns->open = now_ns() - start;
    if (rc == EXIT_DONE && gx_run(ctx, s->job, 1, NULL, &checked.report) != GX_OK)
        rc = cli_job_failed(&checked.report);
    rc = cli_close(&ctx, rc);
    ns->whole = now_ns() - start;
    if (rc == EXIT_DONE)
        rc = open_with(s->p, s->cache_dir, &ctx);
    if (rc == EXIT_DONE && check_sample(ctx, s->job, &checked) != GX_OK)
        rc = cli_job_failed(&checked.report);
    if (rc == EXIT_DONE && checked.differs) {
        check_print(s->p->common->config.device, &checked);
        rc = EXIT_DIFFERS;
    }
    return cli_close(&ctx, rc);
}

/* With p->folder as the directory, the first process only leaves its files there. */
static int shoot_all(const persistence *p, const gx_job *job, const char *cache_dir,
                     persistence_shot *out)
{
    static double whole[SAMPLES_MAX], open[SAMPLES_MAX];
    shot s = {p, job, cache_dir};
    shot_ns ns = {0};
    int rc = cache_dir == p->folder ? child_run(shoot, &s, &ns, sizeof ns) : EXIT_DONE;
    uint64_t start = now_ns();
    out->samples = 0;
    while (rc == EXIT_DONE && !enough(p, out->samples, ONE_SHOT_SAMPLES, start)) {
        rc = child_run(shoot, &s, &ns, sizeof ns);
        whole[out->samples] = (double)ns.whole;
        open[out->samples++] = (double)ns.open;
    }
    if (rc != EXIT_DONE)
        return rc;
    out->ns = stats_of(whole, out->samples);
    out->open_ns = stats_of(open, out->samples).median;
    return EXIT_DONE;
}

/* All processes come first: see child.h. */
static int measure_costs(persistence *p, const number_list *sizes, persistence_cost *costs)
{
    int rc = EXIT_DONE;
    progress_start("measuring", 3 * sizes->count, "rows");
    for (size_t i = 0; i < sizes->count && rc == EXIT_DONE; i++) {
        gx_job job = addition(p, sizes->values[i]);
        costs[i].elements = job.n;
        rc = shoot_all(p, &job, "none", &costs[i].cold);
        progress_add(1);
        if (rc == EXIT_DONE)
            rc = shoot_all(p, &job, p->folder, &costs[i].warm);
        progress_add(1);
    }
    for (size_t i = 0; i < sizes->count && rc == EXIT_DONE; i++) {
        gx_job job = addition(p, sizes->values[i]);
        row r = {.what = "persistent"};
        gx_ctx *ctx = NULL;
        rc = open_with(p, p->folder, &ctx);
        if (rc == EXIT_DONE)
            rc = bench_calls(p, ctx, &job, &r);
        rc = cli_close(&ctx, rc);
        costs[i].call_samples = r.samples;
        costs[i].call_ns = r.ns;
        progress_add(1);
    }
    progress_end();
    return rc;
}

/* ---- all ---- */

static bool make_arrays(persistence *p, const number_list *sizes)
{
    unsigned char **const arrays[] = {&p->a, &p->b, &p->result, &p->expected};
    uint64_t most = 0;
    for (size_t i = 0; i < sizes->count; i++)
        most = sizes->values[i] > most ? sizes->values[i] : most;
    for (size_t i = 0; i < 4; i++) {
        *arrays[i] = data_alloc(most * gx_field_get_info(FIELD)->element_bytes);
        if (!*arrays[i])
            return false;
    }
    data_random(FIELD, p->a, most, p->opts->seed);
    data_random(FIELD, p->b, most, p->opts->seed + 1);
    return true;
}

static int bench_all(persistence *p, const number_list *sizes)
{
    if (p->common->format == OUT_TABLE)
        puts(
            "Fq additions. The drivers' own disk caches are disabled in every row: only the cache\n"
            "files of this library count.\n");
    p->out =
        output_open((output_format)p->common->format, suite_persistence.name, columns, COLUMNS);
    if (!p->out)
        return cli_no_memory();
    progress_start("measuring", 1 + sizes->count, "groups of rows");
    int rc = bench_opening(p);
    for (size_t i = 0; i < sizes->count && rc == EXIT_DONE; i++)
        rc = bench_size(p, sizes->values[i]);
    progress_end();
    return output_close(p->out) || rc != EXIT_DONE ? rc : EXIT_FAILED;
}

/* With arrays and a folder for cache files; the drivers' own caches off. */
static int prepared(persistence *p, const number_list *sizes, persistence_cost *costs)
{
    if (!child_exists()) {
        cli_error("this compares new processes, which are made with fork(): use Linux or macOS");
        return EXIT_FAILED;
    }
    child_set_env("__GL_SHADER_DISK_CACHE", "0");
    child_set_env("MESA_SHADER_CACHE_DISABLE", "true");
    if (!make_folder(p))
        return EXIT_FAILED;
    int rc = !make_arrays(p, sizes) ? cli_no_memory()
             : costs                ? measure_costs(p, sizes, costs)
                                    : bench_all(p, sizes);
    empty_folder(p);
    child_remove_folder(p->folder);
    data_free(p->a);
    data_free(p->b);
    data_free(p->result);
    data_free(p->expected);
    return rc;
}

int persistence_costs(const common_opts *common, const suite_opts *opts, const number_list *sizes,
                      persistence_cost *costs)
{
    persistence p = {.common = common, .opts = opts};
    snprintf(p.device, sizeof p.device, "%s", common->config.device);
    return prepared(&p, sizes, costs);
}

static int run_persistence(const common_opts *common)
{
    persistence p = {.common = common, .opts = &opts};
    return prepared(&p, opts.sizes.count ? &opts.sizes : &default_sizes, NULL);
}

const command suite_persistence = {
    .name = "persistence",
    .summary = "the gain from keeping a device open",
    .about =
        "On the named device or the default one, with a cache directory of its own:\n"
        "\n"
        "  open, no files          gx_open and the first add, mul and inv on the two BLS12-381\n"
        "                          fields, in a new process with an empty cache directory\n"
        "  open, files             the same in another process, with the files of the first\n"
        "  one-shot, no files      gx_open, one Fq addition job and gx_close, without cache files\n"
        "  one-shot, files         the same with cache files\n"
        "  persistent              gx_run alone, without a report, on an open context\n"
        "  times                   median relative to the last row of the same kind and size",
    .examples = "  bench-suites persistence --device vulkan:0\n",
    .options = OPTION_TABLE(options),
    .formats = true,
    .run = run_persistence,
};
