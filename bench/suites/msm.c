/* SPDX-License-Identifier: Apache-2.0
 *
 * Suite msm of bench-suites: multi-scalar multiplications by size and by kind of scalars, with
 * points that the device keeps and scalars in host memory; the CPU with one thread and with all,
 * and with a table, on a GPU also several sums at once. The points are known multiples of the
 * generator, by which every row is verified before it is timed.
 */
#include <stdlib.h>
#include <string.h>

#include "check.h"
#include "clock.h"
#include "jobs.h"
#include "measure.h"
#include "progress.h"
#include "suite.h"

#define CELL_BUDGET_S 1.5
/* Unless its size is named, a row whose single call would take longer is left out. */
#define CALL_LIMIT_S 5.0

enum { DEFAULT_SAMPLES = 21, SCALAR_BYTES = 32 };

/* With a table of multiples: on a CPU up to so many points, in so much memory; on a GPU all that
 * its memory allows, for any number. */
#define TABLE_POINTS    ((size_t)1 << 16)
#define TABLE_BYTES     ((uint64_t)64 << 20)
#define GPU_TABLE_BYTES ((uint64_t)32 << 30)
/* Sums of one call over the same points. */
#define BATCH 4

static suite_opts opts = {.seed = 1};
static gx_curve curve = GX_BLS12_381_G1;

static const option_row options[] = {
    OPTION_CURVE(&curve, "curve of the points (bls12-381-g1)"),
    SUITE_ROWS(&opts, "points per sum (1K,4K,...,16M)"),
};

static const number_list default_sizes = {
    8, {1 << 10, 1 << 12, 1 << 14, 1 << 16, 1 << 18, 1 << 20, 1 << 22, 1 << 24}};

enum { UNIFORM, ONES, ZERO_ONE, ONE_VALUE, KINDS };
static const char *const kinds[KINDS] = {"uniform", "ones", "0/1", "one"};

static column columns[] = {
    {.key = "device", .title = "device", .kind = COL_TEXT},
    COLUMN(TEXT, "curve", "curve", 12, .flags = COL_WIDE),
    COLUMN(TEXT, "scalars", "scalars", 8),
    COLUMN(COUNT, "points", "points", 8),
    COLUMN(COUNT, "batch", "batch", 5),
    COLUMN(COUNT, "table_mib", "table", 5),
    COLUMN(COUNT, "threads", "thr", 3),
    COLUMN(COUNT, "samples", "n", 3, .flags = COL_WIDE),
    COLUMN(REAL, "median_ms", "ms", 9, .decimals = 3),
    COLUMN(REAL, "p90_ms", "P90 ms", 9, .decimals = 3, .flags = COL_WIDE),
    COLUMN(REAL, "min_ms", "min ms", 9, .decimals = 3, .flags = COL_WIDE),
    COLUMN(REAL, "max_ms", "max ms", 9, .decimals = 3, .flags = COL_WIDE),
    COLUMN(REAL, "device_ms", "device ms", 9, .decimals = 3),
    COLUMN(REAL, "ns_per_point", "ns/pt", 8, .decimals = 1),
    COLUMN(REAL, "times_uniform", "times", 5, .decimals = 2),
    COLUMN(REAL, "first_ms", "first ms", 9, .decimals = 3, .flags = COL_WIDE),
};

enum { COLUMNS = sizeof columns / sizeof *columns };

typedef struct benchmark {
    const common_opts *common;
    const suite_opts *opts;
    gx_ctx *maker; /* makes points, with all threads */
    gx_ctx *ctx;
    output *out;
    measure_plan plan;
    gx_curve curve;
    gx_field field;
    number_list sizes;
    unsigned char *xy; /* the first `made` points */
    size_t made;
    unsigned char *scalars;
    gx_points *points; /* those of a size, in ctx */
    const char *device;
    bool is_cpu;
    uint64_t table_bytes; /* of the points */
    double ns_per_point;  /* of the previous row; 0: unknown */
    double uniform_ns;    /* of the same size, without a table */
    double first_ns;
    size_t batch;
} benchmark;

static void make_scalars(benchmark *b, int kind, size_t n)
{
    static const unsigned char one[SCALAR_BYTES] = {1};
    data_random(b->field, b->scalars, n, b->opts->seed);
    if (kind == UNIFORM)
        return;
    for (size_t i = 0; i < n; i++) {
        unsigned char *at = b->scalars + i * SCALAR_BYTES;
        if (kind == ZERO_ONE) {
            at[0] &= 1;
            memset(at + 1, 0, SCALAR_BYTES - 1);
        } else if (kind == ONES || i)
            memcpy(at, kind == ONES ? one : b->scalars, SCALAR_BYTES);
    }
}

