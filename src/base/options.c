/* SPDX-License-Identifier: Apache-2.0
 *
 * The table of settings and the parsing of their values.
 */
#include "base/options.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/abi.h"
#include "base/env.h"
#include "base/log.h"
#include "base/names.h"

enum kind { TEXT, TIERS, BACKENDS, PATH, MODE, POLICY, U32, U64, BYTES, BOOL };

#define TIER_TEXT(name) " " #name

/* X(config field, kind, name, environment, argument, help) */
#define OPTIONS(X)                                                                                 \
    X(device, TEXT, "device", "GPUEXEC_DEVICE", "NAMES",                                           \
      "device to run on, or a comma-separated list to choose from (see 'gpuexec devices')")        \
    X(policy, POLICY, "policy", "GPUEXEC_POLICY", "POLICY",                                        \
      "auto, cpu, gpu, latency or throughput: how to choose a device")                             \
    X(sample_every, U64, "sample-every", "GPUEXEC_SAMPLE_EVERY", "N",                              \
      "recompute and compare one in N elements computed by GPUs; 1: all (default 1000; none if "   \
      "the device is named)")                                                                      \
    X(cpumask, TIERS, "cpumask", "GPUEXEC_CPUMASK", "TIERS",                                       \
      "CPU tiers allowed, comma-separated:" GX__TIER_LIST(TIER_TEXT))                              \
    X(threads, U32, "threads", "GPUEXEC_THREADS", "N", "maximum host threads per job")             \
    X(dispatch_elems, U64, "dispatch-elems", "GPUEXEC_DISPATCH_ELEMS", "N",                        \
      "maximum elements per dispatch")                                                             \
    X(path, PATH, "path", "GPUEXEC_PATH", "PATH",                                                  \
      "auto, host-visible or device-local: how a GPU accesses operands")                           \
    X(mode, MODE, "mode", "GPUEXEC_MODE", "MODE",                                                  \
      "auto, sequential, single-submit or pipelined: how jobs of one call are scheduled")          \
    X(stream_chunk_elems, U64, "stream-chunk-elems", "GPUEXEC_STREAM_CHUNK_ELEMS", "N",            \
      "elements per piece of a large job (default 524288)")                                        \
    X(device_memory, BYTES, "device-memory", "GPUEXEC_DEVICE_MEMORY", "BYTES",                     \
      "maximum memory to use on a device, such as 256M; larger work is split up")                  \
    X(queue_jobs, U64, "queue-jobs", "GPUEXEC_QUEUE_JOBS", "N",                                    \
      "maximum unfinished submitted jobs; submitting blocks at the limit (default 4096)")          \
    X(validate, BOOL, "validate", "GPUEXEC_VALIDATE", "0|1",                                       \
      "enable the drivers' validation layer")                                                      \
    X(trace, TEXT, "trace", "GPUEXEC_TRACE", "FILE",                                               \
      "write a trace for ui.perfetto.dev or chrome://tracing")                                     \
    X(webgpu_backends, BACKENDS, "webgpu-backends", "GPUEXEC_WEBGPU_BACKENDS", "BACKENDS",         \
      "WebGPU backends allowed, comma-separated: vulkan gl dx12 metal")                            \
    X(wgpu_library, TEXT, "wgpu-library", "GPUEXEC_WGPU_LIBRARY", "FILE",                          \
      "path of the wgpu-native library (default: the system's search path)")                       \
    X(cuda_library, TEXT, "cuda-library", "GPUEXEC_CUDA_LIBRARY", "FILE",                          \
      "path of the CUDA driver's library (default: libcuda.so.1 on the system's search path)")     \
    X(cache_dir, TEXT, "cache-dir", "GPUEXEC_CACHE_DIR", "FOLDER",                                 \
      "directory for cache files, or 'none'")

static const gx_option options[] = {
#define X(field, kind, name, env, arg, help) {name, env, arg, help},
    OPTIONS(X)
#undef X
};

static const struct {
    enum kind kind;
    size_t offset;
} targets[] = {
#define X(field, kind, name, env, arg, help) {kind, offsetof(gx_config, field)},
    OPTIONS(X)
#undef X
};

enum { OPTION_COUNT = sizeof options / sizeof *options };

const gx_option *gx_option_get(uint32_t index)
{
    return index < OPTION_COUNT ? &options[index] : NULL;
}

/* Digits only: strtoull alone would accept a sign and leading blanks. */
static int parse_number(const char *text, uint64_t max, uint64_t *value)
{
    if (!*text || text[strspn(text, "0123456789")])
        return 0;
    errno = 0;
    unsigned long long v = strtoull(text, NULL, 10);
    if (errno || v > max)
        return 0;
    *value = v;
    return 1;
}

