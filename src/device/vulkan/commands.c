/* SPDX-License-Identifier: Apache-2.0
 *
 * Recording: copies, barriers, timestamps, and the pools behind a command. A recycled command keeps
 * its pools, so that steady work creates nothing new.
 */
#include "device/vulkan/commands.h"

#include <stdarg.h>
#include <stdio.h>

#include "base/alloc.h"
#include "kernel/interface.h"

#define REGIONS_AT_ONCE 64

/* ---- labels ---- */

void gx__vk_label(struct vk_cmd *cmd, const char *format, ...)
{
    struct vk_device *device = vk_cmd_device(cmd);
    if (!device->names || !device->loader->fn.CmdBeginDebugUtilsLabelEXT)
        return;
    char text[80];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    VkDebugUtilsLabelEXT label = {.sType = VK_STRUCTURE_TYPE_DEBUG_UTILS_LABEL_EXT,
                                  .pLabelName = text};
    device->loader->fn.CmdBeginDebugUtilsLabelEXT(cmd->buffer, &label);
}

void gx__vk_label_end(struct vk_cmd *cmd)
{
    struct vk_device *device = vk_cmd_device(cmd);
    if (device->names && device->loader->fn.CmdEndDebugUtilsLabelEXT)
        device->loader->fn.CmdEndDebugUtilsLabelEXT(cmd->buffer);
}

/* ---- making and ending commands ---- */

void gx__vk_cmd_close(struct gx_gpu *gpu, struct gx_gpu_cmd *base)
{
    struct vk_device *device = vk_of_gpu(gpu);
    struct vk_cmd *cmd = (struct vk_cmd *)base;
    bool hung = atomic_load(&device->hung);
    for (struct vk_set_block *b = cmd->blocks, *next; b; b = next) {
        next = b->next;
        if (!hung)
            device->fn.vkDestroyDescriptorPool(device->handle, b->pool, NULL);
        gx__free(vk_allocator(device), b);
    }
    if (!hung) {
        device->fn.vkDestroyQueryPool(device->handle, cmd->queries, NULL);
        device->fn.vkDestroyCommandPool(device->handle, cmd->pool, NULL);
    }
}

static VkResult create_queries(struct vk_device *device, struct vk_cmd *cmd)
{
    VkQueryPoolCreateInfo info = {.sType = VK_STRUCTURE_TYPE_QUERY_POOL_CREATE_INFO,
                                  .queryType = VK_QUERY_TYPE_TIMESTAMP,
                                  .queryCount = GX_STAMPS};
    VkResult r = device->fn.vkCreateQueryPool(device->handle, &info, NULL, &cmd->queries);
    if (r != VK_SUCCESS)
        cmd->queries = VK_NULL_HANDLE;
    return r;
}

static VkResult create_buffer(struct vk_device *device, struct vk_cmd *cmd)
{
    VkCommandPoolCreateInfo pool = {.sType = VK_STRUCTURE_TYPE_COMMAND_POOL_CREATE_INFO,
                                    .queueFamilyIndex = device->queue[cmd->gpu.queue].family};
    VkResult r = device->fn.vkCreateCommandPool(device->handle, &pool, NULL, &cmd->pool);
    if (r != VK_SUCCESS) {
        cmd->pool = VK_NULL_HANDLE;
        return r;
    }
    VkCommandBufferAllocateInfo buffer = {.sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_ALLOCATE_INFO,
                                          .commandPool = cmd->pool,
                                          .level = VK_COMMAND_BUFFER_LEVEL_PRIMARY,
                                          .commandBufferCount = 1};
    return device->fn.vkAllocateCommandBuffers(device->handle, &buffer, &cmd->buffer);
}

gx_status gx__vk_cmd_open(struct gx_gpu *gpu, struct gx_gpu_cmd *base)
{
    struct vk_device *device = vk_of_gpu(gpu);
    struct vk_cmd *cmd = (struct vk_cmd *)base;
    gx_status s = gx__vk_status(device, create_buffer(device, cmd), "vkCreateCommandPool");
    if (s == GX_OK && gpu->base->facts.timestamps)
        s = gx__vk_status(device, create_queries(device, cmd), "vkCreateQueryPool");
    return s;
}

