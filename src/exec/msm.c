/* SPDX-License-Identifier: Apache-2.0
 *
 * See msm.h. The points stay on the device as a table; where there is no memory for that, those of
 * each piece travel with its scalars. Scalars in Montgomery form are converted first. The device
 * adds up points by digit; the host does the few hundred doublings that remain of each result, in
 * which a GPU has nothing to do at once.
 */
#include "exec/msm.h"

#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "exec/batch.h"
#include "exec/buffer.h"
#include "exec/pipe.h"
#include "op/msm.h"

/* Pieces that are in one batch of the engine. */
#define TOGETHER 64u
/* If the device runs out of memory: pieces of fewer points are worse than points that travel, ...
 */
#define SMALL_ELEMS 8192u
/* ... and they are not made smaller than this. */
#define FLOOR_ELEMS 64u
/* Scalars of at least so many bytes are copied to the device before its kernels run, which read
 * them more than once, or would wait for the bus. */
#define UPLOAD_BYTES ((size_t)4 << 20)
/* Multiples are used for at least one part in so many of the points, ... */
#define MULTIPLES_POINTS 4u
/* ... and of the bits of a scalar. */
#define MULTIPLES_BITS 2u
/* What is made of them at once: most bytes, and least points. */
#define MULTIPLES_BYTES ((size_t)64 << 20)
#define MULTIPLES_BLOCK 64u
/* Of these, as many share an inversion: no fewer than one point has. */
#define TOGETHER_AFFINE 128u

struct msm {
    struct gx_engine *engine;
    const struct gx_batch *caller;
    const gx_job *job;
    gx_msm_params params;
    const struct gx_curve_row *curve;
    struct gx_outcome *outcome;
    char *message;
    size_t message_size;
    size_t results;
    struct gx_table *table; /* the points; NULL: they are not on the device */
    gx_operand scalars;     /* plain: those of the job, or in one of: */
    struct gx_table *plain_room;
    void *plain;
    gx_path path; /* that of the caller, unless scalars should be copied */
    struct gx_msm_sums sums;
    uint64_t piece;               /* most points of a piece */
    size_t together;              /* pieces in one batch */
    size_t done;                  /* pieces, of all results */
    struct gx_msm_memory *memory; /* with all of the following */
    struct gx_outcome *reports;   /* of `together` pieces, ... */
    gx_job *jobs;
    char *out; /* ... and their sums */
    struct gx_xyzz *part, *result;
    char *bytes; /* results as the caller wants them */
};

static bool out_of_memory(gx_status s)
{
    return s == GX_ERR_OUT_OF_MEMORY || s == GX_ERR_OUT_OF_DEVICE_MEMORY;
}

static uint64_t least(uint64_t a, uint64_t b)
{
    return a < b ? a : b;
}

static void spread(struct gx_engine *engine, size_t parts, gx_threads_fn fn, void *user)
{
    struct gx_instance *instance = engine->instance;
    uint32_t threads = instance->config.threads ? instance->config.threads : gx__cores();
    gx__threads_run(instance, GX_THREADS_COMPUTE, threads, parts, fn, user);
}

/* Runs jobs on the engine, and adds what they took to the outcome. */
static gx_status run(struct msm *m, const gx_job *jobs, size_t count, struct gx_outcome *reports)
{
    for (size_t i = 0; i < count; i++)
        gx__outcome_clear(&reports[i], 0);
    struct gx_batch batch = {.jobs = jobs,
                             .count = count,
                             .reports = reports,
                             .path = m->path,
                             .mode = m->caller->mode,
                             .uncounted = true,
                             .single = true,
                             .held = true,
                             .untimed = m->caller->untimed};
    gx_status s = gx__pipe_run(m->engine, &batch);
    snprintf(m->message, m->message_size, "%s", batch.message);
    for (size_t i = 0; i < count && s == GX_OK; i++)
        gx__outcome_add(m->outcome, &reports[i]);
    return s;
}

