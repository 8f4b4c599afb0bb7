/* SPDX-License-Identifier: Apache-2.0
 *
 * Settings: one table defines each setting's config member, environment variable and command-line
 * option.
 */
#ifndef GX_BASE_OPTIONS_H
#define GX_BASE_OPTIONS_H

#include <stdbool.h>

#include "base/error.h"
#include "gpuexec.h"

/* Copies the caller's config (NULL: all zero) to *config and fills members that are still zero from
 * the environment. GX_ERR_INVALID and err for a bad size or value. Strings are borrowed from the
 * caller and the environment. */
gx_status gx__config_complete(gx_config *config, const gx_config *caller, struct gx_error *error);

/* For prototype.c: a setting that exists, by name. `where` begins messages about its value. */
bool gx__setting_is_set(const gx_config *config, const char *name);
gx_status gx__setting_set(gx_config *config, const char *name, const char *where, const char *value,
                          struct gx_error *error);
/* Takes what is not set from the variables of the prototype. */
gx_status gx__prototype_settings(gx_config *config, struct gx_error *error);

/* Room for one name in a list of devices, as the user writes it: part of a driver's name or a UUID
 * may be longer than gx_device_info.name. gx__config_complete refuses longer ones. */
#define GX_LISTED_NAME 256

/* Reads the next name of the comma-separated list at *list, which is advanced. False at the end. */
bool gx__next_name(const char **list, char name[GX_LISTED_NAME]);

/* Parses a comma-separated list of tiers (gx_tier_name); bit t is set if tier t is named. The first
 * tier always is, and all are if text is NULL. False for an unknown name. */
bool gx__parse_tiers(const char *text, unsigned *bits);

/* The backends of WebGPU. */
enum gx_webgpu_backend {
    GX_WEBGPU_VULKAN,
    GX_WEBGPU_GL,
    GX_WEBGPU_DX12,
    GX_WEBGPU_METAL,
    GX_WEBGPU_BACKENDS
};
extern const char *const gx__webgpu_backend_names[GX_WEBGPU_BACKENDS];

/* "vulkan and gl": the backends available on this platform. */
const char *gx__webgpu_backends_here(void);

/* Parses a comma-separated list of backends, in any case, gles for gl; bit b is set if backend b is
 * named and this platform has it. If text is NULL, all are that it has. False for any other name.
 */
bool gx__parse_backends(const char *text, unsigned *bits);

#endif
