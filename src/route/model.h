/* SPDX-License-Identifier: Apache-2.0
 *
 * What a job takes on one device, by kind and size: points at powers of two, lines between
 * them, learned from every call. Predicting takes no lock.
 */
#ifndef GX_ROUTE_MODEL_H
#define GX_ROUTE_MODEL_H

#include <stdbool.h>

#include "base/instance.h"

/* What jobs have in common that differ in size alone. */
struct gx_kind {
    gx_op op;
    gx_field field;
    gx_residency residency;
    gx_path path; /* as asked for */
};

struct gx_model;

struct gx_prediction {
    double ns;      /* the usual */
    double slow_ns; /* what the slower calls take */
};

/* The model of a device, with what the cache folder knows of it; NULL: no memory.
 * description: of the device and its driver; it must be the same for what was saved to
 * count. */
struct gx_model *gx__model_open(struct gx_instance *instance, const char *device,
                                const char *description);
/* Saves it first where it has changed; NULL is fine. */
void gx__model_close(struct gx_model *model);
/* Into the cache folder; false where that cannot be written. Any thread. */
bool gx__model_save(struct gx_model *model);
/* As if nothing was known. Any thread. */
void gx__model_forget(struct gx_model *model);

/* What n elements take; n may be 0, which is the cost of beginning at all. False where
 * nothing is known near n. Any thread; takes no lock. */
bool gx__model_predict(const struct gx_model *model, const struct gx_kind *kind, double n,
                       struct gx_prediction *prediction);

/* A call of one job of this kind, or of several that are n elements together, took ns. Any
 * thread. */
void gx__model_learn(struct gx_model *model, const struct gx_kind *kind, uint64_t n, uint64_t ns);

/* What a further job costs that goes in the same call, beside its elements; learned by
 * calibration. 0: not known. Any thread. */
double gx__model_next_ns(const struct gx_model *model);
void gx__model_set_next_ns(struct gx_model *model, double ns);

/* Its rows, as gx_model gives them: those that have room, from *count on, which is raised by
 * as many as there are. Any thread. */
void gx__model_rows(struct gx_model *model, gx_model_row *rows, size_t room, size_t *count);

#endif
