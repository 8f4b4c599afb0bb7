/* SPDX-License-Identifier: Apache-2.0
 *
 * Recording a dispatch: bindings to descriptors, offsets to push constants, and for
 * operations of several stages one launch after the other.
 */
#include "device/vulkan/commands.h"

#include "base/log.h"
#include "kernel/interface.h"

struct push {
    uint32_t n, at[4], broadcast, stage[3];
};
_Static_assert(sizeof(struct push) == GX_K_PUSH_WORDS * sizeof(uint32_t), "push constants");

static gx_status refuse(struct vk_device *device, int binding, size_t offset)
{
    gx__log(device->base->instance, GX_LOG_ERROR,
            "%s: binding %d at byte %zu: this device binds at multiples of %llu",
            device->base->info.name, binding, offset,
            (unsigned long long)device->limits.bind_align);
    return GX_ERR_INVALID;
}

/* A descriptor begins at a multiple of bind_align; kernels skip the rest of the offset,
 * where they are told how (operands), or there must be none. */
static gx_status describe(struct vk_device *device, const struct gx_binding bind[GX_BINDINGS],
                          uint32_t unit, VkDescriptorBufferInfo infos[GX_BINDINGS],
                          struct push *push)
{
    const VkDeviceSize align = device->limits.bind_align;
    for (int i = 0; i < GX_BINDINGS; i++) {
        const struct gx_binding *b = &bind[i];
        const struct gx_mem *mem = b->mem ? b->mem : &device->nothing;
        VkDeviceSize offset = b->mem ? b->offset : 0, rest = offset % align;
        VkDeviceSize range = mem->size - (offset - rest);
        infos[i] = (VkDescriptorBufferInfo){
            .buffer = vk_mem_of(mem)->buffer,
            .offset = offset - rest,
            .range = range < device->limits.range ? range : device->limits.range};
        if (rest % (i <= GX_BIND_C ? unit : align))
            return refuse(device, i, b->offset);
        if (i <= GX_BIND_C)
            push->at[i] = (uint32_t)(rest / unit);
    }
    return GX_OK;
}

static void write_set(struct vk_device *device, VkDescriptorSet set,
                      const VkDescriptorBufferInfo infos[GX_BINDINGS])
{
    VkWriteDescriptorSet write = {.sType = VK_STRUCTURE_TYPE_WRITE_DESCRIPTOR_SET,
                                  .dstSet = set,
                                  .descriptorCount = GX_BINDINGS, /* goes on to the next ones */
                                  .descriptorType = VK_DESCRIPTOR_TYPE_STORAGE_BUFFER,
                                  .pBufferInfo = infos};
    vk_watched_begin(device);
    device->fn.vkUpdateDescriptorSets(device->handle, 1, &write, 0, NULL);
    vk_watched_end(device);
}

/* One launch of enough workgroups for `count` invocations, in two dimensions where the
 * device allows few in one. */
static void launch(struct vk_cmd *cmd, const struct vk_kernel *kernel, VkPipeline pipeline,
                   const struct gx_binding bind[GX_BINDINGS], struct push *push, uint64_t count)
{
    struct vk_device *device = vk_cmd_device(cmd);
    const struct VolkDeviceTable *fn = &device->fn;
    VkDescriptorBufferInfo infos[GX_BINDINGS];
    cmd->failed = describe(device, bind, kernel->unit, infos, push);
    VkDescriptorSet set = cmd->failed == GX_OK ? gx__vk_next_set(cmd) : VK_NULL_HANDLE;
    if (!set)
        return;
    write_set(device, set, infos);
    uint64_t groups = (count + kernel->choice.workgroup - 1) / kernel->choice.workgroup;
    uint64_t y = (groups + device->limits.groups - 1) / device->limits.groups;
    uint64_t x = (groups + y - 1) / y;
    if (cmd->bound != pipeline)
        fn->vkCmdBindPipeline(cmd->buffer, VK_PIPELINE_BIND_POINT_COMPUTE, pipeline);
    cmd->bound = pipeline;
    fn->vkCmdBindDescriptorSets(cmd->buffer, VK_PIPELINE_BIND_POINT_COMPUTE, device->layout, 0, 1,
                                &set, 0, NULL);
    fn->vkCmdPushConstants(cmd->buffer, device->layout, VK_SHADER_STAGE_COMPUTE_BIT, 0,
                           sizeof *push, push);
    fn->vkCmdDispatch(cmd->buffer, (uint32_t)x, (uint32_t)y, 1);
}

static void launch_pass(struct vk_cmd *cmd, const struct gx_dispatch *d, const struct gx_pass *pass)
{
    const struct vk_kernel *k = d->kernel.impl;
    VkPipeline pipeline = k->first;
    struct gx_binding bind[GX_BINDINGS];
    struct push push = {.n = pass->n,
                        .broadcast = pass->broadcast,
                        .stage = {pass->stage[0], pass->stage[1], pass->stage[2]}};
    gx__pass_bind(d, pass, bind);
    if (!pipeline || pass->op != k->key.op)
        cmd->failed = gx__vk_pass_pipeline(vk_cmd_device(cmd), k, pass, &pipeline);
    if (cmd->failed == GX_OK)
        launch(cmd, k, pipeline, bind, &push, pass->invocations);
}

void gx__vk_dispatch(struct gx_cmd *base, const struct gx_dispatch *d)
{
    struct vk_cmd *cmd = (struct vk_cmd *)base;
    const struct vk_kernel *k = d->kernel.impl;
    struct gx_passes passes;
    if (cmd->failed != GX_OK)
        return;
    gx__vk_label(cmd, "op %d field %d n %llu", (int)k->key.op, (int)k->key.field,
                 (unsigned long long)d->n);
    gx__passes(&d->kernel.key, d->n, &k->facts, &passes);
    for (uint32_t i = 0; i < passes.count && cmd->failed == GX_OK; i++) {
        if (i)
            gx__vk_barrier(base, GX_BARRIER_KERNEL_TO_KERNEL);
        launch_pass(cmd, d, &passes.pass[i]);
    }
    gx__vk_label_end(cmd);
}
