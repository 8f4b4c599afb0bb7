/* SPDX-License-Identifier: Apache-2.0
 *
 * Opening and closing a Vulkan device: capabilities, queues, the facts that the upper layers plan
 * with, and the only place where a VkResult becomes a status.
 */
#include "device/vulkan/commands.h"

#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/env.h"
#include "base/log.h"

#define EXTENSIONS_MAX 512
#define FAMILIES_MAX   32
#define WORKGROUP_MAX  256
/* Each row of a copy of imported memory takes an H200 some 1.5 us more than its bytes do. */
#define SLOW_ROW_BYTES 524288u
#define SUBGROUP_MIN   2u /* of shuffled.glsl */

/* ---- results ---- */

static gx_status translate(VkResult result)
{
    switch (result) {
    case VK_ERROR_OUT_OF_HOST_MEMORY:
        return GX_ERR_OUT_OF_MEMORY;
    case VK_ERROR_OUT_OF_DEVICE_MEMORY:
    case VK_ERROR_OUT_OF_POOL_MEMORY:
    case VK_ERROR_FRAGMENTATION:
    case VK_ERROR_FRAGMENTED_POOL:
    case VK_ERROR_TOO_MANY_OBJECTS:
        return GX_ERR_OUT_OF_DEVICE_MEMORY;
    case VK_ERROR_DEVICE_LOST:
        return GX_ERR_DEVICE_LOST;
    case VK_TIMEOUT:
    case VK_NOT_READY:
        return GX_ERR_TIMEOUT;
    case VK_ERROR_INVALID_EXTERNAL_HANDLE:
    case VK_ERROR_FEATURE_NOT_PRESENT:
    case VK_ERROR_EXTENSION_NOT_PRESENT:
        return GX_ERR_UNSUPPORTED;
    default:
        return GX_ERR_DEVICE;
    }
}

gx_status gx__vk_failed(struct vk_device *device, VkResult result, const char *what)
{
    gx_status s = translate(result);
    if (s == GX_ERR_TIMEOUT)
        return s;
    if (s == GX_ERR_DEVICE_LOST)
        atomic_store(&device->gpu.lost, true);
    gx__log(device->gpu.base->instance, GX_LOG_WARNING, "%s: %s failed with %d: %s",
            device->gpu.base->info.name, what, (int)result, gx_status_message(s));
    return s;
}

void gx__vk_name(struct vk_device *device, VkObjectType type, uint64_t handle, const char *format,
                 ...)
{
    if (!device->names || !device->loader->fn.SetDebugUtilsObjectNameEXT || !handle)
        return;
    char name[64];
    va_list args;
    va_start(args, format);
    vsnprintf(name, sizeof name, format, args);
    va_end(args);
    VkDebugUtilsObjectNameInfoEXT info = {.sType =
                                              VK_STRUCTURE_TYPE_DEBUG_UTILS_OBJECT_NAME_INFO_EXT,
                                          .objectType = type,
                                          .objectHandle = handle,
                                          .pObjectName = name};
    gx__vulkan_list_lock();
    device->loader->fn.SetDebugUtilsObjectNameEXT(device->handle, &info);
    gx__vulkan_list_unlock();
}

/* ---- cache files ---- */

static void cache_key(const struct gx_gpu *gpu, uint8_t key[GX_CACHE_KEY_BYTES])
{
    const struct vk_physical *p = vk_of_gpu(gpu)->physical;
    const uint32_t words[4] = {p->properties.driverVersion, p->properties.vendorID,
                               p->properties.deviceID,
                               GX_VERSION_MAJOR << 24 | GX_VERSION_MINOR << 12 | GX_VERSION_PATCH};
    memcpy(key, p->base.uuid, 16);
    memcpy(key + 16, p->driver_uuid, 16);
    memcpy(key + 32, p->properties.pipelineCacheUUID, 16);
    memcpy(key + 48, words, 16);
}

