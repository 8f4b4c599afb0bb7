/* SPDX-License-Identifier: Apache-2.0
 *
 * A call that names no device. Most calls are small, and for these there is nothing to
 * decide: they go to "cpu" as they are, without a lock and mostly without a look at the
 * clock. Others are cut where they have to wait for one another or where their buffers are.
 */
#include "route/route.h"

#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/cache.h"
#include "base/clock.h"
#include "base/float_env.h"
#include "base/log.h"
#include "base/options.h"
#include "exec/buffer.h"
#include "exec/pipe.h"
#include "route/calibrate.h"
#include "route/desk.h"
#include "route/health.h"
#include "route/trust.h"

/* Of calls of less than so many elements only one in so many is timed. */
#define TIMED_ELEMS 4096u
#define TIMED_EVERY 64u
/* Elements computed into buffers for each one that gx_config.sample_every asks for. */
#define PROBE_EACH 1024u

/* ---- who there is to choose from ---- */

static bool lists_host(const char *list)
{
    char name[sizeof((gx_device_info *)0)->name];
    while (gx__next_name(&list, name, sizeof name))
        if (!strcmp(name, GX_HOST_DEVICE))
            return true;
    return false;
}

void gx__router_init(struct gx_router *router, struct gx_instance *instance, gx_policy policy)
{
    const char *device = instance->config.device;
    gx__places_init(&router->places, instance);
    pthread_mutex_init(&router->lock, NULL);
    router->policy = policy;
    router->named = device && !strchr(device, ',');
    router->host_listed = !device || lists_host(device);
}

void gx__router_close(struct gx_router *router)
{
    gx__helpers_end(router);
    gx__places_close(&router->places);
    gx__desks_free(router);
    pthread_mutex_destroy(&router->lock);
}

/* A device that is not there is no reason to fail where others are asked for. */
static gx_status add_candidate(struct gx_router *router, const char *name, char *message,
                               size_t message_size)
{
    struct gx_place *place;
    if (router->candidates == GX_CANDIDATES_MAX)
        return GX_OK;
    gx_status s = gx__place_get(&router->places, name, &place, message, message_size);
    if (s == GX_ERR_OUT_OF_MEMORY || (s != GX_OK && router->named))
        return s;
    if (s != GX_OK) {
        gx__log(router->places.instance, GX_LOG_WARNING, "%s", message);
        return GX_OK;
    }
    for (size_t i = 0; i < router->candidates; i++)
        if (router->candidate[i] == place)
            return GX_OK;
    router->candidate[router->candidates++] = place;
    return GX_OK;
}

static gx_status list_configured(struct gx_router *router, char *message, size_t message_size)
{
    const char *list = router->places.instance->config.device;
    char name[sizeof((gx_device_info *)0)->name];
    gx_status s = GX_OK;
    while (s == GX_OK && gx__next_name(&list, name, sizeof name))
        s = add_candidate(router, name, message, message_size);
    return s;
}

static gx_status list_automatic(struct gx_router *router, char *message, size_t message_size)
{
    gx_device_info infos[4 * GX_CANDIDATES_MAX];
    size_t count = sizeof infos / sizeof *infos, room = count;
    gx_status s = gx__device_enumerate(router->places.instance, infos, &count);
    if (s != GX_OK)
        snprintf(message, message_size, "devices cannot be listed: %s", gx_status_message(s));
    for (size_t i = 0; i < count && i < room && s == GX_OK; i++)
        if (infos[i].automatic && infos[i].usable)
            s = add_candidate(router, infos[i].name, message, message_size);
    return s;
}

gx_status gx__router_candidates(struct gx_router *router, struct gx_place *const **candidates,
                                size_t *count, char *message, size_t message_size)
{
    gx_status s = GX_OK;
    if (!atomic_load_explicit(&router->listed, memory_order_acquire)) {
        fenv_t caller;
        gx__float_env_default(&caller);
        pthread_mutex_lock(&router->lock);
        if (!router->listed) {
            router->candidates = 0;
            s = router->places.instance->config.device
                    ? list_configured(router, message, message_size)
                    : list_automatic(router, message, message_size);
            atomic_store_explicit(&router->listed, s == GX_OK, memory_order_release);
        }
        pthread_mutex_unlock(&router->lock);
        gx__float_env_restore(&caller);
    }
    *candidates = router->candidate;
    *count = s == GX_OK ? router->candidates : 0;
    return s;
}

