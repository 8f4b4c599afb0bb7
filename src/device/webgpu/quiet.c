/* SPDX-License-Identifier: Apache-2.0
 *
 * The library prints nothing, but what it calls may. wgpu asks Vulkan for window support, so a Mesa
 * layer that sorts GPUs for a desktop looks for one; if there is none, libwayland says so on
 * stderr. libwayland can be given a log function instead, which is done here. Neither the
 * environment nor a file descriptor is changed, because both belong to all threads.
 */
#include "device/webgpu/webgpu.h"

#include <dlfcn.h>
#include <stdarg.h>
#include <stdio.h>

#include "base/env.h"

static const char wayland[] = "libwayland-client.so.0";

/* Whether this thread is in a call of ours. */
static _Thread_local bool quiet;

/* For all other threads it does what libwayland does by default. */
__attribute__((format(printf, 1, 0))) static void on_message(const char *format, va_list args)
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

/* libwayland may outlive us if we are in a library that is unloaded. */
static void stay_loaded(void)
{
    Dl_info ours;
    if (dladdr(wayland, &ours))
        dlopen(ours.dli_fname, RTLD_NOW | RTLD_NOLOAD | RTLD_NODELETE);
}

void gx__wg_quiet_begin(void)
{
    void *library = would_complain() ? dlopen(wayland, RTLD_NOW | RTLD_NOLOAD) : NULL;
    void (*listen)(void (*)(const char *, va_list)) = NULL;
    if (library)
        listen = (__typeof__(listen))(void (*)(void))dlsym(library, "wl_log_set_handler_client");
    if (listen) {
        stay_loaded();
        listen(on_message);
    }
    if (library)
        dlclose(library); /* loaded by the layer */
    quiet = true;
}

void gx__wg_quiet_end(void)
{
    quiet = false;
}
