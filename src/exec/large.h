/* SPDX-License-Identifier: Apache-2.0
 *
 * Transforms that do not fit the memory of a device, or one of its dispatches: in two passes of
 * smaller transforms over the data in host memory.
 */
#ifndef GX_EXEC_LARGE_H
#define GX_EXEC_LARGE_H

#include "exec/engine.h"

/* Whether the job is a transform that can be divided. */
bool gx__large_possible(const gx_job *job);

/* Runs such a job. On failure message says why; GX_ERR_NOT_CANONICAL: outcome has the index, and
 * nothing was written. */
gx_status gx__large_run(struct gx_engine *engine, const gx_job *job, struct gx_outcome *outcome,
                        char *message, size_t message_size);

#endif
