/* SPDX-License-Identifier: Apache-2.0
 *
 * See harness.h.
 */
#include "support/harness.h"

#include <stdatomic.h>
#include <unistd.h>

#include "curve/coord.h"

const gx_field gxt_fields[] = {
#define X(symbol, value, name) symbol,
    GX__FIELD_LIST(X)
#undef X
};

#define TRANSFORM(symbol)
#define MSM(symbol)
#define WHOLE(symbol)

const gx_op gxt_ops[] = {
#define ELEMENTWISE(symbol)                                 symbol,
#define REDUCTION(symbol)                                   symbol,
#define X(symbol, value, name, operands, words, shape, ...) shape(symbol)
    GX__OP_LIST(X)
#undef X
#undef REDUCTION
#undef ELEMENTWISE
};

const gx_op gxt_reductions[] = {
#define ELEMENTWISE(symbol)
#define REDUCTION(symbol)                                   symbol,
#define X(symbol, value, name, operands, words, shape, ...) shape(symbol)
    GX__OP_LIST(X)
#undef X
#undef REDUCTION
#undef ELEMENTWISE
};

int gxt_small(void)
{
    const char *effort = getenv("GX_TEST_EFFORT");
    return effort && strcmp(effort, "small") == 0;
}

void gxt_enter_machines(void)
{
    char folder[4096];
    gxt_own_path(folder, sizeof folder);
    strrchr(folder, '/')[1] = 0;
    assert_int_equal(chdir(folder), 0);
    assert_int_equal(chdir("machines"), 0);
}

const char *gxt_vulkan(void)
{
    static char name[sizeof((gx_device_info *)0)->name];
    const char *wanted = getenv("GX_TEST_VULKAN");
    if (getenv("GX_TEST_NO_VULKAN"))
        return NULL;
    if (!wanted)
        wanted = "llvmpipe";
    gx_device_info infos[16] = {{.struct_size = sizeof *infos}};
    size_t count = GXT_COUNT(infos);
    gx_config config = {0};
    gxt_watch(&config);
    gx_ctx *ctx = gxt_open(&config);
    assert_int_equal(gx_devices(ctx, infos, &count), GX_OK);
    gx_close(&ctx);
    for (size_t i = 0; i < count && i < GXT_COUNT(infos); i++) {
        if (infos[i].kind != GX_DEVICE_VULKAN)
            continue;
        if (!infos[i].usable)
            print_error("%s: %s\n", infos[i].name, infos[i].description);
        else if (strstr(infos[i].description, wanted))
            return memcpy(name, infos[i].name, sizeof name);
    }
    fail_msg(
        "no Vulkan device like '%s': install mesa-vulkan-drivers and vulkan-validationlayers, or "
        "name another by GX_TEST_VULKAN",
        wanted);
    return NULL;
}

int gxt_cuda_emulated(void)
{
    const char *wanted = getenv("GX_TEST_CUDA");
    return wanted && strchr(wanted, '/');
}

static void use_cuda_library(void)
{
    if (gxt_cuda_emulated())
        setenv("GPUEXEC_CUDA_LIBRARY", getenv("GX_TEST_CUDA"), 1);
}

const char *gxt_cuda(void)
{
    static const char name[] = "cuda:0";
    use_cuda_library();
    gx_device_info infos[16] = {{.struct_size = sizeof *infos}};
    size_t count = GXT_COUNT(infos);
    gx_ctx *ctx = gxt_open(NULL);
    assert_int_equal(gx_devices(ctx, infos, &count), GX_OK);
    gx_close(&ctx);
    for (size_t i = 0; i < count && i < GXT_COUNT(infos); i++)
        if (infos[i].usable && !strcmp(infos[i].name, name))
            return name;
        else if (infos[i].kind == GX_DEVICE_CUDA)
            print_message("%s: %s\n", infos[i].name, infos[i].description);
    if (getenv("GX_TEST_CUDA"))
        fail_msg("no CUDA device, and GX_TEST_CUDA is %s", getenv("GX_TEST_CUDA"));
    return NULL;
}

