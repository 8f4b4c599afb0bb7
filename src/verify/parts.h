/* SPDX-License-Identifier: Apache-2.0
 *
 * The parts of verify.h that are about one kind of operation each. Operands and results are in host
 * memory.
 */
#ifndef GX_VERIFY_PARTS_H
#define GX_VERIFY_PARTS_H

#include "verify/verify.h"

/* ---- ntt.c: gx__sample_size and gx__results_right of transforms ---- */

uint64_t gx__transforms_sample(struct gx_sampler *sampler, const struct gx_task *job,
                               uint64_t every, bool trusted);
/* `count` elements are rounded to whole transforms, at least one, in which every element is read:
 * any error is found, except with probability n / p. *wrong is the first element of the job that is
 * not canonical, or the first of a wrong transform. */
bool gx__transforms_right(struct gx_sampler *sampler, const struct gx_task *job,
                          const void *results, uint64_t count, uint64_t *wrong);

/* ---- msm.c: the same of multi-scalar multiplications ---- */

/* All of the job, which is then computed again; or 1, and then only the encoding of the results is
 * checked. */
uint64_t gx__msm_sample(struct gx_sampler *sampler, const struct gx_task *job, uint64_t every,
                        bool trusted);
bool gx__msm_right(const struct gx_sampler *sampler, const struct gx_task *job, const void *results,
                   uint64_t count, uint64_t *wrong);

/* ---- poly.c: operations on polynomials ---- */

/* The first of elements first .. first + n of the results that is wrong, or was computed from an
 * operand that should have been refused; first + n if all are right. An element of a scan is
 * compared with the one before it. */
uint64_t gx__poly_wrong(const struct gx_task *job, const void *results, uint64_t first, uint64_t n);

/* GX_EVALUATE; instance: whose threads help, or NULL. */
bool gx__evaluate_right(const struct gx_task *job, const void *result,
                        struct gx_instance *instance);

/* Whether an operand should be refused. If the caller has promised that none is, any result is
 * right then. */
bool gx__poly_bad(const struct gx_task *job);

#endif
