/* SPDX-License-Identifier: Apache-2.0
 *
 * Lists the adapters that wgpu finds, and names them: "webgpu:vulkan:0", "webgpu:gl:0". Every
 * backend has its own instance, so that one that cannot start does not affect the others.
 */
#include "device/webgpu/webgpu.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/log.h"

/* Storage buffers bound by kernels; immediates hold the push constants. */
#define BINDINGS_NEEDED   GX_BINDINGS
#define IMMEDIATES_NEEDED (GX_K_PUSH_WORDS * 4)

/* Serialises creation and destruction of the loaders of all contexts. */
static pthread_mutex_t loader_lock = PTHREAD_MUTEX_INITIALIZER;

/* EGL has one display per process. If it is open at a fork(), the child inherits it without the
 * driver's threads, and would wait for them forever. Under the lock. */
static size_t gl_open;   /* instances that have it open, */
static pid_t gl_process; /* in this process or one that it was forked from */
static const char gl_message[] =
    "OpenGL was in use at fork(): close contexts first, or exec() in the child";

/* ---- describing one ---- */

static WGPUInstanceBackend backend_bit(enum gx_webgpu_backend backend)
{
    static const WGPUInstanceBackend bits[GX_WEBGPU_BACKENDS] = {
        [GX_WEBGPU_VULKAN] = 1 << 0,
        [GX_WEBGPU_GL] = 1 << 1,
        [GX_WEBGPU_METAL] = 1 << 2,
        [GX_WEBGPU_DX12] = 1 << 3,
    };
    return bits[backend];
}

static uint64_t hash(uint64_t h, WGPUStringView text)
{
    for (size_t i = 0; text.data && i < text.length; i++)
        h = (h ^ (unsigned char)text.data[i]) * 0x100000001b3u; /* FNV-1a */
    return h;
}

static bool has(const struct wg_loader *loader, const struct wg_adapter *a,
                WGPUNativeFeature feature)
{
    return loader->fn.AdapterHasFeature(a->handle, (WGPUFeatureName)feature);
}

/* Empty: nothing is missing. */
static const char *what_is_missing(const struct wg_loader *loader, const struct wg_adapter *a)
{
    if (!has(loader, a, WGPUNativeFeature_Immediates) ||
        a->limits.maxImmediateSize < IMMEDIATES_NEEDED)
        return "no immediates";
    if (a->limits.maxStorageBuffersPerShaderStage < BINDINGS_NEEDED)
        return "too few storage buffers in a shader";
    return "";
}

static void describe(const struct wg_loader *loader, struct wg_adapter *a,
                     const WGPUAdapterInfo *info)
{
    const char *missing = what_is_missing(loader, a);
    a->info.usable = !*missing;
    a->info.kind = GX_DEVICE_WEBGPU;
    if (a->info.usable)
        snprintf(a->info.description, sizeof a->info.description, "%.*s, %.*s, wgpu over %s",
                 (int)(info->device.length < 56 ? info->device.length : 56), info->device.data,
                 (int)(info->description.length < 40 ? info->description.length : 40),
                 info->description.data, gx__webgpu_backend_names[a->backend]);
    else
        snprintf(a->info.description, sizeof a->info.description,
                 "%.*s over %s has %s: install a newer driver",
                 (int)(info->device.length < 48 ? info->device.length : 48), info->device.data,
                 gx__webgpu_backend_names[a->backend], missing);
}

static bool inspect(const struct wg_loader *loader, struct wg_adapter *a)
{
    WGPUAdapterInfo info = {0};
    if (loader->fn.AdapterGetInfo(a->handle, &info) != WGPUStatus_Success ||
        loader->fn.AdapterGetLimits(a->handle, &a->limits) != WGPUStatus_Success)
        return false;
    a->software = info.adapterType == WGPUAdapterType_CPU;
    a->wide = has(loader, a, WGPUNativeFeature_ShaderInt64);
    const uint64_t start = 0xcbf29ce484222325u;
    a->identity[0] = hash(start, info.vendor);
    a->identity[1] = hash(start, info.device);
    a->identity[2] = hash(start, info.description);
    a->identity[3] = (uint64_t)info.vendorID << 32 | info.deviceID;
    snprintf(a->name, sizeof a->name, "%.*s",
             (int)(info.device.length < sizeof a->name ? info.device.length : sizeof a->name - 1),
             info.device.data ? info.device.data : "");
    describe(loader, a, &info);
    loader->fn.AdapterInfoFreeMembers(info);
    return true;
}

