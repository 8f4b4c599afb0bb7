/* SPDX-License-Identifier: Apache-2.0
 *
 * Suite seeds: the parts measured by a scan, which compare devices with the CPU.
 */
#include <math.h>
#include <string.h>

#include "scan.h"
#include "seeds.h"

#define K 1024

enum { SAMPLES = 11, WARMUP = 2, BUDGET_MS = 500 };

/* Additions in a field on some devices, named in a list. Cells that failed are rows that say why;
 * other parts still follow. */
static int scan_additions(seeds *s, const char *devices, gx_field field, const number_list *sizes,
                          bool resident, scan_file *result)
{
    common_opts common = *s->common;
    const scan_opts opts = {.fields = 1u << field,
                            .ops = 1u << GX_ADD,
                            .sizes = *sizes,
                            .samples = s->opts->samples ? s->opts->samples : SAMPLES,
                            .warmup = WARMUP,
                            .seed = s->opts->seed,
                            .budget_ms = s->opts->samples ? 0 : BUDGET_MS,
                            .skip_ms = seeds_skip_ms(s),
                            .resident = resident};
    bool interrupted = false;
    common.config.device = devices;
    int rc = scan_measure(&common, &opts, result, &interrupted);
    for (size_t i = 0; rc == EXIT_FAILED && i < result->sections[0].count; i++)
        s->failed = s->failed || !strcmp(result->sections[0].rows[i].state, SCAN_FAILED);
    if (interrupted)
        cli_error("interrupted");
    return interrupted ? EXIT_FAILED : rc == EXIT_FAILED && s->failed ? EXIT_DONE : rc;
}

/* The cell of a device, size and place; NULL: none. */
static const scan_row *find_cell(const scan_file *scan, const char *device, double elements,
                                 const char *place)
{
    const scan_section *section = &scan->sections[0];
    for (size_t i = 0; i < section->count; i++) {
        const scan_row *r = &section->rows[i];
        if (!strcmp(r->device, device) && r->elements == elements && !strcmp(r->place, place))
            return r;
    }
    return NULL;
}

/* The time of a cell; without numbers, why. */
static seeds_row row_of(const char *what, const scan_row *r)
{
    seeds_row row = {.what = what,
                     .device = r->device,
                     .field = r->field,
                     .elements = (uint64_t)r->elements,
                     .ours = NAN};
    if (!scan_is_ok(r)) {
        SEEDS_NOTE(&row, "%s: %s", r->state, r->note);
        return row;
    }
    row.ours = r->median_us;
    row.samples = (size_t)r->samples;
    row.ns.p90 = 1e3 * r->p90_us;
    row.ns.min = 1e3 * r->min_us;
    row.ns.max = 1e3 * r->max_us;
    return row;
}

/* ---- scan ---- */

static const number_list scan_sizes = {7, {20000, 50000, 100000, 200000, 500000, 1000000, 2000000}};

static bool scan_wanted(const seeds *s)
{
    return seeds_sizes(s, &scan_sizes).count != 0;
}

/* Medians of two devices at the sizes that both have. */
static size_t make_pairs(const scan_file *scan, const number_list *sizes, const char *a,
                         const char *b, cross_pair *pairs)
{
    size_t count = 0;
    for (size_t i = 0; i < sizes->count; i++) {
        const scan_row *x = find_cell(scan, a, (double)sizes->values[i], SCAN_HOST);
        const scan_row *y = find_cell(scan, b, (double)sizes->values[i], SCAN_HOST);
        if (x && y && scan_is_ok(x) && scan_is_ok(y))
            pairs[count++] = (cross_pair){(double)sizes->values[i],
                                          x->median_us,
                                          x->low_us,
                                          x->high_us,
                                          y->median_us,
                                          y->low_us,
                                          y->high_us};
    }
    return count;
}

static int show_scan(seeds *s, const scan_file *scan, const number_list *sizes,
                     const seeds_device *device)
{
    bool cpu = !strcmp(device->name, "cpu");
    cross_pair pairs[NUMBER_LIST_MAX];
    int rc = EXIT_DONE;
    for (size_t i = 0; i < sizes->count && rc == EXIT_DONE; i++) {
        const scan_row *r = find_cell(scan, device->name, (double)sizes->values[i], SCAN_HOST);
        if (!r)
            continue;
        seeds_row row = row_of(cpu ? "CPU" : "GPU", r), p90 = row_of("GPU, P90", r);
        p90.ours = r->p90_us;
        seeds_why_device(&row, device, false);
        seeds_why_device(&p90, device, false);
        rc = seeds_row_rc(s, &row);
        if (rc == EXIT_DONE && !cpu)
            rc = seeds_row_rc(s, &p90);
    }
    if (rc != EXIT_DONE || cpu)
        return rc;
    size_t count = make_pairs(scan, sizes, "cpu", device->name, pairs);
    seeds_row from = seeds_crossing(pairs, count, device->name, "the CPU");
    from.what = "GPU from";
    from.device = device->name;
    from.field = "f32";
    if (count) {
        const cross_pair *last = &pairs[count - 1];
        SEEDS_WHY(&from, "for %.0f elements the CPU takes %.4g us, theirs took %.4g us", last->size,
                  last->a, seeds_theirs(s, "CPU", 0, (uint64_t)last->size));
    }
    return seeds_row_rc(s, &from);
}

