/* SPDX-License-Identifier: Apache-2.0
 *
 * Suite engine of bench-suites: batches, pools, pipelines and streams. This file has what its
 * parts share (engine.h); the parts are in engine_batches.c and engine_streams.c.
 */
#include "engine.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "clock.h"
#include "counters.h"
#include "progress.h"

enum {
    SAMPLES_MIN = 3,
    OWN_CALL_NS = 20000000, /* of a call so long that one warm-up call takes less than a percent */
    PERIOD = 65537          /* random elements, repeated; not a multiple of any piece size */
};

#define GIB ((uint64_t)1 << 30)
#define MIB ((uint64_t)1 << 20)

#define POINTER(name) &engine_##name,
static const engine_part *const parts[] = {ENGINE_PART_LIST(POINTER)};
enum { PARTS = sizeof parts / sizeof *parts };

static suite_opts opts = {.seed = 1};

static const option_row options[] = {
    OPTION_FIELDS(&opts.fields, "field of the jobs (bls12-381-fq)"),
    OPTION_OPS(&opts.ops, "operation of the jobs (add)"),
    SUITE_ROWS(&opts, "elements per job (16K,64K,256K,1M)"),
    OPTION_NUMBERS("jobs", "N[,N...]", &opts.jobs, 1, 64, "jobs per batch (2,3,4,8,16)"),
    SUITE_ROW_PARTS(&opts, ENGINE_PART_LIST(SUITE_WORD)),
    OPTION_NUMBER("stream", "BYTES", &opts.stream_bytes, 1, (uint64_t)1 << 40,
                  "total input of the stream (4G; less without a GPU)"),
    OPTION_FLAG("stats", &opts.stats,
                "print the library's counters after the suite; with --csv and --json to "
                "standard error"),
};

static const number_list default_jobs = {5, {2, 3, 4, 8, 16}};
static const number_list default_sizes = {4, {16384, 65536, 262144, 1048576}};

static column columns[ENGINE_COLUMNS] = {
    [ENGINE_DEVICE] = {.key = "device", .title = "device", .kind = COL_TEXT, .flags = COL_WIDE},
    [ENGINE_PART] = COLUMN(TEXT, "part", "part", 7),
    [ENGINE_WHAT] = COLUMN(TEXT, "what", "what", 28),
    [ENGINE_MODE] = COLUMN(TEXT, "mode", "mode", 13),
    [ENGINE_JOBS] = COLUMN(COUNT, "jobs", "jobs", 4),
    [ENGINE_ELEMENTS] = COLUMN(COUNT, "elements", "size", 9),
    [ENGINE_SAMPLES] = COLUMN(COUNT, "samples", "n", 4, .flags = COL_WIDE),
    [ENGINE_MEDIAN] = COLUMN(REAL, "median_us", "median us", 11, .decimals = 1),
    [ENGINE_P90] = COLUMN(REAL, "p90_us", "P90 us", 11, .decimals = 1, .flags = COL_WIDE),
    [ENGINE_MIN] = COLUMN(REAL, "min_us", "min us", 11, .decimals = 1, .flags = COL_WIDE),
    [ENGINE_MAX] = COLUMN(REAL, "max_us", "max us", 11, .decimals = 1, .flags = COL_WIDE),
    [ENGINE_PER_JOB] = COLUMN(REAL, "per_job_us", "per job us", 10, .decimals = 1),
    [ENGINE_SPEEDUP] = COLUMN(REAL, "speedup", "times", 6, .decimals = 2),
    [ENGINE_CHOSEN] = COLUMN(TEXT, "chosen", "chosen", 13),
    [ENGINE_OF_BEST] = COLUMN(REAL, "of_best", "of best", 7, .decimals = 3),
    [ENGINE_POOL] = COLUMN(REAL, "pool_hit_rate", "pool%", 6, .decimals = 1, .scale = 100),
    [ENGINE_COMMANDS] = COLUMN(REAL, "command_hit_rate", "ready%", 6, .decimals = 1, .scale = 100),
    [ENGINE_BUCKETS] = COLUMN(TEXT, "buckets", "buckets", 16, .flags = COL_WIDE),
    [ENGINE_IN] = COLUMN(REAL, "in_gb_per_s", "in GB/s", 8, .decimals = 2),
    [ENGINE_OUT] = COLUMN(REAL, "out_gb_per_s", "out GB/s", 8, .decimals = 2),
};

/* ---- rows ---- */

