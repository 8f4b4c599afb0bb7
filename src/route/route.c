/* SPDX-License-Identifier: Apache-2.0
 *
 * Calls that name no device. Most are below the CPU-only limit and run on "cpu" without a decision,
 * a lock, or (usually) reading the clock. Other calls are divided into rounds, resident jobs and
 * jobs that go through host memory, which run one after the other.
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
#include "base/os.h"
#include "exec/buffer.h"
#include "exec/pipe.h"
#include "op/overlap.h"
#include "op/traits.h"
#include "route/calibrate.h"
#include "route/health.h"
#include "route/workspace.h"

/* ---- candidates ---- */

static bool lists_host(const char *list)
{
    char name[GX_LISTED_NAME];
    while (gx__next_name(&list, name))
        if (!strcmp(name, GX_HOST_DEVICE))
            return true;
    return false;
}

void gx__router_init(struct gx_router *router, struct gx_instance *instance, gx_policy policy)
{
    const char *device = instance->config.device;
    gx__slots_init(&router->slots, instance);
    pthread_mutex_init(&router->lock, NULL);
    router->policy = policy;
    router->named = device && !strchr(device, ',');
    router->host_listed = !device || lists_host(device);
}

void gx__router_close(struct gx_router *router)
{
    gx__helpers_end(router);
    gx__slots_close(&router->slots);
    gx__workspaces_free(router);
    pthread_mutex_destroy(&router->lock);
}

/* The number of a GPU, the same under all its names; 0: not known. add: it gets one. */
static uint32_t chip_number(struct gx_router *router, const char *name, bool add)
{
    struct gx_chip chip;
    if (!gx__device_chip(router->slots.instance, name, &chip))
        return 0;
    for (size_t i = 0; i < router->chips; i++)
        if (gx__same_chip(&router->chip[i], &chip))
            return (uint32_t)i + 1;
    if (!add)
        return 0;
    router->chip[router->chips++] = chip;
    return (uint32_t)router->chips;
}

static gx_status add_device(struct gx_router *router, const char *name, struct gx_error *error)
{
    struct gx_device_slot *slot;
    if (router->candidates == GX_CANDIDATES_MAX)
        return GX_OK;
    gx_status s = gx__slot_get(&router->slots, name, &slot, error);
    if (s != GX_OK)
        return s;
    for (size_t i = 0; i < router->candidates; i++)
        if (router->candidate[i] == slot)
            return GX_OK;
    slot->chip = chip_number(router, slot->name, true);
    slot->other = NULL;
    router->candidate[router->candidates++] = slot;
    return GX_OK;
}

static gx_status list_configured(struct gx_router *router, struct gx_error *error)
{
    const char *list = router->slots.instance->config.device;
    char name[GX_LISTED_NAME];
    gx_status s = GX_OK;
    while (s == GX_OK && gx__next_name(&list, name))
        s = add_device(router, name, error);
    return s;
}

/* Adds a device that is the GPU of a candidate to the names of that. */
static gx_status add_other_name(struct gx_router *router, const char *name, struct gx_error *error)
{
    struct gx_device_slot *slot, **end = router->candidate;
    uint32_t chip = chip_number(router, name, false);
    gx_status s = chip ? gx__slot_get(&router->slots, name, &slot, error) : GX_OK;
    if (!chip || s != GX_OK)
        return s;
    while ((*end)->chip != chip)
        end++;
    while (*end)
        end = &(*end)->other;
    *end = slot;
    slot->chip = chip;
    slot->other = NULL;
    return GX_OK;
}

static gx_status list_automatic(struct gx_router *router, struct gx_error *error)
{
    gx_device_info infos[4 * GX_CANDIDATES_MAX];
    size_t count = sizeof infos / sizeof *infos, room = count;
    gx_status s = gx__device_enumerate(router->slots.instance, infos, &count);
    if (s != GX_OK)
        gx__explain(error, "devices cannot be listed: %s", gx_status_message(s));
    for (size_t i = 0; i < count && i < room && s == GX_OK; i++)
        if (infos[i].automatic && infos[i].usable)
            s = add_device(router, infos[i].name, error);
    for (size_t i = 0; i < count && i < room && s == GX_OK; i++)
        if (!infos[i].automatic && infos[i].usable)
            s = add_other_name(router, infos[i].name, error);
    return s;
}