/* ---- scalars ---- */

static gx_status convert_to(struct msm *m, gx_operand out)
{
    const gx_job *job = m->job;
    const gx_job from = {.op = GX_FROM_MONT,
                         .field = job->field,
                         .n = job->n,
                         .a = job->a,
                         .out = out,
                         .flags = job->flags};
    struct gx_outcome report;
    m->scalars = out;
    gx_status s = run(m, &from, 1, &report);
    m->outcome->bad_index = report.bad_index;
    m->outcome->bad_operand = report.bad_operand;
    return s;
}

static void put_room(struct msm *m)
{
    gx__table_put(m->engine, m->plain_room);
    m->plain_room = NULL;
}

static gx_status convert_on_host(struct msm *m)
{
    put_room(m);
    m->plain =
        gx__alloc(&m->engine->instance->config.allocator, m->job->n * (size_t)GX_SCALAR_BYTES);
    return m->plain ? convert_to(m, gx_host(m->plain)) : GX_ERR_OUT_OF_MEMORY;
}

/* On the device, or in host memory if there is no room. */
static gx_status convert(struct msm *m)
{
    gx_status s = gx__table_of_room(m->engine, m->job->n * (size_t)GX_SCALAR_BYTES, &m->plain_room);
    if (s == GX_OK)
        s = convert_to(m, gx_dev(m->plain_room->buf, 0));
    return out_of_memory(s) ? convert_on_host(m) : s;
}

/* Those in host memory; if there is no room on the device, they stay there. Those of several
 * results are copied while the device works on the results before. */
static gx_status upload(struct msm *m)
{
    const size_t bytes = m->job->n * (size_t)GX_SCALAR_BYTES;
    if (m->scalars.buf || bytes < UPLOAD_BYTES * m->results)
        return GX_OK;
    if (m->results > 1) {
        m->path = m->path == GX_PATH_AUTO ? GX_PATH_DEVICE_LOCAL : m->path;
        return GX_OK;
    }
    const uint64_t start = gx__engine_now(m->engine);
    gx_status s = gx__table_of_room(m->engine, bytes, &m->plain_room);
    if (s == GX_OK)
        s = gx__buf_fill(m->plain_room->buf, m->scalars.host, bytes, m->job->n);
    if (s == GX_OK)
        m->scalars = gx_dev(m->plain_room->buf, 0);
    else
        put_room(m);
    m->outcome->upload_ns += gx__engine_now(m->engine) - start;
    if (s == GX_OK || out_of_memory(s))
        return GX_OK;
    snprintf(m->message, m->message_size, "%s", gx_status_message(s));
    return gx__engine_status(m->engine, s);
}

/* ---- pieces ---- */

static size_t pieces_of(const struct msm *m)
{
    size_t pieces = (size_t)((m->params.count + m->piece - 1) / m->piece);
    return pieces ? pieces : 1;
}

static size_t left_of(const struct msm *m)
{
    return m->results * pieces_of(m) - m->done;
}

static size_t sums_bytes(const struct msm *m)
{
    return 2 * (size_t)m->curve->info.affine_bytes * gx__msm_windows(&m->sums);
}

static gx_operand operand_at(gx_operand o, size_t bytes)
{
    if (o.buf)
        o.offset += bytes;
    else
        o.host = (char *)o.host + bytes;
    return o;
}

/* The kth of all pieces. */
static gx_job piece_job(const struct msm *m, size_t k, void *out)
{
    size_t result = k / pieces_of(m), from = k % pieces_of(m) * (size_t)m->piece;
    size_t first = m->params.first + from;
    size_t at = first * m->curve->info.affine_bytes * (m->table ? m->table->multiples.parts : 1);
    return (gx_job){
        .op = GX_OP_MSM_SUMS,
        .field = m->curve->info.base_field,
        .n = (size_t)least(m->piece, m->params.count - from),
        .a = operand_at(m->scalars, (result * m->params.count + from) * GX_SCALAR_BYTES),
        .b = m->table ? gx_dev(m->table->buf, at) : gx_host(gx__points_at(m->params.points, first)),
        .out = gx_host(out),
        .flags = GX_JOB_TRUSTED,
        .params = &m->sums};
}

