/* SPDX-License-Identifier: Apache-2.0
 *
 * See msm.h.
 */
#include "op/msm.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/abi.h"
#include "base/log.h"
#include "base/threads.h"
#include "curve/form.h"
#include "field/scalar.h"

/* Of a point in any form. */
#define POINT_BYTES_MAX 512u

/* Windows for GPUs: their buckets, 2^(window - 1), should have about 2^BUCKET_LOG2 points each, and
 * twice as many where there are many. */
#define BUCKET_LOG2 5u
#define MANY_LOG2   21u
#define WINDOW_MIN  4u
#define WINDOW_MAX  20u
/* With multiples one set of buckets is for many digits. */
#define WINDOW_MAX_MULTIPLES 22u
/* Of a point; and of all points, so that a kernel can number them and have a bit for the sign. */
#define PARTS_MAX     65u
#define MULTIPLES_MAX ((uint64_t)1 << 31)

#define PASSES 12u

/* ---- reading ---- */

gx_msm_params gx__msm_params(const gx_job *job)
{
    gx_msm_params params;
    char message[GX_MESSAGE_BYTES];
    if (!job->params ||
        gx__take_in(&gx__msm_params_layout, &params, job->params, message, sizeof message) != GX_OK)
        params = (gx_msm_params){0};
    return params;
}

/* Scalars in Montgomery form are below the modulus. */
uint32_t gx__msm_bits(const gx_msm_params *params)
{
    if (params->scalar_form == GX_SCALAR_PLAIN)
        return params->scalar_bits ? params->scalar_bits : GX_SCALAR_BITS;
    const uint64_t *p = params->points->curve->scalar->p;
    return GX_SCALAR_BITS - (uint32_t)__builtin_clzll(p[GX_SCALAR_LIMBS - 1]);
}

bool gx__msm_is_empty(const gx_job *job)
{
    return gx__msm_params(job).count != 0;
}

uint64_t gx__msm_unit(const gx_job *job)
{
    uint64_t count = gx__msm_params(job).count;
    return count && count < job->n ? count : 1;
}

static size_t sums_element(const gx_job *job, int which)
{
    const struct gx_msm_sums *sums = job->params;
    size_t affine = gx__curve(sums->curve)->info.affine_bytes,
           parts = sums->parts ? sums->parts : 1;
    if (sums->doublings)
        return which == GX_A ? affine : which == GX_OUT ? 2 * affine * parts * job->n : 0;
    return which == GX_A   ? GX_SCALAR_BYTES
           : which == GX_B ? parts * affine
                           : 2 * affine * gx__msm_windows(sums);
}

size_t gx__msm_element(const gx_job *job, int which)
{
    if (job->op == GX_OP_MSM_SUMS)
        return sums_element(job, which);
    if (which == GX_A)
        return GX_SCALAR_BYTES;
    const gx_msm_params params = gx__msm_params(job);
    return which == GX_OUT && params.points
               ? gx_point_bytes(params.points->curve->curve, params.result_form)
               : 0;
}

static void put64(uint32_t *param, uint64_t value)
{
    param[0] = (uint32_t)value;
    param[1] = (uint32_t)(value >> 32);
}

void gx__msm_key(const gx_job *job, uint32_t *param)
{
    if (job->op == GX_OP_MSM_SUMS) {
        const struct gx_msm_sums *sums = job->params;
        param[GX_PARAM_CURVE] = sums->curve;
        param[GX_PARAM_BITS] = sums->bits;
        param[GX_PARAM_WINDOW] = sums->window;
        param[GX_PARAM_MSM_GROUP] = sums->group;
        param[GX_PARAM_MSM_PARTS] = sums->parts;
        param[GX_PARAM_MSM_ROWS] = sums->rows;
        param[GX_PARAM_MSM_DOUBLINGS] = sums->doublings;
        return;
    }
    const gx_msm_params params = gx__msm_params(job);
    if (!params.points)
        return;
    param[GX_PARAM_CURVE] = params.points->curve->curve;
    param[GX_PARAM_BITS] = gx__msm_bits(&params);
    param[GX_PARAM_SCALARS] = params.scalar_form;
    param[GX_PARAM_RESULTS] = params.result_form;
    put64(param + GX_PARAM_POINTS, (uintptr_t)params.points);
    put64(param + GX_PARAM_MSM_FIRST, params.first);
    put64(param + GX_PARAM_MSM_COUNT, params.count);
}

/* ---- checking ---- */

struct refusal {
    char *message;
    size_t size;
};

GX_PRINTF(2, 3) static gx_status refuse(const struct refusal *to, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    vsnprintf(to->message, to->size, format, args);
    va_end(args);
    return GX_ERR_INVALID;
}