static bool believable(const struct gx_gpu *gpu, const struct gx_gpu_calibration *found)
{
    const struct vk_device *device = vk_of_gpu(gpu);
    bool ok = true;
    for (int kind = 0; ok && kind < GX_MEM_KINDS; kind++)
        ok = found->type_of[kind] < device->memory.memoryTypeCount &&
             device->buffer_types >> found->type_of[kind] & 1 &&
             (kind == GX_MEM_DEVICE || gx__vk_type_flags(device, found->type_of[kind]) &
                                           VK_MEMORY_PROPERTY_HOST_VISIBLE_BIT);
    return ok;
}

/* ---- what the device can do ---- */

/* Which of the extensions and features that we use are available; their names go to `names`. */
static gx_status find_extensions(struct vk_device *device, const char **names, uint32_t *count)
{
    const struct vk_instance_fn *fn = &device->loader->fn;
    VkPhysicalDevice handle = device->physical->handle;
    uint32_t n = EXTENSIONS_MAX;
    VkExtensionProperties *list = gx__alloc(vk_allocator(device), n * sizeof *list);
    if (!list)
        return GX_ERR_OUT_OF_MEMORY;
    VkResult r = fn->EnumerateDeviceExtensionProperties(handle, NULL, &n, list);
    if (r != VK_SUCCESS && r != VK_INCOMPLETE)
        n = 0;
    device->has_budget = gx__vk_has_extension(list, n, VK_EXT_MEMORY_BUDGET_EXTENSION_NAME);
    device->has_memory_host =
        gx__vk_has_extension(list, n, VK_EXT_EXTERNAL_MEMORY_HOST_EXTENSION_NAME);
    device->has_calibration =
        gx__vk_has_extension(list, n, VK_EXT_CALIBRATED_TIMESTAMPS_EXTENSION_NAME);
    bool portability = gx__vk_has_extension(list, n, "VK_KHR_portability_subset");
    gx__free(vk_allocator(device), list);

    *count = 0;
    if (device->has_budget)
        names[(*count)++] = VK_EXT_MEMORY_BUDGET_EXTENSION_NAME;
    if (device->has_memory_host)
        names[(*count)++] = VK_EXT_EXTERNAL_MEMORY_HOST_EXTENSION_NAME;
    if (device->has_calibration)
        names[(*count)++] = VK_EXT_CALIBRATED_TIMESTAMPS_EXTENSION_NAME;
    if (portability) /* must be enabled if present */
        names[(*count)++] = "VK_KHR_portability_subset";
    return GX_OK;
}

static void find_limits(struct vk_device *device)
{
    VkPhysicalDeviceExternalMemoryHostPropertiesEXT host = {
        .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_EXTERNAL_MEMORY_HOST_PROPERTIES_EXT};
    VkPhysicalDeviceVulkan12Properties v12 = {
        .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_2_PROPERTIES,
        .pNext = device->has_memory_host ? &host : NULL};
    VkPhysicalDeviceVulkan11Properties v11 = {
        .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_1_PROPERTIES, .pNext = &v12};
    VkPhysicalDeviceProperties2 all = {.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_PROPERTIES_2,
                                       .pNext = &v11};
    device->loader->fn.GetPhysicalDeviceProperties2(device->physical->handle, &all);
    const VkPhysicalDeviceLimits *l = &all.properties.limits;
    uint32_t workgroup = l->maxComputeWorkGroupInvocations < l->maxComputeWorkGroupSize[0]
                             ? l->maxComputeWorkGroupInvocations
                             : l->maxComputeWorkGroupSize[0];
    if (v12.shaderDenormPreserveFloat32 && v12.shaderSignedZeroInfNanPreserveFloat32)
        device->meets |= GX_SHADER_NEEDS_DENORM32;
    if (v11.subgroupSupportedStages & VK_SHADER_STAGE_COMPUTE_BIT &&
        v11.subgroupSupportedOperations & VK_SUBGROUP_FEATURE_SHUFFLE_BIT &&
        v11.subgroupSize >= SUBGROUP_MIN)
        device->meets |= GX_SHADER_NEEDS_SHUFFLE;
    if (v11.subgroupSupportedStages & VK_SHADER_STAGE_COMPUTE_BIT)
        device->subgroup = v11.subgroupSupportedOperations;
    device->limits = (struct vk_limits){.bytes = v11.maxMemoryAllocationSize,
                                        .import_align = host.minImportedHostPointerAlignment,
                                        .atom = l->nonCoherentAtomSize,
                                        .allocations = l->maxMemoryAllocationCount,
                                        .tick_ns = l->timestampPeriod};
    device->gpu.limits =
        (struct gx_gpu_limits){.range = l->maxStorageBufferRange,
                               .bind_align = l->minStorageBufferOffsetAlignment,
                               .groups = l->maxComputeWorkGroupCount[0],
                               .workgroup = workgroup < WORKGROUP_MAX ? workgroup : WORKGROUP_MAX};
    gx__gpu_limit_elements(&device->gpu, GX_INVERSE_DIRECT_INT64);
}

