/* SPDX-License-Identifier: Apache-2.0
 *
 * Jobs on one device. Most go to the engine as they are. Some are composed: sums of points on
 * devices with commands, large transforms in host memory, and transforms that do not fit.
 */
#ifndef GX_COMPOSE_COMPOSE_H
#define GX_COMPOSE_COMPOSE_H

#include "exec/engine.h"

/* Runs a batch, or plans it, and returns its status when it is done. Any thread. */
gx_status gx__compose_run(struct gx_engine *engine, struct gx_batch *batch);

/* gx_feed_fn: the same through a pipe of the caller, NULL if the device works on host memory.
 * Returns when all is started. */
void gx__compose_feed(struct gx_engine *engine, struct gx_pipe *pipe, struct gx_batch *batch);

#endif
