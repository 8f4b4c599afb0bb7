/* SPDX-License-Identifier: Apache-2.0
 *
 * See msm.h.
 */
#include "op/msm.h"

#include <string.h>

#include "base/threads.h"
#include "curve/form.h"
#include "field/scalar.h"

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

/* ---- parameters ---- */

/* Scalars in Montgomery form are below the modulus. */
uint32_t gx__msm_bits(const struct gx_points *points, gx_scalar_form form, uint32_t scalar_bits)
{
    if (form == GX_SCALAR_PLAIN || !points)
        return scalar_bits && scalar_bits < GX_SCALAR_BITS ? scalar_bits : GX_SCALAR_BITS;
    const uint64_t *p = points->curve->scalar->p;
    return GX_SCALAR_BITS - (uint32_t)__builtin_clzll(p[GX_SCALAR_LIMBS - 1]);
}

void gx__sums_key(const struct gx_msm_sums *sums, uint32_t *param)
{
    param[GX_PARAM_CURVE] = sums->curve;
    param[GX_PARAM_BITS] = sums->bits;
    param[GX_PARAM_WINDOW] = sums->window;
    param[GX_PARAM_MSM_GROUP] = sums->group;
    param[GX_PARAM_MSM_PARTS] = sums->parts;
    param[GX_PARAM_MSM_ROWS] = sums->rows;
    param[GX_PARAM_MSM_DOUBLINGS] = sums->doublings;
}

struct gx_msm_sums gx__sums_of_key(const uint32_t *param)
{
    return (struct gx_msm_sums){.curve = param[GX_PARAM_CURVE],
                                .bits = param[GX_PARAM_BITS],
                                .window = param[GX_PARAM_WINDOW],
                                .group = param[GX_PARAM_MSM_GROUP],
                                .parts = param[GX_PARAM_MSM_PARTS],
                                .rows = param[GX_PARAM_MSM_ROWS],
                                .doublings = param[GX_PARAM_MSM_DOUBLINGS]};
}

size_t gx__sums_element(const struct gx_msm_sums *sums, uint64_t n, int which)
{
    size_t affine = gx__curve(sums->curve)->info.affine_bytes,
           parts = sums->parts ? sums->parts : 1;
    if (sums->doublings)
        return which == GX_A ? affine : which == GX_OUT ? 2 * affine * parts * (size_t)n : 0;
    return which == GX_A   ? GX_SCALAR_BYTES
           : which == GX_B ? parts * affine
                           : 2 * affine * gx__msm_windows(sums);
}

void gx__msm_key(const struct gx_msm_args *args, uint32_t *param)
{
    param[GX_PARAM_CURVE] = args->points->curve->curve;
    param[GX_PARAM_BITS] = args->bits;
    param[GX_PARAM_SCALARS] = args->scalar_form;
    param[GX_PARAM_RESULTS] = args->result_form;
    gx__put64(param + GX_PARAM_POINTS, (uintptr_t)args->points);
    gx__put64(param + GX_PARAM_MSM_FIRST, args->first);
    gx__put64(param + GX_PARAM_MSM_COUNT, args->count);
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

void gx__msm_write(const struct gx_curve_row *curve, gx_point_form form, const struct gx_xyzz *p,
                   void *result)
{
    uint64_t xy[2 * GX_COORD_LIMBS];
    gx__xyzz_to_affine(curve, p, xy);
    gx__point_encode(curve, form, xy, result);
}

void gx__msm_begin(const struct gx_msm_args *args, void *result, const void *part)
{
    const struct gx_curve_row *curve = args->points->curve;
    uint64_t xy[2 * GX_COORD_LIMBS];
    memcpy(xy, part, curve->info.affine_bytes);
    gx__point_encode(curve, args->result_form, xy, result);
}

void gx__msm_join(const struct gx_msm_args *args, void *result, const void *part)
{
    const struct gx_curve_row *curve = args->points->curve;
    uint64_t xy[2 * GX_COORD_LIMBS];
    struct gx_xyzz sum;
    const char *why;
    gx__point_decode(curve, args->result_form, result, NULL, xy, &why); /* we have written it */
    gx__xyzz_set_affine(curve, &sum, xy);
    memcpy(xy, part, curve->info.affine_bytes);
    gx__xyzz_add_affine(curve, &sum, xy);
    gx__msm_write(curve, args->result_form, &sum, result);
}

/* ---- sums of GPUs ---- */

uint32_t gx__msm_window(uint64_t n, uint32_t bits, uint32_t parts)
{
    const uint32_t most = parts > 1 ? WINDOW_MAX_MULTIPLES : WINDOW_MAX;
    uint32_t log2 = 0;
    while (log2 < 63 && n * parts >> (log2 + 1)) /* a count that is not checked may be anything */
        log2++;
    uint32_t bucket = BUCKET_LOG2 + (log2 >= MANY_LOG2);
    uint32_t window = log2 > bucket ? log2 - bucket + 1 : WINDOW_MIN;
    window = window < WINDOW_MIN ? WINDOW_MIN : window > most ? most : window;
    window = window > bits + 1 ? bits + 1 : window;
    /* as short as it may be without more windows */
    uint32_t windows = gx__digit_count(bits, window);
    return (bits + windows) / windows;
}

unsigned gx__sums_products(const struct gx_msm_sums *sums)
{
    uint32_t additions =
        sums->doublings ? sums->parts * sums->doublings : gx__digit_count(sums->bits, sums->window);
    return additions * GX_MSM_ADD_PRODUCTS * gx__coord_products(gx__curve(sums->curve));
}

unsigned gx__msm_products(const struct gx_msm_args *args)
{
    if (!args->points)
        return 0;
    uint32_t window = gx__msm_window(args->count, args->bits, 1);
    return gx__digit_count(args->bits, window) * GX_MSM_ADD_PRODUCTS *
           gx__coord_products(args->points->curve);
}

/* Digits, two rounds of sorting, buckets and their sums; in G2 each takes as long as several,
 * because the products of an addition wait for each other. */
unsigned gx__msm_passes(const struct gx_msm_args *args)
{
    return args->points ? PASSES * gx__coord_products(args->points->curve) : 1;
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
    for (size_t phases = gx__msm_phases(host, call); p.phase < phases; p.phase++)
        gx__threads_run(instance, GX_THREADS_COMPUTE, call->workers,
                        gx__msm_chunks(host, call, p.phase), run_chunk, &p);
}
