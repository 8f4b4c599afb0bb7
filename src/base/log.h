/* SPDX-License-Identifier: Apache-2.0
 *
 * Messages to the caller's callback. Nothing in the library prints.
 */
#ifndef GX_BASE_LOG_H
#define GX_BASE_LOG_H

#include "base/error.h"
#include "base/instance.h"
#include "base/os.h"

/* Reports that an API call failed: the text becomes gx_last_message of this thread and, if there is
 * an instance, a log line. Returns the status. */
GX_PRINTF(3, 4)
gx_status gx__fail(const struct gx_instance *instance, gx_status status, const char *format, ...);
/* The same for use before there is an instance. */
gx_status gx__fail_line(const gx_config *config, gx_status status, const char *message);

GX_PRINTF(3, 4)
void gx__log(const struct gx_instance *instance, gx_log_level level, const char *format, ...);

#endif
