/* SPDX-License-Identifier: Apache-2.0
 *
 * gpuexec ntt: transforms files of elements. Transforms one after the other are done in groups, in
 * constant memory; columns and a single transform are held in memory as a whole.
 */
#include <ctype.h>
#include <inttypes.h>
#include <string.h>

#include "cli.h"
#include "data.h"
#include "files.h"
#include "jobs.h"
#include "progress.h"
#include "run_report.h"

/* Elements of a group of transforms at most, unless one is larger. */
enum { GROUP = 1 << 21 };

enum { LOG2_MAX = 63, LIMBS_MAX = ELEMENT_BYTES_MAX / 8 };

/* No --log2: the input is one transform, or --batch of them. */
#define SIZE_OF_INPUT UINT64_MAX

static struct {
    gx_field field;
    uint64_t log2, pad, batch;
    int inverse, columns, plain, stats, json;
    const char *shift, *order, *root, *in, *out;
} opts = {.field = GX_BLS12_381_FR, .log2 = SIZE_OF_INPUT, .order = "nn"};

static const option_row options[] = {
    OPTION_FIELD(&opts.field, "field of the elements, or bn254-fr (bls12-381-fr)"),
    OPTION_NUMBER("log2", "N", &opts.log2, 0, LOG2_MAX,
                  "2^N elements per transform (what the input holds)"),
    OPTION_FLAG("inverse", &opts.inverse, "values to coefficients; includes 1/2^N"),
    OPTION_TEXT("coset", "SHIFT", &opts.shift,
                "over the coset of a number such as 7 or 0x7; 'default': 7 for bls12-381-fr, 5 for "
                "bn254-fr"),
    OPTION_CHOICE("order", "ORDER", "nn nr rn rr", &opts.order,
                  "of the input, and of the output: n natural, r bit-reversed (nn)"),
    OPTION_NUMBER("batch", "B", &opts.batch, 1, (uint64_t)1 << 40,
                  "number of transforms (what the input holds)"),
    OPTION_FLAG("columns", &opts.columns,
                "the transforms are the columns of a matrix, not one after the other"),
    OPTION_NUMBER("pad", "K", &opts.pad, 0, LOG2_MAX,
                  "each transform reads 2^(N-K) elements; the others are 0 (0)"),
    OPTION_FLAG("plain", &opts.plain, "plain integers in the files, not Montgomery form"),
    OPTION_TEXT("root", "ROOT", &opts.root,
                "root of unity of order 2^N, as a number (that of doc/encoding.md)"),
    OPTION_FILE('i', &opts.in, "input; - for standard input"),
    OPTION_FILE('o', &opts.out, "result; - for standard output; may be the input"),
    OPTIONS_REPORT(&opts, "group"),
};

typedef struct work {
    gx_ctx *ctx;
    gx_domain *domain;
    gx_ntt_params params;
    element_reader reader;
    file_writer writer;
    unsigned char *in, *out; /* the same memory, unless there is padding */
    size_t room;             /* elements of `in` */
    run_report report;
} work;

static size_t element_bytes(void)
{
    return gx_field_get_info(opts.field)->element_bytes;
}

/* Elements that one transform reads. */
static uint64_t size_in(void)
{
    return (uint64_t)1 << (opts.log2 - opts.pad);
}

/* ---- options ------------------------------------------------------------------------ */

static int check_size(void)
{
    const gx_field_info *field = gx_field_get_info(opts.field);
    if (!gx_op_exists(GX_NTT, opts.field))
        return cli_usage("%s has no transforms: choose bls12-381-fr or bn254-fr", field->name);
    if (opts.log2 == SIZE_OF_INPUT)
        return EXIT_DONE;
    if (opts.log2 > field->two_adicity)
        return cli_usage("--log2: %s has transforms of up to 2^%u elements", field->name,
                         field->two_adicity);
    if (opts.pad > opts.log2)
        return cli_usage("--pad: %" PRIu64 " is more than --log2, which is %" PRIu64, opts.pad,
                         opts.log2);
    uint64_t bytes;
    if (__builtin_mul_overflow(opts.batch << opts.log2, element_bytes(), &bytes) ||
        opts.batch << opts.log2 >> opts.log2 != opts.batch)
        return cli_usage("--batch: %" PRIu64 " transforms of 2^%" PRIu64 " are too many",
                         opts.batch, opts.log2);
    return EXIT_DONE;
}

