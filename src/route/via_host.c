/* SPDX-License-Identifier: Apache-2.0
 *
 * Jobs with buffers that go through host memory: operands are read from the buffers, the job is
 * routed like any other, and its result is written back. A job must if its buffers are on several
 * devices, or on one that has no kernel for a registered operation. A small one may if it finishes
 * sooner on another device, copies included. If every result is to be verified, all do.
 */
#include <string.h>

#include "base/log.h"
#include "exec/buffer.h"
#include "exec/pipe.h"
#include "route/health.h"
#include "route/workspace.h"

#define ALIGN ((size_t)64)

/* Bounds the memory of a move. Slow GPUs gain from moves of this size (bench/NOTEBOOK.md). */
#define MOVE_BYTES ((size_t)16 << 20)
/* A move must promise this much: copies are known less well than kernels. */
#define MOVE_MARGIN 1.2
/* If the device has not measured its copies: bytes per ns. */
#define COPY_RATE 1.0

/* An operand that the result replaces has the memory of the output in the workspace too. */
static bool is_replaced(const struct gx_task *job, int which)
{
    const struct gx_place *o = &job->operand[which], *out = &job->out;
    return which != GX_OUT && o->buf == out->buf && o->offset == out->offset &&
           !(job->broadcast >> which & 1);
}

/* What an operand in a buffer of a device needs. */
static size_t room_for(const struct gx_task *job, int which)
{
    if (!gx__in_device_buffer(&job->operand[which]) || is_replaced(job, which))
        return 0;
    return (gx__operand_bytes(job, which) + ALIGN - 1) / ALIGN * ALIGN;
}

bool gx__must_go_via_host(const struct gx_task *job)
{
    struct gx_engine *home = NULL;
    for (int i = 0; i <= job->operands; i++) {
        const struct gx_place *o = &job->operand[i];
        if (gx__in_device_buffer(o) && home && o->buf->engine != home)
            return true;
        home = gx__in_device_buffer(o) ? o->buf->engine : home;
    }
    struct gx_error error;
    return home && !gx__have_kernels(home, job, 1, &error);
}

static gx_status map(struct gx_place *place)
{
    struct gx_device *device = &place->buf->engine->device;
    void *memory;
    gx_status s = device->ops->map(device, &place->buf->mem, &memory);
    if (s == GX_OK)
        *place = gx__at_host((char *)memory + place->offset);
    return s;
}

gx_status gx__lay_out(struct gx_workspace *ws, const struct gx_task *jobs, size_t count, bool all,
                      const struct gx_task **out, struct gx_error *error)
{
    size_t bytes = 0;
    bool any = false;
    for (size_t j = 0; j < count; j++)
        for (int i = 0; i <= jobs[j].operands; i++) {
            const struct gx_place *o = &jobs[j].operand[i];
            any |= o->buf && (all || !gx__in_device_buffer(o));
            bytes += all ? room_for(&jobs[j], i) : 0;
        }
    *out = jobs;
    if (!any)
        return GX_OK;
    ws->round = gx__workspace_room(ws, GX_ROOM_ROUND, count, sizeof *ws->round);
    ws->copies = gx__workspace_room(ws, GX_ROOM_COPIES, bytes, 1);
    if (!ws->round || !ws->copies)
        return gx__refuse(error, GX_ERR_OUT_OF_MEMORY, "%s",
                          gx_status_message(GX_ERR_OUT_OF_MEMORY));
    memcpy(ws->round, jobs, count * sizeof *jobs);
    *out = ws->round;
    gx_status s = GX_OK;
    char *copy = ws->copies;
    for (size_t j = 0; j < count && s == GX_OK; j++)
        for (int i = 0; i <= jobs[j].operands && s == GX_OK; i++) {
            struct gx_task *job = &ws->round[j];
            if (!gx__in_device_buffer(&jobs[j].operand[i])) {
                s = jobs[j].operand[i].buf ? map(&job->operand[i]) : GX_OK;
            } else if (all) {
                job->operand[i] = is_replaced(&jobs[j], i) ? job->out : gx__at_host(copy);
                copy += room_for(&jobs[j], i);
            }
        }
    if (s != GX_OK)
        gx__explain(error, "%s", gx_status_message(s));
    return s;
}

/* ---- whether to move ---- */

/* Predicted time to read an operand from its buffer, or to write the result to it. */
static double copy_ns(const struct gx_place *o, size_t bytes, bool write)
{
    const struct gx_device_facts *facts = &o->buf->engine->device.facts;
    const struct gx_mem_speed *s = &facts->speed[write ? GX_MEM_UPLOAD : GX_MEM_READBACK];
    double by_host = write ? s->host_write : s->host_read;
    double by_device = write ? s->copy_in : s->copy_out, size = (double)bytes;
    if (write && gx__buf_is_open(o->buf, bytes)) /* the host writes it directly */
        return size / (double)facts->speed[GX_MEM_DEVICE].host_write;
    return (facts->submit_ns ? (double)facts->submit_ns : GX_DEFAULT_SUBMIT_NS) +
           size / (by_host > 0 ? by_host : COPY_RATE) +
           size / (by_device > 0 ? by_device : COPY_RATE);
}

