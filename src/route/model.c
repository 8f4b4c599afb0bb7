/* SPDX-License-Identifier: Apache-2.0
 *
 * The model of a device: a curve for each kind (curve.h), borrowing between kinds, and saving. A
 * curve is freed only when the model is closed, so readers need no lock.
 */
#include "route/model.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "route/curve.h"

/* Older saved points are ignored. */
#define STALE_S (30u * 24 * 3600)
/* Tolerance for dates in the future: machines that share a cache folder, or a clock that was set
 * back. */
#define FUTURE_S (24u * 3600)
/* Transforms borrow from sizes up to 2^SHAPES_APART times as large or small. */
#define SHAPES_APART 3
/* ... and rather than from sizes this much smaller. */
#define REACH 2.0

struct gx_model {
    struct gx_instance *instance;
    char device[sizeof((gx_device_info *)0)->name];
    struct gx_store store;
    struct gx_curve *_Atomic curves[GX_KINDS_ALL]; /* the first GX_KINDS are saved */
    _Atomic double next_ns;
    pthread_mutex_t lock; /* for writers */
    bool changed;         /* since it was read or saved */
    uint32_t since;       /* saved points up to this date were dropped on purpose; 0: none */
};

/* Whether value is 1 .. last; 0 wraps around. */
static bool within(unsigned value, unsigned last)
{
    return value - 1 < last;
}

static bool valid(const struct gx_kind *kind)
{
    bool known = gx__is_own(kind->op)
                     ? gx__own(kind->op) != NULL
                     : within(kind->op, GX_KIND_OPS) && within(kind->field, GX_KIND_FIELDS);
    return known && within(kind->residency, GX_KIND_RESIDENCIES) &&
           (unsigned)kind->path < GX_KIND_PATHS &&
           kind->shape < (kind->op == GX_NTT   ? GX_SHAPES
                          : kind->op == GX_MSM ? GX_MSM_SHAPES
                                               : 1);
}

static size_t number_of(const struct gx_kind *kind)
{
    size_t row = kind->op == GX_NTT ? (size_t)GX_KIND_OPS + kind->shape : (size_t)kind->op - 1;
    size_t number = row * GX_KIND_FIELDS + (size_t)kind->field - 1;
    if (kind->op == GX_MSM)
        number = (size_t)GX_KIND_MSM + gx__msm_place(kind->field) * GX_MSM_SHAPES + kind->shape;
    if (gx__is_own(kind->op))
        number = (size_t)GX_KIND_PAIRS + gx__own_place(kind->op);
    number = number * GX_KIND_RESIDENCIES + (size_t)kind->residency - 1;
    return number * GX_KIND_PATHS + (size_t)kind->path;
}

static struct gx_kind kind_of(size_t number)
{
    struct gx_kind kind = {0};
    kind.path = (gx_path)(number % GX_KIND_PATHS);
    number /= GX_KIND_PATHS;
    kind.residency = (gx_residency)(number % GX_KIND_RESIDENCIES + 1);
    number /= GX_KIND_RESIDENCIES;
    if (number >= (size_t)GX_KIND_PAIRS) {
        kind.op = atomic_load(&gx__own_ops[number - (size_t)GX_KIND_PAIRS].op);
        return kind;
    }
    if (number >= (size_t)GX_KIND_MSM) {
        number -= (size_t)GX_KIND_MSM;
        kind.op = GX_MSM;
        kind.field = gx__msm_field(number / GX_MSM_SHAPES);
        kind.shape = (uint32_t)(number % GX_MSM_SHAPES);
        return kind;
    }
    size_t row = number / GX_KIND_FIELDS;
    bool shaped = row >= (size_t)GX_KIND_OPS;
    kind.field = (gx_field)(number % GX_KIND_FIELDS + 1);
    kind.op = shaped ? GX_NTT : (gx_op)(row + 1);
    kind.shape = shaped ? (uint32_t)(row - GX_KIND_OPS) : 0;
    return kind;
}

static struct gx_curve *find(const struct gx_model *model, const struct gx_kind *kind)
{
    return atomic_load_explicit(&model->curves[number_of(kind)], memory_order_acquire);
}

/* ---- predicting ---- */

/* The operation of similar cost among those that calibration measures. */
static gx_op similar_op(gx_op op)
{
    static const gx_op by_products[] = {GX_ADD, GX_MUL, GX_INV};
    unsigned products = gx__op_products(op);
    if (gx__is_own(op) || op == GX_MSM) /* nothing is */
        return op;
    return by_products[products < 2 ? products : 2];
}

