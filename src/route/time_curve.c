/* SPDX-License-Identifier: Apache-2.0
 *
 * Predicting from a curve and learning into it (time_curve.h).
 */
#include "route/time_curve.h"

#include <string.h>

#include "base/clock.h"

#define FIRST_SIZE 64
/* A point holds for sizes within the factor NEAR, the last of at least RATE_POINTS within FAR. */
#define NEAR        8.0
#define FAR         64.0
#define RATE_POINTS 3
/* A size within this factor of a point counts for that point only; others for both neighbours. */
#define OWN_SIZE 1.02
double gx__time_point_size(int index)
{
    return (double)((uint64_t)FIRST_SIZE << index);
}

/* ---- predicting ---- */

/* bits is not 0. */
static int lowest(uint32_t bits)
{
    return __builtin_ctz(bits);
}

static int highest(uint32_t bits)
{
    return 31 - __builtin_clz(bits);
}

/* The last point at or below n; -1: n is below the first. */
static int index_below(double n)
{
    uint64_t units = (uint64_t)(n / FIRST_SIZE);
    int index = units ? 63 - __builtin_clzll(units) : -1;
    return index < GX_TIME_POINTS ? index : GX_TIME_POINTS - 1;
}

int gx__time_point_index(uint64_t n)
{
    int index = index_below((double)n);
    return index >= 0 && gx__time_point_size(index) == (double)n ? index : -1;
}

/* The two known points around n, or else the two nearest; from == to if only one is known. */
struct line {
    int from, to;
};

static struct line line_for(uint32_t known, double n)
{
    int below = index_below(n);
    uint32_t lower = below < 0 ? 0 : known & ((2u << below) - 1), upper = known & ~lower;
    if (!lower) {
        int first = lowest(upper);
        upper &= upper - 1;
        return (struct line){first, upper ? lowest(upper) : first};
    }
    int last = highest(lower);
    lower &= ~(1u << last);
    if (upper)
        return (struct line){last, lowest(upper)};
    return (struct line){lower ? highest(lower) : last, last};
}

static bool is_near(uint32_t known, struct line line, double n)
{
    double from = gx__time_point_size(line.from), to = gx__time_point_size(line.to);
    if (n < from)
        return n == 0 || (n < FIRST_SIZE ? FIRST_SIZE : n) * NEAR >= from;
    if (n <= to)
        return n <= from * NEAR || n * NEAR >= to;
    return n <= to * NEAR || line.to == GX_TIME_POINTS - 1 ||
           (n <= to * FAR && __builtin_popcount(known) >= RATE_POINTS);
}

static double clamp(double x, double least, double most)
{
    return x < least ? least : x > most ? most : x;
}

/* The line through (x0, y0) and (x1, y1) at n. Below x0 its value at 0, the launch cost, is limited
 * to 0 .. y0; beyond x1 its slope is at least `least`. */
static double on_line(double x0, double y0, double x1, double y1, double n, double least)
{
    double slope = x1 > x0 ? (y1 - y0) / (x1 - x0) : y0 / x0;
    if (n < x0) {
        double launch = clamp(y0 - slope * x0, 0, y0);
        return launch + (y0 - launch) * (n / x0);
    }
    if (n > x1)
        return y1 + (slope > least ? slope : least) * (n - x1);
    return y0 + slope * (n - x0);
}

/* The minimum slope beyond the last point: half of the average up to there. Without it, two points
 * that noise made level would predict that more elements cost nothing. */
static double least_slope(const struct gx_time_curve *curve, uint32_t known, struct line line)
{
    int first = lowest(known);
    double rise = gx__get(&curve->point[line.to].ns) - gx__get(&curve->point[first].ns);
    return rise > 0 ? rise / (gx__time_point_size(line.to) - gx__time_point_size(first)) / 2 : 0;
}

bool gx__time_curve_predict(const struct gx_time_curve *curve, double n, struct gx_prediction *p)
{
    uint32_t known = atomic_load_explicit(&curve->known, memory_order_acquire);
    if (!known)
        return false;
    struct line line = line_for(known, n);
    if (!is_near(known, line, n))
        return false;
    const struct gx_time_point *from = &curve->point[line.from], *to = &curve->point[line.to];
    double x0 = gx__time_point_size(line.from), x1 = gx__time_point_size(line.to);
    double least = n > x1 ? least_slope(curve, known, line) : 0;
    p->ns = on_line(x0, gx__get(&from->ns), x1, gx__get(&to->ns), n, least);
    p->slow_ns = on_line(x0, gx__get(&from->slow_ns), x1, gx__get(&to->slow_ns), n, least);
    p->ns = p->ns < GX_PREDICTION_MAX ? p->ns : GX_PREDICTION_MAX;
    p->slow_ns = clamp(p->slow_ns, p->ns, GX_PREDICTION_MAX);
    return true;
}

/* ---- learning ---- */

/* Sets the times of a point from its samples: the median, the lower one of two because delays are
 * the exception, and the second largest. */
