/* SPDX-License-Identifier: Apache-2.0
 *
 * A command: everything needed for recording and submitting, kept for reuse.
 */
#ifndef GX_DEVICE_VULKAN_COMMANDS_H
#define GX_DEVICE_VULKAN_COMMANDS_H

#include "device/vulkan/vulkan.h"

#define VK_SETS_PER_BLOCK 16

/* Descriptor sets are allocated in blocks, then only rewritten. */
struct vk_set_block {
    struct vk_set_block *next;
    VkDescriptorPool pool;
    VkDescriptorSet sets[VK_SETS_PER_BLOCK];
};

struct vk_cmd {
    struct gx_gpu_cmd gpu;
    bool recording;
    VkPipeline bound; /* the last one, in this recording */
    VkCommandPool pool;
    VkCommandBuffer buffer;
    VkQueryPool queries;
    struct vk_set_block *blocks, *block;
    uint32_t block_used; /* sets of `block` */
};

static inline struct vk_device *vk_cmd_device(const struct vk_cmd *cmd)
{
    return vk_of(cmd->gpu.base.device);
}

/* A set for the next dispatch of this recording; VK_NULL_HANDLE, with cmd->gpu.failed, on failure.
 */
VkDescriptorSet gx__vk_next_set(struct vk_cmd *cmd);
/* Labels for capture tools; end with gx__vk_label_end. */
void gx__vk_label(struct vk_cmd *cmd, const char *format, ...) GX_PRINTF(2, 3);
void gx__vk_label_end(struct vk_cmd *cmd);

/* For struct gx_gpu_ops. */
gx_status gx__vk_cmd_open(struct gx_gpu *gpu, struct gx_gpu_cmd *cmd);
gx_status gx__vk_cmd_begin(struct gx_gpu *gpu, struct gx_gpu_cmd *cmd);

#endif
