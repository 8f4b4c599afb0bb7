/* SPDX-License-Identifier: Apache-2.0
 *
 * See drivers.h.
 */
#include "support/drivers.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static char folder[] = "/tmp/gx-two-XXXXXX";

static void file_name(char *name, size_t size, int i)
{
    snprintf(name, size, "%s/driver%d.json", folder, i);
}

/* A copy of the driver file of lavapipe, whose name tells the architecture. */
static int copy_driver(int i)
{
    char command[256], name[64];
    file_name(name, sizeof name, i);
    snprintf(command, sizeof command, "cat /usr/share/vulkan/icd.d/lvp_icd*.json > %s", name);
    return system(command);
}

int gxt_two_drivers(void)
{
    char files[160], one[64], other[64];
    if (getenv("GX_TEST_NO_VULKAN"))
        exit(77);
    if (!mkdtemp(folder) || copy_driver(0) || copy_driver(1))
        return -1;
    file_name(one, sizeof one, 0);
    file_name(other, sizeof other, 1);
    snprintf(files, sizeof files, "%s:%s", one, other);
    setenv("VK_DRIVER_FILES", files, 1);  /* loaders from 1.3.207 on */
    setenv("VK_ICD_FILENAMES", files, 1); /* older ones */
    return 0;
}

int gxt_two_drivers_end(void)
{
    for (int i = 0; i < 2; i++) {
        char name[64];
        file_name(name, sizeof name, i);
        unlink(name);
    }
    return rmdir(folder);
}
