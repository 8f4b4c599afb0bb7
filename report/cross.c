/* SPDX-License-Identifier: Apache-2.0
 *
 * Crossovers (cross.h). The result is monotone: a larger ratio anywhere never makes it smaller, so
 * the best and the worst case of the medians bound it.
 */
#include "report/cross.h"

#include <math.h>

bool cross_is_tie(double a, double b)
{
    return a <= CROSS_TIE * b && b <= CROSS_TIE * a;
}

/* b / a; 1 for a tie. A larger b still never makes it smaller. */
static double ratio_of(double b, double a)
{
    return cross_is_tie(a, b) ? 1 : b / a;
}

/* Where the line from point i - 1 to i crosses the limit; the points lie on opposite sides. */
static double between(const double *sizes, const double *ratio, size_t i, double limit)
{
    double first = log(ratio[i - 1] / limit), second = log(ratio[i] / limit);
    double at = sizes[i - 1] * pow(sizes[i] / sizes[i - 1], first / (first - second));
    return fmin(fmax(at, sizes[i - 1]), sizes[i]);
}

cross_point cross_from(const double *sizes, const double *ratio, size_t n, double limit)
{
    size_t i = n; /* holds for all of i, i + 1, ... */
    while (i > 0 && ratio[i - 1] < limit)
        i--;
    if (i == n)
        return (cross_point){.kind = CROSS_NEVER, .at = sizes[n - 1]};
    if (i == 0)
        return (cross_point){.kind = CROSS_ALWAYS, .at = sizes[0]};
    return (cross_point){
        .kind = CROSS_FROM,
        .at = between(sizes, ratio, i, limit),
        .after = sizes[i - 1],
        .before = sizes[i],
    };
}

static void find_changes(const double *sizes, const double *ratio, size_t n, double limit,
                         crossover *c)
{
    for (size_t i = 1; i < n; i++)
        if ((ratio[i - 1] < limit) != (ratio[i] < limit)) {
            c->crossings++;
            if (c->nchanges < CROSS_CHANGES_MAX)
                c->changes[c->nchanges++] = between(sizes, ratio, i, limit);
        }
}

crossover cross_find(const cross_pair *pairs, size_t n, double limit)
{
    double sizes[CROSS_PAIRS_MAX] = {0}, ratio[CROSS_PAIRS_MAX] = {0};
    double least[CROSS_PAIRS_MAX] = {0}, most[CROSS_PAIRS_MAX] = {0};
    crossover c = {.interval = true};
    for (size_t i = 0; i < n; i++) {
        sizes[i] = pairs[i].size;
        ratio[i] = ratio_of(pairs[i].b, pairs[i].a);
        least[i] = ratio_of(pairs[i].b_low, pairs[i].a_high);
        most[i] = ratio_of(pairs[i].b_high, pairs[i].a_low);
        c.interval = c.interval && isfinite(least[i]) && isfinite(most[i]);
    }
    c.found = cross_from(sizes, ratio, n, limit);
    find_changes(sizes, ratio, n, limit, &c);
    for (size_t i = 0; i < n; i++) /* anything from `before` on was requested */
        c.earlier = c.earlier || (ratio[i] < limit &&
                                  (c.found.kind == CROSS_NEVER || sizes[i] < c.found.before));
    if (c.interval) {
        c.early = cross_from(sizes, least, n, limit);
        c.late = cross_from(sizes, most, n, limit);
    }
    return c;
}
