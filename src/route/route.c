/* SPDX-License-Identifier: Apache-2.0
 *
 * Engines are opened at their first use and stay open. Finding one that is open takes
 * no lock: the list only grows, and an entry is complete before it is counted.
 */
#include "route/route.h"

#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/float_env.h"
#include "base/log.h"

/* The one device that may be chosen without being named. */
#define AUTOMATIC_DEVICE "cpu"

void gx__router_init(struct gx_router *router, struct gx_instance *instance)
{
    router->instance = instance;
    pthread_mutex_init(&router->lock, NULL);
}

void gx__router_close(struct gx_router *router)
{
    for (size_t i = 0; i < router->count; i++) {
        gx__engine_close(router->engines[i]);
        gx__free(&router->instance->config.allocator, router->engines[i]);
    }
    pthread_mutex_destroy(&router->lock);
}

static struct gx_engine *find(struct gx_router *router, const char *name)
{
    size_t count = atomic_load_explicit(&router->count, memory_order_acquire);
    for (size_t i = 0; i < count; i++)
        if (!strcmp(router->engines[i]->device.info.name, name))
            return router->engines[i];
    return NULL;
}

static gx_status open_engine(struct gx_router *router, const char *name, struct gx_engine **out,
                             char *message, size_t message_size)
{
    const gx_allocator *allocator = &router->instance->config.allocator;
    size_t count = router->count;
    if (count == GX_ENGINES_MAX) {
        snprintf(message, message_size, "%d devices are open, which is the most there can be",
                 GX_ENGINES_MAX);
        return GX_ERR_NO_DEVICE;
    }
    struct gx_engine *engine = gx__alloc(allocator, sizeof *engine);
    if (!engine) {
        snprintf(message, message_size, "no memory to open device '%.48s'", name);
        return GX_ERR_OUT_OF_MEMORY;
    }
    gx_status s = gx__engine_open(engine, router->instance, name, message, message_size);
    if (s != GX_OK) {
        gx__free(allocator, engine);
        return s;
    }
    gx__log(router->instance, GX_LOG_INFO, "device '%s' opened: %s", name,
            engine->device.info.description);
    router->engines[count] = engine;
    atomic_store_explicit(&router->count, count + 1, memory_order_release);
    *out = engine;
    return GX_OK;
}

gx_status gx__route(struct gx_router *router, const char *device, struct gx_engine **engine,
                    gx_reason *reason, char *message, size_t message_size)
{
    const char *name = device ? device : router->instance->config.device;
    *reason = name ? GX_REASON_ASKED : GX_REASON_ONLY;
    if (!name)
        name = AUTOMATIC_DEVICE;
    *engine = find(router, name);
    if (*engine)
        return GX_OK;
    fenv_t caller;
    gx__float_env_default(&caller);
    pthread_mutex_lock(&router->lock);
    gx_status s = GX_OK;
    *engine = find(router, name); /* another thread may have been faster */
    gx_device_info info;          /* a device of several names is opened once */
    if (!*engine && gx__device_find(router->instance, name, &info, NULL, 0) == GX_OK)
        *engine = find(router, info.name);
    if (!*engine)
        s = open_engine(router, name, engine, message, message_size);
    pthread_mutex_unlock(&router->lock);
    gx__float_env_restore(&caller);
    return s;
}
