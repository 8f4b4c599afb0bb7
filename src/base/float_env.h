/* SPDX-License-Identifier: Apache-2.0
 *
 * Sets aside the caller's floating-point mode: drivers use floats on the calling thread, and must
 * neither inherit its traps and rounding nor leave flags behind.
 */
#ifndef GX_BASE_FLOAT_ENV_H
#define GX_BASE_FLOAT_ENV_H

#include <fenv.h>

#if defined(__x86_64__) && defined(__linux__)

/* The control registers, in the C library's layout. Loading the x87 environment takes longer than
 * planning a small job, and hardly anyone changes it; so it is done only if the control word or the
 * flags require it. */
enum {
    GX_FLOAT_FLAGS = 0x3f,
    GX_X87_CONTROL = 0x37f,  /* no traps, round to nearest */
    GX_SSE_CONTROL = 0x1f80, /* the same; its low bits are flags */
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
