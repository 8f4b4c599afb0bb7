/* SPDX-License-Identifier: Apache-2.0
 *
 * The state of a context as one JSON object: gpuexec serve sends it, its page and gpuexec top read
 * it.
 */
#ifndef LIVE_H
#define LIVE_H

#include <jansson.h>

#include "cli.h"
#include "history.h"
#include "workload.h"

/* Number of predicted decisions from which the estimated regret is shown overall. With fewer, the
 * start-up cost of threads and memory dominates it. */
enum { LIVE_REGRET_DECISIONS = 100 };

/* {"version", "uptime_s", "regret_decisions": LIVE_REGRET_DECISIONS, "workload": {...}, "stats":
 * {members of gx_statistics}, "devices": [{members of gx_device_statistics, "description"}, ...]};
 * NULL if memory ran out. `infos` describes the devices; uptime counts from start_ns. Any thread.
 */
json_t *live_status(gx_ctx *ctx, const device_list *infos, workload *work, uint64_t start_ns);

/* Adds the context's counters at this moment. */
void live_remember(gx_ctx *ctx, history *past, uint64_t start_ns);

#endif
