/* SPDX-License-Identifier: Apache-2.0
 *
 * See verify/parts.h. Checking that a result is a point of the curve costs next to nothing and
 * catches a device that is broken altogether, so every job is checked for that. A wrong sum may
 * still be a point, which only computing the job again can tell. That is done for small jobs until
 * the device is trusted, and for other jobs at random, so that a device that is always wrong is
 * found after a few of them.
 */
#include "verify/parts.h"

#include <string.h>

#include "base/alloc.h"
#include "base/threads.h"
#include "curve/form.h"
#include "op/msm.h"

/* Jobs of at most so many scalars are computed again until the device is trusted. */
#define SMALL_ELEMS     256u
#define POINT_BYTES_MAX 512u

uint64_t gx__msm_sample(struct gx_sampler *sampler, const struct gx_task *job, uint64_t every,
                        bool trusted)
{
    bool all = every == 1 || (!trusted && job->n <= SMALL_ELEMS) ||
               gx__sampler_random(sampler) % every == 0;
    return all && job->n > 1 ? job->n : 1;
}

/* ---- on the curve ---- */

static bool is_point(const struct gx_msm_args *args, const char *result)
{
    const struct gx_curve_row *curve = args->points->curve;
    uint64_t xy[2 * GX_COORD_LIMBS];
    const char *why;
    return gx__point_decode(curve, args->result_form, result, NULL, xy, &why) == GX_OK &&
           gx__point_check(curve, GX_CHECK_CURVE, xy, &why) == GX_OK;
}

/* ---- again ---- */

struct again {
    const struct gx_msm_args *args;
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

/* One by one, if there is no memory for all. */
static void add_up(struct again *a)
{
    const struct gx_curve_row *curve = a->call.curve;
    struct gx_xyzz p;
    gx__xyzz_set_infinity(&a->sum);
    for (size_t i = 0; i < a->call.count; i++) {
        uint64_t scalar[GX_SCALAR_LIMBS];
        gx__scalars_plain(curve->scalar, a->args->scalar_form, a->from + i * GX_SCALAR_BYTES, 1,
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
        gx__scalars_plain(a->call.curve->scalar, a->args->scalar_form, a->from, a->call.count,
                          a->scalars);
        gx__msm_run_phases(a->instance, a->host, &a->call);
    } else {
        add_up(a);
    }
    gx__msm_write(a->call.curve, a->args->result_form, &a->sum, own);
    return !memcmp(own, result, bytes);
}

static void begin(struct again *a)
{
    a->host = gx__msm_host(~0u);
    a->call = (struct gx_msm_call){
        .curve = a->args->points->curve,
        .points = gx__points_at(a->args->points, a->args->first),
        .count = a->args->count,
        .bits = a->args->bits,
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

/* Whether a scalar should have been refused. If the caller had promised that there is none, any
 * result is right. */
static bool has_bad_scalar(const struct gx_task *job)
{
    return job->msm.scalar_form == GX_SCALAR_MONT &&
           gx__first_bad(gx__prime(job->field), job->a.host, job->n, false) != GX_NONE_BAD;
}

bool gx__msm_right(const struct gx_sampler *sampler, const struct gx_task *job, const void *results,
                   uint64_t count, uint64_t *wrong)
{
    struct again again = {.args = &job->msm, .instance = sampler->instance};
    size_t bytes = job->element[GX_OUT];
    uint64_t batch = gx__msm_batch(job);
    bool all = count > 1 || job->n <= 1, right = true;
    *wrong = 0;
    if (all && has_bad_scalar(job))
        return job->trusted;
    if (all)
        begin(&again);
    for (uint64_t i = 0; i < batch && right; i++) {
        const char *result = (const char *)results + i * bytes;
        again.from = (const char *)job->a.host + i * job->msm.count * GX_SCALAR_BYTES;
        right = all ? is_sum(&again, result, bytes) : is_point(&job->msm, result);
        *wrong = i * job->msm.count;
    }
    end(&again);
    return right;
}
