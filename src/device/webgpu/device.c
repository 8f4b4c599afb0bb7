/* SPDX-License-Identifier: Apache-2.0
 *
 * Opening and closing a WebGPU device, the facts that the upper layers plan with, and the only
 * place where wgpu's errors become statuses.
 */
#include "device/webgpu/webgpu.h"

#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/log.h"

#define COPY_ALIGN    4u /* WebGPU's */
#define NOTHING_BYTES 256u
/* A wait sleeps between polls for a fraction of the time it has already waited. */
#define PAUSE_PART   16u
#define PAUSE_MIN_NS 20000u
#define PAUSE_MAX_NS 1000000u
/* How long it polls without sleeping; a 20 us sleep takes 80 us. */
#define SPIN_NS          500000u
#define SPIN_SOFTWARE_NS 100000u
#define CLOSE_NS         30000000000u /* pending work ends within this time, or never */

/* ---- errors ---- */

/* This thread's current call, and the first error in it. */
static _Thread_local struct {
    const struct wg_device *device;
    gx_status status;
    struct gx_error *error; /* receives what wgpu says; NULL: the log does */
} call;

/* Where the message has this text; NULL: nowhere. */
static const char *find(WGPUStringView message, const char *text)
{
    size_t length = strlen(text);
    for (size_t i = 0; message.data && i + length <= message.length; i++)
        if (!memcmp(message.data + i, text, length))
            return message.data + i;
    return NULL;
}

/* wgpu-native also reports errors for which it could have a type as validation errors; their
 * wording is part of its version. */
static gx_status translate(WGPUErrorType type, WGPUStringView message)
{
    if (find(message, "device is lost"))
        return GX_ERR_DEVICE_LOST;
    if (type == WGPUErrorType_OutOfMemory || find(message, "Not enough memory left"))
        return GX_ERR_OUT_OF_DEVICE_MEMORY;
    return GX_ERR_DEVICE;
}

/* As one line. Runs of spaces, bars and the like, which point to a place in a source, become one
 * space. */
static void copy_line(char *line, size_t size, WGPUStringView text)
{
    size_t n = 0;
    for (size_t i = 0; text.data && i < text.length && n + 1 < size; i++) {
        char c = text.data[i];
        bool space = (unsigned char)c <= ' ' || (unsigned char)c > '~' || c == '|';
        if (!space || (n && line[n - 1] != ' '))
            line[n++] = space ? ' ' : c;
    }
    line[n] = 0;
}

/* A message begins with its kind and the name of the function, on lines of their own. */
static WGPUStringView without_head(WGPUStringView text)
{
    const char *at = find(text, "In wgpu"), *end = at ? text.data + text.length : NULL;
    at = at ? memchr(at, '\n', (size_t)(end - at)) : NULL;
    return at ? (WGPUStringView){at, (size_t)(end - at)} : text;
}

static void log_text(const struct wg_device *device, const char *what, WGPUStringView text)
{
    char line[200];
    copy_line(line, sizeof line, text);
    gx__log(device->gpu.base->instance, GX_LOG_WARNING, "%s: %s: %s", device->gpu.base->info.name,
            what, line);
}

/* wgpu's default handler would end the process. */
static void on_error(WGPUDevice const *handle, WGPUErrorType type, WGPUStringView message,
                     void *user, void *unused)
{
    (void)handle;
    (void)unused;
    struct wg_device *device = user;
    gx_status s = translate(type, message);
    if (call.device != device || !call.error)
        log_text(device, "wgpu reports an error", message);
    else if (call.status == GX_OK)
        copy_line(call.error->text, sizeof call.error->text, without_head(message));
    if (call.device == device)
        call.status = call.status == GX_OK ? s : call.status;
    else /* not during a call of ours, so nobody can be told which results are still valid */
        s = GX_ERR_DEVICE_LOST;
    if (s == GX_ERR_DEVICE_LOST)
        atomic_store(&device->gpu.lost, true);
}

static void on_lost(WGPUDevice const *handle, WGPUDeviceLostReason reason, WGPUStringView message,
                    void *user, void *unused)
{
    (void)handle;
    (void)reason;
    (void)unused;
    struct wg_device *device = user;
    if (atomic_exchange(&device->gpu.lost, true) || atomic_load(&device->closing))
        return;
    log_text(device, "the device is lost", message);
}

static bool one_at_a_time(const struct wg_device *device)
{
    return device->adapter->backend == GX_WEBGPU_GL;
}

void gx__wg_enter(struct wg_device *device)
{
    if (one_at_a_time(device))
        pthread_mutex_lock(&device->loader->gl_lock);
    call.device = device;
    call.status = GX_OK;
    call.error = NULL;
}

void gx__wg_enter_quoted(struct wg_device *device, struct gx_error *error)
{
    gx__wg_enter(device);
    call.error = error;
}