bool engine_show(engine *e, const engine_row *row)
{
    if (e->take)
        return e->take(e->taker, e->part->name, row);
    const cell all[ENGINE_COLUMNS] = {
        [ENGINE_DEVICE] = CELL_TEXT(e->device),
        [ENGINE_PART] = CELL_TEXT(e->part->name),
        [ENGINE_WHAT] = text_or_none(row->what),
        [ENGINE_MODE] = text_or_none(row->mode),
        [ENGINE_JOBS] = count_or_none(row->jobs),
        [ENGINE_ELEMENTS] = count_or_none(row->elements),
        [ENGINE_SAMPLES] = CELL_COUNT(row->samples),
        [ENGINE_MEDIAN] = CELL_REAL(row->ns.median / 1e3),
        [ENGINE_P90] = CELL_REAL(row->ns.p90 / 1e3),
        [ENGINE_MIN] = CELL_REAL(row->ns.min / 1e3),
        [ENGINE_MAX] = CELL_REAL(row->ns.max / 1e3),
        [ENGINE_PER_JOB] =
            row->jobs ? CELL_REAL(row->ns.median / 1e3 / (double)row->jobs) : CELL_MISSING,
        [ENGINE_SPEEDUP] = real_or_none(row->speedup),
        [ENGINE_CHOSEN] = text_or_none(row->chosen),
        [ENGINE_OF_BEST] = real_or_none(row->of_best),
        [ENGINE_POOL] = real_or_none(row->pool),
        [ENGINE_COMMANDS] = real_or_none(row->commands),
        [ENGINE_BUCKETS] = text_or_none(row->buckets),
        [ENGINE_IN] = real_or_none(row->in),
        [ENGINE_OUT] = real_or_none(row->out),
    };
    return parts_row(&e->tables, all);
}

/* ---- what would take too long ---- */

void engine_learn(engine *e, double ns, uint64_t elements)
{
    e->ns_per_element = ns / (double)elements;
}

bool engine_skips(const engine *e, uint64_t elements, engine_row *row)
{
    double ms = e->ns_per_element * (double)elements / 1e6;
    if (!e->opts->skip_ms || ms <= (double)e->opts->skip_ms)
        return false;
    row->skipped_ms = ms;
    return true;
}

/* ---- jobs ---- */

gx_job engine_job(const engine *e, size_t first, size_t n)
{
    gx_job job = {.op = e->op, .field = e->field, .n = n};
    gx_operand *const to[] = {&job.a, &job.b, &job.c};
    for (unsigned k = 0; k < e->operands && k < 3; k++)
        *to[k] = gx_host(e->operand[k] + first * e->element_bytes);
    job.out = gx_host(e->result + first * e->element_bytes);
    return job;
}

size_t engine_jobs(const engine *e, const uint64_t *sizes, size_t count, gx_job *jobs)
{
    size_t first = 0;
    for (size_t i = 0; i < count; first += sizes[i++])
        jobs[i] = engine_job(e, first, sizes[i]);
    return first;
}

static gx_report reports[ENGINE_JOBS_MAX] = {{.struct_size = sizeof *reports}};

/* The report with the reason: jobs that were not run have none. */
static int call_failed(size_t count)
{
    size_t at = 0;
    for (size_t i = count; i-- > 0;)
        if (reports[i].status != GX_OK && reports[i].status != GX_ERR_NOT_RUN)
            at = i;
    return cli_job_failed(&reports[at]);
}

static int call_jobs(gx_ctx *ctx, const contender *c, const gx_run_params *opts)
{
    size_t each = c->one_by_one ? 1 : c->count;
    for (size_t i = 0; i < c->count; i += each)
        if (gx_run(ctx, c->jobs + i, each, opts, reports) != GX_OK)
            return call_failed(each);
    return EXIT_DONE;
}

static int submit(gx_ctx *ctx, const gx_job *job, const gx_run_params *opts, gx_ticket **ticket)
{
    gx_status s = gx_submit(ctx, job, 1, opts, ticket);
    if (s == GX_OK)
        return EXIT_DONE;
    cli_error("gx_submit: %s", gx_last_message());
    return s == GX_ERR_NO_DEVICE ? EXIT_NO_DEVICE : EXIT_FAILED;
}

/* Before job i is submitted, that of the ticket in its place, c->tickets earlier, is waited for. */
static int call_tickets(gx_ctx *ctx, const contender *c, const gx_run_params *opts)
{
    gx_ticket *tickets[ENGINE_JOBS_MAX] = {NULL};
    int rc = EXIT_DONE;
    for (size_t i = 0; rc == EXIT_DONE && i < c->count + c->tickets; i++) {
        gx_ticket **ticket = &tickets[i % c->tickets];
        if (*ticket && gx_wait(*ticket, UINT64_MAX, reports) != GX_OK)
            rc = call_failed(1);
        gx_ticket_destroy(ticket);
        if (rc == EXIT_DONE && i < c->count)
            rc = submit(ctx, &c->jobs[i], opts, ticket);
    }
    for (size_t i = 0; i < c->tickets; i++)
        gx_ticket_destroy(&tickets[i]);
    return rc;
}

