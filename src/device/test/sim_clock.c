/* SPDX-License-Identifier: Apache-2.0
 *
 * The cost of work on a machine, and when it can begin. Rates are bytes or elements per
 * microsecond, so that bytes * 1000 / rate is in nanoseconds.
 */
#include "device/test/sim.h"

/* What the copier in exec/ gives to one thread at a time. */
#define HOST_SLICE ((uint64_t)256 << 10)

enum { UP, DOWN };

static uint64_t later(uint64_t a, uint64_t b)
{
    return a > b ? a : b;
}

static uint64_t duration(uint64_t amount, uint64_t rate)
{
    return (amount * 1000 + rate - 1) / rate;
}

/* ---- the link to the host ---- */

/* Nothing can begin before now: drops what has ended by then. */
static void forget(struct gx_sim_link *link, uint64_t now)
{
    size_t gone = 0;
    while (gone < link->count && link->span[gone].end <= now)
        gone++;
    link->count -= gone;
    for (size_t i = 0; gone && i < link->count; i++)
        link->span[i] = link->span[i + gone];
}

static bool busy(const struct gx_sim_link *link, uint64_t t, uint64_t *end)
{
    for (size_t i = 0; i < link->count; i++) {
        if (link->span[i].start <= t && t < link->span[i].end) {
            *end = link->span[i].end;
            return true;
        }
    }
    return false;
}

/* The next time at which this direction becomes busy or idle. */
static uint64_t next_edge(const struct gx_sim_link *link, uint64_t t)
{
    for (size_t i = 0; i < link->count; i++) {
        if (t < link->span[i].start)
            return link->span[i].start;
        if (t < link->span[i].end)
            return link->span[i].end;
    }
    return UINT64_MAX;
}

/* Books a free interval. If there is no room to record it, extends the previous copy. */
static void take(struct gx_sim_link *link, uint64_t start, uint64_t end)
{
    size_t at = link->count;
    while (at && link->span[at - 1].start > start)
        at--;
    if (at && (link->span[at - 1].end == start || link->count == GX_SIM_SPANS)) {
        link->span[at - 1].end = end;
        return;
    }
    if (link->count == GX_SIM_SPANS)
        return;
    for (size_t i = link->count++; i > at; i--)
        link->span[i] = link->span[i - 1];
    link->span[at].start = start;
    link->span[at].end = end;
}

/* Schedules a copy over the link that could begin at t; returns its end. A direction carries one
 * copy at a time. While both are busy they share BOTH: the earlier copy keeps its rate, and the
 * later one gets the rest. So past decisions stay valid. */
static uint64_t cross(struct gx_sim_clock *clock, const struct gx_machine_values *v, int way,
                      uint64_t t, uint64_t bytes)
{
    const uint64_t full[] = {v->of[GX_MACHINE_UPLOAD], v->of[GX_MACHINE_DOWNLOAD]};
    uint64_t both = v->of[GX_MACHINE_BOTH], end = t;
    uint64_t rest = both > full[!way] ? both - full[!way] : 0;
    struct gx_sim_link *own = &clock->link[way], *other = &clock->link[!way];
    for (uint64_t left = bytes * 1000; left;) {
        if (busy(own, t, &end)) {
            t = end;
            continue;
        }
        uint64_t rate = full[way];
        if (busy(other, t, &end) && rest < rate)
            rate = rest;
        if (!rate) {
            t = end;
            continue;
        }
        uint64_t own_edge = next_edge(own, t), other_edge = next_edge(other, t);
        uint64_t edge = own_edge < other_edge ? own_edge : other_edge;
        uint64_t need = (left + rate - 1) / rate, spent = need < edge - t ? need : edge - t;
        take(own, t, t + spent);
        t += spent;
        left -= spent == need ? left : spent * rate;
    }
    return t;
}

/* ---- commands ---- */

static uint64_t traffic(const struct gx_machine_values *v, const struct gx_sim_work *w)
{
    return duration(w->local_bytes, v->of[GX_MACHINE_KERNEL]) +
           duration(w->shared_bytes, v->of[GX_MACHINE_SHARED]);
}

