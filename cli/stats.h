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

/* Sorts the values; count is at least 1. P90 is the nearest rank. The interval is between two
 * of the values, the narrowest around the middle that holds the median of the distribution
 * with 95 % at least, whatever the distribution (ranks, by the binomial law). Fewer than 6
 * values cannot give that: then it is from the least to the most, 93.8 % for 5 of them,
 * 87.5 % for 4, 75 % for 3. */
stats stats_of(double *values, size_t count);

#endif
