/* SPDX-License-Identifier: Apache-2.0
 *
 * Learning from calls. The model learns the times of jobs that ran alone; contention, how much
 * slower a shard is while others of its round run, is kept separately. The CPU-only limit is
 * derived from the models.
 */
#include <math.h>
#include <string.h>

#include "base/float_env.h"
#include "exec/plan.h"
#include "op/traits.h"
#include "route/workspace.h"

/* Limits of contention, in thousandths. Beyond them the device itself has become slower or faster.
 * A shard that waits for cores which copy for a GPU takes up to three times as long. */
#define CONTENTION_MIN 800.0
#define CONTENTION_MAX 4000.0
/* Measurements needed before the factor is used. */
#define CONTENTION_ENOUGH 3u
/* After this many prevented splits in a row, one is tried again. If the factor was right, that
 * costs about 1 %. */
#define CONTENTION_MISSED 16u
/* The maximum of the CPU-only limit, and how many timed runs it is valid for. */
#define LIMIT_MAX    ((uint32_t)1 << 20)
#define LIMITS_EVERY 16u
/* An element of a registered operation, until it has been measured. */
#define REGISTERED_NS 100.0

const struct gx_predictor gx__predictor = {gx__model_predict, gx__model_next_ns};

/* Operands of one element (broadcasts, results of reductions) and results of another number than n
 * do not count: they are few, and cost no transfer. */
struct gx_kind gx__kind_of(const struct gx_instance *instance, const struct gx_task *job,
                           gx_path path, bool host)
{
    struct gx_kind kind = {job->op, job->field, GX_HOST_MEMORY, host ? GX_PATH_AUTO : path,
                           gx__size_class(job)};
    bool buffers = false;
    if (host)
        return kind;
    for (int i = 0; i <= job->operands; i++) {
        const struct gx_place *o = &job->operand[i];
        buffers |= o->buf != NULL;
        bool small = gx__operand_is_one(job, i) || (i == GX_OUT && job->resized >> GX_OUT & 1);
        if (o->buf || small)
            continue;
        if (!gx__host_registered(instance->registered, o->host, gx__operand_bytes(job, i)))
            return kind;
        kind.residency = GX_REGISTERED_MEMORY;
    }
    if (buffers && kind.residency == GX_HOST_MEMORY)
        kind.residency = GX_DEVICE_MEMORY;
    return kind;
}

/* Whether all jobs are of one kind; sets the kind and the number of elements. */
static bool one_kind(const struct gx_instance *instance, const struct gx_task *jobs, size_t count,
                     gx_path path, bool host, struct gx_kind *kind, uint64_t *elements)
{
    *elements = 0;
    for (size_t i = 0; i < count; i++) {
        struct gx_kind k = gx__kind_of(instance, &jobs[i], path, host);
        if (i && !gx__kinds_match(&k, kind))
            return false;
        *kind = k;
        *elements += jobs[i].n;
    }
    return *elements != 0;
}

/* ---- contention ---- */

/* Updates are not atomic as a whole: one of two concurrent measurements may be lost. */
static uint32_t get(const _Atomic uint32_t *value)
{
    return atomic_load_explicit(value, memory_order_relaxed);
}

static void set(_Atomic uint32_t *value, uint32_t to)
{
    atomic_store_explicit(value, to, memory_order_relaxed);
}

static uint32_t median_contention(const struct gx_contention *contention, uint32_t count)
{
    uint32_t sorted[GX_CONTENTION_SAMPLES];
    for (uint32_t i = 0; i < count; i++) {
        uint32_t value = get(&contention->last[i]), k = i;
        for (; k > 0 && sorted[k - 1] > value; k--)
            sorted[k] = sorted[k - 1];
        sorted[k] = value;
    }
    return sorted[count / 2];
}

bool gx__contention_learn(struct gx_contention *contention, double thousandths)
{
    if (thousandths < CONTENTION_MIN || thousandths > CONTENTION_MAX)
        return false;
    uint32_t count = get(&contention->count) + 1;
    count = count < GX_CONTENTION_SAMPLES ? count : GX_CONTENTION_SAMPLES;
    for (uint32_t i = count - 1; i > 0; i--)
        set(&contention->last[i], get(&contention->last[i - 1]));
    set(&contention->last[0], (uint32_t)thousandths);
    set(&contention->count, count);
    set(&contention->factor, count < CONTENTION_ENOUGH ? 0 : median_contention(contention, count));
    set(&contention->missed, 0);
    return true;
}

/* Keeps one measurement less than is needed, so that the next one decides: if it agrees with the
 * others, the factor is as before. */
void gx__contention_missed(struct gx_contention *contention)
{
    if (atomic_fetch_add_explicit(&contention->missed, 1, memory_order_relaxed) + 1 <
        CONTENTION_MISSED)
        return;
    set(&contention->missed, 0);
    set(&contention->factor, 0);
    if (get(&contention->count) >= CONTENTION_ENOUGH)
        set(&contention->count, CONTENTION_ENOUGH - 1);
}

