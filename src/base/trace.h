/* SPDX-License-Identifier: Apache-2.0
 *
 * A timeline of all work, written as it happens, in the Chrome trace format that Perfetto and
 * chrome://tracing open: one track per device and stage, all on one time axis.
 */
#ifndef GX_BASE_TRACE_H
#define GX_BASE_TRACE_H

#include <stdbool.h>

#include "base/error.h"
#include "base/instance.h"

/* X(symbol, name), in the order of the lanes */
#define GX_STAGE_LIST(X)                                                                           \
    X(JOB, "job")                                                                                  \
    X(QUEUED, "queued")                                                                            \
    X(HOST_IN, "host-in")                                                                          \
    X(RECORD, "record")                                                                            \
    X(SUBMIT, "submit")                                                                            \
    X(UPLOAD, "upload")                                                                            \
    X(COMPUTE, "compute")                                                                          \
    X(DOWNLOAD, "download")                                                                        \
    X(HOST_OUT, "host-out")

enum gx_stage {
#define X(symbol, name) GX_STAGE_##symbol,
    GX_STAGE_LIST(X)
#undef X
        GX_STAGES
};

/* A span of time. Members that do not apply are left 0. */
struct gx_span {
    const char *device;
    enum gx_stage stage;
    uint64_t job;  /* a number from gx__trace_jobs, the first of `jobs` */
    uint64_t jobs; /* jobs that share the span; 0 means 1 */
    gx_op op;
    gx_field field;
    uint64_t elements, bytes;
    uint64_t start_ns,
        end_ns; /* from gx__now_ns, or from the device's clock if its time is simulated */
};

/* The only cost without a trace. */
static inline bool gx__tracing(const struct gx_instance *instance)
{
    return atomic_load_explicit(&instance->tracing, memory_order_relaxed);
}

/* Allocates numbers for `count` jobs; returns the first. Any thread. */
uint64_t gx__trace_jobs(struct gx_instance *instance, uint64_t count);

/* Any thread, with or without a trace. */
void gx__trace_span(struct gx_instance *instance, const struct gx_span *span);

/* Starts a trace in a new file, or replaces an earlier trace; any other existing file (including
 * links, pipes and devices) is left alone. On failure there is no trace and message holds the
 * reason: GX_ERR_FILE, GX_ERR_OUT_OF_MEMORY, or GX_ERR_INVALID if the context is already writing a
 * trace or another one is writing to that file. */
gx_status gx__trace_start(struct gx_instance *instance, const char *path, struct gx_error *error);
/* Finishes the file. GX_ERR_FILE if it could not be written completely, GX_OK if there is no
 * trace. */
gx_status gx__trace_stop(struct gx_instance *instance, struct gx_error *error);

/* For every instance, before and after all of these. */
void gx__trace_init(struct gx_instance *instance);
void gx__trace_end(struct gx_instance *instance); /* stops the trace and logs errors */

#endif
