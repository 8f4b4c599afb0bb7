/* SPDX-License-Identifier: Apache-2.0
 *
 * Formats into a buffer on the stack: logging works when memory has run out.
 */
#include "base/log.h"

#include <stdarg.h>
#include <stdio.h>

void gx__log(const struct gx_instance *instance, gx_log_level level, const char *format, ...)
{
    if (!instance->config.log)
        return;
    char message[GX_MESSAGE_BYTES];
    va_list args;
    va_start(args, format);
    vsnprintf(message, sizeof message, format, args);
    va_end(args);
    instance->config.log(instance->config.log_user, level, message);
}
