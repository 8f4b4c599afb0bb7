/* SPDX-License-Identifier: Apache-2.0
 *
 * Expected results of the operations on polynomials, on GMP, as gpuexec.h defines them. As
 * oracle.h otherwise.
 */
#ifndef GX_TESTS_ORACLE_POLY_H
#define GX_TESTS_ORACLE_POLY_H

#include "support/oracle.h"

/* GX_PREFIX_SUM to GX_DEINTERLEAVE. out does not overlap an operand. */
struct oracle_poly {
    gx_op op;
    gx_field field;
    size_t n;
    uint64_t count;
    uint32_t flags; /* GX_POLY_* */
};

void oracle_poly(const struct oracle_poly *p, void *out, const void *a, const void *b);

#endif
