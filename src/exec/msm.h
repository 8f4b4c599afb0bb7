/* SPDX-License-Identifier: Apache-2.0
 *
 * Multi-scalar multiplications on devices with commands: as GX_OP_MSM_SUMS of some of the points at
 * a time, the rest on the host.
 */
#ifndef GX_EXEC_MSM_H
#define GX_EXEC_MSM_H

#include "exec/engine.h"

/* Host memory of a job, which the next one uses. */
struct gx_msm_memory {
    struct gx_msm_memory *next; /* idle ones of the engine, under the lock of its pipes */
    size_t bytes;               /* that follow */
};

/* Runs a GX_MSM as one of the jobs of `batch`. On failure nothing was written, and message, if it
 * is not empty, says why; GX_ERR_NOT_CANONICAL: outcome has the index. */
gx_status gx__msm_run(struct gx_engine *engine, const struct gx_batch *batch, const gx_job *job,
                      struct gx_outcome *outcome, char *message, size_t message_size);

/* A batch with one is planned as gx__pipe_plan, but with what the device does in place of each. The
 * points are there already. */
gx_status gx__msm_plan(struct gx_engine *engine, const struct gx_batch *batch, uint64_t chunk_elems,
                       struct gx_plan_request *asked, struct gx_plan *plan);

/* Writes the points to a buffer, and after each its multiples. */
gx_status gx__msm_fill(struct gx_engine *engine, const struct gx_points *points,
                       const struct gx_multiples *multiples, gx_buf *buf);

/* All that jobs left; the engine ends. */
void gx__msm_free(struct gx_engine *engine);

#endif
