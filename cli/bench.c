/* SPDX-License-Identifier: Apache-2.0
 *
 * gpuexec bench: options, help and the list of suites. To add a suite, add a file suite_NAME.c and
 * a line here.
 */
#include <string.h>

#include "measure.h"
#include "suite.h"

/* X(name) */
#define SUITE_LIST(X) X(ops) X(persistence) X(engine) X(router) X(ntt) X(msm) X(seeds)
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
     .help = "benchmark suite (ops)"},
    ARG_ROW_FIELDS(&opts.fields, "fields to measure, or all (default: the two BLS12-381 fields)"),
    ARG_ROW_OPS(&opts.ops, "operations to measure, or all (default: add,mul,inv)"),
    {.name = "curve",
     .arg = "CURVE",
     .kind = ARG_CURVE,
     .value = &opts.curve,
     .help = "msm: curve of the points (bls12-381-g1)"},
    ARG_ROW_LETTER(
        'n', "N[,N...]", ARG_NUMBERS, &opts.sizes, 1, 1u << 30,
        "elements per job (64,4096,64K,4M; persistence: 64,1024,16K,64K; engine: 16K,64K,"
        "256K,1M; router: 64,256,1K,...,16M; ntt, msm: 1K,4K,...,16M; seeds: only rows of these "
        "sizes)"),
    ARG_ROW_SAMPLES(&opts.samples, SAMPLES_MAX,
                    "exactly this many samples per row (ops: 21, fewer for slow calls)"),
    ARG_ROW_SEED(&opts.seed),
    ARG_ROW_NUMBERS("jobs", "N[,N...]", &opts.jobs, 1, 64, "engine: jobs per batch (2,3,4,8,16)"),
    {.name = "part",
     .arg = "P[,P...]",
     .kind = ARG_CHOICES,
     .choices = ENGINE_PART_LIST(SUITE_WORD) SEEDS_ONLY_LIST(SUITE_WORD),
     .value = &opts.parts,
     .help = "engine, seeds: run only these parts"},
    ARG_ROW_NUMBER("stream", "BYTES", &opts.stream_bytes, 1, (uint64_t)1 << 40,
                   "engine: total input of the stream (4G; less without a GPU)"),
    ARG_ROW_FLAG("stats", &opts.stats,
                 "print the library's counters after the suite; with --csv and --json to "
                 "standard error"),
};

/* The first of --part that the suite lacks, with its length; NULL if it has them all. */
static const char *missing_part(const suite *of, size_t *length)
{
    for (const char *word = opts.parts; word; word = strchr(word, ',')) {
        word += *word == ',';
        *length = strcspn(word, ",");
        bool has = false;
        for (const char *p = of->parts; p && *p && !has; p += strcspn(p, " ")) {
            p += *p == ' ';
            has = strcspn(p, " ") == *length && !strncmp(p, word, *length);
        }
        if (!has)
            return word;
    }
    return NULL;
}

static int run_bench(const common_opts *common)
{
    size_t length;
    const suite *found = suites[0];
    for (size_t i = 0; i < SUITES; i++)
        if (!strcmp(suites[i]->name, asked))
            found = suites[i];
    if (!found->chooses && (opts.fields || opts.ops))
        return cli_usage(&cmd_bench,
                         "suite %s has a fixed set of operations: omit --field and --op",
                         found->name);
    if (!found->engine && (opts.jobs.count || opts.stream_bytes))
        return cli_usage(&cmd_bench, "--jobs and --stream apply to suite engine only");
    if (opts.curve && found != &suite_msm)
        return cli_usage(&cmd_bench, "--curve applies to suite msm only");
    if (opts.parts && !found->parts)
        return cli_usage(&cmd_bench, "suite %s has no parts: omit --part", found->name);
    const char *part = missing_part(found, &length);
    if (part)
        return cli_usage(&cmd_bench, "suite %s has no part '%.*s'; choose from%s", found->name,
                         (int)length, part, found->parts);
    int rc = found->run(common, &opts);
    if (opts.stats)
        bench_stats_print((output_format)common->format);
    return rc;
}

