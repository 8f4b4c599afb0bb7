/* SPDX-License-Identifier: Apache-2.0
 *
 * The only object that contains volk and its global functions. They have common names
 * ("vkCreateInstance"), so the build makes them local to this object, and nothing else refers to
 * them.
 */
#include <dlfcn.h> /* must not be hidden with the rest */
#include <string.h>

#pragma GCC visibility push(hidden)
#define VOLK_IMPLEMENTATION
#include <volk.h>
#pragma GCC visibility pop

#include "device/vulkan/vulkan.h"

static pthread_mutex_t volk_lock = PTHREAD_MUTEX_INITIALIZER;
static bool opened;

/* volkInitialize does this too, but continues if the library is not what its name says. */
static bool open_library(void)
{
    static const char *const names[] = {"libvulkan.so.1", "libvulkan.so", "libvulkan.1.dylib",
                                        "libvulkan.dylib"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        void *library = dlopen(names[i], RTLD_NOW | RTLD_LOCAL);
        void *get = library ? dlsym(library, "vkGetInstanceProcAddr") : NULL;
        if (get) { /* never unloaded: drivers do not support it well */
            PFN_vkGetInstanceProcAddr handler;
            memcpy(&handler, &get, sizeof handler);
            volkInitializeCustom(handler);
            return vkCreateInstance && vkEnumerateInstanceLayerProperties &&
                   vkEnumerateInstanceExtensionProperties;
        }
        if (library)
            dlclose(library);
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
