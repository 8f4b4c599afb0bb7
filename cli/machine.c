/* SPDX-License-Identifier: Apache-2.0
 *
 * The machine (machine.h). Clocks come from sources readable by any user: kernel files, and
 * NVIDIA's management library if installed. All of them are optional.
 */
#include "machine.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "cli.h"
#include "host.h"

void machine_date(char *text, size_t size)
{
    time_t now = time(NULL);
    struct tm utc;
    if (!gmtime_r(&now, &utc) || !strftime(text, size, "%Y-%m-%dT%H:%M:%SZ", &utc))
        snprintf(text, size, "unknown");
}

/* ---- clocks ---- */

/* The functions of NVIDIA's management library that are used, by their own names. */
typedef struct nvml {
    int (*init)(void);
    int (*shutdown)(void);
    int (*count)(unsigned *count);
    int (*handle)(unsigned index, void **device);
    int (*name)(void *device, char *name, unsigned size);
    int (*clock)(void *device, int which, unsigned *mhz);
} nvml;

enum { NVML_CLOCK_SM = 1, NVML_CLOCK_MEMORY = 2 };

/* A function of the library, obtained as a data pointer and copied with memcpy. */
static bool find_function(void *library, const char *name, void *function)
{
    void *found = gx__os_symbol(library, name);
    memcpy(function, &found, sizeof found);
    return found != NULL;
}

static bool find_nvml(void *library, nvml *n)
{
    return find_function(library, "nvmlInit_v2", &n->init) &&
           find_function(library, "nvmlShutdown", &n->shutdown) &&
           find_function(library, "nvmlDeviceGetCount_v2", &n->count) &&
           find_function(library, "nvmlDeviceGetHandleByIndex_v2", &n->handle) &&
           find_function(library, "nvmlDeviceGetName", &n->name) &&
           find_function(library, "nvmlDeviceGetClockInfo", &n->clock);
}

static void nvidia_clocks(const nvml *n, char *text, size_t size)
{
    unsigned count = 0;
    if (n->count(&count))
        return;
    for (unsigned i = 0; i < count; i++) {
        void *device;
        char name[96] = "";
        unsigned sm, memory;
        if (n->handle(i, &device) || n->name(device, name, sizeof name) ||
            n->clock(device, NVML_CLOCK_SM, &sm) || n->clock(device, NVML_CLOCK_MEMORY, &memory))
            continue;
        cli_append(text, size, "%s%.95s %u MHz (memory %u MHz)", *text ? ", " : "", name, sm,
                   memory);
    }
}

void machine_clocks(char *text, size_t size)
{
    double mhz = host_cpu_mhz();
    text[0] = 0;
    if (mhz > 0)
        cli_append(text, size, "cpu %.0f MHz", mhz);
    nvml n;
    void *library =
        gx__os_library(GX_OS_NAME("libnvidia-ml.so.1", "libnvidia-ml.dylib", "nvml.dll"));
    if (library && find_nvml(library, &n) && !n.init()) {
        nvidia_clocks(&n, text, size);
        n.shutdown();
    }
}
