/* SPDX-License-Identifier: Apache-2.0
 *
 * What the router knows of this machine, as tables.
 */
#ifndef MODEL_H
#define MODEL_H

#include "cli.h"

/* Shows what the context knows, one row per curve or, where `points`, per point; *curves is
 * how many curves there are. Returns an exit code. */
int model_show(gx_ctx *ctx, output_format format, const char *command, bool points, size_t *curves);

#endif
