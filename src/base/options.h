/* SPDX-License-Identifier: Apache-2.0
 *
 * Settings: one table makes the config field, the environment variable and the
 * command-line option of each.
 */
#ifndef GX_BASE_OPTIONS_H
#define GX_BASE_OPTIONS_H

#include <stdbool.h>

#include "gpuexec.h"

/* Copies the caller's config (NULL: all zero) into *config, then fills what is still
 * zero from the environment. A bad size or value gives GX_ERR_INVALID and err. The
 * strings are borrowed from the caller and the environment. */
gx_status gx__config_complete(gx_config *config, const gx_config *caller, char *err,
                              size_t err_size);

/* "host-visible" and the like. GX_ERR_INVALID and err, with `where` in front, for others. */
gx_status gx__parse_path(const char *text, gx_path *path, const char *where, char *err,
                         size_t err_size);

/* The same for "pipelined" and the like. */
gx_status gx__parse_mode(const char *text, gx_mode *mode, const char *where, char *err,
                         size_t err_size);

/* And for "throughput" and the like. */
gx_status gx__parse_policy(const char *text, gx_policy *policy, const char *where, char *err,
                           size_t err_size);

/* The next name of a comma-separated list, at *list, which is moved behind it; what is too
 * long for a name is left out. False at the end. */
bool gx__next_name(const char **list, char *name, size_t size);

/* Bit t set: the t-th tier (gx_tier_name) is named in the comma-separated text; the first always
 * is, and all are where text is NULL. False where something else is named. */
bool gx__parse_tiers(const char *text, unsigned *bits);

/* What WebGPU can be over. */
enum gx_webgpu_backend {
    GX_WEBGPU_VULKAN,
    GX_WEBGPU_GL,
    GX_WEBGPU_DX12,
    GX_WEBGPU_METAL,
    GX_WEBGPU_BACKENDS
};
extern const char *const gx__webgpu_backend_names[GX_WEBGPU_BACKENDS];

/* "vulkan and gl": those that this platform can have. */
const char *gx__webgpu_backends_here(void);

/* Bit b set: backend b is named in the comma-separated text; all that this platform can have
 * are where text is NULL. False where something else is named. */
bool gx__parse_backends(const char *text, unsigned *bits);

#endif
