/* SPDX-License-Identifier: Apache-2.0
 *
 * gpuexec msm: multi-scalar multiplications of files. The points are held in memory, and the
 * vectors of scalars are read in groups.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "host.h"
#include "cli.h"
#include "data.h"
#include "files.h"
#include "points.h"
#include "progress.h"
#include "run_report.h"

/* Scalars: of a group of vectors at most, unless one is longer; and read between two steps of the
 * progress bar, as points are. */
enum { GROUP = 1 << 20, PIECE = 1 << 16, SCALAR_BYTES = 32, SCALAR_BITS = 256 };

static struct {
    gx_curve curve;
    uint64_t bits, batch;
    int stats, json;
    const char *points, *point_form, *scalars, *scalar_form, *result_form, *check, *out;
} opts = {.bits = SCALAR_BITS, .scalar_form = "plain", .check = "curve"};

static const arg_spec specs[] = {
    {.name = "curve",
     .arg = "CURVE",
     .kind = ARG_CURVE,
     .value = &opts.curve,
     .help = "curve of the points"},
    {.name = "points",
     .arg = "FILE",
     .kind = ARG_TEXT,
     .value = &opts.points,
     .help = "points; - for standard input"},
    {.name = "point-form",
     .arg = "FORM",
     .kind = ARG_CHOICE,
     .choices = POINT_FORMS,
     .value = &opts.point_form,
     .help = "how the points are written"},
    {.name = "scalars",
     .arg = "FILE",
     .kind = ARG_TEXT,
     .value = &opts.scalars,
     .help = "scalars of 32 bytes, lowest byte first; - for standard input"},
    {.name = "scalar-form",
     .arg = "FORM",
     .kind = ARG_CHOICE,
     .choices = "plain mont",
     .value = &opts.scalar_form,
     .help = "integers, or elements of the scalar field in Montgomery form (plain)"},
    ARG_ROW_NUMBER("scalar-bits", "B", &opts.bits, 1, SCALAR_BITS,
                   "plain scalars are below 2^B: higher bits are ignored (256)"),
    ARG_ROW_NUMBER("batch", "B", &opts.batch, 1, (uint64_t)1 << 40,
                   "number of results, of as many vectors of scalars (what the file holds)"),
    {.name = "result-form",
     .arg = "FORM",
     .kind = ARG_CHOICE,
     .choices = POINT_FORMS,
     .value = &opts.result_form,
     .help = "how results are written (as the points)"},
    ARG_ROW_FILE('o', &opts.out,
                 "results; - for standard output (without it, and on a terminal: in hexadecimal)"),
    {.name = "check",
     .arg = "CHECK",
     .kind = ARG_CHOICE,
     .choices = "none curve subgroup",
     .value = &opts.check,
     .help = "whether the points are on the curve, or also in the subgroup (curve)"},
    ARG_ROW_FLAG("stats", &opts.stats,
                 "print a summary and timings to standard error after the run"),
    ARG_ROW_FLAG("json", &opts.json,
                 "print the report of every group, and the total, as one JSON object"),
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
    uint64_t points_count, written;
    run_report report;
    char err[ELEMENTS_ERROR_SIZE];
} work;

/* ---- options ---- */

static int check_forms(void)
{
    if (!opts.point_form)
        return cli_usage(&cmd_msm, "no form of points given: add --point-form, such as xy-mont");
    if (!point_form(opts.curve, opts.point_form))
        return point_form_missing(&cmd_msm, "point-form", opts.curve, opts.point_form);
    if (!opts.result_form)
        opts.result_form = opts.point_form;
    if (!point_form(opts.curve, opts.result_form))
        return point_form_missing(&cmd_msm, "result-form", opts.curve, opts.result_form);
    return EXIT_DONE;
}

