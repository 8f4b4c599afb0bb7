/* SPDX-License-Identifier: Apache-2.0
 *
 * The model of a device: a curve for each kind (time_curve.h), borrowing between kinds, and saving.
 * A curve is freed only when the model is closed, so readers need no lock.
 */
#include "route/model.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "op/traits.h"
#include "route/time_curve.h"

/* Older saved points are ignored. */
#define STALE_S (30u * 24 * 3600)
/* Tolerance for dates in the future: machines that share a cache folder, or a clock that was set
 * back. */
#define FUTURE_S (24u * 3600)
/* Size classes borrow from those of sizes up to 2^SIZES_APART times as large or small. */
#define SIZES_APART 3
/* ... and rather than from sizes this much smaller. */
#define REACH 2.0

struct gx_model {
    struct gx_instance *instance;
    char device[sizeof((gx_device_info *)0)->name];
    struct gx_store store;
    struct gx_kind_map
        curves; /* struct gx_time_curve; those of registered operations are not saved */
    _Atomic double next_ns;
    pthread_mutex_t lock; /* for writers */
    bool changed;         /* since it was read or saved */
};

/* Whether value is 1 .. last; 0 wraps around. */
static bool within(unsigned value, unsigned last)
{
    return value - 1 < last;
}

static bool valid(const struct gx_kind *kind)
{
    bool known = gx__is_registered_op(kind->op)
                     ? gx__registered_op(kind->op) != NULL
                     : within(kind->op, GX_OP_END - 1) && within(kind->field, GX_FIELD_END - 1);
    return known && within(kind->residency, GX_DEVICE_MEMORY) &&
           (unsigned)kind->path <= GX_PATH_DEVICE_LOCAL && /* GX_PATH_DIRECT cannot be asked for */
           kind->size_class < gx__op_traits(kind->op)->classes;
}

static struct gx_time_curve *find(const struct gx_model *model, const struct gx_kind *kind)
{
    return gx__kind_find(&model->curves, kind);
}

/* ---- predicting ---- */

/* A kind to borrow from. Steps 1 to 7 go from the most to the least similar one: bit 0 changes the
 * path, bit 1 the operation, bit 2 the residency; step 0 is the kind itself. False: a bit changes
 * nothing, so there is no such kind. */