/* A kind to borrow from. Steps 1 to 7 go from the most to the least similar one: bit 0 changes the
 * path, bit 1 the operation, bit 2 the residency; step 0 is the kind itself. False: a bit changes
 * nothing, so there is no such kind. */
static bool similar_kind(const struct gx_kind *kind, int step, struct gx_kind *other)
{
    *other = *kind;
    if (step & 1)
        other->path = GX_PATH_AUTO;
    if (step & 2) {
        other->op = similar_op(kind->op);
        other->shape = 0;
    }
    if (step & 4)
        other->residency =
            kind->residency == GX_REGISTERED_MEMORY ? GX_HOST_MEMORY : kind->residency;
    return !((step & 1 && other->path == kind->path) || (step & 2 && other->op == kind->op) ||
             (step & 4 && other->residency == kind->residency));
}

static bool predict_kind(const struct gx_model *model, const struct gx_kind *kind, double n,
                         struct gx_prediction *p)
{
    const struct gx_curve *curve = find(model, kind);
    return curve && gx__curve_predict(curve, n, p);
}

static void scale_prediction(struct gx_prediction *p, double by)
{
    p->ns = fmin(p->ns * by, GX_PREDICTION_MAX);
    p->slow_ns = fmin(p->slow_ns * by, GX_PREDICTION_MAX);
}

/* Whether about as many elements, or more, were measured. */
static bool reaches(const struct gx_model *model, const struct gx_kind *kind, double n)
{
    const struct gx_curve *curve = find(model, kind);
    uint32_t known = curve ? atomic_load_explicit(&curve->known, memory_order_acquire) : 0;
    return known && n <= REACH * gx__point_size(31 - __builtin_clz(known));
}

static uint32_t log2_of(const struct gx_kind *kind)
{
    return kind->op == GX_MSM ? gx__msm_shape_log2(kind->shape) : gx__shape_log2_n(kind->shape);
}

/* More transforms than were measured together take as long as several times as many as were.
 * beyond: there may be more. */
static bool predict_several(const struct gx_model *model, const struct gx_kind *kind, double n,
                            bool beyond, struct gx_prediction *p)
{
    double one = (double)((uint64_t)1 << log2_of(kind)), times = 1;
    if (!beyond && !reaches(model, kind, n))
        return false;
    bool known = predict_kind(model, kind, n, p);
    while (!known && n > one * times * 2) {
        times *= 2;
        known = predict_kind(model, kind, n / times, p);
    }
    if (known)
        scale_prediction(p, times);
    return known;
}

/* The kind of another size: in the same order, or in the other, which GX_MSM does not have. */
static struct gx_kind sized_kind(const struct gx_kind *kind, uint32_t log2, bool swapped)
{
    struct gx_kind other = *kind;
    other.shape = kind->op == GX_MSM ? gx__msm_shape(log2, gx__msm_shape_degree(kind->shape),
                                                     gx__msm_shape_bits(kind->shape))
                                     : gx__shape(log2, gx__shape_permutes(kind->shape) != swapped);
    return other;
}

/* From a kind whose size differs by 2^apart. Per element a transform takes as many levels, and a
 * sum of points as many digits, which are about log2 bits each. */
static bool predict_from(const struct gx_model *model, const struct gx_kind *kind, int apart,
                         double n, bool beyond, struct gx_prediction *p)
{
    int own = (int)log2_of(kind), log2_n = own + apart, least = kind->op == GX_MSM;
    if (log2_n < least || log2_n >= (int)GX_LOG2_N_END)
        return false;
    const struct gx_kind other = sized_kind(kind, (uint32_t)log2_n, false),
                         swapped = sized_kind(kind, (uint32_t)log2_n, true);
    if (!predict_several(model, &other, n, beyond, p) &&
        !predict_several(model, &swapped, n, beyond, p))
        return false;
    double levels = (own ? own : 1) / (double)(log2_n ? log2_n : 1);
    scale_prediction(p, kind->op == GX_MSM ? 1 / levels : levels);
    return true;
}

/* The nearest size comes first. A similar one of which as many were measured together says more
 * than the same one of which only a few were: the time of few is mostly the launch. */
static bool predict_shape(const struct gx_model *model, const struct gx_kind *kind, double n,
                          struct gx_prediction *p)
{
    bool known = false;
    for (int beyond = 0; beyond < 2 && !known; beyond++) {
        known = predict_from(model, kind, 0, n, beyond, p);
        for (int apart = 1; apart <= SHAPES_APART && !known; apart++)
            known = predict_from(model, kind, -apart, n, beyond, p) ||
                    predict_from(model, kind, apart, n, beyond, p);
    }
    return known;
}

