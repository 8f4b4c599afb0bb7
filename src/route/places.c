/* SPDX-License-Identifier: Apache-2.0
 *
 * Engines are opened at their first use and stay open until their device is lost. Finding
 * one that is open takes no lock: the list of places only grows, an entry is complete
 * before it is counted, and memory that was an engine stays one until the router ends.
 * So a reader may count itself as a user of what it found and then look whether that is
 * still in its place; who takes it out of there looks for users afterwards. One of the
 * two sees the other, and nothing is closed under a user.
 */
#include "route/places.h"

#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/float_env.h"
#include "base/log.h"

void gx__places_init(struct gx_places *places, struct gx_instance *instance)
{
    places->instance = instance;
    pthread_mutex_init(&places->lock, NULL);
}

/* ---- retiring ---- */

static void retire(struct gx_places *places, struct gx_engine *engine)
{
    engine->next = places->retired;
    places->retired = engine;
}

void gx__places_close(struct gx_places *places)
{
    const gx_allocator *allocator = &places->instance->config.allocator;
    for (size_t i = 0; i < places->count; i++)
        if (places->place[i]->engine)
            retire(places, places->place[i]->engine);
    for (struct gx_engine *engine = places->retired, *next; engine; engine = next) {
        next = engine->next;
        gx__engine_close(engine);
        gx__free(allocator, engine);
    }
    for (size_t i = 0; i < places->count; i++) {
        gx__model_close(places->place[i]->model);
        gx__free(allocator, places->place[i]);
    }
    pthread_mutex_destroy(&places->lock);
}

/* Closes what nobody uses any more, and returns one of those to be opened anew, else a new
 * one; NULL: no memory. */
static struct gx_engine *closed_engine(struct gx_places *places)
{
    struct gx_engine **found = NULL;
    for (struct gx_engine **at = &places->retired; *at; at = &(*at)->next) {
        if (atomic_load(&(*at)->users))
            continue;
        gx__engine_close(*at);
        found = at;
    }
    if (!found)
        return gx__alloc(&places->instance->config.allocator, sizeof(struct gx_engine));
    struct gx_engine *engine = *found;
    *found = engine->next;
    return engine;
}

/* ---- finding ---- */

struct gx_place *gx__place_find(struct gx_places *places, const char *name)
{
    size_t count = atomic_load_explicit(&places->count, memory_order_acquire);
    for (size_t i = 0; i < count; i++)
        if (!strcmp(places->place[i]->name, name))
            return places->place[i];
    return NULL;
}

struct gx_engine *gx__place_enter(struct gx_place *place)
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

/* A place that nobody sees before it is published. */
static gx_status new_place(struct gx_places *places, const char *name, struct gx_place **place,
                           char *message, size_t message_size)
{
    if (places->count == GX_PLACES_MAX) {
        snprintf(message, message_size, "%d devices are open, which is the most there can be",
                 GX_PLACES_MAX);
        return GX_ERR_NO_DEVICE;
    }
    *place = gx__alloc(&places->instance->config.allocator, sizeof **place);
    if (!*place) {
        snprintf(message, message_size, "no memory to open device '%.48s'", name);
        return GX_ERR_OUT_OF_MEMORY;
    }
    snprintf((*place)->name, sizeof(*place)->name, "%s", name);
    (*place)->host = !strcmp(name, GX_HOST_DEVICE);
    return GX_OK;
}

static void publish(struct gx_places *places, struct gx_place *place)
{
    size_t count = places->count;
    places->place[count] = place;
    atomic_store_explicit(&places->count, count + 1, memory_order_release);
}

/* The place of the device with this name, which may be one of several, else a new one. The
 * registry does not know devices that wrap others. */
