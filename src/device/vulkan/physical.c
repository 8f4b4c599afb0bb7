/* SPDX-License-Identifier: Apache-2.0
 *
 * Lists the devices: usable ones first, and a GPU offered by two drivers only once, with its
 * vendor's driver. Software devices are never merged: two driver files of the same software driver
 * report the same UUID but count as two devices.
 */
#include "device/vulkan/vulkan.h"

#include <stdio.h>
#include <string.h>

#define EXTENSIONS_MAX 512

/* ---- describing one ---- */

static void describe(struct vk_physical *p, const VkPhysicalDeviceDriverProperties *driver)
{
    uint32_t v = p->properties.apiVersion;
    snprintf(p->base.info.description, sizeof p->base.info.description,
             "%.48s, %.16s %.26s, Vulkan %u.%u.%u, %.1f GiB", p->properties.deviceName,
             driver->driverName, driver->driverInfo, VK_API_VERSION_MAJOR(v),
             VK_API_VERSION_MINOR(v), VK_API_VERSION_PATCH(v),
             (double)p->base.info.memory_bytes / (1 << 30));
}

static uint64_t device_local_bytes(const struct vk_loader *loader, VkPhysicalDevice handle)
{
    VkPhysicalDeviceMemoryProperties memory;
    loader->fn.GetPhysicalDeviceMemoryProperties(handle, &memory);
    uint64_t most = 0;
    for (uint32_t i = 0; i < memory.memoryHeapCount; i++)
        if (memory.memoryHeaps[i].flags & VK_MEMORY_HEAP_DEVICE_LOCAL_BIT &&
            memory.memoryHeaps[i].size > most)
            most = memory.memoryHeaps[i].size;
    return most;
}

static bool has_timeline(const struct vk_loader *loader, VkPhysicalDevice handle)
{
    VkPhysicalDeviceVulkan12Features v12 = {
        .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_2_FEATURES};
    VkPhysicalDeviceFeatures2 features = {.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_FEATURES_2,
                                          .pNext = &v12};
    loader->fn.GetPhysicalDeviceFeatures2(handle, &features);
    return v12.timelineSemaphore;
}

static bool offers_pci(const struct vk_loader *loader, VkPhysicalDevice handle)
{
    uint32_t count = EXTENSIONS_MAX;
    VkExtensionProperties list[EXTENSIONS_MAX];
    VkResult r = loader->fn.EnumerateDeviceExtensionProperties(handle, NULL, &count, list);
    return (r == VK_SUCCESS || r == VK_INCOMPLETE) &&
           gx__vk_has_extension(list, count, VK_EXT_PCI_BUS_INFO_EXTENSION_NAME);
}

/* Only for devices with Vulkan 1.2 or later. */
static void look_closer(const struct vk_loader *loader, struct vk_physical *p)
{
    VkPhysicalDevicePCIBusInfoPropertiesEXT pci = {
        .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_PCI_BUS_INFO_PROPERTIES_EXT};
    VkPhysicalDeviceDriverProperties driver = {
        .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_DRIVER_PROPERTIES};
    VkPhysicalDeviceIDProperties id = {.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_ID_PROPERTIES,
                                       .pNext = &driver};
    VkPhysicalDeviceProperties2 all = {.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_PROPERTIES_2,
                                       .pNext = &id};
    p->has_pci = offers_pci(loader, p->handle);
    if (p->has_pci)
        driver.pNext = &pci;
    loader->fn.GetPhysicalDeviceProperties2(p->handle, &all);
    p->driver_id = driver.driverID;
    memcpy(p->base.uuid, id.deviceUUID, sizeof p->base.uuid);
    memcpy(p->driver_uuid, id.driverUUID, sizeof p->driver_uuid);
    memcpy(p->pci, (uint32_t[]){pci.pciDomain, pci.pciBus, pci.pciDevice, pci.pciFunction},
           sizeof p->pci);
    describe(p, &driver);
}

