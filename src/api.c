/* SPDX-License-Identifier: Apache-2.0
 *
 * The public calls: everything a caller passes in is validated here, once; the layers
 * below assert nothing about it.
 */
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/abi.h"
#include "base/alloc.h"
#include "base/clock.h"
#include "base/float_env.h"
#include "base/log.h"
#include "base/names.h"
#include "base/options.h"
#include "base/trace.h"
#include "exec/buffer.h"
#include "exec/plan.h"
#include "exec/queue.h"
#include "route/route.h"

struct gx_ctx {
    struct gx_instance instance;
    struct gx_router router;
    struct gx_hosts hosts;
    struct gx_outcome_pool outcomes;
    gx_path path;
    gx_mode mode;
};

/* ---- context ---- */

/* The context takes copies of the strings, which were only borrowed so far. */
static gx_status own_strings(gx_config *config)
{
    const char **strings[] = {&config->device, &config->cpumask, &config->webgpu_backends,
                              &config->wgpu_library, &config->cache_dir};
    gx_status s = GX_OK;
    for (size_t i = 0; i < sizeof strings / sizeof *strings; i++) {
        if (!*strings[i])
            continue;
        *strings[i] = s == GX_OK ? gx__copy_text(&config->allocator, *strings[i]) : NULL;
        if (!*strings[i])
            s = GX_ERR_OUT_OF_MEMORY;
    }
    return s;
}

static void ctx_free(gx_ctx *ctx)
{
    gx_config config = ctx->instance.config;
    gx__free(&config.allocator, (void *)(uintptr_t)config.device);
    gx__free(&config.allocator, (void *)(uintptr_t)config.cpumask);
    gx__free(&config.allocator, (void *)(uintptr_t)config.webgpu_backends);
    gx__free(&config.allocator, (void *)(uintptr_t)config.wgpu_library);
    gx__free(&config.allocator, (void *)(uintptr_t)config.cache_dir);
    gx__free(&config.allocator, ctx);
}

gx_status gx_open(const gx_config *caller, gx_ctx **out)
{
    if (!out)
        return gx__fail(NULL, GX_ERR_INVALID, "gx_open: ctx is NULL");
    *out = NULL;
    gx_config config;
    char message[GX_MESSAGE_BYTES] = "";
    gx_status s = gx__config_complete(&config, caller, message, sizeof message);
    gx_path path = GX_PATH_AUTO;
    if (s == GX_OK && config.path)
        s = gx__parse_path(config.path, &path, "gx_config.path", message, sizeof message);
    gx_mode mode = GX_MODE_AUTO;
    if (s == GX_OK && config.mode)
        s = gx__parse_mode(config.mode, &mode, "gx_config.mode", message, sizeof message);
    gx_policy policy = GX_POLICY_AUTO;
    if (s == GX_OK && config.policy)
        s = gx__parse_policy(config.policy, &policy, "gx_config.policy", message, sizeof message);
    const char *trace = config.trace;
    config.path = config.mode = config.policy = config.trace =
        NULL; /* borrowed, and done with by the end */
    if (s != GX_OK)
        return gx__fail_line(&config, s, message);
    gx_ctx *ctx = gx__alloc(&config.allocator, sizeof *ctx);
    if (!ctx)
        return gx__fail_line(&config, GX_ERR_OUT_OF_MEMORY, "no memory to open a context");
    ctx->instance.config = config;
    ctx->path = path;
    ctx->mode = mode;
    s = own_strings(&ctx->instance.config);
    if (s == GX_OK) {
        ctx->instance.queue =
            gx__queue_open(&ctx->instance, gx__router_run, gx__router_run_there, &ctx->router);
        s = ctx->instance.queue ? GX_OK : GX_ERR_OUT_OF_MEMORY;
    }
    if (s != GX_OK) {
        ctx_free(ctx);
        return gx__fail_line(&config, s, "no memory to open a context");
    }
    gx__hosts_init(&ctx->hosts);
    gx__outcomes_init(&ctx->outcomes);
    ctx->instance.hosts = &ctx->hosts;
    gx__trace_init(&ctx->instance);
    gx__router_init(&ctx->router, &ctx->instance, policy);
    s = trace && *trace ? gx_trace_start(ctx, trace) : GX_OK;
    if (s == GX_ERR_INVALID) /* another context has the same setting, and the file */
        s = GX_OK;
    if (s == GX_OK)
        *out = ctx;
    else
        gx_close(&ctx);
    return s;
}

void gx_close(gx_ctx **ctx)
{
    if (!ctx || !*ctx)
        return;
    fenv_t caller;
    gx__float_env_default(&caller);
    gx__queue_drain((*ctx)->instance.queue);
    gx__router_close(&(*ctx)->router);
    gx__hosts_close(&(*ctx)->hosts);
    gx__outcomes_close(&(*ctx)->outcomes, &(*ctx)->instance.config.allocator);
    gx__device_stop(&(*ctx)->instance);
    gx__crew_end(&(*ctx)->instance);
    gx__trace_end(&(*ctx)->instance);
    gx__queue_close((*ctx)->instance.queue);
    gx__float_env_restore(&caller);
    ctx_free(*ctx);
    *ctx = NULL;
}

/* ---- lists ---- */

/* More than any list has: a caller's room beyond that is not looked at. */
#define LIST_MAX ((size_t)1 << 20)

/* A list that the library writes as its own structs: at most *count of them into `own`, NULL
 * where none are wanted; *count becomes how many there are. */
typedef gx_status (*list_fn)(gx_ctx *ctx, void *own, size_t *count);

/* The list as the caller's structs. */
static gx_status list_out(gx_ctx *ctx, const struct gx_layout *layout, const char *call,
                          list_fn list, void *to, size_t *count)
{
    char message[GX_MESSAGE_BYTES];
    size_t size = 0, room = count && to ? *count : 0;
    if (!ctx || !count)
        return gx__fail(NULL, GX_ERR_INVALID, "%s: ctx and count must not be NULL", call);
    if (room && gx__check_out(layout, to, room, &size, message, sizeof message) != GX_OK)
        return gx__fail(&ctx->instance, GX_ERR_INVALID, "%s: %s", call, message);
    room = room < LIST_MAX ? room : LIST_MAX;
    const gx_allocator *allocator = &ctx->instance.config.allocator;
    char *own = room ? gx__alloc(allocator, room * layout->size) : NULL;
    if (room && !own)
        return gx__fail(&ctx->instance, GX_ERR_OUT_OF_MEMORY, "%s: no memory for the list", call);
    *count = room;
    gx_status s = list(ctx, own, count);
    for (size_t i = 0; i < room && i < *count && s == GX_OK; i++)
        gx__give_out(layout, (char *)to + i * size, size, sizeof(size_t), own + i * layout->size);
    gx__free(allocator, own);
    return s;
}

