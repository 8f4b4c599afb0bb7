/* SPDX-License-Identifier: Apache-2.0
 *
 * Host copies by several threads: one core copies slower than a bus. Whoever wants a
 * copy takes part in it, the context's thread pool helps. One thread of the engine's own finishes
 * the oldest groups of pipes, so that copies out of staging memory go on while the pipe's
 * own thread copies in.
 */
#ifndef GX_EXEC_COPIER_H
#define GX_EXEC_COPIER_H

#include <pthread.h>

#include "device/device.h"

/* What is handed out at a time; copies of less than two are done by the caller alone. */
#define GX_COPY_SLICE       ((size_t)131072)
#define GX_COPY_THREADS_MAX 12u

struct gx_pipe;

struct gx_copier {
    struct gx_instance *instance;
    uint32_t threads; /* that may copy at once, the caller's included; 1: no others */
    pthread_mutex_t lock;
    pthread_cond_t watch, done;
    bool started, stop;
    pthread_t watcher;
    _Atomic uint64_t posted;   /* pipes so far: what one who does not sleep yet looks at */
    struct gx_pipe *watched;   /* pipes whose oldest group someone should finish, */
    struct gx_pipe *looked_at; /* and the one at which someone is */
};

void gx__copier_init(struct gx_copier *copier, struct gx_instance *instance, uint32_t threads);
/* Nothing is under way. */
void gx__copier_close(struct gx_copier *copier);

/* Does the copies and returns when they are done. Any thread. */
void gx__copy(struct gx_copier *copier, const struct gx_host_region *regions, size_t count);

/* Asks for gx__pipe_step in the background, as often as it finds something. */
void gx__copier_watch(struct gx_copier *copier, struct gx_pipe *pipe);
/* Nobody looks at the pipe any more. Nothing is in flight in it. */
void gx__copier_unwatch(struct gx_copier *copier, struct gx_pipe *pipe);

#endif
