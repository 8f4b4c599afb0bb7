/* SPDX-License-Identifier: Apache-2.0
 *
 * Kernels: PTX from the build's table, completed with the operation's numbers, compiled by the
 * driver for this GPU, and saved as machine code in a cache file of its own for the next process.
 */
#include "device/cuda/cuda.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/log.h"

#define DEFAULT_WORKGROUP 128
#define LOG_BYTES         1024
#define BLOCK_MAX         1024u /* of every device, like: */
#define BLOCK_MAX_Z       64u
#define AWAIT_CAPABILITY  90 /* has the instructions */

struct cu_kernels gx__cu_kernels = {gx__ptx, &gx__ptx_count};

/* ---- what there is ---- */

/* The entry for a field and family with index `variant` among those; NULL: none. */
static const struct gx_ptx *find(gx_field field, enum gx_shader_family family, uint32_t variant)
{
    for (size_t i = 0; i < *gx__cu_kernels.count; i++)
        if (gx__cu_kernels.first[i].field == field && gx__cu_kernels.first[i].family == family &&
            !variant--)
            return &gx__cu_kernels.first[i];
    return NULL;
}

bool gx__cu_complete(void)
{
    bool complete = true;
    for (size_t i = 0; i < gx__shader_count && complete; i++)
        complete = gx__shaders[i].family == GX_SHADER_ROOF ||
                   find(gx__shaders[i].field, gx__shaders[i].family, 0);
    return complete;
}

static uint64_t hash(uint64_t h, const char *text)
{
    for (; *text; text++)
        h = (h ^ (unsigned char)*text) * 0x100000001b3u; /* FNV-1a */
    return h;
}

uint64_t gx__cu_kernels_hash(void)
{
    uint64_t h = 0xcbf29ce484222325u;
    for (size_t i = 0; i < *gx__cu_kernels.count; i++)
        h = hash(h, gx__cu_kernels.first[i].text);
    return h;
}

uint32_t gx__cu_variants(const struct gx_gpu *gpu, gx_field field, enum gx_shader_family family)
{
    uint32_t n = 0;
    (void)gpu;
    while (find(field, family, n))
        n++;
    return n;
}

const char *gx__cu_variant_name(const struct gx_gpu *gpu, gx_field field,
                                enum gx_shader_family family, uint32_t variant)
{
    const struct gx_ptx *ptx = find(field, family, variant);
    (void)gpu;
    return ptx ? ptx->variant : "none";
}

/* Blocks have the size that the kernels of the family were written for. */
struct gx_choice gx__cu_guess(enum gx_shader_family family)
{
    uint16_t workgroup = DEFAULT_WORKGROUP;
    for (size_t i = *gx__cu_kernels.count; i-- > 0;)
        if (gx__cu_kernels.first[i].family == family)
            workgroup = (uint16_t)gx__cu_kernels.first[i].workgroup;
    return (struct gx_choice){.workgroup = workgroup};
}

void gx__cu_facts(const struct gx_gpu *gpu, gx_field field, enum gx_shader_family family,
                  struct gx_choice choice, struct gx_pass_facts *facts)
{
    const struct gx_ptx *ptx = find(field, family, choice.variant);
    const struct gx_ptx *small =
        family == GX_SHADER_NTT ? find(field, GX_SHADER_NTT_SMALL, choice.variant) : NULL;
    (void)gpu;
    facts->each = ptx ? ptx->each : 1;
    facts->small = small ? small->each : 0;
    facts->direct = GX_INVERSE_DIRECT_INT64;
}

/* Nothing to measure: the first variant is the best of its family. */
struct gx_choice gx__cu_tune(struct gx_gpu *gpu, gx_field field, enum gx_shader_family family)
{
    struct gx_choice choice = gx__gpu_guess(gpu, family);
    const struct gx_ptx *ptx = find(field, family, 0);
    if (ptx)
        choice.workgroup = (uint16_t)ptx->workgroup;
    return choice;
}

/* ---- completing the text ---- */

static bool is_word(char c)
{
    return isalnum((unsigned char)c) || c == '_' || c == '$';
}

/* What takes the place of the words. */
struct filling {
    char number[3][12];
    const char *put[6];
};

static void fill(struct filling *f, const struct gx_pipeline_key *key, bool awaits)
{
    const uint32_t numbers[] = {key->op, key->check, key->repeat};
    for (int i = 0; i < 3; i++) {
        snprintf(f->number[i], sizeof f->number[i], "%u", numbers[i]);
        f->put[i] = f->number[i];
    }
    f->put[3] = awaits ? "griddepcontrol.wait; griddepcontrol.launch_dependents;" : "";
    f->put[4] = awaits ? ".version 7.8" : GX_PTX_VERSION;
    f->put[5] = awaits ? ".target sm_90" : GX_PTX_TARGET;
}

