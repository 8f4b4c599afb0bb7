/* SPDX-License-Identifier: Apache-2.0
 *
 * gx_metrics_prometheus: the statistics of a context in the Prometheus text format. One table has
 * the names, the help texts and the sources of all metrics; a test compares doc/metrics.md with the
 * output.
 */
#include <inttypes.h>
#include <stdio.h>

#include "api/counters.h"
#include "api/writer.h"
#include "base/names.h"

/* The size of the smallest bucket of pooled memory (GX_BUCKETS). */
#define SMALLEST_BUCKET ((uint64_t)4096)

enum kind { COUNTER, GAUGE, HISTOGRAM };
static const char *const kind_names[] = {"counter", "gauge", "histogram"};

enum source {
    CONTEXT,      /* the member of struct gx_statistics at `offset` */
    CONTEXT_NS,   /* the same, from nanoseconds to seconds */
    DEVICE,       /* the member of gx_device_statistics, for each device */
    DEVICE_NS,    /* the same, from nanoseconds to seconds */
    DEVICE_STATE, /* 1 for the health of the device, 0 for the others */
    DEVICE_INFO,  /* always 1 */
    TALLY,        /* the member of gx_tally, for each device, operation and field */
    TALLY_TIMES,  /* a histogram of gx_tally */
    BUCKETS,      /* struct gx_statistics.buckets */
    VERSION       /* always 1 */
};

/* Rows without a name are further samples of the metric above them. */
struct metric {
    const char *name, *help;
    enum kind kind;
    enum source source;
    size_t offset;
    const char *label; /* `result="hit"` */
};

#define OF_CONTEXT(member) offsetof(struct gx_statistics, member)
#define OF_DEVICE(member)  offsetof(gx_device_statistics, member)
#define OF_TALLY(member)   offsetof(struct gx_tally, member)

