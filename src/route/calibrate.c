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
#include "exec/buffer.h"
#include "exec/pipe.h"
#include "op/domain.h"
#include "op/msm.h"
#include "route/store.h"

#define FIRST_ELEMS 64u
#define LAST_ELEMS  ((uint64_t)16 << 20)
#define LIMIT_NS    20000000000u
/* Sizes grow by this factor. If one is off the line through the last two by more than OFF_LINE, the
 * size in between is measured too. */
#define GROWTH   4u
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

/* Transforms are measured one at a time, and so many together: sizes of the same shape. */
static const uint32_t batch_log2[] = {0, 2, 5};
/* Their sizes, in natural order; the model predicts others from the nearest. */
static const uint32_t ntt_log2[] = {10, 14, 16, 18, 20, 22}, standard_ntt_log2[] = {12, 16, 20};

/* Sums of points are measured up to so many, of which so many are different: it makes no difference
 * to their time. */
#define MSM_LAST   ((uint64_t)1 << 18)
#define MSM_POINTS ((uint64_t)1 << 10)

#define COUNT(array) (sizeof(array) / sizeof *(array))

enum { ARRAYS = 3 }; /* out, a, b; c is b again */

/* The measurements of the current kind on one device. */
struct course {
    struct gx_calibrated *device;
    gx_buf *buf[ARRAYS];
    size_t buf_bytes;  /* of each buffer */
    bool over;         /* this kind is finished */
    bool checked;      /* a result was verified */
    double n[2], t[2]; /* the last two sizes and their times */
    int points;
    double level_ns; /* of the last transform: per element and level; 0: none yet */
};

struct calibration {
    struct gx_instance *instance;
    const gx_calibration *settings;
    gx_right_fn right;
    void *user;
    struct course course[GX_CANDIDATES_MAX];
    size_t count;
    char *raw, *array[ARRAYS]; /* as allocated, and its aligned parts */
    size_t bytes, bytes_max;   /* of each array */
    bool floats;               /* the arrays hold floats */
    bool registered;           /* the arrays are registered memory */
    struct gx_kind kind;
    struct gx_domain domain; /* for transforms; prime NULL: none yet */
    gx_ntt_params params;
    struct gx_points points; /* for GX_MSM; xy NULL: none yet */
    gx_msm_params msm;
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
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        uint64_t word = floats ? (state & 0x007fffff007fffffu) | 0x3f8000003f800000u
                               : state & 0x0fffffffffffffffu;
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
    if (c->registered == registered)
        return;
    const char *why;
    c->registered = registered && c->bytes;
    for (int i = 0; i < ARRAYS && c->bytes; i++)
        if (!registered)
            gx__host_unregister(c->instance->registered, c->array[i]);
        else if (gx__host_register(c->instance->registered, c->array[i], c->bytes, &why) != GX_OK)
            c->registered = false;
    if (registered && !c->registered)
        for (int i = 0; i < ARRAYS && c->bytes; i++)
            gx__host_unregister(c->instance->registered, c->array[i]);
}

static void free_buffers(struct course *course)
{
    for (int i = 0; i < ARRAYS; i++)
        gx_buf_destroy(&course->buf[i]);
    course->buf_bytes = 0;
}

static void set_floats(struct calibration *c, bool floats)
{
    if (c->floats == floats)
        return;
    c->floats = floats;
    fill_all(c);
    for (size_t i = 0; i < c->count; i++)
        free_buffers(&c->course[i]); /* they are filled from the arrays when made */
}

static gx_status buffers_hold(struct calibration *c, struct course *course, size_t bytes)
{
    gx_status s = GX_OK;
    if (bytes <= course->buf_bytes)
        return GX_OK;
    if (!arrays_hold(c, bytes))
        return GX_ERR_OUT_OF_MEMORY;
    free_buffers(course);
    for (int i = 0; i < ARRAYS && s == GX_OK; i++) {
        s = gx__buf_create(course->device->engine, bytes, 0, &course->buf[i]);
        if (s == GX_OK)
            s = gx_buf_write(course->buf[i], 0, c->array[i], bytes);
    }
    if (s == GX_OK)
        course->buf_bytes = bytes;
    else
        free_buffers(course);
    return s;
}

