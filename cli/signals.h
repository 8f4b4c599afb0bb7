/* SPDX-License-Identifier: Apache-2.0
 *
 * Ending by Ctrl-C or kill: as an event that is waited for, for commands that run until told
 * otherwise (threads started after signals_hold never see these signals), or as something to
 * look at between two steps, for those that end by themselves.
 */
#ifndef SIGNALS_H
#define SIGNALS_H

#include <signal.h>
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

/* From here on SIGINT and SIGTERM set signals_caught, which is 0 at first, and nothing else; a
 * second one ends the program. */
void signals_catch(void);
/* They do what they did before; signals_caught stays. */
void signals_release(void);
extern volatile sig_atomic_t signals_caught;

#endif
