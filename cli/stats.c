/* SPDX-License-Identifier: Apache-2.0
 *
 * Order statistics (stats.h).
 */
#include "stats.h"

#include <stdlib.h>

static int ascending(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

stats stats_of(double *values, size_t count)
{
    qsort(values, count, sizeof *values, ascending);
    size_t half = count / 2, rank90 = (count * 9 + 9) / 10;
    return (stats){
        .median = count % 2 ? values[half] : (values[half - 1] + values[half]) / 2,
        .p90 = values[rank90 - 1],
        .min = values[0],
        .max = values[count - 1],
    };
}
