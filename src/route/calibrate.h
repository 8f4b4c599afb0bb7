/* SPDX-License-Identifier: Apache-2.0
 *
 * Calibration measures how long jobs take on devices, by kind and size, and fills their models, so
 * that the first decisions are based on measurements.
 */
#ifndef GX_ROUTE_CALIBRATE_H
#define GX_ROUTE_CALIBRATE_H

#include "exec/engine.h"
#include "route/model.h"

/* A device to measure. */
struct gx_calibrated {
    struct gx_engine *engine; /* the caller is a user of it */
    struct gx_model *model;
    gx_status status; /* GX_OK, or why measuring stopped */
    bool wrong;       /* a result was */
};

/* What to measure: members as in gx_calibrate_params. */
struct gx_calibration {
    const gx_op *ops;
    size_t op_count;
    const gx_field *fields;
    size_t field_count;
    uint64_t max_elems, limit_ns;
    int (*progress)(void *user, double done, const char *device, const char *what);
    void *user;
};

/* Measures the kinds that `settings` (valid, not NULL) selects on all devices, replaces what their
 * models know of them, and saves the models. Verifies a result of each kind in host memory on each
 * device but "cpu"; a device that is wrong is not measured further.
 *
 * Returns GX_OK if at least one device was measured, else the status of the first;
 * GX_ERR_CANCELLED if settings->progress stopped it, which keeps what was measured; GX_ERR_FILE in
 * place of GX_OK or GX_ERR_CANCELLED if a model could not be saved. Any thread; blocks. The machine
 * should be idle otherwise. */
gx_status gx__calibrate(struct gx_instance *instance, struct gx_calibrated *devices, size_t count,
                        const struct gx_calibration *settings);

#endif
