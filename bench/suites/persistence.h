/* SPDX-License-Identifier: Apache-2.0
 *
 * What suite persistence measures for suite seeds: one-shot calls in new processes, and calls on an
 * open context.
 */
#ifndef PERSISTENCE_H
#define PERSISTENCE_H

#include "stats.h"
#include "suite.h"

/* Opening, one job and closing, in a new process. */
typedef struct persistence_shot {
    size_t samples;
    stats ns;
    double open_ns; /* median time until the device is open */
} persistence_shot;

/* Of a job of Fq additions. */
typedef struct persistence_cost {
    uint64_t elements;
    persistence_shot cold, warm; /* without and with cache files */
    size_t call_samples;
    stats call_ns;
} persistence_cost;

/* On the device named in common->config, one cost per size; every result is checked. Call it before
 * this process opens a context. Returns an exit code. */
int persistence_costs(const common_opts *common, const suite_opts *opts, const number_list *sizes,
                      persistence_cost *costs);

#endif
