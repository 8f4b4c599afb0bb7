/* SPDX-License-Identifier: Apache-2.0
 *
 * History of gpuexec serve, so that a page opened later shows the past: the last ten minutes by the
 * second, the last hour by ten seconds, the last day by two minutes. What memory runs out for is
 * missing in it.
 */
#ifndef HISTORY_H
#define HISTORY_H

#include <jansson.h>
#include <stdint.h>

/* Interval between samples. */
#define HISTORY_PERIOD_NS UINT64_C(1000000000)

typedef struct history history;

/* NULL if memory ran out. */
history *history_open(void);
void history_close(history *h); /* may be NULL */

/* Adds a state (live.h), whose devices keep their order and whose time increases. Any thread. */
void history_add(history *h, const json_t *status);

/* {"columns": [...], "device_columns": [...], "devices": [name, ...], "samples": [[value of each
 * column, [value of each device column] for each device], ...]}, oldest sample first. Times are in
 * seconds since the start. The caller frees it; NULL if memory ran out. Any thread. */
char *history_json(history *h);

#endif
