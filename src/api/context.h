/* SPDX-License-Identifier: Apache-2.0
 *
 * The context behind the public calls. This folder validates what callers pass in; the layers below
 * rely on it.
 */
#ifndef GX_API_CONTEXT_H
#define GX_API_CONTEXT_H

#include "base/abi.h"
#include "base/arrays.h"
#include "exec/outcome.h"
#include "exec/registered_memory.h"
#include "route/route.h"

struct gx_ctx {
    struct gx_instance instance;
    struct gx_router router;
    struct gx_registered_memory registered;
    struct gx_arrays arrays; /* of tasks and outcomes */
    gx_path path;
    gx_mode mode;
};

/* ---- buffer.c ---- */

/* Reads bytes that the buffer has. On failure message says why. */
gx_status gx__read_buffer(gx_buf *buf, size_t offset, void *to, size_t bytes,
                          struct gx_error *error);

/* ---- lists.c ---- */

/* Statistics of all device slots; `stats` and `count` as in gx_devices. */
void gx__device_stats(struct gx_router *router, gx_device_statistics *stats, size_t *count);

/* ---- model.c ---- */

/* The rows of all models, of devices that may be chosen, too; `rows` and `count` as in
 * gx_devices. */
gx_status gx__model(gx_ctx *ctx, struct gx_model_row *rows, size_t *count);

/* ---- metrics.c ---- */

/* gx_metrics_prometheus, from the result of gx__stats. */
struct gx_statistics;
void gx__metrics_text(struct gx_router *router, const struct gx_statistics *stats, char *text,
                      size_t *size);

#endif
