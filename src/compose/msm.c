/* SPDX-License-Identifier: Apache-2.0
 *
 * Sums of points on devices with commands. The points stay on the device as a table; where there is
 * no memory for that, those of each piece travel with its scalars. Scalars in Montgomery form are
 * converted first. The device adds up points by digit; the host does the few hundred doublings that
 * remain of each result, in which a GPU has nothing to do at once.
 */
#include <string.h>

#include "compose/composition.h"
#include "exec/batch.h"

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

/* Temporaries: plain scalars, and what the host works with. */
enum { SCALARS, WORK };

struct msm {
    struct gx_composition *c;
    const struct gx_msm_args *args;
    const struct gx_curve_row *curve;
    size_t results, scalar_bytes;
    struct gx_table *table; /* the points; NULL: they are not on the device */

    /* How much memory it takes: */
    bool upload;    /* scalars that are plain are copied first, if there is one result; those of
                       several while the device works on the results before */
    bool on_device; /* scalars that are converted are there, or else in host memory */
    bool by_window; /* the device works on one window at a time */
    uint64_t most;  /* points of a piece, at most */

    /* Set by lower: */
    struct gx_msm_sums sums;
    uint64_t piece;          /* most points of a piece */
    size_t together;         /* pieces in one batch */
    struct gx_place scalars; /* plain */
    struct gx_xyzz *result, *part;
    char *out;   /* sums of the pieces of a batch */
    char *bytes; /* results as the caller wants them */
};

static struct gx_place place_at(struct gx_place p, size_t bytes)
{
    if (p.buf)
        p.offset += bytes;
    else if (p.host) /* else there are no scalars */
        p.host = (char *)p.host + bytes;
    return p;
}

/* ---- pieces ---- */

static size_t pieces_of(const struct msm *m)
{
    size_t pieces = (size_t)((m->args->count + m->piece - 1) / m->piece);
    return pieces ? pieces : 1;
}

static size_t all_pieces(const struct msm *m)
{
    return m->args->count ? m->results * pieces_of(m) : 0;
}

static size_t sums_bytes(const struct msm *m)
{
    return 2 * (size_t)m->curve->info.affine_bytes * gx__msm_windows(&m->sums);
}

/* Of the pieces of a batch. */
static size_t out_bytes(const struct msm *m)
{
    return m->together ? m->together * sums_bytes(m) : 0;
}

/* The kth of all pieces. */
static void set_piece_task(const struct msm *m, size_t k, void *out, struct gx_task *task)
{
    size_t result = k / pieces_of(m), from = k % pieces_of(m) * (size_t)m->piece;
    size_t first = m->args->first + from;
    size_t at = first * m->curve->info.affine_bytes * (m->table ? m->table->multiples.parts : 1);
    gx_buf *points = m->table ? m->table->buf : m->c->caller->plan ? (gx_buf *)GX_PLANNED : NULL;
    *task = (struct gx_task){
        .op = GX_OP_MSM_SUMS,
        .field = m->curve->info.base_field,
        .n = (size_t)gx__least(m->piece, m->args->count - from),
        .a = place_at(m->scalars, (result * m->args->count + from) * GX_SCALAR_BYTES),
        .b =
            points ? gx__at_buffer(points, at) : gx__at_host(gx__points_at(m->args->points, first)),
        .out = gx__at_host(out),
        .trusted = true,
        .sums = m->sums};
    gx__task_complete(task);
}

/* Multiples have buckets for all points, and are for scalars of all bits. */
static void set_windows(struct msm *m)
{
    static const struct gx_multiples none = {.parts = 1};
    const struct gx_multiples *multiples = m->table ? &m->table->multiples : &none;
    bool useful = multiples->parts > 1 && m->piece >= m->args->points->count / MULTIPLES_POINTS &&
                  m->args->bits >= GX_SCALAR_BITS / MULTIPLES_BITS;
    m->sums = (struct gx_msm_sums){.curve = m->curve->curve,
                                   .bits = m->args->bits,
                                   .group = m->by_window,
                                   .parts = multiples->parts,
                                   .rows = useful ? multiples->rows : 0,
                                   .window = useful ? multiples->window
                                                    : gx__msm_window(m->piece, m->args->bits, 1)};
}

