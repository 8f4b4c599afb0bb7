/* SPDX-License-Identifier: Apache-2.0
 *
 * The library prints nothing, but what it calls may. wgpu asks Vulkan for what a window needs,
 * so that a layer of Mesa's, which sorts GPUs for a desktop, looks for one; where there is none,
 * libwayland says so on stderr. It can be told to say it to a function instead, which is what
 * happens here: neither the environment nor a file descriptor, both of all threads, is changed.
 */
#include "device/webgpu/webgpu.h"

#include <dlfcn.h>
#include <stdarg.h>
#include <stdio.h>

#include "base/env.h"

static const char wayland[] = "libwayland-client.so.0";

/* Whether this thread is in a call of ours. */
static _Thread_local bool quiet;

/* To all others it does what libwayland does by itself. */
__attribute__((format(printf, 1, 0))) static void on_message(const char *format, va_list args)
{
    if (!quiet)
        vfprintf(stderr, format, args);
}

/* Where this is false nothing is said; and where it is true the program has no desktop, and so
 * no use for a function of its own that ours would replace. */
static bool would_complain(void)
{
    const char *folder = gx__env_of_others("XDG_RUNTIME_DIR");
    return !folder || folder[0] != '/';
}

/* libwayland may outlive us, where we are in a library that is unloaded. */
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
        dlclose(library); /* the layer has it */
    quiet = true;
}

void gx__wg_quiet_end(void)
{
    quiet = false;
}
