/* SPDX-License-Identifier: Apache-2.0
 *
 * Finds Vulkan. One VkInstance per context, created when devices are first listed and destroyed
 * with the context. Anything missing becomes one line that says so and what to install; the library
 * works without it.
 */
#include "device/vulkan/vulkan.h"

#include <stdio.h>
#include <string.h>

#include "base/log.h"

#define VALIDATION_LAYER "VK_LAYER_KHRONOS_validation"
#define LAYERS_MAX       64
#define EXTENSIONS_MAX   128

/* ---- validation ---- */

/* Messages of the validation layer are our errors and are counted; drivers and the loader may log
 * here too, and are only passed on. */
static VKAPI_ATTR VkBool32 VKAPI_CALL on_message(VkDebugUtilsMessageSeverityFlagBitsEXT severity,
                                                 VkDebugUtilsMessageTypeFlagsEXT type,
                                                 const VkDebugUtilsMessengerCallbackDataEXT *data,
                                                 void *user)
{
    (void)severity;
    struct gx_instance *instance = user;
    bool ours = type & (VK_DEBUG_UTILS_MESSAGE_TYPE_VALIDATION_BIT_EXT |
                        VK_DEBUG_UTILS_MESSAGE_TYPE_PERFORMANCE_BIT_EXT);
    if (ours)
        gx__count(&instance->counters.validation_messages, 1);
    if (!instance->config.log)
        return VK_FALSE;
    char message[2048]; /* gx__log's buffer is too short for these */
    snprintf(message, sizeof message, "%s: %s", ours ? "vulkan validation" : "vulkan",
             data->pMessage);
    for (char *c = message; *c; c++)
        *c = *c == '\n' ? ' ' : *c;
    instance->config.log(instance->config.log_user, GX_LOG_WARNING, message);
    return VK_FALSE;
}

static VkDebugUtilsMessengerCreateInfoEXT messenger_info(struct gx_instance *instance)
{
    return (VkDebugUtilsMessengerCreateInfoEXT){
        .sType = VK_STRUCTURE_TYPE_DEBUG_UTILS_MESSENGER_CREATE_INFO_EXT,
        .messageSeverity = VK_DEBUG_UTILS_MESSAGE_SEVERITY_WARNING_BIT_EXT |
                           VK_DEBUG_UTILS_MESSAGE_SEVERITY_ERROR_BIT_EXT,
        .messageType = VK_DEBUG_UTILS_MESSAGE_TYPE_GENERAL_BIT_EXT |
                       VK_DEBUG_UTILS_MESSAGE_TYPE_VALIDATION_BIT_EXT |
                       VK_DEBUG_UTILS_MESSAGE_TYPE_PERFORMANCE_BIT_EXT,
        .pfnUserCallback = on_message,
        .pUserData = instance};
}

static bool has_layer(const struct vk_entry *entry, const char *name)
{
    VkLayerProperties layers[LAYERS_MAX];
    uint32_t count = LAYERS_MAX;
    VkResult r = entry->EnumerateInstanceLayerProperties(&count, layers);
    if (r != VK_SUCCESS && r != VK_INCOMPLETE)
        return false;
    for (uint32_t i = 0; i < count; i++)
        if (!strcmp(layers[i].layerName, name))
            return true;
    return false;
}

/* ---- the instance ---- */

bool gx__vk_has_extension(const VkExtensionProperties *list, uint32_t count, const char *name)
{
    for (uint32_t i = 0; i < count; i++)
        if (!strcmp(list[i].extensionName, name))
            return true;
    return false;
}

