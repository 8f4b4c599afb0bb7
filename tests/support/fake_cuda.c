/* SPDX-License-Identifier: Apache-2.0
 *
 * A substitute for libcuda.so.1: the entry points that the CUDA device uses, over host memory, with
 * streams that do everything at once. It counts live objects and makes any call fail. Where a build
 * translates the library's kernels to C (ptx/emulate.h), it runs them. Of others it knows three, by
 * a word in their text: "copy", "words", and "own", which the test registers.
 */
#include "support/fake_cuda.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>

#include "device/cuda/cuda.h"
#include "ptx/emulate.h"

#define OBJECTS 32768
#define MEMORY  ((size_t)1 << 30)
#define CUBIN   "fake cubin: "
#define AWAIT   "griddepcontrol.wait;" /* for GPUs of 9.0 */
#define COPIED  ((size_t)1 << 18)      /* bytes of a copy, unless the test looks at all of it */
#define PROBE   ((size_t)1 << 18)      /* elements that only the device's measurement copies */
#define LARGE                                                                                      \
    ((size_t)16 << 20) /* bytes that a sanitizer takes long to mark, as in that measurement */

#define X(name, symbol, arguments) CUresult symbol arguments;
CU_FUNCTIONS(X)
CU_OPTIONAL_FUNCTIONS(X)
#undef X

extern struct fake_cuda fake_cuda_state;
struct fake_cuda fake_cuda_state = {
    .version = 12040, .devices = 2, .capability = 90, .whole = true};
#define S fake_cuda_state

struct object {
    enum fake_kind kind;
    void *memory;       /* of memory, registered or allocated; text of a module or link */
    size_t bytes;       /* of memory, ... */
    CUcontext context;  /* ... and what it was allocated in */
    struct timespec at; /* of an event, ... */
    CUstream stream;    /* ... and where it was recorded */
    int emulated;       /* of a module: its number in gx__ptx, or -1 */
    uint32_t word[3];   /* and the numbers in its text: OP, CHECK, REPEAT */
};

static struct object *objects[OBJECTS];
static CUresult lost;
static _Thread_local CUcontext current[8]; /* the stack of contexts of this thread */
static _Thread_local int depth;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* of all of these */

/* ---- failing ---- */

static bool means_lost(CUresult r)
{
    return r >= CUDA_ERROR_ILLEGAL_ADDRESS && r < CUDA_ERROR_NOT_PERMITTED &&
           r != CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES &&
           r != CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED;
}

static void note_call(void)
{
    __atomic_fetch_add(&S.every, 1, __ATOMIC_RELAXED);
}

static CUresult begin(void)
{
    note_call();
    pthread_mutex_lock(&lock);
    CUresult r = lost;
    if (!lost && ++S.calls == S.fail_at) {
        lost = S.contexts && means_lost(S.fail_with) ? S.fail_with : CUDA_SUCCESS;
        r = S.fail_with;
    }
    pthread_mutex_unlock(&lock);
    return r;
}

#define BEGIN                                                                                      \
    do {                                                                                           \
        CUresult begun = begin();                                                                  \
        if (begun != CUDA_SUCCESS)                                                                 \
            return begun;                                                                          \
    } while (0)

/* ---- objects ---- */

static struct object *add(enum fake_kind kind)
{
    size_t i = 0;
    pthread_mutex_lock(&lock);
    while (i < OBJECTS && objects[i])
        i++;
    struct object *o = i < OBJECTS ? calloc(1, sizeof *o) : NULL;
    if (!o)
        abort();
    o->kind = kind;
    objects[i] = o;
    S.live[kind]++;
    pthread_mutex_unlock(&lock);
    return o;
}

static bool owns_memory(enum fake_kind kind)
{
    return kind != FAKE_REGISTERED;
}

static void free_memory(struct object *o)
{
    if (o->bytes >= LARGE)
        munmap(o->memory, o->bytes);
    else
        free(o->memory);
}

