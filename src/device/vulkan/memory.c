/* SPDX-License-Identifier: Apache-2.0
 *
 * Memory: each allocation holds one buffer, and is mapped for life if the host can see it.
 * measure.c decides which memory type serves which kind; this file enforces the limits that drivers
 * only report by failing.
 */
#include "device/vulkan/vulkan.h"

#include <string.h>

#include "base/alloc.h"

#define PROBE_BYTES 65536
/* Other bits mean memory with special rules (protected, lazily allocated, AMD's device-coherent,
 * which must not even be touched without its feature). */
#define KNOWN_FLAGS                                                                                \
    (VK_MEMORY_PROPERTY_DEVICE_LOCAL_BIT | VK_MEMORY_PROPERTY_HOST_VISIBLE_BIT |                   \
     VK_MEMORY_PROPERTY_HOST_COHERENT_BIT | VK_MEMORY_PROPERTY_HOST_CACHED_BIT)

/* Device memory up to this size is taken from a host-writable type if possible; larger buffers are
 * written by copies and need no host address space. */
#define OPEN_FLAGS                                                                                 \
    (VK_MEMORY_PROPERTY_DEVICE_LOCAL_BIT | VK_MEMORY_PROPERTY_HOST_VISIBLE_BIT |                   \
     VK_MEMORY_PROPERTY_HOST_COHERENT_BIT)
#define OPEN_BYTES ((size_t)16 << 20)

VkMemoryPropertyFlags gx__vk_type_flags(const struct vk_device *device, uint32_t type)
{
    return device->memory.memoryTypes[type].propertyFlags;
}

/* ---- limits ---- */

static uint64_t heap_left(const struct vk_device *device, uint32_t heap)
{
    uint64_t size = device->memory.memoryHeaps[heap].size;
    uint64_t used = atomic_load(&device->heap_used[heap]);
    if (!device->has_budget)
        return used < size ? size - used : 0;
    VkPhysicalDeviceMemoryBudgetPropertiesEXT budget = {
        .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_MEMORY_BUDGET_PROPERTIES_EXT};
    VkPhysicalDeviceMemoryProperties2 all = {
        .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_MEMORY_PROPERTIES_2, .pNext = &budget};
    device->loader->fn.GetPhysicalDeviceMemoryProperties2(device->physical->handle, &all);
    return budget.heapUsage[heap] < budget.heapBudget[heap]
               ? budget.heapBudget[heap] - budget.heapUsage[heap]
               : 0;
}

/* Counts an allocation against the device's limit. */
static gx_status reserve(struct vk_device *device, uint32_t type, VkDeviceSize bytes)
{
    uint32_t heap = device->memory.memoryTypes[type].heapIndex;
    if (bytes > device->limits.bytes || bytes > heap_left(device, heap))
        return GX_ERR_OUT_OF_DEVICE_MEMORY;
    if (atomic_fetch_add(&device->allocations, 1) >= device->limits.allocations) {
        atomic_fetch_sub(&device->allocations, 1);
        return GX_ERR_OUT_OF_DEVICE_MEMORY;
    }
    atomic_fetch_add(&device->heap_used[heap], bytes);
    return GX_OK;
}

static void unreserve(struct vk_device *device, uint32_t type, VkDeviceSize bytes)
{
    atomic_fetch_sub(&device->allocations, 1);
    atomic_fetch_sub(&device->heap_used[device->memory.memoryTypes[type].heapIndex], bytes);
}

/* ---- buffers ---- */

/* Shared by all queue families, so that ownership never has to be transferred. */
static VkResult create_buffer(struct vk_device *device, VkDeviceSize bytes, const void *next,
                              VkBuffer *buffer)
{
    bool shared = device->families > 1;
    VkBufferCreateInfo info = {
        .sType = VK_STRUCTURE_TYPE_BUFFER_CREATE_INFO,
        .pNext = next,
        .size = bytes,
        .usage = VK_BUFFER_USAGE_STORAGE_BUFFER_BIT | VK_BUFFER_USAGE_TRANSFER_SRC_BIT |
                 VK_BUFFER_USAGE_TRANSFER_DST_BIT,
        .sharingMode = shared ? VK_SHARING_MODE_CONCURRENT : VK_SHARING_MODE_EXCLUSIVE,
        .queueFamilyIndexCount = shared ? device->families : 0,
        .pQueueFamilyIndices = shared ? device->family : NULL};
    VkResult r = device->fn.vkCreateBuffer(device->handle, &info, NULL, buffer);
    if (r != VK_SUCCESS)
        *buffer = VK_NULL_HANDLE;
    return r;
}

