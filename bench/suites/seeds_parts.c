/* SPDX-License-Identifier: Apache-2.0
 *
 * Suite seeds: the parts measured by suites persistence and engine. This turns their results into
 * rows; why one is not met is said with measured numbers.
 */
#include <math.h>
#include <string.h>

#include "report/cross.h"
#include "engine.h"
#include "persistence.h"
#include "seeds.h"

#define K 1024

static const char *const fq = "bls12-381-fq", *const f32 = "f32";

/* Two times whose ratio or difference is a row: ours and theirs, in us. */
typedef struct pair {
    const char *name[2];
    double ours[2], theirs[2];
} pair;

/* Why a gain is smaller, if both times are known. */
static void why_gain(seeds_row *row, const pair *p)
{
    SEEDS_WHY(row, "%s at %.3g times their speed, %s at %.3g times", p->name[0],
              p->theirs[0] / p->ours[0], p->name[1], p->theirs[1] / p->ours[1]);
}

static void why_times(seeds_row *row, const pair *p)
{
    SEEDS_WHY(row, "%s takes %.4g us, %s %.4g us", p->name[0], p->ours[0], p->name[1], p->ours[1]);
}

/* ---- persistence ---- */

static const number_list persistence_sizes = {3, {64, 1 * K, 64 * K}};

static bool persistence_wanted(const seeds *s)
{
    return seeds_sizes(s, &persistence_sizes).count != 0;
}

static int show_cost(seeds *s, const persistence_cost *c)
{
    const char *device = s->devices.main.name;
    const persistence_shot *shots[] = {&c->cold, &c->warm};
    static const char *const what[] = {"one-shot, no files", "one-shot, files"};
    pair times = {.name = {"one-shot", "persistent"},
                  .ours = {c->cold.ns.median / 1e3, c->call_ns.median / 1e3}};
    times.theirs[0] = seeds_theirs(s, what[0], 0, c->elements);
    times.theirs[1] = seeds_theirs(s, "persistent", 0, c->elements);
    int rc = EXIT_DONE;
    for (size_t i = 0; i < 2 && rc == EXIT_DONE; i++) {
        seeds_row row = {.what = what[i],
                         .device = device,
                         .field = fq,
                         .elements = c->elements,
                         .ours = shots[i]->ns.median / 1e3,
                         .samples = shots[i]->samples,
                         .ns = shots[i]->ns};
        SEEDS_WHY(&row, "opening the device takes %.4g ms of it", shots[i]->open_ns / 1e6);
        rc = seeds_row_rc(s, &row);
    }
    seeds_row call = {.what = "persistent",
                      .device = device,
                      .field = fq,
                      .elements = c->elements,
                      .ours = times.ours[1],
                      .samples = c->call_samples,
                      .ns = c->call_ns};
    seeds_row gain = {.what = "gain",
                      .device = device,
                      .field = fq,
                      .elements = c->elements,
                      .unit = SEEDS_TIMES,
                      .ours = times.ours[0] / times.ours[1]};
    seeds_why_device(&call, &s->devices.main, false);
    why_gain(&gain, &times);
    if (rc == EXIT_DONE)
        rc = seeds_row_rc(s, &call);
    return rc == EXIT_DONE ? seeds_row_rc(s, &gain) : rc;
}

static int run_persistence(seeds *s)
{
    persistence_cost costs[NUMBER_LIST_MAX] = {{0}};
    number_list sizes = seeds_sizes(s, &persistence_sizes);
    common_opts common = *s->common;
    common.config.device = s->devices.main.name;
    int rc = persistence_costs(&common, s->opts, &sizes, costs);
    for (size_t i = 0; i < sizes.count && rc == EXIT_DONE; i++)
        rc = show_cost(s, &costs[i]);
    return rc;
}

const seeds_part seeds_persistence = {
    .name = "persistence",
    .title = "One-shot and persistent calls: a job in a new process, and on an open context",
    .wanted = persistence_wanted,
    .run = run_persistence,
};

/* ---- parts of suite engine ---- */

