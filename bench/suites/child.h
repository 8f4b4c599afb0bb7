/* SPDX-License-Identifier: Apache-2.0
 *
 * Work in a new process that has opened nothing yet: drivers cache compiled code within a process,
 * and a context does not survive fork(). Call it before this process opens a context.
 */
#ifndef CHILD_H
#define CHILD_H

#include <stdbool.h>
#include <stddef.h>

/* Whether this system can do it. If not, the work is done in this process. */
bool child_exists(void);

/* Runs `work` in a child and returns its exit code; `bytes` bytes of result come back. */
int child_run(int (*work)(const void *argument, void *result), const void *argument, void *result,
              size_t bytes);

/* Creates a folder of its own for the work, whose name starts with `name`, where TMPDIR says; and
 * removes it again, empty. */
bool child_folder(char *path, size_t size, const char *name);
bool child_remove_folder(const char *path);

/* For drivers, which read the environment. */
void child_set_env(const char *name, const char *value);

#endif
