/* SPDX-License-Identifier: Apache-2.0
 *
 * Order statistics of a few samples.
 */
#ifndef STATS_H
#define STATS_H

#include <stddef.h>

typedef struct stats {
    double median, p90, min, max;
    double low, high; /* confidence interval of the median; NAN for a single value */
} stats;

/* Sorts the values; count is at least 1. P90 is the nearest rank. The interval lies between two of
 * the values: the narrowest around the middle that contains the median of the distribution with at
 * least 95 % probability, for any distribution (by binomial ranks). With fewer than 6 values that
 * is impossible; then it spans all values: 93.8 % for 5, 87.5 % for 4, 75 % for 3. */
stats stats_of(double *values, size_t count);

#endif
