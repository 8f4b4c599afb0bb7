/* SPDX-License-Identifier: Apache-2.0
 *
 * Reads the histograms of jobs (operations.h). What memory runs out for is missing in the result.
 */
#include "operations.h"

#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

/* The histograms of the metrics end at 1, 2 and 5 times every power of ten from 1 us to 10 s, and
 * have one bucket above. */
enum { BUCKETS = 23 };

/* Upper bound in nanoseconds; of the last bucket, which has none, its lower one. */
static double bound_of(size_t bucket)
{
    static const double digits[] = {1e3, 2e3, 5e3};
    size_t i = bucket < BUCKETS - 1 ? bucket : BUCKETS - 2, decades = i / 3;
    return digits[i % 3] * pow(10, (double)decades);
}

static json_int_t member(const json_t *object, const char *key)
{
    return json_integer_value(json_object_get(object, key));
}

static json_int_t item(const json_t *array, size_t i)
{
    return json_integer_value(json_array_get(array, i));
}

static bool has(const json_t *object, const char *key, const char *value)
{
    const char *text = json_string_value(json_object_get(object, key));
    return text && !strcmp(text, value);
}

static json_t *find(const json_t *list, const char *op, const char *field)
{
    for (size_t i = 0; i < json_array_size(list); i++)
        if (has(json_array_get(list, i), "op", op) && has(json_array_get(list, i), "field", field))
            return json_array_get(list, i);
    return NULL;
}

/* ---- the text of the metrics ---- */

/* A sample of the histograms, or of the elements. */
typedef struct sample {
    char device[64], op[64], field[32], bound[16]; /* the last is empty for elements */
    long long value;
} sample;

/* Names of devices with a quote in them, which are those of test machines, are left out. */
static bool read_sample(const char *line, sample *s)
{
#define LABELS "{device=\"%63[^\"\\]\",op=\"%63[^\"]\",field=\"%31[^\"]\""
    *s = (sample){0};
    return sscanf(line, "gpuexec_job_duration_seconds_bucket" LABELS ",le=\"%15[^\"]\"} %lld",
                  s->device, s->op, s->field, s->bound, &s->value) == 5 ||
           sscanf(line, "gpuexec_job_elements_total" LABELS "} %lld", s->device, s->op, s->field,
                  &s->value) == 4;
}

static void add(json_t *object, const char *key, json_int_t more)
{
    json_object_set_new(object, key, json_integer(member(object, key) + more));
}

static json_t *kind_of(json_t *list, const sample *s)
{
    json_t *kind = find(list, s->op, s->field);
    if (kind)
        return kind;
    json_t *buckets = json_array();
    for (size_t i = 0; i < BUCKETS; i++)
        json_array_append_new(buckets, json_integer(0));
    kind = json_pack("{s:s, s:s, s:i, s:i, s:{}, s:o}", "op", s->op, "field", s->field, "jobs", 0,
                     "elements", 0, "devices", "buckets", buckets);
    return json_array_append_new(list, kind) ? NULL : kind;
}

/* Buckets are cumulative and come in order, those of a device one after the other. */
static void add_sample(json_t *kind, const sample *s, size_t *bucket, json_int_t *below)
{
    json_t *buckets = json_object_get(kind, "buckets");
    if (!*s->bound) {
        add(kind, "elements", s->value);
        return;
    }
    json_array_set_new(buckets, *bucket, json_integer(item(buckets, *bucket) + s->value - *below));
    ++*bucket;
    *below = s->value;
    if (strcmp(s->bound, "+Inf") != 0)
        return;
    add(kind, "jobs", s->value);
    add(json_object_get(kind, "devices"), s->device, s->value);
    *bucket = 0;
    *below = 0;
}

json_t *operations_of(const char *metrics)
{
    json_t *list = json_array();
    size_t bucket = 0;
    json_int_t below = 0;
    sample s;
    for (const char *line = metrics; *line; line += strcspn(line, "\n"), line += *line != 0)
        if (read_sample(line, &s))
            add_sample(kind_of(list, &s), &s, &bucket, &below);
    return list;
}

json_t *operations_sum(const json_t *operations, const char *key)
{
    json_int_t sum = 0;
    for (size_t i = 0; i < json_array_size(operations); i++)
        sum += member(json_array_get(operations, i), key);
    return json_integer(sum);
}

json_t *operations_jobs_of(const json_t *operations, const char *device)
{
    json_int_t sum = 0;
    for (size_t i = 0; i < json_array_size(operations); i++)
        sum += member(json_object_get(json_array_get(operations, i), "devices"), device);
    return json_integer(sum);
}

/* ---- between two states ---- */

static json_t *quantile(const json_t *buckets, json_int_t jobs, double q)
{
    double rank = q * (double)jobs, below = 0;
    size_t i = 0;
    for (; i + 1 < BUCKETS && below + (double)item(buckets, i) < rank; i++)
        below += (double)item(buckets, i);
    if (!jobs)
        return json_null();
    double low = i ? bound_of(i - 1) : 0, high = bound_of(i);
    double part = item(buckets, i) ? (rank - below) / (double)item(buckets, i) : 0;
    return json_real(low + (high - low) * part);
}

void operations_since(json_t *now, const json_t *then)
{
    for (size_t i = 0; i < json_array_size(now); i++) {
        json_t *kind = json_array_get(now, i), *buckets = json_array();
        const json_t *before = find(then, json_string_value(json_object_get(kind, "op")),
                                    json_string_value(json_object_get(kind, "field")));
        json_int_t jobs = member(kind, "jobs") - member(before, "jobs");
        for (size_t k = 0; k < BUCKETS; k++)
            json_array_append_new(buckets,
                                  json_integer(item(json_object_get(kind, "buckets"), k) -
                                               item(json_object_get(before, "buckets"), k)));
        json_t *p50 = quantile(buckets, jobs, 0.5), *p99 = quantile(buckets, jobs, 0.99);
        json_object_set_new(kind, "recent",
                            json_pack("{s:I, s:o, s:o, s:o}", "jobs", jobs, "p50_ns", p50, "p99_ns",
                                      p99, "buckets", buckets));
    }
}
