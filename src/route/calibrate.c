/* SPDX-License-Identifier: Apache-2.0
 *
 * Calibration measures kind after kind, for each kind the sizes from small to large, and each size
 * on all devices in turn, so that a machine that slows down does so for all of them. The remaining
 * time is divided equally among the remaining kinds. Sizes that do not fit are the large ones,
 * which the model extrapolates.
 */
#include "route/calibrate.h"

#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/float_env.h"
#include "base/log.h"
#include "base/os.h"
#include "compose/compose.h"
#include "exec/buffer.h"
#include "exec/pipe.h"
#include "op/traits.h"
#include "route/slots.h"
#include "route/store.h"
#include "verify/verify.h"

#define LIMIT_NS 20000000000u
/* If a size is off the line through the last two by more than this, the one in between is measured
 * too. */
#define OFF_LINE 0.1
/* A size that takes longer than this is the last one of its kind. */
#define LONG_RUN_NS 30000000u
/* Runs shorter than MANY_NS are measured GX_SAMPLES times, shorter than SOME_NS 3 times, others
 * twice. */
#define MANY_NS 1000000u
#define SOME_NS 10000000u
/* If they differ by more than this factor, they are repeated up to so many times, and the shortest
 * count: what disturbed one run may not disturb another. */
#define AGREE         1.25
#define RUNS_MAX      20
#define LONG_RUNS_MAX 5
/* Jobs per call, to measure the cost of one more. */
#define NEXT_JOBS 16u
/* The arrays use at most one part in so many of the machine's memory. */
#define MEMORY_PART 4u
/* An alignment that any device can import. */
#define ALIGN ((size_t)64 << 10)
/* Bytes of random numbers in an array; the rest are copies of them. */
#define SEED_BYTES ((size_t)1 << 20)

enum { ARRAYS = 3 }; /* out, a, b; c is b again */

/* The measurements of the current kind on one device. */
struct series {
    struct gx_calibrated *device;
    gx_buf *buf[ARRAYS];
    size_t buf_bytes;  /* of each buffer */
    bool over;         /* this kind is finished */
    bool checked;      /* a result was verified */
    double n[2], t[2]; /* the last two sizes and their times */
    int points;
    double sparse_ns; /* of the last sparse size: per product; 0: none yet */
};

struct calibration {
    struct gx_instance *instance;
    const struct gx_calibration *settings;
    struct series series[GX_CANDIDATES_MAX];
    size_t count;
    char *raw, *array[ARRAYS]; /* as allocated, and its aligned parts */
    size_t bytes, bytes_max;   /* of each array */
    bool floats;               /* the arrays hold floats */
    bool registered;           /* the arrays are registered memory */
    struct gx_kind kind;
    struct gx_fixture fixture[GX_SHAPE_END];
    uint64_t end, deadline; /* of the calibration, and of the current kind */
    size_t done, kinds;
    bool cancelled;
};

/* ---- memory ---- */

/* Every limb is below the top limb of every modulus, so that the elements of any field are
 * canonical. Floats are from 1 to 2. */
static void fill(char *array, size_t bytes, bool floats)
{
    uint64_t state = 0x9e3779b97f4a7c15u;
    size_t fresh = bytes < SEED_BYTES ? bytes : SEED_BYTES;
    for (size_t i = 0; i + 8 <= fresh; i += 8) {
        uint64_t word = gx__made_random(&state);
        word = floats ? (word & 0x007fffff007fffffu) | 0x3f8000003f800000u
                      : word & 0x0fffffffffffffffu;
        memcpy(array + i, &word, sizeof word);
    }
    for (size_t done = fresh, n; done < bytes; done += n) {
        n = bytes - done < done ? bytes - done : done;
        memcpy(array + done, array, n);
    }
}

static void fill_all(struct calibration *c)
{
    for (int i = 0; i < ARRAYS; i++)
        if (c->bytes)
            fill(c->array[i], c->bytes, c->floats);
}