/* Sets the size of pieces so that the device can address all of one. */
static gx_status set_piece(struct msm *m)
{
    struct gx_device *device = &m->c->engine->device;
    const struct gx_device_facts *facts = &device->facts;
    const uint32_t parts = m->table ? m->table->multiples.parts : 1;
    struct gx_kernel kernel;
    m->piece = gx__least(gx__least(m->most, m->args->count), facts->dispatch_elems / parts);
    if (facts->point_bytes)
        m->piece = gx__least(m->piece, facts->point_bytes / m->curve->info.affine_bytes / parts);
    m->piece = m->piece ? m->piece : 1;
    for (;; m->piece = (m->piece + 1) / 2) {
        struct gx_task task;
        set_windows(m);
        set_piece_task(m, 0, NULL, &task);
        gx_status s = gx__job_kernel(m->c->engine, &task, false, &kernel);
        if (s != GX_OK || m->piece == 1 || !facts->dispatch_bytes ||
            gx__dispatch_scratch(device, &kernel, m->args->count, m->piece) <=
                facts->dispatch_bytes)
            return s;
    }
}

/* ---- steps: scalars ---- */

static size_t convert(struct gx_composition *c, struct gx_task *task)
{
    const struct gx_task *job = c->job;
    *task = (struct gx_task){.op = GX_FROM_MONT,
                             .field = job->field,
                             .n = job->n,
                             .a = job->a,
                             .out = c->temporary[SCALARS].at,
                             .trusted = job->trusted};
    gx__task_complete(task);
    return 1;
}

/* If there is no room for the copy, they stay where they are. */
static gx_status upload(struct gx_composition *c)
{
    struct msm *m = c->user;
    const uint64_t start = gx__engine_now(c->engine);
    gx_status s =
        gx__buf_fill(c->temporary[SCALARS].at.buf, c->job->a.host, m->scalar_bytes, c->job->n);
    c->outcome->upload_ns += gx__engine_now(c->engine) - start;
    m->scalars = s == GX_OK ? c->temporary[SCALARS].at : c->job->a;
    return gx__out_of_memory(s) ? GX_OK : s;
}

/* ---- steps: pieces ---- */

/* Where the host works, which is known once there are temporaries. */
static void set_work(struct msm *m)
{
    m->result = m->c->temporary[WORK].at.host;
    m->part = m->result + m->results;
    m->out = (char *)(m->part + m->together);
    m->bytes = m->out + out_bytes(m);
    if (!m->scalars.host && !m->scalars.buf)
        m->scalars = m->c->temporary[SCALARS].at;
}

static gx_status clear_results(struct gx_composition *c)
{
    struct msm *m = c->user;
    set_work(m);
    for (size_t k = 0; k < m->results; k++)
        gx__xyzz_set_infinity(&m->result[k]);
    return GX_OK;
}

static size_t sum_pieces(struct gx_composition *c, struct gx_task *tasks)
{
    struct msm *m = c->user;
    size_t done = c->time * m->together,
           count = (size_t)gx__least(all_pieces(m) - done, m->together);
    set_work(m);
    for (size_t k = 0; k < count; k++)
        set_piece_task(m, done + k, m->out + k * sums_bytes(m), &tasks[k]);
    return count;
}

static void finish_piece(void *user, size_t k, uint32_t worker)
{
    const struct msm *m = user;
    (void)worker;
    gx__xyzz_set_infinity(&m->part[k]);
    gx__msm_add_sums(&m->sums, (const uint64_t *)(const void *)(m->out + k * sums_bytes(m)),
                     &m->part[k]);
}

static gx_status add_up(struct gx_composition *c)
{
    struct msm *m = c->user;
    size_t done = c->time * m->together,
           count = (size_t)gx__least(all_pieces(m) - done, m->together);
    gx__threads_spread(c->engine->instance, count, finish_piece, m);
    for (size_t k = 0; k < count; k++)
        gx__xyzz_add(m->curve, &m->result[(done + k) / pieces_of(m)], &m->part[k]);
    return GX_OK;
}

static void write_result(void *user, size_t i, uint32_t worker)
{
    const struct msm *m = user;
    (void)worker;
    gx__msm_write(m->curve, m->args->result_form, &m->result[i],
                  m->bytes + i * m->c->job->element[GX_OUT]);
}

