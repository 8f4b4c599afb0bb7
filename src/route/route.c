/* SPDX-License-Identifier: Apache-2.0
 *
 * Engines are opened at their first use and stay open until their device is lost. Finding
 * one that is open takes no lock: the list of places only grows, an entry is complete
 * before it is counted, and memory that was an engine stays one until the router ends.
 * So a reader may count itself as a user of what it found and then look whether that is
 * still in its place; who takes it out of there looks for users afterwards. One of the
 * two sees the other, and nothing is closed under a user.
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

/* ---- retiring ---- */

static void retire(struct gx_router *router, struct gx_engine *engine)
{
    engine->next = router->retired;
    router->retired = engine;
}

void gx__router_close(struct gx_router *router)
{
    for (size_t i = 0; i < router->count; i++)
        if (router->places[i].engine)
            retire(router, router->places[i].engine);
    for (struct gx_engine *engine = router->retired, *next; engine; engine = next) {
        next = engine->next;
        gx__engine_close(engine);
        gx__free(&router->instance->config.allocator, engine);
    }
    pthread_mutex_destroy(&router->lock);
}

/* Closes what nobody uses any more, and returns one of those to be opened anew, else a new
 * one; NULL: no memory. */
static struct gx_engine *closed_engine(struct gx_router *router)
{
    struct gx_engine **found = NULL;
    for (struct gx_engine **at = &router->retired; *at; at = &(*at)->next) {
        if (atomic_load(&(*at)->users))
            continue;
        gx__engine_close(*at);
        found = at;
    }
    if (!found)
        return gx__alloc(&router->instance->config.allocator, sizeof(struct gx_engine));
    struct gx_engine *engine = *found;
    *found = engine->next;
    return engine;
}

/* ---- finding ---- */

static struct gx_place *find_place(struct gx_router *router, const char *name)
{
    size_t count = atomic_load_explicit(&router->count, memory_order_acquire);
    for (size_t i = 0; i < count; i++)
        if (!strcmp(router->places[i].name, name))
            return &router->places[i];
    return NULL;
}

/* The engine of a place, with the caller as a user; NULL where there is none that works. */
static struct gx_engine *enter(struct gx_place *place)
{
    struct gx_engine *engine = place ? atomic_load(&place->engine) : NULL;
    if (!engine)
        return NULL;
    gx__engine_acquire(engine);
    if (atomic_load(&place->engine) == engine && !atomic_load(&engine->lost))
        return engine;
    gx__engine_release(engine);
    return NULL;
}

/* ---- opening; all of it under the lock ---- */

/* The place of the device with this name, which may be one of several; NULL: never opened. */
static struct gx_place *place_of(struct gx_router *router, const char *name)
{
    gx_device_info info;
    struct gx_place *place = find_place(router, name);
    if (!place && gx__device_find(router->instance, name, &info, NULL, 0) == GX_OK)
        place = find_place(router, info.name);
    return place;
}

static gx_status new_place(struct gx_router *router, struct gx_place **place, char *message,
                           size_t message_size)
{
    if (router->count < GX_ENGINES_MAX) {
        *place = &router->places[router->count];
        return GX_OK;
    }
    snprintf(message, message_size, "%d devices are open, which is the most there can be",
             GX_ENGINES_MAX);
    return GX_ERR_NO_DEVICE;
}

static void publish(struct gx_router *router, struct gx_place *place, struct gx_engine *engine)
{
    size_t count = router->count;
    bool is_new = place == &router->places[count];
    if (is_new)
        memcpy(place->name, engine->device.info.name, sizeof place->name);
    atomic_store(&place->engine, engine);
    if (is_new)
        atomic_store_explicit(&router->count, count + 1, memory_order_release);
}

static gx_status open_engine(struct gx_router *router, struct gx_place *place, const char *name,
                             char *message, size_t message_size)
{
    struct gx_engine *engine = closed_engine(router);
    if (!engine) {
        snprintf(message, message_size, "no memory to open device '%.48s'", name);
        return GX_ERR_OUT_OF_MEMORY;
    }
    gx_status s = gx__engine_open(engine, router->instance, name, message, message_size);
    if (s != GX_OK) {
        retire(router, engine);
        return s;
    }
    gx__log(router->instance, GX_LOG_INFO, "device '%s' opened: %s", name,
            engine->device.info.description);
    publish(router, place, engine);
    return GX_OK;
}

/* Opens the device, for the first time or after it was lost. */
static gx_status open_place(struct gx_router *router, const char *name, struct gx_engine **engine,
                            char *message, size_t message_size)
{
    struct gx_place *place = place_of(router, name);
    *engine = enter(place);
    if (*engine) /* another thread was faster, or it goes by another name */
        return GX_OK;
    gx_status s = GX_OK;
    struct gx_engine *lost = place ? atomic_exchange(&place->engine, NULL) : NULL;
    if (lost)
        retire(router, lost);
    if (!place)
        s = new_place(router, &place, message, message_size);
    if (s == GX_OK)
        s = open_engine(router, place, name, message, message_size);
    if (s == GX_OK)
        *engine = gx__engine_acquire(place->engine);
    return s;
}

gx_status gx__route(struct gx_router *router, const char *device, struct gx_engine **engine,
                    gx_reason *reason, char *message, size_t message_size)
{
    const char *name = device ? device : router->instance->config.device;
    *reason = name ? GX_REASON_ASKED : GX_REASON_ONLY;
    if (!name)
        name = AUTOMATIC_DEVICE;
    *engine = enter(find_place(router, name));
    if (*engine)
        return GX_OK;
    fenv_t caller;
    gx__float_env_default(&caller);
    pthread_mutex_lock(&router->lock);
    gx_status s = open_place(router, name, engine, message, message_size);
    pthread_mutex_unlock(&router->lock);
    gx__float_env_restore(&caller);
    return s;
}
