/* SPDX-License-Identifier: Apache-2.0
 *
 * gpuexec run: applies one operation to files of elements, in chunks and constant memory.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "capture.h"
#include "cli.h"
#include "data.h"
#include "files.h"
#include "jobs.h"
#include "progress.h"
#include "run_report.h"

/* 6 MiB of Fq elements: enough work for all threads, and little memory. */
enum { CHUNK = 128 << 10, CHUNK_MAX = 1 << 30 };

static struct {
    gx_op op;
    gx_field field;
    const char *in[3], *out, *broadcast;
    uint64_t chunk;
    int explain, stats, json, capture;
} opts = {.field = GX_BLS12_381_FR, .broadcast = "", .chunk = CHUNK};

static const option_row options[] = {
    {.name = "op", .arg = "OP", .kind = OPT_OP, .value = &opts.op, .help = "operation"},
    OPTION_FIELD(&opts.field, "field of the elements (bls12-381-fr)"),
    OPTION_FILE('a', &opts.in[0], "first operand; - for standard input"),
    OPTION_FILE('b', &opts.in[1], "second operand, if the operation has one"),
    OPTION_FILE('c', &opts.in[2], "third operand, for mul-add"),
    OPTION_FILE('o', &opts.out, "result; - for standard output; may be one of the operands"),
    OPTION_TEXT("broadcast", "LETTERS", &opts.broadcast,
                "operands that are a single element, used for all: b, or bc"),
    OPTION_NUMBER("chunk", "N", &opts.chunk, 1, CHUNK_MAX,
                  "elements read and computed at a time (128K)"),
    OPTIONS_REPORT(&opts, "chunk"),
    OPTION_FLAG("capture", &opts.capture, "capture the first chunk with RenderDoc"),
    OPTION_FLAG("explain", &opts.explain, "print the plan for the first chunk and run nothing"),
};

typedef struct operand {
    bool present, broadcast;
    element_reader reader;
    unsigned char *data;
} operand;

typedef struct transfer {
    gx_ctx *ctx;
    size_t element_bytes;
    operand in[3];
    file_writer writer;
    unsigned char *result;                  /* of a chunk, */
    unsigned char total[ELEMENT_BYTES_MAX]; /* and of all chunks, if the operation reduces */
    uint64_t done, expected;                /* elements; expected 0: unknown */
    run_report report;
} transfer;

static char letter(size_t k)
{
    return (char)('a' + k);
}

/* ---- options --------------------------------------------------------------------- */

static int check_operands(const gx_op_info *op)
{
    unsigned piped = 0;
    for (unsigned k = 0; k < 3; k++) {
        if (k < op->operands && !opts.in[k])
            return cli_usage("%s needs operand %c (%s): add -%c FILE", op->name, letter(k),
                             op->result, letter(k));
        if (k >= op->operands && opts.in[k])
            return cli_usage("%s has no operand %c (%s): remove -%c", op->name, letter(k),
                             op->result, letter(k));
        piped += opts.in[k] && !strcmp(opts.in[k], "-");
    }
    if (piped > 1)
        return cli_usage("only one operand can come from standard input");
    return EXIT_DONE;
}

static int check_broadcast(const gx_op_info *op)
{
    for (const char *p = opts.broadcast; *p; p++)
        if (*p < 'a' || *p >= letter(op->operands))
            return cli_usage("--broadcast: %s has no operand '%c'", op->name, *p);
    bool all = true;
    for (unsigned k = 0; k < op->operands; k++)
        all = all && strchr(opts.broadcast, letter(k));
    if (all)
        return cli_usage("--broadcast: at least one operand must not be broadcast");
    return EXIT_DONE;
}

static int check_options(void)
{
    if (!opts.op)
        return cli_usage("no operation given: add --op, for example --op mul");
    const gx_op_info *op = gx_op_get_info(opts.op);
    if (!gx_op_exists(opts.op, opts.field))
        return cli_no_operation(1u << opts.field, 1u << opts.op);
    int rc = check_operands(op);
    if (rc == EXIT_DONE)
        rc = check_broadcast(op);
    if (rc == EXIT_DONE && opts.explain && (opts.stats || opts.capture))
        rc = cli_usage("--explain runs nothing: remove --%s", opts.stats ? "stats" : "capture");
    if (rc == EXIT_DONE && !opts.out && !opts.explain)
        rc = cli_usage("no output given: add -o FILE, or -o - for standard output");
    return rc;
}

/* ---- opening ----------------------------------------------------------------------- */

static int read_broadcast(operand *o)
{
    size_t got;
    int rc = input_read(&o->reader, o->data, 2, &got);
    if (rc != EXIT_DONE || got == 1)
        return rc;
    cli_error("%s: a broadcast operand must be a single element, but this has %s", o->reader.name,
              got ? "more" : "none");
    return EXIT_FAILED;
}

