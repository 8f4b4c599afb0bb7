/* SPDX-License-Identifier: Apache-2.0
 *
 * Linked into programs that look for leaks: nothing is unloaded before the process ends.
 * What a driver still points to from its own globals would be a leak otherwise, and one
 * of no module's, which no suppression can name.
 */
#include <dlfcn.h>

int dlclose(void *library)
{
    (void)library;
    return 0;
}