static int take_size(const element_reader *in)
{
    uint64_t batch = opts.batch ? opts.batch : 1, each = in->total / batch;
    if (opts.log2 != SIZE_OF_INPUT)
        return EXIT_DONE;
    if (in->total == ELEMENTS_UNKNOWN)
        return cli_usage("%s does not tell its size: add --log2 N for transforms of 2^N elements",
                         in->name);
    if (!each || each & (each - 1) || each * batch != in->total)
        return cli_usage("%s has %" PRIu64 " element%s, not %s2^N: add --log2 N for transforms of "
                         "2^N elements",
                         in->name, in->total, plural(in->total),
                         opts.batch ? "--batch times " : "");
    opts.log2 = (uint64_t)__builtin_ctzll(each) + opts.pad;
    return check_size();
}

static int check_options(void)
{
    int rc = check_size();
    if (rc == EXIT_DONE && !opts.in)
        rc = cli_usage("no input given: add -i FILE, or -i - for standard input");
    if (rc == EXIT_DONE && !opts.out)
        rc = cli_usage("no output given: add -o FILE, or -o - for standard output");
    return rc;
}

static uint32_t ntt_flags(void)
{
    return (opts.inverse ? GX_NTT_INVERSE : 0) | (opts.shift ? GX_NTT_COSET : 0) |
           (opts.order[0] == 'r' ? GX_NTT_REVERSED_IN : 0) |
           (opts.order[1] == 'r' ? GX_NTT_REVERSED_OUT : 0) | (opts.columns ? GX_NTT_COLUMNS : 0);
}

/* ---- numbers ------------------------------------------------------------------------- */

/* x = x * base + digit; false if it does not fit. In halves of a limb: the products fit then. */
static bool append_digit(const gx_field_info *f, uint64_t *x, unsigned base, unsigned digit)
{
    uint64_t carry = digit;
    for (unsigned i = 0; i < f->limbs; i++) {
        uint64_t low = (x[i] & UINT32_MAX) * base + carry, high = (x[i] >> 32) * base + (low >> 32);
        x[i] = high << 32 | (low & UINT32_MAX);
        carry = high >> 32;
    }
    return !carry;
}

/* A plain number from 1 to p - 1, decimal or hexadecimal after 0x. */
static bool parse_element(const gx_field_info *f, const char *text, uint64_t *x)
{
    static const uint64_t zero[LIMBS_MAX];
    static const char digits[] = "0123456789abcdef";
    unsigned base = !strncmp(text, "0x", 2) ? 16 : 10;
    const char *p = base == 16 ? text + 2 : text;
    for (; *p; p++) {
        const char *digit = memchr(digits, tolower((unsigned char)*p), base);
        if (!digit || !append_digit(f, x, base, (unsigned)(digit - digits)))
            return false;
    }
    return data_below(x, f->modulus, f->limbs) && memcmp(x, zero, f->element_bytes) != 0;
}

/* The number of an option, in Montgomery form. */
static int read_number(gx_ctx *ctx, const char *option, const char *text, uint64_t *x)
{
    const gx_field_info *field = gx_field_get_info(opts.field);
    gx_report report = {.struct_size = sizeof report};
    if (!parse_element(field, text, x))
        return cli_usage("--%s: '%.96s' is not a number from 1 to below the modulus of %s; write "
                         "it in decimal, or in hexadecimal after 0x",
                         option, text, field->name);
    const gx_job job = {
        .op = GX_TO_MONT, .field = opts.field, .n = 1, .a = gx_host(x), .out = gx_host(x)};
    return job_run(ctx, "cpu", &job, &report) == GX_OK ? EXIT_DONE : cli_job_failed(&report);
}

static int make_domain(work *t)
{
    uint64_t root[LIMBS_MAX] = {0}, shift[LIMBS_MAX] = {0};
    bool shifted = opts.shift && strcmp(opts.shift, "default") != 0;
    int rc = opts.root ? read_number(t->ctx, "root", opts.root, root) : EXIT_DONE;
    if (rc == EXIT_DONE && shifted)
        rc = read_number(t->ctx, "coset", opts.shift, shift);
    if (rc != EXIT_DONE)
        return rc;
    const gx_domain_params desc = {.struct_size = sizeof desc,
                                   .field = opts.field,
                                   .log2_size = (uint32_t)opts.log2,
                                   .root = opts.root ? root : NULL,
                                   .shift = shifted ? shift : NULL};
    gx_status s = gx_domain_create(t->ctx, &desc, &t->domain);
    t->params = (gx_ntt_params){.struct_size = sizeof t->params,
                                .domain = t->domain,
                                .log2_n = (uint32_t)opts.log2,
                                .log2_pad = (uint32_t)opts.pad,
                                .flags = ntt_flags()};
    return s == GX_OK ? EXIT_DONE : cli_call_failed(s);
}

