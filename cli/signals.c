/* SPDX-License-Identifier: Apache-2.0
 *
 * Signals as events (signals.h): blocked everywhere, let through inside pselect alone, so that
 * none comes between looking and waiting.
 */
#include "signals.h"

#include <signal.h>
#include <stddef.h>
#include <sys/select.h>
#include <unistd.h>

static const int handled[] = {SIGINT, SIGTERM, SIGHUP, SIGTSTP, SIGWINCH};
static const signal_event events[] = {SIGNAL_END, SIGNAL_END, SIGNAL_END, SIGNAL_STOP,
                                      SIGNAL_RESIZE};

static volatile sig_atomic_t seen[sizeof handled / sizeof *handled];
static sigset_t outside; /* what was blocked before */

static void note(int signal)
{
    for (size_t i = 0; i < sizeof handled / sizeof *handled; i++)
        if (handled[i] == signal)
            seen[i] = 1;
}

void signals_hold(void)
{
    sigset_t set;
    struct sigaction action = {.sa_handler = note};
    sigemptyset(&set);
    for (size_t i = 0; i < sizeof handled / sizeof *handled; i++)
        sigaddset(&set, handled[i]);
    sigprocmask(SIG_BLOCK, &set, &outside);
    for (size_t i = 0; i < sizeof handled / sizeof *handled; i++) {
        sigdelset(&outside, handled[i]);
        sigaction(handled[i], &action, NULL);
    }
}

static signal_event take(void)
{
    for (size_t i = 0; i < sizeof handled / sizeof *handled; i++) {
        if (!seen[i])
            continue;
        seen[i] = 0;
        return events[i];
    }
    return SIGNAL_NONE;
}

signal_event signals_wait(uint64_t timeout_ns, bool input)
{
    signal_event event = take();
    if (event != SIGNAL_NONE)
        return event;
    struct timespec timeout = {.tv_sec = (time_t)(timeout_ns / 1000000000u),
                               .tv_nsec = (long)(timeout_ns % 1000000000u)};
    fd_set in;
    FD_ZERO(&in);
    if (input)
        FD_SET(STDIN_FILENO, &in);
    int ready = pselect(input ? STDIN_FILENO + 1 : 0, &in, NULL, NULL,
                        timeout_ns == UINT64_MAX ? NULL : &timeout, &outside);
    return ready > 0 ? SIGNAL_INPUT : take();
}
