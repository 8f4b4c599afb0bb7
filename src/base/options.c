/* SPDX-License-Identifier: Apache-2.0
 *
 * The table of settings and the parsing of their values.
 */
#include "base/options.h"

#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "base/abi.h"
#include "base/env.h"
#include "base/log.h"
#include "base/names.h"
#include "base/number.h"

enum kind { TEXT, NAMES, TIERS, BACKENDS, PATH, MODE, POLICY, U32, U64, BOOL };

#define TIER_TEXT(name) " " #name

/* X(config field, kind, name, environment, argument, help) */
#define OPTIONS(X)                                                                                 \
    X(device, NAMES, "device", "GPUEXEC_DEVICE", "NAMES",                                          \
      "device to run on, or a comma-separated list to choose from (see 'gpuexec devices')")        \
    X(policy, POLICY, "policy", "GPUEXEC_POLICY", "POLICY",                                        \
      "auto, cpu, gpu or throughput: how to choose a device")                                      \
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
    X(device_memory, U64, "device-memory", "GPUEXEC_DEVICE_MEMORY", "BYTES",                       \
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

typedef const char *(*name_fn)(uint32_t value);

/* Finds the value with this name among the first `count`. Otherwise GX_ERR_INVALID, with the valid
 * names in the error. */
static gx_status parse_name(const char *text, name_fn name, uint32_t count, uint32_t *which,
                            const char *where, struct gx_error *error)
{
    *which = 0;
    for (uint32_t i = 0; i < count; i++) {
        if (!strcmp(text, name(i))) {
            *which = i;
            return GX_OK;
        }
    }
    gx__explain(error, "%s: '%.48s' is not one of", where, text);
    for (uint32_t i = 0; i < count; i++)
        gx__explain_more(error, "%s %s", i ? "," : "", name(i));
    return GX_ERR_INVALID;
}

/* Settings that are enums, by kind. */
static const struct {
    name_fn name;
    uint32_t count;
} enums[] = {[PATH] = {gx_path_name, GX_PATHS_ASKED},
             [MODE] = {gx_mode_name, GX_MODES},
             [POLICY] = {gx_policy_name, GX_POLICIES}};

/* Moves *list to its next name, whose length it returns; 0 at the end. */
static size_t find_name(const char **list)
{
    *list += strspn(*list, ", ");
    size_t length = strcspn(*list, ",");
    while (length && (*list)[length - 1] == ' ')
        length--;
    return length;
}

bool gx__next_name(const char **list, char name[GX_LISTED_NAME])
{
    size_t length = find_name(list);
    snprintf(name, GX_LISTED_NAME, "%.*s", (int)length, *list);
    *list += length;
    return length;
}

static gx_status check_names(const char *list, const char *where, struct gx_error *error)
{
    size_t length = find_name(&list);
    if (!length)
        return gx__refuse(error, GX_ERR_INVALID, "%s: names no device", where);
    for (; length > 0; length = find_name(&list)) {
        if (length >= GX_LISTED_NAME)
            return gx__refuse(error, GX_ERR_INVALID,
                              "%s: '%.48s...' is a name of %zu characters: at most %d", where, list,
                              length, GX_LISTED_NAME - 1);
        list += length;
    }
    return GX_OK;
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

static gx_status refuse_backends(const char *where, const char *value, struct gx_error *error)
{
    return gx__refuse(
        error, GX_ERR_INVALID,
        "%s: '%.48s' is not a list of WebGPU backends: vulkan, gl or gles, dx12, metal", where,
        value);
}

static size_t member_bytes(size_t i)
{
    enum kind kind = targets[i].kind;
    switch (kind) {
    case U32:
    case BOOL:
    case PATH:
    case MODE:
    case POLICY:
        return sizeof(uint32_t);
    case U64:
        return sizeof(uint64_t);
    case TEXT:
    case NAMES:
    case TIERS:
    case BACKENDS:
        break;
    }
    return sizeof(char *);
}

static gx_status read_number(enum kind kind, const char *where, const char *value, uint64_t *number,
                             struct gx_error *error)
{
    uint64_t max = kind == U32 ? UINT32_MAX : kind == BOOL ? 1 : UINT64_MAX;
    enum gx_number read = gx__read_number(value, number);
    if (read == GX_NUMBER && *number <= max)
        return GX_OK;
    if (read == GX_NUMBER_WRONG)
        return gx__refuse(error, GX_ERR_INVALID, "%s: '%.48s' is not a number%s", where, value,
                          kind == BOOL ? ": 0 or 1" : " such as " GX_NUMBER_EXAMPLES);
    return gx__refuse(error, GX_ERR_INVALID, "%s: '%.48s' is more than %llu", where, value,
                      (unsigned long long)max);
}

/* where: the setting's name as the user knows it, for the message. */
static gx_status set(gx_config *config, size_t i, const char *where, const char *value,
                     struct gx_error *error)
{
    char *field = (char *)config + targets[i].offset;
    uint64_t number = 0;
    uint32_t which;
    unsigned bits;
    enum kind kind = targets[i].kind;
    switch (kind) {
    case PATH:
    case MODE:
    case POLICY:
        if (parse_name(value, enums[kind].name, enums[kind].count, &which, where, error) != GX_OK)
            return GX_ERR_INVALID;
        memcpy(field, &which, sizeof which);
        return GX_OK;
    case TIERS:
        if (!gx__parse_tiers(value, &bits))
            return gx__refuse(error, GX_ERR_INVALID,
                              "%s: '%s' is not a list of these tiers:" GX__TIER_LIST(TIER_TEXT),
                              where, value);
        memcpy(field, &value, sizeof value);
        return GX_OK;
    case BACKENDS:
        if (!gx__parse_backends(value, &bits))
            return refuse_backends(where, value, error);
        memcpy(field, &value, sizeof value);
        return GX_OK;
    case NAMES:
        if (check_names(value, where, error) != GX_OK)
            return GX_ERR_INVALID;
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
    if (read_number(kind, where, value, &number, error) != GX_OK)
        return GX_ERR_INVALID;
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

/* OPTION_COUNT: there is none. */
static size_t find_option(const char *name)
{
    size_t i = 0;
    while (i < OPTION_COUNT && strcmp(options[i].name, name) != 0)
        i++;
    return i;
}

bool gx__setting_is_set(const gx_config *config, const char *name)
{
    return !is_zero(config, find_option(name));
}

gx_status gx__setting_set(gx_config *config, const char *name, const char *where, const char *value,
                          struct gx_error *error)
{
    return set(config, find_option(name), where, value, error);
}

/* The caller's config may have the layout of another version. */
static gx_status set_by_name(gx_config *config, const char *name, const char *value,
                             struct gx_error *error)
{
    if (!config || !name || !value)
        return gx__refuse(error, GX_ERR_INVALID,
                          "gx_config_set: config, name and value must not be NULL");
    size_t size = gx__caller_size(&gx__config_layout, config, error);
    size_t i = find_option(name);
    if (!size)
        return GX_ERR_INVALID;
    if (i == OPTION_COUNT)
        gx__explain(error, "there is no setting '%s'", name);
    else if (targets[i].offset + member_bytes(i) > size)
        gx__explain(error, "%s lies beyond gx_config.struct_size: set it to sizeof(gx_config)",
                    name);
    else
        return set(config, i, name, value, error);
    return GX_ERR_INVALID;
}

gx_status gx_config_set(gx_config *config, const char *name, const char *value, char *err,
                        size_t err_size)
{
    struct gx_error error = {""};
    gx_status s = set_by_name(config, name, value, &error);
    if (err && err_size)
        gx__error_give(&error, err, err_size);
    return s == GX_OK ? s : gx__fail(NULL, s, "%s", error.text);
}

gx_status gx__config_complete(gx_config *config, const gx_config *caller, struct gx_error *error)
{
    gx_status taken = gx__take_in(&gx__config_layout, config, caller, error);
    if (taken != GX_OK)
        return taken;
    if (config->path >= GX_PATHS_ASKED || config->mode >= GX_MODES || config->policy >= GX_POLICIES)
        return gx__refuse(
            error, GX_ERR_INVALID,
            "gx_config: path %u, mode %u or policy %u is not one that can be asked for",
            config->path, config->mode, config->policy);
    if (!config->allocator.alloc != !config->allocator.free)
        return gx__refuse(error, GX_ERR_INVALID,
                          "gx_config.allocator needs both alloc and free, or neither");
    if (config->device) { /* checks that gx_config_set would have made */
        gx_status s = set_by_name(config, "device", config->device, error);
        if (s != GX_OK)
            return s;
    }
    if (config->cpumask) {
        gx_status s = set_by_name(config, "cpumask", config->cpumask, error);
        if (s != GX_OK)
            return s;
    }
    if (config->webgpu_backends) {
        gx_status s = set_by_name(config, "webgpu-backends", config->webgpu_backends, error);
        if (s != GX_OK)
            return s;
    }
    for (size_t i = 0; i < OPTION_COUNT; i++) {
        const char *value = gx__env(config, options[i].env);
        if (!value || !is_zero(config, i))
            continue;
        gx_status s = set(config, i, options[i].env, value, error);
        if (s != GX_OK)
            return s;
    }
    return gx__prototype_settings(config, error);
}
