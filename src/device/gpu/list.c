/* SPDX-License-Identifier: Apache-2.0
 *
 * The lists of devices. Each backend makes one for a context when a device is first asked for, and
 * keeps it until the context ends. What callers may ask about it is answered here.
 */
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "device/gpu/gpu.h"

static void **place_of(const struct gx_gpu_lister *lister, struct gx_instance *instance)
{
    return (void **)((char *)instance + lister->place);
}

struct gx_gpu_list *gx__gpu_list(struct gx_gpu_lister *lister, struct gx_instance *instance)
{
    void **place = place_of(lister, instance);
    pthread_mutex_lock(&lister->lock);
    if (!*place) {
        *place = gx__alloc(&instance->config.allocator, lister->bytes);
        if (*place)
            lister->start(*place, instance);
    }
    struct gx_gpu_list *list = *place;
    pthread_mutex_unlock(&lister->lock);
    return list;
}

void gx__gpu_stop(const struct gx_device_ops *ops, struct gx_instance *instance)
{
    struct gx_gpu_lister *lister = ops->lister;
    void **place = place_of(lister, instance);
    pthread_mutex_lock(&lister->lock);
    if (*place && lister->stop)
        lister->stop(*place);
    gx__free(&instance->config.allocator, *place);
    *place = NULL;
    pthread_mutex_unlock(&lister->lock);
}

const struct gx_gpu_listed *gx__gpu_listed(const struct gx_gpu_lister *lister,
                                           const struct gx_gpu_list *list, size_t index)
{
    const char *first = (const char *)list + lister->first;
    return (const struct gx_gpu_listed *)(const void *)(first + index * lister->stride);
}

gx_status gx__gpu_enumerate(const struct gx_device_ops *ops, struct gx_instance *instance,
                            gx_device_info *infos, size_t *count)
{
    const struct gx_gpu_list *list = gx__gpu_list(ops->lister, instance);
    if (!list)
        return GX_ERR_OUT_OF_MEMORY;
    size_t room = infos ? *count : 0;
    *count = list->count ? list->count : 1;
    if (!list->count && room) {
        infos[0] = (gx_device_info){.kind = ops->lister->kind};
        snprintf(infos[0].name, sizeof infos[0].name, "%s", ops->name);
        gx__error_give(&list->why_none, infos[0].description, sizeof infos[0].description);
    }
    for (size_t i = 0; i < list->count && i < room; i++)
        infos[i] = gx__gpu_listed(ops->lister, list, i)->info;
    return GX_OK;
}

static const struct gx_gpu_listed *match(const struct gx_device_ops *ops,
                                         const struct gx_gpu_list *list, const char *name)
{
    const struct gx_gpu_lister *lister = ops->lister;
    const char *selector = name + strlen(ops->name);
    selector += *selector == ':';
    if (lister->match)
        return lister->match(list, name);
    for (size_t i = 0; i < list->count; i++) {
        const struct gx_gpu_listed *d = gx__gpu_listed(lister, list, i);
        if (gx__gpu_selected(selector, d->info.name, d->name, d->uuid))
            return d;
    }
    return NULL;
}

gx_status gx__gpu_find(const struct gx_device_ops *ops, struct gx_instance *instance,
                       const char *name, gx_device_info *info, struct gx_error *error)
{
    const struct gx_gpu_list *list = gx__gpu_list(ops->lister, instance);
    if (!list)
        return gx__refuse(error, GX_ERR_OUT_OF_MEMORY, "no memory to look for '%.48s'", name);
    const struct gx_gpu_listed *found = match(ops, list, name);
    if (found && found->info.usable) {
        *info = found->info;
        return GX_OK;
    }
    if (found)
        gx__explain(error, "%s", found->info.description);
    else if (ops->lister->explain && ops->lister->explain(list, name, error))
        return GX_ERR_NO_DEVICE;
    else if (!list->count)
        *error = list->why_none;
    else
        return gx__device_missing(instance, name, error);
    return GX_ERR_NO_DEVICE;
}

bool gx__gpu_chip(const struct gx_device_ops *ops, struct gx_instance *instance, const char *name,
                  struct gx_chip *chip)
{
    static const uint8_t none[sizeof chip->uuid];
    const struct gx_gpu_list *list = gx__gpu_list(ops->lister, instance);
    const struct gx_gpu_listed *d = list ? match(ops, list, name) : NULL;
    if (!d || d->software)
        return false;
    *chip = (struct gx_chip){.has_uuid = memcmp(d->uuid, none, sizeof none) != 0};
    memcpy(chip->uuid, d->uuid, sizeof chip->uuid);
    snprintf(chip->name, sizeof chip->name, "%.63s", d->name);
    return true;
}
