/* SPDX-License-Identifier: Apache-2.0
 *
 * Copies go through pooled staging memory in pieces. They are direct if the host can map the buffer
 * (and writing to it is faster than a submit) or the device can access the caller's memory. A
 * buffer keeps its engine open, even one that was lost.
 */
#include "exec/buffer.h"

#include <string.h>

#include "base/alloc.h"
#include "base/float_env.h"
#include "exec/plan.h"

#define PIECE_BYTES ((size_t)8 << 20)

gx_status gx__buf_create(struct gx_engine *engine, size_t bytes, uint32_t flags, gx_buf **out)
{
    struct gx_float_env caller;
    struct gx_device *device = &engine->device;
    bool mappable = flags & GX_BUF_MAPPABLE;
    enum gx_mem_kind kind = !mappable && device->facts.mem_kinds & GX_MEM_BIT(GX_MEM_DEVICE)
                                ? GX_MEM_DEVICE
                                : GX_MEM_SHARED;
    gx_buf *buf = gx__alloc(&engine->instance->config.allocator, sizeof *buf);
    if (!buf)
        return GX_ERR_OUT_OF_MEMORY;
    buf->engine = engine;
    buf->size = bytes;
    buf->mappable = kind == GX_MEM_SHARED;
    gx__float_env_default(&caller);
    gx_status s = gx__pool_alloc(&engine->pool, kind, bytes ? bytes : 1, &buf->mem);
    if (s == GX_ERR_OUT_OF_DEVICE_MEMORY && gx__tables_drop_idle(engine))
        s = gx__pool_alloc(&engine->pool, kind, bytes ? bytes : 1, &buf->mem);
    gx__float_env_restore(&caller);
    if (s != GX_OK) {
        gx__free(&engine->instance->config.allocator, buf);
        return gx__engine_status(engine, s);
    }
    pthread_mutex_init(&buf->words, NULL);
    gx__engine_acquire(engine);
    *out = buf;
    return GX_OK;
}

gx_status gx__buf_wrap(struct gx_engine *engine, uint64_t address, size_t bytes, gx_buf **out,
                       struct gx_error *error)
{
    struct gx_float_env caller;
    struct gx_device *device = &engine->device;
    if (!device->ops->mem_wrap)
        return gx__refuse(error, GX_ERR_UNSUPPORTED, "not a CUDA device");
    gx_buf *buf = gx__alloc(&engine->instance->config.allocator, sizeof *buf);
    if (!buf)
        return gx__refuse(error, GX_ERR_OUT_OF_MEMORY, "%s",
                          gx_status_message(GX_ERR_OUT_OF_MEMORY));
    buf->engine = engine;
    buf->size = bytes;
    gx__float_env_default(&caller);
    gx_status s = device->ops->mem_wrap(device, address, bytes, &buf->mem, error);
    gx__float_env_restore(&caller);
    if (s != GX_OK) {
        if (s != GX_ERR_INVALID)
            gx__explain(error, "%s", gx_status_message(s));
        gx__free(&engine->instance->config.allocator, buf);
        return gx__engine_status(engine, s);
    }
    pthread_mutex_init(&buf->words, NULL);
    gx__engine_acquire(engine);
    *out = buf;
    return GX_OK;
}

void gx__buf_unmap(gx_buf *buf)
{
    struct gx_device *device = &buf->engine->device;
    if (buf->mapped)
        device->ops->unmap(device, &buf->mem);
    buf->mapped = false;
}

gx_status gx__buf_await(gx_buf *buf, void *stream, void *event, struct gx_error *error)
{
    struct gx_float_env caller;
    struct gx_device *device = &buf->engine->device;
    if (!device->ops->await)
        return gx__refuse(error, GX_ERR_UNSUPPORTED, "not a CUDA device");
    if (buf->mappable)
        return gx__refuse(error, GX_ERR_INVALID,
                          "the host copies a mappable buffer: synchronise before the call instead");
    gx__float_env_default(&caller);
    gx_status s = device->ops->await(device, stream, event, error);
    gx__float_env_restore(&caller);
    if (s != GX_OK && s != GX_ERR_INVALID)
        gx__explain(error, "%s", gx_status_message(s));
    return gx__engine_status(buf->engine, s);
}

