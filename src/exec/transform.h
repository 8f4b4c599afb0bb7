/* SPDX-License-Identifier: Apache-2.0
 *
 * One large transform in host memory. It cannot be cut, so its copies would not overlap each other:
 * instead they are jobs of their own, between the caller's memory and a buffer, in which it runs.
 */
#ifndef GX_EXEC_TRANSFORM_H
#define GX_EXEC_TRANSFORM_H

#include "exec/engine.h"

/* Whether the job is one, on a device with memory of its own. */
bool gx__transform_wanted(const struct gx_engine *engine, const gx_job *job);

/* Runs it as one of the jobs of `batch`. GX_ERR_UNSUPPORTED, GX_ERR_OUT_OF_MEMORY or
 * GX_ERR_OUT_OF_DEVICE_MEMORY: it must run in another way, and nothing was written. Otherwise a
 * failure has a message; GX_ERR_NOT_CANONICAL: outcome has the index. */
gx_status gx__transform_run(struct gx_engine *engine, const struct gx_batch *batch,
                            const gx_job *job, struct gx_outcome *outcome, char *message,
                            size_t message_size);

#endif
