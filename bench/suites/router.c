/* SPDX-License-Identifier: Apache-2.0
 *
 * Suite router of bench-suites: every candidate device at every size, the router's choice, and how
 * much slower that is than the best device (its regret). Crossovers follow from the same
 * measurements. This file has what its parts share (suite_router.h); they are in
 * router_cells.c and router_rows.c.
 */
#include "router.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "check.h"
#include "clock.h"
#include "model_rows.h"
#include "progress.h"

enum {
    SAMPLES_MIN = 5,
    MORE = 64, /* factor for the number of samples if they scatter, */
    LATER = 4, /* and for the time limit */
    LOOK_EVERY = 8,
    FAR_BEHIND = 8, /* slower than the fastest by this factor: few samples suffice */
    PERIOD = 65537  /* random elements, repeated; not a multiple of any piece size */
};

/* Minimum length of a sample, for the clock. */
#define SHORTEST_NS 20000.0
/* Half-width of the 95 % interval of a ratio of two medians. */
#define UNCERTAIN 0.05
/* This much work raises the clocks again. */
#define WARM_NS 20000000u

/* Points of msm, at most. */
#define POINTS_MAX ((size_t)1 << 18)

const router_series router_all[ROUTER_SERIES] = {{GX_ADD, 0}, {GX_MUL, 0}, {GX_INV, 0},
                                                 {GX_NTT, 0}, {GX_MSM, 1}, {GX_MSM, 2}};

static suite_opts opts = {.seed = 1};

static const option_row options[] = {
    OPTION_FIELDS(&opts.fields, "fields to measure, or all (default: the two BLS12-381 fields)"),
    OPTION_OPS(&opts.ops, "operations to measure (add,mul,inv,ntt,msm)"),
    SUITE_ROWS(&opts, "elements per job (64,256,1K,...,16M)"),
};

static const number_list default_sizes = {
    10, {64, 256, 1024, 4096, 16384, 65536, 262144, 1048576, 4194304, 16777216}};

static const column columns[ROUTER_COLUMNS] = {
    [ROUTER_PART] = COLUMN(TEXT, "part", "part", 9),
    [ROUTER_WHAT] = COLUMN(TEXT, "what", "what", 44),
    [ROUTER_WHERE] = COLUMN(TEXT, "where", "operands", 17),
    [ROUTER_FIELD] = COLUMN(TEXT, "field", "field", 12),
    [ROUTER_OP] = COLUMN(TEXT, "op", "op", 4),
    [ROUTER_CURVE] = COLUMN(TEXT, "curve", "curve", 12),
    [ROUTER_ELEMENTS] = COLUMN(COUNT, "elements", "size", 9),
    [ROUTER_DEVICE] = COLUMN(TEXT, "device", "device", 16),
    [ROUTER_SAMPLES] = COLUMN(COUNT, "samples", "n", 5, .flags = COL_WIDE),
    [ROUTER_MEDIAN] = COLUMN(REAL, "median_us", "median us", 11, .decimals = 1),
    [ROUTER_P90] = COLUMN(REAL, "p90_us", "P90 us", 11, .decimals = 1, .flags = COL_WIDE),
    [ROUTER_MIN] = COLUMN(REAL, "min_us", "min us", 11, .decimals = 1, .flags = COL_WIDE),
    [ROUTER_MAX] = COLUMN(REAL, "max_us", "max us", 11, .decimals = 1, .flags = COL_WIDE),
    [ROUTER_PREDICTED] =
        COLUMN(REAL, "predicted_us", "predicted", 11, .decimals = 1, .flags = COL_WIDE),
    [ROUTER_OFF] = COLUMN(REAL, "prediction_error", "off%", 8, .decimals = 1, .scale = 100),
    [ROUTER_BEST] = COLUMN(TEXT, "best", "best", 10),
    [ROUTER_BEST_US] = COLUMN(REAL, "best_us", "best us", 11, .decimals = 1),
    [ROUTER_CHOSEN] = COLUMN(TEXT, "chosen", "chosen", 14),
    [ROUTER_REASON] = COLUMN(TEXT, "reason", "why", 8),
    [ROUTER_REGRET] = COLUMN(REAL, "regret", "regret%", 8, .decimals = 1, .scale = 100),
    [ROUTER_TIMES] = COLUMN(REAL, "speedup", "times", 7, .decimals = 2),
    [ROUTER_VALUE] = COLUMN(REAL, "value", "value", 9, .decimals = 3),
};