/* ---- one run ---- */

static gx_operand operand(const struct calibration *c, const struct course *course, int i)
{
    return c->kind.residency == GX_DEVICE_MEMORY ? gx_dev(course->buf[i], 0) : gx_host(c->array[i]);
}

static gx_job make_job(struct calibration *c, const struct course *course, uint64_t n)
{
    c->msm.count = (size_t)n;
    uint32_t operands = gx_op_get_info(c->kind.op)->operands;
    gx_job job = {.op = c->kind.op, .field = c->kind.field, .n = (size_t)n};
    job.out = operand(c, course, 0);
    job.a = operand(c, course, 1);
    if (operands > 1)
        job.b = operand(c, course, 2);
    if (operands > 2)
        job.c = operand(c, course, 2);
    if (c->kind.op == GX_NTT)
        job.params = &c->params;
    if (c->kind.op == GX_MSM)
        job.params = &c->msm;
    return job;
}

static gx_status run(struct course *course, const gx_job *jobs, size_t count, uint64_t *ns)
{
    struct gx_engine *engine = course->device->engine;
    struct gx_batch batch = {.jobs = jobs, .count = count, .uncounted = true};
    uint64_t start = gx__engine_now(engine);
    gx_status s = gx__engine_run(engine, &batch);
    *ns = gx__engine_now(engine) - start;
    return s;
}

/* Ends the kind on a device, or the device if the failure is not about size or support. */
static void fail(struct course *course, gx_status s)
{
    course->over = true;
    if (s != GX_ERR_UNSUPPORTED && s != GX_ERR_OUT_OF_DEVICE_MEMORY && s != GX_ERR_OUT_OF_MEMORY)
        course->device->status = s;
}

static gx_status check_result(struct calibration *c, struct course *course, const gx_job *job)
{
    if (!c->right || course->checked || c->kind.residency == GX_DEVICE_MEMORY)
        return GX_OK;
    course->checked = true;
    return c->right(c->user, course->device->engine, job) ? GX_OK : GX_ERR_DEVICE;
}

static bool is_late(const struct calibration *c)
{
    return gx__now_ns() >= c->deadline;
}

/* ---- one size on one device ---- */

static double lesser(double x, double y)
{
    return x < y ? x : y;
}

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

/* Measures one size and returns the median time; 0: failed. */
static double measure(struct calibration *c, struct course *course, uint64_t n)
{
    uint64_t kept[GX_SAMPLES], ns;
    size_t bytes = (size_t)n * gx__element_bytes(c->kind.field), count = 0;
    gx_status s = GX_OK;
    if (c->kind.residency == GX_DEVICE_MEMORY)
        s = buffers_hold(c, course, bytes);
    else if (!arrays_hold(c, bytes))
        s = GX_ERR_OUT_OF_MEMORY;
    gx_job job = make_job(c, course, n);
    /* Warm up: the first run of a kind allocates memory and compiles kernels, and the first run of
     * a size records commands. */
    for (int i = course->points ? 1 : 0; i < 2 && s == GX_OK; i++)
        s = run(course, &job, 1, &ns);
    if (s == GX_OK)
        s = check_result(c, course, &job);
    for (int i = 0; s == GX_OK && !is_enough(c, kept, count, i); i++) {
        s = run(course, &job, 1, &ns);
        if (s == GX_OK)
            keep(kept, &count, ns);
    }
    if (s != GX_OK) {
        fail(course, s);
        return 0;
    }
    gx__model_set(course->device->model, &c->kind, n, kept, count);
    size_t median = (count - 1) / 2;
    return (double)kept[median];
}

/* Measures a size and, if it is off the line through the last two, the one in between. */
static void advance(struct calibration *c, struct course *course, uint64_t n)
{
    double t = measure(c, course, n);
    if (course->over)
        return;
    if (course->points > 1) {
        double slope = (course->t[1] - course->t[0]) / (course->n[1] - course->n[0]);
        double off = course->t[1] + slope * ((double)n - course->n[1]) - t;
        if ((off > OFF_LINE * t || -off > OFF_LINE * t) && !is_late(c))
            measure(c, course, n / 2);
    }
    course->n[0] = course->n[1];
    course->t[0] = course->t[1];
    course->n[1] = (double)n;
    course->t[1] = t;
    course->points++;
    course->over |= t > LONG_RUN_NS;
}

