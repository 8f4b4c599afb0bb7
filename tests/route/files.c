/* SPDX-License-Identifier: Apache-2.0
 *
 * The files of the model: two processes that calibrate at once leave what a third reads;
 * files that are broken, cut short or of another device only mean that nothing is known;
 * a folder that cannot be written does no harm.
 */
#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "api/context.h"
#include "support/harness.h"

enum { N = 4096, PROCESSES = 2, ROUNDS = 4 };

static const char devices[] = "sim:cpu-8-cores,sim:desktop";
static const gx_field field = GX_BN254_FR;
static const gx_op op = GX_MUL;
static char folder[] = "/tmp/gx-files-XXXXXX";

static int set_up(void **state)
{
    (void)state;
    gxt_clear_environment();
    gxt_enter_machines();
    return mkdtemp(folder) ? 0 : -1;
}

static int tear_down(void **state)
{
    (void)state;
    char command[64];
    snprintf(command, sizeof command, "rm -r %s", folder);
    return system(command);
}

static gx_ctx *open_in(const char *list, const char *cache_dir)
{
    gx_config config = {.device = list, .threads = 1, .cache_dir = cache_dir};
    return gxt_open(&config);
}

static gx_status calibrate(gx_ctx *ctx)
{
    gx_calibrate_params settings = {
        .ops = &op, .op_count = 1, .fields = &field, .field_count = 1, .max_elems = N};
    return gx_calibrate(ctx, &settings);
}

/* Why a job went where it did: by what is known, or not. */
static gx_reason reason(gx_ctx *ctx)
{
    static unsigned char x[N * 32], out[N * 32];
    uint64_t seed = 2;
    gx_report r = {.struct_size = sizeof r};
    gxt_fill(&seed, field, x, N);
    gx_job job = gxt_job(op, field, N, x, x, NULL, out);
    assert_int_equal(gxt_run(ctx, &job, NULL, &r), GX_OK);
    return r.reason;
}

static gx_reason reason_in(const char *list, const char *cache_dir)
{
    gx_ctx *ctx = open_in(list, cache_dir);
    gx_reason why = reason(ctx);
    gx_close(&ctx);
    return why;
}

static size_t rows(gx_ctx *ctx)
{
    size_t count = 0;
    assert_int_equal(gx__model(ctx, NULL, &count), GX_OK);
    return count;
}

/* ---- no environment ---- */

static void no_files_without_the_environment(void **state)
{
    (void)state;
    char cache[64], path[128];
    snprintf(cache, sizeof cache, "%s/xdg", folder);
    snprintf(path, sizeof path, "%s/gpuexec", cache);
    const char *before = getenv("XDG_CACHE_HOME");
    char *kept = before ? strdup(before) : NULL;
    assert_int_equal(setenv("XDG_CACHE_HOME", cache, 1), 0);
    for (uint32_t ignore = 1; ignore <= 1; ignore--) { /* 1, and then 0 */
        gx_config config = {.device = devices, .threads = 1, .ignore_environment = ignore};
        gx_ctx *ctx = gxt_open(&config);
        assert_int_equal(calibrate(ctx), GX_OK);
        gx_close(&ctx);
        assert_int_equal(access(path, F_OK) == 0, !ignore);
    }
    if (kept)
        setenv("XDG_CACHE_HOME", kept, 1);
    else
        unsetenv("XDG_CACHE_HOME");
    free(kept);
}

/* ---- the folder ---- */

/* Does it to every file there; returns how many. */
static size_t for_files(int (*act)(int dir, const char *name))
{
    size_t count = 0;
    DIR *dir = opendir(folder);
    assert_non_null(dir);
    for (struct dirent *entry; (entry = readdir(dir));)
        if (entry->d_name[0] != '.') {
            assert_int_equal(act(dirfd(dir), entry->d_name), 0);
            count++;
        }
    closedir(dir);
    return count;
}

static int delete (int dir, const char *name)
{
    return unlinkat(dir, name, 0);
}

static int look(int dir, const char *name)
{
    (void)dir;
    (void)name;
    return 0;
}

static unsigned damage; /* which of these */

