/* SPDX-License-Identifier: Apache-2.0
 *
 * A trace of what ran when, written while it happens, in the Chrome trace format that
 * Perfetto and chrome://tracing open: one lane per device and stage, all on one axis.
 */
#ifndef GX_BASE_TRACE_H
#define GX_BASE_TRACE_H

#include <stdbool.h>

#include "base/instance.h"

/* X(symbol, name), in the order in which lanes are shown */
#define GX_STAGE_LIST(X)                                                                           \
    X(JOB, "job")                                                                                  \
    X(QUEUED, "queued")                                                                            \
    X(HOST_IN, "host-in")                                                                          \
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

/* Something that took time. What it is not about is left 0. */
struct gx_span {
    const char *device;
    enum gx_stage stage;
    uint64_t job;  /* a number that gx__trace_jobs gave, the first of `jobs` */
    uint64_t jobs; /* that share it; 0 is 1 */
    gx_op op;
    gx_field field;
    uint64_t elements, bytes;
    uint64_t start_ns, end_ns; /* of gx__now_ns, or the device's own clock where it models time */
};

/* Nothing but this is done where there is no trace. */
static inline bool gx__tracing(const struct gx_instance *instance)
{
    return atomic_load_explicit(&instance->tracing, memory_order_relaxed);
}

/* Numbers for `count` jobs; returns the first. Any thread. */
uint64_t gx__trace_jobs(struct gx_instance *instance, uint64_t count);

/* Any thread, and whether there is a trace or not. */
void gx__trace_span(struct gx_instance *instance, const struct gx_span *span);

/* Into a new file, or over a trace of ours from before; any other file, and whatever is no
 * regular file (a link, a pipe, a device), is left alone. On failure there is no trace and
 * message says why: GX_ERR_FILE, GX_ERR_OUT_OF_MEMORY, GX_ERR_INVALID where the context is
 * writing one already, or another one is writing to that file. */
gx_status gx__trace_start(struct gx_instance *instance, const char *path, char *message,
                          size_t message_size);
/* Ends the file. GX_ERR_FILE where not all of it could be written, GX_OK where there is no
 * trace. */
gx_status gx__trace_stop(struct gx_instance *instance, char *message, size_t message_size);

/* Of every instance, before and after all of these. */
void gx__trace_init(struct gx_instance *instance);
void gx__trace_end(struct gx_instance *instance); /* stops and logs what went wrong */

#endif
