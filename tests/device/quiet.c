/* SPDX-License-Identifier: Apache-2.0
 *
 * The library prints nothing: a program that uses every device of this machine, without a
 * desktop and without any setting that would silence a driver, is run with its output captured.
 */
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>

#include "support/harness.h"

#define AS_CHILD "--use"
enum { DEVICES_MAX = 1 + GXT_WEBGPU, N = 64 };

static const char *program;

/* The program: lists devices, and runs a job on each named one. */
static int use(char **names)
{
    static const gx_config config = {.cache_dir = "none"};
    uint32_t a[N], b[N], out[N];
    gx_device_info infos[16] = {{.struct_size = sizeof infos[0]}};
    size_t count = GXT_COUNT(infos);
    gx_ctx *ctx;
    for (uint32_t i = 0; i < N; i++) {
        a[i] = i;
        b[i] = 3 * i;
    }
    if (gx_open(&config, &ctx) != GX_OK || gx_devices(ctx, infos, &count) != GX_OK)
        return 1;
    for (; *names; names++) {
        gx_run_params opts = {.device = *names};
        gx_job job = gxt_job(GX_ADD, GX_U32, N, a, b, NULL, out);
        if (gx_run(ctx, &job, 1, &opts, NULL) != GX_OK || out[N - 1] != 4 * (N - 1))
            return 2;
    }
    gx_close(&ctx);
    return 0;
}

static void become_program(const char *const *devices, size_t count, int output)
{
    static const char *const silencers[] = {"DISPLAY",         "WAYLAND_DISPLAY",
                                            "XDG_RUNTIME_DIR", "NODEVICE_SELECT",
                                            "EGL_LOG_LEVEL",   "VK_LOADER_LAYERS_DISABLE"};
    const char *args[DEVICES_MAX + 3] = {program, AS_CHILD};
    for (size_t i = 0; i < GXT_COUNT(silencers); i++)
        unsetenv(silencers[i]);
    memcpy(args + 2, devices, count * sizeof *devices);
    dup2(output, STDOUT_FILENO);
    dup2(output, STDERR_FILENO);
    execv(program, (char **)(uintptr_t)args);
    _exit(127);
}

static void prints_nothing(void **state)
{
    (void)state;
    const char *devices[DEVICES_MAX];
    char said[4096];
    size_t count = gxt_webgpu(devices), length = 0;
    int ends[2], status;
    if (gxt_vulkan())
        devices[count++] = gxt_vulkan();
    assert_int_equal(pipe(ends), 0);
    pid_t child = fork();
    assert_true(child >= 0);
    if (!child)
        become_program(devices, count, ends[1]);
    close(ends[1]);
    for (ssize_t n = 1; n > 0 && length<sizeof said - 1; length += n> 0 ? (size_t)n : 0)
        n = read(ends[0], said + length, sizeof said - 1 - length);
    said[length] = 0;
    close(ends[0]);
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_string_equal(said, "");
    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), 0);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(prints_nothing)};
    program = argv[0];
    if (argc > 1 && !strcmp(argv[1], AS_CHILD)) {
        int status = use(argv + 2);
        fflush(NULL);
        _exit(status); /* what drivers leave behind is not tested here */
    }
    return cmocka_run_group_tests_name("quiet", tests, NULL, NULL);
}