/* Several results as one of as many points as each has, several times. */
static bool predict_results(const struct gx_model *model, const struct gx_kind *kind, double n,
                            struct gx_prediction *p)
{
    const struct gx_kind single = sized_kind(kind, 0, false);
    double one = (double)((uint64_t)1 << log2_of(kind));
    if (!predict_kind(model, &single, one, p))
        return false;
    scale_prediction(p, n / one);
    return true;
}

static bool predict_msm(const struct gx_model *model, const struct gx_kind *kind, double n,
                        struct gx_prediction *p)
{
    if (!log2_of(kind))
        return predict_kind(model, kind, n, p);
    return predict_shape(model, kind, n, p) || (n > 0 && predict_results(model, kind, n, p));
}

bool gx__model_predict(const struct gx_model *model, const struct gx_kind *kind, double n,
                       struct gx_prediction *prediction)
{
    if (!model || !valid(kind) || !(n >= 0 && n < GX_PREDICTION_MAX)) /* rejects NaN */
        return false;
    for (int i = 0; i < 8; i++) {
        struct gx_kind other;
        /* no operation is much like a transform: bits 1 and 2 change places */
        bool shaped = kind->op == GX_NTT || kind->op == GX_MSM;
        int step = shaped ? (i & 1) | (i & 2) << 1 | (i & 4) >> 1 : i;
        if (!similar_kind(kind, step, &other))
            continue;
        if (other.op == GX_NTT   ? predict_shape(model, &other, n, prediction)
            : other.op == GX_MSM ? predict_msm(model, &other, n, prediction)
                                 : predict_kind(model, &other, n, prediction))
            return true;
    }
    return false;
}

double gx__model_next_ns(const struct gx_model *model)
{
    return model ? gx__get(&model->next_ns) : 0;
}

/* ---- learning; under the lock ---- */

/* The curve of a kind, made if there is none; NULL: out of memory. */
static struct gx_curve *get_curve(struct gx_model *model, const struct gx_kind *kind)
{
    struct gx_curve *curve = find(model, kind);
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
    struct gx_curve *curve = get_curve(model, kind);
    if (curve) {
        gx__curve_learn(curve, (double)n, (double)ns);
        model->changed = true;
    }
    pthread_mutex_unlock(&model->lock);
}

void gx__model_expect(struct gx_model *model, const struct gx_kind *kind)
{
    if (!valid(kind))
        return;
    pthread_mutex_lock(&model->lock);
    get_curve(model, kind);
    pthread_mutex_unlock(&model->lock);
}

void gx__model_set(struct gx_model *model, const struct gx_kind *kind, uint64_t n,
                   const uint64_t *ns, size_t count)
{
    float samples[GX_SAMPLES];
    int index = gx__point_index(n);
    if (!valid(kind) || index < 0 || !count || count > GX_SAMPLES)
        return;
    for (size_t i = 0; i < count; i++)
        samples[i] = gx__sample((double)ns[i]);
    pthread_mutex_lock(&model->lock);
    struct gx_curve *curve = get_curve(model, kind);
    if (curve) {
        curve->turns++;
        gx__curve_replace(curve, index, samples, (uint32_t)count, 0, gx__date_s());
        model->changed = true;
    }
    pthread_mutex_unlock(&model->lock);
}

void gx__model_set_next_ns(struct gx_model *model, double ns)
{
    pthread_mutex_lock(&model->lock);
    gx__set(&model->next_ns, ns > 0 ? (double)gx__sample(ns) : 0); /* NaN: 0 */
    model->changed = true;
    pthread_mutex_unlock(&model->lock);
}

void gx__model_forget(struct gx_model *model, const struct gx_kind *kind)
{
    uint32_t now = gx__date_s();
    pthread_mutex_lock(&model->lock);
    for (size_t i = 0; i < GX_KINDS_ALL; i++)
        if (model->curves[i] && (!kind || (valid(kind) && i == number_of(kind))))
            gx__curve_forget(model->curves[i], now);
    if (!kind) {
        gx__set(&model->next_ns, 0);
        model->since = now;
    }
    model->changed = true;
    pthread_mutex_unlock(&model->lock);
}

/* ---- saving and reading ---- */

