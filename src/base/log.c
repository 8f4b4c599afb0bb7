/* SPDX-License-Identifier: Apache-2.0
 *
 * Formats into a buffer on the stack, so that logging works when memory has run out.
 */
#include "base/log.h"

#include <stdarg.h>
#include <stdio.h>

static _Thread_local char last_message[GX_MESSAGE_BYTES];

const char *gx_last_message(void)
{
    return last_message;
}

/* Messages may quote the user: unprintable characters become '?'. */
static void copy_line(char line[GX_MESSAGE_BYTES], const char *message)
{
    size_t n = 0;
    for (; message[n] && n < GX_MESSAGE_BYTES - 1; n++)
        line[n] = (unsigned char)message[n] < ' ' ? '?' : message[n];
    line[n] = 0;
}

static void log_line(const gx_config *config, gx_log_level level, const char *message)
{
    char line[GX_MESSAGE_BYTES];
    if (!config->log)
        return;
    copy_line(line, message);
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
    log_line(&instance->config, level, message);
}

gx_status gx__fail_line(const gx_config *config, gx_status status, const char *message)
{
    copy_line(last_message, message);
    log_line(config, GX_LOG_ERROR, message);
    return status;
}

gx_status gx__fail(const struct gx_instance *instance, gx_status status, const char *format, ...)
{
    static const gx_config silent;
    char message[GX_MESSAGE_BYTES];
    va_list args;
    va_start(args, format);
    vsnprintf(message, sizeof message, format, args);
    va_end(args);
    return gx__fail_line(instance ? &instance->config : &silent, status, message);
}