/* ---- rows ---- */

bool router_show(router *r, const router_row *row)
{
    const router_way *w = row->way;
    const char *curve = row->curve ? gx_curve_get_info(row->curve)->name : NULL;
    const char *field = row->field ? gx_field_get_info(row->field)->name : NULL;
    bool wide = r->common->format == OUT_CSV || r->common->format == OUT_JSON;
    const cell all[ROUTER_COLUMNS] = {
        [ROUTER_PART] = CELL_TEXT(r->part->name),
        [ROUTER_WHAT] = text_or_none(row->what),
        [ROUTER_WHERE] = text_or_none(row->where),
        [ROUTER_FIELD] = text_or_none(curve && !wide ? curve : field),
        [ROUTER_OP] = text_or_none(row->op ? gx_op_get_info(row->op)->name : NULL),
        [ROUTER_CURVE] = text_or_none(curve),
        [ROUTER_ELEMENTS] = count_or_none(row->elements),
        [ROUTER_DEVICE] = text_or_none(row->device ? row->device
                                       : w         ? w->name
                                                   : NULL),
        [ROUTER_SAMPLES] = count_or_none(w ? w->samples : 0),
        [ROUTER_MEDIAN] = real_or_none(w ? w->ns.median / 1e3 : NAN),
        [ROUTER_P90] = real_or_none(w ? w->ns.p90 / 1e3 : NAN),
        [ROUTER_MIN] = real_or_none(w ? w->ns.min / 1e3 : NAN),
        [ROUTER_MAX] = real_or_none(w ? w->ns.max / 1e3 : NAN),
        [ROUTER_PREDICTED] = real_or_none(row->predicted / 1e3),
        [ROUTER_OFF] = real_or_none(row->off),
        [ROUTER_BEST] = text_or_none(row->best),
        [ROUTER_BEST_US] = row->best ? CELL_REAL(row->best_ns / 1e3) : CELL_MISSING,
        [ROUTER_CHOSEN] = text_or_none(row->chosen),
        [ROUTER_REASON] = text_or_none(row->reason),
        [ROUTER_REGRET] = real_or_none(row->regret),
        [ROUTER_TIMES] = real_or_none(row->times),
        [ROUTER_VALUE] = real_or_none(row->value),
    };
    return parts_row(&r->tables, all);
}

int router_begin(router *r, const router_part *part)
{
    r->part = part;
    return parts_begin(&r->tables, part->title, part->columns);
}

void router_chosen(const gx_report *report, bool shares, char *text, size_t size)
{
    size_t used = 0;
    uint64_t all = 0;
    text[0] = 0;
    for (uint32_t i = 0; i < report->candidates; i++)
        all += report->candidate[i].elements;
    for (uint32_t i = 0; i < report->candidates && used < size; i++) {
        const gx_candidate *c = &report->candidate[i];
        if (!c->elements)
            continue;
        used += (size_t)snprintf(text + used, size - used, "%s%s", used ? "+" : "", c->device);
        if (shares && c->elements < all && used < size)
            used += (size_t)snprintf(text + used, size - used, " %.0f%%",
                                     100 * (double)c->elements / (double)all);
    }
    if (!used)
        snprintf(text, size, "%s", report->device);
}

/* ---- calls ---- */

bool router_wants(const router *r, gx_op op, gx_field field)
{
    return (!r->opts->ops || r->opts->ops >> op & 1) && gx_op_exists(op, field);
}

gx_curve router_curve(gx_field field, const router_series *series)
{
    gx_curve curve = 0;
    for (unsigned i = 0; i < series->curve && (curve || !i); i++)
        curve = job_curve(field, curve);
    return curve;
}