static bool may_be_host(const struct gx_router *router, gx_policy policy)
{
    return policy == GX_POLICY_CPU || (policy != GX_POLICY_GPU && router->host_listed);
}

void gx__router_no_gpu(char *message, size_t message_size)
{
    snprintf(
        message, message_size,
        "no GPU may be chosen now; software GPUs, and WebGPU beside Vulkan, are used only where "
        "they are named: --device NAME, as 'gpuexec devices' lists");
}

gx_status gx__router_home(struct gx_router *router, struct gx_engine **engine, char *message,
                          size_t message_size)
{
    struct gx_place *const *candidates;
    size_t count = 0;
    if (may_be_host(router, router->policy))
        return gx__place_open(&router->places, GX_HOST_DEVICE, engine, message, message_size);
    gx_status s = gx__router_candidates(router, &candidates, &count, message, message_size);
    if (s != GX_OK)
        return s;
    gx__router_no_gpu(message, message_size);
    s = GX_ERR_NO_DEVICE;
    for (size_t i = 0; i < count && s != GX_OK; i++)
        if (!candidates[i]->host && gx__health_usable(candidates[i]))
            s = gx__health_enter(&router->places, candidates[i], engine, message, message_size);
    return s;
}

/* ---- on one engine, without a choice ---- */

static struct gx_place *place_of(const struct gx_engine *engine)
{
    return engine->place;
}

static uint64_t elements_of(const gx_job *jobs, size_t count)
{
    uint64_t elements = 0;
    for (size_t i = 0; i < count; i++)
        elements += jobs[i].n;
    return elements;
}

static void learn_from(struct gx_engine *engine, const struct gx_batch *batch, uint64_t ns)
{
    fenv_t caller;
    gx__float_env_default(&caller);
    gx__learn(engine->instance, place_of(engine), batch->jobs, batch->count, batch->path, ns,
              false);
    gx__float_env_restore(&caller);
}

/* What others have to wait for, about: as if all jobs were like the first. */
static uint64_t expect(struct gx_engine *engine, const struct gx_batch *batch, uint64_t elements)
{
    struct gx_place *place = place_of(engine);
    struct gx_prediction p = {0};
    fenv_t caller;
    if (elements < TIMED_ELEMS)
        return 0;
    struct gx_kind kind = gx__kind_of(engine->instance, batch->jobs, batch->path, place->host);
    gx__float_env_default(&caller);
    gx__predictor.predict(atomic_load(&place->model), &kind, (double)elements, &p);
    uint64_t ns = (uint64_t)p.ns;
    gx__float_env_restore(&caller);
    return ns;
}

/* The first of a small kind get the model its memory, so that none is asked for later. */
static bool is_new(struct gx_place *place, const struct gx_batch *batch)
{
    if (!batch->count)
        return false;
    struct gx_kind kind = {batch->jobs->op, batch->jobs->field, GX_HOST_MEMORY, GX_PATH_AUTO};
    return atomic_load_explicit(&gx__habit(place, &kind)->runs, memory_order_relaxed) <
           GX_FIRST_RUNS;
}

uint64_t gx__run_there(struct gx_engine *engine, struct gx_batch *batch)
{
    struct gx_place *place = place_of(engine);
    uint64_t elements = elements_of(batch->jobs, batch->count);
    uint64_t number =
        atomic_fetch_add_explicit(&place->work.jobs, batch->count, memory_order_relaxed);
    bool timed = elements >= TIMED_ELEMS || !place->host || number % TIMED_EVERY < batch->count ||
                 is_new(place, batch);
    if (!timed) {
        gx__engine_run(engine, batch);
        gx__count(&place->work.elements, elements);
        return 0;
    }
    bool alone = atomic_fetch_add(&place->active, 1) == 0;
    uint64_t expected = expect(engine, batch, elements);
    atomic_fetch_add(&place->waiting_ns, expected);
    uint64_t start = gx__engine_now(engine);
    gx__engine_run(engine, batch);
    uint64_t ns = gx__engine_now(engine) - start;
    atomic_fetch_sub(&place->waiting_ns, expected);
    alone &= atomic_fetch_sub(&place->active, 1) == 1;
    gx__count(&place->work.elements, elements);
    gx__count(&place->work.busy_ns, ns);
    if (alone && batch->status == GX_OK && !batch->mode)
        learn_from(engine, batch, ns);
    return ns;
}

