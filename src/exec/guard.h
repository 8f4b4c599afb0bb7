/* SPDX-License-Identifier: Apache-2.0
 *
 * Guard bytes behind the memory that an engine gives its device, in debug and sanitized builds
 * (GX_GUARDS): set where the memory is handed out, directly behind what was asked for, and checked
 * where it comes back. Work that wrote past its memory ends the process. In other builds nothing
 * is there.
 */
#ifndef GX_EXEC_GUARD_H
#define GX_EXEC_GUARD_H

#include "device/device.h"

#ifdef GX_GUARDS

/* Every allocation is larger by this: the least guard, and what is left free before it. */
#define GX_GUARD_BYTES (256u + GX_COPY_ALIGN_MAX)

/* The caller has the memory to itself, of which `bytes` will be used. */
void gx__guard_set(struct gx_device *device, struct gx_mem *mem, size_t bytes);
/* The same when they have been used. */
void gx__guard_check(struct gx_device *device, struct gx_mem *mem);
/* More of the memory, which may be NULL, will be used; it may be in use. False, and nothing has
 * changed, if no guard would be left behind it. */
bool gx__guard_grow(struct gx_mem *mem, size_t bytes);

/* For the message: a dispatch that is given the memory, which may be NULL. */
static inline void gx__guard_note(struct gx_mem *mem, const struct gx_kernel *kernel, uint64_t n)
{
    if (!mem)
        return;
    mem->used_op = kernel->key.op;
    mem->used_field = kernel->key.field;
    mem->used_n = n;
}

#else

#define GX_GUARD_BYTES 0u

static inline void gx__guard_set(struct gx_device *device, struct gx_mem *mem, size_t bytes)
{
    (void)device;
    (void)mem;
    (void)bytes;
}

static inline void gx__guard_check(struct gx_device *device, struct gx_mem *mem)
{
    (void)device;
    (void)mem;
}

static inline bool gx__guard_grow(struct gx_mem *mem, size_t bytes)
{
    (void)mem;
    (void)bytes;
    return true;
}

static inline void gx__guard_note(struct gx_mem *mem, const struct gx_kernel *kernel, uint64_t n)
{
    (void)mem;
    (void)kernel;
    (void)n;
}

#endif

#endif
