/* SPDX-License-Identifier: Apache-2.0
 *
 * Tables of points with multiples. The device doubles points in XYZZ form; the host makes affine
 * ones of them.
 */
#include "compose/composition.h"

#include <string.h>

/* Multiples have at most one part in so many of a device's memory: jobs with them need some, too.
 */
#define SHARE 2u
/* What is made of them at once: most bytes, and least points. */
#define BLOCK_BYTES  ((size_t)64 << 20)
#define BLOCK_POINTS 64u
/* Of these, as many share an inversion: no fewer than one point has. */
#define TOGETHER 128u

/* Temporaries: multiples as the device makes them, without the points; and all in affine form. */
enum { MULTIPLES, AFFINE };

struct filling {
    struct gx_composition *c;
    const struct gx_points *points;
    struct gx_msm_sums sums;
    gx_buf *table;
    size_t first, count, block; /* points, at most `block` */
};

/* Of one point, as the device makes them; in the table. */
static size_t multiples_bytes(const struct filling *f)
{
    return 2 * (size_t)f->points->curve->info.affine_bytes * f->sums.parts;
}

static size_t affine_bytes(const struct filling *f)
{
    return (f->sums.parts + 1) * (size_t)f->points->curve->info.affine_bytes;
}

/* Points whose multiples share an inversion. */
static size_t points_together(const struct filling *f)
{
    return TOGETHER / f->sums.parts;
}

static size_t make_multiples(struct gx_composition *c, struct gx_task *task)
{
    struct filling *f = c->user;
    f->first = c->time * f->block;
    f->count = (size_t)gx__least(f->block, f->points->count - f->first);
    *task = (struct gx_task){.op = GX_OP_MSM_SUMS,
                             .field = f->points->curve->info.base_field,
                             .n = f->count,
                             .a = gx__at_host(gx__points_at(f->points, f->first)),
                             .out = f->c->temporary[MULTIPLES].at,
                             .trusted = true,
                             .sums = f->sums};
    gx__task_complete(task);
    return 1;
}

static void make_affine(void *user, size_t part, uint32_t worker)
{
    const struct filling *f = user;
    const struct gx_curve_row *curve = f->points->curve;
    const uint64_t *multiples = f->c->temporary[MULTIPLES].at.host;
    uint64_t *affine = f->c->temporary[AFFINE].at.host;
    const size_t words = 2 * (size_t)curve->limbs, parts = f->sums.parts;
    const size_t first = part * points_together(f);
    const size_t n = (size_t)gx__least(points_together(f), f->count - first);
    struct gx_xyzz p[TOGETHER];
    uint64_t xy[TOGETHER * 2 * GX_COORD_LIMBS];
    (void)worker;
    for (size_t k = 0; k < n * parts; k++)
        gx__msm_load(curve, multiples + (first * parts + k) * 2 * words, &p[k]);
    gx__xyzz_batch_to_affine(curve, p, n * parts, xy);
    for (size_t i = 0; i < n; i++) {
        uint64_t *to = affine + (first + i) * (parts + 1) * words;
        memcpy(to, gx__points_at(f->points, f->first + first + i), words * sizeof *to);
        memcpy(to + words, xy + i * parts * words, parts * words * sizeof *to);
    }
}

static gx_status write_block(struct gx_composition *c)
{
    struct filling *f = c->user;
    const size_t each = affine_bytes(f);
    gx__threads_spread(f->c->engine->instance,
                       (f->count + points_together(f) - 1) / points_together(f), make_affine, f);
    return gx__buf_write(f->table, f->first * each, f->c->temporary[AFFINE].at.host,
                         f->count * each);
}

/* As many points as the device can address, and not too many. */
static size_t block_of(const struct filling *f)
{
    const struct gx_device_facts *facts = &f->c->engine->device.facts;
    uint64_t bytes = BLOCK_BYTES;
    if (facts->dispatch_bytes)
        bytes = gx__least(bytes, facts->dispatch_bytes);
    uint64_t block = gx__least(bytes / multiples_bytes(f), facts->dispatch_elems);
    return block ? (size_t)gx__least(block, f->points->count) : 1;
}

static gx_status lower(struct gx_composition *c)
{
    struct filling *f = c->user;
    c->temporary[MULTIPLES].bytes = f->block * multiples_bytes(f);
    c->temporary[AFFINE].bytes = f->block * affine_bytes(f);
    c->step[0] = (struct gx_part_step){.times = (f->points->count + f->block - 1) / f->block,
                                       .tasks = make_multiples,
                                       .after = write_block};
    c->steps = 1;
    return GX_OK;
}

static bool less(struct gx_composition *c)
{
    struct filling *f = c->user;
    if (f->block / 2 < BLOCK_POINTS)
        return false;
    f->block /= 2;
    return true;
}

static gx_status fill(struct gx_engine *engine, struct gx_pipe *pipe,
                      const struct gx_points *points, const struct gx_multiples *multiples,
                      gx_buf *table)
{
    const struct gx_batch caller = {.untimed = true};
    struct gx_outcome outcome = {.reason = GX_REASON_NONE};
    struct gx_composition c = {
        .engine = engine, .pipe = pipe, .caller = &caller, .outcome = &outcome, .held = true};
    struct filling f = {.c = &c,
                        .points = points,
                        .table = table,
                        .sums = {.curve = points->curve->curve,
                                 .parts = multiples->parts - 1,
                                 .doublings = multiples->window * multiples->rows}};
    f.block = block_of(&f);
    c.user = &f;
    return gx__composition_run(&c, lower, less);
}

gx_status gx__table_with_multiples(struct gx_engine *engine, struct gx_pipe *pipe,
                                   const struct gx_points *points, struct gx_table **table)
{
    uint64_t room = engine->pool.limit / SHARE;
    struct gx_multiples multiples =
        gx__msm_multiples(points->curve, points->count, gx__least(points->table_bytes, room));
    gx_status s = gx__table_of_points(engine, points, &multiples, table);
    if (s == GX_OK && (*table)->making) {
        uint64_t start = gx__once_begin();
        s = fill(engine, pipe, points, &multiples, (*table)->buf);
        gx__once_end(start, &engine->instance->counters.tables_ns);
        gx__table_made(engine, table, s);
    }
    if (!gx__out_of_memory(s) || multiples.parts == 1)
        return s;
    multiples = gx__msm_multiples(points->curve, points->count, 0);
    return gx__table_of_points(engine, points, &multiples, table);
}