void gx__router_run_there(void *user, struct gx_engine *engine, struct gx_batch *batch)
{
    if (engine->checked)
        gx__check_run(user, engine, batch);
    else
        gx__run_there(engine, batch);
}

/* ---- small calls ---- */

static bool is_home(const gx_operand *o)
{
    return !o->buf || place_of(o->buf->engine)->host;
}

static bool fits_host(const gx_job *job)
{
    return is_home(&job->out) && is_home(&job->a) && is_home(&job->b) && is_home(&job->c);
}

/* Where nobody else may do it, it is as if it were small. */
static bool host_only(struct gx_router *router, gx_policy policy)
{
    return policy == GX_POLICY_CPU ||
           (policy != GX_POLICY_GPU &&
            atomic_load_explicit(&router->listed, memory_order_acquire) &&
            router->candidates == 1 && router->candidate[0]->host);
}

/* There is nothing to decide: it is for "cpu". */
static bool is_quick(struct gx_router *router, struct gx_place *host, const struct gx_call *call,
                     bool *only)
{
    uint64_t elements = 0;
    *only = host_only(router, call->policy);
    for (size_t i = 0; i < call->count; i++) {
        if (!fits_host(&call->jobs[i]))
            return false;
        elements += call->jobs[i].n;
    }
    for (size_t i = 0; i < call->count && !*only; i++) {
        const gx_job *job = &call->jobs[i];
        if (i && job->op == job[-1].op && job->field == job[-1].field)
            continue;
        if (elements > gx__quick_limit(router, host, job))
            return false;
    }
    return true;
}

/* Of a job that only one was considered for. */
static void report_one(const struct gx_place *place, const struct gx_kind *kind, uint64_t n,
                       struct gx_outcome *r)
{
    gx_candidate *c = &r->candidate[0];
    *c = (gx_candidate){0};
    struct gx_prediction p;
    fenv_t caller;
    if (!r->reason) /* it did not run */
        return;
    r->candidates = 1;
    memcpy(c->device, place->name, sizeof c->device);
    c->status = r->status;
    c->elements = r->status == GX_OK ? n : 0;
    c->actual_ns = r->total_ns;
    gx__float_env_default(&caller);
    if (gx__predictor.predict(atomic_load(&place->model), kind, (double)n, &p))
        c->share_ns = c->predicted_ns = (uint64_t)p.ns;
    gx__float_env_restore(&caller);
}

static gx_reason quick_reason(const gx_job *job, bool only)
{
    bool buffers = job->out.buf || job->a.buf || job->b.buf || job->c.buf;
    return buffers ? GX_REASON_RESIDENT : only ? GX_REASON_ONLY : GX_REASON_SMALL;
}

static void set_batch(struct gx_batch *batch, const struct gx_call *call, const gx_job *jobs,
                      size_t first, size_t count)
{
    batch->jobs = jobs; /* one by one: most of it is run.c's to set */
    batch->count = count;
    batch->reports = call->reports ? call->reports + first : NULL;
    batch->path = call->path;
    batch->mode = call->mode;
    batch->sets = 0;
    batch->stream = batch->uncounted = batch->untimed = false;
    batch->submit_ns = call->submit_ns;
    batch->queued_ns = call->queued_ns;
    batch->cancel = call->cancel;
    batch->done = NULL;
    batch->failed = 0;
}

static gx_status take_over(struct gx_call *call, const struct gx_batch *batch, size_t first)
{
    if (batch->status != GX_OK) {
        call->failed = first + batch->failed;
        memcpy(call->message, batch->message, sizeof call->message);
    }
    return batch->status;
}

static gx_status run_quick(struct gx_router *router, struct gx_engine *engine, struct gx_call *call,
                           bool only)
{
    struct gx_batch batch;
    set_batch(&batch, call, call->jobs, 0, call->count);
    for (size_t i = 0; call->reports && i < call->count; i++)
        gx__outcome_clear(&call->reports[i], quick_reason(&call->jobs[i], only));
    gx__count(&router->places.instance->counters.decisions, 1);
    gx__run_there(engine, &batch);
    for (size_t i = 0; call->reports && i < call->count; i++) {
        const gx_job *job = &call->jobs[i];
        struct gx_kind kind = {job->op, job->field, GX_HOST_MEMORY, GX_PATH_AUTO};
        report_one(place_of(engine), &kind, job->n, &call->reports[i]);
    }
    return take_over(call, &batch, 0);
}

