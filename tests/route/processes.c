/* SPDX-License-Identifier: Apache-2.0
 *
 * Processes that share a cache directory: each opens a context, learns, runs jobs and closes it,
 * over and over, and some are killed at random. Models, tuning and compiled kernels are all kept
 * there: a file is never torn, whoever is left reads it, and results are right. The argument is a
 * device; without one it is simulated. This process itself uses none, because some drivers do not
 * survive a fork.
 */
#include <dirent.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "api/context.h"
#include "support/harness.h"
#include "support/oracle.h"

enum { N = 3000, PROCESSES = 4, KILLS = 24, ROUNDS = 3 };

static const gx_field field = GX_BN254_FR;
static const gx_op op = GX_MUL;
static char folder[] = "/tmp/gx-processes-XXXXXX";
static unsigned char a[N * 32], b[N * 32], want[N * 32];
static uint64_t rng = 11;
static const char *device;

/* ---- a process ---- */

/* Returns 0 if all went well. *known: what the context knew before it learned anything. */
static int one_round(size_t *known)
{
    static unsigned char out[N * 32];
    char list[128];
    gx_ctx *ctx = NULL;
    gx_calibrate_params settings = {
        .ops = &op, .op_count = 1, .fields = &field, .field_count = 1, .max_elems = N};
    snprintf(list, sizeof list, "cpu,%s", device);
    gx_config config = {.device = list, .threads = 1, .cache_dir = folder};
    gx_job job = gxt_job(op, field, N, a, b, NULL, out);
    int failed = gx_open(&config, &ctx) != GX_OK || gx__model(ctx, NULL, known) != GX_OK ||
                 gx_calibrate(ctx, &settings) != GX_OK;
    for (int named = 0; named < 2 && !failed; named++) {
        memset(out, 0, sizeof out);
        failed = gxt_run(ctx, &job, named ? device : NULL, NULL) != GX_OK ||
                 memcmp(out, want, sizeof out) != 0;
    }
    if (failed)
        fprintf(stderr, "%s: %s\n", device, gx_last_message());
    gx_close(&ctx);
    return failed;
}

static pid_t start(int rounds)
{
    fflush(NULL);
    pid_t child = fork();
    assert_true(child >= 0);
    if (child)
        return child;
    int failed = 0;
    for (int i = 0; i < rounds && !failed; i++) {
        size_t known = 0;
        failed = one_round(&known);
    }
    _exit(failed);
}

static void expect_success(pid_t child)
{
    int status;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 0);
}

/* ---- the files ---- */

/* As base/cache.c writes them. */
struct header {
    char magic[8];
    uint32_t header_bytes, reserved;
    uint64_t data_bytes, checksum;
    uint8_t key[64];
};

static uint64_t sum_up(uint64_t sum, const unsigned char *bytes, size_t size)
{
    for (size_t i = 0; i < size; i += 8) {
        uint64_t word = 0;
        memcpy(&word, bytes + i, size - i < 8 ? size - i : 8);
        sum = (sum ^ word) * 0x100000001b3u;
        sum ^= sum >> 32;
    }
    return sum;
}

/* Whether its bytes are those that somebody wrote, all of them. */
static int is_whole(const unsigned char *file, size_t size)
{
    struct header h;
    if (size < sizeof h)
        return 0;
    memcpy(&h, file, sizeof h);
    uint64_t wanted = h.checksum;
    h.checksum = 0;
    uint64_t sum = sum_up(0xcbf29ce484222325u, (const unsigned char *)&h, sizeof h);
    return !memcmp(h.magic, "gpuexec1", 8) && h.header_bytes == sizeof h &&
           h.data_bytes == size - sizeof h &&
           sum_up(sum, file + sizeof h, size - sizeof h) == wanted;
}

/* "NAME.PROCESS.NUMBER": not a file yet, and not one of a process that was killed. */
static int is_temporary(const char *name)
{
    const char *dot = strrchr(name, '.');
    return dot && dot[1] && !dot[1 + strspn(dot + 1, "0123456789")];
}