static bool similar_kind(const struct gx_kind *kind, int step, struct gx_kind *other)
{
    *other = *kind;
    if (step & 1)
        other->path = GX_PATH_AUTO;
    if (step & 2) {
        other->op = gx__op_similar(kind->op);
        other->size_class = 0;
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
    const struct gx_time_curve *curve = find(model, kind);
    return curve && gx__time_curve_predict(curve, n, p);
}

static void scale_prediction(struct gx_prediction *p, double by)
{
    p->ns = fmin(p->ns * by, GX_PREDICTION_MAX);
    p->slow_ns = fmin(p->slow_ns * by, GX_PREDICTION_MAX);
}

/* Whether about as many elements, or more, were measured. */
static bool reaches(const struct gx_model *model, const struct gx_kind *kind, double n)
{
    const struct gx_time_curve *curve = find(model, kind);
    uint32_t known = curve ? atomic_load_explicit(&curve->known, memory_order_acquire) : 0;
    return known && n <= REACH * gx__time_point_size(31 - __builtin_clz(known));
}

static uint32_t log2_of(const struct gx_kind *kind)
{
    return kind->size_class / gx__op_traits(kind->op)->variants;
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

/* From the classes whose size differs by 2^apart, the same variant first. */
static bool predict_from(const struct gx_model *model, const struct gx_kind *kind, int apart,
                         double n, bool beyond, struct gx_prediction *p)
{
    const struct gx_op_traits *traits = gx__op_traits(kind->op);
    uint32_t variants = traits->variants, tries = traits->variants_alike ? variants : 1;
    int own = (int)log2_of(kind), log2 = own + apart;
    struct gx_kind other = *kind;
    bool known = false;
    if (log2 < traits->single || log2 >= (int)(traits->classes / variants))
        return false;
    for (uint32_t i = 0; i < tries && !known; i++) {
        other.size_class = (uint32_t)log2 * variants + (kind->size_class + i) % variants;
        known = predict_several(model, &other, n, beyond, p);
    }
    double levels = (own ? own : 1) / (double)(log2 ? log2 : 1);
    if (known)
        scale_prediction(p, traits->falls ? 1 / levels : levels);
    return known;
}

/* Several as one of the same size, several times. */
static bool predict_singly(const struct gx_model *model, const struct gx_kind *kind, double n,
                           struct gx_prediction *p)
{
    struct gx_kind single = *kind;
    double one = (double)((uint64_t)1 << log2_of(kind));
    single.size_class %= gx__op_traits(kind->op)->variants;
    if (!predict_kind(model, &single, one, p))
        return false;
    scale_prediction(p, n / one);
    return true;
}

/* The nearest size comes first. A similar one of which as many were measured together says more
 * than the same one of which only a few were: the time of few is mostly the launch. */
static bool predict_sized(const struct gx_model *model, const struct gx_kind *kind, double n,
                          struct gx_prediction *p)
{
    const bool single = gx__op_traits(kind->op)->single;
    bool known = false;
    if (single && !log2_of(kind))
        return predict_kind(model, kind, n, p);
    for (int beyond = 0; beyond < 2 && !known; beyond++) {
        known = predict_from(model, kind, 0, n, beyond, p);
        for (int apart = 1; apart <= SIZES_APART && !known; apart++)
            known = predict_from(model, kind, -apart, n, beyond, p) ||
                    predict_from(model, kind, apart, n, beyond, p);
    }
    return known || (single && n > 0 && predict_singly(model, kind, n, p));
}

static bool has_sizes(gx_op op)
{
    return gx__op_traits(op)->classes > 1;
}

bool gx__model_predict(const struct gx_model *model, const struct gx_kind *kind, double n,
                       struct gx_prediction *prediction)
{
    if (!model || !valid(kind) || !(n >= 0 && n < GX_PREDICTION_MAX)) /* rejects NaN */
        return false;
    for (int i = 0; i < 8; i++) {
        struct gx_kind other;
        /* an operation with size classes is hardly like another: bits 1 and 2 change places */
        int step = has_sizes(kind->op) ? (i & 1) | (i & 2) << 1 | (i & 4) >> 1 : i;
        if (!similar_kind(kind, step, &other))
            continue;
        if ((has_sizes(other.op) ? predict_sized : predict_kind)(model, &other, n, prediction))
            return true;
    }
    return false;
}

double gx__model_next_ns(const struct gx_model *model)
{
    return model ? atomic_load_explicit(&model->next_ns, memory_order_relaxed) : 0;
}

/* ---- learning; under the lock ---- */

/* The curve of a kind, made if there is none; NULL: out of memory. */
static struct gx_time_curve *get_curve(struct gx_model *model, const struct gx_kind *kind)
{
    return gx__kind_get(&model->curves, kind);
}

void gx__model_learn(struct gx_model *model, const struct gx_kind *kind, uint64_t n, uint64_t ns)
{
    if (!valid(kind) || !n || !ns || (double)ns > (double)GX_SAMPLE_NS_MAX ||
        (double)n >= GX_PREDICTION_MAX || pthread_mutex_trylock(&model->lock) != 0)
        return;
    struct gx_time_curve *curve = get_curve(model, kind);
    if (curve) {
        gx__time_curve_learn(curve, (double)n, (double)ns);
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
    int index = gx__time_point_index(n);
    if (!valid(kind) || index < 0 || !count || count > GX_SAMPLES)
        return;
    for (size_t i = 0; i < count; i++)
        samples[i] = gx__time_sample((double)ns[i]);
    pthread_mutex_lock(&model->lock);
    struct gx_time_curve *curve = get_curve(model, kind);
    if (curve) {
        gx__time_curve_replace(curve, index, samples, (uint32_t)count, 0, gx__date_s());
        model->changed = true;
    }
    pthread_mutex_unlock(&model->lock);
}

void gx__model_set_next_ns(struct gx_model *model, double ns)
{
    pthread_mutex_lock(&model->lock);
    atomic_store(&model->next_ns, ns > 0 ? (double)gx__time_sample(ns) : 0); /* NaN: 0 */
    model->changed = true;
    pthread_mutex_unlock(&model->lock);
}

void gx__model_forget(struct gx_model *model, const struct gx_kind *kind)
{
    pthread_mutex_lock(&model->lock);
    struct gx_time_curve *curve = valid(kind) ? find(model, kind) : NULL;
    if (curve)
        gx__time_curve_forget(curve, gx__date_s());
    model->changed = true;
    pthread_mutex_unlock(&model->lock);
}

/* ---- saving and reading ---- */

/* Takes a saved point if it is newer than the one in the curve. Under the lock. */
static void take(struct gx_model *model, const struct gx_saved_point *saved, uint32_t now)
{
    const struct gx_kind kind = {(gx_op)saved->op, (gx_field)saved->field,
                                 (gx_residency)saved->residency, (gx_path)saved->path,
                                 saved->size_class};
    uint64_t age = now > saved->date ? now - saved->date : 0, ahead = saved->date - (uint64_t)now;
    if (age > STALE_S || (saved->date > now && ahead > FUTURE_S))
        return;
    struct gx_time_curve *curve = get_curve(model, &kind);
    if (!curve || saved->date <= curve->since)
        return;
    if (!gx__time_curve_knows(curve, saved->index) || curve->point[saved->index].date < saved->date)
        gx__time_curve_replace(curve, saved->index, saved->ns, saved->count, saved->guesses,
                               saved->date);
}

void gx__model_take(struct gx_model *model, const struct gx_saved_model *saved, uint32_t now)
{
    pthread_mutex_lock(&model->lock);
    for (uint32_t i = 0; i < saved->count; i++)
        take(model, &saved->point[i], now);
    if (gx__model_next_ns(model) <= 0)
        atomic_store(&model->next_ns, saved->next_ns);
    pthread_mutex_unlock(&model->lock);
}

static void put(const struct gx_time_curve *curve, const struct gx_kind *kind,
                struct gx_saved_model *saved)
{
    for (int i = 0; i < GX_TIME_POINTS; i++) {
        const struct gx_time_point *point = &curve->point[i];
        if (!gx__time_curve_knows(curve, i))
            continue;
        struct gx_saved_point *to = &saved->point[saved->count++];
        *to = (struct gx_saved_point){.op = (uint8_t)kind->op,
                                      .field = (uint8_t)kind->field,
                                      .residency = (uint8_t)kind->residency,
                                      .path = (uint8_t)kind->path,
                                      .size_class = (uint8_t)kind->size_class,
                                      .index = (uint8_t)i,
                                      .count = point->count,
                                      .guesses = point->guesses,
                                      .date = point->date};
        memcpy(to->ns, point->sample, point->count * sizeof *to->ns);
    }
}

/* The model in its saved form, which the caller frees with gx__free; NULL: out of memory. Under the
 * lock. */
static struct gx_saved_model *put_all(struct gx_model *model)
{
    size_t count = 0;
    struct gx_kind kind;
    const struct gx_time_curve *curve;
    for (uint64_t at = 0; (curve = gx__kind_next(&model->curves, &at, &kind)) != NULL;)
        count += (size_t)__builtin_popcount(curve->known);
    struct gx_saved_model *saved =
        gx__alloc(&model->instance->config.allocator, gx__saved_bytes(count));
    if (!saved)
        return NULL;
    gx__saved_begin(saved);
    saved->next_ns = gx__model_next_ns(model);
    for (uint64_t at = 0; (curve = gx__kind_next(&model->curves, &at, &kind)) != NULL;)
        if (kind.field) /* no registered operation */
            put(curve, &kind, saved);
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
    gx__kind_map_init(&model->curves, &instance->config.allocator, sizeof(struct gx_time_curve));
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
    gx__kind_map_free(&model->curves);
    pthread_mutex_destroy(&model->lock);
    gx__free(&model->instance->config.allocator, model);
}

/* ---- listing ---- */

static void describe(const struct gx_kind *kind, struct gx_model_row *row)
{
    struct gx_size_facts facts = {0};
    gx__op_traits(kind->op)->describe(kind->field, kind->size_class, &facts);
    row->log2_n = facts.log2_n;
    row->permutes = facts.permutes;
    row->curve = facts.curve;
    row->scalar_bits = facts.scalar_bits;
}

void gx__model_rows(struct gx_model *model, struct gx_model_row *rows, size_t room, size_t *count)
{
    uint32_t now = gx__date_s();
    struct gx_kind kind;
    const struct gx_time_curve *curve;
    pthread_mutex_lock(&model->lock);
    for (uint64_t at = 0; (curve = gx__kind_next(&model->curves, &at, &kind)) != NULL;) {
        for (int i = 0; i < GX_TIME_POINTS; i++) {
            const struct gx_time_point *point = &curve->point[i];
            if (!gx__time_curve_knows(curve, i))
                continue;
            if (*count < room) {
                struct gx_model_row *row = &rows[*count];
                *row = (struct gx_model_row){.op = kind.op,
                                             .field = kind.field,
                                             .residency = kind.residency,
                                             .path = kind.path,
                                             .n = (uint64_t)gx__time_point_size(i),
                                             .ns = (uint64_t)(gx__get(&point->ns) + 0.5),
                                             .slow_ns = (uint64_t)(gx__get(&point->slow_ns) + 0.5),
                                             .samples = point->count - point->guesses,
                                             .age_s = now > point->date ? now - point->date : 0};
                if (has_sizes(kind.op))
                    describe(&kind, row);
                memcpy(row->device, model->device, sizeof row->device);
            }
            ++*count;
        }
    }
    pthread_mutex_unlock(&model->lock);
}
