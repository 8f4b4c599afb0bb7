/* SPDX-License-Identifier: Apache-2.0
 *
 * Text for the caller's memory, which may not hold all of it.
 */
#ifndef GX_API_WRITER_H
#define GX_API_WRITER_H

#include "base/log.h"

/* `used` is the length that the text needs. text may be NULL if room is 0. */
struct gx_writer {
    char *text;
    size_t room, used;
};

GX_PRINTF(2, 3) void gx__put(struct gx_writer *w, const char *format, ...);

/* For between quotation marks: of a label of Prometheus, or in JSON. */
void gx__put_escaped(struct gx_writer *w, const char *value);

/* Empties a text that did not fit, and sets *size to what it needs, the NUL included. */
void gx__put_end(struct gx_writer *w, size_t *size);

#endif
