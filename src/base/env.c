/* SPDX-License-Identifier: Apache-2.0
 *
 * See env.h.
 */
#include "base/env.h"

#include <stdlib.h>
#include <unistd.h>

#if !defined(__GLIBC__)
/* As in glibc, except for capabilities. */
static char *secure_getenv(const char *name)
{
#if defined(_WIN32)
    return getenv(name);
#else
    return getuid() == geteuid() && getgid() == getegid() ? getenv(name) : NULL;
#endif
}
#endif

const char *gx__env(const gx_config *config, const char *name)
{
    const char *value = config->ignore_environment ? NULL : secure_getenv(name);
    return value && *value ? value : NULL;
}

const char *gx__env_of_others(const char *name)
{
    return getenv(name);
}