/* Multiples have buckets for all points, and are for scalars of all bits. */
static void set_windows(struct msm *m)
{
    static const struct gx_multiples none = {.parts = 1};
    const struct gx_multiples *multiples = m->table ? &m->table->multiples : &none;
    bool useful = multiples->parts > 1 && m->piece >= m->params.points->count / MULTIPLES_POINTS &&
                  m->sums.bits >= GX_SCALAR_BITS / MULTIPLES_BITS;
    m->sums.parts = multiples->parts;
    m->sums.rows = useful ? multiples->rows : 0;
    m->sums.window = useful ? multiples->window : gx__msm_window(m->piece, m->sums.bits, 1);
}

/* Sets the size of pieces, at most `most`, so that the device can address all of one. */
static gx_status set_piece(struct msm *m, uint64_t most)
{
    struct gx_device *device = &m->engine->device;
    const struct gx_device_facts *facts = &device->facts;
    const uint32_t parts = m->table ? m->table->multiples.parts : 1;
    struct gx_kernel kernel;
    gx_status s = GX_OK;
    m->piece = least(least(most, m->params.count), facts->dispatch_elems / parts);
    if (facts->point_bytes)
        m->piece = least(m->piece, facts->point_bytes / m->curve->info.affine_bytes / parts);
    m->piece = m->piece ? m->piece : 1;
    for (;; m->piece = (m->piece + 1) / 2) {
        set_windows(m);
        gx_job job = piece_job(m, 0, NULL);
        s = gx__job_kernel(m->engine, &job, 0, false, &kernel);
        if (s != GX_OK || m->piece == 1 || !facts->dispatch_bytes ||
            device->ops->scratch(device, &kernel, m->piece) <= facts->dispatch_bytes)
            return s;
    }
}

/* ---- memory ---- */

static struct gx_msm_memory *take_memory(struct gx_engine *engine)
{
    pthread_mutex_lock(&engine->pipes_lock);
    struct gx_msm_memory *memory = engine->msm_memory;
    if (memory)
        engine->msm_memory = memory->next;
    pthread_mutex_unlock(&engine->pipes_lock);
    return memory;
}

static void leave_memory(struct gx_engine *engine, struct gx_msm_memory *memory)
{
    if (!memory)
        return;
    pthread_mutex_lock(&engine->pipes_lock);
    memory->next = engine->msm_memory;
    engine->msm_memory = memory;
    pthread_mutex_unlock(&engine->pipes_lock);
}

void gx__msm_free(struct gx_engine *engine)
{
    for (struct gx_msm_memory *memory; (memory = take_memory(engine));)
        gx__free(&engine->instance->config.allocator, memory);
}

/* At least so many bytes, in place of what there was. */
static bool grow(struct msm *m, size_t bytes)
{
    const gx_allocator *allocator = &m->engine->instance->config.allocator;
    if (m->memory && m->memory->bytes >= bytes)
        return true;
    gx__free(allocator, m->memory);
    m->memory = gx__alloc(allocator, sizeof *m->memory + bytes);
    if (m->memory)
        m->memory->bytes = bytes;
    return m->memory;
}

