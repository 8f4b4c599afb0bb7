/* SPDX-License-Identifier: Apache-2.0
 *
 * The operations: one row each, from which everything that differs between them is derived. The
 * values are those of gpuexec.h, which spells them out for binding generators; op.c and
 * tests/tree/lists.sh check that they agree.
 */
#ifndef GX_OP_OP_H
#define GX_OP_OP_H

#include "field/host.h"
#include "op/family.h"
#include "op/registered_op.h"

/* How results depend on elements. */
enum gx_op_shape {
    GX_SHAPE_ELEMENTWISE, /* out[i] from element i of each operand; can be split anywhere */
    GX_SHAPE_REDUCTION,   /* one result from all elements; can be split anywhere, and the results of
                             the parts are joined (gx__task_join) */
    GX_SHAPE_TRANSFORM,   /* GX_NTT: can be split between transforms (gx_task.unit) */
    GX_SHAPE_MSM,         /* GX_MSM: can be split between vectors of scalars; a single one anywhere,
                             and the results of the parts are joined */
    GX_SHAPE_WHOLE,       /* any; cannot be split */
    GX_SHAPE_END
};

/* How a result is checked against its operands (verify/verify.c). */
enum gx_verifier {
    GX_VERIFY_RECOMPUTE, /* some elements are recomputed */
    GX_VERIFY_MULTIPLY,  /* quotients: some elements are multiplied by their divisor */
    GX_VERIFY_WHOLE,     /* only recomputing the whole job can tell */
    GX_VERIFY_TRANSFORM, /* both sides of some transforms at a random point (verify/ntt.c) */
    GX_VERIFY_POLY,      /* operations with gx_poly_params: some elements (verify/poly.c) */
    GX_VERIFY_MSM,       /* results are on the curve; some jobs, computed again (verify/msm.c) */
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
    X(GX_MSM, 25, "msm", 1, 0, MSM, NONE, 200, 3000, KERNELS, MSM,                                 \
      "a[0] * P[0] + a[1] * P[1] + ...: see gx_msm_params")

/* Values are consecutive from 1 to GX_OP_END - 1. */
#define GX__ONE_OP(...) +1
enum { GX_OP_END = 1 GX__OP_LIST(GX__ONE_OP) };

/* Private operations, for devices. */
#define GX_OP_CHECK ((gx_op)64) /* reads A, writes nothing but BAD */
/* For benchmarks, optional, field 0: the hardware limits. An element is 16 bytes. */
#define GX_OP_COPY ((gx_op)65) /* OUT = A */
#define GX_OP_ROOF ((gx_op)66) /* GX_K_ROOF_EACH multiply-adds per element, from A to OUT */
/* Fills a table of roots of unity: OUT[i] = A[i mod 4096] * B[i / 4096], device/gpu/ntt_table.h */
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
/* Likewise: passes of GX_OP_MSM_SUMS, device/gpu/passes_msm.c */
#define GX_OP_MSM_DIGITS  ((gx_op)72)
#define GX_OP_MSM_COUNT   ((gx_op)73)
#define GX_OP_MSM_SCAN    ((gx_op)74)
#define GX_OP_MSM_SCATTER ((gx_op)75)
#define GX_OP_MSM_ADD     ((gx_op)76)
#define GX_OP_MSM_JOIN    ((gx_op)77)
#define GX_OP_MSM_ADD_UP  ((gx_op)78)
_Static_assert((int)GX_OP_END <= (int)GX_OP_CHECK, "public operations stay below the private ones");

/* Tables by operation: the public ones, then the private ones. */
#define GX_OP_INDICES (GX_OP_END + (GX_OP_LAST - GX_OP_CHECK + 1))

/* GX_OP_INDICES for an unknown operation. */
static inline size_t gx__op_index(gx_op op)
{
    if (op >= GX_OP_CHECK && op <= GX_OP_LAST)
        return (size_t)GX_OP_END + (op - GX_OP_CHECK);
    return op < GX_OP_END ? (size_t)op : (size_t)GX_OP_INDICES;
}

struct gx_op_row {
    gx_op_info info;
    bool on_words;
    enum gx_shader_family family;
    unsigned products, ns;
    enum gx_host_kernel host;
    enum gx_verifier verifier;
};
/* By gx__op_index, except for the private operations. */
extern const struct gx_op_row gx__op_rows[GX_OP_END];

/* What every call asks many times, of all operations: the public ones, the private ones together
 * but for the last, and the registered ones by place. */
struct gx_op_facts {
    uint8_t shape; /* enum gx_op_shape */
    uint8_t operands;
    uint8_t one_result;
    uint8_t one;     /* bits of the operands, in the order of enum gx_bind, that are one element */
    uint8_t resized; /* bits of those whose length follows from parameters: gx__resized */
    uint32_t element[4]; /* bytes, in the order of enum gx_bind, where there is no field */
};
enum { GX_OP_FACTS = (int)GX_OP_END + 2 + GX_REGISTERED_OPS };
extern struct gx_op_facts gx__op_facts[GX_OP_FACTS];

static inline struct gx_op_facts *gx__facts_of(gx_op op)
{
    size_t other = gx__is_registered_op(op) ? (size_t)GX_OP_END + 2 + gx__registered_op_place(op)
                   : op == GX_OP_MSM_SUMS   ? (size_t)GX_OP_END + 1
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

/* Operands of a task, in the order of enum gx_bind. */
enum { GX_OUT, GX_A, GX_B, GX_C, GX_OPERANDS };

/* ---- parameters ---- */

/* Key words of a kernel that follow from parameters (gx__task_key): for a registered operation
 * the caller's data and the number of workgroups; for transforms, operations on polynomials and
 * multi-scalar multiplications those below; for the others, none. An even number. */
#define GX_PARAM_GROUPS (GX_OP_PARAMS_BYTES / 4)
#define GX_PARAMS       (GX_PARAM_GROUPS + 4)

enum { /* of GX_NTT */
       GX_PARAM_LOG2_N,
       GX_PARAM_LOG2_PAD,
       GX_PARAM_NTT_FLAGS,
       GX_PARAM_LOG2_TABLE,                      /* of the table that is bound: at least log2_n */
       GX_PARAM_DOMAIN,                          /* pointer to the gx_domain, in two words */
       GX_PARAM_DOMAIN_ID = GX_PARAM_DOMAIN + 2, /* its id, in two words */
       /* for devices that work on host memory: gx_matrix.stride of a and out, in two words each */
       GX_PARAM_STRIDE_A = GX_PARAM_DOMAIN_ID + 2,
       GX_PARAM_STRIDE_OUT = GX_PARAM_STRIDE_A + 2
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
       /* these three have two words each: */
       GX_PARAM_POINTS,                             /* pointer to the gx_points */
       GX_PARAM_MSM_FIRST = GX_PARAM_POINTS + 2,    /* the first of the points that are used */
       GX_PARAM_MSM_COUNT = GX_PARAM_MSM_FIRST + 2, /* how many are used */
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

static inline void gx__put64(uint32_t *param, uint64_t value)
{
    param[0] = (uint32_t)value;
    param[1] = (uint32_t)(value >> 32);
}

/* Whether the operation takes parameters. */
static inline bool gx__op_has_params(gx_op op)
{
    return op < GX_OP_END ? gx__op_rows[op].info.params
                          : gx__is_registered_op(op) || op == GX_OP_MSM_SUMS;
}

#endif