static bool load_functions(struct vk_loader *loader, const struct vk_entry *entry)
{
    bool complete = true;
#define X(name)                                                                                    \
    loader->fn.name =                                                                              \
        (PFN_vk##name)(void (*)(void))entry->GetInstanceProcAddr(loader->handle, "vk" #name);
    VK_INSTANCE_FUNCTIONS(X)
    VK_OPTIONAL_FUNCTIONS(X)
#undef X
#define X(name) complete = complete && loader->fn.name;
    VK_INSTANCE_FUNCTIONS(X)
#undef X
    return complete;
}

/* Room for the names passed to vkCreateInstance. */
struct instance_setup {
    const char *layers[1];
    const char *extensions[2];
    VkApplicationInfo app;
    VkDebugUtilsMessengerCreateInfoEXT messenger;
    VkInstanceCreateInfo info;
};

static VkResult set_up(struct instance_setup *setup, struct vk_loader *loader,
                       struct gx_instance *instance, const struct vk_entry *entry)
{
    static const char portability[] = "VK_KHR_portability_enumeration";
    VkExtensionProperties list[EXTENSIONS_MAX];
    uint32_t count = EXTENSIONS_MAX;
    VkResult r = entry->EnumerateInstanceExtensionProperties(NULL, &count, list);
    if (r != VK_SUCCESS && r != VK_INCOMPLETE)
        return r;
    setup->app = (VkApplicationInfo){.sType = VK_STRUCTURE_TYPE_APPLICATION_INFO,
                                     .pApplicationName = "gpuexec",
                                     .pEngineName = "gpuexec",
                                     .apiVersion = VK_API_VERSION_1_2};
    VkInstanceCreateInfo *info = &setup->info;
    *info = (VkInstanceCreateInfo){.sType = VK_STRUCTURE_TYPE_INSTANCE_CREATE_INFO,
                                   .pApplicationInfo = &setup->app,
                                   .ppEnabledLayerNames = setup->layers,
                                   .ppEnabledExtensionNames = setup->extensions};
    loader->debug_utils = gx__vk_has_extension(list, count, VK_EXT_DEBUG_UTILS_EXTENSION_NAME);
    if (loader->debug_utils)
        setup->extensions[info->enabledExtensionCount++] = VK_EXT_DEBUG_UTILS_EXTENSION_NAME;
    if (gx__vk_has_extension(list, count, portability)) {
        setup->extensions[info->enabledExtensionCount++] = portability;
        info->flags |= VK_INSTANCE_CREATE_ENUMERATE_PORTABILITY_BIT_KHR;
    }
    if (!instance->config.validate)
        return VK_SUCCESS;
    setup->layers[info->enabledLayerCount++] = VALIDATION_LAYER;
    setup->messenger = messenger_info(instance);
    if (loader->debug_utils)
        info->pNext = &setup->messenger; /* also receives messages about the instance itself */
    return VK_SUCCESS;
}

static bool create_instance(struct vk_loader *loader, struct gx_instance *instance,
                            const struct vk_entry *entry)
{
    uint32_t version = VK_API_VERSION_1_0;
    if (entry->EnumerateInstanceVersion)
        entry->EnumerateInstanceVersion(&version);
    if (version < VK_API_VERSION_1_1)
        return gx__explain(&loader->list.why_none,
                           "no Vulkan: the loader is older than 1.1: upgrade libvulkan1");
    if (instance->config.validate && !has_layer(entry, VALIDATION_LAYER))
        return gx__explain(&loader->list.why_none,
                           "no Vulkan: validation was requested, but its layer is missing: "
                           "install vulkan-validationlayers");
    struct instance_setup setup;
    VkResult r = set_up(&setup, loader, instance, entry);
    if (r == VK_SUCCESS && instance->config.validate && !loader->debug_utils)
        return gx__explain(&loader->list.why_none,
                           "no Vulkan: validation was requested, but the loader lacks "
                           "VK_EXT_debug_utils: upgrade libvulkan1");
    if (r == VK_SUCCESS)
        r = entry->CreateInstance(&setup.info, NULL, &loader->handle);
    if (r != VK_SUCCESS) {
        loader->handle = VK_NULL_HANDLE;
        return gx__explain(&loader->list.why_none,
                           "no Vulkan driver could be loaded (%d): install the GPU's driver or "
                           "mesa-vulkan-drivers, or correct VK_ICD_FILENAMES",
                           (int)r);
    }
    if (!load_functions(loader, entry))
        return gx__explain(&loader->list.why_none,
                           "no Vulkan: the loader lacks Vulkan 1.1: upgrade libvulkan1");
    if (instance->config.validate) {
        r = loader->fn.CreateDebugUtilsMessengerEXT(loader->handle, &setup.messenger, NULL,
                                                    &loader->messenger);
        if (r != VK_SUCCESS)
            return gx__explain(&loader->list.why_none,
                               "no Vulkan: cannot create a validation messenger (%d)", (int)r);
    }
    return true;
}

static void destroy_instance(struct vk_loader *loader)
{
    if (loader->messenger)
        loader->fn.DestroyDebugUtilsMessengerEXT(loader->handle, loader->messenger, NULL);
    loader->messenger = VK_NULL_HANDLE;
    if (loader->handle && loader->fn.DestroyInstance && !atomic_load(&loader->hung))
        loader->fn.DestroyInstance(loader->handle, NULL);
    loader->handle = VK_NULL_HANDLE;
}

/* A GPU must not be chosen twice: CUDA is faster where it is available. */
static void leave_to_cuda(struct vk_loader *loader, struct gx_instance *instance)
{
    for (size_t i = 0; i < loader->list.count; i++)
        if (loader->physical[i].base.info.automatic &&
            gx__cuda_reaches(instance, loader->physical[i].base.uuid))
            loader->physical[i].base.info.automatic = 0;
}

static void start(struct gx_gpu_list *list, struct gx_instance *instance)
{
    struct vk_loader *loader = (struct vk_loader *)list;
    struct vk_entry entry;
    if (!gx__shader_count)
        gx__explain(&loader->list.why_none,
                    "no Vulkan: this build has no kernels for it: build with -DGPUEXEC_VULKAN=ON");
    else if (!gx__can_load_drivers())
        gx__explain(&loader->list.why_none,
                    "no Vulkan: a program linked with -static cannot load drivers");
    else if (!gx__vk_entry(&entry))
        gx__explain(&loader->list.why_none,
                    "no Vulkan loader (libvulkan.so.1) is installed: install libvulkan1 and a "
                    "driver, such as mesa-vulkan-drivers");
    else if (create_instance(loader, instance, &entry))
        gx__vk_list_devices(loader);
    leave_to_cuda(loader, instance);
    if (loader->list.count)
        return;
    if (!loader->list.why_none.text[0])
        gx__explain(&loader->list.why_none, "no Vulkan device found: install the GPU's driver, or "
                                            "mesa-vulkan-drivers for a software device");
    gx__log(instance, instance->config.validate ? GX_LOG_ERROR : GX_LOG_INFO, "%s",
            loader->list.why_none.text);
    destroy_instance(loader);
}

static void stop(struct gx_gpu_list *list)
{
    destroy_instance((struct vk_loader *)list);
}

struct gx_gpu_lister gx__vk_lister = {.lock = PTHREAD_MUTEX_INITIALIZER,
                                      .kind = GX_DEVICE_VULKAN,
                                      .place = offsetof(struct gx_instance, vulkan),
                                      .bytes = sizeof(struct vk_loader),
                                      .first = offsetof(struct vk_loader, physical),
                                      .stride = sizeof(struct vk_physical),
                                      .start = start,
                                      .stop = stop};
