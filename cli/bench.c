/* SPDX-License-Identifier: Apache-2.0
 *
 * gpuexec bench: speed of each operation, and how close it is to this machine's memory limit. Every
 * cell is verified before it is timed. What only this project measures is in bench/suites.
 */
#include "check.h"
#include "cli.h"
#include "counters.h"
#include "jobs.h"
#include "measure.h"
#include "progress.h"
#include "report/text.h"
#include "stream.h"

/* Time limit of a cell in the default run; 16 cells then take less than a minute. */
#define CELL_BUDGET_S 1.5

static const number_list default_sizes = {4, {64, 4096, 65536, 1048576}};

enum { DEFAULT_SAMPLES = 21 };

static struct {
    uint32_t fields, ops;
    number_list sizes;
    uint64_t samples, seed;
    int stats; /* print counters at the end */
} opts = {
    .fields = 1u << GX_BLS12_381_FQ | 1u << GX_BLS12_381_FR,
    .ops = 1u << GX_MUL | 1u << GX_NTT | 1u << GX_MSM,
    .seed = 1,
};

static const option_row options[] = {
    OPTION_FIELDS(&opts.fields, "fields to measure, or all (default: the two BLS12-381 fields)"),
    OPTION_OPS(&opts.ops, "operations to measure, or all (default: mul,ntt,msm)"),
    OPTION_LETTER('n', "N[,N...]", OPT_NUMBERS, &opts.sizes, 1, 1u << 30,
                  "elements per job (64,4096,64K,1M)"),
    OPTION_SAMPLES(&opts.samples, SAMPLES_MAX,
                   "exactly this many samples per row (21, fewer for slow calls)"),
    OPTION_SEED(&opts.seed),
    OPTION_FLAG("stats", &opts.stats,
                "print the library's counters after the table; with --csv and --json to "
                "standard error"),
};

static column columns[] = {
    {.key = "device", .title = "device", .kind = COL_TEXT, .flags = COL_WIDE},
    COLUMN(TEXT, "field", "field", 12),
    COLUMN(TEXT, "op", "op", 7),
    COLUMN(COUNT, "elements", "size", 7),
    COLUMN(COUNT, "threads", "thr", 3),
    COLUMN(COUNT, "samples", "n", 3, .flags = COL_WIDE),
    COLUMN(REAL, "median_us", "median us", 9, .decimals = 2),
    COLUMN(REAL, "p90_us", "P90 us", 9, .decimals = 2, .flags = COL_WIDE),
    COLUMN(REAL, "min_us", "min us", 9, .decimals = 2, .flags = COL_WIDE),
    COLUMN(REAL, "max_us", "max us", 9, .decimals = 2, .flags = COL_WIDE),
    COLUMN(REAL, "elements_per_s", "M elem/s", 8, .decimals = 1, .scale = 1e-6),
    COLUMN(REAL, "gb_per_s", "GB/s", 5, .decimals = 1),
    {.key = "limit_gb_per_s", .kind = COL_REAL, .flags = COL_MACHINE_ONLY},
    COLUMN(REAL, "of_limit", "limit%", 6, .scale = 100),
    COLUMN(REAL, "overhead_ns", "over ns", 7),
};

enum { COLUMNS = sizeof columns / sizeof *columns, COLUMN_OP = 2, COLUMN_RATE = 10 };

typedef struct benchmark {
    gx_ctx *ctx;
    output *out;
    measure_plan plan;
    number_list sizes;
    job_arrays arrays;
    job_params params;
} benchmark;

static bool show(const benchmark *b, const char *device, const gx_job *job, const measurement *m)
{
    const gx_field_info *field = gx_field_get_info(job->field);
    const gx_op_info *op = gx_op_get_info(job->op);
    double seconds = m->wall_ns.median / 1e9, n = (double)job->n;
    double rate = (double)data_job_bytes(job) / seconds / 1e9;
    double limit = stream_limit(m->threads ? m->threads : 1, opts.samples);
    bool points = job->op == GX_MSM; /* whose limit is not the memory's */
    cell cells[COLUMNS] = {
        CELL_TEXT(device),
        CELL_TEXT(field->name),
        CELL_TEXT(op->name),
        CELL_COUNT(job->n),
        CELL_COUNT(m->threads),
        CELL_COUNT(m->samples),
        CELL_REAL(m->wall_ns.median / 1e3),
        CELL_REAL(m->wall_ns.p90 / 1e3),
        CELL_REAL(m->wall_ns.min / 1e3),
        CELL_REAL(m->wall_ns.max / 1e3),
        CELL_REAL(n / seconds),
        points ? CELL_MISSING : CELL_REAL(rate),
        limit > 0 && !points ? CELL_REAL(limit) : CELL_MISSING,
        limit > 0 && !points ? CELL_REAL(rate / limit) : CELL_MISSING,
        CELL_REAL(m->overhead_ns),
    };
    progress_hide();
    return output_row(b->out, cells);
}

static void say_cell(const char *device, const gx_job *job)
{
    char size[32];
    text_size(size, sizeof size, (double)job->n);
    progress_step("%s %s %s %s", device, gx_op_get_info(job->op)->name,
                  gx_field_get_info(job->field)->name, size);
}

