/* SPDX-License-Identifier: Apache-2.0
 *
 * Calibration: measuring what jobs take on devices, kind by kind and size by size, before
 * anyone asks.
 */
#ifndef GX_ROUTE_CALIBRATE_H
#define GX_ROUTE_CALIBRATE_H

#include "exec/engine.h"
#include "route/model.h"

/* A device to measure. */
struct gx_calibrated {
    struct gx_engine *engine; /* the caller is a user of it */
    struct gx_model *model;
    gx_status status; /* GX_OK, or why it was measured no further */
};

/* Looks at a job in host memory that the engine has just done: false where it is wrong. */
typedef bool (*gx_right_fn)(void *user, struct gx_engine *engine, const gx_job *job);

/* Replaces what the models know of the kinds that `settings` wants (valid, not NULL), and
 * saves them. `right` (NULL: nobody) is asked once for every kind of job on every device; one
 * that is wrong ends the device. GX_ERR_CANCELLED where settings->progress ended it; what was
 * measured until then is kept. Else GX_OK where a device was measured, or the status of the
 * first. GX_ERR_FILE in place of these two where a model could not be saved. Any thread, but times
 * are those of a machine that does nothing else; blocks. */
gx_status gx__calibrate(struct gx_instance *instance, struct gx_calibrated *devices, size_t count,
                        const gx_calibration *settings, gx_right_fn right, void *user);

#endif
