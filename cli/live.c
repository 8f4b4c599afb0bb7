/* SPDX-License-Identifier: Apache-2.0
 *
 * The state of a context as JSON (live.h).
 */
#include "live.h"

#include <stdlib.h>
#include <string.h>

#include "clock.h"
#include "operations.h"

enum { DEVICES_MAX = 64 };

#define HALF_MINUTE_NS 30000000000u

/* Jobs and elements are the sums of the operations, so that all figures agree. */
static json_t *stats_json(gx_ctx *ctx, const json_t *operations)
{
    static const char blocks[] = "pool_blocks_"; /* one for each size */
    json_t *json = json_object(), *buckets = json_array();
    const gx_counter_info *info;
    for (uint32_t i = 0; (info = gx_counter_get_info(i)) != NULL; i++) {
        uint64_t value = 0;
        gx_counter(ctx, info->name, &value);
        if (strncmp(info->name, blocks, sizeof blocks - 1) != 0)
            json_object_set_new(json, info->name, json_integer((json_int_t)value));
        else
            json_array_append_new(buckets, json_integer((json_int_t)value));
    }
    json_object_set_new(json, "buckets", buckets);
    json_object_set_new(json, "jobs_done", operations_sum(operations, "jobs"));
    json_object_set_new(json, "elements", operations_sum(operations, "elements"));
    return json;
}

/* Here a job that was split counts once, for the device that did most of it. */
static json_t *device_json(const gx_device_statistics *d, const device_list *infos,
                           const json_t *operations)
{
    const gx_device_info *info = device_list_find(infos, d->device);
    return json_pack(
        "{s:s, s:s, s:s, s:o, s:I, s:I, s:I, s:I, s:I, s:I, s:I}", "device", d->device, "health",
        gx_health_name(d->health), "description", info ? info->description : "", "jobs",
        operations_jobs_of(operations, d->device), "elements", (json_int_t)d->elements, "busy_ns",
        (json_int_t)d->busy_ns, "waiting_ns", (json_int_t)d->waiting_ns, "retry_ns",
        (json_int_t)d->retry_ns, "failures", (json_int_t)d->failures, "mismatches",
        (json_int_t)d->mismatches, "readmissions", (json_int_t)d->readmissions);
}

static json_t *devices_json(const live *l, const json_t *operations)
{
    gx_device_statistics devices[DEVICES_MAX] = {{.struct_size = sizeof *devices}};
    size_t count = DEVICES_MAX;
    json_t *json = json_array();
    if (gx_device_stats(l->ctx, devices, &count) != GX_OK)
        return json;
    for (size_t i = 0; i < count && i < DEVICES_MAX; i++)
        json_array_append_new(json, device_json(&devices[i], &l->infos, operations));
    return json;
}

/* Compares with the state before; every half minute this one and that move on. Returns the seconds
 * in between. */
static double add_recent(live *l, json_t *operations)
{
    uint64_t now = now_ns();
    pthread_mutex_lock(&l->lock);
    if (now - l->later.at_ns >= HALF_MINUTE_NS) {
        json_decref(l->before.operations);
        l->before = l->later;
        l->later.at_ns = now;
        l->later.operations = json_deep_copy(operations);
    }
    operations_since(operations, l->before.operations);
    double seconds = (double)(now - l->before.at_ns) / 1e9;
    pthread_mutex_unlock(&l->lock);
    return seconds;
}

/* ---- all of it ---- */

int live_open(live *l, const common_opts *common, const workload_opts *work)
{
    *l = (live){.start_ns = now_ns()};
    l->before.at_ns = l->later.at_ns = l->start_ns;
    pthread_mutex_init(&l->lock, NULL);
    int rc = cli_open(common, &l->ctx);
    if (rc == EXIT_DONE)
        rc = device_list_get(l->ctx, &l->infos);
    if (rc == EXIT_DONE) /* the first one queries the drivers, which may take long */
        json_decref(live_status(l, NULL));
    if (rc == EXIT_DONE && !work->idle)
        rc = workload_start(l->ctx, work, &l->work);
    return rc;
}

int live_close(live *l, int rc)
{
    workload_stop(&l->work);
    device_list_free(&l->infos);
    json_decref(l->before.operations);
    json_decref(l->later.operations);
    pthread_mutex_destroy(&l->lock);
    return cli_close(&l->ctx, rc);
}

json_t *live_status(live *l, char **metrics)
{
    gx_status s;
    char *text = cli_text(l->ctx, gx_metrics_prometheus, &s);
    json_t *operations = text ? operations_of(text) : NULL;
    double recent_s = operations ? add_recent(l, operations) : 0;
    if (metrics)
        *metrics = text;
    else
        free(text);
    return json_pack("{s:s, s:f, s:i, s:o, s:o, s:o, s:o, s:f}", "version", gx_version(),
                     "uptime_s", (double)(now_ns() - l->start_ns) / 1e9, "regret_decisions",
                     LIVE_REGRET_DECISIONS, "workload", workload_json(l->work), "stats",
                     stats_json(l->ctx, operations), "devices", devices_json(l, operations),
                     "operations", operations, "recent_s", recent_s);
}