static gx_status list_devices(gx_ctx *ctx, void *own, size_t *count)
{
    fenv_t caller;
    gx__float_env_default(&caller);
    gx_status s = gx__device_enumerate(&ctx->instance, own, count);
    gx__float_env_restore(&caller);
    return s == GX_OK
               ? s
               : gx__fail(&ctx->instance, s, "devices cannot be listed: %s", gx_status_message(s));
}

gx_status gx_devices(gx_ctx *ctx, gx_device_info *infos, size_t *count)
{
    return list_out(ctx, &gx__device_info_layout, "gx_devices", list_devices, infos, count);
}

gx_status gx_stats(gx_ctx *ctx, gx_statistics *out)
{
    char message[GX_MESSAGE_BYTES];
    size_t size;
    if (!ctx || !out)
        return gx__fail(NULL, GX_ERR_INVALID, "gx_stats: ctx and out must not be NULL");
    if (gx__check_out(&gx__statistics_layout, out, 1, &size, message, sizeof message) != GX_OK)
        return gx__fail(&ctx->instance, GX_ERR_INVALID, "gx_stats: %s", message);
    const struct gx_counters *c = &ctx->instance.counters;
    gx_statistics own = {.jobs_failed = c->jobs_failed,
                         .bytes_read = c->bytes_read,
                         .bytes_written = c->bytes_written,
                         .compute_ns = c->compute_ns,
                         .dispatches = c->dispatches,
                         .pool_hits = c->pool_hits,
                         .pool_misses = c->pool_misses,
                         .pool_bytes = c->pool_bytes,
                         .device_bytes = c->device_bytes,
                         .device_bytes_peak = c->device_bytes_peak,
                         .command_hits = c->command_hits,
                         .command_misses = c->command_misses,
                         .tickets_submitted = c->tickets_submitted,
                         .tickets_done = c->tickets_done,
                         .tickets_cancelled = c->tickets_cancelled,
                         .jobs_waiting = c->jobs_waiting,
                         .validation_messages = c->validation_messages,
                         .decisions = c->decisions,
                         .decisions_default = c->decisions_default,
                         .decisions_split = c->decisions_split,
                         .decisions_explored = c->decisions_explored,
                         .routed_ns = c->routed_ns,
                         .routed_best_ns = c->routed_best_ns,
                         .sampled = c->sampled,
                         .mismatches = c->mismatches,
                         .fallbacks = c->fallbacks,
                         .decisions_predicted = c->decisions_predicted};
    for (size_t i = 0; i < GX_BUCKETS; i++)
        own.buckets[i] = c->buckets[i];
    gx__router_sums(&ctx->router, &own.jobs_done, &own.elements);
    gx__give_out(&gx__statistics_layout, out, size, sizeof out->struct_size, &own);
    return GX_OK;
}

/* ---- trace ---- */

gx_status gx_trace_start(gx_ctx *ctx, const char *path)
{
    char message[GX_MESSAGE_BYTES];
    if (!ctx || !path)
        return gx__fail(NULL, GX_ERR_INVALID, "gx_trace_start: ctx and path must not be NULL");
    gx_status s = gx__trace_start(&ctx->instance, path, message, sizeof message);
    return s == GX_OK ? s : gx__fail(&ctx->instance, s, "%s", message);
}

gx_status gx_trace_stop(gx_ctx *ctx)
{
    char message[GX_MESSAGE_BYTES];
    if (!ctx)
        return gx__fail(NULL, GX_ERR_INVALID, "gx_trace_stop: ctx is NULL");
    gx_status s = gx__trace_stop(&ctx->instance, message, sizeof message);
    return s == GX_OK ? s : gx__fail(&ctx->instance, s, "%s", message);
}

/* ---- buffers ---- */

gx_status gx_buf_create(gx_ctx *ctx, const char *device, size_t bytes, uint32_t flags, gx_buf **buf)
{
    if (!buf)
        return gx__fail(NULL, GX_ERR_INVALID, "gx_buf_create: buf is NULL");
    *buf = NULL;
    if (!ctx)
        return gx__fail(NULL, GX_ERR_INVALID, "gx_buf_create: ctx is NULL");
    if (flags & ~GX_BUF_MAPPABLE)
        return gx__fail(&ctx->instance, GX_ERR_INVALID,
                        "buffer of %zu bytes: flags 0x%x has bits that mean nothing", bytes, flags);
    struct gx_engine *engine;
    char message[GX_MESSAGE_BYTES] = "";
    if (!device && ctx->router.named)
        device = ctx->instance.config.device;
    gx_status s =
        device ? gx__place_open(&ctx->router.places, device, &engine, message, sizeof message)
               : gx__router_home(&ctx->router, &engine, message, sizeof message);
    if (s != GX_OK)
        return gx__fail(&ctx->instance, s, "buffer of %zu bytes: %s", bytes, message);
    s = gx__buf_create(engine, bytes, flags, buf);
    if (s != GX_OK)
        gx__fail(&ctx->instance, s, "buffer of %zu bytes on '%s': %s", bytes,
                 engine->device.info.name, gx_status_message(s));
    gx__engine_release(engine); /* the buffer is a user by itself */
    return s;
}

/* ---- validation ---- */

size_t gx_operand_bytes(const gx_job *job, char operand)
{
    static const char names[GX_OPERANDS] = {
        [GX_OUT] = 'o', [GX_A] = 'a', [GX_B] = 'b', [GX_C] = 'c'};
    size_t element = job ? gx__element_bytes(job->field) : 0;
    if (!element || !gx_op_exists(job->op, job->field) || job->n > SIZE_MAX / 2 / element)
        return 0;
    for (int i = 0; i < GX_OPERANDS; i++)
        if (names[i] == operand)
            return gx__operand_bytes(job, i);
    return 0;
}

