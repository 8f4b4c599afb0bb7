/* SPDX-License-Identifier: Apache-2.0
 *
 * Structs at the API boundary: copies between the caller's struct, whose struct_size tells which
 * version of gpuexec.h it was compiled with, and the library's own. gpuexec.h states the rules;
 * only this file implements them.
 */
#ifndef GX_BASE_ABI_H
#define GX_BASE_ABI_H

#include "base/error.h"
#include "gpuexec.h"

/* Larger than any struct will ever be: struct_size was left uninitialised. */
#define GX_STRUCT_SIZE_MAX ((size_t)65536)

struct gx_layout {
    const char *name; /* "gx_config" */
    size_t first;     /* size in the first release, which struct_size 0 means; never changes */
    size_t size;      /* in this version */
};

extern const struct gx_layout gx__config_layout, gx__run_params_layout, gx__kernel_params_layout,
    gx__op_params_layout, gx__domain_params_layout, gx__ntt_params_layout, gx__poly_params_layout,
    gx__points_params_layout, gx__msm_params_layout, gx__calibrate_params_layout, gx__report_layout,
    gx__candidate_layout, gx__estimate_layout, gx__device_info_layout, gx__device_statistics_layout;

/* Size of the caller's struct; 0, with a message, if struct_size is impossible for this kind of
 * struct. */
size_t gx__caller_size(const struct gx_layout *layout, const void *caller, struct gx_error *error);

/* Converts the caller's input (NULL: all zero) to this version's struct, *own. GX_ERR_INVALID and a
 * message for a bad size, or if a member unknown to this version is set. */
gx_status gx__take_in(const struct gx_layout *layout, void *own, const void *caller,
                      struct gx_error *error);

/* Determines the size of each of `count` caller outputs at `first`. GX_ERR_INVALID and a message on
 * failure. */
gx_status gx__check_out(const struct gx_layout *layout, const void *first, size_t count,
                        size_t *size, struct gx_error *error);

/* Copies *own to a caller output of this size, except for the first `keep` bytes, which belong to
 * the caller. */
void gx__give_out(const struct gx_layout *layout, void *caller, size_t size, size_t keep,
                  const void *own);

#endif
