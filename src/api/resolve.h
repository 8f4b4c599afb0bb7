/* SPDX-License-Identifier: Apache-2.0
 *
 * From the caller's jobs to tasks: checked and resolved once.
 */
#ifndef GX_API_RESOLVE_H
#define GX_API_RESOLVE_H

#include "exec/engine.h"

/* routed: the router chooses the device, so buffers may be on several. */
gx_status gx__resolve(const struct gx_instance *instance, const gx_job *job, bool routed,
                      struct gx_task *task, struct gx_error *error);

/* Without checks, for a job whose op and field exist: the sizes of its operands. */
void gx__resolve_sizes(const gx_job *job, struct gx_task *task);

#endif