/* ---- one kind ---- */

static bool supports(const struct course *course, const struct gx_kind *kind)
{
    const struct gx_device *device = &course->device->engine->device;
    if (course->device->status != GX_OK)
        return false;
    if (kind->residency == GX_REGISTERED_MEMORY)
        return device->facts.import_align != 0;
    return kind->residency == GX_HOST_MEMORY || !device->ops->run;
}

static void report(struct calibration *c, const struct course *course, double part)
{
    char what[96], size[24] = "";
    if (!c->settings->progress)
        return;
    if (c->kind.op == GX_NTT)
        snprintf(size, sizeof size, " of 2^%u", gx__shape_log2_n(c->kind.shape));
    if (c->kind.op == GX_MSM)
        snprintf(size, sizeof size, " in g%u", gx__msm_shape_degree(c->kind.shape));
    snprintf(what, sizeof what, "%s %s%s, %s memory", gx_field_get_info(c->kind.field)->name,
             gx_op_get_info(c->kind.op)->name, size, gx_residency_name(c->kind.residency));
    double done = ((double)c->done + part) / (double)c->kinds;
    if (c->settings->progress(c->settings->user, lesser(done, 1),
                              course->device->engine->device.info.name, what))
        c->cancelled = true;
}

/* Starts the current kind: drops what the models know of it. Returns how many devices measure it.
 */
static size_t begin(struct calibration *c)
{
    size_t active = 0;
    for (size_t i = 0; i < c->count; i++) {
        struct course *course = &c->course[i];
        course->over = !supports(course, &c->kind);
        course->checked = false;
        course->points = 0;
        if (!course->over)
            gx__model_forget(course->device->model, &c->kind);
        active += !course->over;
    }
    return active;
}

static uint64_t last_elems(const gx_calibration *settings)
{
    uint64_t most = settings->max_elems;
    return most && most < LAST_ELEMS ? most : LAST_ELEMS;
}

/* ---- points ---- */

static void drop_points(struct calibration *c)
{
    for (size_t i = 0; i < c->count && c->points.xy; i++)
        gx__tables_drop(c->course[i].device->engine, c->points.id);
    gx__free(&c->instance->config.allocator, c->points.xy);
    c->points.xy = NULL;
}

/* At least n points of the current kind; false: no memory. */
static bool points_hold(struct calibration *c, uint64_t n)
{
    gx_curve curve = 1;
    for (; curve < GX_CURVE_END; curve++)
        if (gx__curve(curve)->info.scalar_field == c->kind.field &&
            gx__curve(curve)->degree == gx__msm_shape_degree(c->kind.shape))
            break;
    const struct gx_curve_row *row = gx__curve(curve);
    size_t each = row->info.affine_bytes, some = (size_t)(n < MSM_POINTS ? n : MSM_POINTS);
    if (c->points.xy && c->points.curve == row && c->points.count >= n)
        return true;
    drop_points(c);
    if (!arrays_hold(c, some * GX_SCALAR_BYTES))
        return false;
    c->points = (struct gx_points){.instance = c->instance,
                                   .id = gx__table_id(),
                                   .curve = row,
                                   .count = (size_t)n,
                                   .in_subgroup = true};
    c->points.xy = gx__alloc(&c->instance->config.allocator, (size_t)n * each);
    const gx_multiply_desc desc = {.struct_size = sizeof desc,
                                   .curve = curve,
                                   .scalars = c->array[1],
                                   .form = GX_POINT_XY_MONT,
                                   .count = some,
                                   .out = c->points.xy};
    if (!c->points.xy || gx__points_multiply(c->instance, &desc, row->generator) != GX_OK)
        return false;
    for (size_t done = some; done < n; done += some)
        memcpy((char *)c->points.xy + done * each, c->points.xy,
               (n - done < some ? (size_t)n - done : some) * each);
    c->msm = (gx_msm_params){
        .struct_size = sizeof c->msm, .points = &c->points, .result_form = GX_POINT_XY_MONT};
    return true;
}

/* ---- sizes ---- */

