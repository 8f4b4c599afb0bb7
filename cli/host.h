/* SPDX-License-Identifier: Apache-2.0
 *
 * What differs between operating systems in the program alone; host_posix.c and host_windows.c have
 * signals.h too. What the library needs as well is in base/os.h.
 */
#ifndef HOST_H
#define HOST_H

#include <stdbool.h>
#include <stddef.h>

#include "base/os.h"

/* At the start: standard input and output are binary and open, arguments and messages are UTF-8,
 * and a closed pipe is a failed write. Returns the arguments. */
char **host_begin(int *argc, char **argv);

/* Frequency of the fastest core now; 0 if unknown. */
double host_cpu_mhz(void);

/* ---- the terminal ---- */

bool host_is_terminal(int fd);
/* A terminal that can colour text and move its cursor. */
bool host_is_screen(int fd);
/* Whether the terminal shows UTF-8. */
bool host_is_utf8(void);
/* False if unknown. */
bool host_terminal_size(int fd, int *columns, int *lines);

/* Whether standard input can be read key by key, which host_keys turns on and off. */
bool host_has_keys(void);
bool host_keys(bool on);
/* The next key that was pressed, 0 for others; -1: there will be none. */
int host_key(void);

/* ---- files ---- */

/* A duplicate, not inherited. */
int host_dup(int fd);
/* What a failed write means: EPIPE if the reader went away. */
int host_write_error(int fd, int error);
bool host_sync(int fd);
bool host_may_write(const char *path);
/* Absolute and without links; NULL if it does not exist. */
char *host_real_path(const char *path);
bool host_make_folder(const char *path);

/* Creates a file whose name ends in six X, which are replaced; -1: errno says why. If the program
 * is ended by a signal, the file is removed, one at a time. */
int host_temporary(char *name);
/* Gives it its final name, or removes it if that is NULL. */
bool host_temporary_end(const char *name, const char *final);
/* As for a new file, or like the existing one in owner, mode and access list. False: `why` says
 * what would be lost, or is NULL and errno says why. */
void host_like_new(int fd);
bool host_like(int fd, const char *path, const char **why);
/* Whether another user placed the file in a sticky, world-writable directory: it may be there to
 * receive data meant for someone else. */
bool host_is_planted(const char *path);

#endif
