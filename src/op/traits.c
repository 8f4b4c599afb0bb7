/* SPDX-License-Identifier: Apache-2.0
 *
 * See traits.h. Here: the table of the shapes for which most things are simple.
 */
#include "op/traits.h"

#include "base/alloc.h"

const gx_op gx__standard_ops[] = {GX_ADD, GX_MUL, GX_INV, GX_NTT, GX_MSM};
const size_t gx__standard_op_count = sizeof gx__standard_ops / sizeof *gx__standard_ops;

const gx_op gx__plain_op = GX_MUL;

/* Fields that a self-test needs: one of each number of limbs. */
static bool is_tested(gx_field field)
{
    return field == GX_BLS12_381_FQ || field == GX_BN254_FR;
}

gx_op gx__op_similar(gx_op op)
{
    static const gx_op by_products[] = {GX_ADD, GX_MUL, GX_INV};
    unsigned products = gx__op_products(op);
    if (gx__is_registered_op(op) || gx__op_traits(op)->unlike)
        return op;
    return by_products[products < 2 ? products : 2];
}

bool gx__op_measurable(gx_op op)
{
    return !gx__op_has_params(op) || gx__op_traits(op)->prepare;
}

bool gx__size_class_exists(gx_op op, gx_field field, uint32_t size_class)
{
    const struct gx_op_traits *traits = gx__op_traits(op);
    return size_class < traits->classes &&
           (!traits->class_exists || traits->class_exists(field, size_class));
}

/* ---- made-up jobs ---- */

uint64_t gx__measured_n(uint64_t last, uint32_t number)
{
    uint64_t n = number < 16 ? GX_MEASURED_FIRST << 2 * number : 0;
    return n <= last ? n : 0;
}

gx_status gx__fixture_set(struct gx_fixture *f, gx_op op, gx_field field, uint32_t size_class,
                          uint64_t n, struct gx_task *job, struct gx_error *error)
{
    const struct gx_op_traits *traits = gx__op_traits(op);
    *job = (struct gx_task){.op = op, .field = field, .n = (size_t)n};
    gx_status s = traits->prepare ? traits->prepare(f, size_class, job, error) : GX_OK;
    if (s == GX_OK)
        gx__task_complete(job);
    return s;
}

void gx__fixture_free(struct gx_fixture *f)
{
    gx__free(&f->instance->config.allocator, f->points.xy);
    *f = (struct gx_fixture){.instance = f->instance, .test = f->test};
}

uint64_t gx__made_random(uint64_t *state)
{
    *state ^= *state << 13;
    *state ^= *state >> 7;
    *state ^= *state << 17;
    return *state;
}

/* Random elements may mean nothing to a registered operation, or with parameters. */
static void probe_plain(const struct gx_task *like, struct gx_task *probe)
{
    *probe =
        (struct gx_task){.op = gx__op_has_params(like->op) ? gx__plain_op : like->op,
                         .field = gx__is_registered_op(like->op) ? GX_BLS12_381_FR : like->field,
                         .n = GX_PROBE_ELEMS};
}

static uint64_t test_plain(const struct gx_instance *instance, gx_field field, uint32_t number,
                           uint32_t *size_class)
{
    (void)instance;
    *size_class = 0;
    return number || !is_tested(field) ? 0 : GX_PROBE_ELEMS;
}

static uint64_t measure_plain(uint32_t size_class, uint32_t number)
{
    (void)size_class;
    return gx__measured_n(GX_MEASURED_LAST, number);
}

/* ---- tables ---- */

static const uint32_t only_class[] = {0};

static const struct gx_op_traits plain_traits = {.classes = 1,
                                                 .variants = 1,
                                                 .probe = probe_plain,
                                                 .tested = test_plain,
                                                 .standard = only_class,
                                                 .measured = only_class,
                                                 .standard_count = 1,
                                                 .measured_count = 1,
                                                 .measured_n = measure_plain};

const struct gx_op_traits *const gx__traits[GX_SHAPE_END] = {[GX_SHAPE_ELEMENTWISE] = &plain_traits,
                                                             [GX_SHAPE_REDUCTION] = &plain_traits,
                                                             [GX_SHAPE_TRANSFORM] =
                                                                 &gx__transform_traits,
                                                             [GX_SHAPE_MSM] = &gx__msm_traits,
                                                             [GX_SHAPE_WHOLE] = &plain_traits};
