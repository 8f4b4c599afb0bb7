/* SPDX-License-Identifier: Apache-2.0
 *
 * The guards behind the memory of an engine (exec/guard.h), on every device: one byte past the end
 * ends the process, with a message that says whose memory it was, and everything before it does
 * not. Each case is a process of its own, which starts this program anew: not every driver survives
 * fork().
 */
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/options.h"
#include "base/trace.h"
#include "compose/compose.h"
#include "device/cuda/cuda.h"
#include "exec/pipe.h"
#include "support/harness.h"
#include "support/task.h"

#define AS_CHILD "--case"
enum { ASKED = 5000, PAST = 5008 }; /* the guard begins at a multiple of 16 */

static char program[4096];

static struct gx_instance instance;
static struct gx_registered_memory hosts;
static struct gx_engine engine;

static void open_engine(const char *name)
{
    struct gx_error error = {""};
    const gx_config config = {.cache_dir = "none"};
    assert_int_equal(gx__config_complete(&instance.config, &config, &error), GX_OK);
    gx__trace_init(&instance);
    gx__registered_memory_init(&hosts);
    instance.registered = &hosts;
    if (gx__engine_open(&engine, &instance, name, &error) != GX_OK)
        fail_msg("%s", error.text);
}

/* ---- in a process of its own ---- */

struct end {
    int status;
    char said[4000];
};

/* Runs a case and returns how it ended. */
static struct end end_of(const char *name, const char *device, const char *how)
{
    const char *args[] = {program, AS_CHILD, name, device, how, NULL};
    struct end end = {0};
    int ends[2];
    assert_int_equal(pipe(ends), 0);
    pid_t child = fork();
    assert_true(child >= 0);
    if (!child) {
        dup2(ends[1], STDOUT_FILENO);
        dup2(ends[1], STDERR_FILENO);
        close(ends[0]);
        close(ends[1]);
        execv(program, (char **)(uintptr_t)args);
        _exit(127);
    }
    close(ends[1]);
    size_t length = 0;
    for (ssize_t got; (got = read(ends[0], end.said + length, sizeof end.said - 1 - length)) > 0;)
        length += (size_t)got;
    close(ends[0]);
    assert_int_equal(waitpid(child, &end.status, 0), child);
    return end;
}

static void expect_fine(struct end end)
{
    if (!WIFEXITED(end.status) || WEXITSTATUS(end.status))
        fail_msg("ended with %d: %s", end.status, end.said);
}

static void expect_said(struct end end, const char *text)
{
    if (!end.status || !strstr(end.said, text))
        fail_msg("ended with %d, not with '%s': %s", end.status, text, end.said);
}

/* ---- memory of every kind ---- */

/* As a device does it, which no sanitizer sees. */
__attribute__((no_sanitize_address)) static void poke(volatile char *at)
{
    *at = 1;
}

static void write_by_host(struct gx_mem *mem, size_t at)
{
    void *host;
    assert_int_equal(engine.device.ops->map(&engine.device, mem, &host), GX_OK);
    poke((char *)host + at);
    engine.device.ops->unmap(&engine.device, mem);
}

/* 16 bytes from `at` on; the first is 1. */
static void write_by_device(struct gx_mem *mem, size_t at)
{
    const struct gx_device_ops *ops = engine.device.ops;
    struct gx_mem from;
    struct gx_cmd *cmd;
    struct gx_fence done;
    assert_int_equal(ops->mem_alloc(&engine.device, GX_MEM_UPLOAD, 16, &from), GX_OK);
    write_by_host(&from, 0);
    const struct gx_region region = {.from = {&from, 0}, .to = {mem, at}, .size = 16};
    assert_int_equal(ops->begin(&engine.device, GX_QUEUE_COMPUTE, &cmd), GX_OK);
    ops->copy(cmd, &region, 1);
    assert_int_equal(ops->submit(cmd, NULL, 0, &done), GX_OK);
    assert_int_equal(ops->wait(&engine.device, done, GX_WAIT_FOREVER), GX_OK);
    ops->recycle(cmd);
    ops->mem_free(&engine.device, &from);
}

