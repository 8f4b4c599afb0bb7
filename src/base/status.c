/* SPDX-License-Identifier: Apache-2.0
 *
 * Names and messages of statuses, and the version.
 */
#include "gpuexec.h"

/* X(symbol, value, message): the values are those of gpuexec.h. */
#define GX__STATUS_LIST(X)                                                                         \
    X(GX_OK, 0, "ok")                                                                              \
    X(GX_PENDING, 1, "not finished yet")                                                           \
    X(GX_ERR_INVALID, -1, "invalid argument")                                                      \
    X(GX_ERR_OVERLAP, -2, "the output partly overlaps an operand")                                 \
    X(GX_ERR_NOT_CANONICAL, -3, "an element is not below the modulus")                             \
    X(GX_ERR_UNSUPPORTED, -4, "the operation is not supported for this field or device")           \
    X(GX_ERR_NO_DEVICE, -5, "no such device")                                                      \
    X(GX_ERR_OUT_OF_MEMORY, -6, "out of host memory")                                              \
    X(GX_ERR_OUT_OF_DEVICE_MEMORY, -7, "out of device memory")                                     \
    X(GX_ERR_DEVICE_LOST, -8, "the device was lost")                                               \
    X(GX_ERR_DEVICE, -9, "a device call failed")                                                   \
    X(GX_ERR_NOT_RUN, -10, "not run, because another job of the same call failed")                 \
    X(GX_ERR_TIMEOUT, -11, "the device did not finish in time")                                    \
    X(GX_ERR_CANCELLED, -12, "cancelled before it ran")                                            \
    X(GX_ERR_FILE, -13, "a file cannot be written")

#define X(symbol, value, message)                                                                  \
    _Static_assert((int)(symbol) == (value), #symbol " is another value in gpuexec.h");
GX__STATUS_LIST(X)
#undef X

const char *gx_status_name(gx_status s)
{
    switch (s) {
#define X(symbol, value, message)                                                                  \
    case symbol:                                                                                   \
        return #symbol;
        GX__STATUS_LIST(X)
#undef X
    default:
        return "GX_UNKNOWN";
    }
}

const char *gx_status_message(gx_status s)
{
    switch (s) {
#define X(symbol, value, message)                                                                  \
    case symbol:                                                                                   \
        return message;
        GX__STATUS_LIST(X)
#undef X
    default:
        return "a status this version of the library does not know";
    }
}

#define TEXT_(x) #x
#define TEXT(x)  TEXT_(x)

const char *gx_version(void)
{
    return TEXT(GX_VERSION_MAJOR) "." TEXT(GX_VERSION_MINOR) "." TEXT(GX_VERSION_PATCH);
}