/* ---- reading ---------------------------------------------------------------------------- */

/* Whether an input of so many elements is right. */
static int check_length(const work *t, uint64_t elements)
{
    const char *name = t->reader.name;
    uint64_t wanted = opts.batch * size_in();
    if (opts.batch && elements != wanted) {
        cli_error("%s has %" PRIu64 " element%s; %" PRIu64 " transform%s of %" PRIu64
                  " take%s %" PRIu64,
                  name, elements, plural(elements), opts.batch, plural(opts.batch), size_in(),
                  opts.batch == 1 ? "s" : "", wanted);
        return EXIT_FAILED;
    }
    if (elements % size_in()) {
        cli_error("%s has %" PRIu64 " element%s, not a multiple of the %" PRIu64
                  " that a transform takes; check --log2 and --pad",
                  name, elements, plural(elements), size_in());
        return EXIT_FAILED;
    }
    return EXIT_DONE;
}

/* Elements to make room for at first: a group of transforms, or all of them. */
static uint64_t first_room(const work *t)
{
    uint64_t group = GROUP > size_in() ? GROUP : size_in(), total = t->reader.total;
    if (total == ELEMENTS_UNKNOWN)
        return group;
    return opts.columns || total < group ? total : group;
}

/* ---- transforms ---------------------------------------------------------------------------- */

/* Pads the group into memory of its own. */
static int make_result(work *t, uint64_t transforms)
{
    if (!opts.pad)
        t->out = t->in;
    else if (!t->out || opts.columns) {
        data_free(t->out);
        t->out = data_alloc((size_t)(transforms << opts.log2) * element_bytes());
    }
    return t->out ? EXIT_DONE : cli_no_memory();
}

/* The conversions, if any, in place before and after the transforms. Returns the number of jobs;
 * *main is the transforms. */
static size_t make_jobs(const work *t, size_t n, gx_job jobs[3], size_t *main)
{
    size_t count = 0, in = n >> opts.pad;
    const gx_operand a = gx_host(t->in), out = gx_host(t->out);
    if (opts.plain)
        jobs[count++] = (gx_job){.op = GX_TO_MONT, .field = opts.field, .n = in, .a = a, .out = a};
    *main = count;
    jobs[count++] = gx_ntt(&t->params, n >> opts.log2, a, out);
    if (opts.plain)
        jobs[count++] =
            (gx_job){.op = GX_FROM_MONT, .field = opts.field, .n = n, .a = out, .out = out};
    return count;
}

static int write_result(work *t, size_t n)
{
    size_t bytes = element_bytes();
    for (size_t at = 0; at < n; at += PIECE) {
        size_t count = n - at < PIECE ? n - at : PIECE;
        int rc = result_write(&t->writer, t->out + at * bytes, count * bytes);
        if (rc != EXIT_DONE)
            return rc;
        progress_add(count);
    }
    return EXIT_DONE;
}

/* Transforms the `have` elements that were read last. */
static int run_group(work *t, size_t have)
{
    gx_job jobs[3];
    gx_report reports[3] = {{.struct_size = sizeof *reports}};
    size_t main, n = have << opts.pad;
    int rc = make_result(t, n >> opts.log2);
    if (rc != EXIT_DONE)
        return rc;
    size_t count = make_jobs(t, n, jobs, &main);
    if (run_report_run(&t->report, t->ctx, jobs, count, main, reports) == GX_OK)
        return write_result(t, n);
    size_t failed = 0;
    while (failed < main && reports[failed].status == GX_OK)
        failed++;
    return elements_failed(&reports[failed], opts.field, &t->reader, t->reader.done - have,
                           ADVICE_ELEMENTS);
}

static int run_columns(work *t)
{
    size_t have;
    int rc = input_all(&t->reader, &t->in, &t->room, &have);
    if (rc == EXIT_DONE)
        rc = check_length(t, have);
    return rc == EXIT_DONE && have ? run_group(t, have) : rc;
}

