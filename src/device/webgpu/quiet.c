/* SPDX-License-Identifier: Apache-2.0
 *
 * The library prints nothing, but what it calls may. wgpu asks Vulkan for window support, so a Mesa
 * layer that sorts GPUs for a desktop looks for one; if there is none, libwayland says so on
 * stderr. libwayland can be given a log function instead, which is done here. Neither the
 * environment nor a file descriptor is changed, because both belong to all threads.
 */
#include "device/webgpu/webgpu.h"

#include <stdarg.h>
#include <stdio.h>

#include "base/env.h"
#include "base/os.h"

static const char wayland[] = "libwayland-client.so.0";

/* Whether this thread is in a call of ours. */
static _Thread_local bool quiet;

/* For all other threads it does what libwayland does by default. */
GX_PRINTF(1, 0) static void on_message(const char *format, va_list args)
{
    if (!quiet)
        vfprintf(stderr, format, args);
}

/* If this is false, nothing is printed. If it is true, the program has no desktop, and so no log
 * function of its own that ours would replace. */
static bool would_complain(void)
{
    const char *folder = gx__env_of_others("XDG_RUNTIME_DIR");
    return !folder || folder[0] != '/';
}

void gx__wg_quiet_begin(void)
{
    void *library = would_complain() ? gx__os_library_loaded(wayland) : NULL;
    void (*listen)(void (*)(const char *, va_list)) = NULL;
    if (library)
        listen =
            (__typeof__(listen))(void (*)(void))gx__os_symbol(library, "wl_log_set_handler_client");
    if (listen) {
        gx__os_stay_loaded(); /* libwayland may outlive us */
        listen(on_message);
    }
    quiet = true;
}

void gx__wg_quiet_end(void)
{
    quiet = false;
}
