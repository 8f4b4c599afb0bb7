/* SPDX-License-Identifier: Apache-2.0
 *
 * Suite seeds of bench-suites: which devices, one row for every figure of the seeds, and whether
 * ours is as good (seeds.h).
 */
#include "seeds.h"

#include <math.h>
#include <stdarg.h>
#include <string.h>

#include "child.h"
#include "machine.h"

#define POINTER(name) &seeds_##name,
static const seeds_part *const parts[] = {SEEDS_PART_LIST(POINTER)};
enum { PARTS = sizeof parts / sizeof *parts };

static suite_opts opts = {.seed = 1};

static const option_row options[] = {
    SUITE_ROWS(&opts, "only rows of these sizes"),
    SUITE_ROW_PARTS(&opts, SEEDS_PART_LIST(SUITE_WORD)),
};

/* ---- devices ---- */

#define BACKEND_NAME(name) "webgpu:" #name,
static const char *const backends[SEEDS_BACKENDS] = {SEEDS_BACKEND_LIST(BACKEND_NAME)};

const char *seeds_backend(size_t backend)
{
    return backends[backend];
}

static void copy_device(seeds_device *to, const char *name, const gx_device_info *info)
{
    snprintf(to->name, sizeof to->name, "%s", name);
    snprintf(to->description, sizeof to->description, "%s", info ? info->description : name);
}

/* Runs a tiny job, which every device can: what it reports says which device a name means. */
static gx_status probe(gx_ctx *ctx, const char *name, gx_report *report)
{
    uint32_t x = 1, out = 0;
    gx_job job = {.op = GX_ADD, .field = GX_U32, .n = 1, .out = gx_host(&out)};
    job.a = job.b = gx_host(&x);
    *report = (gx_report){.struct_size = sizeof *report};
    return gx_run(ctx, &job, 1, &(gx_run_params){.device = name}, report);
}

/* A WebGPU device goes to its backend, unless that has one. */
static void take_web(seeds_devices *d, const char *name, const gx_device_info *info)
{
    for (size_t i = 0; i < SEEDS_BACKENDS; i++) {
        size_t length = strlen(backends[i]);
        if (!strncmp(info->name, backends[i], length) && info->name[length] == ':' &&
            !d->web[i].name[0])
            copy_device(&d->web[i], name, info);
    }
}

/* The first GPU; without --device, rather one that the library uses on its own. */
static void take_main(seeds_devices *d, const char *name, const gx_device_info *info, bool prefer)
{
    if (d->gpu && !prefer)
        return;
    copy_device(&d->main, name, info);
    d->gpu = true;
}

static int take_devices(gx_ctx *ctx, const target_list *targets, bool named, seeds_devices *d)
{
    bool preferred = false;
    for (size_t i = 0; i < targets->count; i++) {
        const char *name = targets->names[i];
        gx_report report;
        if (named && probe(ctx, name, &report) != GX_OK)
            return cli_job_failed(&report);
        const gx_device_info *info = device_list_find(&targets->all, named ? report.device : name);
        if (info && info->kind == GX_DEVICE_WEBGPU) {
            take_web(d, name, info);
        } else if (!info || info->kind != GX_DEVICE_CPU) {
            bool better = !named && !preferred && info && info->automatic;
            take_main(d, name, info, better);
            preferred = preferred || better;
        }
    }
    return EXIT_DONE;
}

/* Why there is none, in the library's words. */
static void explain_missing(gx_ctx *ctx, bool named, seeds_devices *d)
{
    for (size_t i = 0; i < SEEDS_BACKENDS; i++) {
        gx_report report;
        if (d->web[i].name[0])
            continue;
        const char *why = named ? "not named with --device"
                          : probe(ctx, backends[i], &report) == GX_OK
                              ? "not listed by 'gpuexec devices'"
                              : report.message;
        snprintf(d->web[i].description, sizeof d->web[i].description, "%s", why);
    }
}

/* In a child, so that what it opens is not open in this process. */
static int find_devices(const void *argument, void *result)
{
    const common_opts *common = argument;
    seeds_devices *d = result;
    bool named = cli_named_device(common) != NULL;
    target_list targets = {0};
    gx_ctx *ctx = NULL;
    int rc = cli_open(common, &ctx);
    if (rc == EXIT_DONE)
        rc = target_list_get(ctx, common, TARGETS_USABLE, &targets);
    if (rc == EXIT_DONE) {
        copy_device(&d->cpu, "cpu", device_list_find(&targets.all, "cpu"));
        d->main = d->cpu;
        rc = take_devices(ctx, &targets, named, d);
    }
    if (rc == EXIT_DONE)
        explain_missing(ctx, named, d);
    target_list_free(&targets);
    return cli_close(&ctx, rc);
}