static int run_rows(work *t)
{
    size_t have;
    int rc = input_grow(&t->reader, &t->in, 0, t->room);
    if (rc != EXIT_DONE)
        return rc;
    do {
        have = 0;
        run_report_phase(&t->report, RUN_READ);
        rc = input_fill(&t->reader, t->in, t->room, &have);
        /* the last group is not a full one: now the length is known; and so it is if there is more
         * than there should be */
        if (rc == EXIT_DONE &&
            (have < t->room || (opts.batch && t->reader.done > opts.batch * size_in())))
            rc = check_length(t, t->reader.done);
        if (rc == EXIT_DONE && have)
            rc = run_group(t, have);
    } while (rc == EXIT_DONE && have && have == t->room);
    return rc;
}

/* ---- the whole ------------------------------------------------------------------------------- */

static int open_all(work *t)
{
    const element_reader *in[] = {&t->reader};
    int rc = input_open(&t->reader, opts.in, "element", "--field", element_bytes());
    if (rc == EXIT_DONE)
        rc = take_size(&t->reader);
    if (rc == EXIT_DONE && t->reader.total != ELEMENTS_UNKNOWN)
        rc = check_length(t, t->reader.total);
    if (rc != EXIT_DONE)
        return rc;
    t->room = (size_t)first_room(t);
    return result_open(opts.out, opts.json, in, 1, &t->writer);
}

static int run_whole(work *t)
{
    bool known = t->reader.total != ELEMENTS_UNKNOWN;
    uint64_t both = known ? t->reader.total + (t->reader.total << opts.pad) : 0;
    run_report_begin(&t->report, t->ctx, GX_NTT, opts.field);
    run_report_phase(&t->report, RUN_READ);
    progress_start("ntt", both, both ? NULL : "elements");
    int rc = opts.columns ? run_columns(t) : run_rows(t);
    progress_end();
    run_report_phase(&t->report, RUN_WRITE);
    if (rc == EXIT_DONE)
        rc = result_commit(&t->writer);
    run_report_end(&t->report, t->ctx);
    return rc;
}

static int close_all(work *t, int rc)
{
    reader_close(&t->reader);
    writer_close(&t->writer);
    if (t->out != t->in)
        data_free(t->out);
    data_free(t->in);
    gx_domain_destroy(&t->domain);
    rc = cli_close(&t->ctx, rc);
    run_report_print(&t->report, rc);
    return rc;
}

static int run_ntt(const common_opts *common)
{
    int rc = check_options();
    if (rc != EXIT_DONE)
        return rc;
    work t = {.reader = {.fd = -1},
              .writer = {.fd = -1},
              .report = {.command = cmd_ntt.name, .json = opts.json, .stats = opts.stats}};
    run_report_phase(&t.report, RUN_READ);
    rc = open_all(&t);
    run_report_phase(&t.report, RUN_OPEN);
    if (rc == EXIT_DONE)
        rc = cli_open(common, &t.ctx);
    run_report_phase(&t.report, RUN_TABLES);
    if (rc == EXIT_DONE)
        rc = make_domain(&t);
    if (rc == EXIT_DONE)
        rc = run_whole(&t);
    return close_all(&t, rc);
}

const command cmd_ntt = {
    .name = "ntt",
    .summary = "number-theoretic transforms of files of elements",
    .synopsis = "[--log2 N] -i FILE -o FILE",
    .about =
        "Transforms a raw file of elements as 'gpuexec run' reads and writes them: all of it, or\n"
        "with --log2 any number of transforms of 2^N elements each, one after the other, or with\n"
        "--columns the columns of a matrix. Elements are in Montgomery form, with --plain\n"
        "little-endian integers. The input may be '-', standard input, with --log2.\n"
        "doc/encoding.md defines roots, shifts and orders.\n"
        "\n"
        "Output k of a transform is the sum of a[i] * root^(i * k). --inverse undoes that.\n"
        "--coset multiplies coefficient i by SHIFT^i first; with --inverse, by SHIFT^-i last.\n"
        "With --pad K the input has 2^(N-K) elements per transform, and the others are 0: a\n"
        "polynomial of low degree on a larger domain. The output may be the input.\n"
        "\n"
        "--stats and --json are those of 'gpuexec run'.",
    .examples =
        "  gpuexec random -n 2^20 -o a.bin\n"
        "  gpuexec ntt -i a.bin -o b.bin --stats\n"
        "  gpuexec ntt --inverse -i b.bin -o a.bin\n"
        "  gpuexec ntt --field bn254-fr --log2 18 --pad 2 --coset 5 --order nr -i a.bin -o b.bin\n"
        "  gpuexec ntt --field bn254-fr --log2 10 --plain -i - -o - <a.bin >b.bin\n",
    .options = OPTION_TABLE(options),
    .run = run_ntt,
};
