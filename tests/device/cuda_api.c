/* SPDX-License-Identifier: Apache-2.0
 *
 * The CUDA device behind the public API, on a substitute for the driver (support/fake_cuda.c): what
 * a small job costs, memory of the caller, and GPUs that have several names.
 */
#include "api/counters.h"
#include "device/cuda_run.h"

#include <stdio.h>

#include "api/context.h"
#include "route/health.h"

/* ---- what a small job costs ---- */

#define SMALL_RUNS 20u
#define SMALL      64u

/* The least and the most calls of the driver in one of several jobs. */
static unsigned calls_of_job(gx_ctx *ctx, gx_report *report, unsigned *most)
{
    uint32_t a[SMALL] = {0}, b[SMALL] = {0}, out[SMALL];
    const gx_job job = {.op = GX_ADD,
                        .field = GX_U32,
                        .n = SMALL,
                        .a = gx_host(a),
                        .b = gx_host(b),
                        .out = gx_host(out)};
    const gx_run_params opts = {.struct_size = sizeof opts, .device = "cuda:0"};
    unsigned least = UINT32_MAX;
    *most = 0;
    for (uint32_t i = 0; i < SMALL_RUNS; i++) {
        for (uint32_t k = 0; k < SMALL; k++) {
            a[k] = 7 * k;
            b[k] = i;
        }
        unsigned before = fake->every;
        assert_int_equal(gx_run(ctx, &job, 1, &opts, report), GX_OK);
        unsigned calls = fake->every - before;
        if (i) { /* the first one opens the device, or records */
            least = calls < least ? calls : least;
            *most = calls > *most ? calls : *most;
        }
        for (uint32_t k = 0; k < SMALL; k++)
            assert_int_equal(out[k], 7 * k + i);
    }
    return least;
}

/* Each call takes one or two of the microseconds that a small job takes in all. */
static void small_jobs(void **state)
{
    (void)state;
    gx_config config = {.struct_size = sizeof config,
                        .cache_dir = "none",
                        .cuda_library = GXT_FAKE_CUDA,
                        .ignore_environment = 1};
    gx_report report = {.struct_size = sizeof report};
    gx_ctx *ctx;
    unsigned most;
    set_up();
    assert_int_equal(gx_open(&config, &ctx), GX_OK);
    /* the context is pushed, a launch, the counter, the context is popped */
    assert_int_equal(calls_of_job(ctx, NULL, &most), 4);
    assert_int_equal(most, 4);
    /* two stamps, and asking about them between another push and pop; one in a tenth of a second
       sets the clock */
    assert_int_equal(calls_of_job(ctx, &report, &most), 10);
    assert_in_range(most, 10, 11);
    assert_int_equal(report.path, GX_PATH_HOST_VISIBLE);
    assert_int_equal(report.submits, 1);
    gx_close(&ctx);
    expect_nothing_left();
}

/* ---- memory of the caller ---- */

static CUdeviceptr caller_alloc(CUcontext context, size_t bytes)
{
    CUdeviceptr memory;
    assert_int_equal(fn.CtxPushCurrent(context), CUDA_SUCCESS);
    assert_int_equal(fn.MemAlloc(&memory, bytes), CUDA_SUCCESS);
    assert_int_equal(fn.CtxPopCurrent(&context), CUDA_SUCCESS);
    return memory;
}

static void expect_refused(gx_ctx *ctx, const char *name, uint64_t address, size_t bytes,
                           gx_status status, const char *text)
{
    gx_buf *buf = (gx_buf *)&buf;
    assert_int_equal(gx_buf_from_cuda(ctx, name, address, bytes, &buf), status);
    assert_null(buf);
    if (!strstr(gx_last_message(), text))
        fail_msg("'%s' does not say '%s'", gx_last_message(), text);
}

enum { QUEUES = 3 };

