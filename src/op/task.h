/* SPDX-License-Identifier: Apache-2.0
 *
 * A task is a job as the library works on it: resolved from what a caller asks for (api/resolve.c),
 * or made by the library itself. It has its parameters, and what follows from them is worked out
 * once. This is the only place that knows the size of operand i, and how a task is divided.
 */
#ifndef GX_OP_TASK_H
#define GX_OP_TASK_H

#include "op/op.h"

struct gx_domain;
struct gx_points;

/* Where an operand is. */
struct gx_place {
    void *host; /* memory of the host; or: */
    gx_buf *buf;
    size_t offset; /* in the buffer, in bytes */
};

static inline struct gx_place gx__at_host(const void *memory)
{
    return (struct gx_place){.host = (void *)(uintptr_t)memory}; /* inputs are never written */
}

static inline struct gx_place gx__at_buffer(gx_buf *buf, size_t offset)
{
    return (struct gx_place){.buf = buf, .offset = offset};
}

/* ---- parameters ---- */

struct gx_ntt_args {
    const struct gx_domain *domain;
    uint32_t log2_n, log2_pad; /* as in gx_ntt_params */
    uint32_t flags;            /* GX_NTT_* */
    uint64_t stride[GX_A + 1]; /* GX_NTT_COLUMNS: elements from one row of out, and of a, to the
                                  next: the columns of the whole matrix; else 0 */
};

struct gx_msm_args {
    const struct gx_points *points;
    size_t first, count;
    gx_scalar_form scalar_form;
    gx_point_form result_form;
    uint32_t bits; /* of the scalars that count */
};

/* Of GX_OP_MSM_SUMS. */
struct gx_msm_sums {
    gx_curve curve;
    uint32_t bits, window;
    uint32_t group; /* most windows at a time; 0: any number */
    uint32_t parts; /* points that B has for each scalar: multiples, the point itself first; 0: 1 */
    uint32_t rows;  /* not 0: part k is the point times 2^(window * rows * k), so that digit
                       rows * k + v counts for window v, of which there are `rows` */
    uint32_t doublings; /* not 0: no sums, but multiples of the points A: out has `parts` XYZZ
                           points for each, every one the double, so many times, of that before */
};

struct gx_poly_args {
    uint64_t count; /* as in gx_poly_params */
    uint32_t flags; /* GX_POLY_* */
};

/* Of a registered operation. */
struct gx_registered_args {
    uint32_t data[GX_OP_PARAMS_BYTES / 4];
    uint32_t groups[3];
};

/* ---- the task ---- */

/* What kernels read of a task besides its operands, kept by the engine. */
enum gx_task_table {
    GX_NO_TABLE,
    GX_TABLE_OF_ROOTS,    /* of the domain; they need it */
    GX_TABLE_OF_MULTIPLES /* of the points; on a device that works on host memory, which may do
                             without */
};

struct gx_task {
    gx_op op;
    gx_field field;
    size_t n;
    union {
        struct gx_place operand[GX_OPERANDS];
        struct {
            struct gx_place out, a, b, c;
        };
    };
    bool trusted;      /* nobody checks that elements are below the modulus */
    uint8_t broadcast; /* bits of the operands that the caller has one element of */
    union {            /* by op */
        struct gx_ntt_args ntt;
        struct gx_msm_args msm;
        struct gx_msm_sums sums;
        struct gx_poly_args poly;
        struct gx_registered_args registered;
    };

    /* Set by gx__task_complete. Bits are by operand. */
    bool check;                  /* elements must be below the modulus, and it is not trusted */
    bool empty;                  /* there is nothing to do */
    bool for_host;               /* a GPU has little to do at once: it is not chosen for it */
    bool scattered;              /* elements that follow each other in time lie far apart */
    uint8_t shape;               /* enum gx_op_shape */
    uint8_t table;               /* enum gx_task_table */
    uint8_t operands;            /* the last one: GX_A to GX_C */
    uint8_t one;                 /* operands that are one element, used for every part */
    uint8_t resized;             /* operands whose length is not that of out */
    unsigned products;           /* of a prime field, per element, approximately */
    unsigned passes;             /* on a GPU that share them, approximately; at least 1 */
    uint64_t unit;               /* it may be divided at multiples of so many elements */
    size_t element[GX_OPERANDS]; /* bytes */
};

/* Works out the rest of a task, from what is above. Again after a change of it, unless only of
 * places. */
void gx__task_complete(struct gx_task *task);

/* What a device with commands does of a task, as a task without operands, if that is another
 * operation. */
bool gx__task_inner(const struct gx_task *task, struct gx_task *inner);

/* Whether the task has one result, to which those of its parts are joined: a reduction, or a single
 * sum of points. */
bool gx__task_is_joined(const struct gx_task *task);

/* Elements first .. first + n of a task, as a task. One that is joined has the same output; of a
 * sum of points the part's result is a GX_POINT_XY_MONT. */
void gx__task_part(const struct gx_task *task, uint64_t first, uint64_t n, struct gx_task *part);

/* The operation does not let the task be divided. */
static inline bool gx__task_is_unit(const struct gx_task *task)
{
    return task->shape == GX_SHAPE_WHOLE ||
           (task->shape == GX_SHAPE_TRANSFORM && task->unit >= task->n);
}

/* Whether out is also an operand. */
bool gx__task_in_place(const struct gx_task *task);

/* How much there is for a GPU to do at once: the products of one pass; at least one per element. Of
 * most operations, n. */
static inline double gx__task_work(const struct gx_task *task)
{
    return (double)task->n * (task->products ? task->products : 1) / task->passes;
}

/* Transforms, or vectors of scalars. */
static inline uint64_t gx__ntt_batch(const struct gx_task *task)
{
    return task->n >> (task->ntt.log2_n & 63);
}

