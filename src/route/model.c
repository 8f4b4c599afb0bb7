/* SPDX-License-Identifier: Apache-2.0
 *
 * A curve per kind of job: at sizes that are powers of two the last few measurements, whose
 * median is what a job of that size takes. So one outlier changes nothing, and what has
 * really changed is known after three calls. A call of a size between two points counts for
 * both, by the shape that the curve has there.
 *
 * Readers take no lock: what a point says is atomic, a curve's points are marked as known
 * after they were set, and a curve once made stays until the model is closed. A reader that
 * meets a writer may get one point of before and one of after, which is a guess as good as
 * either.
 */
#include "route/model.h"

#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "route/store.h"

#define FIRST_SIZE 64
/* How far a point holds, and the last one of at least RATE_POINTS. */
#define NEAR        8.0
#define FAR         64.0
#define RATE_POINTS 3
/* Sizes that are within this factor of a point are its own; between, both neighbours move. */
#define OWN_SIZE 1.02
/* Three samples in a row that agree within the second factor, and are by the first one off
 * from where the point was before, are a device that changed, and not only at that size:
 * sizes that were not measured since move too, less and less up to this many points away. */
#define CHANGE       1.5
#define CHANGE_AGREE 1.25
#define CHANGE_REACH 6
/* What is older counts as never measured. */
#define STALE_S (30u * 24 * 3600)
/* Clocks of two machines that share a folder, or one that was set. */
#define FUTURE_S (24u * 3600)

struct point {
    _Atomic double ns, slow_ns; /* of meaning where the curve knows it */
    _Atomic uint32_t date;
    /* under the lock: */
    uint32_t count;
    uint32_t guesses;          /* of these, the oldest */
    float sample[GX_SAMPLES];  /* the oldest first */
    uint64_t turn[GX_SAMPLES]; /* of the curve, when it was taken */
    double level;              /* that its samples last agreed on */
};

struct curve {
    _Atomic uint32_t known; /* a bit for each point */
    /* under the lock: */
    uint64_t turns;
    uint32_t since; /* what was saved with an older date was to be forgotten */
    struct point point[GX_POINTS];
};

struct gx_model {
    struct gx_instance *instance;
    char device[sizeof((gx_device_info *)0)->name];
    struct gx_store store;
    struct curve *_Atomic curves[GX_KINDS];
    _Atomic double next_ns;
    pthread_mutex_t lock; /* changing it */
    bool changed;         /* since it was read or saved */
    uint32_t since;
};

static double size_of(int index)
{
    return (double)((uint64_t)FIRST_SIZE << index);
}

/* 1 to last; 0 wraps around. */
static bool within(unsigned value, unsigned last)
{
    return value - 1 < last;
}

static bool valid(const struct gx_kind *kind)
{
    return within(kind->op, GX_KIND_OPS) && within(kind->field, GX_KIND_FIELDS) &&
           within(kind->residency, GX_KIND_RESIDENCIES) && (unsigned)kind->path < GX_KIND_PATHS;
}

static size_t number_of(const struct gx_kind *kind)
{
    size_t number = (size_t)kind->op - 1;
    number = number * GX_KIND_FIELDS + (size_t)kind->field - 1;
    number = number * GX_KIND_RESIDENCIES + (size_t)kind->residency - 1;
    return number * GX_KIND_PATHS + (size_t)kind->path;
}

static struct gx_kind kind_of(size_t number)
{
    struct gx_kind kind;
    kind.path = (gx_path)(number % GX_KIND_PATHS);
    number /= GX_KIND_PATHS;
    kind.residency = (gx_residency)(number % GX_KIND_RESIDENCIES + 1);
    number /= GX_KIND_RESIDENCIES;
    kind.field = (gx_field)(number % GX_KIND_FIELDS + 1);
    kind.op = (gx_op)(number / GX_KIND_FIELDS + 1);
    return kind;
}

static struct curve *find(const struct gx_model *model, const struct gx_kind *kind)
{
    return atomic_load_explicit(&model->curves[number_of(kind)], memory_order_acquire);
}