/* The same for an event of the caller's, which stays the caller's. */
static void wait_for_event(gx_buf *buf)
{
    CUstream stream;
    CUevent event;
    assert_int_equal(fn.StreamCreate(&stream, 0), CUDA_SUCCESS);
    assert_int_equal(fn.EventCreate(&event, 0), CUDA_SUCCESS);
    assert_int_equal(fn.EventRecord(event, stream), CUDA_SUCCESS);
    int events = fake->live[FAKE_EVENT];
    fake->watched = stream;
    fake->watching = 0;
    fake->hold = true;
    assert_int_equal(gx_buf_cuda_wait_event(buf, event), GX_OK);
    fake->hold = false;
    assert_int_equal(fake->watching, QUEUES);
    fake->watched = NULL;
    fake->fail_at = fake->calls + 1;
    fake->fail_with = CUDA_ERROR_INVALID_HANDLE;
    assert_int_equal(gx_buf_cuda_wait_event(buf, event), GX_ERR_INVALID);
    assert_non_null(strstr(gx_last_message(), "this is no event"));
    for (unsigned call = 1; call <= QUEUES; call++) {
        fake->fail_at = fake->calls + call;
        fake->fail_with = CUDA_ERROR_OUT_OF_MEMORY;
        assert_int_not_equal(gx_buf_cuda_wait_event(buf, event), GX_OK);
        assert_non_null(strstr(gx_last_message(), "gx_buf_cuda_wait_event on 'cuda:0'"));
    }
    assert_int_equal(gx_buf_cuda_wait_event(buf, NULL), GX_ERR_INVALID);
    assert_int_equal(gx_buf_cuda_wait_event(NULL, event), GX_ERR_INVALID);
    assert_int_equal(fake->live[FAKE_EVENT], events);
    fn.EventDestroy(event);
    fn.StreamDestroy(stream);
}

/* All queues of the library wait for the caller's stream, and the host for nothing: the stream
 * stands still. */
static void wait_for_stream(gx_ctx *ctx, CUdeviceptr memory)
{
    gx_buf *buf, *plain;
    CUstream stream;
    assert_int_equal(gx_buf_from_cuda(ctx, "cuda:0", memory, 64, &buf), GX_OK);
    assert_int_equal(fn.StreamCreate(&stream, 0), CUDA_SUCCESS);
    int events = fake->live[FAKE_EVENT];
    fake->watched = stream;
    fake->watching = 0;
    fake->hold = true;
    assert_int_equal(gx_buf_cuda_wait(buf, stream), GX_OK);
    fake->hold = false;
    assert_int_equal(fake->watching, QUEUES);
    assert_int_equal(fake->live[FAKE_EVENT], events);
    fake->watched = NULL;
    assert_int_equal(gx_buf_cuda_wait(buf, NULL), GX_OK); /* the default stream */

    static const CUresult unknown[] = {CUDA_ERROR_INVALID_HANDLE, CUDA_ERROR_INVALID_VALUE,
                                       CUDA_ERROR_INVALID_CONTEXT};
    for (size_t i = 0; i < GXT_COUNT(unknown); i++) { /* after push, and making the event */
        fake->fail_at = fake->calls + 3;
        fake->fail_with = unknown[i];
        assert_int_equal(gx_buf_cuda_wait(buf, stream), GX_ERR_INVALID);
        assert_non_null(strstr(gx_last_message(), "no stream of the device's primary context"));
        assert_int_equal(fake->live[FAKE_EVENT], events);
    }
    for (unsigned call = 1; call <= 3 + QUEUES - 1; call++) {
        fake->fail_at = fake->calls + call;
        fake->fail_with = CUDA_ERROR_OUT_OF_MEMORY;
        assert_int_not_equal(gx_buf_cuda_wait(buf, stream), GX_OK);
        assert_non_null(strstr(gx_last_message(), "gx_buf_cuda_wait on 'cuda:0'"));
        assert_int_equal(fake->live[FAKE_EVENT], events);
    }
    fn.StreamDestroy(stream);
    wait_for_event(buf);
    gx_buf_destroy(&buf);

    assert_int_equal(gx_buf_cuda_wait(NULL, NULL), GX_ERR_INVALID);
    assert_int_equal(gx_buf_create(ctx, "cpu", 64, 0, &plain), GX_OK);
    assert_int_equal(gx_buf_cuda_wait_event(plain, stream), GX_ERR_UNSUPPORTED);
    assert_int_equal(gx_buf_cuda_wait(plain, NULL), GX_ERR_UNSUPPORTED);
    assert_non_null(strstr(gx_last_message(), "on 'cpu': not a CUDA device"));
    gx_buf_destroy(&plain);
    assert_int_equal(gx_buf_create(ctx, "cuda:0", 64, GX_BUF_MAPPABLE, &plain), GX_OK);
    assert_int_equal(gx_buf_cuda_wait(plain, NULL), GX_ERR_INVALID);
    assert_non_null(strstr(gx_last_message(), "the host copies a mappable buffer"));
    gx_buf_destroy(&plain);
}