__attribute__((format(printf, 3, 4))) static gx_status
refuse(struct gx_outcome *report, gx_status status, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    vsnprintf(report->message, sizeof report->message, format, args);
    va_end(args);
    return status;
}

static gx_status validate_kind(const gx_job *job, struct gx_outcome *report)
{
    if (!gx_op_get_info(job->op))
        return refuse(report, GX_ERR_INVALID, "op is %u, which is no operation", job->op);
    if (!gx_field_get_info(job->field))
        return refuse(report, GX_ERR_INVALID, "field is %u, which is no field", job->field);
    if (!gx_op_exists(job->op, job->field))
        return refuse(report, GX_ERR_UNSUPPORTED, "%s does not exist for %s",
                      gx_op_get_info(job->op)->name, gx_field_get_info(job->field)->name);
    if (job->flags & ~GX_JOB_TRUSTED)
        return refuse(report, GX_ERR_INVALID, "flags 0x%x has bits that mean nothing", job->flags);
    if (job->reserved)
        return refuse(report, GX_ERR_INVALID, "gx_job.reserved is %u: set it to 0", job->reserved);
    if (job->params)
        return refuse(report, GX_ERR_INVALID, "params must be NULL for %s",
                      gx_op_get_info(job->op)->name);
    if (job->n > SIZE_MAX / 2 / gx__element_bytes(job->field))
        return refuse(report, GX_ERR_INVALID, "n is %zu, more than memory can hold", job->n);
    return GX_OK;
}

/* Where an operand begins: comparable between operands of the same buffer, or of none. */
static uintptr_t operand_start(const gx_operand *o)
{
    return o->buf ? o->offset : (uintptr_t)o->host;
}

/* out may be exactly an operand of n elements, unless all of these make one, and else shares no
 * byte with it. */
static bool partly_overlaps(const gx_job *job, int which)
{
    const gx_operand *o = gx__operand(job, which);
    uintptr_t out = operand_start(&job->out), in = operand_start(o);
    if (job->out.buf != o->buf)
        return false;
    size_t out_bytes = gx__operand_bytes(job, GX_OUT), in_bytes = gx__operand_bytes(job, which);
    if (!in_bytes)
        return false;
    if (out == in && out_bytes == in_bytes && gx__op_shape(job->op) != GX_SHAPE_REDUCTION)
        return false;
    return out < in + in_bytes && in < out + out_bytes;
}

/* One operand by itself, out included. */
static gx_status validate_place(const gx_job *job, const char *name, int which,
                                struct gx_outcome *report)
{
    const gx_operand *o = gx__operand(job, which);
    size_t bytes = gx__operand_bytes(job, which);
    if (o->reserved)
        return refuse(report, GX_ERR_INVALID, "%s: reserved is %u: set it to 0", name, o->reserved);
    if (o->host && o->buf)
        return refuse(report, GX_ERR_INVALID, "%s has both host memory and a buffer", name);
    if (!bytes && o->buf && o->offset > o->buf->size)
        return refuse(report, GX_ERR_INVALID, "%s begins past the end of its buffer", name);
    if (!bytes)
        return GX_OK;
    if (!o->host && !o->buf)
        return refuse(report, GX_ERR_INVALID, "%s is NULL", name);
    if (!o->buf && o->offset)
        return refuse(report, GX_ERR_INVALID, "%s is host memory, which takes no offset", name);
    if (!o->buf)
        return (uintptr_t)o->host <= UINTPTR_MAX - bytes
                   ? GX_OK
                   : refuse(report, GX_ERR_INVALID, "%s runs past the end of memory", name);
    size_t align = gx__prime(job->field) ? 16 : 4;
    if (o->offset % align)
        return refuse(report, GX_ERR_INVALID, "%s: offset %zu is not a multiple of %zu", name,
                      o->offset, align);
    if (o->offset > o->buf->size || bytes > o->buf->size - o->offset)
        return refuse(report, GX_ERR_INVALID, "%s runs past the end of its buffer", name);
    if (atomic_load(&o->buf->engine->lost))
        return refuse(report, GX_ERR_DEVICE_LOST,
                      "%s lies in a buffer of '%s', which was lost: destroy it and create it anew",
                      name, o->buf->engine->device.info.name);
    if (o->buf->mapped)
        return refuse(report, GX_ERR_INVALID, "%s lies in a buffer that is mapped: unmap it", name);
    return GX_OK;
}

static gx_status validate_operand(const gx_job *job, int which, struct gx_outcome *report)
{
    const gx_operand *o = gx__operand(job, which);
    bool wanted = which <= (int)gx__op_operands(job->op);
    char name[] = "operand ?";
    name[sizeof name - 2] = (char)('a' + which - GX_A);
    if (!wanted && (o->host || o->buf || o->broadcast))
        return refuse(report, GX_ERR_INVALID, "%s takes no %s: leave it {0}",
                      gx_op_get_info(job->op)->name, name);
    if (!wanted)
        return GX_OK;
    gx_status s = validate_place(job, name, which, report);
    if (s != GX_OK || !partly_overlaps(job, which))
        return s;
    if (gx__op_shape(job->op) == GX_SHAPE_REDUCTION)
        return refuse(report, GX_ERR_OVERLAP,
                      "out lies in %s: the result of %s needs a place apart", name,
                      gx_op_get_info(job->op)->name);
    return refuse(report, GX_ERR_OVERLAP, "out partly overlaps %s: make them the same or apart",
                  name);
}

/* The engine of the job's buffers in *engine, NULL where it has none. Where a device is chosen
 * for it, they may be anywhere. */
static gx_status validate_buffers(const gx_job *job, bool routed, struct gx_engine **engine,
                                  struct gx_outcome *report)
{
    *engine = NULL;
    for (int i = 0; i < GX_OPERANDS; i++) {
        const gx_buf *buf = gx__operand(job, i)->buf;
        if (!buf || routed)
            continue;
        if (*engine && *engine != buf->engine)
            return refuse(report, GX_ERR_INVALID, "its buffers are on '%s' and '%s'",
                          (*engine)->device.info.name, buf->engine->device.info.name);
        *engine = buf->engine;
    }
    return GX_OK;
}

