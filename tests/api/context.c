/* SPDX-License-Identifier: Apache-2.0
 *
 * The public API apart from running jobs: statuses, version, tables of fields and operations,
 * settings from text and environment, opening and closing, listing devices, the log. One test per
 * promise of gpuexec.h.
 */
#include <stdio.h>

#include "api/context.h"
#include "base/abi.h"
#include "support/harness.h"
#include "support/heap.h"

#define GUARD 0x5c

/* ---- the log ---- */

struct messages {
    int count, bad; /* bad: no text, a newline, or no level */
    gx_log_level last_level;
    char last[512];
};

static void keep_message(void *user, gx_log_level level, const char *message)
{
    struct messages *m = user;
    m->count++;
    m->last_level = level;
    if (!message || !*message || strchr(message, '\n') || level < GX_LOG_ERROR ||
        level > GX_LOG_INFO)
        m->bad++;
    if (message)
        snprintf(m->last, sizeof m->last, "%s", message);
}

static int start(void **state)
{
    (void)state;
    gxt_clear_environment();
    return 0;
}

/* ---- status, version, tables ---- */

/* Values that programs have been compiled with: none of them may ever change. */
static void statuses_have_names_and_messages(void **state)
{
    (void)state;
    static const struct {
        gx_status value;
        const char *name;
    } want[] = {
        {0, "GX_OK"},
        {1, "GX_PENDING"},
        {-1, "GX_ERR_INVALID"},
        {-2, "GX_ERR_OVERLAP"},
        {-3, "GX_ERR_NOT_CANONICAL"},
        {-4, "GX_ERR_UNSUPPORTED"},
        {-5, "GX_ERR_NO_DEVICE"},
        {-6, "GX_ERR_OUT_OF_MEMORY"},
        {-7, "GX_ERR_OUT_OF_DEVICE_MEMORY"},
        {-8, "GX_ERR_DEVICE_LOST"},
        {-9, "GX_ERR_DEVICE"},
        {-10, "GX_ERR_NOT_RUN"},
        {-11, "GX_ERR_TIMEOUT"},
        {-12, "GX_ERR_CANCELLED"},
        {-13, "GX_ERR_FILE"},
    };
    for (size_t i = 0; i < GXT_COUNT(want); i++) {
        assert_string_equal(gx_status_name(want[i].value), want[i].name);
        assert_true(strlen(gx_status_message(want[i].value)) > 1);
    }
    assert_string_equal(gx_status_message(GX_OK), "ok");
    assert_string_equal(gx_status_message(GX_ERR_INVALID), "invalid argument");
}

static void unknown_statuses_have_some_text(void **state)
{
    (void)state;
    const gx_status unknown[] = {2, -14, 1000, INT32_MIN, INT32_MAX};
    for (size_t i = 0; i < GXT_COUNT(unknown); i++) {
        assert_string_equal(gx_status_name(unknown[i]), "GX_UNKNOWN");
        assert_string_not_equal(gx_status_message(unknown[i]), "ok");
    }
}

typedef const char *(*name_fn)(uint32_t value);

/* `first` and the values after it have these names, and no other value has one. */
static void check_names(name_fn name, uint32_t first, const char *const *want)
{
    uint32_t value = first;
    for (; *want; want++, value++)
        assert_string_equal(name(value), *want);
    const uint32_t foreign[] = {first - 1, value, 1000, UINT32_MAX};
    for (size_t i = 0; i < GXT_COUNT(foreign); i++)
        assert_string_equal(name(foreign[i]), "unknown");
}
#define NAMES(...) ((const char *const[]){__VA_ARGS__, NULL})

static void values_have_names(void **state)
{
    (void)state;
    check_names(gx_log_level_name, 1, NAMES("error", "warning", "info"));
    check_names(gx_device_kind_name, 1,
                NAMES("cpu", "reference", "vulkan", "sim", "webgpu", "cuda"));
    check_names(gx_path_name, 0, NAMES("auto", "host-visible", "device-local", "direct"));
    check_names(gx_mode_name, 0, NAMES("auto", "sequential", "single-submit", "pipelined"));
    check_names(gx_policy_name, 0, NAMES("auto", "cpu", "gpu", "throughput"));
    check_names(gx_reason_name, 0,
                NAMES("none", "asked", "only", "resident", "small", "fastest", "split", "default",
                      "explored", "fallback"));
    check_names(gx_health_name, 0, NAMES("unused", "good", "resting", "quarantined"));
    check_names(
        gx_point_form_name, 1,
        NAMES("xy-mont", "xy-plain", "compressed", "uncompressed", "eip2537", "jacobian-mont"));
    check_names(gx_point_check_name, 0, NAMES("curve", "subgroup", "none"));
    check_names(gx_scalar_form_name, 0, NAMES("plain", "mont"));
    assert_string_equal(gx_tier_name(0), "portable");
    assert_string_equal(gx_tier_name(1), "adx");
    assert_string_equal(gx_tier_name(2), "avx512");
    assert_null(gx_tier_name(3));
    assert_null(gx_tier_name(UINT32_MAX));
}

static void version_is_the_headers(void **state)
{
    (void)state;
    char want[64];
    snprintf(want, sizeof want, "%d.%d.%d", GX_VERSION_MAJOR, GX_VERSION_MINOR, GX_VERSION_PATCH);
    assert_string_equal(gx_version(), want);
}