static void refuse_all(gx_ctx *ctx, CUdeviceptr memory, CUcontext primary)
{
    struct fake_cuda *other = fake + 1; /* a context that nobody retained, and one of no device */
    CUdeviceptr foreign = caller_alloc((CUcontext)other, 64),
                far = caller_alloc((CUcontext)((char *)primary + 1), 64);
    uint32_t word;
    void *pinned;
    expect_refused(ctx, "cpu", memory, 64, GX_ERR_UNSUPPORTED, "on 'cpu': not a CUDA device");
    expect_refused(ctx, "cuda:7", memory, 64, GX_ERR_NO_DEVICE, "there is no device 'cuda:7' here");
    expect_refused(ctx, NULL, memory, 64, GX_ERR_INVALID, "name the device");
    expect_refused(NULL, "cuda:0", memory, 64, GX_ERR_INVALID, "ctx is NULL");
    expect_refused(ctx, "cuda:0", memory, 0, GX_ERR_INVALID, "no bytes");
    expect_refused(ctx, "cuda:0", memory + 4, 64, GX_ERR_INVALID, "multiple of 16");
    expect_refused(ctx, "cuda:0", 0, 64, GX_ERR_INVALID, "no address of CUDA memory");
    expect_refused(ctx, "cuda:0", (uintptr_t)&word / 16 * 16, 64, GX_ERR_INVALID, "no address");
    expect_refused(ctx, "cuda:0", memory + 16, 4 * WORDS, GX_ERR_INVALID, "past the end");
    expect_refused(ctx, "cuda:0", memory, SIZE_MAX, GX_ERR_INVALID, "past the end");
    expect_refused(ctx, "cuda:0", foreign, 64, GX_ERR_INVALID, "primary context");
    expect_refused(ctx, "cuda:0", far, 64, GX_ERR_INVALID, "another device");
    assert_int_equal(fn.MemHostAlloc(&pinned, 64, 0), CUDA_SUCCESS);
    expect_refused(ctx, "cuda:0", (uintptr_t)pinned, 64, GX_ERR_INVALID, "gx_host_register");
    fn.MemFreeHost(pinned);
    for (unsigned call = 1; call <= 4; call++) {
        fake->fail_at = fake->calls + call;
        fake->fail_with = CUDA_ERROR_NOT_SUPPORTED;
        expect_refused(ctx, "cuda:0", memory, 64, GX_ERR_UNSUPPORTED, "on 'cuda:0'");
    }
    fn.MemFree(foreign);
    fn.MemFree(far);
    assert_int_equal(gx_buf_from_cuda(ctx, "cuda:0", memory, 64, NULL), GX_ERR_INVALID);
}

static uint64_t held_by(gx_ctx *ctx)
{
    struct gx_statistics stats = {0};
    gx__stats(ctx, &stats);
    return stats.device_bytes;
}

/* Adds the caller's words to themselves, twice, in place: through the buffer, and through one at an
 * offset. */
static void add_in_place(gx_ctx *ctx, CUdeviceptr memory)
{
    uint32_t *words = (uint32_t *)(uintptr_t)memory, some[4];
    gx_buf *all, *rest;
    uint64_t held = held_by(ctx);
    assert_int_equal(gx_buf_from_cuda(ctx, "cuda:0", memory, 4 * WORDS, &all), GX_OK);
    assert_int_equal(gx_buf_from_cuda(ctx, "cuda", memory + 16, 4 * WORDS - 16, &rest), GX_OK);
    assert_int_equal(gx_buf_cuda_address(all), memory);
    assert_int_equal(gx_buf_cuda_address(rest), memory + 16);
    assert_int_equal(gx_buf_size(rest), 4 * WORDS - 16);
    assert_string_equal(gx_buf_device(rest), "cuda:0");
    assert_int_equal(held_by(ctx), held);
    for (uint32_t i = 0; i < WORDS; i++)
        words[i] = i;
    gx_operand whole = gx_dev(all, 0), part = gx_dev(rest, 0);
    const gx_job jobs[] = {
        {.op = GX_ADD, .field = GX_U32, .n = WORDS, .a = whole, .b = whole, .out = whole},
        {.op = GX_ADD, .field = GX_U32, .n = WORDS - 4, .a = part, .b = part, .out = part}};
    for (size_t i = 0; i < 2; i++)
        assert_int_equal(gx_run(ctx, &jobs[i], 1, NULL, NULL), GX_OK);
    for (uint32_t i = 0; i < WORDS; i++)
        assert_int_equal(words[i], i < 4 ? 2 * i : 4 * i);
    assert_int_equal(gx_buf_read(rest, 16, some, sizeof some), GX_OK);
    assert_int_equal(some[3], 4 * 11);
    assert_int_equal(gx_buf_write(all, 0, some, sizeof some), GX_OK);
    assert_int_equal(words[3], 4 * 11);
    gx_buf_destroy(&all);
    gx_buf_destroy(&rest);
    words[5] = 1; /* still there */
}

