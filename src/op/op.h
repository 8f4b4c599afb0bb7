/* SPDX-License-Identifier: Apache-2.0
 *
 * The operations: one row each, from which everything that differs between them is derived. The
 * values are those of gpuexec.h, which spells them out for binding generators; op.c and
 * tests/tree/lists.sh check that they agree. Also the only place that knows the size of operand i
 * of a job, and how the results of its parts are joined.
 */
#ifndef GX_OP_OP_H
#define GX_OP_OP_H

#include "field/host.h"
#include "kernel/shaders.h"
#include "op/own.h"

/* How results depend on elements. */
enum gx_op_shape {
    GX_SHAPE_ELEMENTWISE, /* out[i] from element i of each operand; can be split anywhere */
    GX_SHAPE_REDUCTION,   /* one result from all elements; can be split anywhere, and the results of
                             the parts are joined (gx__op_join) */
    GX_SHAPE_TRANSFORM,   /* GX_NTT: can be split between transforms (gx__job_unit) */
    GX_SHAPE_MSM,         /* GX_MSM: can be split between vectors of scalars; a single one anywhere,
                             and the results of the parts are joined */
    GX_SHAPE_WHOLE        /* any; cannot be split */
};

/* How a result is checked against its operands (verify.c). */
enum gx_verifier {
    GX_VERIFY_RECOMPUTE, /* some elements are recomputed */
    GX_VERIFY_MULTIPLY,  /* quotients: some elements are multiplied by their divisor */
    GX_VERIFY_WHOLE,     /* only recomputing the whole job can tell */
    GX_VERIFY_TRANSFORM, /* both sides of some transforms at a random point (verify_ntt.c) */
    GX_VERIFY_POLY,      /* polynomial operations: some elements (verify_poly.c) */
    GX_VERIFY_MSM,       /* results are on the curve; some jobs, computed again (verify_msm.c) */
    GX_VERIFY_NOT        /* it cannot be: there is nothing to recompute it with */
};

/* X(symbol, value, name, operands, exists for u32 and f32 too, shape, shader family, products, ns,
 * host kernel, verifier, result)
 * products: approximate number of prime-field products per element: its cost on a GPU besides
 * memory traffic. ns: per element with 6 limbs in the fastest host tier; a factor of three is
 * accurate enough to choose the number of threads. */