/* Points of this size in the context, which the device has not seen yet. */
static int make_points(benchmark *b, size_t n, uint64_t table_bytes)
{
    b->table_bytes = table_bytes;
    size_t bytes = gx_curve_get_info(b->curve)->affine_bytes;
    if (n > b->made) {
        unsigned char *more = data_alloc(n * bytes);
        if (more && b->made)
            memcpy(more, b->xy, b->made * bytes);
        data_free(b->xy);
        b->xy = more;
        gx_status s =
            more ? job_write_points(b->maker, b->curve, more, b->made, n) : GX_ERR_OUT_OF_MEMORY;
        b->made = s == GX_OK ? n : 0;
        if (s != GX_OK)
            return more ? cli_call_failed(s) : cli_no_memory();
    }
    const gx_points_params desc = {.struct_size = sizeof desc,
                                   .curve = b->curve,
                                   .form = GX_POINT_XY_MONT,
                                   .points = b->xy,
                                   .count = n,
                                   .check = GX_CHECK_NONE,
                                   .table_bytes = table_bytes};
    data_free(b->scalars);
    b->scalars = data_alloc(BATCH * n * SCALAR_BYTES);
    gx_status s = gx_points_create(b->ctx, &desc, &b->points, NULL);
    return s != GX_OK ? cli_call_failed(s) : b->scalars ? EXIT_DONE : cli_no_memory();
}

static bool show(benchmark *b, int kind, size_t n, const measurement *m)
{
    double device_ns = m->stage_ns[STAGE_COMPUTE];
    if (kind == UNIFORM && !b->table_bytes && b->batch == 1)
        b->uniform_ns = m->wall_ns.median;
    cell cells[COLUMNS] = {
        CELL_TEXT(b->device),
        CELL_TEXT(gx_curve_get_info(b->curve)->name),
        CELL_TEXT(kinds[kind]),
        CELL_COUNT(n),
        CELL_COUNT(b->batch),
        b->table_bytes ? CELL_COUNT(b->table_bytes >> 20) : CELL_MISSING,
        CELL_COUNT(m->threads),
        CELL_COUNT(m->samples),
        CELL_REAL(m->wall_ns.median / 1e6),
        CELL_REAL(m->wall_ns.p90 / 1e6),
        CELL_REAL(m->wall_ns.min / 1e6),
        CELL_REAL(m->wall_ns.max / 1e6),
        device_ns > 0 ? CELL_REAL(device_ns / 1e6) : CELL_MISSING,
        CELL_REAL(m->wall_ns.median / (double)(b->batch * n)),
        CELL_REAL(m->wall_ns.median / (double)b->batch / b->uniform_ns),
        kind == UNIFORM ? CELL_REAL(b->first_ns / 1e6) : CELL_MISSING,
    };
    progress_hide();
    bool shown = output_row(b->out, cells);
    progress_add(1);
    return shown;
}

/* Runs the job once and checks each of its sums. */
static int verify_row(benchmark *b, const gx_job *job)
{
    const gx_run_params opts = {.device = b->device};
    const size_t bytes = gx_operand_bytes(job, 'o') / b->batch;
    check_result r = {.report = {.struct_size = sizeof r.report}};
    memset(job->out.host, 0xa5, b->batch * bytes);
    uint64_t start = now_ns();
    gx_status s = gx_run(b->ctx, job, 1, &opts, &r.report);
    b->first_ns = (double)(now_ns() - start);
    for (size_t i = 0; i < b->batch && s == GX_OK && !r.differs; i++) {
        gx_job one = *job;
        one.n /= b->batch;
        one.a = gx_host(b->scalars + i * one.n * SCALAR_BYTES);
        one.out = gx_host((unsigned char *)job->out.host + i * bytes);
        s = check_msm(b->maker, b->curve, &one, &r);
    }
    if (s != GX_OK)
        return cli_job_failed(&r.report);
    if (!r.differs)
        return EXIT_DONE;
    check_print(b->device, &r);
    return EXIT_DIFFERS;
}

static int bench_row(benchmark *b, int kind, size_t n)
{
    unsigned char result[BATCH * POINT_BYTES_MAX];
    const job_arrays arrays = {.points = b->points};
    job_params params;
    gx_job job = {
        .op = GX_MSM, .field = b->field, .n = n, .a = gx_host(b->scalars), .out = gx_host(result)};
    measurement m;
    gx_report report = {.struct_size = sizeof report};
    job_set_params(&job, &arrays, &params);
    job.n *= b->batch;
    make_scalars(b, kind, job.n);
    int rc = verify_row(b, &job);
    if (rc != EXIT_DONE)
        return rc;
    if (measure_job(b->ctx, &job, b->device, &b->plan, &m, &report) != GX_OK)
        return cli_job_failed(&report);
    if (!b->table_bytes && b->batch == 1)
        b->ns_per_point = m.wall_ns.median / (double)n;
    return show(b, kind, n, &m) ? EXIT_DONE : EXIT_FAILED;
}

