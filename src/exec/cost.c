/* SPDX-License-Identifier: Apache-2.0
 *
 * Predicts how long a plan takes, from the speeds of the device: each group goes through five
 * stages, each stage works on one group at a time, and a group waits for a free set. This is what
 * run.c does, as a recurrence.
 */
#include "exec/copier.h"
#include "exec/plan.h"

/* Enough to see the pattern; later groups behave like these. */
#define GROUPS_LOOKED_AT 16u
#define PAIRS_LOOKED_AT  64u
/* Simulated batches of a stream, besides the first. */
#define STREAM_BATCHES 4u

/* Used if the device has not measured them. */
#define DEFAULT_GBS 10.0
/* Cost of a copy command and its barriers, besides the bytes. */
#define COPY_NS 4000.0
/* Fractions of submit_ns: host time per command; the gap between two commands on one queue; the
 * delay until a command on another queue can start. */
#define ISSUE_PART 0.8
#define GAP_PART   0.75
#define HOP_PART   1.5
/* Host copies by several threads: bytes per slice, the most threads, the gain of each further
 * thread, and the time to wake them. */
#define SPREAD_BYTES ((double)GX_COPY_SLICE)
#define SPREAD_MOST  ((double)GX_COPY_THREADS_MAX)
#define SPREAD_GAIN  0.7
#define SPREAD_NS    3000.0
/* Until the feeding thread notices that another thread has freed the set it waits for. This and
 * SPREAD_NS were measured on the 16 cores of an H200 machine; they do not apply to a device that
 * simulates host copies. */
#define HAND_OVER_NS 10000.0
/* Transforms read and write single elements that lie far apart. Kernels that do so in host memory,
 * over a bus, took three times as long as memory read in order would (an H200 through CUDA, 2^14
 * and 2^16 elements). A memory whose kernels are this many times slower than the device's own is
 * taken to be behind one. */
#define SCATTER_TIMES 3.0
#define BUS_TIMES     4.0
/* Weight of a job besides its elements, for extrapolating from the first groups. */
#define JOB_ELEMS 256.0

struct stages {
    double in, up, compute, down, out;
    double both; /* simultaneous upload and download of different groups */
};

static double transfer(double bytes, float speed)
{
    return bytes / (speed > 0 ? (double)speed : DEFAULT_GBS);
}

static double compute_ns(const struct gx_plan *plan, const struct gx_piece *p)
{
    bool shared = plan->path == GX_PATH_HOST_VISIBLE;
    const struct gx_mem_speed *device = &plan->facts->speed[GX_MEM_DEVICE];
    const struct gx_mem_speed *mapped = &plan->facts->speed[GX_MEM_SHARED];
    bool bus = (double)mapped->kernel_read * BUS_TIMES < (double)device->kernel_read;
    double scatter = bus && p->job->scattered ? SCATTER_TIMES : 1, memory = 0;
    for (int i = 0; i < GX_OPERANDS; i++) {
        bool far = shared && p->access[i] == GX_OPERAND_STAGED;
        const struct gx_mem_speed *at = far ? mapped : device;
        if (p->access[i] != GX_OPERAND_NONE)
            memory += transfer((double)gx__piece_bytes(p, i),
                               i == GX_OUT ? at->kernel_write : at->kernel_read) *
                      (far ? scatter : 1);
    }
    if (!gx__prime(p->job->field) || plan->facts->mul_rate <= 0)
        return memory;
    double size = (double)gx__element_bytes(p->job->field) / 48,
           rate = (double)plan->facts->mul_rate;
    double arithmetic = (double)p->n * p->job->products * size * size / rate;
    return memory > arithmetic ? memory : arithmetic;
}

static double host_ns(const struct gx_plan *plan, double bytes, float speed)
{
    double threads = plan->asked->copy_threads, slices = bytes / SPREAD_BYTES;
    threads = threads < SPREAD_MOST ? threads : SPREAD_MOST;
    threads = threads < slices ? threads : slices;
    if (threads < 2)
        return transfer(bytes, speed);
    return (plan->facts->copy_threads ? 0 : SPREAD_NS) +
           transfer(bytes, speed) / (1 + SPREAD_GAIN * (threads - 1));
}

