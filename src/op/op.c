/* SPDX-License-Identifier: Apache-2.0
 *
 * Names and facts of operations, from the list in op.h.
 */
#include "op/op.h"

#include <string.h>

#include "field/field.h"

#define X(symbol, value, ...)                                                                      \
    _Static_assert((int)(symbol) == (value) && (value) > 0 && (value) < GX_OP_END,                 \
                   #symbol " is another value in gpuexec.h, or leaves a gap");
GX__OP_LIST(X)
#undef X

static const gx_op_info ops[GX_OP_END] = {
#define X(symbol, value, name, operands, vector, result) [symbol] = {name, result, operands},
    GX__OP_LIST(X)
#undef X
};

static const char on_vectors[GX_OP_END] = {
#define X(symbol, value, name, operands, vector, result) [symbol] = vector,
    GX__OP_LIST(X)
#undef X
};

const gx_op_info *gx_op_get_info(gx_op op)
{
    return op && op < GX_OP_END ? &ops[op] : NULL;
}

gx_op gx_op_by_name(const char *name)
{
    for (gx_op op = 1; name && op < GX_OP_END; op++)
        if (!strcmp(ops[op].name, name))
            return op;
    return 0;
}

int gx_op_exists(gx_op op, gx_field field)
{
    if (!gx_op_get_info(op) || !gx_field_get_info(field))
        return 0;
    return gx__prime(field) || on_vectors[op];
}

unsigned gx__op_products(gx_op op)
{
    switch (op) {
    case GX_MUL:
    case GX_SQR:
    case GX_MUL_ADD:
    case GX_TO_MONT:
    case GX_FROM_MONT:
        return 1;
    case GX_INV: /* three, and its share of the one inversion */
        return 4;
    case GX_DIV:
        return 5;
    default:
        return 0;
    }
}
