/* SPDX-License-Identifier: Apache-2.0
 *
 * Suite ntt of bench-suites: forward transforms by size, in natural order and in the order that
 * needs no permutation, from host memory and resident; the CPU with one thread and with all. Every
 * row is verified before it is timed.
 */
#include <math.h>

#include "check.h"
#include "clock.h"
#include "jobs.h"
#include "measure.h"
#include "progress.h"
#include "suite.h"

#define CELL_BUDGET_S 1.5
/* Unless its size is named, a row whose single call would take longer is left out. */
#define CALL_LIMIT_S 5.0

enum { DEFAULT_SAMPLES = 21, REPORTED = 5, BATCH = 256, BATCH_LOG2 = 16, PLACES = 2, ORDERS = 2 };

static suite_opts opts = {.seed = 1};

static const option_row options[] = {
    OPTION_FIELDS(&opts.fields, "fields to measure, or all (bls12-381-fr)"),
    SUITE_ROWS(&opts, "elements per transform (1K,4K,...,16M)"),
};

static const number_list default_sizes = {
    8, {1 << 10, 1 << 12, 1 << 14, 1 << 16, 1 << 18, 1 << 20, 1 << 22, 1 << 24}};

static const char *const places[PLACES] = {"host", "resident"};

static const struct {
    const char *name;
    uint32_t flags;
} orders[ORDERS] = {{"nn", 0}, {"nr", GX_NTT_REVERSED_OUT}};

static column columns[] = {
    {.key = "device", .title = "device", .kind = COL_TEXT},
    COLUMN(TEXT, "field", "field", 12, .flags = COL_WIDE),
    COLUMN(TEXT, "place", "memory", 8),
    COLUMN(TEXT, "order", "order", 5),
    COLUMN(COUNT, "elements", "size", 8),
    COLUMN(COUNT, "batch", "batch", 5),
    COLUMN(COUNT, "threads", "thr", 3),
    COLUMN(COUNT, "samples", "n", 3, .flags = COL_WIDE),
    COLUMN(REAL, "median_ms", "ms", 9, .decimals = 3),
    COLUMN(REAL, "p90_ms", "P90 ms", 9, .decimals = 3, .flags = COL_WIDE),
    COLUMN(REAL, "min_ms", "min ms", 9, .decimals = 3, .flags = COL_WIDE),
    COLUMN(REAL, "max_ms", "max ms", 9, .decimals = 3, .flags = COL_WIDE),
    COLUMN(REAL, "device_ms", "device ms", 9, .decimals = 3),
    COLUMN(REAL, "ns_per_butterfly", "ns/bfly", 8, .decimals = 4),
    COLUMN(REAL, "first_ms", "first ms", 9, .decimals = 3, .flags = COL_WIDE),
};

enum { COLUMNS = sizeof columns / sizeof *columns };

typedef struct benchmark {
    const common_opts *common;
    const suite_opts *opts;
    gx_ctx *ctx;
    output *out;
    measure_plan plan;
    uint32_t fields;
    number_list sizes;
    job_arrays arrays;
    const char *device;
    bool is_cpu;
    double ns_per_butterfly; /* of the previous row; 0: unknown */
} benchmark;

/* One row, and its job. */
typedef struct transform {
    size_t place, order;
    unsigned log2_n;
    size_t batch;
    job_params params;
    gx_job host, job;
    job_buffers buffers;
} transform;

static double butterflies(const transform *t)
{
    return ldexp((double)t->batch * t->log2_n, (int)t->log2_n - 1);
}

static bool show(benchmark *b, const transform *t, const measurement *m, double first_ns)
{
    double count = butterflies(t), device_ns = m->stage_ns[STAGE_COMPUTE];
    cell cells[COLUMNS] = {
        CELL_TEXT(b->device),
        CELL_TEXT(gx_field_get_info(t->job.field)->name),
        CELL_TEXT(places[t->place]),
        CELL_TEXT(orders[t->order].name),
        CELL_COUNT((uint64_t)1 << t->log2_n),
        CELL_COUNT(t->batch),
        CELL_COUNT(m->threads),
        CELL_COUNT(m->samples),
        CELL_REAL(m->wall_ns.median / 1e6),
        CELL_REAL(m->wall_ns.p90 / 1e6),
        CELL_REAL(m->wall_ns.min / 1e6),
        CELL_REAL(m->wall_ns.max / 1e6),
        device_ns > 0 ? CELL_REAL(device_ns / 1e6) : CELL_MISSING,
        count > 0 ? CELL_REAL(m->wall_ns.median / count) : CELL_MISSING,
        CELL_REAL(first_ns / 1e6),
    };
    b->ns_per_butterfly = count > 0 ? m->wall_ns.median / count : 0;
    progress_hide();
    return output_row(b->out, cells);
}

