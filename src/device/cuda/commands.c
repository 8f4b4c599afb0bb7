/* SPDX-License-Identifier: Apache-2.0
 *
 * Recording. A command is a list of copies, launches and stamps that each submit repeats on a
 * stream, where they run one after the other, so barriers need nothing. A recycled command keeps
 * its list and its events: steady work creates nothing new.
 */
#include "device/cuda/cuda.h"

#include <string.h>

#include "base/alloc.h"

/* ---- making and ending commands ---- */

gx_status gx__cu_cmd_begin(struct gx_gpu *gpu, struct gx_gpu_cmd *cmd)
{
    (void)gpu;
    ((struct cu_cmd *)cmd)->ops.count = 0;
    return GX_OK;
}

void gx__cu_cmd_close(struct gx_gpu *gpu, struct gx_gpu_cmd *base)
{
    struct cu_device *device = cu_of_gpu(gpu);
    struct cu_cmd *cmd = (struct cu_cmd *)base;
    if (cmd->stamps[0] && !atomic_load(&device->hung) && gx__cu_enter(device) == GX_OK) {
        gx__cu_stamps_free(device, cmd);
        gx__cu_leave(device);
    }
    gx__free(cu_allocator(device), cmd->ops.list);
}

/* ---- recording ---- */

struct cu_op *gx__cu_next_op(struct cu_cmd *cmd, enum cu_op_kind kind)
{
    struct cu_op *op = gx__gpu_next_step(&cmd->gpu, &cmd->ops, sizeof *op);
    if (!op)
        return NULL;
    cmd->ops.count++;
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
        op->copy.rows = gx__rows(regions[i].rows);
        op->copy.to_row = regions[i].to_row;
        op->copy.from_row = regions[i].from_row;
    }
}

void gx__cu_launch(struct gx_gpu *gpu, struct gx_gpu_cmd *cmd, const struct gx_launch *launch)
{
    (void)gpu;
    struct cu_op *op = gx__cu_next_op((struct cu_cmd *)cmd, CU_LAUNCH);
    if (!op)
        return;
    const struct cu_kernel *kernel = launch->pipeline;
    op->launch.function = kernel->function;
    memcpy(op->launch.block, kernel->block, sizeof op->launch.block);
    op->launch.awaits = kernel->awaits;
    op->launch.x = launch->x;
    op->launch.y = launch->y;
    op->launch.z = launch->z;
    for (int i = 0; i < (launch->registered ? GX_BIND_C + 1 : GX_BINDINGS); i++)
        (launch->registered ? op->launch.registered.bind : op->launch.args.bind)[i] =
            cu_address(&launch->bind[i]);
    if (launch->registered)
        memcpy(op->launch.registered.push, launch->push.words, sizeof op->launch.registered.push);
    else
        memcpy(op->launch.args.push, launch->push.words, sizeof op->launch.args.push);
}
_Static_assert(sizeof((struct gx_ptx_args *)0)->bind == GX_BINDINGS * sizeof(uint64_t),
               "kernel/ptx.h");
_Static_assert(sizeof((struct cu_registered_args *)0)->push == sizeof(union gx_push),
               "doc/kernels.md");
