/* SPDX-License-Identifier: Apache-2.0
 *
 * A Vulkan driver that is too old: lavapipe, whose library GX_TEST_LAVAPIPE names, except for the
 * version that its device reports.
 */
#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>

#include <vulkan/vulkan.h>

/* What the loader looks for in a driver; not declared in any header. */
#define EXPORT __attribute__((visibility("default")))
EXPORT VKAPI_ATTR VkResult VKAPI_CALL vk_icdNegotiateLoaderICDInterfaceVersion(uint32_t *version);
EXPORT VKAPI_ATTR PFN_vkVoidFunction VKAPI_CALL vk_icdGetInstanceProcAddr(VkInstance instance,
                                                                          const char *name);

static PFN_vkGetPhysicalDeviceProperties get_properties;

/* The function of that name in the real driver; a void (*)(void), converted with memcpy because C
 * has no conversion. */
static void look_up(const char *name, void *function)
{
    static void *driver;
    const char *path = getenv("GX_TEST_LAVAPIPE");
    if (!driver && path)
        driver = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    void *found = driver ? dlsym(driver, name) : NULL;
    memcpy(function, &found, sizeof found);
}

VKAPI_ATTR VkResult VKAPI_CALL vk_icdNegotiateLoaderICDInterfaceVersion(uint32_t *version)
{
    VkResult(VKAPI_PTR * negotiate)(uint32_t *);
    look_up("vk_icdNegotiateLoaderICDInterfaceVersion", &negotiate);
    if (!negotiate)
        return VK_ERROR_INCOMPATIBLE_DRIVER;
    *version = *version < 3 ? *version : 3; /* the last that asks for nothing else */
    return negotiate(version);
}

static VKAPI_ATTR void VKAPI_CALL report_old(VkPhysicalDevice device,
                                             VkPhysicalDeviceProperties *properties)
{
    get_properties(device, properties);
    properties->apiVersion = VK_API_VERSION_1_1;
}

VKAPI_ATTR PFN_vkVoidFunction VKAPI_CALL vk_icdGetInstanceProcAddr(VkInstance instance,
                                                                   const char *name)
{
    PFN_vkGetInstanceProcAddr get;
    look_up("vk_icdGetInstanceProcAddr", &get);
    PFN_vkVoidFunction found = get ? get(instance, name) : NULL;
    if (!found || strcmp(name, "vkGetPhysicalDeviceProperties") != 0)
        return found;
    get_properties = (PFN_vkGetPhysicalDeviceProperties)found;
    return (PFN_vkVoidFunction)report_old;
}