static gx_status validate(const gx_job *job, bool routed, struct gx_outcome *report)
{
    gx_status s = validate_kind(job, report);
    if (s != GX_OK)
        return s;
    if (job->out.broadcast)
        return refuse(report, GX_ERR_INVALID, "out cannot be a broadcast operand");
    s = validate_place(job, "out", GX_OUT, report);
    for (int i = GX_A; i < GX_OPERANDS && s == GX_OK; i++)
        s = validate_operand(job, i, report);
    struct gx_engine *engine;
    return s == GX_OK ? validate_buffers(job, routed, &engine, report) : s;
}

/* Devices, memory and locks are the context's: a buffer of another one is of no use here. */
static gx_status validate_context(const gx_ctx *ctx, const gx_job *job, struct gx_outcome *report)
{
    static const char *const names[GX_OPERANDS] = {"out", "operand a", "operand b", "operand c"};
    for (int i = 0; i < GX_OPERANDS; i++) {
        const gx_buf *buf = gx__operand(job, i)->buf;
        if (buf && buf->engine->instance != &ctx->instance)
            return refuse(report, GX_ERR_INVALID,
                          "%s lies in a buffer of another context: create it in this one",
                          names[i]);
    }
    return GX_OK;
}

/* ---- running ---- */

static gx_status fail_call(gx_ctx *ctx, size_t njobs, struct gx_outcome *reports, size_t first,
                           gx_status status, const char *message)
{
    gx__fail(&ctx->instance, status, "job %zu: %s", first, message);
    gx__count(&ctx->instance.counters.jobs_failed, njobs);
    for (size_t i = 0; reports && i < njobs; i++) {
        gx__outcome_not_run(&reports[i], GX_ERR_NOT_RUN);
        if (i == first) {
            reports[i].status = status;
            snprintf(reports[i].message, sizeof reports[i].message, "%s", message);
        }
    }
    return status;
}

/* Whether devices are chosen for the jobs of a call, and how. */
static bool is_routed(const gx_ctx *ctx, const gx_run_opts *opts, gx_policy *policy)
{
    *policy = opts->policy ? opts->policy : ctx->router.policy;
    bool by_kind = *policy == GX_POLICY_CPU || *policy == GX_POLICY_GPU;
    return !opts->device && (!ctx->router.named || by_kind);
}

/* A job runs on the device that the call or the configuration names, one with buffers where
 * they are. On success the caller is a user of *engine. */
static gx_status find_engine(gx_ctx *ctx, const gx_job *job, const char *device,
                             struct gx_engine **engine, struct gx_outcome *r)
{
    struct gx_engine *home;
    const char *name = device ? device : ctx->instance.config.device;
    gx_reason reason = GX_REASON_RESIDENT;
    validate_buffers(job, false, &home, r); /* valid, as gx_run has seen */
    gx_status s = GX_OK;
    if (!home || device) {
        reason = GX_REASON_ASKED;
        s = gx__place_open(&ctx->router.places, name, engine, r->message, sizeof r->message);
    } else {
        *engine = gx__engine_acquire(home);
    }
    if (s == GX_OK && home && *engine != home) {
        gx__engine_release(*engine);
        if (atomic_load(&home->lost)) /* just now: it was opened anew under the same name */
            return refuse(r, GX_ERR_DEVICE_LOST, "device '%s': %s", home->device.info.name,
                          gx_status_message(GX_ERR_DEVICE_LOST));
        return refuse(r, GX_ERR_INVALID, "asked to run on '%s', but its buffers are on '%s'",
                      device, home->device.info.name);
    }
    if (s == GX_OK)
        r->reason = reason;
    return s;
}

/* Jobs from `first` on until one that runs elsewhere, or cannot be routed, are one batch.
 * Their reports are cleared but for the reason; *r is the first one's, wanted or not. On
 * success the caller is a user of *engine. */
static gx_status gather(gx_ctx *ctx, const gx_job *jobs, size_t first, size_t njobs,
                        const gx_run_opts *opts, struct gx_outcome *reports, struct gx_batch *batch,
                        struct gx_engine **engine, struct gx_outcome *r)
{
    struct gx_engine *next;
    batch->jobs = jobs + first; /* one by one: most of it is run.c's to set */
    batch->count = 1;
    batch->reports = reports ? reports + first : NULL;
    batch->path = opts->path ? opts->path : ctx->path;
    batch->mode = opts->mode ? opts->mode : ctx->mode;
    batch->sets = 0;
    batch->stream = batch->uncounted = batch->untimed = false;
    batch->submit_ns = batch->queued_ns = 0;
    batch->cancel = NULL;
    batch->done = NULL;
    batch->failed = 0;
    gx_status s = find_engine(ctx, &jobs[first], opts->device, engine, r);
    for (size_t i = first + 1; s == GX_OK && i < njobs; i++, batch->count++) {
        struct gx_outcome spare, *report = reports ? &reports[i] : &spare;
        gx__outcome_clear(report, GX_REASON_NONE);
        if (find_engine(ctx, &jobs[i], opts->device, &next, report) != GX_OK)
            break;
        gx__engine_release(next); /* the first job's use keeps it open */
        if (next != *engine)
            break;
    }
    return s;
}

/* Runs the batch that begins at job `first`, and returns how many jobs it has. */
static size_t run_segment(gx_ctx *ctx, const gx_job *jobs, size_t first, size_t njobs,
                          const gx_run_opts *opts, struct gx_outcome *reports,
                          struct gx_batch *batch)
{
    struct gx_outcome spare, *r = reports ? &reports[first] : &spare;
    struct gx_engine *engine;
    gx__outcome_clear(r, GX_REASON_NONE);
    gx_status s = gather(ctx, jobs, first, njobs, opts, reports, batch, &engine, r);
    if (s == GX_OK) {
        gx__router_run_there(&ctx->router, engine, batch);
        gx__engine_release(engine);
        return batch->count;
    }
    r->status = batch->status = s;
    memcpy(batch->message, r->message, sizeof batch->message);
    gx__count(&ctx->instance.counters.jobs_failed, 1);
    return 1;
}

