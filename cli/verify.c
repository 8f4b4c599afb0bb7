/* SPDX-License-Identifier: Apache-2.0
 *
 * gpuexec verify: compares devices with the reference, bit by bit.
 */
#include <inttypes.h>
#include <string.h>

#include "cli.h"
#include "check.h"
#include "clock.h"
#include "progress.h"

static struct {
    uint32_t fields, ops;
    uint64_t n, seed;
} opts = {.fields = UINT32_MAX, .ops = UINT32_MAX, .n = 1000, .seed = 1};

static const option_row options[] = {
    OPTION_FIELDS(&opts.fields, "fields to verify (default: all)"),
    OPTION_OPS(&opts.ops, "operations to verify (default: all)"),
    OPTION_LETTER('n', "N", OPT_NUMBER, &opts.n, 1, 1u << 30,
                  "distinct elements per operand (1000)"),
    OPTION_SEED(&opts.seed),
};

static column columns[] = {
    {.key = "device", .title = "device", .kind = COL_TEXT},
    COLUMN(TEXT, "field", "field", 12),
    COLUMN(TEXT, "op", "op", 9),
    COLUMN(COUNT, "elements", "elements", 9),
    COLUMN(TEXT, "result", "result", 9),
};

enum { COLUMNS = sizeof columns / sizeof *columns };

typedef struct verification {
    gx_ctx *ctx;
    output *out;
    bool table;
    uint64_t steps;
    uint64_t elements, same, differing, failed, unsupported;
} verification;

/* Counts the outcome and returns its name; prints the first difference and every failure. */
static const char *outcome(verification *v, const char *device, gx_status s, const check_result *r)
{
    if (s == GX_ERR_UNSUPPORTED) {
        v->unsupported++;
        return "not supported";
    }
    if (s != GX_OK) {
        v->failed++;
        cli_job_failed(&r->report);
        return "FAILED";
    }
    v->elements += r->compared;
    if (!r->differs) {
        v->same++;
        return "ok";
    }
    if (!v->differing++)
        check_print(device, r);
    return "DIFFERS";
}

static int verify_op(verification *v, const char *device, gx_op op, const check_data *d)
{
    check_result r;
    gx_status s = check_op(v->ctx, device, op, d, &r);
    if (s == GX_ERR_NO_DEVICE)
        return cli_job_failed(&r.report);
    const char *result = outcome(v, device, s, &r);

    char styled[64];
    bool good = s == GX_OK && !r.differs;
    snprintf(styled, sizeof styled, "%s%s%s", good ? style_good() : style_bad(), result,
             style_off());
    progress_hide();
    cell cells[COLUMNS] = {
        CELL_TEXT(device),
        CELL_TEXT(gx_field_get_info(d->field)->name),
        CELL_TEXT(gx_op_get_info(op)->name),
        CELL_COUNT(r.compared),
        CELL_TEXT(v->table ? styled : result),
    };
    bool ok = output_row(v->out, cells);
    v->steps++;
    progress_add(1);
    return ok ? EXIT_DONE : EXIT_FAILED;
}

static int verify_field(verification *v, const char *device, gx_field field)
{
    check_data d;
    if (!check_data_make(&d, field, opts.n, opts.seed)) {
        check_data_free(&d);
        return cli_no_memory();
    }
    int rc = EXIT_DONE;
    for (gx_op o = 1; rc == EXIT_DONE && gx_op_get_info(o); o++)
        if (cli_wants(opts.fields, opts.ops, field, o))
            rc = verify_op(v, device, o, &d);
    check_data_free(&d);
    return rc;
}

static int verify_device(verification *v, const char *device)
{
    int rc = EXIT_DONE;
    for (gx_field f = 1; rc == EXIT_DONE && gx_field_get_info(f); f++)
        if (cli_count_in(opts.fields, opts.ops, f))
            rc = verify_field(v, device, f);
    return rc;
}

static int summary(const verification *v, double seconds)
{
    fflush(stdout);
    fprintf(stderr,
            "%" PRIu64 " of %" PRIu64 " operation%s verified against ref (%" PRIu64
            " element%s, %.1f s): ",
            v->same, v->steps, plural(v->steps), v->elements, plural(v->elements), seconds);
    if (!v->differing && !v->failed)
        fprintf(stderr, "no difference");
    else
        fprintf(stderr, "%" PRIu64 " different, %" PRIu64 " failed", v->differing, v->failed);
    if (v->unsupported)
        fprintf(stderr, ", %" PRIu64 " not supported", v->unsupported);
    fputc('\n', stderr);
    /* Comparing nothing does not count as success. */
    return v->differing ? EXIT_DIFFERS : v->failed || !v->same ? EXIT_FAILED : EXIT_DONE;
}

static int verify_targets(verification *v, const target_list *targets, output_format format)
{
    uint64_t start = now_ns();
    int rc = EXIT_DONE;
    columns[0].width = targets->width;
    columns[2].width = cli_op_width(opts.ops, columns[2].width);
    if (!(v->out = output_open(format, "verify", columns, COLUMNS)))
        return cli_no_memory();
    progress_start("verifying", targets->count * cli_count_wanted(opts.fields, opts.ops),
                   "operations");
    for (size_t i = 0; rc == EXIT_DONE && i < targets->count; i++)
        rc = verify_device(v, targets->names[i]);
    progress_end();
    if (!output_close(v->out) && rc == EXIT_DONE)
        rc = EXIT_FAILED;
    return rc == EXIT_DONE ? summary(v, (double)(now_ns() - start) / 1e9) : rc;
}

static int run_verify(const common_opts *common)
{
    verification v = {.table = common->format == OUT_TABLE};
    target_list targets = {0};
    if (!cli_count_wanted(opts.fields, opts.ops))
        return cli_no_operation(opts.fields, opts.ops);
    int rc = cli_open(common, &v.ctx);
    if (rc == EXIT_DONE)
        rc = target_list_get(v.ctx, common, TARGETS_AUTOMATIC, &targets);
    for (size_t i = 0; rc == EXIT_DONE && i < targets.count; i++)
        if (!strcmp(targets.names[i], "ref"))
            rc = cli_usage("ref is the reference itself; name another device");
    if (rc == EXIT_DONE)
        rc = verify_targets(&v, &targets, (output_format)common->format);
    target_list_free(&targets);
    return cli_close(&v.ctx, rc);
}

const command cmd_verify = {
    .name = "verify",
    .summary = "compare devices with the reference, bit by bit",
    .about =
        "Compares every automatic device, or the named ones, with the reference device 'ref' on\n"
        "random inputs and edge cases (0, 1, p - 1, ...): every operation of every field, without\n"
        "broadcast and with each operand broadcast, in place and not, and once repeated to 256K\n"
        "elements so that all threads take part. Transforms of every kind are compared at 32\n"
        "elements, for which the reference uses the definition; of a large one some outputs, the\n"
        "sum of all, and the way back are. Operations on polynomials are compared likewise, and\n"
        "multi-scalar multiplications on every curve of the field: 16 points with the reference,\n"
        "and 4096 that are known multiples of the generator with the multiple of the result.\n"
        "\n"
        "On a mismatch, the first differing element is shown (index, operands, expected, got) and\n"
        "the exit code is 4. The reference is slow: n = 1000 takes a few seconds.",
    .examples = "  gpuexec verify\n"
                "  gpuexec verify --field bls12-381-fq --op mul,inv -n 100K --seed 7\n",
    .options = OPTION_TABLE(options),
    .formats = true,
    .run = run_verify,
};
