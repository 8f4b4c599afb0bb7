/* SPDX-License-Identifier: Apache-2.0
 *
 * Proofs of Groth16: e(A, B) = e(alpha, beta) e(L, gamma) e(C, delta), with L = ic[0] + the sum of
 * input[i] ic[i + 1]. A key is prepared once; any threads can then check proofs with it at the same
 * time, each call on its own. VARIABLE TIME: all of it is public.
 */
#ifndef GX_PAIRING_GROTH16_H
#define GX_PAIRING_GROTH16_H

#include "base/error.h"
#include "pairing/pairing.h"

#define GX_COEFFICIENT_BYTES 16

/* alpha and ic in G1, the others in G2, in the form that is given with them. Infinity is a point
 * like any other. */
struct gx_groth16_points {
    const void *alpha, *beta, *gamma, *delta;
    const void *ic; /* inputs + 1 points, packed */
    size_t inputs;
};

/* a and c in G1, b in G2. */
struct gx_groth16_proof {
    const void *a, *b, *c;
};

struct gx_groth16_key;

/* By the curve of G1 or of G2, with the tiers in mask. Fails with GX_ERR_NOT_CANONICAL or
 * GX_ERR_INVALID if a point is malformed, off its curve or not in its subgroup. */
gx_status gx__groth16_key_create(const gx_allocator *allocator, gx_curve curve, unsigned mask,
                                 gx_point_form form, const struct gx_groth16_points *points,
                                 struct gx_groth16_key **out, struct gx_error *error);
/* Also NULL. Clears the caller's pointer. */
void gx__groth16_key_destroy(struct gx_groth16_key **key);
size_t gx__groth16_key_inputs(const struct gx_groth16_key *key);

/* *valid = whether the proof is one of these public inputs: plain scalars, below the order. Fails
 * as for keys, and *valid is false, if a point or an input is malformed. */
gx_status gx__groth16_verify(const struct gx_groth16_key *key, gx_point_form form,
                             const struct gx_groth16_proof *proof, const void *inputs, bool *valid,
                             struct gx_error *error);

/* *valid = whether all n proofs are, each with its own inputs, packed; n is at most GX_MSM_PIECE.
 * `coefficients` are n times GX_COEFFICIENT_BYTES random bytes that nobody who made a proof could
 * foresee: if a proof is not valid, one in 2^128 of them says otherwise. Fails with GX_ERR_INVALID
 * if one of them is 0. */
gx_status gx__groth16_verify_all(const struct gx_groth16_key *key, gx_point_form form,
                                 const struct gx_groth16_proof *proofs, const void *inputs,
                                 size_t n, const void *coefficients, bool *valid,
                                 struct gx_error *error);

#endif