static uint64_t kernel(const struct gx_machine_values *v, const struct gx_sim_work *w)
{
    uint64_t products = duration(w->products[0], v->of[GX_MACHINE_MUL]) +
                        duration(w->products[1], v->of[GX_MACHINE_MUL4]);
    return v->of[GX_MACHINE_LAUNCH] + later(traffic(v, w), products);
}

/* When everything it waits for is done; its queue may still be busy then. */
static uint64_t ready(const struct gx_sim_clock *clock, const struct gx_fence *waits, size_t count)
{
    uint64_t t = clock->now;
    for (size_t i = 0; i < count; i++)
        t = later(t, waits[i].value);
    return t;
}

/* Points of a queue must increase, even if the work between them takes no time. */
static uint64_t finish(struct gx_sim_clock *clock, enum gx_queue queue, uint64_t end)
{
    clock->free[queue] = later(end, clock->free[queue] + 1);
    return clock->free[queue];
}

void gx__sim_record(struct gx_sim_clock *clock)
{
    clock->now += gx__machine_at(&clock->machine, clock->now).of[GX_MACHINE_RECORD];
}

struct gx_times gx__sim_submit(struct gx_sim_clock *clock, enum gx_queue queue,
                               const struct gx_fence *waits, size_t wait_count,
                               const struct gx_sim_work *work, size_t work_count, uint64_t *stamps)
{
    clock->now += gx__machine_at(&clock->machine, clock->now).of[GX_MACHINE_SUBMIT];
    for (int way = UP; way <= DOWN; way++)
        forget(&clock->link[way], clock->now);
    uint64_t t = ready(clock, waits, wait_count);
    const struct gx_machine_values v =
        gx__machine_at(&clock->machine, later(t, clock->free[queue]));
    const uint64_t start = later(t + v.of[GX_MACHINE_START], clock->free[queue]);
    t = start;
    for (size_t i = 0; i < work_count; i++) {
        const struct gx_sim_work *w = &work[i];
        switch (w->kind) {
        case GX_SIM_STAMP:
            stamps[w->stamp] = t;
            break;
        case GX_SIM_COPY:
            t = cross(clock, &v, UP, t + v.of[GX_MACHINE_COPY], w->upload_bytes);
            t = cross(clock, &v, DOWN, t, w->download_bytes);
            t += traffic(&v, w);
            break;
        case GX_SIM_KERNEL:
            t += kernel(&v, w);
            break;
        }
    }
    return (struct gx_times){start, finish(clock, queue, t)};
}

/* ---- the host ---- */

/* In tenths: threads share the memory bandwidth, so each further one adds less. */
static uint64_t gain(uint64_t threads)
{
    return 10 + 7 * (threads - 1);
}

struct gx_times gx__sim_host_copy(struct gx_sim_clock *clock, enum gx_queue queue,
                                  const struct gx_fence *waits, size_t wait_count, uint64_t bytes)
{
    uint64_t start = later(ready(clock, waits, wait_count), clock->free[queue]), t = start;
    const struct gx_machine_values v = gx__machine_at(&clock->machine, start);
    uint64_t slices = (bytes + HOST_SLICE - 1) / HOST_SLICE;
    uint64_t threads = v.of[GX_MACHINE_HOST_THREADS];
    uint64_t rate = v.of[queue == GX_QUEUE_HOST_IN ? GX_MACHINE_HOST_IN : GX_MACHINE_HOST_OUT];
    if (bytes)
        t += duration(10 * bytes, rate * gain(slices < threads ? slices : threads));
    return (struct gx_times){start, finish(clock, queue, t)};
}

bool gx__sim_wait(struct gx_sim_clock *clock, uint64_t fence, uint64_t timeout_ns)
{
    if (fence <= clock->now)
        return true;
    bool in_time = fence - clock->now <= timeout_ns;
    clock->now = in_time ? fence : clock->now + timeout_ns;
    return in_time;
}
