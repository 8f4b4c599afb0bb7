/* SPDX-License-Identifier: Apache-2.0
 *
 * Replaces the WebGPU device if it is not part of the build: a single entry in the list that says
 * so.
 */
#include <stdio.h>

#include "device/device.h"

static const gx_device_info none = {
    .name = "webgpu",
    .description =
        "no WebGPU: this build had no headers of wgpu-native: run scripts/setup.sh run, or "
        "set GPUEXEC_WGPU_DIR, and build again",
    .kind = GX_DEVICE_WEBGPU};

static gx_status none_enumerate(struct gx_instance *instance, gx_device_info *infos, size_t *count)
{
    (void)instance;
    if (infos && *count)
        infos[0] = none;
    *count = 1;
    return GX_OK;
}

static gx_status none_find(struct gx_instance *instance, const char *name, gx_device_info *info,
                           char *message, size_t message_size)
{
    (void)instance;
    (void)name;
    (void)info;
    snprintf(message, message_size, "%s", none.description);
    return GX_ERR_NO_DEVICE;
}

const struct gx_device_ops gx__webgpu_ops = {
    .name = "webgpu",
    .enumerate = none_enumerate,
    .find = none_find,
};