/* Names are only for layers that record or display them. */
static bool watched(const struct vk_device *device)
{
    static const char *const signs[] = {"ENABLE_VULKAN_RENDERDOC_CAPTURE", "VK_INSTANCE_LAYERS",
                                        "NSYS_PROFILING_SESSION_ID", "VK_LOADER_LAYERS_ENABLE"};
    if (!device->loader->debug_utils)
        return false;
    if (device->gpu.base->instance->config.validate)
        return true;
    for (size_t i = 0; i < sizeof signs / sizeof *signs; i++)
        if (gx__env(&device->gpu.base->instance->config, signs[i]))
            return true;
    return false;
}

/* ---- queues ---- */

/* A queue family with all of `with` and none of `without`; FAMILIES_MAX: none. */
static uint32_t find_family(const VkQueueFamilyProperties *families, uint32_t count,
                            VkQueueFlags with, VkQueueFlags without)
{
    for (uint32_t i = 0; i < count; i++)
        if ((families[i].queueFlags & with) == with && !(families[i].queueFlags & without) &&
            families[i].queueCount)
            return i;
    return FAMILIES_MAX;
}

static void set_queue(struct vk_device *device, enum gx_queue q, uint32_t family,
                      const VkQueueFamilyProperties *properties)
{
    uint32_t bits = properties->timestampValidBits;
    device->queue[q].family = family;
    device->queue[q].copies_only =
        !(properties->queueFlags & (VK_QUEUE_COMPUTE_BIT | VK_QUEUE_GRAPHICS_BIT));
    device->queue[q].stamp_mask = bits >= 64 ? UINT64_MAX : ((uint64_t)1 << bits) - 1;
    device->gpu.alias[q] = q;
    for (uint32_t i = 0; i < device->families; i++)
        if (device->family[i] == family)
            return;
    device->family[device->families++] = family;
}

/* Copies get their own queues if the device has dedicated copy engines: two if there are two.
 * Otherwise there is one queue: a second one of the compute family would share the same engine. */
static gx_status choose_queues(struct vk_device *device)
{
    VkQueueFamilyProperties families[FAMILIES_MAX];
    uint32_t count = FAMILIES_MAX;
    const VkQueueFlags shaders = VK_QUEUE_COMPUTE_BIT | VK_QUEUE_GRAPHICS_BIT;
    const VkQueueFlags special =
        0x20 | 0x40; /* video decoding and encoding, from newer headers than some we build with */
    device->loader->fn.GetPhysicalDeviceQueueFamilyProperties(device->physical->handle, &count,
                                                              families);
    uint32_t compute = find_family(families, count, VK_QUEUE_COMPUTE_BIT, 0);
    if (compute == FAMILIES_MAX)
        return GX_ERR_UNSUPPORTED;
    set_queue(device, GX_QUEUE_COMPUTE, compute, &families[compute]);
    device->gpu.alias[GX_QUEUE_UPLOAD] = device->gpu.alias[GX_QUEUE_DOWNLOAD] = GX_QUEUE_COMPUTE;
    uint32_t copies = find_family(families, count, VK_QUEUE_TRANSFER_BIT, shaders | special);
    if (copies == FAMILIES_MAX)
        return GX_OK;
    set_queue(device, GX_QUEUE_UPLOAD, copies, &families[copies]);
    device->gpu.alias[GX_QUEUE_DOWNLOAD] = GX_QUEUE_UPLOAD;
    if (families[copies].queueCount > 1)
        set_queue(device, GX_QUEUE_DOWNLOAD, copies, &families[copies]);
    return GX_OK;
}