gx_status gx__wg_leave(struct wg_device *device, const char *what)
{
    gx_status s = call.status;
    bool quoted = call.error;
    call.device = NULL;
    if (one_at_a_time(device))
        pthread_mutex_unlock(&device->loader->gl_lock);
    if (gx__gpu_alive(&device->gpu) != GX_OK)
        s = GX_ERR_DEVICE_LOST;
    if (s != GX_OK && !quoted)
        gx__log(device->gpu.base->instance, GX_LOG_WARNING, "%s: %s failed: %s",
                device->gpu.base->info.name, what, gx_status_message(s));
    return s;
}

void gx__wg_guarded(struct wg_device *device, void (*function)(void *), void *argument)
{
    if (!gx__wg_guard(function, argument))
        atomic_store(&device->gpu.lost, true);
}

static void poll_once(void *user)
{
    const struct wg_device *device = user;
    device->fn->DevicePoll(device->handle, false, NULL);
}

void gx__wg_poll(struct wg_device *device)
{
    if (gx__gpu_alive(&device->gpu) != GX_OK)
        return;
    gx__wg_enter(device);
    gx__wg_guarded(device, poll_once, device);
    gx__wg_leave(device, "wgpuDevicePoll");
}

void gx__wg_pause(const struct wg_device *device, uint64_t since_ns)
{
    bool software = device->adapter->base.software;
    uint64_t waited = gx__now_ns() - since_ns, pause = waited / PAUSE_PART;
    if (waited < (software ? SPIN_SOFTWARE_NS : SPIN_NS)) {
        if (software)
            sched_yield(); /* it needs the core */
        else
            gx__pause();
        return;
    }
    pause = pause < PAUSE_MIN_NS ? PAUSE_MIN_NS : pause > PAUSE_MAX_NS ? PAUSE_MAX_NS : pause;
    nanosleep(&(struct timespec){.tv_nsec = (long)pause}, NULL);
}

static void cache_key(const struct gx_gpu *gpu, uint8_t key[GX_CACHE_KEY_BYTES])
{
    const struct wg_device *device = wg_of_gpu(gpu);
    const uint32_t words[4] = {device->adapter->backend, device->fn->GetVersion(),
                               GX_VERSION_MAJOR << 24 | GX_VERSION_MINOR << 12 | GX_VERSION_PATCH,
                               0};
    memset(key, 0, GX_CACHE_KEY_BYTES);
    memcpy(key, device->adapter->identity, sizeof device->adapter->identity);
    memcpy(key + sizeof device->adapter->identity, words, sizeof words);
}

/* ---- open ---- */

static void on_device(WGPURequestDeviceStatus status, WGPUDevice handle, WGPUStringView message,
                      void *user, void *unused)
{
    (void)unused;
    struct wg_device *device = user;
    if (status == WGPURequestDeviceStatus_Success)
        device->handle = handle;
    else
        log_text(device, "wgpu gives no device", message);
}

/* wgpu-native invokes the callback before it returns. */
static gx_status request_device(struct wg_device *device)
{
    const struct wg_adapter *a = device->adapter;
    WGPUFeatureName features[4] = {(WGPUFeatureName)WGPUNativeFeature_Immediates};
    size_t count = 1;
    if (gx__wg_has_stamps(device)) {
        features[count++] = WGPUFeatureName_TimestampQuery;
        features[count++] = (WGPUFeatureName)WGPUNativeFeature_TimestampQueryInsideEncoders;
    }
    if (a->wide)
        features[count++] = (WGPUFeatureName)WGPUNativeFeature_ShaderInt64;
    WGPUDeviceDescriptor descriptor = {
        .requiredFeatureCount = count,
        .requiredFeatures = features,
        .requiredLimits = &a->limits,
        .deviceLostCallbackInfo = {.mode = WGPUCallbackMode_AllowSpontaneous,
                                   .callback = on_lost,
                                   .userdata1 = device},
        .uncapturedErrorCallbackInfo = {.callback = on_error, .userdata1 = device}};
    WGPURequestDeviceCallbackInfo info = {
        .mode = WGPUCallbackMode_AllowSpontaneous, .callback = on_device, .userdata1 = device};
    gx__wg_enter(device);
    gx__vulkan_list_lock();
    device->fn->AdapterRequestDevice(a->handle, &descriptor, info);
    gx__vulkan_list_unlock();
    if (device->handle)
        device->queue = device->fn->DeviceGetQueue(device->handle);
    if (device->queue)
        device->tick_ns = device->fn->QueueGetTimestampPeriod(device->queue);
    gx_status s = gx__wg_leave(device, "wgpuAdapterRequestDevice");
    return s == GX_OK && !device->queue ? GX_ERR_DEVICE : s;
}

static gx_status create_layouts(struct wg_device *device)
{
    WGPUBindGroupLayoutEntry entries[GX_BINDINGS];
    for (uint32_t i = 0; i < GX_BINDINGS; i++)
        entries[i] = (WGPUBindGroupLayoutEntry){.binding = i,
                                                .visibility = WGPUShaderStage_Compute,
                                                .buffer = {.type = WGPUBufferBindingType_Storage}};
    WGPUBindGroupLayoutDescriptor group = {.entryCount = GX_BINDINGS, .entries = entries};
    WGPUPipelineLayoutDescriptor layout = {.bindGroupLayoutCount = 1,
                                           .immediateSize = sizeof(union gx_push)};
    gx__wg_enter(device);
    device->group_layout = device->fn->DeviceCreateBindGroupLayout(device->handle, &group);
    layout.bindGroupLayouts = &device->group_layout;
    device->layout = device->fn->DeviceCreatePipelineLayout(device->handle, &layout);
    return gx__wg_leave(device, "wgpuDeviceCreatePipelineLayout");
}

