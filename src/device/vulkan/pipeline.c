/* SPDX-License-Identifier: Apache-2.0
 *
 * Creating pipelines, with one layout for all. Code compiled by the driver is saved in a cache file
 * for the next process.
 */
#include "device/vulkan/vulkan.h"

#include <string.h>

#include "base/alloc.h"

/* ---- making one ---- */

uint64_t gx__vk_kernels_hash(void)
{
    uint64_t h = 0xcbf29ce484222325u;
    for (size_t i = 0; i < gx__shader_count; i++)
        for (size_t k = 0; k < gx__shaders[i].bytes / 4; k++)
            h = (h ^ gx__shaders[i].code[k]) * 0x100000001b3u;
    return h;
}

static VkResult create_module(struct vk_device *device, const uint32_t *code, size_t bytes,
                              VkShaderModule *module)
{
    VkShaderModuleCreateInfo info = {
        .sType = VK_STRUCTURE_TYPE_SHADER_MODULE_CREATE_INFO, .codeSize = bytes, .pCode = code};
    VkResult r = device->fn.vkCreateShaderModule(device->handle, &info, NULL, module);
    if (r != VK_SUCCESS)
        *module = VK_NULL_HANDLE;
    return r;
}

static VkResult get_module(struct vk_device *device, uint32_t index, VkShaderModule *module)
{
    VkResult r = VK_SUCCESS;
    if (!device->modules[index])
        r = create_module(device, gx__shaders[index].code, gx__shaders[index].bytes,
                          &device->modules[index]);
    *module = device->modules[index];
    return r;
}

static VkResult create(struct vk_device *device, VkShaderModule module, const char *entry,
                       const VkSpecializationInfo *constants, VkPipeline *pipeline)
{
    VkComputePipelineCreateInfo info = {
        .sType = VK_STRUCTURE_TYPE_COMPUTE_PIPELINE_CREATE_INFO,
        .stage = {.sType = VK_STRUCTURE_TYPE_PIPELINE_SHADER_STAGE_CREATE_INFO,
                  .stage = VK_SHADER_STAGE_COMPUTE_BIT,
                  .module = module,
                  .pName = entry,
                  .pSpecializationInfo = constants},
        .layout = device->layout};
    VkResult r = device->fn.vkCreateComputePipelines(device->handle, device->cache, 1, &info, NULL,
                                                     pipeline);
    if (r != VK_SUCCESS)
        *pipeline = VK_NULL_HANDLE;
    return r;
}

static VkResult compile(struct vk_device *device, const struct gx_pipeline_key *key,
                        VkShaderModule module, VkPipeline *pipeline)
{
    static const uint32_t ids[] = {GX_K_WORKGROUP, GX_K_OP, GX_K_CHECK, GX_K_REPEAT};
    enum { CONSTANTS = sizeof ids / sizeof *ids };
    const uint32_t values[CONSTANTS] = {key->workgroup, key->op, key->check, key->repeat};
    VkSpecializationMapEntry entries[CONSTANTS];
    for (uint32_t i = 0; i < CONSTANTS; i++)
        entries[i] = (VkSpecializationMapEntry){ids[i], i * sizeof *values, sizeof *values};
    VkSpecializationInfo constants = {CONSTANTS, entries, sizeof values, values};
    return create(device, module, "main", &constants, pipeline);
}

static void name(struct vk_device *device, const struct gx_pipeline_key *key, const char *variant,
                 VkPipeline pipeline)
{
    const gx_op_info *op = gx_op_get_info(key->op);
    const gx_field_info *field = gx_field_get_info(key->field);
    gx__vk_name(device, VK_OBJECT_TYPE_PIPELINE, (uint64_t)pipeline, "gx %s %s %s x%u",
                op ? op->name : "check", field ? field->name : "-", variant, key->workgroup);
}

gx_status gx__vk_compile(struct gx_gpu *gpu, const struct gx_pipeline_key *key, void **out)
{
    struct vk_device *device = vk_of_gpu(gpu);
    uint32_t index = gx__vk_module(device, (gx_field)key->field, (enum gx_shader_family)key->family,
                                   key->variant);
    VkShaderModule module;
    VkPipeline pipeline = VK_NULL_HANDLE;
    VkResult r = get_module(device, index, &module);
    if (r == VK_SUCCESS)
        r = compile(device, key, module, &pipeline);
    if (r == VK_SUCCESS)
        name(device, key, gx__shaders[index].variant, pipeline);
    *out = pipeline;
    return gx__vk_status(device, r, "vkCreateComputePipelines");
}