static const struct metric metrics[] = {
    {"gpuexec_build_info", "Version of the library; always 1.", GAUGE, VERSION, 0, NULL},
    {"gpuexec_jobs_total", "Jobs that ended; failed includes jobs not run or cancelled.", COUNTER,
     CONTEXT, OF_CONTEXT(jobs_done), "result=\"done\""},
    {NULL, NULL, COUNTER, CONTEXT, OF_CONTEXT(jobs_failed), "result=\"failed\""},
    {"gpuexec_elements_total", "Elements of completed jobs.", COUNTER, CONTEXT,
     OF_CONTEXT(elements), NULL},
    {"gpuexec_read_bytes_total", "Bytes of the operands of completed jobs.", COUNTER, CONTEXT,
     OF_CONTEXT(bytes_read), NULL},
    {"gpuexec_written_bytes_total", "Bytes of the results of completed jobs.", COUNTER, CONTEXT,
     OF_CONTEXT(bytes_written), NULL},
    {"gpuexec_compute_seconds_total", "Time spent computing completed jobs.", COUNTER, CONTEXT_NS,
     OF_CONTEXT(compute_ns), NULL},
    {"gpuexec_dispatches_total", "Kernel launches.", COUNTER, CONTEXT, OF_CONTEXT(dispatches),
     NULL},
    {"gpuexec_pool_requests_total",
     "Requests for staging and scratch memory: reused (hit) or allocated (miss).", COUNTER, CONTEXT,
     OF_CONTEXT(pool_hits), "result=\"hit\""},
    {NULL, NULL, COUNTER, CONTEXT, OF_CONTEXT(pool_misses), "result=\"miss\""},
    {"gpuexec_pool_blocks_total",
     "Requests for staging and scratch memory by size; +Inf: any larger.", COUNTER, BUCKETS, 0,
     NULL},
    {"gpuexec_pool_bytes", "Memory that the pools hold now, idle or in use.", GAUGE, CONTEXT,
     OF_CONTEXT(pool_bytes), NULL},
    {"gpuexec_device_memory_bytes", "Memory that devices hold now: pools and buffers.", GAUGE,
     CONTEXT, OF_CONTEXT(device_bytes), NULL},
    {"gpuexec_device_memory_peak_bytes", "The most memory that a single device ever held.", GAUGE,
     CONTEXT, OF_CONTEXT(device_bytes_peak), NULL},
    {"gpuexec_command_requests_total", "Device commands: replayed (hit) or recorded (miss).",
     COUNTER, CONTEXT, OF_CONTEXT(command_hits), "result=\"hit\""},
    {NULL, NULL, COUNTER, CONTEXT, OF_CONTEXT(command_misses), "result=\"miss\""},
    {"gpuexec_record_seconds_total", "Time spent recording commands or finding recorded ones.",
     COUNTER, CONTEXT_NS, OF_CONTEXT(record_ns), NULL},
    {"gpuexec_submit_seconds_total", "Time spent in submit calls.", COUNTER, CONTEXT_NS,
     OF_CONTEXT(submit_ns), NULL},
    {"gpuexec_open_seconds_total", "Time spent looking for devices and opening them.", COUNTER,
     CONTEXT_NS, OF_CONTEXT(open_ns), NULL},
    {"gpuexec_compile_seconds_total",
     "Time spent compiling kernels for open devices, or loading them.", COUNTER, CONTEXT_NS,
     OF_CONTEXT(compile_ns), NULL},
    {"gpuexec_tables_seconds_total", "Time spent making tables on devices: roots of unity, points.",
     COUNTER, CONTEXT_NS, OF_CONTEXT(tables_ns), NULL},
    {"gpuexec_tickets_submitted_total", "Tickets submitted.", COUNTER, CONTEXT,
     OF_CONTEXT(tickets_submitted), NULL},
    {"gpuexec_tickets_done_total", "Tickets that are done, successfully or not.", COUNTER, CONTEXT,
     OF_CONTEXT(tickets_done), NULL},
    {"gpuexec_tickets_cancelled_total", "Tickets with a cancelled job.", COUNTER, CONTEXT,
     OF_CONTEXT(tickets_cancelled), NULL},
    {"gpuexec_jobs_waiting", "Jobs of tickets that are not done.", GAUGE, CONTEXT,
     OF_CONTEXT(jobs_waiting), NULL},
    {"gpuexec_validation_messages_total", "Messages of the validation layer; should stay 0.",
     COUNTER, CONTEXT, OF_CONTEXT(validation_messages), NULL},
    {"gpuexec_decisions_total", "Decisions of the router: one for each call or round.", COUNTER,
     CONTEXT, OF_CONTEXT(decisions), NULL},
    {"gpuexec_decisions_default_total", "Decisions without any measurement.", COUNTER, CONTEXT,
     OF_CONTEXT(decisions_default), NULL},
    {"gpuexec_decisions_split_total", "Decisions to split a round over several devices.", COUNTER,
     CONTEXT, OF_CONTEXT(decisions_split), NULL},
    {"gpuexec_decisions_explored_total", "Decisions to try a device whose time is not known.",
     COUNTER, CONTEXT, OF_CONTEXT(decisions_explored), NULL},
    {"gpuexec_decisions_predicted_total",
     "Decisions between several devices with a predicted time for at least one.", COUNTER, CONTEXT,
     OF_CONTEXT(decisions_predicted), NULL},
    {"gpuexec_routed_seconds_total", "Time of the rounds of these predicted decisions.", COUNTER,
     CONTEXT_NS, OF_CONTEXT(routed_ns), NULL},
    {"gpuexec_routed_best_seconds_total", "The least time predicted for these rounds.", COUNTER,
     CONTEXT_NS, OF_CONTEXT(routed_best_ns), NULL},
    {"gpuexec_sampled_elements_total", "Elements of results that were verified.", COUNTER, CONTEXT,
     OF_CONTEXT(sampled), NULL},
    {"gpuexec_mismatches_total", "Wrong results found.", COUNTER, CONTEXT, OF_CONTEXT(mismatches),
     NULL},
    {"gpuexec_fallbacks_total", "Shares that moved to another device after a failure.", COUNTER,
     CONTEXT, OF_CONTEXT(fallbacks), NULL},
    {"gpuexec_job_duration_seconds", "Time of completed jobs inside the library.", HISTOGRAM,
     TALLY_TIMES, OF_TALLY(took), NULL},
    {"gpuexec_job_wait_seconds", "Time that jobs of tickets waited before they began.", HISTOGRAM,
     TALLY_TIMES, OF_TALLY(waited), NULL},
    {"gpuexec_job_elements_total", "Elements of completed jobs.", COUNTER, TALLY,
     OF_TALLY(elements), NULL},
    {"gpuexec_device_info", "Kind and description of the device; always 1.", GAUGE, DEVICE_INFO, 0,
     NULL},
    {"gpuexec_device_health", "1 for the current state of the device, 0 for the others.", GAUGE,
     DEVICE_STATE, 0, NULL},
    {"gpuexec_device_retry_seconds", "Time until the device may be used again; 0: now.", GAUGE,
     DEVICE_NS, OF_DEVICE(retry_ns), NULL},
    {"gpuexec_device_jobs_total", "Jobs, or parts of jobs, that the device completed.", COUNTER,
     DEVICE, OF_DEVICE(jobs), NULL},
    {"gpuexec_device_elements_total", "Elements that the device completed.", COUNTER, DEVICE,
     OF_DEVICE(elements), NULL},
    {"gpuexec_device_busy_seconds_total", "Sum of their times; overlapping jobs count in full.",
     COUNTER, DEVICE_NS, OF_DEVICE(busy_ns), NULL},
    {"gpuexec_device_waiting_seconds", "Predicted time of the work in progress.", GAUGE, DEVICE_NS,
     OF_DEVICE(waiting_ns), NULL},
    {"gpuexec_device_failures_total", "Failures of the device.", COUNTER, DEVICE,
     OF_DEVICE(failures), NULL},
    {"gpuexec_device_mismatches_total", "Wrong results of the device.", COUNTER, DEVICE,
     OF_DEVICE(mismatches), NULL},
    {"gpuexec_device_readmissions_total", "Times the device was readmitted after a rest.", COUNTER,
     DEVICE, OF_DEVICE(readmissions), NULL},
};

