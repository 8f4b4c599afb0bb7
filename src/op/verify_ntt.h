/* SPDX-License-Identifier: Apache-2.0
 *
 * Whether transforms are right, for verify.c.
 */
#ifndef GX_OP_VERIFY_NTT_H
#define GX_OP_VERIFY_NTT_H

#include "op/verify.h"

/* Of a device that is not trusted, so many elements are looked at, in whole transforms: at least
 * one. */
#define GX_TRANSFORM_ELEMS ((uint64_t)1 << 20)

/* gx__sample_size of a transform. */
uint64_t gx__transforms_sample(struct gx_sampler *sampler, const gx_job *job, uint64_t every,
                               bool trusted);

/* gx__results_right of a transform. `count` elements are so many whole transforms, at least one. Of
 * each, every element is read: whatever is wrong is found, but for a chance of n / p. *wrong is the
 * first element of the job that is not canonical, or of the first transform that is wrong. */
bool gx__transforms_right(struct gx_sampler *sampler, const gx_job *job, const void *results,
                          uint64_t count, uint64_t *wrong);

#endif
