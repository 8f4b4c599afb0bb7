/* SPDX-License-Identifier: Apache-2.0
 *
 * Names and messages of statuses, from the list in the public header, and the version.
 */
#include "gpuexec.h"

const char *gx_status_name(gx_status s)
{
    switch (s) {
#define GX_X(symbol, value, message)                                                               \
    case symbol:                                                                                   \
        return #symbol;
        GX_STATUS_LIST(GX_X)
#undef GX_X
    }
    return "GX_UNKNOWN";
}

const char *gx_status_message(gx_status s)
{
    switch (s) {
#define GX_X(symbol, value, message)                                                               \
    case symbol:                                                                                   \
        return message;
        GX_STATUS_LIST(GX_X)
#undef GX_X
    }
    return "a status this version of the library does not know";
}

#define TEXT_(x) #x
#define TEXT(x)  TEXT_(x)

const char *gx_version(void)
{
    return TEXT(GX_VERSION_MAJOR) "." TEXT(GX_VERSION_MINOR) "." TEXT(GX_VERSION_PATCH);
}
