/* SPDX-License-Identifier: Apache-2.0
 *
 * The model of a device predicts how long jobs take there, by kind and size. It holds a curve for
 * each kind (time_curve.h), learns from every call, and is saved between runs. Predicting takes no
 * lock.
 */
#ifndef GX_ROUTE_MODEL_H
#define GX_ROUTE_MODEL_H

#include <stdbool.h>

#include "op/kinds.h"

struct gx_model;

struct gx_prediction {
    double ns;      /* typical time; above 0 unless n is 0, at most GX_PREDICTION_MAX */
    double slow_ns; /* time of the slower calls; at least ns */
};
#define GX_PREDICTION_MAX 1e18 /* the sum of a few fits into a uint64_t */

/* Opens the model of a device and reads what was saved; NULL: out of memory. A saved model counts
 * only if the description, of device and driver, is the same. */
struct gx_model *gx__model_open(struct gx_instance *instance, const char *device,
                                const char *description);
/* Saves the model first if it has changed. NULL is fine. */
void gx__model_close(struct gx_model *model);
/* Saves the model in the cache folder; false: cannot be written. Any thread. */
bool gx__model_save(struct gx_model *model);
/* Drops the measurements of one kind. Any thread. */
void gx__model_forget(struct gx_model *model, const struct gx_kind *kind);

/* Merges a saved model (store.h): takes points that are newer than its own and, at the date `now`,
 * at most 30 days old. Any thread. */
struct gx_saved_model;
void gx__model_take(struct gx_model *model, const struct gx_saved_model *saved, uint32_t now);

/* Predicts the time of n elements; n 0 is the launch cost. False: no measurement is near enough. A
 * point holds for up to 8 times as few or as many elements; the last of at least three holds for 64
 * times as many, and the last size of all (16M) for any larger one. More elements may be predicted
 * to take less time. A kind without a measurement near n borrows from a similar kind: any path from
 * GX_PATH_AUTO, an operation from one of similar cost, registered memory from host memory, and a
 * size class from another whose size differs by a factor of up to 8.
 * Any thread; takes no lock. Predicting and learning need the default floating-point environment.
 */
bool gx__model_predict(const struct gx_model *model, const struct gx_kind *kind, double n,
                       struct gx_prediction *prediction);

/* Learns that a call of n elements of this kind, in one job or several, took ns. Does nothing if n
 * or ns is 0, if another thread has the model locked, or if memory is short. Any thread; does not
 * block. */
void gx__model_learn(struct gx_model *model, const struct gx_kind *kind, uint64_t n, uint64_t ns);

/* Allocates the curve of a kind, so that learning does not allocate later. Any thread. */
void gx__model_expect(struct gx_model *model, const struct gx_kind *kind);

/* Replaces the samples of one point by `count` (1 to GX_SAMPLES of store.h) measurements of a
 * calibration. n is a power of two from 64 to 16M. Any thread. */
void gx__model_set(struct gx_model *model, const struct gx_kind *kind, uint64_t n,
                   const uint64_t *ns, size_t count);

/* The cost of one more job in a call, besides its elements; measured by calibration. 0: not known.
 * Any thread. */
double gx__model_next_ns(const struct gx_model *model);
void gx__model_set_next_ns(struct gx_model *model, double ns);

/* One point of the router's model: a job of n elements takes ns. */
struct gx_model_row {
    char device[48];
    gx_op op;
    gx_field field;
    gx_residency residency;
    gx_path path; /* as requested */
    uint64_t n, ns;
    uint64_t slow_ns; /* for slower calls */
    uint32_t samples; /* number of measurements behind it */
    uint32_t age_s;   /* of the most recent one */
    /* as struct gx_size_facts */
    uint32_t log2_n;   /* of one transform; or of the points of each of several sums, at most */
    uint32_t permutes; /* 1: both operands of a transform, or neither, are in bit-reversed order */
    gx_curve curve;
    uint32_t scalar_bits; /* up to so many: 64, 128 or 256 */
};

/* Appends the model as rows at *count, as far as there is room, and adds the number of
 * its rows to *count. Any thread. */
void gx__model_rows(struct gx_model *model, struct gx_model_row *rows, size_t room, size_t *count);

#endif
