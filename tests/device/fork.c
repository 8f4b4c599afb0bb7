/* SPDX-License-Identifier: Apache-2.0
 *
 * A child process opens its own context, while its parent has one open and afterwards: devices work
 * there, and the one that cannot, OpenGL, says so and does not hang.
 */
#include <stdbool.h>
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>

#include "support/harness.h"

enum { N = 64, LIMIT_S = 300, WORKS = 0, REFUSED = 1, FAILS = 2 };

static char said[200];

static void remember(void *user, gx_log_level level, const char *message)
{
    (void)user;
    if (level == GX_LOG_ERROR)
        snprintf(said, sizeof said, "%s", message);
}

static gx_ctx *open_logged(void)
{
    gx_config config = {.cache_dir = "none", .log = remember};
    gx_ctx *ctx = NULL;
    gx_open(&config, &ctx);
    return ctx;
}

static int use(gx_ctx *ctx, const char *device)
{
    uint32_t a[N], out[N];
    gx_run_params opts = {.device = device};
    for (uint32_t i = 0; i < N; i++)
        a[i] = i;
    gx_job job = gxt_job(GX_ADD, GX_U32, N, a, a, NULL, out);
    gx_status s = ctx ? gx_run(ctx, &job, 1, &opts, NULL) : GX_ERR_OUT_OF_MEMORY;
    if (s == GX_ERR_NO_DEVICE && strstr(said, "fork"))
        return REFUSED;
    return s == GX_OK && out[N - 1] == 2 * (N - 1) ? WORKS : FAILS;
}

/* Outcome of the device in a child; -1: it did not end. */
static int in_child(const char *device)
{
    int status;
    pid_t child = fork();
    assert_true(child >= 0);
    if (!child) {
        alarm(LIMIT_S); /* never reached */
        gx_ctx *ctx = open_logged();
        int result = use(ctx, device);
        gx_close(&ctx);
        _exit(result);
    }
    assert_int_equal(waitpid(child, &status, 0), child);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

static void each_in_a_child(void **state)
{
    (void)state;
    const char *devices[GXT_WEBGPU + 2];
    size_t count = gxt_webgpu(devices);
    if (gxt_vulkan())
        devices[count++] = gxt_vulkan();
    devices[count++] = "cpu";
    for (size_t i = 0; i < count; i++) {
        gx_ctx *ctx = open_logged();
        for (size_t k = 0; k < count; k++)
            assert_int_equal(use(ctx, devices[k]), WORKS);
        bool gl = !strncmp(devices[i], "webgpu:gl", 9);
        assert_int_equal(in_child(devices[i]), gl ? REFUSED : WORKS);
        assert_int_equal(use(ctx, devices[i]), WORKS); /* and the parent is not affected */
        gx_close(&ctx);
        assert_int_equal(in_child(devices[i]), WORKS);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(each_in_a_child)};
    gxt_clear_environment();
    return cmocka_run_group_tests_name("fork", tests, NULL, NULL);
}