/* Their main finding, with Vulkan for DX12. */
static int show_backends(seeds *s, const scan_file *scan, const number_list *sizes)
{
    cross_pair pairs[NUMBER_LIST_MAX];
    const seeds_device *gl = &s->devices.web[SEEDS_gl], *vulkan = &s->devices.web[SEEDS_vulkan];
    if (!gl->name[0] || !vulkan->name[0])
        return EXIT_DONE;
    size_t count = make_pairs(scan, sizes, gl->name, vulkan->name, pairs);
    seeds_row row = seeds_crossing(pairs, count, vulkan->name, gl->name);
    row.what = "Vulkan over GL from";
    row.device = vulkan->name;
    row.field = "f32";
    row.neither = true;
    return seeds_row_rc(s, &row);
}

static int run_scan(seeds *s)
{
    const seeds_device *all[2 + SEEDS_BACKENDS] = {&s->devices.cpu};
    size_t count = 1;
    char names[sizeof all / sizeof *all * sizeof all[0]->name] = "cpu";
    number_list sizes = seeds_sizes(s, &scan_sizes);
    scan_file scan;
    if (s->devices.gpu)
        all[count++] = &s->devices.main;
    for (size_t i = 0; i < SEEDS_BACKENDS; i++)
        if (s->devices.web[i].name[0])
            all[count++] = &s->devices.web[i];
    for (size_t i = 1; i < count; i++) {
        strcat(names, ",");
        strcat(names, all[i]->name);
    }
    int rc = scan_additions(s, names, GX_F32, &sizes, false, &scan);
    for (size_t i = 0; i < count && rc == EXIT_DONE; i++)
        rc = show_scan(s, &scan, &sizes, all[i]);
    for (size_t i = 0; i < SEEDS_BACKENDS && rc == EXIT_DONE; i++)
        if (!s->devices.web[i].name[0])
            rc = seeds_none(s, seeds_backend(i), s->devices.web[i].description);
    if (rc == EXIT_DONE)
        rc = show_backends(s, &scan, &sizes);
    scan_free(&scan);
    return rc;
}

const seeds_part seeds_scan = {
    .name = "scan",
    .title = "Threshold scans: f32 additions on the CPU and on every backend (their GPU: DX12)",
    .wanted = scan_wanted,
    .run = run_scan,
};

/* ---- goals ---- */

static const number_list goal_sizes = {5, {64, 1 * K, 4 * K, 16 * K, 64 * K}};

static bool goals_wanted(const seeds *s)
{
    return seeds_sizes(s, &goal_sizes).count != 0;
}

static int show_goal(seeds *s, const scan_file *scan, double elements, const char *place)
{
    const scan_row *cpu = find_cell(scan, "cpu", elements, SCAN_HOST);
    const scan_row *gpu = find_cell(scan, s->devices.main.name, elements, place);
    if (!cpu || !gpu)
        return EXIT_DONE;
    seeds_row row = row_of(strcmp(place, SCAN_HOST) ? "device memory" : "host memory", gpu);
    row.unit = SEEDS_TIMES;
    row.ours = scan_is_ok(cpu) ? cpu->median_us / row.ours : NAN;
    if (!isnan(row.ours)) {
        double gpu_ns = 1e3 * gpu->median_us / elements, cpu_ns = 1e3 * cpu->median_us / elements;
        SEEDS_NOTE(&row, "they had an estimated %gx", seeds_theirs(s, "estimate", 0, row.elements));
        SEEDS_WHY(
            &row,
            "their CPU took %.0f ns for an addition (%s), this one %.3g ns; over theirs %.3gx",
            SEEDS_CPU_ADD_NS, SEEDS_CPU_SOURCE, cpu_ns, SEEDS_CPU_ADD_NS / gpu_ns);
    }
    return seeds_row_rc(s, &row);
}

static int run_goals(seeds *s)
{
    static const char *const places[] = {SCAN_HOST, SCAN_RESIDENT};
    char names[8 + sizeof s->devices.main.name];
    number_list sizes = seeds_sizes(s, &goal_sizes);
    scan_file scan;
    if (!s->devices.gpu)
        return seeds_none(s, "cpu", "no GPU to compare with the CPU");
    snprintf(names, sizeof names, "cpu,%s", s->devices.main.name);
    int rc = scan_additions(s, names, GX_BLS12_381_FQ, &sizes, true, &scan);
    for (size_t p = 0; p < 2; p++)
        for (size_t i = 0; i < sizes.count && rc == EXIT_DONE; i++)
            rc = show_goal(s, &scan, (double)sizes.values[i], places[p]);
    scan_free(&scan);
    return rc;
}

const seeds_part seeds_goals = {
    .name = "goals",
    .title = "Goals by size: speedup of Fq additions over this CPU",
    .wanted = goals_wanted,
    .run = run_goals,
};
