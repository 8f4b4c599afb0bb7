/* SPDX-License-Identifier: Apache-2.0
 *
 * Bytes as a SPIR-V module of the caller. Anything may be refused, with a message; an accepted one
 * has a workgroup.
 */
#include <stdlib.h>
#include <string.h>

#include "op/registered_op.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    uint32_t *code = malloc(size ? size : 1); /* aligned, and no longer than the input */
    struct gx_error error = {""};
    struct gx_spirv spirv;
    if (!code)
        abort();
    if (size)
        memcpy(code, data, size);
    if (gx__spirv_check(code, size, "main", 4, 96, &spirv, &error)) {
        if (!spirv.local[0] || !spirv.local[1] || !spirv.local[2])
            abort();
    } else if (!error.text[0]) {
        abort();
    }
    free(code);
    return 0;
}
