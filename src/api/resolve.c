/* SPDX-License-Identifier: Apache-2.0
 *
 * Checks a job before any job of the call runs, and makes the task of it. Each message says what is
 * wrong, where, and what to do.
 */
#include "api/resolve.h"

#include <stdio.h>
#include <string.h>

#include "api/params.h"
#include "exec/buffer.h"

static gx_status check_flags(const gx_job *job, struct gx_error *error)
{
    if (job->flags & ~GX_JOB_UNCHECKED)
        return gx__refuse(error, GX_ERR_INVALID, "flags 0x%x has unknown bits", job->flags);
    if (job->reserved)
        return gx__refuse(error, GX_ERR_INVALID, "gx_job.reserved is %u: set it to 0",
                          job->reserved);
    return GX_OK;
}

/* A registered operation has no field, but may have parameters. */
static gx_status take_registered(const struct gx_instance *instance,
                                 const struct gx_registered_op *registered, const gx_job *job,
                                 struct gx_task *task, struct gx_error *error)
{
    if (job->field)
        return gx__refuse(error, GX_ERR_INVALID, "field is %u: '%s' takes none, set it to 0",
                          job->field, registered->name);
    if (job->n > SIZE_MAX / 2 / GX_OP_ELEMENT_BYTES)
        return gx__refuse(error, GX_ERR_INVALID, "n is %zu, more than memory can hold", job->n);
    gx_status s = gx__params_take(instance, job, task, error);
    return s == GX_OK ? check_flags(job, error) : s;
}

/* Names the fields that have the operation. */
static gx_status wrong_field(const gx_job *job, struct gx_error *error)
{
    char fields[120] = "";
    for (gx_field f = 1; gx_field_get_info(f); f++) {
        size_t used = strlen(fields);
        if (gx_op_exists(job->op, f))
            snprintf(fields + used, sizeof fields - used, "%s%s", used ? ", " : "",
                     gx_field_get_info(f)->name);
    }
    return gx__refuse(error, GX_ERR_UNSUPPORTED, "%s does not exist for %s: set field to one of %s",
                      gx_op_get_info(job->op)->name, gx_field_get_info(job->field)->name, fields);
}

static gx_status take_kind(const struct gx_instance *instance, const gx_job *job,
                           struct gx_task *task, struct gx_error *error)
{
    const struct gx_registered_op *registered = gx__registered_op(job->op);
    if (registered)
        return take_registered(instance, registered, job, task, error);
    if (!gx_op_get_info(job->op))
        return gx__refuse(error, GX_ERR_INVALID, "op is %u, which is not an operation", job->op);
    if (!gx_field_get_info(job->field))
        return gx__refuse(error, GX_ERR_INVALID, "field is %u, which is not a field", job->field);
    if (!gx_op_exists(job->op, job->field))
        return wrong_field(job, error);
    gx_status s = check_flags(job, error);
    if (s != GX_OK)
        return s;
    if (job->n > SIZE_MAX / 2 / gx__element_bytes(job->field))
        return gx__refuse(error, GX_ERR_INVALID, "n is %zu, more than memory can hold", job->n);
    if (gx__op_has_params(job->op))
        return gx__params_take(instance, job, task, error);
    if (job->params)
        return gx__refuse(error, GX_ERR_INVALID, "params must be NULL for %s",
                          gx_op_get_info(job->op)->name);
    return GX_OK;
}

/* The start of an operand; comparable only within host memory or within one buffer. */
static uintptr_t operand_start(const struct gx_place *o)
{
    return o->buf ? o->offset : (uintptr_t)o->host;
}

static bool may_be_in_place(const struct gx_task *task)
{
    return task->shape == GX_SHAPE_ELEMENTWISE || task->shape == GX_SHAPE_TRANSFORM;
}

/* Whether out overlaps an operand in a way that is not allowed. */
static bool partly_overlaps(const struct gx_task *task, int which)
{
    const struct gx_place *o = &task->operand[which];
    uintptr_t out = operand_start(&task->out), in = operand_start(o);
    if (task->out.buf != o->buf)
        return false;
    size_t out_bytes = gx__operand_bytes(task, GX_OUT), in_bytes = gx__operand_bytes(task, which);
    if (!in_bytes)
        return false;
    if (out == in && out_bytes == in_bytes && may_be_in_place(task))
        return false;
    return out < in + in_bytes && in < out + out_bytes;
}

