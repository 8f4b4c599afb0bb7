/* SPDX-License-Identifier: Apache-2.0
 *
 * Order statistics (stats.h).
 */
#include "stats.h"

#include <math.h>
#include <stdlib.h>

static int ascending(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* The largest k such that fewer than k of n values lie below the median in at most 2.5 % of all
 * draws; at least 1. */
static size_t interval_rank(size_t n)
{
    double below = 0, log_total = (double)n * log(2);
    size_t k = 0;
    while (2 * k < n) {
        double ways = lgamma((double)n + 1) - lgamma((double)k + 1) - lgamma((double)(n - k) + 1);
        below += exp(ways - log_total); /* P(exactly k) */
        if (below > 0.025)
            break;
        k++;
    }
    return k ? k : 1;
}

stats stats_of(double *values, size_t count)
{
    qsort(values, count, sizeof *values, ascending);
    size_t half = count / 2, rank90 = (count * 9 + 9) / 10, rank = interval_rank(count);
    return (stats){
        .median = count % 2 ? values[half] : (values[half - 1] + values[half]) / 2,
        .p90 = values[rank90 - 1],
        .min = values[0],
        .max = values[count - 1],
        .low = count > 1 ? values[rank - 1] : NAN,
        .high = count > 1 ? values[count - rank] : NAN,
    };
}