int engine_call(engine *e, gx_ctx *ctx, contender *c)
{
    const gx_run_params opts = {.device = e->device, .mode = c->mode, .path = c->path};
    int rc = (c->tickets ? call_tickets : call_jobs)(ctx, c, &opts);
    if (rc != EXIT_DONE)
        return rc;
    c->chosen = reports[0].mode;
    c->chosen_path = reports[0].path;
    return EXIT_DONE;
}

int engine_verify(engine *e, gx_ctx *ctx, contender *c)
{
    for (size_t i = 0; i < c->count; i++) /* stale results must not pass */
        memset(c->jobs[i].out.host, 0xa5, c->jobs[i].n * e->element_bytes);
    int rc = engine_call(e, ctx, c);
    for (size_t i = 0; rc == EXIT_DONE && i < c->count; i++) {
        check_result r = {0};
        if (check_sample(ctx, &c->jobs[i], &r) != GX_OK)
            return cli_job_failed(&r.report);
        if (!r.differs)
            continue;
        cli_error("job %zu of %zu, %s:", i + 1, c->count, gx_mode_name(c->mode));
        check_print(e->device, &r);
        rc = EXIT_DIFFERS;
    }
    return rc;
}

bool engine_enough(const engine *e, size_t taken, size_t samples, double budget_s, uint64_t start)
{
    if (e->opts->samples)
        return taken >= e->opts->samples;
    return taken >= samples ||
           (taken >= SAMPLES_MIN && (double)(now_ns() - start) / 1e9 > budget_s);
}

static int timed_call(engine *e, contender *c, double *ns)
{
    uint64_t start = now_ns();
    int rc = engine_call(e, e->ctx, c);
    *ns = (double)(now_ns() - start);
    return rc;
}

/* Forwards and backwards, so that no variant always follows the same one. Each sample also follows
 * an uncounted call of its own variant, which finds the caches and memory left by another. */
static int round_of(engine *e, contender *contenders, size_t count, size_t taken,
                    double (*ns)[SAMPLES_MAX])
{
    int rc = EXIT_DONE;
    for (size_t i = 0; rc == EXIT_DONE && i < count; i++) {
        size_t at = taken % 2 ? count - 1 - i : i;
        double *sample = &ns[at][taken];
        rc = timed_call(e, &contenders[at], sample);
        if (rc == EXIT_DONE && *sample < OWN_CALL_NS)
            rc = timed_call(e, &contenders[at], sample);
    }
    return rc;
}

static uint64_t contender_elements(const contender *c)
{
    uint64_t sum = 0;
    for (size_t i = 0; i < c->count; i++)
        sum += c->jobs[i].n;
    return sum;
}

int engine_measure(engine *e, contender *contenders, size_t count, size_t samples, double budget_s)
{
    static double ns[4][SAMPLES_MAX];
    int rc = EXIT_DONE;
    for (size_t i = 0; rc == EXIT_DONE && i < count; i++)
        rc = engine_verify(e, e->ctx, &contenders[i]);
    if (rc == EXIT_DONE) /* the second call of each variant finds what its first one left */
        rc = round_of(e, contenders, count, 0, ns);
    size_t taken = 0;
    for (uint64_t start = now_ns();
         rc == EXIT_DONE && !engine_enough(e, taken, samples, budget_s, start); taken++)
        rc = round_of(e, contenders, count, taken, ns);
    for (size_t i = 0; rc == EXIT_DONE && i < count; i++) {
        contenders[i].samples = taken;
        contenders[i].ns = stats_of(ns[i], taken);
    }
    if (rc == EXIT_DONE)
        engine_learn(e, contenders[0].ns.median, contender_elements(&contenders[0]));
    return rc;
}

/* ---- operands ---- */

static uint64_t host_memory(void)
{
    uint64_t bytes = gx__os_memory_free();
    return bytes ? bytes : 4 * GIB;
}

static void fill(const engine *e, unsigned char *to, uint64_t seed)
{
    size_t block = e->room < PERIOD ? e->room : PERIOD;
    data_random(e->field, to, block, seed);
    for (size_t at = block; at < e->room; at += block) {
        size_t n = e->room - at < block ? e->room - at : block;
        memcpy(to + at * e->element_bytes, to, n * e->element_bytes);
    }
}