static void put_value(struct gx_writer *w, uint64_t value, int nanoseconds)
{
    if (nanoseconds) /* as integers: a double is not exact enough for years in ns */
        gx__put(w, " %" PRIu64 ".%09" PRIu64 "\n", value / 1000000000u, value % 1000000000u);
    else
        gx__put(w, " %" PRIu64 "\n", value);
}

static uint64_t number_at(const void *statistics, size_t offset)
{
    return *(const uint64_t *)((const char *)statistics + offset);
}

/* A snapshot of the statistics. */
struct numbers {
    const struct gx_router *router;
    const struct gx_statistics *context;
    gx_device_statistics devices[GX_DEVICE_SLOTS_MAX];
    size_t count;
};

/* ---- of the context ---- */

static void put_buckets(struct gx_writer *w, const char *name, const struct numbers *n)
{
    for (size_t i = 0; i < GX_BUCKETS; i++) {
        if (i + 1 < GX_BUCKETS)
            gx__put(w, "%s{bytes=\"%" PRIu64 "\"}", name, SMALLEST_BUCKET << i);
        else
            gx__put(w, "%s{bytes=\"+Inf\"}", name);
        put_value(w, n->context->buckets[i], 0);
    }
}

static void put_context(struct gx_writer *w, const char *name, const struct metric *m,
                        const struct numbers *n)
{
    gx__put(w, m->label ? "%s{%s}" : "%s", name, m->label);
    put_value(w, number_at(n->context, m->offset), m->source == CONTEXT_NS);
}

/* ---- of a device ---- */

static void put_device_label(struct gx_writer *w, const char *name, const char *device)
{
    gx__put(w, "%s{device=\"", name);
    gx__put_escaped(w, device);
    gx__put(w, "\"");
}

static void put_states(struct gx_writer *w, const char *name, const gx_device_statistics *d)
{
    for (gx_health h = 0; h < GX_HEALTHS; h++) {
        put_device_label(w, name, d->device);
        gx__put(w, ",state=\"%s\"}", gx_health_name(h));
        put_value(w, d->health == h, 0);
    }
}

/* The slot of a wrapping device has no information: it is in the engine. */
static void put_info(struct gx_writer *w, const char *name, struct gx_device_slot *slot)
{
    gx_device_info info = slot->info;
    struct gx_engine *engine = gx__slot_enter(slot);
    if (engine) {
        info = engine->device.info;
        gx__engine_release(engine);
    }
    if (!info.kind)
        return;
    put_device_label(w, name, slot->name);
    gx__put(w, ",kind=\"%s\",description=\"", gx_device_kind_name(info.kind));
    gx__put_escaped(w, info.description);
    gx__put(w, "\"}");
    put_value(w, 1, 0);
}

static void put_device(struct gx_writer *w, const char *name, const struct metric *m,
                       const gx_device_statistics *d)
{
    put_device_label(w, name, d->device);
    gx__put(w, "}");
    put_value(w, number_at(d, m->offset), m->source == DEVICE_NS);
}

/* ---- of an operation over a field on a device ---- */

struct kind_of_job {
    const char *device;
    gx_op op;
    gx_field field;
};

/* Leaves the braces open, so that more labels can follow. */
static void put_job_labels(struct gx_writer *w, const char *name, const char *suffix,
                           const struct kind_of_job *k)
{
    gx__put(w, "%s", name);
    put_device_label(w, suffix, k->device);
    gx__put(w, ",op=\"%s\",field=\"%s\"", gx_op_get_info(k->op)->name,
            k->field ? gx_field_get_info(k->field)->name : "");
}