/* All copies of a small job; 0: it is not small, or a buffer is mapped and cannot be copied. */
static double copies_ns(const struct gx_task *job)
{
    size_t bytes = 0;
    double ns = 0;
    for (int i = 0; i <= job->operands; i++) {
        const struct gx_place *o = &job->operand[i];
        if (!gx__in_device_buffer(o))
            continue;
        size_t size = gx__operand_bytes(job, i);
        bytes += size;
        if (o->buf->mapped || bytes > MOVE_BYTES)
            return 0;
        ns += copy_ns(o, size, i == GX_OUT);
    }
    return ns;
}

bool gx__pays_via_host(struct gx_workspace *ws, const struct gx_call *call, size_t index)
{
    const struct gx_task *job = &call->jobs[index];
    const struct gx_engine *home = gx__resident_engine(job);
    const struct gx_instance *instance = ws->router->slots.instance;
    struct gx_prediction p;
    if (call->mode || call->path || atomic_load(&home->lost) || gx__sample_every(instance) == 1)
        return false; /* the last: it is verified on its own device */
    double copies = copies_ns(job);
    if (!(copies > 0))
        return false;
    struct gx_kind kind = gx__kind_of(instance, job, call->path, false);
    if (!gx__model_predict(atomic_load(&home->slot->model), &kind, (double)job->n, &p) ||
        copies * MOVE_MARGIN >= p.ns)
        return false;
    struct gx_call asked = *call; /* its message does not matter */
    if (gx__lay_out(ws, job, 1, true, &job, &asked.error) != GX_OK ||
        gx__round_decide(ws, &asked, job, 1, false) != GX_OK)
        return false;
    double elsewhere = ws->decision.best_ns;
    gx__round_leave(ws);
    return elsewhere > 0 && (copies + elsewhere) * MOVE_MARGIN < p.ns;
}

/* ---- copies ---- */

/* Copies an operand to host memory, or a result back, and adds the time to *ns. On failure the
 * call's message says why. */
static gx_status copy(struct gx_workspace *ws, const struct gx_place *o, void *host, size_t bytes,
                      bool back, uint64_t *ns, struct gx_call *call)
{
    if (!gx__in_device_buffer(o) || !bytes)
        return GX_OK;
    struct gx_engine *engine = o->buf->engine;
    uint64_t start = gx__engine_now(engine);
    gx_status s = back ? gx__buf_write(o->buf, o->offset, host, bytes)
                       : gx__buf_read(o->buf, o->offset, host, bytes);
    *ns += gx__engine_now(engine) - start;
    if (s != GX_OK)
        gx__explain(&call->error, "a buffer of '%s' cannot be copied: %s", engine->slot->name,
                    gx_status_message(s));
    if (gx__health_is_failure(s))
        gx__health_failed(&ws->router->slots, engine->slot, engine, s);
    return s;
}

/* Writes the result to its buffer. If every result is to be verified, that includes the buffer. */
static gx_status write_result(struct gx_workspace *ws, const struct gx_task *job, uint64_t *ns,
                              struct gx_call *call)
{
    size_t bytes = gx__operand_bytes(job, GX_OUT);
    void *result = ws->round->out.host;
    gx_status s = copy(ws, &job->out, result, bytes, true, ns, call);
    if (s != GX_OK || !bytes || !gx__in_device_buffer(&job->out) ||
        gx__sample_every(ws->router->slots.instance) > 1)
        return s;
    struct gx_engine *engine = job->out.buf->engine;
    gx__explain(&call->error, "no memory to verify a result");
    ws->spare = gx__workspace_room(ws, GX_ROOM_SPARE, bytes, 1);
    if (!ws->spare)
        return GX_ERR_OUT_OF_MEMORY;
    s = copy(ws, &job->out, ws->spare, bytes, false, ns, call);
    if (s != GX_OK || !memcmp(ws->spare, result, bytes))
        return s;
    gx__health_gave_wrong_result(&ws->router->slots, engine->slot, engine);
    return gx__refuse(&call->error, GX_ERR_DEVICE, "device '%s': a wrong result in a buffer",
                      engine->slot->name);
}

gx_status gx__run_via_host(struct gx_workspace *ws, struct gx_call *call, size_t index,
                           size_t *reported)
{
    struct gx_outcome own = {.reason = GX_REASON_NONE},
                      *r = call->reports ? &call->reports[index] : &own;
    const struct gx_task *job = &call->jobs[index], *laid_out;
    struct gx_call there = *call;
    uint64_t copies = 0;
    *reported = 0;
    gx_status s = gx__lay_out(ws, job, 1, true, &laid_out, &call->error);
    for (int i = GX_A; i <= job->operands && s == GX_OK; i++)
        s = copy(ws, &job->operand[i], laid_out->operand[i].host, gx__operand_bytes(job, i), false,
                 &copies, call);
    if (s != GX_OK)
        return s;
    there.jobs = laid_out;
    there.count = 1;
    there.reports = r;
    s = gx__round_run(ws, &there, 0, 1, reported);
    if (s == GX_OK) {
        s = write_result(ws, job, &copies, &there);
        r->total_ns += copies;
        if (r->reason == GX_REASON_ONLY) /* the device of the buffers could have done it too */
            r->reason = GX_REASON_FASTEST;
        if (s == GX_OK)
            return s;
        r->status = s;
        r->error = there.error;
        gx__count(&ws->router->slots.instance->counters.jobs_failed, 1);
    }
    call->failed = index;
    call->error = there.error;
    return s;
}
