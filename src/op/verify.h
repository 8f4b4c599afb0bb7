/* SPDX-License-Identifier: Apache-2.0
 *
 * Whether a device computes what it should: results in host memory are compared with those of the
 * portable host kernels, which share no code with GPUs or with the vector tiers.
 */
#ifndef GX_OP_VERIFY_H
#define GX_OP_VERIFY_H

#include "base/instance.h"
#include "op/op.h"

/* Elements compared of every job on a device that is not trusted yet. */
#define GX_SAMPLE_MIN 4u
/* What comparing may take: one part in so many of what it is about. A sample of so few
 * elements is always affordable. */
#define GX_TRUST_COST  100u
#define GX_SAMPLE_FREE GX_SAMPLE_MIN

/* Which elements are compared; any seed but the same for ever. One thread at a time. */
struct gx_sampler {
    uint64_t seed;
    uint64_t rest;                /* elements since the last one that was compared */
    struct gx_instance *instance; /* whose threads help with large samples; NULL: none */
};

/* A result that only all of the job can verify is, of a device that is not trusted, up to so many
 * elements. */
#define GX_WHOLE_ELEMS 4096u

/* How many elements of a job to compare: one in `every` (1: all), counted on from job to job, and
 * GX_SAMPLE_MIN at least where the device is not trusted. Of GX_VERIFY_WHOLE and GX_EVALUATE all or
 * none: one job in `every`, at random. Of transforms one in `every`, whole. Of GX_MSM all, or 1 for
 * a look at the results only. */
uint64_t gx__sample_size(struct gx_sampler *sampler, const gx_job *job, uint64_t every,
                         bool trusted);

/* How many elements may be compared where one costs so many picoseconds (0: not known), of
 * jobs that took ns. */
uint64_t gx__sample_most(uint64_t ns, uint64_t element_ps);

/* Computes `count` elements of the job again, at random places all over it, and compares
 * them with `results`, which may be memory other than job->out; the operands are in host
 * memory and still as they were. False where one differs, or was made of an operand that is not
 * canonical: *wrong is its index. In a job that said its operands are, such a one excuses any
 * result. Any thread. */
bool gx__results_right(struct gx_sampler *sampler, const gx_job *job, const void *results,
                       uint64_t count, uint64_t *wrong);

/* Whether a device was right to refuse this element of operand 'a', 'b' or 'c', which is in
 * host memory. */
bool gx__refusal_right(const gx_job *job, uint64_t index, char operand);

/* The next number of the sampler's sequence. */
uint64_t gx__sampler_random(struct gx_sampler *sampler);

#endif
