/* SPDX-License-Identifier: Apache-2.0 */

/* The jobs of a call as Go writes them: gx_job with numbers for pointers. cgo looks for pointers in
 * the whole object that an operand is part of, and panics if it finds one; what has none it lets
 * through. Operands are pinned as long as the library has their addresses. */

#ifndef GXGO_IMAGE_H
#define GXGO_IMAGE_H

#include <gpuexec.h>
#include <stddef.h>

typedef struct gxgo_operand {
    uintptr_t host;
    uintptr_t buf;
    size_t offset;
    uint32_t broadcast;
    uint32_t reserved;
} gxgo_operand;

typedef struct gxgo_job {
    gx_op op;
    gx_field field;
    size_t n;
    gxgo_operand a, b, c, out;
    uint32_t flags;
    uint32_t reserved;
    uintptr_t params;
} gxgo_job;

#define GXGO_SAME(type, member)                                                                    \
    _Static_assert(offsetof(gx_##type, member) == offsetof(gxgo_##type, member) &&                 \
                       sizeof((gx_##type){0}.member) == sizeof((gxgo_##type){0}.member),           \
                   "gxgo_" #type "." #member " is not where it is in gx_" #type)
GXGO_SAME(operand, host);
GXGO_SAME(operand, buf);
GXGO_SAME(operand, offset);
GXGO_SAME(operand, broadcast);
GXGO_SAME(job, op);
GXGO_SAME(job, field);
GXGO_SAME(job, n);
GXGO_SAME(job, a);
GXGO_SAME(job, b);
GXGO_SAME(job, c);
GXGO_SAME(job, out);
GXGO_SAME(job, flags);
GXGO_SAME(job, params);
_Static_assert(sizeof(gx_job) == sizeof(gxgo_job), "jobs have another size");
#undef GXGO_SAME

static inline const gx_job *gxgo_jobs(const gxgo_job *jobs)
{
    return (const gx_job *)(const void *)jobs;
}

#endif
