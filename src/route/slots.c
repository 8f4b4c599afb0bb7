/* SPDX-License-Identifier: Apache-2.0
 *
 * An engine is opened at its first use and stays open until its device is lost. Finding an open
 * engine takes no lock: the list of slots only grows, a slot is complete before it is counted, and
 * the memory of an engine stays an engine until the router is closed. So a reader counts itself as
 * a user of the engine it found and then checks that the engine is still in its slot. Retiring
 * removes the engine from its slot first and checks for users afterwards. One of the two sees the
 * other, and no engine is closed while it has users.
 */
#include "route/slots.h"

#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/float_env.h"
#include "base/log.h"

void gx__slots_init(struct gx_device_slots *slots, struct gx_instance *instance)
{
    slots->instance = instance;
    pthread_mutex_init(&slots->lock, NULL);
}

/* ---- retiring ---- */

static void retire(struct gx_device_slots *slots, struct gx_engine *engine)
{
    engine->next = slots->retired;
    slots->retired = engine;
}

static void free_slot(const struct gx_device_slots *slots, struct gx_device_slot *slot)
{
    gx__kind_map_free(&slot->work.tallies.of);
    gx__kind_map_free(&slot->kind_stats);
    gx__free(&slots->instance->config.allocator, slot);
}

void gx__slots_close(struct gx_device_slots *slots)
{
    const gx_allocator *allocator = &slots->instance->config.allocator;
    for (size_t i = 0; i < slots->count; i++)
        if (slots->slot[i]->engine)
            retire(slots, slots->slot[i]->engine);
    for (struct gx_engine *engine = slots->retired, *next; engine; engine = next) {
        next = engine->next;
        gx__engine_close(engine);
        gx__free(allocator, engine);
    }
    for (size_t i = 0; i < slots->count; i++) {
        gx__model_close(slots->slot[i]->model);
        free_slot(slots, slots->slot[i]);
    }
    pthread_mutex_destroy(&slots->lock);
}

/* Closes retired engines without users and returns one of them for reuse, or else a new one; NULL:
 * out of memory. */
static struct gx_engine *closed_engine(struct gx_device_slots *slots)
{
    struct gx_engine **found = NULL;
    for (struct gx_engine **at = &slots->retired; *at; at = &(*at)->next) {
        if (atomic_load(&(*at)->users))
            continue;
        gx__engine_close(*at);
        found = at;
    }
    if (!found)
        return gx__alloc(&slots->instance->config.allocator, sizeof(struct gx_engine));
    struct gx_engine *engine = *found;
    *found = engine->next;
    return engine;
}

/* ---- finding ---- */

/* The slot with exactly this name; NULL: none yet. Takes no lock. */
static struct gx_device_slot *find_slot(struct gx_device_slots *slots, const char *name)
{
    size_t count = atomic_load_explicit(&slots->count, memory_order_acquire);
    for (size_t i = 0; i < count; i++)
        if (!strcmp(slots->slot[i]->name, name))
            return slots->slot[i];
    return NULL;
}

struct gx_engine *gx__slot_enter(struct gx_device_slot *slot)
{
    struct gx_engine *engine = slot ? atomic_load(&slot->engine) : NULL;
    if (!engine)
        return NULL;
    gx__engine_acquire(engine);
    if (atomic_load(&slot->engine) == engine && !atomic_load(&engine->lost))
        return engine;
    gx__engine_release(engine);
    return NULL;
}

/* ---- opening; under the lock ---- */

/* Not visible to others before it is published. */
static gx_status new_slot(struct gx_device_slots *slots, const char *name,
                          struct gx_device_slot **slot, struct gx_error *error)
{
    if (slots->count == GX_DEVICE_SLOTS_MAX)
        return gx__refuse(error, GX_ERR_NO_DEVICE, "%d devices are open, which is the maximum",
                          GX_DEVICE_SLOTS_MAX);
    if (strlen(name) >= sizeof(*slot)->name)
        return gx__refuse(error, GX_ERR_NO_DEVICE, "'%.48s...' has more than %zu characters", name,
                          sizeof(*slot)->name - 1);
    const gx_allocator *allocator = &slots->instance->config.allocator;
    *slot = gx__alloc(allocator, sizeof **slot);
    if (!*slot)
        return gx__refuse(error, GX_ERR_OUT_OF_MEMORY, "no memory to open device '%.48s'", name);
    snprintf((*slot)->name, sizeof(*slot)->name, "%s", name);
    (*slot)->host = !strcmp(name, GX_HOST_DEVICE);
    gx__kind_map_init(&(*slot)->kind_stats, allocator, sizeof(struct gx_kind_stats));
    gx__kind_map_init(&(*slot)->work.tallies.of, allocator, sizeof(struct gx_tally));
    return GX_OK;
}

static void publish(struct gx_device_slots *slots, struct gx_device_slot *slot)
{
    size_t count = slots->count;
    slots->slot[count] = slot;
    atomic_store_explicit(&slots->count, count + 1, memory_order_release);
}

