/* SPDX-License-Identifier: Apache-2.0
 *
 * Functions derived from the rows of op.h.
 */
#include "op/op.h"

#include <string.h>

#include "op/points.h"

#define X(symbol, value, ...)                                                                      \
    _Static_assert((int)(symbol) == (value) && (value) > 0 && (value) < GX_OP_END,                 \
                   #symbol " is another value in gpuexec.h, or leaves a gap");
GX__OP_LIST(X)
#undef X

#define ONE_RESULT(op, shape) (GX_SHAPE_##shape == GX_SHAPE_REDUCTION || (op) == GX_EVALUATE)
const struct gx_op_row gx__op_rows[GX_OP_END] = {
#define X(symbol, value, name, operands, words, shape, family, products, ns, host, verifier,       \
          result)                                                                                  \
    [symbol] = {{name, result, operands, ONE_RESULT(symbol, shape),                                \
                 GX_SHAPE_##shape == GX_SHAPE_TRANSFORM   ? 1                                      \
                 : GX_SHAPE_##shape == GX_SHAPE_MSM       ? 4                                      \
                 : GX_VERIFY_##verifier == GX_VERIFY_POLY ? 2                                      \
                                                          : 0,                                     \
                 0},                                                                               \
                words,                                                                             \
                GX_SHADER_##family,                                                                \
                products,                                                                          \
                ns,                                                                                \
                GX_HOST_##host,                                                                    \
                GX_VERIFY_##verifier},
    GX__OP_LIST(X)
#undef X
};

#define ONE(op)                                                                                    \
    ((op) == GX_POWERS                                 ? 1u << GX_A                                \
     : (op) == GX_COSETS                               ? 1u << GX_A | 1u << GX_B                   \
     : (op) == GX_EVALUATE || (op) == GX_DIVIDE_LINEAR ? 1u << GX_B                                \
                                                       : 0u)
#define RESIZED(op)                                                                                \
    ((op) == GX_NTT || (op) == GX_GATHER ? 1u << GX_A : (op) == GX_MSM ? 1u << GX_OUT : 0u)

struct gx_op_facts gx__op_facts[GX_OP_FACTS] = {
#define X(symbol, value, name, operands, words, shape, ...)                                        \
    [symbol] = {GX_SHAPE_##shape, operands,        ONE_RESULT(symbol, shape),                      \
                ONE(symbol),      RESIZED(symbol), {0}},
    GX__OP_LIST(X)
#undef X
        [GX_OP_END] = {GX_SHAPE_ELEMENTWISE, 1, 0, 0, 0, {16, 16, 0, 0}}, /* GX_OP_COPY */
    [GX_OP_END + 1] = {GX_SHAPE_WHOLE, 2, 1, 0, 0, {0}},                  /* GX_OP_MSM_SUMS */
};

const gx_op_info *gx_op_get_info(gx_op op)
{
    const struct gx_registered_op *registered = gx__registered_op(op);
    return op && op < GX_OP_END ? &gx__op_rows[op].info : registered ? &registered->info : NULL;
}

gx_op gx_op_by_name(const char *name)
{
    for (gx_op op = 1; name && op < GX_OP_END; op++)
        if (!strcmp(gx__op_rows[op].info.name, name))
            return op;
    return 0;
}

int gx_op_exists(gx_op op, gx_field field)
{
    if (gx__is_registered_op(op))
        return gx__registered_op(op) && !field;
    if (!gx_op_get_info(op) || !gx_field_get_info(field))
        return 0;
    if (op == GX_NTT)
        return gx_field_get_info(field)->two_adicity > 0;
    if (op == GX_MSM)
        return gx__is_scalar_field(field);
    return gx__prime(field) || gx__op_rows[op].on_words;
}

enum gx_shader_family gx__op_family(gx_op op, gx_field field)
{
    if (op == GX_OP_COPY)
        return GX_SHADER_COPY;
    if (op == GX_OP_ROOF)
        return GX_SHADER_ROOF;
    if (op == GX_OP_NTT_TABLE)
        return GX_SHADER_NTT_TABLE;
    if (op == GX_OP_MSM_SUMS)
        return GX_SHADER_MSM_ADD;
    if (gx__is_registered_op(op))
        return GX_SHADER_NONE;
    if (!gx__prime(field)) /* one module handles them all */
        return GX_SHADER_WORDS;
    return op == GX_OP_CHECK ? GX_SHADER_LINEAR : gx__op_rows[op].family;
}

enum gx_verifier gx__op_verifier(gx_op op)
{
    const struct gx_registered_op *registered = gx__registered_op(op);
    if (!registered)
        return gx__op_rows[op].verifier;
    return !registered->desc.fn                 ? GX_VERIFY_NOT
           : gx__op_shape(op) == GX_SHAPE_WHOLE ? GX_VERIFY_WHOLE
                                                : GX_VERIFY_RECOMPUTE;
}