/* Frees a possibly half-built allocation, except for its reservation. */
static void destroy(struct vk_device *device, struct vk_mem *m)
{
    if (!atomic_load(&device->hung)) {
        vk_watched_begin(device);
        device->fn.vkDestroyBuffer(device->handle, m->buffer, NULL);
        vk_watched_end(device);
        device->fn.vkFreeMemory(device->handle, m->memory, NULL); /* also unmaps it */
    }
    gx__free(vk_allocator(device), m);
}

/* Allocates memory for m->buffer, reserved first, and binds it. `next` names the source of the
 * memory if it is not the device. */
static gx_status back_buffer(struct vk_device *device, struct vk_mem *m, const void *next)
{
    gx_status s = reserve(device, m->type, m->bytes);
    if (s != GX_OK)
        return s;
    VkMemoryAllocateInfo info = {.sType = VK_STRUCTURE_TYPE_MEMORY_ALLOCATE_INFO,
                                 .pNext = next,
                                 .allocationSize = m->bytes,
                                 .memoryTypeIndex = m->type};
    VkResult r = device->fn.vkAllocateMemory(device->handle, &info, NULL, &m->memory);
    if (r != VK_SUCCESS)
        m->memory = VK_NULL_HANDLE;
    else
        r = device->fn.vkBindBufferMemory(device->handle, m->buffer, m->memory, 0);
    if (r != VK_SUCCESS)
        unreserve(device, m->type, m->bytes);
    return gx__vk_status(device, r, "vkAllocateMemory");
}

gx_status gx__vk_alloc_type(struct vk_device *device, uint32_t type, enum gx_mem_kind kind,
                            size_t bytes, struct gx_mem *mem)
{
    static const char *const names[GX_MEM_KINDS] = {"device", "upload", "readback", "shared"};
    if (bytes > device->limits.bytes)
        return GX_ERR_OUT_OF_DEVICE_MEMORY;
    struct vk_mem *m = gx__alloc(vk_allocator(device), sizeof *m);
    if (!m)
        return GX_ERR_OUT_OF_MEMORY;
    VkMemoryRequirements needs;
    void *host = NULL;
    gx_status s = gx__vk_status(device, create_buffer(device, bytes ? bytes : 1, NULL, &m->buffer),
                                "vkCreateBuffer");
    if (s != GX_OK)
        goto error;
    device->fn.vkGetBufferMemoryRequirements(device->handle, m->buffer, &needs);
    m->type = type;
    m->bytes = needs.size;
    m->coherent = gx__vk_type_flags(device, type) & VK_MEMORY_PROPERTY_HOST_COHERENT_BIT;
    s = back_buffer(device, m, NULL);
    if (s != GX_OK)
        goto error;
    /* Whether the host may write to this device memory while kernels use other bytes of it. */
    if (gx__vk_type_flags(device, type) & VK_MEMORY_PROPERTY_HOST_VISIBLE_BIT &&
        (kind != GX_MEM_DEVICE || m->coherent)) {
        VkResult r = device->fn.vkMapMemory(device->handle, m->memory, 0, VK_WHOLE_SIZE, 0, &host);
        s = gx__vk_status(device, r, "vkMapMemory");
        if (s != GX_OK) {
            unreserve(device, m->type, m->bytes);
            goto error;
        }
    }
    gx__vk_name(device, VK_OBJECT_TYPE_BUFFER, (uint64_t)m->buffer, "gx %s %zu", names[kind],
                bytes);
    *mem = (struct gx_mem){.kind = kind, .size = bytes, .host = host, .handle = m};
    return GX_OK;
error:
    destroy(device, m);
    return s;
}

uint32_t gx__vk_open_type(const struct vk_device *device)
{
    const VkMemoryType *types = device->memory.memoryTypes;
    uint32_t own = device->gpu.calibration.type_of[GX_MEM_DEVICE];
    bool open = (types[own].propertyFlags & OPEN_FLAGS) == OPEN_FLAGS;
    for (uint32_t i = 0; i < device->memory.memoryTypeCount && !open; i++)
        if (device->buffer_types >> i & 1 && types[i].heapIndex == types[own].heapIndex &&
            (types[i].propertyFlags & OPEN_FLAGS) == OPEN_FLAGS)
            return i;
    return own;
}

/* ---- the contract ---- */