/* Commands that name the memory are forgotten either way. The caller's is in no pool. */
static void let_go(struct gx_engine *engine, gx_buf *buf)
{
    if (!buf->mem.imported) {
        gx__pool_free(&engine->pool, &buf->mem, buf->size ? buf->size : 1);
        return;
    }
    gx__records_forget(&engine->records, &buf->mem);
    engine->device.ops->mem_free(&engine->device, &buf->mem);
}

void gx__buf_destroy(gx_buf **buf)
{
    if (!*buf)
        return;
    struct gx_engine *engine = (*buf)->engine;
    struct gx_float_env caller;
    gx__float_env_default(&caller);
    gx__buf_unmap(*buf);
    let_go(engine, *buf);
    gx__float_env_restore(&caller);
    pthread_mutex_destroy(&(*buf)->words);
    gx__free(&engine->instance->config.allocator, *buf);
    gx__engine_release(engine);
    *buf = NULL;
}

gx_status gx__buf_map(gx_buf *buf, void **memory)
{
    struct gx_float_env caller;
    struct gx_device *device = &buf->engine->device;
    gx__float_env_default(&caller);
    gx_status s = device->ops->map(device, &buf->mem, memory);
    gx__float_env_restore(&caller);
    buf->mapped = s == GX_OK;
    return gx__engine_status(buf->engine, s);
}

/* A copy that the device does; cmd is NULL if there is none. */
struct copying {
    struct gx_cmd *cmd;
    struct gx_fence done;
};

static gx_status start_copy(struct gx_engine *engine, struct gx_binding from, struct gx_binding to,
                            size_t bytes, struct copying *c)
{
    struct gx_device *device = &engine->device;
    struct gx_region region = {.from = from, .to = to, .size = bytes};
    gx_status s = device->ops->begin(device, GX_QUEUE_COMPUTE, &c->cmd);
    if (s != GX_OK) {
        c->cmd = NULL;
        return s;
    }
    device->ops->barrier(c->cmd, GX_BARRIER_KERNEL_TO_COPY);
    device->ops->copy(c->cmd, &region, 1);
    device->ops->barrier(c->cmd, GX_BARRIER_TO_HOST);
    s = device->ops->submit(c->cmd, NULL, 0, &c->done);
    if (s != GX_OK) {
        device->ops->recycle(c->cmd);
        c->cmd = NULL;
    }
    return s;
}

static gx_status end_copy(struct gx_engine *engine, struct copying *c, uint64_t elements)
{
    if (!c->cmd)
        return GX_OK;
    gx_status s = gx__engine_wait(engine, c->done, elements);
    engine->device.ops->recycle(c->cmd);
    c->cmd = NULL;
    return s;
}

gx_status gx__device_copy(struct gx_engine *engine, struct gx_binding from, struct gx_binding to,
                          size_t bytes, uint64_t elements)
{
    struct copying c;
    gx_status s = start_copy(engine, from, to, bytes, &c);
    return s == GX_OK ? end_copy(engine, &c, elements) : s;
}

/* The host's part of a copy: mem from byte `at` on, to or from the caller's memory. Exactly one of
 * to and from is not NULL. */
static gx_status host_copy(struct gx_engine *engine, struct gx_mem *mem, size_t at, void *to,
                           const void *from, size_t bytes)
{
    void *memory;
    gx_status s = engine->device.ops->map(&engine->device, mem, &memory);
    if (s != GX_OK)
        return s;
    struct gx_host_region region = {.to = to ? to : (char *)memory + at,
                                    .from = to ? (char *)memory + at : from,
                                    .size = bytes};
    gx__copy(&engine->copier, &region, 1);
    engine->device.ops->unmap(&engine->device, mem);
    return GX_OK;
}

/* A buffer's bytes on their way through two pieces of staging memory, in turns: the host copies one
 * while the device copies the other. If there is little memory, through one. Exactly one of to and
 * from is not NULL. */
