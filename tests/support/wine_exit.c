/* SPDX-License-Identifier: Apache-2.0
 *
 * Loaded into programs under Wine (LD_PRELOAD). When one has told Wine's server its exit code, its
 * other threads are gone, wherever they were. Then the destructors of the host's libraries run,
 * those of X11 wait for a lock that such a thread held, half a second later the server kills the
 * process, and whoever waits for it sees a signal in place of the code. Without them it ends at
 * once.
 */
#include <stdlib.h>
#include <unistd.h>

void exit(int status)
{
    _exit(status);
}
