/* SPDX-License-Identifier: Apache-2.0
 *
 * Whether transforms are right, for verify.c.
 */
#ifndef GX_VERIFY_NTT_H
#define GX_VERIFY_NTT_H

#include "verify/verify.h"

/* gx__sample_size of a transform. */
uint64_t gx__transforms_sample(struct gx_sampler *sampler, const struct gx_task *job,
                               uint64_t every, bool trusted);

/* gx__results_right of a transform. `count` elements are rounded to whole transforms, at least one,
 * in which every element is read: any error is found, except with probability n / p. *wrong is the
 * first element of the job that is not canonical, or the first of a wrong transform. */
bool gx__transforms_right(struct gx_sampler *sampler, const struct gx_task *job,
                          const void *results, uint64_t count, uint64_t *wrong);

#endif
