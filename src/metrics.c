/* SPDX-License-Identifier: Apache-2.0
 *
 * gx_metrics_prometheus: the statistics of a context as Prometheus reads them. One table says
 * the names, what they mean, and where the numbers come from; doc/metrics.md is compared with
 * what is written from it. Apart from api.c, as it needs little but the public calls.
 */
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>

#include "base/names.h"

/* More devices than that in one context are not told of. */
enum { DEVICES_MAX = 64 };

/* A piece of pooled memory in the smallest bucket (GX_BUCKETS). */
#define SMALLEST_BUCKET ((uint64_t)4096)

enum kind { COUNTER, GAUGE };

enum source {
    CONTEXT,      /* a number of gx_statistics, at `offset` */
    CONTEXT_NS,   /* likewise, nanoseconds there and seconds here */
    DEVICE,       /* of gx_device_statistics, for each device */
    DEVICE_NS,    /* likewise */
    DEVICE_STATE, /* 1 for the health it has, 0 for the others */
    BUCKETS,      /* gx_statistics.buckets */
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

#define OF_CONTEXT(member) offsetof(gx_statistics, member)
#define OF_DEVICE(member)  offsetof(gx_device_statistics, member)

static const struct metric metrics[] = {
    {"gpuexec_build_info", "Version of the library; always 1.", GAUGE, VERSION, 0, NULL},
    {"gpuexec_jobs_total", "Jobs that ended; failed includes those not run and cancelled.", COUNTER,
     CONTEXT, OF_CONTEXT(jobs_done), "result=\"done\""},
    {NULL, NULL, COUNTER, CONTEXT, OF_CONTEXT(jobs_failed), "result=\"failed\""},
    {"gpuexec_elements_total", "Elements of the jobs that were done.", COUNTER, CONTEXT,
     OF_CONTEXT(elements), NULL},
    {"gpuexec_read_bytes_total", "Bytes of the operands of these jobs.", COUNTER, CONTEXT,
     OF_CONTEXT(bytes_read), NULL},
    {"gpuexec_written_bytes_total", "Bytes of their results.", COUNTER, CONTEXT,
     OF_CONTEXT(bytes_written), NULL},
    {"gpuexec_compute_seconds_total", "Time that they were computed in.", COUNTER, CONTEXT_NS,
     OF_CONTEXT(compute_ns), NULL},
    {"gpuexec_dispatches_total", "Kernel launches.", COUNTER, CONTEXT, OF_CONTEXT(dispatches),
     NULL},
    {"gpuexec_pool_requests_total", "Staging and scratch memory, found ready or allocated.",
     COUNTER, CONTEXT, OF_CONTEXT(pool_hits), "result=\"hit\""},
    {NULL, NULL, COUNTER, CONTEXT, OF_CONTEXT(pool_misses), "result=\"miss\""},
    {"gpuexec_pool_pieces_total", "The same requests by the size of the piece; +Inf: any larger.",
     COUNTER, BUCKETS, 0, NULL},
    {"gpuexec_pool_bytes", "Memory that the pools hold now, idle or in use.", GAUGE, CONTEXT,
     OF_CONTEXT(pool_bytes), NULL},
    {"gpuexec_device_memory_bytes", "Memory that devices hold now: pools and buffers.", GAUGE,
     CONTEXT, OF_CONTEXT(device_bytes), NULL},
    {"gpuexec_device_memory_peak_bytes", "The most that a single device ever held.", GAUGE, CONTEXT,
     OF_CONTEXT(device_bytes_peak), NULL},
    {"gpuexec_command_requests_total", "Device commands, ready from before or recorded.", COUNTER,
     CONTEXT, OF_CONTEXT(command_hits), "result=\"hit\""},
    {NULL, NULL, COUNTER, CONTEXT, OF_CONTEXT(command_misses), "result=\"miss\""},
    {"gpuexec_tickets_submitted_total", "Tickets submitted.", COUNTER, CONTEXT,
     OF_CONTEXT(tickets_submitted), NULL},
    {"gpuexec_tickets_done_total", "Of these, done, whatever came out.", COUNTER, CONTEXT,
     OF_CONTEXT(tickets_done), NULL},
    {"gpuexec_tickets_cancelled_total", "Of these, with a job that was cancelled.", COUNTER,
     CONTEXT, OF_CONTEXT(tickets_cancelled), NULL},
    {"gpuexec_jobs_waiting", "Jobs of tickets that are not done.", GAUGE, CONTEXT,
     OF_CONTEXT(jobs_waiting), NULL},
    {"gpuexec_validation_messages_total", "What the validation layer said; should stay 0.", COUNTER,
     CONTEXT, OF_CONTEXT(validation_messages), NULL},
    {"gpuexec_decisions_total", "Calls, or parts of one, that the router placed.", COUNTER, CONTEXT,
     OF_CONTEXT(decisions), NULL},
    {"gpuexec_decisions_default_total", "Of these, without knowing the machine.", COUNTER, CONTEXT,
     OF_CONTEXT(decisions_default), NULL},
    {"gpuexec_decisions_split_total", "Of these, over several devices.", COUNTER, CONTEXT,
     OF_CONTEXT(decisions_split), NULL},
    {"gpuexec_decisions_explored_total", "Of these, to find out what it takes.", COUNTER, CONTEXT,
     OF_CONTEXT(decisions_explored), NULL},
    {"gpuexec_routed_seconds_total", "What decisions with a predicted time took.", COUNTER,
     CONTEXT_NS, OF_CONTEXT(routed_ns), NULL},
    {"gpuexec_routed_best_seconds_total", "The least that was predicted for them.", COUNTER,
     CONTEXT_NS, OF_CONTEXT(routed_best_ns), NULL},
    {"gpuexec_sampled_elements_total", "Elements computed again and compared.", COUNTER, CONTEXT,
     OF_CONTEXT(sampled), NULL},
    {"gpuexec_mismatches_total", "Jobs where one of them differed.", COUNTER, CONTEXT,
     OF_CONTEXT(mismatches), NULL},
    {"gpuexec_fallbacks_total", "Shares finished by another device than planned.", COUNTER, CONTEXT,
     OF_CONTEXT(fallbacks), NULL},
    {"gpuexec_device_health", "1 for the state that the device is in.", GAUGE, DEVICE_STATE, 0,
     NULL},
    {"gpuexec_device_retry_seconds", "Until it may be used again; 0 where it may.", GAUGE,
     DEVICE_NS, OF_DEVICE(retry_ns), NULL},
    {"gpuexec_device_jobs_total", "Jobs, or shares of jobs, that the device did.", COUNTER, DEVICE,
     OF_DEVICE(jobs), NULL},
    {"gpuexec_device_elements_total", "Elements of these.", COUNTER, DEVICE, OF_DEVICE(elements),
     NULL},
    {"gpuexec_device_busy_seconds_total",
     "What they took, added up: where they overlap, faster than the clock.", COUNTER, DEVICE_NS,
     OF_DEVICE(busy_ns), NULL},
    {"gpuexec_device_waiting_seconds", "Predicted time of what is under way.", GAUGE, DEVICE_NS,
     OF_DEVICE(waiting_ns), NULL},
    {"gpuexec_device_failures_total", "Times that it failed.", COUNTER, DEVICE, OF_DEVICE(failures),
     NULL},
    {"gpuexec_device_mismatches_total", "Jobs of its that had a wrong element.", COUNTER, DEVICE,
     OF_DEVICE(mismatches), NULL},
    {"gpuexec_device_readmissions_total", "Times that it was let back after a rest.", COUNTER,
     DEVICE, OF_DEVICE(readmissions), NULL},
};

/* Text that may not fit; `used` is what it would take. */
struct writer {
    char *text;
    size_t room, used;
};

__attribute__((format(printf, 2, 3))) static void put(struct writer *w, const char *format, ...)
{
    va_list args;
    size_t at = w->used < w->room ? w->used : w->room;
    va_start(args, format);
    int length = vsnprintf(w->text ? w->text + at : NULL, w->room - at, format, args);
    va_end(args);
    w->used += length > 0 ? (size_t)length : 0;
}

/* A device name as the value of a label. */
static void put_escaped(struct writer *w, const char *value)
{
    for (; *value; value++) {
        if (*value == '\n')
            put(w, "\\n");
        else
            put(w, *value == '\\' || *value == '"' ? "\\%c" : "%c", *value);
    }
}

static void put_value(struct writer *w, uint64_t value, int nanoseconds)
{
    if (nanoseconds) /* every digit: no double is exact enough for years of them */
        put(w, " %" PRIu64 ".%09" PRIu64 "\n", value / 1000000000u, value % 1000000000u);
    else
        put(w, " %" PRIu64 "\n", value);
}

static uint64_t number_at(const void *statistics, size_t offset)
{
    return *(const uint64_t *)((const char *)statistics + offset);
}

/* What is told of at one moment. */
struct numbers {
    gx_statistics context;
    gx_device_statistics devices[DEVICES_MAX];
    size_t count;
};

static void put_buckets(struct writer *w, const char *name, const struct numbers *n)
{
    for (size_t i = 0; i < GX_BUCKETS; i++) {
        if (i + 1 < GX_BUCKETS)
            put(w, "%s{bytes=\"%" PRIu64 "\"}", name, SMALLEST_BUCKET << i);
        else
            put(w, "%s{bytes=\"+Inf\"}", name);
        put_value(w, n->context.buckets[i], 0);
    }
}

static void put_states(struct writer *w, const char *name, const gx_device_statistics *d)
{
    for (gx_health h = 0; h < GX_HEALTHS; h++) {
        put(w, "%s{device=\"", name);
        put_escaped(w, d->device);
        put(w, "\",state=\"%s\"}", gx_health_name(h));
        put_value(w, d->health == h, 0);
    }
}

static void put_device(struct writer *w, const char *name, const struct metric *m,
                       const gx_device_statistics *d)
{
    if (m->source == DEVICE_STATE) {
        put_states(w, name, d);
        return;
    }
    put(w, "%s{device=\"", name);
    put_escaped(w, d->device);
    put(w, "\"}");
    put_value(w, number_at(d, m->offset), m->source == DEVICE_NS);
}

static void put_samples(struct writer *w, const char *name, const struct metric *m,
                        const struct numbers *n)
{
    switch (m->source) {
    case CONTEXT:
    case CONTEXT_NS:
        put(w, m->label ? "%s{%s}" : "%s", name, m->label);
        put_value(w, number_at(&n->context, m->offset), m->source == CONTEXT_NS);
        break;
    case BUCKETS:
        put_buckets(w, name, n);
        break;
    case VERSION:
        put(w, "%s{version=\"%s\"}", name, gx_version());
        put_value(w, 1, 0);
        break;
    default:
        for (size_t i = 0; i < n->count; i++)
            put_device(w, name, m, &n->devices[i]);
        break;
    }
}

gx_status gx_metrics_prometheus(gx_ctx *ctx, char *text, size_t *size)
{
    if (!ctx || !size)
        return GX_ERR_INVALID;
    struct numbers n = {.count = DEVICES_MAX};
    gx_status s = gx_device_stats(ctx, n.devices, &n.count);
    if (s != GX_OK)
        return s;
    n.count = n.count < DEVICES_MAX ? n.count : DEVICES_MAX;
    gx_stats(ctx, &n.context);

    struct writer w = {.text = text, .room = text ? *size : 0};
    const char *name = NULL;
    for (size_t i = 0; i < sizeof metrics / sizeof *metrics; i++) {
        const struct metric *m = &metrics[i];
        if (m->name) {
            name = m->name;
            put(&w, "# HELP %s %s\n# TYPE %s %s\n", name, m->help, name,
                m->kind == COUNTER ? "counter" : "gauge");
        }
        put_samples(&w, name, m, &n);
    }
    if (w.room && w.used >= w.room)
        text[0] = 0;
    *size = w.used + 1;
    return GX_OK;
}
