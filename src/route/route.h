/* SPDX-License-Identifier: Apache-2.0
 *
 * Which engine a job runs on, and the engines that are open.
 */
#ifndef GX_ROUTE_ROUTE_H
#define GX_ROUTE_ROUTE_H

#include "exec/engine.h"

#define GX_ENGINES_MAX 32

/* A device that was opened once, and its engine now; NULL: to be opened anew. */
struct gx_place {
    char name[sizeof((gx_device_info *)0)->name];
    struct gx_engine *_Atomic engine;
};

struct gx_router {
    struct gx_instance *instance;
    pthread_mutex_t lock; /* opening and retiring engines */
    _Atomic size_t count;
    struct gx_place places[GX_ENGINES_MAX]; /* only ever appended to; names are constant */
    struct gx_engine *retired;              /* engines of no place: lost, or not opened */
};

void gx__router_init(struct gx_router *router, struct gx_instance *instance);
/* No job may be under way. */
void gx__router_close(struct gx_router *router);

/* The engine for the named device (NULL: the configured one, else automatic), and the
 * reason for the choice. Opened if it is not yet, or if it was lost. The caller is a user
 * of it until gx__engine_release. On failure message says what to do. Any thread; blocks
 * while a device is opened. */
gx_status gx__route(struct gx_router *router, const char *device, struct gx_engine **engine,
                    gx_reason *reason, char *message, size_t message_size);

#endif
