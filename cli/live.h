/* SPDX-License-Identifier: Apache-2.0
 *
 * What a context is doing, as one JSON object: gpuexec serve sends it, its page and gpuexec
 * top read it.
 */
#ifndef LIVE_H
#define LIVE_H

#include <jansson.h>

#include "cli.h"
#include "workload.h"

/* {"version", "uptime_s", "workload": {...}, "stats": {the members of gx_statistics},
 * "devices": [{the members of gx_device_statistics, "description"}, ...]}; NULL where memory
 * ran out. `infos` describes the devices; uptime since start_ns. Any thread. */
json_t *live_status(gx_ctx *ctx, const device_list *infos, workload *work, uint64_t start_ns);

#endif
