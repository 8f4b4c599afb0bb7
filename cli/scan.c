/* SPDX-License-Identifier: Apache-2.0
 *
 * gpuexec scan: finds the fastest device at each size. Options, help, and the final output;
 * scan_measure.c does the measuring.
 */
#include "scan.h"

#include "measure.h"

static scan_opts opts = {
    .ops = 1u << GX_MUL | 1u << GX_NTT | 1u << GX_MSM,
    .samples = 11,
    .warmup = 2,
    .seed = 1,
    .budget_ms = 2000,
};

/* 1K to 1M in steps of 4, without those at which a call would take longer than: */
enum { DEFAULT_SKIP_MS = 5000 };
static const number_list default_sizes = {6,
                                          {1 << 10, 1 << 12, 1 << 14, 1 << 16, 1 << 18, 1 << 20}};

static const option_row options[] = {
    OPTION_NUMBERS("sizes", "N[,N...]", &opts.sizes, 1, 1u << 30,
                   "elements per job, also as a range: 2^10:2^24:x2 (1K:1M:x4, as far as a call "
                   "takes less than 5 s)"),
    OPTION_FIELDS(&opts.fields, "fields to measure, or all (" DEFAULT_FIELDS ")"),
    OPTION_OPS(&opts.ops, "operations to measure, or all (mul,ntt,msm)"),
    OPTION_FLAG("resident", &opts.resident, "measure operands in device memory too"),
    OPTION_SAMPLES(&opts.samples, SAMPLES_MAX, "samples per cell (11)"),
    OPTION_NUMBER("warmup", "K", &opts.warmup, 0, SAMPLES_MAX, "calls before the first sample (2)"),
    OPTION_NUMBER("budget", "MS", &opts.budget_ms, 0, 3600000,
                  "time limit per cell in milliseconds; takes fewer samples, but at least 3; 0: "
                  "no limit (2000)"),
    OPTION_SEED(&opts.seed),
    OPTION_FILE(
        'o', &opts.file,
        "write rows to this file as they are measured, as CSV (doc/csv.md); never overwrites: a "
        "finished scan with the same options is shown again"),
    OPTION_FLAG("resume", &opts.resume, "continue an interrupted scan with the same options"),
    OPTIONS_FILTER(&opts.filter),
};

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
    if (!opts.sizes.count) {
        opts.sizes = default_sizes;
        opts.skip_ms = DEFAULT_SKIP_MS;
    }
    if (opts.resume && !opts.file)
        return cli_usage("--resume needs the file to continue: -o FILE");
    if (!cli_count_wanted(opts.fields, opts.ops))
        return cli_no_operation(opts.fields, opts.ops);
    if (!scan_cells(&opts))
        return cli_usage("--sizes: ntt and bit-reverse take powers of two");
    if (!sizes_differ())
        return cli_usage("--sizes: a size is listed twice");
    if (!filter_is_usable(&opts.filter))
        return EXIT_USAGE;
    opts.print = common->format == OUT_CSV;
    int rc = scan_measure(common, &opts, &result, &interrupted);
    int shown = scan_show(&result, &opts.filter, (output_format)common->format);
    say_file(&result, interrupted);
    scan_free(&result);
    if (rc == EXIT_DONE)
        rc = shown;
    return rc == EXIT_DONE && interrupted ? EXIT_FAILED : rc;
}

const command cmd_scan = {
    .name = "scan",
    .summary = "find the fastest device at each size",
    .about =
        "Times every operation at every size on every automatic device, or on the devices given\n"
        "with --device, and reports the winner at each size and, for each pair of devices, the\n"
        "sizes at which one overtakes the other; ntt is one transform, msm a sum of points that\n"
        "the device keeps, of the field's first curve. Each cell is compared with the reference\n"
        "before it is timed; on a mismatch the exit code is 4. Each device runs all sizes in a\n"
        "row, and a GPU is kept busy for half a second first, because an idle GPU lowers its\n"
        "clock.\n"
        "\n"
        "  us (P90)  median and 90th percentile of one gx_run call, in microseconds\n"
        "  winner    the lowest median; ~ if its 95 % interval overlaps the second's\n"
        "  times     time of the second fastest relative to the winner; a tie up to 1.005\n"
        "  ns/...    time of the fastest for each element, butterfly (ntt) or point (msm)\n"
        "\n"
        "Crossovers are the intersections of straight lines between measured points, on\n"
        "logarithmic axes, with the interval that follows from those of the medians; also listed\n"
        "is the size at which the faster device takes 90 % of the other's time. Warm-up calls\n"
        "do not count, nor do first samples that take more than 1.5 times the median.\n"
        "\n"
        "Ctrl-C stops after the current sample; measurements so far are shown and kept in the\n"
        "file, and --resume continues from there. A file with the whole scan is shown and kept:\n"
        "to measure again, remove it. doc/csv.md describes the file.",
    .examples = "  gpuexec scan\n"
                "  gpuexec scan --sizes 1K:16M:x2 --samples 21 --resident -o scan.csv\n"
                "  gpuexec scan --sizes 1K:16M:x2 --samples 21 --resident -o scan.csv --resume\n"
                "  gpuexec scan --device cpu,vulkan:0 --op all --field all --csv > scan.csv\n"
                "  gpuexec scan --op add,inv --sizes 1K:16M:x4\n"
                "  gpuexec scan --between webgpu:gl,webgpu:vulkan\n",
    .options = OPTION_TABLE(options),
    .formats = true,
    .run = run_scan,
};
