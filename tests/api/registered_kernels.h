/* SPDX-License-Identifier: Apache-2.0
 *
 * Kernels that the tests register: SPIR-V compiled from tests/api/kernels and examples, the same in
 * WGSL, and as C functions. Expected values are computed by other means, word by word.
 */
#ifndef GX_TESTS_API_OWN_KERNELS_H
#define GX_TESTS_API_OWN_KERNELS_H

#include "support/harness.h"

enum registered_kernel { MULADD, SCALE, COUNT, TRANSPOSE, REGISTERED_KERNELS };

#define M31 0x7fffffffu

/* Parameters of SCALE. */
struct scale {
    uint32_t factor, terms[15];
};

/* All kernels of each operation. */
extern const gx_kernel_params registered_descs[REGISTERED_KERNELS];

gx_op registered_register(gx_ctx *ctx, enum registered_kernel kernel);

/* Words of an element of operand 'a', 'b', 'c' or 'o'; of all of out for COUNT. */
size_t registered_words(enum registered_kernel kernel, char operand);

/* Operands, broadcast ones a single element, and the expected result. */
struct registered_case {
    enum registered_kernel kernel;
    gx_op op;
    size_t n, words_out;
    uint32_t broadcast; /* bit 0: a, bit 1: b, bit 2: c */
    uint32_t *in[3], *want, *out;
    struct scale scale;
    uint32_t width;
    gx_op_params params;
};

/* n must be a multiple of 6 for TRANSPOSE. */
void registered_case_make(struct registered_case *c, enum registered_kernel kernel, gx_op op,
                          size_t n, uint32_t broadcast, uint64_t seed);
void registered_case_free(struct registered_case *c);
/* A job in host memory, to c->out; the case must stay where it is. */
gx_job registered_case_job(struct registered_case *c);
/* c->out is as expected; it is cleared. */
void registered_case_check(struct registered_case *c);

#endif