static int bench_size(benchmark *b, size_t n)
{
    double expected_s = b->ns_per_point * (double)n / 1e9;
    if (!b->opts->sizes.count && expected_s > CALL_LIMIT_S) {
        cli_error("skipped %zu points on %s: one call would take %.0f s; request them with -n %zu",
                  n, b->device, expected_s, n);
        return EXIT_DONE;
    }
    int rc = make_points(b, n, 0);
    b->batch = 1;
    for (int kind = 0; rc == EXIT_DONE && kind < KINDS; kind++)
        rc = bench_row(b, kind, n);
    gx_points_destroy(&b->points);
    if (rc != EXIT_DONE || (b->is_cpu && n > TABLE_POINTS))
        return rc;
    rc = make_points(b, n, b->is_cpu ? TABLE_BYTES : GPU_TABLE_BYTES);
    if (rc == EXIT_DONE)
        rc = bench_row(b, UNIFORM, n);
    if (rc == EXIT_DONE && !b->is_cpu) {
        b->batch = BATCH;
        rc = bench_row(b, UNIFORM, n);
    }
    gx_points_destroy(&b->points);
    return rc;
}

/* The device with so many threads; 0: all. */
static int bench_device(benchmark *b, uint32_t threads)
{
    common_opts common = *b->common;
    common.config.threads = threads;
    b->ns_per_point = 0;
    int rc = cli_open(&common, &b->ctx);
    for (size_t i = 0; rc == EXIT_DONE && i < b->sizes.count; i++)
        rc = bench_size(b, (size_t)b->sizes.values[i]);
    return cli_close(&b->ctx, rc);
}

static int bench_targets(benchmark *b, const target_list *targets)
{
    const uint32_t threads = b->common->config.threads;
    int rc = EXIT_DONE;
    for (size_t i = 0; rc == EXIT_DONE && i < targets->count; i++) {
        b->device = targets->names[i];
        b->is_cpu = target_is_cpu(targets, b->device);
        if (b->is_cpu && !threads && targets->threads > 1)
            rc = bench_device(b, 1);
        if (rc == EXIT_DONE)
            rc = bench_device(b, threads);
    }
    return rc;
}

static int run_msm(const common_opts *common)
{
    benchmark b = {
        .common = common,
        .opts = &opts,
        .plan = {.samples = opts.samples ? opts.samples : DEFAULT_SAMPLES,
                 .budget_s = opts.samples ? 0 : CELL_BUDGET_S,
                 .shortest_ns = 200e3},
        .curve = curve,
        .sizes = opts.sizes.count ? opts.sizes : default_sizes,
    };
    b.field = gx_curve_get_info(b.curve)->scalar_field;
    target_list targets = {0};
    int rc = cli_open(common, &b.maker);
    if (rc == EXIT_DONE)
        rc = target_list_get(b.maker, common, TARGETS_AUTOMATIC, &targets);
    columns[0].width = targets.width;
    if (rc == EXIT_DONE &&
        !(b.out = output_open((output_format)common->format, suite_msm.name, columns, COLUMNS)))
        rc = cli_no_memory();
    if (rc == EXIT_DONE) {
        progress_start("measuring", 0, "rows");
        rc = bench_targets(&b, &targets);
        progress_end();
        rc = output_close(b.out) || rc != EXIT_DONE ? rc : EXIT_FAILED;
    }
    target_list_free(&targets);
    data_free(b.xy);
    data_free(b.scalars);
    return cli_close(&b.maker, rc);
}

const command suite_msm = {
    .name = "msm",
    .summary = "multi-scalar multiplications by size and kind of scalars",
    .about =
        "Multi-scalar multiplications with points of BLS12-381 G1 (or of --curve) that the device\n"
        "keeps, and scalars in host memory, on the CPU with one thread and with all. Each result "
        "is\n"
        "checked first: the points are known multiples of the generator:\n"
        "\n"
        "  scalars                 uniform; ones; 0/1; one: a single value for all\n"
        "  batch                   sums of one call over the same points\n"
        "  table                   most MiB for multiples of the points\n"
        "  ms, device ms           time of one gx_run call, and of the device by its own clock\n"
        "  ns/pt                   time per point and sum\n"
        "  times                   median relative to uniform scalars without a table\n"
        "  first ms                first call with new points: copies them to the device, makes\n"
        "                          the table",
    .examples = "  bench-suites msm --device cpu -n 4K,64K\n",
    .options = OPTION_TABLE(options),
    .formats = true,
    .run = run_msm,
};
