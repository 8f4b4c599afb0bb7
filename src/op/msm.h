/* SPDX-License-Identifier: Apache-2.0
 *
 * Multi-scalar multiplications: their parameters, their parts, and what the host does with the sums
 * of a GPU.
 */
#ifndef GX_OP_MSM_H
#define GX_OP_MSM_H

#include "curve/digits.h"
#include "op/op.h"
#include "op/points.h"

#define GX_SCALAR_BYTES 32u

/* Whether the parameters of the job are right. On failure message says why. */
gx_status gx__msm_check(const struct gx_instance *instance, const gx_job *job, char *message,
                        size_t message_size);

/* Those of a checked job; all 0 if they cannot be read. */
gx_msm_params gx__msm_params(const gx_job *job);

/* Results of a job. */
static inline uint64_t gx__msm_batch(const gx_job *job, const gx_msm_params *params)
{
    return params->count ? job->n / params->count : 1;
}

/* Bits of its scalars that count. */
uint32_t gx__msm_bits(const gx_msm_params *params);

/* gx_job.params of GX_OP_MSM_SUMS. */
struct gx_msm_sums {
    gx_curve curve;
    uint32_t bits, window;
    uint32_t group; /* most windows at a time; 0: any number */
    uint32_t parts; /* points that B has for each scalar: multiples, the point itself first; 0: 1 */
    uint32_t rows;  /* not 0: part k is the point times 2^(window * rows * k), so that digit
                       rows * k + v counts for window v, of which there are `rows` */
    uint32_t
        doublings; /* not 0: no sums, but multiples of the points A: out has `parts` XYZZ points
                      for each, every one the double, so many times, of that before it */
};

/* The windows whose sums there are. */
static inline uint32_t gx__msm_windows(const struct gx_msm_sums *sums)
{
    return sums->rows ? sums->rows : gx__digit_count(sums->bits, sums->window);
}

/* Multiples of points that a GPU keeps: parts * rows digits are all of any scalar. */
struct gx_multiples {
    uint32_t window, rows;
    uint32_t parts; /* 1: the points alone, and the others are 0 */
};

/* The best of so many points in so many bytes. */
struct gx_multiples gx__msm_multiples(const struct gx_curve_row *curve, size_t count,
                                      uint64_t bytes);

/* For gx__op_params, of both operations. */
void gx__msm_key(const gx_job *job, uint32_t *param);

/* The window for n points on a GPU, with so many multiples of each. */
uint32_t gx__msm_window(uint64_t n, uint32_t bits, uint32_t parts);

/* Passes of a job on a GPU, for gx__job_work. */
unsigned gx__msm_passes(const gx_job *job);

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

/* Makes the job, elements `first` and so on of another that has only one result, one of its own:
 * the parameters go to *params, and the result is a GX_POINT_XY_MONT. */
void gx__msm_part(gx_job *job, uint64_t first, gx_msm_params *params);

/* Sets the result of a job to that of its first part; gx__op_join adds those of the others. */
void gx__msm_begin(const gx_job *job, void *result, const void *part);
void gx__msm_join(const gx_job *job, void *result, const void *part);

/* Runs all phases on the threads of the instance; NULL: on this one. */
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
