/* SPDX-License-Identifier: Apache-2.0
 *
 * Crossovers compared with a slow version that knows nothing of brackets: it walks the curve from
 * the right in small steps. Also properties of every result.
 */
#include "support/harness.h"

#include <math.h>

#include "report/cross.h"

enum { POINTS_MAX = 12, STEPS = 3000 };

static double uniform(uint64_t *state)
{
    return (double)(gxt_next(state) >> 11) / 9007199254740992.0;
}

/* The curve at x: linear interpolation of logarithms. */
static double curve(const double *sizes, const double *ratio, size_t n, double x)
{
    for (size_t i = 0; i + 1 < n; i++)
        if (x <= sizes[i + 1]) {
            double part = (log(x) - log(sizes[i])) / (log(sizes[i + 1]) - log(sizes[i]));
            return exp((1 - part) * log(ratio[i]) + part * log(ratio[i + 1]));
        }
    return ratio[n - 1];
}

/* Whether a measured point from `low` to `high` is not below the limit: steps alone would miss
 * a curve that only touches it. */
static bool touches(const double *sizes, const double *ratio, size_t n, double low, double high,
                    double limit)
{
    for (size_t i = 0; i < n; i++)
        if (sizes[i] >= low && sizes[i] <= high && ratio[i] >= limit)
            return true;
    return false;
}

/* The last size, walking down from the largest, at which the ratio still holds; 0: none. */
static double walk(const double *sizes, const double *ratio, size_t n, double limit)
{
    double step = pow(sizes[n - 1] / sizes[0], 1.0 / STEPS), found = 0;
    for (int i = 0; i <= STEPS; i++) {
        double x = i == STEPS ? sizes[0] : sizes[n - 1] / pow(step, i);
        if (curve(sizes, ratio, n, x) >= limit * (1 - 1e-12) ||
            touches(sizes, ratio, n, x, found, limit))
            return found;
        found = x;
    }
    return found;
}

static size_t random_curve(uint64_t *state, double *sizes, double *ratio)
{
    size_t n = 1 + gxt_next(state) % POINTS_MAX;
    double size = 1 + uniform(state) * 1000;
    bool smooth = gxt_next(state) % 2;
    for (size_t i = 0; i < n; i++) {
        sizes[i] = size = size * (1.2 + 4 * uniform(state));
        /* decreasing with a little noise, like measurements; or anything */
        ratio[i] = smooth ? 4 / (1 + (double)i) * (0.9 + 0.2 * uniform(state))
                          : exp(2 * uniform(state) - 1);
        if (gxt_next(state) % 16 == 0)
            ratio[i] = 1;
    }
    return n;
}

static void as_the_slow_version(void **unused)
{
    (void)unused;
    uint64_t state = 1;
    unsigned kinds[3] = {0};
    for (int round = 0; round < (gxt_small() ? 400 : 2000); round++) {
        double sizes[POINTS_MAX], ratio[POINTS_MAX];
        size_t n = random_curve(&state, sizes, ratio);
        double limit = round % 2 ? CROSS_EVEN : CROSS_CLEAR;
        cross_point p = cross_from(sizes, ratio, n, limit);
        double slow = walk(sizes, ratio, n, limit);
        double step = n > 1 ? pow(sizes[n - 1] / sizes[0], 1.0 / STEPS) : 1;
        kinds[p.kind]++;
        switch (p.kind) {
        case CROSS_NEVER:
            assert_true(slow == 0);
            assert_true(p.at == sizes[n - 1]);
            break;
        case CROSS_ALWAYS:
            assert_true(slow == sizes[0] && p.at == sizes[0]);
            break;
        case CROSS_FROM:
            assert_true(p.after < p.before && p.at >= p.after && p.at <= p.before);
            if (slow == 0) /* it begins within the first step */
                slow = sizes[n - 1];
            assert_true(slow / p.at >= 1 / (1 + 1e-9) && slow / p.at <= step * (1 + 1e-9));
            assert_true(curve(sizes, ratio, n, p.at) > limit * (1 - 1e-9));
            break;
        }
    }
    for (int k = 0; k < 3; k++) /* each kind occurred */
        assert_true(kinds[k] > 5);
}

static void exact_points(void **unused)
{
    (void)unused;
    const double sizes[] = {1000, 10000, 100000};
    const double falls[] = {10, 0.1, 0.01}, meets[] = {2, 1, 0.5}, back[] = {0.5, 2, 0.5};
    cross_point p = cross_from(sizes, falls, 3, 1);
    assert_int_equal(p.kind, CROSS_FROM);
    assert_true(fabs(p.at / 3162.2776601683795 - 1) < 1e-12); /* half-way, in logarithms */
    p = cross_from(sizes, meets, 3, 1);
    assert_true(p.kind == CROSS_FROM && p.at == 10000);
    p = cross_from(sizes, back, 3, 1);
    assert_true(p.kind == CROSS_FROM && p.after == 10000 && p.before == 100000);
    p = cross_from(sizes, back, 1, 1);
    assert_int_equal(p.kind, CROSS_ALWAYS);
    p = cross_from(sizes, falls, 1, 1);
    assert_int_equal(p.kind, CROSS_NEVER);
}

static double rank(const cross_point *p)
{
    return p->kind == CROSS_NEVER ? INFINITY : p->at;
}

