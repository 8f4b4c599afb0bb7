/* SPDX-License-Identifier: Apache-2.0
 *
 * What every call teaches: the model of its device gets times of jobs that were alone there,
 * and beside it is kept how much slower a share is while others are at work.
 */
#include <string.h>

#include "base/float_env.h"
#include "exec/plan.h"
#include "route/desk.h"

/* Beyond these, in thousandths, it is not the others that hold a share up, but the device has
 * become slower itself, or faster. */
#define BESIDE_MIN 800.0
#define BESIDE_MAX 2000.0
/* So many have to agree, */
#define BESIDE_ENOUGH 3u
/* and after so many splits that were missed for it, it is asked again: that costs a percent
 * where it was right. */
#define BESIDE_MISSED 16u
/* Which calls are quick: up to how many elements at most, and after how many times learned that
 * is looked at again. */
#define LIMIT_MAX    ((uint32_t)1 << 20)
#define LIMITS_EVERY 16u

/* A place without a model is one that nothing is known of. */
static bool predict(const struct gx_model *model, const struct gx_kind *kind, double n,
                    struct gx_prediction *prediction)
{
    return model && gx__model_predict(model, kind, n, prediction);
}

static double next_ns(const struct gx_model *model)
{
    return model ? gx__model_next_ns(model) : 0;
}

const struct gx_predictor gx__predictor = {predict, next_ns};

/* Operands of one element do not count as transfers. */
struct gx_kind gx__kind_of(const struct gx_instance *instance, const gx_job *job, gx_path path,
                           bool host)
{
    struct gx_kind kind = {job->op, job->field, GX_HOST_MEMORY, host ? GX_PATH_AUTO : path};
    bool buffers = false;
    if (host)
        return kind;
    for (int i = 0; i <= (int)gx__op_operands(job->op); i++) {
        const gx_operand *o = gx__operand(job, i);
        buffers |= o->buf != NULL;
        if (o->buf || gx__operand_is_one(job, i))
            continue;
        if (!gx__host_registered(instance->hosts, o->host, gx__operand_bytes(job, i)))
            return kind;
        kind.residency = GX_REGISTERED_MEMORY;
    }
    if (buffers && kind.residency == GX_HOST_MEMORY)
        kind.residency = GX_DEVICE_MEMORY;
    return kind;
}

static bool same(const struct gx_kind *x, const struct gx_kind *y)
{
    return x->op == y->op && x->field == y->field && x->residency == y->residency;
}

/* All jobs are of one kind: which, and how many elements. */
static bool one_kind(const struct gx_instance *instance, const gx_job *jobs, size_t count,
                     gx_path path, bool host, struct gx_kind *kind, uint64_t *elements)
{
    *elements = 0;
    for (size_t i = 0; i < count; i++) {
        struct gx_kind k = gx__kind_of(instance, &jobs[i], path, host);
        if (i && !same(&k, kind))
            return false;
        *kind = k;
        *elements += jobs[i].n;
    }
    return *elements != 0;
}

/* ---- beside others ---- */

/* One that comes at the same time on another thread may get lost, which is no matter. */
static uint32_t get(const _Atomic uint32_t *value)
{
    return atomic_load_explicit(value, memory_order_relaxed);
}

static void set(_Atomic uint32_t *value, uint32_t to)
{
    atomic_store_explicit(value, to, memory_order_relaxed);
}

static uint32_t median_beside(const struct gx_beside *beside, uint32_t count)
{
    uint32_t sorted[GX_BESIDE_SAMPLES];
    for (uint32_t i = 0; i < count; i++) {
        uint32_t value = get(&beside->last[i]), k = i;
        for (; k > 0 && sorted[k - 1] > value; k--)
            sorted[k] = sorted[k - 1];
        sorted[k] = value;
    }
    return sorted[count / 2];
}

bool gx__beside_learn(struct gx_beside *beside, double thousandths)
{
    if (thousandths < BESIDE_MIN || thousandths > BESIDE_MAX)
        return false;
    uint32_t count = get(&beside->count) + 1;
    count = count < GX_BESIDE_SAMPLES ? count : GX_BESIDE_SAMPLES;
    for (uint32_t i = count - 1; i > 0; i--)
        set(&beside->last[i], get(&beside->last[i - 1]));
    set(&beside->last[0], (uint32_t)thousandths);
    set(&beside->count, count);
    set(&beside->factor, count < BESIDE_ENOUGH ? 0 : median_beside(beside, count));
    set(&beside->missed, 0);
    return true;
}

/* So many are left that one more is enough: where that says the same again, all is as
 * before. */
void gx__beside_missed(struct gx_beside *beside)
{
    if (atomic_fetch_add_explicit(&beside->missed, 1, memory_order_relaxed) + 1 < BESIDE_MISSED)
        return;
    set(&beside->missed, 0);
    set(&beside->factor, 0);
    if (get(&beside->count) >= BESIDE_ENOUGH)
        set(&beside->count, BESIDE_ENOUGH - 1);
}

