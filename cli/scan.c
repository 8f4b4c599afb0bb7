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
                    "elements of a job, also as a range: 1K:16M:x2 (1K:4M:x4)"),
    ARG_ROW_FIELDS(&opts.fields, "of these, or all (bls12-381-fq)"),
    ARG_ROW_OPS(&opts.ops, "of these, or all (add,mul)"),
    ARG_ROW_FLAG("resident", &opts.resident, "also with operands that lie in the device's memory"),
    ARG_ROW_SAMPLES(&opts.samples, SAMPLES_MAX, "samples of a cell (11)"),
    ARG_ROW_NUMBER("warmup", "K", &opts.warmup, 0, SAMPLES_MAX,
                   "calls before the first sample (2)"),
    ARG_ROW_NUMBER(
        "budget", "MS", &opts.budget_ms, 0, 3600000,
        "milliseconds for the samples of a cell: fewer of them, but at least 3, past this; 0: "
        "no limit (2000)"),
    ARG_ROW_SEED(&opts.seed),
    ARG_ROW_FILE(
        'o', &opts.file,
        "write the rows there as they come, as CSV (doc/csv.md); a file that is there is kept"),
    ARG_ROW_FLAG("resume", &opts.resume,
                 "go on with a scan of the same options that was interrupted"),
};

/* For output that is incomplete: main reports write errors, so anything else is memory. */
static int shown(bool ok)
{
    return !output_flush() ? EXIT_FAILED : ok ? EXIT_DONE : cli_no_memory();
}

int scan_show(const scan_file *result)
{
    merge m;
    char err[SCAN_ERROR_SIZE];
    bool ok = merge_make(result, 1, false, &m, err) && text_put(stdout, &m, TEXT_PLAIN, "");
    merge_free(&m);
    return shown(ok);
}

static int show_json(const scan_file *result)
{
    merge m;
    char err[SCAN_ERROR_SIZE];
    json_t *value = NULL;
    if (merge_make(result, 1, false, &m, err))
        value = json_of_merge(&m, "scan", gx_version());
    bool ok = value && !json_dumpf(value, stdout, JSON_INDENT(2) | JSON_REAL_PRECISION(9));
    putchar('\n');
    json_decref(value);
    merge_free(&m);
    return shown(ok);
}

static int show(const scan_file *result, output_format format)
{
    if (!result->count || !result->sections[0].count || format == OUT_CSV)
        return EXIT_DONE;
    return format == OUT_JSON ? show_json(result) : scan_show(result);
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
        cli_error("the same command with --resume goes on");
    else if (opts.file && s && s->count)
        fprintf(stderr, "%zu cell%s in %s; 'gpuexec report %s -o page.html' draws them\n", s->count,
                plural(s->count), opts.file, opts.file);
}

static int run_scan(const common_opts *common)
{
    scan_file result;
    bool interrupted = false;
    if (!opts.sizes.count)
        opts.sizes = default_sizes;
    if (opts.resume && !opts.file)
        return cli_usage(&cmd_scan, "--resume needs the file to go on with: -o FILE");
    if (!any_operation())
        return cli_no_operation(&cmd_scan, opts.fields);
    if (!sizes_differ())
        return cli_usage(&cmd_scan, "--sizes: a size is there twice");
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
    .summary = "find from which size on which device is the fastest",
    .synopsis =
        "[--sizes FROM:TO:xK] [--op O] [--field F] [--device D] [--resident]\n"
        "                    [--samples K] [--warmup K] [--budget MS] [-o FILE [--resume]]\n"
        "                    [--csv | --json]",
    .about =
        "Times every operation at every size on every usable device but the reference, or on "
        "those\n"
        "that --device names, and says who wins at each size and from which size on one device\n"
        "overtakes another. Each cell is compared with the reference before it is timed; if it\n"
        "differs the exit code is 4. A device does all sizes in a row, and a GPU works for half a\n"
        "second before, as one that was idle has its clock down.\n"
        "\n"
        "  us (P90)  median and 90th percentile of one gx_run call, in microseconds\n"
        "  winner    the smallest median; ~ where its 95 % interval and the second's meet\n"
        "  times     the second fastest over the winner\n"
        "\n"
        "Crossovers are where straight lines between the measured points meet, both axes being\n"
        "logarithmic, with the interval that the intervals of the medians leave open; and where\n"
        "the faster one takes 90 % of the other's time. Calls before the first sample, and first\n"
        "samples that are 1.5 times as slow as the median, are kept apart as warm-up.\n"
        "\n"
        "An interrupt (Ctrl-C) ends it after the sample under way; what was measured is shown, is\n"
        "in the file, and --resume goes on from there. doc/csv.md describes the file.",
    .examples = "  gpuexec scan\n"
                "  gpuexec scan --sizes 1K:16M:x2 --samples 21 --resident -o scan.csv\n"
                "  gpuexec scan --sizes 1K:16M:x2 --samples 21 --resident -o scan.csv --resume\n"
                "  gpuexec scan --device cpu,vulkan:0 --op all --field all --csv > scan.csv\n",
    .args = {specs, sizeof specs / sizeof *specs},
    .formats = true,
    .run = run_scan,
};