const command cmd_bench = {
    .name = "bench",
    .summary = "measure speed, relative to this machine's memory bandwidth",
    .synopsis =
        "[--suite S] [--device D[,D...]] [--field F] [--op O] [--curve C] [-n N[,N...]]\n"
        "                     [--samples K] [--seed S] [--threads T] [--part P[,P...]]\n"
        "                     [--jobs N[,N...]] [--stream BYTES] [--stats] [--csv | --json]",
    .about =
        "Suite ops times every automatic device, or the named ones: by default add, mul and inv\n"
        "on the two BLS12-381 fields at four sizes, in less than a minute. A sample of each\n"
        "result is first compared with the reference; on a mismatch the exit code is 4.\n"
        "\n"
        "  median, P90, min, max   time of one gx_run call, in microseconds\n"
        "  GB/s                    bytes of operands read and results written\n"
        "  limit%                  share of the streaming limit: two reads and one write over\n"
        "                          192 MiB arrays with the same number of threads, measured in\n"
        "                          the same run; above 100 if the data fits in a cache\n"
        "  over ns                 cost of the call on top of the device's own work\n"
        "\n"
        "Suite persistence measures the gain from keeping a device open, on the named device or\n"
        "the default one. It uses its own cache directory:\n"
        "\n"
        "  open, no files          gx_open and the first add, mul and inv on the two BLS12-381\n"
        "                          fields, in a new process with an empty cache directory\n"
        "  open, files             the same in another process, with the files of the first\n"
        "  one-shot, no files      gx_open, one Fq addition job and gx_close, without cache files\n"
        "  one-shot, files         the same with cache files\n"
        "  persistent              gx_run alone, without a report, on an open context\n"
        "  times                   median relative to the last row of the same kind and size\n"
        "\n"
        "Suite engine measures batches, pools, pipelines and streams, by default with Fq\n"
        "additions. Every variant is verified first; variants that are compared are timed\n"
        "alternately. Its parts, selected with --part:\n"
        "\n"
        "  batch                   equal jobs in one call, in each mode; times: speedup over\n"
        "                          sequential; of best: median relative to the best mode\n"
        "  buckets                 warm batches of mixed sizes: time per job, reuse of pooled\n"
        "                          memory (pool%) and of commands (ready%), and a histogram of\n"
        "                          the memory sizes used\n"
        "  small                   64 jobs of 64 elements: one call each, and one call for all\n"
        "  repeat                  a job of 20000 elements: first, second and later calls\n"
        "  paths                   a job through mapped host memory, through device memory, and\n"
        "                          as the library chooses\n"
        "  copy                    gx_buf_write and gx_buf_read of large blocks, separately and\n"
        "                          concurrently, with registered and unregistered memory\n"
        "  stream                  one job with 4 GiB of operands, registered and unregistered\n"
        "\n"
        "Suite router calibrates if necessary, then times each candidate device and the router's\n"
        "choice alternately: add, mul, inv and ntt (one transform) on the two BLS12-381 fields,\n"
        "msm with points of G1 and of G2 (256 to 256K, as long as a call takes less than 2 s), on\n"
        "host memory, registered memory and buffers of each GPU. --device takes a list:\n"
        "cpu,vulkan:0. Tables:\n"
        "\n"
        "  regret                  time of the router's choice relative to the best device,\n"
        "                          minus 1; off%: prediction error; for data in buffers, CPU\n"
        "                          times include the copies\n"
        "  crossover               smallest size at which a GPU beats the CPU, and is used\n"
        "  rows                    a 16M job on all devices together; 32 products on resident\n"
        "                          data; cost of a decision\n"
        "  summary                 median and worst regret, prediction error, and the share of\n"
        "                          decisions taken without measurements\n"
        "\n"
        "Suite ntt measures forward transforms of BLS12-381 Fr (or of --field) by size, from host\n"
        "memory and in buffers, on the CPU with one thread and with all; 2^16 also as a batch of\n"
        "256. Each result is checked first:\n"
        "\n"
        "  order                   of input and output: nn natural, nr bit-reversed output, which\n"
        "                          needs no permutation\n"
        "  ms, device ms           time of one gx_run call, and of the device by its own clock\n"
        "  ns/bfly                 time per butterfly; a transform of n elements has n/2 log2 n\n"
        "  first ms                first call with a new domain, which makes its tables\n"
        "\n"
        "Suite msm measures multi-scalar multiplications with points of BLS12-381 G1 (or of "
        "--curve)\n"
        "that the device keeps, and scalars in host memory, on the CPU with one thread and with "
        "all.\n"
        "Each result is checked first: the points are known multiples of the generator:\n"
        "\n"
        "  scalars                 uniform; ones; 0/1; one: a single value for all\n"
        "  batch                   sums of one call over the same points\n"
        "  table                   most MiB for multiples of the points\n"
        "  ms, device ms           time of one gx_run call, and of the device by its own clock\n"
        "  ns/pt                   time per point and sum\n"
        "  times                   median relative to uniform scalars without a table\n"
        "  first ms                first call with new points: copies them to the device, makes\n"
        "                          the table\n"
        "\n"
        "Suite seeds repeats every measurement in the documents of the SuperVM prototype\n"
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
        "  goals                   speedup over the CPU by size\n"
        "\n"
        "Narrow terminals show only the most important columns; --csv has them all.",
    .examples = "  gpuexec bench\n"
                "  gpuexec bench --op add -n 4M --threads 1\n"
                "  gpuexec bench --field all --op all -n 64K --samples 51 --csv > bench.csv\n"
                "  gpuexec bench --suite persistence --device vulkan:0\n"
                "  gpuexec bench --suite engine --device vulkan --part batch,stream --csv\n"
                "  gpuexec bench --suite router --device cpu,vulkan:0 -n 64,4K,64K\n"
                "  gpuexec bench --suite ntt --device vulkan:0 -n 64K,1M,16M\n"
                "  gpuexec bench --suite msm --device cpu -n 4K,64K\n"
                "  gpuexec bench --suite seeds > seeds.md\n",
    .args = {specs, sizeof specs / sizeof *specs},
    .formats = true,
    .run = run_bench,
};
