/* SPDX-License-Identifier: Apache-2.0
 *
 * Whether a device computes what it should: results in host memory are compared with those of the
 * portable host kernels, which share no code with GPUs or with the vector tiers.
 */
#ifndef GX_VERIFY_VERIFY_H
#define GX_VERIFY_VERIFY_H

#include "base/instance.h"
#include "op/task.h"

/* At least so many elements are compared of every job on a device that is not trusted yet. */
#define GX_SAMPLE_MIN 4u
/* Comparing may take one part in GX_TRUST_COST of the time of the jobs. A sample of GX_SAMPLE_FREE
 * elements is always affordable. */
#define GX_TRUST_COST  100u
#define GX_SAMPLE_FREE GX_SAMPLE_MIN

/* What a sample of an operation has. */
enum gx_sampling {
    GX_SAMPLES_ELEMENTS, /* any elements; or all of the job, if only that can tell */
    GX_SAMPLES_UNITS,    /* whole units (gx_task.unit), at least one */
    GX_SAMPLES_JOBS      /* all of the job, at great cost; or a look at the results only */
};
enum gx_sampling gx__sampling(gx_op op);

/* While a device is not trusted, units of so many elements in total are verified, at least one. */
#define GX_UNIT_ELEMS ((uint64_t)1 << 20)

/* Chooses the elements that are compared. Any seed will do, if it is not always the same. One
 * thread at a time. */
struct gx_sampler {
    uint64_t seed;
    uint64_t rest;                /* elements since the last one that was compared */
    struct gx_instance *instance; /* whose threads help with large samples; NULL: none */
};

/* Jobs that can only be verified as a whole are always verified on a device that is not trusted, if
 * they have no more elements than this. */
#define GX_WHOLE_ELEMS 4096u

/* How many elements of a job to compare: one in `every` (1: all), counting through all jobs, and at
 * least GX_SAMPLE_MIN if the device is not trusted. Of GX_VERIFY_WHOLE and GX_EVALUATE all elements
 * or none: one job in `every`, at random. Of transforms one transform in `every`. Of GX_MSM all, or
 * 1, which checks no more than the encoding of the results. */
uint64_t gx__sample_size(struct gx_sampler *sampler, const struct gx_task *job, uint64_t every,
                         bool trusted);

/* How many elements of jobs that took ns may be compared, if comparing one takes element_ps
 * picoseconds (0: not known). */
uint64_t gx__sample_most(uint64_t ns, uint64_t element_ps);

/* Computes `count` elements of the job again, at random places all over it, and compares them with
 * `results`, which may be memory other than job->out. The operands are in host memory and
 * unchanged. False if an element differs, or was computed from an operand that is not canonical:
 * *wrong is its index. If the caller had promised canonical operands, any result is right for such
 * an operand. Any thread. */
bool gx__results_right(struct gx_sampler *sampler, const struct gx_task *job, const void *results,
                       uint64_t count, uint64_t *wrong);

/* Whether a device was right to refuse this element of operand 'a', 'b' or 'c'. The operand is in
 * host memory. */
bool gx__refusal_right(const struct gx_task *job, uint64_t index, char operand);

/* The next number of the sampler's sequence. */
uint64_t gx__sampler_random(struct gx_sampler *sampler);

#endif