/* Rows of one device, as they come. */
typedef struct taking {
    seeds *s;
    const seeds_device *device;
    const char *field;
    bool larger;                       /* elements than theirs */
    cross_pair pairs[NUMBER_LIST_MAX]; /* paths, by size */
    size_t npairs;
    double us[2]; /* of earlier rows that a later one is compared with */
} taking;

/* Runs part `part` of suite engine on a device. */
static int take_engine(taking *t, const char *part, const number_list *sizes,
                       const number_list *jobs, engine_taker take)
{
    common_opts common = *t->s->common;
    suite_opts opts = {.fields = 1u << gx_field_by_name(t->field),
                       .ops = 1u << GX_ADD,
                       .samples = t->s->opts->samples,
                       .seed = t->s->opts->seed,
                       .parts = part,
                       .skip_ms = seeds_skip_ms(t->s)};
    if (sizes)
        opts.sizes = *sizes;
    if (jobs)
        opts.jobs = *jobs;
    common.config.device = t->device->name;
    return engine_rows(&common, &opts, take, t);
}

/* The same f32 additions on every WebGPU backend, then Fq additions on the GPU. */
static int take_everywhere(seeds *s, const char *part, engine_taker take)
{
    int rc = EXIT_DONE;
    for (size_t i = 0; i < SEEDS_BACKENDS && rc == EXIT_DONE; i++) {
        taking t = {.s = s, .device = &s->devices.web[i], .field = f32};
        rc = t.device->name[0] ? take_engine(&t, part, NULL, NULL, take)
                               : seeds_none(s, seeds_backend(i), t.device->description);
    }
    taking t = {.s = s, .device = &s->devices.main, .field = fq, .larger = true};
    return rc == EXIT_DONE ? take_engine(&t, part, NULL, NULL, take) : rc;
}

/* The time of one call, as a row. */
static seeds_row row_of(const taking *t, const char *what, const engine_row *from)
{
    seeds_row row = {.what = what,
                     .device = t->device->name,
                     .field = t->field,
                     .jobs = from->jobs,
                     .elements = from->elements,
                     .ours = from->ns.median / 1e3,
                     .samples = from->samples,
                     .ns = from->ns};
    if (from->skipped_ms > 0) {
        row.ours = NAN;
        SEEDS_NOTE(&row, "skipped: a call would take %.3g s, more than %.3g s",
                   from->skipped_ms / 1e3, SEEDS_SKIP_MS / 1e3);
    }
    seeds_why_device(&row, t->device, t->larger);
    return row;
}

/* A row derived from others, for the same jobs. */
static seeds_row derived(const taking *t, const char *what, const engine_row *from, seeds_unit unit,
                         double ours)
{
    seeds_row row = row_of(t, what, from);
    row.unit = unit;
    row.ours = ours;
    row.samples = 0;
    return row;
}

/* ---- paths ---- */

static const number_list path_sizes = {
    8, {64, 1 * K, 4 * K, 16 * K, 64 * K, 256 * K, 1024 * K, 4096 * K}};

static bool paths_wanted(const seeds *s)
{
    return seeds_sizes(s, &path_sizes).count != 0;
}

static bool take_path(void *taker, const char *part, const engine_row *row)
{
    taking *t = taker;
    (void)part;
    seeds_row out = row_of(t, row->what ? row->what : "all paths", row);
    out.jobs = 0;
    if (!row->what) /* skipped */
        return seeds_show(t->s, &out);
    cross_pair *pair = &t->pairs[t->npairs];
    if (!strcmp(row->what, gx_path_name(GX_PATH_HOST_VISIBLE)))
        *pair = (cross_pair){.size = (double)row->elements,
                             .a = row->ns.median,
                             .a_low = row->ns.low,
                             .a_high = row->ns.high};
    if (!strcmp(row->what, gx_path_name(GX_PATH_DEVICE_LOCAL))) {
        pair->b = row->ns.median;
        pair->b_low = row->ns.low;
        pair->b_high = row->ns.high;
        t->npairs++;
    }
    if (!strcmp(row->what, gx_path_name(GX_PATH_AUTO)))
        SEEDS_NOTE(&out, "chose %s", row->chosen);
    return seeds_show(t->s, &out);
}

