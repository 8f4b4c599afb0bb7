/* SPDX-License-Identifier: Apache-2.0
 *
 * See outcome.h.
 */
#include "exec/outcome.h"

#include <stdio.h>
#include <string.h>

#include "base/abi.h"
#include "base/alloc.h"

/* Larger arrays are not kept. */
#define KEPT_MAX 1024u

void gx__outcome_not_run(struct gx_outcome *outcome, gx_status why)
{
    *outcome = (struct gx_outcome){.status = why};
    snprintf(outcome->message, sizeof outcome->message, "%s", gx_status_message(why));
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

/* What the caller has set in report i. */
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

void gx__reports_give(const struct gx_reports *to, size_t i, const struct gx_outcome *o)
{
    gx_report r = asked(to, i);
    gx__candidates_give(r.candidate, r.candidate_room, o->candidate, o->candidates);
    r = (gx_report){.candidates = o->candidates,
                    .status = o->status,
                    .reason = o->reason,
                    .threads = o->threads,
                    .dispatches = o->dispatches,
                    .groups = o->groups,
                    .submits = o->submits,
                    .command_hits = o->command_hits,
                    .sampled = o->sampled,
                    .path = o->path,
                    .mode = o->mode,
                    .bad_index = o->bad_index,
                    .bad_operand = (unsigned char)o->bad_operand,
                    .queued_ns = o->queued_ns,
                    .total_ns = o->total_ns,
                    .host_in_ns = o->host_in_ns,
                    .device_ns = o->device_ns,
                    .host_out_ns = o->host_out_ns,
                    .upload_ns = o->upload_ns,
                    .compute_ns = o->compute_ns,
                    .download_ns = o->download_ns};
    memcpy(r.device, o->device, sizeof r.device);
    memcpy(r.message, o->message, sizeof r.message);
    gx__give_out(&gx__report_layout, to->first + i * to->size, to->size,
                 offsetof(gx_report, candidates), &r);
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