/* The slot of the device, which may have other names as well, or else a new one. Wrapping devices
 * are not in the registry. */
static gx_status find_or_make_slot(struct gx_device_slots *slots, const char *name,
                                   struct gx_device_slot **slot, bool *is_new,
                                   struct gx_error *error)
{
    gx_device_info info = {0};
    *is_new = false;
    *slot = find_slot(slots, name);
    if (*slot)
        return GX_OK;
    if (strncmp(name, GX_FAULT_PREFIX, strlen(GX_FAULT_PREFIX))) {
        gx_status found = gx__device_find(slots->instance, name, &info, error);
        if (found != GX_OK)
            return found;
        name = info.name;
        *slot = find_slot(slots, name);
    }
    *is_new = !*slot;
    gx_status s = *slot ? GX_OK : new_slot(slots, name, slot, error);
    if (*is_new && s == GX_OK)
        (*slot)->info = info;
    return s;
}

static void open_model(struct gx_device_slots *slots, struct gx_device_slot *slot,
                       const struct gx_engine *engine)
{
    bool wanted = engine->device.info.kind != GX_DEVICE_REFERENCE; /* it is never chosen */
    if (wanted && !slot->model)
        atomic_store(&slot->model,
                     gx__model_open(slots->instance, slot->name, engine->device.info.description));
}

static gx_status open_engine(struct gx_device_slots *slots, struct gx_device_slot *slot,
                             const char *name, struct gx_error *error)
{
    struct gx_engine *engine = closed_engine(slots);
    if (!engine)
        return gx__refuse(error, GX_ERR_OUT_OF_MEMORY, "no memory to open device '%.48s'", name);
    gx_status s = gx__engine_open(engine, slots->instance, name, error);
    if (s != GX_OK) {
        retire(slots, engine);
        return s;
    }
    gx__log(slots->instance, GX_LOG_INFO, "device '%s' opened: %s", name,
            engine->device.info.description);
    open_model(slots, slot, engine);
    engine->slot = slot;
    engine->work = &slot->work;
    engine->checked = slots->instance->config.sample_every && !slot->host;
    atomic_store(&slot->engine, engine);
    return GX_OK;
}

/* Opens a device for the first time, or again after it was lost. */
static gx_status open_slot(struct gx_device_slots *slots, const char *name,
                           struct gx_engine **engine, struct gx_error *error)
{
    struct gx_device_slot *slot;
    bool is_new;
    gx_status s = find_or_make_slot(slots, name, &slot, &is_new, error);
    if (s != GX_OK)
        return s;
    *engine = gx__slot_enter(slot);
    if (*engine) /* another thread was faster, or it is open under another name */
        return GX_OK;
    struct gx_engine *lost = atomic_exchange(&slot->engine, NULL);
    if (lost)
        retire(slots, lost);
    s = open_engine(slots, slot, is_new ? name : slot->name, error);
    if (s == GX_OK)
        *engine = gx__engine_acquire(slot->engine);
    if (is_new && s == GX_OK)
        publish(slots, slot);
    else if (is_new)
        free_slot(slots, slot);
    return s;
}

gx_status gx__slot_open(struct gx_device_slots *slots, const char *name, struct gx_engine **engine,
                        struct gx_error *error)
{
    *engine = gx__slot_enter(find_slot(slots, name));
    if (*engine)
        return GX_OK;
    struct gx_float_env caller;
    gx__float_env_default(&caller);
    uint64_t start = gx__once_begin();
    pthread_mutex_lock(&slots->lock);
    gx_status s = open_slot(slots, name, engine, error);
    pthread_mutex_unlock(&slots->lock);
    gx__once_end(start, &slots->instance->counters.open_ns);
    gx__float_env_restore(&caller);
    return s;
}

struct gx_model *gx__slot_model(struct gx_device_slots *slots, const struct gx_engine *engine)
{
    pthread_mutex_lock(&slots->lock);
    open_model(slots, engine->slot, engine);
    struct gx_model *model = engine->slot->model;
    pthread_mutex_unlock(&slots->lock);
    return model;
}

gx_status gx__slot_get(struct gx_device_slots *slots, const char *name,
                       struct gx_device_slot **slot, struct gx_error *error)
{
    bool is_new;
    struct gx_float_env caller;
    gx__float_env_default(&caller);
    pthread_mutex_lock(&slots->lock);
    gx_status s = find_or_make_slot(slots, name, slot, &is_new, error);
    if (s == GX_OK && is_new)
        publish(slots, *slot);
    pthread_mutex_unlock(&slots->lock);
    gx__float_env_restore(&caller);
    return s;
}

void gx__slots_drop_tables(struct gx_device_slots *slots, uint64_t domain)
{
    for (size_t i = 0; i < atomic_load(&slots->count); i++) {
        struct gx_engine *engine = gx__slot_enter(slots->slot[i]);
        if (!engine)
            continue;
        gx__tables_drop(engine, domain);
        gx__engine_release(engine);
    }
}