gx_job router_job(router *r, const router_series *series, size_t n)
{
    const gx_op op = series->op;
    gx_job job = {.op = op, .field = r->field, .n = n};
    job.a = gx_host(r->operand[0]);
    if (gx_op_get_info(op)->operands > 1)
        job.b = gx_host(r->operand[1]);
    job.out = gx_host(r->result);
    const job_arrays arrays = {.domain = r->domain,
                               .points = series->curve ? r->points[series->curve - 1] : NULL};
    if (gx_op_get_info(op)->params)
        job_set_params(&job, &arrays, &r->params[log2_of(n)]);
    return job;
}

/* Copies the operands of a job from a buffer, or its result to it. */
static gx_status move(const router *r, const router_way *way, bool in)
{
    const gx_job *job = way->jobs;
    size_t bytes = job->n * r->element_bytes;
    unsigned operands = gx_op_get_info(job->op)->operands;
    gx_status s = GX_OK;
    if (!in)
        return gx_buf_write(way->moved, operands * bytes, r->result, gx_operand_bytes(job, 'o'));
    for (unsigned k = 0; k < operands && k < 2 && s == GX_OK; k++)
        s = gx_buf_read(way->moved, k * bytes, r->operand[k], bytes);
    return s;
}

int router_failed(gx_status status, const gx_report *reports, size_t count)
{
    for (size_t i = 0; reports && i < count; i++)
        if (reports[i].status == status)
            return cli_job_failed(&reports[i]);
    cli_error("%s", gx_status_message(status));
    return EXIT_FAILED;
}

int router_call(router *r, const router_way *way, gx_report *reports)
{
    gx_status s = way->moved ? move(r, way, true) : GX_OK;
    if (s != GX_OK)
        return router_failed(s, NULL, 0);
    s = gx_run(r->ctx, way->jobs, way->count, &way->opts, reports);
    if (s != GX_OK)
        return router_failed(s, reports, way->count);
    s = way->moved ? move(r, way, false) : GX_OK;
    return s == GX_OK ? EXIT_DONE : router_failed(s, NULL, 0);
}

static int warm_up(router *r, const router_way *way)
{
    int rc;
    uint64_t start = now_ns();
    do
        rc = router_call(r, way, NULL);
    while (rc == EXIT_DONE && now_ns() - start < WARM_NS);
    return rc;
}

/* The previous variant left foreign data in the caches, threads asleep or clocks lowered. An
 * uncounted call comes first, so that this is not charged to this variant. */
static int take_sample(router *r, const router_way *way, size_t calls, double *ns)
{
    int rc = way->warm ? warm_up(r, way) : router_call(r, way, NULL);
    uint64_t start = now_ns();
    for (size_t i = 0; rc == EXIT_DONE && i < calls; i++)
        rc = router_call(r, way, NULL);
    *ns = (double)(now_ns() - start) / (double)calls;
    return rc;
}

static double ns[ROUTER_WAYS_MAX][SAMPLES_MAX];

static double uncertainty(const stats *s)
{
    return (s->high - s->low) / 2 / s->median;
}

static void sum_up(router_way *ways, size_t count)
{
    for (size_t i = 0; i < count; i++)
        ways[i].ns = stats_of(ns[i], ways[i].samples);
}

/* Whether the ratio of the last variant to the best of the others is known well enough. */
static bool well_known(router_way *ways, size_t count)
{
    size_t best = 0;
    sum_up(ways, count);
    for (size_t i = 1; i + 1 < count; i++)
        best = ways[i].ns.median < ways[best].ns.median ? i : best;
    return uncertainty(&ways[best].ns) + uncertainty(&ways[count - 1].ns) < UNCERTAIN;
}

/* As many rounds as requested, within the time limit; more if the times scatter. */
static bool enough(const router *r, router_way *ways, size_t count, size_t rounds, size_t samples,
                   double budget_s, uint64_t start)
{
    double spent = (double)(now_ns() - start) / 1e9 / budget_s;
    if (r->opts->samples)
        return rounds >= r->opts->samples;
    if (rounds < SAMPLES_MIN || (rounds < samples && spent < 1))
        return false;
    if (rounds >= MORE * samples || rounds >= SAMPLES_MAX || spent >= LATER)
        return true;
    return rounds % LOOK_EVERY == 0 && well_known(ways, count);
}

