/* SPDX-License-Identifier: Apache-2.0
 *
 * gpuexec points: multiples of the generator of a curve, for tests. Made in groups, in constant
 * memory.
 */
#include "points.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "data.h"
#include "files.h"
#include "progress.h"

/* Points made at a time; seeds of two groups differ by this. */
enum { GROUP = 1 << 16, SCALAR_BYTES = 32 };
#define GROUP_SEED 0xd1342543de82ef95u

static struct {
    gx_curve curve;
    uint64_t n, seed;
    const char *form, *out;
} opts = {.n = UINT64_MAX, .seed = 1};

static const arg_spec specs[] = {
    {.name = "curve",
     .arg = "CURVE",
     .kind = ARG_CURVE,
     .value = &opts.curve,
     .help = "curve of the points"},
    ARG_ROW_LETTER('n', "N", ARG_NUMBER, &opts.n, 0, (uint64_t)1 << 40, "number of points"),
    ARG_ROW_NUMBER("seed", "S", &opts.seed, 0, UINT64_MAX, "seed for the random scalars (1)"),
    {.name = "form",
     .arg = "FORM",
     .kind = ARG_CHOICE,
     .choices = POINT_FORMS,
     .value = &opts.form,
     .help = "how the points are written"},
    ARG_ROW_FILE('o', &opts.out, "result; - for standard output"),
};

/* ---- forms ---- */

static const struct {
    const char *name;
    gx_point_form form;
    size_t bytes; /* of a point; 0: any */
} forms[] = {
    {"xy-mont", GX_POINT_XY_MONT, 0},        {"xy-plain", GX_POINT_XY_PLAIN, 0},
    {"zcash-48", GX_POINT_COMPRESSED, 48},   {"zcash-96", GX_POINT_COMPRESSED, 96},
    {"zcash-96", GX_POINT_UNCOMPRESSED, 96}, {"zcash-192", GX_POINT_UNCOMPRESSED, 192},
    {"eip2537", GX_POINT_EIP2537, 0},        {"jacobian-mont", GX_POINT_JACOBIAN_MONT, 0},
};

static bool has_form(gx_curve curve, size_t i)
{
    size_t bytes = gx_point_bytes(curve, forms[i].form);
    return bytes && (!forms[i].bytes || forms[i].bytes == bytes);
}

gx_point_form point_form(gx_curve curve, const char *name)
{
    for (size_t i = 0; i < sizeof forms / sizeof *forms; i++)
        if (!strcmp(forms[i].name, name) && has_form(curve, i))
            return forms[i].form;
    return 0;
}

int point_form_missing(const command *cmd, const char *option, gx_curve curve, const char *name)
{
    char known[256] = "";
    size_t used = 0;
    for (size_t i = 0; i < sizeof forms / sizeof *forms; i++)
        if (has_form(curve, i))
            used += (size_t)snprintf(known + used, sizeof known - used, " %s", forms[i].name);
    return cli_usage(cmd, "--%s: %s has no form '%s'; choose from%s", option,
                     gx_curve_get_info(curve)->name, name, known);
}

/* ---- the command ---- */

static int check_options(void)
{
    if (!opts.curve)
        return cli_usage(&cmd_points, "no curve given: add --curve, such as bls12-381-g1");
    if (opts.n == UINT64_MAX)
        return cli_usage(&cmd_points, "no number of points given: add -n N");
    if (!opts.form)
        return cli_usage(&cmd_points, "no form given: add --form, such as xy-mont");
    if (!point_form(opts.curve, opts.form))
        return point_form_missing(&cmd_points, "form", opts.curve, opts.form);
    if (!opts.out)
        return cli_usage(&cmd_points, "no output given: add -o FILE, or -o - for standard output");
    return EXIT_DONE;
}

/* Makes points first .. first + count. */
static int make_group(gx_ctx *ctx, file_writer *w, unsigned char *scalars, unsigned char *made,
                      uint64_t first, size_t count)
{
    gx_point_form form = point_form(opts.curve, opts.form);
    const gx_multiply_desc desc = {.struct_size = sizeof desc,
                                   .curve = opts.curve,
                                   .scalars = scalars,
                                   .form = form,
                                   .count = count,
                                   .out = made};
    data_random(gx_curve_get_info(opts.curve)->scalar_field, scalars, count,
                opts.seed + first / GROUP * GROUP_SEED);
    gx_status s = gx_points_multiply(ctx, &desc);
    if (s != GX_OK)
        return cli_call_failed(s);
    if (!writer_write(w, made, count * gx_point_bytes(opts.curve, form)))
        return result_failed(w);
    progress_at(first + count);
    return EXIT_DONE;
}

static int make_all(gx_ctx *ctx, file_writer *w)
{
    size_t group = opts.n < GROUP ? (size_t)opts.n : GROUP;
    unsigned char *scalars = data_alloc(group * SCALAR_BYTES);
    unsigned char *made = data_alloc(group * POINT_BYTES_MAX);
    int rc = scalars && made ? EXIT_DONE : cli_no_memory();
    progress_start("points", opts.n, "points");
    for (uint64_t at = 0; rc == EXIT_DONE && at < opts.n; at += group)
        rc = make_group(ctx, w, scalars, made, at,
                        opts.n - at < group ? (size_t)(opts.n - at) : group);
    progress_end();
    if (rc == EXIT_DONE && !writer_commit(w))
        rc = result_failed(w);
    data_free(scalars);
    data_free(made);
    return rc;
}

static int run_points(const common_opts *common)
{
    gx_ctx *ctx = NULL;
    file_writer w = {.fd = -1};
    int rc = check_options();
    if (rc == EXIT_DONE)
        rc = result_open(&cmd_points, opts.out, false, NULL, 0, &w);
    if (rc == EXIT_DONE)
        rc = cli_open(common, &ctx);
    if (rc == EXIT_DONE)
        rc = make_all(ctx, &w);
    writer_close(&w);
    return cli_close(&ctx, rc);
}

const command cmd_points = {
    .name = "points",
    .summary = "make points of a curve, for tests",
    .synopsis = "--curve CURVE -n N --form FORM -o FILE [--seed S] [--threads T]",
    .about = "Writes N points, one after the other: the generator of the curve times random "
             "scalars. The\n"
             "same curve and seed give the same points on every machine, and a smaller N the first "
             "of\n"
             "them. The points are made by the CPU.\n"
             "\n"
             "'gpuexec msm --help' describes the forms.\n"
             "\n"
             "The result is written to a temporary file next to the output, which is renamed at "
             "the\n"
             "end: a failed run leaves nothing behind.",
    .examples = "  gpuexec points --curve bls12-381-g1 -n 64K --form xy-mont -o points.bin\n"
                "  gpuexec points --curve bls12-381-g2 -n 100 --seed 7 --form zcash-96 -o g2.bin\n",
    .args = {specs, sizeof specs / sizeof *specs},
    .run = run_points,
};
