/* SPDX-License-Identifier: Apache-2.0
 *
 * Suite engine: calls of many jobs in every mode, batches of mixed sizes and their use of the
 * pools, many tiny jobs, jobs as calls and as tickets, a repeated job, and a job over each path.
 */
#include <inttypes.h>
#include <string.h>

#include "clock.h"
#include "progress.h"
#include "counters.h"
#include "engine.h"

enum { MODES = 4 };

static const gx_mode modes[MODES] = {GX_MODE_SEQUENTIAL, GX_MODE_SINGLE_SUBMIT, GX_MODE_PIPELINED,
                                     GX_MODE_AUTO};

static uint64_t one_step(const engine *e)
{
    (void)e;
    return 1;
}

/* What was measured of a contender, with its speedup over the first one. */
static engine_row row_of(const contender *c, const contender *first, uint64_t elements)
{
    engine_row row = {.mode = gx_mode_name(c->mode),
                      .chosen = gx_mode_name(c->chosen),
                      .jobs = c->count,
                      .elements = elements,
                      .samples = c->samples,
                      .ns = c->ns,
                      ENGINE_NO_RATES};
    row.speedup = first->ns.median / c->ns.median;
    return row;
}

/* ---- batch: jobs of one size, in every mode ---- */

static int show_batch(engine *e, const contender *c, size_t n)
{
    double best = c[0].ns.median;
    for (size_t i = 1; i < MODES && c[i].mode != GX_MODE_AUTO; i++)
        best = c[i].ns.median < best ? c[i].ns.median : best;
    for (size_t i = 0; i < MODES; i++) {
        engine_row row = row_of(&c[i], c, n);
        row.of_best = c[i].ns.median / best;
        if (!engine_show(e, &row))
            return EXIT_FAILED;
    }
    return EXIT_DONE;
}

static int batch_cell(engine *e, size_t count, size_t n)
{
    gx_job jobs[ENGINE_JOBS_MAX];
    contender c[MODES];
    engine_row skipped = {.jobs = count, .elements = n, ENGINE_NO_RATES};
    if (n > e->room / count) {
        cli_error("skipped %zu job%s of %zu element%s: not enough memory", count, plural(count), n,
                  plural(n));
        return EXIT_DONE;
    }
    if (engine_skips(e, count * n, &skipped))
        return engine_show(e, &skipped) ? EXIT_DONE : EXIT_FAILED;
    for (size_t i = 0; i < count; i++)
        jobs[i] = engine_job(e, i * n, n);
    for (size_t i = 0; i < MODES; i++)
        c[i] = (contender){.jobs = jobs, .count = count, .mode = modes[i]};
    int rc = engine_measure(e, c, MODES, 31, 3.0);
    return rc == EXIT_DONE ? show_batch(e, c, n) : rc;
}

static int run_batch(engine *e)
{
    int rc = EXIT_DONE;
    for (size_t s = 0; s < e->sizes.count; s++)
        for (size_t j = 0; rc == EXIT_DONE && j < e->jobs.count; j++) {
            rc = batch_cell(e, e->jobs.values[j], e->sizes.values[s]);
            progress_add(1);
        }
    return rc;
}

static uint64_t batch_steps(const engine *e)
{
    return (uint64_t)e->jobs.count * e->sizes.count;
}

const engine_part engine_batch = {
    .name = "batch",
    .title = "batches of equal jobs (times: speedup over sequential; of best: relative to the best "
             "mode)",
    .columns = ENGINE_ALWAYS | ENGINE_BIT(ENGINE_MODE) | ENGINE_BIT(ENGINE_JOBS) |
               ENGINE_BIT(ENGINE_ELEMENTS) | ENGINE_BIT(ENGINE_PER_JOB) |
               ENGINE_BIT(ENGINE_SPEEDUP) | ENGINE_BIT(ENGINE_CHOSEN) | ENGINE_BIT(ENGINE_OF_BEST),
    .run = run_batch,
    .steps = batch_steps,
};

/* ---- buckets: the seven compositions of the seeds, and all of them in turn ---- */

