/* SPDX-License-Identifier: Apache-2.0
 *
 * Commands as plain data, and a cache of recorded commands: if the same command over the same
 * memory is needed again, it is submitted again instead of being recorded.
 */
#ifndef GX_EXEC_RECORD_H
#define GX_EXEC_RECORD_H

#include <pthread.h>

#include "device/device.h"

enum gx_step_kind { GX_STEP_COPY, GX_STEP_DISPATCH, GX_STEP_BARRIER, GX_STEP_STAMP };

struct gx_step {
    enum gx_step_kind kind;
    union {
        struct gx_region region;
        struct gx_dispatch dispatch;
        enum gx_barrier barrier;
        uint32_t stamp;
    };
};

/* Steps are compared bytewise, so gx__record_add clears unused bytes. */
struct gx_record {
    enum gx_queue queue;
    size_t count, room;
    struct gx_step *steps; /* the caller's, `room` of them */
};

/* The next step, cleared. There must be room. */
struct gx_step *gx__record_add(struct gx_record *record, enum gx_step_kind kind);

/* A recorded command, and what is recorded in it. */
struct gx_ready {
    struct gx_ready *next;
    struct gx_cmd *cmd; /* NULL: none yet */
    bool busy;
    uint64_t used;           /* when, in lookups */
    struct gx_record record; /* steps of its own */
};

/* Commands kept for reuse; more exist if more are busy at once. */
#define GX_READY_KEPT 32

struct gx_records {
    struct gx_device *device;
    struct gx_counters *counters;
    pthread_mutex_t lock;
    struct gx_ready *all;
    size_t count;
    uint64_t lookups;
};

void gx__records_init(struct gx_records *records, struct gx_device *device,
                      struct gx_counters *counters);
/* Nothing is busy. */
void gx__records_close(struct gx_records *records);

/* A command that holds the record, ready to be submitted, the caller's until it is given
 * back. *hit: it was there. Any thread. */
gx_status gx__ready_get(struct gx_records *records, const struct gx_record *record,
                        struct gx_ready **ready, bool *hit);
/* Its work is done; keep: it may be submitted again. NULL is fine. */
void gx__ready_put(struct gx_records *records, struct gx_ready *ready, bool keep);

/* Drops commands that use this memory, which is about to be freed. */
void gx__records_forget(struct gx_records *records, const struct gx_mem *mem);

#endif