gx_status gx__vk_mem_alloc(struct gx_device *base, enum gx_mem_kind kind, size_t bytes,
                           struct gx_mem *mem)
{
    struct vk_device *device = vk_of(base);
    const struct gx_mem_speed *speed = device->gpu.calibration.speed;
    uint32_t own = device->gpu.calibration.type_of[kind], open = own;
    gx_status s = gx__gpu_alive(&device->gpu);
    if (s != GX_OK)
        return s;
    if (kind == GX_MEM_DEVICE && bytes <= OPEN_BYTES && speed[kind].host_write > 0 &&
        !atomic_load(&device->not_open))
        open = gx__vk_open_type(device);
    s = gx__vk_alloc_type(device, open, kind, bytes, mem);
    if (s == GX_OK || open == own)
        return s;
    atomic_store(&device->not_open, true); /* and do not report it again */
    return gx__vk_alloc_type(device, own, kind, bytes, mem);
}

void gx__vk_mem_free(struct gx_device *base, struct gx_mem *mem)
{
    struct vk_mem *m = mem->handle;
    if (m) {
        unreserve(vk_of(base), m->type, m->bytes);
        destroy(vk_of(base), m);
    }
    *mem = (struct gx_mem){0};
}

/* The type for importing this memory: coherent, because no one flushes it, and preferably cached,
 * as it is for the host. Returns false if there is none. */
static bool import_type(struct vk_device *device, void *host, const VkMemoryRequirements *needs,
                        uint32_t *type)
{
    VkMemoryHostPointerPropertiesEXT properties = {
        .sType = VK_STRUCTURE_TYPE_MEMORY_HOST_POINTER_PROPERTIES_EXT};
    VkResult r = device->fn.vkGetMemoryHostPointerPropertiesEXT(
        device->handle, VK_EXTERNAL_MEMORY_HANDLE_TYPE_HOST_ALLOCATION_BIT_EXT, host, &properties);
    if (r != VK_SUCCESS)
        return false;
    uint32_t bits = properties.memoryTypeBits & needs->memoryTypeBits & device->buffer_types;
    bool found = false;
    for (uint32_t i = 0; i < device->memory.memoryTypeCount; i++) {
        VkMemoryPropertyFlags flags = gx__vk_type_flags(device, i);
        if (!(bits >> i & 1) || !(flags & VK_MEMORY_PROPERTY_HOST_COHERENT_BIT))
            continue;
        if (!found || flags & VK_MEMORY_PROPERTY_HOST_CACHED_BIT)
            *type = i;
        found = true;
        if (flags & VK_MEMORY_PROPERTY_HOST_CACHED_BIT)
            break;
    }
    return found;
}

gx_status gx__vk_mem_import(struct gx_device *base, void *host, size_t bytes, struct gx_mem *mem)
{
    struct vk_device *device = vk_of(base);
    size_t align = base->facts.import_align;
    gx_status s = gx__gpu_alive(&device->gpu);
    if (s != GX_OK)
        return s;
    if (!align || !bytes || bytes % align || (uintptr_t)host % align)
        return GX_ERR_UNSUPPORTED;
    struct vk_mem *m = gx__alloc(vk_allocator(device), sizeof *m);
    if (!m)
        return GX_ERR_OUT_OF_MEMORY;
    VkExternalMemoryBufferCreateInfo external = {
        .sType = VK_STRUCTURE_TYPE_EXTERNAL_MEMORY_BUFFER_CREATE_INFO,
        .handleTypes = VK_EXTERNAL_MEMORY_HANDLE_TYPE_HOST_ALLOCATION_BIT_EXT};
    VkImportMemoryHostPointerInfoEXT import = {
        .sType = VK_STRUCTURE_TYPE_IMPORT_MEMORY_HOST_POINTER_INFO_EXT,
        .handleType = VK_EXTERNAL_MEMORY_HANDLE_TYPE_HOST_ALLOCATION_BIT_EXT,
        .pHostPointer = host};
    VkMemoryRequirements needs;
    s = gx__vk_status(device, create_buffer(device, bytes, &external, &m->buffer),
                      "vkCreateBuffer");
    if (s != GX_OK)
        goto error;
    device->fn.vkGetBufferMemoryRequirements(device->handle, m->buffer, &needs);
    m->bytes = bytes;
    m->coherent = true;
    s = needs.size <= bytes && import_type(device, host, &needs, &m->type) ? GX_OK
                                                                           : GX_ERR_UNSUPPORTED;
    if (s == GX_OK)
        s = back_buffer(device, m, &import);
    if (s != GX_OK)
        goto error;
    gx__vk_name(device, VK_OBJECT_TYPE_BUFFER, (uint64_t)m->buffer, "gx imported %zu", bytes);
    *mem = (struct gx_mem){
        .kind = GX_MEM_SHARED, .size = bytes, .imported = true, .host = host, .handle = m};
    return GX_OK;
error:
    destroy(device, m);
    return s;
}

