/* SPDX-License-Identifier: Apache-2.0
 *
 * Names and properties of fields, from the list in field.h.
 */
#include "field/field.h"

#include <pthread.h>
#include <string.h>

#define X(symbol, value, name)                                                                     \
    _Static_assert((int)(symbol) == (value) && (value) > 0 && (value) < GX_FIELD_END,              \
                   #symbol " is another value in gpuexec.h, or leaves a gap");
GX__FIELD_LIST(X)
#undef X

static const char *const field_names[GX_FIELD_END] = {
#define X(symbol, value, name) [symbol] = name,
    GX__FIELD_LIST(X)
#undef X
};

static gx_field_info fields[GX_FIELD_END];
static pthread_once_t fields_once = PTHREAD_ONCE_INIT;

static void fill_fields(void)
{
    for (gx_field f = 1; f < GX_FIELD_END; f++) {
        const struct gx_prime *prime = gx__prime(f);
        fields[f] = (gx_field_info){.name = field_names[f],
                                    .element_bytes = (uint32_t)gx__element_bytes(f),
                                    .limbs = prime ? prime->limbs : 0,
                                    .modulus = prime ? prime->p : NULL,
                                    .two_adicity = prime ? prime->two_adicity : 0};
    }
}

const gx_field_info *gx_field_get_info(gx_field field)
{
    pthread_once(&fields_once, fill_fields);
    return field && field < GX_FIELD_END ? &fields[field] : NULL;
}

gx_field gx_field_by_name(const char *name)
{
    for (gx_field f = 1; name && f < GX_FIELD_END; f++)
        if (!strcmp(field_names[f], name))
            return f;
    return 0;
}