static gx_status check_opts(const gx_run_opts *opts, const char **why)
{
    *why = NULL;
    if (opts->path >= GX_PATHS_ASKED)
        *why = "gx_run_opts.path is none of auto, host-visible, device-local";
    if (opts->mode >= GX_MODES)
        *why = "gx_run_opts.mode is none of auto, sequential, single-submit, pipelined";
    if (opts->policy >= GX_POLICIES)
        *why = "gx_run_opts.policy is none of auto, cpu, gpu, latency, throughput";
    if (opts->reserved)
        *why = "gx_run_opts.reserved is not 0";
    return *why ? GX_ERR_INVALID : GX_OK;
}

/* Everything that is looked at before anything runs; logs and reports what is wrong. */
static gx_status check_call(gx_ctx *ctx, const gx_job *jobs, size_t njobs, const gx_run_opts *opts,
                            bool routed, struct gx_outcome *reports)
{
    const char *why;
    if (check_opts(opts, &why) != GX_OK)
        return fail_call(ctx, njobs, reports, 0, GX_ERR_INVALID, why);
    for (size_t i = 0; i < njobs; i++) {
        struct gx_outcome spare;
        spare.message[0] = 0;
        gx_status s = validate(&jobs[i], routed, &spare);
        if (s == GX_OK)
            s = validate_context(ctx, &jobs[i], &spare);
        if (s != GX_OK)
            return fail_call(ctx, njobs, reports, i, s, spare.message);
    }
    return GX_OK;
}

static gx_status run_named(gx_ctx *ctx, const gx_job *jobs, size_t njobs, const gx_run_opts *opts,
                           struct gx_outcome *reports)
{
    struct gx_batch batch;
    for (size_t i = 0, n; i < njobs; i += n) {
        n = run_segment(ctx, jobs, i, njobs, opts, reports, &batch);
        if (batch.status == GX_OK)
            continue;
        gx__fail(&ctx->instance, batch.status, "job %zu: %s", i + batch.failed, batch.message);
        gx__count(&ctx->instance.counters.jobs_failed, njobs - i - n);
        for (size_t k = i + n; reports && k < njobs; k++)
            gx__outcome_not_run(&reports[k], GX_ERR_NOT_RUN);
        return batch.status;
    }
    return GX_OK;
}

/* One by one: a small job must not wait for all of it to be cleared. */
static void set_call(struct gx_call *call, const gx_ctx *ctx, const gx_job *jobs, size_t njobs,
                     const gx_run_opts *opts, gx_policy policy, struct gx_outcome *reports)
{
    call->jobs = jobs;
    call->count = njobs;
    call->reports = reports;
    call->path = opts->path ? opts->path : ctx->path;
    call->mode = opts->mode ? opts->mode : ctx->mode;
    call->policy = policy;
    call->submit_ns = call->queued_ns = 0;
    call->cancel = NULL;
    call->failed = 0;
}

static gx_status run_routed(gx_ctx *ctx, const gx_job *jobs, size_t njobs, const gx_run_opts *opts,
                            gx_policy policy, struct gx_outcome *reports)
{
    struct gx_call call;
    set_call(&call, ctx, jobs, njobs, opts, policy, reports);
    gx_status s = gx__router_run(&ctx->router, &call);
    if (s != GX_OK)
        gx__fail(&ctx->instance, s, "job %zu: %s", call.failed, call.message);
    return s;
}

/* A call as the library sees it: valid pointers, and options of this version. */
struct request {
    const gx_job *jobs;
    size_t njobs;
    gx_run_opts opts;
    gx_policy policy;
    bool routed;
};

static gx_status take_jobs(gx_ctx *ctx, const char *call, const gx_job *jobs, size_t njobs,
                           struct request *request)
{
    request->jobs = jobs;
    request->njobs = njobs;
    if (ctx && (jobs || !njobs))
        return GX_OK;
    return gx__fail(ctx ? &ctx->instance : NULL, GX_ERR_INVALID, "%s: %s is NULL", call,
                    ctx ? "jobs" : "ctx");
}

static gx_status take_opts(gx_ctx *ctx, const gx_run_opts *opts, struct request *request,
                           char *message, size_t message_size)
{
    gx_status s = gx__take_in(&gx__run_opts_layout, &request->opts, opts, message, message_size);
    if (s == GX_OK)
        request->routed = is_routed(ctx, &request->opts, &request->policy);
    return s;
}

/* Where there are no reports to say what is wrong. */
static gx_status take_request(gx_ctx *ctx, const char *call, const gx_job *jobs, size_t njobs,
                              const gx_run_opts *opts, struct request *request)
{
    char message[GX_MESSAGE_BYTES];
    gx_status s = take_jobs(ctx, call, jobs, njobs, request);
    if (s != GX_OK)
        return s;
    s = take_opts(ctx, opts, request, message, sizeof message);
    return s == GX_OK ? s : gx__fail(&ctx->instance, s, "%s: %s", call, message);
}

static gx_status run_request(gx_ctx *ctx, const struct request *q, struct gx_outcome *outcomes)
{
    gx_status s = check_call(ctx, q->jobs, q->njobs, &q->opts, q->routed, outcomes);
    if (s != GX_OK)
        return s;
    return q->routed ? run_routed(ctx, q->jobs, q->njobs, &q->opts, q->policy, outcomes)
                     : run_named(ctx, q->jobs, q->njobs, &q->opts, outcomes);
}

/* The call is refused as a whole: the first report says why. */
static gx_status refuse_call(gx_ctx *ctx, size_t njobs, const struct gx_reports *reports,
                             gx_status status, const char *message)
{
    struct gx_outcome outcome;
    for (size_t i = 0; reports->first && i < njobs; i++) {
        gx__outcome_not_run(&outcome, i ? GX_ERR_NOT_RUN : status);
        if (!i)
            snprintf(outcome.message, sizeof outcome.message, "%.159s", message);
        gx__reports_give(reports, i, &outcome);
    }
    gx__count(&ctx->instance.counters.jobs_failed, njobs);
    return gx__fail(&ctx->instance, status, "gx_run: %s", message);
}

