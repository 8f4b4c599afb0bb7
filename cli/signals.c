/* SPDX-License-Identifier: Apache-2.0
 *
 * Signals as events (signals.h). They are blocked in every thread and read from a descriptor, so
 * that no handler runs and no signal is lost between checking and waiting.
 */
#include "signals.h"

#include <poll.h>
#include <stddef.h>
#include <sys/signalfd.h>
#include <unistd.h>

/* ---- events ---- */

static int descriptor = -1;

void signals_hold(void)
{
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, SIGINT);
    sigaddset(&set, SIGTERM);
    sigaddset(&set, SIGHUP);
    sigaddset(&set, SIGTSTP);
    sigaddset(&set, SIGCONT);
    sigaddset(&set, SIGWINCH);
    descriptor = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
    if (descriptor >= 0) /* otherwise they keep their default action */
        sigprocmask(SIG_BLOCK, &set, NULL);
}

static signal_event next_signal(void)
{
    struct signalfd_siginfo info;
    if (read(descriptor, &info, sizeof info) != sizeof info)
        return SIGNAL_NONE;
    switch (info.ssi_signo) {
    case SIGTSTP:
        return SIGNAL_STOP;
    case SIGCONT:
        return SIGNAL_CONTINUE;
    case SIGWINCH:
        return SIGNAL_RESIZE;
    default:
        return SIGNAL_END;
    }
}

signal_event signals_wait(uint64_t timeout_ns, bool input)
{
    struct pollfd fds[] = {{.fd = descriptor, .events = POLLIN},
                           {.fd = input ? STDIN_FILENO : -1, .events = POLLIN}};
    struct timespec timeout = {.tv_sec = (time_t)(timeout_ns / 1000000000u),
                               .tv_nsec = (long)(timeout_ns % 1000000000u)};
    if (ppoll(fds, 2, timeout_ns == UINT64_MAX ? NULL : &timeout, NULL) <= 0)
        return SIGNAL_NONE;
    return fds[0].revents ? next_signal() : SIGNAL_INPUT;
}

void signals_stop(void)
{
    sigset_t stop;
    sigemptyset(&stop);
    sigaddset(&stop, SIGTSTP);
    raise(SIGTSTP); /* waits for: */
    sigprocmask(SIG_UNBLOCK, &stop, NULL);
    sigprocmask(SIG_BLOCK, &stop, NULL);
}

/* ---- between steps ---- */

volatile sig_atomic_t signals_caught;

static struct sigaction before[2]; /* of SIGINT and SIGTERM */

static void on_signal(int signal)
{
    (void)signal;
    signals_caught = 1;
}

void signals_catch(void)
{
    struct sigaction catch = {.sa_handler = on_signal, .sa_flags = (int)SA_RESETHAND};
    signals_caught = 0;
    sigaction(SIGINT, &catch, &before[0]);
    sigaction(SIGTERM, &catch, &before[1]);
}

void signals_release(void)
{
    sigaction(SIGINT, &before[0], NULL);
    sigaction(SIGTERM, &before[1], NULL);
}
