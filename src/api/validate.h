/* SPDX-License-Identifier: Apache-2.0
 *
 * Validation of jobs.
 */
#ifndef GX_API_VALIDATE_H
#define GX_API_VALIDATE_H

#include "exec/engine.h"

#define GX_REFUSAL_BYTES sizeof(((struct gx_call *)0)->message)

/* GX_OK, or what is wrong, in `message` (GX_REFUSAL_BYTES). routed: a device is chosen for the job.
 */
gx_status gx__validate(const struct gx_instance *instance, const gx_job *job, bool routed,
                       char *message);

#endif
