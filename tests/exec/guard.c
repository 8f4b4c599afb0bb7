/* SPDX-License-Identifier: Apache-2.0
 *
 * The guards behind the memory of an engine (exec/guard.h), on every device: one byte past the end
 * ends the process, with a message that says whose memory it was, and everything before it does
 * not. Each case is a process of its own.
 */
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/options.h"
#include "base/trace.h"
#include "exec/engine.h"
#include "support/harness.h"
#include "support/task.h"

enum { ASKED = 5000, PAST = 5008 }; /* the guard begins at a multiple of 16 */

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

/* Runs fn(user) in another process and returns how it ended. */
static struct end end_of(void (*fn)(void *user), void *user)
{
    struct end end = {0};
    int ends[2];
    assert_int_equal(pipe(ends), 0);
    fflush(NULL);
    pid_t child = fork();
    assert_true(child >= 0);
    if (!child) {
        dup2(ends[1], STDOUT_FILENO);
        dup2(ends[1], STDERR_FILENO);
        close(ends[0]);
        close(ends[1]);
        fn(user);
        _exit(0);
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

struct use {
    const char *device;
    enum gx_mem_kind kind;
    size_t at;
    bool buffer;
};

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

static void use_memory(void *user)
{
    const struct use *use = user;
    struct gx_mem *mem, own;
    open_engine(use->device);
    if (use->buffer)
        assert_int_equal(gx__pool_alloc(&engine.pool, use->kind, ASKED, mem = &own), GX_OK);
    else
        assert_int_equal(gx__pool_get(&engine.pool, use->kind, ASKED, &mem), GX_OK);
    if (mem->host || use->kind == GX_MEM_UPLOAD)
        write_by_host(mem, use->at);
    else
        write_by_device(mem, use->at);
    if (use->buffer)
        gx__pool_free(&engine.pool, mem, ASKED);
    else
        gx__pool_put(&engine.pool, &mem);
    gx__engine_close(&engine);
}

static void memory_is_guarded(const char *device)
{
    static const char *const kinds[GX_MEM_KINDS] = {"device", "upload", "readback", "shared"};
    open_engine(device);
    const uint32_t offered = engine.device.facts.mem_kinds;
    gx__engine_close(&engine);
    gx__device_stop(&instance);
    gx__threads_end(&instance);
    for (enum gx_mem_kind kind = 0; kind < GX_MEM_KINDS; kind++)
        for (int buffer = 0; buffer < 2 && offered & GX_MEM_BIT(kind); buffer++) {
            char said[160];
            struct use use = {device, kind, ASKED - ASKED % 16 - 16, buffer};
            snprintf(said, sizeof said,
                     "gpuexec: device '%s': work wrote past the end of %s memory: 5000 bytes were "
                     "asked for, and byte 5008 was changed",
                     device, kinds[kind]);
            expect_fine(end_of(use_memory, &use));
            use.at = PAST;
            expect_said(end_of(use_memory, &use), said);
        }
}

static void every_kind_of_memory(void **state)
{
    const char *gpus[GXT_GPUS];
    size_t count = gxt_gpus(gpus);
    (void)state;
    memory_is_guarded("cpu");
    memory_is_guarded("sim:desktop");
    for (size_t i = 0; i < count; i++)
        memory_is_guarded(gpus[i]);
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

static void run_job(void *user)
{
    static uint64_t in[4 * 100], out[4 * 100];
    static struct gx_device_ops ops;
    uint64_t rng = 5;
    open_engine("cpu");
    real = engine.device.ops;
    ops = *real;
    ops.run = run_past;
    engine.device.ops = user ? &ops : real;
    gxt_fill(&rng, GX_BN254_FR, in, 100);
    gx_job jobs[] = {gxt_job(GX_INV, GX_BN254_FR, 100, in, NULL, NULL, out),
                     gxt_job(GX_INV, GX_BN254_FR, 70, in, NULL, NULL, out)};
    struct gx_batch batch = {.jobs = gxt_tasks(jobs, 2), .count = 2};
    assert_int_equal(gx__engine_run(&engine, &batch), GX_OK);
    gx__engine_close(&engine);
}

static void scratch_of_jobs(void **state)
{
    (void)state;
    expect_fine(end_of(run_job, NULL));
    touch = poke;
    expect_said(end_of(run_job, run_job),
                "last used by inv (operation 6) of 100 elements of bn254-fr");
#ifdef __SANITIZE_ADDRESS__
    touch = touch_seen;
    expect_said(end_of(run_job, run_job), "AddressSanitizer: use-after-poison");
#endif
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_kind_of_memory),
        cmocka_unit_test(scratch_of_jobs),
    };
    gxt_clear_environment();
    gxt_enter_machines();
    gxt_choose_gpu(argc, argv);
    touch = touch_seen;
    return cmocka_run_group_tests(tests, NULL, NULL);
}
