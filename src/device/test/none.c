/* SPDX-License-Identifier: Apache-2.0
 *
 * In place of the devices for tests, sim and fault, in a library that was built without them: who
 * names one is told how to get it.
 */

#include "device/device.h"

static gx_status refuse(const char *name, struct gx_error *error)
{
    return gx__refuse(
        error, GX_ERR_NO_DEVICE,
        "'%.48s' is a device for tests, which this library was built without: build it with "
        "-DGPUEXEC_TEST_DEVICES=ON",
        name);
}

static gx_status none_enumerate(const struct gx_device_ops *ops, struct gx_instance *instance,
                                gx_device_info *infos, size_t *count)
{
    (void)ops;
    (void)instance;
    (void)infos;
    *count = 0;
    return GX_OK;
}

static gx_status none_find(const struct gx_device_ops *ops, struct gx_instance *instance,
                           const char *name, gx_device_info *info, struct gx_error *error)
{
    (void)ops;
    (void)instance;
    (void)info;
    return refuse(name, error);
}

const struct gx_device_ops gx__sim_ops = {
    .name = "sim",
    .enumerate = none_enumerate,
    .find = none_find,
};

gx_status gx__fault_open(struct gx_device *device, const char *name, struct gx_error *error)
{
    (void)device;
    return refuse(name, error);
}
