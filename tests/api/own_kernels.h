/* SPDX-License-Identifier: Apache-2.0
 *
 * Kernels that the tests register: SPIR-V compiled from tests/api/kernels and examples, the same in
 * WGSL, and as C functions. Expected values are computed by other means, word by word.
 */
#ifndef GX_TESTS_API_OWN_KERNELS_H
#define GX_TESTS_API_OWN_KERNELS_H

#include "support/harness.h"

enum own_kernel { MULADD, SCALE, COUNT, TRANSPOSE, OWN_KERNELS };

#define M31 0x7fffffffu

/* Parameters of SCALE. */
struct scale {
    uint32_t factor, terms[15];
};

/* All kernels of each operation. */
extern const gx_op_desc own_descs[OWN_KERNELS];

gx_op own_register(gx_ctx *ctx, enum own_kernel kernel);

/* Words of an element of operand 'a', 'b', 'c' or 'o'; of all of out for COUNT. */
size_t own_words(enum own_kernel kernel, char operand);

/* Operands, broadcast ones a single element, and the expected result. */
struct own_case {
    enum own_kernel kernel;
    gx_op op;
    size_t n, words_out;
    uint32_t broadcast; /* bit 0: a, bit 1: b, bit 2: c */
    uint32_t *in[3], *want, *out;
    struct scale scale;
    uint32_t width;
    gx_op_params params;
};

/* n must be a multiple of 6 for TRANSPOSE. */
void own_case_make(struct own_case *c, enum own_kernel kernel, gx_op op, size_t n,
                   uint32_t broadcast, uint64_t seed);
void own_case_free(struct own_case *c);
/* A job in host memory, to c->out; the case must stay where it is. */
gx_job own_case_job(struct own_case *c);
/* c->out is as expected; it is cleared. */
void own_case_check(struct own_case *c);

#endif
