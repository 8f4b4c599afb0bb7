/* SPDX-License-Identifier: Apache-2.0
 *
 * See outcome.h.
 */
#include "exec/outcome.h"

#include "op/task.h"

void gx__outcome_add(struct gx_outcome *to, const struct gx_outcome *from)
{
    to->threads = from->threads > to->threads ? from->threads : to->threads;
    to->dispatches += from->dispatches;
    to->groups += from->groups;
    to->submits += from->submits;
    to->command_hits += from->command_hits;
    to->path = from->path;
    to->mode = from->mode;
    to->host_in_ns += from->host_in_ns;
    to->record_ns += from->record_ns;
    to->submit_ns += from->submit_ns;
    to->device_ns += from->device_ns;
    to->host_out_ns += from->host_out_ns;
    to->upload_ns += from->upload_ns;
    to->compute_ns += from->compute_ns;
    to->download_ns += from->download_ns;
    to->total_ns += from->total_ns;
}

void gx__outcome_not_run(struct gx_outcome *outcome, gx_status why)
{
    gx__outcome_clear(outcome, GX_REASON_NONE);
    outcome->status = why;
    gx__explain(&outcome->error, "%s", gx_status_message(why));
}

void gx__refusal_message(struct gx_error *error, const struct gx_task *job, uint64_t bad,
                         char operand)
{
    if (gx__refusal_status(job, operand) == GX_ERR_INVALID) {
        gx__explain(error, "index %llu of operand b is out of range: a has %llu elements",
                    (unsigned long long)bad, (unsigned long long)gx__resized(job, job->n));
        return;
    }
    gx__explain(
        error,
        "element %llu of operand %c is not below the modulus of %s: reduce it before the call",
        (unsigned long long)bad, operand ? operand : '?', gx_field_get_info(job->field)->name);
}
