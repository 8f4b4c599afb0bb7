/* SPDX-License-Identifier: Apache-2.0
 *
 * The public calls: what a caller passes in is checked in this folder, once; the layers below take
 * it as valid.
 */
#ifndef GX_API_CONTEXT_H
#define GX_API_CONTEXT_H

#include "base/abi.h"
#include "exec/hosts.h"
#include "exec/outcome.h"
#include "route/route.h"

struct gx_ctx {
    struct gx_instance instance;
    struct gx_router router;
    struct gx_hosts hosts;
    struct gx_outcome_pool outcomes;
    gx_path path;
    gx_mode mode;
};

/* ---- lists.c ---- */

/* Of all devices that were used or may be chosen. The rules of gx_devices. */
void gx__device_stats(struct gx_router *router, gx_device_statistics *stats, size_t *count);

/* ---- metrics.c ---- */

/* gx_metrics_prometheus, with what gx_stats says. */
void gx__metrics_text(struct gx_router *router, const gx_statistics *stats, char *text,
                      size_t *size);

#endif