/* If one of the words is here: its length, and what takes its place. */
static size_t word_at(const char *text, const struct filling *f, const char **put)
{
    static const char *const words[] = {GX_PTX_OP,    GX_PTX_CHECK,   GX_PTX_REPEAT,
                                        GX_PTX_AWAIT, GX_PTX_VERSION, GX_PTX_TARGET};
    for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
        size_t length = strlen(words[i]);
        if (!strncmp(text, words[i], length) && !is_word(text[length])) {
            *put = f->put[i];
            return length;
        }
    }
    return 0;
}

/* Returns the length of the result, of which at most `size` bytes are written, without a NUL. */
static size_t complete(const char *text, const struct filling *f, char *out, size_t size)
{
    size_t n = 0;
    bool inside = false; /* of a longer word */
    while (*text) {
        const char *from = text;
        size_t length = inside ? 0 : word_at(text, f, &from), put = length ? strlen(from) : 1;
        for (size_t i = 0; i < put; i++, n++)
            if (n < size)
                out[n] = from[i];
        inside = !length && is_word(*text);
        text += length ? length : 1;
    }
    return n;
}

static char *completed(struct cu_device *device, const char *text, const struct filling *f,
                       size_t *length)
{
    *length = complete(text, f, NULL, 0);
    char *result = gx__alloc(cu_allocator(device), *length + 1);
    if (result)
        complete(text, f, result, *length);
    return result;
}

/* ---- compiling: between enter and leave ---- */

static void one_line(char *text)
{
    for (char *c = text; *c; c++)
        *c = *c == '\n' ? ' ' : *c;
}

/* What the driver is given, and where its complaints go. */
struct source {
    char *text;
    size_t length;
    const char *entry;
    char log[LOG_BYTES];
};

static gx_status load(struct cu_device *device, const struct source *from, const void *cubin,
                      struct cu_kernel *kernel, bool quiet)
{
    const char *what = "cuModuleLoadData";
    CUresult r = device->fn->ModuleLoadData(&kernel->module, cubin);
    if (r != CUDA_SUCCESS)
        kernel->module = NULL;
    if (r == CUDA_SUCCESS) {
        what = "cuModuleGetFunction";
        r = device->fn->ModuleGetFunction(&kernel->function, kernel->module, from->entry);
    }
    if (r != CUDA_SUCCESS && kernel->module) {
        device->fn->ModuleUnload(kernel->module);
        kernel->module = NULL;
    }
    if (r == CUDA_ERROR_INVALID_IMAGE && quiet)
        return GX_ERR_DEVICE;
    return gx__cu_status(device, r, what);
}

static void name_file(const char *text, char *name, size_t size)
{
    snprintf(name, size, "%016llx.cubin", (unsigned long long)hash(0xcbf29ce484222325u, text));
}

static gx_status link_text(struct cu_device *device, CUlinkState state, struct source *from,
                           struct cu_kernel *kernel)
{
    void *cubin;
    size_t bytes;
    char file[40];
    gx_status s = gx__cu_status(device,
                                device->fn->LinkAddData(state, CU_JIT_INPUT_PTX, from->text,
                                                        from->length + 1, "gpuexec", 0, NULL, NULL),
                                "cuLinkAddData");
    if (s == GX_OK)
        s = gx__cu_status(device, device->fn->LinkComplete(state, &cubin, &bytes),
                          "cuLinkComplete");
    if (s == GX_OK)
        s = load(device, from, cubin, kernel, false);
    if (s == GX_OK) {
        name_file(from->text, file, sizeof file);
        gx__gpu_cache_write(&device->gpu, file, cubin, bytes);
    }
    return s;
}

static gx_status compile_text(struct cu_device *device, struct source *from,
                              struct cu_kernel *kernel)
{
    int options[] = {CU_JIT_ERROR_LOG_BUFFER, CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES};
    void *values[] = {from->log, (void *)(uintptr_t)(sizeof from->log - 1)};
    CUlinkState state;
    gx_status s =
        gx__cu_status(device, device->fn->LinkCreate(2, options, values, &state), "cuLinkCreate");
    if (s != GX_OK)
        return s;
    s = link_text(device, state, from, kernel);
    device->fn->LinkDestroy(state);
    return s;
}

/* Machine code that the driver rejects is compiled again. */
static bool load_saved(struct cu_device *device, const struct source *from,
                       struct cu_kernel *kernel)
{
    void *cubin;
    size_t bytes;
    char file[40];
    name_file(from->text, file, sizeof file);
    if (!gx__gpu_cache_read(&device->gpu, file, &cubin, &bytes))
        return false;
    bool ok = bytes && load(device, from, cubin, kernel, true) == GX_OK;
    gx__free(cu_allocator(device), cubin);
    return ok;
}

static gx_status make(struct cu_device *device, struct source *from, struct cu_kernel *kernel)
{
    gx_status s = gx__cu_enter(device);
    if (s != GX_OK)
        return s;
    if (!load_saved(device, from, kernel)) {
        uint64_t start = gx__now_ns();
        s = gx__gpu_alive(&device->gpu);
        if (s == GX_OK)
            s = compile_text(device, from, kernel);
        gx__log(device->gpu.base->instance, GX_LOG_INFO, "%s: kernel compiled in %.1f ms",
                device->gpu.base->info.name, (double)(gx__now_ns() - start) / 1e6);
    }
    gx__cu_leave(device);
    one_line(from->log);
    return s;
}