static void check_field(gx_field field, const char *name, uint32_t bytes, uint32_t limbs)
{
    const gx_field_info *info = gx_field_get_info(field);
    assert_non_null(info);
    assert_string_equal(info->name, name);
    assert_int_equal(info->element_bytes, bytes);
    assert_int_equal(info->limbs, limbs);
    assert_int_equal(gx_field_by_name(name), field);
    assert_int_equal(info->modulus != NULL, limbs != 0);
    if (limbs) {
        assert_int_equal(info->element_bytes, 8 * limbs);
        assert_int_equal(info->modulus[0] & 1, 1);
        assert_true(info->modulus[limbs - 1] != 0);
    }
}

static void field_table(void **state)
{
    (void)state;
    check_field(1, "bls12-381-fq", 48, 6);
    check_field(2, "bls12-381-fr", 32, 4);
    check_field(3, "bn254-fq", 32, 4);
    check_field(4, "bn254-fr", 32, 4);
    check_field(5, "u32", 4, 0);
    check_field(6, "f32", 4, 0);
}

/* From the curves' specifications, not from our tables. */
static void moduli_are_the_published_ones(void **state)
{
    (void)state;
    static const uint64_t bls_q[] = {0xb9feffffffffaaab, 0x1eabfffeb153ffff, 0x6730d2a0f6b0f624,
                                     0x64774b84f38512bf, 0x4b1ba7b6434bacd7, 0x1a0111ea397fe69a};
    static const uint64_t bls_r[] = {0xffffffff00000001, 0x53bda402fffe5bfe, 0x3339d80809a1d805,
                                     0x73eda753299d7d48};
    static const uint64_t bn_q[] = {0x3c208c16d87cfd47, 0x97816a916871ca8d, 0xb85045b68181585d,
                                    0x30644e72e131a029};
    static const uint64_t bn_r[] = {0x43e1f593f0000001, 0x2833e84879b97091, 0xb85045b68181585d,
                                    0x30644e72e131a029};
    assert_memory_equal(gx_field_get_info(GX_BLS12_381_FQ)->modulus, bls_q, sizeof bls_q);
    assert_memory_equal(gx_field_get_info(GX_BLS12_381_FR)->modulus, bls_r, sizeof bls_r);
    assert_memory_equal(gx_field_get_info(GX_BN254_FQ)->modulus, bn_q, sizeof bn_q);
    assert_memory_equal(gx_field_get_info(GX_BN254_FR)->modulus, bn_r, sizeof bn_r);
}

static void check_op(gx_op op, const char *name, uint32_t operands, int vector, const char *result)
{
    const gx_op_info *info = gx_op_get_info(op);
    assert_non_null(info);
    assert_string_equal(info->name, name);
    assert_string_equal(info->result, result);
    assert_int_equal(info->operands, operands);
    assert_int_equal(gx_op_by_name(name), op);
    for (size_t f = 0; f < GXT_COUNT(gxt_fields); f++) {
        int word = gxt_fields[f] == GX_U32 || gxt_fields[f] == GX_F32;
        assert_int_equal(gx_op_exists(op, gxt_fields[f]), !word || vector);
    }
    assert_int_equal(gx_op_exists(op, (gx_field)0), 0);
    assert_int_equal(gx_op_exists(op, (gx_field)GX_FIELD_END), 0);
    assert_int_equal(gx_op_exists(op, (gx_field)-1), 0);
}

static void operation_table(void **state)
{
    (void)state;
    check_op(1, "add", 2, 1, "a + b");
    check_op(2, "sub", 2, 1, "a - b");
    check_op(3, "mul", 2, 1, "a * b");
    check_op(4, "neg", 1, 0, "-a");
    check_op(5, "sqr", 1, 0, "a * a");
    check_op(6, "inv", 1, 0, "1 / a; 0 if a is 0");
    check_op(7, "div", 2, 0, "a / b; 0 if b is 0");
    check_op(8, "mul-add", 3, 0, "a * b + c");
    check_op(9, "to-mont", 1, 0, "a * R: plain integer to Montgomery form");
    check_op(10, "from-mont", 1, 0, "a / R: Montgomery form to plain integer");
    check_op(11, "sum", 1, 0, "a[0] + a[1] + ...");
    check_op(12, "dot", 2, 0, "a[0] * b[0] + a[1] * b[1] + ...");
}

static void what_is_no_field_or_operation(void **state)
{
    (void)state;
    const int none[] = {0, -1, GX_OP_END, 64, 1000, INT32_MIN, INT32_MAX};
    for (size_t i = 0; i < GXT_COUNT(none); i++) {
        assert_null(gx_op_get_info((gx_op)none[i]));
        assert_int_equal(gx_op_exists((gx_op)none[i], GX_BN254_FQ), 0);
        assert_int_equal(gx_op_exists((gx_op)none[i], GX_U32), 0);
        assert_null(gx_field_get_info((gx_field)none[i]));
    }
    assert_null(gx_field_get_info((gx_field)GX_FIELD_END));
    const char *names[] = {NULL, "", "bn254", "BN254-FQ", "bn254-fq ", " add", "ADD", "mul_add"};
    for (size_t i = 0; i < GXT_COUNT(names); i++) {
        assert_int_equal(gx_field_by_name(names[i]), 0);
        assert_int_equal(gx_op_by_name(names[i]), 0);
    }
}

/* ---- settings from text ---- */

