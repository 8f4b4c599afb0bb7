/* SPDX-License-Identifier: Apache-2.0
 *
 * See verify_msm.h. That a result is a point of the curve costs next to nothing and catches what is
 * broken altogether: it is looked at in every job. A sum of other points is a point too, which only
 * computing the job again can tell: of small jobs until the device is trusted, and of some of the
 * others, at random, so that a device that is wrong in each is found after a few.
 */
#include "op/verify_msm.h"

#include <string.h>

#include "base/alloc.h"
#include "base/threads.h"
#include "curve/form.h"
#include "op/msm.h"

/* Jobs of up to so many scalars are computed again as long as the device is not trusted. */
#define SMALL_ELEMS     256u
#define POINT_BYTES_MAX 512u

uint64_t gx__msm_sample(struct gx_sampler *sampler, const gx_job *job, uint64_t every, bool trusted)
{
    bool all = every == 1 || (!trusted && job->n <= SMALL_ELEMS) ||
               gx__sampler_random(sampler) % every == 0;
    return all && job->n > 1 ? job->n : 1;
}

/* ---- on the curve ---- */

static bool is_point(const gx_msm_params *params, const char *result)
{
    const struct gx_curve_row *curve = params->points->curve;
    uint64_t xy[2 * GX_COORD_LIMBS];
    const char *why;
    return gx__point_decode(curve, params->result_form, result, NULL, xy, &why) == GX_OK &&
           gx__point_check(curve, GX_CHECK_CURVE, xy, &why) == GX_OK;
}

/* ---- again ---- */

struct again {
    gx_msm_params params;
    struct gx_instance *instance;
    const struct gx_msm_host *host;
    struct gx_msm_call call;
    struct gx_xyzz sum;
    uint64_t *scalars;
    const char *from; /* those of one result */
};

static const gx_allocator *allocator_of(const struct again *a)
{
    static const gx_allocator none = {0};
    return a->instance ? &a->instance->config.allocator : &none;
}

/* Without memory, one by one. */
static void add_up(struct again *a)
{
    const struct gx_curve_row *curve = a->call.curve;
    struct gx_xyzz p;
    gx__xyzz_set_infinity(&a->sum);
    for (size_t i = 0; i < a->call.count; i++) {
        uint64_t scalar[GX_SCALAR_LIMBS];
        gx__scalars_plain(curve->scalar, a->params.scalar_form, a->from + i * GX_SCALAR_BYTES, 1,
                          scalar);
        gx__xyzz_set_affine(curve, &p, a->call.points + i * 2 * curve->limbs);
        gx__xyzz_mul(curve, &p, &p, scalar, a->call.bits);
        gx__xyzz_add(curve, &a->sum, &p);
    }
}

static bool is_sum(struct again *a, const char *result, size_t bytes)
{
    char own[POINT_BYTES_MAX];
    if (a->scalars && a->call.scratch) {
        gx__scalars_plain(a->call.curve->scalar, a->params.scalar_form, a->from, a->call.count,
                          a->scalars);
        gx__msm_run_phases(a->instance, a->host, &a->call);
    } else {
        add_up(a);
    }
    gx__msm_write(a->call.curve, a->params.result_form, &a->sum, own);
    return !memcmp(own, result, bytes);
}

static void begin(struct again *a)
{
    a->host = gx__msm_host(~0u);
    a->call = (struct gx_msm_call){
        .curve = a->params.points->curve,
        .points = gx__points_at(a->params.points, a->params.first),
        .count = a->params.count,
        .bits = gx__msm_bits(&a->params),
        .workers = a->instance ? gx__cores() : 1,
        .result = &a->sum,
    };
    a->scalars = gx__alloc(allocator_of(a), a->call.count * GX_SCALAR_BYTES);
    a->call.scalars = a->scalars;
    a->call.scratch = gx__alloc(allocator_of(a), gx__msm_scratch(a->host, &a->call));
}

static void end(struct again *a)
{
    gx__free(allocator_of(a), a->scalars);
    gx__free(allocator_of(a), a->call.scratch);
}

/* A scalar that should have been refused; a job that said there is none excuses any result. */
static bool has_bad_scalar(const gx_job *job, const gx_msm_params *params)
{
    return params->scalar_form == GX_SCALAR_MONT &&
           gx__first_bad(gx__prime(job->field), job->a.host, job->n, false) != GX_NONE_BAD;
}

bool gx__msm_right(const struct gx_sampler *sampler, const gx_job *job, const void *results,
                   uint64_t count, uint64_t *wrong)
{
    struct again again = {.params = gx__msm_params(job), .instance = sampler->instance};
    size_t bytes = gx__operand_element(job, GX_OUT);
    uint64_t batch = gx__msm_batch(job, &again.params);
    bool all = count > 1 || job->n <= 1, right = true;
    *wrong = 0;
    if (all && has_bad_scalar(job, &again.params))
        return job->flags & GX_JOB_TRUSTED;
    if (all)
        begin(&again);
    for (uint64_t i = 0; i < batch && right; i++) {
        const char *result = (const char *)results + i * bytes;
        again.from = (const char *)job->a.host + i * again.params.count * GX_SCALAR_BYTES;
        right = all ? is_sum(&again, result, bytes) : is_point(&again.params, result);
        *wrong = i * again.params.count;
    }
    end(&again);
    return right;
}