static gx_status place_of(struct gx_places *places, const char *name, struct gx_place **place,
                          bool *is_new, char *message, size_t message_size)
{
    gx_device_info info = {0};
    *is_new = false;
    *place = gx__place_find(places, name);
    if (*place)
        return GX_OK;
    if (strncmp(name, GX_FAULT_PREFIX, strlen(GX_FAULT_PREFIX))) {
        gx_status found = gx__device_find(places->instance, name, &info, message, message_size);
        if (found != GX_OK)
            return found;
        name = info.name;
        *place = gx__place_find(places, name);
    }
    *is_new = !*place;
    gx_status s = *place ? GX_OK : new_place(places, name, place, message, message_size);
    if (*is_new && s == GX_OK)
        (*place)->info = info;
    return s;
}

static void open_model(struct gx_places *places, struct gx_place *place,
                       const struct gx_engine *engine)
{
    bool wanted = engine->device.info.kind != GX_DEVICE_REFERENCE; /* which is never chosen */
    if (wanted && !place->model)
        atomic_store(&place->model, gx__model_open(places->instance, place->name,
                                                   engine->device.info.description));
}

static gx_status open_engine(struct gx_places *places, struct gx_place *place, const char *name,
                             char *message, size_t message_size)
{
    struct gx_engine *engine = closed_engine(places);
    if (!engine) {
        snprintf(message, message_size, "no memory to open device '%.48s'", name);
        return GX_ERR_OUT_OF_MEMORY;
    }
    gx_status s = gx__engine_open(engine, places->instance, name, message, message_size);
    if (s != GX_OK) {
        retire(places, engine);
        return s;
    }
    gx__log(places->instance, GX_LOG_INFO, "device '%s' opened: %s", name,
            engine->device.info.description);
    open_model(places, place, engine);
    engine->place = place;
    engine->work = &place->work;
    engine->checked = places->instance->config.sample_every && !place->host;
    atomic_store(&place->engine, engine);
    return GX_OK;
}

/* Opens the device, for the first time or after it was lost. */
static gx_status open_place(struct gx_places *places, const char *name, struct gx_engine **engine,
                            char *message, size_t message_size)
{
    struct gx_place *place;
    bool is_new;
    gx_status s = place_of(places, name, &place, &is_new, message, message_size);
    if (s != GX_OK)
        return s;
    *engine = gx__place_enter(place);
    if (*engine) /* another thread was faster, or it goes by another name */
        return GX_OK;
    struct gx_engine *lost = atomic_exchange(&place->engine, NULL);
    if (lost)
        retire(places, lost);
    s = open_engine(places, place, is_new ? name : place->name, message, message_size);
    if (s == GX_OK)
        *engine = gx__engine_acquire(place->engine);
    if (is_new && s == GX_OK)
        publish(places, place);
    else if (is_new)
        gx__free(&places->instance->config.allocator, place);
    return s;
}

gx_status gx__place_open(struct gx_places *places, const char *name, struct gx_engine **engine,
                         char *message, size_t message_size)
{
    *engine = gx__place_enter(gx__place_find(places, name));
    if (*engine)
        return GX_OK;
    fenv_t caller;
    gx__float_env_default(&caller);
    pthread_mutex_lock(&places->lock);
    gx_status s = open_place(places, name, engine, message, message_size);
    pthread_mutex_unlock(&places->lock);
    gx__float_env_restore(&caller);
    return s;
}

struct gx_model *gx__place_model(struct gx_places *places, const struct gx_engine *engine)
{
    pthread_mutex_lock(&places->lock);
    open_model(places, engine->place, engine);
    struct gx_model *model = engine->place->model;
    pthread_mutex_unlock(&places->lock);
    return model;
}

gx_status gx__place_get(struct gx_places *places, const char *name, struct gx_place **place,
                        char *message, size_t message_size)
{
    bool is_new;
    fenv_t caller;
    gx__float_env_default(&caller);
    pthread_mutex_lock(&places->lock);
    gx_status s = place_of(places, name, place, &is_new, message, message_size);
    if (s == GX_OK && is_new)
        publish(places, *place);
    pthread_mutex_unlock(&places->lock);
    gx__float_env_restore(&caller);
    return s;
}
