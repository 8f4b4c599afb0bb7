/* SPDX-License-Identifier: Apache-2.0
 *
 * Whether the results of multi-scalar multiplications are right.
 */
#ifndef GX_VERIFY_MSM_H
#define GX_VERIFY_MSM_H

#include "verify/verify.h"

/* As gx__sample_size: all of the job, which is then computed again; or 1, and then only the
 * encoding of the results is checked. */
uint64_t gx__msm_sample(struct gx_sampler *sampler, const struct gx_task *job, uint64_t every,
                        bool trusted);

/* As gx__results_right. */
bool gx__msm_right(const struct gx_sampler *sampler, const struct gx_task *job, const void *results,
                   uint64_t count, uint64_t *wrong);

#endif
