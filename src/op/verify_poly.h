/* SPDX-License-Identifier: Apache-2.0
 *
 * Part of verify.h: whether results of operations on polynomials are right. Operands and results
 * are in host memory.
 */
#ifndef GX_OP_VERIFY_POLY_H
#define GX_OP_VERIFY_POLY_H

#include "base/instance.h"
#include "op/op.h"

/* The first of elements first .. first + n of the results that is wrong, or was made of an operand
 * that should have been refused; first + n: none. An element of a scan is compared with the one
 * before it. */
uint64_t gx__poly_wrong(const gx_job *job, const void *results, uint64_t first, uint64_t n);

/* GX_EVALUATE; instance: whose threads help, or NULL. */
bool gx__evaluate_right(const gx_job *job, const void *result, struct gx_instance *instance);

/* The job said that its operands are valid, and they are not: a result means nothing. */
bool gx__poly_excused(const gx_job *job);

#endif