static void measure_kind(struct calibration *c)
{
    bool msm = c->kind.op == GX_MSM;
    uint64_t last = last_elems(c->settings);
    last = msm && last > MSM_LAST ? MSM_LAST : last;
    size_t active = begin(c), sizes = 0, at = 0;
    for (uint64_t n = FIRST_ELEMS; n <= last; n *= GROWTH)
        sizes++;
    for (uint64_t n = FIRST_ELEMS; n <= last && active && !c->cancelled; n *= GROWTH, at++) {
        active = 0;
        if (msm && !points_hold(c, n))
            return;
        for (size_t i = 0; i < c->count && !c->cancelled; i++) {
            struct course *course = &c->course[i];
            /* Fewer than three sizes would be of no use. */
            course->over |= course->points > 2 && is_late(c);
            if (course->over)
                continue;
            advance(c, course, n);
            active += !course->over;
            report(c, course, (double)(at + 1) / (double)sizes);
        }
    }
}

/* ---- transforms ---- */

/* The one of the current kind's field. */
static gx_status set_domain(struct calibration *c)
{
    char message[GX_MESSAGE_BYTES];
    const gx_domain_desc desc = {.struct_size = sizeof desc,
                                 .field = c->kind.field,
                                 .log2_size =
                                     ntt_log2[COUNT(ntt_log2) - 1]}; /* the largest of all shapes */
    gx_status s = GX_OK;
    if (!c->domain.prime || c->domain.prime->field != c->kind.field)
        s = gx__domain_set(&c->domain, c->instance, &desc, message, sizeof message);
    c->params = (gx_ntt_params){.struct_size = sizeof c->params,
                                .domain = &c->domain,
                                .log2_n = gx__shape_log2_n(c->kind.shape)};
    return s;
}

static void drop_tables(struct calibration *c)
{
    for (size_t i = 0; i < c->count && c->domain.prime; i++)
        gx__tables_drop(c->course[i].device->engine, c->domain.id);
}

/* Whether there is time for n elements: two runs to warm up, and two. Unlike other kinds,
 * transforms do not begin with sizes that always are short. */
static bool has_time(const struct calibration *c, const struct course *course, uint64_t n)
{
    uint64_t now = gx__now_ns(), left = c->deadline > now ? c->deadline - now : 0;
    return 4 * course->level_ns * c->params.log2_n * (double)n <= (double)left;
}

static void measure_transforms(struct calibration *c, struct course *course)
{
    uint64_t last = last_elems(c->settings), one = (uint64_t)1 << c->params.log2_n;
    const size_t sizes = COUNT(batch_log2);
    for (size_t k = 0; k < sizes && !course->over && !c->cancelled; k++) {
        uint64_t n = one << batch_log2[k];
        if (n > last || !has_time(c, course, n))
            return;
        double t = measure(c, course, n);
        course->level_ns = t / ((double)n * c->params.log2_n);
        course->points++;
        course->over |= t > LONG_RUN_NS;
        report(c, course, (double)(k + 1) / (double)sizes);
    }
}

static void measure_shape(struct calibration *c)
{
    if (!begin(c) || set_domain(c) != GX_OK)
        return;
    for (size_t i = 0; i < c->count; i++)
        measure_transforms(c, &c->course[i]);
}

/* ---- all kinds ---- */

static const gx_op standard_ops[] = {GX_ADD, GX_MUL, GX_INV, GX_NTT, GX_MSM};

/* Lists all prime fields and returns their number. */
static size_t standard_fields(gx_field fields[GX_FIELD_END])
{
    size_t count = 0;
    for (gx_field f = 1; f < GX_FIELD_END; f++)
        if (gx__prime(f))
            fields[count++] = f;
    return count;
}

/* Operations, and transforms by shape, that the settings select. Sets those of the kind with this
 * number, and returns how many there are. */