/* Lays the memory out for the size of pieces, and sets all results to infinity. */
static gx_status begin(struct msm *m)
{
    m->done = 0;
    m->together = (size_t)least(m->params.count ? left_of(m) : 0, TOGETHER);
    size_t sums = m->together ? m->together * sums_bytes(m) : 0;
    size_t each = sizeof *m->part + sizeof *m->reports + sizeof *m->jobs;
    if (!grow(m, m->results * sizeof *m->result + m->together * each + sums +
                     gx__operand_bytes(m->job, GX_OUT)))
        return GX_ERR_OUT_OF_MEMORY;
    m->result = (struct gx_xyzz *)(void *)(m->memory + 1);
    m->part = m->result + m->results;
    m->reports = (struct gx_outcome *)(m->part + m->together);
    m->jobs = (gx_job *)(m->reports + m->together);
    m->out = (char *)(m->jobs + m->together);
    m->bytes = m->out + sums;
    for (size_t i = 0; i < m->results; i++)
        gx__xyzz_set_infinity(&m->result[i]);
    return GX_OK;
}

/* ---- running ---- */

static void finish_piece(void *user, size_t i, uint32_t worker)
{
    const struct msm *m = user;
    (void)worker;
    gx__xyzz_set_infinity(&m->part[i]);
    gx__msm_add_sums(&m->sums, m->jobs[i].out.host, &m->part[i]);
}

/* Some pieces, together. */
static gx_status run_pieces(struct msm *m)
{
    size_t count = (size_t)least(left_of(m), m->together);
    for (size_t i = 0; i < count; i++)
        m->jobs[i] = piece_job(m, m->done + i, m->out + i * sums_bytes(m));
    gx_status s = run(m, m->jobs, count, m->reports);
    if (s != GX_OK)
        return s;
    spread(m->engine, count, finish_piece, m);
    for (size_t i = 0; i < count; i++)
        gx__xyzz_add(m->curve, &m->result[(m->done + i) / pieces_of(m)], &m->part[i]);
    m->done += count;
    return GX_OK;
}

/* Starts over with less memory. False: there is no less. */
static bool take_less(struct msm *m, gx_status *s)
{
    const gx_status before = *s;
    *s = GX_OK;
    if (!m->sums.group) {
        m->sums.group = 1;
    } else if (m->plain_room && m->params.scalar_form == GX_SCALAR_PLAIN) {
        put_room(m);
        m->scalars = m->job->a;
    } else if (m->path != m->caller->path) {
        m->path = m->caller->path;
    } else if (m->piece > SMALL_ELEMS) {
        *s = set_piece(m, m->piece / 2);
    } else if (m->table) {
        gx__table_put(m->engine, m->table);
        m->table = NULL;
        *s = set_piece(m, UINT64_MAX);
    } else if (m->plain_room) {
        *s = convert_on_host(m);
    } else if (m->piece > FLOOR_ELEMS) {
        *s = set_piece(m, m->piece / 2);
    } else {
        *s = before;
        return false;
    }
    if (*s == GX_OK)
        *s = begin(m);
    return *s == GX_OK;
}

static gx_status run_all(struct msm *m)
{
    gx_status s = GX_OK;
    if (m->params.scalar_form == GX_SCALAR_MONT)
        s = convert(m);
    else
        s = upload(m);
    if (s == GX_OK)
        s = set_piece(m, UINT64_MAX);
    if (s == GX_OK)
        s = begin(m);
    while (s == GX_OK && left_of(m)) {
        s = run_pieces(m);
        if (out_of_memory(s) && take_less(m, &s))
            continue;
    }
    return s;
}

/* ---- results ---- */

static void write_result(void *user, size_t i, uint32_t worker)
{
    const struct msm *m = user;
    (void)worker;
    gx__msm_write(m->curve, m->params.result_form, &m->result[i],
                  m->bytes + i * gx__operand_element(m->job, GX_OUT));
}

static gx_status write_results(struct msm *m)
{
    const gx_operand *out = &m->job->out;
    size_t bytes = gx__operand_bytes(m->job, GX_OUT);
    spread(m->engine, m->results, write_result, m);
    if (out->buf)
        return gx_buf_write(out->buf, out->offset, m->bytes, bytes);
    memcpy(out->host, m->bytes, bytes);
    return GX_OK;
}

