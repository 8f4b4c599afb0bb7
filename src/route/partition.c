/* SPDX-License-Identifier: Apache-2.0
 *
 * Finding the end of a round, and cutting rounds into shares. If a call is more than one round, its
 * jobs are compared pair by pair, at most GX_ROUND_JOBS at a time.
 */
#include "route/partition.h"

#include "op/overlap.h"

size_t gx__rounds_next(const struct gx_rounds *rounds, size_t first)
{
    const struct gx_task *jobs = rounds->jobs + first;
    size_t most = rounds->count - first, n = 1;
    if (rounds->one || most < 2)
        return most;
    most = most < GX_ROUND_JOBS ? most : GX_ROUND_JOBS;
    for (; n < most; n++)
        for (size_t i = 0; i < n; i++)
            if (gx__jobs_conflict(&jobs[i], &jobs[n]))
                return n;
    return n;
}

/* ---- shares ---- */

bool gx__job_is_whole(const struct gx_task *job)
{
    return gx__task_is_unit(job) || (job->check && gx__task_in_place(job));
}

/* Approximate work per element: moving it, and its products. */
static double work(const struct gx_task *job)
{
    return (double)job->element[GX_OUT] * (1 + job->products);
}

/* The position before an element of a job; element < n of the job. */
struct position {
    size_t job;
    uint64_t element;
};

/* At most about 1 % of the job, so that shares come close to their fractions; whole units. */
static uint64_t cut_step(const struct gx_task *job)
{
    uint64_t step = GX_CUT_ELEMS, unit = job->unit;
    while (step > GX_CUT_MIN_ELEMS && step * 128 > job->n)
        step /= 2;
    return step > unit ? step / unit * unit : unit;
}

/* The cut of a job that is nearest to `wanted` elements. */
static struct position cut_job(const struct gx_task *jobs, size_t job, double wanted)
{
    uint64_t n = jobs[job].n, step = cut_step(&jobs[job]);
    uint64_t element = (uint64_t)(wanted / (double)step + 0.5) * step;
    if (wanted + (double)step / 2 >= (double)n) /* the end, which need not be a multiple */
        element = n;
    if (gx__job_is_whole(&jobs[job]))
        element = wanted < (double)n / 2 ? 0 : n;
    return element < n ? (struct position){job, element} : (struct position){job + 1, 0};
}

static struct gx_share between(const struct gx_task *jobs, struct position from, struct position to)
{
    struct gx_share share = {.job = from.job,
                             .jobs = to.job - from.job + (to.element > 0),
                             .skip = from.element,
                             .end = to.element};
    if (from.job == to.job && from.element == to.element)
        share.jobs = 0;
    if (!share.jobs)
        share.skip = share.end = 0;
    else if (!to.element)
        share.end = jobs[to.job - 1].n;
    for (size_t i = 0; i < share.jobs; i++)
        share.elements += gx__share_range(jobs, &share, i).n;
    return share;
}

void gx__round_cut(const struct gx_task *jobs, size_t njobs, const double *fractions, size_t count,
                   struct gx_share *shares)
{
    double all = 0, wanted = 0, passed = 0;
    struct position from = {0, 0};
    size_t job = 0;
    for (size_t i = 0; i < njobs; i++)
        all += (double)jobs[i].n * work(&jobs[i]);
    for (size_t k = 0; k < count; k++) {
        struct position to = {njobs, 0};
        wanted += fractions[k] * all;
        while (job < njobs && passed + (double)jobs[job].n * work(&jobs[job]) < wanted) {
            passed += (double)jobs[job].n * work(&jobs[job]);
            job++;
        }
        if (k + 1 < count && job < njobs)
            to = cut_job(jobs, job, (wanted - passed) / work(&jobs[job]));
        shares[k] = between(jobs, from, to);
        from = to;
    }
}

struct gx_range gx__share_range(const struct gx_task *jobs, const struct gx_share *share, size_t i)
{
    uint64_t first = i ? 0 : share->skip;
    uint64_t end = i + 1 < share->jobs ? jobs[share->job + i].n : share->end;
    return (struct gx_range){.job = share->job + i, .first = first, .n = end - first};
}
