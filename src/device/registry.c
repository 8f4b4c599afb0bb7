/* SPDX-License-Identifier: Apache-2.0
 *
 * The list of backends, and opening a device by name. To add a backend, add one line here.
 */
#include "device/device.h"

#include <pthread.h>
#include <string.h>

static const struct gx_device_ops *const backends[] = {
    &gx__cpu_ops, &gx__vulkan_ops, &gx__webgpu_ops, &gx__cuda_ops, &gx__sim_ops};
enum { BACKENDS = sizeof backends / sizeof *backends };
/* More devices of one backend are not looked at. */
enum { LISTED_MAX = 16 };
/* Stands for a device. */
#define GX_ANY_GPU "gpu"

gx_status gx__device_enumerate(struct gx_instance *instance, gx_device_info *infos, size_t *count)
{
    size_t room = infos ? *count : 0, total = 0;
    for (size_t i = 0; i < BACKENDS; i++) {
        size_t n = total < room ? room - total : 0;
        gx_status s = backends[i]->enumerate(backends[i], instance, n ? infos + total : NULL, &n);
        if (s != GX_OK)
            return s;
        total += n;
    }
    *count = total;
    return GX_OK;
}

/* Whether name is the backend's own, alone or followed by ':'. */
static bool speaks_of(const char *name, const struct gx_device_ops *backend)
{
    size_t length = strlen(backend->name);
    return !strncmp(name, backend->name, length) && (!name[length] || name[length] == ':');
}

static bool listed(struct gx_instance *instance, const struct gx_device_ops *backend,
                   const char *name, gx_device_info *found)
{
    gx_device_info infos[LISTED_MAX];
    size_t n = LISTED_MAX;
    if (backend->enumerate(backend, instance, infos, &n) != GX_OK)
        return false;
    for (size_t k = 0; k < n && k < LISTED_MAX; k++) {
        if (!strcmp(infos[k].name, name)) {
            *found = infos[k];
            return true;
        }
    }
    return false;
}

gx_status gx__device_missing(struct gx_instance *instance, const char *name, struct gx_error *error)
{
    gx_device_info infos[32];
    size_t n = sizeof infos / sizeof *infos, room = n;
    char names[160] = "";
    if (gx__device_enumerate(instance, infos, &n) != GX_OK)
        n = 0;
    for (size_t i = 0; i < n && i < room; i++) {
        size_t used = strlen(names);
        if (infos[i].usable)
            snprintf(names + used, sizeof names - used, "%s%s", used ? ", " : "", infos[i].name);
    }
    if (strcmp(name, GX_ANY_GPU) != 0)
        return gx__refuse(error, GX_ERR_NO_DEVICE, "there is no device '%.48s' here, only %s", name,
                          names);
    return gx__refuse(error, GX_ERR_NO_DEVICE,
                      "there is no GPU here to choose, only %s: name one of these, or see in "
                      "'gpuexec devices' what is missing",
                      names);
}

/* The first GPU that the router would choose from. */
static gx_status find_gpu(struct gx_instance *instance, const struct gx_device_ops **backend,
                          gx_device_info *found, struct gx_error *error)
{
    for (size_t i = 0; i < BACKENDS; i++) {
        gx_device_info infos[LISTED_MAX];
        size_t n = LISTED_MAX;
        *backend = backends[i];
        if (backends[i]->enumerate(backends[i], instance, infos, &n) != GX_OK)
            continue;
        for (size_t k = 0; k < n && k < LISTED_MAX; k++)
            if (infos[k].automatic && infos[k].usable && infos[k].kind != GX_DEVICE_CPU) {
                *found = infos[k];
                return GX_OK;
            }
    }
    return gx__device_missing(instance, GX_ANY_GPU, error);
}

/* Finds the backend that has a device of this name. */
static gx_status find(struct gx_instance *instance, const char *name,
                      const struct gx_device_ops **backend, gx_device_info *found,
                      struct gx_error *error)
{
    if (!strcmp(name, GX_ANY_GPU))
        return find_gpu(instance, backend, found, error);
    for (size_t i = 0; i < BACKENDS; i++) {
        *backend = backends[i];
        if (backends[i]->find && speaks_of(name, backends[i]))
            return backends[i]->find(backends[i], instance, name, found, error);
        if (!backends[i]->find && listed(instance, backends[i], name, found))
            return GX_OK;
    }
    return gx__device_missing(instance, name, error);
}

gx_status gx__device_find(struct gx_instance *instance, const char *name, gx_device_info *info,
                          struct gx_error *error)
{
    const struct gx_device_ops *backend;
    return find(instance, name, &backend, info, error);
}

/* What is wrapped: "fault:WHAT@N:DEVICE". */
static const char *inner_name(const char *name)
{
    while (name && !strncmp(name, GX_FAULT_PREFIX, strlen(GX_FAULT_PREFIX))) {
        name = strchr(name + strlen(GX_FAULT_PREFIX), ':');
        name = name ? name + 1 : NULL;
    }
    return name;
}

bool gx__device_chip(struct gx_instance *instance, const char *name, struct gx_chip *chip)
{
    name = inner_name(name);
    for (size_t i = 0; i < BACKENDS && name; i++)
        if (backends[i]->chip && speaks_of(name, backends[i]))
            return backends[i]->chip(backends[i], instance, name, chip);
    return false;
}

bool gx__same_chip(const struct gx_chip *a, const struct gx_chip *b)
{
    if (a->has_uuid && b->has_uuid)
        return !memcmp(a->uuid, b->uuid, sizeof a->uuid);
    return a->name[0] && !strcmp(a->name, b->name);
}

gx_status gx__device_open(struct gx_instance *instance, const char *name, struct gx_device *device,
                          struct gx_error *error)
{
    *device = (struct gx_device){.instance = instance};
    if (!strncmp(name, GX_FAULT_PREFIX, strlen(GX_FAULT_PREFIX)))
        return gx__fault_open(device, name, error);
    const struct gx_device_ops *ops;
    gx_status s = find(instance, name, &ops, &device->info, error);
    if (s != GX_OK)
        return s;
    device->ops = ops;
    s = ops->open(device);
    if (s != GX_OK) {
        gx__explain(error, "device '%s' could not be opened: %s", name, gx_status_message(s));
        gx__device_close(device);
    }
    return s;
}

static pthread_mutex_t vulkan_list = PTHREAD_MUTEX_INITIALIZER;

void gx__vulkan_list_lock(void)
{
    pthread_mutex_lock(&vulkan_list);
}

void gx__vulkan_list_unlock(void)
{
    pthread_mutex_unlock(&vulkan_list);
}

void gx__device_close(struct gx_device *device)
{
    if (device->ops)
        device->ops->close(device);
    device->ops = NULL;
}

void gx__device_stop(struct gx_instance *instance)
{
    for (size_t i = 0; i < BACKENDS; i++)
        if (backends[i]->stop)
            backends[i]->stop(backends[i], instance);
}