static void free_arrays(struct calibration *c)
{
    gx__free(&c->instance->config.allocator, c->raw);
    c->raw = NULL;
    c->bytes = 0;
}

/* bytes: a multiple of ALIGN. */
static bool alloc_arrays(struct calibration *c, size_t bytes)
{
    free_arrays(c);
    c->raw = gx__alloc(&c->instance->config.allocator, ARRAYS * bytes + ALIGN);
    if (!c->raw)
        return false;
    for (int i = 0; i < ARRAYS; i++)
        c->array[i] = c->raw + (size_t)(-(uintptr_t)c->raw % ALIGN) + i * bytes;
    c->bytes = bytes;
    fill_all(c);
    return true;
}

/* Makes the arrays at least so many bytes large; false: not enough memory. Registered arrays do not
 * grow. */
static bool arrays_hold(struct calibration *c, size_t bytes)
{
    size_t before = c->bytes;
    if (bytes <= before)
        return true;
    if (c->registered || bytes > c->bytes_max)
        return false;
    bytes = (bytes + ALIGN - 1) / ALIGN * ALIGN;
    if (alloc_arrays(c, bytes))
        return true;
    c->bytes_max = before;
    if (before)
        alloc_arrays(c, before);
    return false;
}

/* Registers all arrays, or none; on failure registered memory is not measured. */
static void set_registered(struct calibration *c, bool registered)
{
    const char *why;
    if (c->registered == registered || !c->bytes)
        return;
    for (int i = 0; i < ARRAYS && registered; i++)
        registered =
            gx__host_register(c->instance->registered, c->array[i], c->bytes, &why) == GX_OK;
    for (int i = 0; i < ARRAYS && !registered; i++)
        gx__host_unregister(c->instance->registered, c->array[i]);
    c->registered = registered;
}

static void free_buffers(struct series *series)
{
    for (int i = 0; i < ARRAYS; i++)
        gx__buf_destroy(&series->buf[i]);
    series->buf_bytes = 0;
}

static void set_floats(struct calibration *c, bool floats)
{
    if (c->floats == floats)
        return;
    c->floats = floats;
    fill_all(c);
    for (size_t i = 0; i < c->count; i++)
        free_buffers(&c->series[i]); /* they are filled from the arrays when made */
}

static gx_status buffers_hold(struct calibration *c, struct series *series, size_t bytes)
{
    gx_status s = GX_OK;
    if (bytes <= series->buf_bytes)
        return GX_OK;
    if (!arrays_hold(c, bytes))
        return GX_ERR_OUT_OF_MEMORY;
    free_buffers(series);
    for (int i = 0; i < ARRAYS && s == GX_OK; i++) {
        s = gx__buf_create(series->device->engine, bytes, 0, &series->buf[i]);
        if (s == GX_OK)
            s = gx__buf_write(series->buf[i], 0, c->array[i], bytes);
    }
    if (s == GX_OK)
        series->buf_bytes = bytes;
    else
        free_buffers(series);
    return s;
}

/* ---- one run ---- */

static void drop_tables(struct calibration *c, uint64_t id)
{
    for (size_t i = 0; i < c->count; i++)
        gx__tables_drop(c->series[i].device->engine, id);
}

static struct gx_place operand(const struct calibration *c, const struct series *series, int i)
{
    return c->kind.residency == GX_DEVICE_MEMORY ? gx__at_buffer(series->buf[i], 0)
                                                 : gx__at_host(c->array[i]);
}

/* A task without operands, of the current kind. False: it cannot be made. */
static bool make_job(struct calibration *c, uint64_t n, struct gx_task *job)
{
    struct gx_fixture *f = &c->fixture[gx__op_shape(c->kind.op)];
    uint64_t before = f->id;
    struct gx_error error;
    f->instance = c->instance;
    gx_status s = gx__fixture_set(f, c->kind.op, c->kind.field, c->kind.size_class, n, job, &error);
    if (before && before != f->id)
        drop_tables(c, before);
    return s == GX_OK;
}