/* Runs all variants once to determine the calls per sample. */
static int try_out(router *r, router_way *ways, size_t count)
{
    int rc = EXIT_DONE;
    for (size_t i = 0; rc == EXIT_DONE && i < count; i++) {
        rc = take_sample(r, &ways[i], 1, &ns[i][0]);
        ways[i].calls = ns[i][0] < SHORTEST_NS ? (size_t)(SHORTEST_NS / (ns[i][0] + 1)) + 1 : 1;
        ways[i].samples = 0;
        ways[i].far_behind = false;
    }
    return rc;
}

/* Evaluates the first samples; the last variant is the one of interest. */
static void find_far_behind(router_way *ways, size_t count)
{
    double least = INFINITY;
    sum_up(ways, count);
    for (size_t i = 0; i < count; i++)
        least = fmin(least, ways[i].ns.median);
    for (size_t i = 0; i + 1 < count; i++)
        ways[i].far_behind = ways[i].ns.median > FAR_BEHIND * least;
}

static int take_round(router *r, router_way *ways, size_t count, size_t round)
{
    int rc = EXIT_DONE;
    if (round == SAMPLES_MIN && !r->opts->samples)
        find_far_behind(ways, count);
    for (size_t i = 0; rc == EXIT_DONE && i < count; i++) {
        size_t at = round % 2 ? count - 1 - i : i;
        router_way *way = &ways[at];
        if (!way->far_behind)
            rc = take_sample(r, way, way->calls, &ns[at][way->samples++]);
    }
    return rc;
}

int router_time(router *r, router_way *ways, size_t count, size_t samples, double budget_s)
{
    int rc = try_out(r, ways, count);
    uint64_t start = now_ns();
    for (size_t round = 0;
         rc == EXIT_DONE && !enough(r, ways, count, round, samples, budget_s, start); round++)
        rc = take_round(r, ways, count, round);
    if (rc == EXIT_DONE)
        sum_up(ways, count);
    return rc;
}

/* ---- calibration ---- */

static bool is_known(const model_rows *known, const char *device, gx_field field,
                     const router_series *series)
{
    for (size_t i = 0; i < known->count; i++) {
        const model_row *row = &known->row[i];
        if (row->field == field && row->op == series->op && !strcmp(row->memory, "host") &&
            row->curve == router_curve(field, series) && !strcmp(row->device, device))
            return true;
    }
    return false;
}

/* Whether there are measurements of all that is wanted, on points of the second curves or other. */
static bool all_known(const router *r, const gx_field *fields, size_t field_count, bool second)
{
    model_rows rows;
    bool known = model_read(r->ctx, &rows) == EXIT_DONE && rows.count;
    for (size_t f = 0; known && f < field_count; f++)
        for (size_t s = 0; s < ROUTER_SERIES; s++)
            for (size_t i = 0; i < r->candidates; i++)
                known &= (router_all[s].curve == 2) != second ||
                         !router_wants(r, router_all[s].op, fields[f]) ||
                         is_known(&rows, r->names[i], fields[f], &router_all[s]);
    model_free(&rows);
    return known;
}

static int calibration_at(void *user, double done, const char *device, const char *what)
{
    (void)user;
    (void)device;
    (void)what;
    progress_at((uint64_t)(done * 1000));
    return 0;
}

/* Calibrates unless there is a model; points of second curves only if msm is named there. Planning
 * a job opens the devices and loads their files. */
static int calibrate(router *r, const gx_field *fields, size_t field_count)
{
    static const gx_op msm = GX_MSM;
    gx_estimate_info info = {.struct_size = sizeof info};
    gx_job job = router_job(r, &router_all[0], r->room);
    gx_status s = gx_estimate(r->ctx, &job, 1, NULL, &info);
    for (int second = 0; second < 2 && s == GX_OK; second++) {
        if (all_known(r, fields, field_count, second))
            continue;
        gx_calibrate_params settings = {.ops = second ? &msm : NULL,
                                        .op_count = second ? 1 : 0,
                                        .fields = fields,
                                        .field_count = field_count,
                                        .max_elems = r->room,
                                        .progress = calibration_at};
        progress_start("calibrating", 1000, "steps");
        s = gx_calibrate(r->ctx, &settings);
        progress_end();
        s = s == GX_ERR_FILE ? GX_OK : s; /* unsaved, but known to this context */
    }
    return s == GX_OK ? EXIT_DONE : router_failed(s, NULL, 0);
}