static void give_out(gx_ctx *ctx)
{
    gx_buf *buf;
    for (uint32_t flags = 0; flags <= GX_BUF_MAPPABLE; flags++) {
        assert_int_equal(gx_buf_create(ctx, "cuda:0", 64, flags, &buf), GX_OK);
        uint32_t *words = (uint32_t *)(uintptr_t)gx_buf_cuda_address(buf), word;
        words[3] = 77;
        assert_int_equal(gx_buf_read(buf, 12, &word, sizeof word), GX_OK);
        assert_int_equal(word, 77);
        gx_buf_destroy(&buf);
    }
    assert_int_equal(gx_buf_create(ctx, "cpu", 64, 0, &buf), GX_OK);
    assert_int_equal(gx_buf_cuda_address(buf), 0);
    gx_buf_destroy(&buf);
    assert_int_equal(gx_buf_cuda_address(NULL), 0);
}

static void interop(void **state)
{
    (void)state;
    gx_config config = {.struct_size = sizeof config,
                        .cache_dir = "none",
                        .cuda_library = GXT_FAKE_CUDA,
                        .ignore_environment = 1};
    gx_ctx *ctx;
    gx_buf *buf;
    CUcontext primary;
    set_up();
    assert_int_equal(fn.DevicePrimaryCtxRetain(&primary, 0), CUDA_SUCCESS);
    CUdeviceptr memory = caller_alloc(primary, 4 * WORDS);
    assert_int_equal(gx_open(&config, &ctx), GX_OK);
    add_in_place(ctx, memory);
    wait_for_stream(ctx, memory);
    refuse_all(ctx, memory, primary);
    give_out(ctx);
    assert_int_equal(gx_buf_from_cuda(ctx, "fault:fail@1000000:cuda:0", memory, 64, &buf), GX_OK);
    assert_int_equal(gx_buf_cuda_address(buf), memory);
    assert_int_equal(gx_buf_cuda_wait(buf, NULL), GX_OK);
    gx_buf_destroy(&buf);
    gx_close(&ctx);
    assert_int_equal(fake->live[FAKE_DEVICE_MEMORY], 1);
    fn.MemFree(memory);

    config.device = "cuda:0"; /* if the driver ends the memory first, as with a lost device */
    memory = caller_alloc(primary, 64);
    assert_int_equal(gx_open(&config, &ctx), GX_OK);
    assert_int_equal(gx_buf_from_cuda(ctx, NULL, memory, 64, &buf), GX_OK);
    fn.MemFree(memory);
    gx_buf_destroy(&buf);
    gx_close(&ctx);
    fn.DevicePrimaryCtxRelease(0);
    expect_nothing_left();
}

/* ---- one GPU, several devices ---- */

/* Adds 1. */
static void add_one(void *user, const gx_kernel_call *call)
{
    (void)user;
    for (size_t i = 0; i < call->n; i++) {
        uint32_t word;
        memcpy(&word, (const char *)call->a + i * call->a_step, sizeof word);
        word++;
        memcpy((char *)call->out + 4 * i, &word, sizeof word);
    }
}

static void expect_added(gx_ctx *ctx, gx_op op, const char *device_name)
{
    uint32_t a[SMALL], out[SMALL];
    gx_report report = {.struct_size = sizeof report};
    const gx_run_params opts = {.struct_size = sizeof opts, .policy = GX_POLICY_GPU};
    for (uint32_t i = 0; i < SMALL; i++)
        a[i] = i;
    const gx_job job = {.op = op, .n = SMALL, .a = gx_host(a), .out = gx_host(out)};
    gx_status s = gx_run(ctx, &job, 1, &opts, &report);
    assert_int_equal(s, device_name ? GX_OK : GX_ERR_UNSUPPORTED);
    if (device_name)
        assert_string_equal(report.device, device_name);
    for (uint32_t i = 0; i < SMALL && device_name; i++)
        assert_int_equal(out[i], i + 1);
}

