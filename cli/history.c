/* SPDX-License-Identifier: Apache-2.0
 *
 * Ring buffers of samples, each coarser and longer than the previous one (history.h).
 */
#include "history.h"

#include <inttypes.h>
#include <jansson.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/os.h"

#define SECOND HISTORY_PERIOD_NS

static const struct {
    uint64_t every_ns;
    size_t room;
} tiers[] = {{SECOND, 600}, {10 * SECOND, 360}, {120 * SECOND, 720}};

enum { TIERS = sizeof tiers / sizeof *tiers };

typedef struct ring {
    history_sample *samples;
    size_t count, next; /* number of samples, and the position of the next one */
} ring;

struct history {
    pthread_mutex_t lock;
    ring rings[TIERS];
    char names[HISTORY_DEVICES][HISTORY_NAME_BYTES];
    size_t devices;
};

history *history_open(void)
{
    history *h = calloc(1, sizeof *h);
    if (!h)
        return NULL;
    pthread_mutex_init(&h->lock, NULL);
    for (size_t t = 0; t < TIERS; t++) {
        h->rings[t].samples = calloc(tiers[t].room, sizeof *h->rings[t].samples);
        if (!h->rings[t].samples) {
            history_close(h);
            return NULL;
        }
    }
    return h;
}

void history_close(history *h)
{
    if (!h)
        return;
    for (size_t t = 0; t < TIERS; t++)
        free(h->rings[t].samples);
    pthread_mutex_destroy(&h->lock);
    free(h);
}

/* The i-th oldest of a tier. */
static const history_sample *sample_at(const history *h, size_t tier, size_t i)
{
    const ring *r = &h->rings[tier];
    return &r->samples[(r->next + tiers[tier].room - r->count + i) % tiers[tier].room];
}

/* Samples may be early or late by up to half a period. */
static bool is_due(const history *h, size_t tier, uint64_t at_ns)
{
    size_t count = h->rings[tier].count;
    return !count ||
           at_ns - sample_at(h, tier, count - 1)->at_ns + SECOND / 2 > tiers[tier].every_ns;
}

void history_add(history *h, const history_sample *sample, const char (*names)[HISTORY_NAME_BYTES],
                 size_t devices)
{
    pthread_mutex_lock(&h->lock);
    h->devices = devices < HISTORY_DEVICES ? devices : HISTORY_DEVICES;
    memcpy(h->names, names, h->devices * sizeof *names);
    for (size_t t = 0; t < TIERS; t++) {
        ring *r = &h->rings[t];
        if (!is_due(h, t, sample->at_ns))
            continue;
        r->samples[r->next] = *sample;
        r->next = (r->next + 1) % tiers[t].room;
        r->count += r->count < tiers[t].room;
    }
    pthread_mutex_unlock(&h->lock);
}

/* ---- as JSON ---- */

static void put_sample(FILE *out, const history *h, const history_sample *s, bool first)
{
    fprintf(out,
            "%s[%" PRIu64 ".%03" PRIu64 ",%" PRIu64 ",%" PRIu64 ",%" PRIu64 ",%" PRIu64 ",%" PRIu64
            ",%" PRIu64 ",%" PRIu64,
            first ? "" : ",", s->at_ns / SECOND, s->at_ns % SECOND / 1000000, s->elements,
            s->jobs_done, s->jobs_failed, s->jobs_waiting, s->decisions_predicted, s->routed_ns,
            s->routed_best_ns);
    for (size_t i = 0; i < h->devices; i++)
        fprintf(out, ",[%" PRIu64 ",%" PRIu64 ",%" PRIu64 "]", s->device[i].elements,
                s->device[i].busy_ns, s->device[i].jobs);
    putc(']', out);
}

/* From the coarse tiers, take only what is older than everything in the finer ones. */
static void put_samples(FILE *out, const history *h)
{
    bool first = true;
    for (size_t t = TIERS; t-- > 0;)
        for (size_t i = 0; i < h->rings[t].count; i++) {
            const history_sample *s = sample_at(h, t, i);
            if (t && s->at_ns >= sample_at(h, t - 1, 0)->at_ns)
                break;
            put_sample(out, h, s, first);
            first = false;
        }
}

static bool put_names(FILE *out, const history *h)
{
    json_t *names = json_array();
    for (size_t i = 0; i < h->devices; i++)
        json_array_append_new(names, json_string(h->names[i]));
    bool ok = json_array_size(names) == h->devices && !json_dumpf(names, out, JSON_COMPACT);
    json_decref(names);
    return ok;
}

char *history_json(history *h)
{
    struct gx_os_text text;
    if (!gx__os_text_open(&text))
        return NULL;
    FILE *out = text.file;
    fputs("{\"columns\":[\"uptime_s\",\"elements\",\"jobs_done\",\"jobs_failed\",\"jobs_waiting\","
          "\"decisions_predicted\",\"routed_ns\",\"routed_best_ns\"],"
          "\"device_columns\":[\"elements\",\"busy_ns\",\"jobs\"],\"devices\":",
          out);
    pthread_mutex_lock(&h->lock);
    bool ok = put_names(out, h);
    fputs(",\"samples\":[", out);
    put_samples(out, h);
    pthread_mutex_unlock(&h->lock);
    fputs("]}\n", out);
    if (!gx__os_text_close(&text) || !ok) {
        free(text.text);
        return NULL;
    }
    return text.text;
}
