/* SPDX-License-Identifier: Apache-2.0
 *
 * gpuexec points: multiples of the generator of a curve, for tests.
 */
#include "points.h"

#include <string.h>

#include "data.h"
#include "files.h"
#include "jobs.h"

static struct {
    gx_curve curve;
    made_file file;
    const char *form;
} opts = {.curve = GX_BLS12_381_G1, .file = {.n = UINT64_MAX, .seed = 1}, .form = "xy-mont"};

static const option_row options[] = {
    OPTION_CURVE(&opts.curve, "curve of the points (bls12-381-g1)"),
    OPTIONS_MADE(&opts.file, "points"),
    OPTION_CHOICE("form", "FORM", POINT_FORMS, &opts.form, "how the points are written (xy-mont)"),
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

int point_form_missing(const char *option, gx_curve curve, const char *name)
{
    char known[256] = "";
    for (size_t i = 0; i < sizeof forms / sizeof *forms; i++)
        if (has_form(curve, i))
            cli_append(known, sizeof known, " %s", forms[i].name);
    return cli_usage("--%s: %s has no form '%s'; choose from%s", option,
                     gx_curve_get_info(curve)->name, name, known);
}

/* ---- the command ---- */

static int make_points(void *ctx, unsigned char *out, size_t count, uint64_t seed)
{
    gx_field field = gx_curve_get_info(opts.curve)->scalar_field;
    unsigned char *scalars = data_alloc(count * gx_field_get_info(field)->element_bytes);
    if (!scalars)
        return cli_no_memory();
    data_random(field, scalars, count, seed);
    gx_status s =
        job_multiply(ctx, opts.curve, scalars, count, point_form(opts.curve, opts.form), out);
    data_free(scalars);
    return s == GX_OK ? EXIT_DONE : cli_call_failed(s);
}

static int run_points(const common_opts *common)
{
    gx_ctx *ctx = NULL;
    gx_point_form form = point_form(opts.curve, opts.form);
    if (!form)
        return point_form_missing("form", opts.curve, opts.form);
    int rc = cli_open(common, &ctx);
    if (rc == EXIT_DONE)
        rc = made_write(&opts.file, "points", gx_point_bytes(opts.curve, form), make_points, ctx);
    return cli_close(&ctx, rc);
}

const command cmd_points = {
    .name = "points",
    .summary = "make points of a curve, for tests",
    .synopsis = "-n N -o FILE",
    .about = "Writes N points, one after the other: the generator of the curve times\n"
             "random scalars. The same curve and seed give the same points on every\n"
             "machine, and a smaller N the first of them. The CPU makes them. 'gpuexec\n"
             "msm --help' describes the forms.",
    .examples = "  gpuexec points -n 2^16 -o points.bin\n"
                "  gpuexec points --curve bls12-381-g2 -n 100 --seed 7 --form zcash-96 -o g2.bin\n",
    .options = OPTION_TABLE(options),
    .run = run_points,
};
