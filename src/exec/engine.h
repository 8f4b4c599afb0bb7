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
    struct gx_pool pool;
};

/* On failure nothing is open and message says what to do. */
gx_status gx__engine_open(struct gx_engine *engine, struct gx_instance *instance,
                          const char *device_name, char *message, size_t message_size);
/* No job may be under way. */
void gx__engine_close(struct gx_engine *engine);

/* Runs one valid job and returns when it is done; its buffers are this engine's. Fills
 * everything in *report but the reason and the total time. Any thread. */
gx_status gx__engine_run(struct gx_engine *engine, const gx_job *job, gx_path path,
                         gx_report *report);

#endif