static void check_file(int dir, const char *name)
{
    struct stat s;
    int fd = openat(dir, name, O_RDONLY);
    assert_true(fd >= 0); /* replaced, but never missing */
    assert_int_equal(fstat(fd, &s), 0);
    unsigned char *bytes = gxt_alloc((size_t)s.st_size + 1);
    ssize_t got = pread(fd, bytes, (size_t)s.st_size + 1, 0);
    if (got != s.st_size || !is_whole(bytes, (size_t)got))
        fail_msg("%s is torn: %zd of %lld bytes", name, got, (long long)s.st_size);
    free(bytes);
    close(fd);
}

/* Returns how many there are. */
static size_t check_files(void)
{
    size_t count = 0;
    DIR *dir = opendir(folder);
    assert_non_null(dir);
    for (struct dirent *e; (e = readdir(dir));)
        if (e->d_name[0] != '.' && !is_temporary(e->d_name)) {
            check_file(dirfd(dir), e->d_name);
            count++;
        }
    closedir(dir);
    return count;
}

static void empty_folder(void)
{
    DIR *dir = opendir(folder);
    assert_non_null(dir);
    for (struct dirent *e; (e = readdir(dir));)
        if (e->d_name[0] != '.')
            assert_int_equal(unlinkat(dirfd(dir), e->d_name, 0), 0);
    closedir(dir);
}

/* ---- killing ---- */

static uint64_t now_ns(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

/* As long as some part of what a process takes: any moment of it may be the last. */
static void wait_part_of(uint64_t ns)
{
    uint64_t part = gxt_next(&rng) % (ns / (PROCESSES / 2) + 1);
    struct timespec t = {(time_t)(part / 1000000000u), (long)(part % 1000000000u)};
    nanosleep(&t, NULL);
}

static void kill_one(pid_t *child)
{
    int status;
    assert_int_equal(kill(*child, SIGKILL), 0);
    assert_int_equal(waitpid(*child, &status, 0), *child);
    assert_true(WIFSIGNALED(status) || (WIFEXITED(status) && WEXITSTATUS(status) == 0));
    *child = start(ROUNDS);
}

/* The first one is alone, and says how long it takes. */
static uint64_t run_alone(void)
{
    uint64_t from = now_ns();
    expect_success(start(1));
    return now_ns() - from;
}

/* A process that reads what the others left. */
static void expect_known(void)
{
    pid_t child = fork();
    assert_true(child >= 0);
    if (!child) {
        size_t known = 0;
        int failed = one_round(&known);
        _exit(failed || !known);
    }
    expect_success(child);
}

static void processes_share_a_folder(void **state)
{
    (void)state;
    pid_t children[PROCESSES];
    uint64_t alone = run_alone();
    size_t files = check_files(), kills = gxt_small() ? KILLS / 3 : KILLS;
    assert_true(files >= 2); /* the model of each device */
    for (int i = 0; i < PROCESSES; i++)
        children[i] = start(ROUNDS);
    for (size_t i = 0; i < kills; i++) {
        wait_part_of(alone);
        kill_one(&children[gxt_next(&rng) % PROCESSES]);
        assert_true(check_files() >= files);
    }
    for (int i = 0; i < PROCESSES; i++)
        expect_success(children[i]);
    assert_true(check_files() >= files);
    expect_known();
}

static int set_up(void **state)
{
    (void)state;
    gxt_clear_environment();
    gxt_enter_machines();
    struct oracle_rng random = {5};
    oracle_fill(field, &random, a, N);
    oracle_fill(field, &random, b, N);
    oracle_run(op, field, N, want, a, b, NULL, 0);
    return mkdtemp(folder) ? 0 : -1;
}

static int tear_down(void **state)
{
    (void)state;
    empty_folder();
    return rmdir(folder);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(processes_share_a_folder)};
    device = argc > 1 ? argv[1] : "sim:desktop";
    return cmocka_run_group_tests_name("processes", tests, set_up, tear_down);
}
