/* SPDX-License-Identifier: Apache-2.0
 *
 * Prints what the library would do with a job.
 */
#ifndef EXPLAIN_H
#define EXPLAIN_H

#include "cli.h"

/* Plans the job, whose output may be missing, and prints the plan; returns an exit code. */
int explain_job(gx_ctx *ctx, const gx_job *job, bool json);

#endif
