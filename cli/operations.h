/* SPDX-License-Identifier: Apache-2.0
 *
 * What is done by operation and field, with histograms of the time of jobs: from the metrics that
 * the library exports (doc/metrics.md), as JSON.
 */
#ifndef OPERATIONS_H
#define OPERATIONS_H

#include <jansson.h>
/* [{"op", "field", "jobs", "elements", "devices": {NAME: jobs}, "buckets": [...]}, ...], over all
 * devices, since the context was opened. A job that was split counts for the device that did most
 * of it. NULL if memory ran out. */
json_t *operations_of(const char *metrics);

/* Sums over all of them: of "jobs" or "elements", or of the jobs of a device. */
json_t *operations_sum(const json_t *operations, const char *key);
json_t *operations_jobs_of(const json_t *operations, const char *device);

/* Adds "recent": {"jobs", "p50_ns", "p99_ns", "buckets"} to each: what has been done since `then`,
 * which is an earlier state of the same, with null where there were no jobs. Quantiles are those of
 * Prometheus' histogram_quantile: linear within a bucket. */
void operations_since(json_t *now, const json_t *then);

#endif