/* The first call with a new domain, which makes its tables. */
static int time_first(benchmark *b, transform *t, double *ns)
{
    const gx_domain_params desc = {
        .struct_size = sizeof desc, .field = t->job.field, .log2_size = t->log2_n};
    const gx_run_params opts = {.device = b->device};
    const gx_domain *usual = t->params.ntt.domain;
    gx_report report = {.struct_size = sizeof report};
    gx_domain *fresh;
    gx_status s = gx_domain_create(b->ctx, &desc, &fresh);
    if (s != GX_OK)
        return cli_call_failed(s);
    t->params.ntt.domain = fresh;
    uint64_t start = now_ns();
    s = gx_run(b->ctx, &t->job, 1, &opts, &report);
    *ns = (double)(now_ns() - start);
    t->params.ntt.domain = usual;
    gx_domain_destroy(&fresh);
    return s == GX_OK ? EXIT_DONE : cli_job_failed(&report);
}

/* Calls without reports, which cost timestamps on a GPU, and a few with them for device_ms. */
static gx_status time_calls(benchmark *b, const transform *t, measurement *m, gx_report *report)
{
    measurement reported;
    measure_plan bare = b->plan, few = b->plan;
    bare.bare = true;
    few.samples = few.samples < REPORTED ? few.samples : REPORTED;
    gx_status s = measure_job(b->ctx, &t->job, b->device, &few, &reported, report);
    if (s == GX_OK)
        s = measure_job(b->ctx, &t->job, b->device, &bare, m, report);
    if (s == GX_OK)
        m->stage_ns[STAGE_COMPUTE] = reported.stage_ns[STAGE_COMPUTE];
    return s;
}

static int time_row(benchmark *b, transform *t)
{
    measurement m;
    double first_ns = 0;
    gx_report report = {.struct_size = sizeof report};
    int rc = check_cell(b->ctx, b->device, &t->job, &t->host);
    if (rc != EXIT_DONE)
        return rc;
    if (time_calls(b, t, &m, &report) != GX_OK)
        return cli_job_failed(&report);
    rc = time_first(b, t, &first_ns);
    return rc != EXIT_DONE ? rc : show(b, t, &m, first_ns) ? EXIT_DONE : EXIT_FAILED;
}

static int bench_row(benchmark *b, transform *t)
{
    double expected_s = b->ns_per_butterfly * butterflies(t) / 1e9;
    if (!b->opts->sizes.count && expected_s > CALL_LIMIT_S) {
        cli_error("skipped transforms of 2^%u on %s: one call would take %.0f s; request them with "
                  "-n %zu",
                  t->log2_n, b->device, expected_s, (size_t)1 << t->log2_n);
        return EXIT_DONE;
    }
    t->host = job_make(&b->arrays, GX_NTT, (size_t)1 << t->log2_n, &t->params);
    t->host.n = t->batch << t->log2_n;
    t->params.ntt.flags = orders[t->order].flags;
    t->job = t->host;
    gx_status s = GX_OK;
    if (t->place)
        s = job_buffers_make(&t->buffers, b->ctx, b->device, &t->host, &t->job);
    int rc = s == GX_OK ? time_row(b, t) : cli_call_failed(s);
    job_buffers_free(&t->buffers);
    progress_add(1);
    return rc;
}

/* The CPU has only one place. */
static size_t place_count(const benchmark *b)
{
    return b->is_cpu ? 1 : PLACES;
}

static int bench_sizes(benchmark *b)
{
    int rc = EXIT_DONE;
    for (size_t p = 0; p < place_count(b); p++)
        for (size_t o = 0; o < ORDERS; o++) {
            b->ns_per_butterfly = 0;
            for (size_t i = 0; rc == EXIT_DONE && i < b->sizes.count; i++) {
                transform t = {.place = p, .order = o, .batch = 1};
                t.log2_n = log2_of(b->sizes.values[i]);
                rc = bench_row(b, &t);
                t.batch = BATCH;
                if (rc == EXIT_DONE && t.log2_n == BATCH_LOG2)
                    rc = bench_row(b, &t);
            }
        }
    return rc;
}

