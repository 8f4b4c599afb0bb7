/* SPDX-License-Identifier: Apache-2.0
 *
 * Shared by the files of the Vulkan device. One file per concern: entry.c (volk), loader.c (finding
 * Vulkan), physical.c (list of devices), device.c (open, close, queues), memory.c, measure.c
 * (memory speeds), pipeline.c, kernel.c (choice of modules), commands.c and dispatch.c (recording),
 * submit.c, clock.c (timestamps on the host's clock).
 */
#ifndef GX_DEVICE_VULKAN_VULKAN_H
#define GX_DEVICE_VULKAN_VULKAN_H

#include <pthread.h>
#include <volk.h>

#include "base/error.h"
#include "device/gpu/gpu.h"
#include "kernel/shaders.h"

#define VK_DEVICES_MAX 16
#define VK_QUEUES      3 /* one per enum gx_queue */

/* Only entry.c touches volk's global functions: with several contexts they would be overwritten
 * while in use. What an instance needs is here. */
#define VK_INSTANCE_FUNCTIONS(X)                                                                   \
    X(DestroyInstance)                                                                             \
    X(EnumeratePhysicalDevices)                                                                    \
    X(EnumerateDeviceExtensionProperties)                                                          \
    X(GetPhysicalDeviceProperties)                                                                 \
    X(GetPhysicalDeviceProperties2)                                                                \
    X(GetPhysicalDeviceFeatures2)                                                                  \
    X(GetPhysicalDeviceMemoryProperties)                                                           \
    X(GetPhysicalDeviceMemoryProperties2)                                                          \
    X(GetPhysicalDeviceQueueFamilyProperties)                                                      \
    X(CreateDevice)                                                                                \
    X(GetDeviceProcAddr)

/* NULL if the driver or loader lacks them. */
#define VK_OPTIONAL_FUNCTIONS(X)                                                                   \
    X(CreateDebugUtilsMessengerEXT)                                                                \
    X(DestroyDebugUtilsMessengerEXT)                                                               \
    X(SetDebugUtilsObjectNameEXT)                                                                  \
    X(CmdBeginDebugUtilsLabelEXT)                                                                  \
    X(CmdEndDebugUtilsLabelEXT)                                                                    \
    X(GetPhysicalDeviceToolPropertiesEXT)                                                          \
    X(GetPhysicalDeviceCalibrateableTimeDomainsEXT)

struct vk_instance_fn {
#define X(name) PFN_vk##name name;
    VK_INSTANCE_FUNCTIONS(X)
    VK_OPTIONAL_FUNCTIONS(X)
#undef X
};

/* ---- entry.c ---- */

struct vk_entry {
    PFN_vkGetInstanceProcAddr GetInstanceProcAddr;
    PFN_vkCreateInstance CreateInstance;
    PFN_vkEnumerateInstanceVersion EnumerateInstanceVersion; /* NULL: Vulkan 1.0 */
    PFN_vkEnumerateInstanceLayerProperties EnumerateInstanceLayerProperties;
    PFN_vkEnumerateInstanceExtensionProperties EnumerateInstanceExtensionProperties;
};

/* Opens the system's Vulkan loader, once per process; false if there is none. */
bool gx__vk_entry(struct vk_entry *entry);
void gx__vk_device_functions(PFN_vkGetDeviceProcAddr get, VkDevice device,
                             struct VolkDeviceTable *table);

/* ---- loader.c, physical.c: one VkInstance for the life of a context ---- */

struct vk_physical {
    struct gx_gpu_listed base;
    VkPhysicalDevice handle;
    VkPhysicalDeviceProperties properties;
    VkDriverId driver_id;
    uint8_t driver_uuid[VK_UUID_SIZE];
    bool has_pci;
    uint32_t pci[4]; /* domain, bus, device, function */
};

struct vk_loader {
    struct gx_gpu_list list;
    VkInstance handle;
    VkDebugUtilsMessengerEXT messenger;
    struct vk_instance_fn fn;
    bool debug_utils;
    atomic_bool hung; /* one of its devices hangs, so the instance is never destroyed */
    struct vk_physical physical[VK_DEVICES_MAX];
};

extern struct gx_gpu_lister gx__vk_lister;

/* Fills loader->physical: usable devices first, each GPU once. */
void gx__vk_list_devices(struct vk_loader *loader);
bool gx__vk_has_extension(const VkExtensionProperties *list, uint32_t count, const char *name);

/* ---- device.c ---- */

struct vk_queue {
    VkQueue handle;
    uint32_t family;
    bool copies_only;
    uint64_t stamp_mask; /* mask of valid timestamp bits; 0: no timestamps */
    pthread_mutex_t lock;
    VkSemaphore timeline;
    uint64_t submitted;       /* last value allocated; under lock */
    _Atomic uint64_t reached; /* last value seen */
};

struct vk_limits {
    VkDeviceSize bytes;        /* of one allocation */
    VkDeviceSize import_align; /* 0: no import */
    VkDeviceSize atom;         /* granularity of flushing */
    uint32_t allocations;
    float tick_ns;
};

/* Device and host clock at the same moment. */
struct vk_clock {
    pthread_mutex_t lock;
    bool calibrates; /* the driver reads both at once */
    uint64_t calibrated_at;
    uint64_t ticks, host_ns;
};