static void end(size_t i)
{
    S.live[objects[i]->kind]--;
    if (owns_memory(objects[i]->kind))
        free_memory(objects[i]);
    free(objects[i]);
    objects[i] = NULL;
}

/* The object itself, or that of this kind with the memory. */
static CUresult end_one(const void *object, enum fake_kind kind, const void *memory)
{
    note_call();
    pthread_mutex_lock(&lock);
    CUresult r = lost ? lost : CUDA_ERROR_INVALID_VALUE;
    for (size_t i = 0; i < OBJECTS && r == CUDA_ERROR_INVALID_VALUE; i++)
        if (objects[i] && (object ? objects[i] == object
                                  : objects[i]->kind == kind && objects[i]->memory == memory)) {
            end(i);
            r = CUDA_SUCCESS;
        }
    pthread_mutex_unlock(&lock);
    return r;
}

/* The real one waits here for all work of the context. */
static void note_wait(void)
{
    if (S.hold && !lost)
        S.endless++;
}

static CUresult end_object(const void *object)
{
    return end_one(object, FAKE_KINDS, NULL);
}

static CUresult end_memory(enum fake_kind kind, const void *memory)
{
    note_wait();
    return end_one(NULL, kind, memory);
}

static struct object *add_memory(enum fake_kind kind, size_t bytes)
{
    struct object *o = add(kind);
    o->bytes = bytes;
    o->context = depth ? current[depth - 1] : NULL;
    if (bytes >= LARGE)
        o->memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    else if (posix_memalign(&o->memory, 4096, bytes))
        abort();
    if (o->memory == MAP_FAILED)
        abort();
    return o;
}

/* ---- the driver and its devices ---- */

CUresult cuInit(unsigned flags)
{
    (void)flags;
    BEGIN;
    return S.init;
}

CUresult cuDriverGetVersion(int *version)
{
    BEGIN;
    *version = S.version;
    return CUDA_SUCCESS;
}

