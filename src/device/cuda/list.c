/* SPDX-License-Identifier: Apache-2.0
 *
 * Lists the devices that the CUDA driver offers, and finds one by name. The order is the driver's,
 * except that usable devices come first.
 */
#include "device/cuda/cuda.h"

#include <stdio.h>
#include <string.h>

#include "base/log.h"

#define CAPABILITY_NEEDED 70 /* the target of the kernels */

/* ---- listing ---- */

static int attribute(const struct cu_loader *loader, CUdevice device, int which)
{
    int value;
    return loader->fn.DeviceGetAttribute(&value, which, device) == CUDA_SUCCESS ? value : 0;
}

static void describe(const struct cu_loader *loader, struct cu_listed *d)
{
    if (d->capability < CAPABILITY_NEEDED)
        snprintf(d->base.info.description, sizeof d->base.info.description,
                 "%.48s has compute capability %d.%d, needs %d.0: use its Vulkan device",
                 d->base.name, d->capability / 10, d->capability % 10, CAPABILITY_NEEDED / 10);
    else if (!d->base.info.usable)
        snprintf(d->base.info.description, sizeof d->base.info.description,
                 "%.48s cannot use host memory under CUDA: use its Vulkan device", d->base.name);
    else
        snprintf(d->base.info.description, sizeof d->base.info.description,
                 "%.48s, compute capability %d.%d, CUDA %d.%d, %.1f GiB", d->base.name,
                 d->capability / 10, d->capability % 10, loader->version / 1000,
                 loader->version % 1000 / 10, (double)d->base.info.memory_bytes / (1 << 30));
}

static bool inspect(const struct cu_loader *loader, int ordinal, struct cu_listed *d)
{
    const struct cu_fn *fn = &loader->fn;
    CUuuid uuid;
    size_t bytes;
    if (fn->DeviceGet(&d->handle, ordinal) != CUDA_SUCCESS ||
        fn->DeviceGetName(d->base.name, sizeof d->base.name, d->handle) != CUDA_SUCCESS ||
        fn->DeviceGetUuid(&uuid, d->handle) != CUDA_SUCCESS ||
        fn->DeviceTotalMem(&bytes, d->handle) != CUDA_SUCCESS)
        return false;
    d->base.name[sizeof d->base.name - 1] = 0;
    memcpy(d->base.uuid, uuid.bytes, sizeof d->base.uuid);
    d->capability =
        10 * attribute(loader, d->handle, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR) +
        attribute(loader, d->handle, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR);
    d->base.info = (gx_device_info){.kind = GX_DEVICE_CUDA, .memory_bytes = bytes};
    d->base.info.usable = d->capability >= CAPABILITY_NEEDED &&
                          attribute(loader, d->handle, CU_DEVICE_ATTRIBUTE_UNIFIED_ADDRESSING) &&
                          attribute(loader, d->handle, CU_DEVICE_ATTRIBUTE_CAN_MAP_HOST_MEMORY);
    d->base.info.automatic = d->base.info.usable && gx__cu_complete();
    describe(loader, d);
    return true;
}

static void list_devices(struct cu_loader *loader)
{
    int count = 0;
    if (loader->fn.DeviceGetCount(&count) != CUDA_SUCCESS)
        count = 0;
    for (int usable = 1; usable >= 0; usable--)
        for (int i = 0; i < count && loader->list.count < CU_DEVICES_MAX; i++) {
            struct cu_listed d = {0};
            if (!inspect(loader, i, &d) || (int)d.base.info.usable != usable)
                continue;
            snprintf(d.base.info.name, sizeof d.base.info.name, CU_NAME ":%zu", loader->list.count);
            loader->devices[loader->list.count++] = d;
        }
    if (!loader->list.count)
        gx__explain(
            &loader->list.why_none,
            "no CUDA device found: there is no NVIDIA GPU, or CUDA_VISIBLE_DEVICES hides it");
}

static void start(struct gx_gpu_list *list, struct gx_instance *instance)
{
    struct cu_loader *loader = (struct cu_loader *)list;
    if (gx__cu_library(instance, &loader->fn, &loader->version, &list->why_none))
        list_devices(loader);
    if (!list->count)
        gx__log(instance, GX_LOG_INFO, "%s", list->why_none.text);
}

struct gx_gpu_lister gx__cu_lister = {.lock = PTHREAD_MUTEX_INITIALIZER,
                                      .kind = GX_DEVICE_CUDA,
                                      .place = offsetof(struct gx_instance, cuda),
                                      .bytes = sizeof(struct cu_loader),
                                      .first = offsetof(struct cu_loader, devices),
                                      .stride = sizeof(struct cu_listed),
                                      .start = start};

/* ---- asking ---- */

bool gx__cuda_reaches(struct gx_instance *instance, const uint8_t uuid[16])
{
    const struct gx_gpu_list *list = gx__gpu_list(&gx__cu_lister, instance);
    for (size_t i = 0; list && i < list->count; i++) {
        const struct gx_gpu_listed *d = gx__gpu_listed(&gx__cu_lister, list, i);
        if (d->info.automatic && (!uuid || !memcmp(uuid, d->uuid, sizeof d->uuid)))
            return true;
    }
    return false;
}