static gx_status open_queue(struct vk_device *device, enum gx_queue q)
{
    static const char *const names[VK_QUEUES] = {"compute", "upload", "download"};
    struct vk_queue *queue = &device->queue[q];
    uint32_t index =
        q == GX_QUEUE_DOWNLOAD && device->gpu.alias[q] == q; /* besides the one for uploads */
    device->fn.vkGetDeviceQueue(device->handle, queue->family, index, &queue->handle);
    VkSemaphoreTypeCreateInfo type = {.sType = VK_STRUCTURE_TYPE_SEMAPHORE_TYPE_CREATE_INFO,
                                      .semaphoreType = VK_SEMAPHORE_TYPE_TIMELINE};
    VkSemaphoreCreateInfo info = {.sType = VK_STRUCTURE_TYPE_SEMAPHORE_CREATE_INFO, .pNext = &type};
    VkResult r = device->fn.vkCreateSemaphore(device->handle, &info, NULL, &queue->timeline);
    if (r != VK_SUCCESS)
        queue->timeline = VK_NULL_HANDLE;
    gx__vk_name(device, VK_OBJECT_TYPE_SEMAPHORE, (uint64_t)queue->timeline, "gx %s", names[q]);
    return gx__vk_status(device, r, "vkCreateSemaphore");
}

/* ---- open ---- */

static gx_status create_device(struct vk_device *device)
{
    const char *extensions[5];
    uint32_t extension_count;
    gx_status s = find_extensions(device, extensions, &extension_count);
    if (s != GX_OK)
        return s;
    find_limits(device);
    VkPhysicalDeviceVulkan12Features have12 = {
        .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_2_FEATURES};
    VkPhysicalDeviceFeatures2 have = {.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_FEATURES_2,
                                      .pNext = &have12};
    device->loader->fn.GetPhysicalDeviceFeatures2(device->physical->handle, &have);
    device->meets |= have.features.shaderInt64 ? GX_SHADER_NEEDS_INT64 : 0;
    device->has_query_reset = have12.hostQueryReset;

    VkPhysicalDeviceVulkan12Features use12 = {
        .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_2_FEATURES,
        .timelineSemaphore = VK_TRUE,
        .hostQueryReset = have12.hostQueryReset};
    VkPhysicalDeviceFeatures use = {.shaderInt64 = have.features.shaderInt64};
    const float priorities[2] = {1, 1};
    VkDeviceQueueCreateInfo queues[VK_QUEUES];
    for (uint32_t i = 0; i < device->families; i++)
        queues[i] = (VkDeviceQueueCreateInfo){
            .sType = VK_STRUCTURE_TYPE_DEVICE_QUEUE_CREATE_INFO,
            .queueFamilyIndex = device->family[i],
            .queueCount = 1 + (i && device->gpu.alias[GX_QUEUE_DOWNLOAD] == GX_QUEUE_DOWNLOAD),
            .pQueuePriorities = priorities};
    VkDeviceCreateInfo info = {.sType = VK_STRUCTURE_TYPE_DEVICE_CREATE_INFO,
                               .pNext = &use12,
                               .queueCreateInfoCount = device->families,
                               .pQueueCreateInfos = queues,
                               .enabledExtensionCount = extension_count,
                               .ppEnabledExtensionNames = extensions,
                               .pEnabledFeatures = &use};
    gx__vulkan_list_lock();
    VkResult r =
        device->loader->fn.CreateDevice(device->physical->handle, &info, NULL, &device->handle);
    if (r == VK_SUCCESS)
        gx__vk_device_functions(device->loader->fn.GetDeviceProcAddr, device->handle, &device->fn);
    else
        device->handle = VK_NULL_HANDLE;
    gx__vulkan_list_unlock();
    return gx__vk_status(device, r, "vkCreateDevice");
}