static struct stages stages_of(const struct gx_plan *plan, const struct gx_group *g)
{
    const struct gx_mem_speed *speed = plan->facts->speed;
    bool copies = plan->path == GX_PATH_DEVICE_LOCAL;
    double up = (double)g->out, down = (double)(g->bytes - g->bad_words);
    struct stages s = {0};
    for (size_t k = 0; k < g->count; k++)
        s.compute += compute_ns(plan, &g->pieces[k]);
    s.in = host_ns(plan, (double)(g->bad_words - g->in),
                   speed[copies ? GX_MEM_UPLOAD : GX_MEM_SHARED].host_write);
    s.out = host_ns(plan, (double)(g->end - g->out),
                    speed[copies ? GX_MEM_READBACK : GX_MEM_SHARED].host_read);
    if (copies && up > 0)
        s.up = COPY_NS + transfer(up, speed[GX_MEM_UPLOAD].copy_in);
    if (copies && down > 0)
        s.down = COPY_NS + transfer(down, speed[GX_MEM_READBACK].copy_out);
    if (copies && plan->facts->copy_both > 0)
        s.both = transfer(up + down, plan->facts->copy_both);
    return s;
}

static double later(double a, double b)
{
    return a > b ? a : b;
}

/* When each stage is free again. */
struct clocks {
    double host, up, compute, down, out;
    double set[GX_SETS_MAX];
};

static void advance(struct clocks *c, const struct stages *s, uint32_t queues, double submit,
                    double hand_over, double *set)
{
    double commands = (double)__builtin_popcount(queues), wait = submit * (1 - ISSUE_PART);
    double gap = submit * GAP_PART, hop = submit * HOP_PART;
    if (*set > c->host)
        c->host = *set + hand_over;
    c->host += s->in + submit * ISSUE_PART * commands;
    double at = c->host;
    if (queues & GX_QUEUE_BIT(GX_QUEUE_UPLOAD)) { /* the first upload has the bus to itself */
        at = later(at, c->up + gap) + (c->up > 0 ? later(s->up, s->both) : s->up);
        c->up = at;
        at = later(at + hop, c->compute);
    } else {
        at = later(at, c->compute + gap) + s->up;
    }
    c->compute = at = at + s->compute;
    if (queues & GX_QUEUE_BIT(GX_QUEUE_DOWNLOAD))
        c->down = at = later(at + hop, c->down) + s->down;
    else
        c->compute = at = at + s->down;
    *set = c->out = later(at + wait, c->out) + s->out;
}

static double work(const struct gx_task *jobs, size_t count)
{
    double all = 0;
    for (size_t i = 0; i < count; i++)
        all += (double)jobs[i].n + JOB_ELEMS;
    return all;
}

/* How many times longer the batch is than what was simulated: all of it, its first groups, or
 * several batches of a stream. */
static double times_of(const struct gx_plan *plan, const struct gx_cursor *cursor, uint32_t batches)
{
    if (cursor->job >= plan->count && !batches)
        return 1;
    double all = work(plan->jobs, plan->count);
    return all / (work(plan->jobs, cursor->job) + (double)cursor->first + batches * all);
}

uint64_t gx__plan_costs(const struct gx_plan *plan, struct gx_variant *variants, size_t count)
{
    double hand_over =
        plan->mode == GX_MODE_PIPELINED && !plan->facts->copy_threads ? HAND_OVER_NS : 0;
    double submit = plan->facts->submit_ns ? (double)plan->facts->submit_ns : GX_DEFAULT_SUBMIT_NS;
    struct gx_cursor cursor = {0};
    struct clocks clocks[GX_VARIANTS_MAX] = {0};
    struct gx_group group[2], *g = &group[0], *before = &group[1], *swap;
    uint64_t groups = 0;
    uint32_t batches = 0, more = plan->asked->stream ? STREAM_BATCHES : 0;
    before->count = 0;
    while (groups < GROUPS_LOOKED_AT) {
        if (!gx__plan_next(plan, &cursor, g)) {
            if (!groups || batches == more)
                break;
            batches++;
            cursor = (struct gx_cursor){0}; /* the next batch is the same, on other memory */
            before->count = 0;
            continue;
        }
        struct stages s = stages_of(plan, g);
        /* comparing many pairs of pieces would cost more than it tells */
        bool waits =
            g->drain || (g->count * before->count <= PAIRS_LOOKED_AT && gx__group_waits(g, before));
        for (size_t v = 0; v < count; v++) {
            struct clocks *c = &clocks[v];
            uint32_t least = plan->asked->sets, sets = variants[v].sets;
            if (waits)
                c->host = later(c->host, c->out);
            advance(c, &s, gx__group_queues(g, variants[v].copy_queues), submit, hand_over,
                    &c->set[groups % (sets > least ? sets : least)]);
        }
        groups++;
        swap = g;
        g = before;
        before = swap;
    }
    double times = times_of(plan, &cursor, batches);
    for (size_t v = 0; v < count; v++)
        variants[v].ns = clocks[v].out * times;
    return groups;
}