/* ---- the job ---- */

gx_status gx__msm_run(struct gx_engine *engine, const struct gx_batch *batch, const gx_job *job,
                      struct gx_outcome *outcome, char *message, size_t message_size)
{
    struct msm m = {.engine = engine,
                    .caller = batch,
                    .job = job,
                    .params = gx__msm_params(job),
                    .path = batch->path,
                    .outcome = outcome,
                    .message = message,
                    .message_size = message_size,
                    .scalars = job->a};
    uint64_t start = gx__engine_now(engine);
    m.curve = m.params.points->curve;
    m.results = (size_t)gx__msm_batch(job, &m.params);
    m.sums = (struct gx_msm_sums){.curve = m.curve->curve, .bits = gx__msm_bits(&m.params)};
    m.memory = take_memory(engine);
    gx__tables_hold(engine);
    gx_status s = GX_OK;
    if (!m.params.count) {
        s = begin(&m);
    } else {
        s = gx__table_of_points(engine, m.params.points, &m.table);
        if (s == GX_OK || out_of_memory(s))
            s = run_all(&m);
    }
    if (s == GX_OK)
        s = write_results(&m);
    put_room(&m);
    gx__table_put(engine, m.table);
    gx__tables_let_go(engine);
    gx__free(&engine->instance->config.allocator, m.plain);
    leave_memory(engine, m.memory);
    outcome->total_ns = gx__engine_now(engine) - start;
    return s;
}

/* ---- multiples ---- */

struct filling {
    struct gx_engine *engine;
    const struct gx_points *points;
    struct gx_msm_sums sums;
    size_t first, count, block; /* points, at most `block` */
    uint64_t *multiples;        /* as the device made them, without the points, ... */
    uint64_t *affine;           /* ... and all in affine form */
};

static size_t multiples_bytes(const struct filling *f)
{
    return 2 * (size_t)f->points->curve->info.affine_bytes * f->sums.parts;
}

/* Points whose multiples share an inversion. */
static size_t points_together(const struct filling *f)
{
    return TOGETHER_AFFINE / f->sums.parts;
}

static void finish_multiples(void *user, size_t part, uint32_t worker)
{
    const struct filling *f = user;
    const struct gx_curve_row *curve = f->points->curve;
    const size_t words = 2 * (size_t)curve->limbs, parts = f->sums.parts;
    const size_t first = part * points_together(f);
    const size_t n = (size_t)least(points_together(f), f->count - first);
    struct gx_xyzz p[TOGETHER_AFFINE];
    uint64_t xy[TOGETHER_AFFINE * 2 * GX_COORD_LIMBS];
    (void)worker;
    for (size_t k = 0; k < n * parts; k++)
        gx__msm_load(curve, f->multiples + (first * parts + k) * 2 * words, &p[k]);
    gx__xyzz_batch_to_affine(curve, p, n * parts, xy);
    for (size_t i = 0; i < n; i++) {
        uint64_t *to = f->affine + (first + i) * (parts + 1) * words;
        memcpy(to, gx__points_at(f->points, f->first + first + i), words * sizeof *to);
        memcpy(to + words, xy + i * parts * words, parts * words * sizeof *to);
    }
}

/* As many points as the device can address, and not too many. */
static size_t block_of(const struct filling *f)
{
    const struct gx_device_facts *facts = &f->engine->device.facts;
    uint64_t bytes = MULTIPLES_BYTES;
    if (facts->dispatch_bytes)
        bytes = least(bytes, facts->dispatch_bytes);
    uint64_t block = least(bytes / multiples_bytes(f), facts->dispatch_elems);
    return block ? (size_t)least(block, f->points->count) : 1;
}

