/* SPDX-License-Identifier: Apache-2.0
 *
 * See error.h.
 */
#include "base/error.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

static void put(struct gx_error *error, size_t at, const char *format, va_list args)
{
    vsnprintf(error->text + at, sizeof error->text - at, format, args);
}

bool gx__explain(struct gx_error *error, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    put(error, 0, format, args);
    va_end(args);
    return false;
}

void gx__explain_more(struct gx_error *error, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    put(error, strlen(error->text), format, args);
    va_end(args);
}

gx_status gx__refuse(struct gx_error *error, gx_status status, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    put(error, 0, format, args);
    va_end(args);
    return status;
}

void gx__error_give(const struct gx_error *error, char *text, size_t size)
{
    size_t length = strlen(error->text);
    length = length < size ? length : size - 1;
    memcpy(text, error->text, length);
    text[length] = 0;
}