static int spoil(int dir, const char *name)
{
    struct stat s;
    unsigned char byte;
    int fd = openat(dir, name, O_RDWR);
    if (fd < 0 || fstat(fd, &s))
        return -1;
    off_t at = s.st_size * (off_t)(damage % 8) / 8;
    int failed = 0;
    if (damage < 8)
        failed = pread(fd, &byte, 1, at) != 1 || (byte ^= 0x40, pwrite(fd, &byte, 1, at) != 1);
    else
        failed = ftruncate(fd, at);
    close(fd);
    return failed;
}

/* ---- several processes ---- */

/* Before this process has a context with threads, which would not survive a fork. */
static pid_t calibrate_elsewhere(void)
{
    pid_t child = fork();
    assert_true(child >= 0);
    if (child)
        return child;
    gx_ctx *ctx = NULL;
    gx_config config = {.device = devices, .threads = 1, .cache_dir = folder};
    int failed = gx_open(&config, &ctx) != GX_OK;
    for (int i = 0; !failed && i < ROUNDS; i++)
        failed = calibrate(ctx) != GX_OK;
    gx_close(&ctx);
    _exit(failed);
}

static void two_processes_at_once(void **state)
{
    (void)state;
    pid_t children[PROCESSES];
    for (int i = 0; i < PROCESSES; i++)
        children[i] = calibrate_elsewhere();
    for (int i = 0; i < PROCESSES; i++) {
        int status;
        assert_int_equal(waitpid(children[i], &status, 0), children[i]);
        assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 0);
    }
    assert_int_equal(for_files(look), 2); /* one for each device, and nothing half done */
    gx_ctx *ctx = open_in(devices, folder);
    gx_reason why = reason(ctx);
    assert_true(why == GX_REASON_FASTEST || why == GX_REASON_SPLIT);
    assert_true(rows(ctx) >= 2 * 4);
    gx_close(&ctx);
}

/* ---- what is in the file ---- */

static void broken_files(void **state)
{
    (void)state;
    for (damage = 0; damage < 16; damage++) {
        for_files(delete);
        gx_ctx *ctx = open_in(devices, folder);
        assert_int_equal(calibrate(ctx), GX_OK);
        gx_close(&ctx);
        assert_int_equal(for_files(spoil), 2);
        assert_int_equal(reason_in(devices, folder), GX_REASON_DEFAULT);
    }
}

static void what_was_learned_is_kept(void **state)
{
    (void)state;
    for_files(delete);
    gx_ctx *ctx = open_in(devices, folder);
    for (int i = 0; i < 40; i++)
        reason(ctx);
    size_t known = rows(ctx);
    assert_true(known > 0);
    gx_close(&ctx);
    ctx = open_in(devices, folder);
    reason(ctx);
    assert_true(rows(ctx) >= known);
    gx_close(&ctx);
}

/* The file of one device says nothing of another, nor with another number of threads. */
static void foreign_files(void **state)
{
    (void)state;
    for_files(delete);
    gx_ctx *ctx = open_in(devices, folder);
    assert_int_equal(calibrate(ctx), GX_OK);
    gx_close(&ctx);
    assert_int_equal(reason_in("sim:cpu-2-cores,sim:laptop-integrated", folder), GX_REASON_DEFAULT);
    gx_config config = {.device = devices, .threads = 2, .cache_dir = folder};
    ctx = gxt_open(&config);
    assert_int_equal(reason(ctx), GX_REASON_DEFAULT);
    gx_close(&ctx);
    gx_reason why = reason_in(devices, folder);
    assert_true(why == GX_REASON_FASTEST || why == GX_REASON_SPLIT);
}

static void no_folder(void **state)
{
    (void)state;
    static const char *const dirs[] = {"none", "/dev/null/nothing"};
    for (size_t i = 0; i < GXT_COUNT(dirs); i++) {
        gx_ctx *ctx = open_in(devices, dirs[i]);
        assert_int_equal(reason(ctx), GX_REASON_DEFAULT);
        assert_int_equal(calibrate(ctx), i ? GX_ERR_FILE : GX_OK);
        assert_int_not_equal(reason(ctx), GX_REASON_DEFAULT); /* known, if not saved */
        gx_close(&ctx);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(two_processes_at_once),
        cmocka_unit_test(broken_files),
        cmocka_unit_test(what_was_learned_is_kept),
        cmocka_unit_test(foreign_files),
        cmocka_unit_test(no_folder),
        cmocka_unit_test(no_files_without_the_environment),
    };
    return cmocka_run_group_tests_name("route-files", tests, set_up, tear_down);
}