gx_status gx__router_candidates(struct gx_router *router, struct gx_error *error)
{
    gx_status s = GX_OK;
    if (!atomic_load_explicit(&router->listed, memory_order_acquire)) {
        struct gx_float_env caller;
        uint64_t start = gx__once_begin();
        gx__float_env_default(&caller);
        pthread_mutex_lock(&router->lock);
        if (!router->listed) {
            router->candidates = router->chips = 0;
            s = router->slots.instance->config.device ? list_configured(router, error)
                                                      : list_automatic(router, error);
            atomic_store_explicit(&router->listed, s == GX_OK, memory_order_release);
        }
        pthread_mutex_unlock(&router->lock);
        gx__float_env_restore(&caller);
        gx__once_end(start, &router->slots.instance->counters.open_ns);
    }
    return s;
}

/* Logs that the device is about to be used in place of a candidate, the first time. */
static void log_other_name(struct gx_instance *instance, const struct gx_device_slot *candidate,
                           const struct gx_device_slot *slot)
{
    if (atomic_load(&slot->condition.state) != GX_HEALTH_UNUSED)
        return;
    bool unfit = gx__health_unfit(candidate);
    gx__log(instance, unfit ? GX_LOG_WARNING : GX_LOG_INFO,
            "device '%s' is used in place of '%s', the same GPU, which %s", slot->name,
            candidate->name, unfit ? "cannot be used now" : "has no kernel for some jobs");
}

bool gx__have_kernels(struct gx_engine *engine, const struct gx_task *jobs, size_t count,
                      struct gx_error *error)
{
    for (size_t i = 0; i < count; i++)
        if (gx__engine_ready(engine, &jobs[i], error) == GX_ERR_UNSUPPORTED)
            return false;
    return true;
}

gx_status gx__router_enter(struct gx_router *router, struct gx_device_slot *candidate,
                           const struct gx_task *jobs, size_t count, bool insist,
                           struct gx_engine **engine, struct gx_error *error)
{
    gx_status lacks = GX_OK, s = GX_OK;
    for (struct gx_device_slot *slot = candidate; slot; slot = slot->other) {
        if (slot != candidate)
            log_other_name(router->slots.instance, candidate, slot);
        s = gx__health_enter(&router->slots, slot, insist, engine, error);
        if (s == GX_OK && gx__have_kernels(*engine, jobs, count, error))
            return GX_OK;
        if (s == GX_OK) {
            gx__engine_release(*engine);
            lacks = GX_ERR_UNSUPPORTED;
        } else if (!gx__health_unfit(slot)) {
            break; /* it only rests */
        }
    }
    return lacks ? lacks : s;
}

bool gx__is_routed(const struct gx_router *router, const char *device, gx_policy *policy)
{
    *policy = *policy ? *policy : router->policy;
    bool by_kind = *policy == GX_POLICY_CPU || *policy == GX_POLICY_GPU;
    return !device && (!router->named || by_kind);
}

static bool may_be_host(const struct gx_router *router, gx_policy policy)
{
    return policy == GX_POLICY_CPU || (policy != GX_POLICY_GPU && router->host_listed);
}

void gx__router_no_gpu(struct gx_error *error)
{
    gx__explain(
        error,
        "no GPU can be chosen now; software GPUs, and WebGPU devices that Vulkan has too, must be "
        "named: --device NAME, as 'gpuexec devices' lists them");
}

gx_status gx__router_buffer_engine(struct gx_router *router, struct gx_engine **engine,
                                   struct gx_error *error)
{
    if (may_be_host(router, router->policy))
        return gx__slot_open(&router->slots, GX_HOST_DEVICE, engine, error);
    gx_status s = gx__router_candidates(router, error);
    if (s != GX_OK)
        return s;
    s = GX_ERR_NO_DEVICE;
    gx__router_no_gpu(error);
    for (size_t i = 0; i < router->candidates && s != GX_OK; i++)
        if (!router->candidate[i]->host)
            s = gx__router_enter(router, router->candidate[i], NULL, 0, true, engine, error);
    return s;
}

/* ---- calls for "cpu" only ---- */

/* Whether "cpu" is the only candidate. */
static bool host_only(struct gx_router *router, gx_policy policy)
{
    return policy == GX_POLICY_CPU ||
           (policy != GX_POLICY_GPU &&
            atomic_load_explicit(&router->listed, memory_order_acquire) &&
            router->candidates == 1 && router->candidate[0]->host);
}

