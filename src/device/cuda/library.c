/* SPDX-License-Identifier: Apache-2.0
 *
 * Finds the CUDA driver, which NVIDIA's driver for the GPU installs. Anything missing
 * becomes one line that says so and what to do; the library works without it.
 */
#include "device/cuda/cuda.h"

#include <unistd.h>

#include "base/os.h"

#define USUAL_NAME     GX_OS_NAME("libcuda.so.1", "libcuda.dylib", "nvcuda.dll")
#define VERSION_NEEDED 11000

/* A child of a process that started the driver cannot start it again. */
static _Atomic pid_t started;

static bool find_functions(void *library, struct cu_fn *fn, const char **missing)
{
    *missing = NULL;
#define X(name, symbol, arguments)                                                                 \
    fn->name = (CUresult(*) arguments)(void (*)(void))gx__os_symbol(library, #symbol);
    CU_FUNCTIONS(X)
    CU_OPTIONAL_FUNCTIONS(X)
#undef X
#define X(name, symbol, arguments) *missing = fn->name ? *missing : #symbol;
    CU_FUNCTIONS(X)
#undef X
    return !*missing;
}

/* The version needs no running driver: an old one is named even if it does not start. */
static bool start(const struct cu_fn *fn, int *version, struct gx_error *error)
{
    pid_t before = atomic_load(&started), none = 0;
    if (before && before != getpid()) {
        gx__explain(error, "no CUDA: it was in use at fork(): exec() in the child");
        return false;
    }
    if (fn->DriverGetVersion(version) != CUDA_SUCCESS)
        *version = 0;
    if (*version < VERSION_NEEDED) {
        gx__explain(error, "no CUDA: the driver has CUDA %d.%d, needs %d.0: install a newer one",
                    *version / 1000, *version % 1000 / 10, VERSION_NEEDED / 1000);
        return false;
    }
    CUresult r = fn->Init(0);
    if (r == CUDA_ERROR_NO_DEVICE)
        gx__explain(
            error,
            "no CUDA device found: there is no NVIDIA GPU, or CUDA_VISIBLE_DEVICES hides it");
    else if (r != CUDA_SUCCESS)
        gx__explain(
            error,
            "no CUDA: the driver does not start (cuInit returned %d): load its kernel module, "
            "or install the one that fits",
            r);
    else
        atomic_compare_exchange_strong(&started, &none, getpid());
    return r == CUDA_SUCCESS;
}

bool gx__cu_library(const struct gx_instance *instance, struct cu_fn *fn, int *version,
                    struct gx_error *error)
{
    const char *asked = instance->config.cuda_library, *name = asked ? asked : USUAL_NAME;
    const char *missing;
    if (!*gx__cu_kernels.count) {
        gx__explain(error,
                    "no CUDA: this build has no kernels for it: install a clang that has the NVPTX "
                    "target, and build again");
        return false;
    }
    if (!gx__can_load_drivers()) {
        gx__explain(error, "no CUDA: a program linked with -static cannot load drivers");
        return false;
    }
    void *library = gx__os_library(name);
    if (!library && asked)
        gx__explain(error, "no CUDA: cannot load %.60s: correct GPUEXEC_CUDA_LIBRARY", name);
    else if (!library)
        gx__explain(error, "no CUDA: " USUAL_NAME " is missing: install NVIDIA's driver");
    else if (!find_functions(library, fn, &missing))
        gx__explain(error, "no CUDA: %.40s has no %s: install a newer NVIDIA driver", name,
                    missing);
    else
        return start(fn, version, error);
    return false;
}