/* ---- rows ---- */

enum {
    COL_PART,
    COL_WHAT,
    COL_DEVICE,
    COL_FIELD,
    COL_JOBS,
    COL_SIZE,
    COL_THEIRS_SHOWN,
    COL_OURS_SHOWN,
    COL_THEIRS,
    COL_OURS,
    COL_UNIT,
    COL_RATIO,
    COL_VERDICT,
    COL_SAMPLES,
    COL_P90,
    COL_MIN,
    COL_MAX,
    COL_SOURCE,
    COL_NOTE,
    COLUMNS
};

static const column columns[COLUMNS] = {
    [COL_PART] = COLUMN(TEXT, "part", "part", 11, .flags = COL_MACHINE_ONLY),
    [COL_WHAT] = COLUMN(TEXT, "what", "what", 22),
    [COL_DEVICE] = COLUMN(TEXT, "device", "device", 15),
    [COL_FIELD] = COLUMN(TEXT, "field", "field", 12),
    [COL_JOBS] = COLUMN(COUNT, "jobs", "jobs", 4),
    [COL_SIZE] = COLUMN(COUNT, "elements", "size", 7),
    [COL_THEIRS_SHOWN] = COLUMN(TEXT, "theirs", "theirs", 10, .flags = COL_TABLE_ONLY),
    [COL_OURS_SHOWN] = COLUMN(TEXT, "ours", "ours", 10, .flags = COL_TABLE_ONLY),
    [COL_THEIRS] = COLUMN(REAL, "theirs", "theirs", 10, .flags = COL_MACHINE_ONLY),
    [COL_OURS] = COLUMN(REAL, "ours", "ours", 10, .flags = COL_MACHINE_ONLY),
    [COL_UNIT] = COLUMN(TEXT, "unit", "unit", 8, .flags = COL_MACHINE_ONLY),
    [COL_RATIO] = COLUMN(REAL, "times", "times", 9, .decimals = 3),
    [COL_VERDICT] = COLUMN(TEXT, "verdict", "verdict", 12),
    [COL_SAMPLES] = COLUMN(COUNT, "samples", "n", 4, .flags = COL_MACHINE_ONLY),
    [COL_P90] = COLUMN(REAL, "p90_us", "P90 us", 10, .flags = COL_MACHINE_ONLY),
    [COL_MIN] = COLUMN(REAL, "min_us", "min us", 10, .flags = COL_MACHINE_ONLY),
    [COL_MAX] = COLUMN(REAL, "max_us", "max us", 10, .flags = COL_MACHINE_ONLY),
    [COL_SOURCE] = COLUMN(TEXT, "source", "source", 20, .flags = COL_MACHINE_ONLY),
    [COL_NOTE] = COLUMN(TEXT, "note", "note", 4),
};

static const char *const units[] = {[SEEDS_US] = "us",
                                    [SEEDS_TIMES] = "times",
                                    [SEEDS_PERCENT] = "%",
                                    [SEEDS_ELEMENTS] = "elements"};
static const char *const verdicts[] = {[SEEDS_MET] = "met",
                                       [SEEDS_NOT_MET] = "not met",
                                       [SEEDS_NO_GOAL] = "no goal",
                                       [SEEDS_NOT_MEASURED] = "not measured"};

/* A figure for people, in a unit of its size. */
static cell shown(seeds_unit unit, double value, char text[32])
{
    if (isnan(value))
        return CELL_MISSING;
    switch (unit) {
    case SEEDS_US:
        snprintf(text, 32, "%.*f %s", value < 1e3 ? 1 : 2,
                 value < 1e3   ? value
                 : value < 1e6 ? value / 1e3
                               : value / 1e6,
                 value < 1e3   ? "us"
                 : value < 1e6 ? "ms"
                               : "s");
        break;
    case SEEDS_TIMES:
        snprintf(text, 32, "%.*fx", value < 0.1 ? 4 : 2, value);
        break;
    case SEEDS_PERCENT:
        snprintf(text, 32, "%.1f %%", value);
        break;
    case SEEDS_ELEMENTS:
        snprintf(text, 32, isinf(value) ? "never" : "%.0f", value);
        break;
    }
    return CELL_TEXT(text);
}

/* How many times better ours is; NAN if that cannot be said. */
static double times_better(const seeds_row *row, double theirs)
{
    if (row->neither)
        return NAN;
    bool lower = row->unit == SEEDS_US || row->unit == SEEDS_ELEMENTS;
    return lower ? theirs / row->ours : row->ours / theirs;
}

