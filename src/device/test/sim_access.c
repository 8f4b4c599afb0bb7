/* SPDX-License-Identifier: Apache-2.0
 *
 * Tracks memory accesses in virtual time. A sim device gives correct results even if a wait is
 * missing, because it works in submission order; a real device would do so most of the time. So a
 * sim device rejects such work.
 */
#include "device/test/sim.h"

static const char *const queue_names[GX_SIM_QUEUES] = {"compute", "upload", "download", "host-in",
                                                       "host-out"};

/* Whether columns of the same matrix are different ones. */
static bool pass_by(const struct gx_sim_range *a, const struct gx_sim_range *b)
{
    if (!a->stride || a->stride != b->stride)
        return false;
    size_t apart = (size_t)(b->from % b->stride + a->stride - a->from % a->stride) % a->stride;
    return apart >= a->row && a->stride - apart >= b->row;
}

static bool share(const struct gx_sim_range *a, const struct gx_sim_range *b)
{
    return a->from < b->to && b->from < a->to && (a->write || b->write) && !pass_by(a, b);
}

/* Nothing new can begin before now. */
static void forget(struct gx_sim_accesses *log, uint64_t now)
{
    size_t kept = 0;
    for (size_t i = 0; i < log->count; i++)
        if (log->access[i].end > now)
            log->access[kept++] = log->access[i];
    log->count = kept;
}

/* A conflicting access at that time; NULL: none. */
static const struct gx_sim_access *find(const struct gx_sim_accesses *log,
                                        const struct gx_sim_range *range, uint64_t start,
                                        uint64_t end)
{
    for (size_t i = 0; i < log->count; i++) {
        const struct gx_sim_access *a = &log->access[i];
        if (a->start < end && start < a->end && share(&a->range, range))
            return a;
    }
    return NULL;
}

bool gx__sim_use(struct gx_sim_accesses *log, enum gx_queue queue, uint64_t now, uint64_t start,
                 uint64_t end, const struct gx_sim_range *ranges, size_t count,
                 struct gx_error *error)
{
    forget(log, now);
    for (size_t i = 0; i < count; i++) {
        const struct gx_sim_access *a = find(log, &ranges[i], start, end);
        if (!a)
            continue;
        gx__explain(error,
                    "missing wait: %s work from %llu to %llu ns %s memory that %s work from %llu "
                    "to %llu ns %s",
                    queue_names[queue], (unsigned long long)start, (unsigned long long)end,
                    ranges[i].write ? "writes" : "reads", queue_names[a->queue],
                    (unsigned long long)a->start, (unsigned long long)a->end,
                    a->range.write ? "writes" : "reads");
        return false;
    }
    for (size_t i = 0; i < count && log->count < GX_SIM_ACCESSES; i++)
        log->access[log->count++] =
            (struct gx_sim_access){.range = ranges[i], .queue = queue, .start = start, .end = end};
    return true;
}
