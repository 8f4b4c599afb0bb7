/* SPDX-License-Identifier: Apache-2.0
 *
 * A curve predicts the time of jobs of one kind on one device by their size. It has points at
 * powers of two and is linear between them. A point keeps the last few samples, and its time is
 * their median: a single outlier changes nothing, and a real change shows after three samples. A
 * measurement at a size between two points adds a sample to both, scaled as the curve runs between
 * them.
 *
 * Readers take no lock: the values of a point are atomic, and its bit in `known` is set after them.
 * A reader may see one point from before an update and one from after it, which does no harm. There
 * is one writer at a time.
 */
#ifndef GX_ROUTE_TIME_CURVE_H
#define GX_ROUTE_TIME_CURVE_H

#include "route/model.h"
#include "route/store.h"

struct gx_time_point {
    _Atomic float ns, slow_ns; /* samples; valid if the curve knows the point */
    _Atomic uint32_t date;
    /* For the writer only: */
    uint8_t count;
    uint8_t guesses;          /* how many of the oldest samples are guesses */
    float sample[GX_SAMPLES]; /* oldest first */
};

/* An empty curve is all zeros. */
struct gx_time_curve {
    _Atomic uint32_t known; /* a bit for each point */
    /* For the writer only: */
    uint32_t since; /* saved points up to this date were dropped on purpose */
    struct gx_time_point point[GX_TIME_POINTS];
};

static inline double gx__get(const _Atomic float *ns)
{
    return (double)atomic_load_explicit(ns, memory_order_relaxed);
}

static inline bool gx__time_curve_knows(const struct gx_time_curve *curve, int index)
{
    return index >= 0 && index < GX_TIME_POINTS && curve->known >> index & 1;
}

/* The number of elements of a point, and the point of exactly n elements (-1: none). */
double gx__time_point_size(int index);
int gx__time_point_index(uint64_t n);

/* As gx__model_predict, without borrowing. n is from 0 to GX_PREDICTION_MAX. */
bool gx__time_curve_predict(const struct gx_time_curve *curve, double n, struct gx_prediction *p);

/* Learns that a call of n elements took ns; both are at least 1. */
void gx__time_curve_learn(struct gx_time_curve *curve, double n, double ns);

/* A measurement, limited to what a sample can hold. */
float gx__time_sample(double ns);
/* Replaces all samples of a point; the first `guesses` of them are guesses. */
void gx__time_curve_replace(struct gx_time_curve *curve, int index, const float *ns, uint32_t count,
                            uint32_t guesses, uint32_t date);

/* Empties the curve; saved points up to the date `since` will not be taken back. */
void gx__time_curve_forget(struct gx_time_curve *curve, uint32_t since);

#endif