/* ---- predicting ---- */

/* Bits there are. */
static int lowest(uint32_t bits)
{
    return __builtin_ctz(bits);
}

static int highest(uint32_t bits)
{
    return 31 - __builtin_clz(bits);
}

/* The last point at or below n; -1: it is below the first. */
static int index_below(double n)
{
    uint64_t units = (uint64_t)(n / FIRST_SIZE);
    int index = units ? 63 - __builtin_clzll(units) : -1;
    return index < GX_POINTS ? index : GX_POINTS - 1;
}

/* The two known points that n is between, or the two that are nearest to it; from == to where
 * there is but one. There is one. */
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

static bool reaches(uint32_t known, struct line line, double n)
{
    double from = size_of(line.from), to = size_of(line.to);
    if (n < from)
        return n == 0 || (n < FIRST_SIZE ? FIRST_SIZE : n) * NEAR >= from;
    if (n <= to)
        return n <= from * NEAR || n * NEAR >= to;
    return n <= to * NEAR || line.to == GX_POINTS - 1 ||
           (n <= to * FAR && __builtin_popcount(known) >= RATE_POINTS);
}

static double clamp(double x, double least, double most)
{
    return x < least ? least : x > most ? most : x;
}

/* The line through (x0, y0) and (x1, y1) at n, but its launch cost is from 0 to y0, and
 * beyond x1 an element costs at least so much. */
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

static double get(const _Atomic double *value)
{
    return atomic_load_explicit(value, memory_order_relaxed);
}

/* What an element costs beyond the last point, at least: half of what it did from the first
 * one to there. Two points that noise made level would promise anything. */
static double least_slope(const struct curve *curve, uint32_t known, struct line line)
{
    int first = lowest(known);
    double rise = get(&curve->point[line.to].ns) - get(&curve->point[first].ns);
    return rise > 0 ? rise / (size_of(line.to) - size_of(first)) / 2 : 0;
}

static bool predict(const struct curve *curve, double n, struct gx_prediction *p)
{
    uint32_t known = atomic_load_explicit(&curve->known, memory_order_acquire);
    if (!known)
        return false;
    struct line line = line_for(known, n);
    if (!reaches(known, line, n))
        return false;
    const struct point *from = &curve->point[line.from], *to = &curve->point[line.to];
    double x0 = size_of(line.from), x1 = size_of(line.to);
    double least = n > x1 ? least_slope(curve, known, line) : 0;
    p->ns = on_line(x0, get(&from->ns), x1, get(&to->ns), n, least);
    p->slow_ns = on_line(x0, get(&from->slow_ns), x1, get(&to->slow_ns), n, least);
    p->ns = p->ns < GX_PREDICTION_MAX ? p->ns : GX_PREDICTION_MAX;
    p->slow_ns = clamp(p->slow_ns, p->ns, GX_PREDICTION_MAX);
    const struct point *near = n - x0 < x1 - n ? from : to;
    p->date = atomic_load_explicit(&near->date, memory_order_relaxed);
    return true;
}

/* The operation among those that calibration measures that takes about as long. */
static gx_op like(gx_op op)
{
    switch (op) {
    case GX_SUB:
    case GX_NEG:
        return GX_ADD;
    case GX_SQR:
    case GX_MUL_ADD:
    case GX_TO_MONT:
    case GX_FROM_MONT:
        return GX_MUL;
    case GX_DIV:
        return GX_INV;
    default:
        return op;
    }
}

/* Eight kinds at most, the one that is most like it first: bit 0 of `step` is another path,
 * bit 1 another operation, bit 2 other memory. False where that is no other kind. */
static bool kin(const struct gx_kind *kind, int step, struct gx_kind *other)
{
    *other = *kind;
    if (step & 1)
        other->path = GX_PATH_AUTO;
    if (step & 2)
        other->op = like(kind->op);
    if (step & 4)
        other->residency =
            kind->residency == GX_REGISTERED_MEMORY ? GX_HOST_MEMORY : kind->residency;
    return !((step & 1 && other->path == kind->path) || (step & 2 && other->op == kind->op) ||
             (step & 4 && other->residency == kind->residency));
}

