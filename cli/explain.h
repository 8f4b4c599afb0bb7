/* SPDX-License-Identifier: Apache-2.0
 *
 * What the library would do with a job, for people.
 */
#ifndef EXPLAIN_H
#define EXPLAIN_H

#include "cli.h"

/* Plans the job, which need not have results to go to, and prints the plan; returns an
 * exit code. */
int explain_job(gx_ctx *ctx, const gx_job *job, bool json);

#endif
