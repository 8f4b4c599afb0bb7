/* SPDX-License-Identifier: Apache-2.0
 *
 * The caller's gx_report, which may be of another version, made of the outcome of a job.
 */
#ifndef GX_API_REPORTS_H
#define GX_API_REPORTS_H

#include "exec/outcome.h"

/* The caller's reports; first is NULL if none are wanted. */
struct gx_reports {
    char *first;
    size_t size; /* of each */
};

/* GX_ERR_INVALID and a message if sizes or candidates of reports are invalid. */
gx_status gx__reports_check(struct gx_reports *to, gx_report *reports, size_t count,
                            struct gx_error *error);
void gx__reports_give(const struct gx_reports *to, size_t i, const struct gx_outcome *outcome);

/* The same for an array of candidates. */
gx_status gx__candidates_check(const gx_candidate *to, uint32_t room, struct gx_error *error);
void gx__candidates_give(gx_candidate *to, uint32_t room, const struct gx_considered *considered,
                         uint32_t count);

#endif
