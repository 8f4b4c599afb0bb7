/* SPDX-License-Identifier: Apache-2.0
 *
 * Structs at the border: copies between the caller's, whose struct_size says which version of
 * gpuexec.h it was compiled with, and the library's own. The rules are in gpuexec.h; this is
 * the only place that knows how they are kept.
 */
#ifndef GX_BASE_ABI_H
#define GX_BASE_ABI_H

#include "gpuexec.h"

/* More than any struct will ever have: the caller left struct_size uninitialised. */
#define GX_STRUCT_SIZE_MAX ((size_t)65536)

struct gx_layout {
    const char *name; /* "gx_config" */
    size_t first;     /* size in the first release, which struct_size 0 stands for: never changes */
    size_t size;      /* in this version */
};

extern const struct gx_layout gx__config_layout, gx__run_opts_layout, gx__calibration_layout,
    gx__report_layout, gx__candidate_layout, gx__estimate_layout, gx__device_info_layout,
    gx__model_row_layout, gx__statistics_layout, gx__device_statistics_layout;

/* Of the caller's struct; 0 where struct_size is no size that a struct of this kind can have,
 * and message says so. */
size_t gx__caller_size(const struct gx_layout *layout, const void *caller, char *message,
                       size_t message_size);

/* The caller's input (NULL: all zero) as this version's, *own. GX_ERR_INVALID and message for a
 * bad size, and for what is set in members that this version does not know. */
gx_status gx__take_in(const struct gx_layout *layout, void *own, const void *caller, char *message,
                      size_t message_size);

/* The size of each of `count` outputs of the caller, at `first`. GX_ERR_INVALID and message. */
gx_status gx__check_out(const struct gx_layout *layout, const void *first, size_t count,
                        size_t *size, char *message, size_t message_size);

/* *own into an output of the caller of this size: all but its first `keep` bytes, which are the
 * caller's own. */
void gx__give_out(const struct gx_layout *layout, void *caller, size_t size, size_t keep,
                  const void *own);

#endif
