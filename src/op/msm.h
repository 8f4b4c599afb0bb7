/* SPDX-License-Identifier: Apache-2.0
 *
 * Multi-scalar multiplications: their parameters, their parts, and what the host does with the sums
 * of a GPU.
 */
#ifndef GX_OP_MSM_H
#define GX_OP_MSM_H

#include "curve/digits.h"
#include "op/points.h"
#include "op/task.h"

#define GX_SCALAR_BYTES 32u

/* Bits of scalars that count; scalar_bits as in gx_msm_params. */
uint32_t gx__msm_bits(const struct gx_points *points, gx_scalar_form form, uint32_t scalar_bits);

/* The number of windows, each of which has a sum. */
static inline uint32_t gx__msm_windows(const struct gx_msm_sums *sums)
{
    return sums->rows ? sums->rows : gx__digit_count(sums->bits, sums->window);
}

/* Multiples of points that a GPU keeps: parts * rows digits are all of any scalar. */
struct gx_multiples {
    uint32_t window, rows;
    uint32_t parts; /* 1: the points alone, and the others are 0 */
};

/* The best choice for so many points in so many bytes. */
struct gx_multiples gx__msm_multiples(const struct gx_curve_row *curve, size_t count,
                                      uint64_t bytes);

/* For gx__task_key. */
void gx__msm_key(const struct gx_msm_args *args, uint32_t *param);
void gx__sums_key(const struct gx_msm_sums *sums, uint32_t *param);
struct gx_msm_sums gx__sums_of_key(const uint32_t *param);

/* gx_task.element of GX_OP_MSM_SUMS over n points. */
size_t gx__sums_element(const struct gx_msm_sums *sums, uint64_t n, int which);

/* The window for n points on a GPU, with so many multiples of each. */
uint32_t gx__msm_window(uint64_t n, uint32_t bits, uint32_t parts);

/* For gx_task: passes on a GPU, and products of the base field per scalar. */
unsigned gx__msm_passes(const struct gx_msm_args *args);
unsigned gx__msm_products(const struct gx_msm_args *args);
unsigned gx__sums_products(const struct gx_msm_sums *sums);

/* Products of the base field in an addition of an affine point to another one, and in a product of
 * coordinates. */
#define GX_MSM_ADD_PRODUCTS 10u
static inline uint32_t gx__coord_products(const struct gx_curve_row *curve)
{
    return curve->degree == 2 ? 4 : 1;
}

/* An XYZZ point as GX_OP_MSM_SUMS writes it. */
void gx__msm_load(const struct gx_curve_row *curve, const uint64_t *words, struct gx_xyzz *p);

/* Adds up sums that GX_OP_MSM_SUMS made: p += sum over w of 2^(w * window) * sums[w]. */
void gx__msm_add_sums(const struct gx_msm_sums *of, const uint64_t *sums, struct gx_xyzz *p);

/* Sets the result to that of the first part, a GX_POINT_XY_MONT; adds those of the others. */
void gx__msm_begin(const struct gx_msm_args *args, void *result, const void *part);
void gx__msm_join(const struct gx_msm_args *args, void *result, const void *part);

/* Runs all phases on the threads of the instance, or on the calling thread if it is NULL. */
void gx__msm_run_phases(struct gx_instance *instance, const struct gx_msm_host *host,
                        const struct gx_msm_call *call);

/* Writes a result. */
void gx__msm_write(const struct gx_curve_row *curve, gx_point_form form, const struct gx_xyzz *p,
                   void *result);

/* Copies n scalars, of any alignment, as plain ones; those in Montgomery form are below the
 * modulus. */
void gx__scalars_plain(const struct gx_prime *prime, gx_scalar_form form, const void *from,
                       size_t n, uint64_t *to);

#endif
