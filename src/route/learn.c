/* SPDX-License-Identifier: Apache-2.0
 *
 * What every call teaches: the model of its device gets times of jobs that were alone there,
 * and beside it is kept how much slower a share is while others are at work.
 */
#include <string.h>

#include "base/float_env.h"
#include "exec/plan.h"
#include "route/desk.h"

/* Beyond these, in thousandths, something else went wrong. */
#define BESIDE_MIN 500u
#define BESIDE_MAX 4000u
/* Which calls are small: up to how many elements at most, and after how many times learned. */
#define SMALL_MAX   ((uint32_t)1 << 20)
#define SMALL_EVERY 16u

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

/* One element for all is nobody's transfer. */
struct gx_kind gx__kind_of(const struct gx_instance *instance, const gx_job *job, gx_path path,
                           bool host)
{
    struct gx_kind kind = {job->op, job->field, GX_HOST_MEMORY, host ? GX_PATH_AUTO : path};
    bool buffers = false;
    if (host)
        return kind;
    for (int i = 0; i <= (int)gx_op_get_info(job->op)->operands; i++) {
        const gx_operand *o = gx__operand(job, i);
        buffers |= o->buf != NULL;
        if (o->buf || o->broadcast)
            continue;
        if (!gx__host_registered(instance->hosts, o->host, job->n * gx__element_bytes(job->field)))
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

/* How much slower than alone, half of it from now and half from before. False where it is not
 * known what it takes alone. */
static bool learn_beside(struct gx_habit *habit, const struct gx_model *model,
                         const struct gx_kind *kind, uint64_t n, double ns)
{
    struct gx_prediction p;
    if (!gx__model_predict(model, kind, (double)n, &p) || p.ns <= 0)
        return false;
    double now = 1000 * ns / p.ns;
    now = now < BESIDE_MIN ? BESIDE_MIN : now > BESIDE_MAX ? BESIDE_MAX : now;
    uint32_t before = atomic_load_explicit(&habit->beside, memory_order_relaxed);
    uint32_t mean = before ? (before + (uint32_t)now) / 2 : (uint32_t)now;
    atomic_store_explicit(&habit->beside, mean, memory_order_relaxed);
    return true;
}

static void find_small(struct gx_place *host, const struct gx_kind *kind)
{
    uint32_t least = 0, most = SMALL_MAX;
    const struct gx_model *model = atomic_load(&host->model);
    while (most - least > 1 + least / 16) {
        uint32_t middle = least + (most - least) / 2;
        if (gx__is_small(&gx__predictor, model, kind, middle))
            least = middle;
        else
            most = middle;
    }
    struct gx_habit *habit = gx__habit(host, kind);
    atomic_store_explicit(&habit->small, least ? least : 1, memory_order_relaxed);
}

uint32_t gx__small_limit(struct gx_place *host, const gx_job *job)
{
    struct gx_kind kind = {job->op, job->field, GX_HOST_MEMORY, GX_PATH_AUTO};
    struct gx_habit *habit = gx__habit(host, &kind);
    uint32_t small = atomic_load_explicit(&habit->small, memory_order_relaxed);
    if (small)
        return small;
    fenv_t caller;
    gx__float_env_default(&caller);
    find_small(host, &kind);
    gx__float_env_restore(&caller);
    return atomic_load_explicit(&habit->small, memory_order_relaxed);
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
    atomic_store_explicit(&habit->passed, 0, memory_order_relaxed);
    uint32_t runs = atomic_fetch_add_explicit(&habit->runs, 1, memory_order_relaxed);
    if (runs < GX_FIRST_RUNS) {
        gx__model_expect(model, &kind);
        return;
    }
    double next = gx__model_next_ns(model), others = (double)(count - 1) * next;
    if (count > 1 && (next <= 0 || others * 2 > (double)ns))
        return; /* more about how many there are than about their size */
    uint64_t own = ns - (uint64_t)others;
    if (!together || !learn_beside(habit, model, &kind, n, (double)own))
        gx__model_learn(model, &kind, n, own ? own : 1);
    if (place->host && runs % SMALL_EVERY == 0)
        find_small(place, &kind);
}
