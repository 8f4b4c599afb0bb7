/* SPDX-License-Identifier: Apache-2.0
 *
 * Keeps libraries loaded until the process ends. For programs with leak checks, because what a
 * driver still references from its globals would otherwise be a leak without a module, which no
 * suppression can name; and where another leg has tested loading and unloading, because loading
 * drivers is most of the time of opening a context.
 */
#include <dlfcn.h>

int dlclose(void *library)
{
    (void)library;
    return 0;
}