#define K 1024

/* Mixed sizes: within one bucket, and over four of them. */
static const struct {
    const char *name;
    number_list sizes;
} compositions[] = {
    {"Uniform-32k", {4, {32 * K, 32 * K, 32 * K, 32 * K}}},
    {"Uniform-64k", {4, {64 * K, 64 * K, 64 * K, 64 * K}}},
    {"Mixed-Same-Bucket", {4, {20000, 24000, 28000, 32 * K}}},
    {"Mixed-Adjacent-Buckets", {4, {32 * K, 64 * K, 32 * K, 64 * K}}},
    {"Mixed-Diverse", {4, {16 * K, 32 * K, 128 * K, 256 * K}}},
    {"Large-Uniform",
     {8, {256 * K, 256 * K, 256 * K, 256 * K, 256 * K, 256 * K, 256 * K, 256 * K}}},
    {"Large-Mixed", {6, {256 * K, 512 * K, 256 * K, 512 * K, 256 * K, 512 * K}}},
};
enum { COMPOSITIONS = sizeof compositions / sizeof *compositions, WARM_UP = 3 };

typedef struct composition {
    gx_job jobs[8];
    contender call;
    size_t elements;
} composition;

static double hit_rate(uint64_t hits, uint64_t misses)
{
    return hits + misses ? (double)hits / (double)(hits + misses) : NAN;
}

/* Counters between two moments. */
static void show_counts(const counters *from, const counters *to, engine_row *row, char *buckets,
                        size_t size)
{
    uint64_t used[COUNTER_BUCKETS];
    for (size_t i = 0; i < COUNTER_BUCKETS; i++)
        used[i] = to->buckets[i] - from->buckets[i];
    counters_buckets(used, buckets, size);
    row->pool = hit_rate(to->pool_hits - from->pool_hits, to->pool_misses - from->pool_misses);
    row->commands =
        hit_rate(to->command_hits - from->command_hits, to->command_misses - from->command_misses);
    row->buckets = buckets[0] ? buckets : NULL;
}

/* Warm calls of `count` compositions, one after the other. */
static int measure_compositions(engine *e, composition *all, size_t count, const char *name)
{
    static double ns[SAMPLES_MAX];
    char buckets[COUNTER_BUCKETS * 32];
    engine_row row = {.what = name, ENGINE_NO_RATES};
    counters from, to;
    int rc = EXIT_DONE;
    for (size_t i = 0; i < count; i++) {
        row.jobs += all[i].call.count;
        row.elements += all[i].elements;
    }
    for (size_t i = 0; i < WARM_UP * count && rc == EXIT_DONE; i++)
        rc = engine_call(e, e->ctx, &all[i % count].call);
    from = counters_read(e->ctx);
    for (uint64_t begin = now_ns();
         rc == EXIT_DONE && !engine_enough(e, row.samples, 51, 1.0, begin); row.samples++) {
        uint64_t start = now_ns();
        for (size_t i = 0; i < count && rc == EXIT_DONE; i++)
            rc = engine_call(e, e->ctx, &all[i].call);
        ns[row.samples] = (double)(now_ns() - start);
    }
    to = counters_read(e->ctx);
    if (rc != EXIT_DONE)
        return rc;
    row.ns = stats_of(ns, row.samples);
    engine_learn(e, row.ns.median, row.elements);
    row.mode = gx_mode_name(GX_MODE_AUTO);
    row.chosen = count == 1 ? gx_mode_name(all->call.chosen) : NULL;
    show_counts(&from, &to, &row, buckets, sizeof buckets);
    progress_add(1);
    return engine_show(e, &row) ? EXIT_DONE : EXIT_FAILED;
}

