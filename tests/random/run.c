/* SPDX-License-Identifier: Apache-2.0
 *
 * Runs a program: all contexts at once, each on its own thread, with further threads as its calls
 * want them.
 */
#include <stdarg.h>
#include <stdlib.h>
#include <unistd.h>

#include "random/run.h"

static struct rnd_board *the_board;

const char *rnd_failure_name(enum rnd_failure failure)
{
    static const char *const names[FAIL_END] = {"nothing", "status", "bytes", "index",
                                                "leak",    "crash",  "hang"};
    return names[failure];
}

void rnd_fail(enum rnd_failure failure, const char *format, ...)
{
    static pthread_mutex_t once = PTHREAD_MUTEX_INITIALIZER;
    va_list arguments;
    pthread_mutex_lock(&once); /* for good */
    va_start(arguments, format);
    vsnprintf(the_board->message, sizeof the_board->message, format, arguments);
    va_end(arguments);
    the_board->failure = failure;
    _exit(RND_EXIT_FAILED);
}

struct part {
    struct rnd_open *open;
    uint64_t thread;
};

static void *run_part(void *argument)
{
    const struct part *part = argument;
    rnd_run_calls(part->open, part->thread);
    return NULL;
}

static void run_threads(struct rnd_open *open)
{
    enum { THREADS = 4 };
    pthread_t threads[THREADS];
    struct part part[THREADS];
    int wanted[THREADS] = {0};
    for (unsigned i = 0; i < open->spec->ncalls; i++)
        wanted[open->spec->call[i].thread] = 1;
    for (unsigned i = 1; i < THREADS; i++) {
        part[i] = (struct part){open, i};
        if (wanted[i] && pthread_create(&threads[i], NULL, run_part, &part[i]) != 0)
            abort();
    }
    rnd_run_calls(open, 0);
    for (unsigned i = 1; i < THREADS; i++)
        if (wanted[i])
            pthread_join(threads[i], NULL);
}

static void *run_context(void *argument)
{
    run_threads(argument);
    return NULL;
}

void rnd_run(const struct rnd_program *program, struct rnd_board *board)
{
    struct rnd_open open[RND_CONTEXTS];
    pthread_t threads[RND_CONTEXTS];
    the_board = board;
    for (unsigned i = 0; i < program->ncontexts; i++)
        rnd_open(&open[i], &program->context[i], board);
    for (unsigned i = 1; i < program->ncontexts; i++)
        if (pthread_create(&threads[i], NULL, run_context, &open[i]) != 0)
            abort();
    run_threads(&open[0]);
    for (unsigned i = 1; i < program->ncontexts; i++)
        pthread_join(threads[i], NULL);
    for (unsigned i = 0; i < program->ncontexts; i++)
        rnd_close(&open[i]);
    board->programs++;
}