static void options_table(void **state)
{
    (void)state;
    static const char *const want[][2] = {{"device", "GPUEXEC_DEVICE"},
                                          {"cpumask", "GPUEXEC_CPUMASK"},
                                          {"threads", "GPUEXEC_THREADS"},
                                          {"dispatch-elems", "GPUEXEC_DISPATCH_ELEMS"},
                                          {"path", "GPUEXEC_PATH"},
                                          {"validate", "GPUEXEC_VALIDATE"},
                                          {"cache-dir", "GPUEXEC_CACHE_DIR"},
                                          {"mode", "GPUEXEC_MODE"},
                                          {"stream-chunk-elems", "GPUEXEC_STREAM_CHUNK_ELEMS"},
                                          {"device-memory", "GPUEXEC_DEVICE_MEMORY"},
                                          {"trace", "GPUEXEC_TRACE"},
                                          {"queue-jobs", "GPUEXEC_QUEUE_JOBS"},
                                          {"policy", "GPUEXEC_POLICY"},
                                          {"sample-every", "GPUEXEC_SAMPLE_EVERY"},
                                          {"webgpu-backends", "GPUEXEC_WEBGPU_BACKENDS"},
                                          {"wgpu-library", "GPUEXEC_WGPU_LIBRARY"},
                                          {"cuda-library", "GPUEXEC_CUDA_LIBRARY"}};
    assert_non_null(gx_option_get(GXT_COUNT(want) - 1));
    assert_null(gx_option_get(GXT_COUNT(want)));
    assert_null(gx_option_get(UINT32_MAX));
    for (size_t w = 0; w < GXT_COUNT(want); w++) {
        uint32_t i = 0;
        while (gx_option_get(i) && strcmp(gx_option_get(i)->name, want[w][0]) != 0)
            i++;
        const gx_option *option = gx_option_get(i);
        assert_non_null(option);
        assert_string_equal(option->env, want[w][1]);
        assert_true(option->arg && *option->arg);
        assert_true(option->help && *option->help);
    }
}

static void sizes_and_modes_from_text(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        uint64_t want; /* 0: rejected */
    } sizes[] = {{"1", 1},
                 {"4096", 4096},
                 {"3K", 3072},
                 {"256M", 256u << 20},
                 {"1G", 1u << 30},
                 {"16777215T", 16777215ull << 40},
                 {"16777216T", 0},
                 {"M", 0},
                 {"", 0},
                 {"1k", 1024},
                 {"2^20", 1u << 20},
                 {"3^4", 81},
                 {"1^99999999999", 1},
                 {"7^0", 1},
                 {"2^63", 1ull << 63},
                 {"2^64", 0},
                 {"1e6", 1000000},
                 {"15E1", 150},
                 {"1e19", 10000000000000000000ull},
                 {"1e20", 0},
                 {"18446744073709551615", UINT64_MAX},
                 {"18446744073709551616", 0},
                 {"2^", 0},
                 {"^2", 0},
                 {"1e", 0},
                 {"1e-3", 0},
                 {"2^3K", 0},
                 {"2^18446744073709551616", 0},
                 {"0x10", 0},
                 {"-1", 0},
                 {"1 M", 0},
                 {"1MM", 0},
                 {"1.5G", 0},
                 {"99999999999999999999999999999", 0}};
    char err[100];
    for (size_t i = 0; i < GXT_COUNT(sizes); i++) {
        gx_config config = {0};
        gx_status s = gx_config_set(&config, "device-memory", sizes[i].text, err, sizeof err);
        assert_int_equal(s, sizes[i].want ? GX_OK : GX_ERR_INVALID);
        assert_true(config.device_memory == sizes[i].want);
    }
    static const char *const modes[] = {"auto", "sequential", "single-submit", "pipelined"};
    gx_config config = {0};
    for (size_t i = 0; i < GXT_COUNT(modes); i++)
        assert_int_equal(gx_config_set(&config, "mode", modes[i], err, sizeof err), GX_OK);
    assert_int_equal(gx_config_set(&config, "mode", "fast", err, sizeof err), GX_ERR_INVALID);
    assert_non_null(strstr(err, "pipelined"));
    gx_ctx *ctx = NULL;
    assert_int_equal(config.mode, GX_MODE_PIPELINED);
    assert_int_equal(gx_open(&(gx_config){.mode = GX_MODE_PIPELINED + 1}, &ctx), GX_ERR_INVALID);
    assert_int_equal(gx_open(&(gx_config){.path = GX_PATH_DIRECT}, &ctx), GX_ERR_INVALID);
    assert_int_equal(gx_open(&(gx_config){.policy = GX_POLICY_THROUGHPUT + 1}, &ctx),
                     GX_ERR_INVALID);
    assert_int_equal(setenv("GPU_STREAM_CHUNK_ELEMS", "many", 1), 0);
    assert_int_equal(gx_open(NULL, &ctx), GX_ERR_INVALID);
    assert_int_equal(setenv("GPU_STREAM_CHUNK_ELEMS", "4096", 1), 0);
    assert_int_equal(gx_open(NULL, &ctx), GX_OK);
    gx_close(&ctx);
    unsetenv("GPU_STREAM_CHUNK_ELEMS");
}

