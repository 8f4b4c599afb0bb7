/* SPDX-License-Identifier: Apache-2.0
 *
 * Validation of a job before any job of the call runs. Each message says what is wrong, where, and
 * what to do.
 */
#include "api/validate.h"

#include <stdarg.h>
#include <stdio.h>

#include "exec/buffer.h"
#include "op/params.h"

GX_PRINTF(3, 4) static gx_status refuse(char *message, gx_status status, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    vsnprintf(message, GX_REFUSAL_BYTES, format, args);
    va_end(args);
    return status;
}

static gx_status validate_flags(const gx_job *job, char *message)
{
    if (job->flags & ~GX_JOB_TRUSTED)
        return refuse(message, GX_ERR_INVALID, "flags 0x%x has unknown bits", job->flags);
    if (job->reserved)
        return refuse(message, GX_ERR_INVALID, "gx_job.reserved is %u: set it to 0", job->reserved);
    return GX_OK;
}

/* A registered operation has no field, but may have parameters. */
static gx_status validate_own(const struct gx_own_op *own, const gx_job *job, char *message)
{
    gx_op_params params;
    if (job->field)
        return refuse(message, GX_ERR_INVALID, "field is %u: '%s' takes none, set it to 0",
                      job->field, own->name);
    if (job->n > SIZE_MAX / 2 / GX_OP_ELEMENT_BYTES)
        return refuse(message, GX_ERR_INVALID, "n is %zu, more than memory can hold", job->n);
    return gx__own_params(own, job, &params, message, GX_REFUSAL_BYTES) ? GX_OK : GX_ERR_INVALID;
}

static gx_status validate_kind(const struct gx_instance *instance, const gx_job *job, char *message)
{
    const struct gx_own_op *own = gx__own(job->op);
    if (own) {
        gx_status s = validate_own(own, job, message);
        return s == GX_OK ? validate_flags(job, message) : s;
    }
    if (!gx_op_get_info(job->op))
        return refuse(message, GX_ERR_INVALID, "op is %u, which is not an operation", job->op);
    if (!gx_field_get_info(job->field))
        return refuse(message, GX_ERR_INVALID, "field is %u, which is not a field", job->field);
    if (!gx_op_exists(job->op, job->field))
        return refuse(message, GX_ERR_UNSUPPORTED, "%s does not exist for %s",
                      gx_op_get_info(job->op)->name, gx_field_get_info(job->field)->name);
    gx_status s = validate_flags(job, message);
    if (s != GX_OK)
        return s;
    if (job->n > SIZE_MAX / 2 / gx__element_bytes(job->field))
        return refuse(message, GX_ERR_INVALID, "n is %zu, more than memory can hold", job->n);
    if (gx__op_has_params(job->op))
        return gx__params_check(instance, job, message, GX_REFUSAL_BYTES);
    if (job->params)
        return refuse(message, GX_ERR_INVALID, "params must be NULL for %s",
                      gx_op_get_info(job->op)->name);
    return GX_OK;
}

/* The start of an operand; comparable only within host memory or within one buffer. */
static uintptr_t operand_start(const gx_operand *o)
{
    return o->buf ? o->offset : (uintptr_t)o->host;
}

static bool may_be_in_place(const gx_job *job)
{
    enum gx_op_shape shape = gx__op_shape(job->op);
    return shape == GX_SHAPE_ELEMENTWISE || shape == GX_SHAPE_TRANSFORM;
}

/* Whether out overlaps an operand in a way that is not allowed. */
static bool partly_overlaps(const gx_job *job, int which)
{
    const gx_operand *o = gx__operand(job, which);
    uintptr_t out = operand_start(&job->out), in = operand_start(o);
    if (job->out.buf != o->buf)
        return false;
    size_t out_bytes = gx__operand_bytes(job, GX_OUT), in_bytes = gx__operand_bytes(job, which);
    if (!in_bytes)
        return false;
    if (out == in && out_bytes == in_bytes && may_be_in_place(job))
        return false;
    return out < in + in_bytes && in < out + out_bytes;
}