static bool is_below_limits(struct gx_router *router, struct gx_device_slot *host,
                            const struct gx_call *call, uint64_t elements)
{
    for (size_t i = 0; i < call->count; i++) {
        const struct gx_task *job = &call->jobs[i];
        if (i && job->op == job[-1].op && job->field == job[-1].field &&
            gx__op_traits(job->op)->classes == 1)
            continue;
        if (elements > gx__cpu_only_limit(router, host, job))
            return false;
    }
    return true;
}

static uint64_t search_ns(struct gx_router *router)
{
    uint64_t ns = atomic_load_explicit(&router->search_ns, memory_order_relaxed);
    if (!ns) {
        ns = gx__os_may_have_gpu() ? GX_SEARCH_NS : GX_SEARCH_IN_VAIN_NS;
        atomic_store_explicit(&router->search_ns, ns, memory_order_relaxed);
    }
    return ns;
}

/* Devices have not been looked for, and the time that "cpu" took for calls like this one, and will
 * take for this, is less than looking would take. */
static bool precedes_search(struct gx_router *router, const struct gx_device_slot *host,
                            const struct gx_call *call)
{
    if (atomic_load_explicit(&router->listed, memory_order_acquire))
        return false;
    uint64_t ns = gx__host_ns(router->slots.instance, host, call->jobs, call->count);
    uint64_t most = search_ns(router);
    return ns < most && atomic_fetch_add(&router->unsearched_ns, ns) + ns < most;
}

/* Whether the call runs on "cpu" without a decision. *only: because "cpu" is the only candidate. */
static bool is_cpu_only(struct gx_router *router, struct gx_device_slot *host,
                        const struct gx_call *call, bool *only)
{
    uint64_t elements = 0;
    *only = host_only(router, call->policy);
    for (size_t i = 0; i < call->count; i++) {
        const struct gx_registered_op *registered = gx__registered_op(call->jobs[i].op);
        if (gx__resident_engine(&call->jobs[i]) || (registered && !registered->desc.fn))
            return false;
        elements += call->jobs[i].n;
    }
    return *only || is_below_limits(router, host, call, elements) ||
           precedes_search(router, host, call);
}

static gx_reason cpu_only_reason(const struct gx_task *job, bool only)
{
    return gx__buffer_engine(job) ? GX_REASON_RESIDENT : only ? GX_REASON_ONLY : GX_REASON_SMALL;
}

/* ---- other calls ---- */

/* The resident jobs from `first` on that run on the same engine; a job that goes through host
 * memory by itself. */
static size_t resident_count(const struct gx_call *call, size_t first)
{
    const struct gx_engine *home = gx__resident_engine(&call->jobs[first]);
    size_t end = first + 1;
    if (gx__must_go_via_host(&call->jobs[first]))
        return 1;
    while (end < call->count && gx__resident_engine(&call->jobs[end]) == home &&
           !gx__must_go_via_host(&call->jobs[end]))
        end++;
    return end - first;
}

/* The jobs of the next round, up to the first resident one. */
static size_t round_count(const struct gx_rounds *rounds, const struct gx_call *call, size_t first)
{
    size_t count = gx__rounds_next(rounds, first), n = 0;
    while (n < count && !gx__resident_engine(&call->jobs[first + n]))
        n++;
    return n;
}

static gx_status find_rounds(struct gx_workspace *ws, const struct gx_task *jobs, size_t count,
                             struct gx_rounds *rounds)
{
    ws->extents = gx__workspace_room(ws, GX_ROOM_EXTENTS, count, GX_EXTENTS * sizeof *ws->extents);
    if (!ws->extents)
        return GX_ERR_OUT_OF_MEMORY;
    *rounds = (struct gx_rounds){jobs, count, gx__jobs_apart(jobs, count, true, ws->extents)};
    return GX_OK;
}

/* The job at `first`, which has n - 1 others with it, has buffers but is laid out in host memory.
 */
static bool runs_elsewhere(struct gx_workspace *ws, const struct gx_call *call, size_t first,
                           size_t n)
{
    const struct gx_task *job = &call->jobs[first];
    return gx__must_go_via_host(job) ||
           (n == 1 && gx__resident_engine(job) && gx__pays_via_host(ws, call, first));
}

/* Whether all results are verified, also those of jobs with buffers. */
static bool verifies_all(const struct gx_engine *engine)
{
    return engine->checked && gx__sample_every(engine->instance) == 1;
}