static void settings_from_text(void **state)
{
    (void)state;
    gx_config config = {0};
    char err[100];
    const char *device = "ref", *mask = "portable,adx";
    assert_int_equal(gx_config_set(&config, "device", device, err, sizeof err), GX_OK);
    assert_int_equal(gx_config_set(&config, "cpumask", mask, err, sizeof err), GX_OK);
    assert_int_equal(gx_config_set(&config, "threads", "3", err, sizeof err), GX_OK);
    assert_int_equal(gx_config_set(&config, "dispatch-elems", "0100", err, sizeof err), GX_OK);
    assert_ptr_equal(config.device, device); /* borrowed */
    assert_ptr_equal(config.cpumask, mask);
    assert_int_equal(config.threads, 3);
    assert_int_equal(config.dispatch_elems, 100);
    assert_int_equal(gx_config_set(&config, "threads", "4294967295", NULL, 0), GX_OK);
    assert_int_equal(config.threads, UINT32_MAX);
    assert_int_equal(
        gx_config_set(&config, "dispatch-elems", "18446744073709551615", err, sizeof err), GX_OK);
    assert_true(config.dispatch_elems == UINT64_MAX);
    assert_int_equal(gx_config_set(&config, "threads", "0", err, sizeof err), GX_OK);
    assert_int_equal(config.threads, 0);
}

static void expect_bad_setting(const char *name, const char *value)
{
    const gx_config before = {
        .device = "ref", .cpumask = "adx", .threads = 7, .dispatch_elems = 1234};
    gx_config config = before;
    char err[200] = "";
    assert_int_equal(gx_config_set(&config, name, value, err, sizeof err), GX_ERR_INVALID);
    assert_true(*err);
    if (name && value)
        assert_non_null(strstr(err, name));
    assert_memory_equal(&config, &before, sizeof config);
}

static void bad_settings_are_refused(void **state)
{
    (void)state;
    const char *bad[] = {"",    " ",   "-1",   "+1",      " 1",          "1 ",
                         "abc", "1kB", "0x10", "1.0",     "1e",          "99999999999999999999",
                         "１",  "1\n", "--",   "1,2,3,4", "\xff\xfe\x31"};
    for (size_t i = 0; i < GXT_COUNT(bad); i++) {
        expect_bad_setting("threads", bad[i]);
        expect_bad_setting("dispatch-elems", bad[i]);
        expect_bad_setting("path", bad[i]);
        expect_bad_setting("validate", bad[i]);
    }
    expect_bad_setting("path", "direct"); /* is only reported */
    expect_bad_setting("path", "Auto");
    expect_bad_setting("validate", "2");
    expect_bad_setting("threads", "4294967296");
    expect_bad_setting("dispatch-elems", "18446744073709551616");
    const char *unknown[] = {"", "thread", "Threads", "dispatch_elems", "GPUEXEC_THREADS", "log"};
    for (size_t i = 0; i < GXT_COUNT(unknown); i++)
        expect_bad_setting(unknown[i], "1");
    expect_bad_setting(NULL, "1");
    expect_bad_setting("threads", NULL);
    expect_bad_setting("device", NULL);
    char err[50] = "";
    assert_int_equal(gx_config_set(NULL, "threads", "1", err, sizeof err), GX_ERR_INVALID);
    assert_true(*err);
}

static void messages_fit_their_buffer(void **state)
{
    (void)state;
    gx_config config = {0};
    assert_int_equal(gx_config_set(&config, "threads", "x", NULL, 0), GX_ERR_INVALID);
    assert_int_equal(gx_config_set(&config, "nope", "x", NULL, 0), GX_ERR_INVALID);
    assert_int_equal(gx_config_set(NULL, NULL, NULL, NULL, 0), GX_ERR_INVALID);
    for (size_t size = 0; size < 80; size++) {
        char err[100];
        memset(err, GUARD, sizeof err);
        const char *name = size & 1 ? "threads" : "there-is-no-such-setting-at-all";
        assert_int_equal(gx_config_set(&config, name, "x", err, size), GX_ERR_INVALID);
        if (size)
            assert_true(memchr(err, 0, size) != NULL);
        for (size_t i = size; i < sizeof err; i++)
            assert_int_equal(err[i], GUARD);
    }
}

/* ---- the environment ---- */

static void run_big(gx_ctx *ctx, size_t n, gx_report *report)
{
    uint32_t *a = calloc(n, sizeof *a), *out = calloc(n, sizeof *out);
    assert_true(a && out);
    gx_job job = gxt_job(GX_ADD, GX_U32, n, a, a, NULL, out);
    job.flags = GX_JOB_UNCHECKED;
    gx_status status = gx_run(ctx, &job, 1, NULL, report);
    free(a);
    free(out);
    assert_int_equal(status, report->status);
}

static gx_report with_config(const gx_config *config, size_t n)
{
    gx_report report = {.struct_size = sizeof report};
    gx_ctx *ctx = gxt_open(config);
    run_big(ctx, n, &report);
    gx_close(&ctx);
    return report;
}

