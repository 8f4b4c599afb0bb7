/* SPDX-License-Identifier: Apache-2.0
 *
 * The size from which one device is faster than another: linear interpolation between measured
 * points on logarithmic axes, and the uncertainty of the result.
 */
#ifndef REPORT_CROSS_H
#define REPORT_CROSS_H

#include <stdbool.h>
#include <stddef.h>

/* "Clearly faster" is less than nine tenths of the other's time. */
#define CROSS_EVEN  1.0
#define CROSS_CLEAR 0.9
/* Times that differ by no more than this are equal: both would be shown as 1.00 times the other. */
#define CROSS_TIE 1.005

bool cross_is_tie(double a, double b);

typedef enum cross_kind {
    CROSS_NEVER,  /* not at the largest size */
    CROSS_ALWAYS, /* at every size measured */
    CROSS_FROM    /* from `at` up to the largest size measured */
} cross_kind;

typedef struct cross_point {
    cross_kind kind;
    double at;            /* CROSS_ALWAYS: the smallest size measured; CROSS_NEVER: the largest */
    double after, before; /* CROSS_FROM: the sizes measured around it */
} cross_point;

/* The smallest size x such that the ratio is below `limit` everywhere above x. Sizes increase, n is
 * at least 1, all numbers are positive. */
cross_point cross_from(const double *sizes, const double *ratio, size_t n, double limit);

/* Times of two devices at one size: medians and their confidence intervals, NAN if unknown. */
typedef struct cross_pair {
    double size;
    double a, a_low, a_high;
    double b, b_low, b_high;
} cross_pair;

enum { CROSS_PAIRS_MAX = 512, CROSS_CHANGES_MAX = 8 };

typedef struct crossover {
    cross_point found;                 /* from the medians */
    bool earlier;                      /* it also holds at a smaller size, but not from there on: */
    double changes[CROSS_CHANGES_MAX]; /* sizes at which it begins or ceases to hold, increasing, */
    size_t nchanges;                   /* only the first ones of */
    size_t crossings;                  /* all of them */
    bool interval;                     /* all intervals are known: */
    cross_point early, late;           /* b at its best and a at its worst, and vice versa */
} crossover;

/* The size from which b takes less than `limit` of a's time. Pairs increase in size; n is 1 to
 * CROSS_PAIRS_MAX. */
crossover cross_find(const cross_pair *pairs, size_t n, double limit);

#endif