/* ---- jobs whose buffers are somewhere ---- */

static struct gx_engine *home_of(const gx_job *job)
{
    for (int i = 0; i < GX_OPERANDS; i++) {
        const gx_operand *o = gx__operand(job, i);
        if (!is_home(o))
            return o->buf->engine;
    }
    return NULL;
}

/* So many elements more, that took ns, are in buffers of the place, where they are not looked
 * at. Whether it has to prove itself now: they are many, and a probe costs little beside what
 * they took. *all: the elements since the last one. */
static bool probe_is_due(struct gx_place *place, uint64_t every, uint64_t elements, uint64_t ns,
                         uint64_t *all)
{
    uint64_t limit = every < UINT64_MAX / PROBE_EACH ? every * PROBE_EACH : UINT64_MAX;
    uint64_t all_ns = atomic_fetch_add(&place->unproven_ns, ns) + ns;
    *all = atomic_fetch_add(&place->unproven, elements) + elements;
    return *all >= limit && all_ns / GX_TRUST_COST >= atomic_load(&place->probe_ns);
}

gx_status gx__prove(struct gx_router *router, struct gx_engine *engine, const gx_job *jobs,
                    size_t count, uint64_t ns, char *message, size_t message_size)
{
    struct gx_place *place = place_of(engine);
    uint64_t all, every = gx__sample_every(router->places.instance);
    if (!count || !probe_is_due(place, every, elements_of(jobs, count), ns, &all))
        return GX_OK;
    char why[GX_MESSAGE_BYTES] = "";
    uint64_t start = gx__engine_now(engine);
    struct gx_sampler sampler = {.seed = gx__now_ns()};
    const gx_job *job = &jobs[sampler.seed / 64 % count]; /* any of them, in the long run all */
    atomic_store(&place->unproven, 0);
    atomic_store(&place->unproven_ns, 0);
    gx__count(&router->places.instance->counters.sampled, GX_PROBE_ELEMS);
    gx_status s = gx__probe(engine, &sampler, job->op, job->field, GX_PROBE_ELEMS, why, sizeof why);
    atomic_store(&place->probe_ns, gx__engine_now(engine) - start);
    if (s == GX_OK)
        gx__health_worked(place, 1);
    if (s != GX_ERR_DEVICE) /* else it is the next call's to fail */
        return GX_OK;
    gx__health_lied(&router->places, place, engine);
    snprintf(message, message_size,
             "results in buffers of '%s' of the last %llu elements are not to be trusted: %.60s",
             place->name, (unsigned long long)all, why);
    return GX_ERR_DEVICE;
}

/* They are on their way, so that what they take is only expected. */
gx_status gx__router_prove(struct gx_router *router, struct gx_engine *engine, const gx_job *jobs,
                           size_t count, char *message, size_t message_size)
{
    struct gx_batch batch = {.jobs = jobs, .count = count};
    uint64_t elements = elements_of(jobs, count), ns = count ? expect(engine, &batch, elements) : 0;
    return gx__prove(router, engine, jobs, count, ns ? ns : elements, message, message_size);
}

static void report_resident(const struct gx_engine *engine, struct gx_call *call, size_t first,
                            size_t count)
{
    for (size_t i = first; call->reports && i < first + count; i++) {
        const gx_job *job = &call->jobs[i];
        struct gx_kind kind = gx__kind_of(engine->instance, job, call->path, false);
        report_one(place_of(engine), &kind, job->n, &call->reports[i]);
    }
}

/* The last job is the one that says so. */
static void distrust(struct gx_call *call, size_t job, gx_status status)
{
    call->failed = job;
    if (!call->reports)
        return;
    call->reports[job].status = status;
    memcpy(call->reports[job].message, call->message, sizeof call->message);
}

