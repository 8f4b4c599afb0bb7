/* SPDX-License-Identifier: Apache-2.0
 *
 * See outcome.h.
 */
#include "exec/outcome.h"

#include <stdio.h>
#include <string.h>

#include "base/abi.h"
#include "base/alloc.h"
#include "op/op.h"

/* Larger arrays are not kept. */
#define KEPT_MAX 1024u

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
    snprintf(outcome->message, sizeof outcome->message, "%s", gx_status_message(why));
}

void gx__refusal_message(char *message, size_t size, const gx_job *job, uint64_t bad, char operand)
{
    if (gx__refusal_status(job, operand) == GX_ERR_INVALID) {
        snprintf(message, size, "index %llu of operand b is out of range: a has %llu elements",
                 (unsigned long long)bad, (unsigned long long)gx__resized(job, GX_A, job->n));
        return;
    }
    snprintf(message, size,
             "element %llu of operand %c is not below the modulus of %s: reduce it before the call",
             (unsigned long long)bad, operand ? operand : '?', gx_field_get_info(job->field)->name);
}

/* ---- the caller's ---- */

gx_status gx__candidates_check(const gx_candidate *to, uint32_t room, char *message,
                               size_t message_size)
{
    size_t size;
    if (!room)
        return GX_OK;
    if (!to) {
        snprintf(message, message_size, "candidate is NULL, with a candidate_room of %u", room);
        return GX_ERR_INVALID;
    }
    return gx__check_out(&gx__candidate_layout, to, room, &size, message, message_size);
}

void gx__candidates_give(gx_candidate *to, uint32_t room, const gx_candidate *candidates,
                         uint32_t count)
{
    char unused[1];
    size_t size = room ? gx__caller_size(&gx__candidate_layout, to, unused, sizeof unused) : 0;
    for (uint32_t i = 0; i < count && i < room; i++)
        gx__give_out(&gx__candidate_layout, (char *)to + i * size, size,
                     offsetof(gx_candidate, device), &candidates[i]);
}

/* The members of report i that the caller has set. */
static gx_report asked(const struct gx_reports *to, size_t i)
{
    gx_report report;
    memcpy(&report, to->first + i * to->size, offsetof(gx_report, candidates));
    return report;
}

gx_status gx__reports_check(struct gx_reports *to, gx_report *reports, size_t count, char *message,
                            size_t message_size)
{
    *to = (struct gx_reports){.first = count ? (char *)reports : NULL};
    if (!to->first)
        return GX_OK;
    gx_status s =
        gx__check_out(&gx__report_layout, reports, count, &to->size, message, message_size);
    for (size_t i = 0; i < count && s == GX_OK; i++) {
        gx_report r = asked(to, i);
        s = gx__candidates_check(r.candidate, r.candidate_room, message, message_size);
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
    if (o->message[0])
        memcpy(r->message, o->message, sizeof r->message);
    else
        r->message[0] = 0;
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

/* ---- memory ---- */

struct gx_outcome_block {
    struct gx_outcome_block *next;
    size_t room;
    struct gx_outcome outcomes[];
};

void gx__outcomes_init(struct gx_outcome_pool *pool)
{
    pthread_mutex_init(&pool->lock, NULL);
}

void gx__outcomes_close(struct gx_outcome_pool *pool, const gx_allocator *allocator)
{
    for (struct gx_outcome_block *b = pool->idle, *next; b; b = next) {
        next = b->next;
        gx__free(allocator, b);
    }
    pthread_mutex_destroy(&pool->lock);
}

struct gx_outcome *gx__outcomes_get(struct gx_outcome_pool *pool, const gx_allocator *allocator,
                                    size_t count)
{
    pthread_mutex_lock(&pool->lock);
    struct gx_outcome_block **at = &pool->idle;
    while (*at && (*at)->room < count && (*at)->next)
        at = &(*at)->next;
    struct gx_outcome_block *block = *at;
    if (block)
        *at = block->next;
    pthread_mutex_unlock(&pool->lock);
    if (block && block->room >= count)
        return block->outcomes;
    gx__free(allocator, block); /* too small: a larger one takes its place */
    if (count > SIZE_MAX / 2 / sizeof *block->outcomes)
        return NULL;
    block = gx__alloc(allocator, sizeof *block + count * sizeof *block->outcomes);
    if (!block)
        return NULL;
    block->room = count;
    return block->outcomes;
}

void gx__outcomes_put(struct gx_outcome_pool *pool, const gx_allocator *allocator,
                      struct gx_outcome *outcomes)
{
    if (!outcomes)
        return;
    struct gx_outcome_block *block =
        (struct gx_outcome_block *)((char *)outcomes - offsetof(struct gx_outcome_block, outcomes));
    if (block->room > KEPT_MAX) {
        gx__free(allocator, block);
        return;
    }
    pthread_mutex_lock(&pool->lock);
    block->next = pool->idle;
    pool->idle = block;
    pthread_mutex_unlock(&pool->lock);
}