/* A job with buffers, laid out in host memory to be verified, on its own device. */
static gx_status run_verified(struct gx_workspace *ws, struct gx_call *call, size_t i,
                              size_t *reported)
{
    if (ws->only)
        return gx__run_via_host(ws, call, i, reported);
    ws->only = gx__resident_engine(&call->jobs[i]);
    if (call->reports)
        gx__outcome_clear(&call->reports[i], GX_REASON_RESIDENT);
    gx_status s = gx__run_via_host(ws, call, i, reported);
    ws->only = NULL;
    gx__end_resident(ws, call, i, 1, s);
    return s;
}

/* Runs all jobs, on devices that are chosen, or on `only`. */
static gx_status run_any(struct gx_router *router, struct gx_call *call, struct gx_engine *only)
{
    struct gx_rounds rounds;
    struct gx_float_env caller;
    struct gx_workspace *ws = gx__workspace_take(router);
    gx_status s = ws ? find_rounds(ws, call->jobs, call->count, &rounds) : GX_ERR_OUT_OF_MEMORY;
    gx__float_env_default(&caller);
    if (s != GX_OK) {
        gx__explain(&call->error, "no memory to choose a device");
        gx__fail_before(router, call, 0, 0, s);
    }
    if (ws)
        ws->only = only;
    for (size_t i = 0, n, reported = 0; i < call->count && s == GX_OK; i += n, reported = 0) {
        const struct gx_engine *home = gx__resident_engine(&call->jobs[i]);
        bool verified = home && verifies_all(home);
        n = verified ? 1 : home ? resident_count(call, i) : round_count(&rounds, call, i);
        if (call->cancel && atomic_load(call->cancel)) {
            s = GX_ERR_CANCELLED;
            gx__explain(&call->error, "%s", gx_status_message(s));
        } else if (!only && runs_elsewhere(ws, call, i, n)) {
            s = gx__run_via_host(ws, call, i, &reported);
        } else if (verified) {
            s = run_verified(ws, call, i, &reported);
        } else if (home) {
            s = gx__run_resident(ws, call, i, n, &reported);
        } else {
            s = gx__round_run(ws, call, i, n, &reported);
        }
        if (s != GX_OK && !reported)
            gx__fail_before(router, call, i, i, s);
        else if (s != GX_OK)
            gx__not_run(router, call, i + n, s == GX_ERR_CANCELLED ? s : GX_ERR_NOT_RUN);
    }
    gx__float_env_restore(&caller);
    if (ws)
        gx__workspace_give(ws);
    return s;
}

void gx__run_verified(void *router, struct gx_engine *engine, struct gx_batch *batch)
{
    struct gx_call call = {.jobs = batch->jobs,
                           .count = batch->count,
                           .reports = batch->reports,
                           .path = batch->path,
                           .mode = batch->mode,
                           .submit_ns = batch->submit_ns,
                           .queued_ns = batch->queued_ns,
                           .cancel = batch->cancel};
    batch->status = run_any(router, &call, engine);
    batch->failed = batch->status == GX_OK ? GX_NO_JOB : call.failed;
    batch->error = call.error;
}

/* The engine of "cpu"; NULL if it may not be chosen, or on failure. */
static struct gx_engine *enter_host(struct gx_router *router, gx_policy policy, gx_status *s,
                                    struct gx_error *error)
{
    *s = GX_OK;
    if (!may_be_host(router, policy))
        return NULL;
    struct gx_engine *engine =
        gx__slot_enter(atomic_load_explicit(&router->host, memory_order_acquire));
    if (!engine)
        *s = gx__slot_open(&router->slots, GX_HOST_DEVICE, &engine, error);
    if (*s != GX_OK)
        return NULL;
    atomic_store_explicit(&router->host, engine->slot, memory_order_release);
    return engine;
}

gx_status gx__router_run(void *user, struct gx_call *call)
{
    struct gx_router *router = user;
    bool only;
    gx_status s;
    call->error.text[0] = 0;
    if (!call->count)
        return GX_OK;
    struct gx_engine *host = enter_host(router, call->policy, &s, &call->error);
    if (s != GX_OK) {
        gx__fail_before(router, call, 0, 0, s);
    } else if (host && is_cpu_only(router, host->slot, call, &only)) {
        struct gx_batch batch;
        gx__batch_set(&batch, call, call->jobs, 0, call->count);
        for (size_t i = 0; call->reports && i < call->count; i++)
            gx__outcome_clear(&call->reports[i], cpu_only_reason(&call->jobs[i], only));
        gx__count(&router->slots.instance->counters.decisions, 1);
        gx__run_on_engine(host, &batch);
        gx__report_alone(host, call, 0, call->count);
        s = gx__take_result(call, &batch, 0);
    } else {
        s = run_any(router, call, NULL);
    }
    if (host)
        gx__engine_release(host);
    return s;
}

