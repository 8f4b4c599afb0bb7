/* SPDX-License-Identifier: Apache-2.0
 *
 * Lists the devices that the CUDA driver offers, and finds one by name. The order is the driver's,
 * except that usable devices come first.
 */
#include "device/cuda/cuda.h"

#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/log.h"

#define CAPABILITY_NEEDED 70 /* the target of the kernels */

/* Serialises creation and destruction of the lists of all contexts. */
static pthread_mutex_t loader_lock = PTHREAD_MUTEX_INITIALIZER;

/* ---- listing ---- */

static int attribute(const struct cu_loader *loader, CUdevice device, int which)
{
    int value;
    return loader->fn.DeviceGetAttribute(&value, which, device) == CUDA_SUCCESS ? value : 0;
}

static void describe(const struct cu_loader *loader, struct cu_listed *d)
{
    if (d->capability < CAPABILITY_NEEDED)
        snprintf(d->info.description, sizeof d->info.description,
                 "%.48s has compute capability %d.%d, needs %d.0: use its Vulkan device", d->name,
                 d->capability / 10, d->capability % 10, CAPABILITY_NEEDED / 10);
    else if (!d->info.usable)
        snprintf(d->info.description, sizeof d->info.description,
                 "%.48s cannot use host memory under CUDA: use its Vulkan device", d->name);
    else
        snprintf(d->info.description, sizeof d->info.description,
                 "%.48s, compute capability %d.%d, CUDA %d.%d, %.1f GiB", d->name,
                 d->capability / 10, d->capability % 10, loader->version / 1000,
                 loader->version % 1000 / 10, (double)d->info.memory_bytes / (1 << 30));
}

static bool inspect(const struct cu_loader *loader, int ordinal, struct cu_listed *d)
{
    const struct cu_fn *fn = &loader->fn;
    size_t bytes;
    if (fn->DeviceGet(&d->handle, ordinal) != CUDA_SUCCESS ||
        fn->DeviceGetName(d->name, sizeof d->name, d->handle) != CUDA_SUCCESS ||
        fn->DeviceGetUuid(&d->uuid, d->handle) != CUDA_SUCCESS ||
        fn->DeviceTotalMem(&bytes, d->handle) != CUDA_SUCCESS)
        return false;
    d->name[sizeof d->name - 1] = 0;
    d->capability =
        10 * attribute(loader, d->handle, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR) +
        attribute(loader, d->handle, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR);
    d->info = (gx_device_info){.kind = GX_DEVICE_CUDA, .memory_bytes = bytes};
    d->info.usable = d->capability >= CAPABILITY_NEEDED &&
                     attribute(loader, d->handle, CU_DEVICE_ATTRIBUTE_UNIFIED_ADDRESSING) &&
                     attribute(loader, d->handle, CU_DEVICE_ATTRIBUTE_CAN_MAP_HOST_MEMORY);
    d->info.automatic = d->info.usable && gx__cu_complete();
    describe(loader, d);
    return true;
}

static void list_devices(struct cu_loader *loader)
{
    int count = 0;
    if (loader->fn.DeviceGetCount(&count) != CUDA_SUCCESS)
        count = 0;
    for (int usable = 1; usable >= 0; usable--)
        for (int i = 0; i < count && loader->count < CU_DEVICES_MAX; i++) {
            struct cu_listed d = {0};
            if (!inspect(loader, i, &d) || (int)d.info.usable != usable)
                continue;
            snprintf(d.info.name, sizeof d.info.name, CU_NAME ":%zu", loader->count);
            loader->devices[loader->count++] = d;
        }
    if (!loader->count)
        snprintf(loader->why_none, sizeof loader->why_none,
                 "no CUDA device found: there is no NVIDIA GPU, or CUDA_VISIBLE_DEVICES hides it");
}

