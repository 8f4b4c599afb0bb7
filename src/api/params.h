/* SPDX-License-Identifier: Apache-2.0
 *
 * gx_job.params: read and checked once, into the parameters of a task.
 */
#ifndef GX_API_PARAMS_H
#define GX_API_PARAMS_H

#include "base/error.h"
#include "base/instance.h"
#include "op/task.h"

/* Of a job whose operation takes parameters, and whose field is known. On failure message says
 * why. instance: the job's; NULL: they are read without a check. */
gx_status gx__params_take(const struct gx_instance *instance, const gx_job *job,
                          struct gx_task *task, struct gx_error *error);

#endif
