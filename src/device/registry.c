/* SPDX-License-Identifier: Apache-2.0
 *
 * The backends there are, and opening a device of any of them by name. A new backend
 * is one line here.
 */
#include "device/device.h"

#include <stdio.h>
#include <string.h>

static const struct gx_device_ops *const backends[] = {&gx__cpu_ops};
enum { BACKENDS = sizeof backends / sizeof *backends };

gx_status gx__device_enumerate(const struct gx_instance *instance, gx_device_info *infos,
                               size_t *count)
{
    size_t room = infos ? *count : 0, total = 0;
    for (size_t i = 0; i < BACKENDS; i++) {
        size_t n = total < room ? room - total : 0;
        gx_status s = backends[i]->enumerate(instance, n ? infos + total : NULL, &n);
        if (s != GX_OK)
            return s;
        total += n;
    }
    *count = total;
    return GX_OK;
}

/* Finds the backend that has a device of this name. */
static const struct gx_device_ops *find(const struct gx_instance *instance, const char *name,
                                        gx_device_info *found)
{
    for (size_t i = 0; i < BACKENDS; i++) {
        gx_device_info infos[16];
        size_t n = sizeof infos / sizeof *infos;
        if (backends[i]->enumerate(instance, infos, &n) != GX_OK)
            continue;
        for (size_t k = 0; k < n && k < sizeof infos / sizeof *infos; k++) {
            if (!strcmp(infos[k].name, name)) {
                *found = infos[k];
                return backends[i];
            }
        }
    }
    return NULL;
}

gx_status gx__device_open(const struct gx_instance *instance, const char *name,
                          struct gx_device *device, char *message, size_t message_size)
{
    *device = (struct gx_device){.instance = instance};
    if (!strncmp(name, GX_FAULT_PREFIX, strlen(GX_FAULT_PREFIX)))
        return gx__fault_open(device, name, message, message_size);
    const struct gx_device_ops *ops = find(instance, name, &device->info);
    if (!ops) {
        snprintf(message, message_size,
                 "there is no device '%.48s': 'gpuexec devices' and gx_devices list them", name);
        return GX_ERR_NO_DEVICE;
    }
    device->ops = ops;
    gx_status s = ops->open(device);
    if (s != GX_OK) {
        snprintf(message, message_size, "device '%s' could not be opened: %s", name,
                 gx_status_message(s));
        gx__device_close(device);
    }
    return s;
}

void gx__device_close(struct gx_device *device)
{
    if (device->ops)
        device->ops->close(device);
    device->ops = NULL;
}