/* Takes a saved point if it is newer than the one in the curve. Under the lock. */
static void take(struct gx_model *model, const struct gx_saved_point *saved, uint32_t now)
{
    const struct gx_kind kind = {(gx_op)saved->op, (gx_field)saved->field,
                                 (gx_residency)saved->residency, (gx_path)saved->path,
                                 saved->shape};
    uint64_t age = now > saved->date ? now - saved->date : 0, ahead = saved->date - (uint64_t)now;
    if (age > STALE_S || (saved->date > now && ahead > FUTURE_S) || saved->date <= model->since)
        return;
    struct gx_curve *curve = get_curve(model, &kind);
    if (!curve || saved->date <= curve->since)
        return;
    if (!gx__curve_knows(curve, saved->index) || curve->point[saved->index].date < saved->date)
        gx__curve_replace(curve, saved->index, saved->ns, saved->count, saved->guesses,
                          saved->date);
}

void gx__model_take(struct gx_model *model, const struct gx_saved_model *saved, uint32_t now)
{
    pthread_mutex_lock(&model->lock);
    for (uint32_t i = 0; i < saved->count; i++)
        take(model, &saved->point[i], now);
    if (gx__get(&model->next_ns) <= 0 && !model->since)
        gx__set(&model->next_ns, saved->next_ns);
    pthread_mutex_unlock(&model->lock);
}

static void put(const struct gx_curve *curve, size_t number, struct gx_saved_model *saved)
{
    const struct gx_kind kind = kind_of(number);
    for (int i = 0; i < GX_POINTS; i++) {
        const struct gx_point *point = &curve->point[i];
        if (!gx__curve_knows(curve, i))
            continue;
        struct gx_saved_point *to = &saved->point[saved->count++];
        *to = (struct gx_saved_point){.op = (uint8_t)kind.op,
                                      .field = (uint8_t)kind.field,
                                      .residency = (uint8_t)kind.residency,
                                      .path = (uint8_t)kind.path,
                                      .shape = (uint8_t)kind.shape,
                                      .index = (uint8_t)i,
                                      .count = (uint8_t)point->count,
                                      .guesses = (uint8_t)point->guesses,
                                      .date = point->date};
        memcpy(to->ns, point->sample, point->count * sizeof *to->ns);
    }
}

/* The model in its saved form, which the caller frees with gx__free; NULL: out of memory. Under the
 * lock. */
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
    saved->next_ns = gx__get(&model->next_ns);
    for (size_t i = 0; i < GX_KINDS; i++)
        if (model->curves[i])
            put(model->curves[i], i, saved);
    return saved;
}

/* Merges the file, which another process may have written. */
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
    for (size_t i = 0; i < GX_KINDS_ALL; i++)
        gx__free(&model->instance->config.allocator, model->curves[i]);
    pthread_mutex_destroy(&model->lock);
    gx__free(&model->instance->config.allocator, model);
}

/* ---- listing ---- */

static gx_curve curve_of(const struct gx_kind *kind)
{
    gx_curve c = 1;
    for (const gx_curve_info *info; (info = gx_curve_get_info(c)) != NULL; c++)
        if (info->scalar_field == kind->field && info->degree == gx__msm_shape_degree(kind->shape))
            return c;
    return 0;
}

void gx__model_rows(struct gx_model *model, gx_model_row *rows, size_t room, size_t *count)
{
    uint32_t now = gx__date_s();
    pthread_mutex_lock(&model->lock);
    for (size_t number = 0; number < GX_KINDS_ALL; number++) {
        const struct gx_curve *curve = model->curves[number];
        const struct gx_kind kind = kind_of(number);
        for (int i = 0; curve && i < GX_POINTS; i++) {
            const struct gx_point *point = &curve->point[i];
            if (!gx__curve_knows(curve, i))
                continue;
            if (*count < room) {
                gx_model_row *row = &rows[*count];
                *row =
                    (gx_model_row){.op = kind.op,
                                   .field = kind.field,
                                   .residency = kind.residency,
                                   .path = kind.path,
                                   .n = (uint64_t)gx__point_size(i),
                                   .ns = (uint64_t)(gx__get(&point->ns) + 0.5),
                                   .slow_ns = (uint64_t)(gx__get(&point->slow_ns) + 0.5),
                                   .samples = point->count - point->guesses,
                                   .age_s = now > point->date ? now - point->date : 0,
                                   .log2_n = log2_of(&kind),
                                   .permutes = kind.op == GX_NTT && gx__shape_permutes(kind.shape)};
                if (kind.op == GX_MSM) {
                    row->curve = curve_of(&kind);
                    row->scalar_bits = gx__msm_shape_bits(kind.shape);
                }
                memcpy(row->device, model->device, sizeof row->device);
            }
            ++*count;
        }
    }
    pthread_mutex_unlock(&model->lock);
}