bool gx__model_predict(const struct gx_model *model, const struct gx_kind *kind, double n,
                       struct gx_prediction *prediction)
{
    if (!valid(kind) || !(n >= 0 && n < GX_PREDICTION_MAX)) /* NaN is neither */
        return false;
    for (int step = 0; step < 8; step++) {
        struct gx_kind other;
        if (!kin(kind, step, &other))
            continue;
        const struct curve *curve = find(model, &other);
        if (curve && predict(curve, n, prediction)) {
            prediction->borrowed = step > 0;
            return true;
        }
    }
    return false;
}

double gx__model_next_ns(const struct gx_model *model)
{
    return get(&model->next_ns);
}

/* ---- learning; all of it under the lock ---- */

static void set(_Atomic double *value, double to)
{
    atomic_store_explicit(value, to, memory_order_relaxed);
}

/* What a point says, from its samples. Of two the lower is the usual one: it is delays that
 * are the exception. */
static void settle(struct point *point)
{
    float sorted[GX_SAMPLES] = {0};
    uint32_t n = point->count;
    for (uint32_t i = 0; i < n; i++) {
        uint32_t at = i;
        for (; at > 0 && sorted[at - 1] > point->sample[i]; at--)
            sorted[at] = sorted[at - 1];
        sorted[at] = point->sample[i];
    }
    set(&point->ns, (double)sorted[(n - 1) / 2]);
    set(&point->slow_ns, (double)sorted[n > 2 ? n - 2 : n - 1]);
}

static float bounded(double ns)
{
    return (float)clamp(ns, (double)GX_SAMPLE_NS_MIN, (double)GX_SAMPLE_NS_MAX);
}

static void scale(struct point *point, double by, uint64_t turn)
{
    for (uint32_t i = 0; i < point->count; i++)
        point->sample[i] = bounded((double)point->sample[i] * by);
    point->turn[point->count - 1] = turn; /* this change is in it now */
    point->level *= by;
    settle(point);
}

/* Of a point with all its samples. */
static bool agree(const struct point *point)
{
    double low = (double)GX_SAMPLE_NS_MAX, high = 0;
    for (int i = GX_SAMPLES / 2; i < GX_SAMPLES; i++) {
        low = point->sample[i] < low ? point->sample[i] : low;
        high = point->sample[i] > high ? point->sample[i] : high;
    }
    return high <= low * CHANGE_AGREE;
}

/* A point has moved by `change`: so have others that were last measured before the three
 * samples that moved it. */
static void spread(struct curve *curve, int index, double change)
{
    uint64_t began = curve->point[index].turn[GX_SAMPLES / 2];
    for (int i = 0; i < GX_POINTS; i++) {
        struct point *other = &curve->point[i];
        int apart = i < index ? index - i : i - index;
        if (!other->count || apart >= CHANGE_REACH || other->turn[other->count - 1] >= began)
            continue;
        double part = 1 - (double)apart / CHANGE_REACH;
        double by = change > 1 ? 1 + (change - 1) * part : 1 / (1 + (1 / change - 1) * part);
        scale(other, by, curve->turns);
    }
}

/* The point is what its samples say, and known. */
static void publish(struct curve *curve, int index, uint32_t date)
{
    struct point *point = &curve->point[index];
    settle(point);
    atomic_store_explicit(&point->date, date, memory_order_relaxed);
    atomic_fetch_or_explicit(&curve->known, 1u << index, memory_order_release);
}

static void add_sample(struct curve *curve, int index, double ns)
{
    struct point *point = &curve->point[index];
    if (point->count == GX_SAMPLES) {
        memmove(point->sample, point->sample + 1, sizeof point->sample - sizeof *point->sample);
        memmove(point->turn, point->turn + 1, sizeof point->turn - sizeof *point->turn);
        point->count--;
        point->guesses -= point->guesses > 0;
    }
    point->sample[point->count] = bounded(ns);
    point->turn[point->count++] = curve->turns;
    publish(curve, index, gx__date_s());
    double before = point->level, now = get(&point->ns);
    if (point->count == GX_SAMPLES && !agree(point))
        return;
    point->level = now;
    if (point->count == GX_SAMPLES && (now > before * CHANGE || now * CHANGE < before))
        spread(curve, index, now / before);
}