static void set_operands(const struct calibration *c, const struct series *series,
                         struct gx_task *job)
{
    for (int i = GX_OUT; i <= job->operands; i++)
        job->operand[i] = operand(c, series, i < ARRAYS ? i : ARRAYS - 1);
}

static size_t largest_operand(const struct gx_task *job)
{
    size_t most = 0;
    for (int i = GX_OUT; i <= job->operands; i++) {
        size_t bytes = gx__operand_bytes(job, i);
        most = bytes > most ? bytes : most;
    }
    return most;
}

static gx_status run(struct series *series, const struct gx_task *jobs, size_t count, uint64_t *ns)
{
    struct gx_engine *engine = series->device->engine;
    struct gx_batch batch = {.jobs = jobs, .count = count, .uncounted = true};
    uint64_t start = gx__engine_now(engine);
    gx_status s = gx__compose_run(engine, &batch);
    *ns = gx__engine_now(engine) - start;
    return s;
}

/* Ends the kind on a device, or the device if the failure is not about size or support. */
static void fail(struct series *series, gx_status s)
{
    series->over = true;
    if (s != GX_ERR_UNSUPPORTED && s != GX_ERR_OUT_OF_DEVICE_MEMORY && s != GX_ERR_OUT_OF_MEMORY)
        series->device->status = s;
}

static gx_status check_result(struct calibration *c, struct series *series,
                              const struct gx_task *job)
{
    struct gx_sampler sampler = {.seed = gx__now_ns(), .instance = c->instance};
    uint64_t wrong, count = job->n < GX_PROBE_ELEMS ? job->n : GX_PROBE_ELEMS;
    if (series->checked || c->kind.residency == GX_DEVICE_MEMORY ||
        series->device->engine->slot->host)
        return GX_OK;
    series->checked = true;
    series->device->wrong = !gx__results_right(&sampler, job, job->out.host, count, &wrong);
    return series->device->wrong ? GX_ERR_DEVICE : GX_OK;
}

static bool is_late(const struct calibration *c)
{
    return gx__now_ns() >= c->deadline;
}

/* ---- one size on one device ---- */

static size_t samples_of(uint64_t ns)
{
    return ns < MANY_NS ? GX_SAMPLES : ns < SOME_NS ? 3 : 2;
}

/* Keeps the GX_SAMPLES shortest times, in ascending order. */
static void keep(uint64_t *kept, size_t *count, uint64_t ns)
{
    size_t at = *count;
    if (at == GX_SAMPLES && ns >= kept[--at])
        return;
    for (; at > 0 && kept[at - 1] > ns; at--)
        kept[at] = kept[at - 1];
    kept[at] = ns;
    *count += *count < GX_SAMPLES;
}

/* Whether there are enough runs: they agree, or there is no time for more. */
static bool is_enough(const struct calibration *c, const uint64_t *kept, size_t count, int runs)
{
    if (count < 2 || (count < samples_of(kept[0]) && !is_late(c)))
        return false;
    return (double)kept[count - 1] <= AGREE * (double)kept[0] || is_late(c) ||
           runs >= (kept[0] < SOME_NS ? RUNS_MAX : LONG_RUNS_MAX);
}

/* Measures a job without operands and returns the median time; 0: failed. */
static double measure(struct calibration *c, struct series *series, struct gx_task job)
{
    uint64_t kept[GX_SAMPLES], ns;
    size_t bytes = largest_operand(&job), count = 0;
    gx_status s = GX_OK;
    if (c->kind.residency == GX_DEVICE_MEMORY)
        s = buffers_hold(c, series, bytes);
    else if (!arrays_hold(c, bytes))
        s = GX_ERR_OUT_OF_MEMORY;
    set_operands(c, series, &job);
    /* Warm up: the first run of a kind allocates memory and compiles kernels, and the first run of
     * a size records commands. */
    for (int i = series->points ? 1 : 0; i < 2 && s == GX_OK; i++)
        s = run(series, &job, 1, &ns);
    if (s == GX_OK)
        s = check_result(c, series, &job);
    for (int i = 0; s == GX_OK && !is_enough(c, kept, count, i); i++) {
        s = run(series, &job, 1, &ns);
        if (s == GX_OK)
            keep(kept, &count, ns);
    }
    if (s != GX_OK) {
        fail(series, s);
        return 0;
    }
    gx__model_set(series->device->model, &c->kind, job.n, kept, count);
    size_t median = (count - 1) / 2;
    return (double)kept[median];
}

