/* SPDX-License-Identifier: Apache-2.0
 *
 * Finding rounds and cutting them into shares. Most calls are one round, which sorting the memory
 * of all jobs by address shows in O(n log n). Only if a call is not, jobs are compared pair by
 * pair, at most GX_ROUND_JOBS at a time.
 */
#include "route/rounds.h"

#include "base/alloc.h"
#include "exec/plan.h"

/* The memory range of an operand. */
struct extent {
    const gx_buf *buffer; /* NULL: host memory */
    uintptr_t from, to;
    bool writes;
};

/* False if the job has no such operand, or the operand begins where the output does: the extent of
 * the output covers it. */
static bool find_extent(const gx_job *job, int which, struct extent *e)
{
    const gx_operand *o = gx__operand(job, which), *out = &job->out;
    size_t bytes = gx__operand_bytes(job, which);
    if (!bytes)
        return false;
    if (which != GX_OUT && o->buf == out->buf && o->host == out->host && o->offset == out->offset)
        return false;
    e->buffer = o->buf;
    e->from = o->buf ? o->offset : (uintptr_t)o->host;
    e->to = e->from + bytes;
    e->writes = which == GX_OUT;
    return true;
}

/* ---- all jobs at once ---- */

static bool before(const struct extent *x, const struct extent *y)
{
    return x->buffer != y->buffer ? (uintptr_t)x->buffer < (uintptr_t)y->buffer : x->from < y->from;
}

static size_t run_end(const struct extent *e, size_t at, size_t count)
{
    if (at == count)
        return count;
    for (at++; at < count && !before(&e[at], &e[at - 1]);)
        at++;
    return at;
}

/* Merges pairs of sorted runs. */
static void merge_runs(const struct extent *from, struct extent *to, size_t count)
{
    for (size_t start = 0, end; start < count; start = end) {
        size_t middle = run_end(from, start, count), l = start, r = middle;
        end = run_end(from, middle, count);
        for (size_t k = start; k < end; k++)
            to[k] = r == end || (l < middle && !before(&from[r], &from[l])) ? from[l++] : from[r++];
    }
}

/* Sorts by address and returns the array, of the two, that has the result. A natural merge sort:
 * extents are listed by operand (all out, all a, ...), and most calls have each operand in order,
 * which makes few runs. */
static struct extent *sort(struct extent *e, struct extent *other, size_t count)
{
    while (run_end(e, 0, count) < count) {
        struct extent *sorted = other;
        merge_runs(e, sorted, count);
        other = e;
        e = sorted;
    }
    return e;
}

/* Whether a written extent overlaps another. Extents of the same job never do. */
static bool any_overlap(const struct extent *e, size_t count)
{
    uintptr_t read = 0, written = 0; /* ends so far, in the current buffer */
    for (size_t i = 0; i < count; i++) {
        if (i && e[i].buffer != e[i - 1].buffer)
            read = written = 0;
        if (e[i].from < written || (e[i].writes && e[i].from < read))
            return true;
        uintptr_t *end = e[i].writes ? &written : &read;
        *end = e[i].to > *end ? e[i].to : *end;
    }
    return false;
}

/* e has room for 2 * GX_OPERANDS extents per job. */
static bool independent(const gx_job *jobs, size_t count, struct extent *e)
{
    size_t found = 0;
    for (int which = GX_OUT; which < GX_OPERANDS; which++)
        for (size_t i = 0; i < count; i++)
            found += find_extent(&jobs[i], which, &e[found]);
    return !any_overlap(sort(e, e + count * GX_OPERANDS, found), found);
}

gx_status gx__rounds_find(struct gx_rounds *rounds, const gx_allocator *allocator,
                          const gx_job *jobs, size_t count)
{
    struct extent few[2 * GX_OPERANDS * GX_ROUND_SMALL], *e = few;
    *rounds = (struct gx_rounds){.jobs = jobs, .count = count, .one = true};
    if (count < 2)
        return GX_OK;
    if (count > GX_ROUND_SMALL) {
        if (count > SIZE_MAX / (2 * GX_OPERANDS * sizeof *e))
            return GX_ERR_OUT_OF_MEMORY;
        e = gx__alloc(allocator, count * 2 * GX_OPERANDS * sizeof *e);
        if (!e)
            return GX_ERR_OUT_OF_MEMORY;
    }
    rounds->one = independent(jobs, count, e);
    if (e != few)
        gx__free(allocator, e);
    return GX_OK;
}

/* ---- pairs of jobs ---- */

bool gx__jobs_conflict(const gx_job *first, const gx_job *second)
{
    struct extent x, y;
    for (int i = GX_OUT; i < GX_OPERANDS; i++) {
        if (!find_extent(first, i, &x))
            continue;
        for (int k = GX_OUT; k < GX_OPERANDS; k++)
            if ((i == GX_OUT || k == GX_OUT) && find_extent(second, k, &y) &&
                x.buffer == y.buffer && x.from < y.to && y.from < x.to)
                return true;
    }
    return false;
}

size_t gx__rounds_next(const struct gx_rounds *rounds, size_t first)
{
    const gx_job *jobs = rounds->jobs + first;
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

bool gx__job_is_whole(const gx_job *job)
{
    return !(job->flags & GX_JOB_TRUSTED) && gx__prime(job->field) && gx__job_in_place(job);
}

/* Approximate work per element: moving it, and its products. */
static double work(const gx_job *job)
{
    return (double)gx__element_bytes(job->field) * (1 + gx__op_products(job->op));
}

/* The position before an element of a job; element < n of the job. */
struct position {
    size_t job;
    uint64_t element;
};

/* At most about 1 % of the job, so that shares come close to their fractions. */
static uint64_t cut_step(uint64_t n)
{
    uint64_t step = GX_CUT_ELEMS;
    while (step > GX_CUT_MIN_ELEMS && step * 128 > n)
        step /= 2;
    return step;
}

/* The cut of a job that is nearest to `wanted` elements. */
static struct position cut_job(const gx_job *jobs, size_t job, double wanted)
{
    uint64_t n = jobs[job].n, step = cut_step(n);
    uint64_t element = (uint64_t)(wanted / (double)step + 0.5) * step;
    if (wanted + (double)step / 2 >= (double)n) /* the end, which need not be a multiple */
        element = n;
    if (gx__job_is_whole(&jobs[job]))
        element = wanted < (double)n / 2 ? 0 : n;
    return element < n ? (struct position){job, element} : (struct position){job + 1, 0};
}

static struct gx_share between(const gx_job *jobs, struct position from, struct position to)
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

void gx__round_cut(const gx_job *jobs, size_t njobs, const double *fractions, size_t count,
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

struct gx_range gx__share_range(const gx_job *jobs, const struct gx_share *share, size_t i)
{
    uint64_t first = i ? 0 : share->skip;
    uint64_t end = i + 1 < share->jobs ? jobs[share->job + i].n : share->end;
    return (struct gx_range){.job = share->job + i, .first = first, .n = end - first};
}
