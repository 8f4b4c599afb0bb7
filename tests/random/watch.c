/* SPDX-License-Identifier: Apache-2.0
 *
 * See watch.h. Nothing here depends on how fast or busy the machine is: processor time is counted,
 * and a thread that waits for a core is not asleep.
 */
#include "random/watch.h"

#include <dirent.h>
#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "support/harness.h"

enum { CPU_SECONDS = 120, ASLEEP_SECONDS = 240, PER_SECOND = 50 };

struct rnd_board *rnd_board_new(void)
{
    void *memory = mmap(NULL, sizeof(struct rnd_board), PROT_READ | PROT_WRITE,
                        MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    return memory == MAP_FAILED ? NULL : memory;
}

void rnd_allow(unsigned seconds)
{
    struct rusage used;
    struct rlimit limit;
    getrusage(RUSAGE_SELF, &used);
    getrlimit(RLIMIT_CPU, &limit);
    limit.rlim_cur = (rlim_t)(used.ru_utime.tv_sec + used.ru_stime.tv_sec) + seconds + 1;
    setrlimit(RLIMIT_CPU, &limit);
}

static _Noreturn void be_child(rnd_work work, void *user, struct rnd_board *board, int quiet)
{
    int null;
    struct rlimit no_core = {0, 0};
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (quiet && (null = open("/dev/null", O_WRONLY)) >= 0) {
        dup2(null, STDOUT_FILENO);
        dup2(null, STDERR_FILENO);
    }
    setrlimit(RLIMIT_CORE, &no_core);
    rnd_allow(CPU_SECONDS);
    work(user, board);
    _exit(0);
}

/* The state of a thread and the time that it has run; 0 if it is gone. */
static int read_thread(pid_t child, const char *thread, uint64_t *ticks)
{
    char path[300], state;
    uint64_t user, system;
    snprintf(path, sizeof path, "/proc/%d/task/%s/stat", (int)child, thread);
    FILE *file = fopen(path, "r");
    if (!file)
        return 0;
    int read =
        fscanf(file, "%*d (%*[^)]) %c %*d %*d %*d %*d %*d %*u %*u %*u %*u %*u %" SCNu64 " %" SCNu64,
               &state, &user, &system);
    fclose(file);
    if (read != 3)
        return 0;
    *ticks += user + system;
    return state;
}

/* Whether all its threads are asleep, and what they have run in all. */
static int is_asleep(pid_t child, uint64_t *ticks)
{
    char path[64];
    int asleep = 1;
    *ticks = 0;
    snprintf(path, sizeof path, "/proc/%d/task", (int)child);
    DIR *folder = opendir(path);
    if (!folder)
        return 0;
    for (const struct dirent *entry; (entry = readdir(folder));)
        if (entry->d_name[0] != '.' && read_thread(child, entry->d_name, ticks) != 'S')
            asleep = 0;
    closedir(folder);
    return asleep;
}

/* Waits for the child; ends it if nothing in it has moved for minutes. */
static int wait_for(pid_t child, int *status)
{
    uint64_t last = 0, ticks;
    for (unsigned still = 0;; still++) {
        pid_t done = waitpid(child, status, WNOHANG);
        if (done != 0)
            return done == child;
        usleep(still < PER_SECOND ? 1000 : 1000000 / PER_SECOND);
        if (still % PER_SECOND)
            continue;
        if (!is_asleep(child, &ticks) || ticks != last)
            still = 0;
        last = ticks;
        if (still >= ASLEEP_SECONDS * PER_SECOND)
            kill(child, SIGKILL);
    }
}

enum rnd_failure rnd_watch(rnd_work work, void *user, struct rnd_board *board, int quiet)
{
    int status = 0;
    board->failure = FAIL_NOTHING;
    board->message[0] = 0;
    fflush(NULL);
    pid_t child = fork();
    if (child == 0)
        be_child(work, user, board, quiet);
    if (child < 0 || !wait_for(child, &status)) {
        snprintf(board->message, sizeof board->message, "no child could be started");
        return FAIL_CRASH;
    }
    if (WIFEXITED(status) && WEXITSTATUS(status) == 0)
        return FAIL_NOTHING;
    if (WIFEXITED(status) && WEXITSTATUS(status) == RND_EXIT_FAILED && board->failure)
        return board->failure;
    if (WIFSIGNALED(status) && (WTERMSIG(status) == SIGXCPU || WTERMSIG(status) == SIGKILL)) {
        snprintf(board->message, sizeof board->message,
                 WTERMSIG(status) == SIGXCPU ? "it does not end" : "all threads sleep");
        return FAIL_HANG;
    }
    snprintf(board->message, sizeof board->message, "ended by %s %d",
             WIFSIGNALED(status) ? "signal" : "exit code",
             WIFSIGNALED(status) ? WTERMSIG(status) : WEXITSTATUS(status));
    return FAIL_CRASH;
}

static void run_one(void *user, struct rnd_board *board)
{
    gxt_enter_machines();
    rnd_run(user, board);
}

enum rnd_failure rnd_try(const struct rnd_program *program, struct rnd_board *board, int quiet)
{
    return rnd_watch(run_one, (void *)(uintptr_t)program, board, quiet);
}