static void device_from_the_environment(void **state)
{
    (void)state;
    assert_string_equal(with_config(NULL, 10).device, "cpu");
    setenv("GPUEXEC_DEVICE", "ref", 1);
    gx_report r = with_config(NULL, 10);
    assert_int_equal(r.status, GX_OK);
    assert_string_equal(r.device, "ref");
    assert_int_equal(r.reason, GX_REASON_ASKED);
    assert_string_equal(with_config(&(gx_config){0}, 10).device, "ref");
    r = with_config(&(gx_config){.device = "cpu"}, 10);
    assert_string_equal(r.device, "cpu");
    assert_int_equal(r.reason, GX_REASON_ASKED);
    setenv("GPUEXEC_DEVICE", "nope", 1);
    gx_ctx *ctx = NULL;
    assert_int_equal(gx_open(NULL, &ctx), GX_ERR_NO_DEVICE);
    assert_int_equal(with_config(&(gx_config){.device = "cpu"}, 10).status, GX_OK);
    setenv("GPUEXEC_DEVICE", "", 1);
    assert_string_equal(with_config(NULL, 10).device, "cpu");
}

static void numbers_from_the_environment(void **state)
{
    (void)state;
    size_t many = gxt_small() ? 100000 : 1000000;
    setenv("GPUEXEC_DISPATCH_ELEMS", "10", 1);
    assert_int_equal(with_config(NULL, 95).dispatches, 10);
    assert_int_equal(with_config(&(gx_config){.dispatch_elems = 50}, 95).dispatches, 2);
    unsetenv("GPUEXEC_DISPATCH_ELEMS");
    assert_int_equal(with_config(NULL, 95).dispatches, 1);
    setenv("GPUEXEC_THREADS", "1", 1);
    assert_int_equal(with_config(NULL, many).threads, 1);
    assert_true(with_config(&(gx_config){.threads = 2}, many).threads <= 2);
    setenv("GPUEXEC_THREADS", "0", 1);
    assert_true(with_config(NULL, many).threads >= 1);
}

static void cpumask_from_the_environment(void **state)
{
    (void)state;
    char description[sizeof((gx_device_info *)0)->description];
    gx_device_info info[8] = {{.struct_size = sizeof *info}};
    setenv("GPUEXEC_CPUMASK", "portable", 1);
    for (int explicit = 0; explicit < 2; explicit ++) {
        gx_config config = {.cpumask = explicit ? "portable,adx,avx512" : NULL};
        gx_ctx *ctx = gxt_open(&config);
        size_t count = GXT_COUNT(info);
        assert_int_equal(gx_devices(ctx, info, &count), GX_OK);
        size_t i = 0;
        while (i < count && strcmp(info[i].name, "cpu") != 0)
            i++;
        assert_true(i < count);
        if (!explicit)
            memcpy(description, info[i].description, sizeof description);
        gx_report r = {.struct_size = sizeof r};
        run_big(ctx, 100, &r);
        assert_int_equal(r.status, GX_OK);
        gx_close(&ctx);
    }
    assert_non_null(strstr(description, "portable"));
    assert_null(strstr(description, "adx"));
    assert_null(strstr(description, "avx512"));
}

static void bad_environment_is_refused(void **state)
{
    (void)state;
    static const char *const bad[][2] = {
        {"GPUEXEC_THREADS", "many"},       {"GPUEXEC_THREADS", "-1"},
        {"GPUEXEC_THREADS", "4294967296"}, {"GPUEXEC_DISPATCH_ELEMS", " 1"},
        {"GPUEXEC_DISPATCH_ELEMS", "1x"},  {"GPUEXEC_CPUMASK", "sse9"},
        {"GPUEXEC_CPUMASK", "portable,"},  {"GPUEXEC_CPUMASK", "adx avx512"},
        {"GPUEXEC_PATH", "fast"},          {"GPUEXEC_PATH", "direct"},
        {"GPUEXEC_VALIDATE", "2"},         {"GPU_DEVICE_LOCAL", "2"},
        {"GPU_DEVICE_LOCAL", "yes"}};
    for (size_t i = 0; i < GXT_COUNT(bad); i++) {
        struct messages log = {0};
        gx_config config = {.log = keep_message, .log_user = &log};
        gx_ctx *ctx = (gx_ctx *)&log;
        setenv(bad[i][0], bad[i][1], 1);
        assert_int_equal(gx_open(&config, &ctx), GX_ERR_INVALID);
        assert_null(ctx);
        assert_true(log.count >= 1);
        assert_int_equal(log.bad, 0);
        assert_int_equal(log.last_level, GX_LOG_ERROR);
        assert_non_null(strstr(log.last, bad[i][0]));
        assert_int_equal(gx_open(NULL, &ctx), GX_ERR_INVALID);
        assert_null(ctx);
        unsetenv(bad[i][0]);
    }
}

static void explicit_settings_hide_a_bad_environment(void **state)
{
    (void)state;
    setenv("GPUEXEC_THREADS", "many", 1);
    setenv("GPUEXEC_CPUMASK", "sse9", 1);
    gx_config config = {.threads = 1, .cpumask = "portable"};
    gx_ctx *ctx = gxt_open(&config);
    gx_close(&ctx);
}

/* ---- opening and closing ---- */

static void open_and_close(void **state)
{
    (void)state;
    gx_ctx *ctx = gxt_open(NULL);
    gx_close(&ctx);
    assert_null(ctx);
    gx_close(&ctx); /* twice */
    assert_null(ctx);
    gx_close(NULL);
    gx_config config = {.struct_size = sizeof config};
    ctx = gxt_open(&config);
    gx_ctx *other = gxt_open(&config); /* several at once */
    assert_ptr_not_equal(ctx, other);
    gx_close(&ctx);
    gx_report r = {.struct_size = sizeof r};
    run_big(other, 100, &r);
    assert_int_equal(r.status, GX_OK);
    gx_close(&other);
    assert_int_equal(gx_open(NULL, NULL), GX_ERR_INVALID);
    assert_int_equal(gx_open(&config, NULL), GX_ERR_INVALID);
}

