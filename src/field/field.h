/* SPDX-License-Identifier: Apache-2.0
 *
 * The fields: one row of parameters each (field.c), and the constants derived from it. Host kernels
 * and, through generated constants, GPU kernels take every number from here.
 */
#ifndef GX_FIELD_FIELD_H
#define GX_FIELD_FIELD_H

#include <stdbool.h>
#include <stdint.h>

#include "gpuexec.h"

/* X(symbol, value, name): the values are those of gpuexec.h, which spells them out for binding
 * generators. */
#define GX__FIELD_LIST(X)                                                                          \
    X(GX_BLS12_381_FQ, 1, "bls12-381-fq")                                                          \
    X(GX_BLS12_381_FR, 2, "bls12-381-fr")                                                          \
    X(GX_BN254_FQ, 3, "bn254-fq")                                                                  \
    X(GX_BN254_FR, 4, "bn254-fr")                                                                  \
    X(GX_U32, 5, "u32")                                                                            \
    X(GX_F32, 6, "f32")

/* Values are consecutive from 1 to GX_FIELD_END - 1. */
#define GX__ONE_FIELD(...) +1
enum { GX_FIELD_END = 1 GX__FIELD_LIST(GX__ONE_FIELD) };

#define GX_LIMBS_MAX   6 /* 64-bit limbs */
#define GX_LIMBS52_MAX 8 /* 52-bit limbs: the smallest number that leaves one spare bit */

/* Operands that are a single element, used for all. */
#define GX_BROADCAST_A 1u
#define GX_BROADCAST_B 2u
#define GX_BROADCAST_C 4u

struct gx_prime {
    /* the row */
    gx_field field;
    uint32_t limbs;           /* 4 or 6; the top bit of the top limb of p is clear */
    uint64_t p[GX_LIMBS_MAX]; /* the modulus, lowest limb first */
    uint32_t two_adicity;     /* 2^this divides p - 1, and no higher power; 0: no transforms */
    uint32_t generator;       /* of the multiplicative group: for the default root and shift */

    /* derived: R = 2^(64 * limbs) */
    uint64_t one[GX_LIMBS_MAX]; /* R mod p */
    uint64_t r2[GX_LIMBS_MAX];  /* R^2 mod p */
    uint64_t ninv64;            /* -1/p mod 2^64 */

    /* derived, radix 2^52 */
    uint32_t limbs52; /* 5 or 8 */
    uint64_t p52[GX_LIMBS52_MAX];
    uint64_t ninv52; /* -1/p mod 2^52 */
};

/* By field; set when the library is loaded. */
extern const struct gx_prime *gx__primes[GX_FIELD_END];
extern uint8_t gx__element_sizes[GX_FIELD_END];

/* NULL for u32, f32 and unknown values. */
static inline const struct gx_prime *gx__prime(gx_field field)
{
    return field < GX_FIELD_END ? gx__primes[field] : NULL;
}

/* Bytes of one element; 0 for an unknown field. */
static inline size_t gx__element_bytes(gx_field field)
{
    return gx__element_sizes[field < GX_FIELD_END ? field : 0];
}

#endif
