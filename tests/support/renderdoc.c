/* SPDX-License-Identifier: Apache-2.0
 *
 * RenderDoc's library, as far as gpuexec run --capture uses it: writes a line for every call to
 * standard output. GX_TEST_RENDERDOC_FAILS: captures fail.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define EXPORT __attribute__((visibility("default")))

static void start(void *device, void *window)
{
    printf("start%s\n", device || window ? " of one device" : "");
}

static uint32_t end(void *device, void *window)
{
    printf("end%s\n", device || window ? " of one device" : "");
    return !getenv("GX_TEST_RENDERDOC_FAILS");
}

static uint32_t count(void)
{
    return 3;
}

static uint32_t name_of(uint32_t index, char *file, uint32_t *size, uint64_t *time)
{
    static const char name[] = "/captures/gpuexec.rdc";
    (void)time;
    if (index != 2)
        return 0;
    if (file && *size >= sizeof name)
        memcpy(file, name, sizeof name);
    *size = sizeof name;
    return 1;
}

/* A call of any other function of version 1.0 is a crash. */
static void (*const table[22])(void) = {[13] = (void (*)(void))count,
                                        [14] = (void (*)(void))name_of,
                                        [19] = (void (*)(void))start,
                                        [21] = (void (*)(void))end};

EXPORT int RENDERDOC_GetAPI(int version, void (*const **out)(void));
int RENDERDOC_GetAPI(int version, void (*const **out)(void))
{
    *out = table;
    return version == 10000;
}