static int run_buckets(engine *e)
{
    composition all[COMPOSITIONS];
    engine_row in_turn = {.what = "all in turn", ENGINE_NO_RATES};
    int rc = EXIT_DONE;
    for (size_t i = 0; i < COMPOSITIONS && rc == EXIT_DONE; i++) {
        const number_list *sizes = &compositions[i].sizes;
        engine_row skipped = {.what = compositions[i].name, .jobs = sizes->count, ENGINE_NO_RATES};
        for (size_t j = 0; j < sizes->count; j++)
            skipped.elements += sizes->values[j];
        in_turn.jobs += skipped.jobs;
        in_turn.elements += skipped.elements;
        if (skipped.elements > e->room)
            return cli_no_memory();
        if (engine_skips(e, skipped.elements, &skipped)) {
            in_turn.skipped_ms += skipped.skipped_ms;
            rc = engine_show(e, &skipped) ? EXIT_DONE : EXIT_FAILED;
            continue;
        }
        all[i].elements = engine_jobs(e, sizes->values, sizes->count, all[i].jobs);
        all[i].call = (contender){.jobs = all[i].jobs, .count = sizes->count};
        rc = engine_verify(e, e->ctx, &all[i].call);
        if (rc == EXIT_DONE)
            rc = measure_compositions(e, &all[i], 1, compositions[i].name);
    }
    if (rc != EXIT_DONE)
        return rc;
    if (in_turn.skipped_ms > 0 || engine_skips(e, in_turn.elements, &in_turn))
        return engine_show(e, &in_turn) ? EXIT_DONE : EXIT_FAILED;
    return measure_compositions(e, all, COMPOSITIONS, in_turn.what);
}

static uint64_t bucket_steps(const engine *e)
{
    (void)e;
    return COMPOSITIONS + 1;
}

const engine_part engine_buckets = {
    .name = "buckets",
    .title = "warm mixed batches (size: all jobs; pool%, ready%: memory and commands reused)",
    .columns = ENGINE_ALWAYS | ENGINE_BIT(ENGINE_WHAT) | ENGINE_BIT(ENGINE_JOBS) |
               ENGINE_BIT(ENGINE_ELEMENTS) | ENGINE_BIT(ENGINE_PER_JOB) |
               ENGINE_BIT(ENGINE_CHOSEN) | ENGINE_BIT(ENGINE_POOL) | ENGINE_BIT(ENGINE_COMMANDS) |
               ENGINE_BIT(ENGINE_BUCKETS),
    .run = run_buckets,
    .steps = bucket_steps,
};

/* ---- small: many jobs that hardly are any work ---- */

enum { SMALL_JOBS = 64, SMALL_ELEMENTS = 64 };

static int run_small(engine *e)
{
    gx_job jobs[SMALL_JOBS];
    for (size_t i = 0; i < SMALL_JOBS; i++)
        jobs[i] = engine_job(e, i * SMALL_ELEMENTS, SMALL_ELEMENTS);
    contender c[] = {{.jobs = jobs, .count = SMALL_JOBS, .one_by_one = true},
                     {.jobs = jobs, .count = SMALL_JOBS, .mode = GX_MODE_SEQUENTIAL},
                     {.jobs = jobs, .count = SMALL_JOBS, .mode = GX_MODE_SINGLE_SUBMIT},
                     {.jobs = jobs, .count = SMALL_JOBS}};
    static const char *const what[] = {"64 calls", "one call", "one call", "one call"};
    int rc = engine_measure(e, c, 4, 201, 2.0);
    for (size_t i = 0; rc == EXIT_DONE && i < 4; i++) {
        engine_row row = row_of(&c[i], c, SMALL_ELEMENTS);
        row.what = what[i];
        rc = engine_show(e, &row) ? EXIT_DONE : EXIT_FAILED;
    }
    progress_add(1);
    return rc;
}

const engine_part engine_small = {
    .name = "small",
    .title = "64 jobs of 64 elements (times: speedup over one call each)",
    .columns = ENGINE_ALWAYS | ENGINE_BIT(ENGINE_WHAT) | ENGINE_BIT(ENGINE_MODE) |
               ENGINE_BIT(ENGINE_JOBS) | ENGINE_BIT(ENGINE_ELEMENTS) | ENGINE_BIT(ENGINE_PER_JOB) |
               ENGINE_BIT(ENGINE_SPEEDUP) | ENGINE_BIT(ENGINE_CHOSEN),
    .run = run_small,
    .steps = one_step,
};

