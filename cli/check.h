/* SPDX-License-Identifier: Apache-2.0
 *
 * Bit-by-bit comparison of a device with the reference device. `verify` and `demo` check an
 * operation in all its forms; `bench` checks a sample of what it is about to time.
 */
#ifndef CHECK_H
#define CHECK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "data.h"
#include "gpuexec.h"

/* The operands of one field: n elements, repeated so that a large job can be compared with the slow
 * reference's results for n elements. */
typedef struct check_data {
    gx_field field;
    size_t n, repeats;
    uint64_t seed;
    unsigned char *operand[3];
    unsigned char *expected, *got;
} check_data;

/* False if memory ran out; free it in either case. */
bool check_data_make(check_data *d, gx_field field, size_t n, uint64_t seed);
void check_data_free(check_data *d);

typedef struct check_result {
    uint64_t compared; /* elements */
    bool differs;
    gx_report report; /* of the failed job, if check_* returned a failure */

    /* the first difference */
    gx_op op;
    gx_field field;
    uint64_t index, n;  /* elements, or results that are points */
    unsigned operands;  /* the first so many are in `operand` */
    unsigned broadcast; /* bit i: operand i */
    bool in_place;
    unsigned char operand[3][ELEMENT_BYTES_MAX];
    const char *curve; /* of the points; NULL: none */
    size_t bytes;      /* of the following: one element, or one point */
    unsigned char expected[POINT_BYTES_MAX], got[POINT_BYTES_MAX];
} check_result;

/* Each operand broadcast in turn and none, in place and not, small and large. Stops at the first
 * difference, which does not count as a failure. */
gx_status check_op(gx_ctx *ctx, const char *device, gx_op op, const check_data *d,
                   check_result *result);

/* The same of an operation with parameters (check_whole.c): small jobs of every shape with the
 * reference, a large one by check_whole. */
gx_status check_whole_op(gx_ctx *ctx, const char *device, gx_op op, const check_data *d,
                         check_result *result);

/* Checks the result of a completed job with parameters, over host memory. The reference takes too
 * long for it: elements are computed from their neighbours by the CPU, the polynomial that a
 * transform is of is evaluated at some points, and the transform's sum is compared. */
gx_status check_whole(gx_ctx *ctx, const gx_job *job, check_result *result);

/* The same two for multi-scalar multiplications (check_msm.c): small jobs on every curve of the
 * field with the reference, and large ones, whose points are job_points, by their multiples; those
 * of a field's first curve in check_sample. */
gx_status check_msm_op(gx_ctx *ctx, const char *device, const check_data *d, check_result *result);
gx_status check_msm(gx_ctx *ctx, gx_curve curve, const gx_job *job, check_result *result);

/* Compares `count` results of so many bytes, from result `first` of the job on. False: stores the
 * first difference. */
bool check_compare(check_result *result, const gx_job *job, uint64_t first, size_t count,
                   size_t bytes, const unsigned char *expected, const unsigned char *got);

static inline bool check_goes_on(gx_status s, const check_result *result)
{
    return s == GX_OK && !result->differs;
}

/* Compares up to 256 evenly spaced elements of a completed job. */
gx_status check_sample(gx_ctx *ctx, const gx_job *job, check_result *result);

/* Runs a job and compares a sample of its result. `host` is the same job over host memory, or the
 * job itself; a result in a buffer is read into its output. *ns (may be NULL) is the time of the
 * run alone. If the device fails, with a report, that is the return value. */
gx_status check_run(gx_ctx *ctx, const char *device, const gx_job *job, const gx_job *host,
                    check_result *result, double *ns);

/* The same, with messages and an exit code. */
int check_cell(gx_ctx *ctx, const char *device, const gx_job *job, const gx_job *host);

/* Prints the first difference to stderr. */
void check_print(const char *device, const check_result *result);

#endif
