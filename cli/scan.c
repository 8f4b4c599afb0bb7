/* SPDX-License-Identifier: Apache-2.0
 *
 * gpuexec scan: finds the fastest device at each size. Options, help, and the final output;
 * scan_measure.c does the measuring.
 */
#include "scan.h"

#include <string.h>

#include "measure.h"
#include "report/json.h"
#include "report/text.h"

static scan_opts opts = {
    .fields = 1u << GX_BLS12_381_FQ,
    .ops = 1u << GX_ADD | 1u << GX_MUL,
    .samples = 11,
    .warmup = 2,
    .seed = 1,
    .budget_ms = 2000,
};

/* 1K to 4M in steps of 4. */
static const number_list default_sizes = {
    7, {1 << 10, 1 << 12, 1 << 14, 1 << 16, 1 << 18, 1 << 20, 1 << 22}};

static const arg_spec specs[] = {
    ARG_ROW_NUMBERS("sizes", "N[,N...]", &opts.sizes, 1, 1u << 30,
                    "elements per job, also as a range: 1K:16M:x2 (1K:4M:x4)"),
    ARG_ROW_FIELDS(&opts.fields, "fields to measure, or all (bls12-381-fq)"),
    ARG_ROW_OPS(&opts.ops, "operations to measure, or all (add,mul)"),
    ARG_ROW_FLAG("resident", &opts.resident, "measure operands in device memory too"),
    ARG_ROW_SAMPLES(&opts.samples, SAMPLES_MAX, "samples per cell (11)"),
    ARG_ROW_NUMBER("warmup", "K", &opts.warmup, 0, SAMPLES_MAX,
                   "calls before the first sample (2)"),
    ARG_ROW_NUMBER("budget", "MS", &opts.budget_ms, 0, 3600000,
                   "time limit per cell in milliseconds; takes fewer samples, but at least 3; 0: "
                   "no limit (2000)"),
    ARG_ROW_SEED(&opts.seed),
    ARG_ROW_FILE(
        'o', &opts.file,
        "write rows to this file as they are measured, as CSV (doc/csv.md); never overwrites"),
    ARG_ROW_FLAG("resume", &opts.resume, "continue an interrupted scan with the same options"),
    ARG_ROWS_FILTER(&opts.filter),
};

/* For output that is incomplete: main reports write errors, so anything else is memory. */
static int shown(bool ok)
{
    return !output_flush() ? EXIT_FAILED : ok ? EXIT_DONE : cli_no_memory();
}

static bool put_json(const merge *m)
{
    json_t *value = json_of_merge(m, "scan", gx_version());
    bool ok = value && !json_dumpf(value, stdout, JSON_INDENT(2) | JSON_REAL_PRECISION(9));
    putchar('\n');
    json_decref(value);
    return ok;
}

static bool put_text(const merge *m)
{
    return text_put(stdout, m, TEXT_PLAIN, "");
}

static int show_as(const scan_file *result, const merge_filter *filter, bool (*put)(const merge *m))
{
    merge m;
    char err[SCAN_ERROR_SIZE];
    int rc = EXIT_FAILED;
    if (merge_make(result, 1, false, filter, &m, err))
        rc = shown(put(&m));
    else
        cli_error("%s", err);
    merge_free(&m);
    return rc;
}

int scan_show(const scan_file *result, const merge_filter *filter)
{
    return show_as(result, filter, put_text);
}

static int show(const scan_file *result, output_format format)
{
    if (!result->count || !result->sections[0].count || format == OUT_CSV)
        return EXIT_DONE;
    return show_as(result, &opts.filter, format == OUT_JSON ? put_json : put_text);
}

static bool any_operation(void)
{
    for (int f = 1; gx_field_get_info((gx_field)f); f++)
        for (int o = 1; gx_op_get_info((gx_op)o); o++)
            if (opts.fields >> f & 1 && opts.ops >> o & 1 && gx_op_exists((gx_op)o, (gx_field)f))
                return true;
    return false;
}

static bool sizes_differ(void)
{
    for (size_t i = 0; i < opts.sizes.count; i++)
        for (size_t k = 0; k < i; k++)
            if (opts.sizes.values[i] == opts.sizes.values[k])
                return false;
    return true;
}

