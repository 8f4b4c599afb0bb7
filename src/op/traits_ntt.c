/* SPDX-License-Identifier: Apache-2.0
 *
 * Transforms, for the router (traits.h).
 */
#include <stdio.h>

#include "op/traits.h"

/* Largest transform of a probe. */
#define PROBE_LOG2 10u

#define CLASS(log2_n) (2 * (log2_n) + 1) /* gx__ntt_class in natural order */

/* The model predicts others from the nearest. */
static const uint32_t measured[] = {CLASS(10), CLASS(14), CLASS(16),
                                    CLASS(18), CLASS(20), CLASS(22)},
                      standard[] = {CLASS(12), CLASS(16), CLASS(20)};
#define MEASURED_LOG2_MAX 22u

static uint32_t log2_of(uint32_t size_class)
{
    return size_class / 2;
}

static uint32_t size_class_of(const struct gx_task *job)
{
    bool in = job->ntt.flags & GX_NTT_REVERSED_IN, out = job->ntt.flags & GX_NTT_REVERSED_OUT;
    return gx__ntt_class(job->ntt.log2_n, in == out);
}

static bool class_exists(gx_field field, uint32_t size_class)
{
    return log2_of(size_class) <= gx_field_get_info(field)->two_adicity;
}

static void describe(gx_field field, uint32_t size_class, struct gx_size_facts *facts)
{
    (void)field;
    facts->log2_n = log2_of(size_class);
    facts->permutes = size_class & 1;
}

static void name(uint32_t size_class, char *text, size_t size)
{
    snprintf(text, size, " of 2^%u", log2_of(size_class));
}

/* ---- made-up jobs ---- */

static void probe(const struct gx_task *like, struct gx_task *job)
{
    struct gx_ntt_args ntt = {.domain = like->ntt.domain,
                              .log2_n = like->ntt.log2_n,
                              .flags = like->ntt.flags & ~GX_NTT_COLUMNS};
    ntt.log2_n = ntt.log2_n < PROBE_LOG2 ? ntt.log2_n : PROBE_LOG2;
    *job = (struct gx_task){
        .op = GX_NTT, .field = like->field, .n = (size_t)1 << ntt.log2_n, .ntt = ntt};
}

/* In one field that has them. */
static uint64_t tested(const struct gx_instance *instance, gx_field field, uint32_t number,
                       uint32_t *size_class)
{
    (void)instance;
    *size_class = CLASS(PROBE_LOG2);
    return number || field != GX_BN254_FR ? 0 : (uint64_t)1 << PROBE_LOG2;
}

/* One domain for all that are measured. */
static gx_status prepare(struct gx_fixture *f, uint32_t size_class, struct gx_task *job,
                         struct gx_error *error)
{
    const uint32_t log2_n = log2_of(size_class), largest = f->test ? log2_n : MEASURED_LOG2_MAX;
    gx_status s = GX_OK;
    if (!f->domain.prime || f->domain.prime->field != job->field)
        s = gx__domain_set(&f->domain, f->instance, gx__prime(job->field), largest, NULL, NULL,
                           error);
    if (s == GX_OK)
        f->id = f->domain.id;
    job->ntt = (struct gx_ntt_args){
        .domain = &f->domain, .log2_n = log2_n, .flags = f->test ? GX_NTT_COSET : 0};
    return s;
}

/* One transform, and several together. */
static uint64_t measured_n(uint32_t size_class, uint32_t number)
{
    static const uint32_t batch_log2[] = {0, 2, 5};
    return number < sizeof batch_log2 / sizeof *batch_log2
               ? (uint64_t)1 << log2_of(size_class) << batch_log2[number]
               : 0;
}

const struct gx_op_traits gx__transform_traits = {
    .classes = 2 * GX_LOG2_N_END,
    .variants = 2,
    .variants_alike = true,
    .size_class = size_class_of,
    .class_exists = class_exists,
    .describe = describe,
    .name = name,
    .probe = probe,
    .tested = tested,
    .prepare = prepare,
    .standard = standard,
    .measured = measured,
    .standard_count = sizeof standard / sizeof *standard,
    .measured_count = sizeof measured / sizeof *measured,
    .measured_n = measured_n,
    .sparse = true};