static inline uint64_t gx__msm_batch(const struct gx_task *task)
{
    return task->msm.count ? task->n / task->msm.count : 1;
}

/* ---- operands ---- */

static inline bool gx__operand_is_one(const struct gx_task *task, int which)
{
    return task->one >> which & 1;
}

/* Elements of a resized operand for n of the task. */
static inline uint64_t gx__resized(const struct gx_task *task, uint64_t n)
{
    if (task->op == GX_MSM)
        return task->msm.count ? n / task->msm.count : 1;
    return task->op == GX_NTT ? n >> (task->ntt.log2_pad & 63) : task->poly.count;
}

/* Elements of an operand before element `first` of a transform, which begins one: with columns,
 * those of its first row. */
static inline uint64_t gx__ntt_before(const struct gx_task *task, int which, uint64_t first)
{
    return first >> (task->ntt.flags & GX_NTT_COLUMNS ? task->ntt.log2_n
                     : which == GX_A                  ? task->ntt.log2_pad
                                                      : 0);
}

/* Byte offset of the task's element `first` in the operand, and size of the operand for n elements
 * of the task. */
static inline size_t gx__operand_offset(const struct gx_task *task, int which, uint64_t first)
{
    uint64_t at = first;
    if (task->op == GX_NTT)
        at = gx__ntt_before(task, which, first);
    else if (task->resized >> which & 1)
        at = first ? gx__resized(task, first) : 0;
    else if (gx__operand_is_one(task, which))
        at = 0;
    return (size_t)at * task->element[which];
}

static inline size_t gx__operand_length(const struct gx_task *task, int which, uint64_t n)
{
    if (task->resized >> which & 1)
        n = gx__resized(task, n);
    else if (gx__operand_is_one(task, which))
        n = 1;
    return (size_t)n * task->element[which];
}

/* Size of the whole operand; 0 if the operation has no such operand, or nothing of it is used: a
 * reduction of no elements reads none, but has a result. */
static inline size_t gx__operand_bytes(const struct gx_task *task, int which)
{
    if (task->empty || which > task->operands || (!task->n && which != GX_OUT))
        return 0;
    return gx__operand_length(task, which, task->n);
}

/* The matrices of a task with GX_NTT_COLUMNS: how many rows an operand has, and how many elements
 * are from one to the next. */
struct gx_matrix {
    uint64_t rows, stride; /* of other tasks 1 and 0 */
};

static inline struct gx_matrix gx__operand_matrix(const struct gx_task *task, int which)
{
    if (task->op != GX_NTT || which > GX_A || !(task->ntt.flags & GX_NTT_COLUMNS))
        return (struct gx_matrix){1, 0};
    uint32_t log2_rows = task->ntt.log2_n - (which == GX_A ? task->ntt.log2_pad : 0);
    return (struct gx_matrix){(uint64_t)1 << (log2_rows & 63), task->ntt.stride[which]};
}

/* The result goes to memory of its own, where nothing is between its rows. */
static inline void gx__task_pack(struct gx_task *task)
{
    if (gx__operand_matrix(task, GX_OUT).stride)
        task->ntt.stride[GX_OUT] = gx__ntt_batch(task);
}

/* From the first byte of the operand to the last, for n elements of the task. */
static inline size_t gx__operand_span(const struct gx_task *task, int which, uint64_t n)
{
    size_t bytes = gx__operand_length(task, which, n);
    if (task->op != GX_NTT || !bytes)
        return bytes;
    const struct gx_matrix m = gx__operand_matrix(task, which);
    return bytes / (size_t)m.rows + (size_t)(m.rows - 1) * (size_t)m.stride * task->element[which];
}

/* Where the operand's own element `index` is; false if it has none. For the first bad element of a
 * task, whose index may be that of any operand. */
static inline bool gx__operand_find(const struct gx_task *task, int which, uint64_t index,
                                    size_t *offset)
{
    bool one = gx__operand_is_one(task, which);
    *offset = one ? 0 : (size_t)index * task->element[which];
    return one ? index < task->n : *offset < gx__operand_span(task, which, task->n);
}

/* The index in the operand of a dispatch's bad element, of one from element `first` on. */
static inline uint64_t gx__bad_index(const struct gx_task *task, uint64_t first, uint64_t bad)
{
    return (task->op == GX_NTT ? gx__ntt_before(task, GX_A, first) : first) + bad;
}

/* Whether this element of the operand, of a prime field, makes the task invalid: not below the
 * modulus, or an index that is out of range. */
bool gx__element_bad(const struct gx_task *task, int which, const void *element);

/* The status of a task that is refused because of this operand, 'a', 'b' or 'c'. */
static inline gx_status gx__refusal_status(const struct gx_task *task, char operand)
{
    return task->op == GX_GATHER && operand == 'b' ? GX_ERR_INVALID : GX_ERR_NOT_CANONICAL;
}

/* ---- results of parts ---- */

/* Adds the result of one part to that of others: of a reduction, or of a sum of points, where
 * gx__task_begin sets the result to that of the first part. */
void gx__task_join(const struct gx_task *task, void *result, const void *part);
void gx__task_begin(const struct gx_task *task, void *result, const void *part);

/* ---- kernels ---- */

/* The words that the key of a kernel has for the parameters; 0 for operations without. */
void gx__task_key(const struct gx_task *task, uint32_t param[GX_PARAMS]);

/* What the sizes of operands and the passes of a task follow from, besides op, field and n. */
uint64_t gx__task_word(const struct gx_task *task);

/* ---- registered operations ---- */

/* Leaves the registered ones among the operations of so many tasks. */
void gx__tasks_leave(const struct gx_task *tasks, size_t count);

#endif