/* ---- planning without running ---- */

static void propose(struct gx_proposal *p, struct gx_engine *engine, gx_reason reason,
                    const struct gx_call *call, const struct gx_task *jobs, size_t count)
{
    p->engine = gx__engine_acquire(engine);
    p->reason = reason;
    gx__batch_set(&p->batch, call, jobs, 0, count);
}

/* Proposes the largest share of the round. */
static gx_status propose_round(struct gx_call *call, const struct gx_task *jobs,
                               struct gx_proposal *p)
{
    struct gx_workspace *ws = p->ws;
    gx_status s = gx__round_decide(ws, call, jobs, p->count, false);
    if (s != GX_OK)
        return s;
    s = gx__round_make_shards(ws, call, jobs, p->count);
    struct gx_shard *most = ws->shard;
    for (size_t i = 0; s == GX_OK && i < ws->shards; i++) {
        struct gx_shard *shard = &ws->shard[i];
        most = shard->share.elements > most->share.elements ? shard : most;
        if ((uint64_t)shard->predicted_ns > p->predicted_ns)
            p->predicted_ns = (uint64_t)shard->predicted_ns;
    }
    if (s == GX_OK && !gx__shard_make_jobs(most))
        s = GX_ERR_OUT_OF_MEMORY;
    if (s == GX_OK) {
        propose(p, most->candidate->engine, ws->decision.reason, call, most->jobs,
                most->share.jobs);
        p->considered.reason = p->reason;
        gx__report_candidates(ws, 0, jobs[0].n, &p->considered);
    }
    gx__round_leave(ws);
    return s;
}

static gx_status propose_routed(struct gx_router *router, struct gx_call *call, size_t first,
                                struct gx_engine *host, struct gx_proposal *p)
{
    struct gx_rounds rounds;
    const struct gx_task *jobs = &call->jobs[first];
    bool only;
    if (!first && host && is_cpu_only(router, host->slot, call, &only)) {
        p->count = call->count;
        propose(p, host, cpu_only_reason(call->jobs, only), call, jobs, p->count);
        return GX_OK;
    }
    if (runs_elsewhere(p->ws, call, first,
                       gx__resident_engine(jobs) ? resident_count(call, first) : 0)) {
        p->count = 1;
        gx_status s = gx__lay_out(p->ws, jobs, 1, true, &jobs, &call->error);
        return s == GX_OK ? propose_round(call, jobs, p) : s;
    }
    struct gx_engine *home = gx__resident_engine(jobs);
    gx_status s = find_rounds(p->ws, call->jobs, call->count, &rounds);
    if (s == GX_OK) {
        p->count = home ? resident_count(call, first) : round_count(&rounds, call, first);
        s = gx__lay_out(p->ws, jobs, p->count, false, &jobs, &call->error);
    }
    if (s != GX_OK || !home)
        return s == GX_OK ? propose_round(call, jobs, p) : s;
    propose(p, home, GX_REASON_RESIDENT, call, jobs, p->count);
    return GX_OK;
}

gx_status gx__router_propose(struct gx_router *router, struct gx_call *call, size_t first,
                             bool routed, struct gx_proposal *p)
{
    gx_status s;
    struct gx_float_env caller;
    *p = (struct gx_proposal){.ws = gx__workspace_take(router)};
    gx__explain(&call->error, "no memory to choose a device");
    if (!p->ws)
        return GX_ERR_OUT_OF_MEMORY;
    struct gx_engine *host = NULL;
    if (!routed) {
        s = gx__next_segment(router, call, first, &p->engine, &p->count, &p->reason);
        gx__batch_set(&p->batch, call, call->jobs + first, 0, p->count);
    } else {
        host = enter_host(router, call->policy, &s, &call->error);
        gx__float_env_default(&caller);
        if (s == GX_OK)
            s = propose_routed(router, call, first, host, p);
        gx__float_env_restore(&caller);
    }
    if (s == GX_OK && !p->considered.candidates) { /* there was no choice */
        p->considered.reason = p->reason;
        gx__report_one(p->engine, &call->jobs[first], call->path, &p->considered);
        p->considered.candidate[0].elements = 0; /* nothing has run */
    }
    if (host)
        gx__engine_release(host);
    if (s != GX_OK)
        gx__router_unpropose(p);
    return s;
}

void gx__router_unpropose(struct gx_proposal *p)
{
    if (p->engine)
        gx__engine_release(p->engine);
    gx__workspace_give(p->ws);
}

