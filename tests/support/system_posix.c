/* SPDX-License-Identifier: Apache-2.0
 *
 * See harness.h.
 */
#include "support/harness.h"

#include <dirent.h>
#include <stdio.h>
#include <unistd.h>

void gxt_own_path(char *path, size_t size)
{
    ssize_t length = readlink("/proc/self/exe", path, size - 1);
    assert_true(length > 0);
    path[length] = 0;
}

size_t gxt_threads(void)
{
    size_t count = 0;
    DIR *tasks = opendir("/proc/self/task");
    assert_non_null(tasks);
    for (struct dirent *task; (task = readdir(tasks));)
        count += task->d_name[0] != '.';
    closedir(tasks);
    return count;
}

int gxt_is_asleep(int id)
{
    char path[64], state = 0;
    snprintf(path, sizeof path, "/proc/self/task/%d/stat", id);
    FILE *f = fopen(path, "re");
    if (!f)
        return 0;
    int found = fscanf(f, "%*d (%*[^)]) %c", &state);
    fclose(f);
    return found == 1 && state == 'S';
}