struct vk_device {
    struct gx_gpu gpu;
    struct vk_loader *loader;
    const struct vk_physical *physical;
    VkDevice handle;
    struct VolkDeviceTable fn;
    atomic_bool hung;     /* lost because work never ended: waiting for it would not end either, and
                             nothing that it may still use is destroyed */
    atomic_bool not_open; /* small allocations of device memory cannot be host-visible */

    bool has_memory_host, has_budget, has_calibration, has_query_reset, names;
    uint32_t meets;                  /* the GX_SHADER_NEEDS_* that this device meets */
    VkSubgroupFeatureFlags subgroup; /* in compute shaders */
    struct vk_limits limits;

    struct vk_queue queue[VK_QUEUES];
    uint32_t family[VK_QUEUES], families; /* distinct ones, for sharing buffers */

    struct vk_clock clock;

    VkPhysicalDeviceMemoryProperties memory;
    uint32_t buffer_types; /* memory types that buffers can use */
    _Atomic uint64_t heap_used[VK_MAX_MEMORY_HEAPS];
    _Atomic uint32_t allocations;

    VkDescriptorSetLayout set_layout;
    VkPipelineLayout layout;
    VkPipelineCache cache;
    size_t cache_loaded;     /* bytes loaded from the file */
    VkShaderModule *modules; /* under gpu.pipeline_lock */

    pthread_mutex_t layer_lock; /* see vk_watched_begin */
};

static inline struct vk_device *vk_of(const struct gx_device *device)
{
    return device->impl;
}

static inline struct vk_device *vk_of_gpu(const struct gx_gpu *gpu)
{
    return vk_of(gpu->base);
}

/* When a buffer is destroyed, the validation layer looks up its users and then notifies them.
 * Meanwhile a descriptor set that used it may be rewritten for another command, which the layer
 * then blames. So, with validation, the two are serialised. */
static inline void vk_watched_begin(struct vk_device *device)
{
    if (device->gpu.base->instance->config.validate)
        pthread_mutex_lock(&device->layer_lock);
}

static inline void vk_watched_end(struct vk_device *device)
{
    if (device->gpu.base->instance->config.validate)
        pthread_mutex_unlock(&device->layer_lock);
}

static inline const gx_allocator *vk_allocator(const struct vk_device *device)
{
    return &device->gpu.base->instance->config.allocator;
}

/* Converts every VkResult to a status: remembers a lost device and logs the failure. `what` names
 * the call. */
gx_status gx__vk_failed(struct vk_device *device, VkResult result, const char *what);
static inline gx_status gx__vk_status(struct vk_device *device, VkResult result, const char *what)
{
    return result == VK_SUCCESS ? GX_OK : gx__vk_failed(device, result, what);
}
/* For capture tools and the validation layer; does nothing without them. */
void gx__vk_name(struct vk_device *device, VkObjectType type, uint64_t handle, const char *format,
                 ...) GX_PRINTF(4, 5);

/* The functions of its tables, in all files. */
GX_GPU_OPS(GX_GPU_DECLARED, vk)
GX_GPU_DEVICE_OPS(GX_GPU_DECLARED, vk)

/* ---- memory.c ---- */

struct vk_mem {
    VkBuffer buffer;
    VkDeviceMemory memory;
    VkDeviceSize bytes; /* of memory */
    uint32_t type;
    bool coherent;
};

static inline const struct vk_mem *vk_mem_of(const struct gx_mem *mem)
{
    return mem->handle;
}

/* Which types buffers can use, and the first guess at type_of, from flags. */
gx_status gx__vk_memory_open(struct vk_device *device);
void gx__vk_memory_close(struct vk_device *device);
/* As mem_alloc, in memory of one type. */
gx_status gx__vk_alloc_type(struct vk_device *device, uint32_t type, enum gx_mem_kind kind,
                            size_t bytes, struct gx_mem *mem);
VkMemoryPropertyFlags gx__vk_type_flags(const struct vk_device *device, uint32_t type);
/* The type for device memory, or another one of its heap that is coherent and host-writable. */
uint32_t gx__vk_open_type(const struct vk_device *device);

gx_status gx__vk_mem_import(struct gx_device *device, void *host, size_t bytes, struct gx_mem *mem);

/* ---- pipeline.c ---- */

gx_status gx__vk_pipelines_open(struct vk_device *device);
void gx__vk_pipelines_close(struct vk_device *device);

/* ---- kernel.c ---- */

/* The module for a field and family with index `variant` among the usable modules, or
 * gx__shader_count. */
uint32_t gx__vk_module(const struct vk_device *device, gx_field field, enum gx_shader_family family,
                       uint32_t variant);

/* ---- commands.c, submit.c ---- */

void gx__vk_dispatch(struct gx_cmd *cmd, const struct gx_dispatch *dispatch);
void gx__vk_barrier(struct gx_cmd *cmd, enum gx_barrier barrier);
/* How long a command that nobody waits for may still run. After that it is taken to hang. Tests
 * change it. */
#define VK_PATIENCE_NS 30000000000u
extern _Atomic uint64_t gx__vk_patience_ns;

/* ---- clock.c ---- */

gx_status gx__vk_clock_open(struct vk_device *device);
/* Reads both clocks if that is possible and due. On failure what was read before stays in use. */
void gx__vk_clock_calibrate(struct vk_device *device);
/* Converts increasing ticks of a queue, whose counter has the bits of mask, to nanoseconds of
 * gx__now_ns, for work that was submitted then and is done now. */
void gx__vk_clock_convert(struct vk_device *device, uint64_t mask, uint64_t submitted_ns,
                          uint64_t *stamps, uint32_t count);

#endif
