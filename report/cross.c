/* SPDX-License-Identifier: Apache-2.0
 *
 * Crossovers (cross.h). The answer is monotone: a larger ratio anywhere never makes it
 * smaller, so that the best and the worst case of the medians enclose it.
 */
#include "report/cross.h"

#include <math.h>

cross_point cross_from(const double *sizes, const double *ratio, size_t n, double limit)
{
    size_t i = n; /* all of i, i + 1, ... hold */
    while (i > 0 && ratio[i - 1] < limit)
        i--;
    if (i == n)
        return (cross_point){.kind = CROSS_NEVER, .at = sizes[n - 1]};
    if (i == 0)
        return (cross_point){.kind = CROSS_ALWAYS, .at = sizes[0]};
    double above = log(ratio[i - 1] / limit), below = log(ratio[i] / limit);
    double part = above / (above - below); /* above >= 0 > below */
    double at = sizes[i - 1] * pow(sizes[i] / sizes[i - 1], part);
    return (cross_point){
        .kind = CROSS_FROM,
        .at = fmin(fmax(at, sizes[i - 1]), sizes[i]),
        .after = sizes[i - 1],
        .before = sizes[i],
    };
}

crossover cross_find(const cross_pair *pairs, size_t n, double limit)
{
    double sizes[CROSS_PAIRS_MAX] = {0}, ratio[CROSS_PAIRS_MAX] = {0};
    double least[CROSS_PAIRS_MAX] = {0}, most[CROSS_PAIRS_MAX] = {0};
    crossover c = {.interval = true};
    for (size_t i = 0; i < n; i++) {
        sizes[i] = pairs[i].size;
        ratio[i] = pairs[i].b / pairs[i].a;
        least[i] = pairs[i].b_low / pairs[i].a_high;
        most[i] = pairs[i].b_high / pairs[i].a_low;
        c.interval = c.interval && isfinite(least[i]) && isfinite(most[i]);
    }
    c.found = cross_from(sizes, ratio, n, limit);
    for (size_t i = 0; i < n; i++) /* what is from `before` on was asked for */
        c.earlier = c.earlier || (ratio[i] < limit &&
                                  (c.found.kind == CROSS_NEVER || sizes[i] < c.found.before));
    if (c.interval) {
        c.early = cross_from(sizes, least, n, limit);
        c.late = cross_from(sizes, most, n, limit);
    }
    return c;
}