/* One block. */
static gx_status fill_block(struct filling *f, gx_buf *buf)
{
    const size_t each = (f->sums.parts + 1) * (size_t)f->points->curve->info.affine_bytes;
    const gx_job job = {.op = GX_OP_MSM_SUMS,
                        .field = f->points->curve->info.base_field,
                        .n = f->count,
                        .a = gx_host(gx__points_at(f->points, f->first)),
                        .out = gx_host(f->multiples),
                        .flags = GX_JOB_TRUSTED,
                        .params = &f->sums};
    struct gx_batch batch = {
        .jobs = &job, .count = 1, .uncounted = true, .single = true, .held = true, .untimed = true};
    gx_status s = gx__pipe_run(f->engine, &batch);
    if (s != GX_OK)
        return s;
    spread(f->engine, (f->count + points_together(f) - 1) / points_together(f), finish_multiples,
           f);
    return gx_buf_write(buf, f->first * each, f->affine, f->count * each);
}

gx_status gx__msm_fill(struct gx_engine *engine, const struct gx_points *points,
                       const struct gx_multiples *multiples, gx_buf *buf)
{
    const gx_allocator *allocator = &engine->instance->config.allocator;
    struct filling f = {.engine = engine,
                        .points = points,
                        .sums = {.curve = points->curve->curve,
                                 .parts = multiples->parts - 1,
                                 .doublings = multiples->window * multiples->rows}};
    const size_t affine = points->curve->info.affine_bytes * (size_t)multiples->parts;
    f.block = block_of(&f);
    f.multiples = gx__alloc(allocator, f.block * multiples_bytes(&f));
    f.affine = gx__alloc(allocator, f.block * affine);
    gx_status s = f.multiples && f.affine ? GX_OK : GX_ERR_OUT_OF_MEMORY;
    while (s == GX_OK && f.first < points->count) {
        f.count = (size_t)least(f.block, points->count - f.first);
        s = fill_block(&f, buf);
        if (s == GX_OK)
            f.first += f.count;
        if (out_of_memory(s) && f.block / 2 >= MULTIPLES_BLOCK) {
            f.block /= 2;
            s = GX_OK;
        }
    }
    gx__free(allocator, f.multiples);
    gx__free(allocator, f.affine);
    return s;
}

/* ---- planning ---- */

gx_status gx__msm_plan(struct gx_engine *engine, const struct gx_batch *batch, uint64_t chunk_elems,
                       struct gx_plan_request *asked, struct gx_plan *plan)
{
    const gx_allocator *allocator = &engine->instance->config.allocator;
    gx_job *jobs = gx__alloc(allocator, batch->count * sizeof *jobs);
    struct gx_msm_sums *sums = gx__alloc(allocator, batch->count * sizeof *sums);
    gx_status s = jobs && sums ? GX_OK : GX_ERR_OUT_OF_MEMORY;
    for (size_t i = 0; i < batch->count && s == GX_OK; i++) {
        const gx_job *job = &batch->jobs[i];
        jobs[i] = *job;
        if (job->op != GX_MSM || !job->n)
            continue;
        const gx_msm_params params = gx__msm_params(job);
        uint32_t bits = gx__msm_bits(&params);
        sums[i] = (struct gx_msm_sums){.curve = params.points->curve->curve,
                                       .bits = bits,
                                       .window = gx__msm_window(params.count, bits, 1)};
        jobs[i] = (gx_job){.op = GX_OP_MSM_SUMS,
                           .field = params.points->curve->info.base_field,
                           .n = job->n,
                           .a = job->a,
                           .b = gx_host_broadcast(params.points->xy), /* takes no room */
                           .out = gx_host(plan),
                           .flags = GX_JOB_TRUSTED,
                           .params = &sums[i]};
    }
    struct gx_batch lowered = *batch;
    lowered.jobs = jobs;
    if (s == GX_OK)
        s = gx__pipe_plan(engine, &lowered, chunk_elems, asked, plan);
    plan->jobs = NULL;
    gx__free(allocator, jobs);
    gx__free(allocator, sums);
    return s;
}