struct staged_copy {
    gx_buf *buf;
    size_t offset, bytes, piece;
    uint64_t elements; /* of kernels that the device may be busy with before */
    char *to;
    const char *from;
    size_t count; /* of these: */
    struct gx_mem *staging[2];
    struct copying copying[2];
};

static size_t piece_bytes(const struct staged_copy *c, size_t k)
{
    size_t left = c->bytes - k * c->piece;
    return left < c->piece ? left : c->piece;
}

static gx_status start_piece(struct staged_copy *c, size_t k)
{
    struct gx_binding here = {&c->buf->mem, c->offset + k * c->piece},
                      there = {c->staging[k % c->count], 0};
    gx_status s = GX_OK;
    if (c->from)
        s = host_copy(c->buf->engine, c->staging[k % c->count], 0, NULL, c->from + k * c->piece,
                      piece_bytes(c, k));
    return s == GX_OK ? start_copy(c->buf->engine, c->to ? here : there, c->to ? there : here,
                                   piece_bytes(c, k), &c->copying[k % c->count])
                      : s;
}

/* Of those that are read. */
static gx_status end_piece(struct staged_copy *c, size_t k)
{
    gx_status s = end_copy(c->buf->engine, &c->copying[k % c->count], c->elements);
    return s == GX_OK ? host_copy(c->buf->engine, c->staging[k % c->count], 0, c->to + k * c->piece,
                                  NULL, piece_bytes(c, k))
                      : s;
}

static gx_status copy_pieces(struct staged_copy *c)
{
    const size_t pieces = (c->bytes + c->piece - 1) / c->piece;
    gx_status s = GX_OK;
    for (size_t k = 0; s == GX_OK && k < pieces; k++) {
        s = end_copy(c->buf->engine, &c->copying[k % c->count],
                     c->elements); /* that was written before */
        if (s == GX_OK)
            s = start_piece(c, k);
        if (s == GX_OK && c->to && k + 1 >= c->count)
            s = end_piece(c, k + 1 - c->count);
    }
    if (s == GX_OK && c->to && c->count > 1)
        s = end_piece(c, pieces - 1);
    for (size_t i = 0; i < c->count; i++) {
        gx_status last = end_copy(c->buf->engine, &c->copying[i], c->elements);
        s = s == GX_OK ? last : s;
    }
    return s;
}

static gx_status copy_staged(gx_buf *buf, size_t offset, void *to, const void *from, size_t bytes,
                             uint64_t elements)
{
    struct gx_pool *pool = &buf->engine->pool;
    const enum gx_mem_kind kind = to ? GX_MEM_READBACK : GX_MEM_UPLOAD;
    struct staged_copy c = {.buf = buf,
                            .offset = offset,
                            .bytes = bytes,
                            .piece = gx__bucket(bytes < PIECE_BYTES ? bytes : PIECE_BYTES),
                            .elements = elements,
                            .to = to,
                            .from = from};
    size_t room = gx__pool_room(pool);
    while (2 * c.piece > room && c.piece > gx__bucket(1))
        c.piece /= 2;
    c.count = bytes > c.piece && 2 * c.piece <= room ? 2 : 1;
    const size_t reserved = c.count * c.piece;
    gx_status s = gx__pool_reserve(pool, reserved);
    if (s != GX_OK)
        return s;
    s = gx__pool_get(pool, kind, c.piece, &c.staging[0]);
    if (s == GX_OK && c.count > 1 && gx__pool_get(pool, kind, c.piece, &c.staging[1]) != GX_OK)
        c.count = 1;
    if (s == GX_OK)
        s = copy_pieces(&c);
    for (int i = 0; i < 2; i++)
        gx__pool_put(pool, &c.staging[i]);
    gx__pool_release(pool, reserved);
    return s;
}

/* Whole words: by the device alone if the caller's memory is registered. */
static gx_status copy_whole(gx_buf *buf, size_t offset, void *to, const void *from, size_t bytes,
                            uint64_t elements)
{
    struct gx_engine *engine = buf->engine;
    struct gx_binding here = {&buf->mem, offset}, there;
    size_t align = engine->device.facts.copy_align;
    if (gx__import_find(&engine->imports, to ? to : from, bytes, &there) &&
        !(align && there.offset % align))
        return gx__device_copy(engine, to ? here : there, to ? there : here, bytes, elements);
    return copy_staged(buf, offset, to, from, bytes, elements);
}