static void intervals_enclose(void **unused)
{
    (void)unused;
    uint64_t state = 7;
    for (int round = 0; round < (gxt_small() ? 400 : 2000); round++) {
        double sizes[POINTS_MAX], ratio[POINTS_MAX];
        cross_pair pairs[POINTS_MAX];
        size_t n = random_curve(&state, sizes, ratio);
        for (size_t i = 0; i < n; i++) {
            double a = 1 + 100 * uniform(&state), w = 0.2 * uniform(&state);
            double b = a * ratio[i];
            pairs[i] =
                (cross_pair){sizes[i], a, a * (1 - w), a * (1 + w), b, b * (1 - w), b * (1 + w)};
        }
        crossover c = cross_find(pairs, n, CROSS_EVEN);
        assert_true(c.interval);
        assert_true(rank(&c.early) <= rank(&c.found) * (1 + 1e-12));
        assert_true(rank(&c.found) <= rank(&c.late) * (1 + 1e-12));
        /* "clearly faster" never begins before "faster" */
        crossover clear = cross_find(pairs, n, CROSS_CLEAR);
        assert_true(rank(&clear.found) >= rank(&c.found) * (1 - 1e-12));
        /* at the largest size one of them is faster, except for a tie */
        for (size_t i = 0; i < n; i++) {
            cross_pair p = pairs[i];
            pairs[i] = (cross_pair){p.size, p.b, p.b_low, p.b_high, p.a, p.a_low, p.a_high};
        }
        crossover other = cross_find(pairs, n, CROSS_EVEN);
        assert_true(c.found.kind != CROSS_NEVER || other.found.kind != CROSS_NEVER ||
                    fmax(ratio[n - 1], 1 / ratio[n - 1]) <= 1.005);
        pairs[n / 2].a_low = NAN;
        assert_false(cross_find(pairs, n, CROSS_EVEN).interval);
    }
}

static void earlier_wins_are_told(void **unused)
{
    (void)unused;
    const double b[] = {5, 20, 5}, c[] = {20, 20, 5}, d[] = {5, 20, 20};
    const double *const all[] = {b, c, d};
    const bool told[] = {true, false, true};
    const size_t changes[] = {2, 1, 1};
    for (size_t k = 0; k < 3; k++) {
        cross_pair pairs[3];
        for (size_t i = 0; i < 3; i++)
            pairs[i] = (cross_pair){
                1000 * pow(10, (double)i), 10, 9, 11, all[k][i], all[k][i] - 1, all[k][i] + 1};
        crossover x = cross_find(pairs, 3, CROSS_EVEN);
        assert_int_equal(x.earlier, told[k]);
        assert_int_equal(x.nchanges, changes[k]);
        for (size_t i = 0; i < x.nchanges; i++) /* half-way between sizes, as 5 and 20 are of 10 */
            assert_true(fabs(log10(x.changes[i]) - (k == 1 ? 4.5 : 3.5 + (double)i)) < 1e-9);
        if (x.found.kind == CROSS_FROM)
            assert_true(x.changes[x.nchanges - 1] == x.found.at);
    }
}

/* All are counted, even if only the first are listed: one faster at every other size. */
static void crossings_are_counted(void **unused)
{
    (void)unused;
    for (size_t n = 1; n <= 30; n++) {
        cross_pair pairs[30];
        for (size_t i = 0; i < n; i++)
            pairs[i] = (cross_pair){(double)(i + 1), 10, 9, 11, i % 2 ? 5 : 20, 1, 30};
        crossover x = cross_find(pairs, n, CROSS_EVEN);
        assert_int_equal(x.crossings, n - 1);
        assert_int_equal(x.nchanges, n - 1 < CROSS_CHANGES_MAX ? n - 1 : CROSS_CHANGES_MAX);
        for (size_t i = 0; i < x.nchanges; i++)
            assert_true(x.changes[i] > (double)(i + 1) && x.changes[i] < (double)(i + 2));
    }
}

/* Half a per cent is no win, in either direction; more is. */
static void ties_are_no_wins(void **unused)
{
    (void)unused;
    const double b[][3] = {{10.04, 9.96, 10.04}, {5, 5, 9.96}, {10.04, 9.96, 9.94}};
    const cross_kind forward[] = {CROSS_NEVER, CROSS_NEVER, CROSS_FROM};
    for (size_t k = 0; k < 3; k++) {
        cross_pair there[3], back[3];
        for (size_t i = 0; i < 3; i++) {
            double size = pow(10, (double)i + 3);
            there[i] = (cross_pair){size, 10, 10, 10, b[k][i], b[k][i], b[k][i]};
            back[i] = (cross_pair){size, b[k][i], b[k][i], b[k][i], 10, 10, 10};
        }
        assert_int_equal(cross_find(there, 3, CROSS_EVEN).found.kind, forward[k]);
        assert_int_equal(cross_find(back, 3, CROSS_EVEN).found.kind, CROSS_NEVER);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(as_the_slow_version),   cmocka_unit_test(exact_points),
        cmocka_unit_test(intervals_enclose),     cmocka_unit_test(earlier_wins_are_told),
        cmocka_unit_test(crossings_are_counted), cmocka_unit_test(ties_are_no_wins),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
