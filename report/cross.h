/* SPDX-License-Identifier: Apache-2.0
 *
 * From which size on one device is faster than another: measured points, straight lines
 * between them where both axes are logarithmic, and how far the answer may be off.
 */
#ifndef REPORT_CROSS_H
#define REPORT_CROSS_H

#include <stdbool.h>
#include <stddef.h>

/* "Clearly faster" is less than nine tenths of the other's time. */
#define CROSS_EVEN  1.0
#define CROSS_CLEAR 0.9

typedef enum cross_kind {
    CROSS_NEVER,  /* not at the largest size */
    CROSS_ALWAYS, /* at every size measured */
    CROSS_FROM    /* from `at` on, up to the largest size measured */
} cross_kind;

typedef struct cross_point {
    cross_kind kind;
    double at;            /* CROSS_ALWAYS: the smallest size measured; CROSS_NEVER: the largest */
    double after, before; /* CROSS_FROM: the sizes measured around it */
} cross_point;

/* The least size x such that the ratio is below `limit` everywhere above x.
 * Sizes rise, n is at least 1, all numbers are above 0. */
cross_point cross_from(const double *sizes, const double *ratio, size_t n, double limit);

/* Times of two devices at one size: medians, and the confidence intervals of the medians,
 * NAN where they are not known. */
typedef struct cross_pair {
    double size;
    double a, a_low, a_high;
    double b, b_low, b_high;
} cross_pair;

enum { CROSS_PAIRS_MAX = 512, CROSS_CHANGES_MAX = 8 };

typedef struct crossover {
    cross_point found;                 /* from the medians */
    bool earlier;                      /* it also holds at a smaller size, but not from there on: */
    double changes[CROSS_CHANGES_MAX]; /* sizes where it begins or ceases to hold, rising, */
    size_t nchanges;                   /* the first ones of them */
    bool interval;                     /* all intervals are known: */
    cross_point early, late; /* b at its best and a at its worst, and the other way round */
} crossover;

/* From where on b takes less than `limit` of a's time. Pairs rise in size; n is 1 to
 * CROSS_PAIRS_MAX. */
crossover cross_find(const cross_pair *pairs, size_t n, double limit);

#endif
