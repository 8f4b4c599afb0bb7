/* SPDX-License-Identifier: Apache-2.0
 *
 * Host copies by several threads, because one core is slower than the bus. The caller takes part,
 * and the context's thread pool helps. A thread of the engine finishes the oldest groups of pipes,
 * so that results are copied out while the pipe's own thread copies in.
 */
#ifndef GX_EXEC_COPIER_H
#define GX_EXEC_COPIER_H

#include <pthread.h>

#include "device/device.h"

/* Bytes handed out at a time; the caller copies less than two slices alone. */
#define GX_COPY_SLICE       ((size_t)131072)
#define GX_COPY_THREADS_MAX 12u
#define GX_COPY_DROP_BYTES  ((size_t)1 << 20) /* less is not worth dropping */

struct gx_pipe;

struct gx_copier {
    struct gx_instance *instance;
    uint32_t threads; /* that may copy at once, including the caller; 1: no others */
    bool drops;       /* the device wants it (gx_device_facts.drop_lines), and the CPU can */
    pthread_mutex_t lock;
    pthread_cond_t watch, done;
    bool started, stop;
    pthread_t watcher;
    _Atomic uint64_t posted; /* number of pipes posted, for a thread that polls before it sleeps */
    struct gx_pipe *watched; /* list of pipes with a group to finish */
    struct gx_pipe *looked_at; /* the pipe that the watcher is working on */
};

void gx__copier_init(struct gx_copier *copier, struct gx_instance *instance, uint32_t threads,
                     bool drops);
/* Nothing is under way. */
void gx__copier_close(struct gx_copier *copier);

/* Does the copies and returns when they are done. Any thread. */
void gx__copy(struct gx_copier *copier, const struct gx_host_region *regions, size_t count);

/* Takes memory that the device will write out of the caches of cores, slice by slice, until the
 * fence is reached. Does nothing for little memory, and unless `drops`. */
void gx__copier_drop(struct gx_copier *copier, struct gx_device *device, struct gx_fence until,
                     const void *memory, size_t bytes);

/* Lets the watcher finish groups of the pipe as long as there are some. */
void gx__copier_watch(struct gx_copier *copier, struct gx_pipe *pipe);
/* Returns when the watcher no longer uses the pipe, in which nothing is in flight. */
void gx__copier_unwatch(struct gx_copier *copier, struct gx_pipe *pipe);

#endif
