/* SPDX-License-Identifier: Apache-2.0
 *
 * gpuexec bench: options, help and the list of suites. To add a suite, add a file suite_NAME.c and
 * a line here.
 */
#include <string.h>

#include "measure.h"
#include "suite.h"

/* X(name) */
#define SUITE_LIST(X) X(ops) X(persistence) X(engine) X(router)
#define POINTER(name) &suite_##name,

static const suite *const suites[] = {SUITE_LIST(POINTER)};
enum { SUITES = sizeof suites / sizeof *suites };

static const char *asked = "ops";
static bench_opts opts = {.seed = 1};

static const arg_spec specs[] = {
    {.name = "suite",
     .arg = "NAME",
     .kind = ARG_CHOICE,
     .choices = SUITE_LIST(SUITE_WORD),
     .value = &asked,
     .help = "what to measure (ops)"},
    ARG_ROW_FIELDS(&opts.fields, "of these, or all (default: the two BLS12-381 fields)"),
    ARG_ROW_OPS(&opts.ops, "of these, or all (default: add,mul,inv)"),
    ARG_ROW_LETTER(
        'n', "N[,N...]", ARG_NUMBERS, &opts.sizes, 1, 1u << 30,
        "elements of a job (64,4096,64K,4M; persistence: 64,1024,16K,64K; engine: 16K,64K,"
        "256K,1M; router: 64,256,1K,...,16M)"),
    ARG_ROW_SAMPLES(&opts.samples, SAMPLES_MAX,
                    "exactly this many samples per row (ops: 21, fewer where they take long)"),
    ARG_ROW_SEED(&opts.seed),
    ARG_ROW_NUMBERS("jobs", "N[,N...]", &opts.jobs, 1, 64, "engine: jobs of a batch (2,3,4,8,16)"),
    {.name = "part",
     .arg = "P[,P...]",
     .kind = ARG_CHOICES,
     .choices = ENGINE_PART_LIST(SUITE_WORD),
     .value = &opts.parts,
     .help = "engine: only these"},
    ARG_ROW_NUMBER("stream", "BYTES", &opts.stream_bytes, 1, (uint64_t)1 << 40,
                   "engine: all inputs of the stream (4G; less where there is no GPU)"),
    ARG_ROW_FLAG("stats", &opts.stats,
                 "print what the library counted, after the suite; with --csv and --json on "
                 "standard error"),
};

static int run_bench(const common_opts *common)
{
    const suite *found = suites[0];
    for (size_t i = 0; i < SUITES; i++)
        if (!strcmp(suites[i]->name, asked))
            found = suites[i];
    if (!found->chooses && (opts.fields || opts.ops))
        return cli_usage(&cmd_bench, "suite %s has its own operations: leave out --field and --op",
                         found->name);
    if (!found->engine && (opts.parts || opts.jobs.count || opts.stream_bytes))
        return cli_usage(&cmd_bench, "--part, --jobs and --stream are for suite engine");
    int rc = found->run(common, &opts);
    if (opts.stats)
        bench_stats_print((output_format)common->format);
    return rc;
}

const command cmd_bench = {
    .name = "bench",
    .summary = "measure speed, against this machine's own limit",
    .synopsis =
        "[--suite S] [--device D[,D...]] [--field F] [--op O] [-n N[,N...]]\n"
        "                     [--samples K] [--seed S] [--threads T] [--part P[,P...]]\n"
        "                     [--jobs N[,N...]] [--stream BYTES] [--stats] [--csv | --json]",
    .about =
        "Suite ops times every automatic device, or those named: add, mul and inv on the two\n"
        "BLS12-381 fields at four sizes unless told otherwise, in less than a minute. A sample\n"
        "of each result is compared with the reference first; if it differs the exit code is 4.\n"
        "\n"
        "  median, P90, min, max   of one gx_run call, in microseconds\n"
        "  GB/s                    bytes of the operands read and the result written\n"
        "  limit%                  of the streaming limit: two reads and one write over arrays of\n"
        "                          192 MiB with as many threads as the row used, measured in the\n"
        "                          same run; more than 100 where the data fits a cache\n"
        "  over ns                 what the call costs over the device's own work\n"
        "\n"
        "Suite persistence shows what keeping a device open is worth, on the one named or the\n"
        "one that jobs go to by themselves; its cache files lie in a folder of its own:\n"
        "\n"
        "  open, no files          gx_open and the first add, mul and inv on the two BLS12-381\n"
        "                          fields, in a new process with an empty cache folder\n"
        "  open, files             the same again, in another process, with the files of the "
        "first\n"
        "  one-shot, no files      gx_open, one Fq addition job and gx_close, without cache files\n"
        "  one-shot, files         the same with cache files\n"
        "  persistent              gx_run alone, without a report, on a context that stays open\n"
        "  times                   the median over that of the last row of its kind and size\n"
        "\n"
        "Suite engine shows what batches, pools, pipelines and streams are worth, on Fq additions\n"
        "unless told otherwise. Every way is verified first; ways that are compared are timed in\n"
        "turns. Its parts, of which --part takes some:\n"
        "\n"
        "  batch                   equal jobs in one call, in each mode; times: as fast as\n"
        "                          sequential; of best: the median over the best mode's\n"
        "  buckets                 batches of mixed sizes once warm: time per job, share of "
        "pooled\n"
        "                          memory (pool%) and commands (ready%) that were reused, and\n"
        "                          which sizes of memory how often\n"
        "  small                   64 jobs of 64 elements: a call for each, and one call\n"
        "  repeat                  a job of 20000 elements: the first call, the second, the "
        "others\n"
        "  copy                    gx_buf_write and gx_buf_read of large blocks, each alone and "
        "both\n"
        "                          at once, of memory registered (gx_host_register) and not\n"
        "  stream                  one job with 4 GiB of operands, memory registered and not\n"
        "\n"
        "Suite router calibrates unless that was done, then times every device there is to choose\n"
        "from, and what the router makes of them, in turns: add, mul and inv on the two BLS12-381\n"
        "fields, on host memory, registered memory and data in buffers of each GPU. --device "
        "takes\n"
        "several: cpu,vulkan:0. Its tables:\n"
        "\n"
        "  regret                  time of the router's choice over the best device's, less 1; "
        "off%\n"
        "                          is the prediction over the time; for data in buffers the CPU "
        "has\n"
        "                          it moved there and back\n"
        "  crossover               sizes from which on a GPU is faster than the CPU, and is used\n"
        "  rows                    a job of 16M by all devices together; 32 products on data that\n"
        "                          stays; what deciding costs\n"
        "  summary                 median and worst regret, prediction error, and the share of\n"
        "                          decisions taken without knowing\n"
        "\n"
        "A terminal too narrow for all columns gets the most important; --csv has them all.",
    .examples = "  gpuexec bench\n"
                "  gpuexec bench --op add -n 4M --threads 1\n"
                "  gpuexec bench --field all --op all -n 64K --samples 51 --csv > bench.csv\n"
                "  gpuexec bench --suite persistence --device vulkan:0\n"
                "  gpuexec bench --suite engine --device vulkan --part batch,stream --csv\n"
                "  gpuexec bench --suite router --device cpu,vulkan:0 -n 64,4K,64K\n",
    .args = {specs, sizeof specs / sizeof *specs},
    .formats = true,
    .run = run_bench,
};
