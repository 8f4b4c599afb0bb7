/* SPDX-License-Identifier: Apache-2.0
 *
 * Recording. A command is a list of copies, launches and stamps that each submit repeats on a
 * stream, where they run one after the other, so barriers need nothing. A recycled command keeps
 * its list and its events: steady work creates nothing new.
 */
#include "device/cuda/cuda.h"

#include <string.h>

#include "base/alloc.h"

#define ROOM_FIRST 16u

/* ---- making and ending commands ---- */

void gx__cu_cmd_free(struct cu_device *device, struct cu_cmd *cmd)
{
    if (cmd->stamps[0] && !atomic_load(&device->hung) && gx__cu_enter(device) == GX_OK) {
        gx__cu_stamps_free(device, cmd);
        gx__cu_leave(device);
    }
    gx__free(cu_allocator(device), cmd->ops);
    gx__free(cu_allocator(device), cmd);
}

static struct cu_cmd *take_idle(struct cu_device *device, enum gx_queue queue)
{
    pthread_mutex_lock(&device->idle_lock);
    struct cu_cmd *cmd = device->idle[queue];
    if (cmd)
        device->idle[queue] = cmd->next_idle;
    pthread_mutex_unlock(&device->idle_lock);
    return cmd;
}

gx_status gx__cu_begin(struct gx_device *base, enum gx_queue queue, struct gx_cmd **out)
{
    struct cu_device *device = cu_of(base);
    gx_status s = gx__gpu_alive(&device->gpu);
    if (s != GX_OK)
        return s;
    struct cu_cmd *cmd = take_idle(device, queue);
    if (!cmd)
        cmd = gx__alloc(cu_allocator(device), sizeof *cmd);
    if (!cmd)
        return GX_ERR_OUT_OF_MEMORY;
    cmd->base.device = base;
    cmd->queue = queue;
    cmd->failed = GX_OK;
    cmd->count = 0;
    cmd->stamped = 0;
    cmd->point = 0;
    *out = &cmd->base;
    return GX_OK;
}

void gx__cu_commands_close(struct cu_device *device)
{
    for (int q = 0; q < CU_QUEUES; q++)
        for (struct cu_cmd *cmd = device->idle[q], *next; cmd; cmd = next) {
            next = cmd->next_idle;
            gx__cu_cmd_free(device, cmd);
        }
}

/* ---- recording ---- */

struct cu_op *gx__cu_next_op(struct cu_cmd *cmd, enum cu_op_kind kind)
{
    const gx_allocator *allocator = cu_allocator(cu_cmd_device(cmd));
    if (cmd->failed != GX_OK)
        return NULL;
    if (cmd->count == cmd->room) {
        size_t room = cmd->room ? 2 * cmd->room : ROOM_FIRST;
        struct cu_op *ops = gx__alloc(allocator, room * sizeof *ops);
        if (!ops) {
            cmd->failed = GX_ERR_OUT_OF_MEMORY;
            return NULL;
        }
        if (cmd->count)
            memcpy(ops, cmd->ops, cmd->count * sizeof *ops);
        gx__free(allocator, cmd->ops);
        cmd->ops = ops;
        cmd->room = room;
    }
    struct cu_op *op = &cmd->ops[cmd->count++];
    op->kind = kind;
    return op;
}

void gx__cu_copy(struct gx_cmd *base, const struct gx_region *regions, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        struct cu_op *op = regions[i].size ? gx__cu_next_op((struct cu_cmd *)base, CU_COPY) : NULL;
        if (!op)
            continue;
        op->copy.to = cu_address(&regions[i].to);
        op->copy.from = cu_address(&regions[i].from);
        op->copy.bytes = regions[i].size;
    }
}

void gx__cu_barrier(struct gx_cmd *cmd, enum gx_barrier barrier)
{
    (void)cmd;
    (void)barrier;
}

static void launch_pass(struct cu_cmd *cmd, const struct gx_dispatch *d, const struct gx_pass *pass)
{
    struct gx_launch launch;
    cmd->failed = gx__gpu_launch(&cu_cmd_device(cmd)->gpu, d, pass, &launch);
    struct cu_op *op = gx__cu_next_op(cmd, CU_LAUNCH);
    if (!op)
        return;
    const struct cu_kernel *kernel = launch.pipeline;
    op->launch.function = kernel->function;
    memcpy(op->launch.block, kernel->block, sizeof op->launch.block);
    op->launch.awaits = kernel->awaits;
    op->launch.x = launch.x;
    op->launch.y = launch.y;
    op->launch.z = launch.z;
    bool own = gx__is_own(pass->op);
    for (int i = 0; i < (own ? GX_BIND_C + 1 : GX_BINDINGS); i++)
        (own ? op->launch.own.bind : op->launch.args.bind)[i] = cu_address(&launch.bind[i]);
    if (own)
        memcpy(op->launch.own.push, launch.push.words, sizeof op->launch.own.push);
    else
        memcpy(op->launch.args.push, launch.push.words, sizeof op->launch.args.push);
}
_Static_assert(sizeof((struct gx_ptx_args *)0)->bind == GX_BINDINGS * sizeof(uint64_t),
               "kernel/ptx.h");
_Static_assert(sizeof((struct cu_own_args *)0)->push == sizeof(union gx_push), "doc/kernels.md");

void gx__cu_dispatch(struct gx_cmd *base, const struct gx_dispatch *d)
{
    struct cu_cmd *cmd = (struct cu_cmd *)base;
    const struct gx_gpu_kernel *k = d->kernel.impl;
    struct gx_passes passes;
    if (cmd->failed != GX_OK)
        return;
    gx__passes(&d->kernel.key, d->n, &k->facts, &passes);
    for (uint32_t i = 0; i < passes.count && cmd->failed == GX_OK; i++)
        launch_pass(cmd, d, &passes.pass[i]);
}