/* ---- registered operations ---- */

/* What the module needs, and the device lacks. */
static bool fits(const struct vk_device *device, const struct gx_spirv *spirv,
                 struct gx_error *error)
{
    const VkPhysicalDeviceLimits *l = &device->physical->properties.limits;
    uint64_t all = (uint64_t)spirv->local[0] * spirv->local[1] * spirv->local[2];
    for (int i = 0; i < 3; i++)
        if (spirv->local[i] > l->maxComputeWorkGroupSize[i] ||
            all > l->maxComputeWorkGroupInvocations) {
            gx__explain(error,
                        "its workgroup is %u x %u x %u, and this device allows %u invocations",
                        spirv->local[0], spirv->local[1], spirv->local[2],
                        l->maxComputeWorkGroupInvocations);
            return false;
        }
    if (spirv->int64 && !(device->meets & GX_SHADER_NEEDS_INT64))
        gx__explain(error, "it needs 64-bit integers, which this device lacks");
    else if (spirv->subgroup & ~device->subgroup)
        gx__explain(error, "it needs subgroup operations (0x%x) that this device lacks",
                    spirv->subgroup & ~device->subgroup);
    else
        return true;
    return false;
}

/* A driver that cannot make a pipeline of the module blames it, unless memory or the device are the
 * reason. */
gx_status gx__vk_compile_registered(struct gx_gpu *gpu, const struct gx_registered_op *registered,
                                    void **out, struct gx_error *error)
{
    struct vk_device *device = vk_of_gpu(gpu);
    VkShaderModule module = VK_NULL_HANDLE;
    VkPipeline pipeline = VK_NULL_HANDLE;
    if (!registered->desc.spirv || !fits(device, &registered->spirv, error))
        return GX_ERR_UNSUPPORTED;
    VkResult r =
        create_module(device, registered->desc.spirv, registered->desc.spirv_bytes, &module);
    if (r == VK_SUCCESS)
        r = create(device, module, registered->spirv_entry, NULL, &pipeline);
    if (module)
        device->fn.vkDestroyShaderModule(device->handle, module, NULL);
    if (r == VK_SUCCESS)
        gx__vk_name(device, VK_OBJECT_TYPE_PIPELINE, (uint64_t)pipeline, "%s", registered->name);
    *out = pipeline;
    gx_status s = gx__vk_status(device, r, "vkCreateComputePipelines");
    if (s != GX_ERR_DEVICE)
        return s;
    return gx__refuse(error, GX_ERR_UNSUPPORTED,
                      "the driver cannot make a pipeline of it (VkResult %d)", (int)r);
}

void gx__vk_drop(struct gx_gpu *gpu, void *pipeline)
{
    struct vk_device *device = vk_of_gpu(gpu);
    if (!atomic_load(&device->hung))
        device->fn.vkDestroyPipeline(device->handle, pipeline, NULL);
}

/* ---- the cache file ---- */

/* Drivers check their own header too, but not all carefully. */
static bool header_fits(const struct vk_device *device, const void *data, size_t size)
{
    const VkPhysicalDeviceProperties *p = &device->physical->properties;
    VkPipelineCacheHeaderVersionOne header;
    if (size < sizeof header)
        return false;
    memcpy(&header, data, sizeof header);
    return header.headerSize >= sizeof header && header.headerSize <= size &&
           header.headerVersion == VK_PIPELINE_CACHE_HEADER_VERSION_ONE &&
           header.vendorID == p->vendorID && header.deviceID == p->deviceID &&
           !memcmp(header.pipelineCacheUUID, p->pipelineCacheUUID, VK_UUID_SIZE);
}

static VkResult create_cache(struct vk_device *device, const void *data, size_t size,
                             VkPipelineCache *cache)
{
    VkPipelineCacheCreateInfo info = {.sType = VK_STRUCTURE_TYPE_PIPELINE_CACHE_CREATE_INFO,
                                      .initialDataSize = size,
                                      .pInitialData = data};
    VkResult r = device->fn.vkCreatePipelineCache(device->handle, &info, NULL, cache);
    if (r != VK_SUCCESS)
        *cache = VK_NULL_HANDLE;
    return r;
}

/* What is in the file; the handle is null if there is nothing. Returns its size. */
static size_t read_cache(struct vk_device *device, VkPipelineCache *cache)
{
    void *data = NULL;
    size_t size = 0;
    *cache = VK_NULL_HANDLE;
    if (gx__gpu_cache_read(&device->gpu, "pipelines", &data, &size) &&
        header_fits(device, data, size))
        create_cache(device, data, size, cache);
    gx__free(vk_allocator(device), data);
    return *cache ? size : 0;
}