/* ---- tickets: jobs one after the other, and overlapping ---- */

static int tickets_cell(engine *e, size_t n)
{
    gx_job jobs[ENGINE_TICKETS];
    /* with three, one can be read back and another prepared while the third is computed */
    contender c[] = {{.jobs = jobs, .count = ENGINE_TICKETS, .one_by_one = true},
                     {.jobs = jobs, .count = ENGINE_TICKETS, .tickets = 2},
                     {.jobs = jobs, .count = ENGINE_TICKETS, .tickets = 3}};
    static const char *const what[] = {"calls", "tickets, 2 in flight", "tickets, 3 in flight"};
    if (n > e->room / ENGINE_TICKETS) {
        cli_error("skipped %d jobs of %zu element%s: not enough memory", ENGINE_TICKETS, n,
                  plural(n));
        return EXIT_DONE;
    }
    for (size_t i = 0; i < ENGINE_TICKETS; i++)
        jobs[i] = engine_job(e, i * n, n);
    int rc = engine_measure(e, c, 3, 31, 3.0);
    for (size_t i = 0; rc == EXIT_DONE && i < 3; i++) {
        engine_row row = row_of(&c[i], c, n);
        row.what = what[i];
        rc = engine_show(e, &row) ? EXIT_DONE : EXIT_FAILED;
    }
    return rc;
}

static int run_tickets(engine *e)
{
    int rc = EXIT_DONE;
    for (size_t s = 0; s < e->sizes.count && rc == EXIT_DONE; s++) {
        rc = tickets_cell(e, e->sizes.values[s]);
        progress_add(1);
    }
    return rc;
}

static uint64_t size_steps(const engine *e)
{
    return e->sizes.count;
}

const engine_part engine_tickets = {
    .name = "tickets",
    .title = "8 jobs as calls one after the other, and as tickets (times: speedup over calls)",
    .columns = ENGINE_ALWAYS | ENGINE_BIT(ENGINE_WHAT) | ENGINE_BIT(ENGINE_JOBS) |
               ENGINE_BIT(ENGINE_ELEMENTS) | ENGINE_BIT(ENGINE_PER_JOB) |
               ENGINE_BIT(ENGINE_SPEEDUP) | ENGINE_BIT(ENGINE_CHOSEN),
    .run = run_tickets,
    .steps = size_steps,
};

/* ---- paths: one job through mapped host memory, through device memory, and as chosen ---- */

static int show_paths(engine *e, const contender *c, size_t count, size_t n)
{
    int rc = EXIT_DONE;
    for (size_t i = 0; i < count && rc == EXIT_DONE; i++) {
        engine_row row = row_of(&c[i], c, n);
        row.what = gx_path_name(c[i].path);
        row.mode = NULL;
        row.chosen = gx_path_name(c[i].chosen_path);
        rc = engine_show(e, &row) ? EXIT_DONE : EXIT_FAILED;
    }
    return rc;
}

static int paths_cell(engine *e, size_t n)
{
    gx_job job = engine_job(e, 0, n);
    contender c[] = {{.jobs = &job, .count = 1, .path = GX_PATH_HOST_VISIBLE},
                     {.jobs = &job, .count = 1, .path = GX_PATH_DEVICE_LOCAL},
                     {.jobs = &job, .count = 1, .path = GX_PATH_AUTO}};
    engine_row skipped = {.jobs = 1, .elements = n, ENGINE_NO_RATES};
    if (n > e->room) {
        cli_error("skipped a job of %zu element%s: not enough memory", n, plural(n));
        return EXIT_DONE;
    }
    if (engine_skips(e, n, &skipped))
        return engine_show(e, &skipped) ? EXIT_DONE : EXIT_FAILED;
    int rc = engine_measure(e, c, 3, 31, 1.0);
    return rc == EXIT_DONE ? show_paths(e, c, 3, n) : rc;
}