bool seeds_show(seeds *s, const seeds_row *row)
{
    const seeds_figure *f = seeds_find(s->part->name, row->what, row->jobs, row->elements);
    double theirs = f ? f->value : NAN, times = times_better(row, theirs);
    seeds_verdict verdict = isnan(row->ours) ? SEEDS_NOT_MEASURED
                            : isnan(times)   ? SEEDS_NO_GOAL
                            : times >= 1     ? SEEDS_MET
                                             : SEEDS_NOT_MET;
    bool why = verdict == SEEDS_NOT_MET && row->why[0];
    char note[sizeof row->note + sizeof row->why + 2], text[2][32];
    snprintf(note, sizeof note, "%s%s%s", row->note, why && row->note[0] ? "; " : "",
             why ? row->why : "");
    if (!f && verdict == SEEDS_NO_GOAL && !note[0])
        snprintf(note, sizeof note, "the seeds have no figure");
    const cell all[COLUMNS] = {
        [COL_PART] = CELL_TEXT(s->part->name),
        [COL_WHAT] = CELL_TEXT(row->what),
        [COL_DEVICE] = text_or_none(row->device),
        [COL_FIELD] = text_or_none(row->field),
        [COL_JOBS] = count_or_none(row->jobs),
        [COL_SIZE] = count_or_none(row->elements),
        [COL_THEIRS_SHOWN] = shown(row->unit, theirs, text[0]),
        [COL_OURS_SHOWN] = shown(row->unit, row->ours, text[1]),
        [COL_THEIRS] = real_or_none(theirs),
        [COL_OURS] = real_or_none(row->ours),
        [COL_UNIT] = CELL_TEXT(units[row->unit]),
        [COL_RATIO] = real_or_none(times),
        [COL_VERDICT] = CELL_TEXT(verdicts[verdict]),
        [COL_SAMPLES] = count_or_none(row->samples),
        [COL_P90] = row->samples ? CELL_REAL(row->ns.p90 / 1e3) : CELL_MISSING,
        [COL_MIN] = row->samples ? CELL_REAL(row->ns.min / 1e3) : CELL_MISSING,
        [COL_MAX] = row->samples ? CELL_REAL(row->ns.max / 1e3) : CELL_MISSING,
        [COL_SOURCE] = text_or_none(f ? f->source : NULL),
        [COL_NOTE] = note[0] ? CELL_TEXT(note) : CELL_MISSING,
    };
    s->verdicts[verdict]++;
    return parts_row(&s->tables, all);
}

int seeds_row_rc(seeds *s, const seeds_row *row)
{
    return seeds_show(s, row) ? EXIT_DONE : EXIT_FAILED;
}

int seeds_none(seeds *s, const char *device, const char *why)
{
    seeds_row row = {.what = "all rows", .device = device, .ours = NAN};
    SEEDS_NOTE(&row, "%s", why);
    return seeds_row_rc(s, &row);
}

void seeds_put(char to[SEEDS_TEXT], const char *format, ...)
{
    va_list ap;
    va_start(ap, format);
    vsnprintf(to, SEEDS_TEXT, format, ap);
    va_end(ap);
}

void seeds_why_device(seeds_row *row, const seeds_device *device, bool larger)
{
    const char *text = device->description;
    size_t length = strcspn(text, ",("); /* without driver and versions */
    while (length && text[length - 1] == ' ')
        length--;
    SEEDS_WHY(row, "measured on %.*s%s", (int)length, text,
              larger ? "; an element has 48 bytes, theirs had 4" : "");
}

seeds_row seeds_crossing(const cross_pair *pairs, size_t count, const char *b, const char *a)
{
    seeds_row row = {.unit = SEEDS_ELEMENTS, .ours = NAN};
    if (!count) {
        SEEDS_NOTE(&row, "no size was measured on both");
        return row;
    }
    cross_point at = cross_find(pairs, count, CROSS_EVEN).found;
    row.ours = at.kind == CROSS_NEVER ? INFINITY : at.at;
    if (at.kind == CROSS_NEVER)
        SEEDS_NOTE(&row, "at %.0f elements %s is not faster than %s", at.at, b, a);
    else if (at.kind == CROSS_ALWAYS)
        SEEDS_NOTE(&row, "%s is faster than %s at every size measured", b, a);
    else
        SEEDS_NOTE(&row, "%s is faster than %s from there on, between %.0f and %.0f", b, a,
                   at.after, at.before);
    return row;
}

double seeds_theirs(const seeds *s, const char *what, uint64_t jobs, uint64_t elements)
{
    const seeds_figure *f = seeds_find(s->part->name, what, jobs, elements);
    return f ? f->value : NAN;
}

