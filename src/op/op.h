/* SPDX-License-Identifier: Apache-2.0
 *
 * The operations: one row each, which everything that differs between them is derived from.
 * The values are those of gpuexec.h, written out there for binding generators; op.c and
 * tests/tree/lists.sh check that both agree.
 */
#ifndef GX_OP_OP_H
#define GX_OP_OP_H

#include "gpuexec.h"

/* X(symbol, value, name, operands, exists for u32 and f32 too, result) */
#define GX__OP_LIST(X)                                                                             \
    X(GX_ADD, 1, "add", 2, 1, "a + b")                                                             \
    X(GX_SUB, 2, "sub", 2, 1, "a - b")                                                             \
    X(GX_MUL, 3, "mul", 2, 1, "a * b")                                                             \
    X(GX_NEG, 4, "neg", 1, 0, "-a")                                                                \
    X(GX_SQR, 5, "sqr", 1, 0, "a * a")                                                             \
    X(GX_INV, 6, "inv", 1, 0, "1 / a, and 0 where a is 0")                                         \
    X(GX_DIV, 7, "div", 2, 0, "a / b, and 0 where b is 0")                                         \
    X(GX_MUL_ADD, 8, "mul-add", 3, 0, "a * b + c")                                                 \
    X(GX_TO_MONT, 9, "to-mont", 1, 0, "a * R: a plain integer into Montgomery form")               \
    X(GX_FROM_MONT, 10, "from-mont", 1, 0, "a / R: Montgomery form into a plain integer")

/* Operations are numbered from 1 up, without gaps, to GX_OP_END - 1. */
#define GX__ONE_OP(...) +1
enum { GX_OP_END = 1 GX__OP_LIST(GX__ONE_OP) };

/* Products of a prime field that an operation takes for one element, about: 0 for sums, 1 for a
 * product; more only for inv and div, by Montgomery's trick. */
unsigned gx__op_products(gx_op op);

#endif
