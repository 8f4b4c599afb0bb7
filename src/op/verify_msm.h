/* SPDX-License-Identifier: Apache-2.0
 *
 * Whether the results of multi-scalar multiplications are right.
 */
#ifndef GX_OP_VERIFY_MSM_H
#define GX_OP_VERIFY_MSM_H

#include "op/verify.h"

/* As gx__sample_size: all of the job, which is computed again; or 1, and only the encoding of the
 * results is checked. */
uint64_t gx__msm_sample(struct gx_sampler *sampler, const gx_job *job, uint64_t every,
                        bool trusted);

/* As gx__results_right. */
bool gx__msm_right(const struct gx_sampler *sampler, const gx_job *job, const void *results,
                   uint64_t count, uint64_t *wrong);

#endif