static gx_status run_resident(struct gx_router *router, struct gx_desk *desk, struct gx_call *call,
                              size_t first, size_t count, size_t *reported)
{
    struct gx_batch batch;
    const gx_job *jobs;
    gx_status s = gx__wave_plain(router, desk, call->jobs + first, count, &jobs);
    *reported = s == GX_OK ? count : 0;
    if (s != GX_OK) {
        snprintf(call->message, sizeof call->message, "%s", gx_status_message(s));
        return s;
    }
    struct gx_engine *engine = gx__engine_acquire(home_of(&call->jobs[first]));
    struct gx_place *place = place_of(engine);
    for (size_t i = first; call->reports && i < first + count; i++)
        gx__outcome_clear(&call->reports[i], GX_REASON_RESIDENT);
    set_batch(&batch, call, jobs, first, count);
    uint64_t ns = 0;
    if (engine->checked)
        gx__check_run(router, engine, &batch);
    else
        ns = gx__run_there(engine, &batch);
    s = take_over(call, &batch, first);
    report_resident(engine, call, first, count);
    if (gx__health_is_failure(s))
        gx__health_failed(&router->places, place, engine, s);
    if (s == GX_OK && !engine->checked) { /* which is no reason to trust it before a probe is */
        s = gx__prove(router, engine, jobs, count, ns, call->message, sizeof call->message);
        if (s != GX_OK)
            distrust(call, first + count - 1, s);
    }
    gx__engine_release(engine);
    return s;
}

/* ---- any call ---- */

/* Jobs from `first` on do not run. */
static void give_up(struct gx_router *router, struct gx_call *call, size_t first, gx_status why)
{
    gx__count(&router->places.instance->counters.jobs_failed, call->count - first);
    for (size_t i = first; call->reports && i < call->count; i++)
        gx__outcome_not_run(&call->reports[i], why);
}

/* The job at `first` failed before it was begun. */
static void give_up_at(struct gx_router *router, struct gx_call *call, size_t first,
                       gx_status status)
{
    bool cancelled = status == GX_ERR_CANCELLED;
    give_up(router, call, first, cancelled ? GX_ERR_CANCELLED : GX_ERR_NOT_RUN);
    call->failed = first;
    if (call->reports && !cancelled) {
        call->reports[first].status = status;
        call->reports[first].queued_ns = call->queued_ns;
        memcpy(call->reports[first].message, call->message, sizeof call->message);
    }
}

static size_t resident_count(const struct gx_call *call, size_t first)
{
    const struct gx_engine *home = home_of(&call->jobs[first]);
    size_t end = first + 1;
    if (gx__is_mixed(&call->jobs[first]))
        return 1;
    while (end < call->count && home_of(&call->jobs[end]) == home &&
           !gx__is_mixed(&call->jobs[end]))
        end++;
    return end - first;
}

static size_t wave_count(const struct gx_waves *waves, const struct gx_call *call, size_t first)
{
    size_t count = gx__waves_next(waves, first), n = 0;
    while (n < count && !home_of(&call->jobs[first + n]))
        n++;
    return n;
}

/* Memory that the desk keeps, lent to one who asks once. */
struct lender {
    struct gx_router *router;
    struct gx_desk *desk;
};

static void *lend(void *user, size_t bytes)
{
    struct lender *lender = user;
    struct gx_desk *desk = lender->desk;
    return gx__desk_room(lender->router, &desk->lent, &desk->lent_room, bytes, 1) ? desk->lent
                                                                                  : NULL;
}

static void take_back(void *user, void *memory)
{
    (void)user;
    (void)memory;
}

gx_status gx__find_waves(struct gx_router *router, struct gx_desk *desk, const gx_job *jobs,
                         size_t count, struct gx_waves *waves)
{
    struct lender lender = {router, desk};
    gx_allocator allocator = {lend, take_back, &lender};
    return gx__waves_find(waves, &allocator, jobs, count);
}

static gx_status run_parts(struct gx_router *router, struct gx_desk *desk, struct gx_call *call,
                           const struct gx_waves *waves)
{
    gx_status s = GX_OK;
    for (size_t i = 0, n, reported; i < call->count && s == GX_OK; i += n) {
        if (call->cancel && atomic_load(call->cancel)) {
            snprintf(call->message, sizeof call->message, "%s",
                     gx_status_message(GX_ERR_CANCELLED));
            give_up_at(router, call, i, GX_ERR_CANCELLED);
            return GX_ERR_CANCELLED;
        }
        if (home_of(&call->jobs[i])) {
            n = resident_count(call, i);
            s = gx__is_mixed(&call->jobs[i]) ? gx__run_mixed(router, desk, call, i, &reported)
                                             : run_resident(router, desk, call, i, n, &reported);
        } else {
            n = wave_count(waves, call, i);
            s = gx__wave_run(router, desk, call, i, n, &reported);
        }
        if (s != GX_OK && !reported)
            give_up_at(router, call, i, s);
        else if (s != GX_OK)
            give_up(router, call, i + n, s == GX_ERR_CANCELLED ? s : GX_ERR_NOT_RUN);
    }
    return s;
}

