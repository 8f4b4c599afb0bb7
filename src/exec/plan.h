/* SPDX-License-Identifier: Apache-2.0
 *
 * How a batch will run on a device, decided before anything is touched: a pure function
 * of the jobs, the facts of the device and what the caller asked for. Jobs are cut into
 * pieces, pieces travel in groups that share staging memory, and the three modes are
 * groups of other sizes, with more or fewer of them in flight. The plan is an iterator:
 * nothing is stored per group, however many there are.
 */
#ifndef GX_EXEC_PLAN_H
#define GX_EXEC_PLAN_H

#include <pthread.h>

#include "device/device.h"

/* Dispatches of one group, each with its own slot for a bad index. */
#define GX_GROUP_DISPATCHES 64u
/* Elements of one piece where nothing else is asked for. */
#define GX_CHUNK_ELEMS ((uint64_t)524288)
/* Groups in flight at most. */
#define GX_SETS_MAX 8u

/* How a kernel gets at an operand. */
enum gx_operand_access {
    GX_OPERAND_NONE,       /* there is no such operand, or nothing in it */
    GX_OPERAND_DIRECT,     /* where it is: in a buffer */
    GX_OPERAND_STAGED,     /* the host copies it into or out of staging memory */
    GX_OPERAND_REGISTERED, /* the device copies it from or to the caller's memory */
};

/* A range of elements of one job. */
struct gx_piece {
    const gx_job *job;
    size_t index;            /* of the job in its batch */
    int operands;            /* the last one it has */
    uint64_t first, n, step; /* step: elements of one dispatch */
    bool reduces;            /* its result is joined to those of the job's other pieces: by the
                                device where out is direct, else by the host */
    uint32_t one;            /* bits of the operands that are one element for all of the job */
    uint32_t element[GX_OPERANDS]; /* bytes of one */
    uint32_t slot;                 /* of its first dispatch, where it is checked */
    bool check, last;              /* last: it ends the job */
    int only;                      /* not 0: a pass that only looks at this operand */
    enum gx_operand_access access[GX_OPERANDS];
    size_t offset[GX_OPERANDS]; /* in the memory of the group, where it is not direct */
    uintptr_t from[GX_OPERANDS], to[GX_OPERANDS]; /* in the caller's, else both 0 */
};

/* The memory of a group, from byte 0 on: registered inputs, staged inputs (from `in`),
 * slots (from `slots`), staged outputs (from `out`), registered outputs (from `end`). So
 * what the host writes is one range, in .. out, and what it reads is one, slots .. end. */
struct gx_group {
    size_t count;
    struct gx_piece pieces[GX_GROUP_DISPATCHES];
    uint32_t dispatches;
    uint64_t elements, staged; /* staged: of these, those for which it has memory of its own */
    size_t in, slots, out, end, bytes;
    uintptr_t writes_from, writes_to; /* all that it writes of the caller's memory lies here */
    bool drain; /* nothing may be in flight when it starts: it begins with a job whose
                   operands are checked in a pass before, see gx__plan_check */
};

/* Bytes of the memory of one group in flight, as the pool rounds them. Without `up` all
 * is `device`, in memory that the host sees. */
struct gx_set_bytes {
    size_t up, device, down, scratch;
};

/* What planning and recording need to know about a job besides the job. */
struct gx_resolved {
    struct gx_kernel kernel; /* with a check, unless operands are checked in a pass before */
    uint32_t registered;     /* bits of the operands that the device can copy by itself */
};

struct gx_asked {
    gx_path path;
    gx_mode mode;
    uint64_t chunk_elems;  /* 0: GX_CHUNK_ELEMS */
    size_t memory;         /* bytes that all sets together may take; 0: no limit */
    uint32_t sets;         /* groups in flight at least, of this batch and others; 0: no matter */
    bool stream;           /* other batches go before and after: how many go through in a time
                              counts, not when the first of them is done */
    uint32_t copy_threads; /* of host copies; 0: one */
    const struct gx_resolved *resolved; /* one per job; NULL: nothing is registered, */
    struct gx_device *device;           /* and NULL: no kernel needs scratch */
};