static gx_status run_reported(gx_ctx *ctx, const struct request *q,
                              const struct gx_reports *reports)
{
    struct gx_outcome one, *outcomes = &one;
    const gx_allocator *allocator = &ctx->instance.config.allocator;
    if (q->njobs > 1)
        outcomes = gx__outcomes_get(&ctx->outcomes, allocator, q->njobs);
    if (!outcomes)
        return refuse_call(ctx, q->njobs, reports, GX_ERR_OUT_OF_MEMORY, "no memory for reports");
    gx_status s = run_request(ctx, q, outcomes);
    for (size_t i = 0; i < q->njobs; i++)
        gx__reports_give(reports, i, &outcomes[i]);
    if (outcomes != &one)
        gx__outcomes_put(&ctx->outcomes, allocator, outcomes);
    return s;
}

gx_status gx_run(gx_ctx *ctx, const gx_job *jobs, size_t njobs, const gx_run_opts *opts,
                 gx_report *reports)
{
    struct request q;
    struct gx_reports to;
    char message[GX_MESSAGE_BYTES];
    gx_status s = take_jobs(ctx, "gx_run", jobs, njobs, &q);
    if (s != GX_OK)
        return s;
    s = gx__reports_check(&to, reports, njobs, message, sizeof message);
    if (s != GX_OK)
        return gx__fail(&ctx->instance, s, "gx_run: %s", message);
    s = take_opts(ctx, opts, &q, message, sizeof message);
    if (s != GX_OK)
        return refuse_call(ctx, njobs, &to, s, message);
    return to.first ? run_reported(ctx, &q, &to) : run_request(ctx, &q, NULL);
}

/* ---- asynchronous work ---- */

/* Whether each job has buffers, on one device: that is where it runs then, in one stream with
 * all other tickets there. */
static bool all_resident(const gx_job *jobs, size_t njobs)
{
    struct gx_engine *home;
    struct gx_outcome r;
    for (size_t i = 0; i < njobs; i++)
        if (validate_buffers(&jobs[i], false, &home, &r) != GX_OK || !home)
            return false;
    return njobs;
}

/* On failure *failed is the job whose device cannot be used, and message says why. */
static gx_status route_ticket(gx_ctx *ctx, gx_ticket *ticket, const gx_job *jobs, size_t njobs,
                              const gx_run_opts *opts, bool routed, size_t *failed, char *message)
{
    for (size_t i = 0; i < njobs; i++) {
        struct gx_engine *engine;
        struct gx_outcome r = {0};
        gx_status s = find_engine(ctx, &jobs[i], opts->device, &engine, &r);
        if (s == GX_OK && routed && !engine->place->host && !engine->checked) {
            s = gx__router_prove(&ctx->router, engine, &jobs[i], 1, r.message, sizeof r.message);
            if (s != GX_OK)
                gx__engine_release(engine);
        }
        if (s != GX_OK) {
            *failed = i;
            memcpy(message, r.message, sizeof r.message);
            return s;
        }
        gx__ticket_route(ticket, i, engine, r.reason);
    }
    return GX_OK;
}

gx_status gx_submit(gx_ctx *ctx, const gx_job *jobs, size_t njobs, const gx_run_opts *opts,
                    gx_ticket **out)
{
    struct request q;
    if (!out)
        return gx__fail(NULL, GX_ERR_INVALID, "gx_submit: ticket is NULL");
    *out = NULL;
    gx_status s = take_request(ctx, "gx_submit", jobs, njobs, opts, &q);
    if (s == GX_OK)
        s = check_call(ctx, jobs, njobs, &q.opts, q.routed, NULL);
    if (s != GX_OK)
        return s;
    size_t failed = 0;
    char message[GX_MESSAGE_BYTES] = "no memory or no thread for asynchronous work";
    gx_ticket *ticket = gx__ticket_get(ctx->instance.queue, jobs, njobs);
    s = ticket ? GX_OK : GX_ERR_OUT_OF_MEMORY;
    if (ticket && (!q.routed || all_resident(jobs, njobs)))
        s = route_ticket(ctx, ticket, jobs, njobs, &q.opts, q.routed, &failed, message);
    if (s == GX_OK)
        s = gx__ticket_submit(ticket, q.opts.path ? q.opts.path : ctx->path,
                              q.opts.mode ? q.opts.mode : ctx->mode, q.policy);
    if (s == GX_OK) {
        *out = ticket;
        return GX_OK;
    }
    if (ticket)
        gx__ticket_drop(ticket);
    return fail_call(ctx, njobs, NULL, failed, s, message);
}

/* What is returned of a ticket: where jobs failed, the message of the first is the call's. */
static gx_status tell(const gx_ticket *ticket, gx_status s)
{
    char message[GX_MESSAGE_BYTES];
    if (s < 0) {
        gx__ticket_message(ticket, message, sizeof message);
        gx__fail(NULL, s, "%s", message); /* the log has it from when it happened */
    }
    return s;
}

gx_status gx_poll(gx_ticket *ticket)
{
    return ticket ? tell(ticket, gx__ticket_poll(ticket))
                  : gx__fail(NULL, GX_ERR_INVALID, "gx_poll: ticket is NULL");
}

gx_status gx_wait(gx_ticket *ticket, uint64_t timeout_ns, gx_report *reports)
{
    struct gx_reports to;
    char message[GX_MESSAGE_BYTES];
    if (!ticket)
        return gx__fail(NULL, GX_ERR_INVALID, "gx_wait: ticket is NULL");
    gx_status s =
        gx__reports_check(&to, reports, gx__ticket_count(ticket), message, sizeof message);
    if (s != GX_OK)
        return gx__fail(NULL, s, "gx_wait: %s", message);
    return tell(ticket, gx__ticket_wait(ticket, timeout_ns, &to));
}

gx_status gx_wait_any(gx_ticket *const *tickets, size_t count, uint64_t timeout_ns, size_t *index)
{
    struct gx_backlog *queue = NULL;
    if (!index || (!tickets && count))
        return gx__fail(NULL, GX_ERR_INVALID, "gx_wait_any: tickets and index must not be NULL");
    *index = count;
    for (size_t i = 0; i < count; i++) {
        if (!tickets[i])
            continue;
        if (queue && queue != gx__ticket_queue(tickets[i]))
            return gx__fail(NULL, GX_ERR_INVALID,
                            "gx_wait_any: ticket %zu is of another context than those before it",
                            i);
        queue = gx__ticket_queue(tickets[i]);
    }
    if (!queue)
        return gx__fail(NULL, GX_ERR_INVALID, "gx_wait_any: there is no ticket to wait for");
    gx_status s = gx__ticket_wait_any(queue, tickets, count, timeout_ns, index);
    return s == GX_PENDING ? s : tell(tickets[*index], s);
}

