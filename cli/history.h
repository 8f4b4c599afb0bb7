/* SPDX-License-Identifier: Apache-2.0
 *
 * What gpuexec serve remembers, so that a page that is opened later shows the past: the last ten
 * minutes by the second, the last hour by ten seconds, the last day by two minutes. All memory is
 * taken at the start.
 */
#ifndef HISTORY_H
#define HISTORY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* More devices than that are not remembered. */
enum { HISTORY_DEVICES = 16, HISTORY_NAME_BYTES = 48 };

/* How often samples are to come. */
#define HISTORY_PERIOD_NS UINT64_C(1000000000)

/* Counters at one moment, as gx_stats and gx_device_stats say them. */
typedef struct history_sample {
    uint64_t at_ns; /* since the start; later than that of the sample before */
    uint64_t elements, jobs_done, jobs_failed, jobs_waiting, decisions_predicted, routed_ns,
        routed_best_ns;
    struct {
        uint64_t elements, busy_ns, jobs;
    } device[HISTORY_DEVICES]; /* in an order that does not change */
} history_sample;

typedef struct history history;

/* NULL: no memory. */
history *history_open(void);
void history_close(history *h); /* NULL is fine */

/* names: of the first `devices` devices, of which there are never fewer than before. Any thread. */
void history_add(history *h, const history_sample *sample, const char (*names)[HISTORY_NAME_BYTES],
                 size_t devices);

/* {"columns": [...], "device_columns": [...], "devices": [name, ...], "samples": [[number of each
 * column, [number of each device column] for each device], ...]}, the oldest sample first. Times
 * are in seconds since the start. The caller frees it; NULL: no memory. Any thread. */
char *history_json(history *h);

#endif
