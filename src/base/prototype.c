/* SPDX-License-Identifier: Apache-2.0
 *
 * Variables of the SuperVM prototype that still set what they did there (doc/from-the-seeds.md),
 * unless it is set otherwise.
 */
#include <string.h>

#include "base/env.h"
#include "base/options.h"

static const struct {
    const char *variable, *setting;
} names[] = {{"GPU_DEVICE_LOCAL", "path"},
             {"GPU_STREAM_CHUNK_ELEMS", "stream-chunk-elems"},
             {"SUPERVM_WGPU_BACKENDS", "webgpu-backends"}};

/* GPU_DEVICE_LOCAL is 0 or 1; NULL for anything else. */
static const char *path_of(const char *value)
{
    return !strcmp(value, "0") ? "host-visible" : !strcmp(value, "1") ? "device-local" : NULL;
}

gx_status gx__prototype_settings(gx_config *config, struct gx_error *error)
{
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        const char *variable = names[i].variable, *setting = names[i].setting;
        const char *value = gx__env(config, variable), *text = value;
        if (!value || gx__setting_is_set(config, setting))
            continue;
        if (!strcmp(setting, "path"))
            value = path_of(text);
        if (!value)
            return gx__refuse(error, GX_ERR_INVALID, "%s: '%.48s' is neither 0 nor 1", variable,
                              text);
        gx_status s = gx__setting_set(config, setting, variable, value, error);
        if (s != GX_OK)
            return s;
    }
    return GX_OK;
}
