/* SPDX-License-Identifier: Apache-2.0
 *
 * The only access to the environment: none if the caller disables it, or if the process is
 * privileged (setuid and the like).
 */
#ifndef GX_BASE_ENV_H
#define GX_BASE_ENV_H

#include "gpuexec.h"

/* NULL if the variable is unset, empty, or must not be read. */
const char *gx__env(const gx_config *config, const char *name);

/* A variable that another library in this process reads by itself, whatever our settings are. Use
 * it only to predict what that library will do, never as a setting. */
const char *gx__env_of_others(const char *name);

#endif
