/* SPDX-License-Identifier: Apache-2.0
 *
 * See env.h.
 */
#include "base/env.h"

#include "base/os.h"

const char *gx__env(const gx_config *config, const char *name)
{
    const char *value = config->ignore_environment ? NULL : gx__os_env_secure(name);
    return value && *value ? value : NULL;
}

const char *gx__env_of_others(const char *name)
{
    return gx__os_env(name);
}
