/* SPDX-License-Identifier: Apache-2.0
 *
 * Part of verify.h: whether results of operations on polynomials are right. Operands and results
 * are in host memory.
 */
#ifndef GX_VERIFY_POLY_H
#define GX_VERIFY_POLY_H

#include "base/instance.h"
#include "op/task.h"

/* The first of elements first .. first + n of the results that is wrong, or was computed from an
 * operand that should have been refused; first + n if all are right. An element of a scan is
 * compared with the one before it. */
uint64_t gx__poly_wrong(const struct gx_task *job, const void *results, uint64_t first, uint64_t n);

/* GX_EVALUATE; instance: whose threads help, or NULL. */
bool gx__evaluate_right(const struct gx_task *job, const void *result,
                        struct gx_instance *instance);

/* The caller promised that the operands are valid, and they are not: any result is right. */
bool gx__poly_excused(const struct gx_task *job);

#endif