static size_t nth_op(const gx_calibration *settings, size_t number, struct gx_kind *kind)
{
    bool standard = !settings->op_count;
    const gx_op *op = standard ? standard_ops : settings->ops;
    const uint32_t *log2_n = standard ? standard_ntt_log2 : ntt_log2;
    size_t ops = standard ? COUNT(standard_ops) : settings->op_count, count = 0;
    for (size_t i = 0; i < ops; i++) {
        size_t shapes = op[i] == GX_MSM   ? (standard ? 1 : 2) /* degrees */
                        : op[i] != GX_NTT ? 1
                        : standard        ? COUNT(standard_ntt_log2)
                                          : COUNT(ntt_log2);
        if (number >= count && number - count < shapes) {
            kind->op = op[i];
            kind->shape = op[i] == GX_NTT ? gx__shape(log2_n[number - count], true)
                          : op[i] == GX_MSM
                              ? gx__msm_shape(0, (uint32_t)(1 + number - count), GX_SCALAR_BITS)
                              : 0;
        }
        count += shapes;
    }
    return count;
}

/* The kind with this number, of those that the settings select; false: no more. */
static bool nth_kind(const gx_calibration *settings, size_t number, struct gx_kind *kind)
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
        any |= supports(&c->course[i], kind);
    bool fits = kind->op != GX_NTT ||
                (uint64_t)1 << gx__shape_log2_n(kind->shape) <= last_elems(c->settings);
    return any && fits && gx_op_exists(kind->op, kind->field);
}

/* Measures the cost of one more job in a call, besides its elements. */
static void measure_next(struct calibration *c, struct course *course)
{
    gx_job jobs[NEXT_JOBS];
    uint64_t ns, best = UINT64_MAX;
    struct gx_prediction one;
    size_t element = gx__element_bytes(c->kind.field), each = FIRST_ELEMS * element;
    if (course->device->status != GX_OK || !arrays_hold(c, NEXT_JOBS * each))
        return;
    for (size_t i = 0; i < NEXT_JOBS; i++) {
        jobs[i] = make_job(c, course, FIRST_ELEMS);
        jobs[i].out.host = c->array[0] + i * each;
    }
    for (int i = 0; i < GX_SAMPLES; i++) {
        gx_status s = run(course, jobs, NEXT_JOBS, &ns);
        if (s != GX_OK)
            return;
        best = i && ns < best ? ns : best;
    }
    if (!gx__model_predict(course->device->model, &c->kind, NEXT_JOBS * FIRST_ELEMS, &one))
        return;
    double next = ((double)best - one.ns) / (NEXT_JOBS - 1);
    gx__model_set_next_ns(course->device->model, next > 1 ? next : 1); /* 0 means not known */
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
        if (kind.op == GX_NTT && c->domain.prime && c->domain.prime->field != kind.field)
            drop_tables(c);
        if (kind.residency != GX_REGISTERED_MEMORY || c->registered)
            kind.op == GX_NTT ? measure_shape(c) : measure_kind(c);
        if (!c->done && kind.residency == GX_HOST_MEMORY && kind.op != GX_NTT)
            for (size_t d = 0; d < c->count; d++)
                measure_next(c, &c->course[d]);
        c->done++;
    }
    drop_tables(c);
    drop_points(c);
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
        if (c->course[i].device->status == GX_OK)
            return GX_OK;
        s = c->course[i].device->status;
    }
    return s;
}

gx_status gx__calibrate(struct gx_instance *instance, struct gx_calibrated *devices, size_t count,
                        const gx_calibration *settings, gx_right_fn right, void *user)
{
    struct calibration *c = gx__alloc(&instance->config.allocator, sizeof *c);
    if (!c)
        return GX_ERR_OUT_OF_MEMORY;
    struct gx_float_env caller;
    gx__float_env_default(&caller);
    c->instance = instance;
    c->settings = settings;
    c->right = right;
    c->user = user;
    uint64_t limit = settings->limit_ns ? settings->limit_ns : LIMIT_NS, now = gx__now_ns();
    c->end = limit < UINT64_MAX - now ? now + limit : UINT64_MAX;
    c->bytes_max = memory_limit();
    c->count = count < GX_CANDIDATES_MAX ? count : GX_CANDIDATES_MAX;
    for (size_t i = 0; i < c->count; i++) {
        c->course[i].device = &devices[i];
        devices[i].status = GX_OK;
    }
    measure_all(c);
    bool saved = true;
    for (size_t i = 0; i < c->count; i++) {
        free_buffers(&c->course[i]);
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
