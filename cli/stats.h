/* SPDX-License-Identifier: Apache-2.0
 *
 * Order statistics of a few samples.
 */
#ifndef STATS_H
#define STATS_H

#include <stddef.h>

typedef struct stats {
    double median, p90, min, max;
} stats;

/* Sorts the values; count is at least 1. P90 is the nearest rank. */
stats stats_of(double *values, size_t count);

#endif