size_t gxt_webgpu(const char *names[GXT_WEBGPU])
{
    static const char *const wanted[GXT_WEBGPU] = {"webgpu:vulkan:0", "webgpu:gl:0"};
    gx_device_info infos[16] = {{.struct_size = sizeof *infos}};
    size_t count = GXT_COUNT(infos), found = 0;
    if (getenv("GX_TEST_NO_WEBGPU"))
        return 0;
    gx_ctx *ctx = gxt_open(NULL);
    assert_int_equal(gx_devices(ctx, infos, &count), GX_OK);
    gx_close(&ctx);
    for (size_t i = 0; i < count && i < GXT_COUNT(infos); i++)
        for (size_t k = 0; k < GXT_WEBGPU; k++)
            found += infos[i].usable && !strcmp(infos[i].name, wanted[k]);
    if (found != GXT_WEBGPU)
        fail_msg("not both of %s and %s: install mesa-vulkan-drivers, libegl1 and libgles2",
                 wanted[0], wanted[1]);
    memcpy(names, wanted, sizeof wanted);
    return GXT_WEBGPU;
}

static const char *chosen;

void gxt_choose_gpu(int argc, char **argv)
{
    chosen = argc > 1 ? argv[1] : NULL;
}

const char *gxt_gpu(void)
{
    const char *names[GXT_WEBGPU];
    if (!chosen)
        return gxt_vulkan();
    if (strncmp(chosen, "cuda", strlen("cuda")) != 0)
        gxt_webgpu(names);
    else if (!gxt_cuda())
        fail_msg("there is no %s", chosen);
    return chosen;
}

size_t gxt_gpus(const char *names[GXT_GPUS])
{
    size_t count = 0;
    names[0] = gxt_gpu();
    count += names[0] != NULL;
    if (chosen)
        return count;
    names[count] = gxt_cuda();
    count += names[count] != NULL;
    return count + gxt_webgpu(names + count);
}

int gxt_one_gpu(void)
{
    return chosen != NULL;
}

int gxt_shares_memory(const char *device)
{
    return !device || !strstr(device, "webgpu");
}

static atomic_uint complaints;

static void on_message(void *user, gx_log_level level, const char *message)
{
    (void)user;
    (void)level;
    if (strncmp(message, "vulkan validation", strlen("vulkan validation")) != 0)
        return;
    complaints++;
    print_error("%s\n", message);
}

void gxt_watch(gx_config *config)
{
    config->validate = !getenv("GX_TEST_NO_VALIDATION");
    config->log = on_message;
}

unsigned gxt_complaints(void)
{
    return complaints;
}

uint64_t gxt_next(uint64_t *state)
{
    uint64_t z = *state += 0x9e3779b97f4a7c15u;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
}

void gxt_bytes(uint64_t *state, void *out, size_t bytes)
{
    unsigned char *to = out;
    while (bytes > 0) {
        uint64_t word = gxt_next(state);
        size_t part = bytes < sizeof word ? bytes : sizeof word;
        memcpy(to, &word, part);
        to += part;
        bytes -= part;
    }
}

size_t gxt_element(gx_field field)
{
    const gx_field_info *info = gx_field_get_info(field);
    assert_non_null(info);
    return info->element_bytes;
}

int gxt_elementwise(gx_op op, gx_field field)
{
    return gx_op_exists(op, field) && !gx_op_get_info(op)->reduces;
}

size_t gxt_results(gx_op op, size_t n)
{
    const gx_op_info *info = gx_op_get_info(op);
    assert_non_null(info);
    return info->reduces ? 1 : n;
}

static void fill_small_floats(uint64_t *state, unsigned char *out, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        float x = (float)(int)(gxt_next(state) % 2001) - 1000.0f;
        memcpy(out + 4 * i, &x, sizeof x);
    }
}

void gxt_fill(uint64_t *state, gx_field field, void *out, size_t n)
{
    const gx_field_info *info = gx_field_get_info(field);
    assert_non_null(info);
    if (field == GX_F32) {
        fill_small_floats(state, out, n);
        return;
    }
    gxt_bytes(state, out, n * info->element_bytes);
    if (!info->limbs)
        return;
    /* Below the highest power of two in the modulus, so below the modulus. */
    uint64_t top = info->modulus[info->limbs - 1];
    uint64_t mask = (UINT64_MAX >> __builtin_clzll(top)) >> 1;
    for (size_t i = 0; i < n; i++) {
        unsigned char *at = (unsigned char *)out + (i + 1) * info->element_bytes - 8;
        uint64_t limb;
        memcpy(&limb, at, sizeof limb);
        limb &= mask;
        memcpy(at, &limb, sizeof limb);
    }
}