static bool knows(const struct curve *curve, int index)
{
    return index >= 0 && index < GX_POINTS && curve->known >> index & 1;
}

/* What the other points say of an empty one, in samples: more between two of them than
 * beyond the last, and a lone one knows nothing of launch costs. */
static uint32_t guess(uint32_t known, int index)
{
    uint32_t before = known & ((1u << index) - 1);
    return !(known & (known - 1)) ? 0 : before && before != known ? 2 : 1;
}

/* Of a size whose point is empty. It begins with a guess, not with an outlier. */
static void learn_new(struct curve *curve, int index, double n, double ns)
{
    struct point *point = &curve->point[index];
    struct gx_prediction here, there;
    bool told = predict(curve, n, &here) && predict(curve, size_of(index), &there);
    if (!told && 2 * n < FIRST_SIZE) /* mostly launch cost, or not: nothing tells */
        return;
    point->guesses = told ? guess(curve->known, index) : 0;
    for (point->count = 0; point->count < point->guesses; point->count++) {
        point->sample[point->count] = bounded(there.ns);
        point->turn[point->count] = curve->turns;
    }
    add_sample(curve, index, ns * (told ? there.ns / here.ns : size_of(index) / n));
}

/* What the call of n elements that took ns says of a point: as much more as the curve is
 * higher there, but not outside of what there can be between all launch cost and the edge of
 * a cache. So a point that is wrong does not mislead its neighbours. */
static double moved(const struct curve *curve, int index, double n, double ns, double predicted)
{
    double size = size_of(index) / n, by = get(&curve->point[index].ns) / predicted;
    return ns * (size > 1 ? clamp(by, 1, size * size) : clamp(by, size * size, 1));
}

static void learn(struct curve *curve, double n, double ns)
{
    int index = index_below(n), other;
    index = index < 0 ? 0 : index;
    if (index + 1 < GX_POINTS && n * n > size_of(index) * size_of(index + 1))
        index++;
    curve->turns++;
    struct gx_prediction p;
    if (!knows(curve, index) || !predict(curve, n, &p)) {
        learn_new(curve, index, n, ns);
        return;
    }
    double off = n / size_of(index), here = moved(curve, index, n, ns, p.ns), there = 0;
    other = off > 1 ? index + 1 : index - 1;
    bool both = knows(curve, other) && (off > OWN_SIZE || off < 1 / OWN_SIZE);
    if (both)
        there = moved(curve, other, n, ns, p.ns);
    add_sample(curve, index, here);
    if (both)
        add_sample(curve, other, there);
}

/* NULL: no memory. */
static struct curve *make(struct gx_model *model, const struct gx_kind *kind)
{
    struct curve *curve = find(model, kind);
    if (!curve) {
        curve = gx__alloc(&model->instance->config.allocator, sizeof *curve);
        atomic_store_explicit(&model->curves[number_of(kind)], curve, memory_order_release);
    }
    return curve;
}

void gx__model_learn(struct gx_model *model, const struct gx_kind *kind, uint64_t n, uint64_t ns)
{
    if (!valid(kind) || !n || !ns || (double)ns > (double)GX_SAMPLE_NS_MAX ||
        (double)n >= GX_PREDICTION_MAX || pthread_mutex_trylock(&model->lock) != 0)
        return;
    struct curve *curve = make(model, kind);
    if (curve) {
        learn(curve, (double)n, (double)ns);
        model->changed = true;
    }
    pthread_mutex_unlock(&model->lock);
}

void gx__model_expect(struct gx_model *model, const struct gx_kind *kind)
{
    if (!valid(kind))
        return;
    pthread_mutex_lock(&model->lock);
    make(model, kind);
    pthread_mutex_unlock(&model->lock);
}

