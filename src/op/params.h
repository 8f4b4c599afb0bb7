/* SPDX-License-Identifier: Apache-2.0
 *
 * gx_job.params of transforms and of operations on polynomials: checked once, with the job, and
 * read afterwards. And copies, of those of registered operations too.
 */
#ifndef GX_OP_PARAMS_H
#define GX_OP_PARAMS_H

#include "op/domain.h"
#include "op/op.h"

/* Whether the parameters of the job are right, for an operation that takes them and a known field.
 * On failure message says why. */
gx_status gx__params_check(const struct gx_instance *instance, const gx_job *job, char *message,
                           size_t message_size);

/* Those of a checked job. */
gx_ntt_params gx__ntt_params(const gx_job *job);
gx_poly_params gx__poly_params(const gx_job *job);

/* Room for a copy of the parameters of any job, with the data of a registered operation. */
struct gx_params_copy {
    union {
        gx_ntt_params ntt;
        gx_poly_params poly;
        gx_op_params own;
        gx_msm_params msm;
    } params;
    unsigned char data[GX_OP_PARAMS_BYTES];
};

/* Makes a checked job independent of the memory that its parameters are in. */
void gx__params_copy(gx_job *job, struct gx_params_copy *to);

/* Transforms of a job with gx_ntt_params, and elements of one in a. */
static inline uint64_t gx__ntt_batch(const gx_job *job, const gx_ntt_params *params)
{
    return job->n >> params->log2_n;
}

/* What the sizes of operands and the passes of a job follow from, besides op, field and n. */
uint64_t gx__params_word(const gx_job *job);

/* For gx__op_params. */
void gx__ntt_key(const gx_job *job, uint32_t *param);
void gx__poly_key(const gx_job *job, uint32_t *param);

#endif
