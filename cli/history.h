/* SPDX-License-Identifier: Apache-2.0
 *
 * History of gpuexec serve, so that a page opened later shows the past: the last ten minutes by the
 * second, the last hour by ten seconds, the last day by two minutes. All memory is allocated at the
 * start.
 */
#ifndef HISTORY_H
#define HISTORY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Devices beyond this number are not recorded. */
enum { HISTORY_DEVICES = 16, HISTORY_NAME_BYTES = 48 };

/* Interval between samples. */
#define HISTORY_PERIOD_NS UINT64_C(1000000000)

/* Counters at one moment, from gx_stats and gx_device_stats. */
typedef struct history_sample {
    uint64_t at_ns; /* since the start; increases from sample to sample */
    uint64_t elements, jobs_done, jobs_failed, jobs_waiting, decisions_predicted, routed_ns,
        routed_best_ns;
    struct {
        uint64_t elements, busy_ns, jobs;
    } device[HISTORY_DEVICES]; /* in a fixed order */
} history_sample;

typedef struct history history;

/* NULL if memory ran out. */
history *history_open(void);
void history_close(history *h); /* may be NULL */

/* names: of the first `devices` devices, whose number never decreases. Any thread. */
void history_add(history *h, const history_sample *sample, const char (*names)[HISTORY_NAME_BYTES],
                 size_t devices);

/* {"columns": [...], "device_columns": [...], "devices": [name, ...], "samples": [[value of each
 * column, [value of each device column] for each device], ...]}, oldest sample first. Times are in
 * seconds since the start. The caller frees it; NULL if memory ran out. Any thread. */
char *history_json(history *h);

#endif