/* As the device does it. */
static void write_at(struct gx_mem *mem, size_t at)
{
    if (mem->host || mem->kind == GX_MEM_UPLOAD)
        write_by_host(mem, at);
    else
        write_by_device(mem, at);
}

/* how: the kind, whether it is a buffer, and where it is written. */
static void use_memory(const char *how)
{
    unsigned kind, buffer, at;
    struct gx_mem *mem, own;
    assert_int_equal(sscanf(how, "%u %u %u", &kind, &buffer, &at), 3);
    if (buffer)
        assert_int_equal(gx__pool_alloc(&engine.pool, kind, ASKED, mem = &own), GX_OK);
    else
        assert_int_equal(gx__pool_get(&engine.pool, kind, ASKED, &mem), GX_OK);
    write_at(mem, at);
    if (buffer)
        gx__pool_free(&engine.pool, mem, ASKED);
    else
        gx__pool_put(&engine.pool, &mem);
}

static void memory_is_guarded(const char *device)
{
    static const char *const kinds[GX_MEM_KINDS] = {"device", "upload", "readback", "shared"};
    open_engine(device);
    const uint32_t offered = engine.device.facts.mem_kinds;
    gx__engine_close(&engine);
    gx__device_stop(&instance);
    gx__threads_end(&instance);
    for (unsigned kind = 0; kind < GX_MEM_KINDS; kind++)
        for (unsigned buffer = 0; buffer < 2 && offered & GX_MEM_BIT(kind); buffer++) {
            char how[32], said[160];
            snprintf(how, sizeof how, "%u %u %u", kind, buffer, PAST - 16);
            expect_fine(end_of("memory", device, how));
            snprintf(how, sizeof how, "%u %u %u", kind, buffer, PAST);
            snprintf(said, sizeof said,
                     "gpuexec: device '%s': work wrote past the end of %s memory: 5000 bytes were "
                     "asked for, and byte 5008 was changed",
                     device, kinds[kind]);
            expect_said(end_of("memory", device, how), said);
        }
}

static void every_kind_of_memory(void **state)
{
    const char *gpus[GXT_GPUS];
    size_t count = gxt_gpus(gpus);
    (void)state;
    if (!gxt_one_gpu()) {
        memory_is_guarded("cpu");
        memory_is_guarded("sim:desktop");
    }
    for (size_t i = 0; i < count; i++)
        memory_is_guarded(gpus[i]);
}

/* ---- batches ---- */

/* Sums whose sets are blocks of one size, of which the second uses 22,272 bytes more: more than a
 * guard has. */
enum { LESS = 9000, MORE = 10880, BLOCK = 128 << 10 };

/* how: "past" or "within" the memory of the second batch, after the first had the same block. */
static void use_stream(const char *how)
{
    static uint32_t in[MORE], out[MORE];
    static const size_t sizes[] = {LESS, MORE};
    struct gx_batch batches[GXT_COUNT(sizes)];
    struct gx_pipe *pipe;
    assert_int_equal(gx__pipe_open(&engine, &pipe), GX_OK);
    for (size_t i = 0; i < GXT_COUNT(sizes); i++) {
        const gx_job job = gxt_job(GX_ADD, GX_U32, sizes[i], in, in, NULL, out);
        batches[i] = (struct gx_batch){.jobs = gxt_task(&job),
                                       .count = 1,
                                       .path = GX_PATH_DEVICE_LOCAL,
                                       .mode = GX_MODE_SEQUENTIAL};
        assert_true(gx__pipe_feed(pipe, &batches[i]));
        assert_int_equal(gx__pool_size(pipe->set[0].device), BLOCK);
    }
    struct gx_mem *mem = pipe->set[0].device;
    write_at(mem, (mem->asked + 15) / 16 * 16 - (strcmp(how, "past") ? 16 : 0));
    gx__pipe_close(pipe);
    assert_int_equal(batches[0].status, GX_OK);
    assert_int_equal(batches[1].status, GX_OK);
}

