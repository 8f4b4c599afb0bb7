/* SPDX-License-Identifier: Apache-2.0
 *
 * Reading and writing models as files (store.h). An invalid file counts as missing.
 */
#include "route/store.h"

#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "device/device.h"
#include "op/traits.h"

static const char what[8] = {'g', 'x', 'm', 'o', 'd', 'e', 'l', '2'};

/* ---- file name and key ---- */

/* FNV-1a, twice with different offsets, over strings with their terminators. */
struct identity {
    uint64_t hash[2];
};

static void add_text(struct identity *id, const char *text)
{
    const char *at = text ? text : "";
    do {
        for (int i = 0; i < 2; i++)
            id->hash[i] = (id->hash[i] ^ (uint8_t)*at) * 0x100000001b3u;
    } while (*at++);
}

/* The description of the CPU has the tiers that are allowed, and `threads` the number of threads.
 */
static void add_machine(struct identity *id, struct gx_instance *instance)
{
    gx_device_info cpu = {0}; /* the first one enumerated; needs no driver */
    size_t room = 1;
    char threads[24];
    gx__cpu_ops.enumerate(&gx__cpu_ops, instance, &cpu, &room);
    add_text(id, cpu.description);
    snprintf(threads, sizeof threads, "%lu", (unsigned long)cpu.threads);
    add_text(id, threads);
}

void gx__store_init(struct gx_store *store, struct gx_instance *instance, const char *device,
                    const char *description)
{
    struct identity id = {{0xcbf29ce484222325u, 0x9ae16a3b2f90404fu}};
    add_text(&id, gx_version());
    add_machine(&id, instance);
    add_text(&id, device);
    add_text(&id, description);
    memset(store, 0, sizeof *store);
    memcpy(store->key, id.hash, sizeof id.hash);
    /* The beginning of the name makes the file recognisable. */
    memcpy(store->key + sizeof id.hash, device,
           strnlen(device, GX_CACHE_KEY_BYTES - sizeof id.hash));
    snprintf(store->name, sizeof store->name, "model-%016llx", (unsigned long long)id.hash[0]);
}

/* ---- contents ---- */

size_t gx__saved_bytes(size_t points)
{
    return sizeof(struct gx_saved_model) + points * sizeof(struct gx_saved_point);
}

void gx__saved_begin(struct gx_saved_model *saved)
{
    memset(saved, 0, sizeof *saved);
    memcpy(saved->what, what, sizeof what);
}

static bool good_point(const struct gx_saved_point *p)
{
    if (!gx_op_exists((gx_op)p->op, (gx_field)p->field) || p->residency < 1 ||
        p->residency > GX_DEVICE_MEMORY || p->path > GX_PATH_DEVICE_LOCAL ||
        p->index >= GX_TIME_POINTS || p->count < 1 || p->count > GX_SAMPLES ||
        p->guesses >= p->count ||
        !gx__size_class_exists((gx_op)p->op, (gx_field)p->field, p->size_class))
        return false;
    for (int i = 0; i < GX_SAMPLES; i++) {
        bool fits = p->ns[i] >= GX_SAMPLE_NS_MIN && p->ns[i] <= GX_SAMPLE_NS_MAX; /* not NaN */
        if (i < p->count ? !fits : p->ns[i] != 0)
            return false;
    }
    return true;
}

const struct gx_saved_model *gx__saved_parse(const void *data, size_t size)
{
    const struct gx_saved_model *saved = data;
    if (size < sizeof *saved || memcmp(saved->what, what, sizeof what) ||
        (size - sizeof *saved) / sizeof *saved->point != saved->count ||
        size != gx__saved_bytes(saved->count) || saved->zero ||
        !(saved->next_ns >= 0 && saved->next_ns <= (double)GX_SAMPLE_NS_MAX))
        return NULL;
    for (uint32_t i = 0; i < saved->count; i++)
        if (!good_point(&saved->point[i]))
            return NULL;
    return saved;
}

/* ---- files ---- */

const struct gx_saved_model *gx__store_read(struct gx_instance *instance,
                                            const struct gx_store *store)
{
    void *data;
    size_t size;
    if (!gx__cache_read(instance, store->name, store->key, &data, &size))
        return NULL;
    const struct gx_saved_model *saved = gx__saved_parse(data, size);
    if (!saved)
        gx__free(&instance->config.allocator, data);
    return saved;
}

bool gx__store_write(struct gx_instance *instance, const struct gx_store *store,
                     const struct gx_saved_model *saved)
{
    return gx__cache_write(instance, store->name, store->key, saved, gx__saved_bytes(saved->count));
}
