/* SPDX-License-Identifier: Apache-2.0
 *
 * gpuexec msm: multi-scalar multiplications of files. The points are held in memory, and the
 * vectors of scalars are read in groups.
 */
#include <inttypes.h>
#include <string.h>
#include <unistd.h>

#include "host.h"
#include "cli.h"
#include "data.h"
#include "files.h"
#include "points.h"
#include "progress.h"
#include "run_report.h"

/* GROUP: scalars of a group of vectors at most, unless one is longer. */
enum { GROUP = 1 << 20, SCALAR_BYTES = 32, SCALAR_BITS = 256 };

static struct {
    gx_curve curve;
    uint64_t bits, batch;
    int stats, json;
    const char *points, *point_form, *scalars, *scalar_form, *result_form, *check, *out;
} opts = {.curve = GX_BLS12_381_G1,
          .bits = SCALAR_BITS,
          .point_form = "xy-mont",
          .scalar_form = "plain",
          .check = "curve"};

static const option_row options[] = {
    OPTION_CURVE(&opts.curve, "curve of the points (bls12-381-g1)"),
    OPTION_TEXT("points", "FILE", &opts.points, "points; - for standard input"),
    OPTION_CHOICE("point-form", "FORM", POINT_FORMS, &opts.point_form,
                  "how the points are written (xy-mont)"),
    OPTION_TEXT("scalars", "FILE", &opts.scalars,
                "scalars of 32 bytes, lowest byte first; - for standard input"),
    OPTION_CHOICE("scalar-form", "FORM", "plain mont", &opts.scalar_form,
                  "integers, or elements of the scalar field in Montgomery form (plain)"),
    OPTION_NUMBER("scalar-bits", "B", &opts.bits, 1, SCALAR_BITS,
                  "plain scalars are below 2^B: higher bits are ignored (256)"),
    OPTION_NUMBER("batch", "B", &opts.batch, 1, (uint64_t)1 << 40,
                  "number of results, of as many vectors of scalars (what the file holds)"),
    OPTION_CHOICE("result-form", "FORM", POINT_FORMS, &opts.result_form,
                  "how results are written (as the points)"),
    OPTION_FILE('o', &opts.out,
                "results; - for standard output (without it, and on a terminal: in hexadecimal)"),
    OPTION_CHOICE("check", "CHECK", "none curve subgroup", &opts.check,
                  "whether the points are on the curve, or also in the subgroup (curve)"),
    OPTIONS_REPORT(&opts, "group"),
};

typedef struct work {
    gx_ctx *ctx;
    gx_points *points;
    gx_msm_params params;
    element_reader in, reader; /* of the points, and of the scalars */
    file_writer writer;
    bool hex; /* results to standard output, in hexadecimal */
    unsigned char *scalars, *results;
    size_t room; /* scalars */
    run_report report;
} work;

/* ---- options ---- */

static int check_forms(void)
{
    if (!point_form(opts.curve, opts.point_form))
        return point_form_missing("point-form", opts.curve, opts.point_form);
    if (!opts.result_form)
        opts.result_form = opts.point_form;
    if (!point_form(opts.curve, opts.result_form))
        return point_form_missing("result-form", opts.curve, opts.result_form);
    return EXIT_DONE;
}

static int check_options(void)
{
    int rc = check_forms();
    if (rc != EXIT_DONE)
        return rc;
    if (!opts.points)
        return cli_usage("no points given: add --points FILE");
    if (!opts.scalars)
        return cli_usage("no scalars given: add --scalars FILE");
    if (!strcmp(opts.points, "-") && !strcmp(opts.scalars, "-"))
        return cli_usage("--points and --scalars cannot both be standard input");
    if (opts.bits < SCALAR_BITS && !strcmp(opts.scalar_form, "mont"))
        return cli_usage("--scalar-bits is for plain scalars: omit it");
    if (!opts.out && opts.json)
        return cli_usage("the result and --json both write to standard output; name a "
                         "file with -o");
    return EXIT_DONE;
}

static gx_point_check point_check(void)
{
    return opts.check[0] == 'n'   ? GX_CHECK_NONE
           : opts.check[0] == 's' ? GX_CHECK_SUBGROUP
                                  : GX_CHECK_CURVE;
}

/* ---- points ---- */

/* The library's message names the call, then the point. */
static int points_failed(const work *t, gx_status s, uint64_t bad)
{
    static const char call[] = "gx_points_create: ";
    const char *message = gx_last_message();
    if (bad == UINT64_MAX)
        return cli_call_failed(s);
    if (!strncmp(message, call, sizeof call - 1))
        message += sizeof call - 1;
    cli_error("%s: %s (at byte offset %" PRIu64 "); check --curve and --point-form", t->in.name,
              message, bad * t->in.element_bytes);
    return EXIT_FAILED;
}

