/* SPDX-License-Identifier: Apache-2.0
 *
 * Names and facts of fields and operations, from the lists in the public header.
 */
#include "field/field.h"

#include <pthread.h>
#include <string.h>

/* Operations too are numbered from 1 up, without gaps. */
#define ONE_MORE(symbol, value, name, operands, vector, result) +1
enum { FIELDS = GX_FIELD_END, OPS = 1 GX_OP_LIST(ONE_MORE) };

static const char *const field_names[FIELDS] = {
#define GX_X(symbol, value, name) [value] = name,
    GX_FIELD_LIST(GX_X)
#undef GX_X
};

static const gx_op_info ops[OPS] = {
#define GX_X(symbol, value, name, operands, vector, result) [value] = {name, result, operands},
    GX_OP_LIST(GX_X)
#undef GX_X
};

static const char op_on_vectors[OPS] = {
#define GX_X(symbol, value, name, operands, vector, result) [value] = vector,
    GX_OP_LIST(GX_X)
#undef GX_X
};

static gx_field_info fields[FIELDS];
static pthread_once_t fields_once = PTHREAD_ONCE_INIT;

static void fill_fields(void)
{
    for (unsigned i = 1; i < FIELDS; i++) {
        gx_field f = (gx_field)i;
        const struct gx_prime *prime = gx__prime(f);
        fields[f] = (gx_field_info){.name = field_names[f],
                                    .element_bytes = (uint32_t)gx__element_bytes(f),
                                    .limbs = prime ? prime->limbs : 0,
                                    .modulus = prime ? prime->p : NULL};
    }
}

const gx_field_info *gx_field_get_info(gx_field field)
{
    pthread_once(&fields_once, fill_fields);
    return (unsigned)field < FIELDS && field ? &fields[field] : NULL;
}

const gx_op_info *gx_op_get_info(gx_op op)
{
    return (unsigned)op < OPS && op ? &ops[op] : NULL;
}

gx_field gx_field_by_name(const char *name)
{
    for (unsigned f = 1; name && f < FIELDS; f++)
        if (!strcmp(field_names[f], name))
            return (gx_field)f;
    return (gx_field)0;
}

gx_op gx_op_by_name(const char *name)
{
    for (unsigned op = 1; name && op < OPS; op++)
        if (!strcmp(ops[op].name, name))
            return (gx_op)op;
    return (gx_op)0;
}

int gx_op_exists(gx_op op, gx_field field)
{
    if (!gx_op_get_info(op) || !gx_field_get_info(field))
        return 0;
    return gx__prime(field) || op_on_vectors[op];
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