/* ---- forgetting ---- */

/* Drops what was derived from times of the operation, or of all (0). */
static void forget_derived(struct gx_device_slot *slot, gx_op op)
{
    struct gx_kind kind;
    struct gx_kind_stats *stats;
    for (uint64_t at = 0; (stats = gx__kind_next(&slot->kind_stats, &at, &kind)) != NULL;) {
        if (op && kind.op != op)
            continue;
        atomic_store_explicit(&stats->small, 0, memory_order_relaxed);
        gx__contention_forget(&stats->contention);
        if (op)
            stats->runs = stats->contention.runs = 0;
    }
}

void gx__router_forget(struct gx_router *router, gx_op op)
{
    size_t count = atomic_load(&router->slots.count);
    for (size_t i = 0; i < count; i++) {
        struct gx_device_slot *slot = router->slots.slot[i];
        struct gx_model *model = atomic_load(&slot->model);
        gx__tally_end(&slot->work.tallies, op);
        forget_derived(slot, op);
        for (gx_residency r = GX_HOST_MEMORY; r <= GX_DEVICE_MEMORY && model; r++)
            for (gx_path path = GX_PATH_AUTO; path <= GX_PATH_DEVICE_LOCAL; path++)
                gx__model_forget(model, &(struct gx_kind){.op = op, .residency = r, .path = path});
    }
}

/* ---- calibration ---- */

static void explain_not_saved(const struct gx_router *router, struct gx_error *error)
{
    char folder[GX_CACHE_PATH_BYTES];
    if (gx__cache_folder(router->slots.instance, folder, sizeof folder))
        gx__explain(error, "the measurements cannot be saved in the folder '%s'", folder);
    else
        gx__explain(error,
                    "the measurements cannot be saved: there is no cache folder; set cache-dir, "
                    "XDG_CACHE_HOME or HOME");
}

/* Enters a device and opens its model, which is required. */
static gx_status enter_measured(struct gx_router *router, struct gx_device_slot *slot,
                                struct gx_calibrated *device, struct gx_error *error)
{
    *device = (struct gx_calibrated){0};
    gx_status s = gx__health_enter(&router->slots, slot, false, &device->engine, error);
    if (s != GX_OK)
        return s;
    device->model = gx__slot_model(&router->slots, device->engine);
    if (device->model)
        return GX_OK;
    bool reference = device->engine->device.info.kind == GX_DEVICE_REFERENCE;
    if (reference)
        gx__explain(error,
                    "device '%s' is never chosen, so there is nothing to calibrate: name another",
                    slot->name);
    else
        gx__explain(error, "no memory for the model of '%s'", slot->name);
    gx__engine_release(device->engine);
    return reference ? GX_ERR_NO_DEVICE : GX_ERR_OUT_OF_MEMORY;
}

static gx_status calibrate(struct gx_router *router, const struct gx_calibration *settings,
                           struct gx_error *error)
{
    struct gx_calibrated devices[GX_CANDIDATES_MAX];
    size_t n = 0, count = router->candidates;
    gx_status s = GX_ERR_NO_DEVICE;
    for (size_t i = 0; i < count; i++) {
        gx_status entered = enter_measured(router, router->candidate[i], &devices[n], error);
        if (entered == GX_OK) {
            n++;
            continue;
        }
        s = entered == GX_ERR_OUT_OF_MEMORY ? entered : s;
        if (count > 1)
            gx__log(router->slots.instance, GX_LOG_WARNING, "not measured: %s", error->text);
    }
    if (n)
        s = gx__calibrate(router->slots.instance, devices, n, settings);
    if (s == GX_ERR_FILE)
        explain_not_saved(router, error);
    for (size_t i = 0; i < n; i++) {
        struct gx_engine *engine = devices[i].engine;
        forget_derived(engine->slot, 0);
        if (devices[i].wrong)
            gx__health_gave_wrong_result(&router->slots, engine->slot, engine);
        else if (gx__health_is_failure(devices[i].status) && !engine->slot->host &&
                 !atomic_load(&engine->lost))
            gx__health_failed(&router->slots, engine->slot, engine, devices[i].status);
        gx__engine_release(engine);
    }
    return s;
}

gx_status gx__router_calibrate(struct gx_router *router, const struct gx_calibration *settings,
                               struct gx_error *error)
{
    gx_status s = gx__router_candidates(router, error);
    return s == GX_OK ? calibrate(router, settings, error) : s;
}