/* All samples of a point at once. */
static void replace(struct curve *curve, int index, const float *ns, uint32_t count,
                    uint32_t guesses, uint32_t date)
{
    struct point *point = &curve->point[index];
    point->count = count;
    point->guesses = guesses;
    memcpy(point->sample, ns, count * sizeof *ns);
    for (uint32_t i = 0; i < count; i++)
        point->turn[i] = curve->turns;
    publish(curve, index, date);
    point->level = get(&point->ns);
}

void gx__model_set(struct gx_model *model, const struct gx_kind *kind, uint64_t n,
                   const uint64_t *ns, size_t count)
{
    float samples[GX_SAMPLES];
    int index = index_below((double)n);
    if (!valid(kind) || index < 0 || size_of(index) != (double)n || !count || count > GX_SAMPLES)
        return;
    for (size_t i = 0; i < count; i++)
        samples[i] = bounded((double)ns[i]);
    pthread_mutex_lock(&model->lock);
    struct curve *curve = make(model, kind);
    if (curve) {
        curve->turns++;
        replace(curve, index, samples, (uint32_t)count, 0, gx__date_s());
        model->changed = true;
    }
    pthread_mutex_unlock(&model->lock);
}

void gx__model_set_next_ns(struct gx_model *model, double ns)
{
    pthread_mutex_lock(&model->lock);
    set(&model->next_ns, ns >= 0 ? clamp(ns, 0, (double)GX_SAMPLE_NS_MAX) : 0); /* NaN is not */
    model->changed = true;
    pthread_mutex_unlock(&model->lock);
}

static void forget(struct curve *curve, uint32_t since)
{
    atomic_store(&curve->known, 0);
    curve->since = since;
    for (int i = 0; i < GX_POINTS; i++)
        curve->point[i].count = 0;
}

void gx__model_forget(struct gx_model *model, const struct gx_kind *kind)
{
    uint32_t now = gx__date_s();
    pthread_mutex_lock(&model->lock);
    for (size_t i = 0; i < GX_KINDS; i++)
        if (model->curves[i] && (!kind || (valid(kind) && i == number_of(kind))))
            forget(model->curves[i], now);
    if (!kind) {
        set(&model->next_ns, 0);
        model->since = now;
    }
    model->changed = true;
    pthread_mutex_unlock(&model->lock);
}

/* ---- saving and reading ---- */

/* Takes a point of a file where it is younger than what there is; under the lock. */
static void take(struct gx_model *model, const struct gx_saved_point *saved, uint32_t now)
{
    const struct gx_kind kind = {(gx_op)saved->op, (gx_field)saved->field,
                                 (gx_residency)saved->residency, (gx_path)saved->path};
    uint64_t age = now > saved->date ? now - saved->date : 0, ahead = saved->date - (uint64_t)now;
    if (age > STALE_S || (saved->date > now && ahead > FUTURE_S) || saved->date <= model->since)
        return;
    struct curve *curve = make(model, &kind);
    if (!curve || saved->date <= curve->since)
        return;
    if (!knows(curve, saved->index) || curve->point[saved->index].date < saved->date)
        replace(curve, saved->index, saved->ns, saved->count, saved->guesses, saved->date);
}

void gx__model_take(struct gx_model *model, const struct gx_saved_model *saved, uint32_t now)
{
    pthread_mutex_lock(&model->lock);
    for (uint32_t i = 0; i < saved->count; i++)
        take(model, &saved->point[i], now);
    if (get(&model->next_ns) <= 0 && !model->since)
        set(&model->next_ns, saved->next_ns);
    pthread_mutex_unlock(&model->lock);
}

static void put(const struct curve *curve, size_t number, struct gx_saved_model *saved)
{
    const struct gx_kind kind = kind_of(number);
    for (int i = 0; i < GX_POINTS; i++) {
        const struct point *point = &curve->point[i];
        if (!knows(curve, i))
            continue;
        struct gx_saved_point *to = &saved->point[saved->count++];
        *to = (struct gx_saved_point){.op = (uint8_t)kind.op,
                                      .field = (uint8_t)kind.field,
                                      .residency = (uint8_t)kind.residency,
                                      .path = (uint8_t)kind.path,
                                      .index = (uint8_t)i,
                                      .count = (uint8_t)point->count,
                                      .guesses = (uint8_t)point->guesses,
                                      .date = point->date};
        memcpy(to->ns, point->sample, point->count * sizeof *to->ns);
    }
}

