/* SPDX-License-Identifier: Apache-2.0
 *
 * Formats into a buffer on the stack: logging works when memory has run out.
 */
#include "base/log.h"

#include <stdarg.h>
#include <stdio.h>

void gx__log_line(const gx_config *config, gx_log_level level, const char *message)
{
    char line[GX_MESSAGE_BYTES];
    size_t n = 0;
    if (!config->log)
        return;
    for (; message[n] && n < sizeof line - 1; n++)
        line[n] = (unsigned char)message[n] < ' ' ? '?' : message[n];
    line[n] = 0;
    config->log(config->log_user, level, line);
}

void gx__log(const struct gx_instance *instance, gx_log_level level, const char *format, ...)
{
    char message[GX_MESSAGE_BYTES];
    va_list args;
    if (!instance->config.log)
        return;
    va_start(args, format);
    vsnprintf(message, sizeof message, format, args);
    va_end(args);
    gx__log_line(&instance->config, level, message);
}