/* Elements of the largest row. */
static uint64_t most_elements(const benchmark *b)
{
    uint64_t most = number_list_max(&b->sizes);
    for (size_t i = 0; i < b->sizes.count; i++)
        if (b->sizes.values[i] == 1 << BATCH_LOG2 && most < (uint64_t)BATCH << BATCH_LOG2)
            most = (uint64_t)BATCH << BATCH_LOG2;
    return most;
}

static int bench_field(benchmark *b, gx_field field)
{
    bool made =
        job_arrays_make(&b->arrays, b->ctx, field, 1u << GX_NTT, most_elements(b), b->opts->seed);
    int rc = made ? bench_sizes(b) : cli_no_memory();
    job_arrays_free(&b->arrays);
    return rc;
}

/* The device with so many threads; 0: all. */
static int bench_device(benchmark *b, uint32_t threads)
{
    common_opts common = *b->common;
    common.config.threads = threads;
    int rc = cli_open(&common, &b->ctx);
    for (gx_field f = 1; rc == EXIT_DONE && gx_field_get_info(f); f++)
        if (b->fields >> f & 1 && gx_op_exists(GX_NTT, f))
            rc = bench_field(b, f);
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

static int check_options(const benchmark *b)
{
    bool any = false;
    for (gx_field f = 1; gx_field_get_info(f); f++)
        any |= b->fields >> f & 1 && gx_op_exists(GX_NTT, f);
    if (!any)
        return cli_usage("--field: choose from bls12-381-fr and bn254-fr");
    for (size_t i = 0; i < b->sizes.count; i++)
        for (gx_field f = 1; gx_field_get_info(f); f++)
            if (b->fields >> f & 1 && gx_op_exists(GX_NTT, f) &&
                job_size(GX_NTT, f, b->sizes.values[i]) != b->sizes.values[i])
                return cli_usage("-n: transforms have sizes that are powers of two, up to 2^%u",
                                 gx_field_get_info(f)->two_adicity);
    return EXIT_DONE;
}

static int run_ntt(const common_opts *common)
{
    benchmark b = {
        .common = common,
        .opts = &opts,
        .plan = {.samples = opts.samples ? opts.samples : DEFAULT_SAMPLES,
                 .budget_s = opts.samples ? 0 : CELL_BUDGET_S,
                 .shortest_ns = 200e3},
        .fields = opts.fields ? opts.fields : 1u << GX_BLS12_381_FR,
        .sizes = opts.sizes.count ? opts.sizes : default_sizes,
    };
    target_list targets = {0};
    gx_ctx *ctx = NULL;
    int rc = check_options(&b);
    if (rc == EXIT_DONE)
        rc = cli_open(common, &ctx);
    if (rc == EXIT_DONE)
        rc = target_list_get(ctx, common, TARGETS_AUTOMATIC, &targets);
    rc = cli_close(&ctx, rc);
    columns[0].width = targets.width;
    if (rc == EXIT_DONE &&
        !(b.out = output_open((output_format)common->format, suite_ntt.name, columns, COLUMNS)))
        rc = cli_no_memory();
    if (rc == EXIT_DONE) {
        progress_start("measuring", 0, "rows");
        rc = bench_targets(&b, &targets);
        progress_end();
        rc = output_close(b.out) || rc != EXIT_DONE ? rc : EXIT_FAILED;
    }
    target_list_free(&targets);
    return rc;
}

const command suite_ntt = {
    .name = "ntt",
    .summary = "forward transforms by size and order",
    .about =
        "Forward transforms of BLS12-381 Fr (or of --field) by size, from host memory and in\n"
        "buffers, on the CPU with one thread and with all; 2^16 also as a batch of 256. Each "
        "result\n"
        "is checked first:\n"
        "\n"
        "  order                   of input and output: nn natural, nr bit-reversed output, which\n"
        "                          needs no permutation\n"
        "  ms, device ms           time of one gx_run call, and of the device by its own clock\n"
        "  ns/bfly                 time per butterfly; a transform of n elements has n/2 log2 n\n"
        "  first ms                first call with a new domain, which makes its tables",
    .examples = "  bench-suites ntt --device vulkan:0 -n 64K,1M,16M\n",
    .options = OPTION_TABLE(options),
    .formats = true,
    .run = run_ntt,
};