static gx_status check_points(const struct gx_instance *instance, const gx_job *job,
                              const gx_msm_params *params, const struct refusal *to)
{
    const struct gx_points *points = params->points;
    if (!points)
        return refuse(to, "gx_msm_params.points is NULL: make some with gx_points_create");
    if (points->instance != instance)
        return refuse(to, "gx_msm_params.points belong to another context: create them in this "
                          "one");
    if (points->curve->info.scalar_field != job->field)
        return refuse(to, "field is %s, but the scalars of %s are in %s",
                      gx_field_get_info(job->field)->name, points->curve->info.name,
                      gx_field_get_info(points->curve->info.scalar_field)->name);
    if (params->first > points->count || params->count > points->count - params->first)
        return refuse(to, "first is %zu and count is %zu, but there are %zu points", params->first,
                      params->count, points->count);
    return GX_OK;
}

static gx_status check_forms(const gx_msm_params *params, const struct refusal *to)
{
    const gx_curve_info *info = &params->points->curve->info;
    if (!params->result_form)
        return refuse(to, "gx_msm_params.result_form is 0: name one");
    if (!gx_point_bytes(params->points->curve->curve, params->result_form))
        return refuse(to, "gx_msm_params.result_form is %u (%s): %s has no such form",
                      params->result_form, gx_point_form_name(params->result_form), info->name);
    if (params->scalar_form > GX_SCALAR_MONT)
        return refuse(to, "gx_msm_params.scalar_form is %u, which is none", params->scalar_form);
    if (params->scalar_bits > GX_SCALAR_BITS)
        return refuse(to, "gx_msm_params.scalar_bits is %u: scalars have up to %u",
                      params->scalar_bits, (unsigned)GX_SCALAR_BITS);
    if (params->scalar_bits && params->scalar_form == GX_SCALAR_MONT)
        return refuse(to, "gx_msm_params.scalar_bits is %u: it is for plain scalars, set it to 0",
                      params->scalar_bits);
    if (params->reserved)
        return refuse(to, "gx_msm_params.reserved is %u: set it to 0", params->reserved);
    return GX_OK;
}

gx_status gx__msm_check(const struct gx_instance *instance, const gx_job *job, char *message,
                        size_t message_size)
{
    const struct refusal to = {message, message_size};
    gx_msm_params params;
    if (!job->params)
        return refuse(&to, "params is NULL: msm needs gx_msm_params");
    gx_status s = gx__take_in(&gx__msm_params_layout, &params, job->params, message, message_size);
    if (s == GX_OK)
        s = check_points(instance, job, &params, &to);
    if (s == GX_OK)
        s = check_forms(&params, &to);
    if (s != GX_OK)
        return s;
    if (params.count ? job->n % params.count : job->n)
        return refuse(&to, "n is %zu, not a multiple of count, which is %zu", job->n, params.count);
    if (job->n > SIZE_MAX / 2 / POINT_BYTES_MAX)
        return refuse(&to, "n is %zu, more than memory can hold", job->n);
    if (job->a.broadcast)
        return refuse(&to, "msm takes no broadcast operand");
    return GX_OK;
}

/* ---- scalars ---- */

void gx__scalars_plain(const struct gx_prime *prime, gx_scalar_form form, const void *from,
                       size_t n, uint64_t *to)
{
    static const uint64_t one[GX_LIMBS_MAX] = {1};
    if (n)
        memcpy(to, from, n * GX_SCALAR_BYTES);
    if (form == GX_SCALAR_MONT)
        for (size_t i = 0; i < n; i++) /* a / R */
            gx__mul_one(prime, to + i * GX_SCALAR_LIMBS, to + i * GX_SCALAR_LIMBS, one);
}

/* ---- parts and results ---- */

void gx__msm_part(gx_job *job, uint64_t first, gx_msm_params *params)
{
    *params = gx__msm_params(job);
    params->first += (size_t)first;
    params->count = job->n;
    params->result_form = GX_POINT_XY_MONT;
    job->params = params;
}

void gx__msm_write(const struct gx_curve_row *curve, gx_point_form form, const struct gx_xyzz *p,
                   void *result)
{
    uint64_t xy[2 * GX_COORD_LIMBS];
    gx__xyzz_to_affine(curve, p, xy);
    gx__point_encode(curve, form, xy, result);
}

void gx__msm_begin(const gx_job *job, void *result, const void *part)
{
    const gx_msm_params params = gx__msm_params(job);
    if (!params.points) /* it was checked with the job */
        return;
    const struct gx_curve_row *curve = params.points->curve;
    uint64_t xy[2 * GX_COORD_LIMBS];
    memcpy(xy, part, curve->info.affine_bytes);
    gx__point_encode(curve, params.result_form, xy, result);
}

void gx__msm_join(const gx_job *job, void *result, const void *part)
{
    const gx_msm_params params = gx__msm_params(job);
    if (!params.points)
        return;
    const struct gx_curve_row *curve = params.points->curve;
    uint64_t xy[2 * GX_COORD_LIMBS];
    struct gx_xyzz sum;
    const char *why;
    gx__point_decode(curve, params.result_form, result, NULL, xy, &why); /* we have written it */
    gx__xyzz_set_affine(curve, &sum, xy);
    memcpy(xy, part, curve->info.affine_bytes);
    gx__xyzz_add_affine(curve, &sum, xy);
    gx__msm_write(curve, params.result_form, &sum, result);
}

