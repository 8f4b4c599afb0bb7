/* SPDX-License-Identifier: Apache-2.0
 *
 * The names of values, from the lists in names.h.
 */
#include "base/names.h"

#include <stdbool.h>

#define AGREES(symbol, value, name)                                                                \
    _Static_assert((int)(symbol) == (value), #symbol " is another value in gpuexec.h");
#define CASE(symbol, value, name)                                                                  \
    case symbol:                                                                                   \
        return name;
#define NAME_FUNCTION(function, type, LIST)                                                        \
    LIST(AGREES)                                                                                   \
    const char *function(type value)                                                               \
    {                                                                                              \
        switch (value) {                                                                           \
            LIST(CASE)                                                                             \
        default:                                                                                   \
            return "unknown";                                                                      \
        }                                                                                          \
    }

NAME_FUNCTION(gx_log_level_name, gx_log_level, GX__LOG_LEVEL_LIST)
NAME_FUNCTION(gx_device_kind_name, gx_device_kind, GX__DEVICE_KIND_LIST)
NAME_FUNCTION(gx_path_name, gx_path, GX__PATH_LIST)
NAME_FUNCTION(gx_mode_name, gx_mode, GX__MODE_LIST)
NAME_FUNCTION(gx_policy_name, gx_policy, GX__POLICY_LIST)
NAME_FUNCTION(gx_reason_name, gx_reason, GX__REASON_LIST)
NAME_FUNCTION(gx_health_name, gx_health, GX__HEALTH_LIST)
NAME_FUNCTION(gx_point_form_name, gx_point_form, GX__POINT_FORM_LIST)
NAME_FUNCTION(gx_point_check_name, gx_point_check, GX__POINT_CHECK_LIST)
NAME_FUNCTION(gx_scalar_form_name, gx_scalar_form, GX__SCALAR_FORM_LIST)

const char *gx__residency_name(gx_residency residency)
{
    static const char *const names[] = {[GX_HOST_MEMORY] = "host",
                                        [GX_REGISTERED_MEMORY] = "registered",
                                        [GX_DEVICE_MEMORY] = "device"};
    bool known = residency >= GX_HOST_MEMORY && residency <= GX_DEVICE_MEMORY;
    return known ? names[residency] : "unknown";
}

const char *gx_tier_name(uint32_t index)
{
#define TEXT(name) #name,
    static const char *const tiers[] = {GX__TIER_LIST(TEXT)};
    return index < sizeof tiers / sizeof *tiers ? tiers[index] : NULL;
}