static void inspect(const struct vk_loader *loader, struct vk_physical *p)
{
    loader->fn.GetPhysicalDeviceProperties(p->handle, &p->properties);
    uint32_t v = p->properties.apiVersion;
    p->base.software = p->properties.deviceType == VK_PHYSICAL_DEVICE_TYPE_CPU;
    p->base.info = (gx_device_info){.kind = GX_DEVICE_VULKAN};
    snprintf(p->base.name, sizeof p->base.name, "%s", p->properties.deviceName);
    p->base.info.memory_bytes = device_local_bytes(loader, p->handle);
    if (v >= VK_API_VERSION_1_2) {
        look_closer(loader, p);
        p->base.info.usable = has_timeline(loader, p->handle);
    }
    p->base.info.automatic = p->base.info.usable && !p->base.software;
    if (!p->base.info.usable)
        snprintf(
            p->base.info.description, sizeof p->base.info.description,
            "%.40s has Vulkan %u.%u, needs 1.2 with timeline semaphores: install a newer driver",
            p->properties.deviceName, VK_API_VERSION_MAJOR(v), VK_API_VERSION_MINOR(v));
}

/* ---- the same GPU twice ---- */

/* The vendor's driver before an open-source one, and both before a layer over another API. */
static int rank(const struct vk_physical *p)
{
    if (!p->base.info.usable)
        return -2;
    switch (p->driver_id) {
    case VK_DRIVER_ID_NVIDIA_PROPRIETARY:
    case VK_DRIVER_ID_AMD_PROPRIETARY:
    case VK_DRIVER_ID_AMD_OPEN_SOURCE:
    case VK_DRIVER_ID_INTEL_PROPRIETARY_WINDOWS:
    case VK_DRIVER_ID_QUALCOMM_PROPRIETARY:
    case VK_DRIVER_ID_ARM_PROPRIETARY:
        return 1;
    case VK_DRIVER_ID_MESA_DOZEN:
        return -1;
    default:
        return 0;
    }
}

static bool same_gpu(const struct vk_physical *a, const struct vk_physical *b)
{
    static const uint8_t none[VK_UUID_SIZE];
    if (a->base.software || b->base.software)
        return false;
    if (a->has_pci && b->has_pci)
        return !memcmp(a->pci, b->pci, sizeof a->pci);
    return !memcmp(a->base.uuid, b->base.uuid, sizeof a->base.uuid) &&
           memcmp(a->base.uuid, none, sizeof none);
}

static void add(struct vk_loader *loader, const struct vk_physical *p)
{
    for (size_t i = 0; i < loader->list.count; i++) {
        struct vk_physical *known = &loader->physical[i];
        if (!same_gpu(known, p))
            continue;
        if (rank(p) > rank(known))
            *known = *p;
        return;
    }
    if (loader->list.count < VK_DEVICES_MAX)
        loader->physical[loader->list.count++] = *p;
}

/* Otherwise keeps the driver's order: "vulkan:0" is the first usable device. */
static void usable_first(struct vk_loader *loader)
{
    for (size_t i = 1; i < loader->list.count; i++)
        for (size_t k = i; k > 0; k--) {
            struct vk_physical *a = &loader->physical[k - 1], *b = &loader->physical[k], swap = *a;
            if (a->base.info.usable || !b->base.info.usable)
                break;
            *a = *b;
            *b = swap;
        }
}

void gx__vk_list_devices(struct vk_loader *loader)
{
    VkPhysicalDevice handles[VK_DEVICES_MAX * 2];
    uint32_t count = sizeof handles / sizeof *handles;
    VkResult r = loader->fn.EnumeratePhysicalDevices(loader->handle, &count, handles);
    if (r != VK_SUCCESS && r != VK_INCOMPLETE)
        return;
    for (uint32_t i = 0; i < count; i++) {
        struct vk_physical p = {.handle = handles[i]};
        inspect(loader, &p);
        add(loader, &p);
    }
    usable_first(loader);
    for (size_t i = 0; i < loader->list.count; i++)
        snprintf(loader->physical[i].base.info.name, sizeof loader->physical[i].base.info.name,
                 "vulkan:%zu", i);
}