static void expect_refused(gx_config config, const char *named)
{
    struct messages log = {0};
    config.log = keep_message;
    config.log_user = &log;
    gx_ctx *ctx = (gx_ctx *)&log;
    assert_int_equal(gx_open(&config, &ctx), GX_ERR_INVALID);
    assert_null(ctx);
    assert_true(log.count >= 1);
    assert_int_equal(log.bad, 0);
    assert_int_equal(log.last_level, GX_LOG_ERROR);
    assert_non_null(strstr(log.last, named));
}

static void bad_configs_are_refused(void **state)
{
    (void)state;
    struct gxt_heap heap;
    gxt_heap_start(&heap);
    gx_allocator whole = gxt_heap_allocator(&heap);
    expect_refused((gx_config){.cpumask = "sse9", .allocator = whole}, "cpumask");
    expect_refused((gx_config){.cpumask = ",", .allocator = whole}, "cpumask");
    expect_refused((gx_config){.cpumask = "Portable", .allocator = whole}, "cpumask");
    expect_refused((gx_config){.allocator.alloc = whole.alloc}, "allocator");
    expect_refused((gx_config){.allocator.free = whole.free}, "allocator");
    gxt_heap_end(&heap);
}

static void count_complaints(void *user, gx_log_level level, const char *message)
{
    *(int *)user += level < GX_LOG_INFO && strstr(message, "'xxxxxxxxxxxxxxxxxxxx");
}

/* A name of a list may be longer than those that devices are listed with, because a UUID is. It is
 * looked for as it is. */
static void long_names_in_a_list(void **state)
{
    (void)state;
    enum { LONGEST = 255 };
    char list[LONGEST + 32], *name = list + snprintf(list, sizeof list, "ref, ");
    char err[200];
    static const size_t lengths[] = {40, 46, 47, 48, 49, 100, 159, 160, LONGEST, LONGEST + 1};
    for (size_t i = 0; i < GXT_COUNT(lengths); i++) {
        const size_t length = lengths[i];
        int complaints = 0;
        gx_config config = {.device = list, .log = count_complaints, .log_user = &complaints};
        gx_config set = {0};
        const gx_status want = length > LONGEST ? GX_ERR_INVALID : GX_OK;
        gx_ctx *ctx = NULL;
        memset(name, 'x', length);
        strcpy(name + length, " ,ref");
        assert_int_equal(gx_config_set(&set, "device", list, err, sizeof err), want);
        assert_int_equal(gx_open(&config, &ctx), want == GX_OK ? GX_ERR_NO_DEVICE : want);
        assert_null(ctx);
        assert_int_equal(complaints, 1);
    }
    assert_non_null(strstr(err, "256 characters"));
}

static void wrong_struct_sizes_are_refused(void **state)
{
    (void)state;
    const size_t wrong[] = {1, 4, 8, gx__config_layout.first - 1, 65537, SIZE_MAX};
    for (size_t i = 0; i < GXT_COUNT(wrong); i++) {
        gx_config config = {.struct_size = wrong[i]};
        gx_ctx *ctx = (gx_ctx *)&config;
        assert_int_equal(gx_open(&config, &ctx), GX_ERR_INVALID);
        assert_null(ctx);
    }
}

static void strings_are_copied(void **state)
{
    (void)state;
    char *device = strdup("ref"), *mask = strdup("portable");
    assert_true(device && mask);
    gx_config config = {.device = device, .cpumask = mask};
    gx_ctx *ctx = gxt_open(&config);
    memset(device, 'x', strlen(device));
    memset(mask, 'x', strlen(mask));
    free(device);
    free(mask);
    gx_report r = {.struct_size = sizeof r};
    run_big(ctx, 10, &r);
    assert_int_equal(r.status, GX_OK);
    assert_string_equal(r.device, "ref");
    gx_device_info infos[8] = {{.struct_size = sizeof *infos}};
    size_t count = GXT_COUNT(infos);
    assert_int_equal(gx_devices(ctx, infos, &count), GX_OK);
    gx_close(&ctx);
}

static void the_environment_may_change_after_open(void **state)
{
    (void)state;
    setenv("GPUEXEC_DEVICE", "ref", 1);
    gx_ctx *ctx = gxt_open(NULL);
    setenv("GPUEXEC_DEVICE", "nope", 1);
    gx_report r = {.struct_size = sizeof r};
    run_big(ctx, 10, &r);
    assert_int_equal(r.status, GX_OK);
    assert_string_equal(r.device, "ref");
    gx_close(&ctx);
}

static void cpumasks_that_are_taken(void **state)
{
    (void)state;
    const char *masks[] = {"portable",     "adx",           "avx512",
                           "portable,adx", "adx,avx512",    "avx512,portable",
                           "adx,adx",      "avx512,adx,adx"};
    for (size_t i = 0; i < GXT_COUNT(masks); i++)
        assert_int_equal(with_config(&(gx_config){.cpumask = masks[i]}, 100).status, GX_OK);
}