#define GX__OP_LIST(X)                                                                             \
    X(GX_ADD, 1, "add", 2, 1, ELEMENTWISE, LINEAR, 0, 5, ADD, RECOMPUTE, "a + b")                  \
    X(GX_SUB, 2, "sub", 2, 1, ELEMENTWISE, LINEAR, 0, 5, SUB, RECOMPUTE, "a - b")                  \
    X(GX_MUL, 3, "mul", 2, 1, ELEMENTWISE, MUL, 1, 12, MUL, RECOMPUTE, "a * b")                    \
    X(GX_NEG, 4, "neg", 1, 0, ELEMENTWISE, LINEAR, 0, 5, SUB, RECOMPUTE, "-a")                     \
    X(GX_SQR, 5, "sqr", 1, 0, ELEMENTWISE, MUL, 1, 11, SQR, RECOMPUTE, "a * a")                    \
    X(GX_INV, 6, "inv", 1, 0, ELEMENTWISE, INVERT_UP, 4, 40, INV, MULTIPLY, "1 / a; 0 if a is 0")  \
    X(GX_DIV, 7, "div", 2, 0, ELEMENTWISE, INVERT_UP, 5, 50, DIV, MULTIPLY, "a / b; 0 if b is 0")  \
    X(GX_MUL_ADD, 8, "mul-add", 3, 0, ELEMENTWISE, MUL, 1, 14, MUL_ADD, RECOMPUTE, "a * b + c")    \
    X(GX_TO_MONT, 9, "to-mont", 1, 0, ELEMENTWISE, MUL, 1, 12, MUL, RECOMPUTE,                     \
      "a * R: plain integer to Montgomery form")                                                   \
    X(GX_FROM_MONT, 10, "from-mont", 1, 0, ELEMENTWISE, MUL, 1, 12, MUL, RECOMPUTE,                \
      "a / R: Montgomery form to plain integer")                                                   \
    X(GX_SUM, 11, "sum", 1, 0, REDUCTION, SUM, 0, 3, SUM, WHOLE, "a[0] + a[1] + ...")              \
    X(GX_DOT, 12, "dot", 2, 0, REDUCTION, DOT, 1, 12, MUL, WHOLE,                                  \
      "a[0] * b[0] + a[1] * b[1] + ...")                                                           \
    X(GX_NTT, 13, "ntt", 1, 0, TRANSFORM, NTT, 10, 60, KERNELS, TRANSFORM,                         \
      "transforms of a: see gx_ntt_params")                                                        \
    X(GX_PREFIX_SUM, 14, "prefix-sum", 1, 0, WHOLE, SCAN, 0, 10, KERNELS, POLY,                    \
      "out[i] = a[0] + ... + a[i]")                                                                \
    X(GX_PREFIX_PRODUCT, 15, "prefix-product", 1, 0, WHOLE, SCAN, 2, 40, KERNELS, POLY,            \
      "out[i] = a[0] * ... * a[i]")                                                                \
    X(GX_POWERS, 16, "powers", 1, 0, WHOLE, SCAN, 1, 20, KERNELS, POLY, "out[i] = a^i")            \
    X(GX_COSETS, 17, "cosets", 2, 0, WHOLE, SCAN, 1, 20, KERNELS, POLY,                            \
      "out[c * count + i] = a^i * b^c")                                                            \
    X(GX_EVALUATE, 18, "evaluate", 2, 0, WHOLE, SCAN, 1, 20, KERNELS, POLY,                        \
      "a[0] + a[1] * b + a[2] * b^2 + ...")                                                        \
    X(GX_DIVIDE_LINEAR, 19, "divide-linear", 2, 0, WHOLE, SCAN, 2, 40, KERNELS, POLY,              \
      "the polynomial a / (X - b)")                                                                \
    X(GX_BIT_REVERSE, 20, "bit-reverse", 1, 0, WHOLE, PERMUTE, 0, 5, KERNELS, POLY,                \
      "out[i] = a[i with its bits reversed]")                                                      \
    X(GX_GATHER, 21, "gather", 2, 0, WHOLE, PERMUTE, 0, 5, KERNELS, POLY, "out[i] = a[b[i]]")      \
    X(GX_ROTATE, 22, "rotate", 1, 0, WHOLE, PERMUTE, 0, 5, KERNELS, POLY,                          \
      "out[i] = a[(i + count) mod n]")                                                             \
    X(GX_INTERLEAVE, 23, "interleave", 1, 0, WHOLE, PERMUTE, 0, 5, KERNELS, POLY,                  \
      "count parts of a, interleaved")                                                             \
    X(GX_DEINTERLEAVE, 24, "deinterleave", 1, 0, WHOLE, PERMUTE, 0, 5, KERNELS, POLY,              \
      "every count-th element of a, in count parts")                                               \
    X(GX_MSM, 25, "msm", 1, 0, MSM, OWN, 200, 3000, KERNELS, MSM,                                  \
      "a[0] * P[0] + a[1] * P[1] + ...: see gx_msm_params")

/* Values are consecutive from 1 to GX_OP_END - 1. */
#define GX__ONE_OP(...) +1
enum { GX_OP_END = 1 GX__OP_LIST(GX__ONE_OP) };

/* Private operations, for devices. */
#define GX_OP_CHECK ((gx_op)64) /* reads A, writes nothing but BAD */
/* For benchmarks, optional, field 0: the hardware limits. An element is 16 bytes. */
#define GX_OP_COPY ((gx_op)65) /* OUT = A */
#define GX_OP_ROOF ((gx_op)66) /* GX_K_ROOF_EACH multiply-adds per element, from A to OUT */
/* Fills a table of roots of unity: OUT[i] = A[i mod 4096] * B[i / 4096], op/ntt_table.h */
#define GX_OP_NTT_TABLE ((gx_op)67)
/* What GPUs do of GX_MSM: OUT[w] = the sum of digit w of A[i] times B[i], for each of the windows;
 * struct gx_msm_sums. A: scalars of 32 bytes, plain; B: affine points, GX_POINT_XY_MONT; OUT: one
 * XYZZ point for each window: x, y, zz, zzz, canonical, in Montgomery form; zz = 0: infinity. The
 * field is that of the coordinates. */
#define GX_OP_MSM_SUMS ((gx_op)68)
#define GX_OP_LAST     GX_OP_MSM_SUMS
/* Only as GX_K_OP: passes of GX_NTT that multiply by powers of the shift, from the leaves of the
 * tree to its root, or both */
