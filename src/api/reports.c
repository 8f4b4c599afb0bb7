/* SPDX-License-Identifier: Apache-2.0
 *
 * See reports.h.
 */
#include "api/reports.h"

#include <string.h>

#include "base/abi.h"

gx_status gx__candidates_check(const gx_candidate *to, uint32_t room, struct gx_error *error)
{
    size_t size;
    if (!room)
        return GX_OK;
    if (!to)
        return gx__refuse(error, GX_ERR_INVALID, "candidate is NULL, with a candidate_room of %u",
                          room);
    return gx__check_out(&gx__candidate_layout, to, room, &size, error);
}

static gx_candidate candidate_of(const struct gx_considered *c)
{
    gx_candidate candidate = {.predicted_ns = c->predicted_ns,
                              .share_ns = c->share_ns,
                              .actual_ns = c->actual_ns,
                              .elements = c->elements,
                              .status = c->status};
    memcpy(candidate.device, c->device, sizeof candidate.device);
    return candidate;
}

void gx__candidates_give(gx_candidate *to, uint32_t room, const struct gx_considered *considered,
                         uint32_t count)
{
    struct gx_error unused;
    size_t size = room ? gx__caller_size(&gx__candidate_layout, to, &unused) : 0;
    for (uint32_t i = 0; i < count && i < room; i++) {
        const gx_candidate candidate = candidate_of(&considered[i]);
        gx__give_out(&gx__candidate_layout, (char *)to + i * size, size,
                     offsetof(gx_candidate, device), &candidate);
    }
}

/* The members of report i that the caller has set. */
static gx_report asked(const struct gx_reports *to, size_t i)
{
    gx_report report;
    memcpy(&report, to->first + i * to->size, offsetof(gx_report, candidates));
    return report;
}

gx_status gx__reports_check(struct gx_reports *to, gx_report *reports, size_t count,
                            struct gx_error *error)
{
    *to = (struct gx_reports){.first = count ? (char *)reports : NULL};
    if (!to->first)
        return GX_OK;
    gx_status s = gx__check_out(&gx__report_layout, reports, count, &to->size, error);
    for (size_t i = 0; i < count && s == GX_OK; i++) {
        gx_report r = asked(to, i);
        s = gx__candidates_check(r.candidate, r.candidate_room, error);
    }
    return s;
}

/* Sets all members except those that the caller has set. */
static void fill(gx_report *r, const struct gx_outcome *o)
{
    r->candidates = o->candidates;
    r->status = o->status;
    r->reason = o->reason;
    memcpy(r->device, o->device, sizeof r->device);
    r->threads = o->threads;
    r->dispatches = o->dispatches;
    r->groups = o->groups;
    r->submits = o->submits;
    r->command_hits = o->command_hits;
    r->sampled = o->sampled;
    r->path = o->path;
    r->mode = o->mode;
    r->bad_index = o->bad_index;
    r->bad_operand = (unsigned char)o->bad_operand;
    r->queued_ns = o->queued_ns;
    r->total_ns = o->total_ns;
    r->host_in_ns = o->host_in_ns;
    r->device_ns = o->device_ns;
    r->host_out_ns = o->host_out_ns;
    r->upload_ns = o->upload_ns;
    r->compute_ns = o->compute_ns;
    r->download_ns = o->download_ns;
    r->record_ns = o->record_ns;
    r->submit_ns = o->submit_ns;
    gx__error_give(&o->error, r->message, sizeof r->message);
}

void gx__reports_give(const struct gx_reports *to, size_t i, const struct gx_outcome *o)
{
    void *caller = to->first + i * to->size;
    gx_report r = asked(to, i);
    gx__candidates_give(r.candidate, r.candidate_room, o->candidate, o->candidates);
    if (to->size == sizeof r) { /* the caller was built with this header: write it in place */
        fill(caller, o);
        return;
    }
    memset((char *)&r + offsetof(gx_report, candidates), 0,
           sizeof r - offsetof(gx_report, candidates));
    fill(&r, o);
    gx__give_out(&gx__report_layout, caller, to->size, offsetof(gx_report, candidates), &r);
}