static void free_arrays(engine *e)
{
    for (unsigned k = 0; k < 3; k++) {
        data_free(e->operand[k]);
        e->operand[k] = NULL;
    }
    data_free(e->result);
    e->result = NULL;
}

static bool make_arrays(engine *e)
{
    for (unsigned k = 0; k < e->operands && k < 3; k++) {
        e->operand[k] = data_alloc(e->room * e->element_bytes);
        if (!e->operand[k])
            return false;
        fill(e, e->operand[k], e->opts->seed + k);
    }
    e->result = data_alloc(e->room * e->element_bytes);
    if (e->result)
        memset(e->result, 0, e->room * e->element_bytes);
    return e->result != NULL;
}

/* ---- what fits this device and this machine ---- */

static bool part_wanted(const engine *e, const engine_part *part)
{
    return part_is_in(e->opts->parts, part->name);
}

/* Default sizes for this kind of device. */
static void choose_sizes(engine *e)
{
    static const uint64_t compositions = 6 * 524288; /* above the largest */
    uint64_t stream = e->opts->stream_bytes ? e->opts->stream_bytes
                      : e->gpu              ? 4 * GIB
                      : e->software         ? 64 * MIB
                                            : 256 * MIB;
    uint64_t most = 0, want, jobs = 0;
    e->jobs = e->opts->jobs.count ? e->opts->jobs : default_jobs;
    e->sizes = e->opts->sizes.count ? e->opts->sizes : default_sizes;
    if (e->software && !e->opts->sizes.count) {
        e->sizes.count--;
        if (part_wanted(e, &engine_batch) || part_wanted(e, &engine_tickets))
            cli_error("%s is not a GPU: jobs of at most %" PRIu64 " elements; raise it with -n",
                      e->device, e->sizes.values[e->sizes.count - 1]);
    }
    for (size_t i = 0; i < e->jobs.count; i++)
        jobs = e->jobs.values[i] > jobs ? e->jobs.values[i] : jobs;
    for (size_t i = 0; i < e->sizes.count; i++)
        most = e->sizes.values[i] > most ? e->sizes.values[i] : most;
    e->stream_elements = stream / e->operands / e->element_bytes;
    e->stream_elements += !e->stream_elements;
    if (part_wanted(e, &engine_stream) && !e->opts->stream_bytes && !e->gpu)
        cli_error("%s is not a GPU: a stream of %" PRIu64 " MiB; raise it with --stream", e->device,
                  stream / MIB);

    want = part_wanted(e, &engine_batch) ? jobs * most : 64 * 64;
    if (part_wanted(e, &engine_tickets) && want < ENGINE_TICKETS * most)
        want = ENGINE_TICKETS * most;
    if (part_wanted(e, &engine_paths) && want < most)
        want = most;
    if (part_wanted(e, &engine_buckets) && want < compositions)
        want = compositions;
    if (want < 20000)
        want = 20000; /* of part repeat */
    bool streams = part_wanted(e, &engine_stream) || part_wanted(e, &engine_copy);
    if (streams && want < e->stream_elements)
        want = e->stream_elements;

    uint64_t room = host_memory() / 10 * 6 / (e->operands + 1) / e->element_bytes;
    e->room = want < room ? want : room;
    if (streams && e->stream_elements > e->room) {
        e->stream_elements = e->room;
        cli_error("not enough memory: a stream of %" PRIu64 " MiB",
                  e->room * e->operands * e->element_bytes / MIB);
    }
}

/* The device may have been given by any of its names; a job reports the canonical one. */
static int look_at_device(engine *e, const device_list *all)
{
    unsigned char x[3][ELEMENT_BYTES_MAX], out[ELEMENT_BYTES_MAX] = {0};
    gx_report report = {.struct_size = sizeof report};
    gx_job job = {.op = e->op, .field = e->field, .n = 1, .out = gx_host(out)};
    gx_operand *const to[] = {&job.a, &job.b, &job.c};
    for (unsigned k = 0; k < e->operands && k < 3; k++) {
        data_random(e->field, x[k], 1, e->opts->seed + k);
        *to[k] = gx_host(x[k]);
    }
    if (gx_run(e->ctx, &job, 1, &(gx_run_params){.device = e->device}, &report) != GX_OK)
        return cli_job_failed(&report);
    e->gpu = false;
    e->software = true;
    for (size_t i = 0; i < all->count; i++) {
        if (strcmp(all->infos[i].name, report.device) != 0)
            continue;
        e->gpu = (all->infos[i].kind == GX_DEVICE_VULKAN || all->infos[i].kind == GX_DEVICE_CUDA) &&
                 all->infos[i].automatic;
        e->software = !all->infos[i].automatic;
    }
    return EXIT_DONE;
}

