/* SPDX-License-Identifier: Apache-2.0
 *
 * See writer.h.
 */
#include "api/writer.h"

#include <stdarg.h>
#include <stdio.h>

void gx__put(struct gx_writer *w, const char *format, ...)
{
    va_list args;
    size_t at = w->used < w->room ? w->used : w->room;
    va_start(args, format);
    int length = vsnprintf(w->text ? w->text + at : NULL, w->room - at, format, args);
    va_end(args);
    w->used += length > 0 ? (size_t)length : 0;
}

void gx__put_escaped(struct gx_writer *w, const char *value)
{
    for (; *value; value++) {
        if (*value == '\n')
            gx__put(w, "\\n");
        else
            gx__put(w, *value == '\\' || *value == '"' ? "\\%c" : "%c", *value);
    }
}

void gx__put_end(struct gx_writer *w, size_t *size)
{
    if (w->room && w->used >= w->room)
        w->text[0] = 0;
    *size = w->used + 1;
}