gx_status gx__vk_cmd_begin(struct gx_gpu *gpu, struct gx_gpu_cmd *base)
{
    struct vk_device *device = vk_of_gpu(gpu);
    struct vk_cmd *cmd = (struct vk_cmd *)base;
    VkCommandBufferBeginInfo info = {.sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_BEGIN_INFO};
    VkResult r = device->fn.vkResetCommandPool(device->handle, cmd->pool, 0);
    if (r == VK_SUCCESS)
        r = device->fn.vkBeginCommandBuffer(cmd->buffer, &info);
    cmd->recording = true;
    cmd->bound = VK_NULL_HANDLE;
    cmd->block = cmd->blocks;
    cmd->block_used = 0;
    return gx__vk_status(device, r, "vkBeginCommandBuffer");
}

/* ---- descriptor sets ---- */

static VkResult fill_block(struct vk_device *device, struct vk_set_block *b)
{
    VkDescriptorPoolSize size = {VK_DESCRIPTOR_TYPE_STORAGE_BUFFER,
                                 GX_BINDINGS * VK_SETS_PER_BLOCK};
    VkDescriptorPoolCreateInfo pool = {.sType = VK_STRUCTURE_TYPE_DESCRIPTOR_POOL_CREATE_INFO,
                                       .maxSets = VK_SETS_PER_BLOCK,
                                       .poolSizeCount = 1,
                                       .pPoolSizes = &size};
    VkResult r = device->fn.vkCreateDescriptorPool(device->handle, &pool, NULL, &b->pool);
    if (r != VK_SUCCESS) {
        b->pool = VK_NULL_HANDLE;
        return r;
    }
    VkDescriptorSetLayout layouts[VK_SETS_PER_BLOCK];
    for (int i = 0; i < VK_SETS_PER_BLOCK; i++)
        layouts[i] = device->set_layout;
    VkDescriptorSetAllocateInfo sets = {.sType = VK_STRUCTURE_TYPE_DESCRIPTOR_SET_ALLOCATE_INFO,
                                        .descriptorPool = b->pool,
                                        .descriptorSetCount = VK_SETS_PER_BLOCK,
                                        .pSetLayouts = layouts};
    return device->fn.vkAllocateDescriptorSets(device->handle, &sets, b->sets);
}

static gx_status add_block(struct vk_device *device, struct vk_cmd *cmd)
{
    struct vk_set_block *b = gx__alloc(vk_allocator(device), sizeof *b);
    if (!b)
        return GX_ERR_OUT_OF_MEMORY;
    gx_status s = gx__vk_status(device, fill_block(device, b), "vkAllocateDescriptorSets");
    if (s != GX_OK) {
        device->fn.vkDestroyDescriptorPool(device->handle, b->pool, NULL);
        gx__free(vk_allocator(device), b);
        return s;
    }
    if (cmd->block)
        cmd->block->next = b;
    else
        cmd->blocks = b;
    cmd->block = b;
    cmd->block_used = 0;
    return GX_OK;
}

VkDescriptorSet gx__vk_next_set(struct vk_cmd *cmd)
{
    if (cmd->block && cmd->block_used == VK_SETS_PER_BLOCK && cmd->block->next) {
        cmd->block = cmd->block->next;
        cmd->block_used = 0;
    }
    if (!cmd->block || cmd->block_used == VK_SETS_PER_BLOCK)
        cmd->gpu.failed = add_block(vk_cmd_device(cmd), cmd);
    return cmd->gpu.failed == GX_OK ? cmd->block->sets[cmd->block_used++] : VK_NULL_HANDLE;
}

/* ---- copies ---- */

static void copy_rows(struct vk_cmd *cmd, const struct gx_region *r)
{
    VkBufferCopy copies[REGIONS_AT_ONCE];
    for (size_t row = 0, rows = gx__rows(r->rows); row < rows;) {
        uint32_t used = 0;
        for (; row < rows && used < REGIONS_AT_ONCE; row++)
            copies[used++] = (VkBufferCopy){.srcOffset = r->from.offset + row * r->from_row,
                                            .dstOffset = r->to.offset + row * r->to_row,
                                            .size = r->size};
        vk_cmd_device(cmd)->fn.vkCmdCopyBuffer(cmd->buffer, vk_mem_of(r->from.mem)->buffer,
                                               vk_mem_of(r->to.mem)->buffer, used, copies);
    }
}