#define GX_OP_NTT_COSET      ((gx_op)69)
#define GX_OP_NTT_BACK       ((gx_op)70)
#define GX_OP_NTT_BACK_COSET ((gx_op)71)
/* Likewise: passes of GX_OP_MSM_SUMS, op/passes_msm.c */
#define GX_OP_MSM_DIGITS  ((gx_op)72)
#define GX_OP_MSM_COUNT   ((gx_op)73)
#define GX_OP_MSM_SCAN    ((gx_op)74)
#define GX_OP_MSM_SCATTER ((gx_op)75)
#define GX_OP_MSM_ADD     ((gx_op)76)
#define GX_OP_MSM_JOIN    ((gx_op)77)
#define GX_OP_MSM_ADD_UP  ((gx_op)78)
_Static_assert((int)GX_OP_END <= (int)GX_OP_CHECK, "public operations stay below the private ones");

/* Tables by operation: the public ones, then the private ones. */
#define GX_OP_SLOTS (GX_OP_END + (GX_OP_LAST - GX_OP_CHECK + 1))

/* An unknown operation has no slot: GX_OP_SLOTS. */
static inline size_t gx__op_slot(gx_op op)
{
    if (op >= GX_OP_CHECK && op <= GX_OP_LAST)
        return (size_t)GX_OP_END + (op - GX_OP_CHECK);
    return op < GX_OP_END ? (size_t)op : (size_t)GX_OP_SLOTS;
}

/* Tables by operation and field: all pairs, then the registered operations, which have no field. */
enum { GX_OP_PAIRS = (int)GX_OP_END * GX_FIELD_END + GX_OWN_OPS };

static inline size_t gx__op_pair(gx_op op, gx_field field)
{
    return gx__is_own(op) ? (size_t)GX_OP_END * GX_FIELD_END + gx__own_place(op)
                          : (size_t)op * GX_FIELD_END + field;
}

struct gx_op_row {
    gx_op_info info;
    bool on_words;
    enum gx_op_shape shape;
    enum gx_shader_family family;
    unsigned products, ns;
    enum gx_host_kernel host;
    enum gx_verifier verifier;
};
/* By gx__op_slot, except for the private operations. */
extern const struct gx_op_row gx__op_rows[GX_OP_END];

/* What every call asks many times, of all operations: the public ones, the private ones together
 * but for the last, and the registered ones by place. */
struct gx_op_facts {
    uint8_t shape; /* enum gx_op_shape */
    uint8_t operands;
    uint8_t one_result;
    uint8_t one;     /* bits of the operands, in the order of enum gx_bind, that are one element */
    uint8_t resized; /* bits of those whose length follows from params: gx__resized */
    uint32_t element[4]; /* bytes, in the order of enum gx_bind, where there is no field */
};
enum { GX_OP_FACTS = (int)GX_OP_END + 2 + GX_OWN_OPS };
extern struct gx_op_facts gx__op_facts[GX_OP_FACTS];

static inline struct gx_op_facts *gx__facts_of(gx_op op)
{
    size_t other = gx__is_own(op)         ? (size_t)GX_OP_END + 2 + gx__own_place(op)
                   : op == GX_OP_MSM_SUMS ? (size_t)GX_OP_END + 1
                                          : (size_t)GX_OP_END;
    return &gx__op_facts[op < GX_OP_END ? op : other];
}

static inline enum gx_op_shape gx__op_shape(gx_op op)
{
    return (enum gx_op_shape)gx__facts_of(op)->shape;
}

static inline unsigned gx__op_operands(gx_op op)
{
    return gx__facts_of(op)->operands;
}

/* out is a single element, whatever n is. */
static inline bool gx__op_one_result(gx_op op)
{
    return gx__facts_of(op)->one_result;
}

/* Bytes of one element of an operand, in the order of enum gx_bind. */
static inline size_t gx__op_element(gx_op op, gx_field field, int which)
{
    if (op == GX_GATHER && which == 2) /* GX_B: indices */
        return sizeof(uint32_t);
    return field ? gx__element_bytes(field) : gx__facts_of(op)->element[which];
}

enum gx_verifier gx__op_verifier(gx_op op);

static inline unsigned gx__op_products(gx_op op)
{
    return op < GX_OP_END ? gx__op_rows[op].products : 0;
}

/* The family of the operation's first pass; of GX_OP_MSM_SUMS, that of most of its work. */
enum gx_shader_family gx__op_family(gx_op op, gx_field field);