/* "256M": a number with K, M, G or T for powers of 1024. */
static int parse_bytes(const char *text, uint64_t *value)
{
    static const char suffixes[] = "KMGT";
    char digits[24];
    size_t length = strlen(text);
    const char *suffix = length ? strchr(suffixes, text[length - 1]) : NULL;
    unsigned shift = suffix ? 10 * (unsigned)(suffix - suffixes + 1) : 0;
    length -= suffix != NULL;
    if (length >= sizeof digits)
        return 0;
    memcpy(digits, text, length);
    digits[length] = 0;
    if (!parse_number(digits, UINT64_MAX >> shift, value))
        return 0;
    *value <<= shift;
    return 1;
}

typedef const char *(*name_fn)(uint32_t value);

/* Finds the value with this name among the first `count`. Otherwise GX_ERR_INVALID, with the valid
 * names in err. */
static gx_status parse_name(const char *text, name_fn name, uint32_t count, uint32_t *which,
                            const char *where, char *err, size_t err_size)
{
    *which = 0;
    for (uint32_t i = 0; i < count; i++) {
        if (!strcmp(text, name(i))) {
            *which = i;
            return GX_OK;
        }
    }
    int length = snprintf(err, err_size, "%s: '%.48s' is not one of", where, text);
    for (uint32_t i = 0; i < count && length >= 0 && (size_t)length < err_size; i++)
        length += snprintf(err + length, err_size - (size_t)length, "%s %s", i ? "," : "", name(i));
    return GX_ERR_INVALID;
}

gx_status gx__parse_mode(const char *text, gx_mode *mode, const char *where, char *err,
                         size_t err_size)
{
    return parse_name(text, gx_mode_name, GX_MODES, mode, where, err, err_size);
}

gx_status gx__parse_path(const char *text, gx_path *path, const char *where, char *err,
                         size_t err_size)
{
    return parse_name(text, gx_path_name, GX_PATHS_ASKED, path, where, err, err_size);
}

gx_status gx__parse_policy(const char *text, gx_policy *policy, const char *where, char *err,
                           size_t err_size)
{
    return parse_name(text, gx_policy_name, GX_POLICIES, policy, where, err, err_size);
}

bool gx__next_name(const char **list, char *name, size_t size)
{
    size_t length;
    do {
        *list += strspn(*list, ", ");
        length = strcspn(*list, ",");
        snprintf(name, size, "%.*s", (int)(length < size ? length : size - 1), *list);
        *list += length;
    } while (length >= size);
    while (length && name[length - 1] == ' ')
        name[--length] = 0;
    return length;
}

bool gx__parse_tiers(const char *text, unsigned *bits)
{
    *bits = text ? 1 : ~0u;
    while (text) {
        size_t length = strcspn(text, ",");
        uint32_t t = 0;
        const char *name = gx_tier_name(t);
        while (name && (strlen(name) != length || memcmp(name, text, length) != 0))
            name = gx_tier_name(++t);
        if (!name)
            return false;
        *bits |= 1u << t;
        text = text[length] ? text + length + 1 : NULL;
    }
    return true;
}

const char *const gx__webgpu_backend_names[GX_WEBGPU_BACKENDS] = {[GX_WEBGPU_VULKAN] = "vulkan",
                                                                  [GX_WEBGPU_GL] = "gl",
                                                                  [GX_WEBGPU_DX12] = "dx12",
                                                                  [GX_WEBGPU_METAL] = "metal"};

#if defined(_WIN32)
#define BACKENDS_HERE (1u << GX_WEBGPU_VULKAN | 1u << GX_WEBGPU_GL | 1u << GX_WEBGPU_DX12)
#define BACKENDS_TEXT "vulkan, gl and dx12"
#elif defined(__APPLE__)
#define BACKENDS_HERE (1u << GX_WEBGPU_METAL)
#define BACKENDS_TEXT "metal"
#else
#define BACKENDS_HERE (1u << GX_WEBGPU_VULKAN | 1u << GX_WEBGPU_GL)
#define BACKENDS_TEXT "vulkan and gl"
#endif

const char *gx__webgpu_backends_here(void)
{
    return BACKENDS_TEXT;
}

/* Spellings of the SuperVM prototype that differ from ours. */
static const struct {
    const char *name;
    enum gx_webgpu_backend backend;
} other_names[] = {{"gles", GX_WEBGPU_GL}};