void gx__vk_copy(struct gx_cmd *base, const struct gx_region *regions, size_t count)
{
    struct vk_cmd *cmd = (struct vk_cmd *)base;
    if (cmd->gpu.failed != GX_OK)
        return;
    gx__vk_label(cmd, "copy, %zu region%s", count, count == 1 ? "" : "s");
    for (size_t i = 0; i < count; i++)
        if (regions[i].size)
            copy_rows(cmd, &regions[i]);
    gx__vk_label_end(cmd);
}

/* ---- barriers ---- */

struct scope {
    VkPipelineStageFlags stages;
    VkAccessFlags accesses;
};

/* A copy-only queue has no kernels to wait for: fences order those. */
static bool scopes(bool copies_only, enum gx_barrier barrier, struct scope *from, struct scope *to)
{
    const struct scope wrote = {VK_PIPELINE_STAGE_COMPUTE_SHADER_BIT, VK_ACCESS_SHADER_WRITE_BIT};
    const struct scope kernel = {VK_PIPELINE_STAGE_COMPUTE_SHADER_BIT,
                                 VK_ACCESS_SHADER_READ_BIT | VK_ACCESS_SHADER_WRITE_BIT};
    const struct scope copied = {VK_PIPELINE_STAGE_TRANSFER_BIT, VK_ACCESS_TRANSFER_WRITE_BIT};
    const struct scope copy = {VK_PIPELINE_STAGE_TRANSFER_BIT,
                               VK_ACCESS_TRANSFER_READ_BIT | VK_ACCESS_TRANSFER_WRITE_BIT};
    switch (barrier) {
    case GX_BARRIER_COPY_TO_KERNEL:
        *from = copied, *to = kernel;
        return !copies_only;
    case GX_BARRIER_KERNEL_TO_KERNEL:
        *from = wrote, *to = kernel;
        return !copies_only;
    case GX_BARRIER_KERNEL_TO_COPY:
        *from = wrote, *to = copy;
        return !copies_only;
    case GX_BARRIER_TO_HOST:
        *from = copied;
        if (!copies_only) {
            from->stages |= wrote.stages;
            from->accesses |= wrote.accesses;
        }
        *to = (struct scope){VK_PIPELINE_STAGE_HOST_BIT, VK_ACCESS_HOST_READ_BIT};
        return true;
    }
    return false;
}

void gx__vk_barrier(struct gx_cmd *base, enum gx_barrier barrier)
{
    struct vk_cmd *cmd = (struct vk_cmd *)base;
    struct vk_device *device = vk_cmd_device(cmd);
    struct scope from, to;
    if (cmd->gpu.failed != GX_OK ||
        !scopes(device->queue[cmd->gpu.queue].copies_only, barrier, &from, &to))
        return;
    VkMemoryBarrier memory = {.sType = VK_STRUCTURE_TYPE_MEMORY_BARRIER,
                              .srcAccessMask = from.accesses,
                              .dstAccessMask = to.accesses};
    device->fn.vkCmdPipelineBarrier(cmd->buffer, from.stages, to.stages, 0, 1, &memory, 0, NULL, 0,
                                    NULL);
}

/* ---- time stamps ---- */

void gx__vk_stamp(struct gx_gpu *gpu, struct gx_gpu_cmd *base, uint32_t index)
{
    struct vk_cmd *cmd = (struct vk_cmd *)base;
    vk_of_gpu(gpu)->fn.vkCmdWriteTimestamp(cmd->buffer, VK_PIPELINE_STAGE_BOTTOM_OF_PIPE_BIT,
                                           cmd->queries, index);
}

gx_status gx__vk_stamps(struct gx_gpu *gpu, struct gx_gpu_cmd *cmd, uint64_t *ns, uint32_t count)
{
    struct vk_device *device = vk_of_gpu(gpu);
    VkResult r = device->fn.vkGetQueryPoolResults(
        device->handle, ((struct vk_cmd *)cmd)->queries, 0, count, count * sizeof *ns, ns,
        sizeof *ns, VK_QUERY_RESULT_64_BIT | VK_QUERY_RESULT_WAIT_BIT);
    if (r == VK_SUCCESS) {
        gx__vk_clock_calibrate(device);
        gx__vk_clock_convert(device, device->queue[cmd->queue].stamp_mask, cmd->submitted_ns, ns,
                             count);
    }
    return gx__vk_status(device, r, "vkGetQueryPoolResults");
}
