/* SPDX-License-Identifier: Apache-2.0
 *
 * Mixed jobs, which have buffers on several devices. They are laid out in host memory: operands are
 * read from the buffers, the job is routed like any other, and its result is written back.
 * check.c lays out jobs in the same way to verify them.
 */
#include <stdio.h>
#include <string.h>

#include "exec/buffer.h"
#include "route/workspace.h"
#include "route/health.h"

#define ALIGN ((size_t)64)

/* An operand that the result replaces has the memory of the output in the workspace too. */
static bool is_replaced(const gx_job *job, int which)
{
    const gx_operand *o = gx__operand(job, which), *out = &job->out;
    return which != GX_OUT && o->buf == out->buf && o->offset == out->offset && !o->broadcast;
}

static size_t room_for(const gx_job *job, int which)
{
    if (!gx__in_device_buffer(gx__operand(job, which)) || is_replaced(job, which))
        return 0;
    return (gx__operand_bytes(job, which) + ALIGN - 1) / ALIGN * ALIGN;
}

bool gx__is_mixed(const gx_job *job)
{
    const struct gx_engine *home = NULL;
    for (int i = 0; i <= (int)gx__op_operands(job->op); i++) {
        const gx_operand *o = gx__operand(job, i);
        if (gx__in_device_buffer(o) && home && o->buf->engine != home)
            return true;
        home = gx__in_device_buffer(o) ? o->buf->engine : home;
    }
    return false;
}

gx_status gx__lay_out(struct gx_router *router, struct gx_workspace *ws, const gx_job *jobs,
                      size_t count)
{
    const gx_job *plain;
    size_t bytes = 0, at = 0;
    for (size_t j = 0; j < count; j++)
        for (int i = 0; i <= (int)gx__op_operands(jobs[j].op); i++)
            bytes += room_for(&jobs[j], i);
    gx_status s = gx__round_plain(router, ws, jobs, count, &plain);
    if (s != GX_OK)
        return s;
    if (!gx__workspace_reserve(router, &ws->copies, &ws->copies_room, bytes, 1) ||
        (plain == jobs &&
         !gx__workspace_reserve(router, &ws->round, &ws->round_room, count, sizeof *ws->round)))
        return GX_ERR_OUT_OF_MEMORY;
    if (plain == jobs)
        memcpy(ws->round, jobs, count * sizeof *jobs);
    for (size_t j = 0; j < count; j++) {
        gx_job *job = &ws->round[j];
        gx_operand *const operands[] = {&job->out, &job->a, &job->b, &job->c};
        for (int i = 0; i <= (int)gx__op_operands(job->op); i++) {
            if (!gx__in_device_buffer(gx__operand(&jobs[j], i)))
                continue;
            operands[i]->host =
                is_replaced(&jobs[j], i) ? job->out.host : (void *)(ws->copies + at);
            operands[i]->buf = NULL;
            operands[i]->offset = 0;
            at += room_for(&jobs[j], i);
        }
    }
    return GX_OK;
}

static gx_status cannot_copy(struct gx_router *router, const gx_operand *o, gx_status s,
                             char *message, size_t size)
{
    struct gx_engine *engine = o->buf->engine;
    snprintf(message, size, "a buffer of '%s' cannot be copied: %s", engine->slot->name,
             gx_status_message(s));
    if (gx__health_is_failure(s))
        gx__health_failed(&router->slots, engine->slot, engine, s);
    return s;
}

gx_status gx__read_operands(struct gx_router *router, const gx_job *job, const gx_job *laid_out,
                            char *message, size_t size)
{
    for (int i = GX_A; i <= (int)gx__op_operands(job->op); i++) {
        const gx_operand *o = gx__operand(job, i);
        size_t bytes = gx__operand_bytes(job, i);
        if (!gx__in_device_buffer(o) || !bytes)
            continue;
        gx_status s = gx_buf_read(o->buf, o->offset, gx__operand(laid_out, i)->host, bytes);
        if (s != GX_OK)
            return cannot_copy(router, o, s, message, size);
    }
    return GX_OK;
}

static gx_status write_result(struct gx_router *router, const gx_job *job, const gx_job *laid_out,
                              char *message, size_t size)
{
    size_t bytes = gx__operand_bytes(job, GX_OUT);
    if (!gx__in_device_buffer(&job->out) || !bytes)
        return GX_OK;
    gx_status s = gx_buf_write(job->out.buf, job->out.offset, laid_out->out.host, bytes);
    return s == GX_OK ? s : cannot_copy(router, &job->out, s, message, size);
}

gx_status gx__run_mixed(struct gx_router *router, struct gx_workspace *ws, struct gx_call *call,
                        size_t index, size_t *reported)
{
    struct gx_outcome own, *r = call->reports ? &call->reports[index] : &own;
    const gx_job *job = &call->jobs[index];
    struct gx_call there = *call;
    *reported = 0;
    gx_status s = gx__lay_out(router, ws, job, 1);
    if (s != GX_OK)
        snprintf(call->message, sizeof call->message, "%s", gx_status_message(s));
    else
        s = gx__read_operands(router, job, ws->round, call->message, sizeof call->message);
    if (s != GX_OK)
        return s;
    there.jobs = ws->round;
    there.count = 1;
    there.reports = r;
    s = gx__round_run(router, ws, &there, 0, 1, reported);
    if (s == GX_OK) {
        s = write_result(router, job, ws->round, there.message, sizeof there.message);
        if (s == GX_OK)
            return s;
        r->status = s;
        memcpy(r->message, there.message, sizeof r->message);
        gx__count(&router->slots.instance->counters.jobs_failed, 1);
    }
    call->failed = index;
    memcpy(call->message, there.message, sizeof call->message);
    return s;
}
