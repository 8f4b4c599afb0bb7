/* SPDX-License-Identifier: Apache-2.0
 *
 * child.h without fork(): a process that starts anew does not have the caller's memory.
 */
#include "child.h"

#include "cli.h"

bool child_exists(void)
{
    return false;
}

int child_run(int (*work)(const void *argument, void *result), const void *argument, void *result,
              size_t bytes)
{
    (void)bytes;
    return work(argument, result);
}

bool child_folder(char *path, size_t size, const char *name)
{
    (void)name;
    path[0] = size ? 0 : path[0];
    return false;
}

bool child_remove_folder(const char *path)
{
    (void)path;
    return false;
}

void child_set_env(const char *name, const char *value)
{
    (void)name;
    (void)value;
}