gx_status gx_notify(gx_ticket *ticket, gx_done_fn done, void *user)
{
    if (!ticket || !done)
        return gx__fail(NULL, GX_ERR_INVALID, "gx_notify: ticket and done must not be NULL");
    return gx__ticket_notify(ticket, done, user)
               ? GX_OK
               : gx__fail(NULL, GX_ERR_INVALID, "gx_notify: the ticket has a function already");
}

void gx_cancel(gx_ticket *ticket)
{
    if (ticket)
        gx__ticket_cancel(ticket);
}

void gx_cancel_all(gx_ctx *ctx)
{
    if (ctx)
        gx__queue_cancel(ctx->instance.queue);
}

void gx_ticket_free(gx_ticket **ticket)
{
    if (!ticket || !*ticket)
        return;
    gx__ticket_free(*ticket);
    *ticket = NULL;
}

/* ---- planning without running ---- */

/* predicted_ns: by the model; 0: by the plan. */
static void add_plan(gx_estimate_info *info, const struct gx_plan *plan, uint64_t predicted_ns)
{
    info->groups += plan->groups;
    info->submits += plan->submits;
    info->dispatches += plan->dispatches;
    info->bytes_up += plan->bytes_up;
    info->bytes_down += plan->bytes_down;
    info->bytes_staged += plan->bytes_staged;
    info->memory_bytes = plan->memory > info->memory_bytes ? plan->memory : info->memory_bytes;
    info->predicted_ns += predicted_ns ? predicted_ns : (uint64_t)plan->predicted[plan->mode];
    for (gx_mode m = GX_MODE_SEQUENTIAL; m <= GX_MODE_PIPELINED; m++)
        info->mode_ns[m] += (uint64_t)plan->predicted[m];
}

static void describe(gx_estimate_info *info, const struct gx_engine *engine, gx_reason reason,
                     const struct gx_plan *plan)
{
    memcpy(info->device, engine->device.info.name, sizeof info->device);
    info->reason = reason;
    info->path = plan->path;
    info->mode = plan->mode;
    info->sets = plan->sets;
    info->chunk_elems = plan->chunk;
}

/* Of the jobs from `first` on that are one batch; *count says how many. */
static gx_status estimate_segment(gx_ctx *ctx, const gx_job *jobs, size_t first, size_t njobs,
                                  const gx_run_opts *opts, gx_estimate_info *info, size_t *count)
{
    struct gx_batch batch;
    struct gx_engine *engine;
    struct gx_asked asked;
    struct gx_plan plan;
    struct gx_outcome r = {0};
    uint64_t chunk = ctx->instance.config.stream_chunk_elems;
    gx_status s = gather(ctx, jobs, first, njobs, opts, NULL, &batch, &engine, &r);
    if (s == GX_OK) {
        s = gx__engine_status(engine, gx__engine_plan(engine, &batch, chunk, &asked, &plan));
        if (s == GX_OK && !first)
            describe(info, engine, r.reason, &plan);
        if (s == GX_OK)
            add_plan(info, &plan, 0);
        gx__engine_release(engine);
    }
    if (s != GX_OK)
        gx__fail(&ctx->instance, s, "job %zu: %s", first,
                 r.message[0] ? r.message : gx_status_message(s));
    *count = batch.count;
    return s;
}

/* The same where a device is chosen for them. */
static gx_status estimate_routed(gx_ctx *ctx, const struct gx_call *call, size_t first,
                                 gx_estimate_info *info, struct gx_outcome *considered,
                                 size_t *count)
{
    struct gx_proposal proposal;
    struct gx_asked asked;
    struct gx_plan plan;
    char message[GX_MESSAGE_BYTES] = "";
    uint64_t chunk = ctx->instance.config.stream_chunk_elems;
    gx_status s = gx__router_propose(&ctx->router, call, first, &proposal, message, sizeof message);
    *count = 1;
    if (s == GX_OK) {
        struct gx_engine *engine = proposal.engine;
        *count = proposal.count;
        s = gx__engine_status(engine,
                              gx__engine_plan(engine, &proposal.batch, chunk, &asked, &plan));
        if (s == GX_OK && !first)
            describe(info, engine, proposal.reason, &plan);
        if (s == GX_OK && !first)
            *considered = proposal.considered;
        if (s == GX_OK)
            add_plan(info, &plan, proposal.predicted_ns);
        gx__router_unpropose(&ctx->router, &proposal);
    }
    if (s != GX_OK)
        gx__fail(&ctx->instance, s, "job %zu: %s", first,
                 message[0] ? message : gx_status_message(s));
    return s;
}

static gx_status estimate(gx_ctx *ctx, const struct request *q, gx_estimate_info *info,
                          struct gx_outcome *considered)
{
    struct gx_call call;
    gx_status s = check_call(ctx, q->jobs, q->njobs, &q->opts, q->routed, NULL);
    set_call(&call, ctx, q->jobs, q->njobs, &q->opts, q->policy, NULL);
    for (size_t i = 0, n; i < q->njobs && s == GX_OK; i += n)
        s = q->routed ? estimate_routed(ctx, &call, i, info, considered, &n)
                      : estimate_segment(ctx, q->jobs, i, q->njobs, &q->opts, info, &n);
    return s;
}

gx_status gx_estimate(gx_ctx *ctx, const gx_job *jobs, size_t njobs, const gx_run_opts *opts,
                      gx_estimate_info *info)
{
    struct request q;
    struct gx_outcome considered;
    gx_estimate_info own = {0};
    size_t size;
    char message[GX_MESSAGE_BYTES];
    gx_status s = take_request(ctx, "gx_estimate", jobs, njobs, opts, &q);
    if (s != GX_OK)
        return s;
    if (!info)
        return gx__fail(&ctx->instance, GX_ERR_INVALID, "gx_estimate: info is NULL");
    s = gx__check_out(&gx__estimate_layout, info, 1, &size, message, sizeof message);
    if (s == GX_OK)
        s = gx__candidates_check(info->candidate, info->candidate_room, message, sizeof message);
    if (s != GX_OK)
        return gx__fail(&ctx->instance, s, "gx_estimate: %s", message);
    considered.candidates = 0;
    s = estimate(ctx, &q, &own, &considered);
    own.candidates = considered.candidates;
    gx__candidates_give(info->candidate, info->candidate_room, considered.candidate,
                        considered.candidates);
    gx__give_out(&gx__estimate_layout, info, size, offsetof(gx_estimate_info, candidates), &own);
    return s;
}

