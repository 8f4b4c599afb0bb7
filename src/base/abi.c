/* SPDX-License-Identifier: Apache-2.0
 *
 * See abi.h.
 */
#include "base/abi.h"

#include <string.h>

/* last: the last member of the struct in the first release. */
#define LAYOUT(type, last)                                                                         \
    {                                                                                              \
#type, offsetof(type, last) + sizeof(((type *)0)->last), sizeof(type)                      \
    }

const struct gx_layout gx__config_layout = LAYOUT(gx_config, allocator);
const struct gx_layout gx__run_params_layout = LAYOUT(gx_run_params, reserved);
const struct gx_layout gx__kernel_params_layout = LAYOUT(gx_kernel_params, wgsl_entry);
const struct gx_layout gx__op_params_layout = LAYOUT(gx_op_params, reserved);
const struct gx_layout gx__domain_params_layout = LAYOUT(gx_domain_params, shift);
const struct gx_layout gx__ntt_params_layout = LAYOUT(gx_ntt_params, reserved);
const struct gx_layout gx__poly_params_layout = LAYOUT(gx_poly_params, reserved);
const struct gx_layout gx__points_params_layout = LAYOUT(gx_points_params, table_bytes);
const struct gx_layout gx__msm_params_layout = LAYOUT(gx_msm_params, reserved);
const struct gx_layout gx__calibrate_params_layout = LAYOUT(gx_calibrate_params, user);
const struct gx_layout gx__report_layout = LAYOUT(gx_report, message);
const struct gx_layout gx__candidate_layout = LAYOUT(gx_candidate, reserved);
const struct gx_layout gx__estimate_layout = LAYOUT(gx_estimate_info, predicted_ns);
const struct gx_layout gx__device_info_layout = LAYOUT(gx_device_info, usable);
const struct gx_layout gx__device_statistics_layout = LAYOUT(gx_device_statistics, readmissions);

static size_t least(size_t a, size_t b)
{
    return a < b ? a : b;
}

/* Bytes rather than members: an element of an array may be unaligned if its size is that of a
 * future version. */
static size_t struct_size_of(const void *caller)
{
    size_t size;
    memcpy(&size, caller, sizeof size);
    return size;
}

size_t gx__caller_size(const struct gx_layout *layout, const void *caller, struct gx_error *error)
{
    size_t size = struct_size_of(caller);
    if (!size)
        return layout->first;
    if (size >= layout->first && size <= GX_STRUCT_SIZE_MAX)
        return size;
    gx__explain(error, "%s.struct_size is %zu, which matches no version: set it to sizeof",
                layout->name, size);
    return 0;
}

gx_status gx__take_in(const struct gx_layout *layout, void *own, const void *caller,
                      struct gx_error *error)
{
    memset(own, 0, layout->size);
    if (caller) {
        size_t size = gx__caller_size(layout, caller, error);
        if (!size)
            return GX_ERR_INVALID;
        for (size_t i = layout->size; i < size; i++) {
            if (!((const char *)caller)[i])
                continue;
            return gx__refuse(
                error, GX_ERR_INVALID,
                "%s: byte %zu is set, but gpuexec %s knows only %zu bytes: the caller was built "
                "with a newer gpuexec.h; leave that member 0 or update the library",
                layout->name, i, gx_version(), layout->size);
        }
        memcpy(own, caller, least(size, layout->size));
    }
    memcpy(own, &layout->size, sizeof layout->size);
    return GX_OK;
}

gx_status gx__check_out(const struct gx_layout *layout, const void *first, size_t count,
                        size_t *size, struct gx_error *error)
{
    *size = gx__caller_size(layout, first, error);
    if (!*size)
        return GX_ERR_INVALID;
    if (count > 1 && !struct_size_of(first))
        return gx__refuse(
            error, GX_ERR_INVALID,
            "%s.struct_size is 0 in the first of %zu elements: in an array, set it to sizeof(%s)",
            layout->name, count, layout->name);
    return GX_OK;
}

void gx__give_out(const struct gx_layout *layout, void *caller, size_t size, size_t keep,
                  const void *own)
{
    size_t known = least(size, layout->size);
    memcpy((char *)caller + keep, (const char *)own + keep, known - keep);
    memset((char *)caller + known, 0, size - known);
}
