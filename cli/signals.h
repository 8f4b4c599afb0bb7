/* SPDX-License-Identifier: Apache-2.0
 *
 * Termination by Ctrl-C or kill. Commands that run until stopped wait for it as an event (threads
 * started after signals_hold never see these signals); commands that end by themselves check for it
 * between steps.
 */
#ifndef SIGNALS_H
#define SIGNALS_H

#include <signal.h>
#include <stdbool.h>
#include <stdint.h>

typedef enum signal_event {
    SIGNAL_NONE,     /* timeout */
    SIGNAL_END,      /* SIGINT, SIGTERM or SIGHUP */
    SIGNAL_STOP,     /* SIGTSTP: Ctrl-Z; call signals_stop */
    SIGNAL_CONTINUE, /* SIGCONT: resumed after a stop */
    SIGNAL_RESIZE,   /* SIGWINCH */
    SIGNAL_INPUT     /* standard input is readable */
} signal_event;

/* Call before starting any thread. */
void signals_hold(void);

/* Waits for the next event; `input`: includes standard input. */
signal_event signals_wait(uint64_t timeout_ns, bool input);

/* Stops the process as SIGTSTP does, until it is continued; does nothing if there is no shell that
 * could continue it. */
void signals_stop(void);

/* From now on SIGINT and SIGTERM only set signals_caught, which is 0 at first; a second signal ends
 * the program. */
void signals_catch(void);
/* Restores the previous handlers; signals_caught keeps its value. */
void signals_release(void);
extern volatile sig_atomic_t signals_caught;

#endif
