/* SPDX-License-Identifier: Apache-2.0
 *
 * Work in a new process (child.h).
 */
#include "child.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cli.h"
#include "progress.h"

static bool send_all(int to, const char *data, size_t bytes)
{
    while (bytes) {
        ssize_t sent = write(to, data, bytes);
        if (sent <= 0)
            return false;
        data += sent;
        bytes -= (size_t)sent;
    }
    return true;
}

static bool receive_all(int from, char *data, size_t bytes)
{
    while (bytes) {
        ssize_t got = read(from, data, bytes);
        if (got <= 0)
            return false;
        data += got;
        bytes -= (size_t)got;
    }
    return true;
}

bool child_exists(void)
{
    return true;
}

int child_run(int (*work)(const void *argument, void *result), const void *argument, void *result,
              size_t bytes)
{
    int ends[2], status;
    progress_hide();
    fflush(NULL);
    if (pipe(ends)) {
        cli_error("cannot create a pipe");
        return EXIT_FAILED;
    }
    pid_t child = fork();
    if (!child) {
        int rc = work(argument, result);
        _exit(send_all(ends[1], result, bytes) ? rc : EXIT_FAILED);
    }
    close(ends[1]);
    bool told = child > 0 && receive_all(ends[0], result, bytes);
    close(ends[0]);
    bool ended = child > 0 && waitpid(child, &status, 0) == child && WIFEXITED(status);
    if (ended && WEXITSTATUS(status) != EXIT_DONE)
        return WEXITSTATUS(status);
    if (told && ended)
        return EXIT_DONE;
    cli_error("the process that opens the device exited early");
    return EXIT_FAILED;
}

bool child_folder(char *path, size_t size, const char *name)
{
    const char *place = gx__os_env("TMPDIR");
    snprintf(path, size, "%s/%s-XXXXXX", place && *place ? place : "/tmp", name);
    return mkdtemp(path) != NULL;
}

bool child_remove_folder(const char *path)
{
    return !rmdir(path);
}

void child_set_env(const char *name, const char *value)
{
    setenv(name, value, 1);
}