/* ---- arrays and devices ---- */

/* Enough for the largest size of msm. */
static bool make_points(router *r, gx_field field)
{
    size_t n = r->room < POINTS_MAX || r->opts->sizes.count ? r->room : POINTS_MAX;
    for (unsigned i = 0; i < ROUTER_CURVES; i++)
        gx_points_destroy(&r->points[i]);
    for (size_t s = 0; s < ROUTER_SERIES; s++) {
        const gx_curve curve = router_curve(field, &router_all[s]);
        if (curve && router_wants(r, GX_MSM, field) &&
            !(r->points[router_all[s].curve - 1] = job_points(r->ctx, curve, n)))
            return false;
    }
    return true;
}

int router_fill(router *r, gx_field field)
{
    size_t block = r->room < PERIOD ? r->room : PERIOD;
    r->field = field;
    r->element_bytes = gx_field_get_info(field)->element_bytes;
    for (unsigned k = 0; k < 2; k++) {
        data_random(field, r->operand[k], block, r->opts->seed + k);
        for (size_t at = block; at < r->room; at += block) {
            size_t n = r->room - at < block ? r->room - at : block;
            memcpy(r->operand[k] + at * r->element_bytes, r->operand[k], n * r->element_bytes);
        }
    }
    memset(r->result, 0, r->room * r->element_bytes);
    /* without one, its jobs say so */
    const gx_domain_params desc = {.struct_size = sizeof desc,
                                   .field = field,
                                   .log2_size = log2_of(job_size(GX_NTT, field, r->room))};
    gx_domain_destroy(&r->domain);
    if (gx_op_exists(GX_NTT, field))
        gx_domain_create(r->ctx, &desc, &r->domain);
    return make_points(r, field) ? EXIT_DONE : cli_no_memory();
}

int router_register(router *r, bool on)
{
    unsigned char *const arrays[] = {r->operand[0], r->operand[1], r->result};
    gx_status s = GX_OK;
    for (size_t i = 0; i < 3 && s == GX_OK; i++)
        s = on ? gx_host_register(r->ctx, arrays[i], r->room * r->element_bytes)
               : gx_host_unregister(r->ctx, arrays[i]);
    return s == GX_OK ? EXIT_DONE : router_failed(s, NULL, 0);
}

static int by_value(const void *a, const void *b)
{
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return (x > y) - (x < y);
}

static bool make_arrays(router *r)
{
    unsigned char **const arrays[] = {&r->operand[0], &r->operand[1], &r->result};
    qsort(r->sizes.values, r->sizes.count, sizeof *r->sizes.values, by_value);
    r->room = r->sizes.values[r->sizes.count - 1];
    for (size_t i = 0; i < 3; i++)
        if (!(*arrays[i] = data_alloc(r->room * ELEMENT_BYTES_MAX + POINT_BYTES_MAX)))
            return false;
    return true;
}

static void add_candidate(router *r, const char *name, size_t length)
{
    if (r->candidates == GX_CANDIDATES_MAX)
        return;
    if (length == 3 && !strncmp(name, "cpu", 3))
        r->cpu = r->candidates;
    snprintf(r->names[r->candidates++], sizeof *r->names, "%.*s", (int)length, name);
}

/* Same rule as for gx_config.device. */
static int find_candidates(router *r)
{
    const char *named = cli_named_device(r->common);
    r->cpu = GX_CANDIDATES_MAX;
    if (named && !strchr(named, ','))
        return cli_usage("this compares devices: give --device a list, such as "
                         "cpu,vulkan:0, or omit it");
    for (const char *p = named; p; p = strchr(p, ',') ? strchr(p, ',') + 1 : NULL)
        add_candidate(r, p, strcspn(p, ","));
    device_list all = {0};
    int rc = named ? EXIT_DONE : device_list_get(r->ctx, &all);
    for (size_t i = 0; i < all.count; i++)
        if (all.infos[i].automatic && all.infos[i].usable)
            add_candidate(r, all.infos[i].name, strlen(all.infos[i].name));
    device_list_free(&all);
    return rc;
}