/* Whether there is time for a sparse size: two runs to warm up, and two. */
static bool has_time(const struct calibration *c, const struct series *series,
                     const struct gx_task *job)
{
    uint64_t now = gx__now_ns(), left = c->deadline > now ? c->deadline - now : 0;
    return 4 * series->sparse_ns * job->products * (double)job->n <= (double)left;
}

/* Measures a size and, if it is off the line through the last two, the one in between. */
static void advance(struct calibration *c, struct series *series, const struct gx_task *job)
{
    bool sparse = gx__op_traits(job->op)->sparse;
    if (sparse && !has_time(c, series, job)) {
        series->over = true;
        return;
    }
    double n = (double)job->n, t = measure(c, series, *job);
    if (series->over)
        return;
    if (sparse) {
        series->sparse_ns = t / (n * job->products);
    } else if (series->points > 1) {
        double slope = (series->t[1] - series->t[0]) / (series->n[1] - series->n[0]);
        double off = series->t[1] + slope * (n - series->n[1]) - t;
        struct gx_task between;
        if ((off > OFF_LINE * t || -off > OFF_LINE * t) && !is_late(c) &&
            make_job(c, job->n / 2, &between))
            measure(c, series, between);
    }
    series->n[0] = series->n[1];
    series->t[0] = series->t[1];
    series->n[1] = n;
    series->t[1] = t;
    series->points++;
    series->over |= t > LONG_RUN_NS;
}

/* ---- one kind ---- */

static bool supports(const struct series *series, const struct gx_kind *kind)
{
    const struct gx_device *device = &series->device->engine->device;
    if (series->device->status != GX_OK)
        return false;
    if (kind->residency == GX_REGISTERED_MEMORY)
        return device->facts.import_align != 0;
    return kind->residency == GX_HOST_MEMORY || !device->ops->run;
}

static void report(struct calibration *c, const struct series *series, double part)
{
    char what[96], size[24] = "";
    if (!c->settings->progress)
        return;
    if (gx__op_traits(c->kind.op)->name)
        gx__op_traits(c->kind.op)->name(c->kind.size_class, size, sizeof size);
    snprintf(what, sizeof what, "%s %s%s, %s memory", gx_field_get_info(c->kind.field)->name,
             gx_op_get_info(c->kind.op)->name, size, gx__residency_name(c->kind.residency));
    double done = ((double)c->done + part) / (double)c->kinds;
    if (c->settings->progress(c->settings->user, done < 1 ? done : 1,
                              series->device->engine->device.info.name, what))
        c->cancelled = true;
}

/* Starts the current kind: drops what the models know of it. Returns how many devices measure it.
 */
static size_t begin(struct calibration *c)
{
    size_t active = 0;
    for (size_t i = 0; i < c->count; i++) {
        struct series *series = &c->series[i];
        series->over = !supports(series, &c->kind);
        series->checked = false;
        series->points = 0;
        if (!series->over)
            gx__model_forget(series->device->model, &c->kind);
        active += !series->over;
    }
    return active;
}

static uint64_t last_elems(const struct gx_calibration *settings)
{
    uint64_t most = settings->max_elems;
    return most && most < GX_MEASURED_LAST ? most : GX_MEASURED_LAST;
}

