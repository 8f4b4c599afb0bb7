/* SPDX-License-Identifier: Apache-2.0
 *
 * Settings: one table defines each setting's config member, environment variable and command-line
 * option.
 */
#ifndef GX_BASE_OPTIONS_H
#define GX_BASE_OPTIONS_H

#include <stdbool.h>

#include "gpuexec.h"

/* Copies the caller's config (NULL: all zero) to *config and fills members that are still zero from
 * the environment. GX_ERR_INVALID and err for a bad size or value. Strings are borrowed from the
 * caller and the environment. */
gx_status gx__config_complete(gx_config *config, const gx_config *caller, char *err,
                              size_t err_size);

/* Parses "host-visible" and the like. Otherwise GX_ERR_INVALID and err, prefixed with `where`. */
gx_status gx__parse_path(const char *text, gx_path *path, const char *where, char *err,
                         size_t err_size);

/* The same for "pipelined" and the like. */
gx_status gx__parse_mode(const char *text, gx_mode *mode, const char *where, char *err,
                         size_t err_size);

/* And for "throughput" and the like. */
gx_status gx__parse_policy(const char *text, gx_policy *policy, const char *where, char *err,
                           size_t err_size);

/* Reads the next name of the comma-separated list at *list, which is advanced; skips names that are
 * too long. False at the end. */
bool gx__next_name(const char **list, char *name, size_t size);

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
 * named and this platform has it. All that it has are if text is NULL. False for any other name. */
bool gx__parse_backends(const char *text, unsigned *bits);

#endif
