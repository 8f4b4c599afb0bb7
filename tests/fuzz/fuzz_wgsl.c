/* SPDX-License-Identifier: Apache-2.0
 *
 * Bytes as a WGSL text of the caller. Anything may be refused, with a line; no text is shallow
 * behind one bracket too many.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "op/registered_op.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void require(int truth)
{
    if (!truth)
        abort();
}

static int check(const char *text)
{
    struct gx_error error = {""};
    int taken = gx__wgsl_check(text, &error);
    require(taken ? !error.text[0] : !strncmp(error.text, "WGSL, line ", 11));
    return taken;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    enum { DEEP = GX_WGSL_BRACKETS + 1 };
    char *text = malloc(DEEP + size + 1);
    require(text != NULL);
    memset(text, '(', DEEP);
    memcpy(text + DEEP, data, size);
    text[DEEP + size] = 0;
    check(text + DEEP);
    require(!check(text));
    free(text);
    return 0;
}