/* ---- listing ---- */

static void list_backend(struct wg_loader *loader, enum gx_webgpu_backend backend)
{
    WGPUInstanceExtras extras = {.chain = {.sType = (WGPUSType)WGPUSType_InstanceExtras},
                                 .backends = backend_bit(backend)};
    WGPUInstanceDescriptor descriptor = {.nextInChain = &extras.chain};
    WGPUInstanceEnumerateAdapterOptions options = {.backends = backend_bit(backend)};
    WGPUAdapter handles[WG_ADAPTERS_MAX * 2];
    if (backend == GX_WEBGPU_GL && gl_open && gl_process != getpid()) {
        loader->gl_forked = true;
        return;
    }
    WGPUInstance instance = loader->fn.CreateInstance(&descriptor);
    loader->instance[backend] = instance;
    if (backend == GX_WEBGPU_GL && instance) {
        gl_open++;
        gl_process = getpid();
    }
    gx__wg_quiet_begin();
    size_t count = instance ? loader->fn.InstanceEnumerateAdapters(instance, &options, NULL) : 0;
    bool fits = count <= sizeof handles / sizeof *handles;
    count = count && fits ? loader->fn.InstanceEnumerateAdapters(instance, &options, handles) : 0;
    gx__wg_quiet_end();
    for (size_t i = 0, index = 0; i < count; i++) {
        struct wg_adapter a = {.handle = handles[i], .backend = backend};
        if (loader->count == WG_ADAPTERS_MAX || !inspect(loader, &a)) {
            loader->fn.AdapterRelease(handles[i]);
            continue;
        }
        snprintf(a.info.name, sizeof a.info.name, WG_NAME ":%s:%zu",
                 gx__webgpu_backend_names[backend], index++);
        loader->adapters[loader->count++] = a;
    }
}

/* A GPU must not be chosen twice. The Vulkan device covers those with Vulkan; OpenGL, which does
 * not tell their UUID, is for machines without anything better. */
static void set_automatic(struct wg_loader *loader, struct gx_instance *instance)
{
    bool better = gx__cuda_reaches(instance, NULL);
    for (size_t i = 0; i < loader->count; i++)
        better |= loader->adapters[i].backend != GX_WEBGPU_GL && !loader->adapters[i].software;
    for (size_t i = 0; i < loader->count; i++) {
        struct wg_adapter *a = &loader->adapters[i];
        bool ours = a->backend == GX_WEBGPU_GL ? !better : a->backend != GX_WEBGPU_VULKAN;
        a->info.automatic = a->info.usable && !a->software && ours;
    }
}

static void say_none(struct wg_loader *loader, const struct gx_instance *instance, unsigned wanted)
{
    if (wanted)
        snprintf(loader->why_none, sizeof loader->why_none, "no WebGPU adapter found: %s",
                 loader->gl_forked ? gl_message
                                   : "install the GPU's driver, or mesa-vulkan-drivers "
                                     "and libegl1 for software adapters");
    else
        snprintf(loader->why_none, sizeof loader->why_none,
                 "no WebGPU: this platform has none of the backends allowed, '%.32s', only %s",
                 instance->config.webgpu_backends, gx__webgpu_backends_here());
}

static void start(struct wg_loader *loader, struct gx_instance *instance)
{
    unsigned wanted;
    gx__parse_backends(instance->config.webgpu_backends, &wanted); /* valid since gx_open */
    if (gx__wg_library(instance, &loader->fn, loader->why_none, sizeof loader->why_none)) {
        for (enum gx_webgpu_backend b = 0; b < GX_WEBGPU_BACKENDS; b++)
            if (wanted >> b & 1)
                list_backend(loader, b);
        set_automatic(loader, instance);
        if (!loader->count)
            say_none(loader, instance, wanted);
    }
    if (!loader->count)
        gx__log(instance, GX_LOG_INFO, "%s", loader->why_none);
}

struct wg_loader *gx__wg_loader(struct gx_instance *instance)
{
    pthread_mutex_lock(&loader_lock);
    struct wg_loader *loader = instance->webgpu;
    if (!loader) {
        loader = gx__alloc(&instance->config.allocator, sizeof *loader);
        if (loader) {
            pthread_mutex_init(&loader->gl_lock, NULL);
            start(loader, instance);
        }
        instance->webgpu = loader;
    }
    pthread_mutex_unlock(&loader_lock);
    return loader;
}

