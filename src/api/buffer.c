/* SPDX-License-Identifier: Apache-2.0
 *
 * What callers do with buffers.
 */
#include "exec/buffer.h"

#include "api/context.h"
#include "base/float_env.h"
#include "base/log.h"

size_t gx_buf_size(const gx_buf *buf)
{
    return buf ? buf->size : 0;
}

const char *gx_buf_device(const gx_buf *buf)
{
    return buf ? buf->engine->device.info.name : "";
}

uint64_t gx_buf_cuda_address(const gx_buf *buf)
{
    if (!buf || !buf->engine->device.ops->mem_address)
        return 0;
    return buf->engine->device.ops->mem_address(&buf->engine->device, &buf->mem);
}

static gx_status await(const char *call, gx_buf *buf, void *stream, void *event)
{
    struct gx_error error = {""};
    gx_status s = gx__buf_await(buf, stream, event, &error);
    return s == GX_OK ? s
                      : gx__fail(buf->engine->instance, s, "%s on '%s': %s", call,
                                 buf->engine->device.info.name, error.text);
}

gx_status gx_buf_cuda_wait(gx_buf *buf, void *stream)
{
    if (!buf)
        return gx__fail(NULL, GX_ERR_INVALID, "gx_buf_cuda_wait: buf is NULL");
    return await("gx_buf_cuda_wait", buf, stream, NULL);
}

gx_status gx_buf_cuda_wait_event(gx_buf *buf, void *event)
{
    if (!buf || !event)
        return gx__fail(NULL, GX_ERR_INVALID, "gx_buf_cuda_wait_event: %s is NULL",
                        buf ? "event" : "buf");
    return await("gx_buf_cuda_wait_event", buf, NULL, event);
}

void gx_buf_destroy(gx_buf **buf)
{
    if (buf)
        gx__buf_destroy(buf);
}

static gx_status refuse(const gx_buf *buf, gx_status status, const char *message)
{
    return gx__fail(buf->engine->instance, status, "buffer on '%s': %s",
                    buf->engine->device.info.name, message);
}

/* The status of a device call, reported to the caller. */
static gx_status done(const gx_buf *buf, gx_status s)
{
    return s == GX_OK ? s : refuse(buf, s, gx_status_message(s));
}

static gx_status find_usable(const gx_buf *buf, const char **why)
{
    bool lost = atomic_load(&buf->engine->lost);
    *why = lost ? "the device was lost: destroy the buffer and create it anew"
                : "mapped: unmap it first";
    return lost ? GX_ERR_DEVICE_LOST : buf->mapped ? GX_ERR_INVALID : GX_OK;
}

static gx_status check_usable(const gx_buf *buf)
{
    const char *why;
    gx_status s = find_usable(buf, &why);
    return s == GX_OK ? s : refuse(buf, s, why);
}

gx_status gx__read_buffer(gx_buf *buf, size_t offset, void *to, size_t bytes,
                          struct gx_error *error)
{
    const char *why;
    gx_status s = find_usable(buf, &why);
    if (s == GX_OK) {
        s = gx__buf_read(buf, offset, to, bytes);
        why = gx_status_message(s);
    }
    if (s != GX_OK)
        gx__explain(error, "buffer on '%s': %s", buf->engine->device.info.name, why);
    return s;
}

gx_status gx_buf_map(gx_buf *buf, void **memory)
{
    if (!buf || !memory)
        return gx__fail(NULL, GX_ERR_INVALID, "gx_buf_map: buf and memory must not be NULL");
    if (!buf->mappable)
        return refuse(buf, GX_ERR_INVALID, "not mappable: create it with GX_BUF_MAPPABLE");
    gx_status s = check_usable(buf);
    return s == GX_OK ? done(buf, gx__buf_map(buf, memory)) : s;
}

void gx_buf_unmap(gx_buf *buf)
{
    struct gx_float_env caller;
    if (!buf)
        return;
    gx__float_env_default(&caller);
    gx__buf_unmap(buf);
    gx__float_env_restore(&caller);
}

static gx_status check_copy(const gx_buf *buf, size_t offset, const void *memory, size_t bytes)
{
    if (offset > buf->size || bytes > buf->size - offset)
        return refuse(buf, GX_ERR_INVALID, "a copy that runs past its end");
    if (bytes && !memory)
        return refuse(buf, GX_ERR_INVALID, "a copy with NULL");
    return bytes ? check_usable(buf) : GX_OK;
}

gx_status gx_buf_write(gx_buf *buf, size_t offset, const void *from, size_t bytes)
{
    if (!buf)
        return gx__fail(NULL, GX_ERR_INVALID, "gx_buf_write: buf is NULL");
    gx_status s = check_copy(buf, offset, from, bytes);
    return s == GX_OK && bytes ? done(buf, gx__buf_write(buf, offset, from, bytes)) : s;
}

gx_status gx_buf_read(gx_buf *buf, size_t offset, void *to, size_t bytes)
{
    if (!buf)
        return gx__fail(NULL, GX_ERR_INVALID, "gx_buf_read: buf is NULL");
    gx_status s = check_copy(buf, offset, to, bytes);
    return s == GX_OK && bytes ? done(buf, gx__buf_read(buf, offset, to, bytes)) : s;
}