/* The memory of one operand or of out. */
static gx_status check_memory(const struct gx_task *task, const char *name, int which,
                              struct gx_error *error)
{
    const struct gx_place *o = &task->operand[which];
    size_t bytes = gx__operand_bytes(task, which);
    if (o->host && o->buf)
        return gx__refuse(error, GX_ERR_INVALID, "%s has both host memory and a buffer", name);
    if (o->buf && atomic_load(&o->buf->engine->lost))
        return gx__refuse(
            error, GX_ERR_DEVICE_LOST,
            "%s lies in a buffer of '%s', which was lost: destroy it and create it again", name,
            o->buf->engine->device.info.name);
    if (!bytes && o->buf && o->offset > o->buf->size)
        return gx__refuse(error, GX_ERR_INVALID, "%s begins past the end of its buffer", name);
    if (!bytes)
        return GX_OK;
    if (!o->host && !o->buf)
        return gx__refuse(error, GX_ERR_INVALID, "%s is NULL", name);
    if (!o->buf && o->offset)
        return gx__refuse(error, GX_ERR_INVALID, "%s is host memory, which takes no offset", name);
    if (!o->buf)
        return (uintptr_t)o->host <= UINTPTR_MAX - bytes
                   ? GX_OK
                   : gx__refuse(error, GX_ERR_INVALID, "%s runs past the end of memory", name);
    size_t align = gx__prime(task->field) && task->element[which] % 16 == 0 ? 16 : 4;
    if (o->offset % align)
        return gx__refuse(error, GX_ERR_INVALID, "%s: offset %zu is not a multiple of %zu", name,
                          o->offset, align);
    if (o->offset > o->buf->size || bytes > o->buf->size - o->offset)
        return gx__refuse(error, GX_ERR_INVALID, "%s runs past the end of its buffer", name);
    if (o->buf->mapped)
        return gx__refuse(error, GX_ERR_INVALID, "%s lies in a buffer that is mapped: unmap it",
                          name);
    return GX_OK;
}

static gx_status check_operand(const gx_operand *caller, const struct gx_task *task, int which,
                               struct gx_error *error)
{
    static const char *const names[GX_OPERANDS] = {"out", "operand a", "operand b", "operand c"};
    const char *name = names[which];
    if (which > task->operands)
        return caller->host || caller->buf || caller->broadcast
                   ? gx__refuse(error, GX_ERR_INVALID, "%s takes no %s: leave it {0}",
                                gx_op_get_info(task->op)->name, name)
                   : GX_OK;
    if (caller->reserved)
        return gx__refuse(error, GX_ERR_INVALID, "%s: reserved is %u: set it to 0", name,
                          caller->reserved);
    gx_status s = check_memory(task, name, which, error);
    if (s != GX_OK || which == GX_OUT || !partly_overlaps(task, which))
        return s;
    if (!may_be_in_place(task))
        return gx__refuse(error, GX_ERR_OVERLAP,
                          "out overlaps %s: the result of %s needs memory of its own", name,
                          gx_op_get_info(task->op)->name);
    return gx__refuse(
        error, GX_ERR_OVERLAP,
        "out partly overlaps %s: use the same memory, or memory that does not overlap", name);
}

/* Buffers must belong to this context and, unless the job is routed, to one device. */
static gx_status check_buffers(const struct gx_instance *instance, const struct gx_task *task,
                               bool routed, struct gx_error *error)
{
    static const char *const names[GX_OPERANDS] = {"out", "operand a", "operand b", "operand c"};
    const struct gx_engine *engine = NULL;
    for (int i = 0; i < GX_OPERANDS; i++) {
        const gx_buf *buf = task->operand[i].buf;
        if (!buf)
            continue;
        if (buf->engine->instance != instance)
            return gx__refuse(error, GX_ERR_INVALID,
                              "%s lies in a buffer of another context: create it in this one",
                              names[i]);
        if (engine && engine != buf->engine && !routed)
            return gx__refuse(error, GX_ERR_INVALID, "its buffers are on '%s' and '%s'",
                              engine->device.info.name, buf->engine->device.info.name);
        engine = buf->engine;
    }
    return GX_OK;
}

/* What a job and its task have in common; the parameters are still to be set. */
static void take_rest(const gx_operand *const caller[GX_OPERANDS], const gx_job *job,
                      struct gx_task *task)
{
    task->op = job->op;
    task->field = job->field;
    task->n = job->n;
    task->trusted = job->flags & GX_JOB_UNCHECKED;
    task->broadcast = 0;
    for (int i = 0; i < GX_OPERANDS; i++) {
        const gx_operand *o = caller[i];
        task->operand[i] = (struct gx_place){o->host, o->buf, o->offset};
        task->broadcast |= o->broadcast ? 1u << i : 0;
    }
}

gx_status gx__resolve(const struct gx_instance *instance, const gx_job *job, bool routed,
                      struct gx_task *task, struct gx_error *error)
{
    const gx_operand *const caller[GX_OPERANDS] = {&job->out, &job->a, &job->b, &job->c};
    take_rest(caller, job, task);
    gx_status s = take_kind(instance, job, task, error);
    if (s != GX_OK)
        return s;
    if (job->out.broadcast)
        return gx__refuse(error, GX_ERR_INVALID, "out cannot be a broadcast operand");
    gx__task_complete(task);
    for (int i = GX_OUT; i < GX_OPERANDS && s == GX_OK; i++)
        s = check_operand(caller[i], task, i, error);
    return s == GX_OK ? check_buffers(instance, task, routed, error) : s;
}

void gx__resolve_sizes(const gx_job *job, struct gx_task *task)
{
    const gx_operand *const caller[GX_OPERANDS] = {&job->out, &job->a, &job->b, &job->c};
    struct gx_error error;
    *task = (struct gx_task){0};
    take_rest(caller, job, task);
    if (gx__op_has_params(job->op)) /* on failure they stay 0 */
        gx__params_take(NULL, job, task, &error);
    gx__task_complete(task);
}