static int run_paths(engine *e)
{
    int rc = EXIT_DONE;
    for (size_t s = 0; s < e->sizes.count && rc == EXIT_DONE; s++) {
        rc = paths_cell(e, e->sizes.values[s]);
        progress_add(1);
    }
    return rc;
}

const engine_part engine_paths = {
    .name = "paths",
    .title = "one job over each path to the device (times: speedup over host-visible)",
    .columns = ENGINE_ALWAYS | ENGINE_BIT(ENGINE_WHAT) | ENGINE_BIT(ENGINE_ELEMENTS) |
               ENGINE_BIT(ENGINE_SPEEDUP) | ENGINE_BIT(ENGINE_CHOSEN),
    .run = run_paths,
    .steps = size_steps,
};

/* ---- repeat: one job, again and again ---- */

enum { REPEAT_ELEMENTS = 20000, REPEAT_CONTEXTS = 3, REPEAT_LATER = 101 };

/* In a context whose device is open and whose kernels are built, but which has seen no job of this
 * size: only the preparations of the first call differ. */
static int repeat_once(engine *e, double *first, double *second, double *later, size_t *count)
{
    gx_job tiny = engine_job(e, 0, 64), job = engine_job(e, 0, REPEAT_ELEMENTS);
    contender warm_up = {.jobs = &tiny, .count = 1}, call = {.jobs = &job, .count = 1};
    gx_ctx *ctx = NULL;
    int rc = cli_open(e->common, &ctx);
    if (rc == EXIT_DONE)
        rc = engine_call(e, ctx, &warm_up);
    uint64_t begin = now_ns();
    for (size_t i = 0; rc == EXIT_DONE; i++) {
        if (i >= 2 && engine_enough(e, i - 2, REPEAT_LATER, 1.0, begin))
            break;
        uint64_t start = now_ns();
        rc = engine_call(e, ctx, &call);
        double ns = (double)(now_ns() - start);
        *(i == 0 ? first : i == 1 ? second : &later[(*count)++]) = ns;
    }
    if (rc == EXIT_DONE)
        rc = engine_verify(e, ctx, &call);
    return cli_close(&ctx, rc);
}

static int run_repeat(engine *e)
{
    static double later[REPEAT_CONTEXTS * SAMPLES_MAX];
    double first[REPEAT_CONTEXTS], second[REPEAT_CONTEXTS];
    size_t count = 0;
    int rc = EXIT_DONE;
    for (size_t i = 0; i < REPEAT_CONTEXTS && rc == EXIT_DONE; i++)
        rc = repeat_once(e, &first[i], &second[i], later, &count);
    progress_add(1);
    if (rc != EXIT_DONE)
        return rc;
    engine_row rows[] = {{.what = "first call", .samples = REPEAT_CONTEXTS, ENGINE_NO_RATES},
                         {.what = "second call", .samples = REPEAT_CONTEXTS, ENGINE_NO_RATES},
                         {.what = "later calls", .samples = count, ENGINE_NO_RATES}};
    rows[0].ns = stats_of(first, REPEAT_CONTEXTS);
    rows[1].ns = stats_of(second, REPEAT_CONTEXTS);
    rows[2].ns = stats_of(later, count);
    for (size_t i = 0; i < 3 && rc == EXIT_DONE; i++) {
        rows[i].jobs = 1;
        rows[i].elements = REPEAT_ELEMENTS;
        rows[i].mode = gx_mode_name(GX_MODE_AUTO);
        rows[i].speedup = rows[0].ns.median / rows[i].ns.median;
        rc = engine_show(e, &rows[i]) ? EXIT_DONE : EXIT_FAILED;
    }
    return rc;
}

const engine_part engine_repeat = {
    .name = "repeat",
    .title = "one job of 20000 elements, repeated (times: speedup over the first call)",
    .columns = ENGINE_ALWAYS | ENGINE_BIT(ENGINE_WHAT) | ENGINE_BIT(ENGINE_ELEMENTS) |
               ENGINE_BIT(ENGINE_SPEEDUP),
    .run = run_repeat,
    .steps = one_step,
};