static size_t fields_wanted(const router *r, gx_field *fields)
{
    uint32_t mask =
        r->opts->fields ? r->opts->fields : 1u << GX_BLS12_381_FQ | 1u << GX_BLS12_381_FR;
    size_t count = 0;
    for (unsigned f = 1; f < 32; f++)
        if (mask >> f & 1)
            fields[count++] = (gx_field)f;
    return count;
}

static int bench_all(router *r)
{
    gx_field fields[32];
    size_t count = fields_wanted(r, fields);
    size_t wheres = 2 + r->candidates - (r->cpu < r->candidates);
    size_t room = wheres * count * ROUTER_SERIES * r->sizes.count;
    r->cells = calloc(room, sizeof *r->cells);
    if (!r->cells || !make_arrays(r))
        return cli_no_memory();
    int rc = router_fill(r, fields[0]);
    if (rc == EXIT_DONE)
        rc = calibrate(r, fields, count);
    progress_start("measuring", room + router_rows_steps(r), "groups of rows");
    if (rc == EXIT_DONE)
        rc = router_table(r, fields, count);
    if (rc == EXIT_DONE)
        rc = router_crossovers(r);
    if (rc == EXIT_DONE)
        rc = router_rows(r);
    if (rc == EXIT_DONE)
        rc = router_summary(r);
    progress_end();
    return parts_end(&r->tables, rc);
}

static bool is_measured(gx_op op)
{
    for (size_t i = 0; i < ROUTER_SERIES; i++)
        if (router_all[i].op == op)
            return true;
    return false;
}

static int run_router(const common_opts *common)
{
    router r = {.common = common,
                .opts = &opts,
                .sizes = opts.sizes.count ? opts.sizes : default_sizes,
                .tables = {.suite = suite_router.name,
                           .format = (output_format)common->format,
                           .columns = columns,
                           .count = ROUTER_COLUMNS}};
    for (unsigned op = 1; op < 32; op++)
        if (opts.ops >> op & 1 && !is_measured((gx_op)op))
            return cli_usage("--op: choose from add mul inv ntt msm");
    int rc = cli_open(common, &r.ctx);
    if (rc == EXIT_DONE)
        rc = find_candidates(&r);
    if (rc == EXIT_DONE)
        rc = bench_all(&r);
    gx_domain_destroy(&r.domain);
    for (unsigned i = 0; i < ROUTER_CURVES; i++)
        gx_points_destroy(&r.points[i]);
    rc = cli_close(&r.ctx, rc);
    data_free(r.operand[0]);
    data_free(r.operand[1]);
    data_free(r.result);
    free(r.cells);
    return rc;
}

const command suite_router = {
    .name = "router",
    .summary = "the router's choice beside every device alone",
    .about =
        "Calibrates if necessary, then times each candidate device and the router's choice\n"
        "alternately: add, mul, inv and ntt (one transform) on the two BLS12-381 fields, msm with\n"
        "points of G1 and of G2 (256 to 256K, as long as a call takes less than 2 s), on host\n"
        "memory, registered memory and buffers of each GPU. --device takes a list: cpu,vulkan:0.\n"
        "Tables:\n"
        "\n"
        "  regret                  time of the router's choice relative to the best device,\n"
        "                          minus 1; off%: prediction error; for data in buffers, CPU\n"
        "                          times include the copies\n"
        "  crossover               smallest size at which a GPU beats the CPU, and is used\n"
        "  rows                    a 16M job on all devices together; 32 products on resident\n"
        "                          data; cost of a decision\n"
        "  summary                 median and worst regret, prediction error, and the share of\n"
        "                          decisions taken without measurements",
    .examples = "  bench-suites router --device cpu,vulkan:0 -n 64,4K,64K\n",
    .options = OPTION_TABLE(options),
    .formats = true,
    .run = run_router,
};