void gx__beside_forget(struct gx_beside *beside)
{
    set(&beside->count, 0);
    set(&beside->factor, 0);
    set(&beside->missed, 0);
}

/* How much slower than alone. False where the model has to know it: what it takes alone is not
 * known, or is another thing by now. */
static bool learn_beside(struct gx_beside *beside, const struct gx_model *model,
                         const struct gx_kind *kind, uint64_t n, double ns)
{
    struct gx_prediction p;
    if (!gx__model_predict(model, kind, (double)n, &p) || p.ns <= 0)
        return false;
    if (atomic_fetch_add_explicit(&beside->runs, 1, memory_order_relaxed) < GX_FIRST_RUNS)
        return true; /* another one builds what it needs, with the cores of all */
    return gx__beside_learn(beside, 1000 * ns / p.ns);
}

/* ---- times ---- */

struct limits {
    const struct gx_kind *kind;
    const struct gx_model *cpu, *gpu[GX_CANDIDATES_MAX];
    size_t gpus;
};

static bool is_small(const struct limits *l, uint32_t n)
{
    return gx__is_small(&gx__predictor, l->cpu, l->kind, n);
}

static bool is_sure(const struct limits *l, uint32_t n)
{
    return is_small(l, n) || gx__is_sure(&gx__predictor, l->cpu, l->gpu, l->gpus, l->kind, n);
}

/* Up to how many elements it is so, about. */
static uint32_t find_limit(const struct limits *l, bool (*holds)(const struct limits *, uint32_t))
{
    uint32_t least = 0, most = LIMIT_MAX;
    while (most - least > 1 + least / 16) {
        uint32_t middle = least + (most - least) / 2;
        if (holds(l, middle))
            least = middle;
        else
            most = middle;
    }
    return least ? least : 1;
}

/* Returns what is small. */
static uint32_t find_limits(struct gx_router *router, struct gx_place *host,
                            const struct gx_kind *kind)
{
    struct limits l = {.kind = kind, .cpu = atomic_load(&host->model)};
    bool listed = atomic_load_explicit(&router->listed, memory_order_acquire);
    for (size_t i = 0; listed && i < router->candidates; i++)
        if (!router->candidate[i]->host)
            l.gpu[l.gpus++] = atomic_load(&router->candidate[i]->model);
    struct gx_habit *habit = gx__habit(host, kind);
    uint32_t small = find_limit(&l, is_small);
    atomic_store_explicit(&habit->sure, listed ? find_limit(&l, is_sure) : small,
                          memory_order_relaxed);
    atomic_store_explicit(&habit->small, small, memory_order_release);
    return small;
}

/* Another thread may be making it unknown at any time. */
uint32_t gx__quick_limit(struct gx_router *router, struct gx_place *host, const gx_job *job)
{
    struct gx_kind kind = {job->op, job->field, GX_HOST_MEMORY, GX_PATH_AUTO};
    struct gx_habit *habit = gx__habit(host, &kind);
    uint32_t small = atomic_load_explicit(&habit->small, memory_order_acquire);
    if (!small) {
        fenv_t caller;
        gx__float_env_default(&caller);
        small = find_limits(router, host, &kind);
        gx__float_env_restore(&caller);
    }
    bool busy = atomic_load_explicit(&host->active, memory_order_relaxed);
    return busy ? small : atomic_load_explicit(&habit->sure, memory_order_relaxed);
}

void gx__learn(struct gx_instance *instance, struct gx_place *place, const gx_job *jobs,
               size_t count, gx_path path, uint64_t ns, bool together)
{
    struct gx_model *model = atomic_load(&place->model);
    struct gx_kind kind;
    uint64_t n;
    if (!model || !one_kind(instance, jobs, count, path, place->host, &kind, &n))
        return;
    struct gx_habit *habit = gx__habit(place, &kind);
    uint32_t runs = atomic_fetch_add_explicit(&habit->runs, 1, memory_order_relaxed);
    if (runs < GX_FIRST_RUNS) {
        gx__model_expect(model, &kind);
        return;
    }
    double next = gx__model_next_ns(model), others = (double)(count - 1) * next;
    if (count > 1 && (next <= 0 || others * 2 > (double)ns))
        return; /* more about how many there are than about their size */
    uint64_t own = ns - (uint64_t)others;
    struct gx_kind wave = gx__kind_of(instance, jobs, path, false);
    if (!together || !learn_beside(&gx__habit(place, &wave)->beside, model, &kind, n, (double)own))
        gx__model_learn(model, &kind, n, own ? own : 1);
    if (runs % LIMITS_EVERY == 0) /* to be found anew */
        atomic_store_explicit(&habit->small, 0, memory_order_relaxed);
}