struct gx_plan {
    const gx_job *jobs;
    size_t count;
    const struct gx_device_facts *facts;
    const struct gx_asked *asked;
    gx_path path; /* of what is not direct; GX_PATH_DIRECT where everything is */
    gx_mode mode;
    uint32_t sets;        /* groups in flight */
    uint32_t copy_queues; /* bits of the queues for copies that are used, of a pipeline */
    uint64_t chunk;       /* elements of one piece at most, */
    uint64_t piece;       /* and of the largest that there is, where it is not direct */
    uint32_t group_times; /* groups of a pipeline are so many times as large as they have to be */
    uint64_t group_elems; /* a piece joins a group while it stays within this */
    struct gx_set_bytes set;
    size_t memory; /* of all sets together */
    uint64_t groups, submits, dispatches;
    uint64_t bytes_up, bytes_down, bytes_staged;
    double predicted[GX_MODE_PIPELINED + 1]; /* ns of each mode, by cost.c; 0: not looked at */
};

struct gx_cursor {
    size_t job;
    uint64_t first;
};

/* Bytes of an operand that belong to the piece, and where they begin in the operand. */
static inline size_t gx__piece_bytes(const struct gx_piece *p, int which)
{
    return (p->one >> which & 1 ? 1 : (size_t)p->n) * p->element[which];
}

static inline size_t gx__piece_offset(const struct gx_piece *p, int which)
{
    return p->one >> which & 1 ? 0 : (size_t)p->first * p->element[which];
}

/* Dispatches of the piece; a reduction of no elements has one. */
static inline uint32_t gx__piece_dispatches(const struct gx_piece *p)
{
    return p->n ? (uint32_t)((p->n + p->step - 1) / p->step) : 1;
}

/* The jobs are valid. GX_ERR_OUT_OF_DEVICE_MEMORY where not even one element at a time
 * fits asked->memory. facts, asked and jobs outlive the plan. */
gx_status gx__plan_batch(const gx_job *jobs, size_t count, const struct gx_device_facts *facts,
                         const struct gx_asked *asked, struct gx_plan *plan);

/* The group after the one at *cursor, which begins as {0}; false at the end, where *group stays
 * as it was. */
bool gx__plan_next(const struct gx_plan *plan, struct gx_cursor *cursor, struct gx_group *group);

/* The pass before a group that asks for `drain`, over its first job: elements from `first`
 * on of one operand, which is direct. Returns how many elements it covers; 0 past the end. */
uint64_t gx__plan_check(const struct gx_plan *plan, const struct gx_piece *piece, int operand,
                        uint64_t first, struct gx_group *group);

/* The commands of a group: bits of the queues that have one, where `copy_queues` are used for
 * copies. */
uint32_t gx__group_queues(const struct gx_group *group, uint32_t copy_queues);

/* Whether a later piece has to wait for an earlier one to be done, because of host memory:
 * in the same group or, where not, in another one in flight. */
bool gx__plan_conflict(const struct gx_piece *earlier, const struct gx_piece *later,
                       bool same_group);
/* Whether a group has to wait for an earlier one in flight. */
bool gx__group_waits(const struct gx_group *group, const struct gx_group *earlier);

/* Bytes that a request of the pool is rounded up to; 0 stays 0. */
size_t gx__bucket(size_t bytes);

/* ---- plans.c ---- */

/* Plans of an engine that are kept, and jobs of a batch whose plan is. */
#define GX_PLANS_KEPT 8u
#define GX_PLAN_JOBS  64u

/* A batch as far as its plan depends on it, where its jobs share no host memory: 4 words, and 2
 * for each job. */
struct gx_plan_key {
    size_t words;
    uint64_t word[4 + 2 * GX_PLAN_JOBS];
};

struct gx_plans {
    pthread_mutex_t lock;
    uint64_t looked_up;
    struct {
        uint64_t used; /* when, in lookups; 0: free */
        struct gx_plan_key key;
        struct gx_plan plan;
    } kept[GX_PLANS_KEPT];
};

void gx__plans_init(struct gx_plans *plans);
void gx__plans_close(struct gx_plans *plans);
/* gx__plan_batch, where no batch of the same shape was planned before. Any thread. */
gx_status gx__plans_get(struct gx_plans *plans, const gx_job *jobs, size_t count,
                        const struct gx_device_facts *facts, const struct gx_asked *asked,
                        struct gx_plan *plan);

/* ---- cost.c ---- */

/* How many groups are in flight, and bits of the queues for copies that are used. */
struct gx_variant {
    uint32_t sets, copy_queues;
    double ns; /* out: predicted */
};
#define GX_VARIANTS_MAX 4u

/* What the groups of the plan as it is (path, mode, chunk) take in each of the variants, which
 * are looked at together, as to lay groups out takes longer. Returns how many groups were. */
uint64_t gx__plan_costs(const struct gx_plan *plan, struct gx_variant *variants, size_t count);

#endif