/* ---- the model ---- */

/* What a device was saved to take is read when it is opened. */
static gx_status open_candidates(gx_ctx *ctx)
{
    struct gx_place *const *candidates;
    struct gx_engine *engine;
    size_t count;
    char message[GX_MESSAGE_BYTES];
    gx_status s = gx__router_candidates(&ctx->router, &candidates, &count, message, sizeof message);
    if (s != GX_OK)
        gx__fail(&ctx->instance, s, "%s", message);
    for (size_t i = 0; i < count; i++)
        if (gx__place_open(&ctx->router.places, candidates[i]->name, &engine, message,
                           sizeof message) == GX_OK)
            gx__engine_release(engine);
    return s;
}

static gx_status list_model(gx_ctx *ctx, void *own, size_t *count)
{
    gx_status s = open_candidates(ctx);
    gx__router_rows(&ctx->router, own, count);
    return s;
}

gx_status gx_model(gx_ctx *ctx, gx_model_row *rows, size_t *count)
{
    return list_out(ctx, &gx__model_row_layout, "gx_model", list_model, rows, count);
}

static gx_status list_stats(gx_ctx *ctx, void *own, size_t *count)
{
    struct gx_place *const *candidates;
    size_t some;
    char message[GX_MESSAGE_BYTES];
    gx__router_candidates(&ctx->router, &candidates, &some, message, sizeof message);
    gx__router_stats(&ctx->router, own, count);
    return GX_OK;
}

gx_status gx_device_stats(gx_ctx *ctx, gx_device_statistics *stats, size_t *count)
{
    return list_out(ctx, &gx__device_statistics_layout, "gx_device_stats", list_stats, stats,
                    count);
}

static gx_status check_calibration(const gx_calibration *c, char *message, size_t size)
{
    if ((c->op_count && !c->ops) || (c->field_count && !c->fields)) {
        snprintf(message, size, "%s is NULL, with a count",
                 c->op_count && !c->ops ? "ops" : "fields");
        return GX_ERR_INVALID;
    }
    for (size_t i = 0; i < c->op_count; i++)
        if (!gx_op_get_info(c->ops[i])) {
            snprintf(message, size, "ops[%zu] is %u, which is no operation", i, c->ops[i]);
            return GX_ERR_INVALID;
        }
    for (size_t i = 0; i < c->field_count; i++)
        if (!gx_field_get_info(c->fields[i])) {
            snprintf(message, size, "fields[%zu] is %u, which is no field", i, c->fields[i]);
            return GX_ERR_INVALID;
        }
    return GX_OK;
}

gx_status gx_metrics_prometheus(gx_ctx *ctx, char *text, size_t *size)
{
    size_t count = 0;
    if (!ctx || !size)
        return gx__fail(NULL, GX_ERR_INVALID,
                        "gx_metrics_prometheus: ctx and size must not be NULL");
    gx_statistics stats = {.struct_size = sizeof stats};
    gx_status s = gx_device_stats(ctx, NULL, &count); /* which finds the devices to tell of */
    gx_stats(ctx, &stats);
    if (s == GX_OK)
        gx__metrics_text(&ctx->router, &stats, text, size);
    return s;
}

gx_status gx_calibrate(gx_ctx *ctx, const gx_calibration *settings)
{
    gx_calibration own;
    char message[GX_MESSAGE_BYTES] = "";
    if (!ctx)
        return gx__fail(NULL, GX_ERR_INVALID, "gx_calibrate: ctx is NULL");
    gx_status s = gx__take_in(&gx__calibration_layout, &own, settings, message, sizeof message);
    if (s == GX_OK)
        s = check_calibration(&own, message, sizeof message);
    if (s != GX_OK)
        return gx__fail(&ctx->instance, s, "gx_calibrate: %s", message);
    s = gx__router_calibrate(&ctx->router, &own, message, sizeof message);
    if (s == GX_ERR_CANCELLED)
        return gx__fail(NULL, s, "gx_calibrate: %s", "ended by progress");
    return s == GX_OK
               ? s
               : gx__fail(&ctx->instance, s, "%s", message[0] ? message : gx_status_message(s));
}

/* ---- registered memory ---- */

gx_status gx_host_register(gx_ctx *ctx, void *memory, size_t bytes)
{
    const char *why = NULL;
    if (!ctx)
        return gx__fail(NULL, GX_ERR_INVALID, "gx_host_register: ctx is NULL");
    gx_status s = gx__host_register(&ctx->hosts, memory, bytes, &why);
    return s == GX_OK ? s : gx__fail(&ctx->instance, s, "registering %zu bytes: %s", bytes, why);
}

gx_status gx_host_unregister(gx_ctx *ctx, void *memory)
{
    if (!ctx)
        return gx__fail(NULL, GX_ERR_INVALID, "gx_host_unregister: ctx is NULL");
    gx_status s = gx__host_unregister(&ctx->hosts, memory);
    return s == GX_OK ? s
                      : gx__fail(&ctx->instance, s,
                                 "unregistering memory: no registered range begins there");
}

/* ---- operands ---- */

gx_operand gx_host(const void *elements)
{
    return (gx_operand){.host = (void *)(uintptr_t)elements}; /* jobs never write an input */
}

gx_operand gx_host_broadcast(const void *element)
{
    return (gx_operand){.host = (void *)(uintptr_t)element, .broadcast = 1};
}

gx_operand gx_dev(gx_buf *buf, size_t offset)
{
    return (gx_operand){.buf = buf, .offset = offset};
}

gx_operand gx_dev_broadcast(gx_buf *buf, size_t offset)
{
    return (gx_operand){.buf = buf, .offset = offset, .broadcast = 1};
}