/* ---- operands ---- */

/* Operands of a job, in the order of enum gx_bind. */
enum { GX_OUT, GX_A, GX_B, GX_C, GX_OPERANDS };

static inline const gx_operand *gx__operand(const gx_job *job, int which)
{
    switch (which) {
    case GX_OUT:
        return &job->out;
    case GX_A:
        return &job->a;
    case GX_B:
        return &job->b;
    default:
        return &job->c;
    }
}

/* Bytes of one element of an operand. */
size_t gx__msm_element(const gx_job *job, int which); /* of GX_MSM and GX_OP_MSM_SUMS */
static inline size_t gx__operand_element(const gx_job *job, int which)
{
    return job->op == GX_MSM || job->op == GX_OP_MSM_SUMS
               ? gx__msm_element(job, which)
               : gx__op_element(job->op, job->field, which);
}

/* The operand is a single element, used for the whole job and for each part of it. */
static inline bool gx__operand_is_one(const gx_job *job, int which)
{
    if (which == GX_OUT)
        return gx__op_one_result(job->op);
    return gx__operand(job, which)->broadcast || gx__facts_of(job->op)->one >> which & 1;
}

/* Whether the length of the operand is not that of out; and its elements for n of the job. */
static inline bool gx__operand_is_resized(const gx_job *job, int which)
{
    return gx__facts_of(job->op)->resized >> which & 1;
}
uint64_t gx__resized(const gx_job *job, int which, uint64_t n);

/* Byte offset of the job's element `first` in the operand, and size of the operand for n elements
 * of the job. */
static inline size_t gx__operand_offset(const gx_job *job, int which, uint64_t first)
{
    if (gx__operand_is_resized(job, which))
        return first ? (size_t)gx__resized(job, which, first) * gx__operand_element(job, which) : 0;
    return gx__operand_is_one(job, which) ? 0 : (size_t)first * gx__operand_element(job, which);
}

static inline size_t gx__operand_length(const gx_job *job, int which, uint64_t n)
{
    if (gx__operand_is_resized(job, which))
        return (size_t)gx__resized(job, which, n) * gx__operand_element(job, which);
    return (gx__operand_is_one(job, which) ? 1 : (size_t)n) * gx__operand_element(job, which);
}

/* Where the operand's own element `index` is; false if it has none. For the first bad element of a
 * job, whose index may be that of any operand. */
static inline bool gx__operand_find(const gx_job *job, int which, uint64_t index, size_t *offset)
{
    bool one = gx__operand_is_one(job, which);
    *offset = one ? 0 : (size_t)index * gx__operand_element(job, which);
    return one ? index < job->n : *offset < gx__operand_length(job, which, job->n);
}

/* Whether this element of the operand, of a prime field, makes the job invalid: not below the
 * modulus, or an index that is out of range. */
bool gx__element_bad(const gx_job *job, int which, const void *element);

/* The status of a job that is refused because of this operand, 'a', 'b' or 'c'. */
static inline gx_status gx__refusal_status(const gx_job *job, char operand)
{
    return job->op == GX_GATHER && operand == 'b' ? GX_ERR_INVALID : GX_ERR_NOT_CANONICAL;
}

/* There is nothing to do. A reduction of no elements still has a result, and so has a sum of no
 * points. */
bool gx__msm_is_empty(const gx_job *job);
static inline bool gx__job_is_empty(const gx_job *job)
{
    enum gx_op_shape shape = gx__op_shape(job->op);
    return !job->n && shape != GX_SHAPE_REDUCTION &&
           (shape != GX_SHAPE_MSM || gx__msm_is_empty(job));
}

/* Size of the whole operand; 0 if the operation has no such operand, or there is nothing to do. */
static inline size_t gx__operand_bytes(const gx_job *job, int which)
{
    if (gx__job_is_empty(job) || which > (int)gx__op_operands(job->op))
        return 0;
    return gx__operand_length(job, which, job->n);
}

/* Of a transform: its elements, or all of the job where it has columns. */
uint64_t gx__transform_unit(const gx_job *job);

/* Of GX_MSM: one vector of scalars; 1 if there is only one. */
uint64_t gx__msm_unit(const gx_job *job);

