/* SPDX-License-Identifier: Apache-2.0
 *
 * See points.h. A part of the points is one thread's work at a time: some take a microsecond, some,
 * if the subgroup is checked or a root is taken, a hundred.
 */
#include "op/points.h"

#include <stdatomic.h>

#include "base/alloc.h"
#include "base/threads.h"
#include "curve/form.h"
#include "curve/multiples.h"
#include "op/msm.h"

#define PART_POINTS 64u

bool gx__is_scalar_field(gx_field field)
{
    for (gx_curve c = 1; c < GX_CURVE_END; c++)
        if (gx_curve_get_info(c)->scalar_field == field)
            return true;
    return false;
}

uint32_t gx__points_threads(const struct gx_instance *instance)
{
    return instance->config.threads ? instance->config.threads : gx__cores();
}

static size_t parts_of(size_t count)
{
    return count / PART_POINTS + (count % PART_POINTS != 0);
}

/* ---- taking ---- */

struct taking {
    struct gx_points *points;
    const struct gx_points_source *from;
    _Atomic uint64_t bad; /* the least index that was found; UINT64_MAX: none */
};

static gx_status take_one(const struct taking *t, size_t i, const char **why)
{
    const struct gx_points_source *from = t->from;
    const struct gx_curve_row *curve = t->points->curve;
    const char *at = from->points + i * from->stride;
    uint64_t *xy = t->points->xy + i * 2 * curve->limbs;
    bool infinity = from->flag_offset && at[from->flag_offset];
    gx_status s =
        gx__point_decode(curve, from->form, at, from->flag_offset ? &infinity : NULL, xy, why);
    return s == GX_OK ? gx__point_check(curve, from->check, xy, why) : s;
}

static void take_part(void *user, size_t part, uint32_t worker)
{
    struct taking *t = user;
    size_t i = part * PART_POINTS, left = t->points->count - i;
    size_t end = i + (left < PART_POINTS ? left : PART_POINTS);
    uint64_t known = atomic_load(&t->bad);
    const char *why;
    (void)worker;
    while (i < end && i < known && take_one(t, i, &why) == GX_OK)
        i++;
    if (i < end)
        gx__threads_found(&t->bad, i);
}

gx_status gx__points_take(struct gx_points *points, const struct gx_points_source *from,
                          uint64_t *bad, struct gx_error *error)
{
    struct taking t = {points, from, UINT64_MAX};
    const char *why = "";
    gx__threads_spread(points->instance, parts_of(points->count), take_part, &t);
    *bad = atomic_load(&t.bad);
    if (*bad == UINT64_MAX)
        return GX_OK;
    gx_status s = take_one(&t, (size_t)*bad, &why);
    gx__explain(error, "point %llu: %s", (unsigned long long)*bad, why);
    return s;
}

/* ---- giving ---- */

struct giving {
    const struct gx_points *points;
    size_t first, count;
    gx_point_form form;
    char *out;
};

static void give_part(void *user, size_t part, uint32_t worker)
{
    const struct giving *g = user;
    const struct gx_curve_row *curve = g->points->curve;
    size_t i = part * PART_POINTS, left = g->count - i,
           bytes = gx_point_bytes(curve->curve, g->form);
    size_t end = i + (left < PART_POINTS ? left : PART_POINTS);
    (void)worker;
    for (; i < end; i++)
        gx__point_encode(curve, g->form, gx__points_at(g->points, g->first + i),
                         g->out + i * bytes);
}

void gx__points_give(const struct gx_points *points, size_t first, size_t count, gx_point_form form,
                     void *out)
{
    struct giving g = {points, first, count, form, out};
    gx__threads_spread(points->instance, parts_of(count), give_part, &g);
}

/* ---- multiples of one point ---- */

/* Scalars that are multiplied together. */
#define BLOCK_SCALARS ((size_t)1 << 16)

struct multiplying {
    const struct gx_point_multiples *of;
    const struct gx_msm_host *host;
    struct gx_multiples_call call;
    uint64_t *scalars; /* of a block, plain */
    size_t phase, done;
};

static void run_chunk(void *user, size_t chunk, uint32_t worker)
{
    const struct multiplying *m = user;
    gx__multiples_chunk(m->host, &m->call, m->phase, chunk, worker);
}

static void encode_part(void *user, size_t part, uint32_t worker)
{
    const struct multiplying *m = user;
    const struct gx_curve_row *curve = m->call.curve;
    size_t i = part * PART_POINTS, left = m->call.count - i;
    size_t end = i + (left < PART_POINTS ? left : PART_POINTS);
    size_t bytes = gx_point_bytes(curve->curve, m->of->form);
    (void)worker;
    for (; i < end; i++)
        gx__point_encode(curve, m->of->form, m->call.out + i * 2 * curve->limbs,
                         (char *)m->of->out + (m->done + i) * bytes);
}

static void multiply_block(struct gx_instance *instance, struct multiplying *m)
{
    gx__scalars_plain(m->call.curve->scalar, m->of->scalar_form,
                      (const char *)m->of->scalars + m->done * GX_SCALAR_BYTES, m->call.count,
                      m->scalars);
    size_t phases = gx__multiples_phases(m->host, &m->call);
    for (m->phase = 0; m->phase < phases; m->phase++)
        gx__threads_run(instance, GX_THREADS_COMPUTE, m->call.workers,
                        gx__multiples_chunks(m->host, &m->call, m->phase), run_chunk, m);
    gx__threads_run(instance, GX_THREADS_COMPUTE, m->call.workers, parts_of(m->call.count),
                    encode_part, m);
    m->done += m->call.count;
}

static struct multiplying first_block(const struct gx_point_multiples *of)
{
    return (struct multiplying){
        .of = of,
        .host = of->host,
        .call = {.curve = of->curve,
                 .base = of->base,
                 .count = of->count < BLOCK_SCALARS ? of->count : BLOCK_SCALARS,
                 .bits = of->bits,
                 .workers = of->workers}};
}

/* Of any block: the last one may be shorter, and has a window of its own. */
static size_t block_scratch(const struct multiplying *m)
{
    struct gx_multiples_call last = m->call;
    last.count = m->of->count % m->call.count;
    size_t each = gx__multiples_scratch(m->host, &m->call);
    size_t rest = gx__multiples_scratch(m->host, &last);
    return rest > each ? rest : each;
}

/* The parts of the scratch, in whole cache lines: scalars, results, the rest. */
static size_t scalars_bytes(const struct multiplying *m)
{
    return (m->call.count * GX_SCALAR_BYTES + 63) / 64 * 64;
}

static size_t results_bytes(const struct multiplying *m)
{
    return (m->call.count * m->call.curve->info.affine_bytes + 63) / 64 * 64;
}

size_t gx__point_multiples_scratch(const struct gx_point_multiples *of)
{
    const struct multiplying m = first_block(of);
    return scalars_bytes(&m) + results_bytes(&m) + block_scratch(&m);
}

void gx__point_multiples(struct gx_instance *instance, const struct gx_point_multiples *of,
                         void *scratch)
{
    struct multiplying m = first_block(of);
    const size_t most = m.call.count;
    m.scalars = scratch;
    m.call.scalars = m.scalars;
    m.call.out = (uint64_t *)(void *)((char *)scratch + scalars_bytes(&m));
    m.call.scratch = (char *)scratch + scalars_bytes(&m) + results_bytes(&m);
    while (m.done < of->count) {
        m.call.count = of->count - m.done < most ? of->count - m.done : most;
        multiply_block(instance, &m);
    }
}