/* ---- sums of GPUs ---- */

uint32_t gx__msm_window(uint64_t n, uint32_t bits, uint32_t parts)
{
    const uint32_t most = parts > 1 ? WINDOW_MAX_MULTIPLES : WINDOW_MAX;
    uint32_t log2 = 0;
    while (n * parts >> (log2 + 1))
        log2++;
    uint32_t bucket = BUCKET_LOG2 + (log2 >= MANY_LOG2);
    uint32_t window = log2 > bucket ? log2 - bucket + 1 : WINDOW_MIN;
    window = window < WINDOW_MIN ? WINDOW_MIN : window > most ? most : window;
    window = window > bits + 1 ? bits + 1 : window;
    /* as short as it may be without more windows */
    uint32_t windows = gx__digit_count(bits, window);
    return (bits + windows) / windows;
}

static unsigned sums_products(const struct gx_msm_sums *sums)
{
    uint32_t additions =
        sums->doublings ? sums->parts * sums->doublings : gx__digit_count(sums->bits, sums->window);
    return additions * GX_MSM_ADD_PRODUCTS * gx__coord_products(gx__curve(sums->curve));
}

unsigned gx__msm_products(const gx_job *job)
{
    if (job->op == GX_OP_MSM_SUMS)
        return sums_products(job->params);
    const gx_msm_params params = gx__msm_params(job);
    if (!params.points)
        return 0;
    uint32_t bits = gx__msm_bits(&params), window = gx__msm_window(params.count, bits, 1);
    return gx__digit_count(bits, window) * GX_MSM_ADD_PRODUCTS *
           gx__coord_products(params.points->curve);
}

/* Digits, two rounds of sorting, buckets and their sums; in G2 each takes as long as several,
 * because the products of an addition wait for each other. */
unsigned gx__msm_passes(const gx_job *job)
{
    const gx_msm_params params = gx__msm_params(job);
    return params.points ? PASSES * gx__coord_products(params.points->curve) : 1;
}

struct gx_multiples gx__msm_multiples(const struct gx_curve_row *curve, size_t count,
                                      uint64_t bytes)
{
    struct gx_multiples m = {0, 0, 1};
    uint64_t room = count ? bytes / curve->info.affine_bytes : 0;
    room = count ? (room < MULTIPLES_MAX ? room : MULTIPLES_MAX) / count : 0;
    const uint32_t most = room < PARTS_MAX ? (uint32_t)room : PARTS_MAX;
    if (most < 2)
        return m;
    m.parts = most;
    for (int i = 0; i < 2; i++) { /* larger windows need fewer */
        m.window = gx__msm_window(count, GX_SCALAR_BITS, m.parts);
        uint32_t digits = gx__digit_count(GX_SCALAR_BITS, m.window);
        m.rows = (digits + most - 1) / most;
        m.parts = (digits + m.rows - 1) / m.rows;
    }
    return m;
}

void gx__msm_load(const struct gx_curve_row *curve, const uint64_t *words, struct gx_xyzz *p)
{
    size_t limbs = curve->limbs, bytes = limbs * sizeof *words;
    memcpy(p->x, words, bytes);
    memcpy(p->y, words + limbs, bytes);
    memcpy(p->zz, words + 2 * limbs, bytes);
    memcpy(p->zzz, words + 3 * limbs, bytes);
}

/* Horner's rule, from the highest window down. */
void gx__msm_add_sums(const struct gx_msm_sums *of, const uint64_t *sums, struct gx_xyzz *p)
{
    const struct gx_curve_row *curve = gx__curve(of->curve);
    struct gx_xyzz all, one;
    gx__xyzz_set_infinity(&all);
    for (uint32_t w = gx__msm_windows(of); w-- > 0;) {
        for (uint32_t i = 0; i < of->window; i++)
            gx__xyzz_double(curve, &all);
        gx__msm_load(curve, sums + (size_t)w * 4 * curve->limbs, &one);
        gx__xyzz_add(curve, &all, &one);
    }
    gx__xyzz_add(curve, p, &all);
}

/* ---- on the host ---- */

struct phase {
    const struct gx_msm_host *host;
    const struct gx_msm_call *call;
    size_t phase;
};

static void run_chunk(void *user, size_t chunk, uint32_t worker)
{
    const struct phase *p = user;
    gx__msm_chunk(p->host, p->call, p->phase, chunk, worker);
}

void gx__msm_run_phases(struct gx_instance *instance, const struct gx_msm_host *host,
                        const struct gx_msm_call *call)
{
    struct phase p = {host, call, 0};
    for (size_t phases = gx__msm_phases(host, call); p.phase < phases; p.phase++) {
        size_t chunks = gx__msm_chunks(host, call, p.phase);
        if (instance)
            gx__threads_run(instance, GX_THREADS_COMPUTE, call->workers, chunks, run_chunk, &p);
        for (size_t i = 0; i < chunks && !instance; i++)
            run_chunk(&p, i, 0);
    }
}