/* Approximate number of products per element. */
unsigned gx__transform_products(const gx_job *job);
unsigned gx__msm_products(const gx_job *job);
static inline unsigned gx__job_products(const gx_job *job)
{
    enum gx_op_shape shape = gx__op_shape(job->op);
    return shape == GX_SHAPE_TRANSFORM                          ? gx__transform_products(job)
           : shape == GX_SHAPE_MSM || job->op == GX_OP_MSM_SUMS ? gx__msm_products(job)
                                                                : gx__op_products(job->op);
}

/* Approximate number of passes of a transform, at least 1. */
unsigned gx__transform_passes(const gx_job *job);

/* How much there is for a GPU to do at once: the products of one pass; at least one per element. Of
 * most operations, n. */
double gx__job_work(const gx_job *job);

/* A job may be split at multiples of this many elements. */
static inline uint64_t gx__job_unit(const gx_job *job)
{
    enum gx_op_shape shape = gx__op_shape(job->op);
    return shape == GX_SHAPE_WHOLE       ? job->n
           : shape == GX_SHAPE_TRANSFORM ? gx__transform_unit(job)
           : shape == GX_SHAPE_MSM       ? gx__msm_unit(job)
                                         : 1;
}

/* Whether out is also an operand. */
bool gx__job_in_place(const gx_job *job);

/* Elements first .. first + n of the job, as a job. The output of a reduction is unchanged. */
gx_job gx__sub_job(const gx_job *job, uint64_t first, uint64_t n);

/* Adds the result of one part of a reduction to that of others. */
void gx__op_join(const gx_job *job, void *result, const void *part);

/* ---- parameters ---- */

/* Key words of a kernel that an operation derives from gx_job.params: for a registered operation
 * the caller's data and the number of workgroups; for transforms, operations on polynomials and
 * multi-scalar multiplications those below; for the others, none. An even number. */
#define GX_PARAM_GROUPS (GX_OP_PARAMS_BYTES / 4)
#define GX_PARAMS       (GX_PARAM_GROUPS + 4)

enum { /* of GX_NTT */
       GX_PARAM_LOG2_N,
       GX_PARAM_LOG2_PAD,
       GX_PARAM_NTT_FLAGS,
       GX_PARAM_LOG2_TABLE,                     /* of the table that is bound: at least log2_n */
       GX_PARAM_DOMAIN,                         /* pointer to the gx_domain, in two words, ... */
       GX_PARAM_DOMAIN_ID = GX_PARAM_DOMAIN + 2 /* ... and its id, in two */
};
enum {                 /* of operations on polynomials */
       GX_PARAM_COUNT, /* in two words, the low one first */
       GX_PARAM_POLY_FLAGS = GX_PARAM_COUNT + 2
};
enum {                   /* of GX_MSM and, the first three, of GX_OP_MSM_SUMS */
       GX_PARAM_CURVE,   /* gx_curve */
       GX_PARAM_BITS,    /* of the scalars that count */
       GX_PARAM_WINDOW,  /* GX_OP_MSM_SUMS: bits of a digit, c: digits are from -2^(c-1) to 2^(c-1),
                            and there are gx__digit_count */
       GX_PARAM_SCALARS, /* gx_scalar_form */
       GX_PARAM_RESULTS, /* gx_point_form */
       GX_PARAM_TABLE,   /* 1: with a table of multiples of the points */
       GX_PARAM_POINTS,  /* pointer to the gx_points, in two words; which of them: the first, ... */
       GX_PARAM_MSM_FIRST = GX_PARAM_POINTS + 2,
       GX_PARAM_MSM_COUNT = GX_PARAM_MSM_FIRST + 2, /* ... and how many, in two each */
       GX_PARAM_MSM_PIECE = GX_PARAM_MSM_COUNT + 2, /* at most so many at a time; 0: any number */
       /* GX_OP_MSM_SUMS, as in struct gx_msm_sums: */
       GX_PARAM_MSM_GROUP,
       GX_PARAM_MSM_PARTS,
       GX_PARAM_MSM_ROWS,
       GX_PARAM_MSM_DOUBLINGS
};

static inline uint64_t gx__param64(const uint32_t *param)
{
    return param[0] | (uint64_t)param[1] << 32;
}

/* Sets param; 0 for operations without parameters. */
void gx__op_params(const gx_job *job, uint32_t param[GX_PARAMS]);

/* Whether the operation takes parameters. */
static inline bool gx__op_has_params(gx_op op)
{
    return op >= GX_NTT && (op < GX_OP_END || gx__is_own(op) || op == GX_OP_MSM_SUMS);
}

#endif
