/* SPDX-License-Identifier: Apache-2.0
 *
 * Jobs of any operation over random operands, with the parameters that it needs: what `bench`,
 * `scan`, `serve` and `top` run.
 */
#ifndef JOBS_H
#define JOBS_H

#include "data.h"

/* Random operands for the operations of a field, and room for the result. */
typedef struct job_arrays {
    gx_field field;
    unsigned char *operand[3], *result;
    uint32_t *indices; /* of gather: entry i is at most i; NULL if it is not wanted */
    gx_domain *domain; /* of the largest transform; NULL if there is none */
    gx_points *points; /* of multi-scalar multiplications; NULL if there is none */
} job_arrays;

/* For jobs of up to n elements of those operations in `ops` (one bit per gx_op) that the field has.
 * False if memory ran out; free it in either case, before the context is closed. */
bool job_arrays_make(job_arrays *d, gx_ctx *ctx, gx_field field, uint32_t ops, size_t n,
                     uint64_t seed);
void job_arrays_free(job_arrays *d);

/* The indices, the domain and the points alone. */
bool job_extras_make(job_arrays *d, gx_ctx *ctx, uint32_t ops, size_t n);

typedef union job_params {
    gx_ntt_params ntt;
    gx_poly_params poly;
    gx_msm_params msm;
} job_params;

/* The most elements, up to n, that job_make makes a job of: less than n where the operation needs a
 * power of two. */
size_t job_size(gx_op op, gx_field field, size_t n);

/* A job over the first job_size elements, in host memory: one transform; four parts or copies; one
 * sum of points of the field's first curve.
 * *params must live as long as the job. */
gx_job job_make(const job_arrays *d, gx_op op, size_t n, job_params *params);

/* Runs a job on a device; the report may be NULL. */
gx_status job_run(gx_ctx *ctx, const char *device, const gx_job *job, gx_report *report);

/* Sets the parameters of a job as above, over the domain or the points of `d`. */
void job_set_params(gx_job *job, const job_arrays *d, job_params *params);

/* The first curve, from `after` + 1 on, whose scalars are of this field; 0 if there is none. */
gx_curve job_curve(gx_field field, gx_curve after);

/* The generator of the curve times n plain scalars of 32 bytes, computed by the CPU. */
gx_status job_multiply(gx_ctx *ctx, gx_curve curve, const void *scalars, size_t n,
                       gx_point_form form, void *out);

/* n points of a curve, the same in every run: multiples of the generator by job_multiples, n plain
 * scalars. Owned by the caller; NULL if memory ran out. */
gx_points *job_points(gx_ctx *ctx, gx_curve curve, size_t n);
void job_multiples(gx_field field, void *scalars, size_t n);

/* Writes points first .. n of them, in Montgomery form. */
gx_status job_write_points(gx_ctx *ctx, gx_curve curve, void *xy, size_t first, size_t n);

/* The operands and the result of a job in device buffers. */
typedef struct job_buffers {
    gx_buf *operand[3], *result;
} job_buffers;

/* Copies the operands of `host` to new buffers; *job is the same job over them. Free them in any
 * case. */
gx_status job_buffers_make(job_buffers *r, gx_ctx *ctx, const char *device, const gx_job *host,
                           gx_job *job);
void job_buffers_free(job_buffers *r);

/* Bits of the largest power of two up to n; n is not 0. */
unsigned log2_of(size_t n);

#endif