static gx_status open_cache(struct vk_device *device)
{
    device->cache_loaded = read_cache(device, &device->cache);
    if (device->cache)
        return GX_OK;
    return gx__vk_status(device, create_cache(device, NULL, 0, &device->cache),
                         "vkCreatePipelineCache");
}

/* Adds what another context has saved meanwhile, and would be lost. */
static void merge_saved(struct vk_device *device)
{
    VkPipelineCache saved;
    read_cache(device, &saved);
    if (saved)
        device->fn.vkMergePipelineCaches(device->handle, device->cache, 1, &saved);
    device->fn.vkDestroyPipelineCache(device->handle, saved, NULL);
}

static void save_cache(struct vk_device *device)
{
    size_t size = 0;
    if (device->cache && gx__gpu_alive(&device->gpu) == GX_OK)
        merge_saved(device);
    if (!device->cache || gx__gpu_alive(&device->gpu) != GX_OK ||
        device->fn.vkGetPipelineCacheData(device->handle, device->cache, &size, NULL) !=
            VK_SUCCESS ||
        size <= device->cache_loaded)
        return;
    void *data = gx__alloc(vk_allocator(device), size);
    if (data &&
        device->fn.vkGetPipelineCacheData(device->handle, device->cache, &size, data) == VK_SUCCESS)
        gx__gpu_cache_write(&device->gpu, "pipelines", data, size);
    gx__free(vk_allocator(device), data);
}

/* ---- open and close ---- */

static VkResult create_layouts(struct vk_device *device)
{
    VkDescriptorSetLayoutBinding bindings[GX_BINDINGS];
    for (uint32_t i = 0; i < GX_BINDINGS; i++)
        bindings[i] =
            (VkDescriptorSetLayoutBinding){.binding = i,
                                           .descriptorType = VK_DESCRIPTOR_TYPE_STORAGE_BUFFER,
                                           .descriptorCount = 1,
                                           .stageFlags = VK_SHADER_STAGE_COMPUTE_BIT};
    VkDescriptorSetLayoutCreateInfo set = {.sType =
                                               VK_STRUCTURE_TYPE_DESCRIPTOR_SET_LAYOUT_CREATE_INFO,
                                           .bindingCount = GX_BINDINGS,
                                           .pBindings = bindings};
    VkResult r =
        device->fn.vkCreateDescriptorSetLayout(device->handle, &set, NULL, &device->set_layout);
    if (r != VK_SUCCESS) {
        device->set_layout = VK_NULL_HANDLE;
        return r;
    }
    VkPushConstantRange push = {VK_SHADER_STAGE_COMPUTE_BIT, 0, sizeof(union gx_push)};
    VkPipelineLayoutCreateInfo info = {.sType = VK_STRUCTURE_TYPE_PIPELINE_LAYOUT_CREATE_INFO,
                                       .setLayoutCount = 1,
                                       .pSetLayouts = &device->set_layout,
                                       .pushConstantRangeCount = 1,
                                       .pPushConstantRanges = &push};
    r = device->fn.vkCreatePipelineLayout(device->handle, &info, NULL, &device->layout);
    if (r != VK_SUCCESS)
        device->layout = VK_NULL_HANDLE;
    return r;
}

gx_status gx__vk_pipelines_open(struct vk_device *device)
{
    device->modules = gx__alloc(vk_allocator(device), gx__shader_count * sizeof *device->modules);
    if (!device->modules)
        return GX_ERR_OUT_OF_MEMORY;
    gx_status s = gx__vk_status(device, create_layouts(device), "vkCreatePipelineLayout");
    return s == GX_OK ? open_cache(device) : s;
}

void gx__vk_pipelines_close(struct vk_device *device)
{
    bool hung = atomic_load(&device->hung);
    save_cache(device);
    for (size_t i = 0; device->modules && i < gx__shader_count && !hung; i++)
        device->fn.vkDestroyShaderModule(device->handle, device->modules[i], NULL);
    gx__free(vk_allocator(device), device->modules);
    if (hung)
        return;
    device->fn.vkDestroyPipelineCache(device->handle, device->cache, NULL);
    device->fn.vkDestroyPipelineLayout(device->handle, device->layout, NULL);
    device->fn.vkDestroyDescriptorSetLayout(device->handle, device->set_layout, NULL);
}
