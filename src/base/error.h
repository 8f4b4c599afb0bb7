/* SPDX-License-Identifier: Apache-2.0
 *
 * Why something was refused or failed, as a line for the caller. A function that can say more than
 * its status takes one of these and writes it only when it fails.
 */
#ifndef GX_BASE_ERROR_H
#define GX_BASE_ERROR_H

#include <stdbool.h>

#include "base/os.h"
#include "gpuexec/core.h"

#define GX_MESSAGE_BYTES 256

struct gx_error {
    char
        text[GX_MESSAGE_BYTES]; /* "" says no more than the status does; cut where it is too long */
};

/* Returns false, for checks that end with it. */
GX_PRINTF(2, 3) bool gx__explain(struct gx_error *error, const char *format, ...);
/* Appends to the text. */
GX_PRINTF(2, 3) void gx__explain_more(struct gx_error *error, const char *format, ...);
/* gx__explain; returns the status. */
GX_PRINTF(3, 4)
gx_status gx__refuse(struct gx_error *error, gx_status status, const char *format, ...);
/* Copies as much of the text as fits. */
void gx__error_give(const struct gx_error *error, char *text, size_t size);

#endif
