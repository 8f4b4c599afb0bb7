/* SPDX-License-Identifier: Apache-2.0
 *
 * Values and names of the smaller public enums; settings, the program, metrics and reports use
 * these names.
 */
#ifndef GX_BASE_NAMES_H
#define GX_BASE_NAMES_H

#include "gpuexec.h"

/* X(symbol, value, name), consecutive; the values are those of gpuexec.h. */
#define GX__LOG_LEVEL_LIST(X)                                                                      \
    X(GX_LOG_ERROR, 1, "error")                                                                    \
    X(GX_LOG_WARNING, 2, "warning")                                                                \
    X(GX_LOG_INFO, 3, "info")
#define GX__DEVICE_KIND_LIST(X)                                                                    \
    X(GX_DEVICE_CPU, 1, "cpu")                                                                     \
    X(GX_DEVICE_REFERENCE, 2, "reference")                                                         \
    X(GX_DEVICE_VULKAN, 3, "vulkan")                                                               \
    X(GX_DEVICE_SIM, 4, "sim")                                                                     \
    X(GX_DEVICE_WEBGPU, 5, "webgpu")                                                               \
    X(GX_DEVICE_CUDA, 6, "cuda")
#define GX__PATH_LIST(X)                                                                           \
    X(GX_PATH_AUTO, 0, "auto")                                                                     \
    X(GX_PATH_HOST_VISIBLE, 1, "host-visible")                                                     \
    X(GX_PATH_DEVICE_LOCAL, 2, "device-local")                                                     \
    X(GX_PATH_DIRECT, 3, "direct")
#define GX__MODE_LIST(X)                                                                           \
    X(GX_MODE_AUTO, 0, "auto")                                                                     \
    X(GX_MODE_SEQUENTIAL, 1, "sequential")                                                         \
    X(GX_MODE_SINGLE_SUBMIT, 2, "single-submit")                                                   \
    X(GX_MODE_PIPELINED, 3, "pipelined")
#define GX__POLICY_LIST(X)                                                                         \
    X(GX_POLICY_AUTO, 0, "auto")                                                                   \
    X(GX_POLICY_CPU, 1, "cpu")                                                                     \
    X(GX_POLICY_GPU, 2, "gpu")                                                                     \
    X(GX_POLICY_THROUGHPUT, 3, "throughput")
#define GX__REASON_LIST(X)                                                                         \
    X(GX_REASON_NONE, 0, "none")                                                                   \
    X(GX_REASON_ASKED, 1, "asked")                                                                 \
    X(GX_REASON_ONLY, 2, "only")                                                                   \
    X(GX_REASON_RESIDENT, 3, "resident")                                                           \
    X(GX_REASON_SMALL, 4, "small")                                                                 \
    X(GX_REASON_FASTEST, 5, "fastest")                                                             \
    X(GX_REASON_SPLIT, 6, "split")                                                                 \
    X(GX_REASON_DEFAULT, 7, "default")                                                             \
    X(GX_REASON_EXPLORED, 8, "explored")                                                           \
    X(GX_REASON_FALLBACK, 9, "fallback")
#define GX__HEALTH_LIST(X)                                                                         \
    X(GX_HEALTH_UNUSED, 0, "unused")                                                               \
    X(GX_HEALTH_GOOD, 1, "good")                                                                   \
    X(GX_HEALTH_RESTING, 2, "resting")                                                             \
    X(GX_HEALTH_QUARANTINED, 3, "quarantined")
#define GX__POINT_FORM_LIST(X)                                                                     \
    X(GX_POINT_XY_MONT, 1, "xy-mont")                                                              \
    X(GX_POINT_XY_PLAIN, 2, "xy-plain")                                                            \
    X(GX_POINT_COMPRESSED, 3, "compressed")                                                        \
    X(GX_POINT_UNCOMPRESSED, 4, "uncompressed")                                                    \
    X(GX_POINT_EIP2537, 5, "eip2537")                                                              \
    X(GX_POINT_JACOBIAN_MONT, 6, "jacobian-mont")
#define GX__POINT_CHECK_LIST(X)                                                                    \
    X(GX_CHECK_CURVE, 0, "curve")                                                                  \
    X(GX_CHECK_SUBGROUP, 1, "subgroup")                                                            \
    X(GX_CHECK_NONE, 2, "none")
#define GX__SCALAR_FORM_LIST(X)                                                                    \
    X(GX_SCALAR_PLAIN, 0, "plain")                                                                 \
    X(GX_SCALAR_MONT, 1, "mont")

/* X(name): instruction-set tiers of the CPU device, most portable first. */
#define GX__TIER_LIST(X) X(portable) X(adx) X(avx512)

/* Where the operands of a job reside. */
typedef uint32_t gx_residency;
enum {
    GX_HOST_MEMORY = 1,       /* some in unregistered host memory */
    GX_REGISTERED_MEMORY = 2, /* host memory, all of it registered */
    GX_DEVICE_MEMORY = 3      /* all in buffers on the device */
};

/* "host", "registered", "device"; "unknown". */
const char *gx__residency_name(gx_residency residency);

#define GX__ONE_NAME(...) +1
enum {
    GX_PATHS_ASKED = GX_PATH_DEVICE_LOCAL + 1, /* GX_PATH_DIRECT cannot be requested */
    GX_MODES = GX__MODE_LIST(GX__ONE_NAME),
    GX_POLICIES = GX__POLICY_LIST(GX__ONE_NAME),
    GX_HEALTHS = GX__HEALTH_LIST(GX__ONE_NAME)
};

#endif