static VkMappedMemoryRange whole(const struct vk_mem *m)
{
    return (VkMappedMemoryRange){
        .sType = VK_STRUCTURE_TYPE_MAPPED_MEMORY_RANGE, .memory = m->memory, .size = VK_WHOLE_SIZE};
}

gx_status gx__vk_map(struct gx_device *base, struct gx_mem *mem, void **host)
{
    struct vk_device *device = vk_of(base);
    const struct vk_mem *m = vk_mem_of(mem);
    gx_status s = gx__gpu_alive(&device->gpu);
    if (s != GX_OK)
        return s;
    if (!mem->host)
        return GX_ERR_UNSUPPORTED;
    if (!m->coherent) {
        VkMappedMemoryRange range = whole(m);
        s = gx__vk_status(device,
                          device->fn.vkInvalidateMappedMemoryRanges(device->handle, 1, &range),
                          "vkInvalidateMappedMemoryRanges");
    }
    *host = mem->host;
    return s;
}

void gx__vk_unmap(struct gx_device *base, struct gx_mem *mem)
{
    struct vk_device *device = vk_of(base);
    const struct vk_mem *m = vk_mem_of(mem);
    /* Writes to memory behind a bus may still be in this core's write-combining buffers when
     * another core submits. */
    atomic_thread_fence(memory_order_seq_cst);
    if (m->coherent)
        return;
    VkMappedMemoryRange range = whole(m);
    VkResult r = device->fn.vkFlushMappedMemoryRanges(device->handle, 1, &range);
    if (r != VK_SUCCESS) { /* unmap cannot fail, and the written data is lost */
        gx__vk_status(device, r, "vkFlushMappedMemoryRanges");
        atomic_store(&device->gpu.lost, true);
    }
}

/* ---- open and close ---- */

/* How well a type suits a kind, by its flags alone; 0: not at all. */
static int suits(VkMemoryPropertyFlags flags, enum gx_mem_kind kind)
{
    bool local = flags & VK_MEMORY_PROPERTY_DEVICE_LOCAL_BIT;
    bool visible = flags & VK_MEMORY_PROPERTY_HOST_VISIBLE_BIT;
    bool coherent = flags & VK_MEMORY_PROPERTY_HOST_COHERENT_BIT;
    bool cached = flags & VK_MEMORY_PROPERTY_HOST_CACHED_BIT;
    if (kind == GX_MEM_DEVICE)
        return 1 + 4 * local + 2 * !visible;
    if (!visible)
        return 0;
    return 1 + 2 * coherent + (kind == GX_MEM_UPLOAD ? !local : 4 * cached);
}

static void guess_types(struct vk_device *device)
{
    for (enum gx_mem_kind kind = 0; kind < GX_MEM_KINDS; kind++) {
        int best = 0;
        for (uint32_t i = 0; i < device->memory.memoryTypeCount; i++) {
            int fit = device->buffer_types >> i & 1 ? suits(gx__vk_type_flags(device, i), kind) : 0;
            if (fit > best)
                device->gpu.calibration.type_of[kind] = i;
            best = fit > best ? fit : best;
        }
    }
}

gx_status gx__vk_memory_open(struct vk_device *device)
{
    VkBuffer probe;
    VkMemoryRequirements needs;
    device->loader->fn.GetPhysicalDeviceMemoryProperties(device->physical->handle, &device->memory);
    gx_status s =
        gx__vk_status(device, create_buffer(device, PROBE_BYTES, NULL, &probe), "vkCreateBuffer");
    if (s != GX_OK)
        return s;
    device->fn.vkGetBufferMemoryRequirements(device->handle, probe, &needs);
    device->fn.vkDestroyBuffer(device->handle, probe, NULL);
    for (uint32_t i = 0; i < device->memory.memoryTypeCount; i++)
        if (needs.memoryTypeBits >> i & 1 && !(gx__vk_type_flags(device, i) & ~KNOWN_FLAGS))
            device->buffer_types |= 1u << i;
    guess_types(device);
    return gx__vk_mem_alloc(device->gpu.base, GX_MEM_DEVICE, PROBE_BYTES, &device->gpu.nothing);
}

void gx__vk_memory_close(struct vk_device *device)
{
    if (device->gpu.nothing.handle)
        gx__vk_mem_free(device->gpu.base, &device->gpu.nothing);
}