static bool is_word(const char *word, const char *text, size_t length)
{
    return strlen(word) == length && !strncasecmp(word, text, length);
}

/* GX_WEBGPU_BACKENDS if there is no such backend. */
static enum gx_webgpu_backend find_backend(const char *text, size_t length)
{
    for (size_t i = 0; i < sizeof other_names / sizeof *other_names; i++)
        if (is_word(other_names[i].name, text, length))
            return other_names[i].backend;
    enum gx_webgpu_backend b = 0;
    while (b < GX_WEBGPU_BACKENDS && !is_word(gx__webgpu_backend_names[b], text, length))
        b++;
    return b;
}

bool gx__parse_backends(const char *text, unsigned *bits)
{
    *bits = text ? 0 : BACKENDS_HERE;
    while (text) {
        text += strspn(text, " ");
        size_t all = strcspn(text, ","), length = all;
        while (length && text[length - 1] == ' ')
            length--;
        enum gx_webgpu_backend b = find_backend(text, length);
        if (b == GX_WEBGPU_BACKENDS)
            return false;
        *bits |= BACKENDS_HERE & 1u << b;
        text = text[all] ? text + all + 1 : NULL;
    }
    return true;
}

static gx_status refuse_backends(const char *where, const char *value, char *err, size_t err_size)
{
    snprintf(err, err_size,
             "%s: '%.48s' is not a list of WebGPU backends: vulkan, gl or gles, dx12, metal", where,
             value);
    return GX_ERR_INVALID;
}

static size_t member_bytes(size_t i)
{
    enum kind kind = targets[i].kind;
    return kind == U32 || kind == BOOL    ? sizeof(uint32_t)
           : kind == U64 || kind == BYTES ? sizeof(uint64_t)
                                          : sizeof(char *);
}

/* where: the setting's name as the user knows it, for the message. */
static gx_status set(gx_config *config, size_t i, const char *where, const char *value, char *err,
                     size_t err_size)
{
    char *field = (char *)config + targets[i].offset;
    uint64_t number;
    gx_path path;
    gx_mode mode;
    gx_policy policy;
    unsigned bits;
    switch (targets[i].kind) {
    case PATH:
        if (gx__parse_path(value, &path, where, err, err_size) != GX_OK)
            return GX_ERR_INVALID;
        memcpy(field, &value, sizeof value);
        return GX_OK;
    case MODE:
        if (gx__parse_mode(value, &mode, where, err, err_size) != GX_OK)
            return GX_ERR_INVALID;
        memcpy(field, &value, sizeof value);
        return GX_OK;
    case POLICY:
        if (gx__parse_policy(value, &policy, where, err, err_size) != GX_OK)
            return GX_ERR_INVALID;
        memcpy(field, &value, sizeof value);
        return GX_OK;
    case BYTES:
        if (!parse_bytes(value, &number)) {
            snprintf(err, err_size,
                     "%s: '%.48s' is not a number of bytes (suffix K, M, G or T allowed)", where,
                     value);
            return GX_ERR_INVALID;
        }
        memcpy(field, &number, sizeof number);
        return GX_OK;
    case TIERS:
        if (!gx__parse_tiers(value, &bits)) {
            snprintf(err, err_size,
                     "%s: '%s' is not a list of these tiers:" GX__TIER_LIST(TIER_TEXT), where,
                     value);
            return GX_ERR_INVALID;
        }
        memcpy(field, &value, sizeof value);
        return GX_OK;
    case BACKENDS:
        if (!gx__parse_backends(value, &bits))
            return refuse_backends(where, value, err, err_size);
        memcpy(field, &value, sizeof value);
        return GX_OK;
    case TEXT:
        memcpy(field, &value, sizeof value);
        return GX_OK;
    case U32:
    case U64:
    case BOOL:
        break;
    }
    uint64_t max = targets[i].kind == U32 ? UINT32_MAX : targets[i].kind == BOOL ? 1 : UINT64_MAX;
    if (!parse_number(value, max, &number)) {
        snprintf(err, err_size, "%s: '%s' is not a whole number from 0 to %llu", where, value,
                 (unsigned long long)max);
        return GX_ERR_INVALID;
    }
    if (member_bytes(i) == sizeof(uint32_t))
        memcpy(field, &(uint32_t){(uint32_t)number}, sizeof(uint32_t));
    else
        memcpy(field, &number, sizeof number);
    return GX_OK;
}

static int is_zero(const gx_config *config, size_t i)
{
    static const char zero[sizeof(uint64_t)];
    return !memcmp((const char *)config + targets[i].offset, zero, member_bytes(i));
}