/* The n with this number to measure of a kind; 0: there are no more. */
static uint64_t nth_n(const struct calibration *c, const struct gx_kind *kind, uint32_t number)
{
    uint64_t n = gx__op_traits(kind->op)->measured_n(kind->size_class, number);
    return n <= last_elems(c->settings) ? n : 0;
}

static void measure_kind(struct calibration *c)
{
    size_t active = begin(c);
    uint32_t sizes = 0;
    struct gx_task job;
    while (nth_n(c, &c->kind, sizes))
        sizes++;
    for (uint32_t at = 0; at < sizes && active && !c->cancelled; at++) {
        active = 0;
        for (size_t i = 0; i < c->count && !c->cancelled; i++) {
            struct series *series = &c->series[i];
            /* Fewer than three sizes would be of no use. */
            series->over |= series->points > 2 && is_late(c);
            if (series->over)
                continue;
            if (!make_job(c, nth_n(c, &c->kind, at), &job))
                return;
            advance(c, series, &job);
            active += !series->over;
            report(c, series, (double)(at + 1) / (double)sizes);
        }
    }
}

/* ---- all kinds ---- */

/* Lists all prime fields and returns their number. */
static size_t standard_fields(gx_field fields[GX_FIELD_END])
{
    size_t count = 0;
    for (gx_field f = 1; f < GX_FIELD_END; f++)
        if (gx__prime(f))
            fields[count++] = f;
    return count;
}

/* Operations and size classes that the settings select. Sets those of the kind with this number,
 * and returns how many there are. */
static size_t nth_op(const struct gx_calibration *settings, size_t number, struct gx_kind *kind)
{
    bool standard = !settings->op_count;
    const gx_op *op = standard ? gx__standard_ops : settings->ops;
    size_t ops = standard ? gx__standard_op_count : settings->op_count, before = 0;
    for (size_t i = 0; i < ops; i++) {
        const struct gx_op_traits *traits = gx__op_traits(op[i]);
        size_t classes = standard ? traits->standard_count : traits->measured_count;
        if (number >= before && number - before < classes) {
            kind->op = op[i];
            kind->size_class = (standard ? traits->standard : traits->measured)[number - before];
        }
        before += classes;
    }
    return before;
}

/* The kind with this number, of those that the settings select; false: no more. */
static bool nth_kind(const struct gx_calibration *settings, size_t number, struct gx_kind *kind)
{
    gx_field primes[GX_FIELD_END];
    size_t fields = settings->field_count ? settings->field_count : standard_fields(primes);
    const gx_field *field = settings->field_count ? settings->fields : primes;
    size_t ops = nth_op(settings, 0, kind);
    nth_op(settings, number % ops, kind);
    kind->residency = (gx_residency)(GX_HOST_MEMORY + number / (ops * fields));
    kind->field = field[number / ops % fields];
    kind->path = GX_PATH_AUTO;
    return kind->residency <= GX_DEVICE_MEMORY;
}

static bool is_wanted(const struct calibration *c, const struct gx_kind *kind)
{
    bool any = false;
    for (size_t i = 0; i < c->count; i++)
        any |= supports(&c->series[i], kind);
    return any && nth_n(c, kind, 0) && gx_op_exists(kind->op, kind->field);
}

/* Measures the cost of one more job in a call, besides its elements. */
static void measure_next(struct calibration *c, struct series *series)
{
    struct gx_task job, jobs[NEXT_JOBS];
    uint64_t ns, best = UINT64_MAX;
    struct gx_prediction one;
    if (series->device->status != GX_OK || !make_job(c, GX_MEASURED_FIRST, &job))
        return;
    size_t each = largest_operand(&job);
    if (!arrays_hold(c, NEXT_JOBS * each))
        return;
    set_operands(c, series, &job);
    for (size_t i = 0; i < NEXT_JOBS; i++) {
        jobs[i] = job;
        jobs[i].out.host = c->array[0] + i * each;
    }
    for (int i = 0; i < GX_SAMPLES; i++) {
        gx_status s = run(series, jobs, NEXT_JOBS, &ns);
        if (s != GX_OK)
            return;
        best = i && ns < best ? ns : best;
    }
    if (!gx__model_predict(series->device->model, &c->kind, (double)(NEXT_JOBS * GX_MEASURED_FIRST),
                           &one))
        return;
    double next = ((double)best - one.ns) / (NEXT_JOBS - 1);
    gx__model_set_next_ns(series->device->model, next > 1 ? next : 1); /* 0 means not known */
}