/* Writes the bound of a bucket, such as "0.00002". */
static void put_bound(struct gx_writer *w, uint64_t ns)
{
    char digits[16];
    int length = snprintf(digits, sizeof digits, "%09" PRIu64, ns % 1000000000u);
    while (length && digits[length - 1] == '0')
        length--;
    gx__put(w, ",le=\"%" PRIu64 "%s%.*s\"}", ns / 1000000000u, length ? "." : "", length, digits);
}

static void put_histogram(struct gx_writer *w, const char *name, const struct kind_of_job *k,
                          const struct gx_histogram *h)
{
    uint64_t sum_ns = h->sum_ns, count = 0;
    if (!gx__histogram_count(h))
        return;
    for (size_t i = 0; i < GX_TALLY_BUCKETS; i++) {
        count += h->bucket[i];
        put_job_labels(w, name, "_bucket", k);
        if (i + 1 < GX_TALLY_BUCKETS)
            put_bound(w, gx__tally_bounds[i]);
        else
            gx__put(w, ",le=\"+Inf\"}");
        put_value(w, count, 0);
    }
    put_job_labels(w, name, "_sum", k);
    gx__put(w, "}");
    put_value(w, sum_ns, 1);
    put_job_labels(w, name, "_count", k);
    gx__put(w, "}");
    put_value(w, count, 0);
}

static void put_tally(struct gx_writer *w, const char *name, const struct metric *m,
                      const struct gx_device_slot *slot, gx_op op, gx_field field)
{
    const struct gx_tally *t =
        gx__kind_find(&slot->work.tallies.of, &(struct gx_kind){.op = op, .field = field});
    if (!t)
        return;
    const char *at = (const char *)t + m->offset;
    struct kind_of_job k = {slot->name, op, field};
    if (m->source == TALLY_TIMES) {
        put_histogram(w, name, &k, (const struct gx_histogram *)(const void *)at);
    } else if (gx__histogram_count(&t->took)) {
        put_job_labels(w, name, "", &k);
        gx__put(w, "}");
        put_value(w, *(const _Atomic uint64_t *)(const void *)at, 0);
    }
}

/* A registered operation must not go while its name is written. */
static void put_tallies(struct gx_writer *w, const char *name, const struct metric *m,
                        const struct numbers *n, const struct gx_device_slot *slot)
{
    for (gx_op op = 1; op < GX_OP_END; op++)
        for (gx_field field = 1; field < GX_FIELD_END; field++)
            put_tally(w, name, m, slot, op, field);
    for (size_t i = 0; i < GX_REGISTERED_OPS; i++) {
        gx_op op = atomic_load(&gx__registered_ops[i].op);
        if (!op || !gx__registered_op_enter(n->router->slots.instance, op))
            continue;
        put_tally(w, name, m, slot, op, 0);
        gx__registered_op_leave(op);
    }
}

/* ---- all metrics ---- */

static void put_of_device(struct gx_writer *w, const char *name, const struct metric *m,
                          const struct numbers *n, size_t i)
{
    struct gx_device_slot *slot = n->router->slots.slot[i];
    switch (m->source) {
    case DEVICE_STATE:
        put_states(w, name, &n->devices[i]);
        break;
    case DEVICE_INFO:
        put_info(w, name, slot);
        break;
    case TALLY:
    case TALLY_TIMES:
        put_tallies(w, name, m, n, slot);
        break;
    default:
        put_device(w, name, m, &n->devices[i]);
        break;
    }
}

static void put_samples(struct gx_writer *w, const char *name, const struct metric *m,
                        const struct numbers *n)
{
    switch (m->source) {
    case CONTEXT:
    case CONTEXT_NS:
        put_context(w, name, m, n);
        break;
    case BUCKETS:
        put_buckets(w, name, n);
        break;
    case VERSION:
        gx__put(w, "%s{version=\"%s\"}", name, gx_version());
        put_value(w, 1, 0);
        break;
    default:
        for (size_t i = 0; i < n->count; i++)
            put_of_device(w, name, m, n, i);
        break;
    }
}

void gx__metrics_text(struct gx_router *router, const struct gx_statistics *stats, char *text,
                      size_t *size)
{
    struct numbers n = {.router = router, .context = stats, .count = GX_DEVICE_SLOTS_MAX};
    gx__device_stats(router, n.devices, &n.count);

    struct gx_writer w = {.text = text, .room = text ? *size : 0};
    const char *name = NULL;
    for (size_t i = 0; i < sizeof metrics / sizeof *metrics; i++) {
        const struct metric *m = &metrics[i];
        if (m->name) {
            name = m->name;
            gx__put(&w, "# HELP %s %s\n# TYPE %s %s\n", name, m->help, name, kind_names[m->kind]);
        }
        put_samples(&w, name, m, &n);
    }
    gx__put_end(&w, size);
}
