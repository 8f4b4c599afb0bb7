/* SPDX-License-Identifier: Apache-2.0
 *
 * An engine is a device and the policy around it: how a job becomes copies,
 * dispatches and points in time. Written once, for every device.
 */
#ifndef GX_EXEC_ENGINE_H
#define GX_EXEC_ENGINE_H

#include "exec/pool.h"

struct gx_engine {
    struct gx_device device;
    struct gx_instance *instance;
    atomic_bool lost; /* for good; the router opens another */
    struct gx_pool pool;
    /* Jobs under way and live buffers. Other threads may touch it while the engine is
     * closed and opened anew, so neither sets it. */
    _Atomic size_t users;
    struct gx_engine *next; /* the router's */
};

/* A user more. Only for one who knows that the engine stays open: the router, and whoever
 * has a buffer on it. */
static inline struct gx_engine *gx__engine_acquire(struct gx_engine *engine)
{
    atomic_fetch_add(&engine->users, 1);
    return engine;
}

static inline void gx__engine_release(struct gx_engine *engine)
{
    atomic_fetch_sub(&engine->users, 1);
}

/* Every status of the device passes here: one that means the end of it is remembered. */
static inline gx_status gx__engine_status(struct gx_engine *engine, gx_status status)
{
    if (status == GX_ERR_DEVICE_LOST || status == GX_ERR_TIMEOUT)
        atomic_store(&engine->lost, true);
    return status;
}

/* On failure nothing is open and message says what to do. */
gx_status gx__engine_open(struct gx_engine *engine, struct gx_instance *instance,
                          const char *device_name, char *message, size_t message_size);
/* It has no users. One that is not open is fine. */
void gx__engine_close(struct gx_engine *engine);

/* Waits for work over so many elements; GX_ERR_TIMEOUT where that takes absurdly long. */
gx_status gx__engine_wait(struct gx_engine *engine, struct gx_point point, uint64_t elements);

/* Runs one valid job and returns when it is done; its buffers are this engine's. Fills
 * everything in *report but the reason and the total time. Any thread. */
gx_status gx__engine_run(struct gx_engine *engine, const gx_job *job, gx_path path,
                         gx_report *report);

#endif