void gx__wg_stop(struct gx_instance *instance)
{
    pthread_mutex_lock(&loader_lock);
    struct wg_loader *loader = instance->webgpu;
    if (loader) {
        for (size_t i = 0; i < loader->count; i++)
            loader->fn.AdapterRelease(loader->adapters[i].handle);
        for (int b = 0; b < GX_WEBGPU_BACKENDS; b++)
            if (loader->instance[b])
                loader->fn.InstanceRelease(loader->instance[b]);
        gl_open -= loader->instance[GX_WEBGPU_GL] != NULL;
        pthread_mutex_destroy(&loader->gl_lock);
        gx__free(&instance->config.allocator, loader);
    }
    instance->webgpu = NULL;
    pthread_mutex_unlock(&loader_lock);
}

/* ---- asking ---- */

gx_status gx__wg_enumerate(struct gx_instance *instance, gx_device_info *infos, size_t *count)
{
    struct wg_loader *loader = gx__wg_loader(instance);
    if (!loader)
        return GX_ERR_OUT_OF_MEMORY;
    size_t room = infos ? *count : 0;
    *count = loader->count ? loader->count : 1;
    if (!loader->count && room) {
        infos[0] = (gx_device_info){.name = WG_NAME, .kind = GX_DEVICE_WEBGPU};
        memcpy(infos[0].description, loader->why_none, sizeof infos[0].description);
    }
    for (size_t i = 0; i < loader->count && i < room; i++)
        infos[i] = loader->adapters[i].info;
    return GX_OK;
}

/* "webgpu" and "webgpu:gl" mean the first usable one of theirs, or else the first. */
static const struct wg_adapter *match(const struct wg_loader *loader, const char *name)
{
    const struct wg_adapter *found = NULL;
    size_t length = strlen(name);
    for (size_t i = 0; i < loader->count; i++) {
        const struct wg_adapter *a = &loader->adapters[i];
        if (!strcmp(a->info.name, name))
            return a;
        bool general = !strncmp(a->info.name, name, length) && a->info.name[length] == ':';
        if (general && (!found || (!found->info.usable && a->info.usable)))
            found = a;
    }
    return found;
}

/* Reports a name that begins with a backend not available on this platform. */
static bool possible(const char *name, char *message, size_t message_size)
{
    char backend[16];
    unsigned bits;
    const char *from = name + strlen(WG_NAME);
    from += *from == ':';
    size_t length = strcspn(from, ":");
    if (!length || length >= sizeof backend)
        return true;
    memcpy(backend, from, length);
    backend[length] = 0;
    if (gx__parse_backends(backend, &bits) && bits)
        return true;
    snprintf(message, message_size, "'%.32s': this platform has no WebGPU backend '%s', only %s",
             name, backend, gx__webgpu_backends_here());
    return false;
}

static bool is_gl(const char *name)
{
    static const char gl[] = WG_NAME ":gl";
    return !strncmp(name, gl, sizeof gl - 1);
}

gx_status gx__wg_find(struct gx_instance *instance, const char *name, gx_device_info *info,
                      char *message, size_t message_size)
{
    struct wg_loader *loader = gx__wg_loader(instance);
    if (!loader) {
        snprintf(message, message_size, "no memory to look for '%.48s'", name);
        return GX_ERR_OUT_OF_MEMORY;
    }
    if (!possible(name, message, message_size))
        return GX_ERR_NO_DEVICE;
    const struct wg_adapter *found = match(loader, name);
    if (!loader->count)
        snprintf(message, message_size, "%s", loader->why_none);
    else if (!found && loader->gl_forked && is_gl(name))
        snprintf(message, message_size, "'%.48s': %s", name, gl_message);
    else if (!found)
        snprintf(message, message_size,
                 "no WebGPU device matches '%.48s': 'gpuexec devices' and gx_devices list them",
                 name);
    else if (!found->info.usable)
        snprintf(message, message_size, "%s", found->info.description);
    else {
        *info = found->info;
        return GX_OK;
    }
    return GX_ERR_NO_DEVICE;
}

/* It has no UUIDs. */
bool gx__wg_chip(struct gx_instance *instance, const char *name, struct gx_chip *chip)
{
    struct wg_loader *loader = gx__wg_loader(instance);
    const struct wg_adapter *a = loader ? match(loader, name) : NULL;
    if (!a || a->software)
        return false;
    *chip = (struct gx_chip){0};
    snprintf(chip->name, sizeof chip->name, "%s", a->name);
    return true;
}