static void set_limits(struct wg_device *device)
{
    const WGPULimits *l = &device->adapter->limits;
    uint32_t most = l->maxComputeInvocationsPerWorkgroup;
    device->gpu.limits = (struct gx_gpu_limits){
        .range = l->maxStorageBufferBindingSize,
        .bind_align = l->minStorageBufferOffsetAlignment,
        .groups = l->maxComputeWorkgroupsPerDimension,
        .workgroup = most < l->maxComputeWorkgroupSizeX ? most : l->maxComputeWorkgroupSizeX,
        .each = WG_EACH_MAX};
    gx__gpu_limit_elements(&device->gpu, GX_INVERSE_DIRECT_INT32);
}

static void set_facts(struct wg_device *device)
{
    struct gx_device_facts *facts = &device->gpu.base->facts;
    *facts = gx__gpu_facts(&device->gpu, device->adapter->base.software);
    facts->mem_kinds =
        GX_MEM_BIT(GX_MEM_DEVICE) | GX_MEM_BIT(GX_MEM_UPLOAD) | GX_MEM_BIT(GX_MEM_READBACK);
    facts->queues = GX_QUEUE_BIT(GX_QUEUE_COMPUTE);
    facts->copy_align = COPY_ALIGN;
    facts->timestamps = gx__wg_has_stamps(device);
}

static gx_status open_parts(struct wg_device *device)
{
    gx_status s = request_device(device);
    if (s == GX_OK)
        s = create_layouts(device);
    if (s != GX_OK)
        return s;
    set_limits(device);
    set_facts(device);
    s = gx__wg_mem_alloc(device->gpu.base, GX_MEM_DEVICE, NOTHING_BYTES, &device->gpu.nothing);
    return s == GX_OK ? gx__gpu_calibrate(&device->gpu) : s;
}

static const struct gx_gpu_ops gpu_ops = {
    .cache_key = cache_key, .cmd_bytes = sizeof(struct wg_cmd), GX_GPU_OPS(GX_GPU_MEMBER, wg)};

static gx_status webgpu_open(struct gx_device *base)
{
    struct wg_device *device = gx__gpu_open(base, sizeof *device, &gpu_ops);
    if (!device)
        return GX_ERR_OUT_OF_MEMORY;
    device->loader = (struct wg_loader *)device->gpu.list;
    device->fn = &device->loader->fn;
    device->adapter = (const struct wg_adapter *)device->gpu.listed;
    pthread_mutex_init(&device->group_lock, NULL);
    pthread_mutex_init(&device->submit_lock, NULL);
    return open_parts(device);
}

/* ---- close ---- */

static void release_device(void *user)
{
    const struct wg_device *device = user;
    device->fn->DeviceRelease(device->handle);
}

static void close_handle(struct wg_device *device)
{
    const struct wg_fn *fn = device->fn;
    gx__wg_enter(device);
    if (device->layout)
        fn->PipelineLayoutRelease(device->layout);
    if (device->group_layout)
        fn->BindGroupLayoutRelease(device->group_layout);
    if (device->queue)
        fn->QueueRelease(device->queue);
    if (device->handle) {
        gx__vulkan_list_lock();
        gx__wg_guarded(device, release_device, device);
        gx__vulkan_list_unlock();
    }
    gx__wg_leave(device, "wgpuDeviceRelease");
}

static void webgpu_close(struct gx_device *base)
{
    struct wg_device *device = base->impl;
    if (!device)
        return;
    gx__gpu_calibration_save(&device->gpu);
    if (device->queue && gx__gpu_alive(&device->gpu) == GX_OK)
        gx__gpu_wait(base, (struct gx_fence){GX_QUEUE_COMPUTE, device->submitted}, CLOSE_NS);
    atomic_store(&device->closing, true);
    gx__gpu_commands_close(&device->gpu);
    gx__wg_groups_forget(device, NULL);
    gx__gpu_close(&device->gpu);
    if (device->gpu.nothing.handle)
        gx__wg_mem_free(base, &device->gpu.nothing);
    close_handle(device);
    pthread_mutex_destroy(&device->group_lock);
    pthread_mutex_destroy(&device->submit_lock);
    gx__gpu_free(&device->gpu);
}

const struct gx_device_ops gx__webgpu_ops = {
    GX_GPU_SHARED,
    .name = WG_NAME,
    .lister = &gx__wg_lister,
    .open = webgpu_open,
    .close = webgpu_close,
    .dispatch = gx__gpu_dispatch,
    .barrier = gx__gpu_no_barrier, /* wgpu puts them where they are needed */
    GX_GPU_DEVICE_OPS(GX_GPU_MEMBER, wg)};
