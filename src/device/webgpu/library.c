/* SPDX-License-Identifier: Apache-2.0
 *
 * Finds wgpu-native. Its ABI changes from version to version without a change of name, so only the
 * version that we were built for is used.
 */
#include "device/webgpu/webgpu.h"

#include <stdio.h>

#include "base/os.h"

#define USUAL_NAME GX_OS_NAME("libwgpu_native.so", "libwgpu_native.dylib", "wgpu_native.dll")
/* The last part of a version only counts builds. */
#define COMPATIBLE(version) ((version) >> 8)

static const char *const numbers = "%u.%u.%u";

static void print_version(uint32_t version, char *text, size_t size)
{
    snprintf(text, size, numbers, version >> 24, version >> 16 & 255, version >> 8 & 255);
}

static bool find_functions(void *library, struct wg_fn *fn, const char **missing)
{
    *missing = NULL;
#define X(name)                                                                                    \
    fn->name = (__typeof__(wgpu##name) *)(void (*)(void))gx__os_symbol(library, "wgpu" #name);     \
    if (!fn->name)                                                                                 \
        *missing = "wgpu" #name;
    WG_FUNCTIONS(X)
#undef X
    return !*missing;
}

static bool is_ours(const struct wg_fn *fn, const char *name, struct gx_error *error)
{
    uint32_t found = fn->GetVersion();
    if (COMPATIBLE(found) == COMPATIBLE(GX_WGPU_NATIVE_VERSION))
        return true;
    char other[16], wanted[16];
    print_version(found, other, sizeof other);
    print_version(GX_WGPU_NATIVE_VERSION, wanted, sizeof wanted);
    gx__explain(error, "%.40s is wgpu-native %s, needs %s: use that of the Python wheel %s", name,
                other, wanted, GX_WGPU_WHEEL);
    return false;
}

bool gx__wg_library(const struct gx_instance *instance, struct wg_fn *fn, struct gx_error *error)
{
    const char *asked = instance->config.wgpu_library, *name = asked ? asked : USUAL_NAME;
    const char *missing;
    if (!gx__can_load_drivers()) {
        gx__explain(error, "no WebGPU: a program linked with -static cannot load drivers");
        return false;
    }
    void *library = gx__os_library(name);
    if (!library && asked)
        gx__explain(error, "no WebGPU: cannot load %.60s: correct GPUEXEC_WGPU_LIBRARY", name);
    else if (!library)
        gx__explain(error,
                    "no WebGPU: extract " USUAL_NAME
                    " from the Python wheel %s and set GPUEXEC_WGPU_LIBRARY to it",
                    GX_WGPU_WHEEL);
    else if (!find_functions(library, fn, &missing))
        gx__explain(error, "%.40s has no %s: use that of the Python wheel %s", name, missing,
                    GX_WGPU_WHEEL);
    else
        return is_ours(fn, name, error);
    return false;
}
