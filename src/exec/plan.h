/* SPDX-License-Identifier: Apache-2.0
 *
 * How a batch will run on a device: a pure function of the jobs, the facts of the device and the
 * caller's options. Jobs are split into pieces, pieces travel in groups that share staging memory,
 * and the three modes differ in the size of groups and in how many are in flight. The plan is an
 * iterator: nothing is stored per group.
 */
#ifndef GX_EXEC_PLAN_H
#define GX_EXEC_PLAN_H

#include <pthread.h>

#include "device/device.h"

/* Dispatches of one group, each of which has a bad word: where the kernel reports the index of the
 * first element that is not below the modulus (GX_BIND_BAD). */
#define GX_GROUP_DISPATCHES 64u
/* Default size of a piece, in elements. */
#define GX_CHUNK_ELEMS ((uint64_t)524288)
/* A piece of a matrix has so many columns where it may: rows of 256 bytes. */
#define GX_PIECE_COLUMNS ((uint64_t)8)
/* Elements that are read again at a time, through the memory of a group, to find a bad one. */
#define GX_LOOK_ELEMS 64u
/* Parts of the memory of a group: gx_set_bytes. */
#define GX_SET_PARTS 4u
/* Most groups in flight. */
#define GX_SETS_MAX 8u
/* Of a device that has not measured an empty submit. */
#define GX_DEFAULT_SUBMIT_NS 15000.0

/* How a kernel accesses an operand. */
enum gx_operand_access {
    GX_OPERAND_NONE,       /* there is no such operand, or it is empty */
    GX_OPERAND_DIRECT,     /* in place: a buffer */
    GX_OPERAND_STAGED,     /* the host copies it into or out of staging memory */
    GX_OPERAND_REGISTERED, /* the device copies it from or to the caller's memory */
    GX_OPERAND_COPIED,     /* some columns of a buffer: the device copies them before its kernel, or
                              after it */
};

/* A range of elements of one job. */
struct gx_piece {
    const struct gx_task *job;
    size_t index;            /* of the job in its batch */
    uint64_t first, n, step; /* step: elements of one dispatch */
    uint64_t unit;           /* of a matrix of columns: elements of one; 0: it is none */
    uint32_t bad_word;       /* index of that of its first dispatch, if it is checked */
    bool check, last;        /* last: it ends the job */
    enum gx_operand_access access[GX_OPERANDS];
    size_t offset[GX_OPERANDS];                   /* in the memory of the group, unless direct */
    uintptr_t from[GX_OPERANDS], to[GX_OPERANDS]; /* in the caller's memory; both 0: not there */
};

/* The memory of a group, from byte 0 on: registered inputs, staged inputs (from `in`),
 * bad words (from `bad_words`), staged outputs (from `out`), registered outputs (from `end`). So
 * what the host writes is one range, in .. out, and what it reads is one, bad_words .. end. */
struct gx_group {
    size_t count;
    struct gx_piece pieces[GX_GROUP_DISPATCHES];
    uint32_t dispatches;
    uint64_t elements, staged; /* staged: those of pieces that need memory of the group */
    size_t in, bad_words, out, end, bytes;
    uintptr_t writes_from, writes_to; /* range of all host memory that it writes */
    bool drain; /* nothing else may be in flight: its first job has its operands checked
                   in a separate pass first, see gx__plan_check */
};

/* Bytes that one group in flight uses, which the pool rounds up. Without `up`, all of it is in
 * `device`, which the host can access. */
struct gx_set_bytes {
    union {
        struct {
            size_t up, device, down, scratch;
        };
        size_t part[GX_SET_PARTS];
    };
};

/* What planning and recording need to know about a job besides the job itself. */
struct gx_resolved {
    struct gx_kernel kernel; /* with check, unless a separate pass checks the operands */
    uint32_t registered;     /* bits of the operands in registered memory */
    struct gx_table *table;  /* of a transform; the pipe keeps it */
};

struct gx_plan_request {
    gx_path path;
    gx_mode mode;
    uint64_t chunk_elems;  /* 0: GX_CHUNK_ELEMS */
    size_t memory;         /* most bytes of all sets together; 0: no limit */
    uint32_t sets;         /* least groups in flight, of this batch and others; 0: any */
    bool stream;           /* other batches come before and after: throughput counts, not the
                              latency of the first */
    uint32_t copy_threads; /* of host copies; 0: one */
    const struct gx_resolved *resolved; /* one per job; NULL: nothing is registered */
    struct gx_device *device;           /* for the scratch of kernels; NULL: none */
};

struct gx_plan {
    const struct gx_task *jobs;
    size_t count;
    const struct gx_device_facts *facts;
    const struct gx_plan_request *asked;
    gx_path path; /* of staged operands; GX_PATH_DIRECT if there are none */
    gx_mode mode;
    uint32_t sets;        /* groups in flight */
    uint32_t copy_queues; /* bits of the separate queues that a pipeline copies on */
    uint64_t chunk;       /* most elements of a piece */
    uint64_t piece;       /* elements of the largest piece that is not direct */
    uint32_t group_times; /* factor for the size of groups of a pipeline */
    uint64_t group_elems; /* most elements of a group with several pieces */
    struct gx_set_bytes set;
    size_t memory; /* of all sets together */
    uint64_t groups, submits, dispatches;
    uint64_t bytes_up, bytes_down, bytes_staged;
    double predicted[GX_MODE_PIPELINED + 1]; /* ns of each mode, by cost.c; 0: not evaluated */
};

