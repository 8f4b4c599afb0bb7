/* SPDX-License-Identifier: Apache-2.0
 *
 * Sets aside the caller's floating-point mode: drivers use floats on the calling thread, and must
 * neither inherit its traps and rounding nor leave flags behind.
 */
#ifndef GX_BASE_FLOAT_ENV_H
#define GX_BASE_FLOAT_ENV_H

#include <stdint.h>

#if defined(__x86_64__)

/* The registers themselves: not every C library's fenv_t holds both units. Loading the x87
 * environment takes longer than planning a small job, and hardly anyone changes it; so it is done
 * only if the control word or the flags require it. */
struct gx_float_env {
    uint16_t control, status;
    uint32_t mxcsr;
};

enum {
    GX_FLOAT_FLAGS = 0x3f,
    GX_X87_CONTROL = 0x37f,  /* no traps, round to nearest, all 64 bits */
    GX_SSE_CONTROL = 0x1f80, /* the same; its low bits are flags */
};

static inline void gx__float_env_read(struct gx_float_env *env)
{
    __asm__ volatile("fnstcw %0" : "=m"(env->control));
    __asm__ volatile("fnstsw %0" : "=m"(env->status));
    __asm__ volatile("stmxcsr %0" : "=m"(env->mxcsr));
}

/* Sets the x87 control word and flags. */
static inline void gx__float_env_load(uint16_t control, uint16_t flags)
{
    struct {
        uint16_t control, unused0, status, unused1, rest[10];
    } x87;
    __asm__ volatile("fnstenv %0" : "=m"(x87));
    x87.control = control;
    x87.status = (uint16_t)((x87.status & ~GX_FLOAT_FLAGS) | (flags & GX_FLOAT_FLAGS));
    __asm__ volatile("fldenv %0" : : "m"(x87));
}

static inline void gx__float_env_default(struct gx_float_env *caller)
{
    const uint32_t mxcsr = GX_SSE_CONTROL;
    gx__float_env_read(caller);
    if (caller->control != GX_X87_CONTROL)
        gx__float_env_load(GX_X87_CONTROL, 0);
    if ((caller->mxcsr & ~(uint32_t)GX_FLOAT_FLAGS) != GX_SSE_CONTROL)
        __asm__ volatile("ldmxcsr %0" : : "m"(mxcsr));
}

static inline void gx__float_env_restore(const struct gx_float_env *caller)
{
    struct gx_float_env now;
    gx__float_env_read(&now);
    if (now.control != caller->control || (now.status ^ caller->status) & GX_FLOAT_FLAGS)
        gx__float_env_load(caller->control, caller->status);
    if (now.mxcsr != caller->mxcsr)
        __asm__ volatile("ldmxcsr %0" : : "m"(caller->mxcsr));
}

#else

#include <fenv.h>

struct gx_float_env {
    fenv_t all;
};

static inline void gx__float_env_default(struct gx_float_env *caller)
{
    fegetenv(&caller->all);
    fesetenv(FE_DFL_ENV);
}

static inline void gx__float_env_restore(const struct gx_float_env *caller)
{
    fesetenv(&caller->all);
}

#endif

#endif
