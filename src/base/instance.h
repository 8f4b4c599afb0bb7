/* SPDX-License-Identifier: Apache-2.0
 *
 * Handed from a context to every layer: allocator, log, settings, host threads, and the counters
 * behind gx_counter.
 */
#ifndef GX_BASE_INSTANCE_H
#define GX_BASE_INSTANCE_H

#include <pthread.h>
#include <stdatomic.h>

#include "base/threads.h"
#include "gpuexec.h"

/* Sizes of pooled memory: bucket i counts blocks of 4096 << i bytes; the last one counts all larger
 * blocks. */
#define GX_BUCKETS 20

/* What they count is in api/counters.h. */
struct gx_counters {
    _Atomic uint64_t jobs_failed, bytes_read, bytes_written, compute_ns, dispatches, pool_hits,
        pool_misses, pool_bytes, device_bytes, device_bytes_peak, command_hits, command_misses,
        buckets[GX_BUCKETS], tickets_submitted, tickets_done, tickets_cancelled, jobs_waiting,
        validation_messages, decisions, decisions_default, decisions_split, decisions_explored,
        routed_ns, routed_best_ns, sampled, mismatches, fallbacks, decisions_predicted, record_ns,
        submit_ns, open_ns, compile_ns, tables_ns;
};

struct gx_instance {
    gx_config config; /* complete: environment and defaults applied; strings owned */
    struct gx_counters counters;
    struct gx_threads threads;
    struct gx_registered_memory *registered; /* owned by exec/: memory registered by the caller */
    struct gx_backlog *queue;                /* owned by exec/: asynchronous work */
    _Atomic uint32_t curves;                 /* those that gx_points exist for: 1 << gx_curve */
    atomic_bool tracing;
    _Atomic uint64_t traced_jobs;
    pthread_mutex_t trace_lock;
    struct gx_trace *trace; /* under the lock; NULL: no trace. See trace.h */
    void *webgpu;           /* owned by the WebGPU backend, like: */
    void *cuda;             /* the CUDA backend's, and: */
    void *vulkan; /* owned by the Vulkan backend, under its own lock; freed by its `stop` */
};

static inline void gx__count(_Atomic uint64_t *counter, uint64_t by)
{
    atomic_fetch_add_explicit(counter, by, memory_order_relaxed);
}

/* Of the host or of a device. */
static inline bool gx__out_of_memory(gx_status s)
{
    return s == GX_ERR_OUT_OF_MEMORY || s == GX_ERR_OUT_OF_DEVICE_MEMORY;
}

#endif
