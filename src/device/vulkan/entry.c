/* SPDX-License-Identifier: Apache-2.0
 *
 * The only object that contains volk and its global functions. They have common names
 * ("vkCreateInstance"), so the build makes them local to this object, and nothing else refers to
 * them.
 */
#include <string.h>

#define VOLK_IMPLEMENTATION
#include <volk.h>

#include "base/os.h"
#include "device/vulkan/vulkan.h"

static pthread_mutex_t volk_lock = PTHREAD_MUTEX_INITIALIZER;
static bool opened;

/* volkInitialize does this too, but continues if the library is not what its name says. */
static bool open_library(void)
{
    static const char *const names[] = {
        GX_OS_NAME("libvulkan.so.1", "libvulkan.1.dylib", "vulkan-1.dll"),
        GX_OS_NAME("libvulkan.so", "libvulkan.dylib", "vulkan-1.dll")};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        void *library = gx__os_library(names[i]);
        void *get = library ? gx__os_symbol(library, "vkGetInstanceProcAddr") : NULL;
        if (get) {
            PFN_vkGetInstanceProcAddr handler;
            memcpy(&handler, &get, sizeof handler);
            volkInitializeCustom(handler);
            return vkCreateInstance && vkEnumerateInstanceLayerProperties &&
                   vkEnumerateInstanceExtensionProperties;
        }
    }
    return false;
}

bool gx__vk_entry(struct vk_entry *entry)
{
    pthread_mutex_lock(&volk_lock);
    if (!opened)
        opened = open_library();
    bool ok = opened;
    if (ok)
        *entry = (struct vk_entry){
            .GetInstanceProcAddr = vkGetInstanceProcAddr,
            .CreateInstance = vkCreateInstance,
            .EnumerateInstanceVersion = vkEnumerateInstanceVersion,
            .EnumerateInstanceLayerProperties = vkEnumerateInstanceLayerProperties,
            .EnumerateInstanceExtensionProperties = vkEnumerateInstanceExtensionProperties};
    pthread_mutex_unlock(&volk_lock);
    return ok;
}

void gx__vk_device_functions(PFN_vkGetDeviceProcAddr get, VkDevice device,
                             struct VolkDeviceTable *table)
{
    pthread_mutex_lock(&volk_lock);
    vkGetDeviceProcAddr = get; /* what volk uses to load the rest */
    volkLoadDeviceTable(table, device);
    pthread_mutex_unlock(&volk_lock);
}
