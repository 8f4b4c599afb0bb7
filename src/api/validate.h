/* SPDX-License-Identifier: Apache-2.0
 *
 * Validation of jobs.
 */
#ifndef GX_API_VALIDATE_H
#define GX_API_VALIDATE_H

#include "exec/engine.h"

#define GX_REFUSAL_BYTES sizeof(((struct gx_call *)0)->message)

/* On failure says what is wrong in `message`, which has GX_REFUSAL_BYTES. routed: the router
 * chooses the device, so buffers may be on several. */
gx_status gx__validate(const struct gx_instance *instance, const gx_job *job, bool routed,
                       char *message);

#endif
