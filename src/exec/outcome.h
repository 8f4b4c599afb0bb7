/* SPDX-License-Identifier: Apache-2.0
 *
 * The outcome of a job inside the library. src/api makes the caller's gx_report of it.
 */
#ifndef GX_EXEC_OUTCOME_H
#define GX_EXEC_OUTCOME_H

#include <string.h>

#include "base/error.h"
#include "base/instance.h"

struct gx_task;

/* A device that was considered for a job: members as in gx_candidate. */
struct gx_considered {
    char device[48];
    uint64_t predicted_ns, share_ns, actual_ns, elements;
    gx_status status;
};

/* Members as in gx_report. */
struct gx_outcome {
    gx_status status;
    gx_reason reason;
    char device[48];
    uint32_t threads, dispatches, groups, submits, command_hits, sampled;
    gx_path path;
    gx_mode mode;
    uint64_t bad_index;
    char bad_operand;
    uint64_t queued_ns, total_ns, host_in_ns, record_ns, submit_ns, device_ns, host_out_ns;
    uint64_t upload_ns, compute_ns, download_ns;
    uint32_t candidates;
    struct gx_error error;
    struct gx_considered candidate[GX_CANDIDATES_MAX]; /* `candidates` of them are valid */
};

/* Like assigning {0}, but touches only what is needed, because every call does this. */
static inline void gx__outcome_clear(struct gx_outcome *outcome, gx_reason reason)
{
    memset(outcome, 0, offsetof(struct gx_outcome, error) + 1);
    outcome->reason = reason;
}

/* The share of a part in a time of all. Integers: a call leaves the caller's floating-point flags
 * alone. */
static inline uint64_t gx__share_ns(uint64_t ns, uint64_t part, uint64_t all)
{
    return part == all || !all ? ns : (uint64_t)((unsigned __int128)ns * part / all);
}

/* The message of a job that was refused because of element `bad` of this operand; 0: not known. */
void gx__refusal_message(struct gx_error *error, const struct gx_task *job, uint64_t bad,
                         char operand);

/* Whether the job was refused because of an element: that is no failure of its device. */
static inline bool gx__outcome_refused(const struct gx_outcome *outcome)
{
    return outcome->status == GX_ERR_NOT_CANONICAL ||
           (outcome->status == GX_ERR_INVALID && outcome->bad_operand);
}

/* Sets everything for a job that did not run. */
void gx__outcome_not_run(struct gx_outcome *outcome, gx_status why);

/* Adds what a part of a job took, which ran after the parts before it. */
void gx__outcome_add(struct gx_outcome *to, const struct gx_outcome *from);

#endif