number_list seeds_sizes(const seeds *s, const number_list *all)
{
    number_list kept = {0};
    const number_list *only = &s->opts->sizes;
    for (size_t i = 0; i < all->count; i++) {
        bool wanted = !only->count;
        for (size_t k = 0; k < only->count; k++)
            wanted = wanted || only->values[k] == all->values[i];
        if (wanted)
            kept.values[kept.count++] = all->values[i];
    }
    return kept;
}

uint64_t seeds_skip_ms(const seeds *s)
{
    return s->opts->sizes.count ? 0 : SEEDS_SKIP_MS;
}

/* ---- all ---- */

static void print_heading(const seeds *s)
{
    char os[128], date[32];
    const seeds_devices *d = &s->devices;
    gx__os_system(os, sizeof os);
    machine_date(date, sizeof date);
    printf("# The figures of the seeds and ours\n\n"
           "gpuexec %s, %s, %s\n\n"
           "- `%s`: %s\n",
           gx_version(), date, os, d->cpu.name, d->cpu.description);
    if (d->gpu)
        printf("- `%s`: %s\n", d->main.name, d->main.description);
    for (size_t i = 0; i < SEEDS_BACKENDS; i++)
        printf("- `%s`: %s\n", d->web[i].name[0] ? d->web[i].name : backends[i],
               d->web[i].description);
    printf("\nThe seeds are the documents that this project started from. Theirs: an Intel Core\n"
           "i7-9750H under Windows, with a GPU that they do not name.\n"
           "`times`: how many times better ours is; from 1 on, a row is met.\n\n");
}

static void print_summary(const seeds *s)
{
    uint64_t all = 0;
    for (size_t i = 0; i < SEEDS_VERDICTS; i++)
        all += s->verdicts[i];
    printf("\n%llu rows", (unsigned long long)all);
    for (size_t i = 0; i < SEEDS_VERDICTS; i++)
        printf("%s %llu %s", i ? "," : ":", (unsigned long long)s->verdicts[i], verdicts[i]);
    printf("\n");
}

static bool is_wanted(const seeds *s, const seeds_part *part)
{
    return part_is_in(s->opts->parts, part->name) && part->wanted(s);
}

static int run_parts(seeds *s)
{
    int rc = EXIT_DONE;
    for (size_t i = 0; i < PARTS && rc == EXIT_DONE; i++) {
        s->part = parts[i];
        if (!is_wanted(s, s->part))
            continue;
        uint64_t hidden = s->part->with_jobs ? 0 : (uint64_t)1 << COL_JOBS;
        rc = parts_begin(&s->tables, s->part->title, ~hidden);
        if (rc == EXIT_DONE)
            rc = s->part->run(s);
    }
    return parts_end(&s->tables, rc);
}

static int run_seeds(const common_opts *common)
{
    bool markdown = common->format == OUT_TABLE, any = false;
    seeds s = {.common = common,
               .opts = &opts,
               .tables = {.suite = suite_seeds.name,
                          .format = (output_format)common->format,
                          .markdown = markdown,
                          .columns = columns,
                          .count = COLUMNS}};
    for (size_t i = 0; i < PARTS; i++)
        any = any || is_wanted(&s, parts[i]);
    if (!any)
        return cli_usage("-n: these parts have no row of that size");
    int rc = child_run(find_devices, common, &s.devices, sizeof s.devices);
    if (rc != EXIT_DONE)
        return rc;
    if (markdown)
        print_heading(&s);
    rc = run_parts(&s);
    if (rc == EXIT_DONE && markdown)
        print_summary(&s);
    return rc == EXIT_DONE && s.failed ? EXIT_FAILED : rc;
}

const command suite_seeds = {
    .name = "seeds",
    .summary = "the figures of the SuperVM prototype's documents beside those of this machine",
    .about =
        "Repeats the measurements in the documents of the SuperVM prototype\n"
        "(doc/from-the-seeds.md) and prints their figures beside ours, as Markdown: on the first\n"
        "GPU, or the first device of --device that is not WebGPU, and on each WebGPU backend. A\n"
        "row is met if ours is at least as good; otherwise it says why. doc/csv.md describes the\n"
        "columns. Its parts:\n"
        "\n"
        "  persistence             one job in a new process, and on an open context\n"
        "  paths                   host-visible and device-local, and where they cross\n"
        "  batch                   2 to 8 jobs: sequential, pipelined, in a single submit\n"
        "  small                   64 jobs of 64 elements, in one call and in 64\n"
        "  buckets                 the seven mixed batches, f32 over WebGPU, and Fq\n"
        "  repeat                  a job of 20000 elements, first and later calls\n"
        "  scan                    f32 additions on the CPU and every backend, and the crossovers\n"
        "  goals                   speedup over the CPU by size",
    .examples = "  bench-suites seeds > seeds.md\n",
    .options = OPTION_TABLE(options),
    .formats = true,
    .run = run_seeds,
};