static gx_status run_any(struct gx_router *router, struct gx_call *call)
{
    struct gx_waves waves;
    struct gx_desk *desk = gx__desk_take(router);
    gx_status s =
        desk ? gx__find_waves(router, desk, call->jobs, call->count, &waves) : GX_ERR_OUT_OF_MEMORY;
    if (s == GX_OK) {
        s = run_parts(router, desk, call, &waves);
    } else {
        snprintf(call->message, sizeof call->message, "no memory to choose a device");
        give_up_at(router, call, 0, s);
    }
    if (desk)
        gx__desk_give(router, desk);
    return s;
}

gx_status gx__router_run(void *user, struct gx_call *call)
{
    struct gx_router *router = user;
    struct gx_engine *engine = NULL;
    bool only, quick = false;
    gx_status s = GX_OK;
    call->message[0] = 0;
    if (!call->count)
        return GX_OK;
    if (may_be_host(router, call->policy)) {
        engine = gx__place_enter(atomic_load_explicit(&router->host, memory_order_acquire));
        if (!engine)
            s = gx__place_open(&router->places, GX_HOST_DEVICE, &engine, call->message,
                               sizeof call->message);
        if (s != GX_OK) {
            give_up_at(router, call, 0, s);
            return s;
        }
        atomic_store_explicit(&router->host, place_of(engine), memory_order_release);
        quick = is_quick(router, place_of(engine), call, &only);
    }
    if (quick)
        s = run_quick(router, engine, call, only);
    if (engine)
        gx__engine_release(engine);
    if (quick)
        return s;
    fenv_t caller;
    gx__float_env_default(&caller);
    s = run_any(router, call);
    gx__float_env_restore(&caller);
    return s;
}

/* ---- planning without running ---- */

/* Without a choice: all of the call on "cpu", or what its buffers are on. */
static size_t settled(struct gx_router *router, const struct gx_call *call, size_t first,
                      struct gx_engine *host, struct gx_proposal *p)
{
    bool only;
    if (!first && host && is_quick(router, place_of(host), call, &only)) {
        p->engine = gx__engine_acquire(host);
        p->reason = quick_reason(call->jobs, only);
        return call->count;
    }
    if (!home_of(&call->jobs[first]))
        return 0;
    p->engine = gx__engine_acquire(home_of(&call->jobs[first]));
    p->reason = GX_REASON_RESIDENT;
    return resident_count(call, first);
}

/* The largest share of the wave. */
static gx_status propose_wave(struct gx_router *router, const struct gx_call *call,
                              const gx_job *jobs, struct gx_proposal *p, char *message,
                              size_t message_size)
{
    struct gx_desk *desk = p->desk;
    gx_status s = gx__wave_decide(router, desk, call->policy, call->path, jobs, p->count, false,
                                  message, message_size);
    if (s != GX_OK)
        return s;
    s = gx__wave_carve(router, desk, call, jobs, p->count);
    struct gx_errand *most = desk->errand;
    for (size_t i = 0; s == GX_OK && i < desk->errands; i++) {
        struct gx_errand *e = &desk->errand[i];
        most = e->share.elements > most->share.elements ? e : most;
        if ((uint64_t)e->predicted_ns > p->predicted_ns)
            p->predicted_ns = (uint64_t)e->predicted_ns;
    }
    if (s == GX_OK && !gx__errand_aim(most))
        s = GX_ERR_OUT_OF_MEMORY;
    if (s == GX_OK) {
        set_batch(&p->batch, call, most->jobs, 0, most->share.jobs);
        p->engine = gx__engine_acquire(most->entrant->engine);
        p->reason = desk->decision.reason;
        p->considered.reason = p->reason;
        gx__report_candidates(desk, 0, jobs[0].n, &p->considered);
    }
    gx__wave_leave(desk);
    return s;
}