static int check_options(void)
{
    if (!opts.curve)
        return cli_usage(&cmd_msm, "no curve given: add --curve, such as bls12-381-g1");
    int rc = check_forms();
    if (rc != EXIT_DONE)
        return rc;
    if (!opts.points)
        return cli_usage(&cmd_msm, "no points given: add --points FILE");
    if (!opts.scalars)
        return cli_usage(&cmd_msm, "no scalars given: add --scalars FILE");
    if (!strcmp(opts.points, "-") && !strcmp(opts.scalars, "-"))
        return cli_usage(&cmd_msm, "--points and --scalars cannot both be standard input");
    if (opts.bits < SCALAR_BITS && !strcmp(opts.scalar_form, "mont"))
        return cli_usage(&cmd_msm, "--scalar-bits is for plain scalars: omit it");
    if (!opts.out && opts.json)
        return cli_usage(&cmd_msm, "the result and --json both write to standard output; name a "
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

static int read_failed(const work *t)
{
    cli_error("%s", t->err);
    return EXIT_FAILED;
}

/* Makes room for `count` points, of which `have` are there. */
static int grow(unsigned char **memory, size_t have, size_t count, size_t bytes)
{
    unsigned char *larger = count > SIZE_MAX / bytes ? NULL : data_alloc(count * bytes);
    if (larger && *memory)
        memcpy(larger, *memory, have * bytes);
    data_free(*memory);
    *memory = larger;
    return larger ? EXIT_DONE : cli_no_memory();
}

/* Reads all points, however many there are. */
static int read_points(work *t, unsigned char **memory)
{
    bool known = t->in.total != ELEMENTS_UNKNOWN;
    size_t bytes = t->in.element_bytes, room = known ? (size_t)t->in.total : PIECE, have = 0, got;
    int rc = grow(memory, 0, room, bytes);
    while (rc == EXIT_DONE) {
        if (have == room && t->in.done != t->in.total)
            rc = grow(memory, have, room *= 2, bytes);
        size_t want = room - have < PIECE ? room - have : PIECE;
        if (rc == EXIT_DONE && !reader_read(&t->in, *memory + have * bytes, want, &got, t->err))
            rc = read_failed(t);
        if (rc != EXIT_DONE || !got)
            break;
        have += got;
        progress_at(t->in.done);
    }
    t->points_count = have;
    return rc;
}

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
    int rc = read_points(t, &memory);
    const gx_points_desc desc = {.struct_size = sizeof desc,
                                 .curve = opts.curve,
                                 .form = point_form(opts.curve, opts.point_form),
                                 .points = memory,
                                 .count = (size_t)t->points_count,
                                 .check = point_check()};
    gx_status s = GX_OK;
    if (rc == EXIT_DONE && (s = gx_points_create(t->ctx, &desc, &t->points, &bad)) != GX_OK)
        rc = points_failed(t, s, bad);
    data_free(memory);
    t->params = (gx_msm_params){.struct_size = sizeof t->params,
                                .points = t->points,
                                .count = (size_t)t->points_count,
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
    uint64_t points = t->points_count, wanted;
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

/* Reads until t->scalars is full, or the input ends. */
static int fill(work *t, size_t *have)
{
    size_t got = 1;
    *have = 0;
    while (*have < t->room && got) {
        size_t rest = t->room - *have;
        if (!reader_read(&t->reader, t->scalars + *have * SCALAR_BYTES, rest < PIECE ? rest : PIECE,
                         &got, t->err))
            return read_failed(t);
        *have += got;
        progress_at(t->in.done + t->reader.done);
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
    t->written += count;
    if (t->hex)
        return write_hex(t->results, count, bytes);
    return writer_write(&t->writer, t->results, count * bytes) ? EXIT_DONE
                                                               : result_failed(&t->writer);
}

static int job_failed(const work *t, const gx_report *report, uint64_t first)
{
    if (report->status != GX_ERR_NOT_CANONICAL)
        return cli_job_failed(report);
    uint64_t index = first + report->bad_index;
    cli_error("%s: scalar %" PRIu64 ", at byte offset %" PRIu64
              ", is not below the modulus of %s; check --scalar-form",
              t->reader.name, index, index * SCALAR_BYTES,
              gx_field_get_info(gx_curve_get_info(opts.curve)->scalar_field)->name);
    return EXIT_FAILED;
}

/* The results of the `have` scalars that were read last. */
static int run_group(work *t, size_t have)
{
    const gx_job job = {.op = GX_MSM,
                        .field = gx_curve_get_info(opts.curve)->scalar_field,
                        .n = have,
                        .a = gx_host(t->scalars),
                        .out = gx_host(t->results),
                        .params = &t->params};
    gx_candidate room[GX_CANDIDATES_MAX] = {{.struct_size = sizeof *room}};
    gx_report report = {
        .struct_size = sizeof report, .candidate = room, .candidate_room = GX_CANDIDATES_MAX};
    gx_status s = gx_run(t->ctx, &job, 1, NULL, &report);
    run_report_add(&t->report, &job, data_job_bytes(&job), &report);
    if (s != GX_OK)
        return job_failed(t, &report, t->reader.done - have);
    return write_results(t, t->params.count ? have / t->params.count : 1);
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
        rc = fill(t, &have);
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
    if (!reader_open_as(&t->in, opts.points, "point", "--curve or --point-form",
                        gx_point_bytes(opts.curve, form), t->err) ||
        !reader_open_as(&t->reader, opts.scalars, "scalar", "--scalars", SCALAR_BYTES, t->err))
        return read_failed(t);
    return t->hex ? EXIT_DONE : result_open(&cmd_msm, opts.out, opts.json, in, 2, &t->writer);
}

static int run_whole(work *t)
{
    bool known = t->in.total != ELEMENTS_UNKNOWN && t->reader.total != ELEMENTS_UNKNOWN;
    const gx_job like = {.op = GX_MSM, .field = gx_curve_get_info(opts.curve)->scalar_field};
    t->report = (run_report){.command = cmd_msm.name, .json = opts.json, .stats = opts.stats};
    run_report_begin(&t->report, &like);
    progress_start("msm", known ? t->in.total + t->reader.total : 0, known ? NULL : "elements");
    int rc = make_points(t);
    if (rc == EXIT_DONE && t->reader.total != ELEMENTS_UNKNOWN)
        rc = check_length(t, t->reader.total);
    if (rc == EXIT_DONE)
        rc = allocate(t);
    if (rc == EXIT_DONE)
        rc = run_groups(t);
    progress_end();
    if (rc == EXIT_DONE && !t->hex && !writer_commit(&t->writer))
        rc = result_failed(&t->writer);
    run_report_end(&t->report, t->ctx, rc);
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
    return cli_close(&t->ctx, rc);
}

static int run_msm(const common_opts *common)
{
    int rc = check_options();
    if (rc != EXIT_DONE)
        return rc;
    work t = {.in = {.fd = -1}, .reader = {.fd = -1}, .writer = {.fd = -1}};
    rc = open_all(&t);
    if (rc == EXIT_DONE)
        rc = cli_open(common, &t.ctx);
    if (rc == EXIT_DONE)
        rc = run_whole(&t);
    return close_all(&t, rc);
}

const command cmd_msm = {
    .name = "msm",
    .summary = "multi-scalar multiplications of files of points",
    .synopsis = "--curve CURVE --points FILE --point-form FORM --scalars FILE\n"
                "                   [--scalar-form plain|mont] [--scalar-bits B] [--batch B]\n"
                "                   [--result-form FORM] [-o FILE] [--check none|curve|subgroup]\n"
                "                   [--device D] [--stats] [--json]",
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
        "The result is written to a temporary file next to the output, which is renamed at the\n"
        "end: a failed run leaves nothing behind.\n"
        "\n"
        "--stats and --json are those of 'gpuexec run'.",
    .examples =
        "  gpuexec msm --curve bls12-381-g1 --points p.bin --point-form zcash-48 --scalars s.bin\n"
        "  gpuexec msm --curve bn254-g1 --points p.bin --point-form xy-mont --scalars s.bin \\\n"
        "      --scalar-form mont -o sum.bin --stats\n",
    .args = {specs, sizeof specs / sizeof *specs},
    .run = run_msm,
};