/* *ns_per_element: of the previous size, 0 at first; updated. */
static int bench_cell(benchmark *b, const char *device, const gx_job *job, double *ns_per_element)
{
    say_cell(device, job);
    double expected_s = *ns_per_element * (double)job->n / 1e9;
    if (!opts.sizes.count && expected_s > CELL_BUDGET_S) {
        cli_error("skipped %s %s of %zu elements on %s: one call would take %.0f s; request "
                  "it with -n %zu",
                  gx_field_get_info(job->field)->name, gx_op_get_info(job->op)->name, job->n,
                  device, expected_s, job->n);
        return EXIT_DONE;
    }
    int rc = check_cell(b->ctx, device, job, job);
    if (rc != EXIT_DONE)
        return rc;
    measurement m;
    gx_report report = {.struct_size = sizeof report};
    if (measure_job(b->ctx, job, device, &b->plan, &m, &report) != GX_OK)
        return cli_job_failed(&report);
    *ns_per_element = m.wall_ns.median / (double)job->n;
    return show(b, device, job, &m) ? EXIT_DONE : EXIT_FAILED;
}

static int bench_op(benchmark *b, const char *device, gx_op op)
{
    double ns_per_element = 0;
    int rc = EXIT_DONE;
    for (size_t i = 0; rc == EXIT_DONE && i < b->sizes.count; i++) {
        gx_job job = job_make(&b->arrays, op, b->sizes.values[i], &b->params);
        rc = bench_cell(b, device, &job, &ns_per_element);
        progress_add(1);
    }
    return rc;
}

static int bench_field(benchmark *b, const char *device, gx_field field)
{
    uint64_t most = number_list_max(&b->sizes);
    bool made = job_arrays_make(&b->arrays, b->ctx, field, opts.ops, most, opts.seed);
    int rc = made ? EXIT_DONE : cli_no_memory();
    for (gx_op o = 1; rc == EXIT_DONE && gx_op_get_info(o); o++)
        if (cli_wants(opts.fields, opts.ops, field, o))
            rc = bench_op(b, device, o);
    job_arrays_free(&b->arrays);
    return rc;
}

static int bench_device(benchmark *b, const char *device)
{
    int rc = EXIT_DONE;
    for (gx_field f = 1; rc == EXIT_DONE && gx_field_get_info(f); f++)
        if (cli_count_in(opts.fields, opts.ops, f))
            rc = bench_field(b, device, f);
    return rc;
}

/* Measured first, because the table starts with it. */
static void show_limits(unsigned threads, uint64_t samples, bool table)
{
    double one = stream_limit(1, samples), all = stream_limit(threads, samples);
    if (!table)
        return;
    printf("streaming limit, two reads and one write: %.1f GB/s (1 thread)", one);
    if (threads > 1)
        printf(", %.1f GB/s (%u)", all, threads);
    printf("\n\n");
}

static int bench_targets(benchmark *b, const target_list *targets, output_format format)
{
    show_limits(targets->threads, opts.samples, format == OUT_TABLE);
    columns[0].width = targets->width;
    columns[COLUMN_OP].width = cli_op_width(opts.ops, columns[COLUMN_OP].width);
    if (opts.ops >> GX_MSM & 1) {
        columns[COLUMN_RATE].title = opts.ops == 1u << GX_MSM ? "M pts/s" : "M/s";
        columns[COLUMN_RATE].decimals = 3;
    }
    b->out = output_open(format, "bench", columns, COLUMNS);
    if (!b->out)
        return cli_no_memory();
    progress_start("measuring",
                   targets->count * b->sizes.count * cli_count_wanted(opts.fields, opts.ops), NULL);
    int rc = EXIT_DONE;
    for (size_t i = 0; rc == EXIT_DONE && i < targets->count; i++)
        rc = bench_device(b, targets->names[i]);
    progress_end();
    return output_close(b->out) || rc != EXIT_DONE ? rc : EXIT_FAILED;
}

static int run_bench(const common_opts *common)
{
    benchmark b = {
        .plan = {.samples = opts.samples ? opts.samples : DEFAULT_SAMPLES,
                 .budget_s = opts.samples ? 0 : CELL_BUDGET_S,
                 .shortest_ns = 200e3},
        .sizes = opts.sizes.count ? opts.sizes : default_sizes,
    };
    if (!cli_count_wanted(opts.fields, opts.ops))
        return cli_no_operation(opts.fields, opts.ops);
    target_list targets = {0};
    int rc = cli_open(common, &b.ctx);
    if (rc == EXIT_DONE)
        rc = target_list_get(b.ctx, common, TARGETS_AUTOMATIC, &targets);
    if (rc == EXIT_DONE)
        rc = bench_targets(&b, &targets, (output_format)common->format);
    if (opts.stats)
        counters_print(b.ctx, (output_format)common->format);
    target_list_free(&targets);
    return cli_close(&b.ctx, rc);
}

const command cmd_bench = {
    .name = "bench",
    .summary = "measure speed, relative to this machine's memory bandwidth",
    .about =
        "Times every automatic device, or the named ones: by default mul on the two BLS12-381\n"
        "fields, transforms and sums of points at four sizes, in less than a minute. ntt is one\n"
        "transform, msm a sum of points of the field's first curve. A sample of each result is\n"
        "first compared with the reference; on a mismatch the exit code is 4.\n"
        "\n"
        "  median, P90, min, max   time of one gx_run call, in microseconds\n"
        "  M/s                     million elements a second; of msm, points\n"
        "  GB/s                    bytes of operands read and results written; not of msm\n"
        "  limit%                  share of the streaming limit: two reads and one write over\n"
        "                          192 MiB arrays with the same number of threads, measured in\n"
        "                          the same run; above 100 if the data fits in a cache\n"
        "  over ns                 cost of the call on top of the device's own work\n"
        "\n"
        "Narrow terminals show only the most important columns; --csv has them all.",
    .examples = "  gpuexec bench\n"
                "  gpuexec bench --op add -n 4M --threads 1\n"
                "  gpuexec bench --op ntt,msm -n 64K,4M\n"
                "  gpuexec bench --field all --op all -n 64K --samples 51 --csv > bench.csv\n",
    .options = OPTION_TABLE(options),
    .formats = true,
    .run = run_bench,
};