static gx_status propose(struct gx_router *router, const struct gx_call *call, size_t first,
                         struct gx_engine *host, struct gx_proposal *p, char *message,
                         size_t message_size)
{
    struct gx_waves waves;
    const gx_job *jobs;
    size_t count = settled(router, call, first, host, p);
    gx_status s = gx__find_waves(router, p->desk, call->jobs, call->count, &waves);
    if (s != GX_OK)
        return s;
    p->count = count ? count : wave_count(&waves, call, first);
    if (p->engine && gx__is_mixed(&call->jobs[first])) {
        gx__engine_release(p->engine);
        p->engine = NULL;
        s = gx__lay_out(router, p->desk, call->jobs + first, p->count);
        return s == GX_OK ? propose_wave(router, call, p->desk->wave, p, message, message_size) : s;
    }
    if (p->engine && place_of(p->engine)->host) { /* which takes its buffers as they are */
        set_batch(&p->batch, call, call->jobs, 0, p->count);
        return GX_OK;
    }
    s = gx__wave_plain(router, p->desk, call->jobs + first, p->count, &jobs);
    if (s == GX_OK && p->engine)
        set_batch(&p->batch, call, jobs, 0, p->count);
    else if (s == GX_OK)
        s = propose_wave(router, call, jobs, p, message, message_size);
    return s;
}

/* There was no choice. */
static void consider_one(const struct gx_call *call, size_t first, struct gx_proposal *p)
{
    const gx_job *job = &call->jobs[first];
    struct gx_place *place = place_of(p->engine);
    struct gx_kind kind = gx__kind_of(p->engine->instance, job, call->path, place->host);
    p->considered.reason = p->reason;
    report_one(place, &kind, job->n, &p->considered);
    p->considered.candidate[0].elements = 0; /* none is done */
}

gx_status gx__router_propose(struct gx_router *router, const struct gx_call *call, size_t first,
                             struct gx_proposal *p, char *message, size_t message_size)
{
    struct gx_engine *host = NULL;
    gx_status s = GX_OK;
    fenv_t caller;
    *p = (struct gx_proposal){.desk = gx__desk_take(router)};
    snprintf(message, message_size, "no memory to choose a device");
    if (!p->desk)
        return GX_ERR_OUT_OF_MEMORY;
    if (may_be_host(router, call->policy))
        s = gx__place_open(&router->places, GX_HOST_DEVICE, &host, message, message_size);
    gx__float_env_default(&caller);
    if (s == GX_OK)
        s = propose(router, call, first, host, p, message, message_size);
    if (s == GX_OK && !p->considered.candidates)
        consider_one(call, first, p);
    gx__float_env_restore(&caller);
    if (host)
        gx__engine_release(host);
    if (s != GX_OK)
        gx__router_unpropose(router, p);
    return s;
}

void gx__router_unpropose(struct gx_router *router, struct gx_proposal *p)
{
    if (p->engine)
        gx__engine_release(p->engine);
    gx__desk_give(router, p->desk);
}

/* ---- what is known ---- */

void gx__router_stats(struct gx_router *router, gx_device_statistics *stats, size_t *count)
{
    size_t room = stats ? *count : 0, places = atomic_load(&router->places.count);
    for (size_t i = 0; i < places && i < room; i++) {
        const struct gx_place *place = router->places.place[i];
        gx_health health = atomic_load(&place->condition.state);
        bool open = atomic_load(&place->engine) != NULL;
        stats[i] = (gx_device_statistics){.health = !health && open ? GX_HEALTH_GOOD : health,
                                          .retry_ns = gx__health_retry_ns(place),
                                          .jobs = place->work.jobs,
                                          .elements = place->work.elements,
                                          .busy_ns = place->work.busy_ns,
                                          .waiting_ns = place->waiting_ns,
                                          .failures = place->failures,
                                          .mismatches = place->mismatches,
                                          .readmissions = place->readmissions};
        memcpy(stats[i].device, place->name, sizeof stats[i].device);
    }
    *count = places;
}

void gx__router_sums(const struct gx_router *router, uint64_t *jobs, uint64_t *elements)
{
    size_t places = atomic_load(&router->places.count);
    *jobs = *elements = 0;
    for (size_t i = 0; i < places; i++)
        for (size_t op = 0; op < GX_OP_END; op++)
            for (size_t field = 0; field < GX_FIELD_END; field++) {
                const struct gx_tally *t = &router->places.place[i]->work.tally[op][field];
                *jobs += gx__histogram_count(&t->took);
                *elements += t->elements;
            }
}

void gx__router_rows(struct gx_router *router, gx_model_row *rows, size_t *count)
{
    size_t room = rows ? *count : 0, places = atomic_load(&router->places.count);
    *count = 0;
    for (size_t i = 0; i < places; i++) {
        struct gx_model *model = atomic_load(&router->places.place[i]->model);
        if (model)
            gx__model_rows(model, rows, room, count);
    }
}

