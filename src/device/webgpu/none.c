/* SPDX-License-Identifier: Apache-2.0
 *
 * Replaces the WebGPU device if it is not part of the build: a single entry in the list that says
 * so.
 */

#include "device/device.h"

static const gx_device_info none = {
    .name = "webgpu",
    .description = "no WebGPU: this library was built without it: see WebGPU in doc/packaging.md",
    .kind = GX_DEVICE_WEBGPU};

static gx_status none_enumerate(const struct gx_device_ops *ops, struct gx_instance *instance,
                                gx_device_info *infos, size_t *count)
{
    (void)ops;
    (void)instance;
    if (infos && *count)
        infos[0] = none;
    *count = 1;
    return GX_OK;
}

static gx_status none_find(const struct gx_device_ops *ops, struct gx_instance *instance,
                           const char *name, gx_device_info *info, struct gx_error *error)
{
    (void)ops;
    (void)instance;
    (void)name;
    (void)info;
    return gx__refuse(error, GX_ERR_NO_DEVICE, "%s", none.description);
}

const struct gx_device_ops gx__webgpu_ops = {
    .name = "webgpu",
    .enumerate = none_enumerate,
    .find = none_find,
};