static void stream_is_guarded(const char *device)
{
    expect_fine(end_of("stream", device, "within"));
    expect_said(end_of("stream", device, "past"),
                "last used by add (operation 1) of 10880 elements");
}

static void batches_that_use_more(void **state)
{
    const char *gpus[GXT_GPUS];
    size_t count = gxt_gpus(gpus);
    (void)state;
    if (!gxt_one_gpu())
        stream_is_guarded("sim:desktop");
    for (size_t i = 0; i < count; i++)
        stream_is_guarded(gpus[i]);
}

/* ---- jobs ---- */

/* An operation that uses one byte more scratch than it says. */
static const struct gx_device_ops *real;
static void (*touch)(volatile char *at);

static void touch_seen(volatile char *at)
{
    *at = 1;
}

static gx_status run_past(struct gx_device *device, struct gx_host_call *call)
{
    size_t bytes = real->scratch(device, &call->kernel, call->n);
    gx_status s = real->run(device, call);
    touch((char *)call->scratch + (bytes + 15) / 16 * 16);
    return s;
}

/* how: "within" the scratch of the first job, or "past" it, or past it and "seen". */
static void use_scratch(const char *how)
{
    static uint64_t in[4 * 100], out[4 * 100];
    static struct gx_device_ops ops;
    uint64_t rng = 5;
    real = engine.device.ops;
    ops = *real;
    ops.run = run_past;
    engine.device.ops = strcmp(how, "within") ? &ops : real;
    touch = strcmp(how, "seen") ? poke : touch_seen;
    gxt_fill(&rng, GX_BN254_FR, in, 100);
    gx_job jobs[] = {gxt_job(GX_INV, GX_BN254_FR, 100, in, NULL, NULL, out),
                     gxt_job(GX_INV, GX_BN254_FR, 70, in, NULL, NULL, out)};
    struct gx_batch batch = {.jobs = gxt_tasks(jobs, 2), .count = 2};
    assert_int_equal(gx__compose_run(&engine, &batch), GX_OK);
}

static void scratch_of_jobs(void **state)
{
    (void)state;
    if (gxt_one_gpu())
        skip();
    expect_fine(end_of("scratch", "cpu", "within"));
    expect_said(end_of("scratch", "cpu", "past"),
                "last used by inv (operation 6) of 100 elements of bn254-fr");
#ifdef __SANITIZE_ADDRESS__
    expect_said(end_of("scratch", "cpu", "seen"), "AddressSanitizer: use-after-poison");
#endif
}

/* ---- the program ---- */

/* The substitute for the CUDA driver computes with these in any build. */
static void know_substitute(void)
{
    static const struct gx_ptx known[] = {
        {GX_SHADER_COPY, 0, 1, 64, "plain", "fake copy", sizeof "fake copy" - 1},
        {GX_SHADER_WORDS, GX_U32, 1, 32, "plain", "fake words", sizeof "fake words" - 1}};
    static const size_t count = GXT_COUNT(known);
    if (gxt_cuda_emulated())
        gx__cu_kernels = (struct cu_kernels){known, &count};
}

static int run_case(const char *name, const char *device, const char *how)
{
    static const struct {
        const char *name;
        void (*fn)(const char *how);
    } cases[] = {{"memory", use_memory}, {"stream", use_stream}, {"scratch", use_scratch}};
    open_engine(device);
    for (size_t i = 0; i < GXT_COUNT(cases); i++)
        if (!strcmp(cases[i].name, name))
            cases[i].fn(how);
    gx__engine_close(&engine);
    return 0;
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_kind_of_memory),
        cmocka_unit_test(batches_that_use_more),
        cmocka_unit_test(scratch_of_jobs),
    };
    know_substitute();
    if (argc == 5 && !strcmp(argv[1], AS_CHILD))
        _exit(run_case(argv[2], argv[3], argv[4]));
    gxt_clear_environment();
    gxt_enter_machines();
    gxt_choose_gpu(argc, argv);
    gxt_own_path(program, sizeof program);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