/* ---- calibration ---- */

/* What was concluded from times that are not known any more. */
static void forget_habits(struct gx_place *place)
{
    for (size_t op = 0; op < GX_OP_END; op++)
        for (size_t field = 0; field < GX_FIELD_END; field++)
            for (size_t k = 0; k < GX_RESIDENCY_END; k++)
                for (size_t path = 0; path < GX_PATH_END; path++) {
                    struct gx_habit *habit = &place->habit[op][field][k][path];
                    atomic_store_explicit(&habit->small, 0, memory_order_relaxed);
                    gx__beside_forget(&habit->beside);
                }
}

static bool all_right(void *user, struct gx_engine *engine, const gx_job *job)
{
    struct gx_router *router = user;
    struct gx_sampler sampler = {.seed = gx__now_ns()};
    uint64_t wrong, count = job->n < GX_PROBE_ELEMS ? job->n : GX_PROBE_ELEMS;
    if (place_of(engine)->host || gx__results_right(&sampler, job, job->out.host, count, &wrong))
        return true;
    gx__health_lied(&router->places, place_of(engine), engine);
    return false;
}

static void say_not_saved(const struct gx_router *router, char *message, size_t message_size)
{
    char folder[GX_CACHE_PATH_BYTES];
    if (gx__cache_folder(router->places.instance, folder, sizeof folder))
        snprintf(message, message_size, "what was measured cannot be saved in the folder '%s'",
                 folder);
    else
        snprintf(message, message_size,
                 "what was measured cannot be saved: there is no cache folder, name one by "
                 "cache-dir, XDG_CACHE_HOME or HOME");
}

/* Its engine, with the caller as a user, and its model: without one there is nothing to measure
 * for. */
static gx_status enter_measured(struct gx_router *router, struct gx_place *place,
                                struct gx_calibrated *device, char *message, size_t message_size)
{
    *device = (struct gx_calibrated){0};
    gx_status s = gx__health_enter(&router->places, place, &device->engine, message, message_size);
    if (s != GX_OK)
        return s;
    device->model = gx__place_model(&router->places, device->engine);
    if (device->model)
        return GX_OK;
    bool reference = device->engine->device.info.kind == GX_DEVICE_REFERENCE;
    if (reference)
        snprintf(message, message_size,
                 "device '%s' is never chosen, so there is nothing to calibrate: name another",
                 place->name);
    else
        snprintf(message, message_size, "no memory for what '%s' takes", place->name);
    gx__engine_release(device->engine);
    return reference ? GX_ERR_NO_DEVICE : GX_ERR_OUT_OF_MEMORY;
}

static gx_status calibrate(struct gx_router *router, struct gx_place *const *candidates,
                           size_t count, const gx_calibration *settings, char *message,
                           size_t message_size)
{
    struct gx_calibrated devices[GX_CANDIDATES_MAX];
    size_t n = 0;
    gx_status s = GX_ERR_NO_DEVICE;
    for (size_t i = 0; i < count; i++) {
        gx_status entered =
            enter_measured(router, candidates[i], &devices[n], message, message_size);
        if (entered == GX_OK) {
            n++;
            continue;
        }
        s = entered == GX_ERR_OUT_OF_MEMORY ? entered : s;
        if (count > 1)
            gx__log(router->places.instance, GX_LOG_WARNING, "not measured: %s", message);
    }
    if (n)
        s = gx__calibrate(router->places.instance, devices, n, settings, all_right, router);
    if (s == GX_ERR_FILE)
        say_not_saved(router, message, message_size);
    for (size_t i = 0; i < n; i++) {
        struct gx_place *place = place_of(devices[i].engine);
        forget_habits(place);
        if (gx__health_is_failure(devices[i].status) && !place->host &&
            !atomic_load(&devices[i].engine->lost))
            gx__health_failed(&router->places, place, devices[i].engine, devices[i].status);
        gx__engine_release(devices[i].engine);
    }
    return s;
}

gx_status gx__router_calibrate(struct gx_router *router, const gx_calibration *settings,
                               char *message, size_t message_size)
{
    struct gx_place *const *candidates;
    size_t count;
    fenv_t caller;
    gx__float_env_default(&caller);
    gx_status s = gx__router_candidates(router, &candidates, &count, message, message_size);
    if (s == GX_OK)
        s = calibrate(router, candidates, count, settings, message, message_size);
    gx__float_env_restore(&caller);
    return s;
}