/* No machine that runs this test has a GPU with several names, so a simulated one is made one. */
static struct gx_device_slot *add_name(gx_ctx *ctx, const char *name, size_t candidate)
{
    struct gx_router *router = &ctx->router;
    struct gx_device_slot *slot;
    assert_int_equal(gx__slot_get(&router->slots, name, &slot, &error), GX_OK);
    slot->chip = router->candidate[candidate]->chip;
    router->candidate[candidate]->other = slot;
    return slot;
}

/* An operation without PTX runs on another device that is the same GPU. */
static void other_name(void **state)
{
    (void)state;
    static const char other[] = "sim:gpu-of-two-names";
    gx_config config = {.struct_size = sizeof config,
                        .device = "cuda:0,cuda:1",
                        .cache_dir = "none",
                        .cuda_library = GXT_FAKE_CUDA,
                        .sample_every = UINT32_MAX,
                        .ignore_environment = 1};
    const gx_kernel_params desc = {.struct_size = sizeof desc,
                                   .name = "add-one",
                                   .operands = 1,
                                   .a_bytes = 4,
                                   .out_bytes = 4,
                                   .group_elems = 32,
                                   .fn = add_one};
    gx_ctx *ctx;
    gx_op op;
    set_up();
    gxt_enter_machines();
    assert_int_equal(gx_open(&config, &ctx), GX_OK);
    assert_int_equal(gx_op_register(ctx, &desc, &op), GX_OK);
    expect_added(ctx, op, NULL);
    assert_int_equal(ctx->router.candidates, 2);
    for (uint32_t i = 0; i < 2; i++) {
        assert_int_equal(ctx->router.candidate[i]->chip, i + 1);
        assert_null(ctx->router.candidate[i]->other);
    }
    struct gx_device_slot *twin = add_name(ctx, other, 1);
    assert_null(twin->engine);
    expect_added(ctx, op, other);
    expect_added(ctx, op, other);
    gx_close(&ctx);
    expect_nothing_left();
}

/* ---- a GPU that CUDA cannot use ---- */

enum { LOGGED = 1024 };

static void note_log(void *user, gx_log_level level, const char *text)
{
    size_t length = strlen(user);
    if (level == GX_LOG_WARNING)
        snprintf((char *)user + length, LOGGED - length, "%s\n", text);
}

static gx_status sum(gx_ctx *ctx, gx_report *report)
{
    uint32_t a[SMALL], out[SMALL];
    for (uint32_t i = 0; i < SMALL; i++)
        a[i] = i;
    const gx_job job = {.op = GX_ADD,
                        .field = GX_U32,
                        .n = SMALL,
                        .a = gx_host(a),
                        .b = gx_host(a),
                        .out = gx_host(out)};
    gx_status s = gx_run(ctx, &job, 1, NULL, report);
    for (uint32_t i = 0; i < SMALL && s == GX_OK; i++)
        assert_int_equal(out[i], 2 * i);
    return s;
}

static void expect_sum_on(gx_ctx *ctx, const char *device_name)
{
    gx_report report = {.struct_size = sizeof report};
    assert_int_equal(sum(ctx, &report), GX_OK);
    assert_string_equal(report.device, device_name);
}

static void expect_buffer_on(gx_ctx *ctx, const char *device_name)
{
    gx_buf *buf;
    assert_int_equal(gx_buf_create(ctx, NULL, 64, 0, &buf), GX_OK);
    assert_string_equal(gx_buf_device(buf), device_name);
    gx_buf_destroy(&buf);
}

