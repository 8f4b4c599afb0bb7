/* SPDX-License-Identifier: Apache-2.0
 *
 * Recording a dispatch: one launch after the other, each with its descriptors and push
 * constants.
 */
#include "device/vulkan/commands.h"

static void describe(const struct vk_device *device, const struct gx_binding bind[GX_BINDINGS],
                     VkDescriptorBufferInfo infos[GX_BINDINGS])
{
    const VkDeviceSize most = device->gpu.limits.range;
    for (int i = 0; i < GX_BINDINGS; i++) {
        VkDeviceSize range = bind[i].mem->size - bind[i].offset;
        infos[i] = (VkDescriptorBufferInfo){.buffer = vk_mem_of(bind[i].mem)->buffer,
                                            .offset = bind[i].offset,
                                            .range = range < most ? range : most};
    }
}

static void write_set(struct vk_device *device, VkDescriptorSet set,
                      const VkDescriptorBufferInfo infos[GX_BINDINGS])
{
    VkWriteDescriptorSet write = {.sType = VK_STRUCTURE_TYPE_WRITE_DESCRIPTOR_SET,
                                  .dstSet = set,
                                  .descriptorCount = GX_BINDINGS, /* continues with the next ones */
                                  .descriptorType = VK_DESCRIPTOR_TYPE_STORAGE_BUFFER,
                                  .pBufferInfo = infos};
    vk_watched_begin(device);
    device->fn.vkUpdateDescriptorSets(device->handle, 1, &write, 0, NULL);
    vk_watched_end(device);
}

void gx__vk_launch(struct gx_gpu *gpu, struct gx_gpu_cmd *base, const struct gx_launch *launch)
{
    struct vk_device *device = vk_of_gpu(gpu);
    struct vk_cmd *cmd = (struct vk_cmd *)base;
    const struct VolkDeviceTable *fn = &device->fn;
    VkDescriptorBufferInfo infos[GX_BINDINGS];
    VkDescriptorSet set = gx__vk_next_set(cmd);
    if (!set)
        return;
    describe(device, launch->bind, infos);
    write_set(device, set, infos);
    if (cmd->bound != launch->pipeline)
        fn->vkCmdBindPipeline(cmd->buffer, VK_PIPELINE_BIND_POINT_COMPUTE, launch->pipeline);
    cmd->bound = launch->pipeline;
    fn->vkCmdBindDescriptorSets(cmd->buffer, VK_PIPELINE_BIND_POINT_COMPUTE, device->layout, 0, 1,
                                &set, 0, NULL);
    fn->vkCmdPushConstants(cmd->buffer, device->layout, VK_SHADER_STAGE_COMPUTE_BIT, 0,
                           launch->push_bytes, &launch->push);
    fn->vkCmdDispatch(cmd->buffer, launch->x, launch->y, launch->z);
}

void gx__vk_dispatch(struct gx_cmd *base, const struct gx_dispatch *d)
{
    struct vk_cmd *cmd = (struct vk_cmd *)base;
    const struct gx_gpu_kernel *k = d->kernel.impl;
    if (cmd->gpu.failed != GX_OK)
        return;
    const gx_op_info *op = gx_op_get_info(k->key.op);
    const gx_field_info *field = gx_field_get_info(k->key.field);
    gx__vk_label(cmd, "%s %s, %llu elements", op ? op->name : "check", field ? field->name : "-",
                 (unsigned long long)d->n);
    gx__gpu_dispatch(base, d);
    gx__vk_label_end(cmd);
}
