/* SPDX-License-Identifier: Apache-2.0
 *
 * The model of a device predicts how long jobs take there, by kind and size. It holds a curve for
 * each kind (curve.h), learns from every call, and is saved between runs. Predicting takes no lock.
 */
#ifndef GX_ROUTE_MODEL_H
#define GX_ROUTE_MODEL_H

#include <stdbool.h>

#include "base/instance.h"

/* Jobs of the same kind differ only in size. */
struct gx_kind {
    gx_op op;
    gx_field field;
    gx_residency residency;
    gx_path path;   /* as asked for */
    uint32_t shape; /* of GX_NTT: gx__shape, of GX_MSM: gx__msm_shape; 0 for other operations */
};

/* Transforms differ in their size, and in whether they permute: from natural to bit-reversed order
 * and back they do not. Multi-scalar multiplications differ in the degree of the field of
 * coordinates, the bits of scalars and, if they have several results, in the points of each: up to
 * 2^log2; log2 is 0 for one result. */
#define GX_LOG2_N_END 33u
#define GX_SHAPES     (2 * GX_LOG2_N_END)
#define GX_BITS_END   3u /* classes of scalars: of up to 64, 128 and 256 bits */
#define GX_MSM_SHAPES (2 * GX_BITS_END * GX_LOG2_N_END)

/* The fields that have them, by place: most have not. */
#define GX_MSM_FIELDS 2u

static inline size_t gx__msm_place(gx_field field)
{
    return field == GX_BN254_FR;
}

static inline gx_field gx__msm_field(size_t place)
{
    return place ? GX_BN254_FR : GX_BLS12_381_FR;
}

static inline uint32_t gx__msm_shape(uint32_t log2, uint32_t degree, uint32_t bits)
{
    return (log2 * GX_BITS_END + (bits > 64) + (bits > 128)) * 2 + degree - 1;
}

static inline uint32_t gx__msm_shape_log2(uint32_t shape)
{
    return shape / 2 / GX_BITS_END;
}

static inline uint32_t gx__msm_shape_bits(uint32_t shape)
{
    return 64u << shape / 2 % GX_BITS_END;
}

static inline uint32_t gx__msm_shape_degree(uint32_t shape)
{
    return 1 + shape % 2;
}

static inline uint32_t gx__shape(uint32_t log2_n, bool permutes)
{
    return 2 * log2_n + permutes;
}

static inline uint32_t gx__shape_log2_n(uint32_t shape)
{
    return shape / 2;
}

static inline bool gx__shape_permutes(uint32_t shape)
{
    return shape & 1;
}

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
/* Drops the measurements of one kind, or of all (NULL). Any thread. */
void gx__model_forget(struct gx_model *model, const struct gx_kind *kind);

/* Merges a saved model (store.h): takes points that are newer than its own and, at the date `now`,
 * at most 30 days old. Any thread. */
struct gx_saved_model;
void gx__model_take(struct gx_model *model, const struct gx_saved_model *saved, uint32_t now);

/* Predicts the time of n elements; n 0 is the launch cost. False: no measurement is near enough. A
 * point holds for up to 8 times as few or as many elements; the last of at least three holds for 64
 * times as many, and the last size of all (16M) for any larger one. More elements may be predicted
 * to take less time. A kind without a measurement near n borrows from a similar kind: any path from
 * GX_PATH_AUTO, an operation from one of similar cost, registered memory from host memory, a
 * transform from the other order, and it or GX_MSM from a size that differs by a factor of up to 8.
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

/* Appends the model as rows of gx_model at *count, as far as there is room, and adds the number of
 * its rows to *count. Any thread. */
void gx__model_rows(struct gx_model *model, gx_model_row *rows, size_t room, size_t *count);

#endif