static void measure_all(struct calibration *c)
{
    struct gx_kind kind;
    for (size_t i = 0; nth_kind(c->settings, i, &kind); i++)
        c->kinds += is_wanted(c, &kind);
    for (size_t i = 0; nth_kind(c->settings, i, &kind) && !c->cancelled; i++) {
        if (!is_wanted(c, &kind))
            continue;
        uint64_t now = gx__now_ns(), left = c->end > now ? c->end - now : 0;
        size_t kinds = c->kinds > c->done ? c->kinds - c->done : 1;
        c->kind = kind;
        c->deadline = now + left / kinds;
        set_registered(c, kind.residency == GX_REGISTERED_MEMORY);
        set_floats(c, kind.field == GX_F32);
        if (kind.residency != GX_REGISTERED_MEMORY || c->registered)
            measure_kind(c);
        if (!c->done && kind.residency == GX_HOST_MEMORY && nth_n(c, &kind, 0) == GX_MEASURED_FIRST)
            for (size_t d = 0; d < c->count; d++)
                measure_next(c, &c->series[d]);
        c->done++;
    }
    for (size_t i = 0; i < GX_SHAPE_END; i++) {
        if (c->fixture[i].id)
            drop_tables(c, c->fixture[i].id);
        if (c->fixture[i].instance)
            gx__fixture_free(&c->fixture[i]);
    }
    set_registered(c, false);
}

static size_t memory_limit(void)
{
    uint64_t each = gx__os_memory() / MEMORY_PART / ARRAYS;
    return each && each < SIZE_MAX / 2 / ARRAYS ? (size_t)each : SIZE_MAX / 2 / ARRAYS;
}

/* GX_OK if any device succeeded, else the first failure. */
static gx_status outcome(const struct calibration *c)
{
    gx_status s = GX_OK;
    for (size_t i = c->count; i-- > 0;) {
        if (c->series[i].device->status == GX_OK)
            return GX_OK;
        s = c->series[i].device->status;
    }
    return s;
}

gx_status gx__calibrate(struct gx_instance *instance, struct gx_calibrated *devices, size_t count,
                        const struct gx_calibration *settings)
{
    struct calibration *c = gx__alloc(&instance->config.allocator, sizeof *c);
    if (!c)
        return GX_ERR_OUT_OF_MEMORY;
    struct gx_float_env caller;
    gx__float_env_default(&caller);
    c->instance = instance;
    c->settings = settings;
    uint64_t limit = settings->limit_ns ? settings->limit_ns : LIMIT_NS, now = gx__now_ns();
    c->end = limit < UINT64_MAX - now ? now + limit : UINT64_MAX;
    c->bytes_max = memory_limit();
    c->count = count < GX_CANDIDATES_MAX ? count : GX_CANDIDATES_MAX;
    for (size_t i = 0; i < c->count; i++) {
        c->series[i].device = &devices[i];
        devices[i].status = GX_OK;
        devices[i].wrong = false;
    }
    measure_all(c);
    bool saved = true;
    for (size_t i = 0; i < c->count; i++) {
        free_buffers(&c->series[i]);
        saved = gx__model_save(devices[i].model) && saved;
    }
    gx_status s = outcome(c);
    if (s == GX_OK || c->cancelled)
        s = !saved ? GX_ERR_FILE : c->cancelled ? GX_ERR_CANCELLED : GX_OK;
    free_arrays(c);
    gx__float_env_restore(&caller);
    gx__free(&instance->config.allocator, c);
    return s;
}