/* The caller's config may have the layout of another version. */
static gx_status set_by_name(gx_config *config, const char *name, const char *value, char *err,
                             size_t err_size)
{
    if (!config || !name || !value) {
        snprintf(err, err_size, "gx_config_set: config, name and value must not be NULL");
        return GX_ERR_INVALID;
    }
    size_t size = gx__caller_size(&gx__config_layout, config, err, err_size), i = 0;
    while (i < OPTION_COUNT && strcmp(options[i].name, name) != 0)
        i++;
    if (!size)
        return GX_ERR_INVALID;
    if (i == OPTION_COUNT)
        snprintf(err, err_size, "there is no setting '%s'", name);
    else if (targets[i].offset + member_bytes(i) > size)
        snprintf(err, err_size, "%s lies beyond gx_config.struct_size: set it to sizeof(gx_config)",
                 name);
    else
        return set(config, i, name, value, err, err_size);
    return GX_ERR_INVALID;
}

gx_status gx_config_set(gx_config *config, const char *name, const char *value, char *err,
                        size_t err_size)
{
    char message[GX_MESSAGE_BYTES] = "";
    gx_status s = set_by_name(config, name, value, message, sizeof message);
    if (err && err_size)
        snprintf(err, err_size, "%s", message);
    return s == GX_OK ? s : gx__fail(NULL, s, "%s", message);
}

/* Names of these settings in the SuperVM prototype. */
static gx_status take_old_path(gx_config *config, char *err, size_t err_size)
{
    const char *value = gx__env(config, "GPU_DEVICE_LOCAL");
    if (!value || config->path)
        return GX_OK;
    if (strcmp(value, "0") && strcmp(value, "1")) {
        snprintf(err, err_size, "GPU_DEVICE_LOCAL: '%.48s' is neither 0 nor 1", value);
        return GX_ERR_INVALID;
    }
    config->path = *value == '1' ? "device-local" : "host-visible";
    return GX_OK;
}

static gx_status take_old_chunk(gx_config *config, char *err, size_t err_size)
{
    const char *value = gx__env(config, "GPU_STREAM_CHUNK_ELEMS");
    if (!value || config->stream_chunk_elems)
        return GX_OK;
    if (parse_number(value, UINT64_MAX, &config->stream_chunk_elems))
        return GX_OK;
    snprintf(err, err_size, "GPU_STREAM_CHUNK_ELEMS: '%.48s' is not a whole number", value);
    return GX_ERR_INVALID;
}

static gx_status take_old_backends(gx_config *config, char *err, size_t err_size)
{
    static const char name[] = "SUPERVM_WGPU_BACKENDS";
    const char *value = gx__env(config, name);
    unsigned bits;
    if (!value || config->webgpu_backends)
        return GX_OK;
    if (!gx__parse_backends(value, &bits))
        return refuse_backends(name, value, err, err_size);
    config->webgpu_backends = value;
    return GX_OK;
}

gx_status gx__config_complete(gx_config *config, const gx_config *caller, char *err,
                              size_t err_size)
{
    gx_status taken = gx__take_in(&gx__config_layout, config, caller, err, err_size);
    if (taken != GX_OK)
        return taken;
    if (config->reserved) {
        snprintf(err, err_size, "gx_config.reserved is %u: set it to 0", config->reserved);
        return GX_ERR_INVALID;
    }
    if (!config->allocator.alloc != !config->allocator.free) {
        snprintf(err, err_size, "gx_config.allocator needs both alloc and free, or neither");
        return GX_ERR_INVALID;
    }
    if (config->cpumask) { /* checks that gx_config_set would have made */
        gx_status s = set_by_name(config, "cpumask", config->cpumask, err, err_size);
        if (s != GX_OK)
            return s;
    }
    if (config->webgpu_backends) {
        gx_status s =
            set_by_name(config, "webgpu-backends", config->webgpu_backends, err, err_size);
        if (s != GX_OK)
            return s;
    }
    for (size_t i = 0; i < OPTION_COUNT; i++) {
        const char *value = gx__env(config, options[i].env);
        if (!value || !is_zero(config, i))
            continue;
        gx_status s = set(config, i, options[i].env, value, err, err_size);
        if (s != GX_OK)
            return s;
    }
    gx_status s = take_old_path(config, err, err_size);
    if (s == GX_OK)
        s = take_old_chunk(config, err, err_size);
    return s == GX_OK ? take_old_backends(config, err, err_size) : s;
}
