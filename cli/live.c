/* SPDX-License-Identifier: Apache-2.0
 *
 * The state of a context as JSON (live.h).
 */
#include "live.h"

#include <string.h>

#include "clock.h"

enum { DEVICES_MAX = 64 };

/* The scalar members of gx_statistics. */
#define STATS(X)                                                                                   \
    X(jobs_done)                                                                                   \
    X(jobs_failed)                                                                                 \
    X(elements)                                                                                    \
    X(bytes_read)                                                                                  \
    X(bytes_written)                                                                               \
    X(compute_ns)                                                                                  \
    X(dispatches)                                                                                  \
    X(pool_hits)                                                                                   \
    X(pool_misses)                                                                                 \
    X(pool_bytes)                                                                                  \
    X(device_bytes)                                                                                \
    X(device_bytes_peak)                                                                           \
    X(command_hits)                                                                                \
    X(command_misses)                                                                              \
    X(tickets_submitted)                                                                           \
    X(tickets_done)                                                                                \
    X(tickets_cancelled)                                                                           \
    X(jobs_waiting)                                                                                \
    X(validation_messages)                                                                         \
    X(decisions)                                                                                   \
    X(decisions_default)                                                                           \
    X(decisions_split)                                                                             \
    X(decisions_explored)                                                                          \
    X(routed_ns)                                                                                   \
    X(routed_best_ns)                                                                              \
    X(sampled)                                                                                     \
    X(mismatches)                                                                                  \
    X(fallbacks)                                                                                   \
    X(decisions_predicted)                                                                         \
    X(record_ns)                                                                                   \
    X(submit_ns)

/* Of gx_device_statistics. */
#define DEVICE_STATS(X)                                                                            \
    X(retry_ns)                                                                                    \
    X(jobs)                                                                                        \
    X(elements)                                                                                    \
    X(busy_ns)                                                                                     \
    X(waiting_ns)                                                                                  \
    X(failures)                                                                                    \
    X(mismatches)                                                                                  \
    X(readmissions)

static json_t *stats_json(gx_ctx *ctx)
{
    gx_statistics s = {.struct_size = sizeof s};
    gx_stats(ctx, &s);
    json_t *json = json_object(), *buckets = json_array();
#define X(member) json_object_set_new(json, #member, json_integer((json_int_t)s.member));
    STATS(X)
#undef X
    for (size_t i = 0; i < GX_BUCKETS; i++)
        json_array_append_new(buckets, json_integer((json_int_t)s.buckets[i]));
    json_object_set_new(json, "buckets", buckets);
    return json;
}

static const char *description_of(const device_list *infos, const char *device)
{
    for (size_t i = 0; i < infos->count; i++)
        if (!strcmp(infos->infos[i].name, device))
            return infos->infos[i].description;
    return "";
}

static json_t *device_json(const gx_device_statistics *d, const device_list *infos)
{
    json_t *json =
        json_pack("{s:s, s:s, s:s}", "device", d->device, "health", gx_health_name(d->health),
                  "description", description_of(infos, d->device));
#define X(member) json_object_set_new(json, #member, json_integer((json_int_t)d->member));
    DEVICE_STATS(X)
#undef X
    return json;
}

static json_t *devices_json(gx_ctx *ctx, const device_list *infos)
{
    gx_device_statistics devices[DEVICES_MAX] = {{.struct_size = sizeof *devices}};
    size_t count = DEVICES_MAX;
    json_t *json = json_array();
    if (gx_device_stats(ctx, devices, &count) != GX_OK)
        return json;
    for (size_t i = 0; i < count && i < DEVICES_MAX; i++)
        json_array_append_new(json, device_json(&devices[i], infos));
    return json;
}

json_t *live_status(gx_ctx *ctx, const device_list *infos, workload *work, uint64_t start_ns)
{
    return json_pack("{s:s, s:f, s:i, s:o, s:o, s:o}", "version", gx_version(), "uptime_s",
                     (double)(now_ns() - start_ns) / 1e9, "regret_decisions", LIVE_REGRET_DECISIONS,
                     "workload", workload_json(work), "stats", stats_json(ctx), "devices",
                     devices_json(ctx, infos));
}

_Static_assert(HISTORY_NAME_BYTES == sizeof((gx_device_statistics *)0)->device, "whole names");

void live_remember(gx_ctx *ctx, history *past, uint64_t start_ns)
{
    gx_device_statistics devices[HISTORY_DEVICES] = {{.struct_size = sizeof *devices}};
    char names[HISTORY_DEVICES][HISTORY_NAME_BYTES] = {0};
    size_t count = HISTORY_DEVICES;
    gx_statistics s = {.struct_size = sizeof s};
    if (gx_device_stats(ctx, devices, &count) != GX_OK)
        return;
    gx_stats(ctx, &s);
    history_sample sample = {.at_ns = now_ns() - start_ns,
                             .elements = s.elements,
                             .jobs_done = s.jobs_done,
                             .jobs_failed = s.jobs_failed,
                             .jobs_waiting = s.jobs_waiting,
                             .decisions_predicted = s.decisions_predicted,
                             .routed_ns = s.routed_ns,
                             .routed_best_ns = s.routed_best_ns};
    for (size_t i = 0; i < count && i < HISTORY_DEVICES; i++) {
        memcpy(names[i], devices[i].device, sizeof names[i]);
        sample.device[i].elements = devices[i].elements;
        sample.device[i].busy_ns = devices[i].busy_ns;
        sample.device[i].jobs = devices[i].jobs;
    }
    history_add(past, &sample, names, count);
}