CUresult cuGetErrorName(CUresult error, const char **name)
{
    *name = error == CUDA_ERROR_LAUNCH_FAILED ? "CUDA_ERROR_LAUNCH_FAILED" : NULL;
    return *name ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

CUresult cuDeviceGetCount(int *count)
{
    BEGIN;
    *count = S.devices;
    return CUDA_SUCCESS;
}

CUresult cuDeviceGet(CUdevice *device, int ordinal)
{
    BEGIN;
    *device = ordinal;
    return CUDA_SUCCESS;
}

CUresult cuDeviceGetName(char *name, int size, CUdevice device)
{
    BEGIN;
    snprintf(name, (size_t)size, "Imaginary %c100", 'A' + device);
    return CUDA_SUCCESS;
}

CUresult cuDeviceGetUuid(CUuuid *uuid, CUdevice device)
{
    BEGIN;
    memset(uuid, 0xf0 + device, sizeof *uuid);
    return CUDA_SUCCESS;
}

CUresult cuDeviceTotalMem_v2(size_t *bytes, CUdevice device)
{
    (void)device;
    BEGIN;
    *bytes = MEMORY;
    return CUDA_SUCCESS;
}

CUresult cuDeviceGetAttribute(int *value, int attribute, CUdevice device)
{
    (void)device;
    BEGIN;
    *value = 1;
    if (attribute == CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR)
        *value = S.capability / 10;
    if (attribute == CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR)
        *value = S.capability % 10;
    if (attribute == CU_DEVICE_ATTRIBUTE_CAN_USE_64_BIT_STREAM_MEM_OPS)
        *value = !S.no_counters;
    return CUDA_SUCCESS;
}

/* ---- contexts ---- */

CUresult cuDevicePrimaryCtxRetain(CUcontext *context, CUdevice device)
{
    BEGIN;
    if (S.retain != CUDA_SUCCESS)
        return S.retain;
    S.contexts++;
    *context = (CUcontext)((char *)&fake_cuda_state + device);
    return CUDA_SUCCESS;
}

/* The last one to release it ends what is left of it, and the loss. */
CUresult cuDevicePrimaryCtxRelease_v2(CUdevice device)
{
    (void)device;
    if (--S.contexts)
        return CUDA_SUCCESS;
    note_wait();
    for (size_t i = 0; i < OBJECTS; i++)
        if (objects[i]) {
            S.left += !lost;
            end(i);
        }
    lost = CUDA_SUCCESS;
    return CUDA_SUCCESS;
}

CUresult cuCtxPushCurrent_v2(CUcontext context)
{
    note_call();
    if (depth == (int)(sizeof current / sizeof *current))
        abort();
    current[depth++] = context;
    __atomic_fetch_add(&S.current, 1, __ATOMIC_RELAXED);
    return CUDA_SUCCESS;
}

CUresult cuCtxPopCurrent_v2(CUcontext *context)
{
    note_call();
    if (!depth)
        return CUDA_ERROR_INVALID_CONTEXT;
    *context = current[--depth];
    __atomic_fetch_sub(&S.current, 1, __ATOMIC_RELAXED);
    return CUDA_SUCCESS;
}

/* ---- memory ---- */

CUresult cuMemAlloc_v2(CUdeviceptr *memory, size_t bytes)
{
    BEGIN;
    *memory = (CUdeviceptr)(uintptr_t)add_memory(FAKE_DEVICE_MEMORY, bytes)->memory;
    return CUDA_SUCCESS;
}

CUresult cuMemFree_v2(CUdeviceptr memory)
{
    return end_memory(FAKE_DEVICE_MEMORY, (void *)(uintptr_t)memory);
}

CUresult cuMemHostAlloc(void **host, size_t bytes, unsigned flags)
{
    (void)flags;
    BEGIN;
    *host = add_memory(FAKE_HOST_MEMORY, bytes)->memory;
    return CUDA_SUCCESS;
}

CUresult cuMemFreeHost(void *host)
{
    return end_memory(FAKE_HOST_MEMORY, host);
}

CUresult cuMemHostGetDevicePointer_v2(CUdeviceptr *memory, void *host, unsigned flags)
{
    (void)flags;
    BEGIN;
    *memory = (CUdeviceptr)(uintptr_t)host;
    return CUDA_SUCCESS;
}

CUresult cuMemHostRegister_v2(void *host, size_t bytes, unsigned flags)
{
    (void)bytes;
    (void)flags;
    BEGIN;
    for (size_t i = 0; i < OBJECTS; i++)
        if (objects[i] && objects[i]->kind == FAKE_REGISTERED && objects[i]->memory == host)
            return CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED;
    add(FAKE_REGISTERED)->memory = host;
    return CUDA_SUCCESS;
}

CUresult cuMemHostUnregister(void *host)
{
    return end_memory(FAKE_REGISTERED, host);
}

/* The allocation that has the byte. */
static const struct object *find_memory(CUdeviceptr memory)
{
    const struct object *found = NULL;
    pthread_mutex_lock(&lock);
    for (size_t i = 0; i < OBJECTS && !found; i++) {
        const struct object *o = objects[i];
        if (o && (o->kind == FAKE_DEVICE_MEMORY || o->kind == FAKE_HOST_MEMORY) &&
            memory - (uintptr_t)o->memory < o->bytes)
            found = o;
    }
    pthread_mutex_unlock(&lock);
    return found;
}

CUresult cuMemGetAddressRange_v2(CUdeviceptr *base, size_t *bytes, CUdeviceptr memory)
{
    BEGIN;
    const struct object *o = find_memory(memory);
    if (!o)
        return CUDA_ERROR_NOT_FOUND;
    *base = (CUdeviceptr)(uintptr_t)o->memory;
    *bytes = o->bytes;
    return CUDA_SUCCESS;
}

CUresult cuPointerGetAttribute(void *value, int attribute, CUdeviceptr memory)
{
    BEGIN;
    const struct object *o = find_memory(memory);
    if (!o)
        return CUDA_ERROR_INVALID_VALUE;
    ptrdiff_t device = (char *)o->context - (char *)&fake_cuda_state;
    if (attribute == CU_POINTER_ATTRIBUTE_CONTEXT)
        *(CUcontext *)value = o->context;
    else if (attribute == CU_POINTER_ATTRIBUTE_MEMORY_TYPE)
        *(unsigned *)value =
            o->kind == FAKE_HOST_MEMORY ? CU_MEMORYTYPE_HOST : CU_MEMORYTYPE_DEVICE;
    else if (attribute == CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL)
        *(int *)value = device > 0 && device < S.devices ? (int)device : 0;
    else
        return CUDA_ERROR_INVALID_VALUE;
    return CUDA_SUCCESS;
}

CUresult cuMemcpyAsync(CUdeviceptr to, CUdeviceptr from, size_t bytes, CUstream stream)
{
    (void)stream;
    BEGIN;
    memmove((void *)(uintptr_t)to, (void *)(uintptr_t)from,
            S.whole || bytes < COPIED ? bytes : COPIED);
    return CUDA_SUCCESS;
}

CUresult cuMemcpy2DAsync_v2(const CUmemcpy2D *copy, CUstream stream)
{
    (void)stream;
    BEGIN;
    if (copy->from_type != CU_MEMORYTYPE_UNIFIED || copy->to_type != CU_MEMORYTYPE_UNIFIED ||
        copy->width > copy->from_pitch || copy->width > copy->to_pitch ||
        copy->from_pitch > CU_PITCH_MAX || copy->to_pitch > CU_PITCH_MAX)
        return CUDA_ERROR_INVALID_VALUE;
    for (size_t row = 0; row < copy->height; row++)
        memcpy((char *)(uintptr_t)copy->to + row * copy->to_pitch,
               (const char *)(uintptr_t)copy->from + row * copy->from_pitch, copy->width);
    return CUDA_SUCCESS;
}

/* ---- streams and events ---- */

CUresult cuStreamCreate(CUstream *stream, unsigned flags)
{
    (void)flags;
    BEGIN;
    *stream = (CUstream)add(FAKE_STREAM);
    return CUDA_SUCCESS;
}

CUresult cuStreamDestroy_v2(CUstream stream)
{
    return end_object(stream);
}

CUresult cuStreamQuery(CUstream stream)
{
    (void)stream;
    BEGIN;
    return S.hold ? CUDA_ERROR_NOT_READY : CUDA_SUCCESS;
}

CUresult cuStreamWaitEvent(CUstream stream, CUevent event, unsigned flags)
{
    (void)flags;
    BEGIN;
    if (S.watched && stream != S.watched && ((struct object *)event)->stream == S.watched)
        __atomic_fetch_add(&S.watching, 1, __ATOMIC_RELAXED);
    return CUDA_SUCCESS;
}

/* Held values are lost: the next one of the queue is larger. */
CUresult cuStreamWriteValue64_v2(CUstream stream, CUdeviceptr memory, uint64_t value,
                                 unsigned flags)
{
    (void)stream;
    (void)flags;
    BEGIN;
    if (!S.hold)
        __atomic_store_n((uint64_t *)(uintptr_t)memory, value, __ATOMIC_RELEASE);
    return CUDA_SUCCESS;
}

CUresult cuEventCreate(CUevent *event, unsigned flags)
{
    (void)flags;
    BEGIN;
    *event = (CUevent)add(FAKE_EVENT);
    return CUDA_SUCCESS;
}

CUresult cuEventDestroy_v2(CUevent event)
{
    return end_object(event);
}

CUresult cuEventRecord(CUevent event, CUstream stream)
{
    BEGIN;
    ((struct object *)event)->stream = stream;
    clock_gettime(CLOCK_MONOTONIC, &((struct object *)event)->at);
    return CUDA_SUCCESS;
}

CUresult cuEventQuery(CUevent event)
{
    (void)event;
    BEGIN;
    return S.hold ? CUDA_ERROR_NOT_READY : CUDA_SUCCESS;
}

CUresult cuEventElapsedTime(float *ms, CUevent from, CUevent to)
{
    const struct timespec *a = &((struct object *)from)->at, *b = &((struct object *)to)->at;
    BEGIN;
    *ms = (float)((double)(b->tv_sec - a->tv_sec) * 1e3 + (double)(b->tv_nsec - a->tv_nsec) / 1e6);
    return CUDA_SUCCESS;
}

/* ---- code ---- */

static int find_emulated(const char *text, uint32_t word[3])
{
    return gx__emulated_module(text, &word[0], &word[1], &word[2]);
}

CUresult cuLinkCreate_v2(unsigned count, int *options, void **values, CUlinkState *state)
{
    BEGIN;
    for (unsigned i = 0; i < count; i++)
        if (options[i] == CU_JIT_ERROR_LOG_BUFFER)
            strcpy(values[i], "line 1:\nnot understood");
    S.links++;
    *state = (CUlinkState)add(FAKE_LINK);
    return CUDA_SUCCESS;
}

CUresult cuLinkAddData_v2(CUlinkState state, int type, void *data, size_t bytes, const char *name,
                          unsigned count, int *options, void **values)
{
    struct object *o = (struct object *)state;
    (void)name;
    (void)count;
    (void)options;
    (void)values;
    BEGIN;
    const char *text = data;
    uint32_t word[3];
    if (type != CU_JIT_INPUT_PTX || text[bytes - 1] || strstr(text, " GX_PTX_") ||
        (strstr(text, AWAIT) && S.capability < 90) ||
        (strncmp(text, "fake", 4) != 0 && find_emulated(text, word) < 0))
        return CUDA_ERROR_INVALID_PTX;
    o->memory = malloc(sizeof CUBIN + bytes);
    if (!o->memory)
        abort();
    sprintf(o->memory, CUBIN "%s", text);
    return CUDA_SUCCESS;
}

CUresult cuLinkComplete(CUlinkState state, void **cubin, size_t *bytes)
{
    struct object *o = (struct object *)state;
    BEGIN;
    *cubin = o->memory;
    *bytes = strlen(o->memory) + 1;
    return CUDA_SUCCESS;
}

CUresult cuLinkDestroy(CUlinkState state)
{
    return end_object(state);
}

CUresult cuModuleLoadData(CUmodule *module, const void *image)
{
    BEGIN;
    if (S.load != CUDA_SUCCESS)
        return S.load;
    if (strncmp(image, CUBIN, strlen(CUBIN)) != 0)
        return CUDA_ERROR_INVALID_IMAGE;
    struct object *o = add(FAKE_MODULE);
    o->memory = strdup(image);
    o->emulated = find_emulated((char *)o->memory + strlen(CUBIN), o->word);
    *module = (CUmodule)o;
    return CUDA_SUCCESS;
}

CUresult cuModuleUnload(CUmodule module)
{
    note_wait();
    return end_object(module);
}

CUresult cuModuleGetFunction(CUfunction *function, CUmodule module, const char *name)
{
    BEGIN;
    const struct object *o = (struct object *)module;
    bool own = o->emulated < 0 && strstr(o->memory, "own");
    if (strcmp(name, own ? "kernel" : GX_PTX_ENTRY) != 0)
        return CUDA_ERROR_NOT_FOUND;
    *function = (CUfunction)module;
    return CUDA_SUCCESS;
}

static uint32_t *word(const struct gx_ptx_args *args, int binding, uint32_t unit)
{
    return (uint32_t *)(uintptr_t)args->bind[binding] + args->push[1 + binding] * unit;
}

static void run_copy(const struct gx_ptx_args *args, size_t n)
{
    memmove(word(args, GX_K_OUT, 4), word(args, GX_K_A, 4),
            S.whole || 16 * n < COPIED ? 16 * n : COPIED);
}

static void run_words(const struct gx_ptx_args *args, size_t n, bool subtract)
{
    const uint32_t *a = word(args, GX_K_A, 1), *b = word(args, GX_K_B, 1);
    uint32_t *out = word(args, GX_K_OUT, 1);
    for (size_t i = 0; i < n; i++)
        out[i] = subtract ? a[i] - b[i] : a[i] + b[i];
}

/* Multiplies by its parameter. */
static void run_own(const struct cu_registered_args *args, size_t threads)
{
    const uint32_t *push = args->push, *a = (uint32_t *)(uintptr_t)args->bind[1] + push[2];
    uint32_t *out = (uint32_t *)(uintptr_t)args->bind[0] + push[1];
    for (size_t i = 0; i < push[0] && i < threads; i++)
        out[i] = a[i * push[5]] * push[GX_REGISTERED_PUSH_WORDS];
}

/* In the default floating-point mode: the device sees to it, and a GPU has no other. */
static CUresult emulate(const struct object *module, void *args, unsigned x, unsigned y,
                        unsigned threads)
{
    static pthread_mutex_t one_at_a_time = PTHREAD_MUTEX_INITIALIZER;
    const struct gx_ptx *ptx = &gx__ptx[module->emulated];
    const uint32_t *number = module->word;
    if (threads != ptx->workgroup)
        return CUDA_ERROR_INVALID_VALUE;
    if (ptx->family == GX_SHADER_COPY && ((struct gx_ptx_args *)args)->push[0] >= PROBE) {
        run_copy(args, ((struct gx_ptx_args *)args)->push[0]);
        return CUDA_SUCCESS;
    }
    pthread_mutex_lock(&one_at_a_time);
    gx__emulate(gx__ptx_emulated[module->emulated], args, x, y, threads, number[0], number[1],
                number[2]);
    pthread_mutex_unlock(&one_at_a_time);
    return CUDA_SUCCESS;
}

/* Like the real one, a grid that is too small leaves elements alone. */
static CUresult run(const struct object *module, const CUlaunchConfig *c, void **params)
{
    const struct gx_ptx_args *args = params[0];
    size_t threads = (size_t)c->gridDimX * c->gridDimY * c->gridDimZ * c->blockDimX * c->blockDimY *
                     c->blockDimZ;
    size_t n = args->push[0] < threads ? args->push[0] : threads;
    __atomic_fetch_add(&S.launches, 1, __ATOMIC_RELAXED);
    if (module->emulated >= 0)
        return c->gridDimZ == 1 && c->blockDimY == 1 && c->blockDimZ == 1
                   ? emulate(module, params[0], c->gridDimX, c->gridDimY, c->blockDimX)
                   : CUDA_ERROR_INVALID_VALUE;
    if (strstr(module->memory, "copy"))
        run_copy(args, n);
    else if (strstr(module->memory, "words"))
        run_words(args, n, strstr(module->memory, "op 2 ") != NULL);
    else if (strstr(module->memory, "own"))
        run_own(params[0], threads);
    return CUDA_SUCCESS;
}

CUresult cuLaunchKernel(CUfunction function, unsigned grid_x, unsigned grid_y, unsigned grid_z,
                        unsigned block_x, unsigned block_y, unsigned block_z, unsigned shared_bytes,
                        CUstream stream, void **params, void **extra)
{
    const CUlaunchConfig config = {grid_x,  grid_y,       grid_z, block_x, block_y,
                                   block_z, shared_bytes, stream, NULL,    0};
    (void)extra;
    BEGIN;
    return run((struct object *)function, &config, params);
}

/* A kernel that does not wait for those before it may not begin before they end. */
CUresult cuLaunchKernelEx(const CUlaunchConfig *config, CUfunction function, void **params,
                          void **extra)
{
    const struct object *module = (struct object *)function;
    (void)extra;
    BEGIN;
    if (config->numAttrs != 1 ||
        config->attrs[0].id != CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION ||
        config->attrs[0].value.programmaticStreamSerializationAllowed != 1 ||
        !strstr(module->memory, AWAIT))
        return CUDA_ERROR_INVALID_VALUE;
    __atomic_fetch_add(&S.early, 1, __ATOMIC_RELAXED);
    return run(module, config, params);
}
