/* SPDX-License-Identifier: Apache-2.0
 *
 * Multi-scalar multiplications, for the router (traits.h).
 */
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "op/msm.h"
#include "op/traits.h"

/* Points of a probe, and the fewest that are worth one. */
#define PROBE_POINTS     256u
#define PROBE_POINTS_MIN 8u
/* Points of a self-test. */
#define TEST_POINTS 64u
/* Calibrations measure up to so many points, of which so many are different: it makes no difference
 * to their time. */
#define MEASURED_LAST   ((uint64_t)1 << 18)
#define MEASURED_POINTS ((size_t)1 << 10)

#define DEGREES       2u
#define VARIANTS      (3 * DEGREES)    /* classes of scalars, and degrees */
#define WHOLE(degree) (4 + (degree)-1) /* gx__msm_class of one result and any scalars */

/* Most users have one curve: that over the base field. */
static const uint32_t measured[] = {WHOLE(1), WHOLE(2)};

static uint32_t degree_of(uint32_t size_class)
{
    return 1 + size_class % DEGREES;
}

/* NULL: there is none. */
static const struct gx_curve_row *curve_of(gx_field field, uint32_t size_class)
{
    for (gx_curve c = 1; c < GX_CURVE_END; c++)
        if (gx__curve(c)->info.scalar_field == field &&
            gx__curve(c)->degree == degree_of(size_class))
            return gx__curve(c);
    return NULL;
}

static uint32_t size_class_of(const struct gx_task *job)
{
    uint32_t log2 = gx__msm_batch(job) > 1;
    while (log2 && log2 + 1 < GX_LOG2_N_END && (uint64_t)1 << log2 < job->msm.count)
        log2++;
    return gx__msm_class(log2, job->msm.points->curve->degree, job->msm.bits);
}

static void describe(gx_field field, uint32_t size_class, struct gx_size_facts *facts)
{
    const struct gx_curve_row *curve = curve_of(field, size_class);
    facts->log2_n = size_class / VARIANTS;
    facts->curve = curve ? curve->curve : 0;
    facts->scalar_bits = 64u << size_class % VARIANTS / DEGREES;
}

static void name(uint32_t size_class, char *text, size_t size)
{
    snprintf(text, size, " in g%u", degree_of(size_class));
}

/* ---- made-up jobs ---- */

/* A small sum of the first points of a job. */
static void probe(const struct gx_task *like, struct gx_task *job)
{
    struct gx_msm_args msm = like->msm;
    msm.count = msm.count < PROBE_POINTS ? msm.count : PROBE_POINTS;
    msm.scalar_form = GX_SCALAR_MONT; /* random ones */
    msm.bits = gx__msm_bits(msm.points, msm.scalar_form, 0);
    *job = (struct gx_task){.op = GX_MSM,
                            .field = like->field,
                            .n = msm.count < PROBE_POINTS_MIN ? 0 : msm.count,
                            .msm = msm};
}

/* On each curve that the context has had points of: compiling kernels for others would take
 * seconds. */
static uint64_t tested(const struct gx_instance *instance, gx_field field, uint32_t number,
                       uint32_t *size_class)
{
    uint32_t curves = atomic_load(&instance->curves);
    for (*size_class = WHOLE(1); *size_class < WHOLE(1) + DEGREES; ++*size_class) {
        const struct gx_curve_row *curve = curve_of(field, *size_class);
        if (curve && curves >> curve->curve & 1 && !number--)
            return TEST_POINTS;
    }
    return 0;
}

/* Multiples of the generator by random numbers, `some` of them different. */
static gx_status make_points(struct gx_points *points, size_t some)
{
    const gx_allocator *allocator = &points->instance->config.allocator;
    const struct gx_curve_row *curve = points->curve;
    size_t each = curve->info.affine_bytes, limbs = some * GX_SCALAR_LIMBS;
    uint64_t state = 1, *scalars = gx__alloc(allocator, limbs * sizeof *scalars);
    points->xy = gx__alloc(allocator, points->count * each);
    for (size_t i = 0; i < limbs && scalars; i++)
        scalars[i] = gx__made_random(&state);
    const struct gx_point_multiples multiples = {.host = gx__msm_host(~0u),
                                                 .curve = curve,
                                                 .base = curve->generator,
                                                 .scalars = scalars,
                                                 .form = GX_POINT_XY_MONT,
                                                 .count = some,
                                                 .bits = GX_SCALAR_BITS,
                                                 .workers = gx__points_threads(points->instance),
                                                 .out = points->xy};
    void *scratch = gx__alloc(allocator, gx__point_multiples_scratch(&multiples));
    bool made = scalars && points->xy && scratch;
    if (made)
        gx__point_multiples(points->instance, &multiples, scratch);
    gx__free(allocator, scratch);
    gx__free(allocator, scalars);
    for (size_t done = some; done < points->count && made; done += some)
        memcpy((char *)points->xy + done * each, points->xy,
               (points->count - done < some ? points->count - done : some) * each);
    return made ? GX_OK : GX_ERR_OUT_OF_MEMORY;
}

static gx_status prepare(struct gx_fixture *f, uint32_t size_class, struct gx_task *job,
                         struct gx_error *error)
{
    const struct gx_curve_row *curve = curve_of(job->field, size_class);
    gx_status s = curve ? GX_OK : GX_ERR_UNSUPPORTED;
    if (curve && (f->points.curve != curve || f->points.count < job->n)) {
        gx__fixture_free(f);
        f->id = gx__table_id();
        f->points = (struct gx_points){.instance = f->instance,
                                       .id = f->id,
                                       .curve = curve,
                                       .count = job->n,
                                       .in_subgroup = true};
        s = make_points(&f->points, job->n < MEASURED_POINTS ? job->n : MEASURED_POINTS);
    }
    if (s != GX_OK) {
        gx__fixture_free(f);
        gx__explain(error, "%s",
                    s == GX_ERR_OUT_OF_MEMORY ? "no memory for points" : "there is no such curve");
        return s;
    }
    job->msm = (struct gx_msm_args){.points = &f->points,
                                    .count = job->n,
                                    .result_form = GX_POINT_XY_MONT,
                                    .scalar_form = f->test ? GX_SCALAR_MONT : GX_SCALAR_PLAIN};
    job->msm.bits = gx__msm_bits(&f->points, job->msm.scalar_form, 0);
    return GX_OK;
}

static uint64_t measured_n(uint32_t size_class, uint32_t number)
{
    (void)size_class;
    return gx__measured_n(MEASURED_LAST, number);
}

/* Per element a sum takes as many additions as there are digits, of about log2 bits each. */
const struct gx_op_traits gx__msm_traits = {.classes = VARIANTS * GX_LOG2_N_END,
                                            .variants = VARIANTS,
                                            .single = true,
                                            .falls = true,
                                            .unlike = true,
                                            .size_class = size_class_of,
                                            .describe = describe,
                                            .name = name,
                                            .probe = probe,
                                            .tested = tested,
                                            .prepare = prepare,
                                            .standard = measured,
                                            .measured = measured,
                                            .standard_count = 1,
                                            .measured_count = DEGREES,
                                            .measured_n = measured_n};