struct gx_cursor {
    size_t job;
    uint64_t first;
};

/* Whether its result is joined to those of the job's other pieces: by the device where out is
 * direct, else by the host. */
static inline bool gx__piece_reduces(const struct gx_piece *p)
{
    return p->job->shape == GX_SHAPE_REDUCTION;
}

/* Size of the piece's part of an operand, and its offset in the operand. */
static inline size_t gx__piece_bytes(const struct gx_piece *p, int which)
{
    return gx__operand_length(p->job, which, p->n);
}

static inline size_t gx__piece_offset(const struct gx_piece *p, int which)
{
    return gx__operand_offset(p->job, which, p->first);
}

/* The same part in the caller's memory: rows of so many bytes, `stride` apart. In the memory of a
 * group they are neighbours. */
struct gx_rows {
    size_t bytes, rows, stride;
};

static inline struct gx_rows gx__piece_rows(const struct gx_piece *p, int which)
{
    uint64_t columns = p->unit ? p->n / p->unit : 0;
    const struct gx_matrix m = gx__operand_matrix(p->job, which);
    if (!p->unit || which > GX_A || columns == m.stride)
        return (struct gx_rows){gx__piece_bytes(p, which), 1, 0};
    return (struct gx_rows){(size_t)columns * p->job->element[which], (size_t)m.rows,
                            (size_t)m.stride * p->job->element[which]};
}

/* From its first byte there to its last. */
static inline size_t gx__piece_span(const struct gx_piece *p, int which)
{
    const struct gx_rows r = gx__piece_rows(p, which);
    return (r.rows - 1) * r.stride + r.bytes;
}

/* Dispatches of the piece; a reduction of no elements has one. */
static inline uint32_t gx__piece_dispatches(const struct gx_piece *p)
{
    return p->n ? (uint32_t)((p->n + p->step - 1) / p->step) : 1;
}

/* The jobs are valid. GX_ERR_OUT_OF_DEVICE_MEMORY if not even one element at a time fits
 * asked->memory. facts, asked and jobs must outlive the plan. */
gx_status gx__plan_batch(const struct gx_task *jobs, size_t count,
                         const struct gx_device_facts *facts, const struct gx_plan_request *asked,
                         struct gx_plan *plan);

/* The group at *cursor, which starts as {0} and is advanced; false at the end, and *group is
 * unchanged. */
bool gx__plan_next(const struct gx_plan *plan, struct gx_cursor *cursor, struct gx_group *group);

/* The pass before a group with `drain` that checks one direct operand of its first job: a task, and
 * the plan of that. */
void gx__plan_check(const struct gx_plan *plan, const struct gx_task *job, int operand,
                    struct gx_task *check, struct gx_plan *pass);

/* Adds the plan of something that is done so many times after what *all is the plan of. */
void gx__plan_add(struct gx_plan *all, const struct gx_plan *one, uint64_t times);

/* Bits of the queues on which the group has a command. copy_queues: those used for copies. */
uint32_t gx__group_queues(const struct gx_group *group, uint32_t copy_queues);

/* Whether a later piece has to wait for an earlier one because of host memory, in the same group
 * or in another one in flight. */
bool gx__plan_conflict(const struct gx_piece *earlier, const struct gx_piece *later,
                       bool same_group);
/* Whether a group has to wait for an earlier one in flight. */
bool gx__group_waits(const struct gx_group *group, const struct gx_group *earlier);

/* The size that the pool rounds a request up to; 0 stays 0. */
size_t gx__bucket(size_t bytes);

/* ---- plan_cache.c ---- */

/* Plans that an engine keeps, and the most jobs of a batch whose plan is kept. */
#define GX_PLANS_KEPT 8u
#define GX_PLAN_JOBS  64u

/* Everything that the plan of a batch depends on if its jobs share no host memory: 4 words, and 3
 * for each job. */
struct gx_plan_key {
    size_t words;
    uint64_t word[4 + 3 * GX_PLAN_JOBS];
};

struct gx_plan_cache {
    pthread_mutex_t lock;
    uint64_t looked_up;
    struct {
        uint64_t used; /* when, in lookups; 0: free */
        struct gx_plan_key key;
        struct gx_plan plan;
    } kept[GX_PLANS_KEPT];
};

void gx__plan_cache_init(struct gx_plan_cache *plans);
void gx__plan_cache_close(struct gx_plan_cache *plans);
/* A kept plan for a batch with the same key, or else gx__plan_batch. Any thread. */
gx_status gx__plan_cache_get(struct gx_plan_cache *plans, const struct gx_task *jobs, size_t count,
                             const struct gx_device_facts *facts,
                             const struct gx_plan_request *asked, struct gx_plan *plan);

/* ---- cost.c ---- */

/* Sets and copy queues of a plan. */
struct gx_variant {
    uint32_t sets, copy_queues;
    double ns; /* out: predicted */
};
#define GX_VARIANTS_MAX 4u

/* Predicts the time of the plan, with its path, mode and chunk, in each of the variants. One pass
 * evaluates them all, because laying out a group takes longer than evaluating it. Returns how many
 * groups were evaluated. */
uint64_t gx__plan_costs(const struct gx_plan *plan, struct gx_variant *variants, size_t count);

#endif