void gxt_any_point(uint64_t *state, gx_curve c, uint64_t *xy)
{
    const struct gx_curve_row *curve = gx__curve(c);
    uint64_t *y = xy + curve->limbs;
    do {
        gxt_fill(state, curve->info.base_field, xy, curve->degree);
        gx__coord_sqr(curve, y, xy);
        gx__coord_mul(curve, y, y, xy);
        gx__coord_add(curve, y, y, curve->b);
    } while (!gx__coord_sqrt(curve, y, y));
}

void gxt_put_modulus(gx_field field, void *element)
{
    const gx_field_info *info = gx_field_get_info(field);
    assert_non_null(info);
    assert_non_null(info->modulus);
    memcpy(element, info->modulus, info->element_bytes);
}

void *gxt_alloc(size_t bytes)
{
    void *memory = malloc(bytes ? bytes : 1);
    assert_non_null(memory);
    return memory;
}

gx_ctx *gxt_open(const gx_config *config)
{
    gx_ctx *ctx = NULL;
    assert_int_equal(gx_open(config, &ctx), GX_OK);
    assert_non_null(ctx);
    return ctx;
}

void gxt_clear_environment(void)
{
    for (uint32_t i = 0; gx_option_get(i); i++)
        unsetenv(gx_option_get(i)->env);
    use_cuda_library();
    unsetenv("GPU_DEVICE_LOCAL");
    unsetenv("SUPERVM_WGPU_BACKENDS");
}

gx_report gxt_report(void)
{
    enum { KEPT = 64 };
    static _Thread_local gx_candidate kept[KEPT][GX_CANDIDATES_MAX];
    static _Thread_local unsigned next;
    gx_candidate *room = kept[next++ % KEPT];
    memset(room, 0xa5, sizeof *kept);
    room->struct_size = sizeof *room;
    return (gx_report){
        .struct_size = sizeof(gx_report), .candidate = room, .candidate_room = GX_CANDIDATES_MAX};
}

void gxt_reports(gx_report *reports, size_t count)
{
    for (size_t i = 0; i < count; i++)
        reports[i] = gxt_report();
}

void gxt_spoil(gx_report *reports, size_t count, int byte)
{
    gxt_reports(reports, count);
    for (size_t i = 0; i < count; i++)
        memset((char *)&reports[i] + offsetof(gx_report, candidates), byte,
               sizeof *reports - offsetof(gx_report, candidates));
}

gx_job gxt_job(gx_op op, gx_field field, size_t n, const void *a, const void *b, const void *c,
               void *out)
{
    const gx_op_info *info = gx_op_get_info(op);
    assert_non_null(info);
    gx_job job = {.op = op, .field = field, .n = n, .a = gx_host(a), .out = gx_host(out)};
    if (info->operands > 1)
        job.b = gx_host(b);
    if (info->operands > 2)
        job.c = gx_host(c);
    return job;
}

gx_status gxt_run(gx_ctx *ctx, const gx_job *job, const char *device, gx_report *report)
{
    gx_run_params opts = {.device = device};
    return gx_run(ctx, job, 1, &opts, report);
}

gx_status gxt_multiply(gx_ctx *ctx, gx_curve curve, const void *base, const void *scalars, size_t n,
                       void *out)
{
    const gx_points_params desc = {.struct_size = sizeof desc,
                                   .curve = curve,
                                   .form = GX_POINT_XY_MONT,
                                   .points = base ? base : gx_curve_get_info(curve)->generator,
                                   .count = 1};
    gx_msm_params params = {
        .struct_size = sizeof params, .count = 1, .result_form = GX_POINT_XY_MONT};
    gx_points *points = NULL;
    gx_status s = gx_points_create(ctx, &desc, &points, NULL);
    params.points = points;
    const gx_job job = gx_msm(&params, n, gx_host(scalars), gx_host(out));
    if (s == GX_OK)
        s = gxt_run(ctx, &job, "cpu", NULL);
    gx_points_destroy(&points);
    return s;
}