/* The caller's, to be given to gx__free; NULL: no memory. Under the lock. */
static struct gx_saved_model *put_all(struct gx_model *model)
{
    size_t count = 0;
    for (size_t i = 0; i < GX_KINDS; i++)
        if (model->curves[i])
            count += (size_t)__builtin_popcount(model->curves[i]->known);
    struct gx_saved_model *saved =
        gx__alloc(&model->instance->config.allocator, gx__saved_bytes(count));
    if (!saved)
        return NULL;
    gx__saved_begin(saved);
    saved->next_ns = get(&model->next_ns);
    for (size_t i = 0; i < GX_KINDS; i++)
        if (model->curves[i])
            put(model->curves[i], i, saved);
    return saved;
}

/* What another process has saved meanwhile. */
static void take_file(struct gx_model *model)
{
    const struct gx_saved_model *saved = gx__store_read(model->instance, &model->store);
    if (saved)
        gx__model_take(model, saved, gx__date_s());
    gx__free(&model->instance->config.allocator, (void *)(uintptr_t)saved);
}

bool gx__model_save(struct gx_model *model)
{
    take_file(model);
    pthread_mutex_lock(&model->lock);
    struct gx_saved_model *saved = put_all(model);
    model->changed = false;
    pthread_mutex_unlock(&model->lock);
    bool ok = saved && gx__store_write(model->instance, &model->store, saved);
    gx__free(&model->instance->config.allocator, saved);
    if (ok)
        return true;
    pthread_mutex_lock(&model->lock);
    model->changed = true;
    pthread_mutex_unlock(&model->lock);
    return false;
}

struct gx_model *gx__model_open(struct gx_instance *instance, const char *device,
                                const char *description)
{
    struct gx_model *model = gx__alloc(&instance->config.allocator, sizeof *model);
    if (!model)
        return NULL;
    model->instance = instance;
    snprintf(model->device, sizeof model->device, "%s", device);
    pthread_mutex_init(&model->lock, NULL);
    gx__store_init(&model->store, instance, device, description);
    take_file(model);
    return model;
}

void gx__model_close(struct gx_model *model)
{
    if (!model)
        return;
    if (model->changed)
        gx__model_save(model);
    for (size_t i = 0; i < GX_KINDS; i++)
        gx__free(&model->instance->config.allocator, model->curves[i]);
    pthread_mutex_destroy(&model->lock);
    gx__free(&model->instance->config.allocator, model);
}

/* ---- showing ---- */

void gx__model_rows(struct gx_model *model, gx_model_row *rows, size_t room, size_t *count)
{
    uint32_t now = gx__date_s();
    pthread_mutex_lock(&model->lock);
    for (size_t number = 0; number < GX_KINDS; number++) {
        const struct curve *curve = model->curves[number];
        const struct gx_kind kind = kind_of(number);
        for (int i = 0; curve && i < GX_POINTS; i++) {
            const struct point *point = &curve->point[i];
            if (!knows(curve, i))
                continue;
            if (*count < room) {
                gx_model_row *row = &rows[*count];
                *row = (gx_model_row){.op = kind.op,
                                      .field = kind.field,
                                      .residency = kind.residency,
                                      .path = kind.path,
                                      .n = (uint64_t)size_of(i),
                                      .ns = (uint64_t)(get(&point->ns) + 0.5),
                                      .slow_ns = (uint64_t)(get(&point->slow_ns) + 0.5),
                                      .samples = point->count - point->guesses,
                                      .age_s = now > point->date ? now - point->date : 0};
                memcpy(row->device, model->device, sizeof row->device);
            }
            ++*count;
        }
    }
    pthread_mutex_unlock(&model->lock);
}