static void settle(struct gx_time_point *point)
{
    float sorted[GX_SAMPLES] = {0};
    uint32_t n = point->count;
    for (uint32_t i = 0; i < n; i++) {
        uint32_t at = i;
        for (; at > 0 && sorted[at - 1] > point->sample[i]; at--)
            sorted[at] = sorted[at - 1];
        sorted[at] = point->sample[i];
    }
    atomic_store_explicit(&point->ns, sorted[(n - 1) / 2], memory_order_relaxed);
    atomic_store_explicit(&point->slow_ns, sorted[n > 2 ? n - 2 : n - 1], memory_order_relaxed);
}

float gx__time_sample(double ns)
{
    return (float)clamp(ns, (double)GX_SAMPLE_NS_MIN, (double)GX_SAMPLE_NS_MAX);
}

/* Updates a point from its samples and marks it as known. */
static void publish(struct gx_time_curve *curve, int index, uint32_t date)
{
    struct gx_time_point *point = &curve->point[index];
    settle(point);
    atomic_store_explicit(&point->date, date, memory_order_relaxed);
    atomic_fetch_or_explicit(&curve->known, 1u << index, memory_order_release);
}

static void add_sample(struct gx_time_curve *curve, int index, double ns)
{
    struct gx_time_point *point = &curve->point[index];
    if (point->count == GX_SAMPLES) {
        memmove(point->sample, point->sample + 1, sizeof point->sample - sizeof *point->sample);
        point->count--;
        point->guesses -= point->guesses > 0;
    }
    point->sample[point->count++] = gx__time_sample(ns);
    publish(curve, index, gx__date_s());
}

/* How many guesses an empty point begins with: 2 between known points, 1 beyond them, none if there
 * is only one, which says nothing about the launch cost. */
static uint8_t guess_count(uint32_t known, int index)
{
    uint32_t before = known & ((1u << index) - 1);
    return !(known & (known - 1)) ? 0 : before && before != known ? 2 : 1;
}

/* Learns a size whose point is empty. The point begins with guesses, so that a single outlier does
 * not become its time. */
static void learn_new(struct gx_time_curve *curve, int index, double n, double ns)
{
    struct gx_time_point *point = &curve->point[index];
    struct gx_prediction here, there;
    bool told = gx__time_curve_predict(curve, n, &here) &&
                gx__time_curve_predict(curve, gx__time_point_size(index), &there);
    if (!told && 2 * n < FIRST_SIZE) /* how much is launch cost is unknown */
        return;
    point->guesses = told ? guess_count(curve->known, index) : 0;
    for (point->count = 0; point->count < point->guesses; point->count++)
        point->sample[point->count] = gx__time_sample(there.ns);
    add_sample(curve, index, ns * (told ? there.ns / here.ns : gx__time_point_size(index) / n));
}

/* Scales a measurement of n elements to the size of a point by the shape of the curve. The factor
 * is limited to what launch costs (constant time) and caches (quadratic) can explain, so that a
 * wrong point does not mislead its neighbours. */
static double scaled_to(const struct gx_time_curve *curve, int index, double n, double ns,
                        double predicted)
{
    double size = gx__time_point_size(index) / n, by = gx__get(&curve->point[index].ns) / predicted;
    return ns * (size > 1 ? clamp(by, 1, size * size) : clamp(by, size * size, 1));
}

void gx__time_curve_learn(struct gx_time_curve *curve, double n, double ns)
{
    int index = index_below(n), other;
    index = index < 0 ? 0 : index;
    if (index + 1 < GX_TIME_POINTS &&
        n * n > gx__time_point_size(index) * gx__time_point_size(index + 1))
        index++;
    struct gx_prediction p;
    if (!gx__time_curve_knows(curve, index) || !gx__time_curve_predict(curve, n, &p)) {
        learn_new(curve, index, n, ns);
        return;
    }
    double off = n / gx__time_point_size(index), here = scaled_to(curve, index, n, ns, p.ns),
           there = 0;
    other = off > 1 ? index + 1 : index - 1;
    bool both = gx__time_curve_knows(curve, other) && (off > OWN_SIZE || off < 1 / OWN_SIZE);
    if (both)
        there = scaled_to(curve, other, n, ns, p.ns);
    add_sample(curve, index, here);
    if (both)
        add_sample(curve, other, there);
}

void gx__time_curve_replace(struct gx_time_curve *curve, int index, const float *ns, uint32_t count,
                            uint32_t guesses, uint32_t date)
{
    struct gx_time_point *point = &curve->point[index];
    point->count = (uint8_t)count;
    point->guesses = (uint8_t)guesses;
    memcpy(point->sample, ns, count * sizeof *ns);
    publish(curve, index, date);
}

void gx__time_curve_forget(struct gx_time_curve *curve, uint32_t since)
{
    atomic_store(&curve->known, 0);
    curve->since = since;
    for (int i = 0; i < GX_TIME_POINTS; i++)
        curve->point[i].count = 0;
}