static int run_paths(seeds *s)
{
    taking t = {.s = s, .device = &s->devices.main, .field = fq};
    number_list sizes = seeds_sizes(s, &path_sizes);
    if (!s->devices.gpu)
        return seeds_none(s, "cpu", "no GPU: the CPU uses operands in place");
    int rc = take_engine(&t, "paths", &sizes, NULL, take_path);
    if (rc != EXIT_DONE)
        return rc;
    seeds_row row = seeds_crossing(t.pairs, t.npairs, "device-local", "host-visible");
    row.what = "device-local from";
    row.device = t.device->name;
    row.field = fq;
    row.neither = true;
    return seeds_row_rc(s, &row);
}

const seeds_part seeds_paths = {
    .name = "paths",
    .title = "Host-visible and device-local: one job over each path, and where they cross",
    .wanted = paths_wanted,
    .run = run_paths,
};

/* ---- batch ---- */

static const number_list batch_sizes = {3, {16 * K, 64 * K, 256 * K}};
static const number_list batch_jobs = {4, {2, 3, 4, 8}};

static bool batch_wanted(const seeds *s)
{
    return seeds_sizes(s, &batch_sizes).count != 0;
}

/* The speedup of a mode over sequential. */
static seeds_row gain_of(const taking *t, const char *what, const engine_row *row, double us)
{
    seeds_row gain = derived(t, what, row, SEEDS_TIMES, row->speedup);
    pair times = {.name = {"sequential", "pipelined"}, .ours = {t->us[0], us}};
    for (size_t i = 0; i < 2; i++)
        times.theirs[i] = seeds_theirs(t->s, times.name[i], row->jobs, row->elements);
    why_gain(&gain, &times);
    return gain;
}

/* The four modes of a cell; sequential comes first. */
static bool take_batch(void *taker, const char *part, const engine_row *row)
{
    taking *t = taker;
    (void)part;
    seeds_row out = row_of(t, row->mode ? row->mode : "all modes", row), gain;
    if (!row->mode) /* skipped */
        return seeds_show(t->s, &out);
    if (!strcmp(row->mode, gx_mode_name(GX_MODE_SEQUENTIAL))) {
        t->us[0] = out.ours;
        return seeds_show(t->s, &out);
    }
    if (!strcmp(row->mode, gx_mode_name(GX_MODE_AUTO))) {
        SEEDS_NOTE(&out, "chose %s", row->chosen);
        return seeds_show(t->s, &out);
    }
    bool pipelined = !strcmp(row->mode, gx_mode_name(GX_MODE_PIPELINED));
    gain = gain_of(t, pipelined ? "pipelined, gain" : "single-submit, gain", row, out.ours);
    return seeds_show(t->s, &out) && seeds_show(t->s, &gain);
}

static int run_batch(seeds *s)
{
    taking t = {.s = s, .device = &s->devices.main, .field = fq};
    number_list sizes = seeds_sizes(s, &batch_sizes);
    return take_engine(&t, "batch", &sizes, &batch_jobs, take_batch);
}

const seeds_part seeds_batch = {
    .name = "batch",
    .title = "Batches: jobs one after the other, pipelined, and in a single submit",
    .wanted = batch_wanted,
    .run = run_batch,
    .with_jobs = true,
};

/* ---- small ---- */

static const number_list small_sizes = {1, {64}};

static bool small_wanted(const seeds *s)
{
    return seeds_sizes(s, &small_sizes).count != 0;
}

/* 64 calls come first, then one call in each mode. */
static bool take_small(void *taker, const char *part, const engine_row *row)
{
    taking *t = taker;
    (void)part;
    bool web = t->device != &t->s->devices.main;
    if (t->us[0] == 0) {
        seeds_row calls = row_of(t, "64 calls", row);
        t->us[0] = calls.ours;
        return seeds_show(t->s, &calls);
    }
    if (strcmp(row->mode, gx_mode_name(GX_MODE_SINGLE_SUBMIT)) != 0)
        return true;
    seeds_row one = row_of(t, "single submit", row);
    pair times = {.name = {"64 calls", "one"}, .ours = {t->us[0], one.ours}};
    seeds_row last =
        web ? derived(t, "one pass, saved", row, SEEDS_PERCENT, 100 * (1 - one.ours / t->us[0]))
            : derived(t, "single submit, gain", row, SEEDS_TIMES, row->speedup);
    SEEDS_NOTE(&last, "%s", web ? "they saved 60 to 70 %" : "they expected 1.5 to 2");
    why_times(&last, &times);
    return seeds_show(t->s, &one) && seeds_show(t->s, &last);
}