/* ---- all parts ---- */

static int run_parts(engine *e)
{
    int rc = EXIT_DONE;
    for (size_t i = 0; rc == EXIT_DONE && i < PARTS; i++) {
        if (!part_wanted(e, parts[i]))
            continue;
        e->part = parts[i];
        e->ns_per_element = 0;
        if (!e->take)
            rc = parts_begin(&e->tables, e->part->title, e->part->columns);
        if (rc == EXIT_DONE)
            rc = e->part->run(e);
    }
    return rc;
}

static int bench_device(engine *e, const device_list *all)
{
    int rc = look_at_device(e, all);
    if (rc != EXIT_DONE)
        return rc;
    choose_sizes(e);
    uint64_t steps = 0;
    for (size_t i = 0; i < PARTS; i++)
        steps += part_wanted(e, parts[i]) ? parts[i]->steps(e) : 0;
    progress_start("measuring", steps, "groups of rows");
    rc = make_arrays(e) ? run_parts(e) : cli_no_memory();
    progress_end();
    free_arrays(e);
    return rc;
}

/* The number of the only bit in a mask; 0 if there are several. */
static int only_bit(uint32_t mask)
{
    return mask && !(mask & (mask - 1)) ? __builtin_ctz(mask) : 0;
}

static int engine_run(engine *e, const common_opts *common, const suite_opts *opts)
{
    e->common = common;
    e->opts = opts;
    e->op = (gx_op)only_bit(opts->ops ? opts->ops : 1u << GX_ADD);
    e->field = opts->fields ? (gx_field)only_bit(opts->fields) : cli_field_of(e->op);
    if (!e->field || !e->op)
        return cli_usage("give only one --field and one --op");
    if (!gx_op_exists(e->op, e->field))
        return cli_no_operation(1u << e->field, 1u << e->op);
    e->operands = gx_op_get_info(e->op)->operands;
    e->element_bytes = gx_field_get_info(e->field)->element_bytes;
    target_list targets = {0};
    int rc = cli_open(common, &e->ctx);
    if (rc == EXIT_DONE)
        rc = target_list_get(e->ctx, common, TARGETS_AUTOMATIC, &targets);
    columns[ENGINE_DEVICE].width = targets.width;
    for (size_t i = 0; rc == EXIT_DONE && i < targets.count; i++) {
        e->device = targets.names[i];
        rc = bench_device(e, &targets.all);
    }
    rc = parts_end(&e->tables, rc);
    target_list_free(&targets);
    if (e->opts->stats)
        counters_print(e->ctx, (output_format)common->format);
    return cli_close(&e->ctx, rc);
}

int engine_rows(const common_opts *common, const suite_opts *opts, engine_taker take, void *taker)
{
    engine e = {.take = take, .taker = taker};
    return engine_run(&e, common, opts);
}

static int run_engine(const common_opts *common)
{
    engine e = {.tables = {.suite = suite_engine.name,
                           .format = (output_format)common->format,
                           .columns = columns,
                           .count = ENGINE_COLUMNS}};
    return engine_run(&e, common, &opts);
}

const command suite_engine = {
    .name = "engine",
    .summary = "batches, pools, tickets, pipelines and streams",
    .about =
        "By default with Fq additions. Every variant is verified first; variants that are "
        "compared\n"
        "are timed alternately. Its parts, selected with --part:\n"
        "\n"
        "  batch                   equal jobs in one call, in each mode; times: speedup over\n"
        "                          sequential; of best: median relative to the best mode\n"
        "  buckets                 warm batches of mixed sizes: time per job, reuse of pooled\n"
        "                          memory (pool%) and of commands (ready%), and a histogram of\n"
        "                          the memory sizes used\n"
        "  small                   64 jobs of 64 elements: one call each, and one call for all\n"
        "  tickets                 8 equal jobs: calls one after the other, and tickets of which\n"
        "                          the next are submitted before the first is done\n"
        "  repeat                  a job of 20000 elements: first, second and later calls\n"
        "  paths                   a job through mapped host memory, through device memory, and\n"
        "                          as the library chooses\n"
        "  copy                    gx_buf_write and gx_buf_read of large blocks, separately and\n"
        "                          concurrently, with registered and unregistered memory\n"
        "  stream                  one job with 4 GiB of operands, registered and unregistered",
    .examples = "  bench-suites engine --device vulkan --part batch,stream --csv\n",
    .options = OPTION_TABLE(options),
    .formats = true,
    .run = run_engine,
};
