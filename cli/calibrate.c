/* SPDX-License-Identifier: Apache-2.0
 *
 * gpuexec calibrate: measures this machine for the router.
 */

#include "clock.h"
#include "model.h"
#include "progress.h"
#include "signals.h"

enum { OPS_MAX = 32, FIELDS_MAX = 32, STEPS = 100 };

#define QUICK_SECONDS 3
#define QUICK_ELEMS   ((uint64_t)1 << 20)

static struct {
    uint32_t fields, ops;
    uint64_t n, seconds;
    int quick;
} opts;

static const option_row options[] = {
    OPTION_FLAG("quick", &opts.quick, "at most 3 s, sizes up to 1M"),
    OPTION_FIELDS(&opts.fields, "fields to measure (default: all prime fields)"),
    OPTION_OPS(
        &opts.ops,
        "operations to measure (default: add,mul,inv,ntt,msm; others are predicted from these)"),
    OPTION_LETTER('n', "N", OPT_NUMBER, &opts.n, 64, 1u << 24, "largest number of elements (16M)"),
    OPTION_NUMBER("seconds", "S", &opts.seconds, 1, 3600, "approximate time limit in seconds (20)"),
};

static int step(void *user, double done, const char *device, const char *what)
{
    (void)user;
    progress_step("%s: %s", device, what);
    progress_at((uint64_t)(done * STEPS));
    return signals_caught;
}

/* The requested operations and fields as lists. */
typedef struct wishes {
    gx_op ops[OPS_MAX];
    gx_field fields[FIELDS_MAX];
    gx_calibrate_params settings;
} wishes;

static void make_wishes(wishes *w)
{
    gx_calibrate_params *s = &w->settings;
    *w = (wishes){0};
    for (gx_op o = 1; o < OPS_MAX && gx_op_get_info(o); o++)
        if (opts.ops >> o & 1 && (!gx_op_get_info(o)->params || o == GX_NTT || o == GX_MSM))
            w->ops[s->op_count++] = o;
    for (gx_field f = 1; f < FIELDS_MAX && gx_field_get_info(f); f++)
        if (opts.fields >> f & 1)
            w->fields[s->field_count++] = f;
    s->ops = w->ops;
    s->fields = w->fields;
    s->max_elems = opts.n ? opts.n : opts.quick ? QUICK_ELEMS : 0;
    s->limit_ns = (opts.seconds ? opts.seconds : opts.quick ? QUICK_SECONDS : 0) * 1000000000u;
    s->progress = step;
}

static int calibrate(gx_ctx *ctx, const wishes *w, output_format format)
{
    uint64_t start = now_ns();
    size_t curves = 0;
    progress_start("calibrating", STEPS, NULL);
    signals_catch();
    gx_status s = gx_calibrate(ctx, &w->settings);
    signals_release();
    progress_end();
    if (s != GX_OK && s != GX_ERR_CANCELLED && s != GX_ERR_FILE)
        return cli_call_failed(s);
    double seconds = (double)(now_ns() - start) / 1e9;
    int rc = model_show(ctx, format, "calibrate", false, &curves);
    fflush(stdout);
    if (rc == EXIT_DONE && s == GX_ERR_FILE)
        return cli_call_failed(s);
    if (rc == EXIT_DONE && s == GX_ERR_CANCELLED) {
        cli_error("interrupted: measurements so far are kept; %zu kind%s of jobs %s known", curves,
                  plural(curves), curves == 1 ? "is" : "are");
        return EXIT_FAILED;
    }
    if (rc == EXIT_DONE)
        fprintf(stderr, "%zu kind%s of jobs %s known, measured in %.1f s\n", curves, plural(curves),
                curves == 1 ? "is" : "are", seconds);
    return rc;
}

static int run_calibrate(const common_opts *common)
{
    wishes w;
    gx_ctx *ctx = NULL;
    make_wishes(&w);
    if (opts.ops && !w.settings.op_count)
        return cli_usage("--op: operations on polynomials are not measured here, but whenever "
                         "they are used");
    if (!cli_count_wanted(opts.fields ? opts.fields : UINT32_MAX, opts.ops ? opts.ops : UINT32_MAX))
        return cli_no_operation(opts.fields, opts.ops);
    int rc = cli_open(common, &ctx);
    if (rc == EXIT_DONE)
        rc = calibrate(ctx, &w, (output_format)common->format);
    return cli_close(&ctx, rc);
}

const command cmd_calibrate = {
    .name = "calibrate",
    .summary = "measure this machine for device selection",
    .about =
        "Measures jobs of every size on the devices that may be chosen, or on the named ones,\n"
        "saves the model in the cache directory, and prints it as 'gpuexec model' does. Without\n"
        "calibration the model is learned from normal calls; until then, jobs of 100000 products\n"
        "and more run on a GPU, and sums of about 3000 points and more. Run it on an idle\n"
        "machine. Measurements of other fields and operations are kept. Ctrl-C stops after the\n"
        "current step, keeps what was measured, and sets exit code 1. So does a model that\n"
        "cannot be saved.",
    .examples = "  gpuexec calibrate\n"
                "  gpuexec calibrate --quick --field bls12-381-fr\n"
                "  gpuexec calibrate --device cpu,vulkan:1 --seconds 60\n",
    .options = OPTION_TABLE(options),
    .formats = true,
    .run = run_calibrate,
};