static int run_small(seeds *s)
{
    return take_everywhere(s, "small", take_small);
}

const seeds_part seeds_small = {
    .name = "small",
    .title = "64 jobs of 64 elements: 64 calls, and one call with a single submit",
    .wanted = small_wanted,
    .run = run_small,
    .with_jobs = true,
};

/* ---- buckets ---- */

static bool buckets_wanted(const seeds *s)
{
    return !s->opts->sizes.count; /* its batches are of several sizes */
}

static bool take_bucket(void *taker, const char *part, const engine_row *row)
{
    taking *t = taker;
    (void)part;
    seeds_row out = row_of(t, row->what, row);
    out.ours /= (double)row->jobs;
    out.ns.p90 /= (double)row->jobs;
    out.ns.min /= (double)row->jobs;
    out.ns.max /= (double)row->jobs;
    if (!strcmp(row->what, "Mixed-Same-Bucket"))
        t->us[0] = out.ours;
    if (!strcmp(row->what, "Mixed-Diverse"))
        t->us[1] = out.ours;
    bool shown = seeds_show(t->s, &out);
    if (!shown || strcmp(row->what, "all in turn") != 0)
        return shown;
    pair times = {.name = {"a job in one bucket", "in four"}, .ours = {t->us[0], t->us[1]}};
    seeds_row saved =
        derived(t, "one bucket, saved", row, SEEDS_PERCENT, 100 * (1 - t->us[0] / t->us[1]));
    seeds_row pool = derived(t, "pool hits", row, SEEDS_PERCENT, 100 * row->pool);
    why_times(&saved, &times);
    if (!isnan(saved.ours))
        saved.note[0] = 0;
    if (isnan(row->pool) && !pool.note[0])
        SEEDS_NOTE(&pool, "no memory was taken from a pool");
    return seeds_show(t->s, &saved) && seeds_show(t->s, &pool);
}

static int run_buckets(seeds *s)
{
    return take_everywhere(s, "buckets", take_bucket);
}

const seeds_part seeds_buckets = {
    .name = "buckets",
    .title = "Mixed batches, time per job (size: of all jobs): f32 over WebGPU, as theirs, and Fq",
    .wanted = buckets_wanted,
    .run = run_buckets,
    .with_jobs = true,
};

/* ---- repeat ---- */

static const number_list repeat_sizes = {1, {20000}};

static bool repeat_wanted(const seeds *s)
{
    return seeds_sizes(s, &repeat_sizes).count != 0;
}

static bool take_repeat(void *taker, const char *part, const engine_row *row)
{
    taking *t = taker;
    (void)part;
    seeds_row out = row_of(t, row->what, row);
    out.jobs = 0;
    if (!strcmp(row->what, "first call"))
        t->us[0] = out.ours;
    bool shown = seeds_show(t->s, &out);
    if (!shown || strcmp(row->what, "later calls") != 0)
        return shown;
    pair times = {.name = {"the first call", "a later one"}, .ours = {t->us[0], out.ours}};
    seeds_row saved = derived(t, "saved", row, SEEDS_PERCENT, 100 * (1 - out.ours / t->us[0]));
    saved.jobs = 0;
    why_times(&saved, &times);
    return seeds_show(t->s, &saved);
}

static int run_repeat(seeds *s)
{
    return take_everywhere(s, "repeat", take_repeat);
}

const seeds_part seeds_repeat = {
    .name = "repeat",
    .title = "One job again and again: f32 over WebGPU, as theirs, and Fq",
    .wanted = repeat_wanted,
    .run = run_repeat,
};