static int open_operand(transfer *t, unsigned k)
{
    operand *o = &t->in[k];
    o->reader.fd = -1;
    if (!opts.in[k])
        return EXIT_DONE;
    o->present = true;
    o->broadcast = strchr(opts.broadcast, letter(k)) != NULL;
    int rc = input_open(&o->reader, opts.in[k], "element", "--field", t->element_bytes);
    if (rc != EXIT_DONE)
        return rc;
    o->data = malloc((o->broadcast ? 2 : (size_t)opts.chunk) * t->element_bytes);
    if (!o->data)
        return cli_no_memory();
    return o->broadcast ? read_broadcast(o) : EXIT_DONE;
}

static int unequal(const element_reader *x, uint64_t nx, const element_reader *y, uint64_t ny)
{
    cli_error("%s has %" PRIu64 " element%s and %s has %" PRIu64
              "; operands must have the same length (to use one "
              "element for all: --broadcast)",
              x->name, nx, plural(nx), y->name, ny);
    return EXIT_FAILED;
}

/* Checked before computing, if the lengths are known. */
static int check_lengths(transfer *t)
{
    const element_reader *known = NULL;
    for (unsigned k = 0; k < 3; k++) {
        const element_reader *r = &t->in[k].reader;
        if (!t->in[k].present || t->in[k].broadcast || r->total == ELEMENTS_UNKNOWN)
            continue;
        if (known && known->total != r->total)
            return unequal(known, known->total, r, r->total);
        known = r;
        t->expected = r->total;
    }
    return EXIT_DONE;
}

static gx_operand as_operand(const operand *o)
{
    return (gx_operand){.host = o->data, .broadcast = o->broadcast};
}

static gx_job chunk_job(const transfer *t, size_t n)
{
    return (gx_job){.op = opts.op,
                    .field = opts.field,
                    .n = n,
                    .a = as_operand(&t->in[0]),
                    .b = as_operand(&t->in[1]),
                    .c = as_operand(&t->in[2]),
                    .out = gx_host(t->result)};
}

static int open_all(transfer *t)
{
    int rc = EXIT_DONE;
    for (unsigned k = 0; k < 3; k++) {
        int opened = open_operand(t, k);
        rc = rc == EXIT_DONE ? opened : rc;
    }
    if (rc == EXIT_DONE)
        rc = check_lengths(t);
    if (rc != EXIT_DONE)
        return rc;
    const gx_job largest = chunk_job(t, (size_t)opts.chunk);
    t->result = malloc(gx_operand_bytes(&largest, 'o'));
    if (!t->result)
        return cli_no_memory();
    if (opts.explain)
        return EXIT_DONE;
    const element_reader *in[3];
    size_t count = 0;
    for (unsigned k = 0; k < 3; k++)
        if (t->in[k].present)
            in[count++] = &t->in[k].reader;
    return result_open(opts.out, opts.json, in, count, &t->writer);
}

static int close_all(transfer *t, int rc)
{
    for (unsigned k = 0; k < 3; k++) {
        reader_close(&t->in[k].reader);
        free(t->in[k].data);
    }
    free(t->result);
    writer_close(&t->writer);
    rc = cli_close(&t->ctx, rc);
    run_report_print(&t->report, rc);
    return rc;
}

/* ---- chunks -------------------------------------------------------------------------- */

/* Reads the next chunk of every operand; *n is 0 at the end. */
static int read_chunk(transfer *t, size_t *n)
{
    const operand *first = NULL;
    size_t first_got = 0;
    run_report_phase(&t->report, RUN_READ);
    for (unsigned k = 0; k < 3; k++) {
        operand *o = &t->in[k];
        size_t got;
        if (!o->present || o->broadcast)
            continue;
        int rc = input_read(&o->reader, o->data, (size_t)opts.chunk, &got);
        if (rc != EXIT_DONE)
            return rc;
        if (first && got != first_got) {
            uint64_t end = t->done + (got < first_got ? got : first_got);
            cli_error("%s and %s differ in length: one ends after %" PRIu64 " element%s",
                      first->reader.name, o->reader.name, end, plural(end));
            return EXIT_FAILED;
        }
        first = o;
        first_got = got;
    }
    *n = first_got;
    return EXIT_DONE;
}

static int chunk_failed(const transfer *t, const gx_report *report)
{
    unsigned k = (unsigned)(report->bad_operand - 'a');
    const operand *bad = k < 3 ? &t->in[k] : NULL;
    return elements_failed(report, opts.field, bad ? &bad->reader : NULL,
                           bad && bad->broadcast ? 0 : t->done, ADVICE_ELEMENTS);
}

/* Done by the host, as for the parts of a job. */
static int add_to_total(transfer *t)
{
    gx_report report = {.struct_size = sizeof report};
    const gx_job job = {.op = GX_ADD,
                        .field = opts.field,
                        .n = 1,
                        .a = gx_host(t->total),
                        .b = gx_host(t->result),
                        .out = gx_host(t->total)};
    return job_run(t->ctx, "cpu", &job, &report) == GX_OK ? EXIT_DONE : cli_job_failed(&report);
}

