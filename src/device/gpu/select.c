/* SPDX-License-Identifier: Apache-2.0
 *
 * What users may write for a GPU after the name of its backend. Vulkan and CUDA understand the
 * same.
 */
#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "device/gpu/gpu.h"

#define UUID_BYTES 16u

/* Whether the UUID begins with the hexadecimal text, ignoring '-'. */
static bool uuid_begins(const uint8_t *uuid, const char *text)
{
    size_t digit = 0;
    for (; *text; text++) {
        if (*text == '-')
            continue;
        if (!isxdigit((unsigned char)*text) || digit == 2 * UUID_BYTES)
            return false;
        char c[2] = {*text, 0};
        unsigned value = (unsigned)strtoul(c, NULL, 16);
        if ((uuid[digit / 2] >> (digit % 2 ? 0 : 4) & 15u) != value)
            return false;
        digit++;
    }
    return digit > 0;
}

static bool contains(const char *text, const char *part)
{
    for (; *text; text++) {
        size_t i = 0;
        while (part[i] && tolower((unsigned char)text[i]) == tolower((unsigned char)part[i]))
            i++;
        if (!part[i])
            return true;
    }
    return false;
}

bool gx__gpu_selected(const char *selector, const char *name, const char *driver_name,
                      const uint8_t uuid[16])
{
    static const char uuid_prefix[] = "uuid=";
    if (!*selector)
        return true;
    if (!selector[strspn(selector, "0123456789")])
        return !strcmp(strchr(name, ':') + 1, selector);
    if (!strncmp(selector, uuid_prefix, strlen(uuid_prefix)))
        return uuid_begins(uuid, selector + strlen(uuid_prefix));
    return contains(driver_name, selector);
}