void gx__contention_forget(struct gx_contention *contention)
{
    set(&contention->count, 0);
    set(&contention->factor, 0);
    set(&contention->missed, 0);
}

/* False if the model must learn the time instead: it does not know this size, or the device has
 * changed. */
static bool learn_contention(struct gx_contention *contention, const struct gx_model *model,
                             const struct gx_kind *kind, uint64_t n, double ns)
{
    struct gx_prediction p;
    if (!gx__model_predict(model, kind, (double)n, &p) || p.ns <= 0)
        return false;
    if (atomic_fetch_add_explicit(&contention->runs, 1, memory_order_relaxed) < GX_FIRST_RUNS)
        return true; /* other shards may be compiling kernels on all cores */
    return gx__contention_learn(contention, 1000 * ns / p.ns);
}

/* ---- the CPU-only limit ---- */

/* Approximately the largest n that is small, by bisection; at least 1. */
static uint32_t find_limit(const struct gx_model *cpu, const struct gx_kind *kind)
{
    uint32_t least = 0, most = LIMIT_MAX;
    while (most - least > 1 + least / 16) {
        uint32_t middle = least + (most - least) / 2;
        if (gx__is_small(&gx__predictor, cpu, kind, middle))
            least = middle;
        else
            most = middle;
    }
    return least ? least : 1;
}

uint32_t gx__cpu_only_limit(struct gx_router *router, struct gx_device_slot *host,
                            const struct gx_task *job)
{
    struct gx_kind kind = gx__kind_of(router->slots.instance, job, GX_PATH_AUTO, true);
    struct gx_kind_stats *stats = gx__kind_stats(host, &kind);
    uint32_t limit = stats ? atomic_load_explicit(&stats->small, memory_order_relaxed) : 0;
    if (limit) /* another thread may reset it at any time */
        return limit;
    struct gx_float_env caller;
    gx__float_env_default(&caller);
    limit = find_limit(atomic_load(&host->model), &kind);
    gx__float_env_restore(&caller);
    stats = gx__kind_stats_get(host, &kind);
    if (stats)
        atomic_store_explicit(&stats->small, limit, memory_order_relaxed);
    return limit;
}

/* ---- times ---- */

/* From the model, or else as if all of it could be spread. */
uint64_t gx__host_ns(const struct gx_instance *instance, const struct gx_device_slot *host,
                     const struct gx_task *jobs, size_t count)
{
    double sum = 0, threads = host->info.threads;
    struct gx_float_env caller;
    gx__float_env_default(&caller);
    for (size_t i = 0; i < count; i++) {
        struct gx_kind kind = gx__kind_of(instance, &jobs[i], GX_PATH_AUTO, true);
        struct gx_prediction p;
        double n = (double)jobs[i].n, own = jobs[i].op < GX_OP_END ? gx__op_rows[jobs[i].op].ns : 0;
        bool known = gx__model_predict(atomic_load(&host->model), &kind, n, &p);
        sum += known ? p.ns : n * (own > 0 ? own : REGISTERED_NS) / threads;
    }
    uint64_t ns = (uint64_t)fmin(sum, 1e18);
    gx__float_env_restore(&caller);
    return ns;
}

void gx__learn(struct gx_instance *instance, struct gx_device_slot *slot,
               const struct gx_task *jobs, size_t count, gx_path path, uint64_t ns, bool together)
{
    struct gx_model *model = atomic_load(&slot->model);
    struct gx_kind kind;
    uint64_t n;
    if (!model || !one_kind(instance, jobs, count, path, slot->host, &kind, &n))
        return;
    struct gx_kind_stats *kind_stats = gx__kind_stats_get(slot, &kind);
    if (!kind_stats) /* no memory: how many runs there were is not known */
        return;
    uint32_t runs = atomic_fetch_add_explicit(&kind_stats->runs, 1, memory_order_relaxed);
    if (runs < GX_FIRST_RUNS) {
        gx__model_expect(model, &kind);
        return;
    }
    double next = gx__model_next_ns(model), others = (double)(count - 1) * next;
    if (count > 1 && (next <= 0 || others * 2 > (double)ns))
        return; /* the number of jobs dominates, not their size */
    uint64_t own = ns - (uint64_t)others;
    struct gx_kind round = gx__kind_of(instance, jobs, path, false);
    struct gx_kind_stats *beside = together ? gx__kind_stats_get(slot, &round) : NULL;
    if (together && !beside)
        return;
    if (!together || !learn_contention(&beside->contention, model, &kind, n, (double)own))
        gx__model_learn(model, &kind, n, own ? own : 1);
    if (runs % LIMITS_EVERY == 0) /* recompute the limit */
        atomic_store_explicit(&kind_stats->small, 0, memory_order_relaxed);
}
