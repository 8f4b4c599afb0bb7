/* SPDX-License-Identifier: Apache-2.0
 *
 * The only way the library reads the environment: not at all where the caller says so, nor in a
 * program that runs with more rights than who started it.
 */
#ifndef GX_BASE_ENV_H
#define GX_BASE_ENV_H

#include "gpuexec.h"

/* NULL where the variable is unset, empty, or not to be looked at. */
const char *gx__env(const gx_config *config, const char *name);

/* What another library of the process reads by itself, whatever is asked of ours: to know what
 * it will do, never to do what it says. */
const char *gx__env_of_others(const char *name);

#endif
