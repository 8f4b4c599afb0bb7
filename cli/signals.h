/* SPDX-License-Identifier: Apache-2.0
 *
 * Ending by Ctrl-C or kill as an event that is waited for, for commands that run until told
 * otherwise. Threads started after signals_hold never see these signals.
 */
#ifndef SIGNALS_H
#define SIGNALS_H

#include <stdbool.h>
#include <stdint.h>

typedef enum signal_event {
    SIGNAL_NONE,     /* the time is over */
    SIGNAL_END,      /* SIGINT, SIGTERM or SIGHUP */
    SIGNAL_STOP,     /* SIGTSTP: Ctrl-Z; signals_stop does it */
    SIGNAL_CONTINUE, /* SIGCONT: it was stopped */
    SIGNAL_RESIZE,   /* SIGWINCH */
    SIGNAL_INPUT     /* something can be read from standard input */
} signal_event;

/* Before any thread is started. */
void signals_hold(void);

/* The next event; `input`: also look at standard input. UINT64_MAX: waits forever. */
signal_event signals_wait(uint64_t timeout_ns, bool input);

/* Stops the process as SIGTSTP does: until it is continued, or not at all where no shell is
 * there to do that. */
void signals_stop(void);

#endif