/* Prints where the results are, and how to continue. */
static void say_file(const scan_file *result, bool interrupted)
{
    const scan_section *s = result->count ? result->sections : NULL;
    if (interrupted && s)
        cli_error("interrupted: %zu of %.0f cells %s%s", s->count, s->cells,
                  opts.file ? "are in " : "were measured; with -o FILE they would have been kept",
                  opts.file ? opts.file : "");
    if (interrupted && opts.file)
        cli_error("to continue, add --resume to the same command");
    else if (opts.file && s && s->count)
        fprintf(stderr, "%zu cell%s in %s; 'gpuexec report %s -o page.html' draws charts\n",
                s->count, plural(s->count), opts.file, opts.file);
}

static int run_scan(const common_opts *common)
{
    scan_file result;
    bool interrupted = false;
    if (!opts.sizes.count)
        opts.sizes = default_sizes;
    if (opts.resume && !opts.file)
        return cli_usage(&cmd_scan, "--resume needs the file to continue: -o FILE");
    if (!any_operation())
        return cli_no_operation(&cmd_scan, opts.fields);
    if (!scan_cells(&opts))
        return cli_usage(&cmd_scan, "--sizes: ntt and bit-reverse take powers of two");
    if (!sizes_differ())
        return cli_usage(&cmd_scan, "--sizes: a size is listed twice");
    if (!filter_is_usable(&opts.filter, &cmd_scan))
        return EXIT_USAGE;
    opts.print = common->format == OUT_CSV;
    int rc = scan_measure(common, &opts, &result, &interrupted);
    int shown = show(&result, (output_format)common->format);
    say_file(&result, interrupted);
    scan_free(&result);
    if (rc == EXIT_DONE)
        rc = shown;
    return rc == EXIT_DONE && interrupted ? EXIT_FAILED : rc;
}

const command cmd_scan = {
    .name = "scan",
    .summary = "find the fastest device at each size",
    .synopsis =
        "[--sizes FROM:TO:xK] [--op O] [--field F] [--device D] [--resident]\n"
        "                    [--samples K] [--warmup K] [--budget MS] [-o FILE [--resume]]\n"
        "                    [--only NAMES] [--between A,B] [--csv | --json]",
    .about =
        "Times every operation at every size on every usable device except the reference, or on\n"
        "the devices given with --device, and reports the winner at each size and, for each pair\n"
        "of devices, the sizes at which one overtakes the other; ntt is one transform, msm a sum\n"
        "of points of the field's first curve. Each cell is compared with the reference before it\n"
        "is timed; on a mismatch the exit code is 4. Each device runs all sizes in a row, and a\n"
        "GPU is kept busy for half a second first, because an idle GPU lowers its clock.\n"
        "\n"
        "  us (P90)  median and 90th percentile of one gx_run call, in microseconds\n"
        "  winner    the lowest median; ~ if its 95 % interval overlaps the second's\n"
        "  times     time of the second fastest relative to the winner\n"
        "\n"
        "Crossovers are the intersections of straight lines between measured points, on\n"
        "logarithmic axes, with the interval that follows from those of the medians; also listed\n"
        "is the size at which the faster device takes 90 % of the other's time. Warm-up calls\n"
        "do not count, nor do first samples that take more than 1.5 times the median.\n"
        "\n"
        "Ctrl-C stops after the current sample; measurements so far are shown and kept in the\n"
        "file, and --resume continues from there. doc/csv.md describes the file.",
    .examples = "  gpuexec scan\n"
                "  gpuexec scan --sizes 1K:16M:x2 --samples 21 --resident -o scan.csv\n"
                "  gpuexec scan --sizes 1K:16M:x2 --samples 21 --resident -o scan.csv --resume\n"
                "  gpuexec scan --device cpu,vulkan:0 --op all --field all --csv > scan.csv\n"
                "  gpuexec scan --between webgpu:gl,webgpu:vulkan\n",
    .args = {specs, sizeof specs / sizeof *specs},
    .formats = true,
    .run = run_scan,
};
