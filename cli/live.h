/* SPDX-License-Identifier: Apache-2.0
 *
 * The state of a context as one JSON object: gpuexec serve sends it, its page and gpuexec top read
 * it.
 */
#ifndef LIVE_H
#define LIVE_H

#include <jansson.h>
#include <pthread.h>

#include "cli.h"
#include "workload.h"

/* Number of predicted decisions from which the estimated regret is shown overall. With fewer, the
 * start-up cost of threads and memory dominates it. */
enum { LIVE_REGRET_DECISIONS = 100 };

/* A context with a workload. */
typedef struct live {
    gx_ctx *ctx;
    device_list infos;
    workload *work; /* NULL: idle */
    uint64_t start_ns;
    pthread_mutex_t lock; /* of what follows */
    struct {
        uint64_t at_ns;
        json_t *operations; /* NULL: nothing was done yet */
    } before, later;        /* from 30 to 60 seconds ago, and up to 30 */
} live;

/* Opens the context and starts the workload, unless it is idle. Return an exit code; close it in
 * any case. */
int live_open(live *l, const common_opts *common, const workload_opts *work);
int live_close(live *l, int rc);

/* {"version", "uptime_s", "regret_decisions": LIVE_REGRET_DECISIONS, "workload": {...}, "stats":
 * {the counters}, "devices": [{members of gx_device_statistics, "description"}, ...],
 * "operations": [as operations.h, with what is recent], "recent_s": how long that is}; NULL if
 * memory ran out. *metrics (may be NULL): the text of the same moment, owned by the caller. Any
 * thread. */
json_t *live_status(live *l, char **metrics);

#endif
