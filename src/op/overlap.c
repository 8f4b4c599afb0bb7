/* SPDX-License-Identifier: Apache-2.0
 *
 * See overlap.h. Sorting the memory of all jobs by address takes O(n log n), and shows whether any
 * overlap; which ones do takes comparing pairs.
 */
#include "op/overlap.h"

/* False if the job has no such operand, or the operand begins where the output does: the extent of
 * the output covers it. */
static bool find(const struct gx_task *job, int which, struct gx_extent *e)
{
    const struct gx_place *o = &job->operand[which], *out = &job->out;
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

static bool before(const struct gx_extent *x, const struct gx_extent *y)
{
    return x->buffer != y->buffer ? (uintptr_t)x->buffer < (uintptr_t)y->buffer : x->from < y->from;
}

static size_t run_end(const struct gx_extent *e, size_t at, size_t count)
{
    if (at == count)
        return count;
    for (at++; at < count && !before(&e[at], &e[at - 1]);)
        at++;
    return at;
}

/* Merges pairs of sorted runs. */
static void merge_runs(const struct gx_extent *from, struct gx_extent *to, size_t count)
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
static struct gx_extent *sort(struct gx_extent *e, struct gx_extent *other, size_t count)
{
    while (run_end(e, 0, count) < count) {
        struct gx_extent *sorted = other;
        merge_runs(e, sorted, count);
        other = e;
        e = sorted;
    }
    return e;
}

/* Whether a written extent overlaps another. Extents of the same job never do. */
static bool any_overlap(const struct gx_extent *e, size_t count)
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

bool gx__jobs_apart(const struct gx_task *jobs, size_t count, bool buffers, struct gx_extent *room)
{
    size_t found = 0;
    if (count < 2)
        return true;
    for (int which = GX_OUT; which < GX_OPERANDS; which++)
        for (size_t i = 0; i < count; i++)
            if (buffers || !jobs[i].operand[which].buf)
                found += find(&jobs[i], which, &room[found]);
    return !any_overlap(sort(room, room + count * GX_OPERANDS, found), found);
}

/* ---- pairs of jobs ---- */

bool gx__jobs_conflict(const struct gx_task *first, const struct gx_task *second)
{
    struct gx_extent x, y;
    for (int i = GX_OUT; i < GX_OPERANDS; i++) {
        if (!find(first, i, &x))
            continue;
        for (int k = GX_OUT; k < GX_OPERANDS; k++)
            if ((i == GX_OUT || k == GX_OUT) && find(second, k, &y) && x.buffer == y.buffer &&
                x.from < y.to && y.from < x.to)
                return true;
    }
    return false;
}
