/* SPDX-License-Identifier: Apache-2.0
 *
 * Samples, of which fewer are kept the older they are (history.h).
 */
#include "history.h"

#include <math.h>
#include <pthread.h>
#include <stdlib.h>

/* How far apart samples of up to an age are; older ones go. */
static const struct {
    double age_s, every_s;
} tiers[] = {{600, 1}, {3600, 10}, {86400, 120}};

enum { TIERS = sizeof tiers / sizeof *tiers };

struct history {
    pthread_mutex_t lock;
    json_t *devices, *rows; /* their names; the samples */
};

static const char *const columns[] = {"uptime_s",    "elements",      "jobs_done",
                                      "jobs_failed", "jobs_waiting",  "decisions_predicted",
                                      "routed_ns",   "routed_best_ns"};
static const char *const device_columns[] = {"elements", "busy_ns", "jobs"};

enum {
    COLUMNS = sizeof columns / sizeof *columns,
    DEVICE_COLUMNS = sizeof device_columns / sizeof *device_columns
};

history *history_open(void)
{
    history *h = calloc(1, sizeof *h);
    if (!h)
        return NULL;
    pthread_mutex_init(&h->lock, NULL);
    h->devices = json_array();
    h->rows = json_array();
    return h;
}

void history_close(history *h)
{
    if (!h)
        return;
    json_decref(h->devices);
    json_decref(h->rows);
    pthread_mutex_destroy(&h->lock);
    free(h);
}

/* Samples may be early or late by up to half a second. */
static void thin(json_t *rows, double now)
{
    double kept = -INFINITY;
    for (size_t i = 0; i < json_array_size(rows);) {
        double at = json_real_value(json_array_get(json_array_get(rows, i), 0));
        size_t t = 0;
        while (t < TIERS && now - at > tiers[t].age_s)
            t++;
        if (t < TIERS && at - kept + 0.5 > tiers[t].every_s) {
            kept = at;
            i++;
        } else {
            json_array_remove(rows, i);
        }
    }
}

/* The values of these names. */
static void append(json_t *row, const json_t *object, const char *const *names, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        json_int_t value = json_integer_value(json_object_get(object, names[i]));
        json_array_append_new(row, json_integer(value));
    }
}

static void append_device(json_t *row, const json_t *device)
{
    json_t *values = json_array();
    append(values, device, device_columns, DEVICE_COLUMNS);
    json_array_append_new(row, values);
}

void history_add(history *h, const json_t *status)
{
    const json_t *devices = json_object_get(status, "devices");
    double now = json_real_value(json_object_get(status, "uptime_s"));
    json_t *row = json_pack("[f]", now);
    append(row, json_object_get(status, "stats"), columns + 1, COLUMNS - 1);
    pthread_mutex_lock(&h->lock);
    for (size_t i = 0; i < json_array_size(devices); i++) {
        const json_t *device = json_array_get(devices, i);
        append_device(row, device);
        if (i == json_array_size(h->devices))
            json_array_append(h->devices, json_object_get(device, "device"));
    }
    json_array_append_new(h->rows, row);
    thin(h->rows, now);
    pthread_mutex_unlock(&h->lock);
}

static json_t *names_of(const char *const *names, size_t count)
{
    json_t *list = json_array();
    for (size_t i = 0; i < count; i++)
        json_array_append_new(list, json_string(names[i]));
    return list;
}

char *history_json(history *h)
{
    pthread_mutex_lock(&h->lock);
    for (size_t i = 0; i < json_array_size(h->rows); i++) {
        json_t *row = json_array_get(h->rows, i); /* devices opened later had done nothing */
        for (size_t d = json_array_size(row); d < COLUMNS + json_array_size(h->devices); d++)
            append_device(row, NULL);
    }
    json_t *all = json_pack("{s:o, s:o, s:O, s:O}", "columns", names_of(columns, COLUMNS),
                            "device_columns", names_of(device_columns, DEVICE_COLUMNS), "devices",
                            h->devices, "samples", h->rows);
    char *text = all ? json_dumps(all, JSON_COMPACT | JSON_REAL_PRECISION(9)) : NULL;
    json_decref(all);
    pthread_mutex_unlock(&h->lock);
    return text;
}
