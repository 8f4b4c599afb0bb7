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

#include "base/log.h"

/* Storage buffers bound by kernels; immediates hold the push constants. */
#define BINDINGS_NEEDED   GX_BINDINGS
#define IMMEDIATES_NEEDED (GX_K_PUSH_WORDS * 4)

/* EGL has one display per process. If it is open at a fork(), the child inherits it without the
 * driver's threads, and would wait for them forever. Under the lister's lock. */
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
    a->base.info.usable = !*missing;
    a->base.info.kind = GX_DEVICE_WEBGPU;
    if (a->base.info.usable)
        snprintf(a->base.info.description, sizeof a->base.info.description,
                 "%.*s, %.*s, wgpu over %s",
                 (int)(info->device.length < 56 ? info->device.length : 56), info->device.data,
                 (int)(info->description.length < 40 ? info->description.length : 40),
                 info->description.data, gx__webgpu_backend_names[a->backend]);
    else
        snprintf(a->base.info.description, sizeof a->base.info.description,
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
    a->base.software = info.adapterType == WGPUAdapterType_CPU;
    a->wide = has(loader, a, WGPUNativeFeature_ShaderInt64);
    const uint64_t start = 0xcbf29ce484222325u;
    a->identity[0] = hash(start, info.vendor);
    a->identity[1] = hash(start, info.device);
    a->identity[2] = hash(start, info.description);
    a->identity[3] = (uint64_t)info.vendorID << 32 | info.deviceID;
    snprintf(a->base.name, sizeof a->base.name, "%.*s",
             (int)(info.device.length < sizeof a->base.name ? info.device.length
                                                            : sizeof a->base.name - 1),
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
        if (loader->list.count == WG_ADAPTERS_MAX || !inspect(loader, &a)) {
            loader->fn.AdapterRelease(handles[i]);
            continue;
        }
        snprintf(a.base.info.name, sizeof a.base.info.name, WG_NAME ":%s:%zu",
                 gx__webgpu_backend_names[backend], index++);
        loader->adapters[loader->list.count++] = a;
    }
}

/* A GPU must not be chosen twice. The Vulkan device covers those with Vulkan; OpenGL, which does
 * not tell their UUID, is for machines without anything better. */
static void set_automatic(struct wg_loader *loader, struct gx_instance *instance)
{
    bool better = gx__cuda_reaches(instance, NULL);
    for (size_t i = 0; i < loader->list.count; i++)
        better |= loader->adapters[i].backend != GX_WEBGPU_GL && !loader->adapters[i].base.software;
    for (size_t i = 0; i < loader->list.count; i++) {
        struct wg_adapter *a = &loader->adapters[i];
        bool ours = a->backend == GX_WEBGPU_GL ? !better : a->backend != GX_WEBGPU_VULKAN;
        a->base.info.automatic = a->base.info.usable && !a->base.software && ours;
    }
}

static void say_none(struct wg_loader *loader, const struct gx_instance *instance, unsigned wanted)
{
    if (wanted)
        gx__explain(&loader->list.why_none, "no WebGPU adapter found: %s",
                    loader->gl_forked ? gl_message
                                      : "install the GPU's driver, or mesa-vulkan-drivers "
                                        "and libegl1 for software adapters");
    else
        gx__explain(&loader->list.why_none,
                    "no WebGPU: this platform has none of the backends allowed, '%.32s', only %s",
                    instance->config.webgpu_backends, gx__webgpu_backends_here());
}

static void start(struct gx_gpu_list *list, struct gx_instance *instance)
{
    struct wg_loader *loader = (struct wg_loader *)list;
    unsigned wanted;
    pthread_mutex_init(&loader->gl_lock, NULL);
    gx__parse_backends(instance->config.webgpu_backends, &wanted); /* valid since gx_open */
    if (gx__wg_library(instance, &loader->fn, &loader->list.why_none)) {
        for (enum gx_webgpu_backend b = 0; b < GX_WEBGPU_BACKENDS; b++)
            if (wanted >> b & 1)
                list_backend(loader, b);
        set_automatic(loader, instance);
        if (!loader->list.count)
            say_none(loader, instance, wanted);
    }
    if (!loader->list.count)
        gx__log(instance, GX_LOG_INFO, "%s", loader->list.why_none.text);
}

static void stop(struct gx_gpu_list *list)
{
    struct wg_loader *loader = (struct wg_loader *)list;
    for (size_t i = 0; i < list->count; i++)
        loader->fn.AdapterRelease(loader->adapters[i].handle);
    for (int b = 0; b < GX_WEBGPU_BACKENDS; b++)
        if (loader->instance[b])
            loader->fn.InstanceRelease(loader->instance[b]);
    gl_open -= loader->instance[GX_WEBGPU_GL] != NULL;
    pthread_mutex_destroy(&loader->gl_lock);
}

/* ---- asking ---- */

/* "webgpu" and "webgpu:gl" mean the first usable one of theirs, or else the first. */
static const struct gx_gpu_listed *match(const struct gx_gpu_list *list, const char *name)
{
    const struct wg_loader *loader = (const struct wg_loader *)list;
    const struct gx_gpu_listed *found = NULL;
    size_t length = strlen(name);
    for (size_t i = 0; i < list->count; i++) {
        const struct gx_gpu_listed *a = &loader->adapters[i].base;
        if (!strcmp(a->info.name, name))
            return a;
        bool general = !strncmp(a->info.name, name, length) && a->info.name[length] == ':';
        if (general && (!found || (!found->info.usable && a->info.usable)))
            found = a;
    }
    return found;
}

/* Reports a name that begins with a backend not available on this platform. */
static bool possible(const char *name, struct gx_error *error)
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
    gx__explain(error, "'%.32s': this platform has no WebGPU backend '%s', only %s", name, backend,
                gx__webgpu_backends_here());
    return false;
}

static bool is_gl(const char *name)
{
    static const char gl[] = WG_NAME ":gl";
    return !strncmp(name, gl, sizeof gl - 1);
}

static bool explain(const struct gx_gpu_list *list, const char *name, struct gx_error *error)
{
    const struct wg_loader *loader = (const struct wg_loader *)list;
    if (!possible(name, error))
        return true;
    bool forked = list->count && loader->gl_forked && is_gl(name);
    if (forked)
        gx__explain(error, "'%.48s': %s", name, gl_message);
    return forked;
}

struct gx_gpu_lister gx__wg_lister = {.lock = PTHREAD_MUTEX_INITIALIZER,
                                      .kind = GX_DEVICE_WEBGPU,
                                      .place = offsetof(struct gx_instance, webgpu),
                                      .bytes = sizeof(struct wg_loader),
                                      .first = offsetof(struct wg_loader, adapters),
                                      .stride = sizeof(struct wg_adapter),
                                      .start = start,
                                      .stop = stop,
                                      .match = match,
                                      .explain = explain};