/* All passes of an operation are launched with the block size of its first family. */
static gx_status check_workgroup(struct cu_device *device, const struct gx_ptx *ptx,
                                 uint32_t workgroup)
{
    if (ptx->workgroup == workgroup)
        return GX_OK;
    gx__log(device->gpu.base->instance, GX_LOG_ERROR,
            "%s: kernel %s of family %u has blocks of %u, and its operation has %u",
            device->gpu.base->info.name, ptx->variant, (unsigned)ptx->family, ptx->workgroup,
            workgroup);
    return GX_ERR_UNSUPPORTED;
}

/* Whether kernels can wait for the launches before them. */
static bool can_await(const struct cu_device *device)
{
    return device->fn->LaunchKernelEx && device->listed->capability >= AWAIT_CAPABILITY;
}

gx_status gx__cu_compile(struct gx_gpu *gpu, const struct gx_pipeline_key *key, void **pipeline)
{
    struct cu_device *device = cu_of_gpu(gpu);
    const struct gx_ptx *ptx =
        find((gx_field)key->field, (enum gx_shader_family)key->family, key->variant);
    struct source from = {.entry = GX_PTX_ENTRY};
    struct filling words;
    gx_status s = ptx ? check_workgroup(device, ptx, key->workgroup) : GX_ERR_UNSUPPORTED;
    if (s != GX_OK)
        return s;
    struct cu_kernel *kernel = gx__alloc(cu_allocator(device), sizeof *kernel);
    bool awaits = can_await(device) && strstr(ptx->text, GX_PTX_AWAIT);
    fill(&words, key, awaits);
    from.text = completed(device, ptx->text, &words, &from.length);
    s = kernel && from.text ? make(device, &from, kernel) : GX_ERR_OUT_OF_MEMORY;
    gx__free(cu_allocator(device), from.text);
    if (s == GX_OK) {
        memcpy(kernel->block, (uint32_t[]){ptx->workgroup, 1, 1}, sizeof kernel->block);
        kernel->awaits = awaits;
        *pipeline = kernel;
        return GX_OK;
    }
    if (from.log[0])
        gx__log(gpu->base->instance, GX_LOG_WARNING, "%s: %.200s", gpu->base->info.name, from.log);
    gx__free(cu_allocator(device), kernel);
    return s;
}

/* ---- registered operations ---- */

static bool fits(const struct gx_registered_op *registered, uint32_t block[3],
                 struct gx_error *error)
{
    uint64_t all = 1;
    for (int i = 0; i < 3; i++) {
        block[i] = registered->desc.ptx_block[i] ? registered->desc.ptx_block[i] : 1;
        all = block[i] <= BLOCK_MAX && all <= BLOCK_MAX ? all * block[i] : BLOCK_MAX + 1;
    }
    if (all <= BLOCK_MAX && block[2] <= BLOCK_MAX_Z)
        return true;
    gx__explain(error, "its blocks are %u x %u x %u, and a device allows %u threads, %u in z",
                block[0], block[1], block[2], BLOCK_MAX, BLOCK_MAX_Z);
    return false;
}

/* A driver that cannot make a module of the text blames it, unless memory or the device are the
 * reason. */
gx_status gx__cu_compile_registered(struct gx_gpu *gpu, const struct gx_registered_op *registered,
                                    void **pipeline, struct gx_error *error)
{
    struct cu_device *device = cu_of_gpu(gpu);
    uint32_t block[3];
    if (!registered->desc.ptx || !fits(registered, block, error))
        return GX_ERR_UNSUPPORTED;
    struct cu_kernel *kernel = gx__alloc(cu_allocator(device), sizeof *kernel);
    struct source from = {.text = gx__copy_text(cu_allocator(device), registered->desc.ptx),
                          .length = strlen(registered->desc.ptx),
                          .entry = registered->ptx_entry};
    gx_status s = kernel && from.text ? make(device, &from, kernel) : GX_ERR_OUT_OF_MEMORY;
    gx__free(cu_allocator(device), from.text);
    if (s == GX_OK) {
        memcpy(kernel->block, block, sizeof block);
        *pipeline = kernel;
        return GX_OK;
    }
    gx__free(cu_allocator(device), kernel);
    if (s != GX_ERR_DEVICE && s != GX_ERR_UNSUPPORTED)
        return s;
    return gx__refuse(error, GX_ERR_UNSUPPORTED,
                      "the driver cannot compile it, or it has no entry point '%.24s'%s%.80s",
                      registered->ptx_entry, from.log[0] ? ": " : "", from.log);
}

void gx__cu_drop(struct gx_gpu *gpu, void *pipeline)
{
    struct cu_device *device = cu_of_gpu(gpu);
    struct cu_kernel *kernel = pipeline;
    if (gx__cu_enter_idle(device)) {
        device->fn->ModuleUnload(kernel->module);
        gx__cu_leave(device);
    }
    gx__free(cu_allocator(device), kernel);
}
