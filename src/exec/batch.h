/* SPDX-License-Identifier: Apache-2.0
 *
 * The progress, failures and reports of a batch, for the files that run one: direct.c and run.c.
 */
#ifndef GX_EXEC_BATCH_H
#define GX_EXEC_BATCH_H

#include "base/trace.h"
#include "exec/engine.h"

#define GX_NO_JOB SIZE_MAX

static inline struct gx_outcome *gx__batch_report(struct gx_batch *batch, size_t i)
{
    return batch->reports ? &batch->reports[batch->one_report ? 0 : i] : &batch->spare;
}

/* Nothing has failed yet; numbers for the trace, and the time that it waited. */
void gx__batch_begin(struct gx_engine *engine, struct gx_batch *batch);

/* False if it was cancelled or a job has failed. next: the job that would start. */
bool gx__batch_goes_on(struct gx_batch *batch, size_t next);

/* Of several failures the one that is first in the order of jobs counts, whoever sees it first. */
void gx__batch_fail_device(struct gx_engine *engine, struct gx_batch *batch, size_t i,
                           gx_status status);
/* operand: 'a' and so on; 0: not known. */
void gx__batch_fail_element(struct gx_batch *batch, size_t i, uint64_t bad, char operand);

/* Reads bytes of an operand, from byte `skip` of it on. */
typedef gx_status (*gx_look_fn)(void *user, const struct gx_place *operand, size_t skip,
                                size_t bytes, void *elements);
/* *operand: the one with the bad element *bad that was found; 0: it has changed since. parted: it
 * was found among some columns of a matrix, and *bad becomes the first one of all columns: others
 * have those of its row and of the rows before. */
gx_status gx__look_again(const struct gx_task *job, bool parted, gx_look_fn look, void *user,
                         uint64_t *bad, char *operand);

/* Whether its jobs are traced. */
static inline bool gx__batch_traced(const struct gx_engine *engine, const struct gx_batch *batch)
{
    return batch->timed && gx__tracing(engine->instance);
}

/* Adds a stage of `count` jobs from `first` on to the trace. */
void gx__batch_trace(struct gx_engine *engine, const struct gx_batch *batch, enum gx_stage stage,
                     size_t first, size_t count, uint64_t elements, size_t bytes,
                     struct gx_times time);

/* A job is done; its report has its times. time: when it ran; 0: there was nothing to run. */
void gx__batch_job_done(struct gx_engine *engine, struct gx_batch *batch, size_t i,
                        struct gx_times time);

/* Reports of jobs that had nothing to do, of the one that failed and of those after it. */
void gx__batch_end(struct gx_engine *engine, struct gx_batch *batch);

/* The kernel of a job. */
gx_status gx__job_kernel(struct gx_engine *engine, const struct gx_task *job, bool check,
                         struct gx_kernel *kernel);

#endif
