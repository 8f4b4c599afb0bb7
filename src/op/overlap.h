/* SPDX-License-Identifier: Apache-2.0
 *
 * Whether jobs may run in any order: none writes memory that another one reads or writes.
 */
#ifndef GX_OP_OVERLAP_H
#define GX_OP_OVERLAP_H

#include "op/task.h"

/* The memory range of an operand. */
struct gx_extent {
    const gx_buf *buffer; /* NULL: host memory */
    uintptr_t from, to;
    bool writes;
};
#define GX_EXTENTS (2 * GX_OPERANDS) /* room for each job */

/* Whether no job writes what another one uses; buffers: in buffers too, not only in host memory.
 * The jobs are valid. room: GX_EXTENTS for each job; none is needed for fewer than two. */
bool gx__jobs_apart(const struct gx_task *jobs, size_t count, bool buffers, struct gx_extent *room);

/* Whether the second job must wait for the first: one writes memory that the other uses. */
bool gx__jobs_conflict(const struct gx_task *first, const struct gx_task *second);

#endif