struct cu_loader *gx__cu_loader(struct gx_instance *instance)
{
    pthread_mutex_lock(&loader_lock);
    struct cu_loader *loader = instance->cuda;
    if (!loader) {
        loader = gx__alloc(&instance->config.allocator, sizeof *loader);
        if (loader && gx__cu_library(instance, &loader->fn, &loader->version, loader->why_none,
                                     sizeof loader->why_none))
            list_devices(loader);
        if (loader && !loader->count)
            gx__log(instance, GX_LOG_INFO, "%s", loader->why_none);
        instance->cuda = loader;
    }
    pthread_mutex_unlock(&loader_lock);
    return loader;
}

void gx__cu_stop(struct gx_instance *instance)
{
    pthread_mutex_lock(&loader_lock);
    gx__free(&instance->config.allocator, instance->cuda);
    instance->cuda = NULL;
    pthread_mutex_unlock(&loader_lock);
}

/* ---- asking ---- */

bool gx__cuda_reaches(struct gx_instance *instance, const uint8_t uuid[16])
{
    const struct cu_loader *loader = gx__cu_loader(instance);
    for (size_t i = 0; loader && i < loader->count; i++)
        if (loader->devices[i].info.automatic &&
            (!uuid || !memcmp(uuid, loader->devices[i].uuid.bytes, 16)))
            return true;
    return false;
}

gx_status gx__cu_enumerate(struct gx_instance *instance, gx_device_info *infos, size_t *count)
{
    const struct cu_loader *loader = gx__cu_loader(instance);
    if (!loader)
        return GX_ERR_OUT_OF_MEMORY;
    size_t room = infos ? *count : 0;
    *count = loader->count ? loader->count : 1;
    if (!loader->count && room) {
        infos[0] = (gx_device_info){.name = CU_NAME, .kind = GX_DEVICE_CUDA};
        memcpy(infos[0].description, loader->why_none, sizeof infos[0].description);
    }
    for (size_t i = 0; i < loader->count && i < room; i++)
        infos[i] = loader->devices[i].info;
    return GX_OK;
}

const struct cu_listed *gx__cu_match(const struct cu_loader *loader, const char *selector)
{
    for (size_t i = 0; i < loader->count; i++)
        if (gx__gpu_selected(selector, loader->devices[i].info.name, loader->devices[i].name,
                             loader->devices[i].uuid.bytes))
            return &loader->devices[i];
    return NULL;
}

gx_status gx__cu_find(struct gx_instance *instance, const char *name, gx_device_info *info,
                      char *message, size_t message_size)
{
    const struct cu_loader *loader = gx__cu_loader(instance);
    const char *selector = name + strlen(CU_NAME);
    selector += *selector == ':';
    if (!loader) {
        snprintf(message, message_size, "no memory to look for '%.48s'", name);
        return GX_ERR_OUT_OF_MEMORY;
    }
    const struct cu_listed *found = gx__cu_match(loader, selector);
    if (!loader->count)
        snprintf(message, message_size, "%s", loader->why_none);
    else if (!found)
        snprintf(message, message_size,
                 "no CUDA device matches '%.48s': 'gpuexec devices' and gx_devices list them",
                 name);
    else if (!found->info.usable)
        snprintf(message, message_size, "%s", found->info.description);
    else {
        *info = found->info;
        return GX_OK;
    }
    return GX_ERR_NO_DEVICE;
}

bool gx__cu_chip(struct gx_instance *instance, const char *name, struct gx_chip *chip)
{
    const struct cu_loader *loader = gx__cu_loader(instance);
    const char *selector = strchr(name, ':');
    const struct cu_listed *d = loader ? gx__cu_match(loader, selector ? selector + 1 : "") : NULL;
    if (!d)
        return false;
    *chip = (struct gx_chip){.has_uuid = true};
    memcpy(chip->uuid, d->uuid.bytes, sizeof chip->uuid);
    snprintf(chip->name, sizeof chip->name, "%s", d->name);
    return true;
}
