/* SPDX-License-Identifier: Apache-2.0
 *
 * What jobs of one kind take on one device, by size: at sizes that are powers of two the last
 * few measurements, whose median is what a job of that size takes, and lines between them. So
 * one outlier changes nothing, and what has really changed is known after three calls. A call
 * of a size between two points counts for both, by the shape that the curve has there.
 *
 * Readers take no lock: what a point says is atomic, and it is marked as known after it was
 * set. A reader that meets a writer may get one point of before and one of after, which is a
 * guess as good as either. Writers are one at a time.
 */
#ifndef GX_ROUTE_CURVE_H
#define GX_ROUTE_CURVE_H

#include "route/model.h"
#include "route/store.h"

struct gx_point {
    _Atomic double ns, slow_ns; /* of meaning where the curve knows it */
    _Atomic uint32_t date;
    /* the writer's: */
    uint32_t count;
    uint32_t guesses;          /* of these, the oldest */
    float sample[GX_SAMPLES];  /* the oldest first */
    uint64_t turn[GX_SAMPLES]; /* of the curve, when it was taken */
    double level;              /* that its samples last agreed on */
    double least;              /* that it ever was, by what was measured */
};

/* All 0 is a curve that knows nothing. */
struct gx_curve {
    _Atomic uint32_t known; /* a bit for each point */
    /* the writer's: */
    uint64_t turns;
    uint32_t since; /* what was saved with an older date was to be forgotten */
    struct gx_point point[GX_POINTS];
};

static inline double gx__get(const _Atomic double *value)
{
    return atomic_load_explicit(value, memory_order_relaxed);
}

static inline void gx__set(_Atomic double *value, double to)
{
    atomic_store_explicit(value, to, memory_order_relaxed);
}

static inline bool gx__curve_knows(const struct gx_curve *curve, int index)
{
    return index >= 0 && index < GX_POINTS && curve->known >> index & 1;
}

/* Elements, of a point; and the point of exactly so many, -1 where there is none. */
double gx__point_size(int index);
int gx__point_index(uint64_t n);

/* As gx__model_predict, of this kind alone; n is from 0 to GX_PREDICTION_MAX. */
bool gx__curve_predict(const struct gx_curve *curve, double n, struct gx_prediction *p);

/* A call of n elements took ns, both 1 at least. */
void gx__curve_learn(struct gx_curve *curve, double n, double ns);

/* A measurement as it is kept. */
float gx__sample(double ns);
/* All samples of a point at once, of which the first are guesses. */
void gx__curve_replace(struct gx_curve *curve, int index, const float *ns, uint32_t count,
                       uint32_t guesses, uint32_t date);

void gx__curve_forget(struct gx_curve *curve, uint32_t since);

#endif
