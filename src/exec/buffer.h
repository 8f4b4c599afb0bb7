/* SPDX-License-Identifier: Apache-2.0
 *
 * Buffers that stay on a device between jobs.
 */
#ifndef GX_EXEC_BUFFER_H
#define GX_EXEC_BUFFER_H

#include "exec/engine.h"

struct gx_buf {
    struct gx_engine *engine;
    struct gx_mem mem;
    size_t size; /* as asked for */
    bool mappable, mapped;
};

gx_status gx__buf_create(struct gx_engine *engine, size_t bytes, uint32_t flags, gx_buf **buf);

#endif
