/* SPDX-License-Identifier: Apache-2.0
 *
 * The caller's floating-point mode, set aside: drivers compute with floats in the
 * calling thread, and must neither meet its traps and rounding nor leave flags there.
 */
#ifndef GX_BASE_FLOAT_ENV_H
#define GX_BASE_FLOAT_ENV_H

#include <fenv.h>

#if defined(__x86_64__) && defined(__linux__)

/* The registers behind the environment, in the C library's own layout. Loading the x87's takes
 * longer than the plan of a small job, and hardly anyone has anything else than the default
 * there: so it is done only where the control or the flags say that it must be. */
enum {
    GX_FLOAT_FLAGS = 0x3f,
    GX_X87_CONTROL = 0x37f,  /* no traps, to nearest */
    GX_SSE_CONTROL = 0x1f80, /* the same; its lower bits are flags */
};

static inline void gx__float_env_read(fenv_t *env)
{
    __asm__ volatile("fnstcw %0" : "=m"(env->__control_word));
    __asm__ volatile("fnstsw %0" : "=m"(env->__status_word));
    __asm__ volatile("stmxcsr %0" : "=m"(env->__mxcsr));
}

static inline void gx__float_env_default(fenv_t *caller)
{
    *caller = (fenv_t){0};
    gx__float_env_read(caller);
    if (caller->__control_word != GX_X87_CONTROL ||
        (caller->__mxcsr & ~(unsigned)GX_FLOAT_FLAGS) != GX_SSE_CONTROL) {
        fegetenv(caller);
        fesetenv(FE_DFL_ENV);
    }
}

static inline void gx__float_env_restore(const fenv_t *caller)
{
    fenv_t now;
    gx__float_env_read(&now);
    if (now.__control_word != caller->__control_word ||
        (now.__status_word ^ caller->__status_word) & GX_FLOAT_FLAGS)
        fesetenv(caller);
    else if (now.__mxcsr != caller->__mxcsr)
        __asm__ volatile("ldmxcsr %0" : : "m"(caller->__mxcsr));
}

#else

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

#endif