static gx_status write_results(struct gx_composition *c)
{
    struct msm *m = c->user;
    const struct gx_place *out = &c->job->out;
    size_t bytes = gx__operand_bytes(c->job, GX_OUT);
    gx__threads_spread(c->engine->instance, m->results, write_result, m);
    if (out->buf)
        return gx__buf_write(out->buf, out->offset, m->bytes, bytes);
    memcpy(out->host, m->bytes, bytes);
    return GX_OK;
}

/* ---- lowering ---- */

static void lower_scalars(struct msm *m)
{
    struct gx_composition *c = m->c;
    const struct gx_task *job = c->job;
    bool converts = m->args->scalar_form == GX_SCALAR_MONT;
    bool large = !job->a.buf && m->scalar_bytes >= UPLOAD_BYTES * m->results;
    bool uploads = !converts && large && m->upload && m->results == 1;
    c->path = c->caller->path;
    if (!converts && large && m->upload && m->results > 1 && c->path == GX_PATH_AUTO)
        c->path = GX_PATH_DEVICE_LOCAL;
    m->scalars = converts || uploads ? (struct gx_place){0} : job->a;
    c->temporary[SCALARS] =
        (struct gx_temporary){.bytes = converts || uploads ? m->scalar_bytes : 0,
                              .device = uploads || m->on_device,
                              .kept = uploads || m->on_device};
    if (converts)
        c->step[c->steps++] = (struct gx_part_step){.times = 1, .tasks = convert};
    if (uploads)
        c->step[c->steps++] = (struct gx_part_step){.times = 1, .after = upload};
}

static gx_status lower(struct gx_composition *c)
{
    struct msm *m = c->user;
    gx_status s = m->args->count ? set_piece(m) : GX_OK;
    if (s != GX_OK)
        return s;
    m->together = (size_t)gx__least(all_pieces(m), TOGETHER);
    c->temporary[WORK].bytes = m->results * sizeof *m->result + m->together * sizeof *m->part +
                               out_bytes(m) + gx__operand_bytes(c->job, GX_OUT);
    if (m->args->count)
        lower_scalars(m);
    c->step[c->steps++] = (struct gx_part_step){.times = 1, .after = clear_results};
    if (m->args->count)
        c->step[c->steps++] =
            (struct gx_part_step){.times = (all_pieces(m) + m->together - 1) / m->together,
                                  .together = m->together,
                                  .tasks = sum_pieces,
                                  .after = add_up};
    c->step[c->steps++] = (struct gx_part_step){.times = 1, .after = write_results};
    return GX_OK;
}

static void drop_table(struct msm *m)
{
    gx__table_put(m->c->engine, m->table);
    m->table = NULL;
}

static bool less(struct gx_composition *c)
{
    struct msm *m = c->user;
    bool converts = m->args->scalar_form == GX_SCALAR_MONT;
    if (c->lacking == WORK)
        return false;
    if (c->lacking == SCALARS && (converts ? m->on_device : m->upload)) {
        m->upload = m->on_device = false;
    } else if (!m->by_window) {
        m->by_window = true;
    } else if (m->upload && !converts) {
        m->upload = false;
    } else if (m->piece > SMALL_ELEMS) {
        m->most = m->piece / 2;
    } else if (m->table) {
        drop_table(m);
        m->most = UINT64_MAX;
    } else if (m->on_device && converts) {
        m->on_device = false;
    } else if (m->piece > FLOOR_ELEMS) {
        m->most = m->piece / 2;
    } else {
        return false;
    }
    return true;
}

/* ---- the job ---- */

gx_status gx__compose_msm(struct gx_composition *c)
{
    struct gx_engine *engine = c->engine;
    struct msm m = {.c = c,
                    .args = &c->job->msm,
                    .curve = c->job->msm.points->curve,
                    .results = (size_t)gx__msm_batch(c->job),
                    .scalar_bytes = c->job->n * (size_t)GX_SCALAR_BYTES,
                    .upload = true,
                    .on_device = true,
                    .most = UINT64_MAX,
                    .piece = 1};
    gx_status s = GX_OK;
    c->user = &m;
    c->held = true;
    if (c->caller->plan) /* as if the points were on the device already */
        return gx__composition_run(c, lower, less);
    gx__tables_hold(engine);
    if (m.args->count)
        s = gx__table_with_multiples(engine, c->pipe, m.args->points, &m.table);
    if (s == GX_OK || gx__out_of_memory(s))
        s = gx__composition_run(c, lower, less);
    drop_table(&m);
    gx__tables_let_go(engine);
    return s;
}
