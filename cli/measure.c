/* SPDX-License-Identifier: Apache-2.0
 *
 * Timing (measure.h).
 */
#include "measure.h"

#include <stdlib.h>
#include <string.h>

#include "clock.h"

enum { SAMPLES_MIN = 3 };

/* Time of one call. */
typedef struct sample {
    double wall_ns, stage_ns[STAGES];
} sample;

static void add_stages(sample *to, const gx_report *report, size_t calls)
{
    const uint64_t ns[STAGES] = {report->host_in_ns, report->upload_ns, report->compute_ns,
                                 report->download_ns, report->host_out_ns};
    for (size_t i = 0; i < STAGES; i++)
        to->stage_ns[i] += (double)ns[i] / (double)calls;
}

/* report may be NULL. */
static gx_status take_sample(gx_ctx *ctx, const gx_job *job, const gx_run_params *opts,
                             size_t calls, sample *out, gx_report *report)
{
    *out = (sample){0};
    uint64_t start = now_ns();
    for (size_t i = 0; i < calls; i++) {
        gx_status s = gx_run(ctx, job, 1, opts, report);
        if (s != GX_OK)
            return s;
        if (report)
            add_stages(out, report, calls);
    }
    out->wall_ns = (double)(now_ns() - start) / (double)calls;
    return GX_OK;
}

/* Doubles the number of calls until a sample is long enough, which also warms up. */
static gx_status calibrate(gx_ctx *ctx, const gx_job *job, const gx_run_params *opts,
                           double shortest_ns, size_t *calls, gx_report *report)
{
    sample s;
    for (*calls = 1;; *calls *= 2) {
        gx_status status = take_sample(ctx, job, opts, *calls, &s, report);
        if (status != GX_OK || s.wall_ns * (double)*calls >= shortest_ns)
            return status;
    }
}

static bool stopped(const measure_plan *plan)
{
    return plan->stop && *plan->stop;
}

static gx_status warm_up(gx_ctx *ctx, const gx_job *job, const gx_run_params *opts,
                         const measure_plan *plan, gx_report *report)
{
    sample s;
    gx_status status = GX_OK;
    for (size_t i = 0; i < plan->warmup && status == GX_OK && !stopped(plan); i++)
        status = take_sample(ctx, job, opts, 1, &s, report);
    return status;
}

size_t measure_warm(const double *samples, size_t count)
{
    double sorted[SAMPLES_MAX];
    size_t warm = 0;
    memcpy(sorted, samples, count * sizeof *sorted);
    double limit = WARM_TIMES * stats_of(sorted, count).median;
    while (warm < count / 2 && samples[warm] > limit)
        warm++;
    return warm == count / 2 && samples[warm] > limit ? 0 : warm;
}

/* values: room for as many. */
static void summarise(const sample *samples, size_t taken, bool set_apart, double *values,
                      measurement *m)
{
    for (size_t i = 0; i < taken; i++)
        values[i] = samples[i].wall_ns;
    m->warm = set_apart ? measure_warm(values, taken) : 0;
    m->samples = taken - m->warm;
    m->wall_ns = stats_of(values + m->warm, m->samples);
    for (size_t stage = 0; stage < STAGES; stage++) {
        for (size_t i = 0; i < m->samples; i++)
            values[i] = samples[m->warm + i].stage_ns[stage];
        m->stage_ns[stage] = stats_of(values, m->samples).median;
    }
    m->overhead_ns = m->wall_ns.median - m->stage_ns[STAGE_COMPUTE];
}

gx_status measure_job(gx_ctx *ctx, const gx_job *job, const char *device, const measure_plan *plan,
                      measurement *m, gx_report *report)
{
    gx_run_params opts = {.device = device};
    sample *samples = calloc(plan->samples, sizeof *samples);
    double *values = calloc(plan->samples, sizeof *values);
    size_t calls, taken = 0;
    gx_status s = samples && values ? GX_OK : GX_ERR_OUT_OF_MEMORY;
    *report = (gx_report){.struct_size = sizeof *report, .status = s};
    if (s == GX_OK)
        s = calibrate(ctx, job, &opts, plan->shortest_ns, &calls, report);
    if (s == GX_OK)
        s = warm_up(ctx, job, &opts, plan, report);
    uint64_t start = now_ns();
    while (s == GX_OK && taken < plan->samples) {
        if (stopped(plan)) {
            s = report->status = GX_ERR_CANCELLED;
            break;
        }
        s = take_sample(ctx, job, &opts, calls, &samples[taken++], plan->bare ? NULL : report);
        double spent = (double)(now_ns() - start) / 1e9;
        if (plan->budget_s > 0 && taken >= SAMPLES_MIN && spent > plan->budget_s)
            break;
    }
    if (s == GX_OK) {
        m->threads = report->threads;
        m->submits = report->submits;
        summarise(samples, taken, plan->set_apart, values, m);
    }
    free(samples);
    free(values);
    return s;
}