static void missing_devices_are_found_at_open(void **state)
{
    (void)state;
    static const char *const lists[] = {"nope", "vulkan:99", "cpu,nope", "nope, cpu", "cup"};
    for (size_t i = 0; i < GXT_COUNT(lists); i++) {
        gx_ctx *ctx = (gx_ctx *)&lists;
        const char *missing = strstr(lists[i], "nope") ? "nope" : lists[i];
        assert_int_equal(gx_open(&(gx_config){.device = lists[i]}, &ctx), GX_ERR_NO_DEVICE);
        assert_null(ctx);
        if (missing[0] != 'v') { /* without a loader there is more to say than the list */
            assert_non_null(strstr(gx_last_message(), missing));
            assert_non_null(strstr(gx_last_message(), "only cpu, ref"));
        }
    }
}

static bool is_any_open(const gx_ctx *ctx)
{
    bool open = false;
    for (size_t i = 0; i < ctx->router.slots.count; i++)
        open |= ctx->router.slots.slot[i]->engine != NULL;
    return open;
}

/* Without a name no driver is asked for its devices, either. */
static void open_opens_no_device(void **state)
{
    (void)state;
    gx_ctx *ctx = gxt_open(NULL);
    assert_int_equal(ctx->router.slots.count, 0);
    assert_true(!ctx->instance.vulkan && !ctx->instance.cuda && !ctx->instance.webgpu);
    gx_close(&ctx);
    ctx = gxt_open(&(gx_config){.device = "cpu,ref"});
    assert_int_equal(ctx->router.slots.count, 2);
    assert_false(is_any_open(ctx));
    gx_close(&ctx);
}

static void list_is_empty(void **state)
{
    (void)state;
    gx_ctx *ctx = NULL;
    assert_int_equal(gx_open(&(gx_config){.device = ""}, &ctx), GX_ERR_INVALID);
    assert_int_equal(gx_open(&(gx_config){.device = " , "}, &ctx), GX_ERR_INVALID);
    assert_non_null(strstr(gx_last_message(), "names no device"));
}

/* "gpu" is the first device that is a GPU and eligible without being named. */
static void any_gpu(void **state)
{
    (void)state;
    gx_device_info infos[16] = {{.struct_size = sizeof *infos}};
    size_t count = GXT_COUNT(infos), i = 0;
    gx_ctx *ctx = gxt_open(NULL);
    assert_int_equal(gx_devices(ctx, infos, &count), GX_OK);
    gx_close(&ctx);
    while (i < count && (!infos[i].automatic || infos[i].kind == GX_DEVICE_CPU))
        i++;
    gx_status s = gx_open(&(gx_config){.device = "gpu"}, &ctx);
    if (i < count) {
        assert_int_equal(s, GX_OK);
        assert_string_equal(ctx->instance.config.device, infos[i].name);
    } else {
        assert_int_equal(s, GX_ERR_NO_DEVICE);
        assert_non_null(strstr(gx_last_message(), "there is no GPU here to choose, only cpu, ref"));
    }
    gx_close(&ctx);
}

/* ---- devices ---- */

static int has_device(const gx_device_info *infos, size_t count, const char *name,
                      gx_device_kind kind, uint32_t automatic)
{
    for (size_t i = 0; i < count; i++)
        if (strcmp(infos[i].name, name) == 0)
            return infos[i].kind == kind && infos[i].automatic == automatic &&
                   infos[i].threads >= 1;
    return 0;
}

static void devices_are_listed(void **state)
{
    (void)state;
    gx_ctx *ctx = gxt_open(NULL);
    gx_device_info infos[16] = {{.struct_size = sizeof *infos}};
    size_t number = 0, count = GXT_COUNT(infos);
    assert_int_equal(gx_devices(ctx, NULL, &number), GX_OK);
    assert_true(number >= 2 && number <= 16);
    assert_int_equal(gx_devices(ctx, infos, &count), GX_OK);
    assert_int_equal(count, number);
    assert_true(has_device(infos, count, "cpu", GX_DEVICE_CPU, 1));
    assert_true(has_device(infos, count, "ref", GX_DEVICE_REFERENCE, 0));
    for (size_t i = 0; i < count; i++) {
        assert_non_null(memchr(infos[i].name, 0, sizeof infos[i].name));
        assert_non_null(memchr(infos[i].description, 0, sizeof infos[i].description));
        assert_true(*infos[i].description);
    }
    gx_close(&ctx);
}

static void no_more_devices_are_written_than_there_is_room(void **state)
{
    (void)state;
    gx_ctx *ctx = gxt_open(NULL);
    size_t number = 77; /* the capacity is ignored without infos */
    assert_int_equal(gx_devices(ctx, NULL, &number), GX_OK);
    gx_device_info *infos = gxt_alloc((number + 1) * sizeof *infos);
    for (size_t room = 0; room <= number; room++) {
        size_t count = room;
        memset(infos, GUARD, (number + 1) * sizeof *infos);
        if (room)
            infos->struct_size = sizeof *infos;
        assert_int_equal(gx_devices(ctx, infos, &count), GX_OK);
        assert_int_equal(count, number);
        const char *bytes = (const char *)infos;
        for (size_t i = room * sizeof *infos; i < (number + 1) * sizeof *infos; i++)
            assert_int_equal(bytes[i], GUARD);
        for (size_t i = 0; i < room; i++)
            assert_true(infos[i].name[0] != GUARD && infos[i].name[0]);
    }
    free(infos);
    gx_close(&ctx);
}

