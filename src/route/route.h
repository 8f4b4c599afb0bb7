/* SPDX-License-Identifier: Apache-2.0
 *
 * Which engine a job runs on, and the engines that are open.
 */
#ifndef GX_ROUTE_ROUTE_H
#define GX_ROUTE_ROUTE_H

#include "exec/engine.h"

#define GX_ENGINES_MAX 32

struct gx_router {
    struct gx_instance *instance;
    pthread_mutex_t lock; /* opening engines */
    _Atomic size_t count;
    struct gx_engine *engines[GX_ENGINES_MAX]; /* only ever appended to, then constant */
};

void gx__router_init(struct gx_router *router, struct gx_instance *instance);
/* No job may be under way. */
void gx__router_close(struct gx_router *router);

/* The engine for the named device (NULL: the configured one, else automatic), opened
 * if it is not yet, and the reason for the choice. On failure message says what to do.
 * Any thread; blocks while a device is opened. */
gx_status gx__route(struct gx_router *router, const char *device, struct gx_engine **engine,
                    gx_reason *reason, char *message, size_t message_size);

#endif
