/* SPDX-License-Identifier: Apache-2.0
 *
 * The router's model of this machine, as tables.
 */
#ifndef MODEL_H
#define MODEL_H

#include "cli.h"

/* Prints the context's model, one row per curve or, if `points`, per point; *curves receives the
 * number of curves. Returns an exit code. */
int model_show(gx_ctx *ctx, output_format format, const char *command, bool points, size_t *curves);

#endif