static void set_facts(struct vk_device *device)
{
    struct gx_device_facts *facts = &device->gpu.base->facts;
    *facts = gx__gpu_facts(&device->gpu, device->physical->base.software);
    facts->mem_kinds = GX_MEM_BIT(GX_MEM_DEVICE) | GX_MEM_BIT(GX_MEM_UPLOAD) |
                       GX_MEM_BIT(GX_MEM_READBACK) | GX_MEM_BIT(GX_MEM_SHARED);
    facts->import_align = device->has_memory_host ? (size_t)device->limits.import_align : 0;
    facts->row_bytes = SLOW_ROW_BYTES;
    facts->memory = device->gpu.base->info.memory_bytes;
    facts->timestamps = device->has_query_reset;
    for (int q = 0; q < VK_QUEUES; q++) {
        if ((int)device->gpu.alias[q] != q)
            continue;
        facts->queues |= GX_QUEUE_BIT(q);
        facts->timestamps = facts->timestamps && device->queue[q].stamp_mask;
    }
}

static gx_status open_parts(struct vk_device *device)
{
    gx_status s = choose_queues(device);
    if (s == GX_OK)
        s = create_device(device);
    for (enum gx_queue q = 0; q < VK_QUEUES && s == GX_OK; q++)
        if (device->gpu.alias[q] == q)
            s = open_queue(device, q);
    if (s != GX_OK)
        return s;
    set_facts(device);
    s = gx__vk_memory_open(device);
    if (s == GX_OK)
        s = gx__vk_pipelines_open(device);
    if (s == GX_OK)
        s = gx__vk_clock_open(device);
    return s == GX_OK ? gx__gpu_calibrate(&device->gpu) : s;
}

static const struct gx_gpu_ops gpu_ops = {.cache_key = cache_key,
                                          .believable = believable,
                                          .cmd_bytes = sizeof(struct vk_cmd),
                                          .cmd_open = gx__vk_cmd_open,
                                          .cmd_begin = gx__vk_cmd_begin,
                                          GX_GPU_OPS(GX_GPU_MEMBER, vk)};

static gx_status vulkan_open(struct gx_device *base)
{
    struct vk_device *device = gx__gpu_open(base, sizeof *device, &gpu_ops);
    if (!device)
        return GX_ERR_OUT_OF_MEMORY;
    device->loader = (struct vk_loader *)device->gpu.list;
    device->physical = (const struct vk_physical *)device->gpu.listed;
    pthread_mutex_init(&device->layer_lock, NULL);
    pthread_mutex_init(&device->clock.lock, NULL);
    for (int q = 0; q < VK_QUEUES; q++)
        pthread_mutex_init(&device->queue[q].lock, NULL);
    device->names = watched(device);
    return open_parts(device);
}

/* ---- close ---- */

static void close_handle(struct vk_device *device)
{
    if (device->handle && !atomic_load(&device->hung))
        device->fn.vkDeviceWaitIdle(device->handle); /* on a lost device this returns at once */
    gx__gpu_commands_close(&device->gpu);
    gx__gpu_close(&device->gpu);
    if (!device->handle)
        return;
    gx__vk_pipelines_close(device);
    gx__vk_memory_close(device);
    if (atomic_load(&device->hung))
        return;
    for (int q = 0; q < VK_QUEUES; q++)
        device->fn.vkDestroySemaphore(device->handle, device->queue[q].timeline, NULL);
    gx__vulkan_list_lock();
    device->fn.vkDestroyDevice(device->handle, NULL);
    gx__vulkan_list_unlock();
}

static void vulkan_close(struct gx_device *base)
{
    struct vk_device *device = base->impl;
    if (!device)
        return;
    gx__gpu_calibration_save(&device->gpu);
    close_handle(device);
    for (int q = 0; q < VK_QUEUES; q++)
        pthread_mutex_destroy(&device->queue[q].lock);
    pthread_mutex_destroy(&device->layer_lock);
    pthread_mutex_destroy(&device->clock.lock);
    gx__gpu_free(&device->gpu);
}

const struct gx_device_ops gx__vulkan_ops = {GX_GPU_SHARED,
                                             .name = "vulkan",
                                             .lister = &gx__vk_lister,
                                             .open = vulkan_open,
                                             .close = vulkan_close,
                                             .mem_import = gx__vk_mem_import,
                                             .dispatch = gx__vk_dispatch,
                                             .barrier = gx__vk_barrier,
                                             GX_GPU_DEVICE_OPS(GX_GPU_MEMBER, vk)};