static int make_points(work *t)
{
    unsigned char *memory = NULL;
    uint64_t bad;
    size_t room = t->in.total != ELEMENTS_UNKNOWN ? (size_t)t->in.total : PIECE, have;
    int rc = input_all(&t->in, &memory, &room, &have);
    const gx_points_params desc = {.struct_size = sizeof desc,
                                   .curve = opts.curve,
                                   .form = point_form(opts.curve, opts.point_form),
                                   .points = memory,
                                   .count = have,
                                   .check = point_check()};
    gx_status s = GX_OK;
    run_report_phase(&t->report, RUN_TABLES);
    if (rc == EXIT_DONE && (s = gx_points_create(t->ctx, &desc, &t->points, &bad)) != GX_OK)
        rc = points_failed(t, s, bad);
    data_free(memory);
    run_report_phase(&t->report, RUN_READ);
    t->params = (gx_msm_params){.struct_size = sizeof t->params,
                                .points = t->points,
                                .count = have,
                                .scalar_form =
                                    opts.scalar_form[0] == 'm' ? GX_SCALAR_MONT : GX_SCALAR_PLAIN,
                                .scalar_bits = opts.scalar_form[0] == 'm' ? 0 : (uint32_t)opts.bits,
                                .result_form = point_form(opts.curve, opts.result_form)};
    return rc;
}

/* ---- scalars ---- */

/* Whether so many scalars are right for the points. */
static int check_length(const work *t, uint64_t scalars)
{
    uint64_t points = t->params.count, wanted;
    if (opts.batch && (__builtin_mul_overflow(opts.batch, points, &wanted) || scalars != wanted)) {
        cli_error("%s has %" PRIu64 " scalar%s; %" PRIu64 " result%s of %" PRIu64
                  " point%s take%s %" PRIu64,
                  t->reader.name, scalars, plural(scalars), opts.batch, plural(opts.batch), points,
                  plural(points), opts.batch == 1 ? "s" : "", opts.batch * points);
        return EXIT_FAILED;
    }
    if (points ? scalars % points || !scalars : scalars) {
        cli_error("%s has %" PRIu64 " scalar%s, and %s has %" PRIu64
                  " point%s: there must be a scalar for each point, or several times as many",
                  t->reader.name, scalars, plural(scalars), t->in.name, points, plural(points));
        return EXIT_FAILED;
    }
    return EXIT_DONE;
}

/* ---- results ---- */

static int write_hex(const unsigned char *results, size_t count, size_t bytes)
{
    progress_hide();
    for (size_t i = 0; i < count; i++) {
        for (size_t k = 0; k < bytes; k++)
            printf("%02x", results[i * bytes + k]);
        putchar('\n');
    }
    return output_flush() ? EXIT_DONE : EXIT_FAILED;
}

static int write_results(work *t, size_t count)
{
    size_t bytes = gx_point_bytes(opts.curve, t->params.result_form);
    if (t->hex)
        return write_hex(t->results, count, bytes);
    return result_write(&t->writer, t->results, count * bytes);
}

/* The results of the `have` scalars that were read last. */
static int run_group(work *t, size_t have)
{
    size_t batch = t->params.count ? have / t->params.count : 1;
    const gx_job job = gx_msm(&t->params, batch, gx_host(t->scalars), gx_host(t->results));
    gx_report report = {.struct_size = sizeof report};
    if (run_report_run(&t->report, t->ctx, &job, 1, 0, &report) != GX_OK)
        return elements_failed(&report, job.field, &t->reader, t->reader.done - have,
                               "check --scalar-form");
    return write_results(t, batch);
}

/* Vectors of a group. */
static size_t group_vectors(const work *t)
{
    size_t count = t->params.count, most = count && count < GROUP ? GROUP / count : 1;
    bool known = t->reader.total != ELEMENTS_UNKNOWN;
    uint64_t all = known && count ? t->reader.total / count : most;
    return all < most ? (size_t)all : most;
}

static int allocate(work *t)
{
    size_t vectors = group_vectors(t);
    t->room = t->params.count ? vectors * t->params.count : 1;
    t->scalars = t->room > SIZE_MAX / SCALAR_BYTES ? NULL : data_alloc(t->room * SCALAR_BYTES);
    t->results = data_alloc(vectors * POINT_BYTES_MAX);
    return t->scalars && t->results ? EXIT_DONE : cli_no_memory();
}

static bool has_too_many(const work *t)
{
    uint64_t count = t->params.count, done = t->reader.done;
    return !count || (opts.batch && done && (done - 1) / count >= opts.batch);
}

/* Of no points there is one result. */
static int run_groups(work *t)
{
    size_t have;
    int rc;
    do {
        have = 0;
        run_report_phase(&t->report, RUN_READ);
        rc = input_fill(&t->reader, t->scalars, t->room, &have);
        /* the last group is not a full one: now the length is known; and so it is if there is more
         * than there should be */
        if (rc == EXIT_DONE && (have < t->room || has_too_many(t)))
            rc = check_length(t, t->reader.done);
        if (rc == EXIT_DONE && (have || !t->params.count))
            rc = run_group(t, have);
    } while (rc == EXIT_DONE && have && have == t->room);
    return rc;
}