/* The memory of one operand or of out. */
static gx_status validate_memory(const gx_job *job, const char *name, int which, char *message)
{
    const gx_operand *o = gx__operand(job, which);
    size_t bytes = gx__operand_bytes(job, which);
    if (o->reserved)
        return refuse(message, GX_ERR_INVALID, "%s: reserved is %u: set it to 0", name,
                      o->reserved);
    if (o->host && o->buf)
        return refuse(message, GX_ERR_INVALID, "%s has both host memory and a buffer", name);
    if (!bytes && o->buf && o->offset > o->buf->size)
        return refuse(message, GX_ERR_INVALID, "%s begins past the end of its buffer", name);
    if (!bytes)
        return GX_OK;
    if (!o->host && !o->buf)
        return refuse(message, GX_ERR_INVALID, "%s is NULL", name);
    if (!o->buf && o->offset)
        return refuse(message, GX_ERR_INVALID, "%s is host memory, which takes no offset", name);
    if (!o->buf)
        return (uintptr_t)o->host <= UINTPTR_MAX - bytes
                   ? GX_OK
                   : refuse(message, GX_ERR_INVALID, "%s runs past the end of memory", name);
    size_t align = gx__prime(job->field) && gx__operand_element(job, which) % 16 == 0 ? 16 : 4;
    if (o->offset % align)
        return refuse(message, GX_ERR_INVALID, "%s: offset %zu is not a multiple of %zu", name,
                      o->offset, align);
    if (o->offset > o->buf->size || bytes > o->buf->size - o->offset)
        return refuse(message, GX_ERR_INVALID, "%s runs past the end of its buffer", name);
    if (atomic_load(&o->buf->engine->lost))
        return refuse(message, GX_ERR_DEVICE_LOST,
                      "%s lies in a buffer of '%s', which was lost: destroy it and create it again",
                      name, o->buf->engine->device.info.name);
    if (o->buf->mapped)
        return refuse(message, GX_ERR_INVALID, "%s lies in a buffer that is mapped: unmap it",
                      name);
    return GX_OK;
}

static gx_status validate_operand(const gx_job *job, int which, char *message)
{
    const gx_operand *o = gx__operand(job, which);
    bool wanted = which <= (int)gx__op_operands(job->op);
    char name[] = "operand ?";
    name[sizeof name - 2] = (char)('a' + which - GX_A);
    if (!wanted && (o->host || o->buf || o->broadcast))
        return refuse(message, GX_ERR_INVALID, "%s takes no %s: leave it {0}",
                      gx_op_get_info(job->op)->name, name);
    if (!wanted)
        return GX_OK;
    gx_status s = validate_memory(job, name, which, message);
    if (s != GX_OK || !partly_overlaps(job, which))
        return s;
    if (!may_be_in_place(job))
        return refuse(message, GX_ERR_OVERLAP,
                      "out overlaps %s: the result of %s needs memory of its own", name,
                      gx_op_get_info(job->op)->name);
    return refuse(message, GX_ERR_OVERLAP,
                  "out partly overlaps %s: use the same memory, or memory that does not overlap",
                  name);
}

/* Buffers must belong to this context and, unless the job is routed, to one device. */
static gx_status validate_buffers(const struct gx_instance *instance, const gx_job *job,
                                  bool routed, char *message)
{
    static const char *const names[GX_OPERANDS] = {"out", "operand a", "operand b", "operand c"};
    const struct gx_engine *engine = NULL;
    for (int i = 0; i < GX_OPERANDS; i++) {
        const gx_buf *buf = gx__operand(job, i)->buf;
        if (!buf)
            continue;
        if (buf->engine->instance != instance)
            return refuse(message, GX_ERR_INVALID,
                          "%s lies in a buffer of another context: create it in this one",
                          names[i]);
        if (engine && engine != buf->engine && !routed)
            return refuse(message, GX_ERR_INVALID, "its buffers are on '%s' and '%s'",
                          engine->device.info.name, buf->engine->device.info.name);
        engine = buf->engine;
    }
    return GX_OK;
}

gx_status gx__validate(const struct gx_instance *instance, const gx_job *job, bool routed,
                       char *message)
{
    gx_status s = validate_kind(instance, job, message);
    if (s != GX_OK)
        return s;
    if (job->out.broadcast)
        return refuse(message, GX_ERR_INVALID, "out cannot be a broadcast operand");
    s = validate_memory(job, "out", GX_OUT, message);
    for (int i = GX_A; i < GX_OPERANDS && s == GX_OK; i++)
        s = validate_operand(job, i, message);
    return s == GX_OK ? validate_buffers(instance, job, routed, message) : s;
}
