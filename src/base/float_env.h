/* SPDX-License-Identifier: Apache-2.0
 *
 * The caller's floating-point mode, set aside: drivers compute with floats in the
 * calling thread, and must neither meet its traps and rounding nor leave flags there.
 */
#ifndef GX_BASE_FLOAT_ENV_H
#define GX_BASE_FLOAT_ENV_H

#include <fenv.h>

static inline void gx__float_env_default(fenv_t *caller)
{
    fegetenv(caller);
    fesetenv(FE_DFL_ENV);
}

static inline void gx__float_env_restore(const fenv_t *caller)
{
    fesetenv(caller);
}

#endif
