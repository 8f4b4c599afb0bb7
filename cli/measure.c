/* SPDX-License-Identifier: Apache-2.0
 *
 * Timing (measure.h).
 */
#include "measure.h"

#include <stdlib.h>

#include "clock.h"

enum { SAMPLES_MIN = 3 };

typedef struct sample {
    double wall_ns, compute_ns; /* of one call */
} sample;

/* report: NULL where none is wanted. */
static gx_status take_sample(gx_ctx *ctx, const gx_job *job, const gx_run_opts *opts, size_t calls,
                             sample *out, gx_report *report)
{
    uint64_t compute = 0, start = now_ns();
    for (size_t i = 0; i < calls; i++) {
        gx_status s = gx_run(ctx, job, 1, opts, report);
        if (s != GX_OK)
            return s;
        compute += report ? report->compute_ns : 0;
    }
    out->wall_ns = (double)(now_ns() - start) / (double)calls;
    out->compute_ns = (double)compute / (double)calls;
    return GX_OK;
}

/* Doubles the calls until a sample is long enough, which also warms up. */
static gx_status calibrate(gx_ctx *ctx, const gx_job *job, const gx_run_opts *opts,
                           double shortest_ns, size_t *calls, gx_report *report)
{
    sample s = {0};
    for (*calls = 1;; *calls *= 2) {
        gx_status status = take_sample(ctx, job, opts, *calls, &s, report);
        if (status != GX_OK || s.wall_ns * (double)*calls >= shortest_ns)
            return status;
    }
}

gx_status measure_job(gx_ctx *ctx, const gx_job *job, const char *device, const measure_plan *plan,
                      measurement *m, gx_report *report)
{
    gx_run_opts opts = {.device = device};
    double *wall = calloc(plan->samples, sizeof *wall);
    double *compute = calloc(plan->samples, sizeof *compute);
    if (!wall || !compute) {
        free(wall);
        free(compute);
        *report = (gx_report){.status = GX_ERR_OUT_OF_MEMORY};
        return GX_ERR_OUT_OF_MEMORY;
    }
    size_t calls, taken = 0;
    gx_status s = calibrate(ctx, job, &opts, plan->shortest_ns, &calls, report);
    uint64_t start = now_ns();
    while (s == GX_OK && taken < plan->samples) {
        sample one = {0};
        s = take_sample(ctx, job, &opts, calls, &one, plan->bare ? NULL : report);
        wall[taken] = one.wall_ns;
        compute[taken++] = one.compute_ns;
        double spent = (double)(now_ns() - start) / 1e9;
        if (plan->budget_s > 0 && taken >= SAMPLES_MIN && spent > plan->budget_s)
            break;
    }
    if (s == GX_OK) {
        m->samples = taken;
        m->threads = report->threads;
        m->wall_ns = stats_of(wall, taken);
        m->overhead_ns = m->wall_ns.median - stats_of(compute, taken).median;
    }
    free(wall);
    free(compute);
    return s;
}