static void devices_with_bad_arguments(void **state)
{
    (void)state;
    gx_ctx *ctx = gxt_open(NULL);
    gx_device_info info = {.struct_size = sizeof info};
    size_t count = 1;
    assert_int_equal(gx_devices(ctx, &info, NULL), GX_ERR_INVALID);
    assert_int_equal(gx_devices(NULL, &info, &count), GX_ERR_INVALID);
    gx_close(&ctx);
}

static void device_threads_follow_the_config(void **state)
{
    (void)state;
    gx_config config = {.threads = 1};
    gx_ctx *ctx = gxt_open(&config);
    gx_device_info infos[16] = {{.struct_size = sizeof *infos}};
    size_t count = GXT_COUNT(infos);
    assert_int_equal(gx_devices(ctx, infos, &count), GX_OK);
    for (size_t i = 0; i < count && i < GXT_COUNT(infos); i++)
        if (infos[i].kind == GX_DEVICE_CPU)
            assert_int_equal(infos[i].threads, 1);
    gx_close(&ctx);
}

/* Everything logged in normal use has a level and text, and no newline. */
static void the_log_is_well_formed(void **state)
{
    (void)state;
    struct messages log = {0};
    gx_config config = {.log = keep_message, .log_user = &log};
    gx_ctx *ctx = gxt_open(&config);
    const char *names[] = {"cpu", "ref", "nope", "fault:", "a\nb", "fault:lose@1:cpu"};
    uint32_t x[4] = {0};
    for (size_t i = 0; i < GXT_COUNT(names); i++) {
        gx_job job = gxt_job(GX_ADD, GX_U32, 4, x, x, NULL, x);
        gxt_run(ctx, &job, names[i], NULL);
    }
    gx_close(&ctx);
    assert_int_equal(log.bad, 0);
}

/* For each variable, a value that gx_open rejects. */
static void set_bad_variables(void)
{
    for (uint32_t i = 0; gx_option_get(i); i++)
        setenv(gx_option_get(i)->env, "?", 1);
    setenv("GPU_DEVICE_LOCAL", "?", 1);
    setenv("GPU_STREAM_CHUNK_ELEMS", "?", 1);
    setenv("SUPERVM_WGPU_BACKENDS", "?", 1);
}

static void the_environment_can_be_ignored(void **state)
{
    (void)state;
    gx_ctx *ctx = NULL;
    set_bad_variables();
    assert_int_equal(gx_open(NULL, &ctx), GX_ERR_INVALID);
    gx_config config = {.ignore_environment = 1};
    assert_int_equal(gx_open(&config, &ctx), GX_OK);
    uint32_t one = 1, sum = 0;
    gx_job job = gxt_job(GX_ADD, GX_U32, 1, &one, &one, NULL, &sum);
    assert_int_equal(gx_run(ctx, &job, 1, NULL, NULL), GX_OK); /* "?" is not a device */
    assert_int_equal(sum, 2);
    gx_close(&ctx);
    gxt_clear_environment();
    unsetenv("GPU_STREAM_CHUNK_ELEMS");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(statuses_have_names_and_messages, start),
        cmocka_unit_test_setup(values_have_names, start),
        cmocka_unit_test_setup(the_environment_can_be_ignored, start),
        cmocka_unit_test_setup(unknown_statuses_have_some_text, start),
        cmocka_unit_test_setup(version_is_the_headers, start),
        cmocka_unit_test_setup(field_table, start),
        cmocka_unit_test_setup(moduli_are_the_published_ones, start),
        cmocka_unit_test_setup(operation_table, start),
        cmocka_unit_test_setup(what_is_no_field_or_operation, start),
        cmocka_unit_test_setup(options_table, start),
        cmocka_unit_test_setup(sizes_and_modes_from_text, start),
        cmocka_unit_test_setup(settings_from_text, start),
        cmocka_unit_test_setup(bad_settings_are_refused, start),
        cmocka_unit_test_setup(messages_fit_their_buffer, start),
        cmocka_unit_test_setup(device_from_the_environment, start),
        cmocka_unit_test_setup(numbers_from_the_environment, start),
        cmocka_unit_test_setup(cpumask_from_the_environment, start),
        cmocka_unit_test_setup(bad_environment_is_refused, start),
        cmocka_unit_test_setup(explicit_settings_hide_a_bad_environment, start),
        cmocka_unit_test_setup(open_and_close, start),
        cmocka_unit_test_setup(bad_configs_are_refused, start),
        cmocka_unit_test_setup(long_names_in_a_list, start),
        cmocka_unit_test_setup(wrong_struct_sizes_are_refused, start),
        cmocka_unit_test_setup(strings_are_copied, start),
        cmocka_unit_test_setup(the_environment_may_change_after_open, start),
        cmocka_unit_test_setup(cpumasks_that_are_taken, start),
        cmocka_unit_test_setup(missing_devices_are_found_at_open, start),
        cmocka_unit_test_setup(list_is_empty, start),
        cmocka_unit_test_setup(open_opens_no_device, start),
        cmocka_unit_test_setup(any_gpu, start),
        cmocka_unit_test_setup(devices_are_listed, start),
        cmocka_unit_test_setup(no_more_devices_are_written_than_there_is_room, start),
        cmocka_unit_test_setup(devices_with_bad_arguments, start),
        cmocka_unit_test_setup(device_threads_follow_the_config, start),
        cmocka_unit_test_setup(the_log_is_well_formed, start),
    };
    return cmocka_run_group_tests_name("context", tests, NULL, NULL);
}
