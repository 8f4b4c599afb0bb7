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
    double ns;      /* the usual; above 0 unless n is 0, and below GX_PREDICTION_MAX */
    double slow_ns; /* what the slower calls take, not below ns */
    uint32_t date;  /* gx__date_s of the last measurement near n */
    bool borrowed;  /* from another kind that is much like it */
};
#define GX_PREDICTION_MAX 1e18 /* so that a few of them add up to a uint64_t */

/* The model of a device, with what the cache folder knows of it; NULL: no memory.
 * description: of the device and its driver; it must be the same for what was saved to
 * count. */
struct gx_model *gx__model_open(struct gx_instance *instance, const char *device,
                                const char *description);
/* Saves it first where it has changed; NULL is fine. */
void gx__model_close(struct gx_model *model);
/* Into the cache folder; false where that cannot be written. Any thread. */
bool gx__model_save(struct gx_model *model);
/* As if nothing was known, of one kind or of all (NULL). Any thread. */
void gx__model_forget(struct gx_model *model, const struct gx_kind *kind);

/* What of a saved model (store.h) is younger than what it knows, and not older than 30 days
 * at the date `now`. Any thread. */
struct gx_saved_model;
void gx__model_take(struct gx_model *model, const struct gx_saved_model *saved, uint32_t now);

/* What n elements take; n may be 0, which is the cost of beginning at all, and known where
 * anything is. False where nothing is known near n: within 8 times as few or as many
 * elements, or 64 times as many where there are three points; the largest point holds for
 * all above it. It is a line from point to point, but not always a rising one. A kind
 * that was not measured near n borrows: any path from GX_PATH_AUTO, an operation from
 * one that takes about as long, registered memory from host memory. Any thread; takes no
 * lock. In the default floating-point mode, as is learning. */
bool gx__model_predict(const struct gx_model *model, const struct gx_kind *kind, double n,
                       struct gx_prediction *prediction);

/* A call of one job of this kind, or of several that are n elements together, took ns. What
 * is no measurement (n or ns 0) and what comes while another thread is learning or saving
 * changes nothing, nor does what there is no memory for. Any thread; does not wait. */
void gx__model_learn(struct gx_model *model, const struct gx_kind *kind, uint64_t n, uint64_t ns);

/* Memory for what will be learned of a kind, so that learning asks for none. Any thread. */
void gx__model_expect(struct gx_model *model, const struct gx_kind *kind);

/* The same, measured several times (1 to GX_SAMPLES of store.h) and on purpose, at a size that
 * is a power of two from 64 to 16M: nothing else counts for that size any more. Any thread. */
void gx__model_set(struct gx_model *model, const struct gx_kind *kind, uint64_t n,
                   const uint64_t *ns, size_t count);

/* What a further job costs that goes in the same call, beside its elements; learned by
 * calibration. 0: not known. Any thread. */
double gx__model_next_ns(const struct gx_model *model);
void gx__model_set_next_ns(struct gx_model *model, double ns);

/* Its rows, as gx_model gives them: those that have room, from *count on, which is raised by
 * as many as there are. Any thread. */
void gx__model_rows(struct gx_model *model, gx_model_row *rows, size_t room, size_t *count);

#endif