/* ---- the whole ---- */

static int open_all(work *t)
{
    const element_reader *in[] = {&t->in, &t->reader};
    gx_point_form form = point_form(opts.curve, opts.point_form);
    t->hex = !opts.out || (!strcmp(opts.out, "-") && host_is_terminal(STDOUT_FILENO));
    int rc = input_open(&t->in, opts.points, "point", "--curve or --point-form",
                        gx_point_bytes(opts.curve, form));
    if (rc == EXIT_DONE)
        rc = input_open(&t->reader, opts.scalars, "scalar", "--scalars", SCALAR_BYTES);
    return t->hex || rc != EXIT_DONE ? rc : result_open(opts.out, opts.json, in, 2, &t->writer);
}

static int run_whole(work *t)
{
    bool known = t->in.total != ELEMENTS_UNKNOWN && t->reader.total != ELEMENTS_UNKNOWN;
    run_report_begin(&t->report, t->ctx, GX_MSM, gx_curve_get_info(opts.curve)->scalar_field);
    run_report_phase(&t->report, RUN_READ);
    progress_start("msm", known ? t->in.total + t->reader.total : 0, known ? NULL : "elements");
    int rc = make_points(t);
    if (rc == EXIT_DONE && t->reader.total != ELEMENTS_UNKNOWN)
        rc = check_length(t, t->reader.total);
    if (rc == EXIT_DONE)
        rc = allocate(t);
    if (rc == EXIT_DONE)
        rc = run_groups(t);
    progress_end();
    run_report_phase(&t->report, RUN_WRITE);
    if (rc == EXIT_DONE && !t->hex)
        rc = result_commit(&t->writer);
    run_report_end(&t->report, t->ctx);
    return rc;
}

static int close_all(work *t, int rc)
{
    reader_close(&t->in);
    reader_close(&t->reader);
    writer_close(&t->writer);
    data_free(t->scalars);
    data_free(t->results);
    gx_points_destroy(&t->points);
    rc = cli_close(&t->ctx, rc);
    run_report_print(&t->report, rc);
    return rc;
}

static int run_msm(const common_opts *common)
{
    int rc = check_options();
    if (rc != EXIT_DONE)
        return rc;
    work t = {.in = {.fd = -1},
              .reader = {.fd = -1},
              .writer = {.fd = -1},
              .report = {.command = cmd_msm.name, .json = opts.json, .stats = opts.stats}};
    run_report_phase(&t.report, RUN_READ);
    rc = open_all(&t);
    run_report_phase(&t.report, RUN_OPEN);
    if (rc == EXIT_DONE)
        rc = cli_open(common, &t.ctx);
    if (rc == EXIT_DONE)
        rc = run_whole(&t);
    return close_all(&t, rc);
}

const command cmd_msm = {
    .name = "msm",
    .summary = "multi-scalar multiplications of files of points",
    .synopsis = "--points FILE --scalars FILE",
    .about =
        "Prints the sum of scalar i times point i, in hexadecimal, or writes it to a file with "
        "-o.\n"
        "The files contain points and scalars, one after the other, and nothing else. A file with\n"
        "several times as many scalars as there are points has several vectors of scalars, and\n"
        "there is a result for each. Either file may be '-', standard input.\n"
        "\n"
        "Forms of points, which doc/encoding.md describes, with the bytes of one in G1 of\n"
        "BLS12-381; those of G2 are twice as long:\n"
        "\n"
        "  xy-mont          96     x, y in Montgomery form: blst, gnark-crypto, arkworks\n"
        "  xy-plain         96     x, y as integers, lowest byte first: ICICLE\n"
        "  zcash-48         48     compressed; in G2 zcash-96\n"
        "  zcash-96         96     not compressed; in G2 zcash-192\n"
        "  eip2537          128    as in the precompiles of Ethereum\n"
        "  jacobian-mont    144    x, y, z in Montgomery form\n"
        "\n"
        "BN254 has xy-mont, xy-plain and jacobian-mont. Any integer below 2^256 is a scalar.\n"
        "Infinity is an ordinary point. All points are checked before anything is computed: the\n"
        "first bad one is named.\n"
        "\n"
        "--stats and --json are those of 'gpuexec run'.",
    .examples =
        "  gpuexec points -n 2^16 -o p.bin && gpuexec random -n 2^16 -o s.bin\n"
        "  gpuexec msm --points p.bin --scalars s.bin --stats\n"
        "  gpuexec msm --curve bls12-381-g1 --points p.bin --point-form zcash-48 --scalars s.bin\n"
        "  gpuexec msm --curve bn254-g1 --points p.bin --point-form xy-mont --scalars s.bin \\\n"
        "      --scalar-form mont -o sum.bin --stats\n",
    .options = OPTION_TABLE(options),
    .run = run_msm,
};