/* Opens a context that chooses between GPUs: cuda:0, which is `other` too. */
static gx_ctx *open_with_other(const char *other, char *logged)
{
    const gx_config config = {.struct_size = sizeof config,
                              .device = "cuda:0,cuda", /* the same again: a list */
                              .policy = GX_POLICY_GPU,
                              .cache_dir = "none",
                              .cuda_library = GXT_FAKE_CUDA,
                              .log = note_log,
                              .log_user = logged,
                              .ignore_environment = 1};
    gx_ctx *ctx;
    gxt_enter_machines();
    logged[0] = 0;
    assert_int_equal(gx_open(&config, &ctx), GX_OK);
    assert_int_equal(gx__router_candidates(&ctx->router, &error), GX_OK);
    assert_int_equal(ctx->router.candidates, 1);
    add_name(ctx, other, 0);
    return ctx;
}

static void wait_for_rest(void)
{
    atomic_fetch_add(&gx__health_skip_ns, 1000000000u);
}

/* CUDA can be used again, loses the device, and cannot open it again. */
static void return_and_lose(gx_ctx *ctx, const char *other)
{
    gx__cu_kernels = all_kernels; /* for the self-test */
    fake->retain = fake->load = CUDA_SUCCESS;
    wait_for_rest();
    expect_sum_on(ctx, "cuda:0");
    expect_buffer_on(ctx, "cuda:0");
    fake->fail_at = fake->calls + 1;
    fake->fail_with = CUDA_ERROR_LAUNCH_FAILED;
    assert_int_equal(sum(ctx, NULL), GX_ERR_DEVICE_LOST);
    assert_false(gx__health_unfit(ctx->router.candidate[0])); /* it only rests */
    fake->retain = CUDA_ERROR_DEVICE_UNAVAILABLE;
    wait_for_rest();
    expect_sum_on(ctx, other);
}

/* The other device takes its place at once, until CUDA can be used again. */
static void other_name_for_cuda(void **state)
{
    (void)state;
    static const char other[] = "sim:gpu-of-two-names";
    for (int i = 0; i < 3; i++) {
        char logged[LOGGED];
        set_up();
        fake->retain = i ? CUDA_SUCCESS : CUDA_ERROR_DEVICE_UNAVAILABLE;
        fake->load = i ? CUDA_ERROR_INVALID_IMAGE : CUDA_SUCCESS;
        gx_ctx *ctx = open_with_other(other, logged);
        if (i == 2)
            expect_buffer_on(ctx, other);
        expect_sum_on(ctx, other);
        expect_buffer_on(ctx, other);
        if (!strstr(logged, "device 'cuda:0' could not be opened: ") ||
            !strstr(logged, "'sim:gpu-of-two-names' is used in place of 'cuda:0', the same GPU, "
                            "which cannot be used now"))
            fail_msg("'%s' does not say why", logged);
        wait_for_rest();
        expect_sum_on(ctx, other); /* after another attempt */
        if (GXT_EMULATED_PTX)
            return_and_lose(ctx, other);
        gx_close(&ctx);
        expect_nothing_left();
    }
}

static void chips(void **state)
{
    (void)state;
    struct gx_chip first, second, same = {.name = "Imaginary B100"}, none;
    set_up();
    gxt_enter_machines();
    assert_true(gx__device_chip(&instance, "cuda:0", &first));
    assert_true(gx__device_chip(&instance, "fault:fail@7:cuda:1", &second));
    assert_true(first.has_uuid && second.has_uuid && first.uuid[0] == 0xf0);
    assert_false(gx__same_chip(&first, &second));
    assert_true(gx__same_chip(&first, &first));
    assert_true(gx__same_chip(&second, &same) && !gx__same_chip(&first, &same));
    memcpy(same.uuid, first.uuid, sizeof same.uuid); /* counts if there is one */
    same.has_uuid = true;
    assert_true(gx__same_chip(&first, &same) && !gx__same_chip(&second, &same));
    assert_true(gx__device_chip(&instance, "sim:gpu-of-two-names#1", &first));
    assert_true(gx__device_chip(&instance, "sim:gpu-of-two-names#2", &second));
    assert_true(gx__same_chip(&first, &second));
    assert_false(gx__device_chip(&instance, "sim:gpu-of-four#2", &none));
    assert_false(gx__device_chip(&instance, "cpu", &none));
    assert_false(gx__device_chip(&instance, "cuda:7", &none));
    assert_false(gx__device_chip(&instance, "fault:", &none));
    gx__device_stop(&instance);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(small_jobs), cmocka_unit_test(interop), cmocka_unit_test(other_name),
        cmocka_unit_test(other_name_for_cuda), cmocka_unit_test(chips)};
    return cmocka_run_group_tests(tests, prepare, NULL);
}