/* Part of a word, on a device that copies words: the word is read, and written back if it was
 * changed. */
static gx_status copy_part(gx_buf *buf, size_t offset, void *to, const void *from, size_t bytes)
{
    char word[GX_COPY_ALIGN_MAX];
    size_t align = buf->engine->device.facts.copy_align, skip = offset % align;
    if (!bytes)
        return GX_OK;
    gx_status s = copy_whole(buf, offset - skip, word, NULL, align, 0);
    if (s == GX_OK && to)
        memcpy(to, word + skip, bytes);
    if (s != GX_OK || !from)
        return s;
    memcpy(word + skip, from, bytes);
    return copy_whole(buf, offset - skip, NULL, word, align, 0);
}

static size_t least(size_t a, size_t b)
{
    return a < b ? a : b;
}

/* Any bytes, on a device that copies words: the whole words, and the parts of words before and
 * after them. */
static gx_status copy_words(gx_buf *buf, size_t offset, void *to, const void *from, size_t bytes)
{
    size_t align = buf->engine->device.facts.copy_align;
    size_t head = least(bytes, (align - offset % align) % align);
    size_t tail = (bytes - head) % align, middle = bytes - head - tail;
    size_t starts[] = {0, head, head + middle}, lengths[] = {head, middle, tail};
    gx_status s = GX_OK;
    for (int i = 0; i < 3 && s == GX_OK; i++) {
        char *at_to = to ? (char *)to + starts[i] : NULL;
        const char *at_from = from ? (const char *)from + starts[i] : NULL;
        if (i != 1)
            s = copy_part(buf, offset + starts[i], at_to, at_from, lengths[i]);
        else if (middle)
            s = copy_whole(buf, offset + starts[i], at_to, at_from, lengths[i], 0);
    }
    return s;
}

/* Two threads may write bytes of one word. */
static gx_status copy_aligned(gx_buf *buf, size_t offset, void *to, const void *from, size_t bytes)
{
    size_t align = buf->engine->device.facts.copy_align;
    if (!align || (offset % align == 0 && bytes % align == 0))
        return copy_whole(buf, offset, to, from, bytes, 0);
    pthread_mutex_lock(&buf->words);
    gx_status s = copy_words(buf, offset, to, from, bytes);
    pthread_mutex_unlock(&buf->words);
    return s;
}

bool gx__buf_is_open(const gx_buf *buf, size_t bytes)
{
    const struct gx_device_facts *facts = &buf->engine->device.facts;
    float rate = facts->speed[GX_MEM_DEVICE].host_write;
    return buf->mem.host && (float)bytes < rate * (float)facts->submit_ns;
}

static gx_status copy(gx_buf *buf, size_t offset, void *to, const void *from, size_t bytes)
{
    struct gx_float_env caller;
    if (atomic_load(&buf->engine->lost))
        return GX_ERR_DEVICE_LOST;
    if (buf->mapped)
        return GX_ERR_INVALID;
    if (!bytes)
        return GX_OK;
    gx__float_env_default(&caller);
    gx_status s = buf->mappable || (from && gx__buf_is_open(buf, bytes))
                      ? host_copy(buf->engine, &buf->mem, offset, to, from, bytes)
                      : copy_aligned(buf, offset, to, from, bytes);
    gx__float_env_restore(&caller);
    return gx__engine_status(buf->engine, s);
}

gx_status gx__buf_write(gx_buf *buf, size_t offset, const void *from, size_t bytes)
{
    return copy(buf, offset, NULL, from, bytes);
}

gx_status gx__buf_read(gx_buf *buf, size_t offset, void *to, size_t bytes)
{
    return copy(buf, offset, to, NULL, bytes);
}

gx_status gx__buf_fill(gx_buf *buf, const void *from, size_t bytes, uint64_t elements)
{
    if (buf->mappable)
        return host_copy(buf->engine, &buf->mem, 0, NULL, from, bytes);
    return copy_whole(buf, 0, NULL, from, bytes, elements);
}