static int keep_result(transfer *t, const gx_job *job)
{
    if (gx_op_get_info(opts.op)->reduces)
        return add_to_total(t);
    return result_write(&t->writer, t->result, gx_operand_bytes(job, 'o'));
}

static int run_chunk(transfer *t, size_t n)
{
    gx_report report = {.struct_size = sizeof report};
    gx_job job = chunk_job(t, n);
    const bool captured = opts.capture && !t->done;
    int rc = captured ? capture_start(t->ctx, &job) : EXIT_DONE;
    if (rc != EXIT_DONE)
        return rc;
    gx_status s = run_report_run(&t->report, t->ctx, &job, 1, 0, &report);
    if (captured)
        rc = capture_end();
    if (s != GX_OK)
        return chunk_failed(t, &report);
    if (rc == EXIT_DONE)
        rc = keep_result(t, &job);
    t->done += n;
    return rc;
}

static int explain_chunk(const transfer *t)
{
    bool short_one = t->expected && t->expected < opts.chunk;
    gx_job job = chunk_job(t, (size_t)(short_one ? t->expected : opts.chunk));
    return explain_job(t->ctx, &job, opts.json);
}

static int run_chunks(transfer *t)
{
    progress_start(gx_op_get_info(opts.op)->name, t->expected, "elements");
    int rc;
    size_t n;
    while ((rc = read_chunk(t, &n)) == EXIT_DONE && n) {
        rc = run_chunk(t, n);
        if (rc != EXIT_DONE)
            break;
        progress_add(n);
    }
    progress_end();
    run_report_phase(&t->report, RUN_WRITE);
    return rc;
}

static int run_whole(transfer *t)
{
    run_report_begin(&t->report, t->ctx, opts.op, opts.field);
    int rc = run_chunks(t);
    if (rc == EXIT_DONE && gx_op_get_info(opts.op)->reduces)
        rc = result_write(&t->writer, t->total, t->element_bytes);
    if (rc == EXIT_DONE)
        rc = result_commit(&t->writer);
    run_report_end(&t->report, t->ctx);
    return rc;
}

static int run_run(const common_opts *common)
{
    int rc = check_options();
    if (rc != EXIT_DONE)
        return rc;
    transfer t = {.element_bytes = gx_field_get_info(opts.field)->element_bytes,
                  .writer = {.fd = -1},
                  .report = {.command = cmd_run.name, .json = opts.json, .stats = opts.stats}};
    run_report_phase(&t.report, RUN_READ);
    rc = open_all(&t);
    run_report_phase(&t.report, RUN_OPEN);
    if (rc == EXIT_DONE)
        rc = cli_open(common, &t.ctx);
    if (rc == EXIT_DONE)
        rc = opts.explain ? explain_chunk(&t) : run_whole(&t);
    return close_all(&t, rc);
}

const command cmd_run = {
    .name = "run",
    .summary = "apply one operation to files of elements",
    .synopsis = "--op OP -a FILE [-b FILE] [-c FILE] -o FILE",
    .about =
        "Streams raw element files of any size through one operation. Files contain elements and\n"
        "nothing else: 48 bytes each for bls12-381-fq, 32 for the other prime fields, 4 for u32\n"
        "and f32, little-endian, prime fields in Montgomery form (doc/encoding.md; --op to-mont\n"
        "and from-mont convert). One operand may be '-', standard input.\n"
        "sum and dot reduce all chunks to one element, which is 0 for empty files.\n"
        "\n"
        "The result is written to a temporary file next to the output, which is renamed at the\n"
        "end: the output may be one of the inputs, and a failed run leaves nothing behind. A file\n"
        "that is replaced keeps its owner, its mode and any symbolic link that leads to it; if it\n"
        "cannot keep them, the run is refused.\n"
        "\n"
        "--stats prints where the time went, and a summary of all chunks, to standard error.\n"
        "--json prints the report of every chunk to standard output: device, reason, path, mode,\n"
        "stages, and the candidates with predicted and actual times. --explain runs nothing and\n"
        "prints the plan for the first chunk; with --json as an object.\n"
        "\n"
        "--capture makes RenderDoc capture what the first chunk does on a Vulkan device, and\n"
        "prints the name of the file. Start gpuexec under RenderDoc (doc/tuning.md).",
    .examples = "  gpuexec run --op mul -a a.bin -b b.bin --explain\n"
                "  gpuexec run --op mul --field bls12-381-fq -a a.bin -b b.bin -o c.bin --stats\n"
                "  gpuexec run --op inv --field bn254-fr -a x.bin -o x.bin        # in place\n"
                "  gpuexec run --op mul --field bn254-fr -a x.bin -b k.bin --broadcast b -o y.bin\n"
                "  gpuexec run --op dot --field bn254-fr -a a.bin -b b.bin -o dot.bin\n"
                "  zstdcat a.zst | gpuexec run --op sqr --field bn254-fq -a - -o - | sha256sum\n",
    .options = OPTION_TABLE(options),
    .run = run_run,
};
