/* SPDX-License-Identifier: Apache-2.0
 *
 * Number-theoretic transforms, and the operations on polynomials.
 */
#ifndef GPUEXEC_NTT_H
#define GPUEXEC_NTT_H

#include "core.h"

#ifdef __cplusplus
extern "C" {
#endif

/* ---- transforms and polynomials --------------------------------------------- */

/* A multiplicative subgroup of 2^log2_size elements, and a coset of it: what transforms are over.
 * doc/ntt.md. Devices make their tables when they first need them, and keep them while there is
 * memory. */
typedef struct gx_domain gx_domain;

/* Input. */
typedef struct gx_domain_params {
    size_t struct_size; /* sizeof(gx_domain_params) */
    gx_field field;     /* GX_BLS12_381_FR or GX_BN254_FR */
    uint32_t log2_size; /* of the largest transform: 0 .. gx_field_info.two_adicity */
    const void *root;   /* generator, of order 2^log2_size, in Montgomery form; NULL: the root
                           that arkworks, gnark-crypto and sppark use (doc/encoding.md) */
    const void *shift;  /* of cosets, not 0, in Montgomery form; NULL: 7 for GX_BLS12_381_FR, 5
                           for GX_BN254_FR */
} gx_domain_params;

/* On success the caller owns *domain and destroys it before gx_close; on failure it is NULL. Any
 * thread; does not block. */
GX_API gx_status gx_domain_create(gx_ctx *ctx, const gx_domain_params *params, gx_domain **domain);

/* Destroys the domain and clears the caller's pointer; NULL and a pointer to NULL are allowed. No
 * job that uses it may be in progress. Any thread. */
GX_API void gx_domain_destroy(gx_domain **domain);

/* Writes the root of unity of order 2^log2_n of the domain (one element in Montgomery form).
 * Any thread. */
GX_API gx_status gx_domain_root(const gx_domain *domain, uint32_t log2_n, void *element);

#define GX_NTT_INVERSE 1u /* values to coefficients, 1/n included */
#define GX_NTT_COSET                                                                               \
    2u                         /* over the coset: coefficient i times shift^i before a forward     \
                                  transform, shift^-i after an inverse one */
#define GX_NTT_REVERSED_IN  4u /* each transform of a is in bit-reversed order */
#define GX_NTT_REVERSED_OUT 8u /* each transform of out is */
#define GX_NTT_COLUMNS                                                                             \
    16u /* the transforms are the columns of a matrix, not its rows: element                       \
           i of transform t is i * batch + t */

/* gx_job.params of GX_NTT. job.n is the number of elements of out: batch << log2_n. Output k of
 * a forward transform is the sum of a[i] * (shift^i) * root^(i * k). out is a, or does not overlap
 * it. Input. */
typedef struct gx_ntt_params {
    size_t struct_size;      /* sizeof(gx_ntt_params) */
    const gx_domain *domain; /* of the job's field and context; log2_n is at most its log2_size */
    uint32_t log2_n;         /* 2^log2_n elements per transform */
    uint32_t log2_pad;       /* each transform of a has 2^(log2_n - log2_pad) elements; the others
                                are 0 (not in place) */
    uint32_t flags;          /* GX_NTT_* */
    uint32_t reserved;
} gx_ntt_params;

/* Makes the job of `batch` transforms: its field, that of the domain, and n. params is borrowed as
 * gx_job.params: until the job has run, or was submitted. Never fails: gx_run says what is wrong.
 * Any thread. */
GX_API gx_job gx_ntt(const gx_ntt_params *params, size_t batch, gx_operand a, gx_operand out);

#define GX_POLY_REVERSED 1u /* GX_EVALUATE: n is a power of two, a is in bit-reversed order */

/* gx_job.params of GX_EVALUATE and GX_ROTATE (NULL: all 0), GX_COSETS, GX_GATHER, GX_INTERLEAVE
 * and GX_DEINTERLEAVE. Input. */
typedef struct gx_poly_params {
    size_t struct_size; /* sizeof(gx_poly_params) */
    uint64_t count;     /* as the operation says; where it divides n into parts, a divisor of n */
    uint32_t flags;     /* GX_POLY_* */
    uint32_t reserved;
} gx_poly_params;

/* Makes the job of an operation on polynomials or vectors, GX_PREFIX_SUM to GX_DEINTERLEAVE. params
 * may be NULL where all are 0; b is {0} where the operation has none. Otherwise as gx_ntt. */
GX_API gx_job gx_poly(gx_op op, gx_field field, size_t n, const gx_poly_params *params,
                      gx_operand a, gx_operand b, gx_operand out);

#ifdef __cplusplus
}
#endif

#endif
