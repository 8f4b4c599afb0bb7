/* SPDX-License-Identifier: Apache-2.0
 *
 * Buffers that stay on a device between jobs.
 */
#ifndef GX_EXEC_BUFFER_H
#define GX_EXEC_BUFFER_H

#include "base/error.h"
#include "exec/engine.h"

struct gx_buf {
    struct gx_engine *engine;
    struct gx_mem mem;
    size_t size; /* as requested */
    bool mappable, mapped;
    pthread_mutex_t words; /* held while parts of words are written, see copy_aligned */
};

/* A copy by the device, after all earlier kernels, which work on so many elements at most; waits
 * for it. */
gx_status gx__device_copy(struct gx_engine *engine, struct gx_binding from, struct gx_binding to,
                          size_t bytes, uint64_t elements);

/* Whether the host writes so many bytes itself, because that is faster than a submit. */
bool gx__buf_is_open(const gx_buf *buf, size_t bytes);

/* Writes a buffer of ours from its start, a multiple of GX_COPY_ALIGN_MAX bytes, after kernels on
 * so many elements. Nothing is reported: the caller may go on without. */
gx_status gx__buf_fill(gx_buf *buf, const void *from, size_t bytes, uint64_t elements);

gx_status gx__buf_create(struct gx_engine *engine, size_t bytes, uint32_t flags, gx_buf **buf);
/* On memory of the caller, at an address of the device. On failure message says why. */
gx_status gx__buf_wrap(struct gx_engine *engine, uint64_t address, size_t bytes, gx_buf **buf,
                       struct gx_error *error);
/* What is submitted to the device from now on waits for the caller's event, or if that is NULL for
 * the caller's stream. On failure message says why. */
gx_status gx__buf_await(gx_buf *buf, void *stream, void *event, struct gx_error *error);

/* Clears *buf, which may be NULL. */
void gx__buf_destroy(gx_buf **buf);

/* A mapped buffer is not copied or used by jobs. */
gx_status gx__buf_map(gx_buf *buf, void **memory);
void gx__buf_unmap(gx_buf *buf);

/* Bytes within the buffer, of any alignment. GX_ERR_DEVICE_LOST; GX_ERR_INVALID if it is mapped. */
gx_status gx__buf_write(gx_buf *buf, size_t offset, const void *from, size_t bytes);
gx_status gx__buf_read(gx_buf *buf, size_t offset, void *to, size_t bytes);

#endif
