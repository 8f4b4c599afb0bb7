/* SPDX-License-Identifier: Apache-2.0
 *
 * What a context is doing, as one JSON object: gpuexec serve sends it, its page and gpuexec
 * top read it.
 */
#ifndef LIVE_H
#define LIVE_H

#include <jansson.h>

#include "cli.h"
#include "history.h"
#include "workload.h"

/* Decisions with a predicted time from which on the estimated regret is told: in all of fewer, what
 * the first calls pay for, threads and memory, is most of it. */
enum { LIVE_REGRET_DECISIONS = 100 };

/* {"version", "uptime_s", "regret_decisions": LIVE_REGRET_DECISIONS, "workload": {...}, "stats":
 * {the members of gx_statistics}, "devices": [{the members of gx_device_statistics, "description"},
 * ...]}; NULL where memory ran out. `infos` describes the devices; uptime since start_ns. Any
 * thread. */
json_t *live_status(gx_ctx *ctx, const device_list *infos, workload *work, uint64_t start_ns);

/* Adds what the context has done by now. */
void live_remember(gx_ctx *ctx, history *past, uint64_t start_ns);

#endif
