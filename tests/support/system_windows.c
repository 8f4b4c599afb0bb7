/* SPDX-License-Identifier: Apache-2.0
 *
 * See harness.h.
 */
#include "support/harness.h"

#include <windows.h>

#include <tlhelp32.h>

void gxt_own_path(char *path, size_t size)
{
    snprintf(path, size, "%s", _pgmptr);
    for (char *c = path; *c; c++)
        *c = *c == '\\' ? '/' : *c;
}

size_t gxt_threads(void)
{
    size_t count = 0;
    THREADENTRY32 entry = {.dwSize = sizeof entry};
    HANDLE all = CreateToolhelp32Snapshot(TH32CS_SNAPTHREAD, 0);
    for (BOOL more = Thread32First(all, &entry); more; more = Thread32Next(all, &entry))
        count += entry.th32OwnerProcessID == GetCurrentProcessId();
    CloseHandle(all);
    return count;
}

/* Windows does not tell: a thread that used no time for a while. */
int gxt_is_asleep(int id)
{
    FILETIME unused[2], before[2], after[2];
    HANDLE thread = OpenThread(THREAD_QUERY_INFORMATION, FALSE, (DWORD)id);
    bool known = thread && GetThreadTimes(thread, &unused[0], &unused[1], &before[0], &before[1]);
    Sleep(50);
    known = known && GetThreadTimes(thread, &unused[0], &unused[1], &after[0], &after[1]);
    CloseHandle(thread);
    return known && !memcmp(before, after, sizeof before);
}
