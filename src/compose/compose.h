/* SPDX-License-Identifier: Apache-2.0
 *
 * Jobs on one device. Most go to the engine as they are. Some are composed: sums of points on
 * devices with commands, large transforms in host memory, and transforms that do not fit.
 */
#ifndef GX_COMPOSE_COMPOSE_H
#define GX_COMPOSE_COMPOSE_H

#include "exec/engine.h"

/* gx_feed_fn: runs a batch, or plans it, through a pipe of the caller, and returns when all is
 * started. NULL: through one of its own, if the device needs one, and returns when it is done. Any
 * thread. */
void gx__compose_feed(struct gx_engine *engine, struct gx_pipe *pipe, struct gx_batch *batch);

static inline gx_status gx__compose_run(struct gx_engine *engine, struct gx_batch *batch)
{
    gx__compose_feed(engine, NULL, batch);
    return batch->status;
}

#endif
